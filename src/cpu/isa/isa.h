/* What the files of the instruction sets share. */
#ifndef TSR_CPU_ISA_ISA_H
#define TSR_CPU_ISA_ISA_H

#include "core/dtype.h"
#include "cpu/isa/micro.h"

extern const tsr_isa tsr_isa_zen4, tsr_isa_avx512, tsr_isa_avx2, tsr_isa_neon, tsr_isa_plain;
extern const tsr_pairs tsr_pairs_avx512bf16;       /* runs where AVX512-BF16 is */
extern const tsr_integers tsr_integers_avx512vnni; /* runs where AVX512-VNNI is */

#endif
