/* chase_shared: as chase, in shared memory. `from` has 32-bit offsets, each the place of the next one in bytes; the
 * warp copies them to shared memory as addresses first.
 *
 * Arguments: tsr_microbench_args; to[0] is the offset that the last load brought.
 * Assumes: from_bytes is what the config has of shared memory.
 * Bound by: latency. */
#define TSR_ARGS tsr_microbench_args

#include "core/microbench_args.h"
#include "ptx/barrier.h"
#include "ptx/shared.h"

TSR_KERNEL(32)
{
    const unsigned base = tsr_shared_address(TSR_SHARED);
    const unsigned *const from = (const unsigned *)args.from;
    TSR_UNROLL_BY(4)
    for (unsigned i = threadIdx.x; i < args.from_bytes / 4; i += 32)
        tsr_shared_store_u32(base + 4 * i, base + from[i]);
    tsr_barrier();
    if (threadIdx.x != 0)
        return;
    unsigned at = base + (unsigned)args.first;
    TSR_UNROLL_BY(8)
    for (long long i = 0; i < args.steps; i++)
        at = tsr_shared_load_u32(at);
    *(unsigned long long *)args.to = at - base;
}
