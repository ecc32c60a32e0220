/* tsr_route for targets that no context holds, such as a GPU of which only the figures are known. */
#ifndef TSR_API_ROUTE_H
#define TSR_API_ROUTE_H

#include "plan/plan.h"

/* As tsr_route. Each candidate's `device` points into `targets`. */
tsr_status tsr_route_on(tsr_target *targets, size_t target_count, const tsr_gemm_desc *desc, void *out,
                        size_t candidate_bytes, size_t capacity, size_t *count);

#endif
