/* Scales of blocks of 128 steps of K, for kernels whose sums leave the tensor cores after each such block. A thread has
 * the sums of wgmma's layout: of two rows, 8 apart, and of two neighbouring columns in each 8. */
#ifndef TSR_COLLECTIVE_BLOCK_SCALES_H
#define TSR_COLLECTIVE_BLOCK_SCALES_H

#include "core/scaling.h"
#include "ptx/arithmetic.h"
#include "ptx/language.h"

/* Where a thread's rows and columns are. */
typedef struct block_scales {
    const tsr_scaling *scaling;
    const float *a, *b;          /* of the problem; NULL: 1 */
    long long m, n, row, column; /* extents; the thread's first ones */
} block_scales;

TSR_DEVICE block_scales block_scales_of(const tsr_scaling *s, long long z, long long m, long long n, long long row,
                                        long long column)
{
    block_scales b;
    b.scaling = s;
    b.a = s->a && s->mode_a >= TSR_SCALING_1X128 ? s->a + z * s->batch_a : 0;
    b.b = s->b && s->mode_b >= TSR_SCALING_1X128 ? s->b + z * s->batch_b : 0;
    b.m = m;
    b.n = n;
    b.row = row;
    b.column = column;
    return b;
}

TSR_DEVICE int block_scales_are_used(const tsr_scaling *s)
{
    return (s->a && s->mode_a >= TSR_SCALING_1X128) || (s->b && s->mode_b >= TSR_SCALING_1X128);
}

/* Of row `row`; rows that are not there have no sums, and any scale. */
TSR_DEVICE float block_scale_a(const block_scales *b, long long row, long long block)
{
    const tsr_scaling *s = b->scaling;
    return b->a && row < b->m ? b->a[tsr_scale_index(s->mode_a, s->stride_a, s->first_m + row, block)] : 1;
}

TSR_DEVICE float block_scale_b(const block_scales *b, long long column, long long block)
{
    const tsr_scaling *s = b->scaling;
    return b->b && column < b->n ? b->b[tsr_scale_index(s->mode_b, s->stride_b, s->first_n + column, block)] : 1;
}

/* sum += part * (a's scale * b's), `count` registers. Columns of one 128 x 128 block share a scale, and up to 256
 * columns have three such blocks. */
TSR_DEVICE void block_scales_add(const block_scales *b, long long block, int count, const float *part, float *sum)
{
    const float a[2] = {block_scale_a(b, b->row, block), block_scale_a(b, b->row + 8, block)};
    const int is_square = b->scaling->mode_b == TSR_SCALING_128X128;
    const int over = (int)((b->scaling->first_n + b->column) % TSR_SCALE_BLOCK);
    float wide[3] = {1, 1, 1};
    TSR_UNROLL
    for (int i = 0; i < 3 && is_square; i++)
        wide[i] = block_scale_b(b, b->column + (i > 0 ? TSR_SCALE_BLOCK * i - over : 0), block);
    TSR_UNROLL
    for (int i = 0; i < count; i += 4) {
        TSR_UNROLL
        for (int c = 0; c < 2; c++) {
            const int at = 2 * i + c; /* columns beyond the first */
            const float scale = !is_square                        ? block_scale_b(b, b->column + at, block)
                                : over + at < TSR_SCALE_BLOCK     ? wide[0]
                                : over + at < 2 * TSR_SCALE_BLOCK ? wide[1]
                                                                  : wide[2];
            sum[i + c] = tsr_fma_f32(part[i + c], tsr_mul_f32(a[0], scale), sum[i + c]);
            sum[i + 2 + c] = tsr_fma_f32(part[i + 2 + c], tsr_mul_f32(a[1], scale), sum[i + 2 + c]);
        }
    }
}

#endif
