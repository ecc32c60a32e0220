/* D = A, written into the other CTA's shared memory; planted: it is read before the cluster met again. */
#include "ptx/barrier.h"
#include "ptx/cluster.h"

TSR_KERNEL_CLUSTER(32, 1, 2)
{
    const int x = (int)threadIdx.x, n = (int)args.n;
    const unsigned other = tsr_cluster_map(tsr_shared_address(TSR_SHARED), 1 - tsr_cluster_rank()) + 4 * threadIdx.x;
    const long long row = blockIdx.x ^ 1;
    ((float *)TSR_SHARED)[x] = 0;
    tsr_cluster_arrive();
    tsr_cluster_wait();
    tsr_cluster_store_f32(other, x < n ? ((const float *)args.a)[row * args.lda + x] : 0); /* planted */
#if PLANTED
    tsr_barrier();
#else
    tsr_cluster_arrive();
    tsr_cluster_wait();
#endif
    if (x < n)
        ((float *)args.d)[blockIdx.x * args.ldd + x] = ((float *)TSR_SHARED)[x]; /* planted */
    tsr_cluster_arrive();
    tsr_cluster_wait();
}
