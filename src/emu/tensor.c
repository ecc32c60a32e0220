/* A product of tensor cores is a sum of 2 to 33 terms: the accumulator and k products. All are aligned to the largest
 * of their exponents (of a product: the sum of its factors' exponents, not that of its value), cut off some bits below
 * it, and added exactly. The sum is cut to f32, or rounded to nearest where the accumulators are f16. The numbers of
 * bits were found by comparing this with an H200's answers (docs/EMULATOR.md); 81920 random and special cases of each
 * instruction agree. */
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
enum { F16_LOWEST_EXPONENT = -14, F16_FRACTION_BITS = 10 };

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

/* total * 2^exponent, rounded to f16 (ties to even, subnormals included), as floats; from 65520 on it is an infinity,
 * and a zero has no sign. */
INLINE floats round_to_f16(longs total, longs exponent)
{
    const longs exponent_bits = (exponent + DOUBLE_BIAS) << DOUBLE_FRACTION_BITS;
    const doubles exact = __builtin_convertvector(total, doubles) * (doubles)exponent_bits;
    longs top = ((longs)exact >> DOUBLE_FRACTION_BITS & 0x7ff) - DOUBLE_BIAS;
    const longs is_subnormal = top < F16_LOWEST_EXPONENT;
    top = (top & ~is_subnormal) | (is_subnormal & F16_LOWEST_EXPONENT);
    /* 1.5 times the power of two at which a double's last bit is f16's: the addition rounds. */
    const longs shift = top - F16_FRACTION_BITS + DOUBLE_FRACTION_BITS + DOUBLE_BIAS;
    const doubles rounder = (doubles)(shift << DOUBLE_FRACTION_BITS | (longs){0} | 1ll << (DOUBLE_FRACTION_BITS - 1));
    const doubles rounded = (exact + rounder) - rounder;
    const longs is_infinite = (doubles)((longs)rounded & INT64_MAX) >= 0x1p16;
    const ints result = (ints) __builtin_convertvector(rounded, floats);
    const ints infinity = (result & INT32_MIN) | 0x7f800000, mask = __builtin_convertvector(is_infinite, ints);
    return (floats)((infinity & mask) | (result & ~mask));
}

/* Eight sums at once. Accumulators that are f16 come as floats; their subnormals have f16's lowest exponent. */
INLINE floats add_eight(floats acc, const float *a_sig, const int *a_exp, const emu_parts *b, int at, int b_pitch,
                        int k, const format_rules *rule, int to_f16)
{
    ints acc_exp = (ints)acc >> FRACTION_BITS & 0xff;
    const ints acc_is_special = acc_exp == 0xff;
    const ints acc_is_subnormal = acc_exp == 0;
    /* The significand as a float with exponent 0; of a subnormal number without its hidden bit. */
    const floats one_and = (floats)(((ints)acc & (int32_t)0x807fffff) | (FLOAT_BIAS << FRACTION_BITS));
    const floats sign_one = (floats)(((ints)acc & INT32_MIN) | (FLOAT_BIAS << FRACTION_BITS));
    floats acc_sig = one_and - (floats)((ints)sign_one & acc_is_subnormal);
    acc_exp = acc_exp - FLOAT_BIAS - acc_is_subnormal;
    if (to_f16) {
        const ints raised = larger(acc_exp, (ints){0} + F16_LOWEST_EXPONENT);
        acc_sig *= (floats)((acc_exp - raised + FLOAT_BIAS) << FRACTION_BITS);
        acc_exp = raised;
    }
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
    const longs last = __builtin_convertvector(top - rule->kept_bits, longs);
    floats result = to_f16 ? round_to_f16(total, last) : cut_to_float(total, last, rule->cut);

    const ints is_special = top > EMU_OF_SPECIAL / 2;
    for (int j = 0; j < LANES; j++)
        if (is_special[j])
            result[j] = add_special(acc[j], a_sig, a_exp, b, at + j, b_pitch, k);
    return result;
}

INLINE void add_floats(float *sum, int sum_pitch, const emu_parts *a, const emu_parts *b, int b_pitch, int rows,
                       int columns, int k, const format_rules *rule, int to_f16)
{
    for (int row = 0; row < rows; row++)
        for (int column = 0; column < columns; column += LANES) {
            floats *at = (floats *)(sum + row * sum_pitch + column);
            *at =
                add_eight(*at, a->significands + row * k, a->exponents + row * k, b, column, b_pitch, k, rule, to_f16);
        }
}

/* Two copies of the loops, by what the accumulators are. */
INLINE void add_floats_as(float *sum, int sum_pitch, const emu_parts *a, const emu_parts *b, int b_pitch, int rows,
                          int columns, int k, const format_rules *rule, int to_f16)
{
    if (to_f16)
        add_floats(sum, sum_pitch, a, b, b_pitch, rows, columns, k, rule, 1);
    else
        add_floats(sum, sum_pitch, a, b, b_pitch, rows, columns, k, rule, 0);
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
                                                            int k, const format_rules *rule, int to_f16)
{
    add_floats_as(sum, sum_pitch, a, b, b_pitch, rows, columns, k, rule, to_f16);
}
#endif

void tsr_emu_tensor_add(float *sum, int sum_pitch, const emu_parts *a, const emu_parts *b, int b_pitch, int rows,
                        int columns, int k, tsr_emu_format format, int to_f16)
{
    if (format == TSR_EMU_S8 || format == TSR_EMU_U8) {
        add_integers(sum, sum_pitch, a, b, b_pitch, rows, columns, k);
        return;
    }
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        add_floats_avx2(sum, sum_pitch, a, b, b_pitch, rows, columns, k, &rules[format], to_f16);
        return;
    }
#endif
    add_floats_as(sum, sum_pitch, a, b, b_pitch, rows, columns, k, &rules[format], to_f16);
}

/* The matrices of one warp are small enough for its stack. */
static void multiply(float *sum, const float *a, const float *b, int rows, int columns, int k, tsr_emu_format format,
                     int to_f16)
{
    enum { MOST = 16 * 16 };
    float a_significands[MOST], b_significands[MOST];
    int a_exponents[MOST], b_exponents[MOST];
    const emu_parts a_parts = {a_significands, a_exponents}, b_parts = {b_significands, b_exponents};
    for (int i = 0; i < rows * k; i++)
        tsr_emu_take_apart(&a_parts, i, a[i], format);
    for (int i = 0; i < k * columns; i++)
        tsr_emu_take_apart(&b_parts, i, b[i], format);
    tsr_emu_tensor_add(sum, columns, &a_parts, &b_parts, columns, rows, columns, k, format, to_f16);
}

void tsr_emu_tensor(float *sum, const float *a, const float *b, int rows, int columns, int k, tsr_emu_format format)
{
    multiply(sum, a, b, rows, columns, k, format, 0);
}

void tsr_emu_tensor_f16(float *sum, const float *a, const float *b, int rows, int columns, int k, tsr_emu_format format)
{
    multiply(sum, a, b, rows, columns, k, format, 1);
}
