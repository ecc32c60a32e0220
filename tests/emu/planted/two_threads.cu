/* D = A; planted: two threads of a CTA write the last element. */
#include "tile/element.h"

TSR_KERNEL(32)
{
    const long long row = blockIdx.x, x = threadIdx.x;
    const elem *a = (const elem *)args.a + row * args.lda;
    elem *d = (elem *)args.d + row * args.ldd;
    if (row >= args.m)
        return;
#if PLANTED
    const long long col = x < args.n ? x : args.n - 1;
#else
    const long long col = x;
#endif
    if (col < args.n && x <= args.n)
        d[col] = a[col]; /* planted */
}
