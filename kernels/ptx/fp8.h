/* 8-bit floats (OCP): e4m3 without infinities, and e5m2. sm_89 and later. */
#ifndef TSR_PTX_FP8_H
#define TSR_PTX_FP8_H

#include "ptx/atomic.h"
#include "ptx/convert.h"

/* Exact. An e5m2 is the upper half of an f16; the bits of an e4m3, moved to where an f16 has them, are 2^8 too small.
 */
TSR_DEVICE float tsr_widen_e5m2(unsigned bits)
{
    return tsr_widen_f16((unsigned short)(bits << 8));
}

TSR_DEVICE float tsr_widen_e4m3(unsigned bits)
{
    if ((bits & 0x7f) == 0x7f)
        return tsr_f32_of_bits(0x7fc00000u);
    return tsr_widen_f16((unsigned short)((bits & 0x80) << 8 | (bits & 0x7f) << 7)) * 256.0f;
}

#if TSR_EMU
/* What both conversions below do, for a format with so many bits of fraction, this bias and this largest finite code.
 */
TSR_DEVICE unsigned tsr_emu_narrow_fp8(float value, unsigned fraction, unsigned bias, unsigned largest)
{
    const unsigned all = tsr_bits_of_f32(value), sign = all >> 24 & 0x80, bits = all & 0x7fffffffu;
    const unsigned dropped = 23 - fraction, lift = (127 - bias) << fraction;
    if (bits > 0x7f800000u)
        return 0x7f;
    if (bits >= (largest + lift) << dropped)
        return sign | largest;
    if (bits < (128 - bias) << 23) {
        /* Subnormal or 0: an addition leaves multiples of the smallest one in the last bits, rounded as required. */
        const unsigned magic = (151 - bias - fraction) << 23;
        return sign | (tsr_bits_of_f32(tsr_f32_of_bits(bits) + tsr_f32_of_bits(magic)) - magic);
    }
    const unsigned rounded = bits + (1u << (dropped - 1)) - 1 + (bits >> dropped & 1);
    return sign | ((rounded >> dropped) - lift);
}
#endif

/* cvt.rn.satfinite.e4m3x2.f32: nearest, ties to even; beyond the range, the largest finite number; NaN is 0x7f. The
 * first value is in the lower byte. */
TSR_DEVICE unsigned tsr_pack_e4m3(float first, float second)
{
#if TSR_EMU
    return tsr_emu_narrow_fp8(first, 3, 7, 0x7e) | tsr_emu_narrow_fp8(second, 3, 7, 0x7e) << 8;
#else
    unsigned short both;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(both) : "f"(second), "f"(first));
    return both;
#endif
}

/* cvt.rn.satfinite.e5m2x2.f32: likewise. */
TSR_DEVICE unsigned tsr_pack_e5m2(float first, float second)
{
#if TSR_EMU
    return tsr_emu_narrow_fp8(first, 2, 15, 0x7b) | tsr_emu_narrow_fp8(second, 2, 15, 0x7b) << 8;
#else
    unsigned short both;
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(both) : "f"(second), "f"(first));
    return both;
#endif
}

/* red.relaxed.gpu.global.max.u32: the word becomes the greater of both. */
TSR_DEVICE void tsr_max_relaxed(unsigned *word, unsigned value)
{
#if TSR_EMU
    unsigned old = tsr_load_acquire(word);
    while (old < value) {
        const unsigned seen = tsr_compare_exchange(word, old, value);
        if (seen == old)
            return;
        old = seen;
    }
#else
    asm volatile("red.relaxed.gpu.global.max.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
#endif
}

#endif
