/* How D is cut into regions, the tasks that threads share (blocked/blocked.c, blocked/pairs.c). */
#include "cpu/job.h"

enum {
    OPS_OF_A_RESULT = 64, /* what writing an element of D to memory takes, in operations */
    AWAKE_PART = 6,       /* of what is worth waking a thread for: for one that is awake */
    FEW = 3,              /* tasks for each thread, */
    MANY = 6,             /* or, while they are long, since the last ones are waited for */
    LONG_SIDE = 1024,     /* rows or columns of a long task, which has more than LONG_WORK besides */
    LEAST_AREA = 64 * 128 /* of D, that two threads cut no further if B is transposed for it */
};
#define LONG_WORK 1e10 /* operations times an element's bytes: some 20 ms */

static double work_of(double m, double n, double k)
{
    return m * n * (2 * k + OPS_OF_A_RESULT);
}

double tsr_work_of(const tsr_gemm_args *g)
{
    return work_of((double)g->m, (double)g->n, (double)g->k) * (double)g->batch;
}

/* Small tasks pack more often: only as small as so many threads need. */
static double least_ops_of_task(const tsr_job *job, int threads, int awake, double ops_of_task)
{
    const double share = tsr_work_of(job->args) / threads;
    if (threads < 2 || share >= ops_of_task || !awake)
        return ops_of_task;
    return share > ops_of_task / AWAKE_PART ? share : ops_of_task / AWAKE_PART;
}

/* 1 if both of two threads have a task, and smaller ones would take longer to transpose B, each for itself, than they
 * save in waiting. Four and sixteen threads have more to share out. */
static int is_enough(const tsr_job *job, int threads, const tsr_regions *r)
{
    const tsr_gemm_args *g = job->args;
    return threads == 2 && g->trans_b && r->grid_m * r->grid_n * g->batch >= threads && r->m * r->n <= LEAST_AREA;
}

void tsr_cut_regions(const tsr_job *job, const tsr_tiles *tiles, int threads, int awake, double ops_of_task,
                     tsr_regions *regions)
{
    const tsr_gemm_args *g = job->args;
    tsr_regions *const n = regions;
    ops_of_task = least_ops_of_task(job, threads, awake, ops_of_task);
    for (;;) {
        n->grid_m = (g->m + n->m - 1) / n->m;
        n->grid_n = (g->n + n->n - 1) / n->n;
        const double ops = work_of((double)n->m, (double)n->n, (double)g->k);
        const int is_long = (n->m >= LONG_SIDE || n->n >= LONG_SIDE) && ops * (double)job->wide_bytes >= LONG_WORK;
        const long long wanted = (is_long ? MANY : FEW) * (long long)threads;
        if (threads <= 1 || n->grid_m * n->grid_n * g->batch >= wanted || ops < 2.0 * ops_of_task ||
            is_enough(job, threads, n))
            break;
        if (n->m >= n->n && n->m > tiles->mr)
            n->m = (n->m + 1) / 2;
        else if (n->n > tiles->nr)
            n->n = (n->n + 1) / 2;
        else
            break;
        n->m = tsr_round_up(n->m, tiles->mr);
        n->n = tsr_round_up(n->n, tiles->nr);
    }
    n->m = tsr_round_up(n->m, tiles->mr);
    n->n = tsr_round_up(n->n, tiles->nr);
}
