#include "lab/tiles.h"

#include "lab/occupancy.h"

enum { ELEM_BYTES = 4 };

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
