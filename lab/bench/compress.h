/* A compressed operand to measure with. */
#ifndef LAB_COMPRESS_H
#define LAB_COMPRESS_H

#include "tessera.h"

/* Normal random numbers as A of the plan's descriptor, pruned to 2:4 and compressed: hot, as it is one for all calls.
 */
tsr_status lab_bench_compress(tsr_plan *plan, const tsr_gemm_desc *desc, tsr_prepared **out);

#endif
