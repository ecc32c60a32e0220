/* D = A, one CTA for each row; CTA 0 hands its row to all. Planted: they look at the buffer without having seen the
 * flag. */
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
    tsr_barrier();
    if (cta == 0 && x == 0)
        tsr_store_release(flag, 1);
#if !PLANTED
    if (cta > 0 && x == 0)
        while (tsr_load_acquire(flag) != 1)
            tsr_pause();
#endif
    tsr_barrier();
    const float other = cta > 0 && x < args.n ? handed[x] : 0; /* planted */
    if (x < args.n)
        d[x] = a[x] + 0 * other;
}
