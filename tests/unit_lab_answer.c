/* Conversions of matrices, and answers judged: right ones pass, one wrong element is found and named. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/dtype.h"
#include "lab/common/convert.h"
#include "lab/common/random.h"
#include "lab/verify/answer.h"

/* ---- conversions ----------------------------------------------------------------------------------------------------
 */

static void test_convert(void **state)
{
    (void)state;
    static const tsr_dtype dtypes[] = {TSR_F64, TSR_F32, TSR_F16, TSR_BF16};
    enum { ROWS = 130, COLUMNS = 67, LD_FROM = 200, LD_TO = 210 };
    static double from[LD_FROM * LD_FROM], to[LD_TO * LD_TO];
    for (size_t f = 0; f < 4; f++)
        for (size_t t = 0; t < 4; t++)
            for (int transpose = 0; transpose < 2; transpose++) {
                lab_fill(LAB_FILL_NORMAL, 0, dtypes[f], from, LD_FROM * LD_FROM, 7);
                memset(to, 0xff, sizeof to);
                lab_convert(dtypes[t], to, LD_TO, dtypes[f], from, LD_FROM, transpose, ROWS, COLUMNS);
                for (int64_t i = 0; i < ROWS; i++)
                    for (int64_t j = 0; j < COLUMNS; j++) {
                        const int64_t at = transpose ? j * LD_FROM + i : i * LD_FROM + j;
                        double want = 0;
                        tsr_store_element(dtypes[t], &want, 0, tsr_load_element(dtypes[f], from, at));
                        assert_true(tsr_load_element(dtypes[t], to, i * LD_TO + j) ==
                                    tsr_load_element(dtypes[t], &want, 0));
                    }
                /* Beyond the rows' ends nothing is written. */
                assert_true(isnan(tsr_load_element(dtypes[t], to, COLUMNS)));
                assert_true(isnan(tsr_load_element(dtypes[t], to, ROWS * LD_TO)));
            }
    lab_convert(TSR_F32, to, 1, TSR_F64, from, 1, 0, 0, 5);
    lab_convert(TSR_F32, to, 1, TSR_F64, from, 1, 1, 5, 0);
}

/* Of values around the end of each type: which of them it does not keep, and what they become. */
static void test_count_lost(void **state)
{
    (void)state;
    static const struct {
        tsr_dtype dtype;
        double kept, lost, becomes; /* kept: beyond the largest number, but rounded to it */
    } rows[] = {
        {TSR_E4M3, 464, 465, (double)NAN},
        {TSR_E5M2, 61439, 61440, (double)INFINITY},
        {TSR_F16, 65519, 65520, (double)INFINITY},
        {TSR_BF16, 3.39e38, 3.4e38, (double)INFINITY},
        {TSR_F32, 3.402823467e38, 3.5e38, (double)INFINITY},
        {TSR_S8, 127.25, 129, 127},
        {TSR_U8, 255.25, 256, 255},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const int is_integer = rows[i].dtype == TSR_S8 || rows[i].dtype == TSR_U8;
        const int has_infinity = !is_integer && rows[i].dtype != TSR_E4M3;
        const double values[] = {
            0,          1e-60,        rows[i].kept,  rows[i].dtype == TSR_U8 ? 0 : -rows[i].kept + 1,
            -300,       rows[i].lost, -rows[i].lost, (double)INFINITY,
            (double)NAN};
        enum { COUNT = sizeof values / sizeof values[0] };
        const lab_lost lost = lab_count_lost(rows[i].dtype, TSR_F64, values, COUNT);
        assert_int_equal(lost.beyond, 2 + !has_infinity + is_integer);
        assert_int_equal(lost.nan, is_integer);
        assert_true(lost.becomes == rows[i].becomes || (isnan(lost.becomes) && isnan(rows[i].becomes)));
        assert_true(lost.high <= rows[i].kept && lost.low == (rows[i].dtype == TSR_U8   ? 0
                                                              : rows[i].dtype == TSR_S8 ? -128
                                                                                        : -lost.high));
        assert_int_equal(lab_count_lost(TSR_F64, TSR_F64, values, COUNT).beyond, 0);
    }
    /* Types that hold all of another. */
    const uint16_t f16[] = {0x7bff, 0x7c00, 0xfc00};
    assert_int_equal(lab_count_lost(TSR_BF16, TSR_F16, f16, 3).beyond, 0);
    assert_int_equal(lab_count_lost(TSR_E5M2, TSR_F16, f16, 3).beyond, 1);
    assert_int_equal(lab_count_lost(TSR_E4M3, TSR_F16, f16, 3).beyond, 3);
}

/* ---- answers --------------------------------------------------------------------------------------------------------
 */

enum { M = 37, N = 53, K = 29 };

typedef struct problem {
    float a[M * K], b[K * N], c[M * N], d[M * N];
    tsr_gemm_desc desc;
    tsr_run_args args;
} problem;

/* D = 2 A B - C by a loop of the test's own; A is stored transposed. */
static void solve(problem *p)
{
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float sum = 0;
            for (int k = 0; k < K; k++)
                sum += p->a[k * M + i] * p->b[k * N + j];
            p->d[i * N + j] = 2 * sum - p->c[i * N + j];
        }
}

static problem *make(void)
{
    problem *p = malloc(sizeof *p);
    assert_non_null(p);
    lab_fill(LAB_FILL_NORMAL, 0, TSR_F32, p->a, M * K, 1);
    lab_fill(LAB_FILL_NORMAL, 0, TSR_F32, p->b, K * N, 2);
    lab_fill(LAB_FILL_NORMAL, 0, TSR_F32, p->c, M * N, 3);
    p->desc = tsr_gemm_desc_make(TSR_F32, M, N, K);
    p->desc.a.trans = TSR_T;
    p->args = tsr_run_args_make(p->a, p->b, p->d);
    p->args.c = p->c;
    p->args.alpha.value = 2;
    p->args.beta.value = -1;
    solve(p);
    return p;
}

static lab_answer check(const problem *p, double budget)
{
    lab_answer answer;
    assert_int_equal(lab_check_answer(&p->desc, &p->args, "cpu_sequential_f32", budget, 1, &answer), TSR_OK);
    assert_true(answer.elements == p->desc.m * p->desc.n);
    return answer;
}

static void test_right_answer(void **state)
{
    (void)state;
    problem *p = make();
    lab_answer answer = check(p, 1e9);
    assert_int_equal(answer.checked, M * N);
    assert_true(answer.ratio > 0 && answer.bound > 0 && answer.error > 0); /* rounding there must be */
    assert_true(fabs(answer.value - answer.reference) <= 1e-4);
    assert_true(answer.max_error >= answer.error && answer.max_error <= 1e-4);
    assert_true(answer.max_relative >= answer.error / fabs(answer.reference));
    free(p);
}

/* Whole numbers leave no rounding, so any constant passes; then one element after the other is broken. */
static void test_wrong_element(void **state)
{
    (void)state;
    problem *p = make();
    lab_fill(LAB_FILL_INTEGERS, 4, TSR_F32, p->a, M * K, 1);
    lab_fill(LAB_FILL_INTEGERS, 4, TSR_F32, p->b, K * N, 2);
    lab_fill(LAB_FILL_INTEGERS, 4, TSR_F32, p->c, M * N, 3);
    solve(p);
    lab_answer answer = check(p, 1e9);
    assert_int_equal(answer.failed, 0);
    assert_true(answer.ratio == 0);
    assert_true(answer.max_error == 0 && answer.max_relative == 0);
    static const float wrong[] = {1, -1, NAN, INFINITY, -INFINITY};
    for (int i = 0; i < M; i += 12)
        for (int j = 0; j < N; j += 13)
            for (size_t w = 0; w < 5; w++) {
                const float right = p->d[i * N + j];
                p->d[i * N + j] += wrong[w];
                answer = check(p, 1e9);
                assert_int_equal(answer.failed, 1);
                assert_true(answer.row == i && answer.column == j && answer.reference == (double)right);
                assert_true(answer.ratio > 1);
                assert_true(answer.max_error == (w < 2 ? 1 : 0)); /* those that are numbers */
                if (right != 0)
                    assert_true(answer.max_relative == (w < 2 ? 1 / fabs((double)right) : 0));
                p->d[i * N + j] = right;
            }
    free(p);
}

/* Products below f32's normal numbers are each rounded to one of its smallest: right, and still no more than that. */
static void test_subnormal_values(void **state)
{
    (void)state;
    problem *p = make();
    for (int i = 0; i < M * K; i++)
        p->a[i] = ldexpf(p->a[i], -74);
    for (int i = 0; i < K * N; i++)
        p->b[i] = ldexpf(p->b[i], -74);
    for (int i = 0; i < M * N; i++)
        p->c[i] = ldexpf(p->c[i], -146);
    solve(p);
    lab_answer answer = check(p, 1e9);
    assert_int_equal(answer.failed, 0);
    assert_true(answer.max_error > 0 && answer.ratio > 0 && answer.bound < K * (double)FLT_TRUE_MIN * 1.25);
    p->d[N + 1] += 2 * K * FLT_TRUE_MIN;
    answer = check(p, 1e9);
    assert_int_equal(answer.failed, 1);
    assert_true(answer.row == 1 && answer.column == 1);
    free(p);
}

static void test_special_values(void **state)
{
    (void)state;
    problem *p = make();
    lab_fill(LAB_FILL_ZERO, 0, TSR_F32, p->c, M * N, 3);
    p->a[5 * M + 3] = NAN;      /* row 3 of op(A) */
    p->a[7 * M + 9] = INFINITY; /* row 9 */
    lab_fill(LAB_FILL_INTEGERS, 4, TSR_F32, p->b, K * N, 2);
    for (int i = 0; i < M * K; i++)
        p->a[i] = isfinite(p->a[i]) ? 1 : p->a[i];
    solve(p);
    lab_answer answer = check(p, 1e9);
    assert_int_equal(answer.failed, 0);
    p->d[3 * N + 1] = 0; /* a NaN lost */
    answer = check(p, 1e9);
    assert_int_equal(answer.failed, 1);
    assert_true(answer.row == 3 && answer.column == 1 && isinf(answer.ratio));
    free(p);
}

/* A sum that the accumulator cannot hold has no bound: counted, not judged. */
static void test_overflow(void **state)
{
    (void)state;
    problem *p = make();
    for (int i = 0; i < M * K; i++)
        p->a[i] = 1e30f;
    for (int i = 0; i < K * N; i++)
        p->b[i] = 1e30f;
    solve(p);
    lab_answer answer = check(p, 1e9);
    assert_int_equal(answer.unbound, M * N);
    assert_int_equal(answer.failed, 0);
    free(p);
}

/* A few elements in a large D: still the corners, and every band of rows and columns. */
static void test_sample(void **state)
{
    (void)state;
    problem *p = make();
    lab_fill(LAB_FILL_INTEGERS, 4, TSR_F32, p->a, M * K, 1);
    lab_fill(LAB_FILL_INTEGERS, 4, TSR_F32, p->b, K * N, 2);
    lab_fill(LAB_FILL_INTEGERS, 4, TSR_F32, p->c, M * N, 3);
    solve(p);
    lab_answer answer = check(p, 100.0 * (K + 8));
    assert_true(answer.checked >= 81 && answer.checked <= 100);
    static const int corners[][2] = {{0, 0}, {0, N - 1}, {M - 1, 0}, {M - 1, N - 1}};
    for (size_t c = 0; c < 4; c++) {
        p->d[corners[c][0] * N + corners[c][1]] += 1;
        answer = check(p, 100.0 * (K + 8));
        assert_int_equal(answer.failed, 1);
        assert_true(answer.row == corners[c][0] && answer.column == corners[c][1]);
        p->d[corners[c][0] * N + corners[c][1]] -= 1;
    }
    for (int j = 0; j < N; j++)
        p->d[20 * N + j] += 1; /* a bad row is met only if it is in the sample; a bad tile always is */
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < N; j++)
            p->d[(10 + i) * N + j] += 1;
    assert_true(check(p, 100.0 * (K + 8)).failed > 0);
    assert_int_equal(check(p, 0).checked, 1); /* never none */
    free(p);
}

static void test_empty(void **state)
{
    (void)state;
    problem *p = make();
    p->desc = tsr_gemm_desc_make(TSR_F32, 0, N, K);
    assert_int_equal(check(p, 1e9).checked, 0);
    p->desc = tsr_gemm_desc_make(TSR_F32, M, 0, K);
    assert_int_equal(check(p, 1e9).checked, 0);
    p->desc = tsr_gemm_desc_make(TSR_F32, M, N, 0); /* D = -C */
    for (int i = 0; i < M * N; i++)
        p->d[i] = -p->c[i];
    assert_int_equal(check(p, 1e9).failed, 0);
    p->d[5] = 100;
    assert_int_equal(check(p, 1e9).failed, 1);
    lab_answer answer;
    assert_int_equal(lab_check_answer(&p->desc, &p->args, "nonsense", 1, 1, &answer), TSR_INVALID_ARGUMENT);
    assert_string_equal(tsr_last_error(), "instance = \"nonsense\": no such kernel");
    free(p);
}

/* Whether D passes as what `instance` makes of one row of e4m3 beside ones. */
static int passes(const char *instance, unsigned char first, unsigned char others, const float *scale, float d)
{
    enum { STEPS = 32, ONE = 0x38 };
    unsigned char a[STEPS], b[STEPS];
    tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_E4M3, 1, 1, STEPS);
    tsr_run_args args = tsr_run_args_make(a, b, &d);
    lab_answer answer;
    desc.c.dtype = desc.d.dtype = TSR_F32;
    args.scale_a = scale;
    memset(a, others, STEPS);
    memset(b, ONE, STEPS);
    a[0] = first;
    assert_int_equal(lab_check_answer(&desc, &args, instance, 1e9, 1, &answer), TSR_OK);
    return answer.failed == 0;
}

/* 288 + 31 * 1.875 / 32, of which tensor cores cut each but the first to a multiple of 2^-5. */
static void test_truncated_sums(void **state)
{
    (void)state;
    const float cut = 288.96875f, far = 280.0f;
    assert_true(passes("wgmma_kmajor_fp8_64x64_c1", 0x79, 0x17, NULL, cut));
    assert_true(passes("wgmma_skinny_fp8f_16_g1", 0x79, 0x17, NULL, cut));
    assert_false(passes("wgmma_kmajor_fp8_64x64_c1", 0x79, 0x17, NULL, far));
    assert_false(passes("cpu_tiled_fp8", 0x79, 0x17, NULL, cut)); /* sums in f32 */
}

/* An infinite scale multiplies the sum, not a product that is 0. */
static void test_infinite_scale(void **state)
{
    (void)state;
    const float scale = INFINITY;
    assert_true(passes("wgmma_kmajor_fp8_64x64_c1", 0x38, 0, &scale, INFINITY));
    assert_false(passes("wgmma_kmajor_fp8_64x64_c1", 0x38, 0, &scale, NAN));
    assert_true(passes("wgmma_kmajor_fp8_64x64_c1", 0, 0, &scale, NAN));
}

enum { STEPS_MAX = 100000, SIDE = 8 };

/* Of SIDE x SIDE sums by `kernel` on `device`, whose operands are all of one sign: none may count as wrong. */
static void expect_right(const char *device, const char *kernel, tsr_dtype dtype, int64_t k, int equal)
{
    tsr_context *context = NULL;
    tsr_plan *plan = NULL;
    float d[SIDE * SIDE];
    lab_answer answer;
    lab_random random = lab_random_make(5, 0);
    if (tsr_context_create(device, NULL, &context) != TSR_OK)
        return; /* no emulator */
    void *const a = malloc((size_t)(SIDE * k) * 4), *const b = malloc((size_t)(SIDE * k) * 4);
    assert_true(a && b);
    for (int64_t i = 0; i < SIDE * k; i++) {
        const double x = (double)lab_random_below(&random, 4096) / 4096,
                     y = (double)lab_random_below(&random, 4096) / 4096;
        tsr_store_element(dtype, a, i, equal ? 0.1 : x);
        tsr_store_element(dtype, b, i, equal ? 0.1 : y);
    }
    tsr_gemm_desc desc = tsr_gemm_desc_make(dtype, SIDE, SIDE, k);
    tsr_run_args args = tsr_run_args_make(a, b, d);
    desc.c.dtype = desc.d.dtype = TSR_F32;
    desc.kernel = kernel;
    assert_int_equal(tsr_plan_create(context, &desc, &plan), TSR_OK);
    assert_int_equal(tsr_plan_run(plan, &args), TSR_OK);
    assert_int_equal(lab_check_answer(&desc, &args, tsr_plan_kernel(plan), 1e9, 1, &answer), TSR_OK);
    if (answer.failed)
        fail_msg("%s: %d wrong, error %g, bound %g", tsr_plan_kernel(plan), (int)answer.failed, answer.error,
                 answer.bound);
    d[5] *= 1.02f;
    assert_int_equal(lab_check_answer(&desc, &args, tsr_plan_kernel(plan), 1e9, 1, &answer), TSR_OK);
    assert_int_equal(answer.failed, 1);
    tsr_plan_release(plan);
    tsr_context_destroy(context);
    free(a);
    free(b);
}

/* Of K products of +-size^2, the last `down` of them negative, `value` as D: 'r' right, 'o' an overflow, 'w' wrong. */
static char verdict_of(float size, int down, double alpha, const char *epilogue, tsr_dtype dtype, double value)
{
    float a[K], b[K];
    const float bias = 1;
    double d = 0;
    lab_answer answer;
    tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F32, 1, 1, K);
    tsr_run_args args = tsr_run_args_make(a, b, &d);
    for (int k = 0; k < K; k++) {
        a[k] = k >= K - down ? -size : size;
        b[k] = size;
    }
    desc.c.dtype = desc.d.dtype = dtype;
    desc.epilogue = epilogue;
    args.bias = &bias;
    args.alpha.value = alpha;
    tsr_store_element(dtype, &d, 0, value);
    assert_int_equal(lab_check_answer(&desc, &args, "cpu_sequential_f32", 1e9, 1, &answer), TSR_OK);
    assert_int_equal(answer.checked, 1);
    return answer.failed ? 'w' : answer.unbound ? 'o' : 'r';
}

/* Sums in f32 overflow before alpha makes them small: what may have come of that is no error, and nothing else is
 * right. */
static void test_overflow_before_alpha(void **state)
{
    (void)state;
    const float large = 1e20f; /* a product is 1e40 */
    const double alpha = 1e-30, right = K * 1e10;
    static const char relu[] = "relu(acc + bias[n])";
    assert_int_equal(verdict_of(large, 0, alpha, NULL, TSR_F32, INFINITY), 'o');
    assert_int_equal(verdict_of(large, 0, alpha, NULL, TSR_F32, right), 'r'); /* as if alpha had come first */
    assert_int_equal(verdict_of(large, 0, alpha, NULL, TSR_F32, 2 * right), 'w');
    assert_int_equal(verdict_of(large, 0, alpha, NULL, TSR_F32, -INFINITY), 'w');
    assert_int_equal(verdict_of(large, 0, alpha, NULL, TSR_F32, NAN), 'w');
    assert_int_equal(verdict_of(large, 0, alpha, NULL, TSR_F32, 0), 'w');
    assert_int_equal(verdict_of(large, 0, -alpha, NULL, TSR_F32, -INFINITY), 'o');
    assert_int_equal(verdict_of(large, 0, -alpha, NULL, TSR_F32, INFINITY), 'w');
    assert_int_equal(verdict_of(large, K, alpha, NULL, TSR_F32, -INFINITY), 'o');
    assert_int_equal(verdict_of(large, K, alpha, relu, TSR_F32, 0), 'o');
    assert_int_equal(verdict_of(large, K, alpha, relu, TSR_F32, INFINITY), 'w');
    /* Of both signs: the order decides. */
    assert_int_equal(verdict_of(large, 3, alpha, NULL, TSR_F32, INFINITY), 'o');
    assert_int_equal(verdict_of(large, 3, alpha, NULL, TSR_F32, -INFINITY), 'o');
    assert_int_equal(verdict_of(large, 3, alpha, NULL, TSR_F32, NAN), 'o');
    assert_int_equal(verdict_of(large, 3, alpha, NULL, TSR_F32, 1e10 * (K - 6)), 'r');
    assert_int_equal(verdict_of(large, 3, alpha, NULL, TSR_F32, 1e10 * K), 'w');
    /* A sum of 2e38 stays within f32, as far as it goes down; behind alpha it does not. */
    const float edge = 2.6e18f;
    assert_int_equal(verdict_of(edge, 0, 1e-30, NULL, TSR_F32, INFINITY), 'w');
    assert_int_equal(verdict_of(edge, 0, 2, NULL, TSR_F32, INFINITY), 'o');
    assert_int_equal(verdict_of(edge, 0, 2, NULL, TSR_F32, -INFINITY), 'w');
}

/* What kernels make of such sums passes; the diagonal's are of one sign, others of both. */
static void expect_overflow(const char *device, const char *kernel, tsr_dtype dtype)
{
    enum { STEPS = 200 };
    static float a[SIDE * STEPS], d[SIDE * SIDE];
    tsr_context *context = NULL;
    tsr_plan *plan = NULL;
    lab_answer answer;
    lab_random random = lab_random_make(9, 0);
    if (tsr_context_create(device, NULL, &context) != TSR_OK)
        return; /* no emulator */
    for (int64_t i = 0; i < (int64_t)SIDE * STEPS; i++)
        tsr_store_element(dtype, a, i, 1e20 * ((double)lab_random_below(&random, 4097) / 2048 - 1));
    tsr_gemm_desc desc = tsr_gemm_desc_make(dtype, SIDE, SIDE, STEPS);
    tsr_run_args args = tsr_run_args_make(a, a, d);
    desc.b.trans = TSR_T;
    desc.c.dtype = desc.d.dtype = TSR_F32;
    desc.kernel = kernel;
    args.alpha.value = 1e-30;
    assert_int_equal(tsr_plan_create(context, &desc, &plan), TSR_OK);
    assert_int_equal(tsr_plan_run(plan, &args), TSR_OK);
    assert_int_equal(lab_check_answer(&desc, &args, tsr_plan_kernel(plan), 1e9, 1, &answer), TSR_OK);
    if (answer.failed)
        fail_msg("%s: %d wrong, value %g, reference %g", tsr_plan_kernel(plan), (int)answer.failed, answer.value,
                 answer.reference);
    assert_true(answer.unbound >= SIDE);
    d[SIDE + 1] = 1; /* of the diagonal */
    assert_int_equal(lab_check_answer(&desc, &args, tsr_plan_kernel(plan), 1e9, 1, &answer), TSR_OK);
    assert_int_equal(answer.failed, 1);
    tsr_plan_release(plan);
    tsr_context_destroy(context);
}

static void test_kernels_overflow(void **state)
{
    (void)state;
    expect_overflow("cpu", "cpu-sequential", TSR_F32);
    expect_overflow("cpu", "cpu-tiled", TSR_F32);
    expect_overflow("cpu", "cpu-tiled", TSR_BF16);
    expect_overflow("emu", "tiled_f32_t16", TSR_F32);
    expect_overflow("emu", "mma_bf16_f32_128x128_a1", TSR_BF16);
}

static void test_roundings_of_one_sign(void **state)
{
    (void)state;
    expect_right("cpu", "cpu-sequential", TSR_F32, STEPS_MAX, 1);
    expect_right("cpu", "cpu-tiled", TSR_F32, STEPS_MAX, 0);
    expect_right("emu", "wmma_small_f16_f32_32x32_a1", TSR_F16, 2048, 0);
    expect_right("emu", "mma_bf16_f32_128x128_a1", TSR_BF16, 4096, 0);
}

/* In tf32 operands are rounded once, however long the sums are. */
static void test_tf32_is_bounded(void **state)
{
    (void)state;
    enum { STEPS = 16384 };
    static float a[SIDE * STEPS], b[SIDE * STEPS], d[SIDE * SIDE];
    static double sums[SIDE * SIDE];
    lab_answer answer;
    tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F32, SIDE, SIDE, STEPS);
    tsr_run_args args = tsr_run_args_make(a, b, d);
    lab_fill(LAB_FILL_NORMAL, 0, TSR_F32, a, SIDE * STEPS, 1);
    lab_fill(LAB_FILL_NORMAL, 0, TSR_F32, b, SIDE * STEPS, 2);
    for (int i = 0; i < SIDE * SIDE; i++) {
        for (int k = 0; k < STEPS; k++)
            sums[i] += (double)a[i / SIDE * STEPS + k] * (double)b[k * SIDE + i % SIDE];
        d[i] = (float)sums[i];
    }
    desc.compute = TSR_COMPUTE_TF32;
    assert_int_equal(lab_check_answer(&desc, &args, "wgmma_kmajor_tf32_64x64_c1", 1e9, 1, &answer), TSR_OK);
    assert_int_equal(answer.failed, 0);
    memset(d, 0, sizeof d);
    assert_int_equal(lab_check_answer(&desc, &args, "wgmma_kmajor_tf32_64x64_c1", 1e9, 1, &answer), TSR_OK);
    assert_true(answer.failed > SIDE * SIDE / 2);
}

/* Sums that overflow f64 on the way have no bound, so that nothing is said of them. */
static void test_overflow_of_f64(void **state)
{
    (void)state;
    double a[3] = {-1e308, 1e308, 1e308}, b[3] = {1, 1, 1}, d = -7;
    lab_answer answer;
    const tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F64, 1, 1, 3);
    const tsr_run_args args = tsr_run_args_make(a, b, &d);
    assert_int_equal(lab_check_answer(&desc, &args, "cpu_tiled_f64", 1e9, 1, &answer), TSR_OK);
    assert_int_equal(answer.unbound, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_convert),
        cmocka_unit_test(test_count_lost),
        cmocka_unit_test(test_subnormal_values),
        cmocka_unit_test(test_right_answer),
        cmocka_unit_test(test_wrong_element),
        cmocka_unit_test(test_special_values),
        cmocka_unit_test(test_overflow),
        cmocka_unit_test(test_sample),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_truncated_sums),
        cmocka_unit_test(test_roundings_of_one_sign),
        cmocka_unit_test(test_tf32_is_bounded),
        cmocka_unit_test(test_overflow_of_f64),
        cmocka_unit_test(test_overflow_before_alpha),
        cmocka_unit_test(test_kernels_overflow),
        cmocka_unit_test(test_infinite_scale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
