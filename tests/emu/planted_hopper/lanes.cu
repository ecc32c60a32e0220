/* D = A (512 f32) through the lanes of warps. Planted: 1 the lanes that happened to be active are taken for all that
 * went this way, 2 lanes ask for different reductions, 3 a vote names lanes that went another way. */
#include "ptx/redux.h"
#include "ptx/tma.h"
#include "ptx/vote.h"

TSR_KERNEL_TMA(128, 1)
{
    const int x = (int)threadIdx.x;
    const unsigned lane = tsr_lane_id();
    (void)maps;
    unsigned sum = 0;
    if (PLANTED == 1) {
        /* Half of the lanes come here by a longer way. */
        if (lane % 2)
            tsr_warp_sync(0xaaaaaaaau);
        const unsigned active = tsr_active_mask();
        if (lane < 16)
            sum = tsr_redux_add(active, 1); /* planted */
    } else if (PLANTED == 2) {
        sum = lane < 16 ? tsr_redux_add(TSR_ALL_LANES, 1) : tsr_redux_xor(TSR_ALL_LANES, 1); /* planted */
    } else if (lane < 20) {
        sum = (unsigned)tsr_vote_any(PLANTED == 3 ? TSR_ALL_LANES : 0xfffffu, 1); /* planted */
    }
    for (int i = x; i < 512; i += 128)
        ((float *)args.d)[i] = ((const float *)args.a)[i] + (sum > 40 ? 1 : 0);
}
