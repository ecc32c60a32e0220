/* Pairs of a kernel and a shape whose time was measured, with what the emulator counted of them: the model of time can
 * be asked about all of them at once (tools/time-table, perf/h200-pairs.txt). A line of such a record is KERNEL M N K
 * LAYOUT DTYPE MICROSECONDS | COUNTERS with layout as `tessera bench` writes it ("nn") and counters as
 * lab/predict/counters_text.h does. */
#ifndef LAB_PAIRS_H
#define LAB_PAIRS_H

#include "lab/predict/counters.h"
#include "lab/predict/predict.h"

typedef struct lab_pair {
    char kernel[64];
    int64_t m, n, k;
    char layout[4], dtype[8];
    double us; /* measured */
    lab_counters counters;
} lab_pair;

/* 0 if the line is none. What stands behind its '|' may be missing: then counters are all 0. */
int lab_pair_read(const char *line, lab_pair *out);

/* The problem; desc.kernel points into the pair. */
tsr_gemm_desc lab_pair_desc(const lab_pair *pair);

/* What the model says of the counters, in microseconds on `gpu`. */
double lab_pair_predict(const lab_pair *pair, const lab_gpu_spec *gpu);
double lab_pair_predict_by(const lab_pair *pair, const lab_gpu_spec *gpu, const lab_time_constants *constants);

/* Whether the model's constants were fitted to this pair: those of a quarter of the shapes are, by a hash of M, N and K
 * (FNV-1a of them as text), so all kernels' results for one shape are on one side. */
int lab_pair_is_fitted(const lab_pair *pair);

/* Of `count` errors, each 0 for none and 0.5 for half off, either way: how many are within 10 and 35%, the median, the
 * worst. Sorts them. */
typedef struct lab_pair_errors {
    size_t count, within_10, within_35;
    double median, worst;
} lab_pair_errors;
lab_pair_errors lab_pair_errors_of(double *errors, size_t count);

#endif
