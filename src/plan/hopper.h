/* Parts of what a product takes with a row of `wgmma` (hopper.c) or `wgmma_skinny` (hopper_skinny.c), the same for
 * both.
 */
#ifndef TSR_PLAN_HOPPER_H
#define TSR_PLAN_HOPPER_H

#include <math.h>

#include "plan/cost.h"
#include "plan/plan.h"

enum { LINE_BYTES = 128, LINE_ELEMS = 64, SLAB_BYTES = 8192, FLOPS_PER_CLOCK = 4096, ELEMENT_BYTES = 2 };

#define CTA_NS 2.4 /* until the next CTA of a grid is started */

/* How sharply the longer of two things beside each other decides, as q = 2^SHARPNESS. */
enum {
    STEP_SHARPNESS = 2, /* of a step's four limits, of groups that take turns, and of L2 for all SMs beside the steps */
    FLOOR_SHARPNESS = 4 /* of a launch's shortest time beside what it does */
};

/* (one^q + other^q)^(1/q) */
static inline double overlapped(int sharpness, double one, double other)
{
    const double longer = fmax(one, other);
    double power = longer > 0 ? fmax(fmin(one, other), 0) / longer : 0;
    for (int i = 0; i < sharpness; i++)
        power *= power;
    double root = 1 + power;
    for (int i = 0; i < sharpness; i++)
        root = sqrt(root);
    return longer * root;
}

/* The same for any q. */
static inline double overlapped_by(double q, double one, double other)
{
    const double longer = fmax(one, other);
    return longer > 0 ? longer * pow(1 + pow(fmax(fmin(one, other), 0) / longer, q), 1 / q) : 0;
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

/* How many further CTAs wait for each line of an operand whose rows lie along M or N and are shorter than a line: all
 * of `ctas` walk along the same part of K together, and ask for a line once for each of its rows. `sharers` CTAs ask
 * once. */
static inline double askers(const tsr_problem *p, char which, double ctas, double sharers)
{
    const double ld = fmax(1, (double)tsr_problem_operand(p, which)->ld);
    if (lies_along_k(p, which))
        return 0;
    return ctas / sharers * fmax(0, LINE_ELEMS / ld - 1) * fmin(1, (double)p->k / LINE_ELEMS);
}

/* A stage's way from memory where `asking` CTAs wait for the same lines. */
static inline double with_asking(double latency_ns, double asking)
{
    const double ask_ns = 5.8;
    return latency_ns + ask_ns * asking;
}

/* What boxes of `rows` of A and `columns` of B cost L2 in a step along K, in bytes: the lines that they touch. In
 * `wgmma` pieces of 128 bytes that are whole lines cost a `whole_share` of that, as the suites' shapes show; in the
 * skinny rows all of it. */
static inline double step_bytes(const tsr_problem *p, double rows, double columns, double whole_share)
{
    const double lines_a = tsr_lines_touched(p, 'a'), lines_b = tsr_lines_touched(p, 'b');
    return LINE_BYTES *
           (rows * (lines_a <= 1 ? whole_share : lines_a) + columns * (lines_b <= 1 ? whole_share : lines_b));
}

/* As an H200's host launches. A device that launches slower, as the emulated one, adds the difference and orders rows
 * alike. */
static inline double gpu_launch_ns(const tsr_row *row)
{
    const tsr_device gpu = {.launch_ns = TSR_CUDA_LAUNCH_NS};
    return tsr_launch_ns(row, &gpu);
}

static inline double slower_launch_ns(const tsr_row *row, const tsr_device *device)
{
    return tsr_launch_ns(row, device) - gpu_launch_ns(row);
}

static inline void settle(tsr_cost *out, double before_ns, double floor_ns, double fill_ns, double work_ns,
                          double memory_ns, double sharpness, double after_ns)
{
    const double busy_ns = fill_ns + overlapped_by(sharpness, work_ns, memory_ns) + after_ns;
    out->ns = before_ns + overlapped(FLOOR_SHARPNESS, floor_ns, busy_ns);
    out->limiter = floor_ns > busy_ns ? "launch" : work_ns > memory_ns ? "compute" : "memory";
}

#endif
