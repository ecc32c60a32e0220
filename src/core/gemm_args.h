/* The one argument of every GEMM kernel, shared by host and device code: D = alpha * op(A) * op(B) + beta * C for
 * `batch` problems, in one of the forms of core/epilogue.h. Included by kernels compiled with nvcc, NVRTC (which has no
 * system headers) and gcc, so it includes no system header and uses only built-in types. */
#ifndef TSR_CORE_GEMM_ARGS_H
#define TSR_CORE_GEMM_ARGS_H

#include "core/element_types.h"
#include "core/epilogue.h"
#include "core/schedule.h"

typedef struct tsr_gemm_args {
    const void *a, *b, *c;
    void *d;
    void *workspace;
    long long m, n, k;                            /* k is 0 when alpha is 0: then A and B are never read */
    long long lda, ldb, ldc, ldd;                 /* elements; validated to be at least the row length */
    long long batch_a, batch_b, batch_c, batch_d; /* elements from problem to problem */
    long long batch;
    double alpha, beta;   /* beta == 0: C is never read and may be NULL */
    int trans_a, trans_b; /* 1: A is stored K x M, B is stored N x K */
    tsr_schedule schedule;
    int type_a, type_b, type_d; /* of A, of B, and of C and D (core/element_types.h), for kernels that take several */
    const float *scale_a, *scale_b; /* a factor of the whole operand, read when the kernel runs; NULL: 1 */
    const void *bias; /* N values of D's type, one a column, the same for all problems; NULL without a form */
    int epilogue;     /* tsr_epilogue */
    int block_scales; /* 1: there are scales of blocks beside these arguments (core/scaling.h); here, since a kernel
                       * asks for it before anything else */
} tsr_gemm_args;

/* A workspace begins with 32-bit counters, 0 before the first run; each run leaves them 0. What follows (partial sums,
 * padded operands) may hold anything before and after. */
#define TSR_WORKSPACE_COUNTER_BYTES 65536

#endif
