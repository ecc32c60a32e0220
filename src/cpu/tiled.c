/* cpu-tiled: runs the algorithm that choose.c answers, or answered before. */
#include "core/error.h"
#include "cpu/choose.h"
#include "cpu/cpu.h"
#include "cpu/job.h"
#include "cpu/split_k.h"

/* D = beta * C in its form, where no product is added. */
static void scale(const tsr_job *job)
{
    const tsr_gemm_args *g = job->args;
    const long long bytes = job->element_bytes;
    static const double zeros[64];
    const long long chunk = (long long)sizeof zeros / job->wide_bytes;
    /* -0 as alpha makes the sum -0, which leaves even a C of -0 as it is */
    tsr_gemm_args no_product = *g;
    no_product.alpha = g->beta != 0 ? -0.0 : 0.0;
    for (long long z = 0; z < g->batch; z++)
        for (long long i = 0; i < g->m; i++)
            for (long long j = 0; j < g->n; j += chunk) {
                char *d = (char *)g->d + (z * g->batch_d + i * g->ldd + j) * bytes;
                const char *c = g->beta != 0 ? (const char *)g->c + (z * g->batch_c + i * g->ldc + j) * bytes : NULL;
                tsr_finish(job->store, &no_product, d, c, zeros, j, g->n - j < chunk ? g->n - j : chunk, bytes);
            }
}

/* The algorithms that know of no form, which is a pass of its own over a D in the cache. */
static void run_in_cache(const tsr_job *job, tsr_algorithm algorithm, tsr_dtype dtype, const tsr_gemm_args *args)
{
    tsr_cpu_device *const cpu = job->device->impl;
    if (algorithm == TSR_GEMV)
        tsr_gemv(job->tiles, job->store, args, dtype);
    else if (args->batch > 1)
        tsr_small_multiply_batch(job->tiles, job->store, args, job->element_bytes);
    else
        tsr_small_multiply(job->tiles, job->store, args, job->element_bytes, &cpu->pool, job->threads);
}

/* One problem of a batch after the other, so that each D is in the cache. */
static void run_in_cache_and_form(const tsr_job *job, tsr_algorithm algorithm, tsr_dtype dtype)
{
    const tsr_gemm_args *const g = job->args;
    const long long bytes = job->element_bytes;
    for (long long z = 0; z < g->batch; z++) {
        tsr_gemm_args one = *g;
        one.batch = 1;
        one.epilogue = TSR_EPILOGUE_NONE;
        one.a = (const char *)g->a + z * g->batch_a * bytes;
        one.b = (const char *)g->b + z * g->batch_b * bytes;
        one.c = g->c ? (const char *)g->c + z * g->batch_c * bytes : NULL;
        one.d = (char *)g->d + z * g->batch_d * bytes;
        run_in_cache(job, algorithm, dtype, &one);
        tsr_form_in_place(job->store, g, one.d, g->m, 0, g->n, bytes);
    }
}

static tsr_status run(const tsr_job *job, tsr_algorithm algorithm, tsr_dtype dtype)
{
    switch (algorithm) {
    case TSR_GEMV:
    case TSR_SMALL:
        if (tsr_job_rehearses(job))
            return TSR_OK;
        if (job->args->epilogue == TSR_EPILOGUE_NONE)
            run_in_cache(job, algorithm, dtype, job->args);
        else
            run_in_cache_and_form(job, algorithm, dtype);
        return TSR_OK;
    case TSR_SKINNY:
        return tsr_skinny(job);
    case TSR_ANY_ROWS:
        return tsr_any_rows(job);
    case TSR_RANK_K:
        return tsr_rank_k_all(job);
    case TSR_PAIRS:
        return tsr_blocked_pairs(job);
    case TSR_BLOCKED:
    case TSR_NO_ALGORITHM:
        break;
    }
    return tsr_blocked(job);
}

/* ---- K in parts ---- */

typedef struct part_job {
    const tsr_job *job; /* of all of K */
    tsr_algorithm algorithm;
    tsr_dtype dtype, wide;
} part_job;

/* Where rows i and on of A, or columns of B, lie from step p on, as `args` of the part says; packed panels are a block
 * of K after the other. */
static const void *operand_at(const tsr_job *job, const void *at, const void *packed, int k_inner, long long span,
                              int width, long long batch, long long ld, const tsr_k_part *part, long long first)
{
    if (packed && job->shape == TSR_SHAPE_TILES) {
        const long long rows = tsr_round_up(span, width);
        return (const char *)packed + ((batch ? part->z * rows * job->args->k : 0) + part->p * rows) * job->wide_bytes;
    }
    return (const char *)at +
           (part->z * batch + (k_inner ? first * ld + part->p : part->p * ld + first)) * job->element_bytes;
}

static tsr_status sum_part(const void *data, const tsr_k_part *part)
{
    const part_job *const p = data;
    const tsr_gemm_args *const whole = p->job->args;
    tsr_job job = *p->job;
    tsr_gemm_args g = *whole;
    const int is_tiles = job.shape == TSR_SHAPE_TILES;
    if (job.packed_a && !is_tiles) { /* as stored, rows tight */
        g.a = job.packed_a;
        g.lda = g.trans_a ? g.m : g.k;
        g.batch_a = g.batch_a ? g.m * g.k : 0;
    }
    if (job.packed_b && !is_tiles) {
        g.b = job.packed_b;
        g.ldb = g.trans_b ? g.k : g.n;
        g.batch_b = g.batch_b ? g.n * g.k : 0;
    }
    g.a = operand_at(&job, g.a, job.packed_a, !g.trans_a, g.m, job.tiles->mr, g.batch_a, g.lda, part, part->i);
    g.b = operand_at(&job, g.b, job.packed_b, g.trans_b, g.n, job.tiles->nr, g.batch_b, g.ldb, part, part->j);
    job.packed_a = job.packed_a && is_tiles ? g.a : NULL;
    job.packed_b = job.packed_b && is_tiles ? g.b : NULL;
    job.k_block = is_tiles ? tsr_job_k_block(p->job) : 0;
    g.m = part->m;
    g.n = part->n;
    g.k = part->k;
    g.c = NULL;
    g.d = part->sums;
    g.ldc = g.ldd = whole->n;
    g.batch = 1;
    g.alpha = 1;
    g.beta = 0;
    g.epilogue = TSR_EPILOGUE_NONE;
    job.args = &g;
    job.threads = 1;
    job.end = &job.isa->store[p->wide];
    job.d_bytes = job.wide_bytes;
    job.is_slice = part->is_slice;
    return run(&job, p->algorithm, p->dtype);
}

static void add_sums(const void *data, void *to, const void *from, long long n)
{
    const part_job *const p = data;
    p->job->isa->store[p->wide].finish(to, to, 1, 1, from, n);
}

static void end_row(const void *data, long long z, long long row, const void *sums)
{
    const part_job *const p = data;
    const tsr_gemm_args *const g = p->job->args;
    const long long bytes = p->job->element_bytes;
    char *const d = (char *)g->d + (z * g->batch_d + row * g->ldd) * bytes;
    const char *const c = g->beta != 0 ? (const char *)g->c + (z * g->batch_c + row * g->ldc) * bytes : NULL;
    tsr_finish(p->job->store, g, d, c, sums, 0, g->n, bytes);
}

static tsr_status run_parts(const tsr_job *job, const tsr_cpu_choice *choice, tsr_dtype dtype)
{
    enum { LEAST_SLICE = 256 };
    const tsr_gemm_args *const g = job->args;
    const part_job parts = {job, choice->algorithm, dtype, job->wide_bytes == 8 ? TSR_F64 : TSR_F32};
    const int by_columns = job->shape == TSR_SHAPE_COLUMNS, by_rows = job->shape == TSR_SHAPE_ROWS;
    const tsr_split_k split = {
        .job = &parts,
        .device = job->device,
        .reserve = job->reserve,
        .threads = job->threads,
        .m = g->m,
        .n = g->n,
        .k = g->k,
        .batch = g->batch,
        .steps = tsr_part_steps(g->k, choice->k_parts,
                                job->shape == TSR_SHAPE_TILES ? tsr_job_k_block(job) : TSR_K_PART_UNIT),
        .least_m = by_columns && g->trans_a ? LEAST_SLICE : g->m,
        .least_n = by_rows && !g->trans_b ? LEAST_SLICE : g->n,
        .sum_bytes = job->wide_bytes,
        .sum = sum_part,
        .add = add_sums,
        .end = end_row};
    return tsr_split_k_run(&split);
}

/* ---- which algorithm ---- */

/* What was answered for the plan, or is asked now. Prepared operands leave one algorithm for each shape. */
static tsr_cpu_choice choice_for(const tsr_cpu_call *call, tsr_dtype dtype)
{
    const int is_prepared = call->packed_a || call->packed_b;
    if (!call->algorithm)
        return tsr_cpu_algorithm(call->device, dtype, call->args, is_prepared ? TSR_HAS_PREPARED : 0, call->threads);
    const tsr_cpu_choice choice = tsr_choice_of(call->algorithm);
    return is_prepared ? tsr_choice_of_shape(choice.shape, choice.k_parts) : choice;
}

tsr_job tsr_tiled_job(const tsr_cpu_call *call, tsr_dtype dtype, tsr_shape shape)
{
    const tsr_cpu_device *device = call->device->impl;
    return (tsr_job){
        .args = call->args,
        .isa = device->isa,
        .tiles = tsr_isa_tiles(device->isa, dtype),
        .store = &device->isa->store[dtype],
        .device = call->device,
        .reserve = call->reserve,
        .shape = shape,
        .packed_a = call->packed_a,
        .packed_b = call->packed_b,
        .threads = call->threads,
        .element_bytes = (int)tsr_dtype_bytes(dtype),
        .wide_bytes = tsr_wide_bytes(dtype),
        .kc = tsr_kc_of(device->isa, device->has_pairs, dtype),
        .swapped = tsr_is_swapped(device->isa, dtype),
        .end = &device->isa->store[dtype],
        .d_bytes = (int)tsr_dtype_bytes(dtype),
    };
}

tsr_status tsr_cpu_tiled(const tsr_config *config, const tsr_cpu_call *call)
{
    const tsr_gemm_args *g = call->args;
    const tsr_dtype dtype = tsr_op_of(&config->op).a;
    if (g->m == 0 || g->n == 0 || g->batch == 0)
        return TSR_OK;
    const tsr_cpu_choice choice = choice_for(call, dtype);
    const tsr_job job = tsr_tiled_job(call, dtype, choice.shape);
    if (!job.store->finish)
        return tsr_fail(TSR_INTERNAL, "config %s: cpu-tiled has no code for %s", config->instance,
                        tsr_dtype_name(dtype));
    if (g->k == 0) {
        scale(&job);
        return TSR_OK;
    }
    return choice.k_parts ? run_parts(&job, &choice, dtype) : run(&job, choice.algorithm, dtype);
}

tsr_algorithms tsr_cpu_tiled_choose(const tsr_config *config, const tsr_device *device, const tsr_problem *problem)
{
    const int threads = problem->threads > 0 ? problem->threads : device->threads;
    const unsigned conditions = problem->flags & TSR_BATCH_INVARIANT ? TSR_SUMS_IGNORE_M : 0;
    tsr_gemm_args args = tsr_args_of(problem);
    tsr_algorithms algorithms;
    const tsr_cpu_choice without_c = tsr_cpu_algorithm(device, tsr_op_of(&config->op).a, &args, conditions, threads);
    algorithms.without_c = tsr_choice_number(without_c);
    algorithms.k_parts = without_c.k_parts;
    args.beta = 1;
    algorithms.with_c =
        tsr_choice_number(tsr_cpu_algorithm(device, tsr_op_of(&config->op).a, &args, conditions, threads));
    return algorithms;
}
