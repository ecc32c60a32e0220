/* D = A by one thread for each row; planted: the last thread reads a row past the end of A. */
#include "tile/element.h"

TSR_KERNEL(32)
{
    const long long row = threadIdx.x;
    const elem *a = (const elem *)args.a + row * args.lda;
    elem *d = (elem *)args.d + row * args.ldd;
    if (row >= args.m)
        return;
    const long long below = PLANTED && row == args.m - 1 ? args.lda : 0;
    for (long long col = 0; col < args.n; col++)
        d[col] = a[below + col]; /* planted */
}
