/* D = A with each row turned round in shared memory and back; planted: the next row overwrites one that is still read.
 */
#include "ptx/barrier.h"
#include "tile/element.h"

TSR_KERNEL(32)
{
    elem *const row = (elem *)TSR_SHARED;
    const int x = (int)threadIdx.x, n = (int)args.n;
    for (long long i = 0; i < args.m; i++) {
        const elem *a = (const elem *)args.a + i * args.lda;
        elem *d = (elem *)args.d + i * args.ldd;
        if (x < n)
            row[n - 1 - x] = a[n - 1 - x]; /* planted */
        tsr_barrier();
        if (x < n)
            d[x] = row[x]; /* planted */
#if !PLANTED
        tsr_barrier();
#endif
    }
}
