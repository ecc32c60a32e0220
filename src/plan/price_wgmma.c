/* What a product takes with Hopper's tensor configs, `wgmma` and `wgmma_skinny`: the same parts for both, which are
 * what orders them.
 *
 *   - a launch and the first stage, later where clusters or CTAs that ask for the same lines wait for each other;
 *   - steps along K, the longest of three: multiplying, what the copy engine takes for the lines of a stage (rows that
 *     do not begin with one touch two of them for 128 bytes), and CTAs that wait for the same lines, divided by the
 *     stages of the ring;
 *   - waves of them, and beside these what memory takes for all operands, each read once;
 *   - the last tile's end.
 *
 * Where two of these are both long they do not overlap perfectly: (a^q + b^q)^(1/q). Constants: fitted to times of an
 * H200, in a graph too, where the host has no share in them, and left where regret on other shapes grew without them,
 * perf/LOG. All this is the GPU's; the host's share is tsr_launched_ns (price_common.h). Schedules are selected by the
 * same estimates (select.c). `wgmma_skinny`: price_skinny.c. */
#include <math.h>

#include "plan/price_common.h"
#include "plan/price_hopper.h"

/* Clusters of a `wgmma` config over the device: each walks `waves` tiles, after `stream_k_tiles` steps of parts of
 * other tiles, of which each has up to `parts`. */
typedef struct walk {
    double waves, ctas, stream_k_steps, parts;
} walk;

static walk walk_of(const tsr_wgmma *t, const tsr_schedule *s)
{
    const double stream_k_tiles = s->stream_k_tiles, clusters = stream_k_tiles > 0 ? s->stream_k_units : t->fit;
    walk w = {.waves = ceil((t->tiles - stream_k_tiles) / clusters), .parts = 1};
    w.ctas = (stream_k_tiles > 0 ? clusters : fmin(t->tiles, clusters)) * t->cluster;
    if (stream_k_tiles > 0) {
        w.stream_k_steps = stream_k_tiles * t->steps / clusters;
        w.parts = ceil(t->steps / w.stream_k_steps) + (fmod(clusters, stream_k_tiles) == 0 ? 0 : 1);
    }
    return w;
}

/* Boxes along N are 64 wide. */
static double stage_bytes_of(const tsr_config *config)
{
    return LINE_BYTES * (config->bm + ceil(config->bn / 64.) * 64);
}

/* Buffers of each group for what leaves a tile. */
static double boxes_of(const tsr_config *config)
{
    const double stages = floor((config->smem_bytes - 2 * SLAB_BYTES) / stage_bytes_of(config));
    return floor((config->smem_bytes - stages * stage_bytes_of(config)) / (2 * SLAB_BYTES));
}

/* Rows of the last tile's boxes that an operand does not have: none where boxes lie along M or N. */
static double idle_configs(const tsr_config *config, const tsr_problem *p, char which)
{
    const double tile = which == 'a' ? config->bm : config->bn, rows = (double)(which == 'a' ? p->m : p->n);
    const double share = which == 'a' ? config->cluster_n : config->cluster_m;
    return lies_along_k(p, which) ? (ceil(rows / tile) * tile - rows) / share : 0;
}

/* The limits of a step along K of a CTA, but for those that depend on how many others there are. */
static void find_step(tsr_wgmma *t, const tsr_config *config, const tsr_problem *p, const tsr_device *device)
{
    const tsr_profile *const f = tsr_profile_of(device);
    const double ghz = clock_ghz(device);
    /* A config's efficiency is that of large products, which wait for power; where they do not, tiles with the highest
     * one, 0.73, multiply at the tensor cores' rate. */
    const double best_efficiency = 0.73;
    const double ring_bytes =
        config->smem_bytes - 2 * SLAB_BYTES; /* both groups have a buffer for what leaves at least */
    const double rows = fmin(config->bm, (double)p->m) / config->cluster_n;
    const double columns = fmin(config->bn, (double)p->n) / config->cluster_m;
    t->step_bytes = step_bytes(p, rows, columns, 1);
    t->stages = floor(ring_bytes / stage_bytes_of(config));
    const double peak_ns = 2. * config->bm * config->bn * config->bk / (FLOPS_PER_CLOCK * ghz);
    t->multiply_ns =
        peak_ns / (config->efficiency / best_efficiency) * power_skew(f, t->tiles / t->fit * t->steps * peak_ns);
    t->engine_ns = step_bytes(p, pieces_of(p, 'a', config->bm, (double)p->m) / config->cluster_n,
                              pieces_of(p, 'b', config->bn, (double)p->n) / config->cluster_m, f->hopper_within_share) /
                   (f->hopper_engine_bytes * ghz);
}

/* A step along K of a CTA, whose boxes have so many rows that the matrix does not have. A stage comes in time unless
 * many CTAs wait for its lines. */
static double wgmma_step_ns(const tsr_wgmma *t, double idle)
{
    const double engine_ns = t->engine_ns + t->f->hopper_idle_row_clocks * idle / t->ghz;
    return overlapped(STEP_SHARPNESS, t->f->hopper_waiting_ns * t->waiting / t->stages,
                      overlapped(STEP_SHARPNESS, t->multiply_ns, engine_ns));
}

/* What the groups of a CTA take for a part of K of a tile, one after the other. They take turns: one stores what the
 * other multiplies after, so that it takes its products' time, or half of its life. CTAs of a cluster meet for each
 * tile: those along M wait for each other's boxes of the same B. */
static double unit_ns(const tsr_wgmma *t, double products_ns)
{
    const tsr_profile *const f = t->f;
    const tsr_config *const config = t->config;
    const double tile_ns = f->wgmma_tile_ns + f->wgmma_tile_value_ns * config->bm * config->bn;
    const double meet_ns = config->cluster_m > 1 ? f->wgmma_meet_m_ns : config->cluster_n > 1 ? f->hopper_meet_ns : 0;
    return overlapped(STEP_SHARPNESS, products_ns, (products_ns + t->stored_ns + tile_ns + meet_ns) / 2);
}

/* A step along K of stream-K tiles. CTAs that walk whole tiles ask for the same lines at the same time, and L2 answers
 * many at once; those that begin anywhere along K do not. */
static double stream_k_step_ns(const tsr_wgmma *t, double step_ns)
{
    return overlapped(STEP_SHARPNESS, step_ns, t->step_bytes / (t->f->hopper_l2_bytes * t->ghz));
}

/* Parts of a tile meet: somebody leaves sums, is told of, and is read, as many loads at a time as there are registers
 * left beside a thread's own sums. Whole tiles that follow hide none of it, as measured. */
static double parts_ns(const tsr_wgmma *t, const walk *w)
{
    const tsr_profile *const f = t->f;
    const double join_ns = f->wgmma_join_ns, latency_ns = f->hopper_latency_ns, registers = 240 - 20, threads = 128;
    const tsr_config *const config = t->config;
    const double values = (double)config->bm * config->bn / threads, batches = values / (registers - values);
    const double sums_ns = 4. * config->bm * config->bn / (f->hopper_l2_bytes * t->ghz) + latency_ns * batches;
    return join_ns + (w->parts - 1) * sums_ns;
}

/* How often one cluster has a tile of which D lacks lower rows. Clusters take tiles `fit` apart, which go down a group
 * of `raster` tile rows, column after column: if `fit` is a multiple of the last group's rows, the same clusters have
 * such a tile each time. */
static void find_edges(tsr_wgmma *t, const tsr_problem *p)
{
    const tsr_config *const config = t->config;
    const double tile_rows = ceil((double)p->m / (config->bm * config->cluster_m)),
                 over = fmod(tile_rows, config->raster);
    const double rows = over == 0 ? config->raster : over, columns = t->tiles / ((double)p->batch * tile_rows);
    double common = t->fit, rest = rows;
    while (rest > 0) {
        const double next = fmod(common, rest);
        common = rest;
        rest = next;
    }
    t->edge_share = common / rows;
    t->edge_waves = p->batch > 1 ? INFINITY : ceil(rows * columns / t->fit);
}

/* What each step along K takes as long as so many CTAs ask for the same lines; of the last tile, as long more. */
static void find_steps_ns(tsr_wgmma *t, double waiting)
{
    t->waiting = waiting;
    t->step_ns = wgmma_step_ns(t, t->idle);
    t->edge_ns = t->edge_idle > t->idle ? wgmma_step_ns(t, t->edge_idle) - t->step_ns : 0;
}

void tsr_wgmma_begin(tsr_wgmma *t, const tsr_config *config, const tsr_problem *p, const tsr_device *device)
{
    const tsr_profile *const f = tsr_profile_of(device);
    const double m = (double)p->m, n = (double)p->n, values = (double)config->bm * config->bn;
    const double thread_ns = f->wgmma_thread_ns; /* of a value that threads store, as far as D reaches */
    t->config = config;
    t->f = f;
    t->ghz = clock_ghz(device);
    t->cluster = tsr_config_cluster(config);
    t->fit = fmax(1, floor(device->cuda.sm_count / t->cluster));
    t->tiles = tsr_cluster_tiles(config, p);
    t->steps = ceil((double)p->k / config->bk);
    t->requests_a = requests_of(p, 'a', config->cluster_n);
    t->requests_b = requests_of(p, 'b', config->cluster_m);
    find_step(t, config, p, device);
    t->all_bytes =
        (double)p->batch * t->steps *
        step_bytes(p, m * ceil(n / config->bn) / config->cluster_n, n * ceil(m / config->bm) / config->cluster_m, 1);
    t->l2_ns = t->all_bytes / (device->cuda.sm_count * f->hopper_l2_bytes * t->ghz);
    /* A single buffer for boxes makes leaving a tile as long again. */
    t->stored_ns = (tsr_output_is_whole(p) ? 0 : thread_ns * fmin(config->bm, m) * fmin(config->bn, n)) +
                   (boxes_of(config) > 1 ? 0 : f->wgmma_tile_value_ns * values);
    t->memory_ns = operand_ns(p, device, 'a') + operand_ns(p, device, 'b') + stores_ns(p, device);
    const double idle_a = idle_configs(config, p, 'a'), idle_b = idle_configs(config, p, 'b'); /* of the last tile, */
    t->edge_idle = idle_a + idle_b;
    t->edge_share = t->edge_waves = 0;
    if (idle_a > 0)
        find_edges(t, p);
    t->idle = (m <= config->bm ? idle_a : 0) + (n <= config->bn ? idle_b : 0); /* and of all */
    find_steps_ns(t, 0);
}

void tsr_price_wgmma(tsr_wgmma *t, const tsr_launch_config *launch, double best_ns, tsr_price *out)
{
    const tsr_profile *const f = t->f;
    const double value_ns = f->wgmma_value_ns;
    /* Few CTAs have what an SM shares with its neighbour for themselves. */
    const double sms = t->fit * t->cluster, apart_share = f->wgmma_apart_share;
    const walk w = walk_of(t, &launch->schedule);
    const double values = (double)t->config->bm * t->config->bn;
    const double waiting = waiting_of(&t->requests_a, w.ctas / w.parts) + waiting_of(&t->requests_b, w.ctas / w.parts);
    if (waiting != t->waiting)
        find_steps_ns(t, waiting);
    const double apart = w.ctas <= sms / 2 ? apart_share : 1;
    /* Of rows; an edge of columns alone is the last tile of a walk. */
    const double edges = fmax(1, ceil(fmin(w.waves, t->edge_waves) * t->edge_share));
    const double edge_steps = w.waves > 0 ? edges * t->steps : w.stream_k_steps;
    const double waves_ns = w.waves * unit_ns(t, apart * t->steps * t->step_ns) + edge_steps * t->edge_ns +
                            (w.stream_k_steps > 0 ? apart * w.stream_k_steps * stream_k_step_ns(t, t->step_ns) : 0);
    const tsr_parts parts = {
        .launches = 1,
        /* Clusters along N start later: they meet first. */
        .fill_ns = f->hopper_fill_ns + (t->config->cluster_n > 1 ? f->hopper_meet_ns : 0) + f->hopper_walk_ns * waiting,
        .work_ns = overlapped(STEP_SHARPNESS, waves_ns, t->l2_ns),
        .memory_ns = t->memory_ns,
        .after_ns = t->stored_ns + value_ns * values + (w.stream_k_steps > 0 ? parts_ns(t, &w) : 0),
        .sharpness = f->wgmma_memory_sharpness,
    };
    settle(f, &parts, best_ns, out);
    out->bytes = t->all_bytes;
}
