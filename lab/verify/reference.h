/* The truth to compare with: D = alpha * op(A) * op(B) + beta * C in the form of an epilogue, and the size of the
 * numbers that went in. Sums are kept in double precision, and for f64 operands in double-double (Dekker 1971; Ogita,
 * Rump and Oishi 2005, algorithm 5.3: as if in twice the precision), so that its own error is negligible beside the
 * bound. Sums of 8-bit integers wrap around at 2^32, and so does all of a result in s32. */
#ifndef LAB_REFERENCE_H
#define LAB_REFERENCE_H

#include "core/scaling.h"
#include "tessera.h"

/* Scales of A or B in one problem, as tsr_scale_mode (tessera.h) lays them out. */
typedef struct lab_scales {
    const float *at;   /* NULL: 1 */
    const void *zeros; /* zero points, of the operand's type; NULL: 0 */
    int mode;
    long long stride; /* tsr_scale_stride (core/problem.h) */
} lab_scales;

/* How sums of 8-bit floats are truncated that tensor cores make. */
typedef enum lab_truncation {
    LAB_NO_TRUNCATION,
    LAB_TRUNCATES_BLOCKS, /* sums begin anew each 128 steps of K */
    LAB_TRUNCATES_ALL
} lab_truncation;

typedef struct lab_reference_problem {
    int64_t m, n, k;
    tsr_dtype dtype_a, dtype_b, dtype_c;
    int trans_a, trans_b;
    int64_t lda, ldb, ldc;
    const void *a, *b, *c; /* host memory; not read where the rules of tessera.h say so */
    double alpha, beta;
    int threads;      /* 0: all */
    int epilogue;     /* tsr_epilogue */
    const void *bias; /* of tsr_dtype_bias(dtype_c); not read without a form */
    lab_scales scales_a, scales_b;
    const float *scale_c, *scale_d; /* NULL: 1 */
    lab_truncation truncation;
} lab_reference_problem;

/* One element of D. */
typedef struct lab_reference_element {
    double value, rest; /* the truth is value + rest; rest is 0 where value is not finite */
    double size;        /* |alpha| |A| |B| + |beta C| + |bias|; NaN or infinite where an input is */
    double before;      /* the truth before scale_d, which is a part of the others */
    double truncated;   /* by how much truncated sums may be off; 0 without truncation */
    /* How far up and down a sum may come on its way, in whatever order it is made: before its factor, or behind that
     * with beta * C and the bias. And D's element, not rounded yet, of a sum that became infinite up, or down. */
    double up, down, of_up, of_down;
} lab_reference_element;

/* Computes D for the rows `rows[0..row_count)` and the columns likewise; NULL: all m, all n. out[i * column_count + j]
 * is element (rows[i], columns[j]). TSR_OUT_OF_MEMORY. */
tsr_status lab_reference(const lab_reference_problem *problem, const int64_t *rows, int64_t row_count,
                         const int64_t *columns, int64_t column_count, lab_reference_element *out);

#endif
