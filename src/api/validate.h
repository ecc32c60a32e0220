/* Every check of what callers pass, in one place. Messages name the argument and the rule. */
#ifndef TSR_API_VALIDATE_H
#define TSR_API_VALIDATE_H

#include <stddef.h>

#include "api/context.h"

/* Structs as version 0.1 laid them out (tests/abi/layout.h): a caller's may be as short. Members are added behind
 * these, and 0 is the default of each. */
#define TSR_BYTES_UP_TO(type, member) (offsetof(type, member) + sizeof(((const type *)0)->member))
enum {
    TSR_FIRST_OPTIONS_BYTES = TSR_BYTES_UP_TO(tsr_context_options, user),
    TSR_FIRST_DESC_BYTES = TSR_BYTES_UP_TO(tsr_gemm_desc, workspace_limit_bytes),
    TSR_FIRST_ARGS_BYTES = TSR_BYTES_UP_TO(tsr_run_args, metadata_a),
    TSR_FIRST_CANDIDATE_BYTES = TSR_BYTES_UP_TO(tsr_candidate, limiter),
    TSR_FIRST_KERNEL_BYTES = TSR_BYTES_UP_TO(tsr_kernel_info, hardware)
};

#define TSR_MOST_THREADS 4096 /* of a context, and of a problem */

/* The rule for the size of a caller's struct: `what` names the type, `member` what says the size. */
tsr_status tsr_check_struct(const char *what, const char *member, size_t bytes, size_t first_bytes);
/* Copies a caller's struct that carries its size as its first member into ours. What an older, shorter one lacks
 * becomes 0; a newer, longer one is taken if all that we do not know is zero. */
tsr_status tsr_take_struct(void *to, size_t to_bytes, size_t first_bytes, const void *from, const char *what);
/* Copies ours into a caller's of `to_bytes`: what an older one lacks is left out, what we do not know becomes 0. */
void tsr_give_struct(void *to, size_t to_bytes, const void *from, size_t from_bytes);

/* Fills *out with the problem, defaults resolved. */
tsr_status tsr_validate_desc(const tsr_gemm_desc *desc, tsr_problem *out);

/* The sizes, the batch and one operand, 'a' to 'd', alone; *out has no more. */
tsr_status tsr_validate_sizes(const tsr_gemm_desc *desc, char operand, tsr_problem *out);

/* The operand that a function is to prepare or compress. */
tsr_status tsr_check_a_or_b(char operand);

/* Pointers, aliasing, workspace and scalars of one run against the plan. */
tsr_status tsr_validate_run(const tsr_plan *plan, const tsr_run_args *args);

#endif
