/* What programs that embed the library count on: what outlives what, signals, threads. */
#include <dirent.h>
#include <poll.h>
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
            ((uint16_t *)to)[i] = (uint16_t)(0x3f00 + (seed >> 25)); /* bf16 from 0.5 to 2, f16 from 1.75 to 1.87 */
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
    for (int type = 0; type < 4; type++)
        for (int layout = 0; layout < 8; layout++)
            for (int i = 0; i < EXTENTS * EXTENTS; i++) {
                const tsr_dtype dtypes[] = {TSR_F32, TSR_F64, TSR_BF16, TSR_F16};
                tsr_gemm_desc desc = tsr_gemm_desc_make(dtypes[type], 79, 79, 93);
                desc.a.trans = layout & 1 ? TSR_T : TSR_N;
                desc.b.trans = layout & 2 ? TSR_T : TSR_N;
                desc.kernel = "cpu-tiled";
                serve(context, desc, layout & 4 ? 'a' : 'b', extents[i % EXTENTS], extents[i / EXTENTS]);
            }
    tsr_context_destroy(context);
}

/* Products without elements, too, whichever kernel the planner takes; and their plans prepare for others. */
static void prepared_operands_serve_empty_products(void **state)
{
    (void)state;
    enum { N = 20, K = 30 };
    static const tsr_dtype dtypes[] = {TSR_F32, TSR_F64, TSR_BF16, TSR_F16};
    static double a[N * K], b[N * K], d[N * N], expected[N * N];
    tsr_context *context = NULL;
    assert_int_equal(tsr_context_create("cpu", NULL, &context), TSR_OK);
    for (int i = 0; i < 8; i++) {
        const char which = i & 1 ? 'a' : 'b';
        tsr_gemm_desc desc = tsr_gemm_desc_make(dtypes[i / 2], N, N, K), empty = desc;
        *(which == 'a' ? &empty.n : &empty.m) = 0;
        tsr_run_args args = tsr_run_args_make(a, b, expected);
        fill(dtypes[i / 2], a, N * K, 1);
        fill(dtypes[i / 2], b, N * K, 2);
        assert_int_equal(tsr_gemm(context, &desc, &args), TSR_OK);
        args.d = d;
        for (int of_empty = 0; of_empty < 2; of_empty++) {
            tsr_plan *plan = NULL;
            tsr_prepared *prepared = NULL;
            assert_int_equal(tsr_plan_create(context, of_empty ? &empty : &desc, &plan), TSR_OK);
            if (tsr_prepare(plan, which, which == 'a' ? a : b, &prepared) != TSR_OK)
                fail_msg("%s", tsr_last_error());
            *(which == 'a' ? &args.a : &args.b) = NULL;
            *(which == 'a' ? &args.prepared_a : &args.prepared_b) = prepared;
            if (tsr_gemm(context, &empty, &args) != TSR_OK)
                fail_msg("%s", tsr_last_error());
            memset(d, 0, sizeof d);
            assert_int_equal(tsr_gemm(context, &desc, &args), TSR_OK);
            assert_memory_equal(d, expected, N * N * tsr_dtype_bytes(dtypes[i / 2]));
            tsr_prepared_release(prepared);
            tsr_plan_release(plan);
        }
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

/* ---- threads ---- */

static int tasks(void)
{
    int count = -2; /* "." and ".." */
    DIR *folder = opendir("/proc/self/task");
    while (folder && readdir(folder))
        count++;
    if (folder)
        closedir(folder);
    return count;
}

static int multiply_large(void)
{
    enum { N = 500 };
    static float a[N * N], b[N * N], c[N * N];
    return tsr_sgemm(TSR_N, TSR_N, N, N, N, 1, a, N, b, N, 0, c, N) == TSR_OK;
}

static void *no_work(void *nothing)
{
    return nothing;
}

/* The least number of threads within a fifth of a second: one that was joined may still be seen for a moment. */
static int tasks_at_rest(void)
{
    const struct timespec pause = {.tv_nsec = 4000000};
    int least = tasks();
    for (int i = 0; i < 50; i++) {
        nanosleep(&pause, NULL);
        const int now = tasks();
        least = now < least ? now : least;
    }
    return least;
}

/* Threads are started when a product wants them: so many as the limits allow, of four. */
static int limits_hold(void)
{
    pthread_t first;
    if (tsr_thread_start(&first, no_work, NULL) != 0 || pthread_join(first, NULL) != 0)
        return 0;
    const int others = tasks_at_rest() - 1; /* a sanitizer's, which it starts beside the first thread */
    setenv("TESSERA_NUM_THREADS", "4", 1);
    int right = tsr_get_threads() == 4 && tsr_set_threads(1) == TSR_OK && tsr_get_threads() == 1;
    right = right && multiply_large() && tasks_at_rest() == others + 1;
    right = right && tsr_set_threads(3) == TSR_OK && tsr_set_threads_here(2) == TSR_OK && tsr_get_threads() == 2;
    right = right && multiply_large() && tasks_at_rest() == others + 2;
    right = right && tsr_set_threads_here(0) == TSR_OK && tsr_get_threads() == 3 && multiply_large() &&
            tasks_at_rest() == others + 3;
    right = right && tsr_set_threads(0) == TSR_OK && tsr_get_threads() == 4 && multiply_large() &&
            tasks_at_rest() == others + 4;
    return right && tsr_set_threads(-1) == TSR_INVALID_ARGUMENT && tsr_set_threads_here(4097) == TSR_INVALID_ARGUMENT;
}

/* A product that asks for one thread starts no other, whichever way it goes: some are shared from 1 M operations on. */
static int one_thread_is_one(void)
{
    static double a[130 * 130], b[130 * 130], d[130 * 130];
    tsr_context *context = NULL;
    const tsr_context_options options = {.struct_bytes = sizeof options, .threads = 4};
    int right = tsr_context_create("cpu", &options, &context) == TSR_OK;
    const int before = tasks_at_rest();
    for (int n = 60; right && n <= 130; n += 10)
        for (int type = 0; type < 2; type++) {
            tsr_gemm_desc desc = tsr_gemm_desc_make(type ? TSR_F64 : TSR_F32, n, n, n);
            tsr_plan *plan = NULL;
            tsr_run_args args = tsr_run_args_make(a, b, d);
            desc.threads = 1;
            right = right && tsr_plan_create(context, &desc, &plan) == TSR_OK;
            for (int i = 0; right && i < 300; i++)
                right = tsr_gemm(context, &desc, &args) == TSR_OK && tsr_plan_run(plan, &args) == TSR_OK;
            tsr_plan_release(plan);
        }
    return right && tasks_at_rest() == before;
}

static void count_line(const char *line, void *user)
{
    *(int *)user += strstr(line, "as if it were not set") || strstr(line, "only \"calls\" is known");
}

static int complaints(const char *name, const char *value)
{
    int count = 0;
    setenv(name, value, 1);
    tsr_check_environment(count_line, &count);
    unsetenv(name);
    return count;
}

/* Others' variables count where ours says nothing, up to the number of processors. */
static int environment_is_read(void)
{
    static const char *const names[] = {"TESSERA_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
                                        "BLIS_NUM_THREADS", "OMP_NUM_THREADS"};
    int right = 1;
    for (int i = 0; i < 5; i++)
        unsetenv(names[i]);
    const int all = tsr_get_threads();
    for (int i = 1; i < 5; i++) {
        setenv(names[i], "1", 1);
        right = right && tsr_get_threads() == 1;
        setenv(names[i], "4000", 1);
        right = right && tsr_get_threads() == all;
        setenv(names[i], "none", 1);
        right = right && tsr_get_threads() == all;
        setenv(names[0], "7", 1);
        right = right && tsr_get_threads() == 7;
        unsetenv(names[0]);
        unsetenv(names[i]);
    }
    setenv("OMP_NUM_THREADS", "1,2", 1);
    right = right && tsr_get_threads() == 1;
    setenv("TESSERA_NUM_THREADS", "abc", 1);
    right = right && tsr_get_threads() == 1;
    return right && complaints("TESSERA_NUM_THREADS", "abc") == 1 && complaints("TESSERA_NUM_THREADS", "-1") == 1 &&
           complaints("TESSERA_NUM_THREADS", "1e9") == 1 && complaints("TESSERA_NUM_THREADS", "4097") == 1 &&
           complaints("TESSERA_NUM_THREADS", "4096") == 0 && complaints("TESSERA_LOG", "call") == 1 &&
           complaints("TESSERA_LOG", "calls,") == 0 && complaints("TESSERA_LOG", "") == 0;
}

static void in_a_child(int (*test)(void))
{
    fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        setenv("TESSERA_DEVICE", "cpu", 1);
        _exit(!test());
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void threads_are_limited(void **state)
{
    (void)state;
    in_a_child(limits_hold);
    in_a_child(one_thread_is_one);
}

static void threads_come_from_the_environment(void **state)
{
    (void)state;
    in_a_child(environment_is_read);
}

/* ---- messages and outputs ---- */

static void refused(tsr_status status, tsr_status expected, const char *message)
{
    if (status != expected || !strstr(tsr_last_error(), message))
        print_error("got %s: \"%s\", not \"%s\"\n", tsr_status_text(status), tsr_last_error(), message);
    assert_int_equal(status, expected);
    assert_non_null(strstr(tsr_last_error(), message));
}

/* A call that fails leaves its outputs alone. The default context fails but once: a later call may succeed. */
static void a_failed_default_context_writes_nothing(void **state)
{
    (void)state;
    fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int mark;
        tsr_context *const before = (tsr_context *)(void *)&mark, *context = before;
        setenv("TESSERA_DEVICE", "foo", 1);
        const int failed = tsr_default_context(&context) == TSR_INVALID_ARGUMENT && context == before;
        setenv("TESSERA_DEVICE", "cpu", 1);
        _exit(!(failed && tsr_default_context(&context) == TSR_OK && context && context != before));
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* The one-line calls have no D, and no operand structs. */
static void one_line_calls_name_their_own_arguments(void **state)
{
    (void)state;
    float a[16] = {0}, c[16];
    char *const odd = (char *)c + 1;
    refused(tsr_sgemm((tsr_trans)7, TSR_N, 2, 2, 2, 1, a, 2, a, 2, 0, c, 2), TSR_INVALID_ARGUMENT, "trans_a = 7: must");
    refused(tsr_sgemm(TSR_N, (tsr_trans)7, 2, 2, 2, 1, a, 2, a, 2, 0, c, 2), TSR_INVALID_ARGUMENT, "trans_b = 7: must");
    refused(tsr_sgemm(TSR_N, TSR_N, 2, 2, 2, 1, a, 2, a, 2, 0, a, 2), TSR_INVALID_ARGUMENT, "c: overlaps A");
    refused(tsr_sgemm(TSR_N, TSR_N, 2, 2, 2, 1, a, 2, a, 2, 0, NULL, 2), TSR_INVALID_ARGUMENT,
            "c = NULL: it is written");
    refused(tsr_sgemm(TSR_N, TSR_N, 2, 2, 2, 1, a, 2, a, 2, 0, (float *)(void *)odd, 2), TSR_INVALID_ARGUMENT,
            "not aligned to the 4 bytes of an element");
    assert_int_equal(tsr_last_error()[0], 'c');
}

static void messages_do_not_contradict_themselves(void **state)
{
    (void)state;
    tsr_context *context = NULL;
    tsr_plan *plan = NULL;
    assert_int_equal(tsr_context_create("cpu", NULL, &context), TSR_OK);
    tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_BF16, 16, 16, 16);
    desc.c.dtype = TSR_F32;
    refused(tsr_plan_create(context, &desc, &plan), TSR_UNSUPPORTED,
            "C.dtype = f32: no kernel takes a C of another dtype than D's, bf16");
    desc = tsr_gemm_desc_make(TSR_F32, 16, 16, 16);
    desc.threads = 4097;
    refused(tsr_plan_create(context, &desc, &plan), TSR_INVALID_ARGUMENT, "threads = 4097: must be 0 to 4096");
    tsr_context_destroy(context);
}

static void *careless_alloc(size_t align, size_t bytes, void *user)
{
    (void)align;
    (void)user;
    char *all = malloc(bytes + 64); /* where malloc's pages begin no operand does */
    return all ? all + 16 : NULL;
}

static void careless_free(void *pointer, void *user)
{
    (void)user;
    if (pointer)
        free((char *)pointer - 16);
}

/* Careful while the context is made, careless after. */
static void *forgetful_alloc(size_t align, size_t bytes, void *user)
{
    char *all = NULL;
    const size_t shift = atomic_load((atomic_int *)user) ? 16 : align;
    return posix_memalign((void **)&all, 4096, bytes + 4096) == 0 ? all + shift % 4096 : NULL;
}

static void forgetful_free(void *pointer, void *user)
{
    (void)user;
    free((void *)((uintptr_t)pointer & ~(uintptr_t)4095));
}

static void allocators_must_align(void **state)
{
    (void)state;
    atomic_int careless = 0;
    tsr_context_options options = {.struct_bytes = sizeof options, .alloc = careless_alloc, .free = careless_free};
    tsr_context *context = NULL;
    refused(tsr_context_create("cpu", &options, &context), TSR_INVALID_ARGUMENT, "must be a multiple of it");
    assert_null(context);
    options.alloc = forgetful_alloc;
    options.free = forgetful_free;
    options.user = &careless;
    assert_int_equal(tsr_context_create("cpu", &options, &context), TSR_OK);
    atomic_store(&careless, 1);
    void *memory = NULL;
    refused(tsr_device_alloc(context, 1000, &memory), TSR_OUT_OF_MEMORY, "no memory for 1000 bytes");
    atomic_store(&careless, 0);
    assert_int_equal(tsr_device_alloc(context, 1000, &memory), TSR_OK);
    assert_int_equal(tsr_device_free(context, memory), TSR_OK);
    tsr_context_destroy(context);
}

/* Gives memory that holds no zeros, and none at call number `fail_at`, or from there on. */
typedef struct short_memory {
    atomic_int calls, live;
    int fail_at, for_good;
} short_memory;

static void *short_alloc(size_t align, size_t bytes, void *user)
{
    short_memory *memory = user;
    const int call = atomic_fetch_add(&memory->calls, 1);
    void *pointer = NULL;
    if (call == memory->fail_at || (memory->for_good && call > memory->fail_at) ||
        posix_memalign(&pointer, align, bytes) != 0)
        return NULL;
    atomic_fetch_add(&memory->live, 1);
    return memset(pointer, 0xa5, bytes);
}

static void short_free(void *pointer, void *user)
{
    atomic_fetch_sub(&((short_memory *)user)->live, pointer != NULL);
    free(pointer);
}

/* Everything that takes memory of one context, as far as it goes. */
static void use_memory(const char *device, tsr_dtype dtype, short_memory *memory)
{
    enum { N = 64 };
    static float a[N * N], d[N * N]; /* zeros of every type, which keep the 2:4 pattern */
    const tsr_context_options options = {
        .struct_bytes = sizeof options, .threads = 2, .alloc = short_alloc, .free = short_free, .user = memory};
    tsr_context *context = NULL;
    tsr_status status[5] = {tsr_context_create(device, &options, &context)};
    tsr_gemm_desc desc = tsr_gemm_desc_make(dtype, N, N, N);
    tsr_run_args args = tsr_run_args_make(a, a, d);
    for (int sparse = 0; sparse < 2 && status[0] == TSR_OK; sparse++) {
        tsr_plan *plan = NULL;
        tsr_prepared *prepared = NULL;
        desc.flags = sparse ? TSR_SPARSE24_B : 0;
        if (!sparse)
            status[1] = tsr_gemm(context, &desc, &args);
        status[2] = tsr_plan_create(context, &desc, &plan);
        if (status[2] == TSR_OK)
            status[3] = sparse ? tsr_compress24(plan, 'b', a, &prepared) : tsr_prepare(plan, 'b', a, &prepared);
        args.prepared_b = prepared;
        if (prepared)
            status[4] = tsr_plan_run(plan, &args);
        tsr_prepared_release(prepared);
        tsr_plan_release(plan);
        args.prepared_b = NULL;
        for (int i = 0; i < 5; i++) /* a kernel may have no prepared form */
            assert_true(status[i] == TSR_OK || status[i] == TSR_OUT_OF_MEMORY || status[i] == TSR_UNSUPPORTED);
    }
    tsr_context_destroy(context);
    assert_int_equal(atomic_load(&memory->live), 0);
}

/* A context's allocations fail in turn, on the CPU and in the emulator: nothing is lost, nothing that was never written
 * is freed. */
static void allocations_fail_in_turn(void **state)
{
    static const char *const devices[] = {"cpu", "emu"};
    (void)state;
    for (int i = 0; i < 8; i++) {
        const char *device = devices[i & 1];
        const tsr_dtype dtype = i & 2 ? TSR_BF16 : TSR_F32;
        short_memory memory = {.fail_at = -1};
        int done = 0;
        tsr_context *context = NULL;
        if (tsr_context_create(device, NULL, &context) != TSR_OK)
            continue; /* not in this build */
        tsr_context_destroy(context);
        for (int fail_at = 0; !done; fail_at++) {
            memory = (short_memory){.fail_at = fail_at, .for_good = i >> 2};
            use_memory(device, dtype, &memory);
            done = atomic_load(&memory.calls) <= fail_at;
        }
    }
}

/* An allocator and a log may use the library, the context that calls them too. */
static tsr_context *called_back;
static _Thread_local int depth;

static void multiply_back(void)
{
    enum { N = 70 };
    static const float a[N * N];
    float d[N * N];
    if (!called_back || depth)
        return;
    depth++;
    const tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F32, N, N, N);
    const tsr_run_args args = tsr_run_args_make(a, a, d);
    assert_int_equal(tsr_gemm(called_back, &desc, &args), TSR_OK);
    assert_int_equal(tsr_sgemm(TSR_N, TSR_N, N, N, N, 1, a, N, a, N, 0, d, N), TSR_OK);
    depth--;
}

static void *calling_alloc(size_t align, size_t bytes, void *user)
{
    void *pointer = NULL;
    atomic_fetch_add((atomic_int *)user, 1);
    multiply_back();
    return posix_memalign(&pointer, align, bytes) == 0 ? pointer : NULL;
}

static void calling_free(void *pointer, void *user)
{
    (void)user;
    multiply_back();
    free(pointer);
}

static void callbacks_may_call(void **state)
{
    enum { N = 300 };
    static float a[N * N], d[N * N];
    atomic_int calls = 0;
    tsr_context_options options = {.struct_bytes = sizeof options, .threads = 2};
    tsr_context *context = NULL;
    (void)state;
    options.alloc = calling_alloc;
    options.free = calling_free;
    options.user = &calls;
    assert_int_equal(tsr_context_create("cpu", &options, &context), TSR_OK);
    called_back = context;
    for (int m = 1; m < N; m += 60) {
        const tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F32, m, N, N);
        tsr_run_args args = tsr_run_args_make(a, a, d);
        tsr_plan *plan = NULL;
        tsr_prepared *prepared = NULL;
        assert_int_equal(tsr_gemm(context, &desc, &args), TSR_OK);
        assert_int_equal(tsr_plan_create(context, &desc, &plan), TSR_OK);
        assert_int_equal(tsr_prepare(plan, 'b', a, &prepared), TSR_OK);
        args.prepared_b = prepared;
        assert_int_equal(tsr_plan_run(plan, &args), TSR_OK);
        tsr_prepared_release(prepared);
        tsr_plan_release(plan);
    }
    called_back = NULL;
    tsr_context_destroy(context);
    assert_true(atomic_load(&calls) > 5);
}

/* ---- signals ---- */

static pthread_t program_thread;
enum { IN_A_WORKER = 42, IN_THE_CALLER = 43 };

/* The caller waits for a worker to come to grief too. */
static void on_fault(int signal)
{
    (void)signal;
    if (pthread_self() != program_thread)
        _exit(IN_A_WORKER);
    poll(NULL, 0, 500);
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
        cmocka_unit_test(a_failed_default_context_writes_nothing),
        cmocka_unit_test(threads_are_limited),
        cmocka_unit_test(threads_come_from_the_environment),
        cmocka_unit_test(faults_in_workers_reach_the_program),
        cmocka_unit_test(threads_block_what_is_not_their_own),
        cmocka_unit_test(prepared_operands_keep_their_context),
        cmocka_unit_test(prepared_operands_serve_every_extent),
        cmocka_unit_test(prepared_operands_serve_empty_products),
        cmocka_unit_test(prepared_operands_serve_batches_and_long_k),
        cmocka_unit_test(one_line_calls_name_their_own_arguments),
        cmocka_unit_test(messages_do_not_contradict_themselves),
        cmocka_unit_test(allocators_must_align),
        cmocka_unit_test(allocations_fail_in_turn),
        cmocka_unit_test(callbacks_may_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
