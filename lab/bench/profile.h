/* One kernel on a GPU, alone, for a profiler that watches. */
#ifndef LAB_PROFILE_H
#define LAB_PROFILE_H

#include "tessera.h"

typedef struct lab_profile {
    char kernel[64]; /* instance that ran */
    char device[96];
    double ns;      /* of a launch, between two events */
    int is_named;   /* 1: the launches were in the NVTX range "tessera profile" */
    int is_watched; /* 1: a profiler started this process */
} lab_profile;

/* Runs `desc` on device operands `iterations` times, with no other kernel before or between. The operands are aligned
 * as well as their leading dimensions allow, and the kernel is told. */
tsr_status lab_profile_run(const char *device, const tsr_gemm_desc *desc, int64_t iterations, lab_profile *out);

/* "cuda:0" where there is a GPU, else "emu". */
const char *lab_profile_default_device(void);

#endif
