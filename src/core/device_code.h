/* Tables that the build generates: device code, emulator code and hardware stamps of the CUDA configs. Each ends with a
 * NULL instance. */
#ifndef TSR_CORE_DEVICE_CODE_H
#define TSR_CORE_DEVICE_CODE_H

#include <stddef.h>

#include "core/gemm_args.h"
#include "core/scaling.h"
#include "core/tensor_map.h"

typedef struct tsr_device_code {
    const char *instance;
    /* Fat binaries: with the machine code of this kernel and others, for which entries share it, and with the PTX of
     * this one alone, for GPUs that the machine code does not run on (cuda/module.c). NULL: there is none, or it is in
     * another file (cuda/code_file.h). */
    const unsigned char *machine_code, *ptx;
    const char *hash; /* of the machine code for 9.0, without names: tools/cubin_code.c */
    int registers;    /* of a thread on 9.0 */
} tsr_device_code;

/* One of the three entries, by the config's `tma` and `scaled`. */
typedef struct tsr_emu_code {
    const char *instance;
    void (*kernel)(const tsr_gemm_args args);
    void (*kernel_tma)(const tsr_gemm_args args, const tsr_tensor_maps maps);
    void (*kernel_scaled)(const tsr_gemm_args args, const tsr_tensor_maps maps, const tsr_scaling scaling);
} tsr_emu_code;

/* An instance passed on a GPU with the machine code of this hash. */
typedef struct tsr_stamp {
    const char *instance;
    const char *hash;
    const char *nvcc;    /* that made the code: "13.0.88" */
    const char *where;   /* "H200 2026-11-21" */
    const char *unknown; /* what is said of it if another nvcc made other code: "unknown: stamped with nvcc 13.0.88" */
} tsr_stamp;

/* CUDA version of the toolkit that made the device code: 13000 for 13.0; 0 if there is none. */
extern const int tsr_toolkit_version;
extern const char tsr_nvcc_version[]; /* "13.0.88"; "" if there is none */
extern const tsr_device_code tsr_device_codes[];
extern const tsr_emu_code tsr_emu_codes[]; /* not in the shared library: src/emu/kernels.h */
extern const tsr_stamp tsr_stamps[];

/* The entry of an instance, NULL if there is none. */
const tsr_device_code *tsr_find_device_code(const char *instance);
const tsr_emu_code *tsr_find_emu_code(const tsr_emu_code *codes, const char *instance);
/* What the stamps say of device code that `nvcc` made: where it passed on a GPU ("H200 2026-11-21") if a stamp has the
 * hash of its machine code, whatever nvcc made that; the stamp's `unknown` if another nvcc made the code that passed;
 * "untested on hardware" otherwise, and of no code (NULL). */
const char *tsr_stamp_text(const tsr_stamp *stamps, const tsr_device_code *code, const char *nvcc);

#endif
