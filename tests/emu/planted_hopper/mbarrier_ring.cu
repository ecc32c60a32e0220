/* D = A (512 f32): warp 0 fills a ring of two stages of 32 words, warps 1 to 3 each take their share of every stage.
 * Planted: 1 one arrival too many is counted, 2 one too few, 3 the phase bit goes stale, 4 nobody waits for an empty
 * stage, 5 nor for a full one. */
#include "ptx/barrier.h"
#include "ptx/mbarrier.h"
#include "ptx/tma.h"

enum { STAGES = 2, ROUNDS = 16, FULL = 1024, EMPTY = FULL + 8 * STAGES };

TSR_KERNEL_TMA(128, 1)
{
    const unsigned base = tsr_shared_address(TSR_SHARED);
    const int x = (int)threadIdx.x, lane = x % 32, warp = x / 32;
    float *const ring = (float *)TSR_SHARED;
    (void)maps;
    if (x == 0) {
        for (int s = 0; s < STAGES; s++) {
            tsr_mbarrier_init(base + FULL + 8 * (unsigned)s, PLANTED == 1 ? 33 : PLANTED == 2 ? 31 : 32);
            tsr_mbarrier_init(base + EMPTY + 8 * (unsigned)s, 96);
        }
        tsr_mbarrier_fence_init();
    }
    tsr_barrier();
    unsigned parity = 0;
    for (int round = 0; round < ROUNDS; round++) {
        const int stage = round % STAGES;
        const unsigned full = base + FULL + 8 * (unsigned)stage, empty = base + EMPTY + 8 * (unsigned)stage;
        if (warp == 0) {
            if (PLANTED != 4)
                tsr_mbarrier_wait(empty, parity ^ 1);
            ring[stage * 32 + lane] = ((const float *)args.a)[round * 32 + lane]; /* planted 3 4 */
            tsr_mbarrier_arrive_here(full);
        } else {
            if (PLANTED != 5)
                tsr_mbarrier_wait(full, parity); /* planted 1 */
            for (int i = lane; i < 32; i += 32)
                if (i % 3 == warp - 1)
                    ((float *)args.d)[round * 32 + i] = ring[stage * 32 + i]; /* planted 2 3 4 5 */
            tsr_mbarrier_arrive_here(empty);
        }
        if (stage == STAGES - 1 && PLANTED != 3)
            parity ^= 1;
    }
}
