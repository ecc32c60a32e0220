/* Loads of what is read once: the caches let go of it first, and keep what others will read again. */
#ifndef TSR_PTX_LOAD_ONCE_H
#define TSR_PTX_LOAD_ONCE_H

#include "ptx/vector.h"

/* ld.global.cs.v4.u32: `address` is a multiple of 16 bytes of global memory. */
TSR_DEVICE tsr_u32x4 tsr_load_once_u32x4(const unsigned *address)
{
#if TSR_EMU
    return *(const tsr_u32x4 *)address;
#else
    tsr_u32x4 value;
    asm("ld.global.cs.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
        : "l"(address));
    return value;
#endif
}

#endif
