/* D = A (64 x 8 tf32) by a product of a warp group with the unit matrix. Planted: 1 no wgmma.fence, 2 no commit, 3 no
 * wait, 4 ordinary stores of the operands are not fenced for the tensor cores, 5 an operand is changed before the wait,
 * 6 a descriptor is misaligned, 7 one warp does not take part, 8 a descriptor reaches beyond shared memory, 9 warps
 * name different operands, 10 nothing orders the other warps' stores of the operands. */
#define TSR_WGMMA_N             8
#define TSR_WGMMA_TYPES         "f32.tf32.tf32"
#define TSR_WGMMA_ELEMENT_BYTES 4
#include "ptx/barrier.h"
#include "ptx/mbarrier.h"
#include "ptx/tma.h"
#include "ptx/wgmma_forms.h"

enum { RIGHT = 2048 };

TSR_KERNEL_TMA(128, 1)
{
    const unsigned base = tsr_shared_address(TSR_SHARED);
    const int x = (int)threadIdx.x, row = x / 32 * 16 + x % 32 / 4, column = x % 4 * 2;
    float *const shared = (float *)TSR_SHARED, *const d = (float *)args.d;
    float acc[4] = {0};
    (void)maps;
    /* No swizzle: 8 rows of 16 bytes, the next 16 bytes along K 128 bytes on, the next 8 rows 256. */
    for (int i = x; i < 512; i += 128)
        shared[i / 64 * 64 + i % 8 / 4 * 32 + i / 8 % 8 * 4 + i % 4] = ((const float *)args.a)[i];
    if (x < 64)
        shared[RIGHT / 4 + x % 8 / 4 * 32 + x / 8 * 4 + x % 4] = x / 8 == x % 8 ? 1 : 0;
    if (PLANTED != 4)
        tsr_fence_async_shared();
    if (PLANTED != 10)
        tsr_barrier();
    const unsigned long long left = PLANTED == 6 ? tsr_wgmma_descriptor_of(base + 512, 128, 256, 128)
                                                 : tsr_wgmma_descriptor_of(base + (PLANTED == 8              ? 8192
                                                                                   : PLANTED == 9 && x >= 96 ? 16
                                                                                                             : 0),
                                                                           128, 256, 16);
    const unsigned long long right = tsr_wgmma_descriptor_of(base + RIGHT, 128, 256, 16);
    if (PLANTED != 1)
        tsr_wgmma_fence();
    if (PLANTED != 7 || x < 96) {
        tsr_wgmma_k_major(acc, left, right, 0); /* planted */
        if (PLANTED != 2)
            tsr_wgmma_commit();
        if (PLANTED == 5)
            shared[x ^ 1] = 0;
        if (PLANTED != 3)
            tsr_wgmma_wait(0); /* planted 7 */
    }
    for (int i = 0; i < 4; i++)
        d[(row + i / 2 * 8) * 8 + column + i % 2] = acc[i];
}
