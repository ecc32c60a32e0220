/* mma.sp's twin by the documented layout of its registers, and kernel sparse24 in the emulator through the public
 * functions: results of whole numbers, which are exact, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/dtype.h"
#include "core/sparse24.h"
#include "emu/run_launch.h"

typedef void kernel(const tsr_gemm_args args);
kernel emu_test_mma_sparse_bf16_0, emu_test_mma_sparse_bf16_1, emu_test_mma_sparse_f16_0, emu_test_mma_sparse_f16_1;
kernel emu_test_mma_sparse_tf32_0, emu_test_mma_sparse_tf32_1, emu_test_mma_sparse_tf32_bad;
kernel emu_test_mma_sparse_int8_00, emu_test_mma_sparse_int8_01, emu_test_mma_sparse_int8_10;
kernel emu_test_mma_sparse_int8_11, emu_test_mma_sparse_e4m3, emu_test_mma_sparse_bad;

static void expect(tsr_status got, tsr_status status, const char *message)
{
    if (got != status || !strstr(tsr_last_error(), message))
        print_error("got %s: \"%s\"; expected \"%s\"\n", tsr_status_text(got), tsr_last_error(), message);
    assert_int_equal(got, status);
    assert_non_null(strstr(tsr_last_error(), message));
}

/* All of 8-bit integers, whose sums are exact: the upper half tells s8 from u8. */
static void fill(tsr_dtype dtype, void *array, int count, unsigned seed)
{
    for (int i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        const int word = (int)(seed >> 24);
        tsr_store_element(dtype, array, i, dtype == TSR_U8 ? word : dtype == TSR_S8 ? word - 128 : word % 9 - 4);
    }
}

/* ---- the instruction ---- */

enum { ROWS = 16, COLUMNS = 8, MOST_K = 64 };

static tsr_status run_one(kernel *function, const tsr_gemm_args *args, tsr_dtype dtype_a, tsr_dtype dtype_b,
                          tsr_dtype sums)
{
    const tsr_emu_job job = {.name = "mma_sparse",
                             .kernel = function,
                             .args = args,
                             .dtype_a = dtype_a,
                             .dtype_b = dtype_b,
                             .dtype_c = sums,
                             .dtype_d = sums,
                             .grid = {1, 1, 1},
                             .threads_x = 32,
                             .threads_y = 1,
                             .workers = 1};
    return tsr_emu_run(&job);
}

static tsr_gemm_args one_product(void *a, void *b, void *c, void *d, int k)
{
    return (tsr_gemm_args){.a = a,
                           .b = b,
                           .c = c,
                           .d = d,
                           .m = ROWS,
                           .n = COLUMNS,
                           .k = k,
                           .lda = k,
                           .ldb = COLUMNS,
                           .ldc = COLUMNS,
                           .ldd = COLUMNS,
                           .batch = 1,
                           .alpha = 1,
                           .beta = 1};
}

static void check_instruction(kernel *function, tsr_dtype dtype, tsr_dtype dtype_b, int k)
{
    const tsr_dtype sums = tsr_dtype_is_integer(dtype) ? TSR_S32 : TSR_F32;
    uint32_t a[ROWS * MOST_K], b[MOST_K * COLUMNS], c[ROWS * COLUMNS], d[ROWS * COLUMNS];
    tsr_gemm_desc desc = tsr_gemm_desc_make(dtype, ROWS, COLUMNS, k);
    desc.b.dtype = dtype_b;
    desc.compute = dtype == TSR_F32 ? TSR_COMPUTE_TF32 : TSR_COMPUTE_DEFAULT;
    for (unsigned seed = 1; seed < 5; seed++) {
        const tsr_gemm_args args = one_product(a, b, c, d, k);
        fill(dtype, a, ROWS * k, seed);
        fill(dtype_b, b, k * COLUMNS, 10 + seed);
        fill(sums, c, ROWS * COLUMNS, 20 + seed);
        assert_int_equal(tsr_prune24(&desc, 'a', a, NULL), TSR_OK);
        expect(run_one(function, &args, dtype, dtype_b, sums), TSR_OK, "");
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < COLUMNS; j++) {
                double sum = tsr_load_element(sums, c, i * COLUMNS + j);
                for (int x = 0; x < k; x++)
                    sum += tsr_load_element(dtype, a, i * k + x) * tsr_load_element(dtype_b, b, x * COLUMNS + j);
                assert_true(tsr_load_element(sums, d, i * COLUMNS + j) == sum);
            }
    }
}

static void the_instruction_follows_its_layout(void **state)
{
    (void)state;
    check_instruction(emu_test_mma_sparse_tf32_0, TSR_F32, TSR_F32, 16);
    check_instruction(emu_test_mma_sparse_tf32_1, TSR_F32, TSR_F32, 16);
    check_instruction(emu_test_mma_sparse_bf16_0, TSR_BF16, TSR_BF16, 32);
    check_instruction(emu_test_mma_sparse_bf16_1, TSR_BF16, TSR_BF16, 32);
    check_instruction(emu_test_mma_sparse_f16_0, TSR_F16, TSR_F16, 32);
    check_instruction(emu_test_mma_sparse_f16_1, TSR_F16, TSR_F16, 32);
    check_instruction(emu_test_mma_sparse_int8_00, TSR_S8, TSR_S8, 64);
    check_instruction(emu_test_mma_sparse_int8_01, TSR_S8, TSR_U8, 64);
    check_instruction(emu_test_mma_sparse_int8_10, TSR_U8, TSR_S8, 64);
    check_instruction(emu_test_mma_sparse_int8_11, TSR_U8, TSR_U8, 64);
    check_instruction(emu_test_mma_sparse_e4m3, TSR_E4M3, TSR_E4M3, 64);
}

static void indices_that_do_not_ascend_end_the_kernel(void **state)
{
    uint32_t a[ROWS * MOST_K] = {0}, b[MOST_K * COLUMNS] = {0}, c[ROWS * COLUMNS] = {0}, d[ROWS * COLUMNS];
    const tsr_gemm_args args = one_product(a, b, c, d, 64);
    (void)state;
    expect(run_one(emu_test_mma_sparse_bad, &args, TSR_S8, TSR_S8, TSR_S32), TSR_KERNEL_FAULT,
           "the two indices of a group of metadata do not ascend");
    const tsr_gemm_args of_tf32 = one_product(a, b, c, d, 16);
    expect(run_one(emu_test_mma_sparse_tf32_bad, &of_tf32, TSR_F32, TSR_F32, TSR_F32), TSR_KERNEL_FAULT,
           "metadata of tf32 is neither 0100 nor 1110");
}

/* ---- the kernel ---- */

typedef struct product {
    int m, n, k, trans_a, trans_b;
    char which;
    tsr_dtype ab, cd;
    const char *kernel;
    tsr_dtype b; /* TSR_DTYPE_NONE: as A */
} product;

enum { MOST = 260 * 300 };

static void check_product(tsr_context *context, const product *p)
{
    uint32_t *const a = calloc(MOST, 4), *const b = calloc(MOST, 4), *const d = calloc(MOST, 4);
    const tsr_dtype type_b = p->b == TSR_DTYPE_NONE ? p->ab : p->b;
    tsr_gemm_desc desc = tsr_gemm_desc_make(p->ab, p->m, p->n, p->k);
    tsr_plan *plan;
    tsr_prepared *prepared, *imported;
    size_t values_bytes, metadata_bytes;
    assert_true(a && b && d);
    desc.b.dtype = type_b;
    desc.c.dtype = desc.d.dtype = p->cd;
    desc.compute = p->ab == TSR_F32 ? TSR_COMPUTE_TF32 : TSR_COMPUTE_DEFAULT;
    desc.a.trans = p->trans_a ? TSR_T : TSR_N;
    desc.b.trans = p->trans_b ? TSR_T : TSR_N;
    fill(p->ab, a, p->m * p->k, 1);
    fill(type_b, b, p->k * p->n, 2);
    assert_int_equal(tsr_prune24(&desc, p->which, p->which == 'a' ? a : b, NULL), TSR_OK);
    desc.flags = p->which == 'a' ? TSR_SPARSE24_A : TSR_SPARSE24_B;
    desc.kernel = p->kernel;
    expect(tsr_plan_create(context, &desc, &plan), TSR_OK, "");
    assert_int_equal(tsr_bytes24(&desc, p->which, &values_bytes, &metadata_bytes), TSR_OK);
    char *const compressed = malloc(values_bytes + metadata_bytes);
    assert_non_null(compressed);
    void *const data = p->which == 'a' ? a : b;
    assert_int_equal(tsr_compress24(plan, p->which, data, &prepared), TSR_OK);
    assert_int_equal(tsr_pack24(&desc, p->which, data, compressed, compressed + values_bytes), TSR_OK);
    assert_int_equal(tsr_import24(plan, p->which, compressed, compressed + values_bytes, &imported), TSR_OK);
    for (int i = 0; i < 2; i++) {
        tsr_run_args args = tsr_run_args_make(a, b, d);
        *(p->which == 'a' ? &args.prepared_a : &args.prepared_b) = i ? imported : prepared;
        *(p->which == 'a' ? &args.a : &args.b) = NULL;
        memset(d, 0xff, MOST * 4);
        expect(tsr_plan_run(plan, &args), TSR_OK, "");
        for (int row = 0; row < p->m; row++)
            for (int column = 0; column < p->n; column++) {
                double sum = 0;
                for (int k = 0; k < p->k; k++)
                    sum += tsr_load_element(p->ab, a, p->trans_a ? k * p->m + row : row * p->k + k) *
                           tsr_load_element(type_b, b, p->trans_b ? column * p->k + k : k * p->n + column);
                assert_true(tsr_load_element(p->cd, d, row * p->n + column) == sum);
            }
    }
    tsr_prepared_release(prepared);
    tsr_prepared_release(imported);
    tsr_plan_release(plan);
    free(compressed);
    free(a);
    free(b);
    free(d);
}

static void products_are_exact(void **state)
{
    static const product products[] = {
        {130, 70, 131, 0, 0, 'a', TSR_BF16, TSR_F32, "sparse24", TSR_DTYPE_NONE},
        {70, 130, 131, 1, 1, 'b', TSR_BF16, TSR_F32, "sparse24", TSR_DTYPE_NONE},
        {40, 150, 72, 0, 1, 'b', TSR_F16, TSR_F32, "sparse24", TSR_DTYPE_NONE},
        {33, 20, 259, 1, 0, 'a', TSR_F16, TSR_F32, "sparse24", TSR_DTYPE_NONE},
        {130, 40, 130, 0, 0, 'a', TSR_S8, TSR_S32, "sparse24", TSR_DTYPE_NONE},
        {50, 140, 259, 1, 0, 'b', TSR_S8, TSR_F32, "sparse24", TSR_DTYPE_NONE},
        {50, 140, 130, 1, 0, 'b', TSR_U8, TSR_S32, "sparse24", TSR_U8},
        {130, 40, 130, 0, 0, 'a', TSR_U8, TSR_S32, "sparse24", TSR_S8},
        {130, 40, 130, 0, 0, 'a', TSR_S8, TSR_F32, "sparse24", TSR_U8},
        {50, 140, 259, 1, 0, 'b', TSR_S8, TSR_S32, "sparse24", TSR_U8},
        {1, 1, 1, 0, 0, 'a', TSR_BF16, TSR_F32, "sparse24", TSR_DTYPE_NONE},
        {1, 1, 1, 0, 0, 'a', TSR_F32, TSR_F32, "sparse24", TSR_DTYPE_NONE},
        {130, 70, 131, 0, 0, 'a', TSR_F32, TSR_F32, "sparse24", TSR_DTYPE_NONE},
        {70, 130, 133, 1, 1, 'b', TSR_F32, TSR_F32, "sparse24", TSR_DTYPE_NONE},
        {40, 150, 66, 0, 1, 'b', TSR_F32, TSR_F32, "sparse24", TSR_DTYPE_NONE},
        {33, 20, 259, 1, 0, 'a', TSR_F32, TSR_F32, "sparse24", TSR_DTYPE_NONE},
        {260, 300, 131, 0, 0, 'a', TSR_F32, TSR_F32, "wgmma_sparse24_tf32_128x256_c2", TSR_DTYPE_NONE},
        {130, 200, 259, 1, 1, 'b', TSR_F32, TSR_F32, "wgmma_sparse24_tf32_128x256_c2", TSR_DTYPE_NONE},
        {130, 130, 133, 1, 0, 'b', TSR_F32, TSR_F32, "wgmma_sparse24_tf32_128x128_c1", TSR_DTYPE_NONE},
        {70, 66, 42, 1, 0, 'a', TSR_F32, TSR_F32, "wgmma_sparse24_tf32_64x64_c1", TSR_DTYPE_NONE},
        {1, 1, 1, 0, 0, 'b', TSR_F32, TSR_F32, "wgmma-sparse24", TSR_DTYPE_NONE},
        {260, 300, 131, 0, 0, 'a', TSR_BF16, TSR_F32, "wgmma_sparse24_bf16_128x256_c2", TSR_DTYPE_NONE},
        {130, 200, 259, 1, 1, 'b', TSR_F16, TSR_F32, "wgmma_sparse24_f16_128x256_c2", TSR_DTYPE_NONE},
        {260, 200, 131, 0, 0, 'a', TSR_F16, TSR_F32, "wgmma_sparse24_f16_256x192_c2", TSR_DTYPE_NONE},
        {40, 129, 131, 0, 0, 'b', TSR_BF16, TSR_F32, "wgmma_sparse24_bf16_256x192_c2", TSR_DTYPE_NONE},
        {260, 70, 200, 0, 1, 'a', TSR_F16, TSR_F32, "wgmma_sparse24_f16_128x192_c2", TSR_DTYPE_NONE},
        {40, 260, 131, 0, 0, 'b', TSR_BF16, TSR_F32, "wgmma_sparse24_bf16_128x192_c2", TSR_DTYPE_NONE},
        {130, 130, 131, 1, 0, 'b', TSR_BF16, TSR_F32, "wgmma_sparse24_bf16_128x128_c1", TSR_DTYPE_NONE},
        {70, 66, 40, 1, 0, 'a', TSR_BF16, TSR_F32, "wgmma_sparse24_bf16_64x64_c1", TSR_DTYPE_NONE},
        {130, 40, 130, 0, 0, 'a', TSR_S8, TSR_S32, "wgmma_sparse24_int8_128x256_c2", TSR_DTYPE_NONE},
        {50, 140, 259, 1, 0, 'b', TSR_S8, TSR_F32, "wgmma_sparse24_int8_128x128_c1", TSR_DTYPE_NONE},
        {130, 40, 130, 0, 0, 'a', TSR_U8, TSR_S32, "wgmma-sparse24", TSR_U8},
        {130, 40, 130, 0, 0, 'a', TSR_U8, TSR_S32, "wgmma-sparse24", TSR_S8},
        {50, 140, 259, 1, 0, 'b', TSR_U8, TSR_F32, "wgmma-sparse24", TSR_S8},
        {50, 140, 259, 1, 0, 'b', TSR_S8, TSR_S32, "wgmma-sparse24", TSR_U8},
        {65, 140, 259, 1, 0, 'b', TSR_E4M3, TSR_F32, "wgmma_sparse24_fp8_128x128_c1", TSR_DTYPE_NONE},
        {130, 70, 300, 0, 1, 'a', TSR_E5M2, TSR_F32, "wgmma_sparse24_fp8_64x64_c1", TSR_DTYPE_NONE},
        {1, 1, 1, 0, 0, 'a', TSR_BF16, TSR_F32, "wgmma-sparse24", TSR_DTYPE_NONE}};
    for (size_t i = 0; i < sizeof products / sizeof products[0]; i++)
        check_product(*state, &products[i]);
}

/* As in the dense kernels: mma's operands are rounded to the nearest tf32, of wgmma's the lower bits are cut off. */
static void f32_becomes_tf32_as_in_dense_kernels(void **state)
{
    static const struct {
        const char *sparse, *dense;
        float exact;
    } kernels[] = {{"sparse24", "mma", 1 + 0x1p-10f}, {"wgmma-sparse24", "wgmma-kmajor", 1}};
    const float a[4] = {0, 1 + 0x1.8p-11f, 0, 0}, b[4] = {5, 1, 5, 5};
    float d = 0;
    tsr_plan *plan;
    tsr_prepared *prepared;
    for (int i = 0; i < 2; i++)
        for (int swaps = 0; swaps < 2; swaps++) {
            tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F32, 1, 1, 4);
            tsr_run_args args = tsr_run_args_make(swaps ? b : a, swaps ? a : b, &d);
            desc.compute = TSR_COMPUTE_TF32;
            desc.kernel = kernels[i].dense;
            assert_int_equal(tsr_gemm(*state, &desc, &args), TSR_OK);
            assert_true(d == kernels[i].exact);
            desc.kernel = kernels[i].sparse;
            desc.flags = swaps ? TSR_SPARSE24_B : TSR_SPARSE24_A;
            assert_int_equal(tsr_plan_create(*state, &desc, &plan), TSR_OK);
            assert_int_equal(tsr_compress24(plan, swaps ? 'b' : 'a', a, &prepared), TSR_OK);
            *(swaps ? &args.prepared_b : &args.prepared_a) = prepared;
            assert_int_equal(tsr_plan_run(plan, &args), TSR_OK);
            assert_true(d == kernels[i].exact);
            tsr_prepared_release(prepared);
            tsr_plan_release(plan);
        }
}

static void kernels_say_which_operands_they_take(void **state)
{
    tsr_context *const emu = *state, *cpu;
    tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_BF16, 8, 8, 8);
    uint16_t a[64] = {0}, b[64] = {0}, d[64];
    tsr_run_args args = tsr_run_args_make(NULL, b, d);
    tsr_plan *plan, *on_cpu;
    tsr_prepared *prepared;
    desc.kernel = "sparse24";
    expect(tsr_plan_create(emu, &desc, &plan), TSR_UNSUPPORTED, "multiplies compressed operands alone");
    desc.kernel = "mma";
    desc.flags = TSR_SPARSE24_A;
    expect(tsr_plan_create(emu, &desc, &plan), TSR_UNSUPPORTED, "reads whole operands alone; A is compressed 2:4");
    desc.kernel = NULL;
    assert_int_equal(tsr_plan_create(emu, &desc, &plan), TSR_OK);
    assert_int_equal(tsr_context_create("cpu", NULL, &cpu), TSR_OK);
    assert_int_equal(tsr_plan_create(cpu, &desc, &on_cpu), TSR_OK);
    assert_int_equal(tsr_compress24(on_cpu, 'a', a, &prepared), TSR_OK);
    args.prepared_a = prepared;
    expect(tsr_plan_run(plan, &args), TSR_INVALID_ARGUMENT, "prepared_a: was prepared on cpu of another context");
    a[0] = a[1] = a[2] = 0x3f80;
    tsr_prepared *none;
    expect(tsr_compress24(plan, 'a', a, &none), TSR_INVALID_ARGUMENT, "row 0, columns 0 to 3 hold 3 nonzeros");
    desc = tsr_gemm_desc_make(TSR_F32, 8, 8, 8);
    desc.flags = TSR_SPARSE24_A;
    expect(tsr_plan_create(emu, &desc, &(tsr_plan *){NULL}), TSR_UNSUPPORTED, "no kernel runs f32 x f32");
    tsr_plan *of_tf32;
    const float pair[64] = {1, 1};
    desc.compute = TSR_COMPUTE_TF32;
    assert_int_equal(tsr_plan_create(emu, &desc, &of_tf32), TSR_OK);
    expect(tsr_compress24(of_tf32, 'a', pair, &none), TSR_INVALID_ARGUMENT,
           "A breaks the 1:2 pattern: row 0, columns 0 to 1 hold 2 nonzeros, at most 1 may be");
    tsr_plan_release(of_tf32);
    tsr_prepared_release(prepared);
    tsr_plan_release(plan);
    tsr_plan_release(on_cpu);
    tsr_context_destroy(cpu);
}

static int open_emu(void **state)
{
    return tsr_context_create("emu", NULL, (tsr_context **)state) != TSR_OK;
}

static int close_emu(void **state)
{
    tsr_context_destroy(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_instruction_follows_its_layout),
        cmocka_unit_test(indices_that_do_not_ascend_end_the_kernel),
        cmocka_unit_test(products_are_exact),
        cmocka_unit_test(f32_becomes_tf32_as_in_dense_kernels),
        cmocka_unit_test(kernels_say_which_operands_they_take),
    };
    return cmocka_run_group_tests(tests, open_emu, close_emu);
}
