/* All exported names of one element type. Parameters: REAL, DTYPE, ONE_LINE, and X, the letter in front of "gemm". The
 * families of names, with 32-bit and with 64-bit integers:
 *     sgemm_ sgemm cblas_sgemm                 the reference; some compilers' Fortran has no underscore
 *     sgemm_64_ sgemm_64 cblas_sgemm_64        the reference since 3.11
 *     cblas_sgemm64_                           OpenBLAS built with 64_ as its suffix (NumPy wheels before 2.0)
 *     scipy_sgemm_ scipy_cblas_sgemm           bundled with SciPy wheels
 *     scipy_sgemm_64_ scipy_cblas_sgemm64_     bundled with NumPy wheels since 2.0 */
#define JOIN_TEXT(a, b, c) a##b##c
#define JOIN(a, b, c)      JOIN_TEXT(a, b, c)

static __attribute__((noinline)) void run_whatever_it_takes(const char *name, tsr_trans trans_a, tsr_trans trans_b,
                                                            int64_t m, int64_t n, int64_t k, REAL alpha, const REAL *a,
                                                            int64_t lda, const REAL *b, int64_t ldb, REAL beta, REAL *c,
                                                            int64_t ldc)
{
    const tsr_blas_call call = {.name = name,
                                .dtype = DTYPE,
                                .trans_a = trans_a,
                                .trans_b = trans_b,
                                .m = m,
                                .n = n,
                                .k = k,
                                .a = a,
                                .b = b,
                                .c = c,
                                .lda = lda,
                                .ldb = ldb,
                                .ldc = ldc,
                                .alpha = (double)alpha,
                                .beta = (double)beta,
                                .batch = 1};
    tsr_blas_run(&call);
}

/* One row-major product that was checked: the short way, unless calls are watched or it fails. */
static inline void run(const char *name, tsr_trans trans_a, tsr_trans trans_b, int64_t m, int64_t n, int64_t k,
                       REAL alpha, const REAL *a, int64_t lda, const REAL *b, int64_t ldb, REAL beta, REAL *c,
                       int64_t ldc)
{
    if (!tsr_blas_observed() && (tsr_blas_nothing(m, n, k, (double)alpha, (double)beta) ||
                                 ONE_LINE(trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc) == TSR_OK))
        return;
    run_whatever_it_takes(name, trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

#define INT     int32_t
#define ENTRY   JOIN(, X, gemm_)
#define ROUTINE UPPER "GEMM "
#define XERBLA  xerbla_
#include "blas/fortran_tmpl.h"
#define ENTRY   JOIN(, X, gemm)
#define ROUTINE UPPER "GEMM "
#define XERBLA  xerbla_
#include "blas/fortran_tmpl.h"
#define ENTRY   JOIN(scipy_, X, gemm_)
#define ROUTINE UPPER "GEMM "
#define XERBLA  scipy_xerbla_
#include "blas/fortran_tmpl.h"
#define ENTRY   JOIN(cblas_, X, gemm)
#define BATCH   JOIN(cblas_, X, gemm_batch_strided)
#define ROUTINE "cblas_" LOWER "gemm"
#define XERBLA  cblas_xerbla
#include "blas/cblas_tmpl.h"
#define ENTRY   JOIN(scipy_cblas_, X, gemm)
#define BATCH   JOIN(scipy_cblas_, X, gemm_batch_strided)
#define ROUTINE "cblas_" LOWER "gemm"
#define XERBLA  scipy_cblas_xerbla
#include "blas/cblas_tmpl.h"
#undef INT

#define INT     int64_t
#define ENTRY   JOIN(, X, gemm_64_)
#define ROUTINE UPPER "GEMM "
#define XERBLA  xerbla_64_
#include "blas/fortran_tmpl.h"
#define ENTRY   JOIN(, X, gemm_64)
#define ROUTINE UPPER "GEMM "
#define XERBLA  xerbla_64_
#include "blas/fortran_tmpl.h"
#define ENTRY   JOIN(scipy_, X, gemm_64_)
#define ROUTINE UPPER "GEMM "
#define XERBLA  scipy_xerbla_64_
#include "blas/fortran_tmpl.h"
#define ENTRY   JOIN(cblas_, X, gemm_64)
#define BATCH   JOIN(cblas_, X, gemm_batch_strided_64)
#define ROUTINE "cblas_" LOWER "gemm"
#define XERBLA  cblas_xerbla_64
#include "blas/cblas_tmpl.h"
#define ENTRY   JOIN(cblas_, X, gemm64_)
#define BATCH   JOIN(cblas_, X, gemm_batch_strided64_)
#define ROUTINE "cblas_" LOWER "gemm"
#define XERBLA  cblas_xerbla64_
#include "blas/cblas_tmpl.h"
#define ENTRY   JOIN(scipy_cblas_, X, gemm64_)
#define BATCH   JOIN(scipy_cblas_, X, gemm_batch_strided64_)
#define ROUTINE "cblas_" LOWER "gemm"
#define XERBLA  scipy_cblas_xerbla64_
#include "blas/cblas_tmpl.h"
#undef INT
