/* D = A by cp.async; planted: the next copy starts while others still read the last one. */
#include "ptx/async_copy.h"
#include "ptx/barrier.h"

TSR_KERNEL(32)
{
    float *const row = (float *)TSR_SHARED;
    const int x = (int)threadIdx.x, n = (int)args.n;
    for (long long i = 0; i < args.m; i++) {
        const float *a = (const float *)args.a + i * args.lda;
        float *d = (float *)args.d + i * args.ldd;
        if (x < n)
            tsr_copy_async_4(row + x, a + x, 4); /* planted */
        tsr_copy_commit();
        tsr_copy_wait(0);
        tsr_barrier();
        if (x < n)
            d[n - 1 - x] = row[n - 1 - x]; /* planted */
#if !PLANTED
        tsr_barrier();
#endif
    }
}
