/* cpu-tiled's promises around threads, memory and prepared operands; the machine's description. */
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/backend.h"
#include "core/dtype.h"
#include "core/processors.h"
#include "cpu/cpu.h"
#include "cpu/cpu_device.h"
#include "cpu/skinny/shape.h"

typedef struct problem {
    tsr_dtype dtype;
    int m, n, k, trans_a, trans_b;
    int batch;
} problem;

/* Operands of random elements, which round at every step: any change of order shows. */
typedef struct data {
    problem p;
    void *a, *b, *c, *d;
    size_t d_bytes;
} data;

static void *random_elements(tsr_dtype dtype, size_t count, uint32_t seed)
{
    void *to = malloc(count * tsr_dtype_bytes(dtype) + 1);
    assert_non_null(to);
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        tsr_store_element(dtype, to, (int64_t)i, (double)(int)(seed >> 8) / (1 << 23) - 1.0);
    }
    return to;
}

static data data_make(problem p)
{
    const size_t batch = (size_t)p.batch;
    data x = {.p = p, .d_bytes = batch * (size_t)p.m * (size_t)p.n * tsr_dtype_bytes(p.dtype)};
    x.a = random_elements(p.dtype, batch * (size_t)p.m * (size_t)p.k, 1);
    x.b = random_elements(p.dtype, batch * (size_t)p.k * (size_t)p.n, 2);
    x.c = random_elements(p.dtype, batch * (size_t)p.m * (size_t)p.n, 3);
    x.d = random_elements(p.dtype, batch * (size_t)p.m * (size_t)p.n, 4);
    return x;
}

static void data_free(data *x)
{
    free(x->a);
    free(x->b);
    free(x->c);
    free(x->d);
}

static tsr_config config_of(tsr_dtype dtype)
{
    return (tsr_config){
        .instance = "under test", .op = TSR_OP(dtype, dtype, tsr_dtype_compute(dtype)), .run = tsr_cpu_tiled};
}

static tsr_problem description(const problem *p)
{
    tsr_problem out = {.m = p->m, .n = p->n, .k = p->k, .batch = p->batch};
    out.op.a = out.op.b = p->dtype;
    out.a = (tsr_matrix){
        .trans = p->trans_a ? TSR_T : TSR_N, .ld = p->trans_a ? p->m : p->k, .batch_stride = (long long)p->m * p->k};
    out.b = (tsr_matrix){
        .trans = p->trans_b ? TSR_T : TSR_N, .ld = p->trans_b ? p->k : p->n, .batch_stride = (long long)p->k * p->n};
    return out;
}

static tsr_status multiply(tsr_device *device, const data *x, void *d, int threads, const void *packed_a,
                           const void *packed_b)
{
    const problem *p = &x->p;
    const tsr_config config = config_of(p->dtype);
    const tsr_gemm_args args = {.a = packed_a ? NULL : x->a,
                                .b = packed_b ? NULL : x->b,
                                .c = x->c,
                                .d = d,
                                .m = p->m,
                                .n = p->n,
                                .k = p->k,
                                .lda = p->trans_a ? p->m : p->k,
                                .ldb = p->trans_b ? p->k : p->n,
                                .ldc = p->n,
                                .ldd = p->n,
                                .batch_a = (long long)p->m * p->k,
                                .batch_b = (long long)p->k * p->n,
                                .batch_c = (long long)p->m * p->n,
                                .batch_d = (long long)p->m * p->n,
                                .batch = p->batch,
                                .alpha = 1.25,
                                .beta = -0.75,
                                .trans_a = p->trans_a,
                                .trans_b = p->trans_b};
    const tsr_problem described = description(p);
    const tsr_launch launch = {.config = &config,
                               .args = &args,
                               .problem = &described,
                               .packed_a = packed_a,
                               .packed_b = packed_b,
                               .threads = threads};
    return tsr_cpu_backend.launch(device, &launch);
}

static tsr_device open_device(int threads, const tsr_allocator *allocator)
{
    tsr_device device;
    const tsr_backend_options options = {.threads = threads, .allocator = allocator};
    assert_int_equal(tsr_cpu_backend.open(0, &options, &device), TSR_OK);
    device.allocator = allocator;
    return device;
}

static const problem problems[] = {
    {TSR_F32, 333, 411, 555, 0, 0, 1},  {TSR_F32, 333, 411, 555, 1, 1, 1},  {TSR_F64, 260, 300, 700, 0, 1, 1},
    {TSR_F16, 300, 280, 530, 0, 0, 1},  {TSR_BF16, 300, 280, 530, 1, 0, 1}, {TSR_F32, 1, 3000, 700, 0, 0, 1},
    {TSR_F32, 1, 3000, 700, 1, 1, 1},   {TSR_F64, 3000, 1, 700, 0, 0, 1},   {TSR_F64, 2500, 1, 1500, 1, 0, 1},
    {TSR_F16, 3000, 1, 700, 0, 0, 1},   {TSR_F32, 20, 4500, 300, 0, 0, 1},  {TSR_F32, 700, 40, 1100, 0, 0, 1},
    {TSR_F32, 70, 90, 110, 0, 1, 40},   {TSR_F64, 40, 1, 900, 0, 0, 30},    {TSR_F32, 1, 1, 5000, 0, 0, 1},
    {TSR_F32, 1100, 1100, 40, 0, 0, 1}, {TSR_F32, 5, 5, 5, 0, 0, 3},        {TSR_F32, 22, 2100, 900, 0, 1, 1},
    {TSR_F64, 7, 1500, 800, 1, 1, 2},   {TSR_F64, 87, 321, 338, 0, 0, 1},   {TSR_F32, 240, 300, 250, 0, 1, 1},
    {TSR_F32, 470, 110, 200, 0, 1, 1},
};
enum { PROBLEMS = sizeof problems / sizeof problems[0] };

static void test_bits_for_any_threads(void **state)
{
    (void)state;
    tsr_device device = open_device(3, NULL);
    for (int i = 0; i < PROBLEMS; i++) {
        data x = data_make(problems[i]);
        void *want = malloc(x.d_bytes);
        assert_non_null(want);
        assert_int_equal(multiply(&device, &x, want, 1, NULL, NULL), TSR_OK);
        for (int threads = 1; threads <= 5; threads++) {
            memset(x.d, 0xff, x.d_bytes);
            assert_int_equal(multiply(&device, &x, x.d, threads, NULL, NULL), TSR_OK);
            assert_memory_equal(x.d, want, x.d_bytes);
        }
        free(want);
        data_free(&x);
    }
    tsr_cpu_backend.close(&device);
}

/* Products too short to wake threads for, close to each other: workers that are still awake take a part. The last three
 * do not stay in the caches, or are just long enough to wake threads; of the very last one, regions of fewer columns
 * may read A where it lies. */
static void test_bits_in_bursts(void **state)
{
    static const problem shapes[] = {
        {TSR_F32, 170, 130, 150, 0, 0, 1}, {TSR_F32, 90, 200, 160, 1, 1, 1},  {TSR_F64, 160, 160, 128, 0, 1, 1},
        {TSR_F64, 300, 35, 250, 1, 0, 1},  {TSR_F32, 210, 190, 180, 1, 1, 1}, {TSR_F64, 30, 500, 200, 1, 1, 1},
        {TSR_F32, 1000, 30, 300, 0, 0, 1}, {TSR_F64, 64, 64, 2000, 0, 1, 1},  {TSR_F32, 40, 300, 1024, 0, 0, 1}};
    (void)state;
    tsr_device device = open_device(3, NULL);
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        data x = data_make(shapes[i]);
        void *want = malloc(x.d_bytes);
        assert_non_null(want);
        assert_int_equal(multiply(&device, &x, want, 1, NULL, NULL), TSR_OK);
        for (int round = 0; round < 200; round++) {
            memset(x.d, 0xff, x.d_bytes);
            assert_int_equal(multiply(&device, &x, x.d, 2 + round % 2, NULL, NULL), TSR_OK);
            assert_memory_equal(x.d, want, x.d_bytes);
        }
        free(want);
        data_free(&x);
    }
    tsr_cpu_backend.close(&device);
}

static void count_in(void *counts, int64_t index, int slot)
{
    (void)slot;
    atomic_fetch_add((atomic_int *)counts + index, 1);
}

/* Asked again and again, the pool wakes workers, who then run tasks; closing it ends them, awake or asleep. */
static void test_pool_wakes_for_bursts(void **state)
{
    (void)state;
    for (int round = 0; round < 50; round++) {
        tsr_pool pool;
        tsr_pool_init(&pool);
        assert_int_equal(tsr_pool_is_ready(&pool, 1, 1), 0);
        int ready = 0;
        for (int tries = 0; tries < 100000000 && !ready; tries++)
            ready = tsr_pool_is_ready(&pool, 2, round % 2);
        assert_true(ready);
        for (int job = 0; job < round; job++) {
            atomic_int done[3] = {0, 0, 0};
            tsr_pool_run(&pool, 2, 3, count_in, done);
            for (int i = 0; i < 3; i++)
                assert_int_equal(done[i], 1);
        }
        tsr_pool_destroy(&pool);
    }
}

static void test_bits_when_prepared(void **state)
{
    (void)state;
    tsr_device device = open_device(2, NULL);
    for (int i = 0; i < PROBLEMS; i++) {
        data x = data_make(problems[i]);
        const tsr_config config = config_of(x.p.dtype);
        const tsr_problem described = description(&x.p);
        void *packed_a = malloc(tsr_cpu_tiled_pack_bytes(&config, &described, 'a'));
        void *packed_b = malloc(tsr_cpu_tiled_pack_bytes(&config, &described, 'b'));
        void *want = malloc(x.d_bytes);
        assert_true(packed_a && packed_b && want);
        assert_int_equal(tsr_cpu_tiled_pack(&config, &described, 'a', x.a, packed_a), TSR_OK);
        assert_int_equal(tsr_cpu_tiled_pack(&config, &described, 'b', x.b, packed_b), TSR_OK);
        assert_int_equal(multiply(&device, &x, want, 1, NULL, NULL), TSR_OK);
        for (int which = 1; which < 4; which++)
            for (int threads = 1; threads < 3; threads++) {
                memset(x.d, 0xff, x.d_bytes);
                assert_int_equal(
                    multiply(&device, &x, x.d, threads, which & 1 ? packed_a : NULL, which & 2 ? packed_b : NULL),
                    TSR_OK);
                assert_memory_equal(x.d, want, x.d_bytes);
            }
        free(packed_a);
        free(packed_b);
        free(want);
        data_free(&x);
    }
    tsr_cpu_backend.close(&device);
}

static void test_pack_refuses_other_operands(void **state)
{
    (void)state;
    const tsr_config config = config_of(TSR_F32);
    const tsr_problem described = description(&problems[0]);
    assert_int_equal(tsr_cpu_tiled_pack(&config, &described, 'c', NULL, NULL), TSR_INVALID_ARGUMENT);
}

/* A child may call on the device that its parent opened and used, whatever the parent's threads were doing. */
static void test_fork(void **state)
{
    (void)state;
#ifdef __SANITIZE_THREAD__
    skip(); /* ThreadSanitizer forbids threads after such a fork */
#endif
    tsr_device device = open_device(2, NULL);
    data x = data_make(problems[0]);
    void *want = malloc(x.d_bytes);
    assert_non_null(want);
    assert_int_equal(multiply(&device, &x, want, 2, NULL, NULL), TSR_OK);
    fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(60);
        for (int i = 0; i < 3; i++)
            if (multiply(&device, &x, x.d, 2, NULL, NULL) != TSR_OK || memcmp(x.d, want, x.d_bytes) != 0)
                _exit(1);
        tsr_cpu_backend.close(&device);
        _exit(0);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(multiply(&device, &x, x.d, 2, NULL, NULL), TSR_OK);
    assert_memory_equal(x.d, want, x.d_bytes);
    free(want);
    data_free(&x);
    tsr_cpu_backend.close(&device);
}

typedef struct caller {
    tsr_device *device;
    problem p;
    const void *want;
    int wrong;
} caller;

static void *call(void *argument)
{
    caller *c = argument;
    data x = data_make(c->p);
    for (int i = 0; i < 6; i++) {
        memset(x.d, 0xff, x.d_bytes);
        c->wrong += multiply(c->device, &x, x.d, 2, NULL, NULL) != TSR_OK;
        c->wrong += memcmp(x.d, c->want, x.d_bytes) != 0;
    }
    data_free(&x);
    return NULL;
}

static void test_eight_callers(void **state)
{
    enum { CALLERS = 8 };
    (void)state;
    tsr_device device = open_device(2, NULL);
    caller callers[CALLERS];
    pthread_t threads[CALLERS];
    void *want[CALLERS];
    for (int i = 0; i < CALLERS; i++) {
        data x = data_make(problems[i]);
        want[i] = malloc(x.d_bytes);
        assert_non_null(want[i]);
        assert_int_equal(multiply(&device, &x, want[i], 1, NULL, NULL), TSR_OK);
        callers[i] = (caller){&device, problems[i], want[i], 0};
        data_free(&x);
    }
    for (int i = 0; i < CALLERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, call, &callers[i]), 0);
    for (int i = 0; i < CALLERS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(callers[i].wrong, 0);
        free(want[i]);
    }
    tsr_cpu_backend.close(&device);
}

typedef struct counting {
    atomic_int allowed; /* allocations that still succeed */
    atomic_int live;
} counting;

static void *counted_alloc(size_t align, size_t bytes, void *user)
{
    counting *c = user;
    void *pointer = NULL;
    if (atomic_fetch_sub(&c->allowed, 1) <= 0 || posix_memalign(&pointer, align, bytes) != 0)
        return NULL;
    atomic_fetch_add(&c->live, 1);
    return pointer;
}

static void counted_free(void *pointer, void *user)
{
    counting *c = user;
    atomic_fetch_sub(&c->live, 1);
    free(pointer);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    counting count = {1000, 0};
    const tsr_allocator allocator = {counted_alloc, counted_free, &count};
    int refused = 0;
    for (int i = 0; i < PROBLEMS; i++) {
        tsr_device device = open_device(2, &allocator);
        data x = data_make(problems[i]);
        void *before = malloc(x.d_bytes), *want = malloc(x.d_bytes);
        assert_true(before && want);
        memcpy(before, x.d, x.d_bytes);
        atomic_store(&count.allowed, 0);
        const tsr_status status = multiply(&device, &x, x.d, 2, NULL, NULL);
        if (status != TSR_OK) {
            refused++;
            assert_int_equal(status, TSR_OUT_OF_MEMORY);
            assert_memory_equal(x.d, before, x.d_bytes);
        }
        atomic_store(&count.allowed, 1000);
        assert_int_equal(multiply(&device, &x, want, 1, NULL, NULL), TSR_OK);
        assert_int_equal(multiply(&device, &x, x.d, 2, NULL, NULL), TSR_OK);
        assert_memory_equal(x.d, want, x.d_bytes);
        free(before);
        free(want);
        data_free(&x);
        tsr_cpu_backend.close(&device);
        assert_int_equal(count.live, 0);
    }
    assert_true(refused > 0);

    tsr_device device;
    const tsr_backend_options options = {.threads = 1, .allocator = &allocator};
    atomic_store(&count.allowed, 0);
    assert_int_equal(tsr_cpu_backend.open(0, &options, &device), TSR_OUT_OF_MEMORY);
}

/* Products in several blocks take their memory before the first, while threads may be asleep; the blocks are cut
 * smaller where threads are awake. */
static void test_memory_after_a_pause(void **state)
{
    enum { LONG_ENOUGH_US = 60000 }; /* for all workers to sleep */
    static const struct {
        tsr_dtype dtype, d;
        tsr_compute compute;
        unsigned flags;
        int m, n, k, trans_b;
    } products[] = {
        {TSR_E4M3, TSR_F32, TSR_COMPUTE_F32, 0, 27, 1100, 500, 1},
        {TSR_E4M3, TSR_BF16, TSR_COMPUTE_F32, 0, 300, 1030, 90, 0},
        {TSR_F32, TSR_F32, TSR_COMPUTE_F32, TSR_SPARSE24_A, 1200, 60, 400, 1},
        {TSR_F32, TSR_F32, TSR_COMPUTE_F32, TSR_SPARSE24_B, 28, 2500, 512, 1},
        {TSR_BF16, TSR_BF16, TSR_COMPUTE_F32, TSR_SPARSE24_A, 1200, 120, 400, 1},
        {TSR_BF16, TSR_BF16, TSR_COMPUTE_F32, TSR_SPARSE24_B, 70, 2500, 400, 1},
        {TSR_S8, TSR_S32, TSR_COMPUTE_S32, TSR_SPARSE24_A, 1200, 120, 400, 0},
        {TSR_S8, TSR_S32, TSR_COMPUTE_S32, TSR_SPARSE24_B, 70, 2500, 400, 0},
    };
    tsr_context *context = NULL;
    const tsr_context_options options = {.struct_bytes = sizeof options, .threads = 3};
    (void)state;
    assert_int_equal(tsr_context_create("cpu", &options, &context), TSR_OK);
    for (size_t i = 0; i < sizeof products / sizeof products[0]; i++) {
        const int64_t m = products[i].m, n = products[i].n, k = products[i].k;
        tsr_gemm_desc desc = tsr_gemm_desc_make(products[i].dtype, m, n, k);
        desc.c.dtype = desc.d.dtype = products[i].d;
        desc.compute = products[i].compute;
        desc.flags = products[i].flags;
        desc.b.trans = products[i].trans_b ? TSR_T : TSR_N;
        desc.b.ld = products[i].trans_b ? k : n;
        void *const a = calloc((size_t)(m * k), sizeof(float)), *const b = calloc((size_t)(k * n), sizeof(float)),
                    *const d = calloc((size_t)(m * n), sizeof(float));
        assert_true(a && b && d);
        tsr_run_args args = tsr_run_args_make(a, b, d);
        tsr_plan *plan = NULL;
        tsr_prepared *compressed = NULL;
        assert_int_equal(tsr_plan_create(context, &desc, &plan), TSR_OK);
        if (desc.flags) {
            const char operand = desc.flags & TSR_SPARSE24_A ? 'a' : 'b';
            assert_int_equal(tsr_compress24(plan, operand, operand == 'a' ? a : b, &compressed), TSR_OK);
            *(operand == 'a' ? &args.a : &args.b) = NULL;
            *(operand == 'a' ? &args.prepared_a : &args.prepared_b) = compressed;
        }
        for (int run = 0; run < 3; run++) {
            usleep(LONG_ENOUGH_US);
            if (tsr_plan_run(plan, &args) != TSR_OK)
                fail_msg("product %zu: %s", i, tsr_last_error());
        }
        tsr_prepared_release(compressed);
        tsr_plan_release(plan);
        free(a);
        free(b);
        free(d);
    }
    tsr_context_destroy(context);
}

/* The same few buffers serve call after call. */
static void test_scratch_is_reused(void **state)
{
    (void)state;
    counting count = {1000, 0};
    const tsr_allocator allocator = {counted_alloc, counted_free, &count};
    tsr_device device = open_device(2, &allocator);
    data x = data_make(problems[3]);
    assert_int_equal(multiply(&device, &x, x.d, 2, NULL, NULL), TSR_OK);
    const int allowed = atomic_load(&count.allowed);
    for (int i = 0; i < 5; i++)
        assert_int_equal(multiply(&device, &x, x.d, 2, NULL, NULL), TSR_OK);
    assert_int_equal(atomic_load(&count.allowed), allowed);
    data_free(&x);
    tsr_cpu_backend.close(&device);
}

static void count_task(void *job, int64_t index, int slot)
{
    _Atomic int *counts = job;
    (void)slot;
    atomic_fetch_add(&counts[index], 1);
}

static void test_pool_runs_each_task_once(void **state)
{
    enum { TASKS = 1000 };
    static _Atomic int counts[TASKS];
    (void)state;
    tsr_pool pool;
    tsr_pool_init(&pool);
    for (int slots = 1; slots <= 9; slots++)
        for (int tasks = 0; tasks <= TASKS; tasks = tasks * 3 + 1) {
            for (int i = 0; i < TASKS; i++)
                atomic_store(&counts[i], 0);
            tsr_pool_run(&pool, slots, tasks, count_task, counts);
            for (int i = 0; i < TASKS; i++)
                assert_int_equal(atomic_load(&counts[i]), i < tasks);
        }
    tsr_pool_destroy(&pool);
}

/* What a job on its caller's stack looks like: gone as soon as tsr_pool_run returns. */
typedef struct short_job {
    _Atomic int alive, ran;
    _Atomic int in_slot[10];
    atomic_int *faults;
} short_job;

static void short_task(void *job, int64_t index, int slot)
{
    short_job *j = job;
    (void)index;
    if (!atomic_load(&j->alive) || slot < 0 || slot > 9 || atomic_fetch_add(&j->in_slot[slot], 1) != 0)
        atomic_fetch_add(j->faults, 1);
    atomic_fetch_add(&j->ran, 1);
    atomic_fetch_sub(&j->in_slot[slot], 1);
}

typedef struct short_jobs {
    tsr_pool *pool;
    int rounds, pause_every;
    atomic_int faults;
} short_jobs;

static void *run_short_jobs(void *argument)
{
    short_jobs *jobs = argument;
    for (int i = 0; i < jobs->rounds; i++) {
        short_job j = {.alive = 1, .faults = &jobs->faults};
        const int tasks = 1 + i % 13;
        tsr_pool_run(jobs->pool, 2 + i % 9, tasks, short_task, &j);
        if (atomic_exchange(&j.ran, -1) != tasks)
            atomic_fetch_add(&jobs->faults, 1);
        atomic_store(&j.alive, 0);
        if (i % jobs->pause_every == 0)
            usleep(700); /* workers fall asleep */
    }
    return NULL;
}

/* Jobs of microseconds, one after the other and from three callers at once, more workers than processors: nobody runs a
 * task of a job that is over, no slot is given twice. */
static void test_pool_short_jobs(void **state)
{
    (void)state;
    tsr_pool pool;
    tsr_pool_init(&pool);
    short_jobs jobs = {.pool = &pool, .rounds = 3000, .pause_every = 97};
    run_short_jobs(&jobs);
    pthread_t callers[3];
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&callers[i], NULL, run_short_jobs, &jobs), 0);
    for (int i = 0; i < 3; i++)
        pthread_join(callers[i], NULL);
    assert_int_equal(atomic_load(&jobs.faults), 0);
    tsr_pool_destroy(&pool);
}

/* A caller with tasks that last until `go`, which tells when the first has begun. */
typedef struct held {
    tsr_pool *pool;
    int64_t tasks;
    atomic_int begun, go;
} held;

static void hold(void *job, int64_t index, int slot)
{
    held *h = job;
    (void)index;
    (void)slot;
    atomic_fetch_add(&h->begun, 1);
    while (!atomic_load(&h->go))
        usleep(100);
}

static void *call_held(void *argument)
{
    held *h = argument;
    tsr_pool_run(h->pool, 2, h->tasks, hold, h);
    return NULL;
}

typedef struct slots_seen {
    atomic_int count[8];
} slots_seen;

static void see_slot(void *job, int64_t index, int slot)
{
    (void)index;
    usleep(1000); /* time for a helper to come */
    atomic_fetch_add(&((slots_seen *)job)->count[slot], 1);
}

/* Callers count as threads: while another one works, with the workers or alone, a job for two threads gets no helper,
 * one for four gets two; when all have gone, it gets helpers again. */
static void test_pool_counts_callers(void **state)
{
    enum { TASKS = 120 };
    (void)state;
    tsr_pool pool;
    tsr_pool_init(&pool);
    held with_worker = {.pool = &pool, .tasks = 2}, alone = {.pool = &pool, .tasks = 2};
    pthread_t first, second;
    assert_int_equal(pthread_create(&first, NULL, call_held, &with_worker), 0);
    while (atomic_load(&with_worker.begun) < 2)
        usleep(100);
    assert_int_equal(pthread_create(&second, NULL, call_held, &alone), 0);
    while (atomic_load(&alone.begun) < 1)
        usleep(100);
    atomic_store(&with_worker.go, 1); /* the workers are free again, one caller works by itself */
    pthread_join(first, NULL);
    assert_int_equal(atomic_load(&alone.begun), 1);

    slots_seen two = {0}, four = {0}, again = {0};
    tsr_pool_run(&pool, 2, TASKS, see_slot, &two);
    assert_int_equal(two.count[0], TASKS);
    tsr_pool_run(&pool, 4, TASKS, see_slot, &four);
    assert_int_equal(four.count[0] + four.count[1] + four.count[2], TASKS);
    assert_true(four.count[0] < TASKS);
    atomic_store(&alone.go, 1);
    pthread_join(second, NULL);
    tsr_pool_run(&pool, 2, TASKS, see_slot, &again);
    assert_true(again.count[1] > 0);
    tsr_pool_destroy(&pool);
}

/* ---- how many processors ---- */

static void write_file(const char *root, const char *name, const char *text)
{
    char path[300], made[300];
    snprintf(path, sizeof path, "%s%s", root, name);
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        snprintf(made, sizeof made, "%.*s", (int)(slash - path), path);
        mkdir(made, 0777);
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void remove_tree(const char *root)
{
    char command[300];
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    assert_int_equal(system(command), 0);
}

typedef struct quota_case {
    double processors; /* 0: no quota */
    const char *files[8][2];
} quota_case;

static void test_cgroup_quotas(void **state)
{
    static const quota_case cases[] = {
        {0, {{NULL}}},
        {0, {{"/proc/self/cgroup", "0::/\n"}}},
        {0, {{"/proc/self/cgroup", "0::/a/b\n"}, {"/sys/fs/cgroup/a/b/cpu.max", "max 100000\n"}}},
        {2, {{"/proc/self/cgroup", "0::/a/b\n"}, {"/sys/fs/cgroup/a/b/cpu.max", "200000 100000\n"}}},
        {1.5,
         {{"/proc/self/cgroup", "0::/a/b\n"},
          {"/sys/fs/cgroup/a/b/cpu.max", "400000 100000\n"},
          {"/sys/fs/cgroup/a/cpu.max", "150000 100000\n"}}},
        {3, {{"/proc/self/cgroup", "0::/host/only\n"}, {"/sys/fs/cgroup/cpu.max", "300000 100000\n"}}},
        {0.5,
         {{"/proc/self/cgroup", "12:cpuset:/x\n4:cpu,cpuacct:/y/z\n1:name=systemd:/q\n0::/\n"},
          {"/sys/fs/cgroup/cpu/y/z/cpu.cfs_quota_us", "50000\n"},
          {"/sys/fs/cgroup/cpu/y/z/cpu.cfs_period_us", "100000\n"}}},
        {4,
         {{"/proc/self/cgroup", "4:cpuacct,cpu:/y\n"},
          {"/sys/fs/cgroup/cpu,cpuacct/y/cpu.cfs_quota_us", "-1\n"},
          {"/sys/fs/cgroup/cpu,cpuacct/y/cpu.cfs_period_us", "100000\n"},
          {"/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "400000\n"},
          {"/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"}}},
        {0, {{"/proc/self/cgroup", "4:cpuset:/y\n"}, {"/sys/fs/cgroup/cpu/y/cpu.cfs_quota_us", "1000\n"}}},
        {0, {{"/proc/self/cgroup", "nonsense\n::\n:\n0::\n"}, {"/sys/fs/cgroup/cpu.max", "words\n"}}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char root[] = "/tmp/tessera-cgroup-XXXXXX";
        assert_non_null(mkdtemp(root));
        for (int f = 0; cases[i].files[f][0]; f++)
            write_file(root, cases[i].files[f][0], cases[i].files[f][1]);
        const double quota = tsr_cpu_quota(root), expected = cases[i].processors > 0 ? cases[i].processors : INFINITY;
        if (quota != expected)
            fail_msg("case %zu: %g processors, not %g", i, quota, expected);
        remove_tree(root);
    }
    assert_true(tsr_cpu_quota("") > 0);
}

static void test_machine(void **state)
{
    (void)state;
    tsr_device device = open_device(0, NULL);
    assert_int_equal(device.kind, TSR_DEVICE_CPU);
    assert_string_equal(device.id, "cpu");
    assert_true(strlen(device.name) > 0);
    assert_true(device.l1_bytes >= 8 << 10 && device.l2_bytes > device.l1_bytes);
    assert_true(device.peak_flops_f32 == 0); /* not asked for yet */
    tsr_cpu_backend.measure(&device);
    assert_true(device.peak_flops_f32 > 1e8 && device.peak_flops_f64 > 1e8);
    assert_true(device.memory_bytes_per_s > 1e8);
    assert_true(device.threads >= 1 && device.threads <= sysconf(_SC_NPROCESSORS_CONF));
    tsr_cpu_backend.close(&device);

    tsr_device none;
    const tsr_backend_options options = {0};
    assert_int_equal(tsr_cpu_backend.open(1, &options, &none), TSR_NO_DEVICE);
}

static void test_affinity(void **state)
{
    (void)state;
    cpu_set_t old, one;
    assert_int_equal(sched_getaffinity(0, sizeof old, &old), 0);
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &old)) {
            CPU_SET(cpu, &one);
            break;
        }
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(tsr_cpu_count(), 1);
    assert_int_equal(sched_setaffinity(0, sizeof old, &old), 0);
    assert_true(tsr_cpu_count() <= CPU_COUNT(&old));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bits_for_any_threads),
        cmocka_unit_test(test_bits_in_bursts),
        cmocka_unit_test(test_pool_wakes_for_bursts),
        cmocka_unit_test(test_bits_when_prepared),
        cmocka_unit_test(test_pack_refuses_other_operands),
        cmocka_unit_test(test_fork),
        cmocka_unit_test(test_eight_callers),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_memory_after_a_pause),
        cmocka_unit_test(test_scratch_is_reused),
        cmocka_unit_test(test_pool_runs_each_task_once),
        cmocka_unit_test(test_pool_short_jobs),
        cmocka_unit_test(test_pool_counts_callers),
        cmocka_unit_test(test_cgroup_quotas),
        cmocka_unit_test(test_machine),
        cmocka_unit_test(test_affinity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
