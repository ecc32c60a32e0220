/* The way of a call through the library, and what the environment says about it. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "blas/call_log.h"
#include "cublas/cublas.h"

const char tsr_call_log_library[] = "libtessera_cublas";

atomic_int tsr_cublas_mode_now;
_Thread_local int tsr_cublas_depth;

/* ---- the lock ---------------------------------------------------------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void tsr_cublas_lock(void)
{
    pthread_mutex_lock(&lock);
}

void tsr_cublas_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

/* ---- the environment --------------------------------------------------------------------------------------------- */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int has_tf32, emulates_f32, emulates_f64;

static int is_set_to(const char *name, const char *value)
{
    const char *text = getenv(name);
    return text && strcmp(text, value) == 0;
}

static void read_environment(void)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    const char *text = getenv("TESSERA_CUBLAS");
    int mode = TSR_MODE_AUTO;
    has_tf32 = !is_set_to("NVIDIA_TF32_OVERRIDE", "0");
    emulates_f32 = is_set_to("CUBLAS_EMULATE_SINGLE_PRECISION", "1");
    emulates_f64 = is_set_to("CUBLAS_EMULATE_DOUBLE_PRECISION", "1");
    if (text && strcmp(text, "off") == 0)
        mode = TSR_MODE_OFF;
    else if (text && strcmp(text, "always") == 0)
        mode = TSR_MODE_ALWAYS;
    else if (text && *text && strcmp(text, "auto") != 0)
        tsr_call_log_tell(&told, "TESSERA_CUBLAS = %.100s: must be auto, off or always; taken as auto", text);
    if (mode == TSR_MODE_OFF && !tsr_call_log_is_on())
        mode = TSR_MODE_PASSING;
    pthread_atfork(tsr_cublas_lock, tsr_cublas_unlock, tsr_cublas_unlock);
    atomic_store_explicit(&tsr_cublas_mode_now, mode, memory_order_release);
}

int tsr_cublas_mode(void)
{
    if (atomic_load_explicit(&tsr_cublas_mode_now, memory_order_acquire) == TSR_MODE_UNKNOWN)
        pthread_once(&once, read_environment);
    return atomic_load_explicit(&tsr_cublas_mode_now, memory_order_acquire);
}

int tsr_cublas_allows_tf32(void)
{
    return has_tf32;
}

int tsr_cublas_is_emulating(tsr_dtype dtype)
{
    return (dtype == TSR_F32 && emulates_f32) || (dtype == TSR_F64 && emulates_f64);
}

/* ---- a visit ----------------------------------------------------------------------------------------------------- */

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

static int is_answer(tsr_why why)
{
    return why == TSR_WHY_ANSWERED || why == TSR_WHY_ALWAYS;
}

static void start(tsr_cublas_visit *visit, const char *name)
{
    memset(visit, 0, sizeof *visit);
    visit->call.name = name;
    tsr_cublas_mode(); /* a call is logged from the first on */
    visit->start_ns = tsr_call_log_is_on() ? now_ns() : 0;
    tsr_cublas_depth++;
}

static atomic_ullong answered;

unsigned long long tessera_cublas_answered(void)
{
    return atomic_load_explicit(&answered, memory_order_relaxed);
}

void tsr_cublas_end(tsr_cublas_visit *visit)
{
    if (is_answer(visit->why))
        atomic_fetch_add_explicit(&answered, 1, memory_order_relaxed);
    if (visit->start_ns > 0)
        tsr_cublas_log(visit, now_ns() - visit->start_ns);
    tsr_cublas_depth--;
}

void tsr_cublas_begin_other(tsr_cublas_visit *visit, const char *name, tsr_why why)
{
    const int is_inner = tsr_cublas_depth > 0;
    start(visit, name);
    if (is_inner) /* a call of the real library's own: no one made it */
        visit->start_ns = 0;
    visit->why = tsr_cublas_mode() == TSR_MODE_OFF ? TSR_WHY_OFF : why;
}

static tsr_why answer_gemm(tsr_cublas_call *call, const tsr_cublas_gemm *gemm, tsr_cublas_status *status)
{
    const tsr_real_cublas *real = tsr_real_cublas_of(gemm->node);
    tsr_why why = real ? tsr_gemm_read(gemm, real, call) : TSR_WHY_HANDLE;
    if (tsr_cublas_mode() == TSR_MODE_OFF)
        return TSR_WHY_OFF;
    if (why != TSR_WHY_ANSWERED)
        return why;
    const int ordinal = tsr_cublas_device();
    const tsr_why verdict = tsr_cublas_verdict(gemm->node, ordinal, call);
    if (!is_answer(verdict))
        return verdict;
    why = tsr_gemm_read_handle(gemm, real, ordinal, call);
    if (why == TSR_WHY_ANSWERED)
        why = tsr_cublas_run(call, ordinal, status);
    return why == TSR_WHY_ANSWERED ? verdict : why;
}

int tsr_cublas_begin_gemm(tsr_cublas_visit *visit, const tsr_cublas_gemm *gemm, tsr_cublas_status *status)
{
    start(visit, gemm->name);
    visit->why = answer_gemm(&visit->call, gemm, status);
    return is_answer(visit->why);
}

/* Descriptors are read in steps, the cheap ones first: most calls go on after the first. */
static tsr_why answer_matmul(tsr_cublas_call *call, const tsr_cublas_matmul *matmul, int is_logged,
                             tsr_cublas_status *status)
{
    const tsr_real_lt *real = tsr_real_lt_of(matmul->node);
    tsr_why why = real ? tsr_matmul_read(matmul, real, call) : TSR_WHY_HANDLE;
    const int is_off = tsr_cublas_mode() == TSR_MODE_OFF, ordinal = is_off ? -1 : tsr_cublas_device();
    if (!is_off && why == TSR_WHY_ANSWERED)
        why = tsr_cublas_may(matmul->node, ordinal, call);
    if (real && call->dtype_a != TSR_DTYPE_NONE && (is_logged || is_answer(why))) {
        const tsr_why layouts = tsr_matmul_read_layouts(matmul, real, call);
        why = is_answer(why) ? layouts : why;
    }
    if (is_off)
        return TSR_WHY_OFF;
    if (!is_answer(why))
        return why;
    /* How 8-bit floats are scaled and summed is among the rest, and the table has lines of its own for it. */
    const int is_fp8 = tsr_cublas_is_fp8(call->dtype_a);
    tsr_why verdict = is_fp8 ? TSR_WHY_ANSWERED : tsr_cublas_verdict(matmul->node, ordinal, call);
    if (!is_answer(verdict))
        return verdict;
    why = tsr_matmul_read_rest(matmul, real, ordinal, call);
    if (is_fp8 && why == TSR_WHY_ANSWERED) {
        verdict = tsr_cublas_verdict(matmul->node, ordinal, call);
        why = is_answer(verdict) ? TSR_WHY_ANSWERED : verdict;
    }
    if (why == TSR_WHY_ANSWERED)
        why = tsr_cublas_run(call, ordinal, status);
    return why == TSR_WHY_ANSWERED ? verdict : why;
}

int tsr_cublas_begin_matmul(tsr_cublas_visit *visit, const tsr_cublas_matmul *matmul, tsr_cublas_status *status)
{
    start(visit, "cublasLtMatmul");
    visit->why = answer_matmul(&visit->call, matmul, visit->start_ns > 0, status);
    return is_answer(visit->why);
}
