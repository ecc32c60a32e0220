/* A tile of an A whose rows begin anywhere, from global memory to a stage of wgmma: the copy engine brings rows as they
 * lie in memory, and a warp group shifts them.
 *
 * The copy engine wants each row of a map, and each box, to begin at a multiple of 16 bytes. Eight rows of 16-bit
 * elements always are such a distance, whatever the leading dimension is. So the map has eight rows in one line
 * (core/tensor_spec.c). Row r of a line begins r * lda elements after A does, and lines begin at the last multiple of
 * 16 bytes at or before A. A box brings the same row of several lines, from the multiple of 16 bytes at or before the
 * tile's first column on: all its rows begin equally far, `skew`, past its own beginning.
 *
 *     line 0 | row 0 ...... row 1 ...... row 7 ......|      box of row 1:  line 0 | ..abcdefgh...|
 *     line 1 | row 8 ...... row 9 ...... row 15 .....|                     line 1 | ..abcdefgh...|
 *
 * What lies beside a row is its neighbours. Beyond K that would be multiplied, so it becomes zero here; beyond M it
 * ends in rows that D does not have. Rows past the last whole line are loaded by elements, at most two chunks of a
 * thread.
 *
 * For kernels that name SLAB_BYTES, BM and BK, 128 and 64. */
#ifndef TSR_COLLECTIVE_WGMMA_UNALIGNED_H
#define TSR_COLLECTIVE_WGMMA_UNALIGNED_H

#include "ptx/shared_vector.h"
#include "ptx/tma.h"
#include "ptx/vector.h"
#include "ptx/warp.h"
#include "tile/shift.h"

enum {
    RAW_ROWS = 8,                                /* of a line */
    RAW_ELEMS = 8,                               /* of 16 bytes */
    RAW_ALONG_K = BM / RAW_ROWS * (2 * BK + 16), /* bytes of a box: A lies along K, or along M */
    RAW_ALONG_M = BK / RAW_ROWS * (2 * BM + 16),
    RAW_BYTES = (RAW_ROWS * (RAW_ALONG_K > RAW_ALONG_M ? RAW_ALONG_K : RAW_ALONG_M) + 1023) / 1024 * 1024,
    RAW_AT_ONCE = 4 /* chunks that a thread has of the rows of one place in their lines */
};

/* A as it is stored: `rows` of `columns` elements, lda apart. */
typedef struct raw_matrix {
    const unsigned short *a;
    long long lda;
    int first;         /* elements from the multiple of 16 bytes before A to A */
    int rows, columns; /* stored */
    int whole_rows;    /* of `rows`, those in whole lines */
} raw_matrix;

TSR_DEVICE raw_matrix raw_matrix_of(const tsr_gemm_args *args, int z)
{
    raw_matrix x;
    x.a = (const unsigned short *)args->a + z * args->batch_a;
    x.lda = args->lda;
    x.first = (int)((unsigned long long)args->a / 2 % RAW_ELEMS);
    x.rows = (int)(args->trans_a ? args->k : args->m);
    x.columns = (int)(args->trans_a ? args->m : args->k);
    x.whole_rows = x.rows / RAW_ROWS * RAW_ROWS;
    return x;
}

/* Where row r of a line begins, in elements of the line. */
TSR_DEVICE int raw_begin(const raw_matrix *x, int r)
{
    return x->first + r * (int)x->lda;
}

/* Requests the rows from `row` on and columns from `column` on, multiples of 8. By one lane. */
TSR_DEVICE void raw_load(unsigned to, const tsr_tensor_map *map, unsigned bar, const raw_matrix *x, int box_bytes,
                         int row, int column, int z)
{
    if (x->whole_rows == 0) { /* there is no map */
        tsr_mbarrier_arrive_here(bar);
        return;
    }
    tsr_mbarrier_arrive_expect(bar, (unsigned)(RAW_ROWS * box_bytes));
    TSR_UNROLL
    for (int r = 0; r < RAW_ROWS; r++)
        tsr_tma_load(to + (unsigned)(r * box_bytes), map, bar, raw_begin(x, r) / RAW_ELEMS * RAW_ELEMS + column,
                     row / RAW_ROWS, z);
}

/* The first `elems` elements of a chunk; zeros for the others. */
TSR_DEVICE tsr_u32x4 raw_first(tsr_u32x4 chunk, int elems)
{
    TSR_UNROLL
    for (int i = 0; i < 4; i++)
        if (elems < 2 * i + 2)
            tsr_lane(chunk, i) = elems > 2 * i ? tsr_lane(chunk, i) & 0xffffu : 0;
    return chunk;
}

/* What a thread of the warp group that shifts has of each stage: RAW_AT_ONCE chunks of the rows `place` of their lines,
 * and as many of the rows `place` + 4. Rows of one place have one skew, and a warp has rows of two places. */
typedef struct raw_lane {
    unsigned source, target;           /* its first chunk, from the beginning of the boxes and of the stage */
    unsigned source_step, target_step; /* to the next one */
    unsigned box_bytes;
    unsigned skew[2]; /* bytes */
    int row, row_step, column;
    int rows, columns; /* of a stage */
} raw_lane;

/* `along_m`, a constant: A is stored along M. */
TSR_DEVICE raw_lane raw_lane_of(const raw_matrix *x, int along_m, int thread)
{
    const int lines = (along_m ? BK : BM) / RAW_ROWS, chunks = (along_m ? BM : BK) / RAW_ELEMS;
    const int line_bytes = 16 * (chunks + 1), box_bytes = lines * line_bytes, lines_at_once = 32 / chunks;
    const int place = thread / 32, chunk = thread % 32 % chunks, line = thread % 32 / chunks;
    const int row = line * RAW_ROWS + place;
    raw_lane l;
    l.source = (unsigned)(place * box_bytes + line * line_bytes + 16 * chunk);
    l.target = (unsigned)(chunk / 8 * SLAB_BYTES + row * 128 + 16 * (chunk % 8 ^ place));
    l.source_step = (unsigned)(lines_at_once * line_bytes);
    l.target_step = (unsigned)(lines_at_once * RAW_ROWS * 128);
    l.box_bytes = (unsigned)box_bytes;
    l.skew[0] = 2 * (unsigned)(raw_begin(x, place) % RAW_ELEMS);
    l.skew[1] = 2 * (unsigned)(raw_begin(x, place + 4) % RAW_ELEMS);
    l.row = row;
    l.row_step = lines_at_once * RAW_ROWS;
    l.column = RAW_ELEMS * chunk;
    l.rows = RAW_ROWS * lines;
    l.columns = RAW_ELEMS * chunks;
    return l;
}

/* Four rows further down, chunks lie four places apart: their places are exclusive ors. */
TSR_DEVICE unsigned raw_target(const raw_lane *l, unsigned to, int half, unsigned i)
{
    return to + (half ? (l->target ^ 4 * 16) + 4 * 128 : l->target) + i * l->target_step;
}

/* The thread's chunk `i` from the boxes at `from`, and what follows it. */
TSR_DEVICE void raw_read(const raw_lane *l, unsigned from, int half, unsigned i, unsigned word[2][4])
{
    const unsigned at = from + l->source + (half ? 4 * l->box_bytes : 0) + i * l->source_step;
    tsr_shared_load_u32x4(at, word[0]);
    tsr_shared_load_u32x4(at + 16, word[1]);
}

/* Shifted, to the stage's A at `to`, as wgmma reads it. */
TSR_DEVICE void raw_write(const raw_lane *l, unsigned to, int half, unsigned i, unsigned word[2][4])
{
    tsr_shared_store_u32x4(raw_target(l, to, half, i), tile_shift(word[0], word[1], l->skew[half]));
}

/* 1 if the matrix has all rows and columns of the stage that begins there, in whole lines. What lies beyond its columns
 * along M ends in rows that D does not have. */
TSR_DEVICE int raw_is_inside(const raw_matrix *x, const raw_lane *l, int along_m, int row, int column)
{
    return row + l->rows <= x->whole_rows && (along_m || column + l->columns <= x->columns);
}

/* Of the line that is not whole, what the thread has of its row `place`, or `place` + 4: zeros if it has nothing. */
TSR_DEVICE void raw_fetch(const raw_matrix *x, const raw_lane *l, int first_row, int first_column, int half,
                          unsigned word[4])
{
    const int beyond = x->whole_rows - first_row - l->row / RAW_ROWS * RAW_ROWS; /* rows from the thread's first line */
    const int is_mine = beyond >= 0 && beyond % l->row_step == 0 && beyond / l->row_step < RAW_AT_ONCE;
    const int row = x->whole_rows + l->row % RAW_ROWS + 4 * half, column = first_column + l->column;
    const unsigned short *const from = x->a + row * x->lda + column;
    TSR_UNROLL
    for (int i = 0; i < 4; i++)
        word[i] = 0;
    if (is_mine && row < x->rows)
        TSR_UNROLL
    for (int i = 0; i < RAW_ELEMS; i++)
        if (column + i < x->columns)
            word[i / 2] |= (unsigned)from[i] << (16 * (i % 2));
}

/* Both at the ends of the matrix. `fetched`: of raw_fetch, for each half. */
TSR_DEVICE void raw_shift_edge(const raw_matrix *x, const raw_lane *l, unsigned to, unsigned from, int first_row,
                               int first_column, unsigned fetched[2][4])
{
    TSR_UNROLL
    for (int half = 0; half < 2; half++)
        TSR_ROLLED
    for (unsigned i = 0; i < RAW_AT_ONCE; i++) {
        const int row = first_row + l->row + (int)i * l->row_step + 4 * half;
        const int is_fetched = row >= x->whole_rows && row < x->rows;
        tsr_u32x4 out = {0, 0, 0, 0};
        if (row < x->whole_rows) {
            unsigned word[2][4];
            raw_read(l, from, half, i, word);
            out = raw_first(tile_shift(word[0], word[1], l->skew[half]), x->columns - first_column - l->column);
        }
        TSR_UNROLL
        for (int w = 0; w < 4; w++)
            tsr_lane(out, w) = is_fetched ? fetched[half][w] : tsr_lane(out, w);
        tsr_shared_store_u32x4(raw_target(l, to, half, i), out);
    }
}

#endif
