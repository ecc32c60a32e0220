/* D = A by one thread for each element; planted: the test of the row is missing. */
#include "tile/element.h"

TSR_KERNEL(32 * 32)
{
    const long long row = threadIdx.y, col = threadIdx.x;
    const elem *a = (const elem *)args.a;
    elem *d = (elem *)args.d;
    if (col >= args.n)
        return;
    const elem value = row < args.m ? a[row * args.lda + col] : 0;
#if PLANTED
    d[row * args.ldd + col] = value; /* planted */
#else
    if (row < args.m)
        d[row * args.ldd + col] = value;
#endif
}
