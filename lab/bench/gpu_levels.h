/* Latency and bandwidth of each level of a GPU's memory, and the rate of its FMAs, measured by the kernels of
 * kernels/microbench. */
#ifndef LAB_GPU_LEVELS_H
#define LAB_GPU_LEVELS_H

#include "lab/common/device_facts.h"

enum { LAB_GPU_REGISTERS, LAB_GPU_SHARED, LAB_GPU_L1, LAB_GPU_L2, LAB_GPU_DRAM, LAB_GPU_LEVELS };

typedef struct lab_gpu_level {
    const char *name;        /* "registers", "shared", "L1", "L2", "DRAM" */
    int64_t bytes;           /* read by all SMs together (L2, DRAM), or by each of them or of its CTAs; 0: registers */
    int64_t latency_bytes;   /* that the one lane of a chase walks through in random order */
    double latency_ns;       /* from one load to the next that needs its value; registers: from FMA to FMA */
    double read_bytes_per_s; /* by all SMs; registers: three reads and a write of four bytes for each FMA */
    double copy_bytes_per_s; /* of DRAM, reads and writes together; else NAN */
    double peak_bytes_per_s; /* NAN: not known */
} lab_gpu_level;

typedef struct lab_gpu_levels {
    lab_gpu_level items[LAB_GPU_LEVELS];
    double fma_flops_per_s, peak_flops_per_s; /* f32, two for each FMA */
    double clock_mhz;                         /* of the SMs right behind the FMAs; NAN: nobody tells */
} lab_gpu_levels;

/* `gpu` is "cuda:N" as lab_device_describe tells it. Takes about a second and up to an eighth of the GPU's memory, at
 * most 2 GiB. Medians of times between events. TSR_UNSUPPORTED with the reason where this build has no device code of
 * the kernels. */
tsr_status lab_measure_gpu_levels(const lab_device *gpu, lab_gpu_levels *out);

#endif
