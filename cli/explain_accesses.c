/* A lesson as text: the accesses of a phase, as the memory system sees them. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/explain_text.h"
#include "cli/output.h"

enum { CELL = CLI_TEXT_BYTES, WARP = 32, FEW_RUNS = 3 };

void cli_text_put(cli_text_line *to, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    const int written = vsnprintf(to->out + to->used, CELL - to->used, format, list);
    va_end(list);
    to->used += written > 0 ? (size_t)written : 0;
    if (to->used > CELL - 1)
        to->used = CELL - 1;
}

/* Where the lanes of a warp are: elements of an operand, or words of shared memory ('s'). */
typedef struct lanes {
    const lab_lesson *lesson;
    char of;
    unsigned width;
    int32_t at[WARP];
} lanes;

/* Wide accesses of a transposed operand: each lane has elements below each other. */
static void put_down(cli_text_line *to, const lanes *l, int32_t begin, int32_t end, int32_t stride, int count)
{
    const int64_t columns = lab_lesson_columns(l->lesson, l->of), deep = l->width - 1;
    const int64_t row0 = begin / columns, row1 = end / columns, column0 = begin % columns, column1 = end % columns;
    if (count == 1 || (column0 == column1 && (stride == 0 || stride == (int32_t)l->width * columns)))
        cli_text_put(to, "%c[%" PRId64 "..%" PRId64 ",%" PRId64 "]", l->of, row0, row1 + deep, column0);
    else if (row0 == row1 && stride == 1)
        cli_text_put(to, "%c[%" PRId64 "..%" PRId64 ",%" PRId64 "..%" PRId64 "]", l->of, row0, row1 + deep, column0,
                     column1);
    else
        cli_text_put(to, "%c[%" PRId64 "..%" PRId64 ",%" PRId64 "] ... [%" PRId64 "..%" PRId64 ",%" PRId64 "]", l->of,
                     row0, row0 + deep, column0, row1, row1 + deep, column1);
}

static void put_lane_run(cli_text_line *to, const lanes *l, int first, int count)
{
    const int64_t columns = l->of == 's' ? INT64_MAX : lab_lesson_columns(l->lesson, l->of);
    const int pitch = l->of == 's' ? 1 : lab_lesson_pitch(l->lesson, l->of);
    const int32_t span = pitch * (int32_t)l->width; /* from a lane to the one that goes on behind it */
    const int32_t begin = l->at[first], end = l->at[first + count - 1];
    const int32_t stride = count > 1 ? l->at[first + 1] - begin : span;
    const int64_t row0 = begin / columns, row1 = end / columns, column0 = begin % columns, column1 = end % columns;
    const int is_dense = stride == span && row0 == row1;
    const char name = l->of == 'D' ? 'C' : l->of;
    const int64_t last = column1 + span - pitch;
    cli_text_put(to, "%s", to->used ? ", " : "");
    if (l->of == 's') {
        if (stride < 0)
            cli_text_put(to, "s%" PRId64 "..%" PRId64 " by %d", column0, column1, stride);
        else if (stride == 0 || count == 1 || is_dense)
            cli_text_put(to, last == column0 || (stride == 0 && l->width == 1) ? "s%" PRId64 : "s%" PRId64 "..%" PRId64,
                         column0, stride == 0 ? column0 + l->width - 1 : last);
        else
            cli_text_put(to, "s%" PRId64 "..%" PRId64 " by %d", column0, last, stride);
    } else if (l->width > 1 && lab_lesson_goes_down(l->lesson, l->of)) {
        put_down(to, l, begin, end, stride, count);
    } else if (stride == 0 || count == 1) {
        cli_text_put(to, l->width > 1 ? "%c[%" PRId64 ",%" PRId64 "..%" PRId64 "]" : "%c[%" PRId64 ",%" PRId64 "]",
                     name, row0, column0, column0 + span - pitch);
    } else if (is_dense) {
        cli_text_put(to, "%c[%" PRId64 ",%" PRId64 "..%" PRId64 "]", name, row0, column0, last);
    } else if (column0 == column1) {
        cli_text_put(to, "%c[%" PRId64 "..%" PRId64 ",%" PRId64 "]", name, row0, row1, column0);
    } else {
        cli_text_put(to, "%c[%" PRId64 ",%" PRId64 "] ... [%" PRId64 ",%" PRId64 "] by %d", name, row0, column0, row1,
                     last, stride);
    }
    if (stride == 0 && count > 1)
        cli_text_put(to, " x%d", count);
}

/* Lanes that follow each other at one distance, and in a matrix in one row or column, are one run. */
static int run_length(const lanes *l, int first)
{
    const int64_t columns = l->of == 's' ? INT64_MAX : lab_lesson_columns(l->lesson, l->of);
    const int64_t row = l->at[first] / columns, column = l->at[first] % columns;
    int end = first + 1;
    while (end < WARP && l->at[end] >= 0 &&
           (end < first + 2 || l->at[end] - l->at[end - 1] == l->at[first + 1] - l->at[first]) &&
           (l->at[first + 1] / columns == row ? l->at[end] / columns == row : l->at[end] % columns == column))
        end++;
    return end - first;
}

static void put_lanes(cli_text_line *to, const lanes *l)
{
    int runs = 0, idle = 0;
    for (int lane = 0; lane < WARP;) {
        if (l->at[lane] < 0) {
            idle++;
            lane++;
            continue;
        }
        const int count = run_length(l, lane);
        if (runs++ < FEW_RUNS)
            put_lane_run(to, l, lane, count);
        lane += count;
    }
    if (runs > FEW_RUNS)
        cli_text_put(to, ", %d more runs", runs - FEW_RUNS);
    if (idle > 0 && idle < WARP)
        cli_text_put(to, " (%d lanes idle)", idle);
    if (idle == WARP)
        cli_text_put(to, "no lane");
}

static lanes lanes_of(const lab_lesson *lesson, const lab_step *step, int warp, int shared)
{
    const int threads = lesson->threads_x * lesson->threads_y;
    lanes l = {.lesson = lesson, .of = shared ? 's' : step->operand, .width = step->width};
    for (int lane = 0; lane < WARP; lane++) {
        const int thread = warp * WARP + lane;
        l.at[lane] = thread >= threads ? LAB_NO_THREAD
                     : shared          ? step->words[thread]
                                       : step->elements[(unsigned)thread * step->width];
    }
    return l;
}

/* Where the file's name begins in "kernels/gemm/tiled.cu:78 (in ...)". */
static int file_at(const char *place)
{
    int at = 0;
    for (int i = 0; place[i] && place[i] != ' '; i++)
        at = place[i] == '/' ? i + 1 : at;
    return at;
}

static const char *step_name(const lab_step *step)
{
    static char names[LAB_STEP_WARP + 1][8] = {"load", "fill", "copy", "read", "store", "warp"};
    return names[step->kind];
}

static int is_alike(const lab_lesson *lesson, const lab_step *a, const lab_step *b)
{
    return a->stage == b->stage && strcmp(lesson->places[a->place], lesson->places[b->place]) == 0 &&
           a->kind == b->kind && a->bytes == b->bytes && a->operand == b->operand;
}

static void put_step(cli_table *table, const lab_lesson *lesson, const cli_explain_view *view, size_t first)
{
    const lab_step *step = &lesson->steps[first];
    lab_step_cost sum = {0};
    int times = 0;
    char cell[CELL] = "", sectors[32] = "", wavefronts[32] = "";
    cli_text_line where = {cell, 0};
    for (size_t i = first; i < lesson->step_count && lesson->steps[i].stage == step->stage; i++) {
        if (!is_alike(lesson, step, &lesson->steps[i]))
            continue;
        const lab_step_cost cost = lab_step_cost_of(lesson, &lesson->steps[i], -1);
        times++;
        sum.sectors += cost.sectors;
        sum.ideal_sectors += cost.ideal_sectors;
        sum.wavefronts += cost.wavefronts;
        sum.ideal_wavefronts += cost.ideal_wavefronts;
    }
    const int is_global = step->kind == LAB_STEP_LOAD || step->kind == LAB_STEP_STORE || step->kind == LAB_STEP_COPY;
    if (is_global && step->operand >= 'A' && step->operand <= 'D') {
        const lanes l = lanes_of(lesson, step, (int)view->warp, 0);
        put_lanes(&where, &l);
    }
    if (step->words) {
        const lanes l = lanes_of(lesson, step, (int)view->warp, 1);
        cli_text_line words = {(char[CELL]){0}, 0};
        put_lanes(&words, &l);
        cli_text_put(&where, "%s%s", is_global ? " -> " : "", words.out);
    }
    if (sum.sectors)
        snprintf(sectors, sizeof sectors, "%u of %u", sum.sectors, sum.ideal_sectors);
    if (sum.wavefronts)
        snprintf(wavefronts, sizeof wavefronts, "%u of %u", sum.wavefronts, sum.ideal_wavefronts);
    const char *place = lesson->places[step->place];
    const char of = step->operand == 'D' ? 'C' : step->operand == 'Z' ? '0' : step->operand;
    cli_table_row(table, CLI_CELL("%s%s%.1s", step_name(step), of && of != 'M' ? " " : "", of == 'M' ? "" : &of),
                  CLI_CELL("%.*s", (int)strcspn(place, " ") - file_at(place), place + file_at(place)),
                  step->bytes ? CLI_CELL("%u", step->bytes) : "", CLI_CELL("%d", times), sectors, wavefronts, cell);
}

int cli_explain_accesses(const lab_lesson *lesson, const cli_explain_view *view, int phase, FILE *to)
{
    cli_table table;
    cli_table_begin(&table, "llrrrrl", "access", "source", "bytes", "times", "sectors", "wavefronts",
                    CLI_CELL("warp %d, the first time", (int)view->warp));
    int stage = -1;
    for (size_t i = 0; i < lesson->step_count; i++) {
        int is_first = lesson->steps[i].phase == phase;
        if (is_first && stage >= 0 && lesson->steps[i].stage != stage)
            cli_table_row(&table, "barrier", "", "", "", "", "", "");
        stage = is_first ? lesson->steps[i].stage : stage;
        for (size_t j = 0; j < i && is_first; j++)
            is_first = !is_alike(lesson, &lesson->steps[j], &lesson->steps[i]);
        if (is_first)
            put_step(&table, lesson, view, i);
    }
    return cli_table_end(&table, to, 2);
}
