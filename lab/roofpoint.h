/* Kernels under the roofline of a GPU: how many FLOP each makes for a byte, counted in the emulator, what the roofline
 * allows at that, and what to do about it. */
#ifndef LAB_ROOFPOINT_H
#define LAB_ROOFPOINT_H

#include "lab/predict.h"

enum { LAB_ADVICE_MAX = 4, LAB_ADVICE_BYTES = 220 };

typedef struct lab_roofpoint {
    lab_counters counters;
    lab_prediction prediction;
    double intensity;       /* FLOP for each byte that threads load from global memory, caches aside */
    double intensity_moved; /* for each byte that moves between L2 and the SMs */
    double intensity_dram;  /* for each byte of DRAM, by the model of the caches */
    double intensity_ideal; /* if A and B were read once and D written once: the problem's own */
    double peak_flops_s;    /* of the units that the kernel multiplies with */
    double ridge;           /* intensity where that peak meets the bandwidth */
    double bound_flops_s;   /* min(peak, intensity x bandwidth) */
    int is_memory_bound;    /* intensity is left of the ridge */
    char advice[LAB_ADVICE_MAX][LAB_ADVICE_BYTES];
    int advice_count;
} lab_roofpoint;

/* Peak FLOP/s of a GPU: multiply-add units (F32, F64), or tensor cores (16-bit factors; TF32). 0: not known. */
double lab_gpu_peak_flops(const lab_gpu_spec *gpu, tsr_dtype dtype, tsr_compute compute, int on_tensor_cores);

/* Counts a sample of the kernel's CTAs. Errors are those of lab_count. */
tsr_status lab_roofpoint_of(const lab_gpu_spec *gpu, const tsr_gemm_desc *desc, lab_roofpoint *out);

/* The roofline's bound at an intensity. */
double lab_roof_at(const lab_gpu_spec *gpu, double peak_flops_s, double intensity);

#endif
