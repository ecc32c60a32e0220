/* A product of tensor cores is a sum of 2 to 33 terms: the accumulator and k products. All are aligned to the largest
 * of their exponents (of a product: the sum of its factors' exponents, not that of its value), cut off some bits below
 * it, and added exactly; the sum is cut to the result's format. Nothing is rounded to nearest. The numbers of bits were
 * found by comparing this with an H200's answers (docs/EMULATOR.md); 81920 random and special cases of each instruction
 * agree. */
#include "emu/tensor.h"

#include <string.h>

typedef struct format_rules {
    int lowest_exponent; /* of an element */
    int kept_bits;       /* below the largest exponent */
    uint32_t cut;        /* lower bits of the result that are always 0 */
} format_rules;

static const format_rules rules[] = {
    [TSR_EMU_BF16] = {-126, 25, 0},   [TSR_EMU_F16] = {-14, 25, 0},      [TSR_EMU_TF32] = {-126, 25, 0},
    [TSR_EMU_E4M3] = {-6, 13, 0x3ff}, [TSR_EMU_E5M2] = {-14, 13, 0x3ff},
};

enum { LANES = 8, FLOAT_BIAS = 127, FRACTION_BITS = 23, DOUBLE_BIAS = 1023, DOUBLE_FRACTION_BITS = 52 };

typedef float floats __attribute__((vector_size(32), aligned(4)));
typedef int32_t ints __attribute__((vector_size(32), aligned(4)));
typedef uint32_t whole __attribute__((vector_size(32), aligned(4))); /* sums that may wrap where nobody reads them */
typedef double doubles __attribute__((vector_size(64)));
typedef int64_t longs __attribute__((vector_size(64)));

#define INLINE static inline __attribute__((always_inline))

INLINE uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

INLINE float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

INLINE ints larger(ints a, ints b)
{
    const ints is_larger = a > b;
    return (a & is_larger) | (b & ~is_larger);
}

/* 2^e for -126 <= e <= 127. */
INLINE float power_of_two(int e)
{
    return float_of((uint32_t)(e + FLOAT_BIAS) << FRACTION_BITS);
}

static void take_apart(float value, int lowest, float *significand, int *exponent)
{
    const uint32_t bits = bits_of(value), magnitude = bits & 0x7fffffffu;
    int e = (int)(magnitude >> FRACTION_BITS) - FLOAT_BIAS;
    *significand = value;
    if (magnitude == 0) {
        *exponent = EMU_OF_ZERO;
    } else if (e > FLOAT_BIAS) {
        *exponent = EMU_OF_SPECIAL;
    } else {
        e = e < lowest ? lowest : e;
        /* In two steps, since 2^-e may be no float. */
        *significand = value * power_of_two(-e / 2) * power_of_two(-e - -e / 2);
        *exponent = e;
    }
}

void tsr_emu_take_apart(const emu_parts *parts, int index, float value, tsr_emu_format format)
{
    if (format == TSR_EMU_S8 || format == TSR_EMU_U8) {
        parts->significands[index] = value;
        parts->exponents[index] = 0;
    } else {
        take_apart(value, rules[format].lowest_exponent, &parts->significands[index], &parts->exponents[index]);
    }
}

/* A sum that has an infinity or NaN among its terms. */
static float add_special(float acc, const float *a_sig, const int *a_exp, const emu_parts *b, int at, int b_pitch,
                         int k)
{
    const uint32_t canonical_nan = 0x7fffffffu, infinity = 0x7f800000u;
    int up = acc == float_of(infinity), down = acc == -float_of(infinity), is_nan = acc != acc;
    for (int i = 0; i < k; i++) {
        /* Callers fill K of both; the analyzer does not follow the formats. */
        const float x = a_sig[i], y = b->significands[at + i * b_pitch]; /* NOLINT(clang-analyzer-core*) */
        if (a_exp[i] != EMU_OF_SPECIAL && b->exponents[at + i * b_pitch] != EMU_OF_SPECIAL)
            continue;
        const float product = x * y; /* infinite or NaN: 0 times infinity is NaN, too */
        is_nan |= product != product;
        up |= product > 0;
        down |= product < 0;
    }
    if (is_nan || (up && down))
        return float_of(canonical_nan);
    return up ? float_of(infinity) : -float_of(infinity);
}

/* total * 2^exponent, cut to f32: towards zero, but from 2^128 on it is an infinity. */
INLINE floats cut_to_float(longs total, longs exponent, uint32_t cut)
{
    const longs exponent_bits = (exponent + DOUBLE_BIAS) << DOUBLE_FRACTION_BITS;
    const doubles exact = __builtin_convertvector(total, doubles) * (doubles)exponent_bits;
    const floats nearest = __builtin_convertvector(exact, floats);
    const doubles back = __builtin_convertvector(nearest, doubles);
    const doubles magnitude = (doubles)((longs)exact & INT64_MAX), back_magnitude = (doubles)((longs)back & INT64_MAX);
    const longs is_above = (back_magnitude > magnitude) & (magnitude < 0x1p128);
    const ints bits = (ints)nearest + __builtin_convertvector(is_above, ints); /* -1 where it is */
    return (floats)(bits & (int32_t)~cut);
}

/* Eight sums at once. */
INLINE floats add_eight(floats acc, const float *a_sig, const int *a_exp, const emu_parts *b, int at, int b_pitch,
                        int k, const format_rules *rule)
{
    ints acc_exp = (ints)acc >> FRACTION_BITS & 0xff;
    const ints acc_is_special = acc_exp == 0xff;
    const ints acc_is_subnormal = acc_exp == 0;
    /* The significand as a float with exponent 0; of a subnormal number without its hidden bit. */
    const floats one_and = (floats)(((ints)acc & (int32_t)0x807fffff) | (FLOAT_BIAS << FRACTION_BITS));
    const floats sign_one = (floats)(((ints)acc & INT32_MIN) | (FLOAT_BIAS << FRACTION_BITS));
    const floats acc_sig = one_and - (floats)((ints)sign_one & acc_is_subnormal);
    acc_exp = acc_exp - FLOAT_BIAS - acc_is_subnormal;
    acc_exp = acc_exp + (acc_is_special & EMU_OF_SPECIAL);
    const ints acc_is_zero = acc == 0.0f;
    acc_exp = (acc_exp & ~acc_is_zero) | (acc_is_zero & EMU_OF_ZERO);

    ints top = acc_exp;
    for (int i = 0; i < k; i++) {
        const ints e = *(const ints *)(b->exponents + at + i * b_pitch) + a_exp[i];
        top = larger(e, top);
    }
    const ints is_nothing = top < EMU_OF_ZERO / 2;
    top &= ~is_nothing;

    whole even = {0}, odd = {0}; /* each has at most 16 terms below 2^27, but in lanes with an infinity or NaN */
    const ints base = top - rule->kept_bits - FLOAT_BIAS;
    for (int i = 0; i < k; i++) {
        const floats product = *(const floats *)(b->significands + at + i * b_pitch) * a_sig[i];
        ints scale = *(const ints *)(b->exponents + at + i * b_pitch) + a_exp[i] - base;
        scale = larger(scale, (ints){0}); /* far below: 0 */
        const floats shifted = product * (floats)(scale << FRACTION_BITS);
        if (i % 2)
            odd += (whole) __builtin_convertvector(shifted, ints);
        else
            even += (whole) __builtin_convertvector(shifted, ints);
    }
    ints scale = acc_exp - base;
    scale = larger(scale, (ints){0});
    odd += (whole) __builtin_convertvector(acc_sig * (floats)(scale << FRACTION_BITS), ints);
    const longs total = __builtin_convertvector((ints)even, longs) + __builtin_convertvector((ints)odd, longs);
    floats result = cut_to_float(total, __builtin_convertvector(top - rule->kept_bits, longs), rule->cut);

    const ints is_special = top > EMU_OF_SPECIAL / 2;
    for (int j = 0; j < LANES; j++)
        if (is_special[j])
            result[j] = add_special(acc[j], a_sig, a_exp, b, at + j, b_pitch, k);
    return result;
}

INLINE void add_floats(float *sum, int sum_pitch, const emu_parts *a, const emu_parts *b, int b_pitch, int rows,
                       int columns, int k, const format_rules *rule)
{
    for (int row = 0; row < rows; row++)
        for (int column = 0; column < columns; column += LANES) {
            floats *at = (floats *)(sum + row * sum_pitch + column);
            *at = add_eight(*at, a->significands + row * k, a->exponents + row * k, b, column, b_pitch, k, rule);
        }
}

/* The sum of k products is exact in f32; the accumulator wraps. */
static void add_integers(float *sum, int sum_pitch, const emu_parts *a, const emu_parts *b, int b_pitch, int rows,
                         int columns, int k)
{
    for (int row = 0; row < rows; row++)
        for (int column = 0; column < columns; column++) {
            float products = 0;
            for (int i = 0; i < k; i++)                    /* as above */
                products += a->significands[row * k + i] * /* NOLINT(clang-analyzer-core*) */
                            b->significands[i * b_pitch + column];
            uint32_t *at = (uint32_t *)(void *)(sum + row * sum_pitch + column), total;
            memcpy(&total, at, sizeof total);
            total += (uint32_t)(int32_t)products;
            memcpy(at, &total, sizeof total);
        }
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void add_floats_avx2(float *sum, int sum_pitch, const emu_parts *a,
                                                            const emu_parts *b, int b_pitch, int rows, int columns,
                                                            int k, const format_rules *rule)
{
    add_floats(sum, sum_pitch, a, b, b_pitch, rows, columns, k, rule);
}
#endif

void tsr_emu_tensor_add(float *sum, int sum_pitch, const emu_parts *a, const emu_parts *b, int b_pitch, int rows,
                        int columns, int k, tsr_emu_format format)
{
    if (format == TSR_EMU_S8 || format == TSR_EMU_U8) {
        add_integers(sum, sum_pitch, a, b, b_pitch, rows, columns, k);
        return;
    }
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        add_floats_avx2(sum, sum_pitch, a, b, b_pitch, rows, columns, k, &rules[format]);
        return;
    }
#endif
    add_floats(sum, sum_pitch, a, b, b_pitch, rows, columns, k, &rules[format]);
}

/* The matrices of one warp are small enough for its stack. */
void tsr_emu_tensor(float *sum, const float *a, const float *b, int rows, int columns, int k, tsr_emu_format format)
{
    enum { MOST = 16 * 16 };
    float a_significands[MOST], b_significands[MOST];
    int a_exponents[MOST], b_exponents[MOST];
    const emu_parts a_parts = {a_significands, a_exponents}, b_parts = {b_significands, b_exponents};
    for (int i = 0; i < rows * k; i++)
        tsr_emu_take_apart(&a_parts, i, a[i], format);
    for (int i = 0; i < k * columns; i++)
        tsr_emu_take_apart(&b_parts, i, b[i], format);
    tsr_emu_tensor_add(sum, columns, &a_parts, &b_parts, columns, rows, columns, k, format);
}
