/* D = A, one CTA for each row; planted: each CTA writes the first element of the next row too. */
#include "tile/element.h"

TSR_KERNEL(32)
{
    const long long row = blockIdx.x, col = threadIdx.x;
    const elem *a = (const elem *)args.a + row * args.lda;
    elem *d = (elem *)args.d + row * args.ldd;
    if (row >= args.m)
        return;
    if (col < args.n)
        d[col] = a[col]; /* planted */
#if PLANTED
    if (col == args.n && row + 1 < args.m)
        d[args.ldd] = a[args.lda]; /* planted */
#endif
}
