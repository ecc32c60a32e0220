/* wgmma for 8-bit operands, each of which may be of either of two types: which one it is, is a constant where these are
 * called. For kernels that define TSR_WGMMA_ELEMENT_BYTES as for ptx/wgmma_forms.h. */
#ifndef TSR_PTX_WGMMA_EIGHT_H
#define TSR_PTX_WGMMA_EIGHT_H

#include "ptx/wgmma_forms.h"

#if TSR_EMU
#define TSR_WGMMA_EIGHT(d, types, operands, more) \
    tsr_emu_wgmma((float *)(d), TSR_WGMMA_N, types, a, b, accumulate, 0, 0)
#else
#define TSR_WGMMA_EIGHT(d, types, operands, more)                                                                 \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " TSR_WGMMA_P2 ", 0;\n"                                        \
                 "wgmma.mma_async.sync.aligned." TSR_WGMMA_SHAPE "32." types " " TSR_WGMMA_LIST ", " TSR_WGMMA_P0 \
                 ", " TSR_WGMMA_P1 ", p" more ";\n}"                                                              \
                 : operands(d)                                                                                    \
                 : "l"(a), "l"(b), "r"(accumulate))
#endif

/* d = A * B, plus d if `accumulate`; K-major. A is e5m2 if `second_a`, else e4m3; B likewise. sm_90a. */
TSR_DEVICE void tsr_wgmma_fp8(float d[TSR_WGMMA_REGISTERS], unsigned long long a, unsigned long long b, int accumulate,
                              int second_a, int second_b)
{
    if (second_a && second_b)
        TSR_WGMMA_EIGHT(d, "f32.e5m2.e5m2", TSR_WGMMA_OPERANDS, ", 1, 1");
    else if (second_a)
        TSR_WGMMA_EIGHT(d, "f32.e5m2.e4m3", TSR_WGMMA_OPERANDS, ", 1, 1");
    else if (second_b)
        TSR_WGMMA_EIGHT(d, "f32.e4m3.e5m2", TSR_WGMMA_OPERANDS, ", 1, 1");
    else
        TSR_WGMMA_EIGHT(d, "f32.e4m3.e4m3", TSR_WGMMA_OPERANDS, ", 1, 1");
}

/* The same for u8 (`second_`) and s8; sums wrap. N is 8, 24 or a multiple of 16. */
TSR_DEVICE void tsr_wgmma_int8(int d[TSR_WGMMA_REGISTERS], unsigned long long a, unsigned long long b, int accumulate,
                               int second_a, int second_b)
{
    if (second_a && second_b)
        TSR_WGMMA_EIGHT(d, "s32.u8.u8", TSR_WGMMA_INTEGER_OPERANDS, "");
    else if (second_a)
        TSR_WGMMA_EIGHT(d, "s32.u8.s8", TSR_WGMMA_INTEGER_OPERANDS, "");
    else if (second_b)
        TSR_WGMMA_EIGHT(d, "s32.s8.u8", TSR_WGMMA_INTEGER_OPERANDS, "");
    else
        TSR_WGMMA_EIGHT(d, "s32.s8.s8", TSR_WGMMA_INTEGER_OPERANDS, "");
}

/* tsr_wgmma_hold for sums in s32. */
TSR_DEVICE void tsr_wgmma_hold_integer(int d[TSR_WGMMA_REGISTERS])
{
#if TSR_EMU
    (void)d;
#else
    asm volatile("" : TSR_WGMMA_INTEGER_OPERANDS(d)::"memory");
#endif
}

#endif
