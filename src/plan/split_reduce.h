/* Split-K reduce as a step of a plan: where a launch leaves the sums of parts of K in the workspace
 * (tsr_launch_config.reduces), a second one adds them and makes D (kernels/prep/reduce.cu). */
#ifndef TSR_PLAN_SPLIT_REDUCE_H
#define TSR_PLAN_SPLIT_REDUCE_H

#include "core/config.h"
#include "core/reduce_args.h"

/* The config that makes D of that type, NULL if there is none. */
const tsr_config *tsr_split_reduce_config(tsr_dtype dtype);

/* The argument of the launch that follows one of `config` with `args`. */
tsr_reduce_args tsr_split_reduce_args(const tsr_config *config, const tsr_gemm_args *args);
/* Its grid; `config` reduces. */
tsr_grid tsr_split_reduce_grid(const tsr_config *config, const tsr_reduce_args *args);

#endif
