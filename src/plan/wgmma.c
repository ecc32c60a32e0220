/* How `wgmma` deals out a problem: whole tiles go round over the clusters of a persistent grid; where that leaves some
 * of them idle at the end, the steps along K of the first tiles are dealt out evenly instead (kernels/tile/deal.h).
 * Which of these it is, is asked of the estimate that orders rows (hopper.c). */
#include <math.h>

#include "plan/cost.h"
#include "plan/hopper.h"
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
    tsr_wgmma estimate;
    const tsr_problem *problem;
    tsr_work best;
    tsr_cost cost;
} search;

/* `dealt` tiles over `clusters`. */
static void consider(search *s, double dealt, double clusters)
{
    const tsr_wgmma *const t = &s->estimate;
    const double blocks = dealt * t->steps;
    const tsr_work work = {.split = 1 + (int)dealt,
                           .grid = {(long long)(clusters * t->cluster), 1, 1},
                           .workspace_bytes = workspace_of(t->row, clusters)};
    tsr_cost cost = {0};
    if (blocks < LEAST_STEPS * clusters || blocks > 2147483647.0 ||
        dealt * t->cluster * sizeof(unsigned) > TSR_WORKSPACE_COUNTER_BYTES ||
        work.workspace_bytes > s->problem->workspace_limit_bytes)
        return;
    tsr_cost_wgmma_dealt(&s->estimate, &work, s->cost.ns, &cost);
    if (cost.ns < s->cost.ns) {
        s->best = work;
        s->cost = cost;
    }
}

void tsr_work_wgmma(const tsr_row *row, const tsr_problem *problem, const tsr_device *device, tsr_work *out,
                    tsr_cost *cost)
{
    search s = {.problem = problem, .best = {.split = 1}};
    tsr_wgmma_begin(&s.estimate, row, problem, device);
    tsr_cost_wgmma_dealt(&s.estimate, &s.best, INFINITY, &s.cost);
    const double tiles = s.estimate.tiles, fit = s.estimate.fit, over = fmod(tiles, fit);
    /* How K is cut depends on M, and with it the order of the sums. */
    if (over != 0 && !(problem->flags & TSR_BATCH_INVARIANT)) {
        consider(&s, over, fit);
        if (tiles > fit)
            consider(&s, over + fit, fit);
        for (int parts = 2; parts <= MOST_PARTS && tiles * parts <= fit; parts++)
            consider(&s, tiles, tiles * parts);
    }
    *out = s.best;
    *cost = s.cost;
    cost->ns += tsr_slower_launch_ns(row, device);
}
