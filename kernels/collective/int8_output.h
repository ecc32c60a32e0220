/* The end of kernels/gemm/mma_int8.cu: a warp lays SLAB rows of its WM x WN sums into shared memory, as they are, and
 * takes them out four neighbours a lane, so that a row leaves by whole lines and all that differs by type is there
 * once. Zero points (collective/zero_points.h), scales, C and the form are for what is taken out.
 *
 *   SLAB rows of WN sums, PITCH words apart: eight more than WN, so that the four rows that a store of pairs touches at
 *   once lie in different banks. */
#ifndef TSR_COLLECTIVE_INT8_OUTPUT_H
#define TSR_COLLECTIVE_INT8_OUTPUT_H

#include "collective/zero_points.h"
#include "ptx/shared_vector.h"
#include "ptx/warp.h"
#include "tile/any_scaled.h"

enum {
    SLAB = 32,
    PITCH = WN + 8,
    SLAB_BYTES = SLAB * PITCH * 4,
    SLAB_LANES = WN / 4,           /* that take out a row */
    SLAB_STEP = 32 / SLAB_LANES,   /* rows at once */
    SLAB_SUMS = SLAB / 16 * WN / 2 /* of a lane */
};

/* What zero points need: the sums of bytes lie in shared memory, of the tile's rows and then of its columns. `row`,
 * `col`: the tile's first. */
typedef struct zero_lines {
    int is_used;
    unsigned area;
    long long row, col;
    unsigned point[4], of_column[4]; /* of the lane's columns */
} zero_lines;

/* Of the lane's columns, from column `at` of the tile on. */
TSR_DEVICE zero_lines zero_lines_of(const tsr_gemm_args *args, const tsr_scaling *s, long long z, unsigned area,
                                    long long row, long long col, int at)
{
    zero_lines zeros = {0, area, row, col, {0, 0, 0, 0}, {0, 0, 0, 0}};
    zeros.is_used = (s->zero_a || s->zero_b) && args->k > 0;
    if (zeros.is_used)
        TSR_UNROLL
    for (int i = 0; i < 4; i++) {
        zeros.point[i] = (unsigned)zero_point(s->zero_b, s->mode_b, s->batch_b, z, s->first_n, col + at + i, args->n,
                                              args->type_b == ANY_SECOND);
        zeros.of_column[i] = tsr_shared_load_u32(area + (unsigned)(BM + at + i) * 4);
    }
    return zeros;
}

/* Row `at` of the tile: four sums of whole values become those of what is stored less the zero points. */
TSR_DEVICE void zero_lines_apply(const zero_lines *zeros, const tsr_gemm_args *args, const tsr_scaling *s, long long z,
                                 int at, float bits[4])
{
    const unsigned point = (unsigned)zero_point(s->zero_a, s->mode_a, s->batch_a, z, s->first_m, zeros->row + at,
                                                args->m, args->type_a == ANY_SECOND);
    const unsigned of_row = tsr_shared_load_u32(zeros->area + (unsigned)at * 4) - (unsigned)args->k * point;
    TSR_UNROLL
    for (int i = 0; i < 4; i++)
        bits[i] = tsr_f32_of_bits(tsr_bits_of_f32(bits[i]) - point * zeros->of_column[i] - zeros->point[i] * of_row);
}

/* SLAB rows of the warp's sums to shared memory. */
TSR_DEVICE void leave_slab(unsigned slab, const int sum[SLAB_SUMS])
{
    const int lane = (int)threadIdx.x % 32;
    const unsigned leave = slab + (unsigned)(lane / 4 * PITCH + lane % 4 * 2) * 4;
    TSR_UNROLL
    for (int i = 0; i < SLAB_SUMS / 2; i++) { /* pairs: of two rows, then the next 8 columns, then the next 16 rows */
        const int row = i / (WN / 4) * 16 + i % 2 * 8, column = i / 2 % (WN / 8) * 8;
        tsr_shared_store_f32x2(leave + (unsigned)(row * PITCH + column) * 4, any_bits(sum[2 * i]),
                               any_bits(sum[2 * i + 1]));
    }
}

/* An element of C, or of the bias, which have D's type. */
TSR_DEVICE float int8_load(int type, const unsigned char *from, long long index)
{
    if (type == TSR_TYPE_F32)
        return ((const float *)(const void *)from)[index];
    const unsigned short half = ((const unsigned short *)(const void *)from)[index];
    return type == TSR_TYPE_BF16 ? tsr_widen_bf16(half) : tsr_widen_f16(half);
}

TSR_DEVICE void int8_store(int type, unsigned char *to, int index, float value)
{
    if (any_bytes(type) == 4)
        ((float *)(void *)to)[index] = value;
    else
        ((unsigned short *)(void *)to)[index] = type == TSR_TYPE_BF16 ? tsr_narrow_bf16(value) : tsr_narrow_f16(value);
}

/* What the lane's four columns have in common: scales, 1 where there are none, and the bias. */
TSR_DEVICE any_columns int8_columns_of(const any_scaled *e, long long col)
{
    any_columns of = {{1, 1, 1, 1}, {0, 0, 0, 0}};
    TSR_UNROLL
    for (int i = 0; i < 4; i++)
        if (col + i < e->out.n) {
            if (e->columns)
                of.scale[i] = e->columns[col + i];
            if (e->out.form.form != TSR_EPILOGUE_NONE)
                of.bias[i] = int8_load(e->out.type, e->out.form.bias, col + i);
        }
    return of;
}

/* Values of D of four sums, of which `left` lie inside the matrix; of s32 their bits. `c`: where C's lie. */
TSR_DEVICE void int8_values(const any_scaled *e, long long row, const unsigned char *c, int left,
                            const any_columns *columns, const float bits[4], float value[4])
{
    if (e->out.type == TSR_TYPE_S32) {
        TSR_UNROLL
        for (int i = 0; i < 4; i++) {
            unsigned whole = (unsigned)e->out.alpha_whole * tsr_bits_of_f32(bits[i]);
            if (e->out.form.reads_c && i < left)
                whole += (unsigned)e->out.beta_whole * ((const unsigned *)(const void *)c)[i];
            value[i] = tsr_f32_of_bits(whole);
        }
        return;
    }
    epilogue form = e->out.form;
    const float row_factor = any_row_factor(e, row);
    TSR_UNROLL
    for (int i = 0; i < 4; i++) {
        const float sum = any_sum(bits[i]);
        form.alpha = tsr_mul_f32(row_factor, columns->scale[i]);
        epilogue_scale(&form, 1, &sum, &value[i]);
    }
    if (form.reads_c) {
        float old[4];
        TSR_UNROLL
        for (int i = 0; i < 4; i++)
            old[i] = i < left ? int8_load(e->out.type, c, i) : 0;
        epilogue_add_c(&form, 4, old, value);
    }
    if (form.form != TSR_EPILOGUE_NONE)
        epilogue_form(&form, 4, columns->bias, value);
}

/* These rows, from row `row` of the tile on, to D; `at`: the lane's first column in the tile. */
TSR_DEVICE void output_slab(const tsr_gemm_args *args, const any_scaled *e, const zero_lines *zeros,
                            const any_columns *columns, long long z, unsigned slab, int row, int at)
{
    const int lane = (int)threadIdx.x % 32, type = e->out.type;
    const unsigned take = slab + (unsigned)(lane / SLAB_LANES * PITCH + lane % SLAB_LANES * 4) * 4;
    const long long first = zeros->row + row + lane / SLAB_LANES, col = zeros->col + at;
    const int left = e->out.n - col < 4 ? (int)(e->out.n - col) : 4;
    unsigned char *to = e->out.d + (first * e->out.ldd + col) * e->out.bytes;
    const unsigned char *c = e->out.c + (first * e->out.ldc + col) * e->out.bytes;
    if (left <= 0)
        return;
    TSR_ROLLED
    for (int i = 0; i < SLAB && first + i < e->out.m; i += SLAB_STEP) {
        float four[4], value[4];
        tsr_shared_load_f32x4(take + (unsigned)(i * PITCH) * 4, four);
        if (zeros->is_used)
            zero_lines_apply(zeros, args, e->scaling, z, row + i + lane / SLAB_LANES, four);
        int8_values(e, first + i, c, left, columns, four, value);
        if (e->fours)
            any_store_four(type, to, value);
        else
            TSR_UNROLL
        for (int j = 0; j < 4; j++)
            if (j < left)
                int8_store(type, to, j, value[j]);
        to += SLAB_STEP * e->out.ldd * e->out.bytes;
        c += SLAB_STEP * e->out.ldc * e->out.bytes;
    }
}

/* The warp's tile, whose first row and column in the CTA's are `row` and `at`; the CTA's in D: row0, col0. `slab`: the
 * warp's room, `area`: see zero_lines. */
TSR_DEVICE void int8_output(const tsr_gemm_args *args, const tsr_scaling *s, long long z, unsigned slab, unsigned area,
                            long long row0, long long col0, int row, int col, int sum[WM / SLAB][SLAB_SUMS])
{
    const any_scaled e = any_scaled_open(args, s, z, 0);
    const int at = col + (int)threadIdx.x % 32 % SLAB_LANES * 4;
    const zero_lines zeros = zero_lines_of(args, s, z, area, row0, col0, at);
    const any_columns columns = int8_columns_of(&e, col0 + at);
    TSR_ROLLED
    for (int i = 0; i < WM; i += SLAB) {
        if (i > 0) /* so that the end is there once: registers have no index */
            TSR_UNROLL
        for (int j = 0; j < (WM - SLAB) / SLAB * SLAB_SUMS; j++)
            sum[j / SLAB_SUMS][j % SLAB_SUMS] = sum[j / SLAB_SUMS + 1][j % SLAB_SUMS];
        tsr_warp_sync(TSR_ALL_LANES); /* the rows before have left */
        leave_slab(slab, sum[0]);
        tsr_warp_sync(TSR_ALL_LANES);
        output_slab(args, &e, &zeros, &columns, z, slab, row + i, at);
    }
}

#endif
