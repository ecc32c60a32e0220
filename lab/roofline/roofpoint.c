#include "lab/roofline/roofpoint.h"

#include <math.h>
#include <string.h>

#include "core/op.h"
#include "core/sparse24.h"

enum { SECTOR_BYTES = 32 };

double lab_gpu_peak_flops(const lab_gpu_spec *gpu, tsr_dtype dtype, tsr_compute compute, int on_tensor_cores)
{
    const double clocks = gpu->sms * gpu->clock_hz;
    if (on_tensor_cores && dtype == TSR_F64 && gpu->tensor64_flops_per_clock > 0)
        return clocks * gpu->tensor64_flops_per_clock;
    if (on_tensor_cores && dtype != TSR_F64)
        return clocks * gpu->tensor_flops_per_clock * 2 /
               (compute == TSR_COMPUTE_TF32 ? 4 : (double)tsr_dtype_bytes(dtype));
    return 2 * clocks * (tsr_op_peak(compute, dtype, 1) == TSR_PEAK_F64 ? gpu->fma64_per_clock : gpu->fma_per_clock);
}

double lab_roof_at(const lab_gpu_spec *gpu, double peak_flops_s, double intensity)
{
    const double by_memory = intensity * gpu->memory_bytes_per_s;
    return by_memory < peak_flops_s ? by_memory : peak_flops_s;
}

/* ---- bounds ----------------------------------------------------------------------------------------------------- */

const char *const lab_roof_names[LAB_ROOFS] = {"compute", "DRAM", "SMs", "L1"};

double lab_gpu_best_flops(const lab_gpu_spec *gpu, tsr_dtype dtype, tsr_compute compute, double clock_hz)
{
    const tsr_peak peak_of = tsr_op_peak(compute, dtype, 1);
    const int on_tensor_cores = peak_of == TSR_PEAK_F64 || peak_of >= TSR_PEAK_TF32;
    const double peak = lab_gpu_peak_flops(gpu, dtype, compute, on_tensor_cores);
    return clock_hz > 0 ? peak * clock_hz / gpu->clock_hz : peak;
}

double lab_sparse_factor(const tsr_gemm_desc *desc)
{
    return desc->flags & TSR_SPARSE24 ? 2 : 1;
}

/* An operand of `lines` along K, once. */
static double operand_bytes(const tsr_gemm_desc *desc, char which, int64_t lines)
{
    const tsr_dtype dtype = which == 'a' ? desc->a.dtype : desc->b.dtype;
    const double bytes = (double)tsr_dtype_bytes(dtype);
    if (!(desc->flags & tsr_sparse24_flag(which)))
        return (double)lines * (double)desc->k * bytes;
    return (double)lines * ((double)tsr_kept24(desc->k) * bytes + (double)tsr_indices24_bytes(desc->k));
}

lab_problem_roof lab_problem_roof_of(const tsr_gemm_desc *desc, double peak_flops_s, double memory_bytes_per_s)
{
    lab_problem_roof r = {.peak_flops_s = peak_flops_s, .memory_bytes_per_s = memory_bytes_per_s};
    const double m = (double)desc->m, n = (double)desc->n, k = (double)desc->k, batch = (double)desc->batch_count;
    const double in = operand_bytes(desc, 'a', desc->m) + operand_bytes(desc, 'b', desc->n);
    r.flops = 2 * m * n * k * batch;
    r.bytes = (in + m * n * (double)tsr_dtype_bytes(desc->d.dtype)) * batch;
    r.intensity = r.bytes > 0 ? r.flops / r.bytes : 0;
    r.ridge = memory_bytes_per_s > 0 ? peak_flops_s / memory_bytes_per_s : 0;
    r.is_memory_bound = r.intensity < r.ridge;
    r.bound_flops_s = r.is_memory_bound ? r.intensity * memory_bytes_per_s : peak_flops_s;
    return r;
}

lab_bounds lab_bounds_of(const lab_counters *c, const tsr_gemm_desc *desc, const lab_gpu_spec *gpu, double clock_hz)
{
    enum { PORT_BYTES = 64 }; /* that an SM and its way to L2 pass on in a clock */
    lab_bounds b;
    const double clocks = gpu->sms * (clock_hz > 0 ? clock_hz : gpu->clock_hz); /* of all SMs, in a second */
    const double peak =
        lab_gpu_peak_flops(gpu, desc->a.dtype, desc->compute, c->tensor_flops > 0) * lab_sparse_factor(desc);
    const double flops = c->flops * lab_sparse_factor(desc);
    const double port_bytes = SECTOR_BYTES * (c->load.sectors * c->l1_load_miss_rate +
                                              c->copy.sectors * c->l1_load_miss_rate + c->bulk_load.sectors);
    /* What the copy engine writes goes beside what tensor cores read: wgmma on an H200 is faster than the sum allows.
     */
    const double passes = lab_lsu_clocks(c, gpu) - c->bulk_shared_bytes / 128;
    b.flops_s[LAB_ROOF_PEAK] = peak * clocks / (gpu->sms * gpu->clock_hz);
    b.flops_s[LAB_ROOF_DRAM] =
        lab_problem_roof_of(desc, peak, gpu->memory_bytes_per_s).intensity * gpu->memory_bytes_per_s;
    b.flops_s[LAB_ROOF_SMS] = port_bytes > 0 ? flops / port_bytes * PORT_BYTES * clocks : (double)INFINITY;
    b.flops_s[LAB_ROOF_L1] = passes > 0 ? flops / passes * clocks : (double)INFINITY;
    b.by = LAB_ROOF_PEAK;
    for (lab_roof i = 0; i < LAB_ROOFS; i++)
        b.by = b.flops_s[i] < b.flops_s[b.by] ? i : b.by;
    return b;
}

/* ---- the point -------------------------------------------------------------------------------------------------- */

tsr_status lab_roofpoint_of(const lab_gpu_spec *gpu, const tsr_gemm_desc *desc, lab_roofpoint *out)
{
    memset(out, 0, sizeof *out);
    const tsr_status status = lab_count_quick(desc, NULL, &out->counters);
    if (status != TSR_OK)
        return status;
    const lab_counters *c = &out->counters;
    lab_predict(c, desc, gpu, &out->prediction);
    const double loaded = c->load.bytes + c->copy.bytes + c->bulk_load.bytes;
    const double made = c->flops * lab_sparse_factor(desc);
    out->flops = lab_problem_roof_of(desc, 0, 0).flops;
    out->intensity = loaded > 0 ? made / loaded : 0;
    out->intensity_moved = lab_counters_intensity(c) * lab_sparse_factor(desc);
    out->intensity_dram = out->prediction.dram_bytes > 0 ? out->flops / out->prediction.dram_bytes : 0;
    out->intensity_ideal = lab_problem_roof_of(desc, 0, 0).intensity;
    out->peak_flops_s =
        lab_gpu_peak_flops(gpu, desc->a.dtype, desc->compute, c->tensor_flops > 0) * lab_sparse_factor(desc);
    out->ridge = out->peak_flops_s / gpu->memory_bytes_per_s;
    out->uncached_flops_s = lab_roof_at(gpu, out->peak_flops_s, out->intensity);
    out->bounds = lab_bounds_of(c, desc, gpu, 0);
    out->bound_flops_s = out->bounds.flops_s[out->bounds.by];
    out->is_memory_bound = out->bounds.by != LAB_ROOF_PEAK;
    lab_advise_kernel(gpu, desc, out);
    return TSR_OK;
}
