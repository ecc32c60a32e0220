/* The time of cpu-sequential, which every speedup refers to. */
#ifndef LAB_BASELINE_H
#define LAB_BASELINE_H

#include "lab/common/product_types.h"
#include "lab/common/shapes.h"

typedef struct lab_baseline {
    double ns;  /* NAN: unknown, no such kernel for the types */
    int scaled; /* measured at a smaller size and scaled by 2 M N K */
} lab_baseline;

/* Measures it, in the types' default arithmetic, on this machine's CPU at sizes where it takes well under a second, or,
 * if `brief`, some milliseconds; elsewhere at smaller ones. */
lab_baseline lab_baseline_measure(const lab_types *types, int trans_a, int trans_b, lab_shape shape, int brief);

#endif
