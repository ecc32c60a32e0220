/* Private to lab_count: launches that are watched. */
#ifndef LAB_COUNT_RUN_H
#define LAB_COUNT_RUN_H

#include "emu/watch.h"
#include "lab/common/operands.h"
#include "lab/predict/count_kinds.h"
#include "lab/predict/counters.h"
#include "plan/pad.h"
#include "plan/plan.h"

/* One launch of `plan`, which belongs to an emulator's context, with `watcher`. */
tsr_status lab_run_watched(tsr_plan *plan, const tsr_run_args *args, const tsr_emu_watcher *watcher);
const tsr_emu_code *lab_watched_find(const char *instance);

/* lab_count; with `kinds` each CTA of the problem, which is a small one, stands for others, and the counts are those of
 * the large one but for caches. */
tsr_status lab_count_kinds(const tsr_gemm_desc *desc, const lab_count_options *options, const lab_cta_kinds *kinds,
                           lab_counters *out);
/* Adds to what was counted of the launch what the caches' model says of it. */
tsr_status lab_count_caches(const tsr_gemm_desc *desc, const lab_count_options *options, lab_counters *counters);

/* Runs the first waves of CTAs of the launch that `counters` are of, on a short piece of K, records what they touch,
 * and sets what `counters` say of caches (lab/predict/hierarchy.h). Does nothing where two waves have more than
 * `most_products` multiply-adds. `desc` names its instance. */
tsr_status lab_count_waves(tsr_context *context, const tsr_gemm_desc *desc, const lab_gpu_spec *gpu,
                           double most_products, unsigned long long seed, lab_counters *counters);

/* What a plan's steps before the product read and write. */
double lab_prepared_bytes(const tsr_planned *plan);

#endif
