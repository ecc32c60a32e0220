/* Matrices copied with another element type or another order. */
#ifndef LAB_CONVERT_H
#define LAB_CONVERT_H

#include "tessera.h"

/* Elements that a conversion does not keep: numbers beyond the range of a type of integers become its end, and those
 * beyond a type of floats infinite, or NaN in e4m3, which has no infinities; NaN becomes 0 as an integer. */
typedef struct lab_lost {
    int64_t beyond, nan; /* nan: 0 for types of floats, which keep it */
    double low, high;    /* the range */
    double becomes;      /* what is above the range becomes this */
} lab_lost;

/* Of `count` elements in a row. Numbers that are rounded, also to 0, are not counted. */
lab_lost lab_count_lost(tsr_dtype dtype_to, tsr_dtype dtype_from, const void *from, int64_t count);

/* The type of the bias of results of a type. */
tsr_dtype lab_bias_dtype(tsr_dtype result);

/* to[i * ld_to + j] = from[i * ld_from + j], or from[j * ld_from + i] with `transpose`, for a result of rows x columns.
 * Each element is rounded once, to nearest even. The matrices must not overlap. In threads when there is much to do. */
void lab_convert(tsr_dtype dtype_to, void *to, int64_t ld_to, tsr_dtype dtype_from, const void *from, int64_t ld_from,
                 int transpose, int64_t rows, int64_t columns);

#endif
