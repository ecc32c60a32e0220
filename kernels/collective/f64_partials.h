/* Parts of a tile of D in f64 that several CTAs multiplied: each leaves its sums in the workspace, and the last to do
 * so adds all of them. An SM reads a tile's sums in about the time that it takes to multiply a few steps, so many parts
 * are added in two rounds: those of a group by the last CTA of the group, the groups' sums by the last of these.
 *
 *      parts   0 1 2 3 | 4 5 6 7 | 8 9       groups of 4; with more than 16 parts, of 8
 *                  v         v       v
 *                  0         4       8       a group's sum replaces its first part's
 *                  +---------+-------+--->   D
 *
 * Which CTA adds depends on time, the order of the additions does not: it follows from the number of parts alone.
 *
 * Before the include, constants: THREADS; ROWS_16 and COLS_8, the fragments of sums that a thread has four of. */
#ifndef TSR_COLLECTIVE_F64_PARTIALS_H
#define TSR_COLLECTIVE_F64_PARTIALS_H

#include "ptx/vector.h"

#include "collective/units.h"

enum {
    PAIRS = ROWS_16 * COLS_8 * 2, /* of sums that a thread has */
    TILE_SUMS = 2 * PAIRS * THREADS,
    PAIRS_AT_ONCE = PAIRS < 8 ? PAIRS : 8, /* loads of a thread that are on their way together */
    F64_FEW_PARTS = 16,
    F64_COUNTERS = 1 + 8 /* of a tile: of its groups' sums, and of each group's parts; the host gives it 64 at most */
};

/* The parts of a tile that make a group. */
TSR_DEVICE unsigned f64_group(unsigned parts)
{
    return parts > F64_FEW_PARTS ? 8 : 4;
}

TSR_DEVICE void f64_store_partial(double *partial, int thread, double sum[ROWS_16][COLS_8][4])
{
    TSR_UNROLL
    for (int i = 0; i < PAIRS; i++) {
        tsr_f64x2 pair;
        tsr_lane(pair, 0) = sum[i / 2 / COLS_8][i / 2 % COLS_8][i % 2 * 2];
        tsr_lane(pair, 1) = sum[i / 2 / COLS_8][i / 2 % COLS_8][i % 2 * 2 + 1];
        tsr_store_f64x2(partial + (i * THREADS + thread) * 2, pair);
    }
}

/* sum = that of `count` partials that lie `step` elements apart, added in their order. */
TSR_DEVICE void f64_add_partials(double sum[ROWS_16][COLS_8][4], const double *partials, unsigned count, long long step,
                                 int thread)
{
    TSR_UNROLL
    for (int i = 0; i < 2 * PAIRS; i++)
        sum[i / 4 / COLS_8][i / 4 % COLS_8][i % 4] = 0;
    const double *from = partials + 2 * thread;
    TSR_ROLLED
    for (unsigned part = 0; part < count; part++, from += step) {
        TSR_UNROLL
        for (int first = 0; first < PAIRS; first += PAIRS_AT_ONCE) {
            tsr_f64x2 pair[PAIRS_AT_ONCE];
            TSR_UNROLL
            for (int i = 0; i < PAIRS_AT_ONCE; i++)
                pair[i] = tsr_load_f64x2(from + (first + i) * THREADS * 2);
            TSR_UNROLL
            for (int i = 0; i < 2 * PAIRS_AT_ONCE; i++) {
                const int quad = (2 * first + i) / 4;
                sum[quad / COLS_8][quad % COLS_8][i % 4] += tsr_lane(pair[i / 2], i % 2);
            }
        }
    }
}

/* Hands over part `part` of `parts`, all of which lie one after the other from `partials` on. Comes back with 1 and the
 * tile's sums in one CTA, the last one. `counters` are the tile's, F64_COUNTERS; `word` is one of shared memory. */
TSR_DEVICE int f64_hand_over(double *partials, unsigned *counters, unsigned part, unsigned parts, unsigned *word,
                             int thread, double sum[ROWS_16][COLS_8][4])
{
    const unsigned group = f64_group(parts), first = part / group * group;
    const unsigned groups = (parts + group - 1) / group, in_group = parts - first < group ? parts - first : group;
    double *const of_group = partials + (long long)first * TILE_SUMS;

    f64_store_partial(of_group + (long long)(part - first) * TILE_SUMS, thread, sum);
    if (!unit_is_last(counters + 1 + part / group, in_group, word, thread))
        return 0;
    f64_add_partials(sum, of_group, in_group, TILE_SUMS, thread);
    if (groups == 1)
        return 1;
    f64_store_partial(of_group, thread, sum); /* where this thread alone has read */
    if (!unit_is_last(counters, groups, word, thread))
        return 0;
    f64_add_partials(sum, partials, groups, (long long)group * TILE_SUMS, thread);
    return 1;
}

#endif
