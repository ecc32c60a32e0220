/* Every check of what callers pass, in one place. Messages name the argument and the rule. */
#ifndef TSR_API_VALIDATE_H
#define TSR_API_VALIDATE_H

#include "api/context.h"

/* Copies a caller's struct that carries its size as its first member into ours: an older, shorter one is refused, a
 * newer, longer one is taken if all that we do not know is zero. `what` names the type. */
tsr_status tsr_take_struct(void *to, size_t to_bytes, const void *from, const char *what);

/* Fills *out with the problem, defaults resolved. */
tsr_status tsr_validate_desc(const tsr_gemm_desc *desc, tsr_problem *out);

/* Pointers, aliasing, workspace and scalars of one run against the plan. */
tsr_status tsr_validate_run(const tsr_plan *plan, const tsr_run_args *args);

#endif
