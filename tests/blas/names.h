/* Every name that libtessera_blas exports, with its type. */
#ifndef TESTS_BLAS_NAMES_H
#define TESTS_BLAS_NAMES_H

#include <stddef.h>
#include <stdint.h>

/* Even: single, odd: double precision; the second two of each four take 64-bit integers. */
typedef enum blas_kind { FORTRAN_S32, FORTRAN_D32, FORTRAN_S64, FORTRAN_D64, C_S32, C_D32, C_S64, C_D64 } blas_kind;

#define FORTRAN_TYPE(real, integer)                                                                             \
    (const char *, const char *, const integer *, const integer *, const integer *, const real *, const real *, \
     const integer *, const real *, const integer *, const real *, real *, const integer *)
#define C_TYPE(real, integer)                                                                                    \
    (int, int, int, integer, integer, integer, real, const real *, integer, const real *, integer, real, real *, \
     integer)
#define BATCH_TYPE(real, integer)                                                                                    \
    (int, int, int, integer, integer, integer, real, const real *, integer, integer, const real *, integer, integer, \
     real, real *, integer, integer, integer)

typedef struct blas_name {
    const char *symbol, *routine;
    blas_kind kind;
    union {
        void(*s32) FORTRAN_TYPE(float, int32_t);
        void(*d32) FORTRAN_TYPE(double, int32_t);
        void(*s64) FORTRAN_TYPE(float, int64_t);
        void(*d64) FORTRAN_TYPE(double, int64_t);
        void(*cs32) C_TYPE(float, int32_t);
        void(*cd32) C_TYPE(double, int32_t);
        void(*cs64) C_TYPE(float, int64_t);
        void(*cd64) C_TYPE(double, int64_t);
    } call;
} blas_name;

/* X(symbol, routine, kind, member, type). */
#define BLAS_NAMES(X)                                                             \
    X(sgemm_, "SGEMM ", FORTRAN_S32, s32, FORTRAN_TYPE(float, int32_t))           \
    X(sgemm, "SGEMM ", FORTRAN_S32, s32, FORTRAN_TYPE(float, int32_t))            \
    X(scipy_sgemm_, "SGEMM ", FORTRAN_S32, s32, FORTRAN_TYPE(float, int32_t))     \
    X(dgemm_, "DGEMM ", FORTRAN_D32, d32, FORTRAN_TYPE(double, int32_t))          \
    X(dgemm, "DGEMM ", FORTRAN_D32, d32, FORTRAN_TYPE(double, int32_t))           \
    X(scipy_dgemm_, "DGEMM ", FORTRAN_D32, d32, FORTRAN_TYPE(double, int32_t))    \
    X(sgemm_64_, "SGEMM ", FORTRAN_S64, s64, FORTRAN_TYPE(float, int64_t))        \
    X(sgemm_64, "SGEMM ", FORTRAN_S64, s64, FORTRAN_TYPE(float, int64_t))         \
    X(scipy_sgemm_64_, "SGEMM ", FORTRAN_S64, s64, FORTRAN_TYPE(float, int64_t))  \
    X(dgemm_64_, "DGEMM ", FORTRAN_D64, d64, FORTRAN_TYPE(double, int64_t))       \
    X(dgemm_64, "DGEMM ", FORTRAN_D64, d64, FORTRAN_TYPE(double, int64_t))        \
    X(scipy_dgemm_64_, "DGEMM ", FORTRAN_D64, d64, FORTRAN_TYPE(double, int64_t)) \
    X(cblas_sgemm, "cblas_sgemm", C_S32, cs32, C_TYPE(float, int32_t))            \
    X(scipy_cblas_sgemm, "cblas_sgemm", C_S32, cs32, C_TYPE(float, int32_t))      \
    X(cblas_dgemm, "cblas_dgemm", C_D32, cd32, C_TYPE(double, int32_t))           \
    X(scipy_cblas_dgemm, "cblas_dgemm", C_D32, cd32, C_TYPE(double, int32_t))     \
    X(cblas_sgemm_64, "cblas_sgemm", C_S64, cs64, C_TYPE(float, int64_t))         \
    X(cblas_sgemm64_, "cblas_sgemm", C_S64, cs64, C_TYPE(float, int64_t))         \
    X(scipy_cblas_sgemm64_, "cblas_sgemm", C_S64, cs64, C_TYPE(float, int64_t))   \
    X(cblas_dgemm_64, "cblas_dgemm", C_D64, cd64, C_TYPE(double, int64_t))        \
    X(cblas_dgemm64_, "cblas_dgemm", C_D64, cd64, C_TYPE(double, int64_t))        \
    X(scipy_cblas_dgemm64_, "cblas_dgemm", C_D64, cd64, C_TYPE(double, int64_t))

#define DECLARE(symbol, routine, kind, member, type) extern void symbol type;
BLAS_NAMES(DECLARE)
#undef DECLARE

#define ROW(symbol, routine, kind, member, type) {#symbol, routine, kind, {.member = symbol}},
static const blas_name blas_names[] = {BLAS_NAMES(ROW)};
#undef ROW
static const size_t blas_name_count = sizeof blas_names / sizeof blas_names[0];

/* Batches, in double: integers and elements are widened or narrowed to each function's own. C has so many elements. */
enum { BATCH_ELEMENTS = 400 };
typedef void blas_batch_call(int order, long long m, long long n, long long k, double alpha, const double *a,
                             long long lda, long long stride_a, const double *b, long long ldb, long long stride_b,
                             double beta, double *c, long long ldc, long long stride_c, long long count);

typedef struct blas_batch {
    const char *symbol, *routine;
    blas_batch_call *call; /* a, b and c point into arrays of BATCH_ELEMENTS whose starts blas_batch_arrays holds */
} blas_batch;

/* Where the arrays begin whose elements a call may use; through_NAME converts them as a whole. */
static struct {
    const double *a, *b;
    double *c;
} blas_batch_arrays;

#define BATCH_NAMES(X)                                       \
    X(cblas_sgemm_batch_strided, s, float, int32_t)          \
    X(cblas_sgemm_batch_strided_64, s, float, int64_t)       \
    X(cblas_sgemm_batch_strided64_, s, float, int64_t)       \
    X(scipy_cblas_sgemm_batch_strided, s, float, int32_t)    \
    X(scipy_cblas_sgemm_batch_strided64_, s, float, int64_t) \
    X(cblas_dgemm_batch_strided, d, double, int32_t)         \
    X(cblas_dgemm_batch_strided_64, d, double, int64_t)      \
    X(cblas_dgemm_batch_strided64_, d, double, int64_t)      \
    X(scipy_cblas_dgemm_batch_strided, d, double, int32_t)   \
    X(scipy_cblas_dgemm_batch_strided64_, d, double, int64_t)
#define DECLARE_BATCH(symbol, letter, real, integer)                                                                \
    extern void symbol BATCH_TYPE(real, integer);                                                                   \
    static void through_##symbol(int order, long long m, long long n, long long k, double alpha, const double *a,   \
                                 long long lda, long long stride_a, const double *b, long long ldb,                 \
                                 long long stride_b, double beta, double *c, long long ldc, long long stride_c,     \
                                 long long count)                                                                   \
    {                                                                                                               \
        real a_own[BATCH_ELEMENTS], b_own[BATCH_ELEMENTS], c_own[BATCH_ELEMENTS];                                   \
        for (int i = 0; i < BATCH_ELEMENTS; i++) {                                                                  \
            a_own[i] = (real)blas_batch_arrays.a[i];                                                                \
            b_own[i] = (real)blas_batch_arrays.b[i];                                                                \
            c_own[i] = (real)blas_batch_arrays.c[i];                                                                \
        }                                                                                                           \
        symbol(order, 111, 111, (integer)m, (integer)n, (integer)k, (real)alpha, a_own + (a - blas_batch_arrays.a), \
               (integer)lda, (integer)stride_a, b_own + (b - blas_batch_arrays.b), (integer)ldb, (integer)stride_b, \
               (real)beta, c_own + (c - blas_batch_arrays.c), (integer)ldc, (integer)stride_c, (integer)count);     \
        for (int i = 0; i < BATCH_ELEMENTS; i++)                                                                    \
            blas_batch_arrays.c[i] = (double)c_own[i];                                                              \
    }
BATCH_NAMES(DECLARE_BATCH)
#undef DECLARE_BATCH

#define BATCH_ROW(symbol, letter, real, integer) {#symbol, "cblas_" #letter "gemm_batch_strided", through_##symbol},
static const blas_batch blas_batches[] = {BATCH_NAMES(BATCH_ROW)};
#undef BATCH_ROW
static const size_t blas_batch_count = sizeof blas_batches / sizeof blas_batches[0];

#endif
