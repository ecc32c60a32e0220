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
/* A lane's registers, as they are given. */
typedef struct tsr_emu_mma {
    unsigned a[4], b[2];
    float *acc;
    int k;
    tsr_emu_format format;
    int to_f16; /* the accumulators are f16, as floats */
} tsr_emu_mma;

/* Notes what the lane's code has read: the note itself is no access of the kernel's. */
static __attribute__((no_sanitize("thread"), noinline, unused)) void
tsr_emu_mma_note(tsr_emu_mma *own, unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0, unsigned b1,
                 float *acc, tsr_emu_format format, int to_f16)
{
    *own = (tsr_emu_mma){{a0, a1, a2, a3}, {b0, b1}, acc, format == TSR_EMU_TF32 ? 8 : 16, format, to_f16};
}

/* The two elements of a register. */
TSR_DEVICE void tsr_emu_mma_pair(float *to, int step, unsigned bits, tsr_emu_format format)
{
    const unsigned short first = (unsigned short)bits, second = (unsigned short)(bits >> 16);
    to[0] = format == TSR_EMU_BF16 ? tsr_widen_bf16(first) : tsr_widen_f16(first);
    to[step] = format == TSR_EMU_BF16 ? tsr_widen_bf16(second) : tsr_widen_f16(second);
}

TSR_DEVICE void tsr_emu_mma_gather(void *const lanes[32], tsr_emu_format format, float *a, float *b)
{
    for (int lane = 0; lane < 32; lane++) {
        const tsr_emu_mma *own = (const tsr_emu_mma *)lanes[lane];
        const int g = lane / 4, t = lane % 4;
        float *row = a + g * 16 + 2 * t, *column = b + 2 * t * 8 + g;
        tsr_emu_mma_pair(row, 1, own->a[0], format);
        tsr_emu_mma_pair(row + 8 * 16, 1, own->a[1], format);
        tsr_emu_mma_pair(row + 8, 1, own->a[2], format);
        tsr_emu_mma_pair(row + 8 * 16 + 8, 1, own->a[3], format);
        tsr_emu_mma_pair(column, 8, own->b[0], format);
        tsr_emu_mma_pair(column + 8 * 8, 8, own->b[1], format);
    }
}

TSR_DEVICE void tsr_emu_mma_gather_tf32(void *const lanes[32], float *a, float *b)
{
    for (int lane = 0; lane < 32; lane++) {
        const tsr_emu_mma *own = (const tsr_emu_mma *)lanes[lane];
        const int g = lane / 4, t = lane % 4;
        for (int i = 0; i < 4; i++)
            a[(g + i % 2 * 8) * 8 + t + i / 2 * 4] = tsr_f32_of_bits(own->a[i] & 0xffffe000u);
        for (int i = 0; i < 2; i++)
            b[(t + i * 4) * 8 + g] = tsr_f32_of_bits(own->b[i] & 0xffffe000u);
    }
}

TSR_EMU_TOGETHER const char *tsr_emu_mma_lanes(void *const lanes[32], unsigned mask)
{
    if (mask != 0xffffffffu)
        return "mma.sync needs all 32 lanes";
    float a[16 * 16], b[16 * 8], sum[16 * 8];
    const int k = ((const tsr_emu_mma *)lanes[0])->k;
    const tsr_emu_format format = ((const tsr_emu_mma *)lanes[0])->format;
    if (format == TSR_EMU_BF16)
        tsr_emu_mma_gather(lanes, TSR_EMU_BF16, a, b);
    else if (format == TSR_EMU_F16)
        tsr_emu_mma_gather(lanes, TSR_EMU_F16, a, b);
    else
        tsr_emu_mma_gather_tf32(lanes, a, b);
    for (int lane = 0; lane < 32; lane++) {
        const float *acc = ((const tsr_emu_mma *)lanes[lane])->acc;
        float *row = sum + lane / 4 * 8 + lane % 4 * 2;
        row[0] = acc[0];
        row[1] = acc[1];
        row[8 * 8] = acc[2];
        row[8 * 8 + 1] = acc[3];
    }
    if (((const tsr_emu_mma *)lanes[0])->to_f16)
        tsr_emu_tensor_f16(sum, a, b, 16, 8, k, format);
    else
        tsr_emu_tensor(sum, a, b, 16, 8, k, format);
    for (int lane = 0; lane < 32; lane++) {
        float *acc = ((const tsr_emu_mma *)lanes[lane])->acc;
        const float *row = sum + lane / 4 * 8 + lane % 4 * 2;
        acc[0] = row[0];
        acc[1] = row[1];
        acc[2] = row[8 * 8];
        acc[3] = row[8 * 8 + 1];
    }
    return 0;
}
#endif

/* mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 */
TSR_DEVICE void tsr_mma_bf16(float acc[4], const unsigned a[4], const unsigned b[2])
{
#if TSR_EMU
    tsr_emu_mma own;
    tsr_emu_mma_note(&own, a[0], a[1], a[2], a[3], b[0], b[1], acc, TSR_EMU_BF16, 0);
    tsr_emu_tensor_flops(2 * 16 * 8 * 16);
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
    tsr_emu_mma own;
    tsr_emu_mma_note(&own, a[0], a[1], a[2], a[3], b[0], b[1], acc, TSR_EMU_F16, 0);
    tsr_emu_tensor_flops(2 * 16 * 8 * 16);
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
    tsr_emu_mma own;
    tsr_emu_mma_note(&own, a[0], a[1], a[2], a[3], b[0], b[1], acc, TSR_EMU_TF32, 0);
    tsr_emu_tensor_flops(2 * 16 * 8 * 8);
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
