/* D = A (512 f32) by three warp groups, one of which gives registers to the others. Planted: 1 a number that is no
 * multiple of 8, 2 warps that disagree, 3 more than the CTA is launched with, 4 a lowering to more than before. */
#include "ptx/tma.h"
#include "ptx/warpgroup.h"

TSR_KERNEL_TMA(384, 1)
{
    const int x = (int)threadIdx.x, group = x / 128;
    (void)maps;
    if (group == 0) {
        if (PLANTED == 1)
            tsr_registers_lower(42); /* planted */
        else if (PLANTED == 2 && x >= 64)
            tsr_registers_lower(32); /* planted */
        else if (PLANTED == 3)
            tsr_registers_lower(48); /* planted */
        else
            tsr_registers_lower(40); /* planted 2 */
        if (PLANTED == 4)
            tsr_registers_lower(104); /* planted */
        else if (PLANTED == 0)
            tsr_registers_lower(24);
    } else {
        tsr_registers_raise(232); /* planted */
    }
    for (int i = x; i < 512; i += 384)
        ((float *)args.d)[i] = ((const float *)args.a)[i];
}
