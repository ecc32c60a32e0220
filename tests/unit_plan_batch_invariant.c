/* TSR_BATCH_INVARIANT: which configs it leaves, and that all of them give the same bits for each M, in the emulator.
 * What an H200 gave is in perf/LOG. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/dtype.h"
#include "plan/plan.h"
#include "sanitized.h"
#include "tessera.h"

enum { MOST_M = 257, N = 70, K = 203 };

typedef struct product {
    tsr_context *context;
    void *a, *b, *workspace;
    tsr_gemm_desc desc;
    size_t out_bytes;
} product;

static void *random_operand(tsr_dtype dtype, size_t count, unsigned seed)
{
    char *elements = malloc(count * tsr_dtype_bytes(dtype));
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        tsr_store_element(dtype, elements, (int64_t)i, (double)(int)(seed >> 8) * 0x1p-21 - 4.0);
    }
    return elements;
}

static product product_make(tsr_context *context, tsr_dtype ab, tsr_dtype cd, tsr_compute compute)
{
    product p = {.context = context, .desc = tsr_gemm_desc_make(ab, MOST_M, N, K)};
    p.desc.c.dtype = p.desc.d.dtype = cd;
    p.desc.compute = compute;
    p.desc.flags = TSR_BATCH_INVARIANT;
    p.desc.a.memory = p.desc.b.memory = p.desc.c.memory = p.desc.d.memory = TSR_DEVICE;
    p.a = random_operand(ab, MOST_M * K, 1);
    p.b = random_operand(ab, K * N, 2);
    p.out_bytes = MOST_M * N * tsr_dtype_bytes(cd);
    if (tsr_device_alloc(context, TSR_WORKSPACE_LIMIT_BYTES, &p.workspace) != TSR_OK)
        fail_msg("%s", tsr_last_error());
    return p;
}

static void product_free(product *p)
{
    tsr_device_free(p->context, p->workspace);
    free(p->a);
    free(p->b);
}

/* D for `m` rows by one kernel (NULL: chosen) into `out`; 0 if the kernel refuses. */
static int run(const product *p, const char *kernel, long long m, void *out)
{
    tsr_gemm_desc desc = p->desc;
    desc.m = m;
    desc.kernel = kernel;
    tsr_run_args args = tsr_run_args_make(p->a, p->b, out);
    args.workspace = p->workspace;
    args.workspace_bytes = TSR_WORKSPACE_LIMIT_BYTES;
    const tsr_status status = tsr_gemm(p->context, &desc, &args);
    if (status != TSR_OK && status != TSR_UNSUPPORTED)
        fail_msg("%s: %s", kernel ? kernel : "auto", tsr_last_error());
    return status == TSR_OK;
}

static const tsr_config *config_of(const char *instance)
{
    for (size_t i = 0; i < tsr_config_count(); i++)
        if (strcmp(tsr_config_at(i)->instance, instance) == 0)
            return tsr_config_at(i);
    fail_msg("no config %s", instance);
    return NULL;
}

/* The order of the kernel that is chosen for m rows. */
static tsr_order chosen_order(const product *p, long long m)
{
    tsr_gemm_desc desc = p->desc;
    tsr_plan *plan = NULL;
    desc.m = m;
    assert_int_equal(tsr_plan_create(p->context, &desc, &plan), TSR_OK);
    const tsr_order order = config_of(tsr_plan_kernel(plan))->order;
    tsr_plan_release(plan);
    return order;
}

/* Every config of the chosen order, and the library's choice at each M, against the choice at the largest M. */
static void check(tsr_context *context, tsr_dtype ab, tsr_dtype cd, tsr_compute compute)
{
    static const long long few[] = {MOST_M, 64, 17, 1}, many[] = {256, 255, 200, 129, 128, 127, 96, 65, 63, 33, 5, 2};
    product p = product_make(context, ab, cd, compute);
    char *expected = malloc(p.out_bytes), *got = malloc(p.out_bytes);
    const tsr_order order = chosen_order(&p, MOST_M);
    int configs = 0;
    assert_true(order >= TSR_ORDER_FMA);
    assert_true(run(&p, NULL, MOST_M, expected));
    for (size_t i = 0; i < tsr_config_count(); i++) {
        const tsr_config *config = tsr_config_at(i);
        if (config->order != order || tsr_op_of(&config->op).a != ab || tsr_op_of(&config->op).d != cd ||
            tsr_op_of(&config->op).compute != compute)
            continue;
        for (size_t j = 0; j < sizeof few / sizeof few[0]; j++) {
            memset(got, 0x5a, p.out_bytes);
            if (!run(&p, config->instance, few[j], got))
                break;
            if (memcmp(got, expected, (size_t)few[j] * N * tsr_dtype_bytes(cd)) != 0)
                fail_msg("%s gives other bits for M = %lld", config->instance, few[j]);
            configs += j == 0;
        }
    }
    assert_true(configs > 0);
    for (size_t j = 0; j < sizeof many / sizeof many[0]; j++) {
        assert_int_equal(chosen_order(&p, many[j]), order);
        assert_true(run(&p, NULL, many[j], got));
        if (memcmp(got, expected, (size_t)many[j] * N * tsr_dtype_bytes(cd)) != 0)
            fail_msg("%s: the chosen kernel gives other bits for M = %lld", tsr_dtype_name(ab), many[j]);
    }
    product_free(&p);
    free(expected);
    free(got);
}

static tsr_context *open_emu(void)
{
    tsr_context *context = NULL;
    if (tsr_context_create("emu", NULL, &context) != TSR_OK)
        skip();
    return context;
}

static void bf16_rows_agree(void **state)
{
    (void)state;
    tsr_context *context = open_emu();
    check(context, TSR_BF16, TSR_BF16, TSR_COMPUTE_F32);
    tsr_context_destroy(context);
}

static void bf16_to_f32_rows_agree(void **state)
{
    (void)state;
    tsr_context *context = open_emu();
    check(context, TSR_BF16, TSR_F32, TSR_COMPUTE_F32);
    tsr_context_destroy(context);
}

static void f16_rows_agree(void **state)
{
    (void)state;
    tsr_context *context = open_emu();
    check(context, TSR_F16, TSR_F16, TSR_COMPUTE_F32);
    tsr_context_destroy(context);
}

static void tf32_rows_agree(void **state)
{
    (void)state;
    tsr_context *context = open_emu();
    check(context, TSR_F32, TSR_F32, TSR_COMPUTE_TF32);
    tsr_context_destroy(context);
}

static void f32_rows_agree(void **state)
{
    (void)state;
    tsr_context *context = open_emu();
    check(context, TSR_F32, TSR_F32, TSR_COMPUTE_F32);
    tsr_context_destroy(context);
}

static void f64_rows_agree(void **state)
{
    (void)state;
    tsr_context *context = open_emu();
    check(context, TSR_F64, TSR_F64, TSR_COMPUTE_F64);
    tsr_context_destroy(context);
}

/* A negative sum too small for f32 is cut to -0, and an instruction that adds zeros alone makes it +0: where K ends
 * within a stage, no config may add what lies beyond. K is three boxes of 64, of which some configs take two at a time.
 */
/* A vector may be seen as an aligned row, but then one row would get kernels that more rows cannot have: here without
 * workspace for copies of rows of 1001 elements, and with columns of a transposed A. */
static void one_row_is_planned_as_many_are(void **state)
{
    (void)state;
    static const struct {
        tsr_dtype ab, cd;
        tsr_compute compute;
        tsr_trans trans_a;
        int64_t k;
        size_t limit_bytes;
    } cases[] = {
        {TSR_BF16, TSR_F32, TSR_COMPUTE_DEFAULT, TSR_N, 1001, 0},
        {TSR_F16, TSR_F32, TSR_COMPUTE_DEFAULT, TSR_N, 1001, 0},
        {TSR_F32, TSR_F32, TSR_COMPUTE_TF32, TSR_N, 1001, 0},
        {TSR_F32, TSR_F32, TSR_COMPUTE_TF32, TSR_T, 1024, 0},
    };
    tsr_context *context = NULL;
    if (tsr_context_create("emu", NULL, &context) != TSR_OK)
        skip();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int by_wgmma[3];
        for (int j = 0; j < 3; j++) {
            const int64_t m = j == 0 ? 1 : j == 1 ? 8 : 64;
            tsr_gemm_desc desc = tsr_gemm_desc_make(cases[i].ab, m, 4096, cases[i].k);
            desc.c.dtype = desc.d.dtype = cases[i].cd;
            desc.compute = cases[i].compute;
            desc.a.trans = cases[i].trans_a;
            desc.a.memory = desc.b.memory = desc.c.memory = desc.d.memory = TSR_DEVICE;
            desc.a.align_bytes = desc.b.align_bytes = desc.c.align_bytes = desc.d.align_bytes = 256;
            desc.flags = TSR_BATCH_INVARIANT;
            desc.workspace_limit_bytes = cases[i].limit_bytes;
            tsr_plan *plan = NULL;
            assert_int_equal(tsr_plan_create(context, &desc, &plan), TSR_OK);
            by_wgmma[j] = strncmp(tsr_plan_kernel(plan), "wgmma", 5) == 0;
            tsr_plan_release(plan);
        }
        assert_true(by_wgmma[0] == by_wgmma[1] && by_wgmma[1] == by_wgmma[2]);
    }
    tsr_context_destroy(context);
}

static void a_sum_cut_to_nothing_keeps_its_sign(void **state)
{
    (void)state;
    enum { M = 20, WIDE_K = 192, MINUS_ZERO = 0x8000 };
    tsr_context *context = open_emu();
    product p = product_make(context, TSR_BF16, TSR_BF16, TSR_COMPUTE_F32);
    uint16_t *a = calloc((size_t)M * WIDE_K, sizeof *a), *b = calloc((size_t)WIDE_K * N, sizeof *b), got[M * N];
    for (int i = 0; i < M; i++)
        tsr_store_element(TSR_BF16, a, (int64_t)i * WIDE_K + WIDE_K - 1, -0x1p-80);
    for (int i = 0; i < N; i++)
        tsr_store_element(TSR_BF16, b, (int64_t)(WIDE_K - 1) * N + i, 0x1p-80);
    free(p.a);
    free(p.b);
    p.a = a;
    p.b = b;
    p.desc = tsr_gemm_desc_make(TSR_BF16, M, N, WIDE_K);
    p.desc.flags = TSR_BATCH_INVARIANT;
    p.desc.a.memory = p.desc.b.memory = p.desc.c.memory = p.desc.d.memory = TSR_DEVICE;
    int configs = 0;
    for (size_t i = 0; i < tsr_config_count(); i++) {
        const tsr_config *config = tsr_config_at(i);
        if (config->order != TSR_ORDER_WGMMA || tsr_op_of(&config->op).a != TSR_BF16 ||
            tsr_op_of(&config->op).d != TSR_BF16 || tsr_op_of(&config->op).sparse24)
            continue;
        assert_true(run(&p, config->instance, M, got));
        for (int j = 0; j < M * N; j++)
            if (got[j] != MINUS_ZERO)
                fail_msg("%s: element %d is 0x%04x", config->instance, j, got[j]);
        configs++;
    }
    assert_true(configs > 1);
    product_free(&p);
    tsr_context_destroy(context);
}

/* A partition of K that is asked for by name depends on M. */
static void named_schedules_keep_k_whole(void **state)
{
    (void)state;
    static const char *const kernels[] = {"mma_f64_32x32x32_a1@stream-k=1/2", "mma_f64_32x32x32_a1@whole"};
    tsr_context *const context = open_emu();
    for (int i = 0; i < 2; i++) {
        tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F64, 300, 300, 640);
        tsr_plan *plan = NULL;
        desc.kernel = kernels[i];
        assert_int_equal(tsr_plan_create(context, &desc, &plan), TSR_OK);
        tsr_plan_release(plan);
        desc.flags = TSR_BATCH_INVARIANT;
        const tsr_status status = tsr_plan_create(context, &desc, &plan);
        assert_int_equal(status, i ? TSR_OK : TSR_UNSUPPORTED);
        if (i)
            tsr_plan_release(plan);
        else
            assert_non_null(strstr(tsr_last_error(), "TSR_BATCH_INVARIANT: K in parts depends on M"));
    }
    tsr_context_destroy(context);
}

/* ---- on a CPU ---- */

typedef struct cpu_types {
    tsr_dtype a, b, d;
    tsr_compute compute;
} cpu_types;

static const cpu_types cpu_all[] = {
    {TSR_F32, TSR_F32, TSR_F32, TSR_COMPUTE_F32},    {TSR_F64, TSR_F64, TSR_F64, TSR_COMPUTE_F64},
    {TSR_F16, TSR_F16, TSR_F16, TSR_COMPUTE_F32},    {TSR_BF16, TSR_BF16, TSR_BF16, TSR_COMPUTE_F32},
    {TSR_F16, TSR_F16, TSR_F32, TSR_COMPUTE_F32},    {TSR_BF16, TSR_BF16, TSR_F32, TSR_COMPUTE_F32},
    {TSR_E4M3, TSR_E5M2, TSR_BF16, TSR_COMPUTE_F32}, {TSR_U8, TSR_S8, TSR_S32, TSR_COMPUTE_S32},
    {TSR_E4M3, TSR_E4M3, TSR_F32, TSR_COMPUTE_F32},
};

/* Sizes of which each M up to its own is compared with it. */
typedef struct cpu_size {
    int64_t m, n, k;
} cpu_size;

static const cpu_size cpu_sizes[] = {{150, 1, 70},   {150, 2, 300},   {90, 5, 7},   {70, 33, 9},
                                     {150, 70, 203}, {65, 300, 64},   {40, 640, 1}, {50, 1100, 500},
                                     {20, 9, 4000},  {17, 500, 1100}, {6, 70, 1024}};

/* The first `m` rows of D into `out`. */
static void run_cpu(tsr_context *context, tsr_gemm_desc desc, int64_t m, const void *a, const void *b, double beta,
                    int prepared, void *out)
{
    tsr_plan *plan = NULL;
    tsr_prepared *packed = NULL;
    desc.m = m;
    tsr_run_args args = tsr_run_args_make(a, b, out);
    args.alpha.value = desc.d.dtype == TSR_S32 ? 2 : 0.5;
    args.beta.value = beta;
    args.c = out;
    tsr_status status = tsr_plan_create(context, &desc, &plan);
    if (status == TSR_OK && prepared)
        status = tsr_prepare(plan, 'b', b, &packed);
    if (prepared) {
        args.b = NULL;
        args.prepared_b = packed;
    }
    if (status == TSR_OK)
        status = tsr_plan_run(plan, &args);
    if (status != TSR_OK)
        fail_msg("%lld x %lld x %lld: %s", (long long)m, (long long)desc.n, (long long)desc.k, tsr_last_error());
    if (strncmp(tsr_plan_kernel(plan), "cpu_tiled", 9) != 0)
        fail_msg("%lld x %lld x %lld: %s", (long long)m, (long long)desc.n, (long long)desc.k, tsr_plan_kernel(plan));
    tsr_prepared_release(packed);
    tsr_plan_release(plan);
}

static void check_cpu_size(tsr_context *context, const cpu_types *t, const cpu_size *size, int layout, double beta)
{
    const size_t row_bytes = (size_t)size->n * tsr_dtype_bytes(t->d), bytes = row_bytes * (size_t)size->m;
    const int packs = t->a == t->d && layout % 2 == 0;
    tsr_gemm_desc desc = tsr_gemm_desc_make(t->a, size->m, size->n, size->k);
    desc.b.dtype = t->b;
    desc.c.dtype = desc.d.dtype = t->d;
    desc.compute = t->compute;
    desc.flags = TSR_BATCH_INVARIANT;
    /* A's columns keep their place whatever M is. */
    desc.a.trans = layout & 1 ? TSR_T : TSR_N;
    desc.a.ld = layout & 1 ? size->m : size->k;
    desc.b.trans = layout & 2 ? TSR_T : TSR_N;
    void *a = random_operand(t->a, (size_t)(size->m * size->k), 1),
         *b = random_operand(t->b, (size_t)(size->k * size->n), 2);
    void *c = random_operand(t->d, (size_t)(size->m * size->n), 3);
    char *expected = malloc(bytes), *got = malloc(bytes);
    memcpy(expected, c, bytes);
    run_cpu(context, desc, size->m, a, b, beta, 0, expected);
    for (int64_t m = 1; m <= size->m; m += m < 20 || m + 7 > size->m ? 1 : 7)
        for (int prepared = 0; prepared <= packs; prepared++) {
            const size_t part = (size_t)m * row_bytes;
            memcpy(got, c, bytes);
            run_cpu(context, desc, m, a, b, beta, prepared, got);
            if (memcmp(got, expected, part) != 0)
                fail_msg(
                    "%s x %s -> %s, layout %d, %lld x %lld x %lld, beta %g, prepared %d: other bits than with M = %lld",
                    tsr_dtype_name(t->a), tsr_dtype_name(t->b), tsr_dtype_name(t->d), layout, (long long)m,
                    (long long)size->n, (long long)size->k, beta, prepared, (long long)size->m);
            assert_memory_equal(got + part, (char *)c + part, bytes - part);
        }
    free(a);
    free(b);
    free(c);
    free(expected);
    free(got);
}

static void check_cpu(int threads)
{
    tsr_context *context = NULL;
    tsr_context_options options = {.struct_bytes = sizeof options, .threads = threads};
    assert_int_equal(tsr_context_create("cpu", &options, &context), TSR_OK);
    for (size_t t = 0; t < sizeof cpu_all / sizeof cpu_all[0]; t++)
        for (size_t s = 0; s < sizeof cpu_sizes / sizeof cpu_sizes[0]; s++)
            for (int layout = 0; layout < 4; layout++) {
                if (is_left_out(t + s + (size_t)layout, 4))
                    continue;
                check_cpu_size(context, &cpu_all[t], &cpu_sizes[s], layout, ((int)(s + t) + layout) & 1);
            }
    tsr_context_destroy(context);
}

static void one_thread_of_a_cpu_keeps_the_promise(void **state)
{
    (void)state;
    check_cpu(1);
}

static void threads_of_a_cpu_keep_the_promise(void **state)
{
    (void)state;
    check_cpu(3);
}

/* The second half of K takes back what the first half adds, so that what is left shows how K was cut: one row as two.
 */
static void one_row_on_a_cpu_is_summed_as_two(void **state)
{
    (void)state;
    static const tsr_dtype dtypes[] = {TSR_BF16, TSR_F16, TSR_F32, TSR_F64};
    static const int64_t ns[] = {2, 60, 130}, ks[] = {96, 384, 500, 1000, 1900};
    tsr_context *context = NULL;
    const tsr_context_options options = {.struct_bytes = sizeof options, .threads = 2};
    assert_int_equal(tsr_context_create("cpu", &options, &context), TSR_OK);
    for (int i = 0; i < 4 * 3 * 5 * 2; i++) {
        const tsr_dtype dtype = dtypes[i % 4];
        const int64_t n = ns[i / 4 % 3], k = ks[i / 12 % 5], half = k / 2;
        const size_t row_bytes = (size_t)n * tsr_dtype_bytes(dtype);
        tsr_gemm_desc desc = tsr_gemm_desc_make(dtype, 1, n, k);
        void *const a = random_operand(dtype, (size_t)(2 * k), 1), *const b = random_operand(dtype, (size_t)(n * k), 2);
        char *const one = calloc(1, row_bytes), *const two = calloc(2, row_bytes);
        desc.flags = TSR_BATCH_INVARIANT;
        desc.b.trans = i / 60 ? TSR_N : TSR_T;
        desc.b.ld = i / 60 ? n : k;
        for (int64_t s = half; s < 2 * half; s++) {
            tsr_store_element(dtype, a, s, tsr_load_element(dtype, a, s - half));
            for (int64_t j = 0; j < n; j++) {
                const int64_t at = i / 60 ? s * n + j : j * k + s, from = i / 60 ? at - half * n : at - half;
                tsr_store_element(dtype, b, at, -tsr_load_element(dtype, b, from));
            }
        }
        tsr_run_args args = tsr_run_args_make(a, b, one);
        assert_int_equal(tsr_gemm(context, &desc, &args), TSR_OK);
        desc.m = 2;
        args.d = two;
        assert_int_equal(tsr_gemm(context, &desc, &args), TSR_OK);
        if (memcmp(one, two, row_bytes) != 0)
            fail_msg("%s, B %s, N = %lld, K = %lld: one row has other bits than two", tsr_dtype_name(dtype),
                     i / 60 ? "as it is" : "transposed", (long long)n, (long long)k);
        free(a);
        free(b);
        free(one);
        free(two);
    }
    tsr_context_destroy(context);
}

/* Whole numbers, of which every order of sums has the same bits: those of cpu-sequential, for all layouts, with C, a
 * form, a batch, rows apart from each other, and B prepared. */
static void sums_on_a_cpu_are_right(void **state)
{
    (void)state;
    enum { BATCH = 2, PAD = 3 };
    static const int64_t ms[] = {1, 3, 49, 230}, ns[] = {2, 50, 131}, ks[] = {96, 191, 200, 1100};
    static const tsr_dtype dtypes[] = {TSR_F32, TSR_F64, TSR_F16, TSR_BF16};
    tsr_context *context = NULL;
    tsr_context_options options = {.struct_bytes = sizeof options, .threads = 2};
    assert_int_equal(tsr_context_create("cpu", &options, &context), TSR_OK);
    for (int i = 0; i < 4 * 4 * 3 * 4 * 4; i++) {
        const tsr_dtype dtype = dtypes[i % 4];
        const int64_t m = ms[i / 4 % 4], n = ns[i / 16 % 3], k = ks[i / 48 % 4];
        if (is_left_out((unsigned)i, 7))
            continue;
        tsr_gemm_desc desc = tsr_gemm_desc_make(dtype, m, n, k);
        tsr_operand *const operands[] = {&desc.a, &desc.b, &desc.c, &desc.d};
        void *data[4];
        desc.flags = TSR_BATCH_INVARIANT;
        desc.a.trans = i / 192 & 1 ? TSR_T : TSR_N;
        desc.b.trans = i / 192 & 2 ? TSR_N : TSR_T;
        desc.batch_count = BATCH;
        desc.epilogue = "relu(acc + bias[n])";
        const size_t bytes = tsr_dtype_bytes(dtype);
        uint64_t seed = 7;
        size_t d_bytes = 0;
        for (int o = 0; o < 4; o++) {
            const int64_t rows = o == 0   ? (desc.a.trans == TSR_T ? k : m)
                                 : o == 1 ? (desc.b.trans == TSR_T ? n : k)
                                          : m;
            const int64_t columns = o == 0 ? m + k - rows : o == 1 ? n + k - rows : n;
            operands[o]->ld = columns + PAD;
            operands[o]->batch_stride = rows * operands[o]->ld;
            d_bytes = (size_t)(BATCH * operands[o]->batch_stride) * bytes;
            data[o] = calloc(1, d_bytes);
            for (int64_t e = 0; o < 3 && e < BATCH * operands[o]->batch_stride; e++) {
                seed = seed * 6364136223846793005u + 1442695040888963407u;
                tsr_store_element(dtype, data[o], e, (double)(seed >> 60) - 8);
            }
        }
        void *const bias = random_operand(dtype, (size_t)n, 5), *const wanted = calloc(1, d_bytes);
        for (int64_t e = 0; e < n; e++)
            tsr_store_element(dtype, bias, e, (double)(e % 7) - 3);
        tsr_run_args args = tsr_run_args_make(data[0], data[1], wanted);
        args.alpha.value = 2;
        args.beta.value = -1;
        args.c = data[2];
        args.bias = bias;
        desc.kernel = "cpu-sequential";
        assert_int_equal(tsr_gemm(context, &desc, &args), TSR_OK);
        desc.kernel = "cpu-tiled";
        tsr_plan *plan = NULL;
        tsr_prepared *packed = NULL;
        assert_int_equal(tsr_plan_create(context, &desc, &plan), TSR_OK);
        assert_int_equal(tsr_prepare(plan, 'b', data[1], &packed), TSR_OK);
        args.d = data[3];
        for (int prepared = 0; prepared < 2; prepared++) {
            memset(data[3], 0, d_bytes);
            args.b = prepared ? NULL : data[1];
            args.prepared_b = prepared ? packed : NULL;
            if (tsr_plan_run(plan, &args) != TSR_OK)
                fail_msg("%s", tsr_last_error());
            if (memcmp(data[3], wanted, d_bytes) != 0)
                fail_msg("%s, layout %d, %lld x %lld x %lld, prepared %d: not what cpu-sequential has",
                         tsr_dtype_name(dtype), i / 192, (long long)m, (long long)n, (long long)k, prepared);
        }
        tsr_prepared_release(packed);
        tsr_plan_release(plan);
        for (int o = 0; o < 4; o++)
            free(data[o]);
        free(bias);
        free(wanted);
    }
    tsr_context_destroy(context);
}

/* The fast kernel is chosen; another one that keeps the promise can be had by name. */
static void a_cpu_chooses_its_fast_kernel(void **state)
{
    (void)state;
    tsr_context *context = NULL;
    tsr_plan *plan = NULL;
    assert_int_equal(tsr_context_create("cpu", NULL, &context), TSR_OK);
    tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F32, 33, 20, 10);
    desc.flags = TSR_BATCH_INVARIANT;
    assert_int_equal(tsr_plan_create(context, &desc, &plan), TSR_OK);
    assert_string_equal(tsr_plan_kernel(plan), "cpu_tiled_f32");
    tsr_plan_release(plan);
    desc.kernel = "cpu-sequential";
    assert_int_equal(tsr_plan_create(context, &desc, &plan), TSR_OK);
    tsr_plan_release(plan);
    tsr_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bf16_rows_agree),
        cmocka_unit_test(bf16_to_f32_rows_agree),
        cmocka_unit_test(f16_rows_agree),
        cmocka_unit_test(tf32_rows_agree),
        cmocka_unit_test(f32_rows_agree),
        cmocka_unit_test(f64_rows_agree),
        cmocka_unit_test(one_row_is_planned_as_many_are),
        cmocka_unit_test(a_sum_cut_to_nothing_keeps_its_sign),
        cmocka_unit_test(named_schedules_keep_k_whole),
        cmocka_unit_test(one_thread_of_a_cpu_keeps_the_promise),
        cmocka_unit_test(threads_of_a_cpu_keep_the_promise),
        cmocka_unit_test(one_row_on_a_cpu_is_summed_as_two),
        cmocka_unit_test(sums_on_a_cpu_are_right),
        cmocka_unit_test(a_cpu_chooses_its_fast_kernel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
