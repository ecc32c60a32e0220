/* The end of a product with scales of rows and columns, or with a D of 8 bits (core/scaling.h): four neighbours of a
 * row at a time, of which each is a sum's bits. Types and what there is of scales are uniform branches. */
#ifndef TSR_TILE_ANY_SCALED_H
#define TSR_TILE_ANY_SCALED_H

#include "core/scaling.h"
#include "ptx/fp8.h"
#include "ptx/redux.h"
#include "tile/any_element.h"

typedef struct any_scaled {
    any_out out;
    const tsr_scaling *scaling;
    const float *rows, *columns; /* scales of the first row and column; NULL: none */
    int columns_by_four;         /* four neighbouring ones are one load */
    int fours;                   /* D takes four neighbours by one store everywhere */
} any_scaled;

/* `alpha` as in any_out_open. */
TSR_DEVICE any_scaled any_scaled_open(const tsr_gemm_args *args, const tsr_scaling *s, long long z, const float *alpha)
{
    any_scaled e;
    e.out = any_out_open(args, z, alpha);
    e.scaling = s;
    e.rows = args->k > 0 && s->a && s->mode_a == TSR_SCALING_VECTOR ? s->a + z * s->batch_a + s->first_m : 0;
    e.columns = args->k > 0 && s->b && s->mode_b == TSR_SCALING_VECTOR ? s->b + z * s->batch_b + s->first_n : 0;
    e.columns_by_four = (unsigned long long)e.columns % 16 == 0;
    e.fours = ((unsigned long long)e.out.d | (unsigned long long)(args->ldd * e.out.bytes) |
               (unsigned long long)(args->n * e.out.bytes)) %
                  (4u * (unsigned)e.out.bytes) ==
              0;
    if (s->c && e.out.form.reads_c)
        e.out.form.beta = tsr_mul_f32(e.out.form.beta, *s->c);
    return e;
}

/* The value before scale_d. */
TSR_DEVICE float any_scaled_value(const any_scaled *e, float sum, long long row, long long col)
{
    epilogue form = e->out.form;
    float value;
    if (e->rows)
        form.alpha = tsr_mul_f32(form.alpha, e->rows[row]);
    if (e->columns)
        form.alpha = tsr_mul_f32(form.alpha, e->columns[col]);
    epilogue_scale(&form, 1, &sum, &value);
    if (form.reads_c) {
        const float c = any_load(e->out.type, e->out.c, row * e->out.ldc + col);
        epilogue_add_c(&form, 1, &c, &value);
    }
    if (form.form != TSR_EPILOGUE_NONE) {
        const float bias = any_load(e->scaling->type_bias, form.bias, col);
        epilogue_form(&form, 1, &bias, &value);
    }
    return value;
}

TSR_DEVICE unsigned any_magnitude(float value)
{
    return tsr_bits_of_f32(value) & 0x7fffffffu;
}

/* The code of a value beyond the type's range, where that shall show. */
TSR_DEVICE unsigned any_special(int type, float value, unsigned code)
{
    const unsigned sign = tsr_bits_of_f32(value) >> 24 & 0x80, magnitude = any_magnitude(value);
    if (type == TSR_TYPE_E4M3)
        return magnitude > 0x43e80000u ? sign | 0x7f : code; /* 464, halfway to what would be next, is rounded to 448 */
    return magnitude >= 0x47700000u && magnitude <= 0x7f800000u ? sign | 0x7c : code; /* 61440 is rounded up */
}

/* Four values as four bytes. */
TSR_DEVICE unsigned any_pack_fp8(const any_scaled *e, const float value[4])
{
    float v[4];
    TSR_UNROLL
    for (int i = 0; i < 4; i++)
        v[i] = e->scaling->d ? tsr_mul_f32(value[i], *e->scaling->d) : value[i];
    unsigned codes = e->out.type == TSR_TYPE_E4M3 ? tsr_pack_e4m3(v[0], v[1]) | tsr_pack_e4m3(v[2], v[3]) << 16
                                                  : tsr_pack_e5m2(v[0], v[1]) | tsr_pack_e5m2(v[2], v[3]) << 16;
    if (e->scaling->overflows) {
        unsigned special = 0;
        TSR_UNROLL
        for (int i = 0; i < 4; i++)
            special |= any_special(e->out.type, v[i], codes >> 8 * i & 0xff) << 8 * i;
        codes = special;
    }
    return codes;
}

/* D's four neighbours: bytes by one store where they lie so. */
TSR_DEVICE void any_scaled_store(const any_scaled *e, long long row, long long col, const float value[4])
{
    const int type = e->out.type;
    unsigned char *const to = e->out.d + (row * e->out.ldd + col) * e->out.bytes;
    const int left = (int)(e->out.n - col < 4 ? e->out.n - col : 4);
    if (type == TSR_TYPE_E4M3 || type == TSR_TYPE_E5M2) {
        const unsigned codes = any_pack_fp8(e, value);
        if (e->fours) {
            *(unsigned *)(void *)to = codes;
            return;
        }
        TSR_UNROLL
        for (int i = 0; i < 4; i++)
            if (i < left)
                to[i] = (unsigned char)(codes >> 8 * i);
        return;
    }
    TSR_UNROLL
    for (int i = 0; i < 4; i++)
        if (i < left) {
            if (type == TSR_TYPE_F32)
                ((float *)(void *)to)[i] = value[i];
            else
                ((unsigned short *)(void *)to)[i] =
                    type == TSR_TYPE_BF16 ? tsr_narrow_bf16(value[i]) : tsr_narrow_f16(value[i]);
        }
}

/* D[row, col .. col + 3], as far as they lie inside the matrix; *amax becomes the greatest magnitude so far. */
TSR_DEVICE void any_scaled_output(const any_scaled *e, long long row, long long col, const float bits[4],
                                  unsigned *amax)
{
    float value[4] = {0, 0, 0, 0};
    if (row >= e->out.m || col >= e->out.n)
        return;
    TSR_UNROLL
    for (int i = 0; i < 4; i++)
        if (col + i < e->out.n) {
            value[i] = any_scaled_value(e, any_sum(bits[i]), row, col + i);
            *amax = any_magnitude(value[i]) > *amax ? any_magnitude(value[i]) : *amax;
        }
    any_scaled_store(e, row, col, value);
}

/* Where four neighbours of a row go by one store and no C is added. D has more than 8 bits then, so that it has no
 * scale and nobody asks for its greatest magnitude. */
TSR_DEVICE int any_scaled_is_quads(const any_scaled *e)
{
    return e->out.quads && e->out.bytes > 1;
}

/* What four neighbouring columns have in common: scales, 1 where there are none, and the bias. */
typedef struct any_columns {
    float scale[4], bias[4];
} any_columns;

/* From `col` on; none beyond D. `type` is a constant. */
TSR_DEVICE any_columns any_columns_of(const any_scaled *e, int type, long long col)
{
    any_columns of = {{1, 1, 1, 1}, {0, 0, 0, 0}};
    if (col >= e->out.n)
        return of;
    if (e->columns && e->columns_by_four) {
        const tsr_f32x4 four = tsr_load_f32x4(e->columns + col);
        TSR_UNROLL
        for (int i = 0; i < 4; i++)
            of.scale[i] = tsr_lane(four, i);
    } else if (e->columns) {
        TSR_UNROLL
        for (int i = 0; i < 4; i++)
            of.scale[i] = e->columns[col + i];
    }
    if (e->out.form.form != TSR_EPILOGUE_NONE)
        any_bias_quad(&e->out, type, col, of.bias);
    return of;
}

/* The factor of row `row`'s sums. */
TSR_DEVICE float any_row_factor(const any_scaled *e, long long row)
{
    return e->rows ? tsr_mul_f32(e->out.form.alpha, e->rows[row]) : e->out.form.alpha;
}

/* Four neighbours by one store, `row_factor` being that of their row; `c`: what any_quad_of gave, where C is read; NULL
 * where nobody does. */
TSR_DEVICE void any_scaled_store_quad(const any_scaled *e, int type, unsigned char *to, float row_factor,
                                      const any_columns *columns, const float *c, const float bits[4])
{
    epilogue form = e->out.form;
    float value[4];
    TSR_UNROLL
    for (int i = 0; i < 4; i++) {
        const float sum = any_sum(bits[i]);
        form.alpha = tsr_mul_f32(row_factor, columns->scale[i]);
        epilogue_scale(&form, 1, &sum, &value[i]);
    }
    if (c && form.reads_c)
        epilogue_add_c(&form, 4, c, value);
    if (form.form != TSR_EPILOGUE_NONE)
        epilogue_form(&form, 4, columns->bias, value);
    any_store_four(type, to, value);
}

/* All lanes of a warp come with their greatest magnitudes. */
TSR_DEVICE void any_scaled_close(const tsr_scaling *s, unsigned amax)
{
    if (!s->amax)
        return;
    const unsigned most = tsr_redux_max_u32(TSR_ALL_LANES, amax);
    if (threadIdx.x % 32 == 0)
        tsr_max_relaxed((unsigned *)(void *)s->amax, most);
}

#endif
