/* GPUs by name: what their makers publish, for those who want to know how a kernel would do on one that is not here. */
#ifndef LAB_GPUS_H
#define LAB_GPUS_H

#include <stddef.h>

#include "lab_gpu_choices.h" /* their ids, as command-line choices: LAB_GPU_CHOICES, and LAB_GPU_LIST for help */
#include "plan/profiles/chip.h"
#include "tessera.h"

typedef tsr_chip lab_gpu_spec;

/* Each GPU that is known, the H200 first; NULL past the last. */
const lab_gpu_spec *lab_gpu_spec_at(size_t index);
/* By id; NULL if it is not known. */
const lab_gpu_spec *lab_gpu_spec_find(const char *id);

/* The lowest compute capability, 89 for 8.9, whose units multiply the type in that arithmetic; 0: all do. */
int lab_gpu_least_arch(tsr_dtype dtype, tsr_compute compute);

/* The first GPU of this machine, as its driver describes it; what drivers do not tell is that of a GPU in the table of
 * the same compute capability. */
typedef struct lab_gpu_here {
    lab_gpu_spec spec;
    char name[96]; /* what spec.name points to */
} lab_gpu_here;

/* TSR_NO_DEVICE with the reason. */
tsr_status lab_gpu_find_here(lab_gpu_here *out);

#endif
