/* cpu-tiled: runs the algorithm that choose.c answers, or answered before. */
#include "core/error.h"
#include "cpu/choose.h"
#include "cpu/cpu.h"
#include "cpu/job.h"

/* D = beta * C, where no product is added. */
static void scale(const tsr_job *job)
{
    const tsr_gemm_args *g = job->args;
    const long long bytes = job->element_bytes;
    static const double zeros[64];
    const long long chunk = (long long)sizeof zeros / job->wide_bytes;
    /* -0 as alpha makes the sum -0, which leaves even a C of -0 as it is */
    const double alpha = g->beta != 0 ? -0.0 : 0.0;
    for (long long z = 0; z < g->batch; z++)
        for (long long i = 0; i < g->m; i++)
            for (long long j = 0; j < g->n; j += chunk) {
                char *d = (char *)g->d + (z * g->batch_d + i * g->ldd + j) * bytes;
                const char *c = g->beta != 0 ? (const char *)g->c + (z * g->batch_c + i * g->ldc + j) * bytes : NULL;
                job->store->finish(d, c, alpha, g->beta, zeros, g->n - j < chunk ? g->n - j : chunk);
            }
}

static tsr_status run(const tsr_job *job, tsr_algorithm algorithm, tsr_dtype dtype)
{
    tsr_cpu_device *const cpu = job->device->impl;
    switch (algorithm) {
    case TSR_GEMV:
        tsr_gemv(job->tiles, job->store, job->args, dtype);
        return TSR_OK;
    case TSR_SMALL:
        if (job->args->batch > 1)
            tsr_small_multiply_batch(job->tiles, job->store, job->args, job->element_bytes);
        else
            tsr_small_multiply(job->tiles, job->store, job->args, job->element_bytes, &cpu->pool, job->threads);
        return TSR_OK;
    case TSR_SKINNY:
        return tsr_skinny(job);
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

tsr_status tsr_cpu_tiled(const tsr_row *row, const tsr_cpu_call *call)
{
    const tsr_gemm_args *g = call->args;
    const tsr_cpu_device *device = call->device->impl;
    const tsr_dtype dtype = row->dtype_ab;
    if (g->m == 0 || g->n == 0 || g->batch == 0)
        return TSR_OK;
    const int is_prepared = call->packed_a || call->packed_b;
    const tsr_cpu_choice choice = call->chosen && !is_prepared
                                      ? tsr_choice_of(call->chosen)
                                      : tsr_cpu_algorithm(call->device, dtype, g, is_prepared, call->threads);
    const tsr_job job = {
        .args = g,
        .isa = device->isa,
        .tiles = tsr_isa_tiles(device->isa, dtype),
        .store = &device->isa->store[dtype],
        .device = call->device,
        .shape = choice.shape,
        .packed_a = call->packed_a,
        .packed_b = call->packed_b,
        .threads = call->threads,
        .element_bytes = (int)tsr_dtype_bytes(dtype),
        .wide_bytes = tsr_wide_bytes(dtype),
        .kc = tsr_kc_of(device->isa, device->has_pairs, dtype),
        .swapped = tsr_is_swapped(device->isa, dtype),
    };
    if (!job.store->finish)
        return tsr_fail(TSR_INTERNAL, "row %s: cpu-tiled has no code for %s", row->instance, tsr_dtype_name(dtype));
    if (g->k == 0) {
        scale(&job);
        return TSR_OK;
    }
    return run(&job, choice.algorithm, dtype);
}

tsr_chosen tsr_cpu_tiled_choose(const tsr_row *row, const tsr_device *device, const tsr_problem *problem)
{
    const int threads = problem->threads > 0 ? problem->threads : device->threads;
    tsr_gemm_args args = tsr_args_of(problem);
    tsr_chosen chosen;
    chosen.without_c = tsr_choice_number(tsr_cpu_algorithm(device, row->dtype_ab, &args, 0, threads));
    args.beta = 1;
    chosen.with_c = tsr_choice_number(tsr_cpu_algorithm(device, row->dtype_ab, &args, 0, threads));
    return chosen;
}
