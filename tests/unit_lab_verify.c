/* The checker must pass what is right and catch what is broken: a plain product stands in for the kernel, once as it
 * should be and once for each fault that kernels are known to have. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/config.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/forms.h"
#include "lab/verify/cases.h"
#include "lab/verify/check_element.h"
#include "lab/verify/guarded.h"
#include "lab/verify/verify.h"
#include "sanitized.h"

typedef enum kernel_fault {
    NONE,
    ONE_ELEMENT_OFF,
    DROPS_LAST_K,
    DROPS_TAIL_OF_16,
    DROPS_K_ABOVE_4096,
    READS_C_AT_BETA_0,
    READS_A_AT_ALPHA_0,
    READS_AT_K_0,
    WRITES_AFTER_D,
    WRITES_BEFORE_D,
    WRITES_IN_GAP_OF_D,
    WRITES_A,
    LEAVES_ONE_OUT,
    LEAVES_LAST_BATCH_OUT,
    HIDES_NAN,
    USES_LDD_FOR_C,
    ASSUMES_TIGHT_BATCH,
    IGNORES_TRANS_B,
    FORGETS_SIGN_OF_BETA,
    READS_BEYOND_ROW_OF_A,
    SUMS_IN_BF16,
    CHANGES_BITS,
    DROPS_BIAS,
    TAKES_ITS_NEIGHBOURS_BIAS,
    ADDS_BIAS_TWICE,
    DROPS_RELU,
    WRITES_BIAS,
    FAILS,
    FAILS_ONCE,
    FAULTS
} kernel_fault;

typedef struct model {
    kernel_fault fault;
    long calls;
} model;

static int64_t ld_of(const tsr_operand *operand, int64_t rows, int64_t columns)
{
    return operand->ld != 0 ? operand->ld : operand->trans == TSR_T ? rows : columns;
}

static double element(const tsr_operand *operand, int64_t ld, const void *data, int64_t batch, int64_t i, int64_t j)
{
    const int64_t place = operand->trans == TSR_T ? j * ld + i : i * ld + j;
    return tsr_load_element(operand->dtype, data, batch * operand->batch_stride + place);
}

/* Elements of f32 along K from the first of a row of op(A), or of a column of op(B). */
typedef struct line {
    const float *first;
    int64_t step;
} line;

static line line_of(const tsr_operand *operand, int64_t ld, const void *data, int64_t batch, int64_t at, int is_a)
{
    const int along_rows = is_a == (operand->trans != TSR_T);
    assert_int_equal(operand->dtype, TSR_F32);
    return (line){(const float *)data + batch * operand->batch_stride + at * (along_rows ? ld : 1),
                  along_rows ? 1 : ld};
}

static float sum_of(const model *m, const tsr_gemm_desc *desc, const tsr_run_args *args, int64_t batch, int64_t i,
                    int64_t j)
{
    tsr_operand b = desc->b;
    const int64_t lda = ld_of(&desc->a, desc->m, desc->k), ldb = ld_of(&b, desc->k, desc->n);
    if (m->fault == IGNORES_TRANS_B && desc->n == desc->k)
        b.trans = TSR_N;
    int64_t k_end = desc->k;
    if (m->fault == DROPS_LAST_K && k_end > 1)
        k_end--;
    if (m->fault == DROPS_TAIL_OF_16 && k_end > 16)
        k_end -= k_end % 16;
    if (m->fault == DROPS_K_ABOVE_4096 && k_end > 4096)
        k_end = 4096;
    if (m->fault == READS_BEYOND_ROW_OF_A && desc->a.trans == TSR_N && lda > desc->k)
        k_end++;
    const line a_line = line_of(&desc->a, lda, args->a, batch, i, 1), b_line = line_of(&b, ldb, args->b, batch, j, 0);
    float sum = 0;
    for (int64_t k = 0; k < k_end; k++) {
        float x = a_line.first[k * a_line.step];
        const float y = k < desc->k ? b_line.first[k * b_line.step] : 0.0f;
        if (m->fault == HIDES_NAN && isnan(x))
            x = 0;
        sum = fmaf(x, y, sum);
        if (m->fault == SUMS_IN_BF16)
            sum = tsr_bf16_to_f32(tsr_f32_to_bf16(sum));
    }
    return sum;
}

static float acc_of(const model *m, const tsr_gemm_desc *desc, const tsr_run_args *args, int64_t batch, int64_t i,
                    int64_t j)
{
    const float alpha = (float)args->alpha.value;
    float beta = (float)args->beta.value;
    const int no_product = (alpha == 0 && m->fault != READS_A_AT_ALPHA_0) || desc->k == 0 || args->a == NULL;
    float value = no_product ? 0 : alpha * sum_of(m, desc, args, batch, i, j);
    if (m->fault == READS_AT_K_0 && desc->k == 0 && args->b != NULL)
        value += 0 * ((const float *)args->b)[0];
    if (m->fault == FORGETS_SIGN_OF_BETA)
        beta = fabsf(beta);
    if (beta == 0 && (m->fault != READS_C_AT_BETA_0 || args->c == NULL))
        return value;
    const int64_t ldd = ld_of(&desc->d, desc->m, desc->n);
    int64_t ldc = ld_of(&desc->c, desc->m, desc->n);
    if (m->fault == USES_LDD_FOR_C && ldd < ldc)
        ldc = ldd;
    return fmaf(beta, (float)element(&desc->c, ldc, args->c, batch, i, j), value);
}

static float result_of(const model *m, const tsr_gemm_desc *desc, const tsr_run_args *args, int64_t batch, int64_t i,
                       int64_t j)
{
    const float acc = acc_of(m, desc, args, batch, i, j), *const bias = args->bias;
    if (!desc->epilogue)
        return acc;
    const int64_t column = m->fault == TAKES_ITS_NEIGHBOURS_BIAS ? (j + 1) % desc->n : j;
    float value = m->fault == DROPS_BIAS ? acc : acc + bias[column];
    if (m->fault == ADDS_BIAS_TWICE)
        value += bias[column];
    return tsr_form_of(desc->epilogue) == TSR_EPILOGUE_BIAS_RELU && value < 0 && m->fault != DROPS_RELU ? 0 : value;
}

static void write_problem(const model *m, const tsr_gemm_desc *desc, const tsr_run_args *args, int64_t batch)
{
    const int64_t ldd = ld_of(&desc->d, desc->m, desc->n);
    float *d = (float *)args->d + batch * desc->d.batch_stride;
    const float twist = m->fault == CHANGES_BITS && m->calls % 2 ? 1 + 0x1p-23f : 1;
    if (m->fault == ASSUMES_TIGHT_BATCH && desc->d.batch_stride > desc->m * ldd)
        d = (float *)args->d + batch * desc->m * ldd;
    for (int64_t i = 0; i < desc->m; i++)
        for (int64_t j = 0; j < desc->n; j++)
            if (m->fault != LEAVES_ONE_OUT || i + 1 < desc->m || j + 1 < desc->n)
                d[i * ldd + j] = twist * result_of(m, desc, args, batch, i, j);
}

static void do_damage(const model *m, const tsr_gemm_desc *desc, const tsr_run_args *args)
{
    const int64_t ldd = ld_of(&desc->d, desc->m, desc->n);
    float *d = args->d;
    if (desc->m == 0 || desc->n == 0 || desc->batch_count == 0)
        return;
    const int64_t end = (desc->batch_count - 1) * desc->d.batch_stride + (desc->m - 1) * ldd + desc->n;
    if (m->fault == ONE_ELEMENT_OFF)
        d[(desc->m - 1) * ldd] *= 1.001f;
    else if (m->fault == WRITES_AFTER_D)
        ((char *)(d + end))[2] = 1;
    else if (m->fault == WRITES_BEFORE_D)
        ((char *)d)[-1] = 1;
    else if (m->fault == WRITES_IN_GAP_OF_D && desc->batch_count == 1 && desc->m > 1 && ldd > desc->n)
        d[desc->n] = 1;
    else if (m->fault == WRITES_A && args->a != NULL && desc->k > 0)
        *(char *)(uintptr_t)args->a = 0x11;
    else if (m->fault == WRITES_BIAS && args->bias != NULL)
        ((char *)(uintptr_t)args->bias)[-1] = 1;
}

static tsr_status run_model(void *user, tsr_context *context, const tsr_gemm_desc *desc, const tsr_run_args *args)
{
    (void)context;
    model *m = user;
    m->calls++;
    if (m->fault == FAILS || (m->fault == FAILS_ONCE && m->calls == 40))
        return tsr_fail(m->fault == FAILS ? TSR_UNSUPPORTED : TSR_KERNEL_FAULT, "made to fail");
    const int64_t skipped = m->fault == LEAVES_LAST_BATCH_OUT && desc->batch_count > 1;
    for (int64_t batch = 0; batch < desc->batch_count - skipped; batch++)
        write_problem(m, desc, args, batch);
    do_damage(m, desc, args);
    return TSR_OK;
}

typedef struct fixture {
    tsr_context *context;
    lab_kernel_list kernels;
} fixture;

static int set_up(void **state)
{
    static fixture f;
    static tsr_config whole;
    if (tsr_context_create("cpu", NULL, &f.context) != TSR_OK ||
        lab_kernels_select("cpu_sequential_f32", "cpu", &f.kernels) != TSR_OK)
        return -1;
    /* What the plain product needs, with room; it is not the library's kernel that is on trial. */
    f.kernels.items[0].bound_c = 10;
    whole = *f.kernels.items[0].config;
    whole.op.operands = TSR_TAKES_WHOLE; /* the model here knows no compressed operand */
    f.kernels.items[0].config = &whole;
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    lab_kernels_free(&f->kernels);
    tsr_context_destroy(f->context);
    return 0;
}

static lab_verify_result verify(fixture *f, kernel_fault fault, int small, uint64_t seed)
{
    model m = {fault, 0};
    lab_verify_options options = {.seed = seed, .small = small, .run = run_model, .run_user = &m};
    lab_verify_result result;
    assert_int_equal(lab_verify(f->context, &f->kernels.items[0], &options, &result), TSR_OK);
    return result;
}

static void right_product_passes(void **state)
{
    const lab_verify_result result = verify(*state, NONE, 0, 1);
    assert_string_equal(result.first_failure, "");
    assert_int_equal(result.failed, 0);
    assert_int_equal(result.refused, 0);
    assert_int_equal(result.cases, result.planned);
    assert_true(result.cases > 150 && result.elements > 100000);
    assert_true(result.worst.ratio > 0.02 && result.worst.ratio < 1);
    assert_true(result.worst_c > 0.2 && fabs(result.worst_c - 10 * result.worst.ratio) < 1e-6);
    assert_true(fabs(result.worst.value - result.worst.reference) <= result.worst.bound);
}

static void every_fault_is_caught(void **state)
{
    static const char *const said[FAULTS] = {
        [ONE_ELEMENT_OFF] = "bound",
        [WRITES_AFTER_D] = "outside of its elements",
        [WRITES_BEFORE_D] = "outside of its elements",
        [WRITES_IN_GAP_OF_D] = "outside of its elements",
        [WRITES_A] = "only to be read",
        [WRITES_BIAS] = "bias: byte -1 from its start was written",
        [LEAVES_ONE_OUT] = "not written",
        [LEAVES_LAST_BATCH_OUT] = "problem",
        [CHANGES_BITS] = "other bits",
        [FAILS_ONCE] = "made to fail",
        [SUMS_IN_BF16] = "reference",
        [READS_C_AT_BETA_0] = "nan",
    };
    for (kernel_fault fault = ONE_ELEMENT_OFF; fault < FAULTS; fault++) {
        if (fault == FAILS)
            continue;
        for (uint64_t seed = 1; seed <= (IS_SANITIZED ? 1 : 2); seed++) {
            const lab_verify_result result = verify(*state, fault, fault != DROPS_K_ABOVE_4096, seed);
            if (result.failed == 0)
                fail_msg("fault %d was not caught with seed %d", (int)fault, (int)seed);
            if (said[fault] != NULL && strstr(result.first_failure, said[fault]) == NULL && seed == 1)
                fail_msg("fault %d is told as: %s", (int)fault, result.first_failure);
            assert_true(result.failed <= result.cases);
        }
    }
}

static void refusal_is_no_pass(void **state)
{
    const lab_verify_result result = verify(*state, FAILS, 1, 1);
    assert_int_equal(result.cases, 0);
    assert_int_equal(result.failed, 0);
    assert_int_equal(result.refused, result.planned);
    assert_string_equal(result.refusal, "made to fail");
}

static void stops_when_told(void **state)
{
    fixture *f = *state;
    const volatile sig_atomic_t stop = 1;
    model m = {NONE, 0};
    lab_verify_options options = {.run = run_model, .run_user = &m, .stop = &stop};
    lab_verify_result result;
    assert_int_equal(lab_verify(f->context, &f->kernels.items[0], &options, &result), TSR_OK);
    assert_int_equal(result.cases, 0);
    assert_true(result.planned > 0);
}

static void wrong_by_a_half_is_worst(void **state)
{
    const lab_verify_result result = verify(*state, DROPS_LAST_K, 1, 1);
    assert_true(result.worst.ratio > 1);
    assert_true(result.worst.problem[0] != '\0');
    assert_true(fabs(result.worst.value - result.worst.reference) > result.worst.bound);
}

/* ---- the parts -------------------------------------------------------------------------------------------------- */

static lab_check checked(tsr_dtype dtype, int exact, double got, double value, double size)
{
    const lab_rule rule = {.c = 2.0, .u = dtype == TSR_F64 ? 0x1p-53 : 0x1p-24, .dtype = dtype, .exact = exact};
    const lab_reference_element truth = {.value = value, .size = size, .before = value};
    return lab_check_element(&rule, got, &truth);
}

static void checks(void **state)
{
    (void)state;
    assert_true(checked(TSR_F32, 0, 1, 1, 1).ok);
    assert_true(checked(TSR_F32, 0, 1 + 0x1p-23, 1, 1).ok); /* error = c u size */
    assert_true(checked(TSR_F32, 0, 1 + 0x1p-23, 1, 1).ratio == 1);
    assert_true(checked(TSR_F32, 0, 1 + 0x1p-22, 1, 1).c_needed == 4);
    assert_false(checked(TSR_F32, 0, 1 + 0x1p-22, 1, 1).ok);
    assert_false(checked(TSR_F32, 0, NAN, 1, 1).ok);
    assert_true(isinf(checked(TSR_F32, 0, NAN, 1, 1).ratio));
    assert_true(isinf(checked(TSR_F32, 0, NAN, 1, 1).c_needed));
    assert_false(checked(TSR_F32, 0, INFINITY, 1, 1).ok);
    assert_true(checked(TSR_F32, 0, NAN, NAN, NAN).ok);
    assert_false(checked(TSR_F32, 0, 0, NAN, NAN).ok);
    assert_true(checked(TSR_F32, 0, -INFINITY, -INFINITY, INFINITY).ok);
    assert_false(checked(TSR_F32, 0, INFINITY, -INFINITY, INFINITY).ok);
    assert_true(checked(TSR_F32, 0, INFINITY, 1e39, 1e39).ok); /* overflows f32 */
    assert_true(checked(TSR_F32, 0, 0, 0, 0).ok);
    assert_false(checked(TSR_F32, 0, 1e-30, 0, 0).ok);
    assert_true(isinf(checked(TSR_F32, 0, 1e-30, 0, 0).ratio));
    /* f16: half an ulp of the result more. 1 + 2^-11 lies half way between neighbours. */
    assert_true(checked(TSR_F16, 0, 1, 1 + 0x1p-11, 1).ok);
    assert_false(checked(TSR_F16, 0, 1, 1 + 0x1p-11 + 0x1p-12, 1).ok);
    assert_true(checked(TSR_F16, 0, 0, 0x1p-25, 0x1p-25).ok); /* half of the smallest subnormal */
    assert_false(checked(TSR_F16, 0, 0, 0x1p-24, 0x1p-24).ok);
    assert_true(checked(TSR_F16, 0, INFINITY, 70000, 70000).ok);
    /* At the end of f16, half way between 65504 and where its next number would be, the sum's error decides. */
    assert_true(checked(TSR_F16, 0, INFINITY, 65519.9965, 65520 * 1e4).ok);
    assert_false(checked(TSR_F16, 0, INFINITY, 65519.9, 65520).ok);
    assert_false(checked(TSR_F16, 0, -INFINITY, 65519.9965, 65520 * 1e4).ok);
    assert_true(checked(TSR_F16, 0, 65504, 65520.0035, 65520 * 1e4).ok);
    assert_false(checked(TSR_F16, 0, 65504, 65520.1, 65520).ok);
    assert_false(checked(TSR_F16, 0, 65408, 65520.0035, 65520 * 1e4).ok);
    assert_false(checked(TSR_F16, 1, INFINITY, 65519.9965, 65520 * 1e4).ok);
    /* Exact means the nearest number of the dtype. */
    assert_true(checked(TSR_F16, 1, 2048, 2049, 1e9).ok); /* a tie: to even */
    assert_false(checked(TSR_F16, 1, 2050, 2049, 1e9).ok);
    assert_false(checked(TSR_F32, 1, 1 + 0x1p-23, 1, 1e9).ok);
    assert_true(checked(TSR_S32, 1, 7, 7, 7).ok);
    assert_false(checked(TSR_S32, 1, 8, 7, 7).ok);
    /* f64 uses the truth's second word. */
    const lab_rule rule = {.c = 1, .u = 0x1p-53, .dtype = TSR_F64};
    const lab_reference_element truth = {.value = 1, .rest = 0x1p-54, .size = 1, .before = 1};
    assert_true(lab_check_element(&rule, 1, &truth).error == 0x1p-54);
}

static void guarded_operands(void **state)
{
    fixture *f = *state;
    for (int on_device = 0; on_device < 2; on_device++) {
        lab_guarded g = {.context = f->context, .dtype = TSR_F32, .rows = 3, .columns = 2, .ld = 4, .batch = 2};
        g.batch_stride = 13;
        g.on_device = on_device;
        assert_int_equal(lab_guarded_make(&g, 3), TSR_OK);
        assert_int_equal(lab_guarded_align(&g), 4);
        assert_true(isnan(tsr_load_element(TSR_F32, lab_guarded_image(&g), 0)));
        assert_true(isnan(tsr_load_element(TSR_F32, lab_guarded_image(&g), 2)));
        assert_int_equal(lab_guarded_index(&g, 1, 2, 1), 13 + 8 + 1);
        assert_int_equal(lab_guarded_send(&g), TSR_OK);
        assert_int_equal(lab_guarded_fetch(&g), TSR_OK);
        assert_int_equal(lab_guarded_first_change(&g, 0), INT64_MAX);
        assert_true(lab_guarded_unwritten(&g, 0));
        float *d = lab_guarded_pointer(&g);
        d[0] = 1;
        d[13 + 9] = 2;
        assert_int_equal(lab_guarded_fetch(&g), TSR_OK);
        assert_false(lab_guarded_unwritten(&g, 0));
        assert_true(lab_guarded_unwritten(&g, 1));
        assert_int_equal(lab_guarded_first_change(&g, 1), INT64_MAX);
        assert_int_equal(lab_guarded_fetch(&g), TSR_OK);
        assert_int_equal(lab_guarded_first_change(&g, 0), 0);
        static const int64_t forbidden[] = {-1, 2, 3, 6, 10, 12, 15, 23};
        for (size_t i = 0; i < sizeof forbidden / sizeof forbidden[0]; i++) {
            const float kept = d[forbidden[i]];
            d[forbidden[i]] = 0;
            assert_int_equal(lab_guarded_fetch(&g), TSR_OK);
            assert_int_equal(lab_guarded_first_change(&g, 1), forbidden[i] * 4);
            memcpy(&d[forbidden[i]], &kept, sizeof kept);
        }
        lab_guarded_free(&g);
    }
    lab_guarded huge = {.dtype = TSR_F64, .rows = INT64_MAX / 2, .columns = 1, .ld = 4, .batch = 1};
    assert_int_equal(lab_guarded_make(&huge, 0), TSR_INVALID_ARGUMENT);
    lab_guarded empty = {.dtype = TSR_F64, .rows = 0, .columns = 1, .ld = 4, .batch = 1};
    assert_int_equal(lab_guarded_make(&empty, 0), TSR_OK);
    assert_int_equal(lab_guarded_align(&empty), 256);
    lab_guarded_free(&empty);
}

/* The list of what every run must show, one by one. */
static void cases_show_all(void **state)
{
    fixture *f = *state;
    lab_kernel kernel = f->kernels.items[0];
    kernel.bm = 16;
    kernel.bn = 8;
    kernel.bk = 4;
    lab_case_list list;
    assert_int_equal(lab_cases_make(&kernel, 0, 1, 1, &list), TSR_OK);
    int layouts = 0, alphas = 0, betas = 0, zeros = 0, tiles = 0, modes = 0, batches = 0, memories = 0, offsets = 0;
    int fills = 0, forms = 0, nan_c = 0, nan_ab = 0, every_k = 0, none = 0;
    for (size_t i = 0; i < list.count; i++) {
        const lab_case *c = &list.items[i];
        layouts |= 1 << (c->trans_a + 2 * c->trans_b);
        alphas |= c->alpha == 0 ? 1 : c->alpha == 1 ? 2 : c->alpha == -1 ? 4 : c->alpha == 0.5 ? 8 : 16;
        betas |= c->beta == 0 ? 1 : c->beta == 1 ? 2 : c->beta == -1 ? 4 : c->beta == 0.5 ? 8 : 16;
        zeros |= (c->m == 0) | (c->n == 0) << 1 | (c->k == 0) << 2;
        tiles |= (c->m == 15) | (c->m == 16) << 1 | (c->m == 17) << 2 | (c->m == 37) << 3 | (c->n == 7) << 4 |
                 (c->n == 8) << 5 | (c->n == 9) << 6 | (c->n == 17) << 7 | (c->k == 3) << 8 | (c->k == 11) << 9;
        modes |= 1 << c->c_mode;
        batches |= 1 << c->batch_mode;
        memories |= 1 << c->memory;
        offsets |= c->offset[0] % 2 == 1 && c->offset[3] % 2 == 1;
        fills |= 1 << c->fill;
        forms |= 1 << c->epilogue;
        nan_c |= c->beta == 0 && c->c_mode != LAB_C_IN_PLACE && !c->null_unread && c->m * c->n * c->k > 0;
        nan_ab |= (c->alpha == 0 || c->k == 0) && !c->null_unread && c->m * c->n > 0;
        none |= c->batch == 0;
        if (c->fill == LAB_FILL_INTEGERS && c->k > 0 && c->k <= 9)
            every_k |= 1 << (c->k - 1);
        assert_true(c->m <= 1100 && c->k <= 1100);
    }
    assert_int_equal(layouts, 15);
    assert_int_equal(alphas, 15);
    assert_int_equal(betas, 15);
    assert_int_equal(zeros, 7);
    assert_int_equal(tiles, 1023);
    assert_int_equal(modes, 7);
    assert_int_equal(batches, 63);
    assert_int_equal(memories, 7);
    assert_true(offsets && nan_c && nan_ab && none);
    assert_int_equal(fills & 7, 7);
    assert_int_equal(forms, 7);
    assert_int_equal(every_k, 511);
    const size_t quick = list.count;
    lab_cases_free(&list);
    assert_int_equal(lab_cases_make(&kernel, 1, 0, 1, &list), TSR_OK);
    assert_true(list.count > 3 * quick);
    lab_cases_free(&list);
}

static void case_in_words(void **state)
{
    (void)state;
    char text[200];
    lab_case c;
    memset(&c, 0, sizeof c);
    c.m = 3;
    c.n = 4;
    c.k = 5;
    c.alpha = 0.5;
    c.batch = 1;
    c.trans_b = 1;
    c.c_mode = LAB_C_APART;
    lab_case_text(&c, text, sizeof text);
    assert_string_equal(text, "nt 3x4x5 alpha 0.5 beta 0 seed 0");
    c.batch = 2;
    c.batch_mode = LAB_BATCH_INTERLEAVED;
    c.pad[1] = 7;
    c.offset[3] = 1;
    c.c_mode = LAB_C_IN_PLACE;
    c.fill = LAB_FILL_SPECIAL;
    c.memory = LAB_MEMORY_HOST;
    c.prepared = 3;
    c.declare_align = c.null_unread = 1;
    c.threads = 2;
    lab_case_text(&c, text, sizeof text);
    assert_string_equal(text,
                        "nt 3x4x5 alpha 0.5 beta 0 batch 2 interleaved ld+0,7,0,0 offset+0,0,0,1 C=D NaN,Inf host "
                        "prepared A,B aligned NULL threads 2 seed 0");
    char small[10];
    lab_case_text(&c, small, sizeof small);
    assert_string_equal(small, "nt 3x4x5 ");
}

static void choosing_kernels(void **state)
{
    (void)state;
    lab_kernel_list list;
    assert_int_equal(lab_kernels_select("tiled", "emu", &list), TSR_OK);
    assert_true(list.count >= 5);
    for (size_t i = 0; i < list.count; i++)
        assert_string_equal(list.items[i].info.name, "tiled");
    lab_kernels_free(&list);
    assert_int_equal(lab_kernels_select("tiled_f32_t16,naive", "cuda:0", &list), TSR_OK);
    assert_true(list.count >= 2 && list.items[0].bm > 0);
    lab_kernels_free(&list);
    assert_int_equal(lab_kernels_select("all", "cpu", &list), TSR_OK);
    assert_true(list.count >= 4 && !list.items[0].info.is_cuda);
    lab_kernels_free(&list);
    assert_int_equal(lab_kernels_select("tiled", "cpu", &list), TSR_INVALID_ARGUMENT);
    assert_string_equal(tsr_last_error(),
                        "kernel \"tiled\": does not run on this device; this device has: cpu-sequential, "
                        "cpu-tiled");
    assert_int_equal(lab_kernels_select("naive,nosuch", "emu", &list), TSR_INVALID_ARGUMENT);
    assert_non_null(strstr(tsr_last_error(), "kernel \"nosuch\": no such kernel; this device has: uncoalesced, naive"));
    assert_int_equal(lab_kernels_select("", "cpu", &list), TSR_INVALID_ARGUMENT);
    assert_int_equal(lab_kernels_select("all,", "cpu", &list), TSR_INVALID_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_product_passes),
        cmocka_unit_test(every_fault_is_caught),
        cmocka_unit_test(refusal_is_no_pass),
        cmocka_unit_test(stops_when_told),
        cmocka_unit_test(wrong_by_a_half_is_worst),
        cmocka_unit_test(checks),
        cmocka_unit_test(guarded_operands),
        cmocka_unit_test(cases_show_all),
        cmocka_unit_test(case_in_words),
        cmocka_unit_test(choosing_kernels),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
