/* Elements of every type as doubles, and a plain column-major product, for the pretended cuBLAS and its tests. */
#ifndef TESTS_CUBLAS_FAKE_NUMBERS_H
#define TESTS_CUBLAS_FAKE_NUMBERS_H

#include <stdint.h>
#include <string.h>

#include "cublas/abi.h"

static inline double fake_from_half(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    const uint32_t bits = sign | (((uint32_t)(half & 0x7fff) << 13) + (112u << 23));
    float value;
    if ((half & 0x7c00) == 0) /* too small to be normal */
        return (double)(half & 0x3ff) / (1 << 24) * (half & 0x8000 ? -1 : 1);
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

/* Of a finite number that a half can come near to. */
static inline uint16_t fake_to_half(float value)
{
    const float magnitude = value < 0 ? -value : value;
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    bits = (bits & 0x7fffffff) - (112u << 23);
    if (magnitude < 1.0f / (1 << 14))
        return (uint16_t)(sign | (uint16_t)(magnitude * (1 << 24) + 0.5f));
    return (uint16_t)(sign | ((bits + 0xfff + (bits >> 13 & 1)) >> 13));
}

/* A code of an 8-bit float, no NaN. */
static inline double fake_fp8_value(int type, uint8_t code)
{
    const int bits = type == TSR_CUDA_R_8F_E4M3 ? 3 : 2, bias = type == TSR_CUDA_R_8F_E4M3 ? 7 : 15;
    const int exponent = (code & 0x7f) >> bits, fraction = code & ((1 << bits) - 1);
    const int lowest = 1 - bias - bits; /* power of two of the last bit of the smallest numbers */
    double value = exponent ? fraction + (1 << bits) : fraction;
    for (int power = lowest + (exponent > 1 ? exponent - 1 : 0); power != 0; power += power < 0 ? 1 : -1)
        value *= power < 0 ? 0.5 : 2;
    return code & 0x80 ? -value : value;
}

static inline double fake_from_fp8(int type, uint8_t code)
{
    static double values[2][256];
    double *known = values[type == TSR_CUDA_R_8F_E5M2];
    for (int i = 1; i < 256 && known[1] == 0; i++) /* 1 is written last: any thread may come first */
        known[256 - i] = fake_fp8_value(type, (uint8_t)(256 - i));
    return known[code];
}

/* The nearest code, ties to the even one, values beyond the range at its end. */
static inline uint8_t fake_to_fp8(int type, double value)
{
    const int most = type == TSR_CUDA_R_8F_E4M3 ? 0x7e : 0x7b;
    const double magnitude = value < 0 ? -value : value;
    int best = 0;
    for (int code = 1; code <= most; code++) {
        const double here = fake_from_fp8(type, (uint8_t)code) - magnitude;
        const double there = fake_from_fp8(type, (uint8_t)best) - magnitude;
        const double gain = (there < 0 ? -there : there) - (here < 0 ? -here : here);
        if (gain > 0 || (gain == 0 && code % 2 == 0))
            best = code;
    }
    return (uint8_t)(best | (value < 0 ? 0x80 : 0));
}

static inline int fake_bytes(int type)
{
    switch (type) {
    case TSR_CUDA_R_64F:
        return 8;
    case TSR_CUDA_R_32F:
    case TSR_CUDA_R_32I:
        return 4;
    case TSR_CUDA_R_8I:
    case TSR_CUDA_R_8F_E4M3:
    case TSR_CUDA_R_8F_E5M2:
        return 1;
    default:
        return 2;
    }
}

static inline double fake_get(const void *base, int type, int64_t index)
{
    const char *at = (const char *)base + index * fake_bytes(type);
    double wide;
    float single;
    uint16_t upper;
    uint32_t bits;
    int32_t whole;
    switch (type) {
    case TSR_CUDA_R_8I:
        return *(const signed char *)at;
    case TSR_CUDA_R_8F_E4M3:
    case TSR_CUDA_R_8F_E5M2:
        return fake_from_fp8(type, *(const uint8_t *)at);
    case TSR_CUDA_R_32I:
        memcpy(&whole, at, sizeof whole);
        return whole;
    case TSR_CUDA_R_64F:
        memcpy(&wide, at, sizeof wide);
        return wide;
    case TSR_CUDA_R_32F:
        memcpy(&single, at, sizeof single);
        return (double)single;
    case TSR_CUDA_R_16F:
        memcpy(&upper, at, sizeof upper);
        return fake_from_half(upper);
    default:
        memcpy(&upper, at, sizeof upper);
        bits = (uint32_t)upper << 16;
        memcpy(&single, &bits, sizeof single);
        return (double)single;
    }
}

static inline void fake_put(void *base, int type, int64_t index, double value)
{
    char *at = (char *)base + index * fake_bytes(type);
    const float single = (float)value;
    uint16_t upper;
    uint32_t bits;
    int32_t whole;
    switch (type) {
    case TSR_CUDA_R_8I:
        *(signed char *)at = (signed char)value;
        return;
    case TSR_CUDA_R_8F_E4M3:
    case TSR_CUDA_R_8F_E5M2:
        *(uint8_t *)at = fake_to_fp8(type, value);
        return;
    case TSR_CUDA_R_32I:
        whole = (int32_t)value;
        memcpy(at, &whole, sizeof whole);
        return;
    case TSR_CUDA_R_64F:
        memcpy(at, &value, sizeof value);
        return;
    case TSR_CUDA_R_32F:
        memcpy(at, &single, sizeof single);
        return;
    case TSR_CUDA_R_16F:
        upper = fake_to_half(single);
        memcpy(at, &upper, sizeof upper);
        return;
    default:
        memcpy(&bits, &single, sizeof bits);
        upper = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
        memcpy(at, &upper, sizeof upper);
    }
}

/* One column-major product; C may be D. A value of `bias` is added to each row if there is one. */
typedef struct fake_product {
    int trans_a, trans_b;
    int64_t m, n, k;
    double alpha, beta;
    const void *a, *b, *c;
    void *d;
    int a_type, b_type, c_type;
    int64_t lda, ldb, ldc, ldd, stride_a, stride_b, stride_c, stride_d, batch;
    const void *bias; /* or NULL */
    int bias_type, has_relu;
    int64_t stride_bias;
    const float *scale_a, *scale_b, *scale_d; /* or NULL */
    int mode_a, mode_b;                       /* of scale_a and scale_b, cublasLt's */
    float *amax;                              /* or NULL */
} fake_product;

/* The scale of step l of `outer`, a row of A or a column of B, of which there are `extent`. */
static inline double fake_scale(const float *scales, int mode, int64_t extent, int64_t k, int64_t outer, int64_t l)
{
    if (!scales)
        return 1;
    switch (mode) {
    case TSR_LT_SCALE_OUTER_VEC:
        return (double)scales[outer];
    case TSR_LT_SCALE_VEC128:
        return (double)scales[l / 128 * extent + outer];
    case TSR_LT_SCALE_BLK128X128:
        return (double)scales[outer / 128 * (((k + 127) / 128 + 3) / 4 * 4) + l / 128];
    default:
        return (double)*scales;
    }
}

/* What is stored for a result. */
static inline double fake_finish(const fake_product *p, double value)
{
    const float magnitude = (float)(value < 0 ? -value : value);
    if (p->amax && magnitude > *p->amax)
        *p->amax = magnitude;
    return p->scale_d ? value * (double)*p->scale_d : value;
}

static inline void fake_multiply(const fake_product *p)
{
    for (int64_t batch = 0; batch < p->batch; batch++)
        for (int64_t j = 0; j < p->n; j++)
            for (int64_t i = 0; i < p->m; i++) {
                double sum = 0;
                for (int64_t l = 0; l < p->k && p->alpha != 0; l++)
                    sum += fake_get(p->a, p->a_type,
                                    batch * p->stride_a + (p->trans_a ? i * p->lda + l : l * p->lda + i)) *
                           fake_get(p->b, p->b_type,
                                    batch * p->stride_b + (p->trans_b ? l * p->ldb + j : j * p->ldb + l)) *
                           fake_scale(p->scale_a, p->mode_a, p->m, p->k, i, l) *
                           fake_scale(p->scale_b, p->mode_b, p->n, p->k, j, l);
                double value = p->alpha * sum;
                if (p->beta != 0)
                    value += p->beta * fake_get(p->c, p->c_type, batch * p->stride_c + j * p->ldc + i);
                if (p->bias)
                    value += fake_get(p->bias, p->bias_type, batch * p->stride_bias + i);
                if (p->has_relu && value < 0)
                    value = 0;
                fake_put(p->d, p->c_type, batch * p->stride_d + j * p->ldd + i, fake_finish(p, value));
            }
}

#endif
