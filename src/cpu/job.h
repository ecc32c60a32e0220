/* One call of cpu-tiled. */
#ifndef TSR_CPU_JOB_H
#define TSR_CPU_JOB_H

#include "cpu/device.h"
#include "cpu/shape.h"

typedef struct tsr_job {
    const tsr_gemm_args *args;
    const tsr_isa *isa;
    const tsr_tiles *tiles;
    const tsr_store *store;
    tsr_device *device;
    const void *packed_a, *packed_b;
    int threads;
    int element_bytes; /* as stored */
    int wide_bytes;    /* as computed with */
    int bf16;          /* elements are stored as bf16 */
} tsr_job;

/* Small problems, M and N above 1, K above 0: 1 if tsr_direct takes the job, which gives the bits that tsr_nest gives.
 */
int tsr_direct_fits(const tsr_job *job);
void tsr_direct(const tsr_job *job);
/* The same for one problem that is not worth waking threads for: 1; 0, and nothing was done, if it is not one. */
int tsr_direct_at_once(const tsr_tiles *tiles, const tsr_store *store, const tsr_gemm_args *args,
                       long long element_bytes, tsr_device *device);
/* M and N above 1, K above 0. TSR_OUT_OF_MEMORY before anything is written. */
tsr_status tsr_nest(const tsr_job *job);
/* Shapes other than TSR_SHAPE_TILES, K above 0. TSR_OUT_OF_MEMORY before anything is written. */
tsr_status tsr_stream(const tsr_job *job);
/* tsr_stream in the calling thread, asking for no memory: 1; 0, and nothing was done, if the job is too large. */
int tsr_stream_at_once(const tsr_job *job);

#endif
