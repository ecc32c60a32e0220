/* From tiles of tile/tensor_tile.h to the registers that mma takes (ptx/mma.h), and the product of what they hold.
 *
 * One step along K is two chunks: 16 elements of 16 bits, or 8 of tf32. ldmatrix.x4 brings 16 rows of a step, four
 * 8 x 8 blocks; lane 8 i + r tells where row r of block i lies:
 *
 *        A: chunk 0   1                    B: chunk 0   1         (k contiguous; else the same blocks,
 *   rows 0-7  [ 0 ] [ 2 ]             rows 0-7  [ 0 ] [ 1 ]        whose lines are k, transposed on the way)
 *   rows 8-15 [ 1 ] [ 3 ]             rows 8-15 [ 2 ] [ 3 ]
 *
 * A's four blocks are the four registers of a 16 x 16 fragment, B's two pairs those of two fragments of 8 columns.
 *
 * The swizzle is an exclusive or with bits that depend on the lane alone. So a lane needs one offset for each operand,
 * and whatever else selects a chunk (the step, or the 16 rows) is one more exclusive or with a constant. */
#ifndef TSR_TILE_TENSOR_FRAGMENT_H
#define TSR_TILE_TENSOR_FRAGMENT_H

#include "ptx/ldmatrix.h"
#include "ptx/mma.h"
#include "tile/tensor_tile.h"

enum { STEP_K = 2 * CHUNK };

#if defined(ELEM_bf16)
#define tensor_mma tsr_mma_bf16
#elif defined(ELEM_f16)
#define tensor_mma tsr_mma_f16
#else
#define tensor_mma tsr_mma_tf32
#endif

/* The lane's offset in a tile, for fragments whose first row is `row`. */
TSR_DEVICE unsigned tensor_lane_offset(int row, int lane, int is_b, int height, int bk, int k_contiguous)
{
    if (sizeof(elem) == 4 && !k_contiguous)
        return tensor_place(row + lane / 4, lane % 4, height, bk, 0) + (unsigned)(lane / 4 % 4 * 4);
    const int down = is_b ? lane / 16 : lane / 8 % 2, along = is_b ? lane / 8 % 2 : lane / 16;
    if (k_contiguous)
        return tensor_place(row + down * 8 + lane % 8, along * CHUNK, height, bk, 1);
    return tensor_place(row + down * 8, along * 8 + lane % 8, height, bk, 0);
}

/* 16 rows of step `step`: rows `16 * index` on. */
TSR_DEVICE void tensor_load(unsigned to[4], const unsigned char *tile, unsigned offset, int index, int step, int is_b,
                            int height, int bk, int k_contiguous)
{
    if (k_contiguous) {
        tsr_ldmatrix_x4(to, tile + (offset ^ (unsigned)(step * 32)) + index * 16 * bk * (int)sizeof(elem));
        return;
    }
    const unsigned char *const from = tile + step * STEP_K * height * (int)sizeof(elem);
#if defined(ELEM_tf32)
    TSR_UNROLL
    for (int block = 0; block < 4; block++) { /* 8 rows, 4 k each */
        const int down = is_b ? block / 2 : block % 2, along = is_b ? block % 2 : block / 2;
        const unsigned flip = (unsigned)(index % 2 * 64 + down * 32); /* the bits that the swizzle touches */
        const unsigned place = (offset ^ flip) + (unsigned)(index / 2 * 128 + along * 16 * height);
        to[block] = *(const unsigned *)(const void *)(from + place);
    }
#else
    (void)is_b;
    tsr_ldmatrix_x4_trans(to, from + (offset ^ (unsigned)(index * 32)));
#endif
}

/* f32 becomes the nearest tf32; the instruction by itself would cut off. Nothing to do for 16-bit elements. */
TSR_DEVICE void tensor_round(unsigned bits[4])
{
#if defined(ELEM_tf32)
    TSR_UNROLL
    for (int i = 0; i < 4; i++)
        bits[i] = tsr_narrow_tf32(tsr_f32_of_bits(bits[i]));
#else
    (void)bits;
#endif
}

#endif
