#include "api/at_once.h"

#include "api/validate.h"
#include "cpu/direct.h"
#include "cpu/job.h"

void tsr_at_once_open(tsr_context *context)
{
    if (context->target_count == 0 || context->targets[0].device.kind != TSR_DEVICE_CPU)
        return;
    context->gpu_beside = context->targets[0].gpu_beside;
    const tsr_row *row;
    for (size_t i = 0; (row = tsr_row_at(i)) != NULL; i++)
        if (row->at_once)
            context->at_once[row->dtype_ab] = row;
    for (int i = 0; i < TSR_DTYPE_COUNT; i++)
        if (context->at_once[i] && i != TSR_BF16) {
            context->tiles[i] = tsr_cpu_tiles(&context->targets[0].device, (tsr_dtype)i);
            context->stores[i] = tsr_cpu_store(&context->targets[0].device, (tsr_dtype)i);
        }
}

/* The tiles of a product that tiles are the way for, if they are one column; count 0: they are not. */
static inline tsr_cut tiles_of(const tsr_tiles *tiles, int trans_a, int trans_b, int64_t m, int64_t n, int64_t k)
{
    if (!trans_b)
        return tsr_only_tiles(tiles, m, n, k);
    if (trans_a && tiles->turned)
        return tsr_only_tiles(tiles->turned, n, m, k);
    return (tsr_cut){.run = {NULL, NULL}, .count = 0, .least = 0, .higher = 0};
}

/* A few steps of K, B as stored, beta = 0: 1 if D's rows are written one after the other, and are done. */
static inline __attribute__((always_inline)) int few_steps_at_once(const tsr_context *context, tsr_dtype dtype,
                                                                   int trans_a, int64_t m, int64_t n, int64_t k,
                                                                   double alpha, const void *a, int64_t lda,
                                                                   const void *b, int64_t ldb, void *d, int64_t ldd)
{
    const long long element = dtype == TSR_F64 ? 8 : 4;
    const tsr_gemm_args args = {
        .m = m, .n = n, .k = k, .lda = lda, .ldb = ldb, .ldd = ldd, .batch = 1, .alpha = alpha, .trans_a = trans_a};
    if (m > TSR_SURE_ROWS || n > TSR_SURE_COLUMNS || tsr_may_share(&args, element))
        return 0;
    const tsr_way way = tsr_few_steps_way(context->tiles[dtype], &args, element, 0);
    if (way == TSR_BY_TILES)
        return 0;
    const tsr_outer outer = tsr_outer_of(&args, way, element, a, b, d);
    context->stores[dtype]->outer(&outer);
    return 1;
}

int tsr_at_once(tsr_context *context, tsr_dtype dtype, int trans_a, int trans_b, int64_t m, int64_t n, int64_t k,
                double alpha, const void *a, int64_t lda, const void *b, int64_t ldb, double beta, const void *c,
                int64_t ldc, void *d, int64_t ldd)
{
    const tsr_row *const row = context->at_once[dtype];
    tsr_device *const device = &context->targets[0].device;
    const long long element = dtype == TSR_F64 ? 8 : 4;
    const unsigned long long sizes = tsr_difference(m, 1) | tsr_difference(n, 1) | tsr_difference(k, 1);
    if (!row || sizes >= TSR_MOST || alpha == 0 ||
        (context->gpu_beside && 2.0 * (double)m * (double)n * (double)k > TSR_OPS_BESIDE_GPU) ||
        !tsr_is_valid_at_once(element, trans_a, trans_b, m, n, k, a, lda, b, ldb, beta, c, ldc, d, ldd))
        return 0;
    const int64_t fewer = m < n ? m : n;
    const tsr_shape shape = fewer > 1 && tsr_is_short(m, n, k, trans_a, trans_b)
                                ? TSR_SHAPE_TILES
                                : tsr_shape_of(dtype, m, n, k, trans_a, trans_b);
    if (shape == TSR_SHAPE_TILES || tsr_is_plain_row(dtype, m, n, k, trans_b)) {
        const tsr_cut cut = tiles_of(context->tiles[dtype], trans_a, trans_b, m, n, k);
        if (cut.count) {
            tsr_micro micro = tsr_micro_of(element, trans_a, trans_b, k, alpha, a, lda, b, ldb, beta, c, ldc, d, ldd);
            micro.n = (int)(trans_b ? m : n);
            tsr_cut_run(&cut, &micro, (trans_b ? 1 : ldd) * element, (trans_b ? 1 : ldc) * element);
            return 1;
        }
        enum { FEWEST_STEPS = 4 }; /* with more one row is as fast tile by tile */
        const int by_rows =
            fewer > 1 || k <= FEWEST_STEPS || (k <= TSR_OUTER_STEPS && !tsr_is_tiled_row(context->tiles[dtype], n, k));
        if (beta == 0 && !trans_b && by_rows &&
            few_steps_at_once(context, dtype, trans_a, m, n, k, alpha, a, lda, b, ldb, d, ldd))
            return 1;
    }
    /* Every member is named: the compiler would clear the rest by a slow instruction. */
    const tsr_gemm_args args = {
        .a = a,
        .b = b,
        .c = c,
        .d = d,
        .workspace = NULL,
        .m = m,
        .n = n,
        .k = k,
        .lda = lda,
        .ldb = ldb,
        .ldc = ldc,
        .ldd = ldd,
        .batch_a = 0,
        .batch_b = 0,
        .batch_c = 0,
        .batch_d = 0,
        .batch = 1,
        .alpha = alpha,
        .beta = beta,
        .trans_a = trans_a,
        .trans_b = trans_b,
        .split = 1,
    };
    if (shape == TSR_SHAPE_TILES && fewer > 1) /* what the row would do, found at once */
        return tsr_direct_at_once(context->tiles[dtype], context->stores[dtype], &args, element, device);
    return row->at_once(row, device, &args, 1 + (int)shape);
}

/* Nothing but operands and factors. One test after that of the size, which says what may be read: what is asked for in
 * no call need not be told apart. */
static inline int is_plain_run(const tsr_run_args *args)
{
    _Static_assert(sizeof *args == TSR_FIRST_ARGS_BYTES, "programs with the first version's struct go the short way");
    if (args->struct_bytes != sizeof *args)
        return 0;
    const uintptr_t more = (uintptr_t)args->alpha.device | (uintptr_t)args->beta.device | (uintptr_t)args->prepared_a |
                           (uintptr_t)args->prepared_b | (uintptr_t)args->bias | (uintptr_t)args->scale_a |
                           (uintptr_t)args->scale_b | (uintptr_t)args->scale_d | (uintptr_t)args->metadata_a;
    return more == 0;
}

static int is_plain(const tsr_operand *operand, tsr_dtype dtype)
{
    return operand->dtype == dtype && operand->memory == TSR_HOST &&
           (operand->reserved[0] | operand->reserved[1]) == 0 && operand->batch_stride >= 0;
}

/* At most an element's alignment is promised: what any pointer has. */
static int promises_nothing(const tsr_operand *operand)
{
    const uint32_t align = operand->align_bytes;
    return align <= (operand->dtype == TSR_F64 ? 8u : 4u) && (align & (align - 1)) == 0;
}

/* The short way knows the device's number of threads only. */
static int asks_for_fewer_threads(int threads, const tsr_device *device, int64_t m, int64_t n, int64_t k)
{
    return threads > 0 && threads < device->threads &&
           2.0 * (double)m * (double)n * (double)k >= (double)TSR_OPS_OF_A_THREAD;
}

/* The first version's struct or today's, with none of what was added set. */
static int is_plain_desc(const tsr_gemm_desc *desc)
{
    return desc->struct_bytes == sizeof *desc ? (desc->broadcast | desc->reserved) == 0
                                              : desc->struct_bytes == TSR_FIRST_DESC_BYTES;
}

int tsr_desc_at_once(tsr_context *context, const tsr_gemm_desc *desc, const tsr_run_args *args)
{
    if (!is_plain_desc(desc) || !is_plain_run(args))
        return 0;
    const tsr_dtype dtype = desc->a.dtype;
    if ((dtype != TSR_F32 && dtype != TSR_F64) || desc->batch_count != 1 || desc->batch_kind != TSR_BATCH_STRIDED ||
        desc->compute != TSR_COMPUTE_DEFAULT || desc->flags || desc->threads < 0 || desc->kernel || desc->epilogue)
        return 0;
    if (!is_plain(&desc->a, dtype) || !is_plain(&desc->b, dtype) || !is_plain(&desc->c, dtype) ||
        !is_plain(&desc->d, dtype) || (unsigned)desc->a.trans > TSR_T || (unsigned)desc->b.trans > TSR_T ||
        desc->c.trans != TSR_N || desc->d.trans != TSR_N || !promises_nothing(&desc->a) ||
        !promises_nothing(&desc->b) || !promises_nothing(&desc->c) || !promises_nothing(&desc->d))
        return 0;
    if (asks_for_fewer_threads(desc->threads, &context->targets[0].device, desc->m, desc->n, desc->k))
        return 0;
    const int trans_a = desc->a.trans == TSR_T, trans_b = desc->b.trans == TSR_T;
    const int64_t lda = desc->a.ld ? desc->a.ld : trans_a ? desc->m : desc->k;
    const int64_t ldb = desc->b.ld ? desc->b.ld : trans_b ? desc->k : desc->n;
    return tsr_at_once(context, dtype, trans_a, trans_b, desc->m, desc->n, desc->k, args->alpha.value, args->a, lda,
                       args->b, ldb, args->beta.value, args->beta.value != 0 ? args->c : NULL,
                       desc->c.ld ? desc->c.ld : desc->n, args->d, desc->d.ld ? desc->d.ld : desc->n);
}

/* Leading dimensions for which no span overflows. */
static int is_valid_ld(const tsr_problem *p)
{
    const long long most = TSR_MOST + (long long)TSR_MOST_LD;
    return p->a.ld < most && p->b.ld < most && p->c.ld < most && p->d.ld < most;
}

/* What runs of the problem have in common; no pointers, factors of 1 and 0. */
static tsr_gemm_args shared_args(const tsr_problem *p)
{
    return (tsr_gemm_args){
        .m = p->m,
        .n = p->n,
        .k = p->k,
        .lda = p->a.ld,
        .ldb = p->b.ld,
        .ldc = p->c.ld,
        .ldd = p->d.ld,
        .batch = 1,
        .alpha = 1,
        .beta = 0,
        .trans_a = p->a.trans == TSR_T,
        .trans_b = p->b.trans == TSR_T,
        .split = 1,
    };
}

static int has_short_way(const tsr_planned *planned)
{
    const tsr_problem *p = &planned->problem;
    const tsr_operand *operands[] = {&p->a, &p->b, &p->c, &p->d};
    for (int i = 0; i < 4; i++)
        if (!is_plain(operands[i], p->a.dtype))
            return 0;
    return planned->step_count == 1 && planned->steps[0].row->at_once && p->batch == 1 &&
           planned->target->device.kind == TSR_DEVICE_CPU && p->m > 0 && p->n > 0 && p->k > 0 && p->m <= TSR_MOST &&
           p->n <= TSR_MOST && p->k <= TSR_MOST && is_valid_ld(p) &&
           !asks_for_fewer_threads(p->threads, &planned->target->device, p->m, p->n, p->k);
}

void tsr_quick_plan_make(tsr_plan *plan)
{
    const tsr_planned *planned = &plan->planned;
    const tsr_problem *p = &planned->problem;
    tsr_quick_plan *quick = &plan->quick;
    if (!has_short_way(planned))
        return;
    quick->row = planned->steps[0].row;
    quick->device = &planned->target->device;
    quick->args = shared_args(p);
    quick->a_bytes = tsr_operand_bytes(p, 'a');
    quick->b_bytes = tsr_operand_bytes(p, 'b');
    quick->c_bytes = tsr_operand_bytes(p, 'c');
    quick->d_bytes = tsr_operand_bytes(p, 'd');
    quick->a_below = p->a.align_bytes - 1;
    quick->b_below = p->b.align_bytes - 1;
    quick->c_below = p->c.align_bytes - 1;
    quick->d_below = p->d.align_bytes - 1;
    tsr_cpu_tile_make(quick->device, p->a.dtype, &quick->args, &quick->tile);
}

/* What is not tiles alone. */
static __attribute__((noinline)) int run_tiles(const tsr_quick_plan *quick, const tsr_run_args *args)
{
    tsr_gemm_args g = quick->args;
    g.a = args->a;
    g.b = args->b;
    g.c = args->beta.value != 0 ? args->c : NULL;
    g.d = args->d;
    g.alpha = args->alpha.value;
    g.beta = args->beta.value;
    return quick->row->at_once(quick->row, quick->device, &g, quick->tile.known);
}

int tsr_quick_plan_run(const tsr_plan *plan, const tsr_run_args *args)
{
    const tsr_quick_plan *quick = &plan->quick;
    if (!is_plain_run(args))
        return 0;
    const void *const a = args->a, *const b = args->b, *const c = args->c;
    void *const d = args->d;
    const uintptr_t crooked = ((uintptr_t)a & quick->a_below) | ((uintptr_t)b & quick->b_below) |
                              ((uintptr_t)c & quick->c_below) | ((uintptr_t)d & quick->d_below);
    if (crooked != 0 || !a || !b || !d || args->alpha.value == 0 || !tsr_apart(a, quick->a_bytes, d, quick->d_bytes) ||
        !tsr_apart(b, quick->b_bytes, d, quick->d_bytes))
        return 0;
    if (args->beta.value != 0 && (c != d || quick->args.ldc != quick->args.ldd) &&
        (!c || !tsr_apart(c, quick->c_bytes, d, quick->d_bytes)))
        return 0;
    return tsr_cpu_tile_run(&quick->tile, a, b, c, d, args->alpha.value, args->beta.value) || run_tiles(quick, args);
}
