/* How many CTAs of a kernel an SM holds. */
#ifndef LAB_OCCUPANCY_H
#define LAB_OCCUPANCY_H

#include "lab/common/gpus.h"

typedef struct lab_occupancy {
    int ctas; /* of an SM, at least 1 if the kernel can run at all */
    int warps;
    double share;      /* of the warps that an SM can hold, 0 to 1 */
    const char *limit; /* "threads", "registers", "shared memory" or "CTAs" */
    int by_threads, by_registers, by_shared, by_ctas;
    int shared_config_bytes; /* of the SM's memory, set aside as shared: the rest is L1 */
} lab_occupancy;

/* For a CTA of `threads` threads of `registers` registers (0: not known, taken to be no limit) and `shared_bytes` of
 * shared memory. Registers are given to warps 256 at a time, each quarter of an SM has its own; shared memory in steps
 * of 128 bytes, with 1 KiB for the system (CUDA programming guide, compute capability 8.0 and later). */
lab_occupancy lab_occupancy_of(const lab_gpu_spec *gpu, int threads, int registers, int shared_bytes);

#endif
