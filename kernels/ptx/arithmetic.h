/* Arithmetic that must round alike on every GPU and in the emulator. Compilers may fuse or split a plain `a * b + c`;
 * these are never touched. */
#ifndef TSR_PTX_ARITHMETIC_H
#define TSR_PTX_ARITHMETIC_H

#include "ptx/language.h"

/* fma.rn.f32: a * b + c, rounded once. */
TSR_DEVICE float tsr_fma_f32(float a, float b, float c)
{
#if TSR_EMU
    return tsr_emu_fma_f32(a, b, c);
#else
    return __fmaf_rn(a, b, c);
#endif
}

/* fma.rn.f64: a * b + c, rounded once. */
TSR_DEVICE double tsr_fma_f64(double a, double b, double c)
{
#if TSR_EMU
    return tsr_emu_fma_f64(a, b, c);
#else
    return __fma_rn(a, b, c);
#endif
}

/* mul.rn.f32: a * b, never fused with an addition. */
TSR_DEVICE float tsr_mul_f32(float a, float b)
{
#if TSR_EMU
    return a * b;
#else
    return __fmul_rn(a, b);
#endif
}

/* mul.rn.f64: a * b, never fused with an addition. */
TSR_DEVICE double tsr_mul_f64(double a, double b)
{
#if TSR_EMU
    return a * b;
#else
    return __dmul_rn(a, b);
#endif
}

/* add.rn.f32: a + b, never fused with a multiplication. */
TSR_DEVICE float tsr_add_f32(float a, float b)
{
#if TSR_EMU
    return a + b;
#else
    return __fadd_rn(a, b);
#endif
}

/* add.rn.f64: a + b, never fused with a multiplication. */
TSR_DEVICE double tsr_add_f64(double a, double b)
{
#if TSR_EMU
    return a + b;
#else
    return __dadd_rn(a, b);
#endif
}

#endif
