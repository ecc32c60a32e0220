/* Tessera's BLAS: what libtessera_blas offers beyond the usual headers. sgemm and dgemm themselves are declared by any
 * cblas.h; this header declares batches of them whose matrices lie at equal distances:
 *
 *     C_i = alpha * op(A_i) * op(B_i) + beta * C_i        i = 0 .. size - 1
 *
 * where A_i begins `stride_a` elements after A_(i-1), and so on. Arguments up to the strides are those of cblas_?gemm:
 * `layout` 101 row-major, 102 column-major; `trans_a` and `trans_b` 111 as stored, 112 transposed. op(A_i) is m x k,
 * op(B_i) k x n, C_i m x n. Strides may be 0 (the matrix is used again; not sensible for C) or negative. `size` 0
 * does nothing. A wrong argument goes to the program's cblas_xerbla, else to stderr, and C is untouched.
 *
 * Integers have 32 bits; in the functions whose names end in _64, or in 64_ as OpenBLAS has it, 64 bits. Any thread may
 * call them at any time. Include a cblas.h, if at all, before this header: one that declares the same functions then
 * agrees with it. */
#ifndef TESSERA_BLAS_H
#define TESSERA_BLAS_H

#include <stdint.h>

#if defined(CBLAS_H)
#define TSR_BLAS_LAYOUT CBLAS_LAYOUT
#define TSR_BLAS_TRANS  CBLAS_TRANSPOSE
#else
#define TSR_BLAS_LAYOUT int
#define TSR_BLAS_TRANS  int
#endif

#ifdef __cplusplus
extern "C" {
#endif

void cblas_sgemm_batch_strided(TSR_BLAS_LAYOUT layout, TSR_BLAS_TRANS trans_a, TSR_BLAS_TRANS trans_b, int m, int n,
                               int k, float alpha, const float *a, int lda, int stride_a, const float *b, int ldb,
                               int stride_b, float beta, float *c, int ldc, int stride_c, int size);
void cblas_dgemm_batch_strided(TSR_BLAS_LAYOUT layout, TSR_BLAS_TRANS trans_a, TSR_BLAS_TRANS trans_b, int m, int n,
                               int k, double alpha, const double *a, int lda, int stride_a, const double *b, int ldb,
                               int stride_b, double beta, double *c, int ldc, int stride_c, int size);
void cblas_sgemm_batch_strided_64(TSR_BLAS_LAYOUT layout, TSR_BLAS_TRANS trans_a, TSR_BLAS_TRANS trans_b, int64_t m,
                                  int64_t n, int64_t k, float alpha, const float *a, int64_t lda, int64_t stride_a,
                                  const float *b, int64_t ldb, int64_t stride_b, float beta, float *c, int64_t ldc,
                                  int64_t stride_c, int64_t size);
void cblas_dgemm_batch_strided_64(TSR_BLAS_LAYOUT layout, TSR_BLAS_TRANS trans_a, TSR_BLAS_TRANS trans_b, int64_t m,
                                  int64_t n, int64_t k, double alpha, const double *a, int64_t lda, int64_t stride_a,
                                  const double *b, int64_t ldb, int64_t stride_b, double beta, double *c, int64_t ldc,
                                  int64_t stride_c, int64_t size);
void cblas_sgemm_batch_strided64_(TSR_BLAS_LAYOUT layout, TSR_BLAS_TRANS trans_a, TSR_BLAS_TRANS trans_b, int64_t m,
                                  int64_t n, int64_t k, float alpha, const float *a, int64_t lda, int64_t stride_a,
                                  const float *b, int64_t ldb, int64_t stride_b, float beta, float *c, int64_t ldc,
                                  int64_t stride_c, int64_t size);
void cblas_dgemm_batch_strided64_(TSR_BLAS_LAYOUT layout, TSR_BLAS_TRANS trans_a, TSR_BLAS_TRANS trans_b, int64_t m,
                                  int64_t n, int64_t k, double alpha, const double *a, int64_t lda, int64_t stride_a,
                                  const double *b, int64_t ldb, int64_t stride_b, double beta, double *c, int64_t ldc,
                                  int64_t stride_c, int64_t size);

#undef TSR_BLAS_LAYOUT
#undef TSR_BLAS_TRANS

#ifdef __cplusplus
}
#endif

#endif
