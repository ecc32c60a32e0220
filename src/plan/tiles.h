/* How a product of host matrices is cut for a GPU's memory, and what its copies cost. */
#ifndef TSR_PLAN_TILES_H
#define TSR_PLAN_TILES_H

#include "plan/plan.h"

/* Tiles of D are `m` x `n`, each summed over K in steps of `k`. D's tiles go column panel by column panel, and down
 * each of them, so that a panel of B stays. */
typedef struct tsr_tiles_of {
    long long m, n, k;
    long long down, across, deep; /* how many of each */
} tsr_tiles_of;

/* The cut whose buffers (two each of A's and D's, one or two of B's) fit in `budget_bytes`, with the largest tiles. The
 * cut depends on nothing but the problem and the budget, so results do not change from run to run. 0: nothing fits. */
int tsr_tiles_choose(const tsr_problem *problem, double budget_bytes, tsr_tiles_of *out);

/* 1 if a product with all operands on the host goes tile by tile on this device: they are large enough to be worth it.
 * Batches go in one launch as long as they fit. */
int tsr_tiles_wanted(const tsr_problem *problem, const tsr_device *device);

/* The memory of the device that buffers may take at first; the rest may be others'. */
double tsr_tiles_budget(const tsr_device *device);

/* What copying host operands adds to `compute_ns`. Tile by tile, only the first tiles on their way in and the last on
 * its way out are not hidden, unless copies take longer than all multiplications. */
double tsr_transfer_ns(const tsr_problem *problem, const tsr_device *device, double compute_ns);

/* Bytes from row to row of a device buffer: rows of 256 bytes and more begin at multiples of 16 bytes, which lets the
 * faster kernels run whatever the caller's leading dimension is. */
long long tsr_tile_pitch(long long row_bytes);

#endif
