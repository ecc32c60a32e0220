/* D = A (512 f32): each of two CTAs sends its half of A to the other, which writes it. Planted: 1 it sends before the
 * cluster has met, 2 to another CTA than the barrier's, 3 what it sends is changed too early, 4 the sender ends before
 * it was read, 5 ordinary stores are not fenced for the engine, 6 the receiver does not wait, 7 the barrier is not made
 * known, 8 the size is no multiple of 16 bytes, 9 the receiver expects too little. */
#include "ptx/barrier.h"
#include "ptx/bulk.h"
#include "ptx/cluster.h"
#include "ptx/mbarrier.h"

enum { HALF = 256, BYTES = 4 * HALF, IN = BYTES, BAR = 4096 };

TSR_KERNEL_TMA(128, 2)
{
    const unsigned base = tsr_shared_address(TSR_SHARED), rank = tsr_cluster_rank(), other = 1 - rank;
    const int x = (int)threadIdx.x;
    float *const shared = (float *)TSR_SHARED;
    (void)maps;
    if (x == 0) {
        tsr_mbarrier_init(base + BAR, 1);
        if (PLANTED != 7)
            tsr_mbarrier_fence_init();
        tsr_mbarrier_arrive_expect(base + BAR, PLANTED == 9 ? BYTES - 16 : BYTES);
    }
    for (int i = x; i < HALF; i += 128)
        shared[i] = ((const float *)args.a)[(int)rank * HALF + i];
    if (PLANTED != 5)
        tsr_fence_async_shared();
    if (PLANTED == 1) {
        tsr_barrier();
    } else {
        tsr_cluster_arrive();
        tsr_cluster_wait();
    }
    if (x == 0) {
        const unsigned bar = PLANTED == 2 ? base + BAR : tsr_cluster_map(base + BAR, other);
        tsr_bulk_send(tsr_cluster_map(base + IN, other), base, PLANTED == 8 ? BYTES - 8 : BYTES, bar); /* planted */
        if (PLANTED == 3)
            shared[7] = 0;
    }
    if (PLANTED == 4 && rank == 1)
        tsr_barrier(); /* it takes its time */
    if (PLANTED != 6)
        tsr_mbarrier_wait(base + BAR, 0);
    for (int i = x; i < HALF; i += 128)
        ((float *)args.d)[(int)other * HALF + i] = shared[IN / 4 + i]; /* planted 6 */
    if (PLANTED != 4) {
        tsr_cluster_arrive();
        tsr_cluster_wait();
    }
}
