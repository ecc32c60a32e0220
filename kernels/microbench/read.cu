/* read: all SMs read global memory, 16 bytes a lane, four loads of a thread under way at once, and add the words up.
 *
 *      from | chunk 0 | chunk 1 | ...      CTA b begins at chunk b * between_ctas and goes on by between_steps;
 *             256 threads x 4 x 16 bytes   behind the last chunk it goes on with the first ones
 *
 * With between_ctas 1 and between_steps the grid's CTAs, all of them read all of `from` together: DRAM, or L2 where it
 * fits there. With 0 and 1, each CTA reads all of it by itself: L1 where it fits there.
 *
 *   PAST_L1   0: loads by L1; 1: by L2 alone
 *
 * Arguments: tsr_microbench_args; each thread of the grid has a 32-bit sum in `to`.
 * Assumes: from_bytes is chunks * 16 KiB.
 * Bound by: the level that `from` fits. */
#define TSR_ARGS tsr_microbench_args

#include "microbench/chunk.h"

TSR_KERNEL(CHUNK_THREADS)
{
    unsigned sum = 0;
    long long chunk = chunk_first(&args);
    TSR_ROLLED
    for (long long i = 0; i < args.steps; i++, chunk = chunk_next(&args, chunk)) {
        const char *const at = (const char *)args.from + chunk * CHUNK_BYTES + threadIdx.x * 16;
        tsr_u32x4 value[CHUNK_EACH];
        TSR_UNROLL
        for (int j = 0; j < CHUNK_EACH; j++)
            value[j] = chunk_load(at + j * CHUNK_ROW);
        TSR_UNROLL
        for (int j = 0; j < CHUNK_EACH; j++)
            sum += tsr_lane(value[j], 0) + tsr_lane(value[j], 1) + tsr_lane(value[j], 2) + tsr_lane(value[j], 3);
    }
    ((unsigned *)args.to)[blockIdx.x * CHUNK_THREADS + threadIdx.x] = sum;
}
