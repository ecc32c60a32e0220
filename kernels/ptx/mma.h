/* mma.sync (sm_80 and later): a warp multiplies small matrices that lie in its registers. acc (16 x 8) += A (16 x K) *
 * B (K x 8).
 *
 * With g = lane / 4 and t = lane % 4 a lane holds, in this order:
 *
 *   acc[4], f32      (g, 2t) (g, 2t + 1) (g + 8, 2t) (g + 8, 2t + 1)
 *   K = 16, 16-bit, two to a register, the first in the lower half:
 *     a[4]           (g, 2t) (g, 2t+1) | (g+8, 2t) (g+8, 2t+1) | (g, 2t+8) (g, 2t+9) | (g+8, 2t+8) (g+8, 2t+9)
 *     b[2]           (2t, g) (2t+1, g) | (2t+8, g) (2t+9, g)
 *   K = 8, tf32, one to a register, of which the lower 13 bits are ignored:
 *     a[4]           (g, t) | (g + 8, t) | (g, t + 4) | (g + 8, t + 4)
 *     b[2]           (t, g) | (t + 4, g)
 *
 * These are the layouts of the PTX ISA, "Matrix fragments for mma". Products are exact; their sum is cut, not rounded:
 * docs/EMULATOR.md, "Tensor cores". */
#ifndef TSR_PTX_MMA_H
#define TSR_PTX_MMA_H

#include "ptx/convert.h"
#include "ptx/language.h"

#if TSR_EMU
typedef struct tsr_emu_mma {
    float a[8], b[4];
    float *acc;
    int k;
    tsr_emu_format format;
    int to_f16; /* the accumulators are f16, as floats */
} tsr_emu_mma;

/* Element i of a lane's a or b lies at this row or column of A, and at this k. */
TSR_EMU_TOGETHER const char *tsr_emu_mma_lanes(void *const lanes[32], unsigned mask)
{
    if (mask != 0xffffffffu)
        return "mma.sync needs all 32 lanes";
    float a[16 * 16], b[16 * 8], sum[16 * 8];
    const int k = ((const tsr_emu_mma *)lanes[0])->k;
    for (int lane = 0; lane < 32; lane++) {
        const tsr_emu_mma *own = (const tsr_emu_mma *)lanes[lane];
        const int g = lane / 4, t = lane % 4;
        for (int i = 0; i < 8 && k == 16; i++)
            a[(g + i / 2 % 2 * 8) * k + 2 * t + i % 2 + i / 4 * 8] = own->a[i];
        for (int i = 0; i < 4 && k == 16; i++)
            b[(2 * t + i % 2 + i / 2 * 8) * 8 + g] = own->b[i];
        for (int i = 0; i < 4 && k == 8; i++)
            a[(g + i % 2 * 8) * k + t + i / 2 * 4] = own->a[i];
        for (int i = 0; i < 2 && k == 8; i++)
            b[(t + i * 4) * 8 + g] = own->b[i];
        for (int i = 0; i < 4; i++)
            sum[(g + i / 2 * 8) * 8 + 2 * t + i % 2] = own->acc[i];
    }
    if (((const tsr_emu_mma *)lanes[0])->to_f16)
        tsr_emu_tensor_f16(sum, a, b, 16, 8, k, ((const tsr_emu_mma *)lanes[0])->format);
    else
        tsr_emu_tensor(sum, a, b, 16, 8, k, ((const tsr_emu_mma *)lanes[0])->format);
    for (int lane = 0; lane < 32; lane++)
        for (int i = 0; i < 4; i++)
            ((const tsr_emu_mma *)lanes[lane])->acc[i] = sum[(lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2];
    return 0;
}
#endif

/* mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 */
TSR_DEVICE void tsr_mma_bf16(float acc[4], const unsigned a[4], const unsigned b[2])
{
#if TSR_EMU
    tsr_emu_mma own = {.acc = acc, .k = 16, .format = TSR_EMU_BF16};
    for (int i = 0; i < 8; i++)
        own.a[i] = tsr_widen_bf16((unsigned short)(a[i / 2] >> i % 2 * 16));
    for (int i = 0; i < 4; i++)
        own.b[i] = tsr_widen_bf16((unsigned short)(b[i / 2] >> i % 2 * 16));
    tsr_emu_tensor_flops(2 * 16 * 8 * (unsigned)own.k);
    tsr_emu_warp(0xffffffffu, tsr_emu_mma_lanes, &own);
#else
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+f"(acc[0]), "+f"(acc[1]), "+f"(acc[2]), "+f"(acc[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
}

/* mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 */
TSR_DEVICE void tsr_mma_f16(float acc[4], const unsigned a[4], const unsigned b[2])
{
#if TSR_EMU
    tsr_emu_mma own = {.acc = acc, .k = 16, .format = TSR_EMU_F16};
    for (int i = 0; i < 8; i++)
        own.a[i] = tsr_widen_f16((unsigned short)(a[i / 2] >> i % 2 * 16));
    for (int i = 0; i < 4; i++)
        own.b[i] = tsr_widen_f16((unsigned short)(b[i / 2] >> i % 2 * 16));
    tsr_emu_tensor_flops(2 * 16 * 8 * (unsigned)own.k);
    tsr_emu_warp(0xffffffffu, tsr_emu_mma_lanes, &own);
#else
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+f"(acc[0]), "+f"(acc[1]), "+f"(acc[2]), "+f"(acc[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
}

/* mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 */
TSR_DEVICE void tsr_mma_tf32(float acc[4], const unsigned a[4], const unsigned b[2])
{
#if TSR_EMU
    tsr_emu_mma own = {.acc = acc, .k = 8, .format = TSR_EMU_TF32};
    for (int i = 0; i < 4; i++)
        own.a[i] = tsr_f32_of_bits(a[i] & 0xffffe000u);
    for (int i = 0; i < 2; i++)
        own.b[i] = tsr_f32_of_bits(b[i] & 0xffffe000u);
    tsr_emu_tensor_flops(2 * 16 * 8 * (unsigned)own.k);
    tsr_emu_warp(0xffffffffu, tsr_emu_mma_lanes, &own);
#else
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+f"(acc[0]), "+f"(acc[1]), "+f"(acc[2]), "+f"(acc[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
}

/* cvt.rna.tf32.f32: the nearest tf32, ties away from zero, as the bits that mma takes. */
TSR_DEVICE unsigned tsr_narrow_tf32(float value)
{
#if TSR_EMU
    const unsigned bits = tsr_bits_of_f32(value);
    if ((bits & 0x7f800000u) == 0x7f800000u)
        return (bits & 0x7fffffu) ? 0x7fffffffu : bits;
    return (bits + 0x1000u) & 0xffffe000u;
#else
    unsigned result;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(result) : "f"(value));
    return result;
#endif
}

#endif
