/* Adding up as a step of a plan: where a launch leaves the sums of parts of K in the workspace
 * (tsr_launch_config.reduces), a second one adds them and makes D (kernels/aux/sum.cu). */
#ifndef TSR_PLAN_SUM_H
#define TSR_PLAN_SUM_H

#include "core/row.h"

/* The row that makes D of that type, NULL if there is none. */
const tsr_row *tsr_sum_row(tsr_dtype dtype);

/* Arguments of the launch that follows one of `row` with `args`. */
tsr_gemm_args tsr_sum_args(const tsr_row *row, const tsr_gemm_args *args);
/* Its grid; `sum_args` are those. */
tsr_grid tsr_sum_grid(const tsr_row *sum, const tsr_gemm_args *sum_args);

#endif
