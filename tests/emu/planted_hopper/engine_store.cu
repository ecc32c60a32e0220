/* D = A (512 f32) by one box that the copy engine stores. Planted: 1 ordinary stores are not fenced for the engine, 2
 * other threads, or 3 the thread itself, use the memory again before it was read, 4 the thread ends before that, 5
 * nothing orders the other threads' stores, 6 the store is never committed, 7 the box is misaligned, 8 what was stored
 * is read once shared memory was read and no later, 9 the box begins before the matrix. */
#include "ptx/barrier.h"
#include "ptx/bulk.h"
#include "ptx/mbarrier.h"
#include "ptx/tma_ranks.h"

TSR_KERNEL_TMA(128, 1)
{
    const unsigned base = tsr_shared_address(TSR_SHARED);
    const int x = (int)threadIdx.x;
    float *const shared = (float *)TSR_SHARED, *const mail = (float *)args.workspace;
    for (int i = x; i < 512; i += 128)
        shared[i] = ((const float *)args.a)[i];
    if (PLANTED != 1)
        tsr_fence_async_shared();
    if (PLANTED != 5)
        tsr_barrier();
    if (x == 0) {
        tsr_tma_store_2d(&maps.d, base + (PLANTED == 7 ? 64 : 0), 0, PLANTED == 9 ? -1 : 0); /* planted */
        if (PLANTED != 6)
            tsr_tma_commit();
        if (PLANTED == 3)
            shared[0] = 0;
        if (PLANTED != 2 && PLANTED != 4)
            tsr_tma_wait_read(0);
    }
    tsr_barrier();
    if (PLANTED == 2) {
        shared[x] = 0;
        tsr_barrier();
        if (x == 0)
            tsr_tma_wait_read(0);
    }
    if (x == 0 && PLANTED != 6) {
        tsr_bulk_store(mail, base, 16);
        tsr_tma_commit();
        if (PLANTED == 8)
            tsr_tma_wait_read(0);
        else if (PLANTED != 4)
            tsr_bulk_wait(0);
        if (PLANTED != 4)
            mail[4] = mail[0]; /* planted 8 */
    }
}
