/* Loads and stores at 32-bit shared addresses, for kernels that reckon with such addresses anyway. */
#ifndef TSR_PTX_SHARED_H
#define TSR_PTX_SHARED_H

#include "ptx/language.h"

#if TSR_EMU
#include "ptx/emulator_hopper.h"
typedef float tsr_f32x2 __attribute__((vector_size(8)));
typedef unsigned tsr_u32x4_words __attribute__((vector_size(16)));
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

/* ld.shared.u16, st.shared.u16; ld.shared.v4.u32 of 16 aligned bytes. */
TSR_DEVICE unsigned short tsr_shared_load_u16(unsigned address)
{
#if TSR_EMU
    return *(const unsigned short *)tsr_emu_shared_pointer(address);
#else
    unsigned short value;
    asm volatile("ld.shared.u16 %0, [%1];" : "=h"(value) : "r"(address) : "memory");
    return value;
#endif
}
TSR_DEVICE void tsr_shared_store_u16(unsigned address, unsigned short value)
{
#if TSR_EMU
    *(unsigned short *)tsr_emu_shared_pointer(address) = value;
#else
    asm volatile("st.shared.u16 [%0], %1;" ::"r"(address), "h"(value) : "memory");
#endif
}
TSR_DEVICE float tsr_shared_load_f32(unsigned address)
{
#if TSR_EMU
    return *(const float *)tsr_emu_shared_pointer(address);
#else
    float value;
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(value) : "r"(address) : "memory");
    return value;
#endif
}
TSR_DEVICE void tsr_shared_store_f32(unsigned address, float value)
{
#if TSR_EMU
    *(float *)tsr_emu_shared_pointer(address) = value;
#else
    asm volatile("st.shared.f32 [%0], %1;" ::"r"(address), "f"(value) : "memory");
#endif
}
TSR_DEVICE void tsr_shared_load_u32x4(unsigned address, unsigned value[4])
{
#if TSR_EMU
    const tsr_u32x4_words words = *(const tsr_u32x4_words *)tsr_emu_shared_pointer(address);
    for (int i = 0; i < 4; i++)
        value[i] = words[i];
#else
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(value[0]), "=r"(value[1]), "=r"(value[2]), "=r"(value[3])
                 : "r"(address)
                 : "memory");
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
