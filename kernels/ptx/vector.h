/* Vectors of 8 and 16 bytes: one instruction moves them, one call of the emulator sees them. */
#ifndef TSR_PTX_VECTOR_H
#define TSR_PTX_VECTOR_H

#include "ptx/language.h"

#if TSR_EMU
typedef float tsr_f32x2 __attribute__((vector_size(8)));
typedef float tsr_f32x4 __attribute__((vector_size(16)));
typedef double tsr_f64x2 __attribute__((vector_size(16)));
typedef unsigned tsr_u32x2 __attribute__((vector_size(8)));
typedef unsigned tsr_u32x4 __attribute__((vector_size(16)));
/* Element i of a vector, as an lvalue; i must be a constant once loops are unrolled. */
#define tsr_lane(vector, i) ((vector)[i])
#else
typedef float2 tsr_f32x2;
typedef float4 tsr_f32x4;
typedef double2 tsr_f64x2;
typedef uint2 tsr_u32x2;
typedef uint4 tsr_u32x4;
#define tsr_lane(vector, i) ((&(vector).x)[i])
#endif

/* ld.v4.f32 and its like: `address` must be a multiple of 16 bytes. Shared or global memory. */
TSR_DEVICE tsr_f32x4 tsr_load_f32x4(const float *address)
{
    return *(const tsr_f32x4 *)address;
}
TSR_DEVICE tsr_f64x2 tsr_load_f64x2(const double *address)
{
    return *(const tsr_f64x2 *)address;
}
TSR_DEVICE tsr_u32x4 tsr_load_u32x4(const unsigned *address)
{
    return *(const tsr_u32x4 *)address;
}
/* ld.v2.u32: `address` must be a multiple of 8 bytes. */
TSR_DEVICE void tsr_load_u32x2(const unsigned *address, unsigned *first, unsigned *second)
{
    const tsr_u32x2 value = *(const tsr_u32x2 *)address;
    *first = tsr_lane(value, 0);
    *second = tsr_lane(value, 1);
}

/* ld.v2.f32 and st.v2.f32: `address` must be a multiple of 8 bytes. */
TSR_DEVICE void tsr_load_f32x2(const float *address, float *first, float *second)
{
    const tsr_f32x2 value = *(const tsr_f32x2 *)address;
    *first = tsr_lane(value, 0);
    *second = tsr_lane(value, 1);
}
TSR_DEVICE void tsr_store_f32x2(float *address, float first, float second)
{
    tsr_f32x2 value;
    tsr_lane(value, 0) = first;
    tsr_lane(value, 1) = second;
    *(tsr_f32x2 *)address = value;
}

/* st.v2.u32: `address` must be a multiple of 8 bytes. */
TSR_DEVICE void tsr_store_u32x2(unsigned *address, unsigned first, unsigned second)
{
    tsr_u32x2 value;
    tsr_lane(value, 0) = first;
    tsr_lane(value, 1) = second;
    *(tsr_u32x2 *)address = value;
}

/* st.v4.f32 and its like. */
TSR_DEVICE void tsr_store_f32x4(float *address, tsr_f32x4 value)
{
    *(tsr_f32x4 *)address = value;
}
TSR_DEVICE void tsr_store_f64x2(double *address, tsr_f64x2 value)
{
    *(tsr_f64x2 *)address = value;
}
TSR_DEVICE void tsr_store_u32x4(unsigned *address, tsr_u32x4 value)
{
    *(tsr_u32x4 *)address = value;
}

/* st.shared.v4.f32, which the compiler may not split as it may a plain store. */
TSR_DEVICE void tsr_store_shared_f32x4(float *shared, tsr_f32x4 value)
{
#if TSR_EMU
    *(tsr_f32x4 *)shared = value;
#else
    asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(tsr_shared_address(shared)), "f"(value.x),
                 "f"(value.y), "f"(value.z), "f"(value.w)
                 : "memory");
#endif
}

#endif
