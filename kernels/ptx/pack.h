/* Pairs of 16-bit floats in one register, the first in the low half. Kernels hold 16-bit elements as integers. */
#ifndef TSR_PTX_PACK_H
#define TSR_PTX_PACK_H

#include "ptx/convert.h"

/* cvt.rn.bf16x2.f32: sm_80. */
TSR_DEVICE unsigned tsr_pack_bf16(float low, float high)
{
#if TSR_EMU
    return tsr_narrow_bf16(low) | (unsigned)tsr_narrow_bf16(high) << 16;
#else
    unsigned pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
#endif
}

/* cvt.rn.f16x2.f32: sm_80. */
TSR_DEVICE unsigned tsr_pack_f16(float low, float high)
{
#if TSR_EMU
    return tsr_narrow_f16(low) | (unsigned)tsr_narrow_f16(high) << 16;
#else
    unsigned pair;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
#endif
}

/* The halves of a pair as f32, exactly. A bf16 is the upper half of an f32. */
TSR_DEVICE void tsr_unpack_bf16(unsigned pair, float *low, float *high)
{
    *low = tsr_widen_bf16((unsigned short)pair);
    *high = tsr_widen_bf16((unsigned short)(pair >> 16));
}

TSR_DEVICE void tsr_unpack_f16(unsigned pair, float *low, float *high)
{
#if TSR_EMU
    *low = tsr_widen_f16((unsigned short)pair);
    *high = tsr_widen_f16((unsigned short)(pair >> 16));
#else
    asm("{\n.reg .b16 l, h;\nmov.b32 {l, h}, %2;\ncvt.f32.f16 %0, l;\ncvt.f32.f16 %1, h;\n}"
        : "=f"(*low), "=f"(*high)
        : "r"(pair));
#endif
}

#endif
