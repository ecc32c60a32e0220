/* A lesson as text. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/explain.h"
#include "cli/explain_text.h"
#include "cli/output.h"

enum {
    CELL = CLI_TEXT_BYTES,
    FEW_THREADS = 16,
    FEW_PHASES = 9,
    FEW_TERMS = 4,
    FEW_STORES = 1,
    FEW_RUNS = 2,
    FEW_SUMS = 2,
    FEW_LOADS = 16,
    FEW_FRAGMENTS = 8,
    WARP = 32
};

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
    if (first >= 0 && step->width > 1 && lab_lesson_goes_down(lesson, operand))
        cli_text_put(
            to, "%c[%" PRId64 "..%" PRId64 ",%" PRId64 "]", operand, first / lab_lesson_columns(lesson, operand),
            first / lab_lesson_columns(lesson, operand) + step->width - 1, first % lab_lesson_columns(lesson, operand));
    else if (first >= 0 && step->width > 1)
        cli_text_put(to, "%.*s..%" PRId64 "]", (int)strlen(name) - 1, name,
                     first % lab_lesson_columns(lesson, operand) +
                         lab_lesson_pitch(lesson, operand) * ((int64_t)step->width - 1));
    else
        cli_text_put(to, "%s", name);
    if (values && first >= 0 && step->width == 1)
        cli_text_put(to, "=%g", (double)values[first]);
    if (step->words)
        cli_text_put(to, "->s%d", step->words[thread]);
}

/* Loads that follow each other at one distance in a row or column of the operand, and in shared memory. */
typedef struct load_run {
    const lab_step *first;
    int32_t element, step, word, word_step;
    int count;
} load_run;

/* Does the load go on where the run ends? */
static int goes_on(const lab_lesson *lesson, const load_run *run, const lab_step *step, int32_t element, int32_t word)
{
    const int64_t columns = lab_lesson_columns(lesson, run->first->operand == 'Z' ? 'A' : run->first->operand);
    const int32_t last = run->element + (run->count - 1) * run->step,
                  last_word = run->word + (run->count - 1) * run->word_step;
    if (step->width != run->first->width || (element < 0) != (run->element < 0) ||
        (element >= 0 && element / columns != run->element / columns && element % columns != run->element % columns))
        return 0;
    return run->count == 1 || ((element < 0 || element - last == run->step) && word - last_word == run->word_step);
}

/* "3", "0..6", "0..6 by 2" */
static void put_range(cli_text_line *to, int64_t first, int64_t last, int64_t step)
{
    cli_text_put(to, first == last ? "%" PRId64 : "%" PRId64 "..%" PRId64, first, last);
    if (step > 1)
        cli_text_put(to, " by %" PRId64, step);
}

/* "B[0..7,0..64 by 32]": wide loads of a transposed operand. */
static void put_run_down(cli_text_line *to, const lab_lesson *lesson, const load_run *run, char operand)
{
    const int64_t columns = lab_lesson_columns(lesson, operand), width = run->first->width;
    const int64_t last = run->element + (int64_t)(run->count - 1) * run->step;
    const int64_t row0 = run->element / columns, row1 = last / columns, column0 = run->element % columns,
                  column1 = last % columns;
    const int64_t row_step = row1 != row0 ? run->step / columns : 0;
    cli_text_put(to, "%c[", operand);
    put_range(to, row0, row1 + width - 1, row_step == width ? 0 : row_step);
    cli_text_put(to, ",");
    put_range(to, column0, column1, column1 != column0 ? run->step : 0);
    cli_text_put(to, "]");
}

/* "A[0,3]", "A[0,0..3]", "B[0..6 by 2,37]" */
static void put_run_elements(cli_text_line *to, const lab_lesson *lesson, const load_run *run, char operand)
{
    const int64_t columns = lab_lesson_columns(lesson, operand),
                  span = lab_lesson_pitch(lesson, operand) * (int64_t)run->first->width;
    const int32_t last = run->element + (run->count - 1) * run->step;
    const int64_t row0 = run->element / columns, row1 = last / columns, column0 = run->element % columns;
    const int64_t end = last % columns + span - lab_lesson_pitch(lesson, operand);
    if (run->element < 0)
        cli_text_put(to, "0");
    else if (run->first->width > 1 && lab_lesson_goes_down(lesson, operand))
        put_run_down(to, lesson, run, operand);
    else if (row0 != row1) {
        cli_text_put(to, "%c[%" PRId64 "..%" PRId64, operand, row0, row1);
        if (run->step != columns)
            cli_text_put(to, " by %" PRId64, run->step / columns);
        cli_text_put(to, column0 == end ? ",%" PRId64 "]" : ",%" PRId64 "..%" PRId64 "]", column0, end);
    } else if (run->count > 1 && run->step != span && run->step != 0)
        cli_text_put(to, "%c[%" PRId64 ",%" PRId64 "..%" PRId64 " by %d]", operand, row0, column0, end, run->step);
    else if (column0 != end)
        cli_text_put(to, "%c[%" PRId64 ",%" PRId64 "..%" PRId64 "]", operand, row0, column0, end);
    else
        cli_text_put(to, "%c[%" PRId64 ",%" PRId64 "]", operand, row0, column0);
    if (run->count > 1 && (run->element < 0 || run->step == 0))
        cli_text_put(to, " x%d", run->count);
}

static void put_run(cli_text_line *to, const lab_lesson *lesson, const load_run *run, int thread, char operand)
{
    const int32_t last_word = run->word + (run->count - 1) * run->word_step;
    if (run->count == 1) {
        put_load(to, lesson, run->first, thread, operand);
        return;
    }
    put_run_elements(to, lesson, run, operand);
    if (run->first->words && run->word_step)
        cli_text_put(to, run->word_step == 1 ? "->s%d..%d" : "->s%d..%d by %d", run->word, last_word, run->word_step);
    else if (run->first->words)
        cli_text_put(to, "->s%d", run->word);
}

/* What of a thread's loads is told. */
typedef struct load_list {
    cli_text_line *to;
    const lab_lesson *lesson;
    int thread, all;
    char operand;
    load_run run; /* that may go on */
    int runs, left;
} load_list;

static void end_run(load_list *list)
{
    if (list->run.count == 0)
        return;
    if (list->all || list->runs < FEW_RUNS) {
        cli_text_put(list->to, "%s", list->runs ? ", " : "");
        put_run(list->to, list->lesson, &list->run, list->thread, list->operand);
    } else
        list->left += list->run.count;
    list->runs++;
}

static void add_load(load_list *list, const lab_step *step, int32_t element)
{
    const int32_t word = step->words ? step->words[list->thread] : 0;
    load_run *const run = &list->run;
    if (run->count && !list->all && goes_on(list->lesson, run, step, element, word)) {
        run->step = run->count == 1 ? element - run->element : run->step;
        run->word_step = run->count == 1 ? word - run->word : run->word_step;
        run->count++;
        return;
    }
    end_run(list);
    *run = (load_run){step, element, 0, word, 0, 1};
}

/* The thread's loads of one operand in a phase: each on its own if `all`, else in runs, the first of them. */
static void put_loads(cli_text_line *to, const lab_lesson *lesson, int phase, int thread, char operand, int all)
{
    const int staged = is_staged(lesson);
    load_list list = {.to = to, .lesson = lesson, .thread = thread, .all = all, .operand = operand};
    for (size_t i = 0; i < lesson->step_count; i++) {
        const lab_step *step = &lesson->steps[i];
        const int32_t element = step->elements[(unsigned)thread * step->width];
        if (step->phase == phase && brings(step, operand, staged) && element != LAB_NO_THREAD)
            add_load(&list, step, element);
    }
    end_run(&list);
    if (list.left)
        cli_text_put(to, " and %d more", list.left);
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
        if (count++ < FEW_STORES)
            cli_text_put(to, "%sstores %s%s", to->used ? "; " : "", cli_explain_element(lesson, 'D', element, name),
                         step->width > 1 ? " and neighbours" : "");
    }
    if (count > FEW_STORES)
        cli_text_put(to, " +%d", count - FEW_STORES);
}

/* ---- the threads of a phase ------------------------------------------------------------------------------------- */

static int is_shown(const lab_lesson *lesson, int thread)
{
    const int threads = lesson->threads_x * lesson->threads_y;
    return threads <= FEW_THREADS || thread < 4 || thread == WARP || thread == threads - 1;
}

/* How many loads the thread has in a phase, of both operands. */
static int count_loads(const lab_lesson *lesson, int phase, int thread)
{
    int count = 0;
    const int staged = is_staged(lesson);
    for (size_t i = 0; i < lesson->step_count; i++) {
        const lab_step *step = &lesson->steps[i];
        count += step->phase == phase && (brings(step, 'A', staged) || brings(step, 'B', staged)) &&
                 step->elements[(unsigned)thread * step->width] != LAB_NO_THREAD;
    }
    return count;
}

/* The three cells of a thread. 0 if it does nothing in this phase. */
static int tell_thread(const lab_lesson *lesson, int phase, int thread, int all, char *cells)
{
    cli_text_line a = {cells, 0}, b = {cells + CELL, 0}, adds = {cells + 2 * CELL, 0};
    memset(cells, 0, 3 * CELL);
    const share s = share_of(lesson, phase, thread);
    put_loads(&a, lesson, phase, thread, 'A', all);
    put_loads(&b, lesson, phase, thread, 'B', all);
    put_adds(&adds, &s);
    put_stores(&adds, lesson, phase, thread);
    return a.used || b.used || adds.used;
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
        if (!view->all && !is_shown(lesson, thread)) {
            skipped++;
            continue;
        }
        if (skipped)
            cli_table_row(&table, "...", "", "", "");
        skipped = 0;
        const int works = tell_thread(lesson, phase, thread, 0, cells);
        cli_table_row(&table, CLI_CELL("(%d,%d)", thread % lesson->threads_x, thread / lesson->threads_x),
                      works ? cells : "idle", cells + CELL, cells + 2 * CELL);
    }
    free(cells);
    return cli_table_end(&table, to, 2);
}

/* Sums of one thread, the first few in full. */
static void put_sums(const share *s, int all, FILE *to)
{
    int told = 0, left = 0;
    char *line = malloc(CELL);
    for (int32_t row = s->row0; line && row <= s->row1; row++)
        for (int32_t column = s->column0; column <= s->column1; column++) {
            size_t at = 0;
            cli_text_line sum = {line, 0};
            if (!next_of(s, row, column, &at))
                continue;
            if (!all && told == FEW_SUMS - (s->elements > FEW_SUMS)) {
                left++;
                continue;
            }
            told++;
            put_sum(&sum, s, row, column, 1);
            fputs("  ", to);
            cli_print_wrapped(to, line, 2, 6);
        }
    free(line);
    if (left)
        fprintf(to, "  and %d more elements of C[%d..%d,%d..%d] in the same way (--all tells them)\n", left, s->row0,
                s->row1, s->column0, s->column1);
}

static void put_labelled(const char *label, const char *text, FILE *to)
{
    fprintf(to, "  %s  ", label);
    cli_print_wrapped(to, *text ? text : "nothing", 4 + (int)strlen(label), 4 + (int)strlen(label));
}

/* All that one thread does in a phase. */
static int put_one_thread(const lab_lesson *lesson, const cli_explain_view *view, int phase, FILE *to)
{
    const int thread = (int)(view->thread_y * lesson->threads_x + view->thread_x);
    char *const cells = malloc(3 * CELL);
    if (!cells)
        return 0;
    const share s = share_of(lesson, phase, thread);
    tell_thread(lesson, phase, thread, view->all || count_loads(lesson, phase, thread) <= FEW_LOADS, cells);
    put_labelled("brings of A", cells, to);
    put_labelled("brings of B", cells + CELL, to);
    put_labelled("adds       ", cells + 2 * CELL, to);
    free(cells);
    if (s.elements > 1 || s.k1 - s.k0 >= FEW_TERMS) /* else it has been told above */
        put_sums(&s, view->all, to);
    return 1;
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
             "C = A B, %" PRId64 " x %" PRId64 " x %" PRId64 " %s; block (%" PRId64 ",%" PRId64
             ") of a grid of %" PRId64 " x %" PRId64 " makes rows %" PRId64 "..%" PRId64 " and columns %" PRId64
             "..%" PRId64 " of C with %d x %d threads and %d bytes of shared memory, in %d phase%s",
             l->m, l->n, l->k, lab_types_pair(&(lab_types){.a = l->dtype, .b = l->dtype_b}, (char[LAB_TYPES_TEXT]){0}),
             l->block_x, l->block_y, l->blocks_x, l->blocks_y, row, row1 - 1, column, column1 - 1, l->threads_x,
             l->threads_y, l->smem_bytes, l->phases, l->phases == 1 ? "" : "s");
    cli_print_wrapped(to, line, 0, 2);
    cli_print_wrapped(
        to,
        "In pairs, x comes first: thread (x,y) is threadIdx.x, threadIdx.y, block (x,y) is column, row of "
        "the grid; in elements the row comes first: C[row,column]. s7 is word 7 of shared memory.",
        0, 2);
    if (!l->has_products)
        cli_print_wrapped(to,
                          "The products are made by tensor cores, a warp at a time: loads and reads can be followed, "
                          "and which fragments are multiplied, single products cannot.",
                          0, 2);
    if (strcmp(l->kernel, "wmma") == 0)
        cli_print_wrapped(
            to,
            "Which lane holds which element of a WMMA fragment is not documented: the reads of fragments, "
            "and their wavefronts, are those of an order that the emulator made up.",
            0, 2);
    if (l->is_sparse_a)
        cli_print_wrapped(to,
                          "A is compressed 2:4. Here the second and the fourth of each four elements along K are kept, "
                          "A[i,1], A[i,3], A[i,5], ...; \"copy\" without an operand brings the metadata.",
                          0, 2);
}

/* "4", or "3 to 4, 3.5 on average". */
static const char *of_a_thread(const lab_lesson_count *c, char out[64])
{
    if (c->least == c->most)
        snprintf(out, 64, "%.6g", c->most);
    else
        snprintf(out, 64, "%.6g to %.6g, %.4g on average", c->least, c->most, c->average);
    return out;
}

static void put_count(cli_table *table, const char *what, const lab_lesson_count *c, int is_of_operand)
{
    char bytes[32], different[32], thread[64];
    if (c->elements == 0)
        return;
    cli_table_row(table, what, CLI_CELL("%.0f", c->elements),
                  c->bytes ? cli_bytes_text(bytes, c->elements * c->bytes) : "",
                  is_of_operand ? CLI_CELL("%.0f", c->different) : "",
                  is_of_operand ? cli_bytes_text(different, c->different * c->bytes) : "",
                  is_of_operand ? CLI_CELL("%.0f", c->of_warp) : "", of_a_thread(c, thread));
}

static void put_summary(const lab_lesson *l, const lab_lesson_totals *t, int warp, FILE *to)
{
    const lab_lesson_count *a = &t->of[LAB_COUNT_LOADS_A], *b = &t->of[LAB_COUNT_LOADS_B];
    const double loaded = (a->elements + b->elements) * l->elem_bytes;
    char line[600], text[5][32];
    if (t->working == t->threads)
        snprintf(line, sizeof line, "All %d threads of the block work.", t->threads);
    else
        snprintf(line, sizeof line, "%d of the %d threads of the block work.", t->working, t->threads);
    const size_t used = strlen(line);
    if (l->has_products && loaded > 0)
        snprintf(line + used, sizeof line - used,
                 " A thread that makes one element of C from global memory alone loads 2 K = %" PRId64
                 " elements. FLOP for each byte loaded: %.4g",
                 2 * l->k, 2 * t->of[LAB_COUNT_PRODUCTS].elements / loaded);
    cli_print_wrapped(to, line, 0, 2);
    if (loaded <= 0)
        return;
    snprintf(line, sizeof line,
             "Warp %d loads %s of A and %s of B, each element counted once, the block %s and %s, together %s.", warp,
             cli_bytes_text(text[0], a->of_warp * l->elem_bytes), cli_bytes_text(text[1], b->of_warp * l->elem_bytes),
             cli_bytes_text(text[2], a->different * l->elem_bytes),
             cli_bytes_text(text[3], b->different * l->elem_bytes),
             cli_bytes_text(text[4], (a->different + b->different) * l->elem_bytes));
    cli_print_wrapped(to, line, 0, 2);
}

/* Counted, over all phases. */
static int put_totals(const lab_lesson *l, const cli_explain_view *view, FILE *to)
{
    static const char *const names[LAB_COUNTS] = {"loads of A",         "loads of B", "into shared memory",
                                                  "from shared memory", "products",   "zero products"};
    lab_lesson_totals totals;
    cli_table table;
    if (!lab_lesson_total(l, (int)view->warp, &totals))
        return 0;
    cli_table_begin(&table, "lrrrrrl", "elements", "block", "bytes", "distinct", "bytes",
                    CLI_CELL("of warp %d", (int)view->warp), "working thread");
    for (int i = 0; i < LAB_COUNTS; i++)
        put_count(&table, names[i], &totals.of[i], i <= LAB_COUNT_LOADS_B);
    fputc('\n', to);
    const int whole = cli_table_end(&table, to, 2);
    fputc('\n', to);
    put_summary(l, &totals, (int)view->warp, to);
    return whole;
}

static int is_phase_shown(const lab_lesson *lesson, const cli_explain_view *view, int phase)
{
    if (view->phase >= 0)
        return phase == view->phase;
    return view->all || phase < 2 || phase >= lesson->phases - 2 ||
           lesson->phases <= (view->has_thread ? FEW_PHASES / 2 : FEW_PHASES);
}

/* "A[0..15,16..31]", or "zeros". */
static const char *fragment_text(char operand, int row0, int row1, int column0, int column1, char out[64])
{
    if (row1 < row0 || column1 < column0)
        snprintf(out, 64, "zeros");
    else
        snprintf(out, 64, "%c[%d..%d,%d..%d]", operand, row0, row1, column0, column1);
    return out;
}

/* What one warp multiplies on tensor cores, product after product. */
static int put_warp_products(const lab_lesson *l, const cli_explain_view *view, FILE *to)
{
    cli_table table;
    char a[64], b[64], c[64];
    int shown = 0, all = 0;
    for (size_t i = 0; i < l->warp_product_count; i++)
        all += l->warp_products[i].warp == view->warp;
    if (all == 0)
        return 1;
    fprintf(to, "\nproducts of warp %d, in its order\n", (int)view->warp);
    cli_table_begin(&table, "rlll", "product", "of A", "of B", "added to");
    for (size_t i = 0; i < l->warp_product_count && (view->all || shown < FEW_FRAGMENTS); i++) {
        const lab_warp_product *p = &l->warp_products[i];
        if (p->warp != view->warp)
            continue;
        cli_table_row(&table, CLI_CELL("%d", shown++), fragment_text('A', p->row0, p->row1, p->k0, p->k1, a),
                      fragment_text('B', p->k0, p->k1, p->column0, p->column1, b),
                      fragment_text('C', p->row0, p->row1, p->column0, p->column1, c));
    }
    if (!cli_table_end(&table, to, 2))
        return 0;
    if (shown < all)
        fprintf(to, "  and %d more products (--all)\n", all - shown);
    return 1;
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
            fprintf(to, "\n... %d phases like these (--phase shows one, --all all)\n", skipped);
        skipped = 0;
        fprintf(to, "\nphase %d\n", phase);
        whole = view->has_thread ? put_one_thread(lesson, view, phase, to) : put_threads(lesson, view, phase, to);
        if (!view->has_thread)
            whole &= fputc('\n', to) != EOF && cli_explain_accesses(lesson, view, phase, to);
    }
    if (view->phase < 0 && !view->has_thread)
        whole &= put_warp_products(lesson, view, to);
    if (view->phase < 0 && !view->has_thread)
        whole &= put_totals(lesson, view, to);
    return whole;
}
