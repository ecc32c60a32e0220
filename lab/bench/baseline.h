/* The time of cpu-sequential, which every speedup refers to. */
#ifndef LAB_BASELINE_H
#define LAB_BASELINE_H

#include "lab/common/shapes.h"

typedef struct lab_baseline {
    double ns;  /* NAN: unknown, no such kernel for the dtype */
    int scaled; /* measured at a smaller size and scaled by 2 M N K */
} lab_baseline;

/* Measures it on this machine's CPU at sizes where it takes well under a second, or, if `brief`, some milliseconds;
 * elsewhere at smaller ones. */
lab_baseline lab_baseline_measure(tsr_dtype dtype, int trans_a, int trans_b, lab_shape shape, int brief);

#endif
