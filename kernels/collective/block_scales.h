/* Scales of blocks of 128 steps of K, for kernels whose sums leave the tensor cores after each such block. They come to
 * shared memory with the stage that they are for: a thread that asked global memory for them would wait for it at each
 * stage (an H200 then took four to nine times as long).
 *
 *   a stage's scales   SCALED_ROWS of the rows' operand | SCALED_COLUMNS of the columns' one, or, where blocks are 128
 *                      columns wide and tiles begin at multiples of 64, one for each 64 columns
 *
 * The producer's lanes copy them, 4 bytes each, since their addresses are multiples of no more; the stage's mbarrier
 * counts one arrival of each lane beside the copy engine's. A consumer has the sums of wgmma's layout: of two rows, 8
 * apart, and of two neighbouring columns in each 8.
 *
 * For kernels that name SCALED_ROWS and SCALED_COLUMNS, of a tile. */
#ifndef TSR_COLLECTIVE_BLOCK_SCALES_H
#define TSR_COLLECTIVE_BLOCK_SCALES_H

#include "core/scaling.h"
#include "ptx/arithmetic.h"
#include "ptx/async_copy.h"
#include "ptx/mbarrier.h"
#include "ptx/shared.h"
#include "ptx/shared_vector.h"
#include "ptx/warp.h"
#include "ptx/warpgroup.h"

enum { SCALES_BYTES = (SCALED_ROWS + SCALED_COLUMNS) * 4, SCALES_ARRIVALS = 1 + 32 };

/* Arrivals that a stage's mbarrier counts. */
TSR_DEVICE unsigned block_scales_arrivals(const tsr_gemm_args *args)
{
    return args->block_scales ? SCALES_ARRIVALS : 1;
}

/* Which sides of a tile have scales of blocks, and how they lie in shared memory. `swap_ab`: the tile's rows are
 * columns of D; `column`: the tile's first, in its own direction. */
typedef struct block_scales {
    int rows, columns; /* 1: there are some; */
    int by_64;         /*   of columns one for each 64 */
} block_scales;

TSR_DEVICE block_scales block_scales_of(const tsr_scaling *s, int swap_ab, int column)
{
    const int a = s->a && s->mode_a >= TSR_SCALING_1X128, b = s->b && s->mode_b >= TSR_SCALING_1X128;
    const int mode = swap_ab ? s->mode_a : s->mode_b;
    const long long first = (swap_ab ? s->first_m : s->first_n) + column;
    const block_scales t = {.rows = swap_ab ? b : a,
                            .columns = swap_ab ? a : b,
                            .by_64 = mode == TSR_SCALING_128X128 && SCALED_COLUMNS % 64 == 0 && first % 64 == 0};
    return t;
}

/* Where a producer's lane finds one side's scales of a tile. That of the tile's row or column i, in block b, lies at
 * from[b * step + (i + inner) / 2^shift * factor]. */
typedef struct scale_source {
    const float *from;
    int step, inner, shift, factor;
    int last; /* row or column that is there; what lies beyond gets its scale, for sums that leave nowhere */
} scale_source;

/* `outer` and `last`: of the whole problem, the tile's first row or column, and the last one that is there. `any_mode`
 * goes through a shuffle, before which the compiler can find out nothing that depends on it. */
TSR_DEVICE scale_source scale_source_of(const float *of_problem, int any_mode, long long stride, long long outer,
                                        long long last)
{
    enum { SHIFT = 7 }; /* of TSR_SCALE_BLOCK */
    const int mode = tsr_warp_uniform(any_mode), is_square = mode == TSR_SCALING_128X128;
    scale_source s;
    s.from = of_problem + tsr_scale_index(mode, stride, outer, 0);
    s.step = is_square ? 1 : (int)stride;
    s.inner = is_square ? (int)(outer % TSR_SCALE_BLOCK) : 0;
    s.shift = is_square ? SHIFT : 0;
    s.factor = is_square ? (int)stride : 1;
    s.last = (int)(last - outer);
    return s;
}

/* The scales of `count` rows or columns, each `apart`-th, to `to`; `most`: a constant, of which `count` is a part. */
TSR_DEVICE void scale_source_copy(const scale_source *s, unsigned char *to, int most, int count, int apart, int block)
{
    const int lane = (int)threadIdx.x % 32;
    const float *const from = s->from + (long long)block * s->step;
    TSR_UNROLL
    for (int i = 0; i < (most + 31) / 32; i++) {
        const int asked = (32 * i + lane) * apart, at = asked < s->last ? asked : s->last;
        if (32 * i + lane < count)
            tsr_copy_async_4(to + (32 * i + lane) * 4, from + ((at + s->inner) >> s->shift) * s->factor, 4);
    }
}

/* A producer's lane in one tile. */
typedef struct scale_copies {
    block_scales has;
    scale_source rows, columns;
} scale_copies;

/* Of problem `z`; `m` and `n` are D's extents, `row` and `column` the tile's first ones, in its own directions. */
TSR_DEVICE scale_copies scale_copies_of(const tsr_scaling *s, int swap_ab, int z, long long m, long long n, int row,
                                        int column)
{
    const long long at_a = s->first_m + (swap_ab ? column : row), at_b = s->first_n + (swap_ab ? row : column);
    const scale_source a = scale_source_of(s->a + z * s->batch_a, s->mode_a, s->stride_a, at_a, s->first_m + m - 1);
    const scale_source b = scale_source_of(s->b + z * s->batch_b, s->mode_b, s->stride_b, at_b, s->first_n + n - 1);
    const scale_copies c = {block_scales_of(s, swap_ab, column), swap_ab ? b : a, swap_ab ? a : b};
    return c;
}

/* By all lanes of a warp: the scales of one block to `to`; they are counted at mbarrier `full`. */
TSR_DEVICE void scale_copies_start(const scale_copies *c, unsigned char *to, int block, unsigned full)
{
    const int apart = c->has.by_64 ? 64 : 1;
    if (c->has.rows)
        scale_source_copy(&c->rows, to, SCALED_ROWS, SCALED_ROWS, 1, block);
    if (c->has.columns)
        scale_source_copy(&c->columns, to + SCALED_ROWS * 4, SCALED_COLUMNS, SCALED_COLUMNS / apart, apart, block);
    tsr_mbarrier_arrive_copies(full);
}

/* Where columns have few scales or none: the factors of a lane's two rows in each 64 columns, which a stage's products
 * need when they are done; found while these run. `from`: the stage's scales, `row`: the lane's first of the tile. */
enum { FACTORS = SCALED_COLUMNS > 64 ? SCALED_COLUMNS / 64 : 1 };

TSR_DEVICE int block_scales_are_few(const block_scales *t)
{
    return t->by_64 || !t->columns;
}

TSR_DEVICE void block_factors(const block_scales *t, unsigned from, int row, float factor[FACTORS][2])
{
    TSR_UNROLL
    for (int h = 0; h < 2; h++) {
        const float of_row = t->rows ? tsr_shared_load_f32(from + (unsigned)(row + 8 * h) * 4) : 1;
        TSR_UNROLL
        for (int i = 0; i < FACTORS; i++)
            factor[i][h] =
                t->columns ? tsr_mul_f32(of_row, tsr_shared_load_f32(from + (unsigned)(SCALED_ROWS + i) * 4)) : of_row;
    }
}

/* sum += part * factor, `count` registers. */
TSR_DEVICE void block_factors_add(const float factor[FACTORS][2], int count, const float *part, float *sum)
{
    TSR_UNROLL
    for (int i = 0; i < count; i++)
        sum[i] = tsr_fma_f32(part[i], factor[i / 32][i % 4 / 2], sum[i]);
}

/* The same with a scale for each column. */
TSR_DEVICE void block_scales_add(const block_scales *t, unsigned from, int row, int count, const float *part,
                                 float *sum)
{
    const unsigned rows = from + (unsigned)row * 4, columns = from + SCALED_ROWS * 4 + threadIdx.x % 4 * 8;
    const float of_row[2] = {t->rows ? tsr_shared_load_f32(rows) : 1, t->rows ? tsr_shared_load_f32(rows + 32) : 1};
    TSR_UNROLL
    for (int i = 0; i < count; i += 4) {
        float scale[2];
        tsr_shared_load_f32x2(columns + (unsigned)(8 * i), scale);
        TSR_UNROLL
        for (int e = 0; e < 4; e++)
            sum[i + e] = tsr_fma_f32(part[i + e], tsr_mul_f32(of_row[e / 2], scale[e % 2]), sum[i + e]);
    }
}

#endif
