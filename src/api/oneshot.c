/* The one-line calls, and the default context behind them: the library's one mutable global. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "api/context.h"
#include "core/error.h"
#include "core/uncancelled.h"

static _Atomic(tsr_context *) default_context;
/* Where its calls go: to its small paths; through all checks where it has none; or it is to be opened first. */
static tsr_small_call open_and_call, call_first;
static const tsr_small checked_f32 = {.call = tsr_one_line_checked, .dtype = TSR_F32};
static const tsr_small checked_f64 = {.call = tsr_one_line_checked, .dtype = TSR_F64};
static const tsr_small unopened_f32 = {.call = call_first, .dtype = TSR_F32};
static const tsr_small unopened_f64 = {.call = call_first, .dtype = TSR_F64};
static _Atomic(const tsr_small *) default_f32 = &unopened_f32, default_f64 = &unopened_f64;

static const tsr_small *small_path_of(const tsr_context *context, tsr_dtype dtype)
{
    if (!context)
        return dtype == TSR_F64 ? &unopened_f64 : &unopened_f32;
    if (context->small[dtype].call)
        return &context->small[dtype];
    return dtype == TSR_F64 ? &checked_f64 : &checked_f32;
}

static void set_small_paths(const tsr_context *context)
{
    atomic_store_explicit(&default_f32, small_path_of(context, TSR_F32), memory_order_release);
    atomic_store_explicit(&default_f64, small_path_of(context, TSR_F64), memory_order_release);
}

/* Opened at the first call; a failure is not kept, so that a later call may succeed. Never closed: it must outlive
 * every caller, exit handlers included. No lock is held meanwhile, since a driver may fork, or wait for the loader: of
 * threads that come together each opens one, and the first to be done has the default. */
tsr_status tsr_default_context(tsr_context **out)
{
    if (!out)
        return tsr_fail(TSR_INVALID_ARGUMENT, "out = NULL: must point to a context pointer");
    tsr_context *context = atomic_load_explicit(&default_context, memory_order_acquire);
    if (!context) {
        TSR_UNCANCELLED();
        const char *device = getenv("TESSERA_DEVICE");
        tsr_context *made = NULL;
        const tsr_status status = tsr_context_create(device && *device ? device : "auto", NULL, &made);
        if (status != TSR_OK)
            return status;
        if (atomic_compare_exchange_strong(&default_context, &context, made)) {
            context = made;
            set_small_paths(context);
        } else {
            tsr_context_destroy(made);
        }
    }
    *out = context;
    return TSR_OK;
}

tsr_context *tsr_default_context_exchange(tsr_context *context)
{
    set_small_paths(context);
    return atomic_exchange_explicit(&default_context, context, memory_order_acq_rel);
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

/* With all checks: by a descriptor and a plan. */
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
    return status == TSR_OK ? in_callers_words(tsr_gemm_checked(context, &desc, &args)) : status;
}

tsr_status tsr_one_line_checked(const tsr_small *small, uint64_t layout, int64_t m, int64_t n, int64_t k, const void *a,
                                int64_t lda, const void *b, int64_t ldb, void *d, int64_t ldd, double alpha,
                                double beta)
{
    return run(small->dtype, (tsr_trans)(uint32_t)layout, (tsr_trans)(layout >> 32), m, n, k, alpha, a, lda, b, ldb,
               beta, d, ldd);
}

/* What cannot be opened is said where all is checked. */
static tsr_status open_and_call(const tsr_small *small, uint64_t layout, int64_t m, int64_t n, int64_t k, const void *a,
                                int64_t lda, const void *b, int64_t ldb, void *d, int64_t ldd, double alpha,
                                double beta)
{
    tsr_context *context = NULL;
    const tsr_small *const opened =
        tsr_default_context(&context) == TSR_OK ? small_path_of(context, small->dtype) : NULL;
    return opened ? opened->call(opened, layout, m, n, k, a, lda, b, ldb, d, ldd, alpha, beta)
                  : tsr_one_line_checked(small, layout, m, n, k, a, lda, b, ldb, d, ldd, alpha, beta);
}

/* ---- tiny products before the default context is opened ----
 *
 * Opening it reads a score of the system's files and looks for a GPU. A product of so few operations runs on the CPU
 * whatever is found there, and its bits depend on the instruction set alone, so it takes a context that asks for
 * nothing: one thread, and caches of a usual size. */

enum { TINY_OPS = 1 << 14 };

typedef struct tiny_paths {
    tsr_small f32, f64;
    tsr_context *context; /* whose they are */
} tiny_paths;

static _Atomic(const tiny_paths *) tiny;

static tsr_small tiny_path_of(const tsr_context *context, tsr_dtype dtype)
{
    tsr_small path = context->small[dtype];
    path.otherwise = open_and_call;
    path.most_ops = TINY_OPS;
    return path;
}

/* NULL where the default device is another one, or there is no memory. */
static const tiny_paths *get_tiny_paths(void)
{
    static const tsr_cpu_profile usual = {.l1_bytes = 32 << 10, .l2_bytes = 512 << 10, .l3_bytes = 8 << 20};
    static const tsr_context_options alone = {.struct_bytes = sizeof alone, .threads = 1, .plan_cache_entries = 1};
    const tiny_paths *known = atomic_load_explicit(&tiny, memory_order_acquire);
    const char *device = getenv("TESSERA_DEVICE");
    if (known || (device && *device && strcmp(device, "auto") != 0 && strcmp(device, "cpu") != 0))
        return known;
    tsr_context *context = NULL;
    tiny_paths *const made = malloc(sizeof *made);
    if (!made || tsr_context_open("cpu", &alone, &usual, &context) != TSR_OK) {
        free(made);
        return NULL;
    }
    *made = (tiny_paths){tiny_path_of(context, TSR_F32), tiny_path_of(context, TSR_F64), context};
    if (atomic_compare_exchange_strong(&tiny, &known, made))
        return made; /* never closed, as the default context */
    tsr_context_destroy(context);
    free(made);
    return known;
}

static int is_tiny(int64_t m, int64_t n, int64_t k)
{
    return m > 0 && n > 0 && k > 0 && m <= TINY_OPS && n <= TINY_OPS && k <= TINY_OPS && 2 * m * n * k <= TINY_OPS;
}

static void replace_unopened(_Atomic(const tsr_small *) *path, const tsr_small *unopened, const tsr_small *by)
{
    atomic_compare_exchange_strong(path, &unopened, by);
}

static tsr_status call_first(const tsr_small *small, uint64_t layout, int64_t m, int64_t n, int64_t k, const void *a,
                             int64_t lda, const void *b, int64_t ldb, void *d, int64_t ldd, double alpha, double beta)
{
    const tiny_paths *const paths = is_tiny(m, n, k) ? get_tiny_paths() : NULL;
    if (!paths)
        return open_and_call(small, layout, m, n, k, a, lda, b, ldb, d, ldd, alpha, beta);
    replace_unopened(&default_f32, &unopened_f32, &paths->f32);
    replace_unopened(&default_f64, &unopened_f64, &paths->f64);
    const tsr_small *const path = small->dtype == TSR_F64 ? &paths->f64 : &paths->f32;
    return path->call(path, layout, m, n, k, a, lda, b, ldb, d, ldd, alpha, beta);
}

/* ThreadSanitizer takes no assembler for a synchronization. */
#if defined(__SANITIZE_THREAD__)
#define TSR_SEES_ATOMICS 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TSR_SEES_ATOMICS 1
#endif
#endif

/* An acquiring load. gcc 12 keeps all other accesses in their order around the built-in one, also those of arguments
 * that already lie where the next function wants them; every load of an x86 acquires. */
static inline const tsr_small *load(_Atomic(const tsr_small *) *from)
{
#if defined(__x86_64__) && !defined(TSR_SEES_ATOMICS)
    const tsr_small *small;
    __asm__("mov %1, %0" : "=r"(small) : "m"(*from));
    return small;
#else
    return atomic_load_explicit(from, memory_order_acquire);
#endif
}

tsr_status tsr_sgemm(tsr_trans trans_a, tsr_trans trans_b, int64_t m, int64_t n, int64_t k, float alpha, const float *a,
                     int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc)
{
    const tsr_small *const small = load(&default_f32);
    return small->call(small, TSR_LAYOUT(trans_a, trans_b), m, n, k, a, lda, b, ldb, c, ldc, (double)alpha,
                       (double)beta);
}

tsr_status tsr_dgemm(tsr_trans trans_a, tsr_trans trans_b, int64_t m, int64_t n, int64_t k, double alpha,
                     const double *a, int64_t lda, const double *b, int64_t ldb, double beta, double *c, int64_t ldc)
{
    const tsr_small *const small = load(&default_f64);
    return small->call(small, TSR_LAYOUT(trans_a, trans_b), m, n, k, a, lda, b, ldb, c, ldc, alpha, beta);
}
