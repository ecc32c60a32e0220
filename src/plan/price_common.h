/* What prices share. */
#ifndef TSR_PLAN_PRICE_COMMON_H
#define TSR_PLAN_PRICE_COMMON_H

#include <math.h>

#include "core/config.h"
#include "plan/profiles/profiles.h"
#include "plan/schedules.h"

/* Share of its speed that an SM reaches with so many warps of a register-tiled kernel. */
double tsr_price_busy_share(const tsr_profile *f, double warps);

/* What `per_sm` tiles of `warps` warps take an SM, in tiles at its full rate: as many at a time as it holds, and what
 * is left with the few warps that it then has. */
double tsr_price_rounds(const tsr_profile *f, const tsr_config *config, double per_sm, double warps);

/* By what an f32 kernel's products take longer for the layouts, beside A as it is and B as it is, with which the
 * efficiencies were measured. An operand that runs along K is copied in fours of bytes, which transposes the tile: BM
 * or BN copies for BM * BN multiply-adds. Configs without 16-byte copies have no faster ones. */
double tsr_price_transposing(const tsr_profile *f, const tsr_config *config, const tsr_problem *problem);

/* A D that an f32 kernel without 16-byte stores writes element by element, `per_sm` tiles on an SM: eight warps cover
 * nothing of it but by their products, which take multiply_ns, and not even so where its rows do not begin at 16 bytes;
 * more warps do. */
double tsr_price_elements_ns(const tsr_profile *f, const tsr_config *config, const tsr_problem *problem, double per_sm,
                             double multiply_ns);

/* What no product covers where CTAs are not persistent and few fit an SM: the operands' part that comes before the
 * first product and, if `stores`, D, which leaves after the last. That is all of the memory's time where K is short. */
double tsr_price_uncovered_ns(const tsr_problem *p, const tsr_device *device, int stores);

/* 1 if four neighbours of a row of D go by one store. */
int tsr_is_stored_by_quads(const tsr_problem *p);

/* What is added where a warp stores 128 bytes of a row of D together: where rows do not begin with lines, two warps, or
 * one at two times, write a line, which the memory takes in parts. Fitted: the square of tsr_lines_touched - 1. */
double tsr_price_partial_lines_ns(const tsr_problem *p, const tsr_device *device);

/* A run whose CTAs are busy for work_ns, unless L2 or memory takes longer. */
void tsr_price_settle(const tsr_config *config, const tsr_problem *problem, const tsr_device *device, double work_ns,
                      tsr_price *out);

/* The device's peak for the operation, in FLOP/s. */
double tsr_price_peak_flops(const tsr_op *op, const tsr_device *device);

/* What goes to and from the caches: each CTA reads its BM rows of A and BN columns of B once. */
double tsr_price_cached_bytes(const tsr_config *config, const tsr_problem *p, double ctas);

/* A and B from memory, and D to it: the copy engine writes whole sectors; what threads store at any alignment, partial
 * ones too. Rows that are parts of lines are read more than once, by this power of the lines that they touch. */
double tsr_price_input_ns(const tsr_problem *p, const tsr_device *device, double lines_power);
double tsr_price_output_ns(const tsr_problem *p, const tsr_device *device);

/* A launch, and behind it products beside memory, of which the longer one counts; `bytes` and what limits go to *out,
 * too. */
void tsr_price_settle_beside(tsr_price *out, double launch_ns, double compute_ns, double memory_ns, double bytes);

/* What CTAs wait where many of them ask one slice of L2 for the same lines, each time a while: tiles
 * of tile_m x tile_n, fetched once for shared_m x shared_n CTAs, that walk `steps` along K beside each other. 0 unless
 * rows of A or B are shorter than a line and lie along M or N. */
double tsr_line_queue_ns(const tsr_profile *f, const tsr_problem *problem, double tile_m, double tile_n,
                         double shared_m, double shared_n, double steps);

/* The fixed cost of a launch of the config on the device, less what overlaps with the launch before. */
double tsr_launch_ns(const tsr_config *config, const tsr_device *device);

/* Lines that a 128-byte piece of a row of A or B touches on average, 1 to 2: the copy engine asks L2 for whole lines,
 * and rows begin at multiples of the leading dimension. Memory's share of the time grows with a power of it, fitted to
 * times of an H200 (perf/LOG). */
double tsr_lines_touched(const tsr_problem *problem, char which);

/* The same as tsr_launch_ns, less what overlaps with the launch before, where the device's is launch_ns. */
double tsr_launch_ns_of(const tsr_profile *f, const tsr_config *config, double launch_ns);

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
static inline double tsr_host_ns(const tsr_profile *f, int launches)
{
    return f->host_first_ns + f->host_next_ns * (launches - 1);
}

/* A scale of blocks for each of a tile's columns, `which` operand's, takes two multiplications a sum in each step along
 * K, which nothing hides. */
static inline double tsr_scales_ns(const tsr_profile *f, const tsr_config *config, const tsr_problem *p, char which)
{
    const double values = (double)config->bm * config->bn, small = 64. * 128, large = 128. * 192;
    return tsr_problem_scales(p, which) == TSR_SCALE_1X128
               ? f->block_scales_ns * fmin(1, values / small) * fmax(1, values / large)
               : 0;
}

/* What so many launches that follow each other in a stream take: the longer of what the GPU takes for them and what the
 * host of an H200 takes (2.1 to 4.2 us each, from machine to machine). It grows with gpu_ns however long the host
 * takes, so configs with equally many launches are in the GPU's order. */
static inline double tsr_launched_ns(const tsr_profile *f, int launches, double gpu_ns)
{
    enum { SHARPNESS = 4 };
    return overlapped(SHARPNESS, tsr_host_ns(f, launches), gpu_ns + f->host_handed_ns);
}

/* No more than that, found sooner. */
static inline double tsr_launched_least_ns(const tsr_profile *f, int launches, double gpu_ns)
{
    return fmax(tsr_host_ns(f, launches), gpu_ns + f->host_handed_ns);
}

/* What the config's launch on this device takes more than on an H200: the same for all configs, which keeps their
 * order. */
double tsr_slower_launch_ns(const tsr_config *config, const tsr_device *device);

/* 1 if the copy engine can write D: see tsr_tensor_output_fits. */
int tsr_output_is_whole(const tsr_problem *problem);

#endif
