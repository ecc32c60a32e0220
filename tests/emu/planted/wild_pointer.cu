/* D = A; planted: a pointer to nowhere is read. */
#include "tile/element.h"

TSR_KERNEL(32)
{
    const long long row = threadIdx.x;
    const elem *a = (const elem *)args.a + row * args.lda;
    elem *d = (elem *)args.d + row * args.ldd;
    for (long long col = 0; row < args.m && col < args.n; col++)
        d[col] = a[col];
#if PLANTED
    const elem *nothing = (const elem *)(unsigned long long)(16 * args.m);
    if (row == 3)
        d[0] = nothing[0]; /* planted */
#endif
}
