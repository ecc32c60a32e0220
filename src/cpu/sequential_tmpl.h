/* The triple loop for one stored type S, summed in ACC; included once for each. */

static void NAME(const tsr_gemm_args *g)
{
    const S *const bias = g->epilogue != TSR_EPILOGUE_NONE ? (const S *)g->bias : NULL;
    const ACC alpha = (ACC)g->alpha, beta = (ACC)g->beta;
    const long long a_row = g->trans_a ? 1 : g->lda, a_column = g->trans_a ? g->lda : 1;
    const long long b_row = g->trans_b ? 1 : g->ldb, b_column = g->trans_b ? g->ldb : 1;
    for (long long z = 0; z < g->batch; z++) {
        const S *const a = g->k > 0 ? (const S *)g->a + z * g->batch_a : NULL;
        const S *const b = g->k > 0 ? (const S *)g->b + z * g->batch_b : NULL;
        const S *const c = g->beta != 0 ? (const S *)g->c + z * g->batch_c : NULL;
        S *const d = (S *)g->d + z * g->batch_d;
        for (long long i = 0; i < g->m; i++) {
            for (long long j = 0; j < g->n; j++) {
                ACC sum = 0;
                for (long long p = 0; p < g->k; p++)
                    sum += WIDEN(a[i * a_row + p * a_column]) * WIDEN(b[p * b_row + j * b_column]);
                ACC result = g->k > 0 ? alpha * sum : 0;
                if (c)
                    result = beta * WIDEN(c[i * g->ldc + j]) + (g->k > 0 ? result : (ACC)-0.0);
                if (bias)
                    result = result + WIDEN(bias[j]);
                if (g->epilogue == TSR_EPILOGUE_BIAS_RELU && result < 0)
                    result = 0;
                d[i * g->ldd + j] = NARROW(result);
            }
        }
    }
}

#undef S
#undef ACC
#undef WIDEN
#undef NARROW
#undef NAME
