/* D = A by cp.async, 8 bytes at a time where rows start at multiples of 8; planted: a whole pair is copied at the end
 * of the row. */
#include "ptx/async_copy.h"
#include "ptx/barrier.h"

TSR_KERNEL(32)
{
    float *const row = (float *)TSR_SHARED;
    const int x = (int)threadIdx.x, n = (int)args.n;
    const float *a = (const float *)args.a;
    float *d = (float *)args.d;
    const unsigned tail = PLANTED ? 8 : 4;
    if (2 * x < n)
        tsr_copy_async_8(row + 2 * x, a + 2 * x, 2 * x + 1 < n ? 8 : tail); /* planted */
    tsr_copy_commit();
    tsr_copy_wait(0);
    tsr_barrier();
    if (x < n)
        d[x] = row[x];
    for (long long i = 1; x < n && i < args.m; i++)
        d[i * args.ldd + x] = a[i * args.lda + x];
}
