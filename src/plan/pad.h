/* Copies as steps of a plan: operands that a config refuses only because of their alignment are copied to aligned rows
 * in the workspace first; operands that it reads along K alone and that lie the other way are copied transposed. C and
 * D are never copied. */
#ifndef TSR_PLAN_PAD_H
#define TSR_PLAN_PAD_H

#include "core/config.h"
#include "core/copy_args.h"

/* Which operands are copied, and which of these copies are transposed. */
enum { TSR_PAD_A = 1, TSR_PAD_B = 2, TSR_TRANSPOSE_A = 4, TSR_TRANSPOSE_B = 8 };

/* Of `pads`, those copies that are transposed (1) or not (0). */
static inline unsigned tsr_copies_of(unsigned pads, int transposed)
{
    const unsigned copies = pads & (TSR_PAD_A | TSR_PAD_B), is_transposed = pads >> 2;
    return transposed ? copies & is_transposed : copies & ~is_transposed;
}

/* All that `pads` says of one operand, 'a' or 'b'. */
static inline unsigned tsr_copy_bits(unsigned pads, char which)
{
    return pads & (which == 'a' ? TSR_PAD_A | TSR_TRANSPOSE_A : TSR_PAD_B | TSR_TRANSPOSE_B);
}

/* The config that copies operands of a type, NULL if there is none. */
const tsr_config *tsr_pad_config(tsr_dtype dtype);
const tsr_config *tsr_transpose_config(tsr_dtype dtype);

/* What a config demands of the base, leading dimension and batch stride of an operand ("abcd"), in bytes: a power of
 * two.
 */
long long tsr_config_align_bytes(const tsr_config *config, const tsr_problem *problem, char which);
/* The power of two that an operand keeps there. */
long long tsr_operand_alignment(const tsr_problem *problem, char which);
/* 1 if it keeps that much. */
int tsr_operand_is_aligned(const tsr_problem *problem, char which, long long align_bytes);

/* The problem with the operands of `pads` replaced by their copies: new leading dimensions, batch strides, alignment.
 */
tsr_problem tsr_padded_problem(const tsr_problem *problem, unsigned pads);

/* Bytes of the copy of one operand ('a' or 'b') of a padded problem; a multiple of 256. */
size_t tsr_padded_bytes(const tsr_problem *padded, char which);

/* The argument of the launch that copies the operands of `pads` from a and b to to_a and to_b. */
tsr_copy_args tsr_pad_args(const tsr_problem *problem, const tsr_problem *padded, unsigned pads, const void *a,
                           const void *b, void *to_a, void *to_b);
/* Its grid; `config` pads or transposes. */
tsr_grid tsr_pad_grid(const tsr_config *config, const tsr_problem *problem, unsigned pads, int sm_count);

#endif
