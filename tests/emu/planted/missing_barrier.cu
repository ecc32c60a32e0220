/* D = A with each row turned round in shared memory and back; planted: no barrier between store and load. */
#include "ptx/barrier.h"
#include "tile/element.h"

TSR_KERNEL(32)
{
    elem *const row = (elem *)TSR_SHARED;
    const int x = (int)threadIdx.x, n = (int)args.n;
    row[x] = 0;
    tsr_barrier();
    for (long long i = 0; i < args.m; i++) {
        const elem *a = (const elem *)args.a + i * args.lda;
        elem *d = (elem *)args.d + i * args.ldd;
        if (x < n)
            row[n - 1 - x] = a[n - 1 - x]; /* planted */
#if !PLANTED
        tsr_barrier();
#endif
        if (x < n)
            d[x] = row[x]; /* planted */
        tsr_barrier();
    }
}
