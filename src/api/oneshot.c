/* The one-line calls, and the default context behind them: the library's one mutable global. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "api/at_once.h"
#include "api/context.h"
#include "core/error.h"

static pthread_once_t default_once = PTHREAD_ONCE_INIT;
static pthread_mutex_t default_mutex = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(tsr_context *) default_context;

static void lock_default(void)
{
    pthread_mutex_lock(&default_mutex);
}

static void unlock_default(void)
{
    pthread_mutex_unlock(&default_mutex);
}

/* A fork waits while another thread opens the context: the child has no thread that would unlock the mutex. */
static void prepare_for_forks(void)
{
    pthread_atfork(lock_default, unlock_default, unlock_default);
}

/* Opened at the first call; a failure is not kept, so that a later call may succeed. Never closed: it must outlive
 * every caller, exit handlers included. */
tsr_status tsr_default_context(tsr_context **out)
{
    tsr_status status = TSR_OK;
    if (!out)
        return tsr_fail(TSR_INVALID_ARGUMENT, "out = NULL: must point to a context pointer");
    tsr_context *context = atomic_load_explicit(&default_context, memory_order_acquire);
    if (!context) {
        pthread_once(&default_once, prepare_for_forks);
        lock_default();
        context = atomic_load_explicit(&default_context, memory_order_relaxed);
        if (!context) {
            const char *device = getenv("TESSERA_DEVICE");
            status = tsr_context_create(device && *device ? device : "auto", NULL, &context);
            if (status == TSR_OK)
                atomic_store_explicit(&default_context, context, memory_order_release);
        }
        unlock_default();
    }
    if (status == TSR_OK)
        *out = context;
    return status;
}

/* In these calls 0 is no default. Other leading dimensions that are too small are found when the plan is made. */
static tsr_status check_ld(const char *name, int64_t ld, int64_t columns)
{
    return ld != 0 || columns <= 0 ? TSR_OK
                                   : tsr_fail(TSR_INVALID_ARGUMENT, "%s = %lld: must be at least the row length, %lld",
                                              name, (long long)ld, (long long)columns);
}

static tsr_status check_trans(const char *name, tsr_trans trans)
{
    return trans == TSR_N || trans == TSR_T
               ? TSR_OK
               : tsr_fail(TSR_INVALID_ARGUMENT, "%s = %d: must be TSR_N or TSR_T", name, (int)trans);
}

/* Rules about D are about C here: the caller has no other name for it. */
static tsr_status in_callers_words(tsr_status status)
{
    const char *message = tsr_last_error();
    return status == TSR_INVALID_ARGUMENT && message[0] == 'd' && (message[1] == ':' || message[1] == ' ')
               ? tsr_fail(status, "c%s", message + 1)
               : status;
}

/* The long way, with all checks: by a descriptor and a plan. */
static __attribute__((noinline)) tsr_status run(tsr_dtype dtype, tsr_trans trans_a, tsr_trans trans_b, int64_t m,
                                                int64_t n, int64_t k, double alpha, const void *a, int64_t lda,
                                                const void *b, int64_t ldb, double beta, void *c, int64_t ldc)
{
    tsr_gemm_desc desc = tsr_gemm_desc_make(dtype, m, n, k);
    tsr_run_args args = tsr_run_args_make(a, b, c);
    args.alpha.value = alpha;
    args.beta.value = beta;
    desc.a.trans = trans_a;
    desc.b.trans = trans_b;
    desc.a.ld = lda;
    desc.b.ld = ldb;
    desc.c.ld = desc.d.ld = ldc;
    tsr_status status = check_trans("trans_a", trans_a);
    if (status == TSR_OK)
        status = check_trans("trans_b", trans_b);
    if (status == TSR_OK)
        status = check_ld("lda", lda, trans_a == TSR_T ? m : k);
    if (status == TSR_OK)
        status = check_ld("ldb", ldb, trans_b == TSR_T ? k : n);
    if (status == TSR_OK)
        status = check_ld("ldc", ldc, n);
    tsr_context *context = NULL;
    if (status == TSR_OK)
        status = tsr_default_context(&context);
    return status == TSR_OK ? in_callers_words(tsr_gemm(context, &desc, &args)) : status;
}

static int is_plain(const tsr_context *context, tsr_trans trans_a, tsr_trans trans_b)
{
    return context && (unsigned)trans_a <= TSR_T && (unsigned)trans_b <= TSR_T;
}

/* The short way if it can be gone, see at_once.h. */
static inline tsr_status call(tsr_dtype dtype, tsr_trans trans_a, tsr_trans trans_b, int64_t m, int64_t n, int64_t k,
                              double alpha, const void *a, int64_t lda, const void *b, int64_t ldb, double beta,
                              void *c, int64_t ldc)
{
    tsr_context *context = atomic_load_explicit(&default_context, memory_order_acquire);
    if (is_plain(context, trans_a, trans_b) && tsr_at_once(context, dtype, trans_a == TSR_T, trans_b == TSR_T, m, n, k,
                                                           alpha, a, lda, b, ldb, beta, c, ldc, c, ldc))
        return TSR_OK;
    return run(dtype, trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

/* These two take what their callers were given where it lies. */
static __attribute__((noinline)) tsr_status more_sgemm(tsr_trans trans_a, tsr_trans trans_b, int64_t m, int64_t n,
                                                       int64_t k, float alpha, const float *a, int64_t lda,
                                                       const float *b, int64_t ldb, float beta, float *c, int64_t ldc)
{
    return call(TSR_F32, trans_a, trans_b, m, n, k, (double)alpha, a, lda, b, ldb, (double)beta, c, ldc);
}

static __attribute__((noinline)) tsr_status more_dgemm(tsr_trans trans_a, tsr_trans trans_b, int64_t m, int64_t n,
                                                       int64_t k, double alpha, const double *a, int64_t lda,
                                                       const double *b, int64_t ldb, double beta, double *c,
                                                       int64_t ldc)
{
    return call(TSR_F64, trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

tsr_status tsr_sgemm(tsr_trans trans_a, tsr_trans trans_b, int64_t m, int64_t n, int64_t k, float alpha, const float *a,
                     int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc)
{
    const tsr_context *context = atomic_load_explicit(&default_context, memory_order_acquire);
    if (is_plain(context, trans_a, trans_b) &&
        tsr_tile_at_once(context, TSR_F32, trans_a == TSR_T, trans_b == TSR_T, m, n, k, (double)alpha, a, lda, b, ldb,
                         (double)beta, c, ldc))
        return TSR_OK;
    return more_sgemm(trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

tsr_status tsr_dgemm(tsr_trans trans_a, tsr_trans trans_b, int64_t m, int64_t n, int64_t k, double alpha,
                     const double *a, int64_t lda, const double *b, int64_t ldb, double beta, double *c, int64_t ldc)
{
    const tsr_context *context = atomic_load_explicit(&default_context, memory_order_acquire);
    if (is_plain(context, trans_a, trans_b) && tsr_tile_at_once(context, TSR_F64, trans_a == TSR_T, trans_b == TSR_T, m,
                                                                n, k, alpha, a, lda, b, ldb, beta, c, ldc))
        return TSR_OK;
    return more_dgemm(trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
