/* A cblas product and its strided batch, compiled once for each family of names. Parameters, all but REAL, DTYPE and
 * INT undefined at the end:
 *     REAL, DTYPE   the element type
 *     INT           the type of sizes
 *     ENTRY         the symbol
 *     BATCH         the symbol of the strided batch
 *     ROUTINE       what the error handler is told: "cblas_sgemm"
 *     XERBLA        the error handler, called through the PLT, so that the program's own wins */
#include "blas/quote.h"

extern void XERBLA(INT info, const char *routine, const char *words, ...) __attribute__((weak));
TSR_BLAS_EXPORT void ENTRY(int order, int trans_a, int trans_b, INT m, INT n, INT k, REAL alpha, const REAL *a, INT lda,
                           const REAL *b, INT ldb, REAL beta, REAL *c, INT ldc);
TSR_BLAS_EXPORT void BATCH(int order, int trans_a, int trans_b, INT m, INT n, INT k, REAL alpha, const REAL *a, INT lda,
                           INT stride_a, const REAL *b, INT ldb, INT stride_b, REAL beta, REAL *c, INT ldc,
                           INT stride_c, INT batch);

void ENTRY(int order, int trans_a, int trans_b, INT m, INT n, INT k, REAL alpha, const REAL *a, INT lda, const REAL *b,
           INT ldb, REAL beta, REAL *c, INT ldc)
{
    const int op_a = tsr_blas_number(trans_a), op_b = tsr_blas_number(trans_b);
    /* Column-major is the transposed problem: A and B, M and N change places. */
    if (order == TSR_BLAS_COL_MAJOR && tsr_blas_check(op_a, op_b, m, n, k, lda, ldb, ldc) == 0)
        run(TSR_QUOTE(ENTRY), (tsr_trans)op_b, (tsr_trans)op_a, n, m, k, alpha, b, ldb, a, lda, beta, c, ldc);
    else if (order == TSR_BLAS_ROW_MAJOR && tsr_blas_check(op_b, op_a, n, m, k, ldb, lda, ldc) == 0)
        run(TSR_QUOTE(ENTRY), (tsr_trans)op_a, (tsr_trans)op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    else {
        const tsr_blas_place wrong = tsr_blas_check_c(order, trans_a, trans_b, m, n, k, lda, ldb, ldc);
        void (*handler)(INT, const char *, const char *, ...) = XERBLA;
        tsr_blas_log_wrong(TSR_QUOTE(ENTRY), wrong.info);
        if (handler || tsr_blas_find_handler(TSR_QUOTE(XERBLA), __builtin_return_address(0), (void *)&handler))
            handler(wrong.info, ROUTINE, wrong.words, wrong.value);
        else
            tsr_blas_complain(ROUTINE, wrong.info);
    }
}

void BATCH(int order, int trans_a, int trans_b, INT m, INT n, INT k, REAL alpha, const REAL *a, INT lda, INT stride_a,
           const REAL *b, INT ldb, INT stride_b, REAL beta, REAL *c, INT ldc, INT stride_c, INT batch)
{
    /* Where arguments of this function stand that cblas_?gemm has at another place. */
    enum { LDB_HERE = 12, LDC_HERE = 16, BATCH_HERE = 18 };
    tsr_blas_place wrong = tsr_blas_check_c(order, trans_a, trans_b, m, n, k, lda, ldb, ldc);
    if (wrong.info)
        wrong.info = tsr_blas_own_number(wrong.info);
    if (wrong.info == 11)
        wrong.info = LDB_HERE;
    else if (wrong.info == 14)
        wrong.info = LDC_HERE;
    else if (wrong.info == 0 && batch < 0)
        wrong.info = BATCH_HERE;
    if (wrong.info) {
        void (*handler)(INT, const char *, const char *, ...) = XERBLA;
        tsr_blas_log_wrong(TSR_QUOTE(BATCH), wrong.info);
        if (handler || tsr_blas_find_handler(TSR_QUOTE(XERBLA), __builtin_return_address(0), (void *)&handler))
            handler(wrong.info, ROUTINE "_batch_strided", wrong.words, wrong.value);
        else
            tsr_blas_complain(ROUTINE "_batch_strided", wrong.info);
        return;
    }
    const int swap = order == TSR_BLAS_COL_MAJOR;
    const tsr_blas_call call = {
        .name = TSR_QUOTE(BATCH),
        .dtype = DTYPE,
        .trans_a = (tsr_trans)tsr_blas_number(swap ? trans_b : trans_a),
        .trans_b = (tsr_trans)tsr_blas_number(swap ? trans_a : trans_b),
        .m = swap ? n : m,
        .n = swap ? m : n,
        .k = k,
        .a = swap ? b : a,
        .b = swap ? a : b,
        .c = c,
        .lda = swap ? ldb : lda,
        .ldb = swap ? lda : ldb,
        .ldc = ldc,
        .alpha = (double)alpha,
        .beta = (double)beta,
        .batch = batch,
        .stride_a = swap ? stride_b : stride_a,
        .stride_b = swap ? stride_a : stride_b,
        .stride_c = stride_c,
    };
    tsr_blas_run(&call);
}

#undef ENTRY
#undef BATCH
#undef ROUTINE
#undef XERBLA
