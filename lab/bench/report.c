#include "lab/bench/report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "lab/bench/record_fields.h"
#include "lab/common/shapes.h"

lab_record lab_record_make(void)
{
    const double nan = (double)NAN;
    lab_record record;
    memset(&record, 0, sizeof record);
    record.batch = 1;
    record.time_us = record.time_us_min = record.spread = nan;
    record.gflops = record.gbps = record.peak_pct = nan;
    record.peer_time_us = record.peer_best_time_us = nan;
    record.ratio = record.ratio_lo = record.ratio_hi = record.ratio_best = nan;
    record.clock_mhz = record.power_w = record.speedup = nan;
    return record;
}

/* ---- tables and Markdown ----------------------------------------------------------------------------------------- */

enum { CELL_BYTES = 128, DECIMALS_MAX = 6 };

/* `digits` significant ones, without an exponent; "-" for what is not known. */
static void format_number(char out[CELL_BYTES], double value, int digits)
{
    if (!isfinite(value)) {
        snprintf(out, CELL_BYTES, "-");
        return;
    }
    const double size = fabs(value);
    const int whole = size > 0.0 ? (int)floor(log10(size)) + 1 : digits; /* digits before the point */
    const int decimals = digits - whole;
    snprintf(out, CELL_BYTES, "%.*f", decimals < 0 ? 0 : decimals > DECIMALS_MAX ? DECIMALS_MAX : decimals, value);
}

static void format_time(char out[CELL_BYTES], double us)
{
    char number[CELL_BYTES];
    const int unit = us < 1e3 ? 0 : us < 1e6 ? 1 : 2;
    static const char *const units[] = {"us", "ms", "s"};
    static const double scales[] = {1.0, 1e-3, 1e-6};
    format_number(number, us * scales[unit], 4);
    snprintf(out, CELL_BYTES, "%.64s%s%s", number, isfinite(us) ? " " : "", isfinite(us) ? units[unit] : "");
}

static void cell_kernel(const lab_record *r, char out[CELL_BYTES])
{
    snprintf(out, CELL_BYTES, "%s", r->kernel);
}

static void cell_dtype(const lab_record *r, char out[CELL_BYTES])
{
    snprintf(out, CELL_BYTES, "%s %s", r->dtype, r->layout);
}

static void cell_shape(const lab_record *r, char out[CELL_BYTES])
{
    lab_shape_text((lab_shape){r->m, r->n, r->k, r->batch}, out, CELL_BYTES);
}

static void cell_time(const lab_record *r, char out[CELL_BYTES])
{
    format_time(out, r->time_us);
}

static void cell_spread(const lab_record *r, char out[CELL_BYTES])
{
    if (isfinite(r->spread))
        snprintf(out, CELL_BYTES, "%.1f%%", 100.0 * r->spread);
    else
        snprintf(out, CELL_BYTES, "-");
}

static void cell_gflops(const lab_record *r, char out[CELL_BYTES])
{
    format_number(out, r->gflops, 4);
}

static void cell_gbps(const lab_record *r, char out[CELL_BYTES])
{
    format_number(out, r->gbps, 3);
}

static void cell_peak(const lab_record *r, char out[CELL_BYTES])
{
    format_number(out, r->peak_pct, 3);
}

/* "~": the sequential time was scaled from a smaller size. */
static void cell_speedup(const lab_record *r, char out[CELL_BYTES])
{
    char number[CELL_BYTES];
    format_number(number, r->speedup, 3);
    snprintf(out, CELL_BYTES, "%s%.64s%s", r->speedup_scaled && isfinite(r->speedup) ? "~" : "", number,
             isfinite(r->speedup) ? "x" : "");
}

/* "OpenBLAS" of "OpenBLAS 0.3.21 SkylakeX". */
static void cell_peer(const lab_record *r, char out[CELL_BYTES])
{
    snprintf(out, CELL_BYTES, "%.*s", (int)strcspn(r->peer, " "), r->peer[0] != '\0' ? r->peer : "-");
}

static void cell_peer_time(const lab_record *r, char out[CELL_BYTES])
{
    format_time(out, r->peer_time_us);
}

static void cell_ratio(const lab_record *r, char out[CELL_BYTES])
{
    char ratio[CELL_BYTES], low[CELL_BYTES], high[CELL_BYTES];
    format_number(ratio, r->ratio, 4);
    format_number(low, r->ratio_lo, 4);
    format_number(high, r->ratio_hi, 4);
    if (!isfinite(r->ratio))
        snprintf(out, CELL_BYTES, "-");
    else if (isfinite(r->ratio_lo) && isfinite(r->ratio_hi))
        snprintf(out, CELL_BYTES, "%.30s [%.30s, %.30s]", ratio, low, high);
    else
        snprintf(out, CELL_BYTES, "%.30s [?]", ratio);
}

static void cell_ratio_best(const lab_record *r, char out[CELL_BYTES])
{
    format_number(out, r->ratio_best, 4);
}

/* A column of tables and Markdown; CSV and JSON have the fields below instead. */
typedef struct report_column {
    const char *title;
    int width; /* the first column's is that of the widest kernel name */
    int left;
    int of_peer;
    void (*write)(const lab_record *record, char out[CELL_BYTES]);
} report_column;

static const report_column columns[] = {
    {"kernel", 0, 1, 0, cell_kernel},      {"type", 7, 1, 0, cell_dtype},
    {"M x N x K", 11, 0, 0, cell_shape},   {"time", 9, 0, 0, cell_time},
    {"+-", 5, 0, 0, cell_spread},          {"GFLOP/s", 8, 0, 0, cell_gflops},
    {"GB/s", 6, 0, 0, cell_gbps},          {"% peak", 6, 0, 0, cell_peak},
    {"vs seq.", 8, 0, 0, cell_speedup},    {"peer", 10, 1, 1, cell_peer},
    {"its time", 9, 0, 1, cell_peer_time}, {"peer/ours [95%]", 22, 0, 1, cell_ratio},
    {"best", 6, 0, 1, cell_ratio_best},
};
enum { COLUMN_COUNT = sizeof columns / sizeof columns[0] };

static int is_shown(const lab_report *report, const report_column *column)
{
    return !column->of_peer || report->with_peer;
}

static void put_cell(const lab_report *report, const report_column *column, const char *text)
{
    const int width = column->width > 0 ? column->width : report->kernel_width;
    if (report->format == LAB_MD)
        fprintf(report->to, " %s |", text);
    else if (column->left)
        fprintf(report->to, "%-*s", width, text);
    else
        fprintf(report->to, "  %*s", width, text);
}

static int width_of(const lab_report *report, const report_column *column)
{
    return (column->width > 0 ? column->width : report->kernel_width) + (column == columns ? 0 : 2);
}

/* Goes on in the line below where the column would be beyond the terminal's edge; if a row does not fit one line, it
 * does so behind the kernel's name. `at`: columns taken so far. */
static void break_line(const lab_report *report, const report_column *column, int *at)
{
    int row = 0;
    for (int i = 0; i < COLUMN_COUNT; i++)
        row += is_shown(report, &columns[i]) ? width_of(report, &columns[i]) : 0;
    const int width = width_of(report, column);
    if (report->format == LAB_TABLE && report->columns > 0 && row > report->columns &&
        (column == &columns[1] || *at + width > report->columns)) {
        fputc('\n', report->to);
        *at = 0;
    }
    *at += width;
}

static void put_head(const lab_report *report)
{
    int at = 0;
    if (report->format == LAB_MD)
        fputc('|', report->to);
    for (int i = 0; i < COLUMN_COUNT; i++)
        if (is_shown(report, &columns[i])) {
            break_line(report, &columns[i], &at);
            if (report->format == LAB_TABLE && columns[i].left && i > 0)
                fputs("  ", report->to);
            put_cell(report, &columns[i], columns[i].title);
        }
    fputc('\n', report->to);
    if (report->format != LAB_MD)
        return;
    fputc('|', report->to);
    for (int i = 0; i < COLUMN_COUNT; i++)
        if (is_shown(report, &columns[i]))
            fputs(columns[i].left ? "---|" : "---:|", report->to);
    fputc('\n', report->to);
}

static void put_row(const lab_report *report, const lab_record *record)
{
    char text[CELL_BYTES];
    int at = 0;
    if (report->format == LAB_MD)
        fputc('|', report->to);
    for (int i = 0; i < COLUMN_COUNT; i++)
        if (is_shown(report, &columns[i])) {
            break_line(report, &columns[i], &at);
            if (report->format == LAB_TABLE && columns[i].left && i > 0)
                fputs("  ", report->to);
            columns[i].write(record, text);
            put_cell(report, &columns[i], text);
        }
    if (record->note[0] != '\0' && report->format == LAB_MD)
        fprintf(report->to, " %s", record->note);
    else if (record->note[0] != '\0')
        fprintf(report->to, "  (%s)", record->note);
    fputc('\n', report->to);
}

/* ---- the report ------------------------------------------------------------------------------------------------- */

lab_report lab_report_begin(lab_format format, FILE *to, int kernel_width, int with_peer)
{
    const lab_report report = {format, to, kernel_width > 6 ? kernel_width : 6, with_peer, 0, 0};
    return report;
}

void lab_report_add(lab_report *report, const lab_record *record)
{
    if (report->rows == 0 && report->format == LAB_CSV)
        lab_record_write_csv_head(report->to);
    else if (report->rows == 0 && report->format != LAB_JSON)
        put_head(report);
    report->rows++;
    if (report->format == LAB_JSON)
        lab_record_write_json(report->to, record);
    else if (report->format == LAB_CSV)
        lab_record_write_csv_row(report->to, record);
    else
        put_row(report, record);
    fflush(report->to);
}

void lab_report_note(lab_report *report, const char *text)
{
    if (report->format == LAB_MD)
        fprintf(report->to, "\n%s\n", text);
    else if (report->format == LAB_TABLE)
        fprintf(report->to, "%s\n", text);
    fflush(report->to);
}
