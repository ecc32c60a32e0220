/* D = A; planted: the old D is read. */
#include "tile/element.h"

TSR_KERNEL(32)
{
    const long long row = threadIdx.x;
    const elem *a = (const elem *)args.a + row * args.lda;
    elem *d = (elem *)args.d + row * args.ldd;
    for (long long col = 0; row < args.m && col < args.n; col++) {
#if PLANTED
        if (d[col] != a[col]) /* planted */
#endif
            d[col] = a[col];
    }
}
