#include "lab/predict/occupancy.h"

enum { WARP = 32, QUARTERS = 4, REGISTER_STEP = 256, SHARED_STEP = 128, SYSTEM_BYTES = 1024 };

static int round_up(int value, int step)
{
    return (value + step - 1) / step * step;
}

/* What the driver may set aside as shared memory: the first of these that is enough (programming guide, by compute
 * capability; 8.0 and 9.0 share their beginning). */
static int config_for(const lab_gpu_spec *gpu, int wanted)
{
    static const int kib[] = {0, 8, 16, 32, 64, 100, 132, 164, 196, 228};
    for (unsigned i = 0; i < sizeof kib / sizeof kib[0]; i++)
        if (kib[i] << 10 >= wanted && kib[i] << 10 <= gpu->shared_bytes)
            return kib[i] << 10;
    return gpu->shared_bytes;
}

lab_occupancy lab_occupancy_of(const lab_gpu_spec *gpu, int threads, int registers, int shared_bytes)
{
    const int warps = round_up(threads > 0 ? threads : 1, WARP) / WARP;
    const int shared = round_up(shared_bytes + SYSTEM_BYTES, SHARED_STEP);
    lab_occupancy o = {.by_threads = gpu->threads_per_sm / (warps * WARP),
                       .by_registers = gpu->ctas_per_sm,
                       .by_shared = gpu->shared_bytes / shared,
                       .by_ctas = gpu->ctas_per_sm};
    if (registers > 0) {
        const int of_warp = round_up(registers * WARP, REGISTER_STEP);
        o.by_registers = gpu->registers_per_sm / QUARTERS / of_warp * QUARTERS / warps;
    }
    o.ctas = o.by_ctas;
    o.limit = "CTAs";
    const struct {
        int ctas;
        const char *name;
    } limits[] = {{o.by_threads, "threads"}, {o.by_registers, "registers"}, {o.by_shared, "shared memory"}};
    for (unsigned i = 0; i < sizeof limits / sizeof limits[0]; i++)
        if (limits[i].ctas < o.ctas) {
            o.ctas = limits[i].ctas;
            o.limit = limits[i].name;
        }
    o.warps = o.ctas * warps;
    o.share = (double)o.warps * WARP / gpu->threads_per_sm;
    o.shared_config_bytes = config_for(gpu, o.ctas * shared);
    return o;
}
