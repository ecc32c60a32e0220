/* A compressed operand to measure with. */
#ifndef LAB_COMPRESS_H
#define LAB_COMPRESS_H

#include "tessera.h"

/* If the plan's descriptor asks for a compressed operand, normal random numbers that are pruned to 2:4 and compressed
 * take its place in `args`: hot, as it is one for all calls. *out, which the caller releases, is NULL where none is
 * asked for. */
tsr_status lab_compress(tsr_plan *plan, const tsr_gemm_desc *desc, tsr_run_args *args, tsr_prepared **out);

/* The whole matrix of which lab_compress makes the operand 'a' or 'b', in host memory, laid out as the descriptor says.
 * The caller frees it. */
tsr_status lab_pruned(const tsr_gemm_desc *desc, char which, void **out, size_t *bytes);

/* Elements of the operand 'a' or 'b' from its first to its last, all problems and the gaps between rows among them. */
int64_t lab_operand_count(const tsr_gemm_desc *desc, char which);

#endif
