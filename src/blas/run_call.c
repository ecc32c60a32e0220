/* Running a call: the library's default context; if that fails, its CPU engine; if that fails too, plain loops. A BLAS
 * has no way to say that it failed, so it must not. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "blas/blas.h"

/* The CPU engine by itself, for when the default context cannot be had or its device has failed. Opened at most once,
 * and never closed: calls may come as late as from exit handlers. */
static pthread_once_t cpu_once = PTHREAD_ONCE_INIT;
static tsr_context *cpu_context;

static void open_cpu(void)
{
    if (tsr_context_create("cpu", NULL, &cpu_context) != TSR_OK)
        cpu_context = NULL;
}

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

tsr_gemm_desc tsr_blas_describe(const tsr_blas_call *call)
{
    tsr_gemm_desc desc = tsr_gemm_desc_make(call->dtype, call->m, call->n, call->k);
    desc.a.trans = call->trans_a;
    desc.b.trans = call->trans_b;
    desc.a.ld = call->lda;
    desc.b.ld = call->ldb;
    desc.c.ld = desc.d.ld = call->ldc;
    desc.batch_count = call->batch;
    if (call->batch > 1) {
        desc.a.batch_stride = call->stride_a;
        desc.b.batch_stride = call->stride_b;
        desc.c.batch_stride = desc.d.batch_stride = call->stride_c;
        desc.broadcast = (call->stride_a == 0 ? TSR_BROADCAST_A : 0) | (call->stride_b == 0 ? TSR_BROADCAST_B : 0);
    }
    return desc;
}

static tsr_status run_on(tsr_context *context, const tsr_blas_call *call)
{
    const tsr_gemm_desc desc = tsr_blas_describe(call);
    tsr_run_args args = tsr_run_args_make(call->a, call->b, call->c);
    args.alpha.value = call->alpha;
    args.beta.value = call->beta;
    return tsr_gemm(context, &desc, &args);
}

/* What no retry on another device mends: operands that overlap, a batch whose problems do. */
static int is_about_arguments(tsr_status status)
{
    return status == TSR_INVALID_ARGUMENT;
}

atomic_int tsr_blas_no_default;

/* What no later attempt mends. */
static int is_about_device(tsr_status status)
{
    return status == TSR_INVALID_ARGUMENT || status == TSR_NO_DEVICE || status == TSR_UNSUPPORTED;
}

/* The library as it routes calls; one problem goes the way that unobserved calls go. */
static tsr_status run_default(tsr_context *context, const tsr_blas_call *call)
{
    if (call->batch == 1 && call->dtype == TSR_F32)
        return tsr_sgemm(call->trans_a, call->trans_b, call->m, call->n, call->k, (float)call->alpha, call->a,
                         call->lda, call->b, call->ldb, (float)call->beta, call->c, call->ldc);
    if (call->batch == 1)
        return tsr_dgemm(call->trans_a, call->trans_b, call->m, call->n, call->k, call->alpha, call->a, call->lda,
                         call->b, call->ldb, call->beta, call->c, call->ldc);
    return run_on(context, call);
}

/* How it went, if not as routed, is said in *how. */
static tsr_status run_library(const tsr_blas_call *call, const char **how)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    tsr_context *context = NULL;
    if (!atomic_load(&tsr_blas_no_default)) {
        /* A process's first call, if it is tiny, needs no default context. */
        if (call->batch == 1 && !tsr_call_log_is_on() && run_default(NULL, call) == TSR_OK)
            return TSR_OK;
        tsr_status status = tsr_default_context(&context);
        if (status != TSR_OK && is_about_device(status))
            atomic_store(&tsr_blas_no_default, 1);
        else if (status == TSR_OK && ((status = run_default(context, call)) == TSR_OK || is_about_arguments(status)))
            return status;
        tsr_call_log_tell(&told, "%s: %s; using the CPU", tsr_status_text(status), tsr_last_error());
    }
    *how = "cpu-after-failure";
    pthread_once(&cpu_once, open_cpu);
    return cpu_context ? run_on(cpu_context, call) : TSR_OUT_OF_MEMORY;
}

static void run_one(const tsr_blas_call *call, const char **how)
{
    if (run_library(call, how) == TSR_OK)
        return;
    *how = "plain-loops";
    if (call->dtype == TSR_F32)
        tsr_blas_plain_f32(call);
    else
        tsr_blas_plain_f64(call);
}

static const void *moved(const tsr_blas_call *call, const void *pointer, int64_t elements)
{
    return (const char *)pointer + elements * (int64_t)tsr_dtype_bytes(call->dtype);
}

int tsr_blas_is_one_call(const tsr_blas_call *call)
{
    return call->batch == 1 || (call->stride_a >= 0 && call->stride_b >= 0 && call->stride_c > 0);
}

/* A batch in one call where the library takes it, else problem after problem, as the definition says. */
static void run_batch(const tsr_blas_call *call, const char **how)
{
    if (tsr_blas_is_one_call(call) && run_library(call, how) == TSR_OK)
        return;
    for (int64_t i = 0; i < call->batch; i++) {
        tsr_blas_call one = *call;
        one.batch = 1;
        one.a = moved(call, call->a, i * call->stride_a);
        one.b = moved(call, call->b, i * call->stride_b);
        one.c = (void *)moved(call, call->c, i * call->stride_c);
        run_one(&one, how);
    }
}

void tsr_blas_run(const tsr_blas_call *call)
{
    const char *how = "";
    const double start_ns = now_ns();
    if (call->batch == 0 || tsr_blas_nothing(call->m, call->n, call->k, call->alpha, call->beta))
        how = "nothing-to-do";
    else if (call->batch == 1)
        run_one(call, &how);
    else
        run_batch(call, &how);
    if (tsr_call_log_is_on())
        tsr_blas_log_call(call, how, now_ns() - start_ns);
}
