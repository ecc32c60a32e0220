/* D (16 x 8, s32) = A (16 x 32) * B (32 x 8) + C by one mma.sync of 8-bit integers, operands through registers by the
 * documented layout. A, or B, is u8 with SECOND_A, SECOND_B. One warp. */
#include "ptx/mma_int8.h"

TSR_KERNEL(32)
{
    const int lane = (int)threadIdx.x, g = lane / 4, t = lane % 4;
    const unsigned char *const a = (const unsigned char *)args.a, *const b = (const unsigned char *)args.b;
    unsigned ra[4] = {0, 0, 0, 0}, rb[2] = {0, 0};
    int acc[4];
    for (int i = 0; i < 4; i++)
        for (int e = 0; e < 4; e++)
            ra[i] |= (unsigned)a[(g + i % 2 * 8) * args.lda + 4 * t + i / 2 * 16 + e] << 8 * e;
    for (int i = 0; i < 2; i++)
        for (int e = 0; e < 4; e++)
            rb[i] |= (unsigned)b[(4 * t + i * 16 + e) * args.ldb + g] << 8 * e;
    for (int i = 0; i < 4; i++)
        acc[i] = ((const int *)args.c)[(g + i / 2 * 8) * args.ldc + 2 * t + i % 2];
    tsr_mma_int8(acc, ra, rb, SECOND_A, SECOND_B);
    for (int i = 0; i < 4; i++)
        ((int *)args.d)[(g + i / 2 * 8) * args.ldd + 2 * t + i % 2] = acc[i];
}
