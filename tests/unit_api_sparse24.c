/* 2:4 structured sparsity on the CPU: the rules of checking, pruning and compressing, messages for what is wrong, and
 * products with a compressed operand, which have the bits of products with the whole matrix. */
#include <math.h>
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

static void expect(tsr_status got, tsr_status status, const char *message)
{
    if (got != status || !strstr(tsr_last_error(), message))
        print_error("got %s: \"%s\"; expected \"%s\"\n", tsr_status_text(got), tsr_last_error(), message);
    assert_int_equal(got, status);
    assert_non_null(strstr(tsr_last_error(), message));
}

/* ---- the pattern ---- */

static void the_first_group_that_breaks_the_pattern_is_named(void **state)
{
    float a[4 * 10] = {0}, b[10 * 3] = {0};
    tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F32, 4, 3, 10);
    (void)state;
    assert_int_equal(tsr_check24(&desc, 'a', a), TSR_OK);
    a[3 * 10 + 8] = a[3 * 10 + 9] = 1; /* the last group has two elements: both may be there */
    a[2 * 10 + 4] = a[2 * 10 + 7] = NAN;
    a[2 * 10 + 5] = -0.0f;
    assert_int_equal(tsr_check24(&desc, 'a', a), TSR_OK);
    a[2 * 10 + 6] = 1e-45f;
    a[3 * 10 + 0] = a[3 * 10 + 1] = a[3 * 10 + 2] = a[3 * 10 + 3] = 1;
    expect(tsr_check24(&desc, 'a', a), TSR_INVALID_ARGUMENT,
           "A breaks the 2:4 pattern: row 2, columns 4 to 7 hold 3 nonzeros, at most 2 may be");
    a[2 * 10 + 6] = 0;
    expect(tsr_check24(&desc, 'a', a), TSR_INVALID_ARGUMENT, "row 3, columns 0 to 3 hold 4 nonzeros");
    for (int k = 5; k < 8; k++)
        b[k * 3 + 1] = 1;
    expect(tsr_check24(&desc, 'b', b), TSR_INVALID_ARGUMENT,
           "B breaks the 2:4 pattern: column 1, rows 4 to 7 hold 3 nonzeros");
    desc.batch_count = 3;
    desc.m = 1;
    desc.a.batch_stride = 10;
    desc.broadcast = TSR_BROADCAST_B | TSR_BROADCAST_C;
    desc.d.batch_stride = 3;
    expect(tsr_check24(&desc, 'a', a + 10), TSR_INVALID_ARGUMENT,
           "A breaks the 2:4 pattern in problem 2: row 0, columns 0 to 3 hold 4 nonzeros");
}

static void a_transposed_operand_is_looked_at_along_k(void **state)
{
    uint16_t a[8 * 2] = {0}; /* stored 8 x 2: op(A) is 2 x 8 */
    tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_BF16, 2, 1, 8);
    (void)state;
    desc.a.trans = TSR_T;
    for (int k = 0; k < 8; k++)
        a[k * 2 + 1] = k % 2 ? 0x3f80 : 0x8000;
    assert_int_equal(tsr_check24(&desc, 'a', a), TSR_OK);
    a[4 * 2 + 1] = 1;
    expect(tsr_check24(&desc, 'a', a), TSR_INVALID_ARGUMENT, "row 1, columns 4 to 7 hold 3 nonzeros");
}

static void pruning_keeps_the_largest_of_equals_the_first_and_nan(void **state)
{
    float a[] = {1, -3, 2, 2, 5, 5, -5, 5, NAN, 1, INFINITY, 2, 0, 7, 0, 7, 1, 2, 3};
    const float want[] = {0, -3, 2, 0, 5, 5, 0, 0, NAN, 0, INFINITY, 0, 0, 7, 0, 7, 0, 2, 3};
    int8_t s[] = {-128, 127, -127, 1};
    uint8_t e[] = {0x7f, 0xff, 0x7e, 0x01}; /* e4m3: NaN, NaN, 448 */
    tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F32, 1, 1, 19);
    double lost = -1;
    (void)state;
    assert_int_equal(tsr_prune24(&desc, 'a', a, &lost), TSR_OK);
    assert_memory_equal(a, want, sizeof a);
    /* 1 + 4, 25 + 25, 1 + 4, 1 went; with 9 + 4, 25 + 25, 98, 13 that stayed that is all */
    assert_true(fabs(lost - sqrt(61.0 / (61 + 13 + 50 + 98 + 13))) < 1e-12);
    assert_int_equal(tsr_check24(&desc, 'a', a), TSR_OK);
    assert_int_equal(tsr_prune24(&desc, 'a', a, &lost), TSR_OK);
    assert_memory_equal(a, want, sizeof a);
    assert_true(lost == 0);
    desc = tsr_gemm_desc_make(TSR_S8, 1, 1, 4);
    assert_int_equal(tsr_prune24(&desc, 'a', s, NULL), TSR_OK);
    assert_memory_equal(s, ((int8_t[]){-128, 127, 0, 0}), 4);
    desc = tsr_gemm_desc_make(TSR_E4M3, 1, 1, 4);
    assert_int_equal(tsr_prune24(&desc, 'a', e, NULL), TSR_OK);
    assert_memory_equal(e, ((uint8_t[]){0x7f, 0xff, 0, 0}), 4);
}

static void norms_of_extreme_numbers_do_not_overflow(void **state)
{
    float a[] = {3e38f, 3e38f, 3e38f, 0};
    tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F32, 1, 1, 4);
    double lost = -1;
    (void)state;
    assert_int_equal(tsr_prune24(&desc, 'a', a, &lost), TSR_OK);
    assert_true(fabs(lost - sqrt(1.0 / 3)) < 1e-12);
    memset(a, 0, sizeof a);
    assert_int_equal(tsr_prune24(&desc, 'a', a, &lost), TSR_OK);
    assert_true(lost == 0);
}

/* ---- the compressed form ---- */

static void the_layout_is_the_documented_one(void **state)
{
    const uint16_t a[2 * 9] = {0, 1, 0, 2, 3, 0, 4, 0, 5, /* */ 0, 0, 0, 6, 0, 0, 0, 0, 0};
    uint16_t values[2 * 6], back[2 * 9];
    uint8_t metadata[2 * 2];
    size_t values_bytes, metadata_bytes;
    tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F16, 2, 1, 9);
    (void)state;
    assert_int_equal(tsr_bytes24(&desc, 'a', &values_bytes, &metadata_bytes), TSR_OK);
    assert_int_equal(values_bytes, sizeof values);
    assert_int_equal(metadata_bytes, sizeof metadata);
    assert_int_equal(tsr_pack24(&desc, 'a', a, values, metadata), TSR_OK);
    assert_memory_equal(values, ((uint16_t[]){1, 2, 3, 4, 5, 0, 0, 6, 0, 0, 0, 0}), sizeof values);
    /* indices 1 3 | 0 2 | 0 1 and 0 3 | 0 1 | 0 1 */
    assert_memory_equal(metadata, ((uint8_t[]){0x8d, 0x04, 0x4c, 0x04}), sizeof metadata);
    memset(back, 0xff, sizeof back);
    assert_int_equal(tsr_unpack24(&desc, 'a', values, metadata, back), TSR_OK);
    assert_memory_equal(a, back, sizeof back);
    /* 16 bits, K a multiple of 8: half the bytes, and 1/8 of that */
    desc = tsr_gemm_desc_make(TSR_BF16, 64, 1, 256);
    assert_int_equal(tsr_bytes24(&desc, 'a', &values_bytes, &metadata_bytes), TSR_OK);
    assert_int_equal(values_bytes, 64 * 256 * 2 / 2);
    assert_int_equal(metadata_bytes, values_bytes / 8);
}

static void metadata_that_does_not_ascend_is_refused(void **state)
{
    tsr_context *const context = *state;
    tsr_plan *plan;
    tsr_prepared *prepared;
    const float values[2 * 4] = {1, 2, 3, 4, 5, 6, 7, 8};
    float back[16];
    tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F32, 2, 2, 8);
    desc.flags = TSR_SPARSE24_A;
    assert_int_equal(tsr_plan_create(context, &desc, &plan), TSR_OK);
    for (unsigned bits = 0; bits < 16; bits++) {
        const uint8_t metadata[2] = {0x44, (uint8_t)(0x04 | bits << 4)};
        const int is_legal = (bits & 3) < bits >> 2;
        char message[160];
        snprintf(message, sizeof message,
                 "metadata of A: row 1, columns 4 to 7 have the indices %u and %u, which must ascend", bits & 3,
                 bits >> 2);
        if (is_legal) {
            assert_int_equal(tsr_import24(plan, 'a', values, metadata, &prepared), TSR_OK);
            tsr_prepared_release(prepared);
            assert_int_equal(tsr_unpack24(&desc, 'a', values, metadata, back), TSR_OK);
            assert_true(back[8 + 4 + (bits & 3)] == 7 && back[8 + 4 + (bits >> 2)] == 8);
        } else {
            expect(tsr_import24(plan, 'a', values, metadata, &prepared), TSR_INVALID_ARGUMENT, message);
            expect(tsr_unpack24(&desc, 'a', values, metadata, back), TSR_INVALID_ARGUMENT, message);
        }
    }
    tsr_plan_release(plan);
}

/* ---- f32 in tf32: 1:2 ---- */

static tsr_gemm_desc of_tf32(int m, int n, int k)
{
    tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F32, m, n, k);
    desc.compute = TSR_COMPUTE_TF32;
    return desc;
}

static void f32_in_tf32_has_one_of_each_two(void **state)
{
    float a[4 * 11] = {0}, b[7 * 2] = {0};
    tsr_gemm_desc desc = of_tf32(4, 2, 11);
    (void)state;
    a[2 * 11 + 1] = a[2 * 11 + 2] = a[3 * 11 + 10] = 1;
    assert_int_equal(tsr_check24(&desc, 'a', a), TSR_OK);
    a[3 * 11 + 8] = 1e-45f;
    a[3 * 11 + 9] = NAN;
    expect(tsr_check24(&desc, 'a', a), TSR_INVALID_ARGUMENT,
           "A breaks the 1:2 pattern: row 3, columns 8 to 9 hold 2 nonzeros, at most 1 may be");
    a[3 * 11 + 8] = -0.0f;
    assert_int_equal(tsr_check24(&desc, 'a', a), TSR_OK);
    a[3] = a[2] = 1;
    expect(tsr_check24(&desc, 'a', a), TSR_INVALID_ARGUMENT, "row 0, columns 2 to 3 hold 2 nonzeros");
    desc.compute = TSR_COMPUTE_F32; /* 2:4 as ever */
    assert_int_equal(tsr_check24(&desc, 'a', a), TSR_OK);
    desc.compute = TSR_COMPUTE_DEFAULT;
    assert_int_equal(tsr_check24(&desc, 'a', a), TSR_OK);
    desc = of_tf32(1, 2, 7);
    b[4 * 2 + 1] = b[5 * 2 + 1] = b[6 * 2 + 1] = 2;
    expect(tsr_check24(&desc, 'b', b), TSR_INVALID_ARGUMENT,
           "B breaks the 1:2 pattern: column 1, rows 4 to 5 hold 2 nonzeros, at most 1 may be");
}

static void pruning_for_tf32_keeps_the_larger_of_two(void **state)
{
    float a[] = {1, -3, 2, 2, -5, 5, NAN, INFINITY, 0, 7, 9, 1, 3};
    const float want[] = {0, -3, 2, 0, -5, 0, NAN, 0, 0, 7, 9, 0, 3};
    tsr_gemm_desc desc = of_tf32(1, 1, 13);
    double lost = -1;
    (void)state;
    assert_int_equal(tsr_prune24(&desc, 'a', a, &lost), TSR_OK);
    assert_memory_equal(a, want, sizeof a);
    /* 1, 4, 25 and 1 went */
    assert_true(fabs(lost - sqrt(31.0 / (31 + 9 + 4 + 25 + 49 + 81 + 9))) < 1e-12);
    assert_int_equal(tsr_check24(&desc, 'a', a), TSR_OK);
    assert_int_equal(tsr_prune24(&desc, 'a', a, &lost), TSR_OK);
    assert_memory_equal(a, want, sizeof a);
    assert_true(lost == 0);
}

static void the_form_for_tf32_is_a_case_of_the_documented_one(void **state)
{
    const float a[2 * 9] = {0, 1, 2, 0, 0, 0, 0, 4, 5, /* */ 3, 0, 0, 6, 7, 0, 0, 0, 0};
    float values[2 * 6], back[2 * 9];
    uint8_t metadata[2 * 2];
    tsr_gemm_desc desc = of_tf32(2, 1, 9);
    (void)state;
    assert_int_equal(tsr_pack24(&desc, 'a', a, values, metadata), TSR_OK);
    assert_memory_equal(values, ((float[]){1, 2, 0, 4, 5, 0, 3, 6, 7, 0, 0, 0}), sizeof values);
    /* indices 1 2 | 0 3 | 0 2 and 0 3 | 0 2 | 0 2 */
    assert_memory_equal(metadata, ((uint8_t[]){0xc9, 0x08, 0x8c, 0x08}), sizeof metadata);
    memset(back, 0xff, sizeof back);
    assert_int_equal(tsr_unpack24(&desc, 'a', values, metadata, back), TSR_OK);
    assert_memory_equal(a, back, sizeof back);
    memset(back, 0xff, sizeof back);
    desc.compute = TSR_COMPUTE_F32;
    assert_int_equal(tsr_unpack24(&desc, 'a', values, metadata, back), TSR_OK);
    assert_memory_equal(a, back, sizeof back);
}

static void indices_for_tf32_name_one_of_each_two(void **state)
{
    const float values[4] = {1, 2, 3, 4};
    float back[8];
    const tsr_gemm_desc desc = of_tf32(1, 1, 8);
    (void)state;
    for (unsigned bits = 0; bits < 16; bits++) {
        const uint8_t metadata = (uint8_t)(0x08 | bits << 4);
        char message[160];
        snprintf(
            message, sizeof message,
            "metadata of A: row 0, columns 4 to 7 have the indices %u and %u, which must be 0 or 1, and 2 or 3 (1:2)",
            bits & 3, bits >> 2);
        if ((bits & 3) <= 1 && bits >> 2 >= 2)
            assert_int_equal(tsr_unpack24(&desc, 'a', values, &metadata, back), TSR_OK);
        else
            expect(tsr_unpack24(&desc, 'a', values, &metadata, back), TSR_INVALID_ARGUMENT, message);
    }
}

/* Words of lanes as PTX ISA has them for 16 lines and 32 of K; what lies beyond the matrix is 0100. */
static void the_words_for_tf32_are_those_of_its_halves(void **state)
{
    enum { LINES = 10, K = 19, WORDS = 32 };
    float a[LINES * K] = {0}, values[LINES * 10];
    uint8_t metadata[LINES * 3];
    tsr_problem p = {.op = {.a = TSR_F32, .b = TSR_F32, .compute = TSR_COMPUTE_TF32},
                     .m = LINES,
                     .n = 1,
                     .k = K,
                     .batch = 1,
                     .a = {.ld = K}};
    const tsr_lines24 o = tsr_lines24_of(&p, 'a');
    const tsr_form24 form = tsr_form24_of(TSR_F32, LINES, K);
    (void)state;
    assert_true(o.is_1of2);
    assert_int_equal(form.k, 64);
    assert_int_equal(form.values_bytes, 128 * 32 * 4);
    assert_int_equal(form.bytes, form.values_bytes + 128 / 16 * (64 / 32) * 128);
    a[1] = 1;          /* line 0, pair 0 */
    a[2 * K + 13] = 2; /* line 2, pair 6 */
    a[9 * K + 7] = 3;  /* line 9, pair 3 */
    a[9 * K + 18] = 4; /* line 9, pair 9, which has one element */
    tsr_squeeze24(&o, a, values, metadata);
    metadata[2] = (uint8_t)(metadata[2] | 0x01); /* of line 0's last group index 1: there is, 17; values hold a zero */
    char *const device = calloc(1, (size_t)form.bytes);
    assert_non_null(device);
    tsr_device24(&o, values, metadata, device);
    const uint32_t *const words = (const uint32_t *)(const void *)(device + form.values_bytes);
    const float *const kept = (const float *)(const void *)device;
    assert_int_equal(words[0], 0x4444444e);         /* lines 0 and 8, pairs 0 to 3 */
    assert_int_equal(words[4 * 1 + 0], 0xe4444444); /* lines 1 and 9: pair 3 of 9 in the highest four bits */
    assert_int_equal(words[4 * 2 + 1], 0x44444e44); /* lines 2 and 10, pairs 4 to 7 */
    assert_int_equal(words[2], 0x4444444e);         /* lines 0 and 8, pairs 8 to 11 */
    assert_int_equal(words[WORDS + 5], 0x44444444); /* the next 32 of K */
    assert_true(kept[0] == 1 && kept[2 * 32 + 6] == 2 && kept[9 * 32 + 3] == 3 && kept[9 * 32 + 9] == 4);
    free(device);
}

/* A CPU multiplies f32 where tf32 is asked for, and the pattern is that of tf32. */
static void the_cpu_multiplies_one_of_two_in_f32(void **state)
{
    enum { M = 5, N = 3, K = 11, V = 6, BYTES = 2 };
    float a[M * K], b[K * N], values[M * V], want[M * N], got[M * N];
    uint8_t metadata[M * BYTES];
    for (int way = 0; way < 2; way++) { /* the whole matrix, values and metadata */
        tsr_plan *whole, *plan;
        tsr_prepared *prepared = NULL;
        tsr_gemm_desc desc = of_tf32(M, N, K);
        for (int i = 0; i < M * K; i++)
            a[i] = 1 / (float)(i + 3);
        for (int i = 0; i < K * N; i++)
            b[i] = 1 / (float)(2 * i - 7);
        assert_int_equal(tsr_plan_create(*state, &desc, &whole), TSR_OK);
        desc.flags = TSR_SPARSE24_A;
        assert_int_equal(tsr_plan_create(*state, &desc, &plan), TSR_OK);
        expect(tsr_compress24(plan, 'a', a, &prepared), TSR_INVALID_ARGUMENT, "A breaks the 1:2 pattern: row 0");
        assert_int_equal(tsr_prune24(&desc, 'a', a, NULL), TSR_OK);
        assert_int_equal(tsr_pack24(&desc, 'a', a, values, metadata), TSR_OK);
        if (way == 0) {
            assert_int_equal(tsr_compress24(plan, 'a', a, &prepared), TSR_OK);
        } else {
            const uint8_t kept = metadata[0];
            metadata[0] = (uint8_t)((metadata[0] & 0xf0) | 4); /* 0 and 1, of one half */
            expect(tsr_import24(plan, 'a', values, metadata, &prepared), TSR_INVALID_ARGUMENT,
                   "0 or 1, and 2 or 3 (1:2)");
            metadata[0] = kept;
            assert_int_equal(tsr_import24(plan, 'a', values, metadata, &prepared), TSR_OK);
        }
        tsr_run_args args = tsr_run_args_make(a, b, want);
        memset(got, 0xff, sizeof got);
        assert_int_equal(tsr_plan_run(whole, &args), TSR_OK);
        args.d = got;
        args.a = NULL;
        args.prepared_a = prepared;
        assert_int_equal(tsr_plan_run(plan, &args), TSR_OK);
        assert_memory_equal(want, got, sizeof got);
        tsr_prepared_release(prepared);
        tsr_plan_release(plan);
        tsr_plan_release(whole);
    }
}

/* ---- what is wrong ---- */

static void wrong_calls_are_told_what_is_wrong(void **state)
{
    tsr_context *const context = *state;
    tsr_plan *sparse, *dense, *of_b, *longer;
    tsr_prepared *prepared = NULL, *whole = NULL, *none = NULL;
    float a[2 * 8] = {1, 1, 0, 0, 0, 0, 1, 1, 1, 1}, b[8 * 3] = {0}, d[6] = {0};
    tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F32, 2, 3, 8);
    tsr_run_args args = tsr_run_args_make(a, b, d);
    size_t bytes;
    assert_int_equal(tsr_plan_create(context, &desc, &dense), TSR_OK);
    desc.flags = TSR_SPARSE24_B;
    assert_int_equal(tsr_plan_create(context, &desc, &of_b), TSR_OK);
    desc.flags = TSR_SPARSE24_A;
    assert_int_equal(tsr_plan_create(context, &desc, &sparse), TSR_OK);
    desc.m = 3;
    assert_int_equal(tsr_plan_create(context, &desc, &longer), TSR_OK);

    expect(tsr_check24(NULL, 'a', a), TSR_INVALID_ARGUMENT, "desc = NULL");
    expect(tsr_check24(&desc, 'c', a), TSR_INVALID_ARGUMENT, "operand = 'c': must be 'a' or 'b'");
    expect(tsr_check24(&desc, 'a', NULL), TSR_INVALID_ARGUMENT, "data = NULL");
    expect(tsr_check24(&desc, 'a', (char *)a + 2), TSR_INVALID_ARGUMENT, "not aligned to the 4 bytes of an element");
    expect(tsr_prune24(&desc, 'x', a, NULL), TSR_INVALID_ARGUMENT, "operand = 'x'");
    expect(tsr_bytes24(&desc, 'a', &bytes, NULL), TSR_INVALID_ARGUMENT, "metadata_bytes = NULL");
    expect(tsr_bytes24(&desc, 0, &bytes, &bytes), TSR_INVALID_ARGUMENT, "(char)0: must be 'a' or 'b'");
    desc.a.memory = TSR_DEVICE;
    expect(tsr_check24(&desc, 'a', a), TSR_INVALID_ARGUMENT, "A.memory = TSR_DEVICE");
    /* Of a descriptor nothing but sizes, batch, compute and the operand is looked at. */
    desc = tsr_gemm_desc_make(TSR_F32, 2, 3, 8);
    desc.batch_count = 2;
    desc.a.batch_stride = 16;
    desc.d.ld = desc.b.ld = 1;
    desc.c.dtype = (tsr_dtype)99;
    desc.d.batch_stride = -1;
    desc.b.reserved[0] = 1;
    float two[2 * 2 * 8] = {1, 1, 0, 0, 0, 0, 1, 1, 1, 1};
    size_t metadata_bytes;
    assert_int_equal(tsr_check24(&desc, 'a', two), TSR_OK);
    assert_int_equal(tsr_prune24(&desc, 'a', two, NULL), TSR_OK);
    assert_int_equal(tsr_bytes24(&desc, 'a', &bytes, &metadata_bytes), TSR_OK);
    expect(tsr_check24(&desc, 'b', b), TSR_INVALID_ARGUMENT, "B.reserved[0]: must be 0");
    desc.a.batch_stride = 0;
    expect(tsr_check24(&desc, 'a', two), TSR_INVALID_ARGUMENT, "A.batch_stride = 0");
    desc.a.batch_stride = 16;
    desc.broadcast = TSR_BROADCAST_B;
    assert_int_equal(tsr_check24(&desc, 'a', two), TSR_OK);
    desc.broadcast = TSR_BROADCAST_A;
    expect(tsr_check24(&desc, 'a', two), TSR_INVALID_ARGUMENT, "A.batch_stride = 16: must be 0");
    desc = tsr_gemm_desc_make(TSR_F64, 2, 3, 8);
    expect(tsr_check24(&desc, 'a', a), TSR_UNSUPPORTED, "A.dtype = f64: 2:4 sparsity is for f32");
    desc.flags = TSR_SPARSE24_B;
    expect(tsr_plan_create(context, &desc, &(tsr_plan *){NULL}), TSR_UNSUPPORTED, "B.dtype = f64");
    desc = tsr_gemm_desc_make(TSR_F32, 2, 3, 8);
    desc.flags = TSR_SPARSE24_A | TSR_SPARSE24_B;
    expect(tsr_plan_create(context, &desc, &(tsr_plan *){NULL}), TSR_UNSUPPORTED, "one operand alone is compressed");
    desc = tsr_gemm_desc_make(TSR_E4M3, 2, 3, 8);
    desc.flags = TSR_SPARSE24_A;
    desc.c.dtype = desc.d.dtype = TSR_F32;
    desc.scale_mode_b = TSR_SCALE_VECTOR;
    expect(tsr_plan_create(context, &desc, &(tsr_plan *){NULL}), TSR_UNSUPPORTED,
           "scale_mode_b: must be TSR_SCALE_TENSOR");
    desc.scale_mode_b = TSR_SCALE_TENSOR;
    desc.c.dtype = desc.d.dtype = TSR_E4M3;
    expect(tsr_plan_create(context, &desc, &(tsr_plan *){NULL}), TSR_UNSUPPORTED, "no results in 8-bit floats");

    expect(tsr_compress24(NULL, 'a', a, &none), TSR_INVALID_ARGUMENT, "plan = NULL");
    expect(tsr_compress24(sparse, 'a', a, NULL), TSR_INVALID_ARGUMENT, "out = NULL");
    expect(tsr_compress24(sparse, 'b', b, &none), TSR_INVALID_ARGUMENT, "lacks TSR_SPARSE24_B");
    expect(tsr_compress24(dense, 'a', a, &none), TSR_INVALID_ARGUMENT, "lacks TSR_SPARSE24_A");
    a[2] = 1;
    expect(tsr_compress24(sparse, 'a', a, &none), TSR_INVALID_ARGUMENT, "row 0, columns 0 to 3 hold 3 nonzeros");
    a[2] = 0;
    expect(tsr_prepare(sparse, 'a', a, &none), TSR_INVALID_ARGUMENT, "tsr_compress24 prepares it");
    assert_null(none);
    assert_int_equal(tsr_compress24(sparse, 'a', a, &prepared), TSR_OK);
    assert_int_equal(tsr_prepare(dense, 'a', a, &whole), TSR_OK);

    expect(tsr_plan_run(sparse, &args), TSR_INVALID_ARGUMENT, "prepared_a = NULL: the plan's A is compressed");
    args.prepared_a = whole;
    expect(tsr_plan_run(sparse, &args), TSR_INVALID_ARGUMENT, "prepared_a: is not compressed 2:4");
    args.prepared_a = prepared;
    expect(tsr_plan_run(dense, &args), TSR_INVALID_ARGUMENT,
           "prepared_a: is compressed 2:4; the plan's descriptor lacks");
    expect(tsr_plan_run(longer, &args), TSR_INVALID_ARGUMENT, "is 1 of 2 x 8 as stored, the plan's is 1 of 3 x 8");
    args.prepared_a = NULL;
    args.prepared_b = prepared;
    expect(tsr_plan_run(of_b, &args), TSR_INVALID_ARGUMENT, "prepared_b: was prepared as operand a");
    args.prepared_b = NULL;
    args.metadata_a = a;
    expect(tsr_plan_run(dense, &args), TSR_UNSUPPORTED, "metadata_a: must be NULL; tsr_import24 takes metadata");
    args.metadata_a = NULL;
    args.alpha.value = 0; /* nobody reads A */
    assert_int_equal(tsr_plan_run(sparse, &args), TSR_OK);
    tsr_prepared_release(prepared);
    tsr_prepared_release(whole);
    tsr_plan_release(sparse);
    tsr_plan_release(dense);
    tsr_plan_release(of_b);
    tsr_plan_release(longer);
}

/* ---- products ---- */

typedef struct shape {
    int m, n, k, batch;
} shape;

static uint32_t next(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static void fill(tsr_dtype dtype, void *to, long long count, uint32_t *state)
{
    for (long long i = 0; i < count; i++) {
        const double value = ((double)next(state) / 0x1p24 - 0.5) * (tsr_dtype_is_integer(dtype) ? 120 : 4);
        tsr_store_element(dtype, to, i, dtype == TSR_U8 ? fabs(value) : value);
    }
}

typedef struct operands {
    void *a, *b, *c, *want, *got;
    size_t d_bytes;
} operands;

static void *of_elements(tsr_dtype dtype, long long count)
{
    void *const array = calloc((size_t)count + 1, tsr_dtype_bytes(dtype));
    assert_non_null(array);
    return array;
}

/* The product with the whole matrix, and with it compressed, each by its plan; D in want and got. */
static void multiply_both(tsr_context *context, tsr_gemm_desc desc, char which, const operands *o, int has_form,
                          int prepares_other)
{
    tsr_plan *plan;
    tsr_prepared *prepared, *other = NULL;
    tsr_run_args args = tsr_run_args_make(o->a, o->b, o->want);
    static const float zeros[4096];
    const char other_name = which == 'a' ? 'b' : 'a';
    args.alpha.value = desc.d.dtype == TSR_S32 ? 3 : 0.75;
    args.beta.value = desc.d.dtype == TSR_S32 ? -2 : -0.5;
    args.c = o->c;
    args.bias = has_form ? zeros : NULL;
    desc.epilogue = has_form ? "relu(acc + bias[n])" : NULL;
    assert_int_equal(tsr_gemm(context, &desc, &args), TSR_OK);
    desc.flags |= which == 'a' ? TSR_SPARSE24_A : TSR_SPARSE24_B;
    expect(tsr_plan_create(context, &desc, &plan), TSR_OK, "");
    assert_int_equal(tsr_compress24(plan, which, which == 'a' ? o->a : o->b, &prepared), TSR_OK);
    if (prepares_other)
        assert_int_equal(tsr_prepare(plan, other_name, which == 'a' ? o->b : o->a, &other), TSR_OK);
    args.d = o->got;
    args.prepared_a = which == 'a' ? prepared : other;
    args.prepared_b = which == 'a' ? other : prepared;
    if (args.prepared_a)
        args.a = NULL;
    if (args.prepared_b)
        args.b = NULL;
    assert_int_equal(tsr_plan_run(plan, &args), TSR_OK);
    if (memcmp(o->want, o->got, o->d_bytes) != 0)
        fail_msg("%c of %lld x %lld x %lld, batch %lld, %s -> %s, layouts %d%d: other bits", which, (long long)desc.m,
                 (long long)desc.n, (long long)desc.k, (long long)desc.batch_count, tsr_dtype_name(desc.a.dtype),
                 tsr_dtype_name(desc.d.dtype), desc.a.trans, desc.b.trans);
    tsr_prepared_release(prepared);
    tsr_prepared_release(other);
    tsr_plan_release(plan);
}

static void compare(tsr_context *context, shape s, tsr_dtype ab, tsr_dtype cd, unsigned layout, uint32_t *random)
{
    tsr_gemm_desc desc = tsr_gemm_desc_make(ab, s.m, s.n, s.k);
    operands o;
    desc.c.dtype = desc.d.dtype = cd;
    desc.a.trans = layout & 1 ? TSR_T : TSR_N;
    desc.b.trans = layout & 2 ? TSR_T : TSR_N;
    desc.flags = layout & 16 ? TSR_BATCH_INVARIANT : 0;
    const long long a_columns = layout & 1 ? s.m : s.k, a_rows = layout & 1 ? s.k : s.m;
    const long long b_columns = layout & 2 ? s.k : s.n, b_rows = layout & 2 ? s.n : s.k;
    desc.a.ld = a_columns + 3;
    desc.b.ld = b_columns + 1;
    desc.a.batch_stride = s.batch > 1 ? a_rows * desc.a.ld : 0;
    desc.c.batch_stride = desc.d.batch_stride = s.batch > 1 ? (long long)s.m * s.n : 0;
    desc.batch_count = s.batch;
    desc.broadcast = s.batch > 1 ? TSR_BROADCAST_B : 0;
    const long long d_count = (long long)s.m * s.n * s.batch, a_count = a_rows * desc.a.ld * s.batch,
                    b_count = b_rows * desc.b.ld;
    o.a = of_elements(ab, a_count);
    o.b = of_elements(ab, b_count);
    o.c = of_elements(cd, d_count);
    o.want = of_elements(cd, d_count);
    o.got = of_elements(cd, d_count);
    o.d_bytes = (size_t)d_count * tsr_dtype_bytes(cd);
    fill(ab, o.a, a_count, random);
    fill(ab, o.b, b_count, random);
    fill(cd, o.c, d_count, random);
    const char which = layout & 4 ? 'b' : 'a';
    assert_int_equal(tsr_prune24(&desc, which, which == 'a' ? o.a : o.b, NULL), TSR_OK);
    const int can_prepare = tsr_dtype_bytes(ab) > 1 && ab == cd;
    multiply_both(context, desc, which, &o, layout & 8 && cd != TSR_S32, can_prepare && layout & 1);
    free(o.a);
    free(o.b);
    free(o.c);
    free(o.want);
    free(o.got);
}

/* Any algorithm that the whole product takes: GEMV, skinny, chains, small, pairs, blocks; several blocks of lines. */
static void products_have_the_bits_of_the_whole_matrix(void **state)
{
    static const shape shapes[] = {{1, 700, 333, 1}, {1, 2100, 530, 1}, {3, 1100, 514, 1}, {2100, 1, 260, 1},
                                   {5, 7, 3, 1},     {64, 48, 40, 1},   {1100, 33, 70, 1}, {130, 2500, 65, 1},
                                   {4, 30, 260, 1},  {17, 9, 30, 5},    {700, 2, 1030, 1}, {2, 2, 1, 3}};
    static const struct {
        tsr_dtype ab, cd;
    } types[] = {{TSR_F32, TSR_F32},  {TSR_BF16, TSR_BF16}, {TSR_F16, TSR_F16},   {TSR_BF16, TSR_F32},
                 {TSR_BF16, TSR_F16}, {TSR_F16, TSR_BF16},  {TSR_E4M3, TSR_BF16}, {TSR_E5M2, TSR_F32},
                 {TSR_S8, TSR_S32},   {TSR_U8, TSR_F32}};
    uint32_t random = 24;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        for (size_t t = 0; t < sizeof types / sizeof types[0]; t++)
            for (unsigned layout = 0; layout < 8; layout++)
                if (t == 0 || (i + t + layout) % 3 == 0)
                    compare(*state, shapes[i], types[t].ab, types[t].cd, layout | (unsigned)(i + t) % 4 << 3, &random);
}

static void empty_products_are_fine(void **state)
{
    float d[4] = {1, 2, 3, 4};
    tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F32, 2, 2, 0);
    tsr_plan *plan;
    tsr_prepared *prepared;
    tsr_run_args args = tsr_run_args_make(NULL, NULL, d);
    desc.flags = TSR_SPARSE24_A;
    assert_int_equal(tsr_plan_create(*state, &desc, &plan), TSR_OK);
    assert_int_equal(tsr_compress24(plan, 'a', NULL, &prepared), TSR_OK);
    args.prepared_a = prepared;
    args.beta.value = 2;
    assert_int_equal(tsr_plan_run(plan, &args), TSR_OK);
    assert_true(d[0] == 2 && d[3] == 8);
    tsr_prepared_release(prepared);
    tsr_plan_release(plan);
}

static int open_cpu(void **state)
{
    return tsr_context_create("cpu", NULL, (tsr_context **)state) != TSR_OK;
}

static int close_cpu(void **state)
{
    tsr_context_destroy(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_group_that_breaks_the_pattern_is_named),
        cmocka_unit_test(a_transposed_operand_is_looked_at_along_k),
        cmocka_unit_test(pruning_keeps_the_largest_of_equals_the_first_and_nan),
        cmocka_unit_test(norms_of_extreme_numbers_do_not_overflow),
        cmocka_unit_test(the_layout_is_the_documented_one),
        cmocka_unit_test(metadata_that_does_not_ascend_is_refused),
        cmocka_unit_test(f32_in_tf32_has_one_of_each_two),
        cmocka_unit_test(pruning_for_tf32_keeps_the_larger_of_two),
        cmocka_unit_test(the_form_for_tf32_is_a_case_of_the_documented_one),
        cmocka_unit_test(indices_for_tf32_name_one_of_each_two),
        cmocka_unit_test(the_words_for_tf32_are_those_of_its_halves),
        cmocka_unit_test(the_cpu_multiplies_one_of_two_in_f32),
        cmocka_unit_test(wrong_calls_are_told_what_is_wrong),
        cmocka_unit_test(products_have_the_bits_of_the_whole_matrix),
        cmocka_unit_test(empty_products_are_fine),
    };
    return cmocka_run_group_tests(tests, open_cpu, close_cpu);
}
