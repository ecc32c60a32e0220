/* 16 bytes at once at 32-bit shared addresses; the loads are in ptx/shared.h. */
#ifndef TSR_PTX_SHARED_WIDE_H
#define TSR_PTX_SHARED_WIDE_H

#include "ptx/shared.h"

/* st.shared.v4.u32: `address` is a multiple of 16. */
TSR_DEVICE void tsr_shared_store_u32x4(unsigned address, const unsigned value[4])
{
#if TSR_EMU
    *(tsr_u32x4_words *)tsr_emu_shared_pointer(address) = (tsr_u32x4_words){value[0], value[1], value[2], value[3]};
#else
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(value[0]), "r"(value[1]), "r"(value[2]),
                 "r"(value[3])
                 : "memory");
#endif
}

#endif
