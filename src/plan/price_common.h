/* What prices share. */
#ifndef TSR_PLAN_PRICE_COMMON_H
#define TSR_PLAN_PRICE_COMMON_H

#include <math.h>

#include "core/row.h"
#include "plan/schedule.h"

/* Share of its speed that an SM reaches with so many warps of a register-tiled kernel. */
double tsr_price_busy_share(double warps);

/* What no product covers where CTAs are not persistent and few fit an SM: the operands' part that comes before the
 * first product and, if `stores`, D, which leaves after the last. That is all of the memory's time where K is short. */
double tsr_price_uncovered_ns(const tsr_problem *p, const tsr_device *device, int stores);

/* A run whose CTAs are busy for work_ns, unless L2 or memory takes longer. */
void tsr_price_settle(const tsr_row *row, const tsr_problem *problem, const tsr_device *device, double work_ns,
                      tsr_cost *out);

/* What CTAs wait where many of them ask one slice of L2 for the same lines, at 1.4 ns each time: tiles
 * of tile_m x tile_n, fetched once for shared_m x shared_n CTAs, that walk `steps` along K beside each other. 0 unless
 * rows of A or B are shorter than a line and lie along M or N. */
double tsr_line_queue_ns(const tsr_problem *problem, double tile_m, double tile_n, double shared_m, double shared_n,
                         double steps);

/* The fixed cost of a launch of the row on the device, less what overlaps with the launch before. */
double tsr_launch_ns(const tsr_row *row, const tsr_device *device);

/* Lines that a 128-byte piece of a row of A or B touches on average, 1 to 2: the copy engine asks L2 for whole lines,
 * and rows begin at multiples of the leading dimension. Memory's share of the time grows with a power of it, fitted to
 * times of an H200 (perf/LOG). */
double tsr_lines_touched(const tsr_problem *problem, char which);
#define TSR_LINES_POWER 0.8

/* The same as tsr_launch_ns, less what overlaps with the launch before, where the device's is launch_ns. */
double tsr_launch_ns_of(const tsr_row *row, double launch_ns);

/* (one^q + other^q)^(1/q) with q = 2^sharpness: two things beside each other, of which the longer one decides. */
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

/* overlapped() with any q. */
static inline double overlapped_by(double q, double one, double other)
{
    const double longer = one > other ? one : other, shorter = one > other ? other : one;
    return longer > 0 ? longer * pow(1 + pow(shorter > 0 ? shorter / longer : 0, q), 1 / q) : 0;
}

/* What an H200's host takes to launch a product: the first launch, and each that follows it. */
static inline double tsr_host_ns(int launches)
{
    return 2900 + 2400. * (launches - 1);
}

#define HANDED_NS 600. /* from the host to the GPU, beside a graph's way */

/* What so many launches that follow each other in a stream take: the longer of what the GPU takes for them and what the
 * host of an H200 takes (2.1 to 4.2 us each, from machine to machine). It grows with gpu_ns however long the host
 * takes, so rows with equally many launches are in the GPU's order. */
static inline double tsr_launched_ns(int launches, double gpu_ns)
{
    enum { SHARPNESS = 4 };
    return overlapped(SHARPNESS, tsr_host_ns(launches), gpu_ns + HANDED_NS);
}

/* No more than that, found sooner. */
static inline double tsr_launched_least_ns(int launches, double gpu_ns)
{
    return fmax(tsr_host_ns(launches), gpu_ns + HANDED_NS);
}

/* What the row's launch on this device takes more than on an H200: the same for all rows, which keeps their order. */
double tsr_slower_launch_ns(const tsr_row *row, const tsr_device *device);

/* 1 if the copy engine can write D: see tsr_tensor_output_fits. */
int tsr_output_is_whole(const tsr_problem *problem);

#endif
