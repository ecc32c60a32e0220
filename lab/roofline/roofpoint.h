/* Kernels under the roofline of a GPU: how many FLOP each makes for a byte, counted in the emulator, what the roofline
 * allows at that, and what to do about it. */
#ifndef LAB_ROOFPOINT_H
#define LAB_ROOFPOINT_H

#include "lab/predict/predict.h"

enum { LAB_ADVICE_MAX = 6, LAB_ADVICE_BYTES = 260 };

/* What to do about it, a sentence each. */
typedef struct lab_advice {
    char text[LAB_ADVICE_MAX][LAB_ADVICE_BYTES];
    int count;
} lab_advice;

/* What can hold a kernel below a rate. */
typedef enum lab_roof {
    LAB_ROOF_PEAK, /* the units that multiply */
    LAB_ROOF_DRAM, /* A and B read once, D written once: what no cache saves */
    LAB_ROOF_SMS,  /* what enters and leaves the SMs, 64 bytes of each in a clock; a multicast enters once */
    LAB_ROOF_L1,   /* passes through L1 and shared memory */
    LAB_ROOFS
} lab_roof;
extern const char *const lab_roof_names[LAB_ROOFS]; /* "compute", "DRAM", "SMs", "L1" */

/* Rates that a kernel cannot go beyond, FLOP/s. */
typedef struct lab_bounds {
    double flops_s[LAB_ROOFS];
    lab_roof by; /* the lowest */
} lab_bounds;

/* Bounds of what was counted, with what the caches save at best: no run is faster. `clock_hz` of the SMs; 0: the
 * boost clock. */
lab_bounds lab_bounds_of(const lab_counters *counters, const tsr_gemm_desc *desc, const lab_gpu_spec *gpu,
                         double clock_hz);

/* The problem itself, whatever kernel: FLOP for each byte if A and B are read once and D is written once, and the
 * smaller of peak and that times the bandwidth. `peak_flops_s` may be anyone's numbers. */
typedef struct lab_problem_roof {
    double flops, bytes, intensity, ridge;
    double peak_flops_s, memory_bytes_per_s, bound_flops_s;
    int is_memory_bound;
} lab_problem_roof;
lab_problem_roof lab_problem_roof_of(const tsr_gemm_desc *desc, double peak_flops_s, double memory_bytes_per_s);

/* Peak of the fastest units for the type: tensor cores where they take it. `clock_hz` as above. */
double lab_gpu_best_flops(const lab_gpu_spec *gpu, tsr_dtype dtype, tsr_compute compute, double clock_hz);

/* FLOP of a product with a compressed operand are those of the whole one, as benchmarks count them: tensor cores make
 * half of them, at the rate of the others. 2 for such a product, else 1. */
double lab_sparse_factor(const tsr_gemm_desc *desc);

typedef struct lab_roofpoint {
    lab_counters counters;
    lab_prediction prediction;
    double
        flops; /* 2 M N K for each problem of the batch, as benchmarks count; of a whole operand that is compressed */
    /* FLOP for each byte that threads load from global memory, caches aside, and for each that moves between L2 and the
     * SMs. Both are of whole tiles, whose edges beyond D are multiplied, too: what is counted are few CTAs, and those
     * of the edges are not always among them. Where D is no multiple of tiles, 2 M N K for each byte is somewhat less.
     */
    double intensity, intensity_moved;
    double intensity_dram;   /* flops for each byte of DRAM, by the model of the caches */
    double intensity_ideal;  /* if A and B were read once and D written once: the problem's own */
    double peak_flops_s;     /* of the units that the kernel multiplies with */
    double ridge;            /* intensity where that peak meets the bandwidth */
    double uncached_flops_s; /* min(peak, intensity x bandwidth): as if each load came from DRAM */
    lab_bounds bounds;       /* with what the caches save */
    double bound_flops_s;    /* the lowest of them */
    int is_memory_bound;     /* that is not the peak */
    lab_advice advice;
} lab_roofpoint;

/* Peak FLOP/s of a GPU: multiply-add units (F32, F64), or tensor cores (16-bit factors; TF32). 0: not known. */
double lab_gpu_peak_flops(const lab_gpu_spec *gpu, tsr_dtype dtype, tsr_compute compute, int on_tensor_cores);

/* Advice for a counted kernel, from its counters; `point` has everything else already. */
void lab_advise_kernel(const lab_gpu_spec *gpu, const tsr_gemm_desc *desc, lab_roofpoint *point);
/* Advice for a problem, whatever kernel; `gpu` may be NULL: then the peaks are all that is known. */
void lab_advise_problem(const lab_gpu_spec *gpu, const tsr_gemm_desc *desc, const lab_problem_roof *roof,
                        lab_advice *out);

/* Counts a sample of the kernel's CTAs. Errors are those of lab_count. */
tsr_status lab_roofpoint_of(const lab_gpu_spec *gpu, const tsr_gemm_desc *desc, lab_roofpoint *out);

/* The roofline's bound at an intensity. */
double lab_roof_at(const lab_gpu_spec *gpu, double peak_flops_s, double intensity);

#endif
