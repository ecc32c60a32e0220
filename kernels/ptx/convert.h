/* 16-bit floats are unsigned short in kernels; these convert them. Rounding is to nearest, ties to even. */
#ifndef TSR_PTX_CONVERT_H
#define TSR_PTX_CONVERT_H

#include "ptx/language.h"
#include "ptx/warp.h"

/* bf16 is the upper half of a float. */
TSR_DEVICE float tsr_widen_bf16(unsigned short bits)
{
    return tsr_f32_of_bits((unsigned)bits << 16);
}

/* cvt.rn.bf16.f32; NaN becomes the canonical one, 0x7fff. */
TSR_DEVICE unsigned short tsr_narrow_bf16(float value)
{
#if TSR_EMU
    const unsigned bits = tsr_bits_of_f32(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return 0x7fff;
    return (unsigned short)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
#else
    unsigned short result;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(result) : "f"(value));
    return result;
#endif
}

/* cvt.f32.f16: exact. */
TSR_DEVICE float tsr_widen_f16(unsigned short bits)
{
#if TSR_EMU
    const unsigned sign = (unsigned)(bits & 0x8000) << 16, rest = bits & 0x7fff;
    if (rest >= 0x7c00)
        return tsr_f32_of_bits(sign | 0x7f800000u | (rest & 0x3ff) << 13);
    /* 2^112 moves the exponent's bias from 15 to 127, and makes subnormals normal on the way. */
    const float magnitude = tsr_f32_of_bits(rest << 13) * 0x1p112f;
    return tsr_f32_of_bits(sign | tsr_bits_of_f32(magnitude));
#else
    float result;
    asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(bits));
    return result;
#endif
}

/* cvt.rn.f16.f32; beyond 65504 an infinity; NaN becomes the canonical one, 0x7fff. */
TSR_DEVICE unsigned short tsr_narrow_f16(float value)
{
#if TSR_EMU
    const unsigned all = tsr_bits_of_f32(value), sign = all >> 16 & 0x8000, bits = all & 0x7fffffffu;
    if (bits > 0x7f800000u)
        return 0x7fff;
    if (bits >= 0x477ff000u)
        return (unsigned short)(sign | 0x7c00); /* 65520 and more round to infinity */
    if (bits < 0x38800000u) {
        /* Subnormal or 0: an addition leaves multiples of 2^-24 in the last bits, rounded as required. */
        const float shifted = tsr_f32_of_bits(bits) + 0.5f;
        return (unsigned short)(sign | (tsr_bits_of_f32(shifted) - 0x3f000000u));
    }
    const unsigned rounded = bits + 0xfffu + (bits >> 13 & 1);
    return (unsigned short)(sign | ((rounded >> 13) - (112u << 10)));
#else
    unsigned short result;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result) : "f"(value));
    return result;
#endif
}

#endif
