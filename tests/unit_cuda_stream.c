/* Host matrices on a GPU, tile by tile, on a driver that only pretends, with a kernel that the test brings: every
 * layout, tiles cut along M, N and K, and what is left when any call of the driver fails. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/context.h"
#include "core/device_code.h"
#include "core/forms.h"
#include "cuda/impl.h"
#include "fake_cuda.h"
#include "plan/tiles.h"
#include "sanitized.h"

#define MIB (1LL << 20)

static fake_cuda_access fake;
static tsr_backend gpu; /* the real one, but for code: every f32 kernel has some */

static int has_code(const tsr_config *config, const tsr_device *device, char *reason, size_t reason_bytes)
{
    (void)device;
    snprintf(reason, reason_bytes, "not for this test");
    return config->kind == TSR_CONFIG_CUDA && tsr_op_of(&config->op).a == TSR_F32 && !config->tma;
}

static tsr_status load(tsr_device *device, const tsr_config *config, const tsr_loaded **out)
{
    return tsr_cuda_load_image(device, config, config->instance, out);
}

/* D = alpha op(A) op(B) + beta C in its form as launches describe it, whatever the kernel. */
static void multiply(const tsr_gemm_args *g)
{
    const float *a = g->a, *b = g->b, *c = g->c;
    float *d = g->d, *sums = malloc((size_t)g->n * sizeof *sums);
    assert_non_null(sums);
    for (long long i = 0; i < g->m; i++) {
        memset(sums, 0, (size_t)g->n * sizeof *sums);
        for (long long p = 0; p < g->k; p++) {
            const float x = a[g->trans_a ? p * g->lda + i : i * g->lda + p];
            for (long long j = 0; j < g->n; j++)
                sums[j] += x * b[g->trans_b ? j * g->ldb + p : p * g->ldb + j];
        }
        for (long long j = 0; j < g->n; j++) {
            float value = (float)g->alpha * sums[j] + (g->beta != 0 ? (float)g->beta * c[i * g->ldc + j] : 0.0f);
            if (g->epilogue != TSR_EPILOGUE_NONE)
                value += ((const float *)g->bias)[j];
            d[i * g->ldd + j] = g->epilogue == TSR_EPILOGUE_BIAS_RELU && value < 0 ? 0 : value;
        }
    }
    free(sums);
}

/* "auto" with a CPU that takes for ever, so that everything goes to the GPU; or the GPU alone. */
static tsr_context *open_context(const char *device, long long memory_bytes)
{
    tsr_context *context = NULL;
    fake.reset();
    fake.state->memory_bytes = (size_t)memory_bytes;
    fake.state->any_function = 1;
    fake.state->kernel = multiply;
    gpu = tsr_cuda_backend;
    gpu.has_code = has_code;
    gpu.load = load;
    assert_int_equal(tsr_context_create(device, NULL, &context), TSR_OK);
    context->targets[context->target_count - 1].backend = &gpu;
    context->targets[context->target_count - 1].device.cuda.memory_bytes = memory_bytes;
    if (context->target_count > 1) {
        tsr_cpu_backend.measure(&context->targets[0].device);
        context->targets[0].device.peak_flops_f32 = 1;
    }
    return context;
}

static void close_context(tsr_context *context)
{
    const tsr_cuda *cuda = context->targets[context->target_count - 1].device.impl;
    const int dead = atomic_load(&cuda->fatal) != 0; /* what a dead context held is gone with it */
    fake.state->fail_call = NULL;
    tsr_context_destroy(context);
    assert_int_equal(fake.state->context_errors, 0);
    assert_int_equal(fake.depth(), 0);
    if (dead)
        return;
    assert_int_equal(fake.state->allocations, 0);
    assert_int_equal(fake.state->pinned, 0);
    assert_int_equal(fake.state->events, 0);
    assert_int_equal(fake.state->streams, 0);
}

/* Small integers: all sums are exact, in any order. */
static float *filled(long long elements, int step)
{
    float *x = malloc((size_t)elements * sizeof *x);
    assert_non_null(x);
    for (long long i = 0; i < elements; i++)
        x[i] = (float)(i * step % 7) - 3;
    return x;
}

typedef struct product {
    long long m, n, k, pad;
    int trans_a, trans_b, in_place, epilogue;
    double alpha, beta;
    float *a, *b, *c, *d, *bias, *expected;
    long long d_elements;
    tsr_gemm_desc desc;
} product;

static void make(product *p)
{
    p->desc = tsr_gemm_desc_make(TSR_F32, p->m, p->n, p->k);
    p->desc.a.trans = p->trans_a ? TSR_T : TSR_N;
    p->desc.b.trans = p->trans_b ? TSR_T : TSR_N;
    p->desc.a.ld = (p->trans_a ? p->m : p->k) + p->pad;
    p->desc.b.ld = (p->trans_b ? p->k : p->n) + p->pad;
    p->desc.c.ld = p->desc.d.ld = p->n + p->pad;
    p->d_elements = p->m * p->desc.d.ld;
    p->a = filled((p->trans_a ? p->k : p->m) * p->desc.a.ld, 3);
    p->b = filled((p->trans_b ? p->n : p->k) * p->desc.b.ld, 5);
    p->d = filled(p->d_elements, 2);
    p->c = p->in_place ? p->d : filled(p->d_elements, 4);
    p->desc.epilogue = tsr_form_text(p->epilogue);
    p->bias = p->epilogue ? filled(p->n, 11) : NULL;
    p->expected = malloc((size_t)p->d_elements * sizeof *p->expected);
    assert_non_null(p->expected);
    memcpy(p->expected, p->d, (size_t)p->d_elements * sizeof *p->expected);
    const tsr_gemm_args args = {.a = p->a,
                                .b = p->b,
                                .c = p->in_place ? p->expected : p->c,
                                .d = p->expected,
                                .m = p->m,
                                .n = p->n,
                                .k = p->alpha != 0 ? p->k : 0,
                                .lda = p->desc.a.ld,
                                .ldb = p->desc.b.ld,
                                .ldc = p->desc.c.ld,
                                .ldd = p->desc.d.ld,
                                .alpha = p->alpha,
                                .beta = p->beta,
                                .trans_a = p->trans_a,
                                .trans_b = p->trans_b,
                                .bias = p->bias,
                                .epilogue = p->epilogue};
    multiply(&args);
}

static void drop(product *p)
{
    free(p->a);
    free(p->b);
    if (!p->in_place)
        free(p->c);
    free(p->d);
    free(p->bias);
    free(p->expected);
}

static tsr_status run(tsr_context *context, product *p)
{
    tsr_run_args args = tsr_run_args_make(p->a, p->b, p->d);
    args.c = p->c;
    args.alpha.value = p->alpha;
    args.beta.value = p->beta;
    args.bias = p->bias;
    return tsr_gemm(context, &p->desc, &args);
}

static void check(const product *p, const char *what)
{
    for (long long i = 0; i < p->d_elements; i++)
        if (p->d[i] != p->expected[i])
            fail_msg("%s: D[%lld][%lld] is %g, not %g", what, i / p->desc.d.ld, i % p->desc.d.ld, (double)p->d[i],
                     (double)p->expected[i]);
}

static void every_layout_and_cut(void **unused)
{
    (void)unused;
    static const long long memories[] = {2 * MIB, 9 * MIB, 1000 * MIB};
    for (int variant = 0; variant < 24; variant++) {
        if (is_left_out((unsigned)variant, 5))
            continue;
        product p = {.m = 1500,
                     .n = 1431,
                     .k = variant % 3 ? 67 : 130,
                     .pad = variant % 2 * 5,
                     .trans_a = variant & 1,
                     .trans_b = variant >> 1 & 1,
                     .in_place = variant >> 2 & 1,
                     .alpha = variant % 5 == 4 ? 0 : 2,
                     .beta = variant >= 8 ? 0.5 * (variant >> 3) : 0,
                     .epilogue = variant % 5 % TSR_EPILOGUE_COUNT};
        make(&p);
        tsr_context *context = open_context("cuda:0", memories[variant % 3]);
        if (run(context, &p) != TSR_OK)
            fail_msg("%s", tsr_last_error());
        check(&p, "a product");
        assert_true(fake.state->launches > (variant % 3 == 0 ? 8 : 0));
        assert_true(fake.state->pinned == 2);
        close_context(context);
        drop(&p);
    }
}

static void long_sums_are_cut_along_k(void **unused)
{
    (void)unused;
    for (int variant = 0; variant < 4; variant++) {
        if (is_left_out((unsigned)variant, 3))
            continue;
        product p = {.m = 33,
                     .n = 50,
                     .k = 40000,
                     .trans_a = variant & 1,
                     .trans_b = variant >> 1,
                     .in_place = 1,
                     .alpha = 1,
                     .beta = 0.5,
                     .epilogue = variant % TSR_EPILOGUE_COUNT};
        make(&p);
        tsr_context *context = open_context("cuda:0", 3 * MIB);
        assert_int_equal(run(context, &p), TSR_OK);
        check(&p, "a long sum");
        assert_true(fake.state->launches > 4);
        close_context(context);
        drop(&p);
    }
}

/* Sizes at which cuts go wrong: every choice covers the problem and keeps to the budget. */
static void cuts_fit(void **unused)
{
    (void)unused;
    static const long long sizes[] = {1, 2, 255, 256, 257, 5000, 100003, 3000000};
    for (int i = 0; i < 512; i++)
        for (long long budget = 100000; budget < 1000000000000; budget *= 100) {
            tsr_problem p = {.m = sizes[i % 8], .n = sizes[i / 8 % 8], .k = sizes[i / 64]};
            tsr_tiles_of t;
            p.op.a = p.op.b = p.op.c = p.op.d = TSR_F64;
            p.op.compute = TSR_COMPUTE_F64;
            assert_true(tsr_tiles_choose(&p, (double)budget, &t));
            assert_true(t.m >= 1 && t.n >= 1 && t.k >= 1 && t.m <= p.m && t.n <= p.n && t.k <= p.k);
            assert_true((t.down - 1) * t.m < p.m && t.down * t.m >= p.m);
            assert_true((t.across - 1) * t.n < p.n && t.across * t.n >= p.n);
            assert_true((t.deep - 1) * t.k < p.k && t.deep * t.k >= p.k);
            const double bytes = 8.0 * ((t.across > 1 || t.deep > 1 ? 2.0 : 1.0) * (double)t.k * (double)t.n +
                                        2.0 * (double)t.m * (double)t.k + 2.0 * (double)t.m * (double)t.n);
            assert_true(bytes <= (double)budget);
        }
    tsr_problem p = {.m = 5, .n = 5, .k = 5};
    tsr_tiles_of t;
    p.op.a = p.op.b = p.op.c = p.op.d = TSR_F64;
    p.op.compute = TSR_COMPUTE_F64;
    assert_false(tsr_tiles_choose(&p, 10, &t));
}

/* A D that would round the sums of parts of K gets all of K at once, and so do batch-invariant products. */
static void narrow_results_keep_k(void **unused)
{
    (void)unused;
    static const struct {
        tsr_dtype ab, cd;
        tsr_compute compute;
        unsigned flags;
        int is_cut;
    } cases[] = {{TSR_F16, TSR_F16, TSR_COMPUTE_F32, 0, 0},
                 {TSR_BF16, TSR_BF16, TSR_COMPUTE_F32, 0, 0},
                 {TSR_BF16, TSR_F32, TSR_COMPUTE_F32, 0, 1},
                 {TSR_F32, TSR_F32, TSR_COMPUTE_F32, 0, 1},
                 {TSR_S8, TSR_F32, TSR_COMPUTE_S32, 0, 0},
                 {TSR_S8, TSR_S32, TSR_COMPUTE_S32, 0, 1},
                 {TSR_F32, TSR_F32, TSR_COMPUTE_F32, TSR_BATCH_INVARIANT, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tsr_problem p = {.m = 16, .n = 16, .k = 400000, .flags = cases[i].flags};
        tsr_tiles_of t;
        p.op.a = p.op.b = cases[i].ab;
        p.op.c = p.op.d = cases[i].cd;
        p.op.compute = cases[i].compute;
        assert_true(tsr_tiles_choose(&p, 7e6, &t));
        assert_int_equal(t.deep > 1, cases[i].is_cut);
    }
}

static const char *const calls[] = {"cuMemAllocHost",     "cuStreamCreate",    "cuEventCreate",     "cuMemAlloc",
                                    "cuModuleLoadDataEx", "cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync", "cuLaunchKernelEx",
                                    "cuEventRecord",      "cuStreamWaitEvent", "cuEventSynchronize"};
static const unsigned results[] = {2, 1, 719}; /* out of memory; a passing error; a context that dies */

/* Whatever fails at whatever time, beta != 0 and C = D: on the GPU alone C is as before; with a CPU beside it the
 * product has the very bits that the CPU gives. */
static void any_failure_leaves_c_or_a_cpu_result(void **unused)
{
    (void)unused;
    product p = {.m = 1500, .n = 1431, .k = 40, .pad = 3, .in_place = 1, .alpha = 1.0 / 3, .beta = 0.7, .epilogue = 2};
    make(&p);
    const size_t bytes = (size_t)p.d_elements * sizeof *p.d;
    float *before = malloc(bytes), *cpu_result = malloc(bytes);
    assert_true(before && cpu_result);
    memcpy(before, p.d, bytes);
    tsr_context *cpu = NULL;
    assert_int_equal(tsr_context_create("cpu", NULL, &cpu), TSR_OK);
    assert_int_equal(run(cpu, &p), TSR_OK);
    memcpy(cpu_result, p.d, bytes);
    tsr_context_destroy(cpu);
    int failures = 0, written_before = 0;
    for (size_t c = 0; c < sizeof calls / sizeof calls[0]; c++)
        for (int from = 0; from < 40; from = 3 * from + 1)
            for (int with_cpu = 0; with_cpu < 2; with_cpu++) {
                tsr_context *context = open_context(with_cpu ? "auto" : "cuda:0", 4 * MIB);
                memcpy(p.d, before, bytes);
                fake.state->fail_call = calls[c];
                fake.state->fail_result = results[(c + (size_t)from) % 3];
                fake.state->fail_from = from;
                const tsr_status status = run(context, &p);
                const int failed = fake.state->seen_failing > from;
                failures += failed;
                written_before += failed && from > 8 && strcmp(calls[c], "cuMemcpyDtoHAsync") == 0;
                if (with_cpu) {
                    assert_int_equal(status, TSR_OK);
                    if (failed && fake.state->fail_result != 2)
                        assert_memory_equal(p.d, cpu_result, bytes);
                } else if (status != TSR_OK) {
                    assert_true(failed);
                    assert_memory_equal(p.d, before, bytes);
                } else { /* less memory was enough, or nothing failed */
                    assert_true(!failed || fake.state->fail_result == 2);
                }
                close_context(context);
            }
    assert_true(failures > 40 && written_before > 0);
    free(before);
    free(cpu_result);
    drop(&p);
}

/* The copy back of every tile in turn, until none fails. */
static void failure_after_any_tile_leaves_c(void **unused)
{
    (void)unused;
    product p = {.m = 1500, .n = 1431, .k = 6, .pad = 1, .in_place = 1, .alpha = 1.0 / 3, .beta = 0.7};
    make(&p);
    const size_t bytes = (size_t)p.d_elements * sizeof *p.d;
    float *before = malloc(bytes);
    assert_non_null(before);
    memcpy(before, p.d, bytes);
    int tiles = 0;
    for (int done = 0; !done; tiles++) {
        tsr_context *context = open_context("cuda:0", 2 * MIB);
        memcpy(p.d, before, bytes);
        fake.state->fail_call = "cuMemcpyDtoHAsync";
        fake.state->fail_result = 1;
        fake.state->fail_from = tiles;
        const tsr_status status = run(context, &p);
        done = fake.state->seen_failing <= tiles;
        if (done)
            assert_int_equal(status, TSR_OK);
        else {
            assert_int_equal(status, TSR_DRIVER_ERROR);
            assert_memory_equal(p.d, before, bytes);
        }
        close_context(context);
    }
    assert_true(tiles > 10);
    free(before);
    drop(&p);
}

/* One copy of each operand, below the size from which tiles are worth it. */
static void small_products_keep_c_too(void **unused)
{
    (void)unused;
    product p = {.m = 30, .n = 40, .k = 20, .in_place = 1, .alpha = 2, .beta = 1};
    make(&p);
    tsr_context *context = open_context("cuda:0", 1000 * MIB);
    const size_t bytes = (size_t)p.d_elements * sizeof *p.d;
    float *before = malloc(bytes);
    assert_non_null(before);
    memcpy(before, p.d, bytes);
    for (size_t c = 3; c < sizeof calls / sizeof calls[0]; c++) {
        fake.state->fail_call = calls[c];
        fake.state->fail_result = 1;
        fake.state->fail_from = fake.state->seen_failing = 0;
        if (run(context, &p) != TSR_OK)
            assert_memory_equal(p.d, before, bytes);
        else
            memcpy(p.d, before, bytes);
    }
    fake.state->fail_call = NULL;
    assert_int_equal(run(context, &p), TSR_OK);
    check(&p, "a small product");
    assert_int_equal(fake.state->pinned, 0);
    close_context(context);
    free(before);
    drop(&p);
}

/* A kernel asked for by name is not replaced by another. */
static void named_kernels_are_not_replaced(void **unused)
{
    (void)unused;
    product p = {.m = 1500, .n = 1431, .k = 40, .in_place = 1, .alpha = 1, .beta = 1};
    make(&p);
    tsr_context *context = open_context("auto", 4 * MIB);
    p.desc.kernel = "tiled";
    fake.state->fail_call = "cuLaunchKernelEx";
    fake.state->fail_result = 1;
    fake.state->fail_from = 3;
    assert_int_equal(run(context, &p), TSR_DRIVER_ERROR);
    assert_non_null(strstr(tsr_last_error(), "cuLaunchKernelEx"));
    close_context(context);
    drop(&p);
}

/* A child cannot use its parent's GPU, whose locks threads of the parent may have held when it was forked: plans of the
 * parent's that say otherwise, new ones and tiles all end on the CPU. */
static void children_use_the_cpu(void **unused)
{
    (void)unused;
    product p = {.m = 1500, .n = 1431, .k = 40, .in_place = 1, .alpha = 1, .beta = 1};
    make(&p);
    const size_t bytes = (size_t)p.d_elements * sizeof *p.d;
    float *before = malloc(bytes);
    assert_non_null(before);
    memcpy(before, p.d, bytes);
    tsr_context *context = open_context("auto", 4 * MIB);
    assert_int_equal(run(context, &p), TSR_OK);
    assert_true(fake.state->launches > 0);
    tsr_plan *plan = NULL;
    assert_int_equal(tsr_plan_create(context, &p.desc, &plan), TSR_OK);
    assert_int_equal(plan->planned.target->device.kind, TSR_DEVICE_CUDA);
    pthread_mutex_lock(&context->staging.lock);
    tsr_cuda *cuda = context->targets[1].device.impl;
    pthread_mutex_lock(&cuda->lock);
    fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(30);
        fake.state->launches = 0;
        for (int fresh = 0; fresh < 2; fresh++) {
            memcpy(p.d, before, bytes);
            p.desc.workspace_limit_bytes -= (size_t)fresh; /* another plan */
            if (run(context, &p) != TSR_OK || memcmp(p.d, p.expected, bytes) != 0)
                _exit(1 + fresh);
        }
        _exit(fake.state->launches == 0 ? 0 : 3);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    pthread_mutex_unlock(&cuda->lock);
    pthread_mutex_unlock(&context->staging.lock);
    tsr_plan_release(plan);
    close_context(context);
    free(before);
    drop(&p);
}

/* A product with workspace of the library's own, D = C: whatever call fails, D is C still, or right. */
static void nothing_fails_behind_d(void **unused)
{
    (void)unused;
    enum { M = 4, N = 64, K = 4096, MOST = 12 };
    static float a[M * K], b[K * N], d[M * N];
    static const char *const failing[] = {"cuStreamSynchronize", "cuMemcpyDtoHAsync", "cuLaunchKernelEx"};
    for (int i = 0; i < M * K; i++)
        a[i] = 1;
    for (int i = 0; i < K * N; i++)
        b[i] = 1;
    for (int i = 0; i < 3 * MOST; i++) {
        tsr_context *const context = open_context("auto", 1LL << 30);
        const tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F32, M, N, K);
        tsr_plan *plan = NULL;
        tsr_run_args args = tsr_run_args_make(a, b, d);
        args.beta.value = 1;
        for (int e = 0; e < M * N; e++)
            d[e] = 1;
        assert_int_equal(tsr_plan_create(context, &desc, &plan), TSR_OK);
        assert_true(tsr_plan_workspace_bytes(plan) > 0);
        fake.state->fail_call = failing[i / MOST];
        fake.state->fail_result = 1;
        fake.state->fail_from = i % MOST;
        fake.state->seen_failing = 0;
        const tsr_status status = tsr_plan_run(plan, &args);
        for (int e = 0; e < M * N; e++)
            if (d[e] != (status == TSR_OK ? K + 1 : 1))
                fail_msg("%s fails, call %d: %s, D[%d] = %g", failing[i / MOST], i % MOST, tsr_status_text(status), e,
                         (double)d[e]);
        fake.state->fail_call = NULL;
        tsr_plan_release(plan);
        close_context(context);
    }
}

/* A kernel that could not be loaded for a moment is back when there is memory. */
static void a_makeshift_is_not_kept(void **unused)
{
    (void)unused;
    tsr_context *const context = open_context("auto", 1LL << 34);
    const tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F32, 3000, 3000, 3000);
    tsr_plan *plan = NULL;
    fake.state->fail_call = "cuModuleLoadDataEx";
    fake.state->fail_result = 2;
    fake.state->fail_from = 0;
    fake.state->seen_failing = 0;
    assert_int_equal(tsr_plan_create(context, &desc, &plan), TSR_OK);
    assert_string_equal(tsr_plan_kernel(plan), "cpu_tiled_f32");
    tsr_plan_release(plan);
    fake.state->fail_call = NULL;
    assert_int_equal(tsr_plan_create(context, &desc, &plan), TSR_OK);
    assert_string_not_equal(tsr_plan_kernel(plan), "cpu_tiled_f32");
    tsr_plan_release(plan);
    close_context(context);
}

int main(int argc, char **argv)
{
    (void)argc;
    fake_cuda_start(argv, FAKE_CUDA_DIR);
    fake = fake_cuda_find();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cuts_fit),
        cmocka_unit_test(narrow_results_keep_k),
        cmocka_unit_test(every_layout_and_cut),
        cmocka_unit_test(long_sums_are_cut_along_k),
        cmocka_unit_test(any_failure_leaves_c_or_a_cpu_result),
        cmocka_unit_test(failure_after_any_tile_leaves_c),
        cmocka_unit_test(small_products_keep_c_too),
        cmocka_unit_test(nothing_fails_behind_d),
        cmocka_unit_test(a_makeshift_is_not_kept),
        cmocka_unit_test(named_kernels_are_not_replaced),
        cmocka_unit_test(children_use_the_cpu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
