/* chase: one lane follows pointers through global memory, each loaded from where the one before it leads.
 *
 *      from + first -> | next | ... |      steps loads, none of which can begin before the one before it has ended:
 *                          `-> | next |    the time of all over their number is the latency
 *
 *   PAST_L1   0: loads by L1; 1: by L2 alone
 *
 * Arguments: tsr_microbench_args; to[0] is the address that the last load brought.
 * Assumes: each address that is loaded lies in `from` and is a multiple of 8.
 * Bound by: latency. Time and steps alone count, so the rate of no clock need be known. */
#define TSR_ARGS tsr_microbench_args

#include "core/microbench_args.h"
#include "ptx/cached.h"

TSR_KERNEL(32)
{
    const void *at = (const char *)args.from + args.first;
    if (threadIdx.x != 0)
        return;
    TSR_UNROLL_BY(8)
    for (long long i = 0; i < args.steps; i++)
#if PAST_L1
        at = (const void *)tsr_load_cg_u64(at);
#else
        at = (const void *)tsr_load_ca_u64(at);
#endif
    *(const void **)args.to = at;
}
