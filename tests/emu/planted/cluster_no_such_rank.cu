/* D = A; planted: an address in a CTA that the cluster does not have. */
#include "ptx/cluster.h"

TSR_KERNEL_CLUSTER(32, 1, 2)
{
    const int x = (int)threadIdx.x, n = (int)args.n;
    const unsigned shared = tsr_shared_address(TSR_SHARED) + 4 * threadIdx.x;
    ((float *)TSR_SHARED)[x] = x < n ? ((const float *)args.a)[blockIdx.x * args.lda + x] : 0;
    tsr_cluster_arrive();
    tsr_cluster_wait();
    if (x < n)
        ((float *)args.d)[blockIdx.x * args.ldd + x] =
            tsr_cluster_load_f32(tsr_cluster_map(shared, tsr_cluster_rank() + 2 * PLANTED)); /* planted */
    tsr_cluster_arrive();
    tsr_cluster_wait();
}
