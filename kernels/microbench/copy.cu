/* copy: all SMs copy global memory, 16 bytes a lane; chunks as in read.cu.
 *
 * Arguments: tsr_microbench_args; the copy is `to`.
 * Assumes: from_bytes and to_bytes are chunks * 16 KiB.
 * Bound by: DRAM, where both are larger than L2. A byte that is copied counts twice: it is read and written. */
#define TSR_ARGS tsr_microbench_args
#define PAST_L1  1

#include "microbench/chunk.h"

TSR_KERNEL(CHUNK_THREADS)
{
    long long chunk = chunk_first(&args);
    TSR_ROLLED
    for (long long i = 0; i < args.steps; i++, chunk = chunk_next(&args, chunk)) {
        const long long offset = chunk * CHUNK_BYTES + threadIdx.x * 16;
        tsr_u32x4 value[CHUNK_EACH];
        TSR_UNROLL
        for (int j = 0; j < CHUNK_EACH; j++)
            value[j] = chunk_load((const char *)args.from + offset + j * CHUNK_ROW);
        TSR_UNROLL
        for (int j = 0; j < CHUNK_EACH; j++)
            tsr_store_u32x4((unsigned *)((char *)args.to + offset + j * CHUNK_ROW), value[j]);
    }
}
