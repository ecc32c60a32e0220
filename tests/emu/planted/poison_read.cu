/* D = A through shared memory; planted: the last element is never stored there, and read all the same. */
#include "ptx/barrier.h"
#include "tile/element.h"

TSR_KERNEL(32)
{
    elem *const row = (elem *)TSR_SHARED;
    const int x = (int)threadIdx.x;
    const elem *a = (const elem *)args.a;
    elem *d = (elem *)args.d;
#if PLANTED
    if (x < args.n - 1)
#else
    if (x < args.n)
#endif
        row[x] = a[x];
    tsr_barrier();
    if (x < args.n)
        d[x] = row[x]; /* planted */
    for (long long i = 1; x == 0 && i < args.m; i++)
        for (long long j = 0; j < args.n; j++)
            d[i * args.ldd + j] = a[i * args.lda + j];
}
