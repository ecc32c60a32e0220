/* The mbarriers of a ring of stages: one that fills, one that is empty again, 8 bytes a stage. `full` and `empty` are
 * the addresses of the first ones. */
#ifndef TSR_COLLECTIVE_RING_BARRIERS_H
#define TSR_COLLECTIVE_RING_BARRIERS_H

#include "ptx/cluster.h"
#include "ptx/mbarrier.h"

/* By one lane. A stage is full after `arrivals`, when its bytes have come, too, and empty after `releases`.
 * tsr_mbarrier_fence_init follows. */
TSR_DEVICE void ring_barriers_make(unsigned full, unsigned empty, unsigned stages, unsigned arrivals, unsigned releases)
{
    for (unsigned i = 0; i < stages; i++) {
        tsr_mbarrier_init(full + 8 * i, arrivals);
        tsr_mbarrier_init(empty + 8 * i, releases);
    }
}

/* A warp is done with a stage, of which `empty` is the mbarrier: lane r tells CTA r of the cluster of `ctas`, a
 * constant, because that one may send into this CTA's stage. */
TSR_DEVICE void ring_release(unsigned empty, int ctas)
{
    const int lane = (int)threadIdx.x % 32;
    if (ctas == 1) {
        if (lane == 0)
            tsr_mbarrier_arrive_here(empty);
    } else if (lane < ctas) {
        tsr_mbarrier_arrive(empty, (unsigned)lane);
    }
}

#endif
