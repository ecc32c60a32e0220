/* GPUs by name: what their makers publish, for those who want to know how a kernel would do on one that is not here. */
#ifndef LAB_GPUS_H
#define LAB_GPUS_H

#include <stddef.h>

typedef struct lab_gpu_spec {
    const char *id;   /* "h200", as the command line says it */
    const char *name; /* "NVIDIA H200" */
    int arch;         /* 90 for compute capability 9.0 */
    int sms;
    double clock_hz;           /* boost */
    double memory_bytes_per_s; /* peak of DRAM */
    double fma_per_clock;      /* FP32 multiply-adds of one SM */
    double fma64_per_clock;
    double tensor_flops_per_clock; /* of one SM, 16-bit inputs, sums in FP32, dense */
    int l1_bytes;                  /* L1 and shared memory of an SM together */
    int shared_bytes;              /* at most of that */
    long long l2_bytes;
    double l2_bytes_per_clock; /* of all SMs together, reading */
    int threads_per_sm, ctas_per_sm, registers_per_sm;
} lab_gpu_spec;

/* Each GPU that is known, in order; NULL past the last. */
const lab_gpu_spec *lab_gpu_spec_at(size_t index);
/* By id; NULL if it is not known. */
const lab_gpu_spec *lab_gpu_spec_find(const char *id);

#endif
