/* The tensor cores' sums against the rules of docs/EMULATOR.md, "Tensor cores", by whole numbers, one at a time: for
 * operands of all sizes, and at the limits up to which the emulator takes a short way. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "emu/tensor.h"
#include "lab/common/random.h"

enum { ROWS = 3, COLUMNS = 16, PITCH = 24, MOST_K = 32 };

typedef struct element_format {
    tsr_emu_format format;
    const char *name;
    int fraction_bits, lowest, highest; /* exponents of normal elements */
    int k, kept_bits;
    uint32_t cut;
} element_format;

static const element_format formats[] = {
    {TSR_EMU_BF16, "bf16", 7, -126, 127, 16, 25, 0},   {TSR_EMU_F16, "f16", 10, -14, 15, 16, 25, 0},
    {TSR_EMU_TF32, "tf32", 10, -126, 127, 8, 25, 0},   {TSR_EMU_E4M3, "e4m3", 3, -6, 8, 32, 13, 0x3ff},
    {TSR_EMU_E5M2, "e5m2", 2, -14, 15, 32, 13, 0x3ff},
};

/* ---- the rules ---- */

/* value = sign * significand * 2^(exponent - 23), a whole significand; 0 for zero. */
static long long take_apart(float value, int lowest, int *exponent)
{
    if (value == 0)
        return 0;
    int e;
    frexpf(value, &e); /* a fraction in [0.5, 1) */
    *exponent = e - 1 < lowest ? lowest : e - 1;
    return (long long)ldexp((double)value, 23 - *exponent);
}

/* significand * 2^shift, towards zero. */
static long long shifted(long long significand, int shift)
{
    if (shift >= 0)
        return significand * (1ll << shift);
    return shift <= -63 ? 0 : significand / (1ll << -shift);
}

static float cut_to_float(double exact, uint32_t cut)
{
    float result = (float)exact;
    if (isinf(result) ? fabs(exact) < 0x1p128 : fabs((double)result) > fabs(exact))
        result = nextafterf(result, 0.0f);
    uint32_t bits;
    memcpy(&bits, &result, sizeof bits);
    bits &= ~cut;
    memcpy(&result, &bits, sizeof result);
    return result;
}

static float sum_by_the_rules(float acc, const float *a, const float *b, int pitch, const element_format *f)
{
    long long significands[MOST_K + 1];
    int exponents[MOST_K + 1] = {0}, top = INT32_MIN;
    for (int i = 0; i < f->k; i++) {
        int left = 0, right = 0;
        significands[i] = take_apart(a[i], f->lowest, &left) * take_apart(b[i * pitch], f->lowest, &right);
        exponents[i] = left + right;
    }
    significands[f->k] = take_apart(acc, -126, &exponents[f->k]) * (1 << 23);
    for (int i = 0; i <= f->k; i++)
        if (significands[i] != 0 && exponents[i] > top)
            top = exponents[i];
    if (top == INT32_MIN)
        return 0;
    long long total = 0;
    for (int i = 0; i <= f->k; i++)
        if (significands[i] != 0)
            total += shifted(significands[i], exponents[i] - top + f->kept_bits - 46);
    /* A negative sum that is cut to zero is -0. */
    return cut_to_float(ldexp((double)total, top - f->kept_bits), f->cut);
}

/* ---- operands ---- */

typedef struct operands {
    float a[ROWS * MOST_K], b[MOST_K * PITCH], sum[ROWS * PITCH], before[ROWS * PITCH];
    int a_exponents[ROWS * MOST_K], b_exponents[MOST_K * PITCH];
} operands;

static int between(lab_random *random, int low, int high)
{
    const unsigned count = (unsigned)(high - low) + 1;
    return low + (int)lab_random_below(random, count);
}

/* An element whose exponent is in low...high as far as the format has it; below its lowest it is subnormal. */
static float element(lab_random *random, const element_format *f, int low, int high)
{
    if (lab_random_below(random, 12) == 0)
        return 0;
    int e = between(random, low, high);
    e = e > f->highest ? f->highest : e;
    const double units = (double)lab_random_below(random, 1u << f->fraction_bits);
    const double hidden = e < f->lowest ? 0 : ldexp(1.0, f->fraction_bits);
    const double magnitude = ldexp(hidden + units, (e < f->lowest ? f->lowest : e) - f->fraction_bits);
    return (float)(lab_random_below(random, 2) ? magnitude : -magnitude);
}

static float accumulator(lab_random *random, int low, int high)
{
    const int e = between(random, low, high);
    const double magnitude = ldexp(1.0 + (double)lab_random_below(random, 1u << 23) * 0x1p-23, e);
    const float value = (float)(lab_random_below(random, 2) ? magnitude : -magnitude);
    return lab_random_below(random, 12) == 0 ? 0 : value; /* below -126 it is subnormal */
}

static void check(operands *o, const element_format *f, int low, int high)
{
    const emu_factor a = {o->a, o->a_exponents, f->format}, b = {o->b, o->b_exponents, f->format};
    memcpy(o->before, o->sum, sizeof o->sum);
    tsr_emu_tensor_add(o->sum, PITCH, &a, &b, PITCH, ROWS, COLUMNS, f->k, 0);
    for (int row = 0; row < ROWS; row++)
        for (int column = 0; column < COLUMNS; column++) {
            const int at = row * PITCH + column;
            const float expected = sum_by_the_rules(o->before[at], o->a + row * f->k, o->b + column, PITCH, f);
            uint32_t wanted_bits, bits;
            memcpy(&wanted_bits, &expected, sizeof wanted_bits);
            memcpy(&bits, &o->sum[at], sizeof bits);
            if (bits != wanted_bits)
                fail_msg("%s, exponents %d to %d, [%d][%d]: %a, expected %a", f->name, low, high, row, column,
                         (double)o->sum[at], (double)expected);
        }
    for (int row = 0; row < ROWS; row++)
        for (int column = COLUMNS; column < PITCH; column++)
            assert_memory_equal(&o->sum[row * PITCH + column], &o->before[row * PITCH + column], sizeof(float));
}

static void fill(operands *o, lab_random *random, const element_format *f, int low, int high)
{
    for (int i = 0; i < ROWS * f->k; i++)
        o->a[i] = element(random, f, low, high);
    for (int i = 0; i < f->k * PITCH; i++)
        o->b[i] = element(random, f, low, high);
    const int acc_low = 2 * low < -149 ? -149 : 2 * low > 100 ? 100 : 2 * low;
    const int acc_high = 2 * high > 127 ? 127 : 2 * high < acc_low ? acc_low : 2 * high;
    for (int i = 0; i < ROWS * PITCH; i++)
        o->sum[i] = accumulator(random, acc_low, acc_high);
}

/* ---- tests ---- */

static void sums_follow_the_rules_test(void **state)
{
    /* Around 1, wide, tiny, huge, and on both sides of -50 and 60. */
    static const int spans[][2] = {{-3, 3},    {-20, 20},   {-60, 63},  {-51, -49}, {-50, -50}, {59, 61},  {60, 60},
                                   {-30, -10}, {-126, -90}, {-130, 10}, {40, 63},   {-50, 60},  {-16, -1}, {-8, 8},
                                   {0, 0},     {-75, -60},  {-64, -51}, {61, 64},   {62, 70}};
    (void)state;
    lab_random random = lab_random_make(11, 0);
    operands *o = malloc(sizeof *o);
    assert_non_null(o);
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        for (size_t j = 0; j < sizeof spans / sizeof spans[0]; j++)
            for (int repeat = 0; repeat < 40; repeat++) {
                fill(o, &random, &formats[i], spans[j][0], spans[j][1]);
                check(o, &formats[i], spans[j][0], spans[j][1]);
            }
    free(o);
}

/* One element beyond the limits, which sends all through the long way, changes nothing elsewhere. */
static void both_ways_agree_test(void **state)
{
    (void)state;
    lab_random random = lab_random_make(12, 0);
    operands *o = malloc(sizeof *o), *far = malloc(sizeof *far);
    assert_non_null(o);
    assert_non_null(far);
    for (int repeat = 0; repeat < 200; repeat++) {
        const element_format *f = &formats[repeat % 2 ? 0 : 2];
        fill(o, &random, f, -12, 12);
        *far = *o;
        far->a[(ROWS - 1) * f->k] = repeat % 4 < 2 ? 0x1p-100f : INFINITY;
        const emu_factor a = {o->a, o->a_exponents, f->format}, b = {o->b, o->b_exponents, f->format};
        const emu_factor far_a = {far->a, far->a_exponents, f->format};
        const emu_factor far_b = {far->b, far->b_exponents, f->format};
        for (int to_f16 = 0; to_f16 < 2; to_f16++) {
            for (int i = 0; i < ROWS * PITCH; i++) /* what f16 holds */
                o->sum[i] = far->sum[i] = (float)((int)lab_random_below(&random, 2001) - 1000) / 64;
            tsr_emu_tensor_add(o->sum, PITCH, &a, &b, PITCH, ROWS, COLUMNS, f->k, to_f16);
            tsr_emu_tensor_add(far->sum, PITCH, &far_a, &far_b, PITCH, ROWS, COLUMNS, f->k, to_f16);
            assert_memory_equal(o->sum, far->sum, (ROWS - 1) * PITCH * sizeof *o->sum);
        }
    }
    free(o);
    free(far);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_follow_the_rules_test),
        cmocka_unit_test(both_ways_agree_test),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
