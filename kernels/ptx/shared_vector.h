/* Loads and stores of 16 bytes at 32-bit shared addresses, multiples of 16. */
#ifndef TSR_PTX_SHARED_VECTOR_H
#define TSR_PTX_SHARED_VECTOR_H

#include "ptx/shared.h"
#include "ptx/vector.h"

/* ld.shared.v4.f32: `address` is a multiple of 16 bytes. */
TSR_DEVICE void tsr_shared_load_f32x4(unsigned address, float value[4])
{
#if TSR_EMU
    const tsr_f32x4 four = *(const tsr_f32x4 *)tsr_emu_shared_pointer(address);
    for (int i = 0; i < 4; i++)
        value[i] = four[i];
#else
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(value[0]), "=f"(value[1]), "=f"(value[2]), "=f"(value[3])
                 : "r"(address)
                 : "memory");
#endif
}

/* st.shared.v4.u32. */
TSR_DEVICE void tsr_shared_store_u32x4(unsigned address, tsr_u32x4 value)
{
#if TSR_EMU
    *(tsr_u32x4 *)tsr_emu_shared_pointer(address) = value;
#else
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(value.x), "r"(value.y), "r"(value.z),
                 "r"(value.w)
                 : "memory");
#endif
}

#endif
