/* Pairs of 16-bit floats in one register, the first in the low half. Kernels hold 16-bit elements as integers. */
#ifndef TSR_PTX_CONVERT_H
#define TSR_PTX_CONVERT_H

#include "ptx/language.h"

#if TSR_EMU
/* Round to nearest, ties to even, as cvt.rn does; NaN becomes the canonical NaN. */
TSR_DEVICE unsigned tsr_bf16_bits(float value)
{
    unsigned bits;
    __builtin_memcpy(&bits, &value, 4);
    if (value != value)
        return 0x7fff;
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
TSR_DEVICE unsigned tsr_f16_bits(float value)
{
    const _Float16 half = (_Float16)value;
    unsigned short bits;
    __builtin_memcpy(&bits, &half, 2);
    return value != value ? 0x7fff : bits;
}
TSR_DEVICE float tsr_f16_value(unsigned bits)
{
    const unsigned short low = (unsigned short)bits;
    _Float16 half;
    __builtin_memcpy(&half, &low, 2);
    return (float)half;
}
#endif

/* cvt.rn.bf16x2.f32: sm_80. */
TSR_DEVICE unsigned tsr_pack_bf16(float low, float high)
{
#if TSR_EMU
    return tsr_bf16_bits(low) | tsr_bf16_bits(high) << 16;
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
    return tsr_f16_bits(low) | tsr_f16_bits(high) << 16;
#else
    unsigned pair;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
#endif
}

/* The halves of a pair as f32, exactly. A bf16 is the upper half of an f32. */
TSR_DEVICE void tsr_unpack_bf16(unsigned pair, float *low, float *high)
{
#if TSR_EMU
    const unsigned low_bits = pair << 16, high_bits = pair & 0xffff0000u;
    __builtin_memcpy(low, &low_bits, 4);
    __builtin_memcpy(high, &high_bits, 4);
#else
    *low = __uint_as_float(pair << 16);
    *high = __uint_as_float(pair & 0xffff0000u);
#endif
}

TSR_DEVICE void tsr_unpack_f16(unsigned pair, float *low, float *high)
{
#if TSR_EMU
    *low = tsr_f16_value(pair);
    *high = tsr_f16_value(pair >> 16);
#else
    asm("{\n.reg .b16 l, h;\nmov.b32 {l, h}, %2;\ncvt.f32.f16 %0, l;\ncvt.f32.f16 %1, h;\n}"
        : "=f"(*low), "=f"(*high)
        : "r"(pair));
#endif
}

#endif
