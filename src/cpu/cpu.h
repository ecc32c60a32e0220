/* The CPU configs of the kernel table. */
#ifndef TSR_CPU_CPU_H
#define TSR_CPU_CPU_H

#include "core/config.h"

tsr_cpu_run tsr_cpu_sequential, tsr_cpu_tiled, tsr_cpu_widened, tsr_cpu_integers;
/* The product with a compressed operand, by the config's `run` on parts of it that are spread out. */
tsr_status tsr_cpu_sparse24(const tsr_config *config, const tsr_cpu_call *call, const tsr_problem *problem);
tsr_cpu_choose tsr_cpu_tiled_choose, tsr_cpu_widened_choose, tsr_cpu_integers_choose;
extern const tsr_cpu_small tsr_cpu_tiled_small;
tsr_cpu_pack_bytes tsr_cpu_tiled_pack_bytes;
tsr_cpu_pack tsr_cpu_tiled_pack;
tsr_cpu_packed_form tsr_cpu_tiled_packed_form;
tsr_cpu_repack tsr_cpu_tiled_repack;

#endif
