/* Element conversions on the host. Rounding is to nearest, ties to even; NaN stays NaN, infinities stay. */
#ifndef TSR_CORE_DTYPE_H
#define TSR_CORE_DTYPE_H

#include "tessera.h"

float tsr_f16_to_f32(uint16_t bits);
uint16_t tsr_f32_to_f16(float value);
float tsr_bf16_to_f32(uint16_t bits);
uint16_t tsr_f32_to_bf16(float value);

/* Element `index` of an array of any dtype, as a double (exact), and back (rounded, saturated for integers). */
double tsr_load_element(tsr_dtype dtype, const void *array, int64_t index);
void tsr_store_element(tsr_dtype dtype, void *array, int64_t index, double value);

/* The unit roundoff of the dtype or of the compute type's accumulator: 2^-24 for f32. 0 for integers. */
double tsr_dtype_roundoff(tsr_dtype dtype);
double tsr_compute_roundoff(tsr_compute compute);

#endif
