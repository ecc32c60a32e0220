/* Cost models: what a run is expected to take, from the device's peaks and the tile sizes, with one measured constant a
 * row (its efficiency on large problems). They order kernels; they do not promise times. */
#include <math.h>

#include "plan/plan.h"

static double peak_flops(const tsr_row *row, const tsr_device *device)
{
    return row->compute == TSR_COMPUTE_F64 ? device->peak_flops_f64 : device->peak_flops_f32;
}

static double work_flops(const tsr_problem *p)
{
    return 2.0 * (double)p->m * (double)p->n * (double)p->k * (double)p->batch;
}

/* Each operand read or written once. */
static double least_bytes(const tsr_problem *p)
{
    const double ab = (double)tsr_dtype_bytes(p->a.dtype), cd = (double)tsr_dtype_bytes(p->d.dtype);
    return (double)p->batch *
           (ab * ((double)p->m * (double)p->k + (double)p->k * (double)p->n) + cd * (double)p->m * (double)p->n);
}

static void settle(tsr_cost *out, double launch_ns, double compute_ns, double memory_ns, double bytes)
{
    const double work_ns = compute_ns > memory_ns ? compute_ns : memory_ns;
    out->ns = launch_ns + work_ns;
    out->bytes = bytes;
    out->limiter = launch_ns > work_ns ? "launch" : compute_ns > memory_ns ? "compute" : "memory";
}

void tsr_cost_cpu(const tsr_row *row, const tsr_problem *problem, const tsr_device *device, tsr_cost *out)
{
    const double bytes = least_bytes(problem);
    settle(out, device->launch_ns, work_flops(problem) / (peak_flops(row, device) * row->efficiency) * 1e9,
           bytes / device->memory_bytes_per_s * 1e9, bytes);
}

/* A kernel without tensor cores. Traffic: each CTA reads its BM rows of A and BN columns of B once. The compute term
 * grows when the last wave leaves SMs idle, and a CTA at the edge computes its whole tile. */
void tsr_cost_simt(const tsr_row *row, const tsr_problem *problem, const tsr_device *device, tsr_cost *out)
{
    const double tiles_m = ceil((double)problem->m / row->bm), tiles_n = ceil((double)problem->n / row->bn);
    const double ctas = tiles_m * tiles_n * (double)problem->batch;
    const double flops = 2.0 * ctas * row->bm * row->bn * (double)problem->k;
    const double threads = row->threads_x * row->threads_y;
    double per_sm = floor(device->cuda.threads_per_sm / threads);
    if (per_sm > device->cuda.blocks_per_sm)
        per_sm = device->cuda.blocks_per_sm;
    if (per_sm < 1)
        per_sm = 1;
    const double slots = per_sm * device->cuda.sm_count;
    const double idle = ctas > 0 ? ceil(ctas / slots) * slots / ctas : 1;
    const double element = (double)tsr_dtype_bytes(problem->a.dtype);
    const double bytes =
        element * ctas * (row->bm + row->bn) * (double)problem->k +
        (double)tsr_dtype_bytes(problem->d.dtype) * (double)problem->m * (double)problem->n * (double)problem->batch;
    /* L2 serves what CTAs read again, at about three times the memory's rate. */
    const double l2_ns = bytes / (3 * device->memory_bytes_per_s) * 1e9;
    const double memory_ns = least_bytes(problem) / device->memory_bytes_per_s * 1e9;
    settle(out, device->launch_ns, flops * idle / (peak_flops(row, device) * row->efficiency) * 1e9,
           l2_ns > memory_ns ? l2_ns : memory_ns, bytes);
}
