/* Scales of blocks of 128 steps of K, for kernels whose sums leave the tensor cores after each such block. They come to
 * shared memory with the stage that they are for: a thread that asked global memory for them would wait for it at each
 * stage (an H200 then took four to nine times as long).
 *
 *   a stage's scales   SCALED_ROWS of the rows' operand | SCALED_COLUMNS of the columns' one, or, where blocks are 128
 *                      columns wide and tiles begin at multiples of APART, one for each APART columns
 *
 * A warp's lanes copy them, 4 bytes each, since their addresses are multiples of no more; the stage's mbarrier counts
 * one arrival of each lane beside the copy engine's. A consumer has the sums of wgmma's layout: of two rows, 8 apart,
 * and of two neighbouring columns in each 8.
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

enum {
    APART = SCALED_COLUMNS % 64 == 0 ? 64 : 32, /* columns that share a scale where blocks are as wide as high */
    FACTORS = SCALED_COLUMNS > APART ? SCALED_COLUMNS / APART : 1,
    SCALES_BYTES = (SCALED_ROWS + SCALED_COLUMNS) * 4,
    SCALES_ARRIVALS = 1 + 32
};

/* Arrivals that a stage's mbarrier counts. */
TSR_DEVICE unsigned block_scales_arrivals(const tsr_gemm_args *args)
{
    return args->block_scales ? SCALES_ARRIVALS : 1;
}

/* Which sides of a tile have scales of blocks, and how they lie in shared memory. `swap_ab`: the tile's rows are
 * columns of D; `column`: the tile's first, in its own direction. */
typedef struct block_scales {
    int rows, columns; /* 1: there are some; */
    int by_apart;      /*   of columns one for each APART */
} block_scales;

TSR_DEVICE block_scales block_scales_of(const tsr_scaling *s, int swap_ab, int column)
{
    const int a = s->a && s->mode_a >= TSR_SCALING_1X128, b = s->b && s->mode_b >= TSR_SCALING_1X128;
    const int mode = swap_ab ? s->mode_a : s->mode_b;
    const long long first = (swap_ab ? s->first_m : s->first_n) + column;
    const block_scales t = {.rows = swap_ab ? b : a,
                            .columns = swap_ab ? a : b,
                            .by_apart =
                                mode == TSR_SCALING_128X128 && SCALED_COLUMNS % APART == 0 && first % APART == 0};
    return t;
}

/* The same for a kernel whose tiles begin at multiples of APART, if there are scales of blocks at all. */
TSR_DEVICE block_scales block_scales_open(const tsr_gemm_args *args, const tsr_scaling *s)
{
    const block_scales none = {0, 0, 0};
    return args->block_scales ? block_scales_of(s, 0, 0) : none;
}

/* What a lane copies of one side's scales, block after block. */
enum {
    MOST_SCALED = SCALED_ROWS > SCALED_COLUMNS ? SCALED_ROWS : SCALED_COLUMNS,
    MOST_COPIES = (MOST_SCALED + 31) / 32
};

typedef struct scale_line {
    const float *from; /* of the next block */
    long long step;
    int offset[MOST_COPIES];
} scale_line;

/* `outer` and `last`: of the whole problem, the tile's first row or column, and the last one that is there; what lies
 * beyond gets its scale, for sums that leave nowhere. The `most` rows or columns of the tile, each `apart`-th, have a
 * scale each; blocks `first`, `first` + `blocks`, ... are copied. `any_mode` goes through a shuffle, before which the
 * compiler can find out nothing that depends on it. */
TSR_DEVICE scale_line scale_line_of(const float *of_problem, int any_mode, long long stride, long long outer,
                                    long long last, int most, int apart, int first, int blocks)
{
    enum { SHIFT = 7 }; /* of TSR_SCALE_BLOCK */
    const int mode = tsr_warp_uniform(any_mode), is_square = mode == TSR_SCALING_128X128;
    const int inner = is_square ? (int)(outer % TSR_SCALE_BLOCK) : 0, left = (int)(last - outer);
#if TSR_EMU /* gcc does not see that nobody reads what the shorter side has not */
    scale_line line = {0, 0, {0}};
#else
    scale_line line;
#endif
    line.step = is_square ? 1 : stride;
    line.from = of_problem + tsr_scale_index(mode, stride, outer, 0) + first * line.step;
    line.step *= blocks;
    TSR_UNROLL
    for (int i = 0; i < (most + 31) / 32; i++) {
        const int asked = (32 * i + (int)threadIdx.x % 32) * apart, at = asked < left ? asked : left;
        line.offset[i] = is_square ? ((at + inner) >> SHIFT) * (int)stride : at;
    }
    return line;
}

/* The next block's scales to `to`: `count` of them, a constant. */
TSR_DEVICE void scale_line_copy(scale_line *line, unsigned char *to, int count)
{
    const int lane = (int)threadIdx.x % 32;
    TSR_UNROLL
    for (int i = 0; i < (count + 31) / 32; i++)
        if (32 * i + lane < count)
            tsr_copy_async_4(to + (32 * i + lane) * 4, line->from + line->offset[i], 4);
    line->from += line->step;
}

/* A lane's part in copying the scales of one tile. */
typedef struct scale_copies {
    block_scales has;
    scale_line rows, columns;
} scale_copies;

/* Of problem `z`; `m` and `n` are D's extents, `row` and `column` the tile's first ones, in its own directions; of
 * every `blocks`-th block, from `first` on. */
TSR_DEVICE scale_copies scale_copies_of(const tsr_scaling *s, int swap_ab, int z, long long m, long long n, int row,
                                        int column, int first, int blocks)
{
    const long long at_a = s->first_m + (swap_ab ? column : row), at_b = s->first_n + (swap_ab ? row : column);
    const long long last_a = s->first_m + m - 1, last_b = s->first_n + n - 1;
    const float *const a = s->a + z * s->batch_a, *const b = s->b + z * s->batch_b;
    scale_copies c;
    c.has = block_scales_of(s, swap_ab, column);
    const int apart = c.has.by_apart ? APART : 1;
    c.rows = swap_ab ? scale_line_of(b, s->mode_b, s->stride_b, at_b, last_b, SCALED_ROWS, 1, first, blocks)
                     : scale_line_of(a, s->mode_a, s->stride_a, at_a, last_a, SCALED_ROWS, 1, first, blocks);
    c.columns = swap_ab ? scale_line_of(a, s->mode_a, s->stride_a, at_a, last_a, SCALED_COLUMNS, apart, first, blocks)
                        : scale_line_of(b, s->mode_b, s->stride_b, at_b, last_b, SCALED_COLUMNS, apart, first, blocks);
    return c;
}

/* By all lanes of a warp: the scales of the next block to `to`; they are counted at mbarrier `full`. */
TSR_DEVICE void scale_copies_start(scale_copies *c, unsigned char *to, unsigned full)
{
    if (c->has.rows)
        scale_line_copy(&c->rows, to, SCALED_ROWS);
    if (c->has.columns && c->has.by_apart)
        scale_line_copy(&c->columns, to + SCALED_ROWS * 4, FACTORS);
    else if (c->has.columns)
        scale_line_copy(&c->columns, to + SCALED_ROWS * 4, SCALED_COLUMNS);
    tsr_mbarrier_arrive_copies(full);
}

TSR_DEVICE int block_scales_are_few(const block_scales *t)
{
    return t->by_apart || !t->columns;
}

/* Where columns have few scales or none: those of a lane's two rows, and of each APART columns. */
typedef struct few_scales {
    float rows[2], columns[FACTORS];
} few_scales;

/* `from`: the stage's scales, `row`: the lane's first of the tile. */
TSR_DEVICE few_scales few_scales_read(const block_scales *t, unsigned from, int row)
{
    few_scales s;
    TSR_UNROLL
    for (int h = 0; h < 2; h++)
        s.rows[h] = t->rows ? tsr_shared_load_f32(from + (unsigned)(row + 8 * h) * 4) : 1;
    TSR_UNROLL
    for (int i = 0; i < FACTORS; i++)
        s.columns[i] = t->columns ? tsr_shared_load_f32(from + (unsigned)(SCALED_ROWS + i) * 4) : 1;
    return s;
}

/* sum += part * scale, `count` registers. */
TSR_DEVICE void few_scales_add(const few_scales *s, int count, const float *part, float *sum)
{
    float factor[FACTORS][2];
    TSR_UNROLL
    for (int i = 0; i < FACTORS; i++)
        TSR_UNROLL
    for (int h = 0; h < 2; h++)
        factor[i][h] = tsr_mul_f32(s->rows[h], s->columns[i]);
    TSR_UNROLL
    for (int i = 0; i < count; i++)
        sum[i] = tsr_fma_f32(part[i], factor[i / (APART / 2)][i % 4 / 2], sum[i]);
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
