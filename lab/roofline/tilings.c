#include "lab/roofline/tilings.h"

#include "lab/predict/occupancy.h"

static int64_t ceiling(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static const char *ruled_out(const lab_tiling *t)
{
    if (t->threads > LAB_BLOCK_THREADS)
        return "threads";
    if (t->shared_bytes > LAB_BLOCK_SHARED_BYTES)
        return "shared memory";
    /* The sums alone must leave room for what is multiplied and for addresses. */
    return t->elements >= LAB_THREAD_REGISTERS ? "registers" : NULL;
}

static void find_occupancy(lab_tiling *t, int registers, const lab_gpu_spec *gpu)
{
    const lab_occupancy occupancy = lab_occupancy_of(gpu, (int)t->threads, registers, (int)t->shared_bytes);
    t->ctas_per_sm = occupancy.ctas;
    t->occupancy = (double)(occupancy.ctas * t->threads) / gpu->threads_per_sm;
}

lab_tiling lab_tiling_of(const lab_tiling_request *r, const lab_gpu_spec *gpu)
{
    lab_tiling t = {.dtype = r->dtype, .tile = r->tile, .step = r->step, .elements = r->elements};
    const int64_t elem_bytes = (int64_t)tsr_dtype_bytes(r->dtype);
    t.tiles_m = ceiling(r->m, r->tile);
    t.tiles_n = ceiling(r->n, r->tile);
    t.phases = ceiling(r->k, r->step);
    t.threads = (int64_t)r->tile * r->tile / r->elements;
    t.shared_bytes = 2 * elem_bytes * r->tile * r->step;
    /* Each row of blocks loads B once, each column A. */
    const double m = (double)r->m, n = (double)r->n, k = (double)r->k, bytes = (double)elem_bytes;
    const double loads = m * k * (double)t.tiles_n + k * n * (double)t.tiles_m, products = m * n * k;
    t.loaded_bytes = loads * bytes;
    t.reuse = loads > 0 ? 2 * products / loads : 0;
    t.intensity = loads > 0 ? 2 * products / (t.loaded_bytes + m * n * (double)tsr_dtype_bytes(r->dtype_d)) : 0;
    const double by_memory = t.intensity * gpu->memory_bytes_per_s;
    t.bound_flops_s = by_memory < r->peak_flops_s ? by_memory : r->peak_flops_s;
    t.ruled_out = ruled_out(&t);
    if (!t.ruled_out)
        find_occupancy(&t, r->registers, gpu);
    return t;
}
