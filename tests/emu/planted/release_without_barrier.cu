/* D = A, one CTA for each row; CTA 0 hands its row to CTA 1, which writes it on behalf of nobody. Planted: the thread
 * that releases does not wait for the others. */
#include "ptx/atomic.h"
#include "ptx/barrier.h"

TSR_KERNEL(32)
{
    const int x = (int)threadIdx.x, cta = (int)blockIdx.x;
    unsigned *flag = (unsigned *)args.workspace;
    float *handed = (float *)(flag + 1);
    const float *a = (const float *)args.a + cta * args.lda;
    float *d = (float *)args.d + cta * args.ldd;
    if (cta == 0 && x < args.n)
        handed[x] = a[x]; /* planted */
#if !PLANTED
    tsr_barrier();
#endif
    if (cta == 0 && x == 0)
        tsr_store_release(flag, 1);
    if (cta == 1 && x == 0)
        while (tsr_load_acquire(flag) != 1)
            tsr_pause();
    tsr_barrier();
    const float other = cta == 1 && x < args.n ? handed[x] : 0; /* planted */
    if (x < args.n)
        d[x] = a[x] + 0 * other;
}
