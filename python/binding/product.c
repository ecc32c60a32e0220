#include "binding/product.h"

#include <string.h>

/* A stack of matrices without its batch dimensions. */
typedef struct matrix {
    int64_t rows, columns, row_bytes, column_bytes; /* extents, and strides */
    int64_t element_bytes;
} matrix;

static matrix matrix_of(const view *v)
{
    const int n = v->ndim;
    return (matrix){v->shape[n - 2], v->shape[n - 1], v->strides[n - 2], v->strides[n - 1], view_element_bytes(v)};
}

/* The leading dimension if rows (TSR_N) or columns (TSR_T) are tight and far enough apart; 0 if not. */
static int64_t leading_dimension(matrix m, tsr_trans trans)
{
    const int64_t length = trans ? m.rows : m.columns, lines = trans ? m.columns : m.rows;
    const int64_t step = trans ? m.row_bytes : m.column_bytes, pitch = trans ? m.column_bytes : m.row_bytes;
    if (m.rows == 0 || m.columns == 0)
        return length ? length : 1;
    if (length > 1 && step != m.element_bytes)
        return 0;
    if (lines == 1)
        return length;
    return pitch % m.element_bytes == 0 && pitch / m.element_bytes >= length ? pitch / m.element_bytes : 0;
}

/* An operand of the descriptor, in either orientation or in the one that is asked for; 0 if it cannot be read so. */
static int operand_make(tsr_operand *out, const view *v, int only_trans, tsr_trans trans)
{
    *out = (tsr_operand){.dtype = v->dtype, .memory = v->gpu >= 0 ? TSR_DEVICE : TSR_HOST};
    if (v->prepared) {
        out->trans = v->prepared->trans;
        out->ld = v->prepared->ld;
        return !only_trans || out->trans == trans;
    }
    const matrix m = matrix_of(v);
    out->trans = only_trans ? trans : TSR_N;
    out->ld = leading_dimension(m, out->trans);
    if (out->ld == 0 && !only_trans) {
        out->trans = TSR_T;
        out->ld = leading_dimension(m, TSR_T);
    }
    return out->ld != 0 && view_is_aligned(v);
}

/* ---- batches ----------------------------------------------------------------------------------------------------- */

/* Neighbouring batch dimensions that all operands step through evenly, as one. */
typedef struct group {
    int64_t count, strides[OPERANDS];
} group;

/* Bytes from problem to problem along batch dimension `dim` of D; 0 where the operand repeats. */
static int64_t batch_stride(const view *v, const view *d, int dim)
{
    const int own = dim - (d->ndim - v->ndim);
    return own >= 0 && v->shape[own] != 1 ? v->strides[own] : 0;
}

static int is_continued(const group *inner, const int64_t strides[OPERANDS])
{
    for (int i = 0; i < OPERANDS; i++)
        if (strides[i] != inner->strides[i] * inner->count)
            return 0;
    return 1;
}

/* Innermost first. Without C, D is C and steps as D does: a plan may run with a C that lies so. */
static int groups_make(group groups[MOST_DIMS], const view *const given[OPERANDS])
{
    const view *d = given[OPERAND_D];
    const view *const operands[OPERANDS] = {given[OPERAND_A], given[OPERAND_B], given[OPERAND_C] ? given[OPERAND_C] : d,
                                            d};
    int count = 0;
    for (int dim = d->ndim - 3; dim >= 0; dim--) {
        int64_t strides[OPERANDS];
        if (d->shape[dim] == 1)
            continue;
        for (int i = 0; i < OPERANDS; i++)
            strides[i] = batch_stride(operands[i], d, dim);
        if (count && is_continued(&groups[count - 1], strides)) {
            groups[count - 1].count *= d->shape[dim];
            continue;
        }
        groups[count].count = d->shape[dim];
        memcpy(groups[count++].strides, strides, sizeof strides);
    }
    return count;
}

/* Can the library's batch step so? */
static int is_strided_batch(const group *g, const view *const operands[OPERANDS])
{
    for (int i = 0; i < OPERANDS; i++)
        if (operands[i] && (g->strides[i] < 0 || g->strides[i] % view_element_bytes(operands[i]) != 0))
            return 0;
    return g->strides[OPERAND_D] != 0;
}

/* The rows of all problems as those of one, if A's and D's (and C's) follow each other and B is the same for all. A D
 * that lies by columns has none. */
static int fold_rows(product *p, const group *g, const view *const operands[OPERANDS])
{
    tsr_operand *const of[OPERANDS] = {&p->desc.a, &p->desc.b, &p->desc.c, &p->desc.d};
    int64_t pitch[OPERANDS] = {0};
    if (g->strides[OPERAND_B] != 0)
        return 0;
    for (int i = 0; i < OPERANDS; i++) {
        const view *v = operands[i];
        if (i == OPERAND_B || !v)
            continue;
        pitch[i] = g->strides[i] / p->desc.m / view_element_bytes(v);
        if (v->prepared || of[i]->trans || pitch[i] < v->shape[v->ndim - 1] ||
            pitch[i] * p->desc.m * view_element_bytes(v) != g->strides[i] || (p->desc.m > 1 && pitch[i] != of[i]->ld))
            return 0;
    }
    for (int i = 0; i < OPERANDS; i++)
        if (pitch[i])
            of[i]->ld = pitch[i];
    if (!operands[OPERAND_C])
        p->desc.c.ld = p->desc.d.ld;
    p->desc.m *= g->count;
    return 1;
}

static void take_batch(product *p, const group *g, const view *const operands[OPERANDS])
{
    static const uint32_t flags[OPERANDS] = {TSR_BROADCAST_A, TSR_BROADCAST_B, TSR_BROADCAST_C, 0};
    tsr_operand *const of[OPERANDS] = {&p->desc.a, &p->desc.b, &p->desc.c, &p->desc.d};
    if (fold_rows(p, g, operands))
        return;
    p->desc.batch_count = g->count;
    for (int i = 0; i < OPERANDS; i++) {
        if (!operands[i])
            continue;
        of[i]->batch_stride = g->strides[i] / view_element_bytes(operands[i]);
        if (of[i]->batch_stride == 0)
            p->desc.broadcast |= flags[i];
    }
    if (!operands[OPERAND_C])
        p->desc.c.batch_stride = p->desc.d.batch_stride;
}

static void take_loop(product *p, const group *g)
{
    p->loop_shape[p->loop_dims] = g->count;
    for (int i = 0; i < OPERANDS; i++)
        p->loop_strides[i][p->loop_dims] = g->strides[i];
    p->loop_dims++;
}

/* ---- the descriptor ------------------------------------------------------------------------------------------------
 */

/* What the addresses of all runs are multiples of. The CPU engine is as fast at any, and would only keep more plans. */
static uint32_t alignment(const product *p, int operand, const view *v)
{
    uintptr_t bits = (uintptr_t)v->data | 256;
    for (int i = 0; i < p->loop_dims; i++)
        bits |= (uintptr_t)p->loop_strides[operand][i];
    return v->gpu >= 0 && v->data ? (uint32_t)(bits & -bits) : 0;
}

static void swap_operands(tsr_gemm_desc *desc)
{
    const tsr_operand a = desc->a;
    const int64_t m = desc->m;
    desc->a = desc->b;
    desc->b = a;
    desc->a.trans = desc->a.trans == TSR_N ? TSR_T : TSR_N;
    desc->b.trans = desc->b.trans == TSR_N ? TSR_T : TSR_N;
    desc->c.trans = desc->d.trans = TSR_N;
    desc->m = desc->n;
    desc->n = m;
    desc->broadcast = (desc->broadcast & TSR_BROADCAST_C) |
                      ((desc->broadcast & TSR_BROADCAST_A) ? TSR_BROADCAST_B : 0) |
                      ((desc->broadcast & TSR_BROADCAST_B) ? TSR_BROADCAST_A : 0);
}

/* Within its matrices; a C that is the same for all problems of a batch is none. */
static int repeats_elements(const view *c, const view *d)
{
    return c->shape[c->ndim - 1] != d->shape[d->ndim - 1] || c->shape[c->ndim - 2] != d->shape[d->ndim - 2];
}

static product_fit take_layouts(product *p, const view *const operands[OPERANDS])
{
    tsr_gemm_desc *desc = &p->desc;
    const int prepared = operands[OPERAND_A]->prepared || operands[OPERAND_B]->prepared;
    if (!operand_make(&desc->d, operands[OPERAND_D], prepared, TSR_N))
        return PRODUCT_COPY_D;
    p->swapped = desc->d.trans == TSR_T;
    desc->c = desc->d;
    if (operands[OPERAND_C] && (repeats_elements(operands[OPERAND_C], operands[OPERAND_D]) ||
                                !operand_make(&desc->c, operands[OPERAND_C], 1, desc->d.trans)))
        return PRODUCT_COPY_C;
    if (!operand_make(&desc->a, operands[OPERAND_A], 0, TSR_N))
        return PRODUCT_COPY_A;
    return operand_make(&desc->b, operands[OPERAND_B], 0, TSR_N) ? PRODUCT_OK : PRODUCT_COPY_B;
}

static void take_batches(product *p, const view *const operands[OPERANDS])
{
    group groups[MOST_DIMS];
    const int count = groups_make(groups, operands);
    int first = 0;
    if (count && is_strided_batch(&groups[0], operands)) {
        take_batch(p, &groups[0], operands);
        first = 1;
    }
    for (int i = first; i < count; i++)
        take_loop(p, &groups[i]);
}

product_fit product_make(product *out, const view *const operands[OPERANDS], const product_options *options)
{
    const view *a = operands[OPERAND_A], *d = operands[OPERAND_D];
    tsr_gemm_desc *const desc = &out->desc;
    tsr_operand *const of[OPERANDS] = {&desc->a, &desc->b, &desc->c, &desc->d};
    *desc = tsr_gemm_desc_make(a->dtype, d->shape[d->ndim - 2], d->shape[d->ndim - 1], a->shape[a->ndim - 1]);
    desc->kernel = options->kernel;
    desc->compute = options->compute;
    desc->threads = options->threads;
    desc->flags = options->batch_invariant ? TSR_BATCH_INVARIANT : 0;
    out->loop_dims = 0;
    const product_fit fit = take_layouts(out, operands);
    if (fit != PRODUCT_OK)
        return fit;
    if (d->ndim > 2 && view_elements(d) != 0)
        take_batches(out, operands);
    for (int i = 0; i < OPERANDS; i++)
        of[i]->align_bytes = operands[i] ? alignment(out, i, operands[i]) : 0;
    if (!operands[OPERAND_C])
        desc->c.align_bytes = desc->d.align_bytes;
    if (out->swapped)
        swap_operands(desc);
    return PRODUCT_OK;
}

double product_work(const product *p)
{
    const double m = (double)p->desc.m, n = (double)p->desc.n, k = (double)p->desc.k;
    double runs = (double)p->desc.batch_count;
    for (int i = 0; i < p->loop_dims; i++)
        runs *= (double)p->loop_shape[i];
    return runs * (2 * m * n * k + PRODUCT_ELEMENT_WORK * (m * n + m * k + k * n));
}

/* ---- the run
 * --------------------------------------------------------------------------------------------------------- */

static tsr_run_args run_args(const product *p, const product_run_args *from)
{
    const view *a = from->operands[OPERAND_A], *b = from->operands[OPERAND_B], *c = from->operands[OPERAND_C];
    const view *first = p->swapped ? b : a, *second = p->swapped ? a : b;
    tsr_run_args args = tsr_run_args_make(first->data, second->data, from->operands[OPERAND_D]->data);
    if (c)
        args.c = c->data;
    args.alpha.value = from->alpha;
    args.beta.value = from->beta;
    args.stream = from->stream;
    if (first->prepared)
        args.prepared_a = first->prepared->prepared;
    if (second->prepared)
        args.prepared_b = second->prepared->prepared;
    return args;
}

/* The pointers of one place of the loops. A C that is not read is D, wherever the plan's C would lie. */
static tsr_run_args args_at(const product *p, const tsr_run_args *base, const int64_t index[MOST_DIMS])
{
    int64_t offsets[OPERANDS] = {0};
    tsr_run_args args = *base;
    for (int i = 0; i < OPERANDS; i++)
        for (int dim = 0; dim < p->loop_dims; dim++)
            offsets[i] += index[dim] * p->loop_strides[i][dim];
    args.a = (const char *)base->a + offsets[p->swapped ? OPERAND_B : OPERAND_A];
    args.b = (const char *)base->b + offsets[p->swapped ? OPERAND_A : OPERAND_B];
    args.d = (char *)base->d + offsets[OPERAND_D];
    args.c = base->beta.value != 0 ? (const char *)base->c + offsets[OPERAND_C] : args.d;
    return args;
}

/* To the next place; 0 after the last. */
static int next_place(const product *p, int64_t index[MOST_DIMS])
{
    for (int dim = 0; dim < p->loop_dims; dim++) {
        if (++index[dim] < p->loop_shape[dim])
            return 1;
        index[dim] = 0;
    }
    return 0;
}

static tsr_status run_loops(const product *p, tsr_plan *plan, const tsr_run_args *base)
{
    int64_t index[MOST_DIMS] = {0};
    tsr_status status;
    do {
        const tsr_run_args args = args_at(p, base, index);
        status = tsr_plan_run(plan, &args);
    } while (status == TSR_OK && next_place(p, index));
    return status;
}

static tsr_status run_plan(const product *p, tsr_plan *plan, tsr_run_args *args, workspace *w)
{
    if (w) {
        pthread_mutex_lock(&w->lock);
        args->workspace = w->memory;
        args->workspace_bytes = w->bytes;
    }
    const tsr_status status = p->loop_dims ? run_loops(p, plan, args) : tsr_plan_run(plan, args);
    if (w)
        pthread_mutex_unlock(&w->lock);
    return status;
}

tsr_status product_run(const product *p, tsr_context *context, tsr_plan *plan, const product_run_args *from)
{
    tsr_run_args args = run_args(p, from);
    if (plan)
        return run_plan(p, plan, &args, from->workspace);
    if (p->loop_dims == 0)
        return tsr_gemm(context, &p->desc, &args);
    tsr_plan *made = NULL;
    tsr_status status = tsr_plan_create(context, &p->desc, &made);
    if (status == TSR_OK)
        status = run_plan(p, made, &args, NULL);
    tsr_plan_release(made);
    return status;
}
