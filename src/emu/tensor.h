/* The arithmetic of the tensor cores, bit for bit as an H200 does it (docs/EMULATOR.md, "Tensor cores"). Private to
 * src/emu. */
#ifndef TSR_EMU_TENSOR_H
#define TSR_EMU_TENSOR_H

#include <stdint.h>

#include "ptx/emulator.h"

/* Elements taken apart: value = significand * 2^exponent, |significand| < 2. Exponents are those of the element's
 * format: subnormals have the lowest one. Zeros have the exponent EMU_OF_ZERO, infinities and NaN EMU_OF_SPECIAL and
 * themselves as significand. */
typedef struct emu_parts {
    float *significands;
    int *exponents;
} emu_parts;

/* Such that zero times infinity is special. */
enum { EMU_OF_ZERO = -(1 << 20), EMU_OF_SPECIAL = 1 << 22, EMU_TENSOR_MOST_K = 32 };

/* Puts `value`, an element of the format, at `index`. */
void tsr_emu_take_apart(const emu_parts *parts, int index, float value, tsr_emu_format format);

/* sum[rows][columns] += a[rows][k] * b[k][columns] by one instruction. The sum's rows are sum_pitch apart, b's b_pitch,
 * a's k. Columns are a multiple of 8, k at most EMU_TENSOR_MOST_K. Sums of integer formats are int32_t in the floats'
 * bytes; with to_f16 those of floats are f16 in value, and rounded to f16. */
void tsr_emu_tensor_add(float *sum, int sum_pitch, const emu_parts *a, const emu_parts *b, int b_pitch, int rows,
                        int columns, int k, tsr_emu_format format, int to_f16);

#endif
