/* The small path: products on host memory that a CPU config does straight from the call, by its `small` hook
 * (core/config.h). Each call tries the hook once; plans remember its answer. */
#ifndef TSR_API_SMALL_H
#define TSR_API_SMALL_H

#include "api/context.h"

/* Finds the first target's hooks; called once, when the context's devices are open. */
void tsr_small_open(tsr_context *context);

/* 1 if a product was valid and small, and is done; 0 if all checks must be made, and nothing was written. Neither
 * pointer is NULL. */
int tsr_desc_small(const tsr_context *context, const tsr_gemm_desc *desc, const tsr_run_args *args);

/* Plans of small products on host memory: what every run shares is worked out with the plan. Fills plan->small_path. */
void tsr_small_path_make(tsr_plan *plan);
/* 1 if the run was valid and is done; 0 if all checks must be made. Nothing was written then. plan->small_path.small is
 * not NULL. */
int tsr_small_path_run(const tsr_plan *plan, const tsr_run_args *args);

#endif
