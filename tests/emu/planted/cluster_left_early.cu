/* D = A, read from the other CTA's shared memory; planted: nothing keeps that CTA there until it was read. */
#include "ptx/cluster.h"

TSR_KERNEL_CLUSTER(32, 1, 2)
{
    const int x = (int)threadIdx.x, n = (int)args.n;
    const unsigned other = tsr_cluster_map(tsr_shared_address(TSR_SHARED), 1 - tsr_cluster_rank()) + 4 * threadIdx.x;
    const long long row = blockIdx.x ^ 1;
    ((float *)TSR_SHARED)[x] = x < n ? ((const float *)args.a)[blockIdx.x * args.lda + x] : 0;
    tsr_cluster_arrive();
    tsr_cluster_wait();
    const float value = tsr_cluster_load_f32(other); /* planted */
    if (x < n)
        ((float *)args.d)[row * args.ldd + x] = value;
#if !PLANTED
    tsr_cluster_arrive();
    tsr_cluster_wait();
#endif
}
