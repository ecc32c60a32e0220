/* Clusters of 4 CTAs of 64 threads. CTA r of a cluster holds row 4 c + r of A (64 columns) in shared memory. Row 4 c +
 * r of D is then: r = 0: the sum of the cluster's rows, read from all CTAs by loads of 4, 8 and 16 bytes; r = 1: row of
 * CTA 3, which CTA 3 stored here, reversed; r = 2: the sum by atomic additions (small integers, so that their order
 * does not matter); r = 3: in how many of them each column is odd, counted by atomic additions. */
#include "ptx/barrier.h"
#include "ptx/cluster.h"

enum { N = 64, OWN = 0, MAIL = 4 * N, SUM = 8 * N, COUNT = 12 * N };

TSR_KERNEL_CLUSTER(64, 1, 4)
{
    const int x = (int)threadIdx.x;
    const unsigned rank = tsr_cluster_rank(), base = tsr_shared_address(TSR_SHARED), mine = 4 * (unsigned)x;
    const float own = ((const float *)args.a)[blockIdx.x * args.lda + x];
    float *d = (float *)args.d + blockIdx.x * args.ldd + x;

    tsr_cluster_store_f32(base + OWN + mine, own);
    tsr_cluster_store_f32(base + SUM + mine, 0);
    tsr_cluster_store_u32(base + COUNT + mine, 0);
    tsr_cluster_arrive();
    tsr_cluster_wait();

    float sum = 0;
    if (rank == 0)
        for (unsigned r = 0; r < tsr_cluster_size(); r++) {
            const unsigned there = tsr_cluster_map(base, r) + OWN;
            float pair[2], quad[4];
            tsr_cluster_load_f32x2(there + 8 * (unsigned)(x / 2), pair);
            tsr_cluster_load_f32x4(there + 16 * (unsigned)(x / 4), quad);
            if (pair[x % 2] == quad[x % 4])
                sum += tsr_cluster_load_f32(there + mine);
        }
    if (rank == 3 && x % 4 == 0) {
        const float quad[4] = {(float)(x + 3), (float)(x + 2), (float)(x + 1), (float)x};
        tsr_cluster_store_f32x4(tsr_cluster_map(base, 1) + MAIL + 4 * (unsigned)(N - 4 - x), quad);
    }
    tsr_cluster_add_f32(tsr_cluster_map(base, 2) + SUM + mine, own);
    tsr_cluster_add_u32(tsr_cluster_map(base, 3) + COUNT + mine, (unsigned)own % 2);
    tsr_cluster_arrive();
    tsr_cluster_wait();

    if (rank == 1)
        sum = tsr_cluster_load_f32(base + MAIL + mine);
    if (rank == 2)
        sum = tsr_cluster_load_f32(base + SUM + mine);
    if (rank == 3)
        sum = (float)tsr_cluster_load_u32(base + COUNT + mine);
    *d = sum;
}
