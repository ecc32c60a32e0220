/* TSR_BATCH_INVARIANT: which rows it leaves, and that all of them give the same bits for each M, in the emulator.
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

static const tsr_row *row_of(const char *instance)
{
    for (size_t i = 0; i < tsr_row_count(); i++)
        if (strcmp(tsr_row_at(i)->instance, instance) == 0)
            return tsr_row_at(i);
    fail_msg("no row %s", instance);
    return NULL;
}

/* The order of the kernel that is chosen for m rows. */
static tsr_order chosen_order(const product *p, long long m)
{
    tsr_gemm_desc desc = p->desc;
    tsr_plan *plan = NULL;
    desc.m = m;
    assert_int_equal(tsr_plan_create(p->context, &desc, &plan), TSR_OK);
    const tsr_order order = row_of(tsr_plan_kernel(plan))->order;
    tsr_plan_release(plan);
    return order;
}

/* Every row of the chosen order, and the library's choice at each M, against the choice at the largest M. */
static void check(tsr_context *context, tsr_dtype ab, tsr_dtype cd, tsr_compute compute)
{
    static const long long few[] = {MOST_M, 64, 17, 1}, many[] = {256, 255, 200, 129, 128, 127, 96, 65, 63, 33, 5, 2};
    product p = product_make(context, ab, cd, compute);
    char *expected = malloc(p.out_bytes), *got = malloc(p.out_bytes);
    const tsr_order order = chosen_order(&p, MOST_M);
    int rows = 0;
    assert_true(order >= TSR_ORDER_FMA);
    assert_true(run(&p, NULL, MOST_M, expected));
    for (size_t i = 0; i < tsr_row_count(); i++) {
        const tsr_row *row = tsr_row_at(i);
        if (row->order != order || row->dtype_ab != ab || row->dtype_cd != cd || row->compute != compute)
            continue;
        for (size_t j = 0; j < sizeof few / sizeof few[0]; j++) {
            memset(got, 0x5a, p.out_bytes);
            if (!run(&p, row->instance, few[j], got))
                break;
            if (memcmp(got, expected, (size_t)few[j] * N * tsr_dtype_bytes(cd)) != 0)
                fail_msg("%s gives other bits for M = %lld", row->instance, few[j]);
            rows += j == 0;
        }
    }
    assert_true(rows > 0);
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
 * within a stage, no row may add what lies beyond. K is three boxes of 64, of which some rows take two at a time. */
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
    int rows = 0;
    for (size_t i = 0; i < tsr_row_count(); i++) {
        const tsr_row *row = tsr_row_at(i);
        if (row->order != TSR_ORDER_WGMMA || row->dtype_ab != TSR_BF16 || row->dtype_cd != TSR_BF16)
            continue;
        assert_true(run(&p, row->instance, M, got));
        for (int j = 0; j < M * N; j++)
            if (got[j] != MINUS_ZERO)
                fail_msg("%s: element %d is 0x%04x", row->instance, j, got[j]);
        rows++;
    }
    assert_true(rows > 1);
    product_free(&p);
    tsr_context_destroy(context);
}

/* On a CPU: the row that sums in order, though it is the slowest; others, asked for by name, are refused. */
static void a_cpu_keeps_the_promise(void **state)
{
    (void)state;
    tsr_context *context = NULL;
    tsr_plan *plan = NULL;
    assert_int_equal(tsr_context_create("cpu", NULL, &context), TSR_OK);
    tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F32, 33, 20, 10);
    desc.flags = TSR_BATCH_INVARIANT;
    assert_int_equal(tsr_plan_create(context, &desc, &plan), TSR_OK);
    assert_string_equal(tsr_plan_kernel(plan), "cpu_sequential_f32");
    tsr_plan_release(plan);
    desc.kernel = "cpu-tiled";
    assert_int_equal(tsr_plan_create(context, &desc, &plan), TSR_UNSUPPORTED);
    assert_non_null(strstr(tsr_last_error(), "not batch-invariant"));
    desc.flags = 0;
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
        cmocka_unit_test(a_sum_cut_to_nothing_keeps_its_sign),
        cmocka_unit_test(a_cpu_keeps_the_promise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
