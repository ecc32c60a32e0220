#include "lab/roofpoint.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { SECTOR_BYTES = 32 };

double lab_gpu_peak_flops(const lab_gpu_spec *gpu, tsr_dtype dtype, tsr_compute compute, int on_tensor_cores)
{
    const double clocks = gpu->sms * gpu->clock_hz;
    if (on_tensor_cores)
        return clocks * gpu->tensor_flops_per_clock / (compute == TSR_COMPUTE_TF32 ? 2 : 1);
    return 2 * clocks * (dtype == TSR_F64 ? gpu->fma64_per_clock : gpu->fma_per_clock);
}

double lab_roof_at(const lab_gpu_spec *gpu, double peak_flops_s, double intensity)
{
    const double by_memory = intensity * gpu->memory_bytes_per_s;
    return by_memory < peak_flops_s ? by_memory : peak_flops_s;
}

/* ---- advice, from the counters ---------------------------------------------------------------------------------- */

static void advise(lab_roofpoint *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void advise(lab_roofpoint *p, const char *format, ...)
{
    va_list list;
    if (p->advice_count == LAB_ADVICE_MAX)
        return;
    va_start(list, format);
    vsnprintf(p->advice[p->advice_count++], LAB_ADVICE_BYTES, format, list);
    va_end(list);
}

/* Sectors that a warp's load touches, on average. */
static double sectors_per_load(const lab_counters *c)
{
    const double requests = c->load.requests + c->copy.requests;
    return requests > 0 ? (c->load.sectors + c->copy.sectors) / requests : 0;
}

static double bytes_per_lane(const lab_counters *c)
{
    const double requests = c->load.requests + c->copy.requests;
    return requests > 0 ? (c->load.bytes + c->copy.bytes) / requests / 32 : 0;
}

static void advise_memory(const lab_gpu_spec *gpu, lab_roofpoint *p)
{
    const lab_counters *c = &p->counters;
    const double least = bytes_per_lane(c) * 32 / SECTOR_BYTES;
    (void)gpu;
    if (least > 0 && sectors_per_load(c) > 1.25 * least)
        advise(p,
               "coalescing: a warp's load touches %.1f sectors where %.1f would do; let neighbouring threads load "
               "neighbouring elements",
               sectors_per_load(c), least);
    if (c->shared_load.requests + c->shared_load_merged.requests + c->tensor_shared_bytes <= 0)
        advise(p,
               "shared memory: each element is loaded anew by each thread that needs it; tiles of 32 x 32 would cut "
               "the loads 32 times, to %.3g FLOP/B",
               32 * p->intensity);
    else
        advise(
            p,
            "traffic: %.3g FLOP for each byte loaded, the ridge is at %.3g; tiles %.3g times as wide, with more sums "
            "in registers, would reach it",
            p->intensity, p->ridge, ceil(p->ridge / p->intensity));
    if (p->intensity_moved > 1.5 * p->intensity)
        advise(p, "broadcasts and L1 already save %.0f%% of the bytes on their way from L2",
               100 * (1 - p->intensity / p->intensity_moved));
}

static void advise_compute(const tsr_gemm_desc *desc, lab_roofpoint *p)
{
    const lab_counters *c = &p->counters;
    const lab_shared_traffic *reads = &c->shared_load_merged;
    const double fills = c->shared_store.conflicts + c->copy_shared.conflicts;
    const double passes = reads->wavefronts + c->shared_store.wavefronts + c->copy_shared.wavefronts;
    if (c->warp_fma > 0 && passes > 0.25 * c->warp_fma)
        advise(
            p,
            "shared memory: %.2f passes over the banks for each multiply-add of a warp, an SM has time for 0.25; more "
            "sums for each thread",
            passes / c->warp_fma);
    if (passes > 0 && (reads->conflicts + fills) / passes > 0.1)
        advise(p, "bank conflicts: %.0f%% of the passes over the banks; pad or swizzle the tiles",
               100 * (reads->conflicts + fills) / passes);
    if (p->prediction.occupancy.share < 0.25)
        advise(
            p,
            "occupancy: %d block%s on an SM, %.0f%% of its warps, limited by %s; then each thread must bring its own "
            "parallelism",
            p->prediction.occupancy.ctas, p->prediction.occupancy.ctas == 1 ? "" : "s",
            100 * p->prediction.occupancy.share, p->prediction.occupancy.limit);
    if (c->tensor_flops <= 0)
        advise(p,
               desc->a.dtype == TSR_F32
                   ? "tensor cores: they multiply 16-bit factors, or f32 in tf32 (--compute tf32), several times faster"
                   : "tensor cores have a higher peak for this type");
    else if (desc->a.dtype == TSR_F32)
        advise(p, "mixed precision: 16-bit factors with sums in f32 have twice the peak of tf32");
}

/* ---- the point -------------------------------------------------------------------------------------------------- */

static double ideal_intensity(const tsr_gemm_desc *desc)
{
    const double m = (double)desc->m, n = (double)desc->n, k = (double)desc->k;
    const double in = (double)tsr_dtype_bytes(desc->a.dtype), out = (double)tsr_dtype_bytes(desc->d.dtype);
    return 2 * m * n * k / ((m * k + k * n) * in + m * n * out);
}

tsr_status lab_roofpoint_of(const lab_gpu_spec *gpu, const tsr_gemm_desc *desc, lab_roofpoint *out)
{
    memset(out, 0, sizeof *out);
    const tsr_status status = lab_count_quick(desc, NULL, &out->counters);
    if (status != TSR_OK)
        return status;
    const lab_counters *c = &out->counters;
    lab_predict(c, desc, gpu, &out->prediction);
    const double loaded = c->load.bytes + c->copy.bytes + c->bulk_load.bytes;
    out->intensity = loaded > 0 ? c->flops / loaded : 0;
    out->intensity_moved = lab_counters_intensity(c);
    out->intensity_dram = out->prediction.dram_bytes > 0 ? c->flops / out->prediction.dram_bytes : 0;
    out->intensity_ideal = ideal_intensity(desc);
    out->peak_flops_s = lab_gpu_peak_flops(gpu, desc->a.dtype, desc->compute, c->tensor_flops > 0);
    out->ridge = out->peak_flops_s / gpu->memory_bytes_per_s;
    out->bound_flops_s = lab_roof_at(gpu, out->peak_flops_s, out->intensity);
    out->is_memory_bound = out->intensity < out->ridge;
    if (out->is_memory_bound)
        advise_memory(gpu, out);
    else
        advise_compute(desc, out);
    return TSR_OK;
}
