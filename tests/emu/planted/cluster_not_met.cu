/* D = A through the other CTA's shared memory; planted: no cluster barrier before it is used, so it may not run yet. */
#include "ptx/cluster.h"

TSR_KERNEL_CLUSTER(32, 1, 2)
{
    const int x = (int)threadIdx.x, n = (int)args.n;
    const unsigned other = tsr_cluster_map(tsr_shared_address(TSR_SHARED), 1 - tsr_cluster_rank()) + 4 * threadIdx.x;
    const long long row = blockIdx.x ^ 1;
#if !PLANTED
    tsr_cluster_arrive();
    tsr_cluster_wait();
#endif
    if (x < n)
        tsr_cluster_store_f32(other, ((const float *)args.a)[row * args.lda + x]); /* planted */
    tsr_cluster_arrive();
    tsr_cluster_wait();
    if (x < n)
        ((float *)args.d)[blockIdx.x * args.ldd + x] = ((float *)TSR_SHARED)[x];
}
