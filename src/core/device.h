/* One device as plans see it: what it is, its limits and its peaks. Filled by the backend that drives it. */
#ifndef TSR_CORE_DEVICE_H
#define TSR_CORE_DEVICE_H

#include "core/memory.h"
#include "tessera.h"

/* One launch in a stream of launches, as measured on an H200 with driver 580. */
#define TSR_CUDA_LAUNCH_NS 4400.0

struct tsr_profile;

typedef enum tsr_device_kind { TSR_DEVICE_CPU, TSR_DEVICE_CUDA, TSR_DEVICE_EMU } tsr_device_kind;

typedef struct tsr_cuda_limits {
    int arch; /* 90 for compute capability 9.0 */
    int sm_count;
    int core_clock_khz; /* the highest the driver names */
    int memory_clock_khz;
    int memory_bus_bits;
    long long l2_bytes;
    long long memory_bytes;
    int threads_per_block;
    int threads_per_sm;
    int blocks_per_sm;
    int registers_per_sm;
    int smem_per_block_bytes; /* with the opt-in */
    int smem_per_sm_bytes;
    int driver_version; /* 13000 for 13.0 */
} tsr_cuda_limits;

typedef struct tsr_device {
    tsr_device_kind kind;
    char id[16];                            /* "cpu", "cuda:0", "emu" */
    char name[96];                          /* "AMD EPYC 9654", "NVIDIA H200" */
    tsr_cuda_limits cuda;                   /* CUDA, and the GPU that the emulator stands for */
    int threads;                            /* CPU: threads of one call */
    long long l1_bytes, l2_bytes, l3_bytes; /* CPU, of one core; l3 of the whole chip */
    double peak_flops_f32; /* FLOP/s of all cores without tensor cores; the clock is the highest named */
    double peak_flops_f64;
    double peak_flops_f64_tensor; /* tensor cores, in f64; 0: none that are worth using, or not known */
    double peak_flops_tensor16;   /* tensor cores, bf16 or f16 with sums in f32, no sparsity; 0: none, or not known */
    double peak_flops_tf32;
    double memory_bytes_per_s;   /* peak of device memory, from properties (GPU) or measured once (CPU: estimate) */
    double transfer_bytes_per_s; /* host <-> device; 0 if the memory is the host's */
    double launch_ns;            /* fixed cost of a call */
    const tsr_allocator *allocator;
    const struct tsr_profile *profile; /* of its prices (plan/profiles/profiles.h); NULL: an H200's */
    void *impl;                        /* the backend's own */
} tsr_device;

#endif
