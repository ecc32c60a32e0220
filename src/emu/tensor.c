/* A product of tensor cores is a sum of 2 to 33 terms: the accumulator and k products. All are aligned to the largest
 * of their exponents (of a product: the sum of its factors' exponents, not that of its value), cut off some bits below
 * it, and added exactly. The sum is cut to f32, or rounded to nearest where the accumulators are f16. The numbers of
 * bits were found by comparing this with an H200's answers (docs/EMULATOR.md); 81920 random and special cases of each
 * instruction agree. */
#include "emu/tensor.h"

#include <math.h>
#include <string.h>

#include "emu/emulated_machine.h"
#include "ptx/emulator_f64.h"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

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
/* Halves of the above, and what needs more bits; vectors of 64 bytes would be compared one by one. */
typedef float half_floats __attribute__((vector_size(16)));
typedef int32_t half_ints __attribute__((vector_size(16)));
typedef double doubles __attribute__((vector_size(32)));
typedef int64_t longs __attribute__((vector_size(32)));

#define INLINE static inline __attribute__((always_inline))

INLINE float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The larger of each two numbers goes to *a. One instruction where the processor has it, which generic vectors cannot
 * say. */
typedef void keep_larger(ints *a, const ints *b);

INLINE void keep_larger_anywhere(ints *a, const ints *b)
{
    const ints is_larger = *a > *b;
    *a = (*a & is_larger) | (*b & ~is_larger);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static inline void keep_larger_avx2(ints *a, const ints *b)
{
    *(__m256i_u *)a = _mm256_max_epi32(*(const __m256i_u *)a, *(const __m256i_u *)b);
}
#endif

/* 2^e for -126 <= e <= 127. */
INLINE float power_of_two(int e)
{
    return float_of((uint32_t)(e + FLOAT_BIAS) << FRACTION_BITS);
}

/* As emu_factor has them, of eight elements. */
INLINE ints exponents_of(floats values, int lowest)
{
    const ints magnitude = (ints)values & INT32_MAX;
    const ints low = (ints){0} + lowest, is_zero = magnitude == 0;
    ints e = (magnitude >> FRACTION_BITS) - FLOAT_BIAS;
    const ints is_special = e > FLOAT_BIAS;
    keep_larger_anywhere(&e, &low);
    e = (e & ~is_zero) | (is_zero & EMU_OF_ZERO);
    return (e & ~is_special) | (is_special & EMU_OF_SPECIAL);
}

/* value * 2^-exponent: less than 2. Of zeros, infinities and NaN the value. */
static float significand_of(float value, int exponent)
{
    if (exponent == EMU_OF_ZERO || exponent == EMU_OF_SPECIAL)
        return value;
    /* In two steps, since 2^-exponent may be no float. */
    return value * power_of_two(-exponent / 2) * power_of_two(-exponent - -exponent / 2);
}

/* A sum that has an infinity or NaN among its terms. */
static float add_special(float acc, const float *a, const int *a_exp, const emu_factor *b, int at, int b_pitch, int k)
{
    const uint32_t canonical_nan = 0x7fffffffu, infinity = 0x7f800000u;
    int up = acc == float_of(infinity), down = acc == -float_of(infinity), is_nan = acc != acc;
    for (int i = 0; i < k; i++) {
        /* Callers fill K of both; the analyzer does not follow the formats. */
        const float x = a[i], y = b->values[at + i * b_pitch]; /* NOLINT(clang-analyzer-core*) */
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

/* total * 2^exponent, exact. */
INLINE doubles scaled(doubles total, longs exponent)
{
    return total * (doubles)((exponent + DOUBLE_BIAS) << DOUBLE_FRACTION_BITS);
}

/* The value cut to f32: towards zero, but from 2^128 on it is an infinity. */
INLINE half_floats cut_to_float(doubles exact)
{
    const half_floats nearest = __builtin_convertvector(exact, half_floats);
    const doubles back = __builtin_convertvector(nearest, doubles);
    const doubles magnitude = (doubles)((longs)exact & INT64_MAX), back_magnitude = (doubles)((longs)back & INT64_MAX);
    const longs is_above = (back_magnitude > magnitude) & (magnitude < 0x1p128);
    return (half_floats)((half_ints)nearest + __builtin_convertvector(is_above, half_ints)); /* -1 where it is */
}

/* The value rounded to f16 (ties to even, subnormals included), as floats; from 65520 on it is an infinity, and a zero
 * has no sign. */
INLINE half_floats round_to_f16(doubles exact)
{
    longs top = ((longs)exact >> DOUBLE_FRACTION_BITS & 0x7ff) - DOUBLE_BIAS;
    const longs is_subnormal = top < F16_LOWEST_EXPONENT;
    top = (top & ~is_subnormal) | (is_subnormal & F16_LOWEST_EXPONENT);
    /* 1.5 times the power of two at which a double's last bit is f16's: the addition rounds. */
    const longs shift = top - F16_FRACTION_BITS + DOUBLE_FRACTION_BITS + DOUBLE_BIAS;
    const doubles rounder = (doubles)(shift << DOUBLE_FRACTION_BITS | (longs){0} | 1ll << (DOUBLE_FRACTION_BITS - 1));
    const doubles rounded = (exact + rounder) - rounder;
    const longs is_infinite = (doubles)((longs)rounded & INT64_MAX) >= 0x1p16;
    const half_ints result = (half_ints) __builtin_convertvector(rounded, half_floats);
    const half_ints infinity = (result & INT32_MIN) | 0x7f800000;
    const half_ints mask = __builtin_convertvector(is_infinite, half_ints);
    return (half_floats)((infinity & mask) | (result & ~mask));
}

/* (even + odd) * 2^last as the instruction's result, by halves: what is written as halves and read as a whole at once
 * would wait for memory. */
INLINE void put_rounded(float *out, whole even, whole odd, ints last, const format_rules *rule, int to_f16)
{
    half_ints evens[2], odds[2], exponents[2];
    memcpy(evens, &even, sizeof evens);
    memcpy(odds, &odd, sizeof odds);
    memcpy(exponents, &last, sizeof exponents);
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++) {
        const doubles total = __builtin_convertvector(evens[i], doubles) + __builtin_convertvector(odds[i], doubles);
        const doubles exact = scaled(total, __builtin_convertvector(exponents[i], longs));
        half_floats result = to_f16 ? round_to_f16(exact) : cut_to_float(exact);
        if (!to_f16)
            result = (half_floats)((half_ints)result & (int32_t)~rule->cut);
        memcpy(out + i * LANES / 2, &result, sizeof result);
    }
}

/* Eight accumulators, taken apart; subnormals of f16 have f16's lowest exponent. */
typedef struct addends {
    floats significands;
    ints exponents;
} addends;

INLINE void take_accumulators(floats acc, int to_f16, addends *out)
{
    ints exponents = (ints)acc >> FRACTION_BITS & 0xff;
    const ints is_special = exponents == 0xff;
    const ints is_subnormal = exponents == 0;
    /* The significand as a float with exponent 0; of a subnormal number without its hidden bit. */
    const floats one_and = (floats)(((ints)acc & (int32_t)0x807fffff) | (FLOAT_BIAS << FRACTION_BITS));
    const floats sign_one = (floats)(((ints)acc & INT32_MIN) | (FLOAT_BIAS << FRACTION_BITS));
    out->significands = one_and - (floats)((ints)sign_one & is_subnormal);
    exponents = exponents - FLOAT_BIAS - is_subnormal;
    if (to_f16) {
        ints raised = exponents;
        const ints lowest = (ints){0} + F16_LOWEST_EXPONENT;
        keep_larger_anywhere(&raised, &lowest);
        out->significands *= (floats)((exponents - raised + FLOAT_BIAS) << FRACTION_BITS);
        exponents = raised;
    }
    exponents = exponents + (is_special & EMU_OF_SPECIAL);
    const ints is_zero = acc == 0.0f;
    out->exponents = (exponents & ~is_zero) | (is_zero & EMU_OF_ZERO);
}

/* The significands of eight elements, as significand_of gives them. */
INLINE floats take_significands(floats values, ints exponents)
{
    const ints is_finite = (exponents != EMU_OF_ZERO) & (exponents != EMU_OF_SPECIAL);
    const ints minus = -exponents & is_finite, half = minus >> 1;
    return values * (floats)((half + FLOAT_BIAS) << FRACTION_BITS) *
           (floats)((minus - half + FLOAT_BIAS) << FRACTION_BITS);
}

/* What multiplies a row of A with eight columns of B. */
typedef struct row_of_products {
    const float *a;
    const int *a_exponents;
    const emu_factor *b;
    int at, b_pitch, k; /* b[i * b_pitch + at] is the first column's element i */
} row_of_products;

INLINE ints b_exponents(const row_of_products *p, int i)
{
    return *(const ints *)(p->b->exponents + p->at + i * p->b_pitch);
}

INLINE floats b_values(const row_of_products *p, int i)
{
    return *(const floats *)(p->b->values + p->at + i * p->b_pitch);
}

/* The products in units of 2^last, cut; two sums of at most 16 terms below 2^27 each (but in lanes that have an
 * infinity or NaN). Any operands. */
INLINE void add_products(const row_of_products *p, ints last, keep_larger *larger, whole *even, whole *odd)
{
    const ints base = last - FLOAT_BIAS;
    for (int i = 0; i < p->k; i++) {
        const floats product =
            take_significands(b_values(p, i), b_exponents(p, i)) * significand_of(p->a[i], p->a_exponents[i]);
        ints scale = b_exponents(p, i) + p->a_exponents[i] - base;
        larger(&scale, &(ints){0}); /* far below: 0 */
        const floats shifted = product * (floats)(scale << FRACTION_BITS);
        *(i % 2 ? odd : even) += (whole) __builtin_convertvector(shifted, ints);
    }
}

INLINE whole cut_product(const row_of_products *p, int i, floats unit)
{
    return (whole) __builtin_convertvector(b_values(p, i) * p->a[i] * unit, ints);
}

/* The same where products are normal floats, see are_moderate: their exponents need no care. Where `last` is too low
 * for a float's exponent, all of a lane's products are zero. */
INLINE void add_moderate_products(const row_of_products *p, ints last, whole *even, whole *odd)
{
    ints scale = FLOAT_BIAS - last;
    scale &= scale <= FLOAT_BIAS + FLOAT_BIAS;
    const floats unit = (floats)(scale << FRACTION_BITS);
    for (int i = 0; i < p->k; i += 4) {
        *even += cut_product(p, i, unit);
        *odd += cut_product(p, i + 1, unit);
        *even += cut_product(p, i + 2, unit);
        *odd += cut_product(p, i + 3, unit);
    }
}

INLINE int is_any(ints mask)
{
    const longs pairs = (longs)mask;
    return (pairs[0] | pairs[1] | pairs[2] | pairs[3]) != 0;
}

/* Eight sums at once. Accumulators that are f16 come as floats. */
INLINE void add_eight(float *sums, const row_of_products *p, const format_rules *rule, int to_f16, int is_moderate,
                      keep_larger *larger)
{
    const floats acc = *(const floats *)sums;
    addends own;
    take_accumulators(acc, to_f16, &own);
    ints top = own.exponents, other_top = top;
    for (int i = 0; i < p->k; i += 2) {
        const ints e = b_exponents(p, i) + p->a_exponents[i], f = b_exponents(p, i + 1) + p->a_exponents[i + 1];
        larger(&top, &e);
        larger(&other_top, &f);
    }
    larger(&top, &other_top);
    const ints is_nothing = top < EMU_OF_ZERO / 2;
    top &= ~is_nothing;

    whole even = {0}, odd = {0};
    const ints last = top - rule->kept_bits;
    if (is_moderate)
        add_moderate_products(p, last, &even, &odd);
    else
        add_products(p, last, larger, &even, &odd);
    ints scale = own.exponents - last + FLOAT_BIAS;
    larger(&scale, &(ints){0});
    odd += (whole) __builtin_convertvector(own.significands * (floats)(scale << FRACTION_BITS), ints);
    put_rounded(sums, even, odd, last, rule, to_f16);
    const ints is_special = top > EMU_OF_SPECIAL / 2;
    if (!is_any(is_special))
        return;
    for (int j = 0; j < LANES; j++)
        if (is_special[j])
            sums[j] = add_special(acc[j], p->a, p->a_exponents, p->b, p->at + j, p->b_pitch, p->k);
}

INLINE void add_floats(float *sum, int sum_pitch, const emu_factor *a, const emu_factor *b, int b_pitch, int rows,
                       int columns, int k, const format_rules *rule, int to_f16, int is_moderate, keep_larger *larger)
{
    for (int row = 0; row < rows; row++)
        for (int column = 0; column < columns; column += LANES) {
            const row_of_products p = {a->values + row * k, a->exponents + row * k, b, column, b_pitch, k};
            add_eight(sum + row * sum_pitch + column, &p, rule, to_f16, is_moderate, larger);
        }
}

/* Fills the exponents of count rows. 1 if all are moderate: then products are zero or normal floats, and so are their
 * units, since there is no infinity and no NaN either. */
INLINE int find_exponents(const emu_factor *factor, int rows, int columns, int pitch)
{
    enum { LOWEST = -50, HIGHEST = 60 };
    ints is_other = {0};
    for (int row = 0; row < rows; row++)
        for (int column = 0; column < columns; column += LANES) {
            const int at = row * pitch + column;
            const ints e = exponents_of(*(const floats *)(factor->values + at), rules[factor->format].lowest_exponent);
            is_other |= (e != EMU_OF_ZERO) & ((e < LOWEST) | (e > HIGHEST));
            *(ints *)(factor->exponents + at) = e;
        }
    return !is_any(is_other);
}

/* Copies of the loops, by what the accumulators are and what the operands allow. */
INLINE void add_floats_as(float *sum, int sum_pitch, const emu_factor *a, const emu_factor *b, int b_pitch, int rows,
                          int columns, int k, const format_rules *rule, int to_f16, keep_larger *larger)
{
    const int a_is_moderate = find_exponents(a, rows, k, k), b_is_moderate = find_exponents(b, k, columns, b_pitch);
    const int is_moderate = a_is_moderate && b_is_moderate;
    if (to_f16 && is_moderate)
        add_floats(sum, sum_pitch, a, b, b_pitch, rows, columns, k, rule, 1, 1, larger);
    else if (to_f16)
        add_floats(sum, sum_pitch, a, b, b_pitch, rows, columns, k, rule, 1, 0, larger);
    else if (is_moderate)
        add_floats(sum, sum_pitch, a, b, b_pitch, rows, columns, k, rule, 0, 1, larger);
    else
        add_floats(sum, sum_pitch, a, b, b_pitch, rows, columns, k, rule, 0, 0, larger);
}

/* The sum of k products is exact in f32; the accumulator wraps. */
static void add_integers(float *sum, int sum_pitch, const emu_factor *a, const emu_factor *b, int b_pitch, int rows,
                         int columns, int k)
{
    for (int row = 0; row < rows; row++)
        for (int column = 0; column < columns; column++) {
            float products = 0;
            for (int i = 0; i < k; i++)              /* as above */
                products += a->values[row * k + i] * /* NOLINT(clang-analyzer-core*) */
                            b->values[i * b_pitch + column];
            uint32_t *at = (uint32_t *)(void *)(sum + row * sum_pitch + column), total;
            memcpy(&total, at, sizeof total);
            total += (uint32_t)(int32_t)products;
            memcpy(at, &total, sizeof total);
        }
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void add_floats_avx2(float *sum, int sum_pitch, const emu_factor *a,
                                                            const emu_factor *b, int b_pitch, int rows, int columns,
                                                            int k, const format_rules *rule, int to_f16)
{
    add_floats_as(sum, sum_pitch, a, b, b_pitch, rows, columns, k, rule, to_f16, keep_larger_avx2);
}
#endif

void tsr_emu_tensor_add(float *sum, int sum_pitch, const emu_factor *a, const emu_factor *b, int b_pitch, int rows,
                        int columns, int k, int to_f16)
{
    const tsr_emu_format format = a->format;
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
    add_floats_as(sum, sum_pitch, a, b, b_pitch, rows, columns, k, &rules[format], to_f16, keep_larger_anywhere);
}

/* The matrices of one warp are small enough for its stack. */
static void multiply(float *sum, const float *a, const float *b, int rows, int columns, int k, tsr_emu_format format,
                     int to_f16)
{
    enum { MOST = 16 * 16 };
    int a_exponents[MOST], b_exponents[MOST];
    const emu_factor left = {a, a_exponents, format}, right = {b, b_exponents, format};
    tsr_emu_tensor_add(sum, columns, &left, &right, columns, rows, columns, k, to_f16);
}

static void tell(const float *a, const float *b, int rows, int columns, int k, const void *place)
{
    const emu_thread *self = tsr_emu_self();
    const tsr_event_fragments fragments = {a, b, rows, columns, k};
    if (self && self->cta->listener)
        tsr_emu_tell(
            self,
            (tsr_event){.kind = TSR_EVENT_FRAGMENTS, .other = self->rank, .fragments = &fragments, .place = place});
}

void tsr_emu_tensor(float *sum, const float *a, const float *b, int rows, int columns, int k, tsr_emu_format format)
{
    tell(a, b, rows, columns, k, __builtin_return_address(0));
    multiply(sum, a, b, rows, columns, k, format, 0);
}

void tsr_emu_tensor_f16(float *sum, const float *a, const float *b, int rows, int columns, int k, tsr_emu_format format)
{
    tell(a, b, rows, columns, k, __builtin_return_address(0));
    multiply(sum, a, b, rows, columns, k, format, 1);
}

void tsr_emu_tensor_f64(double *sum, const double *a, const double *b, int rows, int columns, int k)
{
    const emu_thread *self = tsr_emu_self();
    if (self && self->cta->listener) {
        float heard_a[16 * 16], heard_b[16 * 8];
        for (int i = 0; i < rows * k; i++)
            heard_a[i] = (float)a[i];
        for (int i = 0; i < k * columns; i++)
            heard_b[i] = (float)b[i];
        tell(heard_a, heard_b, rows, columns, k, __builtin_return_address(0));
    }
    for (int row = 0; row < rows; row++)
        for (int i = 0; i < k; i++)
            for (int column = 0; column < columns; column++)
                sum[row * columns + column] = fma(a[row * k + i], b[i * columns + column], sum[row * columns + column]);
}
