/* The last step of the Hopper kernels whose operands came by classes of rows (core/class_maps.h): their tiles hold row
 * r of D in place r % 8 * BM / 8 + r / 8 if A came by its rows along M, and columns likewise if B came by its rows
 * along N. Rows leave one by one as in tile/wgmma_rows.h, so their order costs nothing; columns go to their places
 * where a warp turns its rows in shared memory. */
#ifndef TSR_TILE_WGMMA_CLASS_ROWS_H
#define TSR_TILE_WGMMA_CLASS_ROWS_H

#include "tile/wgmma_rows.h"

#if defined(OUT_f32)
#define rows_put tsr_shared_store_f32
#define rows_get tsr_shared_load_f32
#else
#define rows_put tsr_shared_store_u16
#define rows_get tsr_shared_load_u16
#endif

enum {
    CLASS_SPAN = 64, /* columns of D between which eight neighbours of a class lie */
    CLASS_SPANS = BN / CLASS_SPAN,
    CLASS_FITS = 1 / (BN % CLASS_SPAN == 0 && BM % CLASS_SPAN == 0 && ROWS_COLS % CLASS_SPAN == 0 &&
                      BN % ROWS_COLS == 0) /* or the file does not compile */
};

/* rows_turn for columns that lie by classes: places 8 b to 8 b + 7 of the tile are one class and neighbours in it, so
 * columns 8 apart. */
TSR_DEVICE void rows_turn_classes(float alpha, float beta, const rows_lane *lane, int first, int half,
                                  const float sum[TSR_WGMMA_REGISTERS])
{
    TSR_UNROLL
    for (int b = 0; b < BN / 8; b++) {
        const int residue = b / CLASS_SPANS, span = b % CLASS_SPANS * CLASS_SPAN;
        if (span < first || span >= first + ROWS_COLS)
            continue;
        TSR_UNROLL
        for (int i = 0; i < 2; i++) {
            const int column = span + 8 * (2 * lane->quarter + i) + residue;
            const unsigned at = lane->at + (unsigned)((column - first) * OUT_BYTES);
            float value = tsr_mul_f32(alpha, sum[4 * b + 2 * half + i]);
            if (beta != 0)
                value = tsr_fma_f32(beta, tile_widen(rows_get(at)), value);
            rows_put(at, tile_narrow(value));
        }
    }
}

/* 64 places of the tile at row `m`, column `n` of D, from place `first_place` on. */
TSR_DEVICE void tile_output_classes(const tsr_gemm_args *args, const tile_boxes *boxes, int m, int n, int z,
                                    int first_place, const float sum[TSR_WGMMA_REGISTERS])
{
    const float alpha = tile_alpha(args), beta = (float)args->beta;
    const int warp = boxes->thread / 32, in_warp = boxes->thread % 32;
    TSR_UNROLL
    for (int half = 0; half < 2; half++) {
        const int place = first_place + warp * 16 + 8 * half + in_warp / 4;
        const int row = m + (args->trans_a ? place : place % (BM / 8) * 8 + place / (BM / 8));
        TSR_UNROLL
        for (int first = 0; first < BN; first += ROWS_COLS) {
            const long long right = args->n - n - first;
            const int columns = right < ROWS_COLS ? (int)right : ROWS_COLS;
            rows_lane lane;
            lane.d = (tile_element *)args->d + z * args->batch_d + row * args->ldd + n + first;
            lane.skew = (unsigned)((unsigned long long)lane.d % ROWS_SPAN);
            lane.at = boxes->shared + (unsigned)(warp * ROWS_WARP_BYTES + in_warp / 4 * ROWS_PITCH) + lane.skew;
            lane.exists = row < args->m;
            lane.quarter = in_warp % 4;
            tsr_warp_sync(TSR_ALL_LANES); /* what lay in the buffer before has left */
            if (beta != 0) {
                rows_fetch(&lane, (const tile_element *)args->c + z * args->batch_c + row * args->ldc + n + first,
                           columns);
                tsr_warp_sync(TSR_ALL_LANES);
            }
            if (args->trans_b)
                rows_turn_classes(alpha, beta, &lane, first, half, sum);
            else
                rows_turn(alpha, beta, &lane, first, half, sum);
            tsr_warp_sync(TSR_ALL_LANES);
            if (columns == ROWS_COLS)
                rows_store(&lane);
            else
                rows_store_part(&lane, columns);
        }
    }
}

#undef rows_put
#undef rows_get

#endif
