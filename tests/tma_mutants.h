/* The mutants of a test's kernel (emu/mutants.cmake), as a table. Before it is included MUTANT_KERNEL(name) must be the
 * symbol of one; MUTANT_KERNEL(none) is the kernel as it is. */
#ifndef TESTS_TMA_MUTANTS_H
#define TESTS_TMA_MUTANTS_H

#include "core/tensor_map.h"

#if defined(MUTANTS_SCALED) /* they take tsr_scaling, too */
typedef void kernel_tma(const tsr_gemm_args args, const tsr_tensor_maps maps, const tsr_scaling scaling);
#else
typedef void kernel_tma(const tsr_gemm_args args, const tsr_tensor_maps maps);
#endif
kernel_tma MUTANT_KERNEL(none);
#define MUTANT(name, says) kernel_tma MUTANT_KERNEL(name);
#include "mutants.def"
#undef MUTANT

/* What must be said of it: "" for any fault or a wrong result; "equivalent" if nothing must. */
typedef struct mutant {
    const char *name;
    kernel_tma *kernel;
    const char *says;
} mutant;
static const mutant mutants[] = {
#define MUTANT(name, says) {#name, MUTANT_KERNEL(name), says},
#include "mutants.def"
#undef MUTANT
};
enum { MUTANTS = sizeof mutants / sizeof mutants[0] };

#endif
