/* Four bytes of a word at once: dp4a with ones. */
#ifndef TSR_PTX_DOT4_H
#define TSR_PTX_DOT4_H

#include "ptx/language.h"

/* dp4a.s32.s32: the sum of four signed bytes, added to `sum`. */
TSR_DEVICE int tsr_sum4_s8(unsigned bytes, int sum)
{
#if TSR_EMU
    for (int i = 0; i < 4; i++)
        sum += (signed char)(bytes >> 8 * i & 0xff);
    return sum;
#else
    int result;
    asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(result) : "r"(bytes), "r"(0x01010101u), "r"(sum));
    return result;
#endif
}

/* dp4a.u32.u32: likewise of unsigned bytes. */
TSR_DEVICE int tsr_sum4_u8(unsigned bytes, int sum)
{
#if TSR_EMU
    for (int i = 0; i < 4; i++)
        sum += (int)(bytes >> 8 * i & 0xff);
    return sum;
#else
    int result;
    asm("dp4a.u32.u32 %0, %1, %2, %3;" : "=r"(result) : "r"(bytes), "r"(0x01010101u), "r"(sum));
    return result;
#endif
}

#endif
