#include "lab/bench/gpu_levels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/backend.h"
#include "core/error.h"
#include "lab/common/stats.h"
#include "lab/common/timer.h"
#include "plan/microbench.h"

enum { KIB = 1 << 10, MIB = 1 << 20 };
enum {
    REPEATS = 5,
    CTAS = 4,         /* of an SM: 64 KiB of loads are under way, several times what latency times bandwidth asks for */
    THREADS = 256,    /* of those */
    CHUNK = 16 * KIB, /* kernels/microbench/chunk.h */
    FMA_FLOPS = 2,
    FMA_BYTES = 16,      /* three reads and a write of f32 */
    RATE_FMAS = 16 * 8,  /* of a thread and a step of fma_rate, */
    CHAIN_FMAS = 16,     /*   of fma_chain */
    LINE = 128,          /* a node of a chase in global memory: loads of two nodes share no sector */
    NODES = 64 * MIB,    /* the largest chase */
    L1_BYTES = 32 * KIB, /* all GPUs have that much L1 beside what the kernels take of shared memory */
    SHARED_NODES = 16 * KIB,
    SHARED_BYTES = 32 * KIB,
    CACHE_BYTES_PER_CLOCK = 128, /* that an SM's L1 and shared memory give, which are one memory: all GPUs since 7.0 */
    FEWEST_STEPS = 64,
    MOST_STEPS = 1 << 22
};
/* Of a launch that is timed, at least. A launch itself takes some microseconds, and begins with an empty L1. */
#define READ_NS  4e6
#define CHASE_NS 1e7
#define COLD_NS  1e6 /* of a chase through memory that no cache has: it must not come by a node twice */
#define FMA_NS   2e7
#define WARM_NS  3e8 /* until clocks are up */

/* One GPU, open. */
typedef struct gpu {
    tsr_allocator allocator;
    tsr_backend_options options;
    tsr_device device;
    lab_timer timer;
    void *set, *nodes, *results;
    int64_t set_bytes, results_bytes;
    char *image; /* of the nodes, on the host */
} gpu;

/* A kernel with its argument. */
typedef struct run {
    const char *kernel;
    tsr_microbench_args args;
    int64_t grid;
    int cold;        /* L2 must hold nothing of it: the whole set is read before */
    double least_ns; /* of a launch */
} run;

/* ---- opening and closing --------------------------------------------------------------------------------------------
 */

static void close_gpu(gpu *g)
{
    void *const buffers[] = {g->set, g->nodes, g->results};
    for (int i = 0; i < 3; i++)
        if (buffers[i])
            tsr_cuda_backend.free(&g->device, buffers[i]);
    if (g->timer.ops)
        lab_timer_close(&g->timer);
    tsr_cuda_backend.close(&g->device);
    free(g->image);
}

/* 16 times the L2, of which little is there when it is read again; less where memory is short. */
static tsr_status alloc_set(gpu *g)
{
    const int64_t least = 128 * (int64_t)MIB, most = 2048 * (int64_t)MIB, eighth = g->device.cuda.memory_bytes / 8;
    int64_t bytes = 16 * g->device.cuda.l2_bytes;
    bytes = bytes < least ? least : bytes > most ? most : bytes;
    if (bytes > eighth)
        bytes = eighth;
    for (;; bytes /= 2) {
        g->set_bytes = bytes / (2 * CHUNK) * (2 * CHUNK);
        const tsr_status status = tsr_cuda_backend.alloc(&g->device, (size_t)g->set_bytes, &g->set);
        if (status != TSR_OUT_OF_MEMORY || bytes / 2 < 2 * g->device.cuda.l2_bytes || bytes / 2 < 2 * CHUNK)
            return status;
    }
}

static tsr_status open_gpu(const char *id, gpu *g)
{
    memset(g, 0, sizeof *g);
    g->options.allocator = g->device.allocator = &g->allocator;
    tsr_status status = tsr_cuda_backend.open(atoi(id + strlen("cuda:")), &g->options, &g->device);
    if (status != TSR_OK)
        return status;
    g->results_bytes = (int64_t)g->device.cuda.sm_count * CTAS * THREADS * 4;
    g->image = malloc(NODES);
    status = g->image ? lab_timer_open(id, &g->timer) : tsr_fail(TSR_OUT_OF_MEMORY, "%s: no host memory", id);
    if (status == TSR_OK)
        status = alloc_set(g);
    if (status == TSR_OK)
        status = tsr_cuda_backend.alloc(&g->device, NODES, &g->nodes);
    if (status == TSR_OK)
        status = tsr_cuda_backend.alloc(&g->device, (size_t)g->results_bytes, &g->results);
    if (status != TSR_OK)
        close_gpu(g);
    return status;
}

/* ---- one kernel, timed ----------------------------------------------------------------------------------------------
 */

static tsr_status launch(gpu *g, const run *r)
{
    tsr_launch one = {.config = tsr_microbench_config(r->kernel), .microbench = &r->args, .grid = {r->grid, 1, 1}};
    if (!one.config)
        return tsr_fail(TSR_INTERNAL, "there is no microbenchmark %s", r->kernel);
    const tsr_status status = tsr_cuda_backend.load(&g->device, one.config, &one.loaded);
    return status == TSR_OK ? tsr_cuda_backend.launch(&g->device, &one) : status;
}

/* CTAs that the SMs hold at once, so that all are under way from beginning to end. */
static int64_t full_grid(const gpu *g, const char *kernel)
{
    const int shared = tsr_microbench_config(kernel)->smem_bytes;
    const int fit = shared ? g->device.cuda.smem_per_sm_bytes / (shared + KIB) : CTAS;
    return (int64_t)g->device.cuda.sm_count * (fit < 1 ? 1 : fit < CTAS ? fit : CTAS);
}

/* All SMs read `bytes` of `from` together, or copy them. */
static run streaming(const gpu *g, const char *kernel, const void *from, void *to, int64_t bytes, int64_t to_bytes)
{
    const int64_t chunks = bytes / CHUNK, grid = full_grid(g, kernel);
    run r = {.kernel = kernel, .grid = grid, .least_ns = READ_NS};
    r.args = (tsr_microbench_args){.from = from,
                                   .to = to,
                                   .from_bytes = chunks * CHUNK,
                                   .to_bytes = to_bytes,
                                   .chunks = chunks,
                                   .between_ctas = 1 % chunks,
                                   .between_steps = grid % chunks ? grid % chunks : 1 % chunks};
    return r;
}

static tsr_status time_once(gpu *g, const run *r, double *ns)
{
    tsr_status status = TSR_OK;
    if (r->cold) {
        run flush = streaming(g, "read_l2", g->set, g->results, g->set_bytes, g->results_bytes);
        flush.args.steps = flush.args.chunks / flush.grid + 1;
        status = launch(g, &flush);
    }
    if (status == TSR_OK)
        status = g->timer.ops->begin(g->timer.state, NULL);
    if (status == TSR_OK)
        status = launch(g, r);
    return status == TSR_OK ? g->timer.ops->end(g->timer.state, NULL, ns) : status;
}

/* Where a chase that begins at `first` will be after its steps. */
static int64_t walk(const gpu *g, int64_t first, int64_t steps)
{
    for (int64_t i = 0; i < steps; i++) {
        uint64_t next;
        memcpy(&next, g->image + first, sizeof next);
        first = (int64_t)(next - (uint64_t)(uintptr_t)g->nodes);
    }
    return first;
}

/* A cold chase goes on where the one before it ended: no node is loaded twice. */
static void go_on(const gpu *g, run *r)
{
    if (r->cold)
        r->args.first = walk(g, r->args.first, r->args.steps);
}

/* Nanoseconds of a step: twice as many steps until a launch is long enough, then the median of a few. */
static tsr_status time_steps(gpu *g, run *r, double *step_ns)
{
    double ns[REPEATS] = {0};
    r->args.steps = FEWEST_STEPS;
    tsr_status status = time_once(g, r, ns);
    for (; status == TSR_OK && ns[0] < r->least_ns && r->args.steps < MOST_STEPS; status = time_once(g, r, ns)) {
        go_on(g, r);
        r->args.steps *= 2;
    }
    for (int i = 0; i < REPEATS && status == TSR_OK; i++) {
        go_on(g, r);
        status = time_once(g, r, &ns[i]);
    }
    *step_ns = lab_median(ns, REPEATS) / (double)r->args.steps;
    return status;
}

/* ---- latency --------------------------------------------------------------------------------------------------------
 */

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static tsr_status upload(gpu *g, int64_t bytes)
{
    return tsr_cuda_backend.upload(&g->device, g->nodes, g->image, (size_t)bytes, NULL);
}

/* One cycle through all nodes (Sattolo's shuffle), so that nothing knows the next; words of `word` bytes, counted from
 * `base`. */
static void make_cycle(char *image, int64_t nodes, int64_t distance, size_t word, uint64_t base)
{
    uint64_t state = 1, mine = 0, other = 0;
    for (int64_t i = 0; i < nodes; i++) {
        mine = base + (uint64_t)(i * distance);
        memcpy(image + i * distance, &mine, word); /* little-endian, as GPUs are */
    }
    for (int64_t i = nodes - 1; i > 0; i--) {
        const int64_t j = (int64_t)(next_random(&state) % (uint64_t)i);
        memcpy(&mine, image + i * distance, word);
        memcpy(&other, image + j * distance, word);
        memcpy(image + i * distance, &other, word);
        memcpy(image + j * distance, &mine, word);
    }
}

static tsr_status chase(gpu *g, const char *kernel, int64_t bytes, int cold, lab_gpu_level *level)
{
    run r = {.kernel = kernel, .grid = 1, .cold = cold, .least_ns = cold ? COLD_NS : CHASE_NS};
    r.args = (tsr_microbench_args){.from = g->nodes, .to = g->results, .from_bytes = bytes, .to_bytes = 8};
    level->latency_bytes = bytes;
    if (strcmp(kernel, "chase_shared") == 0)
        make_cycle(g->image, bytes / 4, 4, 4, 0);
    else
        make_cycle(g->image, bytes / LINE, LINE, 8, (uint64_t)(uintptr_t)g->nodes);
    tsr_status status = upload(g, bytes);
    if (status == TSR_OK && !cold) { /* once all around, so that the level has it */
        double unused;
        r.args.steps = bytes / LINE;
        status = time_once(g, &r, &unused);
    }
    return status == TSR_OK ? time_steps(g, &r, &level->latency_ns) : status;
}

/* ---- bandwidth ------------------------------------------------------------------------------------------------------
 */

static tsr_status stream(gpu *g, run *r, double bytes_of_step, double *bytes_per_s)
{
    double step_ns;
    const tsr_status status = time_steps(g, r, &step_ns);
    *bytes_per_s = bytes_of_step * (double)r->grid / step_ns * 1e9;
    return status;
}

static tsr_status read_level(gpu *g, const char *kernel, int64_t bytes, lab_gpu_level *level)
{
    run r = streaming(g, kernel, g->set, g->results, bytes, g->results_bytes);
    level->bytes = r.args.from_bytes;
    if (strcmp(kernel, "read_l1") == 0) { /* each SM reads all of it */
        r.args.between_ctas = 0;
        r.args.between_steps = 1 % r.args.chunks;
    }
    return stream(g, &r, CHUNK, &level->read_bytes_per_s);
}

static tsr_status copy_level(gpu *g, lab_gpu_level *level)
{
    const int64_t half = g->set_bytes / 2;
    run r = streaming(g, "copy", g->set, (char *)g->set + half, half, half);
    return stream(g, &r, 2.0 * CHUNK, &level->copy_bytes_per_s);
}

static tsr_status read_shared(gpu *g, lab_gpu_level *level)
{
    run r = {.kernel = "read_shared", .grid = full_grid(g, "read_shared"), .least_ns = READ_NS};
    r.args = (tsr_microbench_args){
        .from = g->nodes, .to = g->results, .from_bytes = SHARED_BYTES, .to_bytes = g->results_bytes};
    level->bytes = SHARED_BYTES;
    memset(g->image, 0, SHARED_BYTES);
    const tsr_status status = upload(g, SHARED_BYTES);
    return status == TSR_OK ? stream(g, &r, SHARED_BYTES, &level->read_bytes_per_s) : status;
}

/* ---- FMAs -----------------------------------------------------------------------------------------------------------
 */

/* x = x / 2 + 1 stays near 2. */
static tsr_status upload_factors(gpu *g)
{
    static const float factors[10] = {0.5f, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    memcpy(g->image, factors, sizeof factors);
    return upload(g, sizeof factors);
}

static run fmas(const gpu *g, const char *kernel, int64_t grid, double least_ns)
{
    run r = {.kernel = kernel, .grid = grid, .least_ns = least_ns};
    r.args = (tsr_microbench_args){.from = g->nodes, .to = g->results, .from_bytes = 40, .to_bytes = g->results_bytes};
    return r;
}

/* FMAs of all SMs until the clocks are up. */
static tsr_status warm_up(gpu *g)
{
    run r = fmas(g, "fma_rate", full_grid(g, "fma_rate"), FMA_NS);
    double step_ns = 0, ns = 0;
    tsr_status status = upload_factors(g);
    if (status == TSR_OK)
        status = time_steps(g, &r, &step_ns);
    for (double warm_ns = 0; status == TSR_OK && warm_ns<WARM_NS; warm_ns += ns> COLD_NS ? ns : COLD_NS)
        status = time_once(g, &r, &ns);
    return status;
}

static tsr_status rate_fmas(gpu *g, lab_gpu_levels *out)
{
    lab_gpu_level *const level = &out->items[LAB_GPU_REGISTERS];
    run rate = fmas(g, "fma_rate", full_grid(g, "fma_rate"), FMA_NS), chain = fmas(g, "fma_chain", 1, CHASE_NS);
    lab_clocks clocks = {(double)NAN, (double)NAN};
    double rate_ns = 0, chain_ns = 0;
    tsr_status status = upload_factors(g);
    if (status == TSR_OK)
        status = time_steps(g, &chain, &chain_ns);
    if (status == TSR_OK)
        status = time_steps(g, &rate, &rate_ns);
    if (status == TSR_OK)
        g->timer.ops->sample(g->timer.state, &clocks);
    const double per_s = (double)RATE_FMAS * THREADS * (double)rate.grid / rate_ns * 1e9;
    level->latency_ns = chain_ns / CHAIN_FMAS;
    level->read_bytes_per_s = FMA_BYTES * per_s;
    out->fma_flops_per_s = FMA_FLOPS * per_s;
    out->clock_mhz = clocks.clock_mhz;
    return status;
}

/* ---- all levels -----------------------------------------------------------------------------------------------------
 */

static void set_peaks(const lab_device *device, lab_gpu_levels *out)
{
    static const char *const names[LAB_GPU_LEVELS] = {"registers", "shared", "L1", "L2", "DRAM"};
    const double clocks = 1e3 * device->core_clock_khz * device->sm_count;
    for (int i = 0; i < LAB_GPU_LEVELS; i++)
        out->items[i] =
            (lab_gpu_level){.name = names[i], .copy_bytes_per_s = (double)NAN, .peak_bytes_per_s = (double)NAN};
    out->peak_flops_per_s = device->peak_flops_f32;
    if (device->peak_flops_f32 > 0)
        out->items[LAB_GPU_REGISTERS].peak_bytes_per_s = device->peak_flops_f32 / FMA_FLOPS * FMA_BYTES;
    if (clocks > 0)
        out->items[LAB_GPU_SHARED].peak_bytes_per_s = out->items[LAB_GPU_L1].peak_bytes_per_s =
            CACHE_BYTES_PER_CLOCK * clocks;
    if (device->memory_bytes_per_s > 0)
        out->items[LAB_GPU_DRAM].peak_bytes_per_s = device->memory_bytes_per_s;
}

/* FMAs come last: they heat the GPU up, and clocks fall. */
static tsr_status measure(gpu *g, lab_gpu_levels *out)
{
    lab_gpu_level *const levels = out->items;
    const int64_t third = g->device.cuda.l2_bytes / 3, l2 = third > CHUNK ? third / CHUNK * CHUNK : CHUNK;
    tsr_status status = warm_up(g);
    if (status == TSR_OK)
        status = chase(g, "chase_shared", SHARED_NODES, 0, &levels[LAB_GPU_SHARED]);
    if (status == TSR_OK)
        status = chase(g, "chase_l1", L1_BYTES, 0, &levels[LAB_GPU_L1]);
    if (status == TSR_OK)
        status = chase(g, "chase_l2", l2 < NODES ? l2 : NODES, 0, &levels[LAB_GPU_L2]);
    if (status == TSR_OK)
        status = chase(g, "chase_l2", NODES, 1, &levels[LAB_GPU_DRAM]);
    if (status == TSR_OK)
        status = read_level(g, "read_l2", g->set_bytes, &levels[LAB_GPU_DRAM]);
    if (status == TSR_OK)
        status = copy_level(g, &levels[LAB_GPU_DRAM]);
    if (status == TSR_OK)
        status = read_level(g, "read_l2", l2 < g->set_bytes ? l2 : g->set_bytes, &levels[LAB_GPU_L2]);
    if (status == TSR_OK)
        status = read_level(g, "read_l1", L1_BYTES, &levels[LAB_GPU_L1]);
    if (status == TSR_OK)
        status = read_shared(g, &levels[LAB_GPU_SHARED]);
    return status == TSR_OK ? rate_fmas(g, out) : status;
}

tsr_status lab_measure_gpu_levels(const lab_device *device, lab_gpu_levels *out)
{
    gpu g;
    memset(out, 0, sizeof *out);
    set_peaks(device, out);
    tsr_status status = open_gpu(device->id, &g);
    if (status != TSR_OK)
        return status;
    status = measure(&g, out);
    close_gpu(&g);
    return status;
}
