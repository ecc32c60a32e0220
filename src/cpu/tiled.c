/* cpu-tiled: runs the algorithm that choose.c answers, or answered before. */
#include "core/error.h"
#include "cpu/choose.h"
#include "cpu/cpu.h"
#include "cpu/job.h"

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

/* What was answered for the plan, or is asked now. Prepared operands leave one algorithm for each shape. */
static tsr_cpu_choice choice_for(const tsr_cpu_call *call, tsr_dtype dtype)
{
    const int is_prepared = call->packed_a || call->packed_b;
    if (!call->algorithm)
        return tsr_cpu_algorithm(call->device, dtype, call->args, is_prepared ? TSR_HAS_PREPARED : 0, call->threads);
    const tsr_cpu_choice choice = tsr_choice_of(call->algorithm);
    return is_prepared ? tsr_choice_of_shape(choice.shape) : choice;
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
        .shape = shape,
        .packed_a = call->packed_a,
        .packed_b = call->packed_b,
        .threads = call->threads,
        .element_bytes = (int)tsr_dtype_bytes(dtype),
        .wide_bytes = tsr_wide_bytes(dtype),
        .kc = tsr_kc_of(device->isa, device->has_pairs, dtype),
        .swapped = tsr_is_swapped(device->isa, dtype),
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
    return run(&job, choice.algorithm, dtype);
}

tsr_algorithms tsr_cpu_tiled_choose(const tsr_config *config, const tsr_device *device, const tsr_problem *problem)
{
    const int threads = problem->threads > 0 ? problem->threads : device->threads;
    const unsigned conditions = problem->flags & TSR_BATCH_INVARIANT ? TSR_SUMS_IGNORE_M : 0;
    tsr_gemm_args args = tsr_args_of(problem);
    tsr_algorithms algorithms;
    algorithms.without_c =
        tsr_choice_number(tsr_cpu_algorithm(device, tsr_op_of(&config->op).a, &args, conditions, threads));
    args.beta = 1;
    algorithms.with_c =
        tsr_choice_number(tsr_cpu_algorithm(device, tsr_op_of(&config->op).a, &args, conditions, threads));
    return algorithms;
}
