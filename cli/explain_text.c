/* A lesson as text. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/explain.h"
#include "cli/explain_text.h"
#include "cli/output.h"

enum { CELL = CLI_TEXT_BYTES, FEW_THREADS = 16, FEW_PHASES = 9, FEW_TERMS = 4, FEW_LOADS = 1, WARP = 32 };

const char *cli_explain_element(const lab_lesson *lesson, char operand, int32_t index, char out[48])
{
    const int64_t columns = lab_lesson_columns(lesson, operand);
    if (index == LAB_ZERO)
        snprintf(out, 48, "0");
    else if (index < 0)
        snprintf(out, 48, "?");
    else
        snprintf(out, 48, "%c[%" PRId64 ",%" PRId64 "]", operand == 'D' ? 'C' : operand, index / columns,
                 index % columns);
    return out;
}

/* ---- what a thread loads ---------------------------------------------------------------------------------------- */

static int is_staged(const lab_lesson *lesson)
{
    for (size_t i = 0; i < lesson->step_count; i++) {
        const lab_step *step = &lesson->steps[i];
        if (step->kind == LAB_STEP_COPY ||
            (step->kind == LAB_STEP_FILL && (step->operand == 'A' || step->operand == 'B')))
            return 1;
    }
    return 0;
}

static int brings(const lab_step *step, char operand, int staged)
{
    const int is_kind =
        staged ? step->kind == LAB_STEP_FILL || step->kind == LAB_STEP_COPY : step->kind == LAB_STEP_LOAD;
    return is_kind && (step->operand == operand || (step->operand == 'Z' && operand == 'A'));
}

static void put_load(cli_text_line *to, const lab_lesson *lesson, const lab_step *step, int thread, char operand)
{
    const int32_t first = step->elements[(unsigned)thread * step->width];
    const float *values = lesson->dtype != TSR_F32 ? NULL : operand == 'A' ? lesson->a : lesson->b;
    char name[48];
    cli_explain_element(lesson, operand, first, name);
    if (first >= 0 && step->width > 1)
        cli_text_put(to, "%.*s..%" PRId64 "]", (int)strlen(name) - 1, name,
                     first % lab_lesson_columns(lesson, operand) + step->width - 1);
    else
        cli_text_put(to, "%s", name);
    if (values && first >= 0 && step->width == 1)
        cli_text_put(to, "=%g", (double)values[first]);
    if (step->words)
        cli_text_put(to, "->s%d", step->words[thread]);
}

/* The thread's loads of one operand in a phase. */
static void put_loads(cli_text_line *to, const lab_lesson *lesson, int phase, int thread, char operand, int all)
{
    const int staged = is_staged(lesson);
    int count = 0;
    for (size_t i = 0; i < lesson->step_count; i++) {
        const lab_step *step = &lesson->steps[i];
        if (step->phase != phase || !brings(step, operand, staged) ||
            step->elements[(unsigned)thread * step->width] == LAB_NO_THREAD)
            continue;
        count++;
        if (!all && count > FEW_LOADS)
            continue;
        cli_text_put(to, "%s", count > 1 ? ", " : "");
        put_load(to, lesson, step, thread, operand);
    }
    if (!all && count > FEW_LOADS)
        cli_text_put(to, " +%d", count - FEW_LOADS);
}

/* ---- what it adds ----------------------------------------------------------------------------------------------- */

/* The products of one thread in one phase. */
typedef struct share {
    const lab_lesson *lesson;
    int phase, thread;
    int count, zeros, elements;
    int32_t row0, row1, column0, column1, k0, k1;
} share;

static int is_in(const share *s, const lab_product *p)
{
    return p->phase == s->phase && p->thread == s->thread;
}

static share share_of(const lab_lesson *lesson, int phase, int thread)
{
    share s = {lesson, phase, thread, 0, 0, 0, INT32_MAX, -1, INT32_MAX, -1, INT32_MAX, -1};
    for (size_t i = 0; i < lesson->product_count; i++) {
        const lab_product *p = &lesson->products[i];
        if (!is_in(&s, p))
            continue;
        if (p->row < 0) {
            s.zeros++;
            continue;
        }
        s.count++;
        s.row0 = p->row < s.row0 ? p->row : s.row0;
        s.row1 = p->row > s.row1 ? p->row : s.row1;
        s.column0 = p->column < s.column0 ? p->column : s.column0;
        s.column1 = p->column > s.column1 ? p->column : s.column1;
        s.k0 = p->k < s.k0 ? p->k : s.k0;
        s.k1 = p->k > s.k1 ? p->k : s.k1;
    }
    s.elements = s.count ? s.count / (s.k1 - s.k0 + 1) : 0;
    return s;
}

/* The next product of element (row, column) in the share, from index *at on; NULL if there is none. */
static const lab_product *next_of(const share *s, int32_t row, int32_t column, size_t *at)
{
    for (; *at < s->lesson->product_count; ++*at) {
        const lab_product *p = &s->lesson->products[*at];
        if (is_in(s, p) && p->row == row && p->column == column) {
            ++*at;
            return p;
        }
    }
    return NULL;
}

/* "C[0,0] += A[0,0]*B[0,0] + A[0,1]*B[1,0]: 0 + 1*1 + 2*5 = 11" */
static void put_sum(cli_text_line *to, const share *s, int32_t row, int32_t column, int all)
{
    const int terms = s->k1 - s->k0 + 1;
    size_t at = 0;
    double before = 0, after = 0;
    cli_text_line numbers = {(char[CELL]){0}, 0};
    cli_text_put(to, all || terms <= FEW_TERMS ? "C[%d,%d] +=" : "C[%d,%d]", row, column);
    int count = 0;
    for (const lab_product *p; (p = next_of(s, row, column, &at)) != NULL; count++) {
        if (count == 0)
            before = (double)p->sum - (double)p->a * (double)p->b;
        after = p->sum;
        if (all || terms <= FEW_TERMS) {
            cli_text_put(to, "%s A[%d,%d]*B[%d,%d]", count ? " +" : "", row, p->k, p->k, column);
            cli_text_put(&numbers, " + %g*%g", (double)p->a, (double)p->b);
        }
    }
    if (all || terms <= FEW_TERMS)
        cli_text_put(to, ": %g%s = %g", before, numbers.out, after);
    else
        cli_text_put(to, ": %g -> %g by k = %d..%d", before, after, s->k0, s->k1);
}

static void put_adds(cli_text_line *to, const share *s)
{
    if (s->elements == 1)
        put_sum(to, s, s->row0, s->column0, 0);
    else if (s->count)
        cli_text_put(to, "%sC[%d..%d,%d..%d], k = %d..%d: %d products",
                     s->elements == (s->row1 - s->row0 + 1) * (s->column1 - s->column0 + 1) ? "" : "some of ", s->row0,
                     s->row1, s->column0, s->column1, s->k0, s->k1, s->count);
    if (s->zeros)
        cli_text_put(to, "%s%d with padding zeros", s->count ? "; " : "", s->zeros);
}

static void put_stores(cli_text_line *to, const lab_lesson *lesson, int phase, int thread)
{
    int count = 0;
    char name[48];
    for (size_t i = 0; i < lesson->step_count; i++) {
        const lab_step *step = &lesson->steps[i];
        const int32_t element = step->elements[(unsigned)thread * step->width];
        if (step->phase != phase || step->kind != LAB_STEP_STORE || element < 0)
            continue;
        if (count++ < FEW_LOADS)
            cli_text_put(to, "%sstores %s%s", to->used ? "; " : "", cli_explain_element(lesson, 'D', element, name),
                         step->width > 1 ? " and neighbours" : "");
    }
    if (count > FEW_LOADS)
        cli_text_put(to, " +%d", count - FEW_LOADS);
}

/* ---- the threads of a phase ------------------------------------------------------------------------------------- */

static int is_shown(const lab_lesson *lesson, const cli_explain_view *view, int thread)
{
    const int threads = lesson->threads_x * lesson->threads_y;
    if (view->has_thread)
        return thread == view->thread_y * lesson->threads_x + view->thread_x;
    return threads <= FEW_THREADS || thread < 4 || thread == WARP || thread == threads - 1;
}

static int put_threads(const lab_lesson *lesson, const cli_explain_view *view, int phase, FILE *to)
{
    cli_table table;
    const int threads = lesson->threads_x * lesson->threads_y;
    int skipped = 0;
    char *const cells = malloc(3 * CELL);
    if (!cells)
        return 0;
    cli_table_begin(&table, "llll", "thread", "brings of A", "brings of B", "and adds");
    for (int thread = 0; thread < threads; thread++) {
        if (!is_shown(lesson, view, thread)) {
            skipped += !view->has_thread;
            continue;
        }
        if (skipped)
            cli_table_row(&table, "...", "", "", "");
        skipped = 0;
        cli_text_line a = {cells, 0}, b = {cells + CELL, 0}, adds = {cells + 2 * CELL, 0};
        memset(cells, 0, 3 * CELL);
        const share s = share_of(lesson, phase, thread);
        put_loads(&a, lesson, phase, thread, 'A', view->has_thread);
        put_loads(&b, lesson, phase, thread, 'B', view->has_thread);
        put_adds(&adds, &s);
        put_stores(&adds, lesson, phase, thread);
        cli_table_row(&table, CLI_CELL("(%d,%d)", thread % lesson->threads_x, thread / lesson->threads_x), a.out, b.out,
                      adds.out);
    }
    free(cells);
    return cli_table_end(&table, to, 2);
}

/* Each sum of one thread, in full. */
static void put_sums(const lab_lesson *lesson, const cli_explain_view *view, int phase, FILE *to)
{
    const share s = share_of(lesson, phase, (int)(view->thread_y * lesson->threads_x + view->thread_x));
    if (s.elements <= 1 && s.k1 - s.k0 < FEW_TERMS)
        return; /* the table has it */
    char *line = malloc(CELL);
    for (int32_t row = s.row0; line && row <= s.row1; row++)
        for (int32_t column = s.column0; column <= s.column1; column++) {
            size_t at = 0;
            cli_text_line sum = {line, 0};
            if (!next_of(&s, row, column, &at))
                continue;
            put_sum(&sum, &s, row, column, 1);
            fputs("  ", to);
            cli_print_wrapped(to, line, 2, 6);
        }
    free(line);
}

/* ---- all of it -------------------------------------------------------------------------------------------------- */

static void put_head(const lab_lesson *l, FILE *to)
{
    char line[600];
    const int64_t row = l->block_y * l->bm, column = l->block_x * l->bn;
    const int64_t row1 = row + l->bm < l->m ? row + l->bm : l->m,
                  column1 = column + l->bn < l->n ? column + l->bn : l->n;
    snprintf(line, sizeof line, "%s: %s (%s)", l->instance, l->summary, l->source);
    cli_print_wrapped(to, line, 0, 2);
    snprintf(line, sizeof line,
             "C = A B, %" PRId64 " x %" PRId64 " x %" PRId64 " %s; block (%" PRId64 ",%" PRId64 ") of %" PRId64
             " x %" PRId64 " makes rows %" PRId64 "..%" PRId64 " and columns %" PRId64 "..%" PRId64
             " of C with %d x %d threads and %d bytes of shared memory, in %d phase%s",
             l->m, l->n, l->k, tsr_dtype_name(l->dtype), l->block_x, l->block_y, l->blocks_x, l->blocks_y, row,
             row1 - 1, column, column1 - 1, l->threads_x, l->threads_y, l->smem_bytes, l->phases,
             l->phases == 1 ? "" : "s");
    cli_print_wrapped(to, line, 0, 2);
    if (!l->has_products)
        cli_print_wrapped(to,
                          "The products are made by tensor cores, a warp at a time: loads and reads can be followed, "
                          "single products cannot.",
                          0, 2);
    if (strcmp(l->kernel, "wmma") == 0)
        cli_print_wrapped(to,
                          "Which lane reads what of a WMMA fragment is the hardware's secret: the reads of fragments "
                          "are those of the emulator's own order, their wavefronts too.",
                          0, 2);
}

/* Counted, over all phases. */
static void put_totals(const lab_lesson *l, FILE *to)
{
    double loads = 0, fills = 0, reads = 0, products = 0, zeros = 0;
    const double threads = (double)l->threads_x * l->threads_y;
    for (size_t i = 0; i < l->step_count; i++) {
        const lab_step *step = &l->steps[i];
        double elements = 0;
        for (unsigned j = 0; j < (unsigned)threads * step->width; j++)
            elements += step->elements[j] >= 0 || (step->elements[j] != LAB_NO_THREAD && step->kind == LAB_STEP_READ);
        loads += step->kind == LAB_STEP_LOAD || step->kind == LAB_STEP_COPY ? elements : 0;
        fills += step->kind == LAB_STEP_FILL || step->kind == LAB_STEP_COPY ? elements : 0;
        reads += step->kind == LAB_STEP_READ ? elements : 0;
    }
    for (size_t i = 0; i < l->product_count; i++) {
        products += l->products[i].row >= 0;
        zeros += l->products[i].row < 0;
    }
    char line[600];
    fputc('\n', to);
    const int used = snprintf(line, sizeof line,
                              "Counted, for one thread on average: %.6g elements loaded from global memory, %.6g put "
                              "into shared memory, %.6g read from it",
                              loads / threads, fills / threads, reads / threads);
    if (l->has_products)
        snprintf(line + used, sizeof line - (size_t)used,
                 ", %.6g products%s%.6g; a thread that makes one element from global memory alone loads 2 K = %" PRId64
                 ". FLOP for each byte loaded: %.4g",
                 products / threads, zeros > 0 ? ", and with padding zeros " : ", padding ", zeros / threads, 2 * l->k,
                 loads > 0 ? 2 * products / (loads * l->elem_bytes) : 0.0);
    cli_print_wrapped(to, line, 0, 2);
}

static int is_phase_shown(const lab_lesson *lesson, const cli_explain_view *view, int phase)
{
    if (view->phase >= 0)
        return phase == view->phase;
    return lesson->phases <= FEW_PHASES || view->has_thread || phase < 2 || phase >= lesson->phases - 2;
}

int cli_explain_text(const lab_lesson *lesson, const cli_explain_view *view, FILE *to)
{
    int whole = 1, skipped = 0;
    put_head(lesson, to);
    for (int phase = 0; phase < lesson->phases && whole; phase++) {
        if (!is_phase_shown(lesson, view, phase)) {
            skipped += view->phase < 0;
            continue;
        }
        if (skipped)
            fprintf(to, "\n... %d phases like these (--phase shows one)\n", skipped);
        skipped = 0;
        fprintf(to, "\nphase %d\n", phase);
        whole = put_threads(lesson, view, phase, to);
        if (view->has_thread)
            put_sums(lesson, view, phase, to);
        else
            whole &= fputc('\n', to) != EOF && cli_explain_accesses(lesson, view, phase, to);
    }
    if (view->phase < 0 && !view->has_thread)
        put_totals(lesson, to);
    return whole;
}
