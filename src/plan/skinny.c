/* How the memory-bound kernel deals out a problem: into how many parts K is cut, and how many of them form a cluster,
 * by the estimate that orders rows (hopper.c). */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "plan/cost.h"
#include "plan/hopper.h"
#include "plan/plan.h"

enum {
    CTA_RESERVED_BYTES = 1024,
    MIN_BLOCKS = 2, /* steps along K of a CTA */
    MOST_WAYS = 16  /* to deal out a problem: clusters of 1 to 5 and 8, either way round, and a second launch */
};

/* One way to deal out a problem: the parts of K that meet in a cluster, or those that a second launch adds up; one of
 * the two is 1. */
typedef struct deal {
    int cluster, left;
    int across; /* 1: tiles' columns lie along the longer side of D */
} deal;

/* Along the longer side they come in groups that share what they load of the shorter operand. */
static double tiles_of(const tsr_row *row, const tsr_problem *p, int across)
{
    const int turned = tsr_row_is_turned(p->m, p->n, across ? -1 : 1);
    const double rows = ceil((double)(turned ? p->n : p->m) / (row->bn * row->cluster_n)) * row->cluster_n;
    const double columns = ceil((double)(turned ? p->m : p->n) / row->bm);
    return rows * columns * (double)p->batch;
}

double tsr_ctas_per_sm(const tsr_row *row, const tsr_cuda_limits *gpu)
{
    const double by_smem = floor((double)gpu->smem_per_sm_bytes / (row->smem_bytes + CTA_RESERVED_BYTES));
    const double by_threads = floor((double)gpu->threads_per_sm / (row->threads_x * row->threads_y));
    return fmax(1, fmin(by_smem, by_threads));
}

static size_t workspace_of(const tsr_row *row, const tsr_problem *p, deal d)
{
    if (d.left <= 1)
        return 0;
    return TSR_WORKSPACE_COUNTER_BYTES +
           (size_t)(tiles_of(row, p, d.across) * d.left) * (size_t)row->bm * (size_t)row->bn * 4;
}

static int is_possible(const tsr_row *row, const tsr_problem *p, deal d)
{
    const double blocks = ceil((double)p->k / row->bk), tiles = tiles_of(row, p, d.across);
    if (d.cluster * d.left > 1 && blocks < MIN_BLOCKS * d.cluster * d.left)
        return 0;
    if (tiles * d.cluster * d.left > 2147483647.0)
        return 0;
    return workspace_of(row, p, d) <= p->workspace_limit_bytes;
}

/* As many parts for a second launch as find room on the device at once: what a CTA asks of memory is answered sooner
 * the less it asks. Of those with equally many steps for the longest, the fewest. 0: none, as for clusters of 4 and
 * more, which were never the fastest so. */
static int most_left(const tsr_row *row, const tsr_problem *p, const tsr_cuda_limits *gpu)
{
    if (row->cluster_n >= 4)
        return 0;
    const double blocks = ceil((double)p->k / row->bk);
    const double fit = floor(gpu->sm_count * tsr_ctas_per_sm(row, gpu) / tiles_of(row, p, 0));
    const double most = fmin(fit, floor(blocks / MIN_BLOCKS));
    return most >= 2 ? (int)ceil(blocks / ceil(blocks / most)) : 0;
}

static tsr_work dealt(const tsr_row *row, const tsr_problem *p, deal d)
{
    const int parts = d.cluster * d.left;
    tsr_work work = {
        .split = d.across ? -parts : parts, .cluster = d.cluster * row->cluster_n, .leaves_sums = d.left > 1};
    work.grid = (tsr_grid){(long long)tiles_of(row, p, d.across) * parts, 1, 1};
    work.workspace_bytes = workspace_of(row, p, d);
    return work;
}

/* The ways to choose from. */
typedef struct ways {
    tsr_work all[MOST_WAYS];
    int count;
} ways;

static void add_way(const tsr_row *row, const tsr_problem *p, deal d, ways *to)
{
    if (!is_possible(row, p, d))
        return;
    assert(to->count < MOST_WAYS);
    to->all[to->count++] = dealt(row, p, d);
}

/* Tiles' columns lie along the shorter side of D, so that few of them are idle. Along the longer one they fill the last
 * wave better, if they may have any height, and so many rows of the shorter side that not half of a tile is idle. */
static int may_lie_across(const tsr_row *row, const tsr_problem *p)
{
    const int along_k = p->m <= p->n ? p->b.trans == TSR_T : p->a.trans == TSR_N;
    return along_k && 2 * (p->m <= p->n ? p->m : p->n) > row->bn;
}

static void add_clusters(const tsr_row *row, const tsr_problem *p, int across, ways *to)
{
    if (p->flags & TSR_BATCH_INVARIANT) /* how K is cut depends on M, and with it the order of the sums */
        return;
    for (int cluster = 2; cluster <= row->parts; cluster++)
        if (cluster < 6 || cluster > 7) /* these leave a quarter of an H200's SMs idle: 17 and 15 find room */
            add_way(row, p, (deal){cluster, 1, across}, to);
}

/* K whole is always the first. */
static ways find_ways(const tsr_row *row, const tsr_problem *p, const tsr_device *device)
{
    ways found = {.all = {{.split = 1}}, .count = 1};
    if (p->m == 0 || p->n == 0 || p->batch == 0)
        return found;
    found.all[0] = dealt(row, p, (deal){1, 1, 0});
    add_clusters(row, p, 0, &found);
    const int left = p->flags & TSR_BATCH_INVARIANT ? 0 : most_left(row, p, &device->cuda);
    if (left > 1)
        add_way(row, p, (deal){1, left, 0}, &found);
    if (may_lie_across(row, p)) {
        add_way(row, p, (deal){1, 1, 1}, &found);
        add_clusters(row, p, 1, &found);
    }
    return found;
}

/* Stages of two slices of 64 along K come by one request, which knows no end of K within a slice. */
int tsr_skinny_applicable(const tsr_row *row, const tsr_problem *problem, const tsr_device *device, char *reason,
                          size_t reason_bytes)
{
    enum { SLICE = 64 };
    (void)device;
    if (row->bk <= SLICE || problem->k % SLICE == 0)
        return 1;
    snprintf(reason, reason_bytes, "K = %lld is no multiple of %d", (long long)problem->k, SLICE);
    return 0;
}

/* By the estimate that orders rows. */
void tsr_work_skinny(const tsr_row *row, const tsr_problem *problem, const tsr_device *device, tsr_work *out,
                     tsr_cost *cost)
{
    const ways found = find_ways(row, problem, device);
    *out = found.all[tsr_cost_skinny_dealt(row, problem, device, found.all, found.count, cost)];
    cost->ns += tsr_slower_launch_ns(row, device);
}
