/* Loads and stores at 32-bit shared addresses, for kernels that reckon with such addresses anyway. */
#ifndef TSR_PTX_SHARED_H
#define TSR_PTX_SHARED_H

#include "ptx/language.h"

#if TSR_EMU
#include "ptx/emulator_hopper.h"
typedef float tsr_f32x2 __attribute__((vector_size(8)));
#endif

/* ld.shared.v2.f32 and st.shared.v2.f32 at a 32-bit shared address, a multiple of 8 bytes. */
TSR_DEVICE void tsr_shared_load_f32x2(unsigned address, float value[2])
{
#if TSR_EMU
    const tsr_f32x2 pair = *(const tsr_f32x2 *)tsr_emu_shared_pointer(address);
    value[0] = pair[0];
    value[1] = pair[1];
#else
    asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(value[0]), "=f"(value[1]) : "r"(address) : "memory");
#endif
}
TSR_DEVICE void tsr_shared_store_f32x2(unsigned address, float low, float high)
{
#if TSR_EMU
    *(tsr_f32x2 *)tsr_emu_shared_pointer(address) = (tsr_f32x2){low, high};
#else
    asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(address), "f"(low), "f"(high) : "memory");
#endif
}

/* st.shared.f32. */
TSR_DEVICE void tsr_shared_store_f32(unsigned address, float value)
{
#if TSR_EMU
    *(float *)tsr_emu_shared_pointer(address) = value;
#else
    asm volatile("st.shared.f32 [%0], %1;" ::"r"(address), "f"(value) : "memory");
#endif
}

/* ld.shared.u32 and st.shared.u32. */
TSR_DEVICE unsigned tsr_shared_load_u32(unsigned address)
{
#if TSR_EMU
    return *(const unsigned *)tsr_emu_shared_pointer(address);
#else
    unsigned value;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(address) : "memory");
    return value;
#endif
}
TSR_DEVICE void tsr_shared_store_u32(unsigned address, unsigned value)
{
#if TSR_EMU
    *(unsigned *)tsr_emu_shared_pointer(address) = value;
#else
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(value) : "memory");
#endif
}

#endif
