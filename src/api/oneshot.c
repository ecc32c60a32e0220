/* The one-line calls, and the default context behind them: the library's one mutable global. */
#include <pthread.h>
#include <stdlib.h>

#include "api/context.h"
#include "core/error.h"

static pthread_mutex_t default_mutex = PTHREAD_MUTEX_INITIALIZER;
static tsr_context *default_context;

/* Opened at the first call; a failure is not kept, so that a later call may succeed. Never closed: it must outlive
 * every caller, exit handlers included. */
tsr_status tsr_default_context(tsr_context **out)
{
    tsr_status status = TSR_OK;
    if (!out)
        return tsr_fail(TSR_INVALID_ARGUMENT, "out = NULL: must point to a context pointer");
    pthread_mutex_lock(&default_mutex);
    if (!default_context) {
        const char *device = getenv("TESSERA_DEVICE");
        status = tsr_context_create(device && *device ? device : "auto", NULL, &default_context);
    }
    *out = default_context;
    pthread_mutex_unlock(&default_mutex);
    return status;
}

/* In these calls 0 is no default: a leading dimension is at least the row length. */
static tsr_status check_ld(const char *name, int64_t ld, int64_t columns)
{
    return ld >= columns ? TSR_OK
                         : tsr_fail(TSR_INVALID_ARGUMENT, "%s = %lld: must be at least the row length, %lld", name,
                                    (long long)ld, (long long)columns);
}

static tsr_status run(tsr_gemm_desc *desc, tsr_trans trans_a, tsr_trans trans_b, const tsr_run_args *args, int64_t lda,
                      int64_t ldb, int64_t ldc)
{
    tsr_status status = check_ld("lda", lda, trans_a == TSR_T ? desc->m : desc->k);
    if (status == TSR_OK)
        status = check_ld("ldb", ldb, trans_b == TSR_T ? desc->k : desc->n);
    if (status == TSR_OK)
        status = check_ld("ldc", ldc, desc->n);
    if (status != TSR_OK)
        return status;
    desc->a.trans = trans_a;
    desc->b.trans = trans_b;
    desc->a.ld = lda;
    desc->b.ld = ldb;
    desc->c.ld = desc->d.ld = ldc;
    tsr_context *context = NULL;
    status = tsr_default_context(&context);
    return status == TSR_OK ? tsr_gemm(context, desc, args) : status;
}

tsr_status tsr_sgemm(tsr_trans trans_a, tsr_trans trans_b, int64_t m, int64_t n, int64_t k, float alpha, const float *a,
                     int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc)
{
    tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F32, m, n, k);
    tsr_run_args args = tsr_run_args_make(a, b, c);
    args.alpha.value = (double)alpha;
    args.beta.value = (double)beta;
    return run(&desc, trans_a, trans_b, &args, lda, ldb, ldc);
}

tsr_status tsr_dgemm(tsr_trans trans_a, tsr_trans trans_b, int64_t m, int64_t n, int64_t k, double alpha,
                     const double *a, int64_t lda, const double *b, int64_t ldb, double beta, double *c, int64_t ldc)
{
    tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F64, m, n, k);
    tsr_run_args args = tsr_run_args_make(a, b, c);
    args.alpha.value = alpha;
    args.beta.value = beta;
    return run(&desc, trans_a, trans_b, &args, lda, ldb, ldc);
}
