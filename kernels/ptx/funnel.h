/* Words that straddle two registers. */
#ifndef TSR_PTX_FUNNEL_H
#define TSR_PTX_FUNNEL_H

#include "ptx/language.h"

/* shf.r.wrap.b32: the lower 32 bits of high:low shifted right by `bits`, 0 to 31. */
TSR_DEVICE unsigned tsr_funnel_right(unsigned low, unsigned high, unsigned bits)
{
#if TSR_EMU
    return (unsigned)(((unsigned long long)high << 32 | low) >> bits);
#else
    unsigned result;
    asm("shf.r.wrap.b32 %0, %1, %2, %3;" : "=r"(result) : "r"(low), "r"(high), "r"(bits));
    return result;
#endif
}

#endif
