/* How the memory-bound kernel deals out a problem: into how many parts K is cut, and how many of them form a cluster.
 * What its rows take beside others is another estimate (hopper.c). */
#include <math.h>
#include <stdio.h>

#include "plan/cost.h"
#include "plan/plan.h"

enum {
    CTA_RESERVED_BYTES = 1024,
    MIN_BLOCKS = 2 /* steps along K of a CTA */
};

/* One way to deal out a problem: the parts of K that meet in a cluster, or those that a second launch adds up; one of
 * the two is 1. */
typedef struct deal {
    int cluster, left;
} deal;

/* Along the longer side they come in groups that share what they load of the shorter operand. */
static double tiles_of(const tsr_row *row, const tsr_problem *p)
{
    const double long_ = ceil((double)(p->m <= p->n ? p->n : p->m) / (row->bn * row->cluster_n)) * row->cluster_n;
    const double short_ = ceil((double)(p->m <= p->n ? p->m : p->n) / row->bm);
    return long_ * short_ * (double)p->batch;
}

double tsr_ctas_per_sm(const tsr_row *row, const tsr_cuda_limits *gpu)
{
    const double by_smem = floor((double)gpu->smem_per_sm_bytes / (row->smem_bytes + CTA_RESERVED_BYTES));
    const double by_threads = floor((double)gpu->threads_per_sm / (row->threads_x * row->threads_y));
    return fmax(1, fmin(by_smem, by_threads));
}

/* Device memory's rate in bytes per ns. The emulated device has the GPU's clocks too, so that it deals out alike. */
static double memory_rate(const tsr_cuda_limits *gpu)
{
    const double usable = 0.87; /* of the pins' rate: 4.2 of 4.9 TB/s on an H200 */
    return usable * 2 * gpu->memory_clock_khz * 1e3 * gpu->memory_bus_bits / 8 * 1e-9;
}

/* Parts of lines cost less than whole ones: the other part is read next. */
static double lines_cost(const tsr_problem *p, char which)
{
    return sqrt(sqrt(tsr_lines_touched(p, which)));
}

/* The longer operand from memory. */
static double long_ns(const tsr_problem *p, const tsr_cuda_limits *gpu)
{
    enum { ELEMENT_BYTES = 2 };
    const double writing = 2; /* costs more than reading */
    const double long_bytes =
        ELEMENT_BYTES * (double)p->batch *
        ((double)p->m * (double)p->k * lines_cost(p, 'a') + (double)p->k * (double)p->n * lines_cost(p, 'b') +
         writing * (double)p->m * (double)p->n);
    return long_bytes / memory_rate(gpu);
}

/* Tiles along the shorter side, beyond the first: each reads the longer operand again. */
static double short_tiles_more(const tsr_row *row, const tsr_problem *p)
{
    return ceil((double)(p->m < p->n ? p->m : p->n) / row->bm) - 1;
}

/* The longest of: bringing all bytes from memory; refilling each CTA's ring, a latency a time; each SM's bytes from L2;
 * multiplying; the steps of each CTA, one after the other. Then what it costs to add up.
 * Constants: measured on an H200, perf/LOG.md. */
static double work_ns(const tsr_row *row, const tsr_problem *p, const tsr_cuda_limits *gpu, deal d)
{
    enum { FLOPS_PER_CLOCK = 4096, LINE_BYTES = 128 };
    const double latency_ns = 1550; /* until a stage is there, where launches follow each other */
    const double step_ns = 112, cluster_ns = 450, left_ns = 2000;
    const double wave_ns = 900; /* of CTAs that come when others have ended */
    const double clock_ghz = gpu->core_clock_khz * 1e-6, sms = gpu->sm_count;
    const double split = d.cluster * d.left, ctas = tiles_of(row, p) * split;
    const double blocks = ceil(ceil((double)p->k / row->bk) / split);
    /* Clusters of 4 and more find no place on some SMs: 30 of 33 and 15 of 16 fit. */
    const double usable = d.cluster * row->cluster_n >= 4 ? 120. / 132 : 1;
    const double resident = fmin(ctas, floor(sms * tsr_ctas_per_sm(row, gpu) * usable));
    const double waves = floor(ctas / resident), late = ctas - waves * resident; /* whole ones; CTAs of the last one */
    const double busiest = ceil(ctas / sms);                                     /* CTAs of one SM, in the end */
    const double lines_a = tsr_lines_touched(p, 'a'), lines_b = tsr_lines_touched(p, 'b');
    int bm, bn;
    tsr_row_tile(row, p->m, p->n, &bm, &bn);
    const int turned = p->m > p->n; /* the shorter operand is B */
    const double share_a = turned ? 1 : row->cluster_n, share_b = turned ? row->cluster_n : 1;
    const double step_bytes = LINE_BYTES * (bm / share_a * lines_a + bn / share_b * lines_b);
    const double again = 0.2; /* L2 keeps most of it */
    const double memory_ns = (1 + again * short_tiles_more(row, p)) * long_ns(p, gpu), late_share = late / ctas;
    const double ring_ns = waves * latency_ns * fmax(1, blocks * step_bytes / row->smem_bytes);
    /* Few clusters of 4 and more come to lie in some of the GPCs, and share what these get. */
    const double l2_rate = (d.cluster * row->cluster_n >= 4 && ctas < 0.7 * sms ? 30 : 50) * clock_ghz;
    const double l2_ns = busiest * blocks * step_bytes / l2_rate;
    const double multiply_ns =
        busiest * blocks * 2.0 * row->bm * row->bn * row->bk / (FLOPS_PER_CLOCK * clock_ghz * row->efficiency);
    const double partial_bytes = 4.0 * row->bm * row->bn * tiles_of(row, p) * d.left;
    const double sums_rate = 1.2 * memory_rate(gpu); /* written and read, in L2 */
    const double reduce_ns =
        (d.cluster > 1 ? cluster_ns : 0) + (d.left > 1 ? left_ns + 2 * partial_bytes / sums_rate : 0);
    /* Where D takes no four elements at once, each CTA stores its share of the tile one by one. */
    const double value_ns = 0.05;
    const double finish_ns = p->d.ld % 4 == 0 ? 0 : value_ns * row->bm * row->bn / d.cluster;
    const double slowest_ns =
        fmax(fmax((1 - late_share) * memory_ns, l2_ns), fmax(multiply_ns, fmax(ring_ns, waves * blocks * step_ns)));
    /* A last wave of few CTAs cannot ask for as much at once as a full one: each takes what one SM gets from L2. */
    const double alone_ns = blocks * fmax(step_ns, step_bytes / l2_rate);
    const double late_ns = late > 0 ? wave_ns + fmax(late_share * memory_ns, alone_ns) : 0;
    return slowest_ns + (waves - 1) * wave_ns + late_ns + reduce_ns + finish_ns;
}

static size_t workspace_of(const tsr_row *row, const tsr_problem *p, deal d)
{
    if (d.left <= 1)
        return 0;
    return TSR_WORKSPACE_COUNTER_BYTES + (size_t)(tiles_of(row, p) * d.left) * (size_t)row->bm * (size_t)row->bn * 4;
}

static int is_possible(const tsr_row *row, const tsr_problem *p, deal d)
{
    const double blocks = ceil((double)p->k / row->bk), tiles = tiles_of(row, p);
    if (d.cluster * d.left > 1 && blocks < MIN_BLOCKS * d.cluster * d.left)
        return 0;
    if (tiles * d.cluster * d.left > 2147483647.0)
        return 0;
    return workspace_of(row, p, d) <= p->workspace_limit_bytes;
}

/* As many parts for a second launch as find room on the device at once: what a CTA asks of memory is answered sooner
 * the less it asks. Of those with equally many steps for the longest, the fewest. 0: none. */
static int most_left(const tsr_row *row, const tsr_problem *p, const tsr_cuda_limits *gpu)
{
    const double usable = row->cluster_n >= 4 ? 120. / 132 : 1, blocks = ceil((double)p->k / row->bk);
    const double fit = floor(floor(gpu->sm_count * tsr_ctas_per_sm(row, gpu) * usable) / tiles_of(row, p));
    const double most = fmin(fit, floor(blocks / MIN_BLOCKS));
    return most >= 2 ? (int)ceil(blocks / ceil(blocks / most)) : 0;
}

static void better_of(const tsr_row *row, const tsr_problem *p, const tsr_cuda_limits *gpu, deal d, deal *best,
                      double *best_ns)
{
    const double ns = is_possible(row, p, d) ? work_ns(row, p, gpu, d) : INFINITY;
    if (ns < *best_ns) {
        *best = d;
        *best_ns = ns;
    }
}

static tsr_work dealt(const tsr_row *row, const tsr_problem *p, deal d)
{
    tsr_work work = {.split = d.cluster * d.left, .cluster = d.cluster * row->cluster_n, .leaves_sums = d.left > 1};
    work.grid = (tsr_grid){(long long)tiles_of(row, p) * work.split, 1, 1};
    work.workspace_bytes = workspace_of(row, p, d);
    return work;
}

/* By the estimate that orders rows. */
static double whole_ns(const tsr_row *row, const tsr_problem *p, const tsr_device *device, deal d)
{
    const tsr_work work = dealt(row, p, d);
    tsr_cost cost;
    tsr_cost_skinny_dealt(row, p, device, &work, &cost);
    return cost.ns;
}

static deal best_deal(const tsr_row *row, const tsr_problem *p, const tsr_device *device)
{
    const tsr_cuda_limits *const gpu = &device->cuda;
    deal best = {1, 1};
    double best_ns = work_ns(row, p, gpu, best);
    if (p->flags & TSR_BATCH_INVARIANT) /* how K is cut depends on M, and with it the order of the sums */
        return best;
    for (int cluster = 2; cluster <= row->parts; cluster *= 2)
        better_of(row, p, gpu, (deal){cluster, 1}, &best, &best_ns);
    const int left = most_left(row, p, gpu);
    deal other = best;
    if (left > 1)
        better_of(row, p, gpu, (deal){1, left}, &other, &best_ns);
    /* Two launches take a host as long as two small products. */
    return other.left > 1 && whole_ns(row, p, device, other) < whole_ns(row, p, device, best) ? other : best;
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

void tsr_work_skinny(const tsr_row *row, const tsr_problem *problem, const tsr_device *device, tsr_work *out)
{
    if (problem->m == 0 || problem->n == 0 || problem->batch == 0)
        return;
    *out = dealt(row, problem, best_deal(row, problem, device));
}
