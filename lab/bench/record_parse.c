/* Reads JSON lines of results back. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "lab/bench/record_fields.h"
#include "lab/common/file.h"

#define RECORDS_MAX 100000
#define BYTES_MAX   (64u << 20)
#define DEPTH_MAX   32 /* of values that are skipped */

/* One line being read. */
typedef struct reader {
    const char *line, *at, *end;
    const char *file_name;
    int line_number;
} reader;

/* 0, with the message "old.json:3: column 7: ...". */
static int fail(const reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int fail(const reader *r, const char *format, ...)
{
    char text[160];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    tsr_fail(TSR_INVALID_ARGUMENT, "%.256s:%d: column %d: %s", r->file_name, r->line_number, (int)(r->at - r->line) + 1,
             text);
    return 0;
}

static void skip_blanks(reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\r'))
        r->at++;
}

/* The next byte that is no blank, 0 at the end; it stays. */
static char next(reader *r)
{
    skip_blanks(r);
    return r->at < r->end ? *r->at : '\0';
}

static int expect(reader *r, char c)
{
    if (next(r) != c || r->at == r->end)
        return fail(r, "'%c' is missing", c);
    r->at++;
    return 1;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Appends where there is room; what does not fit is cut. */
static void append(char *out, size_t out_bytes, size_t *used, char c)
{
    if (*used + 1 < out_bytes)
        out[(*used)++] = c;
}

static void append_utf8(char *out, size_t out_bytes, size_t *used, unsigned code)
{
    if (code < 0x80) {
        append(out, out_bytes, used, (char)code);
        return;
    }
    if (code < 0x800) {
        append(out, out_bytes, used, (char)(0xc0 | code >> 6));
    } else {
        append(out, out_bytes, used, (char)(0xe0 | code >> 12));
        append(out, out_bytes, used, (char)(0x80 | (code >> 6 & 0x3f)));
    }
    append(out, out_bytes, used, (char)(0x80 | (code & 0x3f)));
}

/* After the backslash. Surrogate pairs are not joined: no field holds such characters. */
static int read_escape(reader *r, char *out, size_t out_bytes, size_t *used)
{
    static const char names[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    const char c = r->at < r->end ? *r->at : '\0';
    const char *place = c != '\0' ? strchr(names, c) : NULL;
    if (place != NULL) {
        append(out, out_bytes, used, meanings[place - names]);
        r->at++;
        return 1;
    }
    if (c != 'u' || r->end - r->at < 5)
        return fail(r, "not an escape sequence");
    unsigned code = 0;
    for (int i = 1; i <= 4; i++) {
        const int digit = hex_digit(r->at[i]);
        if (digit < 0)
            return fail(r, "\\u needs four hexadecimal digits");
        code = code * 16 + (unsigned)digit;
    }
    append_utf8(out, out_bytes, used, code);
    r->at += 5;
    return 1;
}

static int read_string(reader *r, char *out, size_t out_bytes)
{
    size_t used = 0;
    if (!expect(r, '"'))
        return 0;
    while (r->at < r->end && *r->at != '"') {
        if ((unsigned char)*r->at < 0x20)
            return fail(r, "control character in a string");
        const char c = *r->at++;
        if (c != '\\')
            append(out, out_bytes, &used, c);
        else if (!read_escape(r, out, out_bytes, &used))
            return 0;
    }
    out[used] = '\0';
    return expect(r, '"');
}

/* A word such as null, or a number: what stands up to a blank or punctuation. */
static size_t token_length(const reader *r)
{
    size_t length = 0;
    while (r->at + length < r->end && memchr(" \t\r,:{}[]\"", r->at[length], 10) == NULL)
        length++;
    return length;
}

static int read_number(reader *r, double *out)
{
    char text[64];
    next(r);
    const size_t length = token_length(r);
    if (length == 4 && memcmp(r->at, "null", 4) == 0) {
        *out = (double)NAN;
        r->at += length;
        return 1;
    }
    if (length == 0 || length >= sizeof text)
        return fail(r, "a number is missing");
    memcpy(text, r->at, length);
    text[length] = '\0';
    if (strspn(text, "+-0123456789.eE") < length)
        return fail(r, "a number is missing");
    char *end;
    *out = strtod(text, &end);
    if (*end != '\0' || !isfinite(*out))
        return fail(r, "\"%s\" is not a number", text);
    r->at += length;
    return 1;
}

/* A value of any kind that nobody asked for. */
static int skip_value(reader *r, int depth)
{
    char unused[8];
    double number;
    const char c = next(r);
    if (c == '"')
        return read_string(r, unused, sizeof unused);
    if (c != '{' && c != '[') {
        const size_t length = token_length(r);
        if ((length == 4 && memcmp(r->at, "true", 4) == 0) || (length == 5 && memcmp(r->at, "false", 5) == 0)) {
            r->at += length;
            return 1;
        }
        return read_number(r, &number);
    }
    if (depth == DEPTH_MAX)
        return fail(r, "nested too deeply");
    const char close = c == '{' ? '}' : ']';
    r->at++;
    if (next(r) == close) {
        r->at++;
        return 1;
    }
    for (;;) {
        if (c == '{' && (!read_string(r, unused, sizeof unused) || !expect(r, ':')))
            return 0;
        if (!skip_value(r, depth + 1))
            return 0;
        if (next(r) != ',')
            return expect(r, close);
        r->at++;
    }
}

static int read_field(reader *r, const lab_field *field, lab_record *record)
{
    char *to = (char *)record + field->offset;
    double number;
    if (field->kind == LAB_FIELD_TEXT && next(r) == '"')
        return read_string(r, to, field->bytes);
    const char *start = r->at;
    if (!read_number(r, &number))
        return 0;
    if (field->kind == LAB_FIELD_NUMBER) {
        memcpy(to, &number, sizeof number);
        return 1;
    }
    if (field->kind == LAB_FIELD_TEXT && isnan(number))
        return 1; /* null: stays "" */
    const int64_t whole = number >= 0.0 && number < 0x1p53 ? (int64_t)number : -1;
    if (field->kind == LAB_FIELD_TEXT || whole < 0 || (double)whole != number) {
        r->at = start;
        return fail(r, field->kind == LAB_FIELD_TEXT ? "\"%s\" must be a string" : "\"%s\" must be a whole number",
                    field->name);
    }
    memcpy(to, &whole, sizeof whole);
    return 1;
}

static int read_member(reader *r, lab_record *record, unsigned *seen)
{
    char key[32];
    if (!read_string(r, key, sizeof key) || !expect(r, ':'))
        return 0;
    for (unsigned i = 0; i < LAB_FIELD_COUNT; i++)
        if (strcmp(lab_fields[i].name, key) == 0) {
            *seen |= 1u << i;
            return read_field(r, &lab_fields[i], record);
        }
    return skip_value(r, 0);
}

/* What a comparison cannot do without. */
static int check_needed(const reader *r, unsigned seen)
{
    static const char *const needed[] = {"kernel", "dtype", "layout", "m", "n", "k", "time_us"};
    for (size_t n = 0; n < sizeof needed / sizeof needed[0]; n++)
        for (unsigned i = 0; i < LAB_FIELD_COUNT; i++)
            if (strcmp(lab_fields[i].name, needed[n]) == 0 && (seen & 1u << i) == 0)
                return fail(r, "\"%s\" is missing", needed[n]);
    return 1;
}

static int read_object(reader *r, lab_record *record)
{
    unsigned seen = 0;
    *record = lab_record_make();
    if (!expect(r, '{'))
        return 0;
    if (next(r) != '}')
        for (;;) {
            if (!read_member(r, record, &seen))
                return 0;
            if (next(r) != ',')
                break;
            r->at++;
        }
    if (!expect(r, '}'))
        return 0;
    if (next(r) != '\0' || r->at < r->end)
        return fail(r, "a line holds one object and nothing else");
    return check_needed(r, seen);
}

static tsr_status add_record(const lab_record *record, lab_records *out)
{
    if (out->count == RECORDS_MAX)
        return tsr_fail(TSR_INVALID_ARGUMENT, "more than %d results", RECORDS_MAX);
    if ((out->count & (out->count - 1)) == 0) { /* full: capacities are powers of two */
        lab_record *items = realloc(out->items, (out->count == 0 ? 1 : 2 * out->count) * sizeof *items);
        if (items == NULL)
            return tsr_fail(TSR_OUT_OF_MEMORY, "no memory for %zu results", out->count + 1);
        out->items = items;
    }
    out->items[out->count++] = *record;
    return TSR_OK;
}

tsr_status lab_records_parse(const char *file_name, const char *text, size_t bytes, lab_records *out)
{
    memset(out, 0, sizeof *out);
    const char *end = text + bytes;
    reader r = {.file_name = file_name};
    while (text < end) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        r.line = r.at = text;
        r.end = newline != NULL ? newline : end;
        r.line_number++;
        text = newline != NULL ? newline + 1 : end;
        if (next(&r) == '\0' && r.at == r.end)
            continue;
        lab_record record;
        tsr_status status = read_object(&r, &record) ? add_record(&record, out) : TSR_INVALID_ARGUMENT;
        if (status != TSR_OK) {
            lab_records_free(out);
            return status;
        }
    }
    return TSR_OK;
}

tsr_status lab_records_read(const char *path, lab_records *out)
{
    char *text;
    size_t bytes;
    memset(out, 0, sizeof *out);
    tsr_status status = lab_file_read(path, BYTES_MAX, &text, &bytes);
    if (status != TSR_OK)
        return status;
    status = lab_records_parse(path, text, bytes, out);
    free(text);
    return status;
}

void lab_records_free(lab_records *records)
{
    free(records->items);
    memset(records, 0, sizeof *records);
}
