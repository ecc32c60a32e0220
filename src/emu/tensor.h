/* The arithmetic of the tensor cores, bit for bit as an H200 does it (docs/EMULATOR.md, "Tensor cores"). Private to
 * src/emu. */
#ifndef TSR_EMU_TENSOR_H
#define TSR_EMU_TENSOR_H

#include <stdint.h>

#include "ptx/emulator.h"

/* A factor's elements, and room for their exponents, which are those of the element's format: subnormals have the
 * lowest one, zeros EMU_OF_ZERO, infinities and NaN EMU_OF_SPECIAL. */
typedef struct emu_factor {
    const float *values;
    int *exponents;
    tsr_emu_format format;
} emu_factor;

/* Such that zero times infinity is special. */
enum { EMU_OF_ZERO = -(1 << 20), EMU_OF_SPECIAL = 1 << 22, EMU_TENSOR_MOST_K = 32 };

/* sum[rows][columns] += a[rows][k] * b[k][columns] by one instruction. The sum's rows are sum_pitch apart, b's b_pitch,
 * a's k. Columns and k are multiples of 8, k at most EMU_TENSOR_MOST_K. Sums of integer formats are int32_t in the
 * floats' bytes; with to_f16 those of floats are f16 in value, and rounded to f16. */
void tsr_emu_tensor_add(float *sum, int sum_pitch, const emu_factor *a, const emu_factor *b, int b_pitch, int rows,
                        int columns, int k, int to_f16);

#endif
