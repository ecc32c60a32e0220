/* The end of a product where D cannot take four neighbours by one store, as where its rows begin anywhere.
 * Neighbouring lanes have neighbouring columns, so that a warp's store writes neighbours of a row, and a lane has
 * several rows of its column at a time, whose loads are under way together. Types, and what there is of C, scales and
 * forms, are branches around all of these rows, which the whole grid takes alike. */
#ifndef TSR_TILE_ANY_COLUMN_H
#define TSR_TILE_ANY_COLUMN_H

#include "tile/any_scaled.h"

enum { ANY_COLUMN_ROWS = 16 }; /* at most, of a lane at a time */

/* D may have 8 bits, unless the kernel has no scales: see any_unscaled. */
#if defined(ELEM_int8) || defined(ELEM_tf32)
enum { ANY_EIGHT = 0 };
#else
enum { ANY_EIGHT = 1 };
#endif

/* For kernels without scales of rows and columns, whose D has more than 8 bits. */
TSR_DEVICE any_scaled any_unscaled(const any_out *out)
{
    any_scaled e = {.out = *out};
#if defined(ELEM_tf32)
    e.out.type = TSR_TYPE_F32;
    e.out.bytes = 4;
#endif
    return e;
}

TSR_DEVICE int any_is_eight(const any_scaled *e)
{
    return ANY_EIGHT && e->scaling && e->out.bytes == 1;
}

TSR_DEVICE int any_is_whole(const any_out *out)
{
#if defined(ELEM_int8)
    return out->type == TSR_TYPE_S32;
#else
    (void)out;
    return 0;
#endif
}

/* A lane's column, and what its elements have in common. */
typedef struct any_column {
    int at;
    float scale, bias;
} any_column;

/* That of column `at`; 1 and 0 beyond D. */
TSR_DEVICE any_column any_column_of(const any_scaled *e, int at)
{
    any_column of = {at, 1, 0};
    const any_out *const out = &e->out;
    if (at >= out->n)
        return of;
    if (e->columns)
        of.scale = e->columns[at];
    if (out->form.form != TSR_EPILOGUE_NONE && !any_is_whole(out))
        of.bias = any_load(any_is_eight(e) ? e->scaling->type_bias : out->type, out->form.bias, at);
    return of;
}

/* C's elements in the rows offset[i] < left below the first one at `c`, as they are summed. `type` is a constant. */
TSR_DEVICE void any_load_rows(int type, const unsigned char *c, long long ldc, const int *offset, int left, int count,
                              float *old)
{
    TSR_UNROLL
    for (int i = 0; i < count; i++) {
        c += (offset[i] - (i > 0 ? offset[i - 1] : 0)) * ldc * any_bytes(type);
        old[i] = offset[i] < left ? any_load(type, c, 0) : 0;
    }
}

TSR_DEVICE void any_load_column(const any_scaled *e, const unsigned char *c, const int *offset, int left, int count,
                                float *old)
{
    const int type = e->out.type;
    const long long ldc = e->out.ldc;
    if (any_is_whole(&e->out) || type == TSR_TYPE_F32)
        any_load_rows(TSR_TYPE_F32, c, ldc, offset, left, count, old);
    else if (type == TSR_TYPE_BF16)
        any_load_rows(TSR_TYPE_BF16, c, ldc, offset, left, count, old);
    else if (any_is_eight(e) && type == TSR_TYPE_E4M3)
        any_load_rows(TSR_TYPE_E4M3, c, ldc, offset, left, count, old);
    else if (any_is_eight(e))
        any_load_rows(TSR_TYPE_E5M2, c, ldc, offset, left, count, old);
    else
        any_load_rows(TSR_TYPE_F16, c, ldc, offset, left, count, old);
}

/* Values likewise, of s32 their bits, to D; `type` is a constant. */
TSR_DEVICE void any_store_rows(int type, unsigned char *d, long long ldd, const int *offset, int left, int count,
                               const float *value)
{
    TSR_UNROLL
    for (int i = 0; i < count; i++) {
        d += (offset[i] - (i > 0 ? offset[i - 1] : 0)) * ldd * any_bytes(type);
        if (offset[i] >= left)
            continue;
        if (type == TSR_TYPE_F32)
            *(float *)(void *)d = value[i];
        else
            *(unsigned short *)(void *)d = type == TSR_TYPE_BF16 ? tsr_narrow_bf16(value[i]) : tsr_narrow_f16(value[i]);
    }
}

/* The same for a D of 8 bits; `count` is a multiple of 4. */
TSR_DEVICE void any_store_eight_rows(const any_scaled *e, unsigned char *d, const int *offset, int left, int count,
                                     const float *value, unsigned *amax)
{
    TSR_UNROLL
    for (int i = 0; i < count; i += 4) {
        const unsigned codes = any_pack_fp8(e, value + i);
        TSR_UNROLL
        for (int j = i; j < i + 4; j++) {
            if (offset[j] >= left)
                continue;
            d[offset[j] * e->out.ldd] = (unsigned char)(codes >> 8 * (j - i));
            *amax = any_magnitude(value[j]) > *amax ? any_magnitude(value[j]) : *amax;
        }
    }
}

/* The lane's sums, as bits, of rows row + offset[i] of D. `offset` and `count` are constants; *amax becomes the
 * greatest magnitude of a D of 8 bits so far. */
TSR_DEVICE void any_output_column(const any_scaled *e, const any_column *column, int row, const int *offset, int count,
                                  const float *bits, unsigned *amax)
{
    const any_out *const out = &e->out;
    const int left = column->at < out->n ? (int)out->m - row : 0, type = out->type;
    const unsigned char *const c = out->c + (row * out->ldc + column->at) * out->bytes;
    unsigned char *const d = out->d + (row * out->ldd + column->at) * out->bytes;
    float old[ANY_COLUMN_ROWS], sum[ANY_COLUMN_ROWS], value[ANY_COLUMN_ROWS], bias[ANY_COLUMN_ROWS];
    if (out->form.reads_c)
        any_load_column(e, c, offset, left, count, old);
    if (any_is_whole(out)) {
        TSR_UNROLL
        for (int i = 0; i < count; i++) {
            unsigned whole = (unsigned)out->alpha_whole * tsr_bits_of_f32(bits[i]);
            if (out->form.reads_c)
                whole += (unsigned)out->beta_whole * tsr_bits_of_f32(old[i]);
            value[i] = tsr_f32_of_bits(whole);
        }
        any_store_rows(TSR_TYPE_F32, d, out->ldd, offset, left, count, value);
        return;
    }
    TSR_UNROLL
    for (int i = 0; i < count; i++)
        sum[i] = any_sum(bits[i]), bias[i] = column->bias;
    if (e->rows || e->columns)
        TSR_UNROLL
    for (int i = 0; i < count; i++) {
        const float factor = offset[i] < left ? any_row_factor(e, row + offset[i]) : 0;
        value[i] = tsr_mul_f32(tsr_mul_f32(factor, column->scale), sum[i]);
    }
    else epilogue_scale(&out->form, count, sum, value);
    if (out->form.reads_c)
        epilogue_add_c(&out->form, count, old, value);
    if (out->form.form != TSR_EPILOGUE_NONE)
        epilogue_form(&out->form, count, bias, value);
    if (type == TSR_TYPE_F32)
        any_store_rows(TSR_TYPE_F32, d, out->ldd, offset, left, count, value);
    else if (type == TSR_TYPE_BF16)
        any_store_rows(TSR_TYPE_BF16, d, out->ldd, offset, left, count, value);
    else if (any_is_eight(e))
        any_store_eight_rows(e, d, offset, left, count, value, amax);
    else
        any_store_rows(TSR_TYPE_F16, d, out->ldd, offset, left, count, value);
}

#endif
