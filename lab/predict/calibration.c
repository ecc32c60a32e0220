#include "lab/predict/calibration.h"

#include <string.h>

/* Of the H200: perf/h200-pairs.txt, which tests/unit_lab_time.c holds the model to. Of the A40: the published times
 * below, which tests/unit_lab_published.c holds it to. Of the RTX 3090: the factor of 4.5 came to the project as a
 * quotation, beside 234 and 7,490 GFLOP/s of the same GPU; these two figures are those of 0Mean1Sigma's "Memory
 * Coalescing and Tiled Matrix Multiplication" (0mean1sigma.com), where the factor has not been looked up. */
static const lab_calibration calibrations[] = {
    {"h200", 791, 0.07, 0.44,
     "fitted to 246 launches on an H200; of 791 others there, of shapes that were not fitted to, it is 7% off in the "
     "median, at most 35% in all but four, and 44% at worst (docs/PREDICTIONS.md)"},
    {"h100", 0, 0, 0,
     "fitted on an H200, whose SMs are the same; nothing was measured on an H100. Expect 7% in the median, more where "
     "DRAM limits"},
    {"a100", 0, 0, 0,
     "fitted on an H200 alone: instructions, waits and caches of an A100 were not measured. Take the time as good to a "
     "factor of two"},
    {"a40", 0, 0, 0,
     "not fitted to this GPU, but for its units and caches as published. Of eight published times of a tutorial's "
     "naive and tiled kernels the model says 0.3 to 2.0 times as long; percentages are as rough"},
    {"rtx3090", 0, 0, 0,
     "not fitted to this GPU, but for its units and caches as published. A tutorial's uncoalesced kernel is 4.5 times "
     "behind its naive one at 8000 (a quotation, not looked up); the model says 6.1. Take the time as good to a factor "
     "of three"},
};

static const lab_calibration unknown = {"this", 0, 0, 0,
                                        "fitted on an H200 alone; take the time as good to a factor of two or three"};

const lab_calibration *lab_calibration_of(const lab_gpu_spec *gpu)
{
    for (size_t i = 0; i < sizeof calibrations / sizeof calibrations[0]; i++)
        if (strcmp(calibrations[i].gpu, gpu->id) == 0)
            return &calibrations[i];
    return &unknown;
}

static const lab_published published[] = {
    {.gpu = "a40", .instance = "naive_f32", .size = 32, .gflops = 6.5},
    {.gpu = "a40", .instance = "naive_f32", .size = 256, .gflops = 465},
    {.gpu = "a40", .instance = "naive_f32", .size = 1024, .gflops = 861},
    {.gpu = "a40",
     .instance = "naive_f32",
     .size = 2048,
     .gflops = 604,
     .has_eight = 1,
     .eight = {43.8, 28.3, 28.4, 5.1, 3.6, 90.4, 82.8, 25.2}},
    {.gpu = "a40", .instance = "tiled_f32_t16", .size = 32, .gflops = 19},
    {.gpu = "a40", .instance = "tiled_f32_t16", .size = 256, .gflops = 1147},
    {.gpu = "a40", .instance = "tiled_f32_t16", .size = 1024, .gflops = 1967},
    {.gpu = "a40",
     .instance = "tiled_f32_t16",
     .size = 2048,
     .gflops = 1964,
     .has_eight = 1,
     .eight = {95.2, 95.2, 95.7, 19.2, 37.9, 2.4, 48.6, 263.2}},
};

const lab_published *lab_published_at(size_t index)
{
    return index < sizeof published / sizeof published[0] ? &published[index] : NULL;
}

const lab_published *lab_published_find(const char *gpu, const char *instance, int64_t m, int64_t n, int64_t k)
{
    for (const lab_published *p = published; p < published + sizeof published / sizeof published[0]; p++)
        if (strcmp(p->gpu, gpu) == 0 && strcmp(p->instance, instance) == 0 && m == p->size && n == p->size &&
            k == p->size)
            return p;
    return NULL;
}
