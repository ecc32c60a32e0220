/* The end of an element of D whose operands are narrower than what they are multiplied in: from its sum to what is
 * stored. */
#ifndef TSR_CPU_END_H
#define TSR_CPU_END_H

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "core/dtype.h"
#include "core/gemm_args.h"
#include "core/scaling.h"

/* What all elements of a problem share. */
typedef struct tsr_end {
    const tsr_gemm_args *g;
    tsr_scaling scaling;
    float alpha, beta;           /* with the scales of whole operands */
    const float *rows, *columns; /* scales of A's rows and B's columns, of the launch's first on; NULL: none */
    tsr_dtype dtype_c, dtype_d;
} tsr_end;

/* `scaling` may be NULL. */
static inline tsr_end tsr_end_of(const tsr_gemm_args *g, const tsr_scaling *scaling)
{
    tsr_end e = {.g = g, .dtype_c = (tsr_dtype)g->type_d, .dtype_d = (tsr_dtype)g->type_d};
    if (scaling)
        e.scaling = *scaling;
    else
        e.scaling.type_bias = g->type_d;
    return e;
}

/* Reads the scales of problem `z` of the batch. */
static inline void tsr_end_begin(tsr_end *e, long long z)
{
    const tsr_gemm_args *const g = e->g;
    const tsr_scaling *const s = &e->scaling;
    e->alpha = (float)g->alpha;
    if (g->k > 0 && g->scale_a)
        e->alpha *= *g->scale_a;
    if (g->k > 0 && g->scale_b)
        e->alpha *= *g->scale_b;
    e->beta = g->beta != 0 && s->c ? (float)g->beta * *s->c : (float)g->beta;
    e->rows = s->a && s->mode_a == TSR_SCALING_VECTOR ? s->a + z * s->batch_a + s->first_m : NULL;
    e->columns = s->b && s->mode_b == TSR_SCALING_VECTOR ? s->b + z * s->batch_b + s->first_n : NULL;
}

static inline int tsr_end_has_blocks(const tsr_scaling *s)
{
    return (s->a && s->mode_a >= TSR_SCALING_1X128) || (s->b && s->mode_b >= TSR_SCALING_1X128);
}

/* The scale of a block of A at row i, or of B at column j, of problem z and step 128 * block; 1 where A or B has none.
 */
static inline float tsr_end_block_a(const tsr_scaling *s, long long z, long long i, long long block)
{
    return s->a && s->mode_a >= TSR_SCALING_1X128
               ? s->a[z * s->batch_a + tsr_scale_index(s->mode_a, s->stride_a, s->first_m + i, block)]
               : 1;
}

static inline float tsr_end_block_b(const tsr_scaling *s, long long z, long long j, long long block)
{
    return s->b && s->mode_b >= TSR_SCALING_1X128
               ? s->b[z * s->batch_b + tsr_scale_index(s->mode_b, s->stride_b, s->first_n + j, block)]
               : 1;
}

/* D[i, j] before scale_d, from its sum; `c` is C's first element, NULL: not read. */
static inline float tsr_end_value(const tsr_end *e, long long i, long long j, float sum, const void *c)
{
    const tsr_gemm_args *const g = e->g;
    float value = 0;
    if (g->k > 0) {
        float factor = e->alpha;
        if (e->rows)
            factor *= e->rows[i];
        if (e->columns)
            factor *= e->columns[j];
        value = factor * sum;
    }
    if (c)
        value = e->beta * (float)tsr_load_element(e->dtype_c, c, i * g->ldc + j) + (g->k > 0 ? value : -0.0f);
    if (g->epilogue == TSR_EPILOGUE_NONE)
        return value;
    value += (float)tsr_load_element((tsr_dtype)e->scaling.type_bias, g->bias, j);
    return g->epilogue == TSR_EPILOGUE_BIAS_RELU && value < 0 ? 0 : value;
}

/* The bits of |value|: the greatest of such numbers is that of the greatest magnitude, or of a NaN. */
static inline uint32_t tsr_magnitude_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits & 0x7fffffffu;
}

/* Stores it at element `to`; *amax becomes the greatest of tsr_magnitude_bits so far. */
static inline void tsr_end_store(const tsr_end *e, void *d, long long to, float value, uint32_t *amax)
{
    switch (e->dtype_d) {
    case TSR_F32:
        ((float *)d)[to] = value;
        return;
    case TSR_BF16:
        ((uint16_t *)d)[to] = tsr_f32_to_bf16(value);
        return;
    default:
        break;
    }
    if (!tsr_dtype_is_fp8(e->dtype_d)) {
        tsr_store_element(e->dtype_d, d, to, (double)value);
        return;
    }
    const uint32_t magnitude = tsr_magnitude_bits(value);
    *amax = magnitude > *amax ? magnitude : *amax;
    if (e->scaling.d)
        value *= *e->scaling.d;
    if (e->scaling.overflows)
        tsr_store_element(e->dtype_d, d, to, (double)value);
    else
        tsr_store_saturated(e->dtype_d, d, to, (double)value);
}

/* Several threads bring the greatest of their numbers. */
static inline void tsr_end_raise(_Atomic uint32_t *amax, uint32_t bits)
{
    uint32_t old = atomic_load(amax);
    while (old < bits && !atomic_compare_exchange_weak(amax, &old, bits)) {
    }
}

static inline void tsr_end_finish(const tsr_end *e, uint32_t amax)
{
    if (e->scaling.amax)
        memcpy(e->scaling.amax, &amax, sizeof amax);
}

#endif
