/* One result as JSON and as CSV. */
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "lab/bench/record_fields.h"

#define FIELD(kind, name)                                                                  \
    {                                                                                      \
#name, LAB_FIELD_##kind, offsetof(lab_record, name), sizeof((lab_record *)0)->name \
    }
const lab_field lab_fields[LAB_FIELD_COUNT] = {
    FIELD(TEXT, kernel),
    FIELD(TEXT, device),
    FIELD(TEXT, dtype),
    FIELD(TEXT, layout),
    FIELD(WHOLE, m),
    FIELD(WHOLE, n),
    FIELD(WHOLE, k),
    FIELD(WHOLE, batch),
    FIELD(NUMBER, time_us),
    FIELD(NUMBER, time_us_min),
    FIELD(NUMBER, spread),
    FIELD(NUMBER, gflops),
    FIELD(NUMBER, gbps),
    FIELD(NUMBER, peak_pct),
    FIELD(TEXT, peer),
    FIELD(NUMBER, peer_time_us),
    FIELD(NUMBER, peer_best_time_us),
    FIELD(NUMBER, ratio),
    FIELD(NUMBER, ratio_lo),
    FIELD(NUMBER, ratio_hi),
    FIELD(NUMBER, ratio_best),
    FIELD(NUMBER, clock_mhz),
    FIELD(NUMBER, power_w),
    FIELD(TEXT, commit),
    FIELD(TEXT, date),
    FIELD(NUMBER, speedup),
    FIELD(WHOLE, speedup_scaled),
    FIELD(TEXT, scales),
    FIELD(TEXT, out_dtype),
    FIELD(WHOLE, rounds),
};

static const void *field_of(const lab_record *record, const lab_field *field)
{
    return (const char *)record + field->offset;
}

/* Length of the UTF-8 sequence at `text`, 0 if it is none (overlong forms and surrogates are none). */
static int utf8_length(const unsigned char *text)
{
    if (text[0] < 0x80)
        return 1;
    const int length = text[0] >= 0xc2 && text[0] <= 0xdf   ? 2
                       : text[0] >= 0xe0 && text[0] <= 0xef ? 3
                       : text[0] >= 0xf0 && text[0] <= 0xf4 ? 4
                                                            : 0;
    for (int i = 1; i < length; i++)
        if ((text[i] & 0xc0) != 0x80) /* the final zero byte stops this too */
            return 0;
    if ((text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xed && text[1] > 0x9f) ||
        (text[0] == 0xf0 && text[1] < 0x90) || (text[0] == 0xf4 && text[1] > 0x8f))
        return 0;
    return length;
}

void lab_json_string(FILE *file, const char *text)
{
    fputc('"', file);
    for (const unsigned char *c = (const unsigned char *)text; *c != '\0';) {
        const int length = utf8_length(c);
        if (length == 0)
            fputs("\xef\xbf\xbd", file);
        else if (*c == '"' || *c == '\\')
            fprintf(file, "\\%c", *c);
        else if (*c < 0x20 || *c == 0x7f)
            fprintf(file, "\\u%04x", *c);
        else
            fwrite(c, 1, (size_t)length, file);
        c += length > 0 ? length : 1;
    }
    fputc('"', file);
}

void lab_json_number(FILE *file, double value)
{
    if (!isfinite(value)) {
        fputs("null", file);
        return;
    }
    /* The shortest text that reads back as the same double. */
    char text[40];
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        double back;
        if (sscanf(text, "%lf", &back) == 1 && back == value)
            break;
    }
    fputs(text, file);
}

void lab_record_write_json(FILE *file, const lab_record *record)
{
    for (int i = 0; i < LAB_FIELD_COUNT; i++) {
        const void *value = field_of(record, &lab_fields[i]);
        fprintf(file, "%s\"%s\": ", i == 0 ? "{" : ", ", lab_fields[i].name);
        if (lab_fields[i].kind == LAB_FIELD_TEXT && *(const char *)value == '\0')
            fputs("null", file);
        else if (lab_fields[i].kind == LAB_FIELD_TEXT)
            lab_json_string(file, value);
        else if (lab_fields[i].kind == LAB_FIELD_WHOLE)
            fprintf(file, "%" PRId64, *(const int64_t *)value);
        else
            lab_json_number(file, *(const double *)value);
    }
    fputs("}\n", file);
}

/* RFC 4180: quoted where a comma, a quote or a line end is inside. */
static void put_csv_text(FILE *file, const char *text)
{
    if (strpbrk(text, ",\"\r\n") == NULL) {
        fputs(text, file);
        return;
    }
    fputc('"', file);
    for (; *text != '\0'; text++) {
        if (*text == '"')
            fputc('"', file);
        fputc(*text, file);
    }
    fputc('"', file);
}

void lab_record_write_csv_head(FILE *file)
{
    for (int i = 0; i < LAB_FIELD_COUNT; i++)
        fprintf(file, "%s,", lab_fields[i].name);
    fputs("note\n", file);
}

void lab_record_write_csv_row(FILE *file, const lab_record *record)
{
    for (int i = 0; i < LAB_FIELD_COUNT; i++) {
        const void *value = field_of(record, &lab_fields[i]);
        if (lab_fields[i].kind == LAB_FIELD_TEXT)
            put_csv_text(file, value);
        else if (lab_fields[i].kind == LAB_FIELD_WHOLE)
            fprintf(file, "%" PRId64, *(const int64_t *)value);
        else if (isfinite(*(const double *)value))
            lab_json_number(file, *(const double *)value);
        fputc(',', file);
    }
    put_csv_text(file, record->note);
    fputc('\n', file);
}
