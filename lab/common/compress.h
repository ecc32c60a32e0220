/* A compressed operand to measure with. */
#ifndef LAB_COMPRESS_H
#define LAB_COMPRESS_H

#include "tessera.h"

/* If the plan's descriptor asks for a compressed operand, normal random numbers that are pruned to 2:4 and compressed
 * take its place in `args`: hot, as it is one for all calls. *out, which the caller releases, is NULL where none is
 * asked for. */
tsr_status lab_compress(tsr_plan *plan, const tsr_gemm_desc *desc, tsr_run_args *args, tsr_prepared **out);

#endif
