/* What is known of a device, and the roofline that follows from it. */
#ifndef LAB_DEVICE_H
#define LAB_DEVICE_H

#include "tessera.h"

typedef struct lab_device {
    char id[16];   /* "cpu", "cuda:0", "emu" */
    char name[96]; /* "NVIDIA H200" */
    int is_cuda;   /* a GPU; 0 for the emulator, which stands for one but is not */
    int is_emu;
    /* GPU, and the GPU that the emulator stands for; 0 otherwise. */
    int arch, sm_count, core_clock_khz, memory_clock_khz, memory_bus_bits, driver_version;
    int64_t memory_bytes;
    /* CPU: of one core, l3 of the chip. GPU: l2 only. 0 where unknown. */
    int64_t l1_bytes, l2_bytes, l3_bytes;
    int threads;                                 /* CPU */
    double peak_flops_f32, peak_flops_f64;       /* FLOP/s, all cores, no tensor cores */
    double peak_flops_f64_tensor;                /* tensor cores, in f64; 0: none that are worth using, or not known */
    double peak_flops_tensor16, peak_flops_tf32; /* tensor cores: bf16 and f16 with sums in f32, dense; 0 if unknown */
    double memory_bytes_per_s;
    double transfer_bytes_per_s; /* host <-> device; 0: the memory is the host's */
    double launch_ns;
} lab_device;

/* Opens the device, notes what it says, closes it. TSR_NO_DEVICE with the reason. `device` is one device, not "auto".
 */
tsr_status lab_device_describe(const char *device, lab_device *out);

/* The device that a context has open; of "auto", the one that holds its device memory. */
void lab_device_of(const tsr_context *context, lab_device *out);

/* Bytes that must fit no cache for a measurement to be cold: the last level. */
int64_t lab_device_cache_bytes(const lab_device *device);

/* FLOP/s that sums of this compute type can reach, A being of dtype `a`: on GPUs 16-bit products are the tensor cores'.
 * 0 when unknown. */
double lab_peak_flops(const lab_device *device, tsr_compute compute, tsr_dtype a);

typedef struct lab_roofline {
    double flops;         /* 2 M N K per problem */
    double bytes;         /* A, B read once, D written once, C read once if beta != 0 */
    double intensity;     /* FLOP per byte */
    double ridge;         /* intensity at which the limits meet; 0 when a peak is unknown */
    double bound_flops_s; /* min(peak, intensity x bandwidth); 0 when a peak is unknown */
    int memory_bound;
} lab_roofline;

/* Roofline (Williams, Waterman and Patterson 2009) of one problem on a device. */
lab_roofline lab_roofline_of(const lab_device *device, const tsr_gemm_desc *desc, int reads_c);

/* Percent of the peak that limits the problem's compute type: 100 x flops / time / peak; NAN when unknown. */
double lab_peak_percent(const lab_device *device, const tsr_gemm_desc *desc, double time_ns);

/* Commit of the build, "-dirty" appended if files had changed; "unknown" if it was not built from a repository. */
const char *lab_commit(void);

/* Version of the nvcc that made this build's device code: "13.0.88"; "" if there is none. */
const char *lab_nvcc(void);
/* The UTC date, "2026-11-21". */
void lab_date(char out[11]);

#endif
