/* The forms of an epilogue: which texts there are, what a run must bring, and the bits of D by every algorithm and
 * instruction set of the CPU: those of acc, then + bias, then relu, rounded to D's dtype once. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/context.h"
#include "core/dtype.h"
#include "core/forms.h"
#include "sanitized.h"

static const char bias_text[] = "acc + bias[n]", relu_text[] = "relu(acc + bias[n])";

static void expect(tsr_status got, tsr_status status, const char *message)
{
    if (got != status || !strstr(tsr_last_error(), message))
        print_error("got %s: \"%s\"; expected \"%s\"\n", tsr_status_text(got), tsr_last_error(), message);
    assert_int_equal(got, status);
    assert_non_null(strstr(tsr_last_error(), message));
}

/* ---- texts ---- */

static void texts_without_their_blanks(void **state)
{
    static const char *const good[] = {bias_text, "acc+bias[n]", " acc +\tbias [ n ] "};
    static const char *const good_relu[] = {relu_text, "relu(acc+bias[n])", "relu ( acc + bias[n] )"};
    static const char *const bad[] = {"",
                                      "acc",
                                      "bias[n] + acc",
                                      "ac c + bias[n]",
                                      "acc + bias[m]",
                                      "relu(acc)",
                                      "acc + bias[n]x",
                                      "acc + bias[n",
                                      "Relu(acc + bias[n])"};
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_int_equal(tsr_form_of(good[i]), TSR_EPILOGUE_BIAS);
        assert_int_equal(tsr_form_of(good_relu[i]), TSR_EPILOGUE_BIAS_RELU);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(tsr_form_of(bad[i]), TSR_EPILOGUE_NONE);
    for (int form = 1; form < TSR_EPILOGUE_COUNT; form++)
        assert_int_equal(tsr_form_of(tsr_form_text(form)), form);
    assert_null(tsr_form_text(TSR_EPILOGUE_NONE));
}

/* ---- rules ---- */

static void a_bias_must_be_there_and_nowhere_else(void **state)
{
    tsr_context *const context = *state;
    float a[15] = {0}, b[20] = {0}, d[40] = {0}, bias[4] = {1, 2, 3, 4};
    tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F32, 3, 4, 5);
    tsr_run_args args = tsr_run_args_make(a, b, d);
    args.bias = bias;
    expect(tsr_gemm(context, &desc, &args), TSR_INVALID_ARGUMENT, "bias: must be NULL");
    desc.epilogue = relu_text;
    assert_int_equal(tsr_gemm(context, &desc, &args), TSR_OK);
    args.bias = NULL;
    expect(tsr_gemm(context, &desc, &args), TSR_INVALID_ARGUMENT,
           "bias = NULL: the epilogue \"relu(acc + bias[n])\" reads it");
    args.bias = (char *)bias + 2;
    expect(tsr_gemm(context, &desc, &args), TSR_INVALID_ARGUMENT, "not aligned to the 4 bytes of an element of D");
    args.bias = d + 11; /* D's last element */
    expect(tsr_gemm(context, &desc, &args), TSR_INVALID_ARGUMENT, "bias: overlaps D");
    args.bias = d + 12;
    assert_int_equal(tsr_gemm(context, &desc, &args), TSR_OK);
    desc.d.ld = 9; /* between the rows of D is no D */
    args.bias = d + 5;
    assert_int_equal(tsr_gemm(context, &desc, &args), TSR_OK);
    args.bias = d + 6;
    expect(tsr_gemm(context, &desc, &args), TSR_INVALID_ARGUMENT, "bias: overlaps D");
    desc.m = 0; /* nothing is read */
    args.bias = NULL;
    assert_int_equal(tsr_gemm(context, &desc, &args), TSR_OK);
}

static void other_texts_are_refused_by_name(void **state)
{
    tsr_context *const context = *state;
    tsr_plan *plan = NULL;
    tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F32, 3, 4, 5);
    desc.epilogue = "gelu(acc)";
    expect(tsr_plan_create(context, &desc, &plan), TSR_UNSUPPORTED,
           "epilogue = \"gelu(acc)\": only \"acc + bias[n]\" and \"relu(acc + bias[n])\"");
    char text[200];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    desc.epilogue = text;
    expect(tsr_plan_create(context, &desc, &plan), TSR_UNSUPPORTED, "xxx...\": only");
}

/* ---- values ---- */

/* relu keeps NaN and -0; with no product the bias is still added. */
static void special_values(void **state)
{
    tsr_context *const context = *state;
    const float a[1] = {1}, b[6] = {NAN, -0.0f, -3, 3, INFINITY, -INFINITY};
    const float bias[6] = {1, -0.0f, 1, 1, 1, 1};
    float d[6] = {0}, c[6] = {1, 2, 3, 4, 5, 6};
    tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F32, 1, 6, 1);
    tsr_run_args args = tsr_run_args_make(a, b, d);
    args.bias = bias;
    desc.epilogue = relu_text;
    for (int sequential = 0; sequential < 2; sequential++) {
        desc.kernel = sequential ? "cpu-sequential" : NULL;
        args.alpha.value = 1;
        args.beta.value = 0;
        assert_int_equal(tsr_gemm(context, &desc, &args), TSR_OK);
        assert_true(isnan(d[0]));
        assert_true(d[1] == 0);
        assert_true(d[2] == 0 && d[3] == 4 && isinf(d[4]) && d[5] == 0);
        args.alpha.value = 0;
        args.beta.value = -1;
        args.c = c;
        assert_int_equal(tsr_gemm(context, &desc, &args), TSR_OK);
        assert_true(d[0] == 0 && d[3] == 0);
        args.beta.value = 1;
        assert_int_equal(tsr_gemm(context, &desc, &args), TSR_OK);
        assert_true(d[0] == 2 && d[1] == 2 && d[5] == 7);
    }
    args.alpha.value = 1;
    args.beta.value = 0;
    desc.k = 0;
    desc.kernel = NULL;
    assert_int_equal(tsr_gemm(context, &desc, &args), TSR_OK);
    for (int j = 0; j < 6; j++)
        assert_true(d[j] == bias[j]);
}

static void minus_zero_stays(void **state)
{
    tsr_context *const context = *state;
    enum { N = 37 };
    float a[1] = {-0.0f}, b[N], d[N], bias[N];
    for (int j = 0; j < N; j++) {
        b[j] = 1;
        bias[j] = -0.0f;
    }
    tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F32, 1, N, 1);
    tsr_run_args args = tsr_run_args_make(a, b, d);
    args.c = bias;
    args.beta.value = 1;
    args.alpha.value = 0; /* acc is C, -0 */
    args.bias = bias;
    desc.epilogue = relu_text;
    assert_int_equal(tsr_gemm(context, &desc, &args), TSR_OK);
    for (int j = 0; j < N; j++)
        assert_true(d[j] == 0 && signbit(d[j]));
}

/* ---- bits ---- */

typedef struct shape {
    int64_t m, n, k, batch;
    int layouts; /* tried */
} shape;

/* By the caches that profile() has: GEMV, skinny, small, rank-k without a form, blocked with K whole and in parts. */
static const shape shapes[] = {
    {1, 300, 200, 1, 4}, {300, 1, 200, 1, 4}, {3, 1500, 500, 1, 4},   {1500, 3, 500, 1, 4}, {2, 20, 200, 1, 4},
    {20, 2, 200, 1, 4},  {5, 7, 9, 3, 4},     {40, 60, 200, 1, 4},    {200, 130, 70, 1, 4}, {33, 35, 40, 5, 2},
    {700, 400, 4, 1, 2}, {90, 500, 1, 1, 2},  {257, 263, 1031, 1, 4}, {520, 500, 49, 1, 2}, {1, 1000, 1000, 1, 2},
};

/* "": this processor's own, the one that operands are prepared for. */
static const char *const isas[] = {"", "plain", "neon", "avx2", "avx512", "avx512+pairs", "zen4", "zen4+pairs"};

static tsr_context *context_of(const char *isa)
{
    const tsr_cpu_profile profile = {.isa = isa, .l1_bytes = 32 << 10, .l2_bytes = 256 << 10, .l3_bytes = 512 << 10};
    const tsr_context_options options = {.struct_bytes = sizeof options, .threads = 2};
    tsr_context *context = NULL;
    return tsr_context_open("cpu", &options, isa[0] ? &profile : NULL, &context) == TSR_OK ? context : NULL;
}

/* Whole numbers and halves: sums are exact in f32, whatever the dtype. */
static void fill(tsr_dtype dtype, void *to, int64_t count, uint32_t seed)
{
    for (int64_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        tsr_store_element(dtype, to, i, (double)((int)(seed >> 24) % 9 - 4) / 2);
    }
}

static void *filled(tsr_dtype dtype, int64_t count, uint32_t seed)
{
    void *const memory = malloc((size_t)(count + 1) * tsr_dtype_bytes(dtype));
    assert_non_null(memory);
    fill(dtype, memory, count, seed);
    return memory;
}

typedef struct trial {
    tsr_context *context;
    tsr_gemm_desc desc;
    tsr_run_args args;
    void *a, *b, *c, *bias, *d, *acc;
    int64_t elements;
} trial;

static tsr_status run(const trial *t, const char *epilogue, void *d, int prepared)
{
    tsr_gemm_desc desc = t->desc;
    tsr_run_args args = t->args;
    tsr_plan *plan = NULL;
    tsr_prepared *a = NULL, *b = NULL;
    desc.epilogue = epilogue;
    args.d = d;
    args.bias = epilogue ? t->bias : NULL;
    tsr_status status = tsr_plan_create(t->context, &desc, &plan);
    if (status == TSR_OK && prepared && tsr_prepare(plan, 'a', t->a, &a) == TSR_OK &&
        tsr_prepare(plan, 'b', t->b, &b) == TSR_OK) {
        args.prepared_a = a;
        args.prepared_b = b;
    }
    if (status == TSR_OK)
        status = tsr_plan_run(plan, &args);
    tsr_prepared_release(a);
    tsr_prepared_release(b);
    tsr_plan_release(plan);
    return status;
}

/* acc as the f32 or f64 that it is: D where elements are not widened. For the others it is computed: it is exact. */
static double acc_of(const trial *t, int64_t z, int64_t i, int64_t j)
{
    const tsr_gemm_desc *g = &t->desc;
    const tsr_dtype dtype = g->d.dtype;
    if (dtype == TSR_F32 || dtype == TSR_F64)
        return tsr_load_element(dtype, t->acc, z * g->d.batch_stride + i * g->n + j);
    const int ta = g->a.trans == TSR_T, tb = g->b.trans == TSR_T;
    double sum = 0;
    for (int64_t p = 0; p < g->k; p++)
        sum += tsr_load_element(dtype, t->a, z * g->a.batch_stride + (ta ? p * g->m + i : i * g->k + p)) *
               tsr_load_element(dtype, t->b, z * g->b.batch_stride + (tb ? j * g->k + p : p * g->n + j));
    const double c = tsr_load_element(dtype, t->c, z * g->d.batch_stride + i * g->n + j);
    return t->args.alpha.value * sum + t->args.beta.value * c;
}

static void check(const trial *t, int form, const char *what)
{
    const tsr_gemm_desc *g = &t->desc;
    const tsr_dtype dtype = g->d.dtype;
    for (int64_t at = 0; at < t->elements; at++) {
        const int64_t z = at / (g->m * g->n), i = at / g->n % g->m, j = at % g->n;
        if (g->n * g->m * g->k > 20000000 && (i * 7 + j) % 13) /* long sums of narrow types: a part */
            continue;
        double value = acc_of(t, z, i, j) + tsr_load_element(dtype, t->bias, j);
        if (dtype != TSR_F64)
            value = (double)(float)value;
        if (form == TSR_EPILOGUE_BIAS_RELU && value < 0)
            value = 0;
        uint64_t want = 0;
        tsr_store_element(dtype, &want, 0, value);
        if (memcmp((char *)t->d + (size_t)at * tsr_dtype_bytes(dtype), &want, tsr_dtype_bytes(dtype)) != 0)
            fail_msg("%s: problem %lld, D[%lld, %lld] is %.17g, not %.17g", what, (long long)z, (long long)i,
                     (long long)j, tsr_load_element(dtype, t->d, at), value);
    }
}

static void try_shape(tsr_context *context, const char *isa, tsr_dtype dtype, const shape *s, int layout, int round)
{
    trial t = {.context = context, .elements = s->m * s->n * s->batch};
    const size_t d_bytes = (size_t)t.elements * tsr_dtype_bytes(dtype);
    const int form = 1 + round % 2, in_place = round >> 1 & 1;
    char what[120];
    t.desc = tsr_gemm_desc_make(dtype, s->m, s->n, s->k);
    t.desc.a.trans = layout & 1 ? TSR_T : TSR_N;
    t.desc.b.trans = layout >> 1 ? TSR_T : TSR_N;
    t.desc.batch_count = s->batch;
    t.desc.a.batch_stride = s->m * s->k;
    t.desc.b.batch_stride = s->k * s->n;
    t.desc.c.batch_stride = t.desc.d.batch_stride = s->m * s->n;
    t.a = filled(dtype, s->m * s->k * s->batch, 1);
    t.b = filled(dtype, s->k * s->n * s->batch, 2);
    t.c = filled(dtype, t.elements, 3);
    t.bias = filled(dtype, s->n, 4);
    t.d = filled(dtype, t.elements, 3);
    t.acc = filled(dtype, t.elements, 3);
    t.args = tsr_run_args_make(t.a, t.b, NULL);
    t.args.alpha.value = round % 3 == 2 ? 0.5 : 1;
    t.args.beta.value = round % 4 >= 2 ? 1 : 0;
    snprintf(what, sizeof what, "%s %s %dx%dx%d batch %d layout %d round %d", isa, tsr_dtype_name(dtype), (int)s->m,
             (int)s->n, (int)s->k, (int)s->batch, layout, round);
    t.args.c = in_place ? t.acc : t.c;
    assert_int_equal(run(&t, NULL, t.acc, 0), TSR_OK);
    t.args.c = in_place ? t.d : t.c;
    if (run(&t, tsr_form_text(form), t.d, !isa[0] && round % 3 == 1) != TSR_OK)
        fail_msg("%s: %s", what, tsr_last_error());
    check(&t, form, what);
    memcpy(t.d, t.c, d_bytes); /* without a form again: a plan of its own */
    assert_int_equal(run(&t, NULL, t.d, 0), TSR_OK);
    assert_memory_equal(t.d, t.acc, d_bytes);
    free(t.a);
    free(t.b);
    free(t.c);
    free(t.bias);
    free(t.d);
    free(t.acc);
}

static void every_algorithm_and_instruction_set(void **state)
{
    static const tsr_dtype dtypes[] = {TSR_F32, TSR_F64, TSR_BF16, TSR_F16};
    int tried = 0, round = 0;
    (void)state;
    for (size_t i = 0; i < sizeof isas / sizeof isas[0]; i++) {
        tsr_context *const context = context_of(isas[i]);
        if (!context) {
            print_message("%s: not run, this processor or build lacks it\n", isas[i]);
            continue;
        }
        tried++;
        for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++)
            for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
                for (int layout = 0; layout < shapes[s].layouts; layout++, round++)
                    if (!is_left_out((unsigned)round, 3))
                        try_shape(context, isas[i], dtypes[d], &shapes[s], layout, round);
        tsr_context_destroy(context);
    }
    assert_true(tried > 0);
}

/* 256 + 1 is no bf16, 256 + 1 + 1 is: rounded once it is 258, rounded before the bias is added it would be 256. */
static void values_are_rounded_once(void **state)
{
    tsr_context *const context = *state;
    enum { M = 70, N = 66, K = 5 };
    static uint16_t a[M * K], b[K * N], c[M * N], d[M * N], bias[N];
    const uint16_t one = tsr_f32_to_bf16(1), big = tsr_f32_to_bf16(256);
    for (int i = 0; i < M * K; i++)
        a[i] = i % K == 0 ? big : i % K == 1 ? one : 0;
    for (int i = 0; i < K * N; i++)
        b[i] = one;
    for (int j = 0; j < N; j++)
        bias[j] = one;
    for (int sequential = 0; sequential < 2; sequential++) {
        tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_BF16, M, N, K);
        tsr_run_args args = tsr_run_args_make(a, b, d);
        args.bias = bias;
        args.c = c;
        args.beta.value = sequential;
        desc.epilogue = bias_text;
        desc.kernel = sequential ? "cpu-sequential" : NULL;
        assert_int_equal(tsr_gemm(context, &desc, &args), TSR_OK);
        for (int i = 0; i < M * N; i++)
            assert_int_equal(d[i], tsr_f32_to_bf16(258));
    }
}

static int open_cpu(void **state)
{
    tsr_context *context = NULL;
    if (tsr_context_create("cpu", NULL, &context) != TSR_OK)
        return -1;
    *state = context;
    return 0;
}

static int close_cpu(void **state)
{
    tsr_context_destroy(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_without_their_blanks),
        cmocka_unit_test(a_bias_must_be_there_and_nowhere_else),
        cmocka_unit_test(other_texts_are_refused_by_name),
        cmocka_unit_test(special_values),
        cmocka_unit_test(minus_zero_stays),
        cmocka_unit_test(every_algorithm_and_instruction_set),
        cmocka_unit_test(values_are_rounded_once),
    };
    return cmocka_run_group_tests(tests, open_cpu, close_cpu);
}
