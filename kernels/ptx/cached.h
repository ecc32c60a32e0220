/* Loads of global memory that say which caches they use. PTX ISA, "Cache Operators". Any GPU; volatile, so that the
 * compiler drops none. */
#ifndef TSR_PTX_CACHED_H
#define TSR_PTX_CACHED_H

#include "ptx/vector.h"

/* ld.global.ca.v4.u32 and ld.global.ca.u64: by L1 and L2. Addresses are multiples of 16 and of 8 bytes. */
TSR_DEVICE tsr_u32x4 tsr_load_ca_u32x4(const void *address)
{
#if TSR_EMU
    return *(const tsr_u32x4 *)address;
#else
    tsr_u32x4 value;
    asm volatile("ld.global.ca.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
                 : "l"(address));
    return value;
#endif
}
TSR_DEVICE unsigned long long tsr_load_ca_u64(const void *address)
{
#if TSR_EMU
    return *(const unsigned long long *)address;
#else
    unsigned long long value;
    asm volatile("ld.global.ca.u64 %0, [%1];" : "=l"(value) : "l"(address));
    return value;
#endif
}

/* ld.global.cg.v4.u32 and ld.global.cg.u64: by L2 alone. */
TSR_DEVICE tsr_u32x4 tsr_load_cg_u32x4(const void *address)
{
#if TSR_EMU
    return *(const tsr_u32x4 *)address;
#else
    tsr_u32x4 value;
    asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
                 : "l"(address));
    return value;
#endif
}
TSR_DEVICE unsigned long long tsr_load_cg_u64(const void *address)
{
#if TSR_EMU
    return *(const unsigned long long *)address;
#else
    unsigned long long value;
    asm volatile("ld.global.cg.u64 %0, [%1];" : "=l"(value) : "l"(address));
    return value;
#endif
}

#endif
