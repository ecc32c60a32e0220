/* cpu-tiled: the door. What a call needs is decided here; direct.c, nest.c, pairs.c, outer.c and stream.c do the work.
 */
#include "core/error.h"
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

int tsr_cpu_tiled_at_once(const tsr_row *row, tsr_device *device, const tsr_gemm_args *args, int known)
{
    const tsr_cpu_device *cpu = device->impl;
    const tsr_dtype dtype = row->dtype_ab;
    const int wide_bytes = dtype == TSR_F64 ? 8 : 4, bytes = dtype == TSR_BF16 ? 2 : wide_bytes;
    const tsr_tiles *tiles = tsr_isa_tiles(cpu->isa, dtype);
    const tsr_store *store = &cpu->isa->store[dtype];
    if ((args->m == 1 || args->n == 1) && dtype != TSR_BF16)
        return tsr_line_at_once(tiles, store, args, dtype);
    const tsr_shape shape =
        known ? (tsr_shape)(known - 1) : tsr_shape_of(dtype, args->m, args->n, args->k, args->trans_a, args->trans_b);
    if (shape == TSR_SHAPE_TILES && dtype != TSR_BF16)
        return tsr_direct_at_once(tiles, store, args, bytes, device);
    if (dtype != TSR_BF16 &&
        (tsr_dots_at_once(store, args, shape, bytes) || tsr_thin_at_once(store, args, shape, dtype)))
        return 1;
    const tsr_job job = {
        .args = args,
        .isa = cpu->isa,
        .tiles = tiles,
        .store = store,
        .device = device,
        .shape = shape,
        .packed_a = NULL,
        .packed_b = NULL,
        .threads = 1,
        .element_bytes = bytes,
        .wide_bytes = wide_bytes,
        .kc = tiles->kc,
        .swapped = 0,
    };
    return shape == TSR_SHAPE_TILES ? cpu->pairs && tsr_pairs_at_once(&job) : tsr_stream_at_once(&job);
}

tsr_status tsr_cpu_tiled(const tsr_row *row, const tsr_cpu_call *call)
{
    const tsr_gemm_args *g = call->args;
    const tsr_cpu_device *device = call->device->impl;
    const tsr_dtype dtype = row->dtype_ab;
    if (g->m == 0 || g->n == 0 || g->batch == 0)
        return TSR_OK;
    const tsr_job job = {
        .args = g,
        .isa = device->isa,
        .tiles = tsr_isa_tiles(device->isa, dtype),
        .store = &device->isa->store[dtype],
        .device = call->device,
        .shape = tsr_shape_of(dtype, g->m, g->n, g->k, g->trans_a, g->trans_b),
        .packed_a = call->packed_a,
        .packed_b = call->packed_b,
        .threads = call->threads,
        .element_bytes = dtype == TSR_F64   ? 8
                         : dtype == TSR_F32 ? 4
                                            : 2,
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
    if (job.shape != TSR_SHAPE_TILES)
        return tsr_stream(&job);
    if (tsr_outer_fits(&job))
        return tsr_outer_run_all(&job);
    if (dtype == TSR_BF16 && device->pairs && !job.packed_a && !job.packed_b)
        return tsr_pairs_nest(&job);
    if (!tsr_direct_fits(&job))
        return tsr_nest(&job);
    tsr_direct(&job);
    return TSR_OK;
}
