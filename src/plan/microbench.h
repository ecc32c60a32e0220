/* Kernels that measure a level of a GPU's memory. */
#ifndef TSR_PLAN_MICROBENCH_H
#define TSR_PLAN_MICROBENCH_H

#include "core/config.h"

/* By its name in src/plan/microbench.def: "chase_l1"; NULL: there is none. */
const tsr_config *tsr_microbench_config(const char *name);

#endif
