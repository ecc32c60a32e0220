/* No instruction: values that must be in their registers at this place. */
#ifndef TSR_PTX_HOLD_H
#define TSR_PTX_HOLD_H

#include "ptx/language.h"

/* The compiler must have computed all four here, not later: registers that wgmma reads may not be written between its
 * fence and its wait, where the assembler would else wait for each product (tsr_wgmma_register_a). */
TSR_DEVICE void tsr_hold_u32x4(unsigned value[4])
{
#if TSR_EMU
    (void)value;
#else
    asm volatile("" : "+r"(value[0]), "+r"(value[1]), "+r"(value[2]), "+r"(value[3])::"memory");
#endif
}

#endif
