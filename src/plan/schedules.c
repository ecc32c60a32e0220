#include "plan/schedules.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/reason.h"

#define MOST_TILES 2147483647.0
#define MOST_STEPS 2147483647.0 /* of stream-K, which kernels count in 32 bits */

enum {
    MOST_COUNTERS = TSR_WORKSPACE_COUNTER_BYTES / 4, /* one for each tile that is shared */
    MOST_PARTS = 64,                                 /* of a tile, that one CTA adds up */
    F64_COUNTERS = 9,                                /* of a tile in mma-f64 (kernels/collective/f64_partials.h) */
    MOST_REDUCED_PARTS = 1024,                       /* that a split-K reduce adds up */
    MOST_CLUSTER = 8,                                /* CTAs, that every GPU with clusters allows */
    CTA_RESERVED_BYTES = 1024                        /* of shared memory, by the driver */
};

/* ---- what schedules partition ---- */

double tsr_cta_tiles(const tsr_config *config, const tsr_problem *p)
{
    return ceil((double)p->m / config->bm) * ceil((double)p->n / config->bn) * (double)p->batch;
}

double tsr_cluster_tiles(const tsr_config *config, const tsr_problem *p)
{
    const int lies_across = tsr_config_lies_across(config, &p->op, p->a.trans == TSR_T); /* D^T is computed */
    const double m = (double)(lies_across ? p->n : p->m), n = (double)(lies_across ? p->m : p->n);
    return ceil(m / (config->bm * config->cluster_m)) * ceil(n / (config->bn * config->cluster_n)) * (double)p->batch;
}

/* Tiles of wgmma_skinny: along the longer side they come in groups that share what they load of the shorter operand. */
static double skinny_tiles(const tsr_config *config, const tsr_problem *p, int swap_ab)
{
    const double rows = ceil((double)(swap_ab ? p->n : p->m) / (config->bn * config->cluster_n)) * config->cluster_n;
    const double columns = ceil((double)(swap_ab ? p->m : p->n) / config->bm);
    return rows * columns * (double)p->batch;
}

static double tiles_of(const tsr_config *config, const tsr_problem *p, int swap_ab)
{
    switch (config->family) {
    case TSR_FAMILY_WGMMA: /* whose stream-K units are clusters (kernels/collective/stream_k.h) */
    case TSR_FAMILY_WGMMA_KMAJOR:
        return tsr_cluster_tiles(config, p);
    case TSR_FAMILY_WGMMA_SKINNY:
        return skinny_tiles(config, p, swap_ab);
    default:
        return tsr_cta_tiles(config, p);
    }
}

static double steps_of(const tsr_config *config, const tsr_problem *p)
{
    return ceil((double)p->k / config->bk);
}

double tsr_ctas_per_sm(const tsr_config *config, const tsr_cuda_limits *gpu)
{
    const double by_smem = floor((double)gpu->smem_per_sm_bytes / (config->smem_bytes + CTA_RESERVED_BYTES));
    const double by_threads = floor((double)gpu->threads_per_sm / (config->threads_x * config->threads_y));
    return fmax(1, fmin(by_smem, by_threads));
}

/* Kernels whose stream-K units are CTAs before those of whole tiles (kernels/collective/units.h). */
static int has_cta_units(const tsr_config *config)
{
    return config->family == TSR_FAMILY_STREAM_K || config->family == TSR_FAMILY_MMA_F64;
}

/* That a tile needs which several units share: in wgmma one for each warp group that has rows of it, in wgmma_kmajor
 * one for each 64 rows. */
static int counters_of_tile(const tsr_config *config)
{
    switch (config->family) {
    case TSR_FAMILY_MMA_F64:
        return F64_COUNTERS;
    case TSR_FAMILY_WGMMA:
        return tsr_config_cluster(config) * (config->overlaps_stores ? 1 : config->threads_x / 128 - 1);
    case TSR_FAMILY_WGMMA_KMAJOR:
        return tsr_config_cluster(config) * config->bm / 64;
    default:
        return 1;
    }
}

/* So many that no tile has more than MOST_PARTS parts, for which mma-f64 has counters; where r units come to a tile,
 * and r is no integer, a tile may have the integer above r and one more. */
static double most_units(const tsr_config *config, const tsr_schedule *s)
{
    const int is_uneven = s->stream_k_units % s->stream_k_tiles != 0;
    return (double)s->stream_k_tiles * (MOST_PARTS - (config->family == TSR_FAMILY_MMA_F64 && is_uneven));
}

static int is_empty(const tsr_problem *p)
{
    return p->m == 0 || p->n == 0 || p->batch == 0;
}

/* ---- which are legal ---- */

/* What a family's kernels can do with K, beside leaving it whole. */
typedef struct abilities {
    int split_k, cluster_k, stream_k;
} abilities;

static abilities abilities_of(const tsr_config *config)
{
    switch (config->family) {
    case TSR_FAMILY_STREAM_K:
    case TSR_FAMILY_MMA_F64:
        return (abilities){.stream_k = 1};
    case TSR_FAMILY_CLUSTER_K:
        return (abilities){.cluster_k = MOST_CLUSTER};
    case TSR_FAMILY_THIN:
        return (abilities){.split_k = MOST_PARTS};
    case TSR_FAMILY_WGMMA:
        return (abilities){.stream_k = 1};
    case TSR_FAMILY_WGMMA_KMAJOR:
        return (abilities){.stream_k = config->streams_k};
    case TSR_FAMILY_WGMMA_SKINNY:
        /* The split-K reduce knows no scales. */
        return (abilities){.split_k = config->scaled ? 0 : MOST_REDUCED_PARTS, .cluster_k = config->parts};
    default:
        return (abilities){0};
    }
}

int tsr_config_partitions_k(const tsr_config *config)
{
    const abilities can = abilities_of(config);
    return can.split_k > 0 || can.cluster_k > 0 || can.stream_k;
}

static int stream_k_is_legal(const tsr_config *config, const tsr_problem *p, const tsr_schedule *s, char *reason,
                             size_t reason_bytes)
{
    const double tiles = tiles_of(config, p, s->swap_ab), blocks = s->stream_k_tiles * steps_of(config, p);
    const double counters = (double)s->stream_k_tiles * counters_of_tile(config);
    if (s->stream_k_tiles < 1 || s->stream_k_tiles > tiles)
        return tsr_refuse(reason, reason_bytes, "stream-k: %d tiles, where D has %.0f", s->stream_k_tiles, tiles);
    if (counters > MOST_COUNTERS)
        return tsr_refuse(reason, reason_bytes, "stream-k: %d tiles need more than %d counters", s->stream_k_tiles,
                          MOST_COUNTERS);
    if (s->stream_k_units < 1 || s->stream_k_units > blocks)
        return tsr_refuse(reason, reason_bytes, "stream-k: %d units for %.0f steps along K", s->stream_k_units, blocks);
    if (blocks > MOST_STEPS)
        return tsr_refuse(reason, reason_bytes, "stream-k: more than 2^31 - 1 steps along K");
    if (has_cta_units(config) && s->stream_k_units > most_units(config, s))
        return tsr_refuse(reason, reason_bytes, "stream-k: more than %.0f units for %d tiles", most_units(config, s),
                          s->stream_k_tiles);
    if (has_cta_units(config) && s->stream_k_units < s->stream_k_tiles)
        return tsr_refuse(reason, reason_bytes, "stream-k: fewer units than tiles");
    return 1;
}

int tsr_schedule_is_legal(const tsr_config *config, const tsr_problem *p, const tsr_schedule *s, char *reason,
                          size_t reason_bytes)
{
    const abilities can = abilities_of(config);
    const double tiles = tiles_of(config, p, s->swap_ab), steps = steps_of(config, p);
    if (s->split_k < 1 || s->cluster_k < 1 || s->split_k % s->cluster_k != 0)
        return tsr_refuse(reason, reason_bytes, "split-k = %d must be a multiple of cluster-k = %d", s->split_k,
                          s->cluster_k);
    if (!config->swaps_ab && s->swap_ab)
        return tsr_refuse(reason, reason_bytes, "swap-ab: kernel %s has no such form", config->name);
    if (s->stream_k_units == 0 && s->stream_k_tiles == 0 && s->split_k == 1)
        return 1;
    if (is_empty(p))
        return tsr_refuse(reason, reason_bytes, "D is empty");
    if (s->stream_k_units != 0 || s->stream_k_tiles != 0) {
        if (!can.stream_k)
            return tsr_refuse(reason, reason_bytes, "stream-k: kernel %s has no such form", config->name);
        if (s->split_k > 1)
            return tsr_refuse(reason, reason_bytes, "stream-k and split-k exclude each other");
        return stream_k_is_legal(config, p, s, reason, reason_bytes);
    }
    if (s->cluster_k > 1 && s->cluster_k > can.cluster_k)
        return tsr_refuse(reason, reason_bytes, "cluster-k = %d: this instance has at most %d", s->cluster_k,
                          can.cluster_k > 1 ? can.cluster_k : 1);
    if (config->family == TSR_FAMILY_WGMMA_SKINNY &&
        (s->cluster_k == 7 || s->cluster_k * config->cluster_n > MOST_CLUSTER))
        return tsr_refuse(reason, reason_bytes, "cluster-k = %d: not for clusters of this instance", s->cluster_k);
    if (s->cluster_k < s->split_k && (s->cluster_k > 1 || s->split_k > can.split_k))
        return tsr_refuse(reason, reason_bytes, "split-k = %d: this instance has at most %d%s", s->split_k,
                          can.split_k > 1 ? can.split_k : 1, s->cluster_k > 1 ? ", without clusters" : "");
    if (s->split_k > steps)
        return tsr_refuse(reason, reason_bytes, "split-k = %d: K has %.0f steps of %d", s->split_k, steps, config->bk);
    if (config->family == TSR_FAMILY_THIN && tiles > MOST_COUNTERS)
        return tsr_refuse(reason, reason_bytes, "split-k: D has more than %d tiles", MOST_COUNTERS);
    if (tiles * s->split_k > MOST_TILES)
        return tsr_refuse(reason, reason_bytes, "D has more than 2^31 - 1 parts of tiles");
    return 1;
}

/* ---- what a launch needs ---- */

static size_t workspace_of(double tiles, const tsr_config *config)
{
    const size_t sum_bytes = config->op.computes & TSR_COMPUTE_BIT(TSR_COMPUTE_F64) ? sizeof(double) : sizeof(float);
    return TSR_WORKSPACE_COUNTER_BYTES + (size_t)tiles * (size_t)config->bm * (size_t)config->bn * sum_bytes;
}

static void stream_k_launch(const tsr_config *config, const tsr_problem *p, tsr_launch_config *l)
{
    const long long units = l->schedule.stream_k_units, shared = l->schedule.stream_k_tiles;
    l->grid = (tsr_grid){units + (long long)tsr_cta_tiles(config, p) - shared, 1, 1};
    l->workspace_bytes = units == 0 ? 0 : workspace_of((double)(units + shared), config);
}

/* A cluster has two places in the workspace: for the part of its first tile and for that of its last. */
static void wgmma_launch(const tsr_config *config, tsr_launch_config *l)
{
    const int places = 2, cluster = tsr_config_cluster(config);
    if (l->schedule.stream_k_units == 0)
        return;
    l->grid = (tsr_grid){(long long)l->schedule.stream_k_units * cluster, 1, 1};
    l->workspace_bytes = workspace_of((double)places * l->schedule.stream_k_units * cluster, config);
}

static void skinny_launch(const tsr_config *config, const tsr_problem *p, tsr_launch_config *l)
{
    const tsr_schedule *const s = &l->schedule;
    const double tiles = skinny_tiles(config, p, s->swap_ab);
    if (is_empty(p))
        return;
    l->cluster = s->cluster_k * config->cluster_n;
    l->grid = (tsr_grid){(long long)tiles * s->split_k, 1, 1};
    l->reduces = s->split_k > s->cluster_k;
    l->workspace_bytes = l->reduces ? workspace_of(tiles * s->split_k, config) : 0;
}

tsr_launch_config tsr_schedule_launch(const tsr_config *config, const tsr_problem *p, const tsr_schedule *schedule)
{
    tsr_launch_config l = {.schedule = *schedule};
    if (config->kind == TSR_CONFIG_CPU)
        return l; /* it has no CTA tile to divide by */
    const long long parts = (long long)tsr_cta_tiles(config, p) * schedule->split_k;
    switch (config->family) {
    case TSR_FAMILY_STREAM_K:
    case TSR_FAMILY_MMA_F64:
        stream_k_launch(config, p, &l);
        break;
    case TSR_FAMILY_CLUSTER_K:
        l.cluster = schedule->cluster_k;
        l.grid = (tsr_grid){parts, 1, 1};
        break;
    case TSR_FAMILY_THIN:
        l.grid = (tsr_grid){parts, 1, 1};
        l.workspace_bytes = schedule->split_k == 1 ? 0 : workspace_of((double)parts, config);
        break;
    case TSR_FAMILY_WGMMA:
    case TSR_FAMILY_WGMMA_KMAJOR:
        wgmma_launch(config, &l);
        break;
    case TSR_FAMILY_WGMMA_SKINNY:
        skinny_launch(config, p, &l);
        break;
    default:
        break;
    }
    return l;
}

/* ---- which may be the fastest ---- */

typedef struct schedules {
    tsr_schedule *all;
    int count;
} schedules;

/* Of legal ones, those that are there are not added again. */
static void add(const tsr_config *config, const tsr_problem *p, tsr_schedule s, schedules *to)
{
    if (to->count == TSR_MOST_SCHEDULES || !tsr_schedule_is_legal(config, p, &s, NULL, 0))
        return;
    for (int i = 0; i < to->count; i++)
        if (memcmp(&to->all[i], &s, sizeof s) == 0)
            return;
    to->all[to->count++] = s;
}

/* The tiles that leave the last round short, with or without a whole round more; over as many units as the device holds
 * at once, a half or a quarter of them. */
static void add_stream_k(const tsr_config *config, const tsr_problem *p, const tsr_device *device, schedules *to)
{
    enum { LEAST_STEPS = 8 }; /* of BK that a unit makes */
    const long long slots = (long long)device->cuda.sm_count * config->sm_ctas,
                    tiles = (long long)tsr_cta_tiles(config, p);
    const long long steps = (long long)steps_of(config, p);
    for (int more = 0; more < 2; more++) {
        const long long shared = tiles % slots + (more ? slots : 0);
        if (shared == 0 || shared > tiles || shared > MOST_COUNTERS || shared * steps > INT32_MAX)
            continue;
        for (long long units = slots; units >= slots / 4 && units > 0; units /= 2) {
            const long long most = shared * steps / LEAST_STEPS, taken = units < most ? units : most;
            tsr_schedule s = tsr_config_whole(config, p->m, p->n);
            s.stream_k_tiles = (int)shared;
            s.stream_k_units = (int)taken;
            add(config, p, s, to);
        }
    }
}

/* The tiles that leave the last round of one CTA to an SM, two, ... short, with or without a whole round more, over as
 * many units; and all tiles in equal parts, where two of each find room. */
static void add_f64(const tsr_config *config, const tsr_problem *p, const tsr_device *device, schedules *to)
{
    enum { LEAST_STEPS = 4 }; /* of BK that a unit makes */
    const double sms = device->cuda.sm_count, tiles = tsr_cta_tiles(config, p), steps = steps_of(config, p);
    for (int held = config->sm_ctas; held > 0; held--) {
        const double slots = sms * held, over = fmod(tiles, slots), parts = floor(slots / tiles);
        const double shared[] = {over, over + slots, tiles}, units[] = {slots, slots, tiles * parts};
        for (int i = 0; i < 3; i++) {
            const double most = floor(shared[i] * steps / LEAST_STEPS),
                         taken = fmin(fmin(units[i], shared[i] * MOST_PARTS), most);
            tsr_schedule s = tsr_config_whole(config, p->m, p->n);
            if (over == 0 || shared[i] > tiles || taken <= shared[i])
                continue;
            s.stream_k_tiles = (int)shared[i];
            s.stream_k_units = (int)taken;
            add(config, p, s, to);
        }
    }
}

static void add_clusters(const tsr_config *config, const tsr_problem *p, tsr_schedule s, int most, schedules *to)
{
    enum { MIN_BLOCKS = 2 }; /* steps along K of a CTA of wgmma_skinny */
    const int least_steps = config->family == TSR_FAMILY_WGMMA_SKINNY ? MIN_BLOCKS : 1;
    for (int cluster = 2; cluster <= most; cluster++) {
        s.split_k = s.cluster_k = cluster;
        /* Clusters of 6 and 7 leave a quarter of an H200's SMs idle: 17 and 15 find room. */
        const int is_odd_fit = config->family == TSR_FAMILY_WGMMA_SKINNY && (cluster == 6 || cluster == 7);
        if (!is_odd_fit && steps_of(config, p) >= least_steps * cluster)
            add(config, p, s, to);
    }
}

/* Parts of K that keep SMs equally busy, each with some panels: of tiles of `thin-mma`, of which an SM has one. What a
 * CTA costs beside its panels: perf/h200-2026-11-30-thin-mma.csv. */
static int thin_mma_parts(const tsr_device *device, double tiles, double panels)
{
    enum { LEAST_PANELS = 4 };
    const double sms = device->cuda.sm_count, overhead = 3; /* of a CTA, in panels */
    double least = INFINITY;
    int best = 1;
    for (int parts = 1; parts <= MOST_PARTS && (parts == 1 || parts * LEAST_PANELS <= panels); parts++) {
        const double taken = ceil(tiles * parts / sms) * (ceil(panels / parts) + overhead);
        if (taken < least)
            least = taken, best = parts;
    }
    return best;
}

/* Parts of K: so many that the CTAs fill the device once, each with a panel of A at least. */
static tsr_schedule thin_schedule(const tsr_config *config, const tsr_problem *p, const tsr_device *device)
{
    tsr_schedule s = tsr_config_whole(config, p->m, p->n);
    const double slots = (double)device->cuda.sm_count * config->sm_ctas, tiles = tsr_cta_tiles(config, p);
    const double panels = steps_of(config, p);
    if (tiles > 0 && tiles <= MOST_COUNTERS && panels >= 2)
        s.split_k = tsr_config_takes_unaligned(config)
                        ? thin_mma_parts(device, tiles, panels)
                        : (int)fmax(1, fmin(fmin(floor(slots / tiles), panels), MOST_PARTS));
    if (tsr_schedule_launch(config, p, &s).workspace_bytes > p->workspace_limit_bytes)
        s.split_k = 1;
    return s;
}

/* Whole tiles go round over the clusters of a persistent grid; where that leaves some of them idle at the end, the
 * iterations along K of the first tiles are shared out evenly instead (kernels/collective/stream_k.h). */
static void add_wgmma(const tsr_config *config, const tsr_problem *p, const tsr_device *device, schedules *to)
{
    enum { LEAST_STEPS = 4, MOST_EVEN_PARTS = 8 }; /* of a cluster's part; of each tile, where all have equally many */
    const double fit = tsr_config_clusters(config, device->cuda.sm_count);
    const double tiles = tsr_cluster_tiles(config, p), over = fmod(tiles, fit), steps = steps_of(config, p);
    double shared[2 + MOST_EVEN_PARTS], units[2 + MOST_EVEN_PARTS];
    int count = 0;
    if (over == 0 || tsr_config_cluster(config) > 2) /* whose times are not known */
        return;
    shared[count] = over, units[count++] = fit;
    if (tiles > fit)
        shared[count] = over + fit, units[count++] = fit;
    for (int parts = 2; parts <= MOST_EVEN_PARTS && tiles * parts <= fit; parts++)
        shared[count] = tiles, units[count++] = tiles * parts;
    for (int i = 0; i < count; i++) {
        tsr_schedule s = tsr_config_whole(config, p->m, p->n);
        if (shared[i] * steps < LEAST_STEPS * units[i] || shared[i] > MOST_COUNTERS)
            continue;
        s.stream_k_tiles = (int)shared[i];
        s.stream_k_units = (int)units[i];
        add(config, p, s, to);
    }
}

/* As many parts for a split-K reduce as find room on the device at once: what a CTA asks of memory is answered sooner
 * the less it asks. Of those with equally many steps for the longest, the fewest. 1: none, as for tiles that share
 * loads by four and more, which were never the fastest so. */
static int reduced_parts(const tsr_config *config, const tsr_problem *p, const tsr_cuda_limits *gpu, int swap_ab)
{
    enum { MIN_BLOCKS = 2 };
    if (config->cluster_n >= 4)
        return 1;
    const double blocks = steps_of(config, p);
    const double fit = floor(gpu->sm_count * tsr_ctas_per_sm(config, gpu) / skinny_tiles(config, p, swap_ab));
    const double most = fmin(fit, floor(blocks / MIN_BLOCKS));
    return most >= 2 ? (int)ceil(blocks / ceil(blocks / most)) : 1;
}

/* Tiles' columns lie along the shorter side of D, so that few of them are idle. Along the longer one they fill the last
 * wave better, if they may have any height, and so many rows of the shorter side that not half of a tile is idle. */
static int may_lie_across(const tsr_config *config, const tsr_problem *p)
{
    const int along_k = p->m <= p->n ? p->b.trans == TSR_T : p->a.trans == TSR_N;
    return along_k && 2 * (p->m <= p->n ? p->m : p->n) > config->bn;
}

static void add_skinny(const tsr_config *config, const tsr_problem *p, const tsr_device *device, schedules *to)
{
    const int cuts = !(p->flags & TSR_BATCH_INVARIANT);
    tsr_schedule s = tsr_config_whole(config, p->m, p->n), across = s;
    across.swap_ab = !s.swap_ab;
    if (cuts) {
        add_clusters(config, p, s, config->parts, to);
        s.split_k = reduced_parts(config, p, &device->cuda, s.swap_ab);
        add(config, p, s, to);
    }
    if (!may_lie_across(config, p))
        return;
    add(config, p, across, to);
    if (cuts)
        add_clusters(config, p, across, config->parts, to);
}

int tsr_schedule_candidates(const tsr_config *config, const tsr_problem *p, const tsr_device *device,
                            tsr_schedule out[TSR_MOST_SCHEDULES])
{
    schedules found = {.all = out, .count = 1};
    const int keeps_k = (p->flags & TSR_BATCH_INVARIANT) != 0;
    out[0] = tsr_config_whole(config, p->m, p->n);
    if (is_empty(p))
        return 1;
    switch (config->family) {
    case TSR_FAMILY_STREAM_K:
        add_stream_k(config, p, device, &found);
        break;
    case TSR_FAMILY_CLUSTER_K:
        add_clusters(config, p, out[0], MOST_CLUSTER, &found);
        break;
    case TSR_FAMILY_THIN:
        out[0] = thin_schedule(config, p, device);
        break;
    case TSR_FAMILY_MMA_F64:
        if (!keeps_k)
            add_f64(config, p, device, &found);
        break;
    case TSR_FAMILY_WGMMA:
    case TSR_FAMILY_WGMMA_KMAJOR:
        if (!keeps_k)
            add_wgmma(config, p, device, &found);
        break;
    case TSR_FAMILY_WGMMA_SKINNY:
        add_skinny(config, p, device, &found);
        break;
    default:
        break;
    }
    return found.count;
}

/* ---- one of each kind, for tests ---- */

static void add_kinds_of_stream_k(const tsr_config *config, const tsr_problem *p, schedules *to)
{
    const int tiles = (int)fmin(tiles_of(config, p, 0), MOST_COUNTERS), steps = (int)fmin(steps_of(config, p), 1 << 20);
    /* Fewer units than tiles, so that one has the end of a tile, whole ones and the beginning of another; more; all
     * steps apart; and some tiles whole. */
    const int shared[] = {tiles, tiles, tiles, (tiles + 1) / 2};
    const int units[] = {tiles - 1, 2 * tiles + 1, steps < MOST_PARTS ? tiles * steps : tiles * MOST_PARTS, tiles};
    for (size_t i = 0; i < sizeof shared / sizeof shared[0]; i++) {
        tsr_schedule s = tsr_config_whole(config, p->m, p->n);
        s.stream_k_tiles = shared[i];
        s.stream_k_units = units[i];
        add(config, p, s, to);
    }
}

static void add_kinds_of_split_k(const tsr_config *config, const tsr_problem *p, int swap_ab, schedules *to)
{
    const abilities can = abilities_of(config);
    const int most = (int)fmin(steps_of(config, p), can.split_k), parts[] = {1, 2, 3, most};
    tsr_schedule s = {.cluster_k = 1, .swap_ab = swap_ab};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        s.split_k = parts[i];
        add(config, p, s, to);
    }
    for (int cluster = 2; cluster <= can.cluster_k; cluster++) {
        s.split_k = s.cluster_k = cluster;
        add(config, p, s, to);
    }
}

int tsr_schedule_kinds(const tsr_config *config, const tsr_problem *p, tsr_schedule out[TSR_MOST_SCHEDULES])
{
    schedules found = {.all = out, .count = 1};
    out[0] = tsr_config_whole(config, p->m, p->n);
    add_kinds_of_stream_k(config, p, &found);
    add_kinds_of_split_k(config, p, out[0].swap_ab, &found);
    add_kinds_of_split_k(config, p, !out[0].swap_ab, &found);
    return found.count;
}

/* ---- as users write them ---- */

void tsr_schedule_text(const tsr_config *config, const tsr_problem *p, const tsr_schedule *s,
                       char out[TSR_SCHEDULE_TEXT_BYTES])
{
    size_t used = 0;
    out[0] = '\0';
    if (s->split_k > s->cluster_k)
        used += (size_t)snprintf(out + used, TSR_SCHEDULE_TEXT_BYTES - used, ",split-k=%d", s->split_k);
    if (s->cluster_k > 1)
        used += (size_t)snprintf(out + used, TSR_SCHEDULE_TEXT_BYTES - used, ",cluster-k=%d", s->cluster_k);
    if (s->stream_k_units > 0)
        used += (size_t)snprintf(out + used, TSR_SCHEDULE_TEXT_BYTES - used, ",stream-k=%d/%d", s->stream_k_tiles,
                                 s->stream_k_units);
    if (s->swap_ab != tsr_config_whole(config, p->m, p->n).swap_ab)
        used += (size_t)snprintf(out + used, TSR_SCHEDULE_TEXT_BYTES - used, ",swap-ab=%d", s->swap_ab);
    if (used == 0)
        snprintf(out, TSR_SCHEDULE_TEXT_BYTES, "whole");
    else
        memmove(out, out + 1, used);
}

/* A decimal number up to a million at *text, which moves behind it; -1 if there is none. */
static int number_at(const char **text)
{
    enum { MOST = 1000000 };
    char *end;
    if (**text < '0' || **text > '9')
        return -1;
    const long value = strtol(*text, &end, 10);
    *text = end;
    return value <= MOST ? (int)value : -1;
}

static int take_word(const char **text, const char *word)
{
    const size_t length = strlen(word);
    if (strncmp(*text, word, length) != 0)
        return 0;
    *text += length;
    return 1;
}

/* One "name=value". */
static int parse_part(const char **text, tsr_schedule *s)
{
    if (take_word(text, "whole"))
        return 1;
    if (take_word(text, "split-k="))
        return (s->split_k = number_at(text)) >= 0;
    if (take_word(text, "cluster-k=")) {
        s->cluster_k = number_at(text);
        s->split_k = s->split_k > s->cluster_k ? s->split_k : s->cluster_k;
        return s->cluster_k >= 0;
    }
    if (take_word(text, "stream-k=")) {
        s->stream_k_tiles = number_at(text);
        return s->stream_k_tiles >= 0 && take_word(text, "/") && (s->stream_k_units = number_at(text)) >= 0;
    }
    if (take_word(text, "swap-ab=")) {
        s->swap_ab = number_at(text);
        return s->swap_ab == 0 || s->swap_ab == 1;
    }
    return 0;
}

int tsr_schedule_parse(const tsr_config *config, const tsr_problem *p, const char *text, tsr_schedule *out,
                       char *reason, size_t reason_bytes)
{
    *out = tsr_config_whole(config, p->m, p->n);
    for (const char *at = text;; at++) {
        if (!parse_part(&at, out) || (*at != '\0' && *at != ','))
            return tsr_refuse(
                reason, reason_bytes,
                "schedule \"%.24s\": must be whole, split-k=P, cluster-k=P, stream-k=TILES/UNITS, swap-ab=0|1", text);
        if (*at == '\0')
            return tsr_schedule_is_legal(config, p, out, reason, reason_bytes);
    }
}
