/* Statistics and random numbers: known answers, and the coverage that the 95% interval promises. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/dtype.h"
#include "lab/common/random.h"
#include "lab/common/stats.h"

static void near(double got, double want, double tolerance)
{
    if (!(fabs(got - want) <= tolerance))
        fail_msg("%.17g is not within %g of %.17g", got, tolerance, want);
}

static void quantiles(void **state)
{
    (void)state;
    const double odd[] = {3, 1, 2}, even[] = {4, 1, 3, 2}, one[] = {7};
    near(lab_median(odd, 3), 2, 0);
    near(lab_median(even, 4), 2.5, 0);
    near(lab_median(one, 1), 7, 0);
    near(lab_quantile(even, 4, 0), 1, 0);
    near(lab_quantile(even, 4, 1), 4, 0);
    near(lab_quantile(even, 4, 0.25), 1.75, 1e-15);
    assert_true(isnan(lab_median(one, 0)));
    const double infinite[] = {1, INFINITY, INFINITY};
    assert_true(isinf(lab_median(infinite, 3)));
    near(even[0], 4, 0); /* inputs stay in place */
}

static void spread_ignores_outliers(void **state)
{
    (void)state;
    const double values[] = {10, 11, 9, 10, 1000};
    near(lab_spread(values, 5), 1.4826 * 1 / 10, 1e-12);
    near(lab_spread(values, 1), 0, 0);
    assert_true(isnan(lab_spread(values, 0)));
    /* Of a normal sample it is the relative standard deviation. */
    double sample[20001];
    lab_random random = lab_random_make(3, 0);
    for (int i = 0; i < 20001; i++)
        sample[i] = 100 + 5 * lab_random_normal(&random);
    near(lab_spread(sample, 20001), 0.05, 0.0015);
}

static void interval_of_constant_ratio(void **state)
{
    (void)state;
    double over[30], under[30];
    for (int i = 0; i < 30; i++) {
        under[i] = 10 + i % 7;
        over[i] = 2 * under[i];
    }
    const lab_interval interval = lab_ratio_of_medians(over, under, 30, 1);
    near(interval.mid, 2, 0);
    near(interval.lo, 2, 1e-12); /* pairs stay together, so the common noise cancels */
    near(interval.hi, 2, 1e-12);
}

static void interval_of_few_rounds(void **state)
{
    (void)state;
    const double over[] = {2, 2, 2, 2}, under[] = {1, 1, 1, 1};
    const lab_interval interval = lab_ratio_of_medians(over, under, 4, 1);
    near(interval.mid, 2, 0);
    assert_true(isnan(interval.lo) && isnan(interval.hi));
    assert_true(isnan(lab_ratio_of_medians(over, under, 0, 1).mid));
}

static void interval_is_seeded(void **state)
{
    (void)state;
    double over[30], under[30];
    lab_random random = lab_random_make(5, 0);
    for (int i = 0; i < 30; i++) {
        over[i] = 10 + lab_random_unit(&random);
        under[i] = 10 + lab_random_unit(&random);
    }
    const lab_interval a = lab_ratio_of_medians(over, under, 30, 9), b = lab_ratio_of_medians(over, under, 30, 9);
    assert_memory_equal(&a, &b, sizeof a);
    assert_true(a.lo < a.mid && a.mid < a.hi);
}

/* Times with a common drift and skewed noise, true ratio 1.1: the interval must hold it about 95 times in 100. */
static void interval_covers(void **state)
{
    (void)state;
    enum { TRIALS = 300, ROUNDS = 30 };
    int covered = 0;
    lab_random random = lab_random_make(11, 0);
    for (int trial = 0; trial < TRIALS; trial++) {
        double over[ROUNDS], under[ROUNDS];
        for (int i = 0; i < ROUNDS; i++) {
            const double drift = 1 + 0.1 * lab_random_unit(&random);
            over[i] = 1.1 * drift * (1 - 0.02 * log(1 - lab_random_unit(&random)));
            under[i] = drift * (1 - 0.02 * log(1 - lab_random_unit(&random)));
        }
        const lab_interval interval = lab_ratio_of_medians(over, under, ROUNDS, (uint64_t)trial);
        covered += interval.lo <= 1.1 && 1.1 <= interval.hi;
    }
    assert_in_range(covered, 0.91 * TRIALS, 0.995 * TRIALS);
}

static void dividing_intervals(void **state)
{
    (void)state;
    const lab_interval result = lab_interval_divide((lab_interval){2, 3, 4}, (lab_interval){1, 2, 4});
    near(result.lo, 0.5, 0);
    near(result.mid, 1.5, 0);
    near(result.hi, 4, 0);
    const double values[] = {1, 2, 3, 4, 5, 6, 7};
    const lab_interval median = lab_median_interval(values, 7, 1);
    assert_true(median.lo >= 1 && median.lo < 4 && median.mid == 4 && median.hi > 4 && median.hi <= 7);
}

/* xoshiro256** from the state 1, 2, 3, 4, as its authors' code gives it. */
static void generator_known_answers(void **state)
{
    (void)state;
    lab_random random = {{1, 2, 3, 4}, 0, 0};
    const uint64_t want[] = {11520u, 0u, 1509978240u, 1215971899390074240u};
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(lab_random_u64(&random), want[i]);
}

static void normal_moments(void **state)
{
    (void)state;
    enum { COUNT = 400000 };
    lab_random random = lab_random_make(1, 2);
    double sum = 0, squares = 0, fourths = 0;
    for (int i = 0; i < COUNT; i++) {
        const double x = lab_random_normal(&random);
        sum += x;
        squares += x * x;
        fourths += x * x * x * x;
    }
    near(sum / COUNT, 0, 0.008);
    near(squares / COUNT, 1, 0.012);
    near(fourths / COUNT, 3, 0.08);
}

static void below_is_even(void **state)
{
    (void)state;
    int counts[5] = {0};
    lab_random random = lab_random_make(1, 0);
    for (int i = 0; i < 50000; i++)
        counts[lab_random_below(&random, 5)]++;
    for (int i = 0; i < 5; i++)
        assert_in_range(counts[i], 9600, 10400);
    assert_int_equal(lab_random_below(&random, 1), 0);
}

static void streams_differ(void **state)
{
    (void)state;
    lab_random a = lab_random_make(1, 0), b = lab_random_make(1, 1), c = lab_random_make(2, 0);
    const uint64_t x = lab_random_u64(&a), y = lab_random_u64(&b), z = lab_random_u64(&c);
    assert_true(x != y && y != z && x != z);
}

static void fills(void **state)
{
    (void)state;
    enum { COUNT = 200000 };
    float *array = malloc(COUNT * sizeof *array), *again = malloc(COUNT * sizeof *again);
    assert_true(array != NULL && again != NULL);
    lab_fill(LAB_FILL_NORMAL, 0, TSR_F32, array, COUNT, 4);
    lab_fill(LAB_FILL_NORMAL, 0, TSR_F32, again, COUNT, 4);
    assert_memory_equal(array, again, COUNT * sizeof *array);
    lab_fill(LAB_FILL_NORMAL, 0, TSR_F32, again, COUNT - 1, 4); /* a shorter fill is a prefix */
    assert_memory_equal(array, again, COUNT * sizeof *array);
    lab_fill(LAB_FILL_NORMAL, 0, TSR_F32, again, COUNT, 5);
    assert_memory_not_equal(array, again, COUNT * sizeof *array);

    lab_fill(LAB_FILL_INTEGERS, 3, TSR_F32, array, COUNT, 4);
    int seen[7] = {0};
    for (int i = 0; i < COUNT; i++) {
        assert_true(array[i] == nearbyintf(array[i]) && fabsf(array[i]) <= 3);
        seen[(int)array[i] + 3]++;
    }
    for (int i = 0; i < 7; i++)
        assert_in_range(seen[i], COUNT / 8, COUNT / 6);

    lab_fill(LAB_FILL_SPECIAL, 10, TSR_F32, array, COUNT, 4);
    int nans = 0, infinities = 0, negative = 0;
    for (int i = 0; i < COUNT; i++) {
        nans += isnan(array[i]) != 0;
        infinities += isinf(array[i]) != 0;
        negative += isinf(array[i]) && array[i] < 0;
    }
    assert_in_range(nans, COUNT / 36, COUNT / 25);
    assert_in_range(infinities, COUNT / 18, COUNT / 13);
    assert_in_range(negative, COUNT / 36, COUNT / 25);

    lab_fill(LAB_FILL_NAN, 0, TSR_F32, array, 100, 4);
    lab_fill(LAB_FILL_ZERO, 0, TSR_F32, again, 100, 4);
    for (int i = 0; i < 100; i++)
        assert_true(isnan(array[i]) && again[i] == 0);
    lab_fill(LAB_FILL_NORMAL, 0, TSR_F32, array, 0, 4);
    free(array);
    free(again);
}

static void fills_of_small_types(void **state)
{
    (void)state;
    static const tsr_dtype dtypes[] = {TSR_F16, TSR_BF16, TSR_E4M3, TSR_E5M2, TSR_S8, TSR_U8, TSR_S32};
    for (size_t t = 0; t < sizeof dtypes / sizeof dtypes[0]; t++) {
        uint64_t array[64];
        const int64_t count = (int64_t)(sizeof array / tsr_dtype_bytes(dtypes[t]) / 2);
        lab_fill(LAB_FILL_INTEGERS, 2, dtypes[t], array, count, 1);
        for (int64_t i = 0; i < count; i++) {
            const double value = tsr_load_element(dtypes[t], array, i);
            assert_true(value == nearbyint(value) && fabs(value) <= 2 && (dtypes[t] != TSR_U8 || value >= 0));
        }
        lab_fill(LAB_FILL_NAN, 0, dtypes[t], array, count, 1);
        const double value = tsr_load_element(dtypes[t], array, 0);
        assert_true(isnan(value) || value == (dtypes[t] == TSR_S8 ? -128 : dtypes[t] == TSR_U8 ? 0 : -0x1p31));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles),
        cmocka_unit_test(spread_ignores_outliers),
        cmocka_unit_test(interval_of_constant_ratio),
        cmocka_unit_test(interval_of_few_rounds),
        cmocka_unit_test(interval_is_seeded),
        cmocka_unit_test(interval_covers),
        cmocka_unit_test(dividing_intervals),
        cmocka_unit_test(generator_known_answers),
        cmocka_unit_test(normal_moments),
        cmocka_unit_test(below_is_even),
        cmocka_unit_test(streams_differ),
        cmocka_unit_test(fills),
        cmocka_unit_test(fills_of_small_types),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
