/* The reference against sums in __float128 and long double, its rules, and the parallel loop below it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/dtype.h"
#include "core/epilogue.h"
#include "lab/common/parallel.h"
#include "lab/common/random.h"
#include "lab/verify/reference.h"

static void *filled(tsr_dtype dtype, int64_t count, uint64_t seed)
{
    void *array = malloc((size_t)count * tsr_dtype_bytes(dtype) + 1);
    assert_non_null(array);
    lab_fill(LAB_FILL_NORMAL, 0, dtype, array, count, seed);
    return array;
}

/* Element (i, j) in quadruple precision, straight from the definition. */
static __float128 exact_element(const lab_reference_problem *p, int64_t i, int64_t j, double *size)
{
    __float128 sum = 0;
    double magnitude = 0;
    for (int64_t k = 0; p->alpha != 0 && k < p->k; k++) {
        const double a = tsr_load_element(p->dtype_a, p->a, p->trans_a ? k * p->lda + i : i * p->lda + k);
        const double b = tsr_load_element(p->dtype_b, p->b, p->trans_b ? j * p->ldb + k : k * p->ldb + j);
        sum += (__float128)a * b;
        magnitude += fabs(a * b);
    }
    *size = fabs(p->alpha) * magnitude;
    __float128 result = p->alpha * sum;
    if (p->beta != 0) {
        const double c = tsr_load_element(p->dtype_c, p->c, i * p->ldc + j);
        result += (__float128)p->beta * c;
        *size += fabs(p->beta * c);
    }
    if (p->epilogue != TSR_EPILOGUE_NONE) {
        const double bias = tsr_load_element(p->dtype_c, p->bias, j);
        result += bias;
        *size += fabs(bias);
    }
    if (p->epilogue == TSR_EPILOGUE_BIAS_RELU && result < 0)
        result = 0;
    return result;
}

static void check_problem(const lab_reference_problem *p)
{
    lab_reference_element *out = malloc((size_t)(p->m * p->n + 1) * sizeof *out);
    assert_non_null(out);
    assert_int_equal(lab_reference(p, NULL, 0, NULL, 0, out), TSR_OK);
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++) {
            const lab_reference_element *e = &out[i * p->n + j];
            double size;
            const __float128 truth = exact_element(p, i, j, &size);
            __float128 error = truth - e->value - e->rest;
            if (error < 0)
                error = -error;
            /* f64: as if summed in twice the precision; others: exact products, sums in double. */
            const double unit = p->dtype_a == TSR_F64 ? 0x1p-98 : 0x1p-50;
            assert_true(error <= (__float128)(unit * size * (double)(p->k + 1)));
            assert_true(fabs(e->size - size) <= 1e-12 * size);
        }
    free(out);
}

static void layouts_and_factors(void **state)
{
    (void)state;
    static const tsr_dtype dtypes[] = {TSR_F64, TSR_F32, TSR_F16, TSR_BF16};
    static const double factors[] = {0, 1, -1, 0.5, 0.3};
    for (size_t t = 0; t < 4; t++)
        for (int layout = 0; layout < 4; layout++)
            for (int f = 0; f < 5; f++) {
                lab_reference_problem p = {
                    .m = 19, .n = 67, .k = 131, .dtype_a = dtypes[t], .dtype_b = dtypes[t], .dtype_c = dtypes[t]};
                p.trans_a = layout & 1;
                p.trans_b = layout >> 1;
                p.lda = (p.trans_a ? p.m : p.k) + 3;
                p.ldb = (p.trans_b ? p.k : p.n) + 1;
                p.ldc = p.n + 2;
                p.alpha = factors[f];
                p.beta = factors[(f + layout) % 5];
                void *a = filled(p.dtype_a, 140 * 140, 1), *b = filled(p.dtype_a, 140 * 140, 2);
                void *c = filled(p.dtype_c, 140 * 140, 3);
                p.a = a;
                p.b = b;
                p.c = c;
                void *bias = filled(p.dtype_c, p.n, 4);
                p.bias = bias;
                for (p.epilogue = 0; p.epilogue < TSR_EPILOGUE_COUNT; p.epilogue++)
                    check_problem(&p);
                free(bias);
                free(a);
                free(b);
                free(c);
            }
}

/* 1 + 2^-60 - 1: lost in double, kept in twice the precision. */
static void cancellation(void **state)
{
    (void)state;
    const double a[] = {1, 0x1p-60, -1}, b[] = {1, 1, 1};
    lab_reference_problem p = {1, 1,    3, TSR_F64, TSR_F64, TSR_F64, 0,    0,   3,   1,    1,    a,
                               b, NULL, 1, 0,       1,       0,       NULL, {0}, {0}, NULL, NULL, 0};
    lab_reference_element e;
    assert_int_equal(lab_reference(&p, NULL, 0, NULL, 0, &e), TSR_OK);
    assert_true(e.value == 0x1p-60 && e.rest == 0 && e.size == 2);
    const double x[] = {1 + 0x1p-30}, y[] = {1 + 0x1p-40};
    p.k = 1;
    p.a = x;
    p.b = y;
    assert_int_equal(lab_reference(&p, NULL, 0, NULL, 0, &e), TSR_OK);
    assert_true(e.value + e.rest == x[0] * y[0] && e.rest == fma(x[0], y[0], -(x[0] * y[0])) && e.rest != 0);
}

static void unread_operands(void **state)
{
    (void)state;
    const float c[] = {3, NAN, 5, 6};
    lab_reference_element e[4];
    lab_reference_problem p = {2,    2, 5, TSR_F32, TSR_F32, TSR_F32, 0,    0,   5,   2,    2,    NULL,
                               NULL, c, 0, 2,       1,       0,       NULL, {0}, {0}, NULL, NULL, 0};
    assert_int_equal(lab_reference(&p, NULL, 0, NULL, 0, e), TSR_OK);
    assert_true(e[0].value == 6 && isnan(e[1].value) && isnan(e[1].size) && e[2].value == 10 && e[3].size == 12);
    p.alpha = 1;
    p.k = 0;
    p.beta = 0;
    p.c = NULL;
    assert_int_equal(lab_reference(&p, NULL, 0, NULL, 0, e), TSR_OK);
    for (int i = 0; i < 4; i++)
        assert_true(e[i].value == 0 && e[i].rest == 0 && e[i].size == 0);
    p.m = 0;
    assert_int_equal(lab_reference(&p, NULL, 0, NULL, 0, e), TSR_OK);
}

/* 3 * 100 * 100 is 30,000; alpha brings it beyond 2^31, and beta * C back, or further. */
static void whole_numbers_wrap(void **state)
{
    (void)state;
    const int8_t a[] = {100, 100, 100}, b[] = {100, 100, 100};
    const int32_t c[] = {INT32_MAX};
    const float scale_a[] = {0.5F}, scale_b[] = {-4.0F};
    lab_reference_problem p = {1, 1, 3,      TSR_S8, TSR_S8, TSR_S32, 0,    0,   3,   1,    1,    a,
                               b, c, 100000, 0,      1,      0,       NULL, {0}, {0}, NULL, NULL, 0};
    lab_reference_element e;
    assert_int_equal(lab_reference(&p, NULL, 0, NULL, 0, &e), TSR_OK);
    assert_true(e.value == 3e9 - 0x1p32 && e.rest == 0);
    p.alpha = 1;
    p.beta = -2147483648.0;
    assert_int_equal(lab_reference(&p, NULL, 0, NULL, 0, &e), TSR_OK);
    assert_true(e.value == 30000 - 0x1p31 && e.rest == 0);
    /* A sum beyond 2^31 has wrapped before scales and alpha multiply it. */
    enum { LONG = 40000 };
    uint8_t *const ones = malloc(LONG);
    assert_non_null(ones);
    memset(ones, 255, LONG);
    p.dtype_a = p.dtype_b = TSR_U8;
    p.dtype_c = TSR_F32;
    p.k = p.lda = LONG;
    p.a = p.b = ones;
    p.alpha = 0.25;
    p.beta = 0;
    p.scales_a = (lab_scales){scale_a, NULL, TSR_SCALING_TENSOR, 0};
    p.scales_b = (lab_scales){scale_b, NULL, TSR_SCALING_TENSOR, 0};
    assert_int_equal(lab_reference(&p, NULL, 0, NULL, 0, &e), TSR_OK);
    assert_true(e.value == (LONG * 255.0 * 255.0 - 0x1p32) * -0.5 && e.rest == 0);
    assert_true(e.size == LONG * 255.0 * 255.0 * 0.5);
    free(ones);
}

static void infinities_stay(void **state)
{
    (void)state;
    static const tsr_dtype dtypes[] = {TSR_F64, TSR_F32};
    for (int t = 0; t < 2; t++) {
        double a[3], b[3];
        const double values[] = {1, INFINITY, 2}, others[] = {1, -1, 1};
        for (int i = 0; i < 3; i++) {
            tsr_store_element(dtypes[t], a, i, values[i]);
            tsr_store_element(dtypes[t], b, i, others[i]);
        }
        lab_reference_element e;
        lab_reference_problem p = {1, 1,    3,   dtypes[t], dtypes[t], dtypes[t], 0,    0,   3,   1,    1,    a,
                                   b, NULL, 0.5, 0,         1,         0,         NULL, {0}, {0}, NULL, NULL, 0};
        assert_int_equal(lab_reference(&p, NULL, 0, NULL, 0, &e), TSR_OK);
        assert_true(isinf(e.value) && e.value < 0 && e.rest == 0 && isinf(e.size));
        tsr_store_element(dtypes[t], b, 1, 0); /* infinity x 0 */
        assert_int_equal(lab_reference(&p, NULL, 0, NULL, 0, &e), TSR_OK);
        assert_true(isnan(e.value) && e.rest == 0);
    }
}

static void chosen_rows_and_columns(void **state)
{
    (void)state;
    enum { M = 70, N = 90, K = 200 };
    void *a = filled(TSR_F32, M * K, 1), *b = filled(TSR_F32, K * N, 2);
    lab_reference_problem p = {M, N,    K, TSR_F32, TSR_F32, TSR_F32, 0,    0,   K,   N,    N,    a,
                               b, NULL, 1, 0,       0,       0,       NULL, {0}, {0}, NULL, NULL, 0};
    lab_reference_element *all = malloc(M * N * sizeof *all), some[6];
    assert_non_null(all);
    const int64_t rows[] = {69, 0, 33}, columns[] = {5, 89};
    assert_int_equal(lab_reference(&p, NULL, 0, NULL, 0, all), TSR_OK);
    assert_int_equal(lab_reference(&p, rows, 3, columns, 2, some), TSR_OK);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 2; j++)
            assert_memory_equal(&some[i * 2 + j], &all[rows[i] * N + columns[j]], sizeof some[0]);
    free(a);
    free(b);
    free(all);
}

typedef struct tally {
    _Atomic int visits[1000];
} tally;

static void visit(void *user, int64_t index)
{
    atomic_fetch_add(&((tally *)user)->visits[index], 1);
}

static void parallel_visits_all_once(void **state)
{
    (void)state;
    for (int threads = 0; threads < 5; threads++)
        for (int64_t count = 0; count <= 1000; count = count * 3 + 1) {
            tally t;
            memset(&t, 0, sizeof t);
            lab_parallel(count, threads, visit, &t);
            for (int64_t i = 0; i < 1000; i++)
                assert_int_equal(t.visits[i], i < count);
        }
    assert_true(lab_processors() >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layouts_and_factors),      cmocka_unit_test(cancellation),
        cmocka_unit_test(unread_operands),          cmocka_unit_test(whole_numbers_wrap),
        cmocka_unit_test(infinities_stay),          cmocka_unit_test(chosen_rows_and_columns),
        cmocka_unit_test(parallel_visits_all_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
