/* D = A, one CTA for each row, which all wait for each other. Planted: one of them does not count itself. */
#include "ptx/atomic.h"
#include "ptx/barrier.h"

TSR_KERNEL(32)
{
    const int x = (int)threadIdx.x, cta = (int)blockIdx.x;
    unsigned *flag = (unsigned *)args.workspace;
    const float *a = (const float *)args.a + cta * args.lda;
    float *d = (float *)args.d + cta * args.ldd;
    if (x == 0 && !(PLANTED && cta == 2))
        tsr_add_release(flag, 1);
    if (x == 0)
        while (tsr_load_acquire(flag) != gridDim.x) /* planted */
            tsr_pause();
    tsr_barrier();
    if (x < args.n)
        d[x] = a[x];
}
