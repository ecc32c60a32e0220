/* A lesson as an HTML page: cli/explain_page.html with the lesson's data in it, as JSON that the page's script plays.
 *
 * Most instructions touch addresses that are sums over the bits of the thread's number, base + w0 b0 + w1 b1 + ...;
 * such a list of addresses is written as ["b", base, w0, w1, ...], any other in full. Lists that recur are written
 * once. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/explain.h"
#include "lab/bench/report.h"

/* In cli/explain_page.S. */
extern const char cli_explain_page[];

enum { BITS_MAX = 16 };

/* Different lists so far. */
typedef struct pool {
    int32_t **lists;
    size_t *lengths;
    size_t count, capacity;
    int out_of_memory;
} pool;

static size_t intern(pool *p, const int32_t *list, size_t length)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->lengths[i] == length && memcmp(p->lists[i], list, length * sizeof *list) == 0)
            return i;
    if (p->count == p->capacity) {
        const size_t capacity = p->capacity ? 2 * p->capacity : 64;
        int32_t **lists = realloc(p->lists, capacity * sizeof(int32_t *));
        p->lists = lists ? lists : p->lists;
        size_t *lengths = lists ? realloc(p->lengths, capacity * sizeof *lengths) : NULL;
        p->lengths = lengths ? lengths : p->lengths;
        if (!lists || !lengths) {
            p->out_of_memory = 1;
            return 0;
        }
        p->capacity = capacity;
    }
    int32_t *copy = malloc((length + 1) * sizeof *copy);
    if (!copy) {
        p->out_of_memory = 1;
        return 0;
    }
    memcpy(copy, list, length * sizeof *copy);
    p->lists[p->count] = copy;
    p->lengths[p->count] = length;
    return p->count++;
}

static void drop(pool *p)
{
    for (size_t i = 0; i < p->count; i++)
        free(p->lists[i]);
    free(p->lists);
    free(p->lengths);
}

/* The weights of the bits, if the list is a sum over them. */
static int find_weights(const int32_t *list, size_t length, int32_t weights[BITS_MAX], int *bits)
{
    *bits = 0;
    for (size_t bit = 1; bit < length && *bits < BITS_MAX; bit *= 2)
        weights[(*bits)++] = list[bit] - list[0];
    for (size_t i = 0; i < length; i++) {
        int32_t value = list[0];
        for (int bit = 0; bit < *bits; bit++)
            value += (i >> bit & 1) ? weights[bit] : 0;
        if (list[i] != value || list[i] < 0)
            return 0;
    }
    return length > 0;
}

static void put_list(const int32_t *list, size_t length, FILE *to)
{
    int32_t weights[BITS_MAX];
    int bits;
    if (find_weights(list, length, weights, &bits)) {
        fprintf(to, "[\"b\",%d", list[0]);
        for (int i = 0; i < bits; i++)
            fprintf(to, ",%d", weights[i]);
    } else {
        fputc('[', to);
        for (size_t i = 0; i < length; i++)
            fprintf(to, "%s%d", i ? "," : "", list[i]);
    }
    fputc(']', to);
}

/* ---- steps ------------------------------------------------------------------------------------------------------ */

/* The elements of a step: the first of each thread where the others follow it in memory, else all. */
static size_t put_elements(const lab_lesson *lesson, const lab_step *step, pool *lists, int *is_full)
{
    const size_t threads = (size_t)lesson->threads_x * (size_t)lesson->threads_y;
    int32_t *firsts = malloc(threads * sizeof *firsts);
    size_t id = 0;
    *is_full = 0;
    if (!firsts) {
        lists->out_of_memory = 1;
        return 0;
    }
    for (size_t t = 0; t < threads; t++) {
        firsts[t] = step->elements[t * step->width];
        for (unsigned j = 1; j < step->width; j++)
            *is_full |= step->elements[t * step->width + j] != (firsts[t] < 0 ? firsts[t] : firsts[t] + (int32_t)j);
    }
    id = *is_full ? intern(lists, step->elements, threads * step->width) : intern(lists, firsts, threads);
    free(firsts);
    return id;
}

static void put_step(const lab_lesson *lesson, const lab_step *step, pool *lists, FILE *to)
{
    static const char *const kinds[] = {"load", "fill", "copy", "read", "store", "warp"};
    const lab_step_cost t = lab_step_cost_of(lesson, step, -1);
    const int has_elements = step->kind != LAB_STEP_READ && step->kind != LAB_STEP_WARP;
    int is_full = 0;
    fprintf(to, "[\"%s\",%d,%d,%u,%u,\"%.1s\",%u,%u", kinds[step->kind], step->phase, step->stage, step->order,
            step->place, step->operand ? &step->operand : "?", step->bytes, step->width);
    if (has_elements)
        fprintf(to, ",%zu", put_elements(lesson, step, lists, &is_full));
    else
        fputs(",-1", to);
    fprintf(to, ",%d", is_full);
    if (step->words)
        fprintf(to, ",%zu", intern(lists, step->words, (size_t)lesson->threads_x * (size_t)lesson->threads_y));
    else
        fputs(",-1", to);
    fprintf(to, ",%u,%u,%u,%u,%u]", t.requests, t.sectors, t.ideal_sectors, t.wavefronts, t.ideal_wavefronts);
}

/* ---- products --------------------------------------------------------------------------------------------------- */

/* All products of a block with one k, in one stage: a rectangle of C, and the products with padding zeros of the stage
 * where k is -1. */
typedef struct batch {
    int phase, stage, k, count;
    unsigned order;
    int32_t row0, row1, column0, column1;
} batch;

static int compare_products(const void *left, const void *right)
{
    const lab_product *a = *(const lab_product *const *)left, *b = *(const lab_product *const *)right;
    if (a->stage != b->stage)
        return a->stage < b->stage ? -1 : 1;
    return a->k < b->k ? -1 : a->k > b->k;
}

static void put_batch(const batch *b, int is_first, FILE *to)
{
    fprintf(to, "%s[%d,%d,%u,%d,%d,%d,%d,%d,%d]", is_first ? "" : ",\n", b->phase, b->stage, b->order, b->k, b->row0,
            b->row1, b->column0, b->column1, b->count);
}

static int put_products(const lab_lesson *lesson, FILE *to)
{
    const lab_product **sorted = malloc((lesson->product_count + 1) * sizeof *sorted);
    if (!sorted)
        return 0;
    for (size_t i = 0; i < lesson->product_count; i++)
        sorted[i] = &lesson->products[i];
    qsort(sorted, lesson->product_count, sizeof *sorted, compare_products);
    batch b = {0};
    int batches = 0;
    for (size_t i = 0; i < lesson->product_count; i++) {
        const lab_product *p = sorted[i];
        if (b.count && (p->stage != b.stage || p->k != b.k)) {
            put_batch(&b, batches++ == 0, to);
            b.count = 0;
        }
        if (!b.count)
            b = (batch){p->phase, p->stage, p->k, 0, 0, p->row, p->row, p->column, p->column};
        b.count++;
        b.order = p->order > b.order ? p->order : b.order;
        b.row0 = p->row < b.row0 ? p->row : b.row0;
        b.row1 = p->row > b.row1 ? p->row : b.row1;
        b.column0 = p->column < b.column0 ? p->column : b.column0;
        b.column1 = p->column > b.column1 ? p->column : b.column1;
    }
    if (b.count)
        put_batch(&b, batches == 0, to);
    free(sorted);
    return 1;
}

/* Which thread makes which element of the block's tile, row by row; -1: none. */
static size_t put_owners(const lab_lesson *l, pool *lists)
{
    const size_t count = (size_t)l->bm * (size_t)l->bn;
    int32_t *owners = malloc(count * sizeof *owners);
    if (!owners) {
        lists->out_of_memory = 1;
        return 0;
    }
    for (size_t i = 0; i < count; i++)
        owners[i] = -1;
    const int64_t row0 = l->block_y * l->bm, column0 = l->block_x * l->bn;
    for (size_t i = 0; i < l->product_count; i++) {
        const int64_t row = l->products[i].row - row0, column = l->products[i].column - column0;
        if (l->products[i].row >= 0 && row >= 0 && row < l->bm && column >= 0 && column < l->bn)
            owners[row * l->bn + column] = l->products[i].thread;
    }
    const size_t id = intern(lists, owners, count);
    free(owners);
    return id;
}

/* ---- the page --------------------------------------------------------------------------------------------------- */

static void put_facts(const lab_lesson *l, FILE *to)
{
    fputs("{\"kernel\":", to);
    lab_json_string(to, l->kernel);
    fputs(",\"instance\":", to);
    lab_json_string(to, l->instance);
    fputs(",\"summary\":", to);
    lab_json_string(to, l->summary);
    fputs(",\"source\":", to);
    lab_json_string(to, l->source);
    fprintf(to, ",\"dtype\":\"%s\",\"m\":%" PRId64 ",\"n\":%" PRId64 ",\"k\":%" PRId64,
            lab_types_pair(&(lab_types){.a = l->dtype, .b = l->dtype_b}, (char[LAB_TYPES_TEXT]){0}), l->m, l->n, l->k);
    fprintf(to, ",\"transA\":%d,\"transB\":%d,\"bm\":%d,\"bn\":%d,\"bk\":%d,\"tx\":%d,\"ty\":%d,\"smemBytes\":%d",
            l->trans_a, l->trans_b, l->bm, l->bn, l->bk, l->threads_x, l->threads_y, l->smem_bytes);
    fprintf(to, ",\"elemBytes\":%d,\"blocks\":[%" PRId64 ",%" PRId64 "],\"block\":[%" PRId64 ",%" PRId64 "]",
            l->elem_bytes, l->blocks_x, l->blocks_y, l->block_x, l->block_y);
    fprintf(to, ",\"phases\":%d,\"stages\":%d,\"hasProducts\":%d,\n\"places\":[", l->phases, l->stages,
            l->has_products);
    for (size_t i = 0; i < l->place_count; i++) {
        fputs(i ? "," : "", to);
        lab_json_string(to, l->places[i]);
    }
    fputs("],\n", to);
}

/* The page computes A and B by this rule instead of carrying them. 0 if it would not be what was multiplied. */
static int check_values(const lab_lesson *l)
{
    enum { PERIOD = 17 };
    for (int64_t i = 0; i < l->m * l->k; i++)
        if (l->a[i] != (float)(1 + i % PERIOD))
            return 0;
    for (int64_t i = 0; i < l->k * l->n; i++)
        if (l->b[i] != (float)(1 + i % PERIOD))
            return 0;
    return 1;
}

static int put_data(const lab_lesson *l, FILE *to)
{
    pool lists = {0};
    put_facts(l, to);
    fputs("\"steps\":[\n", to);
    for (size_t i = 0; i < l->step_count; i++) {
        fputs(i ? ",\n" : "", to);
        put_step(l, &l->steps[i], &lists, to);
    }
    fputs("],\n\"products\":[\n", to);
    const int has_products = put_products(l, to);
    fprintf(to, "],\n\"owners\":%zu,\n\"lists\":[\n", put_owners(l, &lists));
    for (size_t i = 0; i < lists.count; i++) {
        fputs(i ? ",\n" : "", to);
        put_list(lists.lists[i], lists.lengths[i], to);
    }
    fprintf(to, "],\n\"valuePeriod\":%d}", check_values(l) ? 17 : 0);
    const int whole = has_products && !lists.out_of_memory;
    drop(&lists);
    return whole;
}

int cli_explain_html(const lab_lesson *lesson, FILE *to)
{
    static const char data_mark[] = "@DATA@", title_mark[] = "@TITLE@";
    const char *title = strstr(cli_explain_page, title_mark), *data = strstr(cli_explain_page, data_mark);
    int whole = 0;
    fwrite(cli_explain_page, 1, (size_t)(title - cli_explain_page), to);
    fprintf(to, "%s: block (%" PRId64 ",%" PRId64 ") of %" PRId64 " x %" PRId64 " x %" PRId64, lesson->instance,
            lesson->block_x, lesson->block_y, lesson->m, lesson->n, lesson->k);
    title += strlen(title_mark);
    fwrite(title, 1, (size_t)(data - title), to);
    whole = put_data(lesson, to);
    fputs(data + strlen(data_mark), to);
    return whole;
}
