/* Integer instructions on bits. */
#ifndef TSR_PTX_BITS_H
#define TSR_PTX_BITS_H

#include "ptx/language.h"

/* bfind.u32: the place of the highest bit of `value`, which is not 0. */
TSR_DEVICE unsigned tsr_highest_bit(unsigned value)
{
#if TSR_EMU
    return 31 - (unsigned)__builtin_clz(value);
#else
    unsigned bit;
    asm("bfind.u32 %0, %1;" : "=r"(bit) : "r"(value));
    return bit;
#endif
}

#endif
