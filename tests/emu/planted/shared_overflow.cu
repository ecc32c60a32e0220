/* D = A through shared memory; planted: one element past its end is written. */
#include "ptx/barrier.h"
#include "tile/element.h"

TSR_KERNEL(32)
{
    elem *const row = (elem *)TSR_SHARED;
    const int x = (int)threadIdx.x;
    for (long long i = 0; i < args.m; i++) {
        row[x] = x < args.n ? ((const elem *)args.a)[i * args.lda + x] : 0;
#if PLANTED
        if (x == 31)
            row[x + 1] = 0; /* planted */
#endif
        tsr_barrier();
        if (x < args.n)
            ((elem *)args.d)[i * args.ldd + x] = row[x];
        tsr_barrier();
    }
}
