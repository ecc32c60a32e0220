/* Further forms of wgmma: other element types, A in registers, operands with any swizzle. The kernel defines
 * TSR_WGMMA_N and TSR_WGMMA_TYPES as for ptx/wgmma.h; K is 32 bytes of elements:
 *
 *   "f32.bf16.bf16" "f32.f16.f16"                          K = 16   tsr_wgmma, tsr_wgmma_register_a
 *   "f32.tf32.tf32"                                        K = 8    tsr_wgmma_k_major, tsr_wgmma_register_a_k_major
 *   "f32.A.B", A and B each e4m3 or e5m2                   K = 32   the same
 *   "s32.A.B", A and B each s8 or u8; N 8, 24, 16 x        K = 32   tsr_wgmma_integer, tsr_wgmma_integer_register_a
 *
 * Only 16-bit operands may be MN-major. A in registers: with w the warp in its group, l the lane, a[j] has the 4 bytes
 * of row 16 w + l / 4 + 8 (j % 2) that start at byte 4 (l % 4) + 16 (j / 2) of the row's 32; like accumulators, they
 * must not be touched between the product and the wait. PTX ISA, "wgmma.mma_async". sm_90a. */
#ifndef TSR_PTX_WGMMA_FORMS_H
#define TSR_PTX_WGMMA_FORMS_H

#ifndef TSR_WGMMA_ELEMENT_BYTES
#define TSR_WGMMA_ELEMENT_BYTES 2
#endif

#include "ptx/wgmma.h"

#if TSR_WGMMA_ELEMENT_BYTES == 1
#define TSR_WGMMA_NAME "wgmma.mma_async.sync.aligned." TSR_WGMMA_SHAPE "32." TSR_WGMMA_TYPES
#elif TSR_WGMMA_ELEMENT_BYTES == 2
#define TSR_WGMMA_NAME "wgmma.mma_async.sync.aligned." TSR_WGMMA_SHAPE "16." TSR_WGMMA_TYPES
#elif TSR_WGMMA_ELEMENT_BYTES == 4
#define TSR_WGMMA_NAME "wgmma.mma_async.sync.aligned." TSR_WGMMA_SHAPE "8." TSR_WGMMA_TYPES
#else
#error "TSR_WGMMA_ELEMENT_BYTES is 1, 2 or 4"
#endif

/* A matrix descriptor for any swizzle: `row_bytes` 128, 64 or 32, or 16 for none (PTX ISA, "Matrix descriptor" and
 * "Strides"). `address` is a multiple of 16, and with a swizzle its pattern of 8 rows starts at a multiple of 8
 * row_bytes.
 *   K-major: 8 rows of M or N, row_bytes apart, then `stride_bytes` to the next 8. Without a swizzle, 16 bytes along K
 *     and then `leading_bytes` to the next 16.
 *   MN-major: row_bytes along M or N, 8 rows of K, `stride_bytes` to the next 8, `leading_bytes` to the next row_bytes
 *     along M or N. Without a swizzle the two strides change their parts. */
TSR_DEVICE unsigned long long tsr_wgmma_descriptor_of(unsigned address, unsigned leading_bytes, unsigned stride_bytes,
                                                      unsigned row_bytes)
{
    const unsigned long long swizzle = row_bytes == 128 ? 1 : row_bytes == 64 ? 2 : row_bytes == 32 ? 3 : 0;
    return swizzle << 62 | (unsigned long long)(stride_bytes / 16) << 32 |
           (unsigned long long)(leading_bytes / 16) << 16 | (address & 0x3ffff) / 16;
}

/* d = A * B, plus d if `accumulate`; both operands K-major, of 8- or 32-bit floats. */
TSR_DEVICE void tsr_wgmma_k_major(float d[TSR_WGMMA_REGISTERS], unsigned long long a, unsigned long long b,
                                  int accumulate)
{
#if TSR_EMU
    tsr_emu_wgmma(d, TSR_WGMMA_N, TSR_WGMMA_TYPES, a, b, accumulate, 0, 0);
#else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " TSR_WGMMA_P2 ", 0;\n" TSR_WGMMA_NAME " " TSR_WGMMA_LIST
                 ", " TSR_WGMMA_P0 ", " TSR_WGMMA_P1 ", p, 1, 1;\n}"
                 : TSR_WGMMA_OPERANDS(d)
                 : "l"(a), "l"(b), "r"(accumulate));
#endif
}

/* The same for 8-bit integers; sums wrap. */
TSR_DEVICE void tsr_wgmma_integer(int d[TSR_WGMMA_REGISTERS], unsigned long long a, unsigned long long b,
                                  int accumulate)
{
#if TSR_EMU
    tsr_emu_wgmma((float *)d, TSR_WGMMA_N, TSR_WGMMA_TYPES, a, b, accumulate, 0, 0);
#else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " TSR_WGMMA_P2 ", 0;\n" TSR_WGMMA_NAME " " TSR_WGMMA_LIST
                 ", " TSR_WGMMA_P0 ", " TSR_WGMMA_P1 ", p;\n}"
                 : TSR_WGMMA_INTEGER_OPERANDS(d)
                 : "l"(a), "l"(b), "r"(accumulate));
#endif
}

/* 16-bit A from registers; mn_major_b is a constant. */
TSR_DEVICE void tsr_wgmma_register_a(float d[TSR_WGMMA_REGISTERS], const unsigned a[4], unsigned long long b,
                                     int accumulate, int mn_major_b)
{
#if TSR_EMU
    tsr_emu_wgmma_register_a(d, TSR_WGMMA_N, TSR_WGMMA_TYPES, a, b, accumulate, mn_major_b);
#else
#define TSR_WGMMA_ASM(major_b)                                                                               \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " TSR_WGMMA_P5 ", 0;\n" TSR_WGMMA_NAME " " TSR_WGMMA_LIST \
                 ", {" TSR_WGMMA_P0 ", " TSR_WGMMA_P1 ", " TSR_WGMMA_P2 ", " TSR_WGMMA_P3 "}, " TSR_WGMMA_P4 \
                 ", p, 1, 1, " major_b ";\n}"                                                                \
                 : TSR_WGMMA_OPERANDS(d)                                                                     \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate))
    if (mn_major_b)
        TSR_WGMMA_ASM("1");
    else
        TSR_WGMMA_ASM("0");
#undef TSR_WGMMA_ASM
#endif
}

/* 8- or 32-bit floats, A from registers. */
TSR_DEVICE void tsr_wgmma_register_a_k_major(float d[TSR_WGMMA_REGISTERS], const unsigned a[4], unsigned long long b,
                                             int accumulate)
{
#if TSR_EMU
    tsr_emu_wgmma_register_a(d, TSR_WGMMA_N, TSR_WGMMA_TYPES, a, b, accumulate, 0);
#else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " TSR_WGMMA_P5 ", 0;\n" TSR_WGMMA_NAME " " TSR_WGMMA_LIST
                 ", {" TSR_WGMMA_P0 ", " TSR_WGMMA_P1 ", " TSR_WGMMA_P2 ", " TSR_WGMMA_P3 "}, " TSR_WGMMA_P4
                 ", p, 1, 1;\n}"
                 : TSR_WGMMA_OPERANDS(d)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate));
#endif
}

/* 8-bit integers, A from registers. */
TSR_DEVICE void tsr_wgmma_integer_register_a(int d[TSR_WGMMA_REGISTERS], const unsigned a[4], unsigned long long b,
                                             int accumulate)
{
#if TSR_EMU
    tsr_emu_wgmma_register_a((float *)d, TSR_WGMMA_N, TSR_WGMMA_TYPES, a, b, accumulate, 0);
#else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " TSR_WGMMA_P5 ", 0;\n" TSR_WGMMA_NAME " " TSR_WGMMA_LIST
                 ", {" TSR_WGMMA_P0 ", " TSR_WGMMA_P1 ", " TSR_WGMMA_P2 ", " TSR_WGMMA_P3 "}, " TSR_WGMMA_P4 ", p;\n}"
                 : TSR_WGMMA_INTEGER_OPERANDS(d)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate));
#endif
}

#endif
