/* Pairs of a kernel and a shape whose time was measured, with what the emulator counted of them: the model of time can
 * be asked about all of them at once (tools/time-table, perf/h200-pairs.txt). A line of such a record is KERNEL M N K
 * LAYOUT DTYPE MICROSECONDS | COUNTERS with layout as `tessera bench` writes it ("nn") and counters as
 * lab/counters_text.h does. */
#ifndef LAB_PAIRS_H
#define LAB_PAIRS_H

#include "lab/counters.h"

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

/* Whether a constant of the model was fitted to this pair (docs/PREDICTIONS.md). */
int lab_pair_is_fitted(const lab_pair *pair);

/* Of `count` errors, each 0 for none and 0.5 for half off, either way: how many are within 60%, the median, the worst.
 * Sorts them. */
typedef struct lab_pair_errors {
    size_t count, within_60;
    double median, worst;
} lab_pair_errors;
lab_pair_errors lab_pair_errors_of(double *errors, size_t count);

#endif
