/* D = A; planted: A is cleared behind the reader. */
#include "tile/element.h"

TSR_KERNEL(32)
{
    const long long row = threadIdx.x;
    elem *a = (elem *)args.a + row * args.lda;
    elem *d = (elem *)args.d + row * args.ldd;
    for (long long col = 0; row < args.m && col < args.n; col++) {
        d[col] = a[col];
#if PLANTED
        a[col] = 0; /* planted */
#endif
    }
}
