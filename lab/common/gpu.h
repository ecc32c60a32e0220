/* One GPU as the lab's own calls to the driver need it: timers and peers, beside whatever context the library has. */
#ifndef LAB_GPU_H
#define LAB_GPU_H

#include "cuda/driver.h"

typedef struct lab_gpu {
    tsr_driver driver;
    tsr_cu_device device;
    tsr_cu_context context; /* the primary context, which the library uses too */
    int ordinal;
} lab_gpu;

/* TSR_NO_DEVICE with the reason; *out is then of no use. */
tsr_status lab_gpu_open(int ordinal, lab_gpu *out);
void lab_gpu_close(lab_gpu *gpu);

/* Makes the GPU's context current on this thread until lab_gpu_leave. */
tsr_status lab_gpu_enter(const lab_gpu *gpu);
void lab_gpu_leave(const lab_gpu *gpu);

/* Fails with the call's name and the driver's words. */
tsr_status lab_gpu_fail(const lab_gpu *gpu, const char *call, tsr_cu_result result);

#endif
