/* Clusters of 4 CTAs of 64 threads; CTA r of a cluster has row r of A (64 u32) in shared memory. D, by rows of 64:
 *   4 c + r        the sum of the cluster's rows, by additions that all CTAs send to all (r < 3); and (r = 3) by
 *                  reductions of D itself, which CTA 3 set to 0 before
 * and the workspace, by rows: what CTA r got from CTA r + 1 by tsr_bulk_send, and row 0 of the cluster by a multicast
 * of CTA 0. */
#include "ptx/barrier.h"
#include "ptx/bulk_reduce.h"
#include "ptx/cluster.h"
#include "ptx/mbarrier.h"

enum {
    N = 64,
    BYTES = 4 * N,
    OWN = 0,
    SUM = BYTES,
    NEXT = 2 * BYTES,
    FIRST = 3 * BYTES,
    ZERO = 4 * BYTES,
    BAR = 5 * BYTES
};

TSR_KERNEL_TMA(64, 4)
{
    const int x = (int)threadIdx.x;
    const unsigned rank = tsr_cluster_rank(), base = tsr_shared_address(TSR_SHARED), bar = base + BAR;
    const unsigned *const a = (const unsigned *)args.a + blockIdx.x * args.lda;
    unsigned *const shared = (unsigned *)TSR_SHARED, *const d = (unsigned *)args.d;
    unsigned *const mail = (unsigned *)args.workspace + (long long)blockIdx.x * 2 * N;
    const long long last = (long long)(blockIdx.x / 4 * 4 + 3) * args.ldd;
    (void)maps;
    shared[OWN / 4 + x] = a[x];
    shared[SUM / 4 + x] = shared[ZERO / 4 + x] = 0;
    if (x == 0) {
        tsr_mbarrier_init(bar, 1);
        tsr_mbarrier_fence_init();
        tsr_mbarrier_arrive_expect(bar, 6 * BYTES);
    }
    tsr_fence_async_shared();
    tsr_barrier();
    if (x == 0 && rank == 3) {
        tsr_bulk_store(d + last, base + ZERO, BYTES);
        tsr_tma_commit();
        tsr_bulk_wait(0);
    }
    tsr_cluster_arrive();
    tsr_cluster_wait();
    if (x == 0) {
        for (unsigned r = 0; r < 4; r++)
            tsr_bulk_reduce_send(tsr_cluster_map(base + SUM, r), base + OWN, BYTES, tsr_cluster_map(bar, r),
                                 TSR_REDUCE_ADD_U32);
        const unsigned before = (rank + 3) % 4;
        tsr_bulk_send(tsr_cluster_map(base + NEXT, before), base + OWN, BYTES, tsr_cluster_map(bar, before));
        if (rank == 0)
            tsr_bulk_load_multicast(base + FIRST, a, BYTES, bar, 15);
        tsr_bulk_reduce(d + last, base + OWN, BYTES, TSR_REDUCE_ADD_U32);
        tsr_tma_commit();
        tsr_bulk_wait(0);
    }
    tsr_mbarrier_wait(bar, 0);
    if (rank != 3)
        d[blockIdx.x * args.ldd + x] = shared[SUM / 4 + x];
    mail[x] = shared[NEXT / 4 + x];
    mail[N + x] = shared[FIRST / 4 + x];
    tsr_cluster_arrive();
    tsr_cluster_wait();
}
