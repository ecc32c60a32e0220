/* What a backend, which drives devices, offers to plans: src/cpu, src/cuda and src/emu each export one of these. All
 * functions may be called from several threads at once, but for open and close. */
#ifndef TSR_CORE_BACKEND_H
#define TSR_CORE_BACKEND_H

#include "core/config.h"
#include "core/copy_args.h"
#include "core/microbench_args.h"
#include "core/reduce_args.h"

typedef void tsr_log_line(const char *line, void *user);

/* What the CPU is taken to be: everything that its results may depend on. */
typedef struct tsr_cpu_profile {
    const char *isa;                        /* instruction set, as tsr_cpu_force_isa names it; without "+pairs" bf16 is
                                             * summed as where the processor has no pairs. NULL: the processor's best */
    long long l1_bytes, l2_bytes, l3_bytes; /* caches */
} tsr_cpu_profile;

typedef struct tsr_backend_options {
    int threads;                    /* CPU threads; 0: all that the process may use */
    const tsr_cpu_profile *cpu;     /* NULL: as it is found */
    const tsr_allocator *allocator; /* outlives the device */
    tsr_log_line *log;              /* may be NULL */
    void *log_user;
} tsr_backend_options;

/* A config made ready on a device: a loaded function, or nothing. Owned by the device, freed by close. */
typedef struct tsr_loaded tsr_loaded;

/* One launch. */
typedef struct tsr_launch {
    const tsr_config *config;
    const tsr_loaded *loaded;
    /* Of a product, of copies, of a reduction, or of a microbenchmark, as the config's role says; the others are NULL.
     * Pointers are the device's. */
    const tsr_gemm_args *args;
    const tsr_copy_args *copy;
    const tsr_reduce_args *reduce;
    const tsr_microbench_args *microbench;
    const tsr_scaling *scaling;      /* likewise; NULL: none, and D has more than 8 bits */
    tsr_grid grid;                   /* CUDA configs; x == 0: that of tsr_config_grid, of a product */
    int cluster;                     /* CUDA configs; CTAs of a cluster along x, 0: the config's */
    const tsr_problem *problem;      /* extents of the operands, for the emulator's bounds; may be NULL on the CPU, and
                                      * of a microbenchmark */
    size_t workspace_bytes;          /* of the workspace in the arguments, for the emulator's bounds */
    const void *packed_a, *packed_b; /* CPU configs */
    int threads;                     /* CPU configs; 0: the device's */
    int algorithm;                   /* CPU configs: see tsr_cpu_call */
    void *stream;                    /* CUDA */
} tsr_launch;

/* Copies that overlap with kernels, for operands that come from the host tile by tile. Nothing waits but `wait`.
 * Streams and events are the device's own kinds of handle. */
typedef struct tsr_async {
    tsr_status (*pin)(tsr_device *device, size_t bytes, void **out); /* host memory that the device reads by itself */
    void (*unpin)(tsr_device *device, void *pointer);
    tsr_status (*open_stream)(tsr_device *device, void **out);
    void (*close_stream)(tsr_device *device, void *stream);
    tsr_status (*open_event)(tsr_device *device, void **out);
    void (*close_event)(tsr_device *device, void *event);
    tsr_status (*upload)(tsr_device *device, void *to, const void *pinned, size_t bytes, void *stream);
    tsr_status (*download)(tsr_device *device, void *pinned, const void *from, size_t bytes, void *stream);
    tsr_status (*record)(tsr_device *device, void *event, void *stream);
    /* What is put in `stream` from now on begins after what `event` recorded last. */
    tsr_status (*follow)(tsr_device *device, void *stream, void *event);
    tsr_status (*wait)(tsr_device *device, void *event);
} tsr_async;

typedef struct tsr_backend {
    /* Fills *out but for out->allocator. TSR_NO_DEVICE with the reason if there is none. */
    tsr_status (*open)(int ordinal, const tsr_backend_options *options, tsr_device *out);
    void (*close)(tsr_device *device);
    /* Fills what takes long to find out and only prices need: a CPU's peaks, measured. NULL: there is no such thing. */
    void (*measure)(tsr_device *device);
    /* Makes the config's code resident, so that launch compiles and loads nothing. *out may be NULL on success. */
    tsr_status (*load)(tsr_device *device, const tsr_config *config, const tsr_loaded **out);
    tsr_status (*launch)(tsr_device *device, const tsr_launch *launch);
    tsr_status (*alloc)(tsr_device *device, size_t bytes, void **out);
    tsr_status (*free)(tsr_device *device, void *pointer);
    tsr_status (*upload)(tsr_device *device, void *to, const void *from, size_t bytes, void *stream);
    tsr_status (*download)(tsr_device *device, void *to, const void *from, size_t bytes, void *stream);
    tsr_status (*zero)(tsr_device *device, void *to, size_t bytes, void *stream); /* does not wait on a GPU */
    tsr_status (*synchronize)(tsr_device *device, void *stream);
    /* 1 if this build holds code of the config for the device's kind; the reason otherwise. */
    int (*has_code)(const tsr_config *config, const tsr_device *device, char *reason, size_t reason_bytes);
    const tsr_async *async; /* NULL where the memory is the host's */
} tsr_backend;

extern const tsr_backend tsr_cpu_backend, tsr_cuda_backend, tsr_emu_backend;

#endif
