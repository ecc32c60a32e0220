/* How far the model of time and of a profiler's percentages (lab/predict/predict.h) can be trusted on a GPU, and what
 * was published of kernels like ours. */
#ifndef LAB_CALIBRATION_H
#define LAB_CALIBRATION_H

#include "lab/predict/predict.h"

typedef struct lab_calibration {
    const char *gpu;      /* its id */
    int launches;         /* measured on that GPU, and not used to fit the model; 0: none */
    double median, worst; /* of them: how far predicted times are off, 0.16 for 16% */
    const char *text;     /* a sentence or two for readers */
} lab_calibration;

/* Of a GPU, "this" included (by its architecture); never NULL. */
const lab_calibration *lab_calibration_of(const lab_gpu_spec *gpu);

/* A tutorial's measurement of a kernel built on the same idea as ours; its code is not ours. */
typedef struct lab_published {
    const char *gpu, *instance; /* ours that is nearest */
    int64_t size;               /* M = N = K */
    double gflops;
    int has_eight;
    lab_eight eight;
} lab_published;

/* NULL past the last. */
const lab_published *lab_published_at(size_t index);
/* NULL if nothing was published of this square problem. */
const lab_published *lab_published_find(const char *gpu, const char *instance, int64_t m, int64_t n, int64_t k);

#endif
