/* read_shared: all SMs read shared memory, 16 bytes a lane, and add the words up. The lanes of a warp read 512
 * neighbouring bytes, so there are no bank conflicts.
 *
 *      shared | row 0 of 4 KiB | row 1 | ... 8 rows, a copy of `from`; a step reads one load of each row by each
 * thread, 256 threads x 16 bytes       16 bytes further on than the step before, at the row's end its beginning
 *
 * Arguments: tsr_microbench_args; each thread of the grid has a sum in f32 in `to`.
 * Assumes: from_bytes is 32 KiB.
 * Bound by: shared memory. */
#define TSR_ARGS tsr_microbench_args

#include "core/microbench_args.h"
#include "ptx/barrier.h"
#include "ptx/shared_vector.h"

enum { THREADS = 256, ROWS = 8, ROW = THREADS * 16 };

TSR_KERNEL(THREADS)
{
    const unsigned base = tsr_shared_address(TSR_SHARED);
    const float *const from = (const float *)args.from;
    float sum = 0;
    TSR_ROLLED
    for (unsigned i = threadIdx.x; i < ROWS * ROW / 4; i += THREADS)
        tsr_shared_store_f32(base + 4 * i, from[i]);
    tsr_barrier();
    TSR_ROLLED
    for (long long i = 0; i < args.steps; i++) {
        const unsigned at = base + (threadIdx.x + (unsigned)i) * 16 % ROW;
        float value[ROWS][4];
        TSR_UNROLL
        for (int j = 0; j < ROWS; j++)
            tsr_shared_load_f32x4(at + j * ROW, value[j]);
        TSR_UNROLL
        for (int j = 0; j < ROWS; j++)
            sum += (value[j][0] + value[j][1]) + (value[j][2] + value[j][3]);
    }
    ((float *)args.to)[blockIdx.x * THREADS + threadIdx.x] = sum;
}
