/* What programs that embed the library count on: what outlives what, signals, threads. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/thread.h"
#include "tessera.h"

/* ---- what a start costs ---- */

static double processor_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

/* In a process of its own: milliseconds of the first 2 x 2 product, or of the quickest context after the first. */
static int start_is_quick(int contexts)
{
    const double most_ms = contexts ? 1 : 5, a[] = {1, 2, 3, 4};
    double c[4], best_ms = 1e9;
    tsr_context *context = NULL;
    if (!contexts) {
        const double start_ms = processor_ms();
        if (tsr_dgemm(TSR_N, TSR_N, 2, 2, 2, 1, a, 2, a, 2, 0, c, 2) != TSR_OK || c[3] != 22)
            return 0;
        best_ms = processor_ms() - start_ms;
    }
    for (int i = 0; i < 20 && contexts; i++) {
        const double start_ms = processor_ms();
        if (tsr_context_create("cpu", NULL, &context) != TSR_OK)
            return 0;
        const double ms = processor_ms() - start_ms;
        tsr_context_destroy(context);
        best_ms = ms < best_ms ? ms : best_ms;
    }
    printf("%s: %.3f ms\n", contexts ? "a context" : "the first product", best_ms);
    return best_ms < most_ms;
}

static void starts_measure_nothing(void **state)
{
    (void)state;
    for (int contexts = 0; contexts < 2; contexts++) {
        fflush(NULL);
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            const int quick = start_is_quick(contexts);
            fflush(NULL);
            _exit(!quick);
        }
        int status = -1;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}

/* ---- what outlives what ---- */

static void *counting_alloc(size_t align, size_t bytes, void *user)
{
    void *pointer = NULL;
    if (posix_memalign(&pointer, align, bytes) != 0)
        return NULL;
    atomic_fetch_add((atomic_int *)user, 1);
    return pointer;
}

static void counting_free(void *pointer, void *user)
{
    atomic_fetch_sub((atomic_int *)user, 1);
    free(pointer);
}

/* A prepared operand keeps its context open, whichever of the two is let go first. */
static void prepared_operands_keep_their_context(void **state)
{
    (void)state;
    enum { N = 100 };
    atomic_int live = 0;
    const tsr_context_options options = {
        .struct_bytes = sizeof options, .threads = 2, .alloc = counting_alloc, .free = counting_free, .user = &live};
    float *const b = calloc(N * N, sizeof *b), *const a = calloc(N * N, sizeof *a), *const d = calloc(N * N, sizeof *d);
    assert_true(a && b && d);
    for (int destroyed_first = 0; destroyed_first < 2; destroyed_first++) {
        tsr_context *context = NULL;
        tsr_plan *plan = NULL;
        tsr_prepared *pa = NULL, *pb = NULL;
        const tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F32, N, N, N);
        assert_int_equal(tsr_context_create("cpu", &options, &context), TSR_OK);
        assert_int_equal(tsr_plan_create(context, &desc, &plan), TSR_OK);
        assert_int_equal(tsr_prepare(plan, 'a', a, &pa), TSR_OK);
        assert_int_equal(tsr_prepare(plan, 'b', b, &pb), TSR_OK);
        tsr_plan_release(plan);
        const int before = atomic_load(&live);
        if (destroyed_first) {
            tsr_context_destroy(context);
            assert_int_equal(atomic_load(&live), before);
        }
        tsr_prepared_release(pa);
        assert_int_equal(atomic_load(&live), before - 1);
        tsr_prepared_release(pb);
        if (!destroyed_first)
            tsr_context_destroy(context);
        assert_int_equal(atomic_load(&live), 0);
    }
    free(a);
    free(b);
    free(d);
}

/* ---- prepared operands ---- */

enum { LARGEST = 100 };

static void fill(tsr_dtype dtype, void *to, int count, unsigned seed)
{
    for (int i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        const double value = (double)(seed >> 8) / (1 << 23) - 1;
        if (dtype == TSR_F64)
            ((double *)to)[i] = value;
        else if (dtype == TSR_F32)
            ((float *)to)[i] = (float)value;
        else
            ((uint16_t *)to)[i] = (uint16_t)(0x3f00 + (seed >> 25)); /* bf16 from 0.5 to 2 */
    }
}

/* Weights are prepared by the plan of `at` rows and multiplied by `m` rows: the bits are those of weights that are not
 * prepared. The cache holds one plan, so that none of theirs is there any more. */
static void serve(tsr_context *context, tsr_gemm_desc desc, char which, int64_t at, int64_t m)
{
    static double a[LARGEST * LARGEST], b[LARGEST * LARGEST], expected[LARGEST * LARGEST], d[LARGEST * LARGEST];
    const int is_a = which == 'a';
    int64_t *const free_extent = is_a ? &desc.n : &desc.m;
    tsr_plan *plan = NULL;
    tsr_prepared *prepared = NULL;
    fill(desc.a.dtype, a, LARGEST * LARGEST, 1);
    fill(desc.a.dtype, b, LARGEST * LARGEST, 2);
    *free_extent = at;
    assert_int_equal(tsr_plan_create(context, &desc, &plan), TSR_OK);
    assert_int_equal(tsr_prepare(plan, which, is_a ? a : b, &prepared), TSR_OK);
    tsr_plan_release(plan);
    *free_extent = m;
    tsr_run_args args = tsr_run_args_make(a, b, expected);
    assert_int_equal(tsr_gemm(context, &desc, &args), TSR_OK);
    args = tsr_run_args_make(is_a ? NULL : a, is_a ? b : NULL, d);
    args.prepared_a = is_a ? prepared : NULL;
    args.prepared_b = is_a ? NULL : prepared;
    for (int again = 0; again < 2; again++) {
        memset(d, 0xff, sizeof d);
        const tsr_gemm_desc other = tsr_gemm_desc_make(TSR_F32, 90, 91, 92); /* takes the cache's place */
        assert_int_equal(tsr_plan_create(context, &other, &plan), TSR_OK);
        tsr_plan_release(plan);
        assert_int_equal(tsr_gemm(context, &desc, &args), TSR_OK);
        assert_memory_equal(d, expected, (size_t)(desc.m * desc.n) * tsr_dtype_bytes(desc.d.dtype));
    }
    tsr_prepared_release(prepared);
}

static void prepared_operands_serve_every_extent(void **state)
{
    (void)state;
    static const int64_t extents[] = {1, 2, 5, 9, 40, 97};
    enum { EXTENTS = sizeof extents / sizeof extents[0] };
    const tsr_context_options options = {.struct_bytes = sizeof options, .threads = 2, .plan_cache_entries = 1};
    tsr_context *context = NULL;
    assert_int_equal(tsr_context_create("cpu", &options, &context), TSR_OK);
    for (int type = 0; type < 3; type++)
        for (int layout = 0; layout < 8; layout++)
            for (int i = 0; i < EXTENTS * EXTENTS; i++) {
                const tsr_dtype dtypes[] = {TSR_F32, TSR_F64, TSR_BF16};
                tsr_gemm_desc desc = tsr_gemm_desc_make(dtypes[type], 79, 79, 93);
                desc.a.trans = layout & 1 ? TSR_T : TSR_N;
                desc.b.trans = layout & 2 ? TSR_T : TSR_N;
                desc.kernel = "cpu-tiled";
                serve(context, desc, layout & 4 ? 'a' : 'b', extents[i % EXTENTS], extents[i / EXTENTS]);
            }
    tsr_context_destroy(context);
}

/* One matrix prepared without a batch serves a batch that shares it, and long K, which is cut. */
static void prepared_operands_serve_batches_and_long_k(void **state)
{
    (void)state;
    enum { N = 20, K = 2000, BATCH = 3, MOST = 50 };
    tsr_context *context = NULL;
    float *a = calloc(BATCH * MOST * K, sizeof *a), *b = calloc(K * N, sizeof *b);
    float *expected = calloc(BATCH * MOST * N, sizeof *expected), *d = calloc(BATCH * MOST * N, sizeof *d);
    assert_true(a && b && d && expected);
    fill(TSR_F32, a, BATCH * MOST * K, 1);
    fill(TSR_F32, b, K * N, 2);
    assert_int_equal(tsr_context_create("cpu", NULL, &context), TSR_OK);
    for (int64_t at = 1; at <= MOST; at += MOST - 1)
        for (int64_t m = 1; m <= MOST; m += MOST - 1) {
            tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F32, at, N, K);
            tsr_plan *plan = NULL;
            tsr_prepared *prepared = NULL;
            desc.kernel = "cpu-tiled";
            assert_int_equal(tsr_plan_create(context, &desc, &plan), TSR_OK);
            assert_int_equal(tsr_prepare(plan, 'b', b, &prepared), TSR_OK);
            tsr_plan_release(plan);
            desc.m = m;
            desc.batch_count = BATCH;
            desc.a.batch_stride = m * K;
            desc.c.batch_stride = desc.d.batch_stride = m * N;
            desc.broadcast = TSR_BROADCAST_B;
            tsr_run_args args = tsr_run_args_make(a, b, expected);
            assert_int_equal(tsr_gemm(context, &desc, &args), TSR_OK);
            args = tsr_run_args_make(a, NULL, d);
            args.prepared_b = prepared;
            assert_int_equal(tsr_gemm(context, &desc, &args), TSR_OK);
            assert_memory_equal(d, expected, (size_t)(BATCH * m * N) * sizeof *d);
            tsr_prepared_release(prepared);
        }
    tsr_context_destroy(context);
    free(a);
    free(b);
    free(d);
    free(expected);
}

/* ---- signals ---- */

static pthread_t program_thread;
enum { IN_A_WORKER = 42, IN_THE_CALLER = 43 };

/* The caller waits for a worker to come to grief too. */
static void on_fault(int signal)
{
    (void)signal;
    const struct timespec a_while = {0, 500000000};
    if (!pthread_equal(pthread_self(), program_thread))
        _exit(IN_A_WORKER);
    nanosleep(&a_while, NULL);
    _exit(IN_THE_CALLER);
}

/* A product whose A cannot be read beyond its first rows, or ends before its file does. */
static void multiply_what_is_not_there(int from_file)
{
    enum { N = 1200, BYTES = N * N * 4, THERE = 64 << 10 };
    char name[] = "/tmp/tessera-embed-XXXXXX";
    const int file = from_file ? mkstemp(name) : -1;
    if (from_file && (file < 0 || unlink(name) != 0 || ftruncate(file, THERE) != 0))
        _exit(1);
    float *a = mmap(NULL, BYTES, PROT_READ, from_file ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, file, 0);
    float *b = calloc(N * N, sizeof *b), *d = calloc(N * N, sizeof *d);
    if (a == MAP_FAILED || !b || !d || (!from_file && mprotect((char *)a + THERE, BYTES - THERE, PROT_NONE) != 0))
        _exit(1);
    program_thread = pthread_self();
    signal(from_file ? SIGBUS : SIGSEGV, on_fault);
    tsr_sgemm(TSR_N, TSR_N, N, N, N, 1, a, N, b, N, 0, d, N);
    _exit(2);
}

/* What a worker's fault finds is the program's own handler, as in the program's own threads. */
static void faults_in_workers_reach_the_program(void **state)
{
    (void)state;
    int in_workers = 0;
    for (int i = 0; i < 8; i++) {
        fflush(NULL);
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            setenv("TESSERA_NUM_THREADS", "2", 1);
            setenv("TESSERA_DEVICE", "cpu", 1);
            alarm(60);
            multiply_what_is_not_there(i & 1);
        }
        int status = -1;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_true(WEXITSTATUS(status) == IN_A_WORKER || WEXITSTATUS(status) == IN_THE_CALLER);
        in_workers += WEXITSTATUS(status) == IN_A_WORKER;
    }
    assert_true(in_workers > 0);
}

static void *own_mask(void *mask)
{
    pthread_sigmask(SIG_SETMASK, NULL, mask);
    return NULL;
}

/* Signals to the process go to the program's threads, which may wait for them; a thread's own faults are its own. */
static void threads_block_what_is_not_their_own(void **state)
{
    (void)state;
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    static const int others[] = {SIGINT, SIGTERM, SIGHUP, SIGALRM, SIGCHLD, SIGUSR1, SIGUSR2, SIGPROF, SIGWINCH};
    sigset_t mask, before, after;
    pthread_t thread;
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    assert_int_equal(tsr_thread_start(&thread, own_mask, &mask), 0);
    pthread_join(thread, NULL);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        assert_int_equal(sigismember(&mask, own[i]), 0);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        assert_int_equal(sigismember(&mask, others[i]), 1);
    for (int signal = 1; signal < 32; signal++)
        assert_int_equal(sigismember(&before, signal), sigismember(&after, signal));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(starts_measure_nothing),
        cmocka_unit_test(faults_in_workers_reach_the_program),
        cmocka_unit_test(threads_block_what_is_not_their_own),
        cmocka_unit_test(prepared_operands_keep_their_context),
        cmocka_unit_test(prepared_operands_serve_every_extent),
        cmocka_unit_test(prepared_operands_serve_batches_and_long_k),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
