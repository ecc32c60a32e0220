#include "cli/bench_ladder.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli/output.h"

enum { NAME_WIDTH = 16, CELL_WIDTH = 10 };

/* Three digits, never an exponent. */
static void three_digits(char out[24], double value, const char *after)
{
    const double size = fabs(value);
    if (!isfinite(value))
        snprintf(out, 24, "-");
    else
        snprintf(out, 24, "%.*f%s", size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.9995 ? 2 : 3, value, after);
}

/* What a table shows in its cells. */
typedef struct ladder_column {
    const char *title;
    void (*write)(const lab_ladder *ladder, size_t rung, size_t size, char out[24]);
} ladder_column;

static void write_ms(const lab_ladder *l, size_t rung, size_t size, char out[24])
{
    const lab_record *record = l->cells[rung][size];
    snprintf(out, 24, "-");
    if (record && record->time_us < 1000)
        snprintf(out, 24, "%.4f", record->time_us * 1e-3);
    else if (record)
        three_digits(out, record->time_us * 1e-3, "");
}

static void write_gflops(const lab_ladder *l, size_t rung, size_t size, char out[24])
{
    const lab_record *record = l->cells[rung][size];
    three_digits(out, record ? record->gflops : (double)NAN, "");
}

static void write_over(const lab_ladder *l, size_t rung, size_t size, lab_ladder_over over, char out[24])
{
    three_digits(out, lab_ladder_speedup(l, rung, size, over), "x");
}

static void write_below(const lab_ladder *l, size_t rung, size_t size, char out[24])
{
    write_over(l, rung, size, LAB_OVER_BELOW, out);
}

static void write_naive(const lab_ladder *l, size_t rung, size_t size, char out[24])
{
    write_over(l, rung, size, LAB_OVER_NAIVE, out);
}

static void write_sequential(const lab_ladder *l, size_t rung, size_t size, char out[24])
{
    char number[24];
    write_over(l, rung, size, LAB_OVER_SEQUENTIAL, number);
    snprintf(out, 24, "%s%.20s", number[0] != '-' && l->sequential_scaled[size] ? "~" : "", number);
}

static void write_peer(const lab_ladder *l, size_t rung, size_t size, char out[24])
{
    write_over(l, rung, size, LAB_OVER_PEER, out);
}

static const ladder_column columns[] = {
    {"ms", write_ms},
    {"GFLOP/s", write_gflops},
    {"over the rung below", write_below},
    {"over naive", write_naive},
    {"over cpu-sequential", write_sequential},
    {"over the peer", write_peer},
};
enum { COLUMNS = sizeof columns / sizeof columns[0] };

/* Sizes from first to last - 1, side by side. */
typedef struct span {
    size_t first, last;
} span;

static int width_of(const lab_ladder *l, span sizes)
{
    char text[64];
    int width = CELL_WIDTH - 1;
    for (size_t s = sizes.first; s < sizes.last; s++) {
        lab_shape_text(l->sizes[s], text, sizeof text);
        width = (int)strlen(text) > width ? (int)strlen(text) : width;
    }
    return width + 1;
}

static void put_sizes(const lab_ladder *l, span sizes, int width, FILE *to)
{
    char text[64];
    for (size_t s = sizes.first; s < sizes.last; s++) {
        lab_shape_text(l->sizes[s], text, sizeof text);
        fprintf(to, " %*s", width - 1, text);
    }
}

static int has_devices(const lab_ladder *l)
{
    return l->rung_count > 0 && strcmp(l->rungs[0].device, l->rungs[l->rung_count - 1].device) != 0;
}

/* Tables beside each other, of some of the sizes. */
static void put_tables(const lab_ladder *l, const size_t *tables, size_t count, span sizes, FILE *to)
{
    const int cell = width_of(l, sizes), width = (int)(sizes.last - sizes.first) * cell;
    char text[24];
    fprintf(to, "\n%-*s", NAME_WIDTH, "");
    for (size_t i = 0; i < count; i++)
        fprintf(to, "%s%*s", i > 0 ? "  " : "", width, columns[tables[i]].title);
    fprintf(to, "\n%-*s", NAME_WIDTH, "");
    for (size_t i = 0; i < count; i++) {
        fputs(i > 0 ? "  " : "", to);
        put_sizes(l, sizes, cell, to);
    }
    fputc('\n', to);
    for (size_t r = 0; r < l->rung_count; r++) {
        if (has_devices(l) && (r == 0 || strcmp(l->rungs[r].device, l->rungs[r - 1].device) != 0))
            fprintf(to, "%s\n", l->rungs[r].device);
        fprintf(to, "%-*s", NAME_WIDTH, l->rungs[r].kernel);
        for (size_t i = 0; i < count; i++) {
            fputs(i > 0 ? "  " : "", to);
            for (size_t s = sizes.first; s < sizes.last; s++) {
                columns[tables[i]].write(l, r, s, text);
                fprintf(to, " %*s", cell - 1, text);
            }
        }
        fputc('\n', to);
    }
}

/* As many sizes as the terminal has room for, from `first` on. */
static span fitting(const lab_ladder *l, size_t first)
{
    span sizes = {first, first + 1};
    while (sizes.last < l->size_count) {
        const span wider = {first, sizes.last + 1};
        if (cli_has_columns() && NAME_WIDTH + (int)(wider.last - first) * width_of(l, wider) > cli_columns())
            break;
        sizes = wider;
    }
    return sizes;
}

/* Whom each device's rungs were measured beside. */
static void put_peers(const lab_ladder *l, FILE *to)
{
    for (size_t r = 0; r < l->rung_count; r++) {
        const char *device = l->rungs[r].device, *name = NULL;
        char text[400];
        if (r > 0 && strcmp(device, l->rungs[r - 1].device) == 0)
            continue;
        for (size_t s = 0; s < l->size_count && !name; s++)
            lab_ladder_peer_gflops(l, device, s, &name);
        if (name)
            snprintf(text, sizeof text, "%s: the peer is %s", device, name);
        else
            snprintf(text, sizeof text, "%s: no peer was measured%s", device,
                     l->rungs[r].is_cuda ? " (--vs cublas)" : " (--vs openblas or blis; cuBLAS needs a GPU)");
        cli_print_wrapped(to, text, 0, 2);
    }
}

/* 1 if nothing is known of the table. */
static int is_empty(const lab_ladder *l, size_t table)
{
    char text[24];
    for (size_t r = 0; r < l->rung_count; r++)
        for (size_t s = 0; s < l->size_count; s++) {
            columns[table].write(l, r, s, text);
            if (strcmp(text, "-") != 0)
                return 0;
        }
    return 1;
}

void cli_ladder_print(const lab_ladder *ladder, FILE *to)
{
    const span all = {0, ladder->size_count};
    const int width = (int)ladder->size_count * width_of(ladder, all);
    const size_t beside = NAME_WIDTH + 2 * width + 2 <= cli_columns() ? 2 : 1;
    char text[200];
    fprintf(to, "%s %s\n", ladder->dtype, ladder->layout);
    size_t tables[COLUMNS], count = 0;
    for (size_t t = 0; t < COLUMNS; t++)
        if (!is_empty(ladder, t))
            tables[count++] = t;
    for (size_t t = 0; t < count; t += beside)
        for (span sizes = beside == 2 ? all : fitting(ladder, 0); sizes.first < ladder->size_count;
             sizes = sizes.last < ladder->size_count ? fitting(ladder, sizes.last) : (span){sizes.last, sizes.last})
            put_tables(ladder, tables + t, count - t < beside ? count - t : beside, sizes, to);
    for (size_t t = 0; t < COLUMNS; t++)
        if (is_empty(ladder, t))
            fprintf(to, "\n%s: not measured\n", columns[t].title);
    fputc('\n', to);
    put_peers(ladder, to);
    if (ladder->left_out) {
        snprintf(text, sizeof text,
                 "%zu lines are not shown: more than %d sizes or %d kernels, or kernels that this build lacks",
                 ladder->left_out, LAB_LADDER_SIZES, LAB_LADDER_RUNGS);
        cli_print_wrapped(to, text, 0, 2);
    }
}
