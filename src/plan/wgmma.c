/* How `wgmma` deals out a problem: whole tiles go round over the clusters of a persistent grid; where that leaves some
 * of them idle at the end, the steps along K of the first tiles are dealt out evenly instead (kernels/tile/deal.h).
 * Which of these it is, is asked of the estimate that orders rows (hopper.c). */
#include <math.h>

#include "plan/cost.h"
#include "plan/plan.h"

enum {
    LEAST_STEPS = 4, /* of a cluster's part */
    MOST_PARTS = 8,  /* of each tile, where all have equally many */
    PLACES = 2       /* in the workspace, of a cluster: the parts of its first tile and of its last */
};

double tsr_cluster_tiles(const tsr_row *row, const tsr_problem *p)
{
    return ceil((double)p->m / (row->bm * row->cluster_m)) * ceil((double)p->n / (row->bn * row->cluster_n)) *
           (double)p->batch;
}

static size_t workspace_of(const tsr_row *row, double clusters)
{
    const double sums = PLACES * clusters * tsr_row_cluster(row) * row->bm * row->bn;
    return TSR_WORKSPACE_COUNTER_BYTES + (size_t)sums * sizeof(float);
}

/* The estimate that chooses, and what it has found so far. */
typedef struct search {
    const tsr_row *row;
    const tsr_problem *problem;
    const tsr_device *device;
    tsr_work best;
    double best_ns;
} search;

/* `dealt` tiles over `clusters`, or none. */
static void consider(search *s, double dealt, double clusters)
{
    const double blocks = dealt * ceil((double)s->problem->k / s->row->bk), cluster = tsr_row_cluster(s->row);
    tsr_work work = {.split = 1 + (int)dealt};
    tsr_cost cost;
    if (dealt > 0) {
        work.grid = (tsr_grid){(long long)(clusters * cluster), 1, 1};
        work.workspace_bytes = workspace_of(s->row, clusters);
        if (blocks < LEAST_STEPS * clusters || blocks > 2147483647.0 ||
            dealt * cluster * sizeof(unsigned) > TSR_WORKSPACE_COUNTER_BYTES ||
            work.workspace_bytes > s->problem->workspace_limit_bytes)
            return;
    }
    tsr_cost_wgmma_dealt(s->row, s->problem, s->device, &work, &cost);
    if (cost.ns < s->best_ns) {
        s->best = work;
        s->best_ns = cost.ns;
    }
}

void tsr_work_wgmma(const tsr_row *row, const tsr_problem *problem, const tsr_device *device, tsr_work *out)
{
    const double tiles = tsr_cluster_tiles(row, problem), sms = device->cuda.sm_count;
    const double fit = fmax(1, floor(sms / tsr_row_cluster(row))), over = fmod(tiles, fit);
    search s = {row, problem, device, {.split = 1}, INFINITY};
    /* How K is cut depends on M, and with it the order of the sums. */
    if (over == 0 || (problem->flags & TSR_BATCH_INVARIANT))
        return;
    consider(&s, 0, fit);
    consider(&s, over, fit);
    if (tiles > fit)
        consider(&s, over + fit, fit);
    for (int parts = 2; parts <= MOST_PARTS && tiles * parts <= fit; parts++)
        consider(&s, tiles, tiles * parts);
    if (s.best.split > 1)
        *out = s.best;
}
