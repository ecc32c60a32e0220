/* libtessera_blas: BLAS matrix products on top of tessera.h. What its files share. */
#ifndef TSR_BLAS_BLAS_H
#define TSR_BLAS_BLAS_H

#include <stdatomic.h>

#include "blas/call_log.h"
#include "tessera.h"

#define TSR_BLAS_EXPORT __attribute__((visibility("default")))

/* One call, row-major, with sizes that were checked: C = alpha * op(A) * op(B) + beta * C, `batch` times. */
typedef struct tsr_blas_call {
    const char *name; /* the symbol that was called */
    tsr_dtype dtype;  /* f32 or f64 */
    tsr_trans trans_a, trans_b;
    int64_t m, n, k;
    const void *a, *b;
    void *c;
    int64_t lda, ldb, ldc;
    double alpha, beta;
    int64_t batch, stride_a, stride_b, stride_c; /* elements from problem to problem, of either sign */
} tsr_blas_call;

/* ---- arguments -------------------------------------------------------------------------------------------------- */

/* What each call goes through is inline: at the smallest sizes a function more is a few percent. */

/* Fortran's letters and cblas' numbers; -1 for anything else. Conjugate transposes are transposes here. */
static inline int tsr_blas_letter(char letter)
{
    switch (letter) {
    case 'N':
    case 'n':
        return TSR_N;
    case 'T':
    case 't':
    case 'C':
    case 'c':
        return TSR_T;
    default:
        return -1;
    }
}

static inline int tsr_blas_number(int number)
{
    enum { NO_TRANS = 111, TRANS = 112, CONJ_TRANS = 113 };
    return number == NO_TRANS ? TSR_N : number == TRANS || number == CONJ_TRANS ? TSR_T : -1;
}

static inline int64_t tsr_blas_at_least_one(int64_t value)
{
    return value > 1 ? value : 1;
}

/* The first wrong argument of a column-major xGEMM by its place among Fortran's, in the reference's order; 0: none.
 * Transposes are results of the functions above. */
static inline int tsr_blas_check(int trans_a, int trans_b, int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb,
                                 int64_t ldc)
{
    if (trans_a < 0)
        return 1;
    if (trans_b < 0)
        return 2;
    if (m < 0)
        return 3;
    if (n < 0)
        return 4;
    if (k < 0)
        return 5;
    if (lda < tsr_blas_at_least_one(trans_a == TSR_N ? m : k))
        return 8;
    if (ldb < tsr_blas_at_least_one(trans_b == TSR_N ? k : n))
        return 10;
    return ldc < tsr_blas_at_least_one(m) ? 13 : 0;
}

/* 1 if the reference returns at once, touching nothing. */
static inline int tsr_blas_nothing(int64_t m, int64_t n, int64_t k, double alpha, double beta)
{
    return m == 0 || n == 0 || ((alpha == 0 || k == 0) && beta == 1);
}

/* The same for the cblas functions: the check is of the column-major problem that the reference passes on, in which
 * row-major operands change places. */
typedef struct tsr_blas_place {
    int info;          /* as cblas_xerbla gets it; 0: nothing is wrong */
    const char *words; /* a format for `value`, or "" */
    int value;
} tsr_blas_place;
tsr_blas_place tsr_blas_check_c(int order, int trans_a, int trans_b, int64_t m, int64_t n, int64_t k, int64_t lda,
                                int64_t ldb, int64_t ldc);
/* The argument's number of cblas_?gemm as the caller gave it, from what tsr_blas_check_c says, for routines whose
 * arguments have other numbers: netlib's own handler must then exchange nothing. */
int tsr_blas_own_number(int info);
enum { TSR_BLAS_ROW_MAJOR = 101, TSR_BLAS_COL_MAJOR = 102 };

/* An error handler by name where the loader could not bind it when the program started: first among the global symbols,
 * then in the library that `caller` lies in and those it needs (Python opens extension modules with local symbols).
 * Writes its address to *handler (a pointer to a function pointer); 0 if there is none. */
int tsr_blas_find_handler(const char *name, const void *caller, void *handler);
/* Where there is no handler: the message on stderr. The program goes on, and C is untouched. */
void tsr_blas_complain(const char *routine, int info);

/* ---- running ---------------------------------------------------------------------------------------------------- */

/* 1: there is no default context, and will be none: TESSERA_DEVICE names no device that is here. */
extern __attribute__((visibility("hidden"))) atomic_int tsr_blas_no_default;

/* 1 if the short way will not do: calls are logged, or may be, or there is no default context. */
static inline int tsr_blas_observed(void)
{
    return atomic_load_explicit(&tsr_call_log_state, memory_order_relaxed) != TSR_CALL_LOG_OFF ||
           atomic_load_explicit(&tsr_blas_no_default, memory_order_relaxed);
}

/* Computes, whatever it takes: the library, its CPU engine alone, at last plain loops. */
void tsr_blas_run(const tsr_blas_call *call);

/* The call for the library; a batch whose strides it does not take (tsr_blas_is_one_call) only with a batch of 1. */
tsr_gemm_desc tsr_blas_describe(const tsr_blas_call *call);
int tsr_blas_is_one_call(const tsr_blas_call *call);

/* Plain loops, for one problem and when all else fails; they need no memory, and operands may overlap C, with results
 * as undefined as the reference's. */
void tsr_blas_plain_f32(const tsr_blas_call *call);
void tsr_blas_plain_f64(const tsr_blas_call *call);

/* ---- the call log ------------------------------------------------------------------------------------------------ */

/* One line for a call that was made, or that had a wrong argument (blas/call_log.h). */
void tsr_blas_log_call(const tsr_blas_call *call, const char *how, double ns);
void tsr_blas_log_wrong(const char *name, int info);

#endif
