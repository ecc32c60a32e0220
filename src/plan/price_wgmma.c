/* What a product takes with Hopper's tensor configs, `wgmma` and `wgmma_skinny`: the same parts for both, which are
 * what orders them.
 *
 *   - a launch: no faster than launches follow each other, nor than the first stage comes and the last tile leaves,
 *     whose way to memory nothing covers. The first stage comes later where many CTAs ask for the same lines;
 *   - steps along K, the longest of four: what a warp group does in turn, a stage's way from memory divided by the
 *     stages of the ring, multiplying, and the SM's bytes from L2. L2 serves whole lines: rows that do not begin with
 *     one touch two of them for 128 bytes. Lines that all CTAs ask for at once come later;
 *   - waves of them, and beside these what memory takes for all operands.
 *
 * Where two of these are both long they do not overlap perfectly: (a^q + b^q)^(1/q). Constants: fitted to times of an
 * H200, in a graph too, where the host has no share in them, perf/LOG. All this is the GPU's; the host's share is
 * tsr_launched_ns (price_common.h). Schedules are selected by the same estimates (select.c). `wgmma_skinny`:
 * price_skinny.c. */
#include <math.h>

#include "plan/price_common.h"
#include "plan/price_hopper.h"

/* D to memory. Where the copy engine writes boxes of rows that begin within lines, neighbouring tiles share lines, and
 * where within sectors, sectors of 32 bytes too. CTAs side by side in a cluster write both halves at the same time. */
static double output_ns(const tsr_config *config, const tsr_problem *p, const tsr_device *device)
{
    const tsr_profile *const f = tsr_profile_of(device);
    const long long element = (long long)tsr_dtype_bytes(p->op.d), row_bytes = p->d.ld * element;
    const double whole_share = f->wgmma_whole_share, by_threads_share = 1;
    const double by_sectors[3] = {f->wgmma_d_sectors_alone, f->wgmma_d_sectors_m, f->wgmma_d_sectors_n},
                 within_sectors[3] = {f->wgmma_d_within_alone, f->wgmma_d_within_m, f->wgmma_d_within_n};
    const int beside = config->cluster_n > 1 ? 2 : config->cluster_m > 1 ? 1 : 0; /* along N, along M, none */
    const double share = !tsr_output_is_whole(p)         ? by_threads_share
                         : row_bytes % LINE_BYTES == 0   ? whole_share
                         : row_bytes % SECTOR_BYTES == 0 ? by_sectors[beside]
                                                         : within_sectors[beside];
    return (double)element * (double)p->m * (double)p->n * (double)p->batch / (share * memory_rate(device));
}

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
    const double line_ns = f->wgmma_line_ns, ghz = clock_ghz(device);
    const tsr_line_shares engine_shares = {f->wgmma_engine_whole, f->wgmma_engine_sectors, f->wgmma_engine_within};
    /* A config's efficiency is that of large problems, which wait for power and L2; alone, a step multiplies faster. */
    const double narrow_share = f->wgmma_narrow_share, wide_share = f->wgmma_wide_share;
    const double rate_share = config->bm > 64 ? wide_share : narrow_share;
    const double ring_bytes =
        config->smem_bytes - 2 * SLAB_BYTES; /* both groups have a buffer for what leaves at least */
    const double rows = fmin(config->bm, (double)p->m) / config->cluster_n;
    const double columns = fmin(config->bn, (double)p->n) / config->cluster_m;
    t->step_bytes = step_bytes(p, rows, columns, ALL_LINES);
    t->lines_ns = line_ns * (t->step_bytes / LINE_BYTES);
    t->stages = floor(ring_bytes / stage_bytes_of(config));
    t->multiply_ns = 2. * config->bm * config->bn * config->bk * element_bytes(p) /
                     (FLOP_BYTES_PER_CLOCK * ghz * config->efficiency * rate_share);
    t->engine_ns = step_bytes(p, pieces_of(f, p, 'a', config->bm, (double)p->m) / config->cluster_n,
                              pieces_of(f, p, 'b', config->bn, (double)p->n) / config->cluster_m, engine_shares) /
                   (f->wgmma_engine_bytes * ghz);
}

/* A step along K of a CTA; a stage takes stage_ns from memory, and has so many rows that the matrix does not have. */
static double wgmma_step_ns(const tsr_wgmma *t, double stage_ns, double idle)
{
    const tsr_profile *const f = t->f;
    const double low_ns = f->wgmma_low_ns,
                 high_ns = f->wgmma_high_ns; /* one instruction for each 64 rows of the tile */
    const double group_ns = t->config->bm > 64 ? high_ns : low_ns;
    const double step[4] = {group_ns, (stage_ns + t->lines_ns) / t->stages, t->multiply_ns,
                            t->engine_ns + f->hopper_idle_row_clocks * idle / t->ghz};
    const double skew =
        t->config->cluster_m > 1 ? f->wgmma_cluster_m_skew : 1; /* CTAs along M wait for each other's stages */
    return skew * longest_of(step);
}

static int stays_in_l2(const tsr_profile *f, const tsr_problem *p)
{
    const double d_bytes = (double)tsr_dtype_bytes(p->op.d) * (double)p->m * (double)p->n;
    return (double)p->batch * (element_bytes(p) * ((double)p->m + (double)p->n) * (double)p->k + d_bytes) <
           f->wgmma_l2_kept_bytes;
}

/* Of a tile that groups share: its end, which nothing hides. A third group that shifts rows of A is done later. */
static double shared_tile_ns(const tsr_wgmma *t)
{
    return t->config->unaligned_a ? t->f->wgmma_shared_tile_ns : t->f->wgmma_cooperative_tile_ns;
}

/* Of clusters: their CTAs meet for each tile. */
static double cluster_ns(const tsr_wgmma *t)
{
    const int along_m = t->config->cluster_m > 1, along_n = t->config->cluster_n > 1;
    if (along_m && along_n)
        return t->f->wgmma_cluster_both_ns;
    return along_m ? t->f->wgmma_cluster_m_ns : along_n ? t->f->wgmma_cluster_n_ns : 0;
}

/* What the groups of a CTA take for a part of K of a tile, one after the other. They take turns: one stores what the
 * other multiplies after, so that it takes its products' time, or half of its life; or, where threads store D, what the
 * SM's way to L2 takes, for each row of a tile ends within lines twice. Groups that share a tile hide nothing for each
 * other. */
static double unit_ns(const tsr_wgmma *t, double products_ns)
{
    const tsr_profile *const f = t->f;
    const tsr_config *const config = t->config;
    const double tile_ns = f->wgmma_tile_ns + f->wgmma_tile_value_ns * config->bm * config->bn;
    const double life_ns = products_ns + t->stored_ns + tile_ns + cluster_ns(t);
    if (!config->overlaps_stores)
        return life_ns + shared_tile_ns(t);
    return overlapped(STEP_SHARPNESS, products_ns, overlapped(STEP_SHARPNESS, life_ns / 2, t->path_ns));
}

/* A step along K of stream-K tiles. CTAs that walk whole tiles ask for the same lines at the same time, and L2 answers
 * many at once; those that begin anywhere along K do not. */
static double stream_k_step_ns(const tsr_wgmma *t, double step_ns)
{
    const tsr_profile *const f = t->f;
    const double alone_bytes_per_clock = f->wgmma_alone_bytes_per_clock;
    return overlapped(STEP_SHARPNESS, step_ns, t->step_bytes / (alone_bytes_per_clock * t->ghz));
}

/* Parts of a tile meet: somebody leaves sums, is told of, and is read, as many loads at a time as there are registers
 * left beside a thread's own sums. Whole tiles that follow hide none of it, as measured. */
static double parts_ns(const tsr_wgmma *t, const walk *w)
{
    const tsr_profile *const f = t->f;
    const double fixup_ns = f->wgmma_fixup_ns, latency_ns = f->wgmma_parts_latency_ns, threads = 128;
    const tsr_config *const config = t->config;
    const double groups = config->overlaps_stores ? 1 : 2, /* that share a tile */
        registers = (config->unaligned_a ? 200 : 240) - 20;
    const double values = (double)config->bm * config->bn / (threads * groups), batches = values / (registers - values);
    const double sums_ns = 4. * config->bm * config->bn / (f->wgmma_l2_bytes * t->ghz) + latency_ns * batches;
    /* A cluster has the end of a tile and the beginning of another. */
    return fixup_ns + (w->parts - 1) * sums_ns + (config->overlaps_stores ? 0 : 2 * shared_tile_ns(t));
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
    const tsr_profile *const f = t->f;
    const double latency_ns = f->wgmma_latency_ns, stage_ns = with_waiting(f, latency_ns, waiting);
    t->waiting = waiting;
    t->step_ns = wgmma_step_ns(t, stage_ns, t->idle);
    t->edge_ns = t->edge_idle > t->idle ? wgmma_step_ns(t, stage_ns, t->edge_idle) - t->step_ns : 0;
}

void tsr_wgmma_begin(tsr_wgmma *t, const tsr_config *config, const tsr_problem *p, const tsr_device *device)
{
    const tsr_profile *const f = tsr_profile_of(device);
    const double prefetch_ns =
        f->wgmma_prefetch_ns; /* small tiles ask for all their first boxes before the grid in front has ended */
    /* Whole lines that stay in L2 come faster than parts of them; the others for all that. */
    const double kept_share = f->wgmma_kept_share, other_share = f->wgmma_other_share, by_sectors = f->wgmma_by_sectors,
                 within_sectors = f->wgmma_within_sectors;
    const tsr_line_shares l2_shares = {stays_in_l2(f, p) ? kept_share : other_share, by_sectors, within_sectors};
    /* Of a tile's values: leaving it with one buffer for boxes; by threads, as far as D reaches. */
    const double lone_ns = f->wgmma_lone_ns, thread_ns = f->wgmma_thread_ns, path_value_ns = f->wgmma_path_value_ns;
    const double input_share = f->wgmma_input_share,
                 parts_of_lines = f->wgmma_parts_of_lines; /* of the memory's rate: A and B */
    const double m = (double)p->m, n = (double)p->n, values = (double)config->bm * config->bn;
    const int is_whole = tsr_output_is_whole(p);
    t->config = config;
    t->f = f;
    t->ghz = clock_ghz(device);
    t->cluster = tsr_config_cluster(config);
    t->fit = tsr_config_clusters(config, device->cuda.sm_count);
    t->tiles = tsr_cluster_tiles(config, p);
    t->steps = ceil((double)p->k / config->bk);
    t->requests = (requests_for_lines(p, 'a') / (fmax(1, ceil(m / config->bm)) * config->cluster_n) +
                   requests_for_lines(p, 'b') / (fmax(1, ceil(n / config->bn)) * config->cluster_m)) /
                  fmax(1, (double)p->batch);
    t->requests_a = requests_of(p, 'a', config->cluster_n);
    t->requests_b = requests_of(p, 'b', config->cluster_m);
    find_step(t, config, p, device);
    t->all_bytes = (double)p->batch * t->steps *
                   step_bytes(p, m * ceil(n / config->bn) / config->cluster_n,
                              n * ceil(m / config->bm) / config->cluster_m, l2_shares);
    t->l2_ns = t->all_bytes / (device->cuda.sm_count * f->wgmma_l2_bytes * t->ghz);
    t->stored_ns = (is_whole ? 0 : thread_ns * fmin(config->bm, m) * fmin(config->bn, n)) +
                   (boxes_of(config) > 1 ? 0 : lone_ns * values);
    t->path_ns = is_whole ? 0 : path_value_ns * fmin(config->bm, m) * (fmin(config->bn, n) + SLAB_LINES);
    t->output_ns = output_ns(config, p, device);
    t->memory_ns = operand_ns(p, device, 'a', input_share, parts_of_lines) +
                   operand_ns(p, device, 'b', input_share, parts_of_lines) + t->output_ns;
    const double idle_a = idle_configs(config, p, 'a'), idle_b = idle_configs(config, p, 'b'); /* of the last tile, */
    t->edge_idle = idle_a + idle_b;
    t->edge_share = t->edge_waves = 0;
    if (idle_a > 0)
        find_edges(t, p);
    t->idle = (m <= config->bm ? idle_a : 0) + (n <= config->bn ? idle_b : 0); /* and of all */
    t->early_ns = config->bm * config->bn <= 64 * 64 ? prefetch_ns : 0;
    find_steps_ns(t, 0);
}

/* Cooperative groups, and clusters that share both operands, multiply so fast where they are alone that long products
 * wait for power. Of the tiles' products, those past D's edges too. */
static double power_ns(const tsr_wgmma *t)
{
    const tsr_config *const c = t->config;
    if ((c->overlaps_stores && t->cluster <= 2) || c->unaligned_a)
        return 0;
    return 2. * c->bm * c->bn * c->bk * t->steps * t->tiles * t->cluster / t->f->wgmma_power_flops;
}

void tsr_price_wgmma(tsr_wgmma *t, const tsr_launch_config *launch, double best_ns, tsr_price *out)
{
    const tsr_profile *const f = t->f;
    const double along_n_ns = f->wgmma_along_n_ns; /* clusters along N start later */
    const double value_ns = f->wgmma_value_ns,
                 uncovered_share = f->wgmma_uncovered_share; /* of D's way to memory, of the last wave */
    /* Few CTAs have what an SM shares with its neighbour for themselves, but ask less of memory. */
    const double sms = t->fit * t->cluster, apart_share = f->wgmma_apart_share, idle_share = f->wgmma_idle_share;
    const walk w = walk_of(t, &launch->schedule);
    const double values = (double)t->config->bm * t->config->bn, waves = fmax(1, w.waves);
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
        .before_ns = t->config->cluster_n > 1 ? along_n_ns : 0,
        .floor_ns = f->wgmma_floor_ns - f->wgmma_floor_early_share * t->early_ns,
        .fill_ns = f->wgmma_fill_ns - t->early_ns + f->hopper_cta_ns * w.ctas +
                   first_request_ns(f, t->requests * w.ctas * waves, waiting),
        .work_ns = fmax(overlapped(STEP_SHARPNESS, waves_ns, t->l2_ns), power_ns(t)),
        .memory_ns = t->memory_ns * (1 + idle_share * (1 - w.ctas / sms)),
        .after_ns = t->stored_ns + value_ns * values + uncovered_share * t->output_ns / waves +
                    (w.stream_k_steps > 0 ? parts_ns(t, &w) : 0),
        .sharpness = f->wgmma_memory_sharpness,
    };
    settle(f, &parts, best_ns, out);
    out->bytes = t->all_bytes;
    out->early_ns = t->early_ns;
}
