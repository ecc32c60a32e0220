/* D = A by cp.async, each thread reading what its neighbour copied; planted: a wait, but no barrier. */
#include "ptx/async_copy.h"
#include "ptx/barrier.h"

TSR_KERNEL(32)
{
    float *const row = (float *)TSR_SHARED;
    const int x = (int)threadIdx.x, n = (int)args.n;
    for (long long i = 0; i < args.m; i++) {
        const float *a = (const float *)args.a + i * args.lda;
        float *d = (float *)args.d + i * args.ldd;
        row[x] = 0;
        tsr_barrier();
        if (x < n)
            tsr_copy_async_4(row + x, a + x, 4); /* planted */
        tsr_copy_commit();
        tsr_copy_wait(0);
#if !PLANTED
        tsr_barrier();
#endif
        if (x < n)
            d[n - 1 - x] = row[n - 1 - x]; /* planted */
        tsr_barrier();
    }
}
