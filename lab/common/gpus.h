/* GPUs by name: what their makers publish, for those who want to know how a kernel would do on one that is not here. */
#ifndef LAB_GPUS_H
#define LAB_GPUS_H

#include <stddef.h>

#include "tessera.h"

typedef struct lab_gpu_spec {
    const char *id;          /* "h200", as the command line says it */
    const char *name;        /* "NVIDIA H200" */
    const char *driver_name; /* how the driver's name of it begins; NULL: with `name` */
    int arch;                /* 90 for compute capability 9.0 */
    int sms;
    double clock_hz;           /* boost */
    double memory_bytes_per_s; /* peak of DRAM */
    double fma_per_clock;      /* FP32 multiply-adds of one SM */
    double fma64_per_clock;
    double lsu_lanes_per_clock;      /* lanes of loads and stores that one SM starts */
    double tensor_flops_per_clock;   /* of one SM, 16-bit inputs, sums in FP32, dense */
    double tensor64_flops_per_clock; /* in f64; 0: the units of fma64_per_clock do it */
    int l1_bytes;                    /* L1 and shared memory of an SM together */
    int shared_bytes;                /* at most of that */
    long long l2_bytes;
    int l2_partitions;         /* each with its own SMs */
    double l2_bytes_per_clock; /* of all SMs together, reading */
    int threads_per_sm, ctas_per_sm, registers_per_sm;
    int memory_bits; /* width of the bus, and its clock: two transfers each; 0: only the product is known */
    double memory_clock_hz;
} lab_gpu_spec;

/* Their ids, as command-line choices. */
#define LAB_GPU_CHOICES "h200|h100|a100|a40|rtx3090"

/* Each GPU that is known, in order; NULL past the last. */
const lab_gpu_spec *lab_gpu_spec_at(size_t index);
/* By id; NULL if it is not known. */
const lab_gpu_spec *lab_gpu_spec_find(const char *id);

/* The lowest compute capability, 89 for 8.9, whose units multiply the type in that arithmetic; 0: all do. */
int lab_gpu_least_arch(tsr_dtype dtype, tsr_compute compute);

/* The first GPU of this machine, as its driver describes it; what drivers do not tell is that of a GPU in the table of
 * the same compute capability. */
typedef struct lab_gpu_here {
    lab_gpu_spec spec;
    char name[96]; /* what spec.name points to */
} lab_gpu_here;

/* TSR_NO_DEVICE with the reason. */
tsr_status lab_gpu_find_here(lab_gpu_here *out);

#endif
