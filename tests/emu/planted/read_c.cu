/* D = A + beta * C; planted: C is read even if beta is 0. */
#include "tile/element.h"

TSR_KERNEL(32)
{
    const long long row = threadIdx.x;
    const elem *a = (const elem *)args.a + row * args.lda;
    const elem *c = (const elem *)args.c + row * args.ldc;
    elem *d = (elem *)args.d + row * args.ldd;
    const int reads_c = PLANTED || args.beta != 0;
    for (long long col = 0; row < args.m && col < args.n; col++) {
        elem value = a[col];
        if (reads_c)
            value = tsr_fma((elem)args.beta, c[col], value); /* planted */
        d[col] = value;
    }
}
