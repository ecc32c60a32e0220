/* Runs one kernel on the emulated GPU: what the backend and the tests of the emulator call. */
#ifndef TSR_EMU_RUN_H
#define TSR_EMU_RUN_H

#include "core/config.h"
#include "core/copy_args.h"
#include "core/microbench_args.h"
#include "core/reduce_args.h"
#include "core/tensor_map.h"
#include "core/tensor_spec.h"
#include "emu/listen.h"
#include "emu/trace.h"
#include "emu/watch.h"

/* Memory that launches leave to the next ones; for a device, which may run several at once. */
typedef struct tsr_emu_pool tsr_emu_pool;
tsr_emu_pool *tsr_emu_pool_make(const tsr_allocator *allocator); /* NULL when out of memory */
void tsr_emu_pool_free(tsr_emu_pool *pool);                      /* NULL is fine; no launch may be under way */

typedef struct tsr_emu_job {
    const char *name; /* of the kernel, for messages */
    /* One of the three. */
    void (*kernel)(const tsr_gemm_args args);
    void (*kernel_tma)(const tsr_gemm_args args, const tsr_tensor_maps maps);
    void (*kernel_scaled)(const tsr_gemm_args args, const tsr_tensor_maps maps, const tsr_scaling scaling);
    const tsr_scaling *scaling;  /* of kernel_scaled */
    const tsr_tensor_maps *maps; /* of these two: from tsr_emu_encode; NULL: kernel_scaled reads none */
    int cluster;                 /* CTAs along x that form a cluster and run together; 0 and 1: no clusters */
    int arch;                    /* compute capability that the kernel is written for; implied by maps and clusters */
    int is_dependent;            /* launched while the grid before it may still run: griddepcontrol */
    /* One of the four says which addresses may be touched, with the dtypes below: of a product; of copies of A and B
     * (kernels/prep/pad.cu), transposed (kernels/prep/transpose.cu) if `transposes`; of a reduction; of a
     * microbenchmark. `kernel` has that argument, whatever its type says. */
    const tsr_gemm_args *args;
    const tsr_copy_args *copy;
    const tsr_reduce_args *reduce;
    const tsr_microbench_args *microbench;
    int transposes;
    tsr_dtype dtype_a, dtype_b, dtype_c, dtype_d;
    long long a_bytes, b_bytes; /* above 0: of A or B, which is compressed 2:4 (core/sparse24.h), in one piece */
    tsr_grid grid;              /* each at most 2^31 - 1, z at most 65535 */
    unsigned threads_x, threads_y;
    size_t shared_bytes;
    size_t workspace_bytes;  /* of the workspace in the arguments */
    unsigned long long seed; /* of the order in which threads run */
    int backwards;           /* clusters start from the last one on: for kernels in which whoever is last goes on */
    int workers;             /* CPU threads, at least 1; the result does not depend on it */
    const tsr_allocator *allocator;
    tsr_emu_trace *trace;             /* NULL: none */
    const tsr_emu_listener *listener; /* NULL: none; else one worker runs the launch */
    const tsr_emu_watcher *watcher;   /* NULL: none; else the kernel is one compiled for it */
    tsr_emu_pool *pool;               /* with the same allocator; NULL: none */
} tsr_emu_job;

enum {
    TSR_EMU_MAX_THREADS = 1024,      /* of a CTA, as on the hardware */
    TSR_EMU_MAX_SLOT_THREADS = 4096, /* of a cluster; the hardware allows 8 CTAs of 1024 */
    TSR_EMU_SMS = 132,               /* as many CTAs are resident at once as such a GPU holds */
    TSR_EMU_SM_THREADS = 2048,
    TSR_EMU_SM_CTAS = 32,
    TSR_EMU_SM_SHARED = 228 << 10,
    TSR_EMU_CTA_RESERVED = 1 << 10 /* shared memory that the hardware keeps for itself in each CTA */
};

/* Runs the grid to its end. TSR_KERNEL_FAULT with a message that names kernel, CTA, thread, place and address as soon
 * as a thread does what it must not; then D is partly written. TSR_OUT_OF_MEMORY if stacks cannot be had. Every rule
 * that is checked is listed in docs/EMULATOR.md. Any number of jobs may run at once. */
tsr_status tsr_emu_run(const tsr_emu_job *job);

/* The emulator's tensor map for a specification that keeps the rules (tsr_tensor_spec_fault). */
void tsr_emu_encode(const tsr_tensor_spec *spec, tsr_tensor_map *out);

#endif
