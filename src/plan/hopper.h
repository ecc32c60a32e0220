/* Parts of what a product takes with a row of `wgmma` (hopper.c) or `wgmma_skinny` (hopper_skinny.c), the same for
 * both.
 */
#ifndef TSR_PLAN_HOPPER_H
#define TSR_PLAN_HOPPER_H

#include <math.h>

#include "plan/cost.h"
#include "plan/plan.h"

enum { LINE_BYTES = 128, LINE_ELEMS = 64, SLAB_BYTES = 8192, FLOPS_PER_CLOCK = 4096, ELEMENT_BYTES = 2 };

#define IDLE_ROW_CLOCKS 4. /* of the copy engine, for each row of a box that the matrix does not have */

#define CTA_NS 2.4 /* until the next CTA of a grid is started */

/* How sharply the longer of two things beside each other decides, as q = 2^SHARPNESS. */
enum {
    STEP_SHARPNESS = 2, /* of a step's four limits, of groups that take turns, and of L2 for all SMs beside the steps */
    FLOOR_SHARPNESS = 4 /* of a launch's shortest time beside what it does */
};

/* (one^q + other^q)^(1/q) */
static inline double overlapped(int sharpness, double one, double other)
{
    const double longer = one > other ? one : other, shorter = one > other ? other : one;
    double power = longer > 0 && shorter > 0 ? shorter / longer : 0;
    for (int i = 0; i < sharpness; i++)
        power *= power;
    double root = 1 + power;
    if (root == 1)
        return longer;
    for (int i = 0; i < sharpness; i++)
        root = sqrt(root);
    return longer * root;
}

/* The same for any q. */
static inline double overlapped_by(double q, double one, double other)
{
    const double longer = one > other ? one : other, shorter = one > other ? other : one;
    return longer > 0 ? longer * pow(1 + pow(shorter > 0 ? shorter / longer : 0, q), 1 / q) : 0;
}

static inline double longest_of(const double ns[4])
{
    return overlapped(STEP_SHARPNESS, overlapped(STEP_SHARPNESS, ns[0], ns[1]),
                      overlapped(STEP_SHARPNESS, ns[2], ns[3]));
}

static inline double clock_ghz(const tsr_device *device)
{
    return device->cuda.core_clock_khz * 1e-6;
}

/* The pins' rate in bytes per ns. By clocks, so that the emulated device chooses as the GPU does. */
static inline double memory_rate(const tsr_device *device)
{
    return 2 * device->cuda.memory_clock_khz * 1e3 * device->cuda.memory_bus_bits / 8 * 1e-9;
}

static inline int lies_along_k(const tsr_problem *p, char which)
{
    return (which == 'a') == (tsr_problem_operand(p, which)->trans == TSR_N);
}

/* Of an operand: how many CTAs ask for it once, how many further rows each of its lines has, and how much of a line K
 * covers. */
typedef struct tsr_asks {
    double sharers, further, covered;
} tsr_asks;

static inline tsr_asks asks_of(const tsr_problem *p, char which, double sharers)
{
    const double ld = fmax(1, (double)tsr_problem_operand(p, which)->ld);
    return (tsr_asks){.sharers = sharers,
                      .further = lies_along_k(p, which) ? 0 : fmax(0, LINE_ELEMS / ld - 1),
                      .covered = fmin(1, (double)p->k / LINE_ELEMS)};
}

/* How many further CTAs wait for each line of an operand whose rows lie along M or N and are shorter than a line: all
 * of `ctas` walk along the same part of K together, and ask for a line once for each of its rows. */
static inline double asking_of(const tsr_asks *asks, double ctas)
{
    return asks->further > 0 ? ctas / asks->sharers * asks->further * asks->covered : 0;
}

/* A stage's way from memory where `asking` CTAs wait for the same lines. */
static inline double with_asking(double latency_ns, double asking)
{
    const double ask_ns = 5.8;
    return latency_ns + ask_ns * asking;
}

/* What 128 bytes cost of the lines that they touch: one where rows begin with lines; else two, mostly, and less where
 * rows begin with a sector of 32 bytes than where they begin within. */
typedef struct tsr_line_shares {
    double whole, by_sectors, within_sectors;
} tsr_line_shares;

/* Of a piece of 128 bytes of an operand, in lines. */
static inline double lines_of(const tsr_problem *p, char which, tsr_line_shares shares)
{
    enum { SECTOR_BYTES = 32 };
    const double lines = tsr_lines_touched(p, which);
    if (lines <= 1)
        return shares.whole;
    const int by_sectors = tsr_problem_operand(p, which)->ld * ELEMENT_BYTES % SECTOR_BYTES == 0;
    return lines * (by_sectors ? shares.by_sectors : shares.within_sectors);
}

/* What boxes of `rows` of A and `columns` of B cost in a step along K, in bytes. */
static inline double step_bytes(const tsr_problem *p, double rows, double columns, tsr_line_shares shares)
{
    return LINE_BYTES * (rows * lines_of(p, 'a', shares) + columns * lines_of(p, 'b', shares));
}

#define ALL_LINES ((tsr_line_shares){1, 1, 1})

/* As an H200's host launches. A device that launches slower, as the emulated one, adds the difference and orders rows
 * alike. */
static inline double gpu_launch_ns(const tsr_row *row)
{
    return tsr_launch_ns_of(row, TSR_CUDA_LAUNCH_NS);
}

static inline double slower_launch_ns(const tsr_row *row, const tsr_device *device)
{
    return tsr_launch_ns(row, device) - gpu_launch_ns(row);
}

/* *out where that is less than best_ns, another way's; otherwise INFINITY, found out sooner. */
static inline void settle(tsr_cost *out, double best_ns, double before_ns, double floor_ns, double fill_ns,
                          double work_ns, double memory_ns, double sharpness, double after_ns)
{
    const double least_busy_ns = fill_ns + (work_ns > memory_ns ? work_ns : memory_ns) + after_ns;
    const double rounding = 1e-9; /* more than that of all that follows */
    if (before_ns + (floor_ns > least_busy_ns ? floor_ns : least_busy_ns) > best_ns * (1 + rounding)) {
        out->ns = INFINITY;
        return;
    }
    const double busy_ns = fill_ns + overlapped_by(sharpness, work_ns, memory_ns) + after_ns;
    out->ns = before_ns + overlapped(FLOOR_SHARPNESS, floor_ns, busy_ns);
    out->limiter = floor_ns > busy_ns ? "launch" : work_ns > memory_ns ? "compute" : "memory";
}

/* ---- the two estimates ---- */

/* What a product takes with a row of `wgmma`, as far as it does not depend on how that is dealt out. */
typedef struct tsr_wgmma {
    const tsr_row *row;
    double ghz;
    double cluster, fit;                     /* CTAs of a cluster; clusters on the device at once */
    double tiles, steps;                     /* of clusters; of a tile along K */
    double step_bytes, stages;               /* of L2's lines in a step; of the ring */
    double lines_ns, multiply_ns, engine_ns; /* of a step: on the way, on the tensor cores, in the copy engine */
    double idle, edge_idle;                  /* rows that boxes have and operands not, of all tiles and of the last */
    double all_bytes, l2_ns, memory_ns;      /* of all tiles' lines; of each operand once */
    double stored_ns, path_ns;               /* of a tile's values: by threads; on the SM's way to L2 */
    double early_ns;                         /* as in tsr_cost */
    tsr_asks asks_a, asks_b;
    double asking, step_ns, edge_ns; /* of the deal asked for last: CTAs that wait; a step; the last tile's, more */
} tsr_wgmma;

void tsr_wgmma_begin(tsr_wgmma *t, const tsr_row *row, const tsr_problem *problem, const tsr_device *device);
/* What it takes dealt out so, launched by an H200's host, if that is less than best_ns. See hopper.c. */
void tsr_cost_wgmma_dealt(tsr_wgmma *t, const tsr_work *work, double best_ns, tsr_cost *out);

/* The same with a row of `wgmma_skinny`, dealt out in that one of `count` ways which takes least, the first of equals.
 * Returns its index. */
int tsr_cost_skinny_dealt(const tsr_row *row, const tsr_problem *problem, const tsr_device *device,
                          const tsr_work *ways, int count, tsr_cost *out);

#endif
