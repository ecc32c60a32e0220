/* All exported names of one element type. Parameters: REAL, DTYPE, ONE_LINE, and X, the letter in front of "gemm". The
 * families of names, with 32-bit and with 64-bit integers:
 *     sgemm_ sgemm cblas_sgemm                 the reference; some compilers' Fortran has no underscore
 *     sgemm_64_ sgemm_64 cblas_sgemm_64        the reference since 3.11
 *     cblas_sgemm64_                           OpenBLAS built with 64_ as its suffix (NumPy wheels before 2.0)
 *     scipy_sgemm_ scipy_cblas_sgemm           bundled with SciPy wheels
 *     scipy_sgemm_64_ scipy_cblas_sgemm64_     bundled with NumPy wheels since 2.0 */
#define JOIN_TEXT(a, b, c) a##b##c
#define JOIN(a, b, c)      JOIN_TEXT(a, b, c)

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
