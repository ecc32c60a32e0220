/* The library's choice on a GPU that is not here, from its published figures. */
#ifndef LAB_PAPER_H
#define LAB_PAPER_H

#include "core/device.h"
#include "lab/common/gpus.h"
#include "plan/schedules.h"

typedef struct lab_candidates {
    tsr_candidate *items; /* as of tsr_route; `device` is the GPU's id */
    size_t count;
} lab_candidates;

/* All candidates of a problem whose operands lie in the GPU's memory; any other memory is TSR_INVALID_ARGUMENT, since
 * nobody knows the link. Code is taken to exist for each config. `profile` has the prices' constants; NULL: the
 * library's own for this GPU. The caller frees *out, also after a failure. */
tsr_status lab_route_on_paper(const lab_gpu_spec *gpu, const struct tsr_profile *profile, const tsr_gemm_desc *desc,
                              lab_candidates *out);
/* The schedule that the prices select for a config there, as users write it; "" if the config does not run it. */
tsr_status lab_schedule_on_paper(const lab_gpu_spec *gpu, const struct tsr_profile *profile, const tsr_gemm_desc *desc,
                                 const char *instance, char out[TSR_SCHEDULE_TEXT_BYTES]);
/* 1 if desc->kernel, a kernel or an instance, runs the problem there with all operands in the GPU's memory, aligned as
 * an allocation is; 0 with the reason of the instance that comes nearest. What the library refuses on any GPU is 1:
 * whoever makes the plan says why. */
int lab_runs_on_paper(const lab_gpu_spec *gpu, const tsr_gemm_desc *desc, char *why, size_t why_bytes);
/* The GPU as its driver would describe it. */
tsr_device lab_device_on_paper(const lab_gpu_spec *gpu);

void lab_candidates_free(lab_candidates *candidates);

#endif
