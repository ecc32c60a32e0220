/* D = A in a grid that may start before the one before it has ended; planted: A is read before griddepcontrol.wait. */
#include "ptx/barrier.h"
#include "ptx/grid.h"

TSR_KERNEL(32)
{
    const int x = (int)threadIdx.x, n = (int)args.n;
#if !PLANTED
    if (x == 0)
        tsr_grid_wait();
    tsr_barrier(); /* the others learn of it */
#endif
    for (long long i = 0; i < args.m; i++)
        if (x < n)
            ((float *)args.d)[i * args.ldd + x] = ((const float *)args.a)[i * args.lda + x]; /* planted */
    tsr_grid_launch_dependents();
}
