#include "core/dtype.h"

#include <math.h>
#include <string.h>

#include "core/element_types.h"

/* A binary float format of at most 16 bits. E4M3 has no infinities and one NaN (OCP 8-bit floating point, table 1). */
typedef struct format {
    int mantissa_bits;
    int exponent_bits;
    int bias;
    int has_infinity;
} format;

enum { DOUBLE_FRACTION = 52, DOUBLE_BIAS = 1023 };

static const format f16_format = {10, 5, 15, 1};
static const format bf16_format = {7, 8, 127, 1};
static const format e4m3_format = {3, 4, 7, 0};
static const format e5m2_format = {2, 5, 15, 1};

static double decode(const format *f, unsigned bits)
{
    const unsigned exponent_mask = (1u << f->exponent_bits) - 1, mantissa_mask = (1u << f->mantissa_bits) - 1;
    const unsigned exponent = (bits >> f->mantissa_bits) & exponent_mask, mantissa = bits & mantissa_mask;
    const double sign = (bits >> (f->mantissa_bits + f->exponent_bits)) & 1 ? -1.0 : 1.0;
    if (exponent == exponent_mask && f->has_infinity)
        return mantissa ? (double)NAN : sign * (double)INFINITY;
    if (exponent == exponent_mask && mantissa == mantissa_mask)
        return (double)NAN;
    if (exponent == 0)
        return sign * ldexp(mantissa, 1 - f->bias - f->mantissa_bits);
    return sign * ldexp(mantissa + (1u << f->mantissa_bits), (int)exponent - f->bias - f->mantissa_bits);
}

/* Nearest, ties to even, in one rounding from double. Too large: infinity, or NaN where the format has none. */
static unsigned encode(const format *f, double value)
{
    uint64_t all;
    memcpy(&all, &value, sizeof all);
    const int scale = (int)(all >> DOUBLE_FRACTION & 0x7ff) - DOUBLE_BIAS;
    if (scale > -f->bias && scale < f->bias) { /* normal, and so is what it is rounded to: by far the most */
        const int dropped = DOUBLE_FRACTION - f->mantissa_bits;
        const uint64_t magnitude = (all << 1 >> 1) - ((uint64_t)(DOUBLE_BIAS - f->bias) << DOUBLE_FRACTION);
        const uint64_t rounded = magnitude + (((uint64_t)1 << (dropped - 1)) - 1) + (magnitude >> dropped & 1);
        return (unsigned)(rounded >> dropped) | (unsigned)(all >> 63) << (f->mantissa_bits + f->exponent_bits);
    }
    const unsigned exponent_mask = (1u << f->exponent_bits) - 1, mantissa_mask = (1u << f->mantissa_bits) - 1;
    const unsigned sign = (unsigned)(signbit(value) != 0) << (f->mantissa_bits + f->exponent_bits);
    const unsigned infinity =
        f->has_infinity ? exponent_mask << f->mantissa_bits : exponent_mask << f->mantissa_bits | mantissa_mask;
    const unsigned not_a_number =
        f->has_infinity ? infinity | 1u << (f->mantissa_bits - 1) : exponent_mask << f->mantissa_bits | mantissa_mask;
    if (isnan(value))
        return sign | not_a_number;
    const double magnitude = fabs(value);
    if (isinf(magnitude))
        return sign | infinity;
    if (magnitude == 0)
        return sign;
    int exponent;
    frexp(magnitude, &exponent); /* magnitude = [0.5, 1) * 2^exponent */
    exponent -= 1;
    if (exponent < 1 - f->bias)
        exponent = 1 - f->bias;
    /* In units of the last place; nearbyint rounds to even in the default mode. A carry into the next exponent is
     * right by itself, because exponent and mantissa are adjacent. */
    const double units = nearbyint(ldexp(magnitude, f->mantissa_bits - exponent));
    if (exponent > f->bias + 1)
        return sign | infinity;
    const unsigned bits = (unsigned)units + ((unsigned)(exponent + f->bias - 1) << f->mantissa_bits);
    return sign | (bits > infinity ? infinity : bits);
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

float tsr_f16_to_f32(uint16_t bits)
{
    const uint32_t sign = (uint32_t)(bits & 0x8000u) << 16, rest = bits & 0x7fffu;
    if (rest >= 0x7c00u)
        return float_of(sign | 0x7f800000u | (rest & 0x3ffu) << 13);
    if (rest >= 0x400u)
        return float_of(sign | ((rest << 13) + ((127u - 15u) << 23)));
    /* Subnormal: exact in binary32. */
    const float magnitude = (float)rest * 0x1p-24f;
    return sign ? -magnitude : magnitude;
}

uint16_t tsr_f32_to_f16(float value)
{
    return (uint16_t)encode(&f16_format, (double)value);
}

float tsr_bf16_to_f32(uint16_t bits)
{
    return float_of((uint32_t)bits << 16);
}

uint16_t tsr_f32_to_bf16(float value)
{
    const uint32_t bits = bits_of(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)(bits >> 16 | 0x40u); /* keep NaN a NaN when its low bits go */
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

double tsr_load_element(tsr_dtype dtype, const void *array, int64_t index)
{
    switch (dtype) {
    case TSR_F64:
        return ((const double *)array)[index];
    case TSR_F32:
        return (double)((const float *)array)[index];
    case TSR_F16:
        return (double)tsr_f16_to_f32(((const uint16_t *)array)[index]);
    case TSR_BF16:
        return (double)tsr_bf16_to_f32(((const uint16_t *)array)[index]);
    case TSR_E4M3:
        return decode(&e4m3_format, ((const uint8_t *)array)[index]);
    case TSR_E5M2:
        return decode(&e5m2_format, ((const uint8_t *)array)[index]);
    case TSR_S8:
        return ((const int8_t *)array)[index];
    case TSR_U8:
        return ((const uint8_t *)array)[index];
    case TSR_S32:
        return ((const int32_t *)array)[index];
    case TSR_DTYPE_NONE:
    case TSR_DTYPE_COUNT:
        break;
    }
    return (double)NAN;
}

static double clamp_round(double value, double low, double high)
{
    return isnan(value) ? 0 : value < low ? low : value > high ? high : nearbyint(value);
}

void tsr_store_element(tsr_dtype dtype, void *array, int64_t index, double value)
{
    switch (dtype) {
    case TSR_F64:
        ((double *)array)[index] = value;
        break;
    case TSR_F32:
        ((float *)array)[index] = (float)value;
        break;
    case TSR_F16:
        ((uint16_t *)array)[index] = (uint16_t)encode(&f16_format, value);
        break;
    case TSR_BF16:
        ((uint16_t *)array)[index] = (uint16_t)encode(&bf16_format, value);
        break;
    case TSR_E4M3:
        ((uint8_t *)array)[index] = (uint8_t)encode(&e4m3_format, value);
        break;
    case TSR_E5M2:
        ((uint8_t *)array)[index] = (uint8_t)encode(&e5m2_format, value);
        break;
    case TSR_S8:
        ((int8_t *)array)[index] = (int8_t)clamp_round(value, -128, 127);
        break;
    case TSR_U8:
        ((uint8_t *)array)[index] = (uint8_t)clamp_round(value, 0, 255);
        break;
    case TSR_S32:
        ((int32_t *)array)[index] = (int32_t)clamp_round(value, -2147483648.0, 2147483647.0);
        break;
    case TSR_DTYPE_NONE:
    case TSR_DTYPE_COUNT:
        break;
    }
}

static const tsr_element elements[TSR_DTYPE_COUNT] = {
    [TSR_DTYPE_NONE] = {.text = "none"},
#define TSR_ELEMENT(NAME, ...) [TSR_##NAME] = {__VA_ARGS__},
#include "core/elements.def"
#undef TSR_ELEMENT
};

#define TSR_ELEMENT(NAME, ...) \
    _Static_assert((int)TSR_TYPE_##NAME == (int)TSR_##NAME, "elements.def has the order of tsr_dtype");
#include "core/elements.def"
#undef TSR_ELEMENT

const tsr_element *tsr_element_of(tsr_dtype dtype)
{
    return &elements[(unsigned)dtype < TSR_DTYPE_COUNT ? dtype : TSR_DTYPE_NONE];
}

static const struct {
    const char *name;
    double roundoff;
} computes[TSR_COMPUTE_COUNT] = {
    [TSR_COMPUTE_DEFAULT] = {"default", 0}, [TSR_COMPUTE_F64] = {"f64", 0x1p-53},
    [TSR_COMPUTE_F32] = {"f32", 0x1p-24},   [TSR_COMPUTE_TF32] = {"tf32", 0x1p-11},
    [TSR_COMPUTE_S32] = {"s32", 0},         [TSR_COMPUTE_FAST] = {"fast", 0x1p-13},
};

const char *tsr_dtype_name(tsr_dtype dtype)
{
    return (unsigned)dtype < TSR_DTYPE_COUNT ? elements[dtype].text : "?";
}

const char *tsr_compute_name(tsr_compute compute)
{
    return (unsigned)compute < TSR_COMPUTE_COUNT ? computes[compute].name : "?";
}

tsr_dtype tsr_dtype_named(const char *name)
{
    for (int dtype = TSR_DTYPE_NONE + 1; dtype < TSR_DTYPE_COUNT; dtype++)
        if (strcmp(elements[dtype].text, name) == 0)
            return (tsr_dtype)dtype;
    return TSR_DTYPE_NONE;
}

size_t tsr_dtype_bytes(tsr_dtype dtype)
{
    return tsr_element_of(dtype)->bytes;
}

double tsr_compute_roundoff(tsr_compute compute)
{
    return (unsigned)compute < TSR_COMPUTE_COUNT ? computes[compute].roundoff : 0;
}

double tsr_dtype_roundoff(tsr_dtype dtype)
{
    return tsr_element_of(dtype)->roundoff;
}

int tsr_dtype_is_fp8(tsr_dtype dtype)
{
    return tsr_element_of(dtype)->largest > 0;
}

double tsr_dtype_largest_fp8(tsr_dtype dtype)
{
    return tsr_element_of(dtype)->largest;
}

void tsr_store_saturated(tsr_dtype dtype, void *array, int64_t index, double value)
{
    const double largest = tsr_element_of(dtype)->largest;
    tsr_store_element(dtype, array, index, largest > 0 && fabs(value) > largest ? copysign(largest, value) : value);
}

tsr_dtype tsr_dtype_bias(tsr_dtype dtype)
{
    return tsr_element_of(dtype)->bias;
}

tsr_compute tsr_dtype_compute(tsr_dtype dtype)
{
    return tsr_element_of(dtype)->compute;
}

tsr_dtype tsr_dtype_result(tsr_dtype dtype)
{
    return tsr_element_of(dtype)->result;
}

int tsr_dtype_least_arch(tsr_dtype dtype, tsr_compute compute)
{
    const tsr_element *const element = tsr_element_of(dtype);
    const int is_other = compute != TSR_COMPUTE_DEFAULT && compute == element->other_compute;
    return is_other ? element->other_least_arch : element->least_arch;
}

int tsr_dtype_is_integer(tsr_dtype dtype)
{
    return tsr_element_of(dtype)->is_integer;
}

int tsr_dtype_lowest_exponent(tsr_dtype dtype)
{
    return tsr_element_of(dtype)->lowest;
}

unsigned tsr_dtype_tensor_type(tsr_dtype dtype)
{
    return tsr_element_of(dtype)->tensor;
}
