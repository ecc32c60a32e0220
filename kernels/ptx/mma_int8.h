/* mma.sync of 8-bit integers (sm_80 and later): acc (16 x 8, s32) += A (16 x 32) * B (32 x 8), A and B each s8 or u8.
 *
 * With g = lane / 4 and t = lane % 4 a lane holds, four bytes to a register, the first in the lowest:
 *
 *   acc[4]           (g, 2t) (g, 2t + 1) (g + 8, 2t) (g + 8, 2t + 1)
 *   a[4]             (g, 4t..4t+3) | (g + 8, 4t..4t+3) | (g, 4t+16..4t+19) | (g + 8, 4t+16..4t+19)
 *   b[2]             (4t..4t+3, g) | (4t+16..4t+19, g)
 *
 * PTX ISA, "Matrix fragments for mma.m16n8k32". Sums are exact and wrap modulo 2^32. */
#ifndef TSR_PTX_MMA_INT8_H
#define TSR_PTX_MMA_INT8_H

#include "ptx/language.h"
#include "ptx/warp.h"

#if TSR_EMU
/* A lane's registers, as they are given. */
typedef struct tsr_emu_mma_int8 {
    unsigned a[4], b[2];
    int *acc;
    int second_a, second_b; /* u8 */
} tsr_emu_mma_int8;

/* Notes what the lane's code has read: the note itself is no access of the kernel's. */
static __attribute__((no_sanitize("thread"), noinline, unused)) void
tsr_emu_mma_int8_note(tsr_emu_mma_int8 *own, const unsigned a[4], const unsigned b[2], int *acc, int second_a,
                      int second_b)
{
    *own = (tsr_emu_mma_int8){{a[0], a[1], a[2], a[3]}, {b[0], b[1]}, acc, second_a, second_b};
}

TSR_DEVICE float tsr_emu_mma_int8_element(unsigned bits, int i, int is_unsigned)
{
    const unsigned byte = bits >> 8 * i & 0xff;
    return is_unsigned ? (float)byte : (float)(signed char)byte;
}

TSR_EMU_TOGETHER const char *tsr_emu_mma_int8_lanes(void *const lanes[32], unsigned mask)
{
    if (mask != 0xffffffffu)
        return "mma.sync needs all 32 lanes";
    const tsr_emu_mma_int8 *const any = (const tsr_emu_mma_int8 *)lanes[0];
    float a[16 * 32], b[32 * 8], sum[16 * 8];
    for (int lane = 0; lane < 32; lane++) {
        const tsr_emu_mma_int8 *const own = (const tsr_emu_mma_int8 *)lanes[lane];
        const int g = lane / 4, t = lane % 4;
        for (int i = 0; i < 16; i++)
            a[(g + i / 4 % 2 * 8) * 32 + i / 8 * 16 + 4 * t + i % 4] =
                tsr_emu_mma_int8_element(own->a[i / 4], i % 4, any->second_a);
        for (int i = 0; i < 8; i++)
            b[(i / 4 * 16 + 4 * t + i % 4) * 8 + g] = tsr_emu_mma_int8_element(own->b[i / 4], i % 4, any->second_b);
        for (int i = 0; i < 4; i++)
            sum[(g + i / 2 * 8) * 8 + 2 * t + i % 2] = tsr_f32_of_bits((unsigned)own->acc[i]);
    }
    tsr_emu_tensor(sum, a, b, 16, 8, 32, TSR_EMU_S8);
    for (int lane = 0; lane < 32; lane++)
        for (int i = 0; i < 4; i++)
            ((const tsr_emu_mma_int8 *)lanes[lane])->acc[i] =
                (int)tsr_bits_of_f32(sum[(lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2]);
    return 0;
}
#else
#define TSR_MMA_INT8(types)                                                                                           \
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32." types ".s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, " \
                 "{%0, %1, %2, %3};"                                                                                  \
                 : "+r"(acc[0]), "+r"(acc[1]), "+r"(acc[2]), "+r"(acc[3])                                             \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
#endif

/* mma.sync.aligned.m16n8k32.row.col.s32, each operand u8 if `second_`, a constant, else s8 */
TSR_DEVICE void tsr_mma_int8(int acc[4], const unsigned a[4], const unsigned b[2], int second_a, int second_b)
{
#if TSR_EMU
    tsr_emu_mma_int8 own;
    tsr_emu_mma_int8_note(&own, a, b, acc, second_a, second_b);
    tsr_emu_tensor_flops(2 * 16 * 8 * 32);
    tsr_emu_warp(0xffffffffu, tsr_emu_mma_int8_lanes, &own);
#else
    if (second_a && second_b)
        TSR_MMA_INT8("u8.u8");
    else if (second_a)
        TSR_MMA_INT8("u8.s8");
    else if (second_b)
        TSR_MMA_INT8("s8.u8");
    else
        TSR_MMA_INT8("s8.s8");
#endif
}

#endif
