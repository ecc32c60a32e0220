/* 8-bit operands, their scales, mixed types and results in s32, and 16-bit operands with results of another type,
 * through the public header alone: what a caller may ask for, what it gets, and what is refused. On "cpu" and, where
 * this build has its kernels, in the emulator. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/dtype.h"
#include "tessera.h"

enum { M = 37, N = 24, K = 150 };

typedef struct problem {
    tsr_dtype a, b, d;
    tsr_trans trans_a, trans_b;
    tsr_compute compute;
    double alpha, beta;
    const float *scale_a, *scale_b;
} problem;

static _Alignas(8) uint8_t a_data[M * K * 2], b_data[K * N * 2];
static _Alignas(8) unsigned char c_data[M * N * 4], d_data[M * N * 4];

static void fill(tsr_dtype dtype, void *array, int count, int seed)
{
    for (int i = 0; i < count; i++)
        tsr_store_element(dtype, array, i, (double)((i * 7 + seed) % 5 - (dtype == TSR_U8 ? 0 : 2)));
}

static tsr_gemm_desc desc_of(const problem *p)
{
    tsr_gemm_desc desc = tsr_gemm_desc_make(p->a, M, N, K);
    desc.b.dtype = p->b;
    desc.c.dtype = desc.d.dtype = p->d;
    desc.a.trans = p->trans_a;
    desc.b.trans = p->trans_b;
    desc.compute = p->compute;
    return desc;
}

static tsr_status run(tsr_context *context, const problem *p)
{
    const tsr_gemm_desc desc = desc_of(p);
    tsr_run_args args = tsr_run_args_make(a_data, b_data, d_data);
    args.c = c_data;
    args.alpha.value = p->alpha;
    args.beta.value = p->beta;
    args.scale_a = p->scale_a;
    args.scale_b = p->scale_b;
    return tsr_gemm(context, &desc, &args);
}

static double expected(const problem *p, int i, int j)
{
    double sum = 0;
    for (int k = 0; k < K; k++)
        sum += tsr_load_element(p->a, a_data, p->trans_a == TSR_T ? k * M + i : i * K + k) *
               tsr_load_element(p->b, b_data, p->trans_b == TSR_T ? j * K + k : k * N + j);
    const double scale = (p->scale_a ? (double)*p->scale_a : 1) * (p->scale_b ? (double)*p->scale_b : 1);
    return p->alpha * scale * sum + (p->beta != 0 ? p->beta * tsr_load_element(p->d, c_data, i * N + j) : 0);
}

/* Whole numbers and powers of two: results are exact up to D's own rounding. */
static void check(tsr_context *context, const problem *p)
{
    fill(p->a, a_data, M * K, 1);
    fill(p->b, b_data, K * N, 3);
    fill(p->d, c_data, M * N, 2);
    memset(d_data, 0xff, sizeof d_data);
    if (run(context, p) != TSR_OK)
        fail_msg("%s x %s -> %s: %s", tsr_dtype_name(p->a), tsr_dtype_name(p->b), tsr_dtype_name(p->d),
                 tsr_last_error());
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            uint64_t rounded = 0;
            tsr_store_element(p->d, &rounded, 0, expected(p, i, j));
            const double want = tsr_load_element(p->d, &rounded, 0), got = tsr_load_element(p->d, d_data, i * N + j);
            if (want != got)
                fail_msg("%s x %s -> %s, D[%d,%d]: %g, expected %g", tsr_dtype_name(p->a), tsr_dtype_name(p->b),
                         tsr_dtype_name(p->d), i, j, got, want);
        }
}

typedef struct contexts {
    tsr_context *all[2];
    int count;
} contexts;

static int open_all(void **state)
{
    static contexts c;
    if (tsr_context_create("cpu", NULL, &c.all[c.count]) == TSR_OK)
        c.count++;
    if (tsr_context_create("emu", NULL, &c.all[c.count]) == TSR_OK)
        c.count++;
    *state = &c;
    return c.count > 0 ? 0 : -1;
}

static int close_all(void **state)
{
    contexts *c = *state;
    while (c->count > 0)
        tsr_context_destroy(c->all[--c->count]);
    return 0;
}

static const float half = 0.5f, four = 4.0f;

static void every_mix_of_types_and_layouts(void **state)
{
    static const tsr_dtype fp8[] = {TSR_E4M3, TSR_E5M2}, int8[] = {TSR_S8, TSR_U8};
    static const tsr_dtype results[] = {TSR_F32, TSR_BF16, TSR_F16, TSR_S32};
    const contexts *c = *state;
    for (int x = 0; x < c->count; x++)
        for (int i = 0; i < 2 * 2 * 2 * 4 * 4; i++) {
            const int integers = i & 1, d = i >> 3 & 3;
            const tsr_dtype *const types = integers ? int8 : fp8;
            if (!integers && results[d] == TSR_S32)
                continue;
            const problem p = {.a = types[i >> 1 & 1],
                               .b = types[i >> 2 & 1],
                               .d = results[d],
                               .trans_a = i >> 5 & 1 ? TSR_T : TSR_N,
                               .trans_b = i >> 6 & 1 ? TSR_T : TSR_N,
                               .alpha = i & 2 ? -1 : 1,
                               .beta = i & 4 ? 1 : 0};
            check(c->all[x], &p);
        }
}

/* f16 and bf16 in all types that they may become, the other one of 16 bits among these, on each device. */
static void sixteen_bits_become_any_type(void **state)
{
    static const tsr_dtype types[] = {TSR_F16, TSR_BF16}, results[] = {TSR_F32, TSR_F16, TSR_BF16, TSR_E4M3, TSR_E5M2};
    const contexts *c = *state;
    for (int x = 0; x < c->count; x++)
        for (int i = 0; i < 2 * 5 * 4; i++) {
            const problem p = {.a = types[i % 2],
                               .b = types[i % 2],
                               .d = results[i / 2 % 5],
                               .trans_a = i / 10 & 1 ? TSR_T : TSR_N,
                               .trans_b = i / 10 & 2 ? TSR_T : TSR_N,
                               .alpha = i % 3 ? 1 : -1,
                               .beta = i / 10 & 1 ? 2 : 0};
            check(c->all[x], &p);
        }
}

static void scales_are_factors(void **state)
{
    const contexts *c = *state;
    for (int x = 0; x < c->count; x++)
        for (int i = 0; i < 4; i++) {
            const problem p = {.a = i & 1 ? TSR_S8 : TSR_E4M3,
                               .b = i & 1 ? TSR_S8 : TSR_E5M2,
                               .d = TSR_F32,
                               .trans_b = TSR_T,
                               .alpha = 2,
                               .beta = -1,
                               .scale_a = i & 2 ? &half : NULL,
                               .scale_b = &four};
            check(c->all[x], &p);
        }
}

static void sums_in_tensor_cores_are_asked_for_by_name(void **state)
{
    const contexts *c = *state;
    const problem p = {
        .a = TSR_E4M3, .b = TSR_E4M3, .d = TSR_BF16, .trans_b = TSR_T, .compute = TSR_COMPUTE_FAST, .alpha = 1};
    for (int x = 0; x < c->count; x++) {
        const tsr_gemm_desc desc = desc_of(&p);
        tsr_plan *plan = NULL;
        const tsr_status status = tsr_plan_create(c->all[x], &desc, &plan);
        assert_int_equal(status, TSR_OK);
        const char *const kernel = tsr_plan_kernel(plan);
        assert_true(strstr(kernel, "fp8f") || strcmp(kernel, "cpu_tiled_fp8") == 0); /* a CPU has no such sums */
        check(c->all[x], &p);
        tsr_plan_release(plan);
    }
}

/* Fractions of all sizes: another arithmetic would round otherwise. */
static void fill_unevenly(tsr_dtype dtype, void *array, int count, uint32_t seed)
{
    for (int i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        tsr_store_element(dtype, array, i, ((double)(seed >> 8) / 0x1p23 - 1) * (seed >> 5 & 1 ? 1 : 0.03));
    }
}

/* A less accurate arithmetic is an offer that a CPU has no use for: results have the bits of the default. */
static void a_cpu_sums_in_f32_whatever_else_it_may_do(void **state)
{
    static const struct {
        tsr_dtype a, b, d;
        tsr_compute compute;
    } products[] = {{TSR_F32, TSR_F32, TSR_F32, TSR_COMPUTE_TF32},
                    {TSR_E4M3, TSR_E5M2, TSR_F32, TSR_COMPUTE_FAST},
                    {TSR_E5M2, TSR_E5M2, TSR_E4M3, TSR_COMPUTE_FAST}};
    static const char *const kernels[] = {NULL, "cpu-tiled", "cpu-sequential"};
    static float a[M * K], b[K * N], c_in[M * N], d[2][M * N];
    static float scales[M];
    tsr_context *context;
    (void)state;
    assert_int_equal(tsr_context_create("cpu", NULL, &context), TSR_OK);
    fill_unevenly(TSR_F32, scales, M, 4);
    for (size_t i = 0; i < sizeof products / sizeof products[0]; i++)
        for (int way = 0; way < 3 * 2 * 2 * 2; way++) {
            tsr_gemm_desc desc = tsr_gemm_desc_make(products[i].a, M, N, K);
            tsr_run_args args = tsr_run_args_make(a, b, d[0]);
            desc.b.dtype = products[i].b;
            desc.c.dtype = desc.d.dtype = products[i].d;
            desc.kernel = kernels[way / 8];
            desc.b.trans = way & 1 ? TSR_T : TSR_N;
            desc.flags = way & 2 ? TSR_BATCH_INVARIANT : 0;
            if (way & 4 && products[i].a != TSR_F32) {
                desc.scale_mode_a = TSR_SCALE_VECTOR;
                args.scale_a = scales;
            }
            args.c = c_in;
            args.beta.value = 0.3;
            fill_unevenly(products[i].a, a, M * K, 1);
            fill_unevenly(products[i].b, b, K * N, 2);
            fill_unevenly(products[i].d, c_in, M * N, 3);
            memset(d, 0xff, sizeof d);
            assert_int_equal(tsr_gemm(context, &desc, &args), TSR_OK);
            desc.compute = products[i].compute;
            args.d = d[1];
            assert_int_equal(tsr_gemm(context, &desc, &args), TSR_OK);
            assert_memory_equal(d[0], d[1], sizeof d[0]);
        }
    tsr_context_destroy(context);
}

/* 2^31 and beyond wraps around. */
static void s32_wraps(void **state)
{
    const contexts *c = *state;
    const problem p = {.a = TSR_S8, .b = TSR_S8, .d = TSR_S32, .trans_b = TSR_T, .alpha = 40000, .beta = 0};
    for (int x = 0; x < c->count; x++) {
        memset(a_data, 127, sizeof a_data);
        memset(b_data, 127, sizeof b_data);
        assert_int_equal(run(c->all[x], &p), TSR_OK);
        int32_t got;
        memcpy(&got, d_data, sizeof got);
        assert_int_equal(got, (int32_t)(uint32_t)(40000ull * K * 127 * 127));
    }
}

/* Without a product nobody reads A, B or a scale, which may then even be NaN. */
static void alpha_0_reads_no_operand(void **state)
{
    const contexts *c = *state;
    const float nan = NAN;
    problem p = {.a = TSR_E4M3, .b = TSR_E4M3, .d = TSR_F32, .trans_b = TSR_T, .beta = 2, .scale_a = &nan};
    for (int x = 0; x < c->count; x++) {
        fill(TSR_F32, c_data, M * N, 2);
        memset(a_data, 0x7f, sizeof a_data); /* NaN */
        memset(b_data, 0x7f, sizeof b_data);
        assert_int_equal(run(c->all[x], &p), TSR_OK);
        for (int i = 0; i < M * N; i++)
            assert_true(tsr_load_element(TSR_F32, d_data, i) == 2 * tsr_load_element(TSR_F32, c_data, i));
        p.alpha = 1;
        assert_int_equal(run(c->all[x], &p), TSR_INVALID_ARGUMENT);
        assert_non_null(strstr(tsr_last_error(), "scale_a = nan: must be a number"));
        p.alpha = 0;
    }
}

static void expect(tsr_context *context, const problem *p, tsr_status status, const char *words)
{
    assert_int_equal(run(context, p), status);
    if (!strstr(tsr_last_error(), words))
        fail_msg("\"%s\" does not say \"%s\"", tsr_last_error(), words);
}

static void wrong_calls_are_named(void **state)
{
    const contexts *c = *state;
    tsr_context *const context = c->all[0];
    static float floats[2];
    const float *const askew = (const float *)(const void *)((const char *)floats + 1);
    problem p = {.a = TSR_S8, .b = TSR_S8, .d = TSR_S32, .trans_b = TSR_T, .alpha = 0.5};
    expect(context, &p, TSR_INVALID_ARGUMENT, "alpha = 0.5: must be a whole number");
    p.alpha = 1, p.beta = 3e9;
    expect(context, &p, TSR_INVALID_ARGUMENT, "beta = 3e+09: must be a whole number of 32 bits");
    p.beta = 0, p.scale_a = &half;
    expect(context, &p, TSR_INVALID_ARGUMENT, "scale_a: a result in s32 takes no scales");
    p.d = TSR_F32, p.scale_a = askew;
    expect(context, &p, TSR_INVALID_ARGUMENT, "scale_a");
    p.scale_a = NULL, p.compute = TSR_COMPUTE_FAST;
    expect(context, &p, TSR_INVALID_ARGUMENT, "compute = fast: not for s8 operands");
    p.compute = TSR_COMPUTE_DEFAULT, p.b = TSR_E4M3;
    expect(context, &p, TSR_INVALID_ARGUMENT, "B.dtype = e4m3: must be that of A (s8) or u8");
    p.b = TSR_S8, p.d = TSR_E4M3;
    expect(context, &p, TSR_INVALID_ARGUMENT, "D.dtype = e4m3: no result of s8 operands");
}

/* Operands of 16 bits have no scales. */
static void scales_are_for_8_bits(void **state)
{
    const contexts *c = *state;
    static uint16_t a[4], b[4], d[4];
    tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_BF16, 2, 2, 2);
    tsr_run_args args = tsr_run_args_make(a, b, d);
    args.scale_b = &half;
    assert_int_equal(tsr_gemm(c->all[0], &desc, &args), TSR_UNSUPPORTED);
    assert_non_null(strstr(tsr_last_error(), "scale_b: only operands of 8 bits have scales, not bf16"));
    desc.d.dtype = desc.c.dtype = TSR_F32; /* f32 results of 16-bit operands, on a CPU too */
    float wide[4];
    args.scale_b = NULL;
    args.d = wide;
    args.c = wide;
    assert_int_equal(tsr_gemm(c->all[0], &desc, &args), TSR_OK);
}

/* The stride of a batch of one leads nowhere. */
static void strides_of_one_problem_are_of_no_account(void **state)
{
    enum { ROWS = 8, COLUMNS = 12, STEPS = 5 };
    const contexts *c = *state;
    static const tsr_dtype types[][2] = {{TSR_S8, TSR_BF16}, {TSR_BF16, TSR_BF16}, {TSR_F32, TSR_F32}};
    static float a[ROWS * STEPS], b[COLUMNS * STEPS];
    for (int i = 0; i < 3 * 4 * 3; i++) {
        const tsr_dtype type = types[i / 12][0], result = types[i / 12][1];
        const int operand = i / 3 % 4;
        float d[ROWS * COLUMNS] = {0}, expected[ROWS * COLUMNS] = {0};
        tsr_gemm_desc desc = tsr_gemm_desc_make(type, ROWS, COLUMNS, STEPS);
        desc.c.dtype = desc.d.dtype = result;
        desc.b.trans = TSR_T;
        desc.b.ld = STEPS;
        fill_unevenly(type, a, ROWS * STEPS, 1);
        fill_unevenly(type, b, COLUMNS * STEPS, 2);
        for (int x = 0; x < c->count; x++) {
            tsr_run_args args = tsr_run_args_make(a, b, expected);
            tsr_operand *const operands[] = {&desc.a, &desc.b, &desc.c, &desc.d};
            operands[operand]->batch_stride = 0;
            assert_int_equal(tsr_gemm(c->all[x], &desc, &args), TSR_OK);
            operands[operand]->batch_stride = (int[]){1, 41, 1000}[i % 3];
            args.d = d;
            if (tsr_gemm(c->all[x], &desc, &args) != TSR_OK)
                fail_msg("%s, operand %c: %s", tsr_dtype_name(type), 'a' + operand, tsr_last_error());
            assert_memory_equal(d, expected, sizeof d);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_mix_of_types_and_layouts),
                                       cmocka_unit_test(sixteen_bits_become_any_type),
                                       cmocka_unit_test(scales_are_factors),
                                       cmocka_unit_test(sums_in_tensor_cores_are_asked_for_by_name),
                                       cmocka_unit_test(a_cpu_sums_in_f32_whatever_else_it_may_do),
                                       cmocka_unit_test(s32_wraps),
                                       cmocka_unit_test(strides_of_one_problem_are_of_no_account),
                                       cmocka_unit_test(alpha_0_reads_no_operand),
                                       cmocka_unit_test(wrong_calls_are_named),
                                       cmocka_unit_test(scales_are_for_8_bits)};
    return cmocka_run_group_tests(tests, open_all, close_all);
}
