/* D = A; planted: lanes without work are missing at a vote of the whole warp. */
#include "ptx/warp.h"

TSR_KERNEL(32)
{
    const int x = (int)threadIdx.x;
#if PLANTED
    if (x >= args.n)
        return;
#endif
    const unsigned working = tsr_ballot(TSR_ALL_LANES, x < args.n); /* planted */
    for (long long i = 0; i < args.m && (working >> x & 1); i++)
        ((float *)args.d)[i * args.ldd + x] = ((const float *)args.a)[i * args.lda + x];
}
