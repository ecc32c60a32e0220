/* The definition of the product as three loops. Parameters: REAL, PLAIN (the function's name). */
void PLAIN(const tsr_blas_call *call)
{
    const REAL *a = call->a, *b = call->b;
    REAL *c = call->c;
    const int64_t a_row = call->trans_a == TSR_N ? call->lda : 1, a_step = call->trans_a == TSR_N ? 1 : call->lda;
    const int64_t b_step = call->trans_b == TSR_N ? call->ldb : 1, b_column = call->trans_b == TSR_N ? 1 : call->ldb;
    const REAL alpha = (REAL)call->alpha, beta = (REAL)call->beta;
    const int64_t steps = alpha != 0 ? call->k : 0; /* alpha == 0 reads neither A nor B */
    for (int64_t i = 0; i < call->m; i++)
        for (int64_t j = 0; j < call->n; j++) {
            REAL sum = 0;
            for (int64_t p = 0; p < steps; p++)
                sum += a[i * a_row + p * a_step] * b[p * b_step + j * b_column];
            REAL *out = &c[i * call->ldc + j];
            const REAL product = steps > 0 ? alpha * sum : 0;
            *out = beta == 0 ? product : steps > 0 ? product + beta * *out : beta * *out;
        }
}
