/* Padding as a step of a plan: operands that a row refuses only because of their alignment are copied to aligned rows
 * in the workspace first. C and D are never copied. */
#ifndef TSR_PLAN_PAD_H
#define TSR_PLAN_PAD_H

#include "core/row.h"

enum { TSR_PAD_A = 1, TSR_PAD_B = 2 };

/* The row that pads operands of so many bytes an element, NULL if there is none. */
const tsr_row *tsr_pad_row(size_t element_bytes);

/* What a row demands of the base, leading dimension and batch stride of an operand ("abcd"), in bytes: a power of two.
 */
long long tsr_row_align_bytes(const tsr_row *row, const tsr_problem *problem, char which);
/* The power of two that an operand keeps there. */
long long tsr_operand_alignment(const tsr_problem *problem, char which);
/* 1 if it keeps that much. */
int tsr_operand_is_aligned(const tsr_problem *problem, char which, long long align_bytes);

/* The problem with the operands of `pads` replaced by their copies: new leading dimensions, batch strides, alignment.
 */
tsr_problem tsr_padded_problem(const tsr_problem *problem, unsigned pads);

/* Bytes of the copy of one operand ('a' or 'b') of a padded problem; a multiple of 256. */
size_t tsr_padded_bytes(const tsr_problem *padded, char which);

/* Arguments of the launch that copies the operands of `pads` from a and b to to_a and to_b. */
tsr_gemm_args tsr_pad_args(const tsr_problem *problem, const tsr_problem *padded, unsigned pads, const void *a,
                           const void *b, void *to_a, void *to_b);
/* Its grid. */
tsr_grid tsr_pad_grid(const tsr_row *row, const tsr_problem *problem, unsigned pads, int sm_count);

#endif
