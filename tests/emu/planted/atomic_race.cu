/* D = A, and shared counters that are set, added to and read; planted: no barrier between additions and reading. */
#include "ptx/barrier.h"
#include "ptx/cluster.h"

TSR_KERNEL_CLUSTER(32, 1, 1)
{
    const int x = (int)threadIdx.x, n = (int)args.n;
    const unsigned shared = tsr_shared_address(TSR_SHARED);
    tsr_cluster_store_u32(shared + 4 * (unsigned)x, 0);
    tsr_barrier();
    tsr_cluster_add_u32(shared + 4 * (unsigned)(x % 2), 1); /* planted */
#if !PLANTED
    tsr_barrier();
#endif
    const unsigned count = tsr_cluster_load_u32(shared + 4 * (unsigned)((x + 1) % 2)); /* planted */
    for (long long i = 0; i < args.m; i++)
        if (x < n)
            ((float *)args.d)[i * args.ldd + x] = ((const float *)args.a)[i * args.lda + x] + (float)count - 16;
}
