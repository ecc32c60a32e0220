/* The small path of cpu-tiled (tsr_cpu_small): no plan, no lock, no copy of what the caller passed. What every call
 * goes through is inline: at these sizes a call of a function is a few percent. */
#include <stdlib.h>

#include "core/check.h"
#include "cpu/choose.h"
#include "cpu/cpu.h"
#include "cpu/cpu_device.h"
#include "cpu/job.h"
#include "cpu/small/in_place.h"

/* ---- what calls and plans share ---- */

static tsr_job job_of(const tsr_gemm_args *args, tsr_device *device, tsr_dtype dtype, tsr_shape shape)
{
    const tsr_cpu_device *const cpu = device->impl;
    return (tsr_job){.args = args,
                     .isa = cpu->isa,
                     .tiles = tsr_isa_tiles(cpu->isa, dtype),
                     .store = &cpu->isa->store[dtype],
                     .device = device,
                     .shape = shape,
                     .threads = 1,
                     .element_bytes = (int)tsr_dtype_bytes(dtype),
                     .wide_bytes = tsr_wide_bytes(dtype),
                     .kc = tsr_kc_of(cpu->isa, cpu->has_pairs, dtype),
                     .end = &cpu->isa->store[dtype],
                     .d_bytes = (int)tsr_dtype_bytes(dtype)};
}

static __attribute__((noinline)) int run_job(tsr_cpu_choice choice, tsr_device *device, tsr_dtype dtype,
                                             const tsr_gemm_args *args)
{
    const tsr_job job = job_of(args, device, dtype, choice.shape);
    return choice.algorithm == TSR_PAIRS ? tsr_pairs_alone(&job) : tsr_skinny_alone(&job);
}

/* 1: done; 0: it is not for the small path, and nothing was written. */
static inline int run_choice(tsr_cpu_choice choice, tsr_device *device, tsr_dtype dtype, const tsr_tiles *tiles,
                             const tsr_store *store, const tsr_gemm_args *args)
{
    tsr_cpu_device *const cpu = device->impl;
    const int bytes = tsr_wide_bytes(dtype);
    if (choice.k_parts)
        return 0;
    switch (choice.algorithm) {
    case TSR_SMALL:
        tsr_small_multiply(tiles, store, args, bytes, &cpu->pool, device->threads);
        return 1;
    case TSR_GEMV:
        tsr_gemv(tiles, store, args, dtype);
        return 1;
    case TSR_SKINNY:
        if (dtype != TSR_BF16 &&
            (tsr_skinny_dots(store, args, choice.shape, bytes) || tsr_skinny_chains(store, args, choice.shape, dtype)))
            return 1;
        return run_job(choice, device, dtype, args);
    case TSR_PAIRS:
        return run_job(choice, device, dtype, args);
    case TSR_RANK_K:
    case TSR_ANY_ROWS:
    case TSR_BLOCKED:
    case TSR_NO_ALGORITHM:
        break;
    }
    return 0;
}

/* ---- without a plan ---- */

/* The tiles of a product that tiles are the algorithm for, if they are one column; count 0: they are not. */
static inline tsr_cut column_of_tiles(const tsr_tiles *tiles, int trans_a, int trans_b, int64_t m, int64_t n, int64_t k)
{
    if (!trans_b)
        return tsr_only_tiles(tiles, m, n, k);
    if (trans_a && tiles->transposed)
        return tsr_only_tiles(tiles->transposed, n, m, k);
    return (tsr_cut){.run = {NULL, NULL}, .count = 0, .least = 0, .higher = 0};
}

/* A few steps of K, B as stored, beta = 0: 1 if D's rows are written one after the other, and are done. */
static inline __attribute__((always_inline)) int few_steps(const tsr_tiles *tiles, const tsr_store *store,
                                                           long long element, int trans_a, int64_t m, int64_t n,
                                                           int64_t k, double alpha, const void *a, int64_t lda,
                                                           const void *b, int64_t ldb, void *d, int64_t ldd)
{
    const tsr_gemm_args args = {
        .m = m, .n = n, .k = k, .lda = lda, .ldb = ldb, .ldd = ldd, .batch = 1, .alpha = alpha, .trans_a = trans_a};
    if (m > TSR_SURE_ROWS || n > TSR_SURE_COLUMNS || tsr_may_share(&args, element))
        return 0;
    const tsr_traversal traversal = tsr_few_steps_traversal(tiles, &args, element, 0);
    if (traversal == TSR_BY_TILES)
        return 0;
    const tsr_rank_k rank_k = tsr_rank_k_of(&args, traversal, element, a, b, d);
    store->rank_k(&rank_k);
    return 1;
}

/* Products of few steps (tsr_is_short), for which tiles are the algorithm whatever else: 1 if D was one column of tiles
 * or went row by row, and is done. */
static inline __attribute__((always_inline)) int short_sums(const tsr_tiles *tiles, const tsr_store *store,
                                                            const long long element, int trans_a, int trans_b,
                                                            int64_t m, int64_t n, int64_t k, const void *a, int64_t lda,
                                                            const void *b, int64_t ldb, const void *c, int64_t ldc,
                                                            void *d, int64_t ldd, double alpha, double beta)
{
    enum { FEWEST_STEPS = 4 }; /* with more one row is as fast tile by tile */
    const tsr_cut cut = column_of_tiles(tiles, trans_a, trans_b, m, n, k);
    if (cut.count) {
        tsr_micro micro = tsr_micro_of(element, trans_a, trans_b, k, alpha, a, lda, b, ldb, beta, c, ldc, d, ldd);
        micro.n = (int)(trans_b ? m : n);
        tsr_cut_run(&cut, &micro, (trans_b ? 1 : ldd) * element, (trans_b ? 1 : ldc) * element);
        return 1;
    }
    const int by_rows = m > 1 || k <= FEWEST_STEPS || (k <= TSR_RANK_K_STEPS && !tsr_is_tiled_row(tiles, n, k));
    return beta == 0 && !trans_b && by_rows &&
           few_steps(tiles, store, element, trans_a, m, n, k, alpha, a, lda, b, ldb, d, ldd);
}

static const tsr_tiles *tiles_of(const tsr_small *small)
{
    return small->tables[0];
}

static const tsr_store *store_of(const tsr_small *small)
{
    return small->tables[1];
}

/* What is not one tile. */
static inline __attribute__((always_inline)) int more(const tsr_small *small, uint64_t layout, int64_t m, int64_t n,
                                                      int64_t k, const void *a, int64_t lda, const void *b, int64_t ldb,
                                                      const void *c, int64_t ldc, void *d, int64_t ldd, double alpha,
                                                      double beta)
{
    const tsr_dtype dtype = small->dtype;
    const long long element = dtype == TSR_F64 ? 8 : 4;
    const int trans_a = (layout & TSR_LAYOUT_A) != 0, trans_b = (layout & TSR_LAYOUT_B) != 0;
    if (layout & ~(TSR_LAYOUT_A | TSR_LAYOUT_B) || !tsr_are_small_extents(m, n, k) || alpha == 0 ||
        2.0 * (double)(m * n * k) > small->most_ops ||
        !tsr_are_operands_valid(element, trans_a, trans_b, m, n, k, a, lda, b, ldb, beta, c, ldc, d, ldd))
        return 0;
    c = beta != 0 ? c : NULL;
    const int is_surely_small = n > 1 && tsr_is_surely_small(m, n, k, trans_a, trans_b);
    if (is_surely_small && short_sums(tiles_of(small), store_of(small), element, trans_a, trans_b, m, n, k, a, lda, b,
                                      ldb, c, ldc, d, ldd, alpha, beta))
        return 1;
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
    };
    const tsr_cpu_choice choice = is_surely_small && m > 1
                                      ? (tsr_cpu_choice){TSR_SMALL, TSR_SHAPE_TILES, 0}
                                      : tsr_cpu_algorithm(small->device, dtype, &args, 0, small->device->threads);
    return run_choice(choice, small->device, dtype, tiles_of(small), store_of(small), &args);
}

/* 1 if D was one tile of few steps, and is done. All in registers: the smallest products take little longer than the
 * tile. */
static inline __attribute__((always_inline)) int one_tile(const tsr_small *small, const int64_t element,
                                                          uint64_t layout, int64_t m, int64_t n, int64_t k,
                                                          const void *a, int64_t lda, const void *b, int64_t ldb,
                                                          void *d, int64_t ldd, double alpha, double beta)
{
    const tsr_tiles *const tiles = tiles_of(small);
    const int trans_a = (layout & TSR_LAYOUT_A) != 0, trans_b = (layout & TSR_LAYOUT_B) != 0;
    if (layout & ~(TSR_LAYOUT_A | TSR_LAYOUT_B) || layout == TSR_LAYOUT_B || m < 1 || n < 2 || k < 1 ||
        !tsr_is_short(m, n, k, trans_a, trans_b) || alpha == 0)
        return 0;
    tsr_micro_run *const tile = !trans_b            ? tsr_only_tile(tiles, m, n)
                                : tiles->transposed ? tsr_only_tile(tiles->transposed, n, m)
                                                    : NULL;
    if (!tile || !tsr_are_operands_valid(element, trans_a, trans_b, m, n, k, a, lda, b, ldb, beta, d, ldd, d, ldd))
        return 0;
    tsr_micro micro = tsr_micro_of(element, trans_a, trans_b, k, alpha, a, lda, b, ldb, beta, d, ldd, d, ldd);
    micro.n = (int)(trans_b ? m : n);
    tile(&micro);
    return 1;
}

static int try_apart(const tsr_small *small, uint64_t layout, int64_t m, int64_t n, int64_t k, const void *a,
                     int64_t lda, const void *b, int64_t ldb, const void *c, int64_t ldc, void *d, int64_t ldd,
                     double alpha, double beta)
{
    return more(small, layout, m, n, k, a, lda, b, ldb, c, ldc, d, ldd, alpha, beta);
}

/* This and the next two take what their callers were given where it lies. */
static __attribute__((noinline)) tsr_status more_in_place(const tsr_small *small, uint64_t layout, int64_t m, int64_t n,
                                                          int64_t k, const void *a, int64_t lda, const void *b,
                                                          int64_t ldb, void *d, int64_t ldd, double alpha, double beta)
{
    return more(small, layout, m, n, k, a, lda, b, ldb, d, ldd, d, ldd, alpha, beta)
               ? TSR_OK
               : small->otherwise(small, layout, m, n, k, a, lda, b, ldb, d, ldd, alpha, beta);
}

static tsr_status call_f32(const tsr_small *small, uint64_t layout, int64_t m, int64_t n, int64_t k, const void *a,
                           int64_t lda, const void *b, int64_t ldb, void *d, int64_t ldd, double alpha, double beta)
{
    return one_tile(small, 4, layout, m, n, k, a, lda, b, ldb, d, ldd, alpha, beta)
               ? TSR_OK
               : more_in_place(small, layout, m, n, k, a, lda, b, ldb, d, ldd, alpha, beta);
}

static tsr_status call_f64(const tsr_small *small, uint64_t layout, int64_t m, int64_t n, int64_t k, const void *a,
                           int64_t lda, const void *b, int64_t ldb, void *d, int64_t ldd, double alpha, double beta)
{
    return one_tile(small, 8, layout, m, n, k, a, lda, b, ldb, d, ldd, alpha, beta)
               ? TSR_OK
               : more_in_place(small, layout, m, n, k, a, lda, b, ldb, d, ldd, alpha, beta);
}

static int of_device(const tsr_config *config, tsr_device *device, tsr_small *out)
{
    const tsr_cpu_device *const cpu = device->impl;
    const tsr_dtype dtype = tsr_op_of(&config->op).a;
    if (dtype != TSR_F32 && dtype != TSR_F64)
        return 0;
    out->call = dtype == TSR_F64 ? call_f64 : call_f32;
    out->try_apart = try_apart;
    out->tables[0] = tsr_isa_tiles(cpu->isa, dtype);
    out->tables[1] = &cpu->isa->store[dtype];
    out->device = device;
    out->dtype = dtype;
    return 1;
}

/* ---- with a plan ---- */

typedef struct small_plan {
    tsr_small_plan base; /* first */
    tsr_cpu_tile tile;   /* if D is a few of them */
    tsr_gemm_args args;  /* no pointers */
    tsr_algorithms algorithms;
    tsr_dtype dtype;
    tsr_device *device;
} small_plan;

static int run_plan(const tsr_small_plan *plan, const void *a, const void *b, const void *c, void *d, double alpha,
                    double beta)
{
    const small_plan *const self = (const small_plan *)plan;
    const tsr_cpu_device *const cpu = self->device->impl;
    tsr_gemm_args g = self->args;
    g.a = a;
    g.b = b;
    g.c = beta != 0 ? c : NULL;
    g.d = d;
    g.alpha = alpha;
    g.beta = beta;
    const tsr_cpu_choice choice = tsr_choice_of(beta != 0 ? self->algorithms.with_c : self->algorithms.without_c);
    return run_choice(choice, self->device, self->dtype, tsr_isa_tiles(cpu->isa, self->dtype),
                      &cpu->isa->store[self->dtype], &g);
}

static int run_column(const tsr_small_plan *plan, const void *a, const void *b, const void *c, void *d, double alpha,
                      double beta)
{
    return tsr_cpu_column_run(&((const small_plan *)plan)->tile, a, b, c, d, alpha, beta);
}

static int run_tiles(const tsr_small_plan *plan, const void *a, const void *b, const void *c, void *d, double alpha,
                     double beta)
{
    return tsr_cpu_panels_run(&((const small_plan *)plan)->tile, a, b, c, d, alpha, beta) ||
           run_plan(plan, a, b, c, d, alpha, beta);
}

static int is_for_small_path(int number)
{
    const tsr_cpu_choice choice = tsr_choice_of(number);
    const tsr_algorithm algorithm = choice.algorithm;
    return !choice.k_parts && algorithm != TSR_BLOCKED && algorithm != TSR_RANK_K && algorithm != TSR_ANY_ROWS;
}

static tsr_small_plan *make_plan(const tsr_config *config, tsr_device *device, const tsr_problem *problem,
                                 tsr_algorithms algorithms)
{
    const tsr_cpu_device *const cpu = device->impl;
    const tsr_dtype dtype = tsr_op_of(&config->op).a;
    const tsr_algorithm algorithm = tsr_choice_of(algorithms.with_c).algorithm;
    if (!is_for_small_path(algorithms.with_c) && !is_for_small_path(algorithms.without_c))
        return NULL;
    small_plan *const plan = calloc(1, sizeof *plan);
    if (!plan)
        return NULL;
    plan->base.run = run_plan;
    plan->args = tsr_args_of(problem);
    plan->algorithms = algorithms;
    plan->dtype = dtype;
    plan->device = device;
    const tsr_gemm_args *const g = &plan->args;
    if (algorithm == TSR_SMALL || (algorithm == TSR_GEMV && tsr_is_plain_row(dtype, g->m, g->n, g->k, g->trans_b))) {
        tsr_cpu_tile_make(cpu->isa, dtype, g, &plan->tile);
        plan->base.run = plan->tile.cut.count > 0 ? run_column : run_tiles;
    }
    return &plan->base;
}

const tsr_cpu_small tsr_cpu_tiled_small = {.of_device = of_device, .plan = make_plan};
