/* D = A; planted: threads without work skip the barrier that the others wait at. */
#include "ptx/barrier.h"
#include "tile/element.h"

TSR_KERNEL(32)
{
    elem *const row = (elem *)TSR_SHARED;
    const int x = (int)threadIdx.x;
    for (long long i = 0; i < args.m; i++) {
        if (x < args.n)
            row[x] = ((const elem *)args.a)[i * args.lda + x];
#if PLANTED
        if (x < args.n)
            tsr_barrier(); /* planted */
#else
        tsr_barrier();
#endif
        if (x < args.n)
            ((elem *)args.d)[i * args.ldd + x] = row[args.n - 1 - (args.n - 1 - x)];
    }
}
