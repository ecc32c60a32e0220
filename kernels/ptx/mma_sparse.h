/* mma.sp::ordered_metadata.sync (sm_80 and later; 8-bit floats sm_89): acc (16 x 8) += A (16 x K) * B (K x 8), of whose
 * A two of each four neighbours along K are given, of tf32 one of each two, and metadata says which. K is 16 for tf32,
 * 32 for 16-bit elements, 64 for 8.
 *
 * With g = lane / 4 and t = lane % 4 a lane holds
 *
 *   acc[4]     as of mma.sync (ptx/mma.h)
 *   a[4]       of the 16 x K/2 elements that are given, as of mma.sync with half the K: 32 bytes of a row
 *   b[4]       of column g, 4 bytes from byte 4t on of each 16: bytes 0, 16, 32, 48 + 4t
 *   metadata   four bits a group of four: the lower two are the first index, the upper two the second, which is higher;
 *              of tf32 four bits a group of two: 0100 if the first is given, 1110 if the second is, the indices of
 *              its halves of 16 bits. It lies as that of 16 bits does, k below standing for those halves.
 *
 *   16 bits: lanes 2 * selector + 0 and + 1 of each four give it   8 bits: all four give it, selector 0
 *     t = 2 sel      row g, k 0-15     | row g + 8, k 0-15            t = 0   row g, k 0-31     t = 2   row g, k 32-63
 *     t = 2 sel + 1  row g, k 16-31    | row g + 8, k 16-31           t = 1   row g + 8, k 0-31 t = 3   row g + 8,
 * 32-63 bits 0-15           bits 16-31                           bits 0-31, eight groups
 *
 * PTX ISA, "Matrix fragments for multiply-accumulate operation with sparse matrix A". The twin's products are those of
 * mma.sync with K / 2: an H100 adds bf16, f16 and s8 in this order; an H200 tf32 and u8 too; e4m3 has not been
 * compared. Elements of B that the metadata does not select are not read. */
#ifndef TSR_PTX_MMA_SPARSE_H
#define TSR_PTX_MMA_SPARSE_H

#include "ptx/convert.h"
#include "ptx/language.h"

#if TSR_EMU
typedef struct tsr_emu_mma_sparse {
    unsigned a[4], b[4], metadata;
    int selector;
    tsr_emu_format format, format_b; /* of A, which decides the arithmetic, and of B */
    float *acc;                      /* of integers the bits of int */
} tsr_emu_mma_sparse;

static __attribute__((no_sanitize("thread"), noinline, unused)) void
tsr_emu_mma_sparse_note(tsr_emu_mma_sparse *own, const unsigned a[4], const unsigned b[4], unsigned metadata,
                        int selector, void *acc, tsr_emu_format format, tsr_emu_format format_b)
{
    for (int i = 0; i < 4; i++) {
        own->a[i] = a[i];
        own->b[i] = b[i];
    }
    own->metadata = metadata;
    own->selector = selector;
    own->format = format;
    own->format_b = format_b;
    own->acc = (float *)acc;
}

/* Finite e4m3 numbers are whole multiples of 2^-9. */
TSR_DEVICE float tsr_emu_widen_e4m3(unsigned bits)
{
    const unsigned exponent = bits >> 3 & 15, fraction = bits & 7;
    const unsigned ninths = exponent ? (8 + fraction) << (exponent - 1) : fraction;
    const float magnitude = (bits & 0x7f) == 0x7f ? tsr_f32_of_bits(0x7fc00000u) : (float)ninths * 0x1p-9f;
    return bits & 0x80 ? -magnitude : magnitude;
}

/* Element i of a register. */
TSR_DEVICE float tsr_emu_mma_sparse_element(unsigned bits, int i, tsr_emu_format format)
{
    const unsigned byte = bits >> (8 * (i & 3)) & 0xff;
    const unsigned short half = (unsigned short)(bits >> (16 * (i & 1)));
    switch (format) {
    case TSR_EMU_BF16:
        return tsr_widen_bf16(half);
    case TSR_EMU_F16:
        return tsr_widen_f16(half);
    case TSR_EMU_TF32:
        return tsr_f32_of_bits(bits & 0xffffe000u);
    case TSR_EMU_S8:
        return (float)(signed char)byte;
    case TSR_EMU_U8:
        return (float)byte;
    default:
        return tsr_emu_widen_e4m3(byte);
    }
}

/* Elements of a register. */
TSR_DEVICE int tsr_emu_mma_sparse_each(tsr_emu_format format)
{
    return format == TSR_EMU_TF32 ? 1 : format == TSR_EMU_BF16 || format == TSR_EMU_F16 ? 2 : 4;
}

/* The four bits of group `group` along K in row `row`. */
TSR_DEVICE unsigned tsr_emu_mma_sparse_indices(void *const lanes[32], int row, int group, int is_byte, int selector)
{
    const int g = row % 8, is_low = row < 8;
    const int t = is_byte ? !is_low + group / 8 * 2 : 2 * selector + group / 4;
    const unsigned word = ((const tsr_emu_mma_sparse *)lanes[4 * g + t])->metadata;
    return word >> (is_byte ? group % 8 * 4 : (is_low ? 0 : 16) + group % 4 * 4) & 15;
}

/* A's row as it is given, and of each column of B the elements that its metadata selects. */
TSR_DEVICE const char *tsr_emu_mma_sparse_row(void *const lanes[32], int row, int each, float *a, float *b)
{
    const tsr_emu_mma_sparse *const any = (const tsr_emu_mma_sparse *)lanes[0];
    for (int i = 0; i < 8 * each; i++) {
        const int t = i / each % 4, half = i / (4 * each);
        const tsr_emu_mma_sparse *const own = (const tsr_emu_mma_sparse *)lanes[row % 8 * 4 + t];
        const unsigned indices =
            tsr_emu_mma_sparse_indices(lanes, row, each == 1 ? i : i / 2, each == 4, any->selector);
        if ((indices & 3) >= indices >> 2)
            return "mma.sp: the two indices of a group of metadata do not ascend";
        if (each == 1 && indices != 4 && indices != 14)
            return "mma.sp: metadata of tf32 is neither 0100 nor 1110";
        const int k = each == 1 ? 2 * i + (indices == 14) : i / 2 * 4 + (int)(indices >> (2 * (i & 1)) & 3);
        a[i] = tsr_emu_mma_sparse_element(own->a[half * 2 + row / 8], i % each, any->format);
        for (int column = 0; column < 8; column++) {
            const tsr_emu_mma_sparse *const of = (const tsr_emu_mma_sparse *)lanes[column * 4 + k / each % 4];
            b[i * 8 + column] = tsr_emu_mma_sparse_element(of->b[k / (4 * each)], k % each, any->format_b);
        }
    }
    return 0;
}

TSR_EMU_TOGETHER const char *tsr_emu_mma_sparse_lanes(void *const lanes[32], unsigned mask)
{
    if (mask != 0xffffffffu)
        return "mma.sp needs all 32 lanes";
    const tsr_emu_mma_sparse *const any = (const tsr_emu_mma_sparse *)lanes[0];
    const int each = tsr_emu_mma_sparse_each(any->format);
    for (int row = 0; row < 16; row++) {
        float a[32], b[32 * 8], sum[8];
        const char *const fault = tsr_emu_mma_sparse_row(lanes, row, each, a, b);
        if (fault)
            return fault;
        for (int column = 0; column < 8; column++)
            sum[column] = ((const tsr_emu_mma_sparse *)lanes[row % 8 * 4 + column / 2])->acc[row / 8 * 2 + column % 2];
        tsr_emu_tensor(sum, a, b, 1, 8, 8 * each, any->format);
        for (int column = 0; column < 8; column++)
            ((const tsr_emu_mma_sparse *)lanes[row % 8 * 4 + column / 2])->acc[row / 8 * 2 + column % 2] = sum[column];
    }
    return 0;
}

TSR_DEVICE void tsr_emu_mma_sparse_any(void *acc, const unsigned a[4], const unsigned b[4], unsigned metadata,
                                       int selector, tsr_emu_format format, tsr_emu_format format_b)
{
    tsr_emu_mma_sparse own;
    tsr_emu_mma_sparse_note(&own, a, b, metadata, selector, acc, format, format_b);
    tsr_emu_tensor_flops(2 * 16 * 8 * 8 * tsr_emu_mma_sparse_each(format));
    tsr_emu_warp(0xffffffffu, tsr_emu_mma_sparse_lanes, &own);
}
#else
#define TSR_MMA_SPARSE(shape_types, constraint, selector)                                                         \
    asm volatile("mma.sp::ordered_metadata.sync.aligned." shape_types " {%0, %1, %2, %3}, {%4, %5, %6, %7}, "     \
                 "{%8, %9, %10, %11}, {%0, %1, %2, %3}, %12, " selector ";"                                       \
                 : "+" constraint(acc[0]), "+" constraint(acc[1]), "+" constraint(acc[2]), "+" constraint(acc[3]) \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]),        \
                   "r"(metadata))
#endif

/* mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.bf16.bf16.f32; `selector` is a constant, 0 or 1 */
TSR_DEVICE void tsr_mma_sparse_bf16(float acc[4], const unsigned a[4], const unsigned b[4], unsigned metadata,
                                    int selector)
{
#if TSR_EMU
    tsr_emu_mma_sparse_any(acc, a, b, metadata, selector, TSR_EMU_BF16, TSR_EMU_BF16);
#else
    if (selector == 0)
        TSR_MMA_SPARSE("m16n8k32.row.col.f32.bf16.bf16.f32", "f", "0x0");
    else
        TSR_MMA_SPARSE("m16n8k32.row.col.f32.bf16.bf16.f32", "f", "0x1");
#endif
}

/* mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32, likewise */
TSR_DEVICE void tsr_mma_sparse_f16(float acc[4], const unsigned a[4], const unsigned b[4], unsigned metadata,
                                   int selector)
{
#if TSR_EMU
    tsr_emu_mma_sparse_any(acc, a, b, metadata, selector, TSR_EMU_F16, TSR_EMU_F16);
#else
    if (selector == 0)
        TSR_MMA_SPARSE("m16n8k32.row.col.f32.f16.f16.f32", "f", "0x0");
    else
        TSR_MMA_SPARSE("m16n8k32.row.col.f32.f16.f16.f32", "f", "0x1");
#endif
}

/* mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32, likewise; of each register the lower 13
 * bits are ignored */
TSR_DEVICE void tsr_mma_sparse_tf32(float acc[4], const unsigned a[4], const unsigned b[4], unsigned metadata,
                                    int selector)
{
#if TSR_EMU
    tsr_emu_mma_sparse_any(acc, a, b, metadata, selector, TSR_EMU_TF32, TSR_EMU_TF32);
#else
    if (selector == 0)
        TSR_MMA_SPARSE("m16n8k16.row.col.f32.tf32.tf32.f32", "f", "0x0");
    else
        TSR_MMA_SPARSE("m16n8k16.row.col.f32.tf32.tf32.f32", "f", "0x1");
#endif
}

/* mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32, each operand u8 if `second_`, a constant, else s8;
 * selector 0, sums wrap */
TSR_DEVICE void tsr_mma_sparse_int8(int acc[4], const unsigned a[4], const unsigned b[4], unsigned metadata,
                                    int second_a, int second_b)
{
#if TSR_EMU
    tsr_emu_mma_sparse_any(acc, a, b, metadata, 0, second_a ? TSR_EMU_U8 : TSR_EMU_S8,
                           second_b ? TSR_EMU_U8 : TSR_EMU_S8);
#else
    if (second_a && second_b)
        TSR_MMA_SPARSE("m16n8k64.row.col.s32.u8.u8.s32", "r", "0x0");
    else if (second_a)
        TSR_MMA_SPARSE("m16n8k64.row.col.s32.u8.s8.s32", "r", "0x0");
    else if (second_b)
        TSR_MMA_SPARSE("m16n8k64.row.col.s32.s8.u8.s32", "r", "0x0");
    else
        TSR_MMA_SPARSE("m16n8k64.row.col.s32.s8.s8.s32", "r", "0x0");
#endif
}

/* mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.f32.e4m3.e4m3.f32; selector 0. sm_89. */
TSR_DEVICE void tsr_mma_sparse_e4m3(float acc[4], const unsigned a[4], const unsigned b[4], unsigned metadata)
{
#if TSR_EMU
    tsr_emu_mma_sparse_any(acc, a, b, metadata, 0, TSR_EMU_E4M3, TSR_EMU_E4M3);
#else
    TSR_MMA_SPARSE("m16n8k64.row.col.f32.e4m3.e4m3.f32", "f", "0x0");
#endif
}

#endif
