/* The CPU rows of the kernel table. */
#ifndef TSR_CPU_CPU_H
#define TSR_CPU_CPU_H

#include "core/row.h"

tsr_cpu_run tsr_cpu_sequential, tsr_cpu_tiled;
tsr_cpu_choose tsr_cpu_tiled_choose;
extern const tsr_cpu_small tsr_cpu_tiled_small;
tsr_cpu_pack_bytes tsr_cpu_tiled_pack_bytes;
tsr_cpu_pack tsr_cpu_tiled_pack;
tsr_cpu_packed_form tsr_cpu_tiled_packed_form;
tsr_cpu_repack tsr_cpu_tiled_repack;

#endif
