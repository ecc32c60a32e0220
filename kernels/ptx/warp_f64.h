/* What a warp's lanes exchange in f64: a value is two words. */
#ifndef TSR_PTX_WARP_F64_H
#define TSR_PTX_WARP_F64_H

#include "ptx/warp.h"

/* shfl.sync.bfly.b32 of both halves: the value of the lane whose number differs from ours by the bits of `flip`. */
TSR_DEVICE double tsr_shuffle_xor_f64(unsigned mask, double value, unsigned flip)
{
#if TSR_EMU
    union {
        double value;
        unsigned half[2];
    } both = {.value = value};
    both.half[0] = tsr_shuffle_xor(mask, both.half[0], flip);
    both.half[1] = tsr_shuffle_xor(mask, both.half[1], flip);
    return both.value;
#else
    double result;
    asm volatile("{.reg .b32 low, high;\n"
                 "mov.b64 {low, high}, %1;\n"
                 "shfl.sync.bfly.b32 low, low, %2, 31, %3;\n"
                 "shfl.sync.bfly.b32 high, high, %2, 31, %3;\n"
                 "mov.b64 %0, {low, high};}"
                 : "=d"(result)
                 : "d"(value), "r"(flip), "r"(mask));
    return result;
#endif
}

#endif
