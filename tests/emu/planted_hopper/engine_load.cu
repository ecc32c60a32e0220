/* D = A (512 f32) by one box of the copy engine. Planted: 1 nobody waits, 2 more bytes are expected than come, 3 fewer,
 * 4 the phase that is over is waited for, 5 the barrier is not made known to the engine, 6 it is never initialised, 7
 * it is misaligned, 8 the box is, 9 the map has another rank, 10 nobody arrives, 11 the CTA ends before the box comes,
 * 12 the box lies beyond shared memory, 13 it begins between multiples of 16 bytes of A, 14 the bytes come from shared
 * memory, with no cluster. */
#include "ptx/barrier.h"
#include "ptx/bulk.h"
#include "ptx/mbarrier.h"
#include "ptx/tma_ranks.h"

enum { BYTES = 2048, BAR = 4096 };

TSR_KERNEL_TMA(128, 1)
{
    const unsigned base = tsr_shared_address(TSR_SHARED), bar = base + BAR + (PLANTED == 7 ? 4 : 0);
    const int x = (int)threadIdx.x, at = PLANTED == 13;
    if (x == 0) {
        if (PLANTED != 6)
            tsr_mbarrier_init(bar, 1); /* planted 7 */
        if (PLANTED != 5)
            tsr_mbarrier_fence_init();
        if (PLANTED != 10 && PLANTED != 6)
            tsr_mbarrier_arrive_expect(bar, PLANTED == 2 ? BYTES + 16 : PLANTED == 3 ? BYTES - 16 : BYTES);
        if (PLANTED == 9)
            tsr_tma_load_1d(base, &maps.a, bar, 0); /* planted 9 */
        else if (PLANTED == 14)
            tsr_bulk_send(base, base + BYTES, BYTES, bar); /* planted 14 */
        else
            tsr_tma_load_2d(base + (PLANTED == 8 ? 64 : PLANTED == 12 ? 7168 : 0), &maps.a, bar, at, 0); /* planted */
    }
    tsr_barrier();
    if (PLANTED != 1 && PLANTED != 11)
        tsr_mbarrier_wait(bar, PLANTED == 4 ? 1 : 0); /* planted 2 10 */
    if (PLANTED != 11)
        for (int i = x; i < 512; i += 128)
            ((float *)args.d)[i] = ((const float *)TSR_SHARED)[i]; /* planted 1 4 */
}
