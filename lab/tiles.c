#include "lab/tiles.h"

enum { ELEM_BYTES = 4, RESERVED_BYTES = 1 << 10 /* of shared memory, that CUDA keeps in each block */ };

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

static int least(int a, int64_t b)
{
    return b < a ? (int)b : a;
}

static void find_occupancy(lab_tiling *t, int registers, const lab_gpu_spec *gpu)
{
    const int64_t warps = ceiling(t->threads, LAB_WARP_THREADS);
    int ctas = gpu->ctas_per_sm;
    ctas = least(ctas, gpu->threads_per_sm / (warps * LAB_WARP_THREADS));
    ctas = least(ctas, gpu->shared_bytes / (t->shared_bytes + RESERVED_BYTES));
    if (registers > 0) /* given to warps in pieces of 256 */
        ctas = least(ctas, gpu->registers_per_sm / (warps * ceiling((int64_t)registers * LAB_WARP_THREADS, 256) * 256));
    t->ctas_per_sm = ctas;
    t->occupancy = (double)(ctas * t->threads) / gpu->threads_per_sm;
}

lab_tiling lab_tiling_of(int64_t m, int64_t n, int64_t k, int tile, int step, int elements, int registers,
                         const lab_gpu_spec *gpu)
{
    lab_tiling t = {.tile = tile, .step = step, .elements = elements};
    t.tiles_m = ceiling(m, tile);
    t.tiles_n = ceiling(n, tile);
    t.phases = ceiling(k, step);
    t.threads = (int64_t)tile * tile / elements;
    t.shared_bytes = 2ll * tile * step * ELEM_BYTES;
    /* Each row of blocks loads B once, each column A. */
    const double loads = (double)m * (double)k * (double)t.tiles_n + (double)k * (double)n * (double)t.tiles_m;
    const double products = (double)m * (double)n * (double)k;
    t.loaded_bytes = loads * ELEM_BYTES;
    t.reuse = loads > 0 ? 2 * products / loads : 0;
    t.intensity = loads > 0 ? 2 * products / (t.loaded_bytes + (double)m * (double)n * ELEM_BYTES) : 0;
    const double peak = 2.0 * gpu->sms * gpu->fma_per_clock * gpu->clock_hz;
    t.bound_flops_s = t.intensity * gpu->memory_bytes_per_s < peak ? t.intensity * gpu->memory_bytes_per_s : peak;
    t.ruled_out = ruled_out(&t);
    if (!t.ruled_out)
        find_occupancy(&t, registers, gpu);
    return t;
}
