/* One Fortran entry, compiled once for each exported name. Parameters, all but REAL and INT undefined at the end:
 *     REAL          the element type
 *     INT           Fortran's INTEGER
 *     ENTRY         the symbol
 *     ROUTINE       what the error handler is told: "SGEMM "
 *     XERBLA        the error handler, called through the PLT, so that the program's own wins */
#include "blas/quote.h"

extern void XERBLA(const char *routine, const INT *info, size_t routine_length) __attribute__((weak));
TSR_BLAS_EXPORT void ENTRY(const char *trans_a, const char *trans_b, const INT *m, const INT *n, const INT *k,
                           const REAL *alpha, const REAL *a, const INT *lda, const REAL *b, const INT *ldb,
                           const REAL *beta, REAL *c, const INT *ldc);

void ENTRY(const char *trans_a, const char *trans_b, const INT *m, const INT *n, const INT *k, const REAL *alpha,
           const REAL *a, const INT *lda, const REAL *b, const INT *ldb, const REAL *beta, REAL *c, const INT *ldc)
{
    const int op_a = tsr_blas_letter(*trans_a), op_b = tsr_blas_letter(*trans_b);
    const INT info = (INT)tsr_blas_check(op_a, op_b, *m, *n, *k, *lda, *ldb, *ldc);
    if (info) {
        void (*handler)(const char *, const INT *, size_t) = XERBLA;
        tsr_blas_log_wrong(TSR_QUOTE(ENTRY), (int)info);
        if (handler || tsr_blas_find_handler(TSR_QUOTE(XERBLA), __builtin_return_address(0), (void *)&handler))
            handler(ROUTINE, &info, sizeof ROUTINE - 1);
        else
            tsr_blas_complain(ROUTINE, (int)info);
        return;
    }
    /* Column-major is the transposed problem: A and B, M and N change places. */
    run(TSR_QUOTE(ENTRY), (tsr_trans)op_b, (tsr_trans)op_a, *n, *m, *k, *alpha, b, *ldb, a, *lda, *beta, c, *ldc);
}

#undef ENTRY
#undef ROUTINE
#undef XERBLA
