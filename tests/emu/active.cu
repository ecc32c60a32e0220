/* D[x] = the lanes that were active together with thread x, of those that went the way that A[x] (0, 1 or 2) names. */
#include "ptx/vote.h"

TSR_KERNEL(128)
{
    const int x = (int)threadIdx.x;
    const unsigned way = ((const unsigned *)args.a)[x];
    unsigned *const d = (unsigned *)args.d + x;
    if (way == 0)
        *d = tsr_active_mask();
    else if (way == 1)
        *d = tsr_active_mask();
    else
        *d = tsr_active_mask();
}
