/* mma.sync with accumulators of f16 (sm_80 and later): acc (16 x 8) += A (16 x 16) * B (16 x 8). A and B lie as
 * ptx/mma.h says; with g = lane / 4 and t = lane % 4 a lane's two accumulator registers hold two f16 each, the first in
 * the lower half:
 *
 *   acc[2]           (g, 2t) (g, 2t + 1) | (g + 8, 2t) (g + 8, 2t + 1)
 *
 * PTX ISA, "Matrix fragments for mma.m16n8k16 with floating point type". The exact sum of one instruction is rounded to
 * nearest: docs/EMULATOR.md, "Tensor cores". */
#ifndef TSR_PTX_MMA_F16_H
#define TSR_PTX_MMA_F16_H

#include "ptx/mma.h"

/* mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 */
TSR_DEVICE void tsr_mma_f16_f16(unsigned acc[2], const unsigned a[4], const unsigned b[2])
{
#if TSR_EMU
    float sum[4];
    tsr_emu_mma own;
    tsr_emu_mma_note(&own, a[0], a[1], a[2], a[3], b[0], b[1], sum, TSR_EMU_F16, 1);
    for (int i = 0; i < 4; i++)
        sum[i] = tsr_widen_f16((unsigned short)(acc[i / 2] >> i % 2 * 16));
    tsr_emu_tensor_flops(2 * 16 * 8 * 16);
    tsr_emu_warp(0xffffffffu, tsr_emu_mma_lanes, &own);
    for (int i = 0; i < 2; i++)
        acc[i] = tsr_narrow_f16(sum[2 * i]) | (unsigned)tsr_narrow_f16(sum[2 * i + 1]) << 16;
#else
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"
                 : "+r"(acc[0]), "+r"(acc[1])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
}

#endif
