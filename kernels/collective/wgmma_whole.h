/* The end of a tile of LONG x BN whose sums are whole in registers, where D takes 16 bytes at once and nothing is
 * added, or a bias alone: a quarter of the instructions that sums need which others add to (collective/wgmma_reduce.h),
 * and these run once, with the tensor cores idle. Sums are scaled and rounded, a matrix instruction lays four 8x8
 * pieces at a time into shared memory as lines of D, swap_ab if lines lie along the accumulators' rows, and threads
 * take 16 bytes of a line out.
 *
 *     shared memory: LONG / 8 chunks of 16 bytes a line if swap_ab, else BN / 8, and one that is not used, so that
 *     8 lines' chunks, which an instruction writes at once, and 8 chunks of a line lie in different banks
 *
 * For kernels of CONSUMERS threads that multiply and meet at the named barrier ALL_CONSUMERS. */
#ifndef TSR_COLLECTIVE_WGMMA_WHOLE_H
#define TSR_COLLECTIVE_WGMMA_WHOLE_H

#include "ptx/barrier.h"
#include "ptx/matrix.h"
#include "ptx/shared.h"
#include "ptx/vector.h"
#include "ptx/warp.h"
#include "tile/either_element.h"

enum { WHOLE_CHUNK = 16, WHOLE_ELEMS = 8 };

#if defined(OUT_f32) || defined(OUT_any) /* leave by the other way */
#define tile_whole_is_possible(args) 0
#define tile_whole_output(...)       ((void)0)
#else
/* 1 if D has 16 bits, takes chunks and is the sums but for their scale and a bias. Narrow tiles have few sums: their
 * code is not worth its place. */
TSR_DEVICE int tile_whole_is_possible(const tsr_gemm_args *args)
{
    const unsigned long long all =
        (unsigned long long)args->d | (unsigned long long)args->ldd * 2 | (unsigned long long)args->batch_d * 2;
    return BN >= 64 && !tile_is_wide(args) && all % WHOLE_CHUNK == 0 && args->beta == 0 &&
           (args->epilogue == TSR_EPILOGUE_NONE || args->epilogue == TSR_EPILOGUE_BIAS);
}

enum { WHOLE_BIAS = BN > 128 ? (BN + 63) / 64 : 2 }; /* words of a lane */

/* What a lane fetches of the bias. swap_ab: that of the accumulators' rows `at` and `at` + 8, which are columns of D,
 * as floats. Else 4 bytes for each 64 columns from `at` on, passed on by shuffles, as in collective/wgmma_output.h.
 * Beyond D's `columns` any value does. */
TSR_DEVICE void tile_whole_bias(const epilogue *e, int swap_ab, int at, int columns, unsigned bias[WHOLE_BIAS])
{
    const unsigned short *const from = (const unsigned short *)(const void *)e->bias;
    const int last = columns - 1;
    TSR_UNROLL
    for (int i = 0; i < (swap_ab ? 2 : (BN + 63) / 64); i++) {
        const int column = at + (swap_ab ? 8 * i : 64 * i + 2 * (int)(threadIdx.x % 32));
        if (swap_ab)
            bias[i] = tsr_bits_of_f32(tile_widen(from[column < last ? column : last]));
        else
            bias[i] = (unsigned)from[column < last ? column : last] |
                      (unsigned)from[column + 1 < last ? column + 1 : last] << 16;
    }
}

/* Adds it to the sums of 8 of the accumulators' columns, number `eight` of the tile. */
TSR_DEVICE void tile_whole_add(int swap_ab, const unsigned bias[WHOLE_BIAS], int eight, float value[4])
{
    float added[4];
    TSR_UNROLL
    for (int i = 0; i < 4 && swap_ab; i++)
        added[i] = tsr_f32_of_bits(bias[i / 2]);
    if (!swap_ab) {
        tile_unpack(tsr_shuffle(TSR_ALL_LANES, bias[eight / 8], (unsigned)(eight % 8 * 4) + threadIdx.x % 4), &added[0],
                    &added[1]);
        added[2] = added[0], added[3] = added[1];
    }
    epilogue_add_bias(4, added, value);
}

/* The warp's 16 rows of the accumulators, from row `row` of the tile on, to the lines at `shared`. */
TSR_DEVICE void tile_whole_leave(const epilogue *e, int has_bias, const unsigned bias[WHOLE_BIAS], unsigned shared,
                                 int swap_ab, int row, const float *sum)
{
    const unsigned lane = threadIdx.x % 32, half = lane / 8 % 2, pair = lane / 16; /* of the four pieces */
    const unsigned line_bytes = WHOLE_CHUNK * ((swap_ab ? LONG : BN) / 8 + 1);
    const unsigned line = swap_ab ? 8 * pair + lane % 8 : (unsigned)row + 8 * half + lane % 8;
    const unsigned chunk = swap_ab ? (unsigned)row / 8 + half : pair;
    const unsigned at = shared + line * line_bytes + chunk * WHOLE_CHUNK;
    TSR_UNROLL
    for (unsigned i = 0; i < BN / 16; i++) {
        unsigned pieces[4];
        float value[8];
        epilogue_scale(e, 8, sum + 8 * i, value);
        TSR_UNROLL
        for (int eight = 0; eight < 2 && has_bias; eight++)
            tile_whole_add(swap_ab, bias, 2 * (int)i + eight, value + 4 * eight);
        TSR_UNROLL
        for (unsigned j = 0; j < 4; j++)
            pieces[j] = tile_pack(value[2 * j], value[2 * j + 1]);
        if (swap_ab)
            tsr_store_matrix_x4_trans(at + i * 16 * line_bytes, pieces);
        else
            tsr_store_matrix_x4(at + i * 2 * WHOLE_CHUNK, pieces);
    }
    if (BN % 16 == 0)
        return;
    unsigned last[2]; /* two pieces of the last 8 columns */
    float value[4];
    epilogue_scale(e, 4, sum + BN / 16 * 8, value);
    if (has_bias)
        tile_whole_add(swap_ab, bias, BN / 16 * 2, value);
    TSR_UNROLL
    for (unsigned j = 0; j < 2; j++)
        last[j] = tile_pack(value[2 * j], value[2 * j + 1]);
    if (swap_ab)
        tsr_store_matrix_x2_trans(at + BN / 16 * 16 * line_bytes, last);
    else
        tsr_store_matrix_x2(at + BN / 16 * 2 * WHOLE_CHUNK, last);
}

/* 8 neighbours of a line, or those that D has. */
TSR_DEVICE void tile_whole_store_chunk(unsigned short *to, int left, const unsigned value[4])
{
    if (left >= WHOLE_ELEMS) {
        tsr_u32x4 chunk = {0, 0, 0, 0};
        TSR_UNROLL
        for (int i = 0; i < 4; i++)
            tsr_lane(chunk, i) = value[i];
        tsr_store_u32x4((unsigned *)to, chunk);
        return;
    }
    TSR_UNROLL
    for (int i = 0; i < WHOLE_ELEMS - 1; i++)
        if (i < left)
            to[i] = (unsigned short)(value[i / 2] >> 16 * (i % 2));
}

/* All consumers: `lines` lines of `width` elements, from `d` on, which is a multiple of 16 bytes as `ldd` is. Several
 * loads are under way before the first store. */
TSR_DEVICE void tile_whole_store(unsigned shared, int swap_ab, unsigned short *d, long long ldd, int lines, int width)
{
    enum { AHEAD = 4 };
    const unsigned chunks = (swap_ab ? LONG : BN) / 8, all = (unsigned)lines * chunks;
    TSR_ROLLED
    for (unsigned first = threadIdx.x; first < all; first += AHEAD * CONSUMERS) {
        unsigned value[AHEAD][4];
        TSR_UNROLL
        for (unsigned i = 0; i < AHEAD; i++) {
            const unsigned at = first + i * CONSUMERS;
            if (at < all)
                tsr_shared_load_u32x4(shared + (at + at / chunks) * WHOLE_CHUNK, value[i]);
        }
        TSR_UNROLL
        for (unsigned i = 0; i < AHEAD; i++) {
            const unsigned at = first + i * CONSUMERS, line = at / chunks, from = at % chunks * WHOLE_ELEMS;
            if (at < all)
                tile_whole_store_chunk(d + line * ldd + from, width - (int)from, value[i]);
        }
    }
}

/* All consumers, when the ring is empty: the tile at `short_at` and `long_at`, which has `rows_short` of BN, and of
 * which `lines` lines are in D. */
TSR_DEVICE void tile_whole_output(const tsr_gemm_args *args, unsigned shared, int swap_ab, int short_at, int rows_short,
                                  int long_at, int z, int lines, const float *sum)
{
    const int row = tsr_warp_uniform((int)threadIdx.x / 32) * 16;
    const int m = swap_ab ? short_at : long_at, n = swap_ab ? long_at : short_at, most = swap_ab ? LONG : rows_short;
    const long long left = args->n - n;
    const int width = left < most ? (int)left : most;
    unsigned short *const d = (unsigned short *)args->d + z * args->batch_d + m * args->ldd + n;
    const epilogue e = epilogue_of(args);
    const int has_bias = args->epilogue != TSR_EPILOGUE_NONE;
    unsigned bias[WHOLE_BIAS] = {0};
    if (has_bias && swap_ab)
        tile_whole_bias(&e, 1, n + row + (int)(threadIdx.x % 32 / 4), (int)args->n, bias);
    else if (has_bias)
        tile_whole_bias(&e, 0, n, (int)args->n, bias);
    tsr_named_barrier(ALL_CONSUMERS, CONSUMERS);
    if (has_bias && swap_ab)
        tile_whole_leave(&e, 1, bias, shared, 1, row, sum);
    else if (has_bias)
        tile_whole_leave(&e, 1, bias, shared, 0, row, sum);
    else if (swap_ab)
        tile_whole_leave(&e, 0, bias, shared, 1, row, sum);
    else
        tile_whole_leave(&e, 0, bias, shared, 0, row, sum);
    tsr_named_barrier(ALL_CONSUMERS, CONSUMERS);
    if (swap_ab)
        tile_whole_store(shared, 1, d, args->ldd, lines, width);
    else
        tile_whole_store(shared, 0, d, args->ldd, lines, width);
}
#endif

#endif
