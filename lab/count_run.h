/* Private to lab_count: launches that are watched. */
#ifndef LAB_COUNT_RUN_H
#define LAB_COUNT_RUN_H

#include "emu/watch.h"
#include "lab/counters.h"
#include "lab/operands.h"

/* One launch of `plan`, which belongs to an emulator's context, with `watcher`. */
tsr_status lab_run_watched(tsr_plan *plan, const lab_operand_set *set, const tsr_emu_watcher *watcher);
const tsr_emu_code *lab_watched_find(const char *instance);

/* Runs the first waves of CTAs of the launch that `counters` are of, on a short piece of K, records what they touch,
 * and sets what `counters` say of caches (lab/hierarchy.h). Does nothing where two waves have more than `most_products`
 * multiply-adds. `desc` names its instance. */
tsr_status lab_count_waves(tsr_context *context, const tsr_gemm_desc *desc, const lab_gpu_spec *gpu,
                           double most_products, unsigned long long seed, lab_counters *counters);

#endif
