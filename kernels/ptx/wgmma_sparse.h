/* wgmma.mma_async.sp: wgmma (ptx/wgmma.h) whose A is compressed 2:4 along K, of tf32 1:2. Of a row of A half of K is
 * given, 32 bytes, K-major; B has all of it, 64 bytes: K is 16 for tf32, 32 for 16-bit elements, 64 for 8 bits. The
 * kernel defines TSR_WGMMA_N and TSR_WGMMA_TYPES as for ptx/wgmma.h.
 *
 * Metadata: one register of a thread. Warp w has that of rows 16 w to 16 w + 15, laid out over its lanes as mma.sp's
 * (ptx/mma_sparse.h): lanes 2 * selector + 0 and + 1 of each four give it, with 8 bits all of them. Like A
 * in registers it must not change between the product and the wait. PTX ISA, "wgmma.mma_async.sp". sm_90a. The order in
 * which hardware adds is not known: the twin takes the given products for those of a wgmma with half of K. */
#ifndef TSR_PTX_WGMMA_SPARSE_H
#define TSR_PTX_WGMMA_SPARSE_H

#include "ptx/wgmma.h"
#if TSR_EMU
#include "ptx/emulator_sparse.h"
#endif

#if TSR_EMU
#define TSR_WGMMA_SPARSE(d, k, types, operands, selector, more, mn_major_b) \
    tsr_emu_wgmma_sparse((float *)(d), TSR_WGMMA_N, types, a, b, metadata, (selector)[0] - '0', accumulate, mn_major_b)
#else
#define TSR_WGMMA_SPARSE(d, k, types, operands, selector, more, mn_major_b)                                          \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " TSR_WGMMA_P3 ", 0;\n"                                           \
                 "wgmma.mma_async.sp.sync.aligned." TSR_WGMMA_SHAPE k "." types " " TSR_WGMMA_LIST ", " TSR_WGMMA_P0 \
                 ", " TSR_WGMMA_P1 ", " TSR_WGMMA_P2 ", " selector ", p" more ";\n}"                                 \
                 : operands(d)                                                                                       \
                 : "l"(a), "l"(b), "r"(metadata), "r"(accumulate))
#endif

/* d = A * B, plus d if `accumulate`, of TSR_WGMMA_TYPES with 16 bits; `selector` (0 or 1) and mn_major_b are constants.
 */
TSR_DEVICE void tsr_wgmma_sparse(float d[TSR_WGMMA_REGISTERS], unsigned long long a, unsigned long long b,
                                 unsigned metadata, int selector, int accumulate, int mn_major_b)
{
    if (selector && mn_major_b)
        TSR_WGMMA_SPARSE(d, "32", TSR_WGMMA_TYPES, TSR_WGMMA_OPERANDS, "1", ", 1, 1, 0, 1", 1);
    else if (selector)
        TSR_WGMMA_SPARSE(d, "32", TSR_WGMMA_TYPES, TSR_WGMMA_OPERANDS, "1", ", 1, 1, 0, 0", 0);
    else if (mn_major_b)
        TSR_WGMMA_SPARSE(d, "32", TSR_WGMMA_TYPES, TSR_WGMMA_OPERANDS, "0", ", 1, 1, 0, 1", 1);
    else
        TSR_WGMMA_SPARSE(d, "32", TSR_WGMMA_TYPES, TSR_WGMMA_OPERANDS, "0", ", 1, 1, 0, 0", 0);
}

/* tf32, B K-major; `selector` (0 or 1) is a constant. Lower bits of an f32 are ignored. */
TSR_DEVICE void tsr_wgmma_sparse_tf32(float d[TSR_WGMMA_REGISTERS], unsigned long long a, unsigned long long b,
                                      unsigned metadata, int selector, int accumulate)
{
    if (selector)
        TSR_WGMMA_SPARSE(d, "16", "f32.tf32.tf32", TSR_WGMMA_OPERANDS, "1", ", 1, 1", 0);
    else
        TSR_WGMMA_SPARSE(d, "16", "f32.tf32.tf32", TSR_WGMMA_OPERANDS, "0", ", 1, 1", 0);
}

/* 8-bit floats, B K-major. A is e5m2 if `second_a`, a constant, else e4m3; B likewise. */
TSR_DEVICE void tsr_wgmma_sparse_fp8(float d[TSR_WGMMA_REGISTERS], unsigned long long a, unsigned long long b,
                                     unsigned metadata, int accumulate, int second_a, int second_b)
{
    if (second_a && second_b)
        TSR_WGMMA_SPARSE(d, "64", "f32.e5m2.e5m2", TSR_WGMMA_OPERANDS, "0", ", 1, 1", 0);
    else if (second_a)
        TSR_WGMMA_SPARSE(d, "64", "f32.e5m2.e4m3", TSR_WGMMA_OPERANDS, "0", ", 1, 1", 0);
    else if (second_b)
        TSR_WGMMA_SPARSE(d, "64", "f32.e4m3.e5m2", TSR_WGMMA_OPERANDS, "0", ", 1, 1", 0);
    else
        TSR_WGMMA_SPARSE(d, "64", "f32.e4m3.e4m3", TSR_WGMMA_OPERANDS, "0", ", 1, 1", 0);
}

/* The same for u8 (`second_`) and s8; sums wrap. N is 8, 24 or a multiple of 16. */
TSR_DEVICE void tsr_wgmma_sparse_int8(int d[TSR_WGMMA_REGISTERS], unsigned long long a, unsigned long long b,
                                      unsigned metadata, int accumulate, int second_a, int second_b)
{
    if (second_a && second_b)
        TSR_WGMMA_SPARSE(d, "64", "s32.u8.u8", TSR_WGMMA_INTEGER_OPERANDS, "0", "", 0);
    else if (second_a)
        TSR_WGMMA_SPARSE(d, "64", "s32.u8.s8", TSR_WGMMA_INTEGER_OPERANDS, "0", "", 0);
    else if (second_b)
        TSR_WGMMA_SPARSE(d, "64", "s32.s8.u8", TSR_WGMMA_INTEGER_OPERANDS, "0", "", 0);
    else
        TSR_WGMMA_SPARSE(d, "64", "s32.s8.s8", TSR_WGMMA_INTEGER_OPERANDS, "0", "", 0);
}

#endif
