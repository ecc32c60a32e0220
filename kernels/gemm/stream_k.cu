/* stream-k: D = alpha * op(A) * op(B) + beta * C for problems whose tiles do not fill the SMs evenly.
 *
 * New against warptile: what a CTA gets is not a tile but a share of the steps along K.
 *   - As many tiles as make whole rounds over the SMs are made as ever, one CTA each. The steps of those that are left
 * (`stream_k_tiles` tiles) lie one after the other on a line that is cut into `units` equal parts, one for each of the
 * first CTAs.
 *   - So every SM is busy to the end. With few tiles and a long K (M small) no tile is whole, and this is split-K.
 *   - Where a cut falls inside a tile, each CTA leaves its sums in the workspace and counts. Whoever counts last adds
 * all of them up, in the order of K, and writes D. Nobody ever waits, so there is no deadlock, whatever runs beside.
 *   - Which CTA is last does not matter: its own sums are read back too. The bits are the same run after run.
 *   - The last CTA sets the counter back to 0 for the next launch.
 *
 *      5 tiles of 4 steps, 3 SMs: a round of 3 tiles, and 8 steps for 3 units
 *
 *      without                               with                                 the line of steps
 *      SM 0 | tile 0  | tile 3  |            SM 0 | 0 0   | tile 2  |             |   tile 0   |   tile 1   |
 *      SM 1 | tile 1  | tile 4  |            SM 1 | 0 0 1 | tile 3  |             | 0  1  2  3 | 0  1  2  3 |
 *      SM 2 | tile 2  |  idle   |            SM 2 | 1 1 1 | tile 4  |             |unit 0|unit 1  |unit 2   |
 *      8 steps                               7 steps, and two tiles to add up
 *
 *      workspace: 64 KiB of counters, one for each stream-K tile; then sums of BM x BN elements. A unit's part of a
 * tile has the number unit + tile, which counts up along the line, so no two share a place.
 *
 * The main loop is that of warptile (collective/warp_product.h), and so are the parameters:
 *
 *   name      tuned    meaning
 *   BM, BN    64 128   tile of D; smaller ones for few rows
 *   BK        16       step along K
 *   WM, WN    64 32    tile of a warp
 *   TM, TN    8 8      elements of D that a thread makes
 *   STAGES    3 4      buffers in shared memory
 *   BAND      16       rows of tiles in a band
 *   CTAS      3 4      CTAs that an SM holds; the config says so too, since the partition depends on it
 *   ALIGNED   0 1      1: 16-byte copies where rows are contiguous, 16-byte stores of D
 *   shared    STAGES * BK * (BM + BN + 8) * 4 + 16 bytes
 * schedule.stream_k_units units (src/plan/schedules.c) share the first tiles; each further CTA has a whole one.
 *
 * Assumes: as warptile. All problems of a batch lie on one line. The stream-K steps are fewer than 2^32.
 *
 * Bound by: as warptile; beside that, a cut costs writing and reading BM x BN sums and the filling of the pipeline.
 *
 * Measured on an H200, 2026-11-21: 2176 x 2048 x 2048 in 390 us instead of 469 uncut (cuBLAS 475), 16 x 4096 x 4096 in
 * 34 us (79), 64 x 4096 x 14336 in 172 us (173). */
#include "collective/raster.h"
#include "collective/units.h"
#include "collective/warp_product.h"

enum {
    QUADS = TM * TN / 4,
    HALF = QUADS / 2,
    TILE = BM * BN, /* elements */
    /* Parts of which half the quads are on their way together: as registers allow. */
    AT_ONCE = (CTAS * THREADS <= 256 ? 32 : 8) / HALF
};

/* Leaves the sums of a piece in the workspace, and comes back with 1 in the CTA that is the last to do so. */
TSR_DEVICE int hand_over(float *partial, unsigned *counter, unsigned count, unsigned *word, int thread,
                         elem sum[TM][TN])
{
    TSR_UNROLL
    for (int q = 0; q < QUADS; q++) {
        tsr_f32x4 quad;
        TSR_UNROLL
        for (int j = 0; j < 4; j++)
            tsr_lane(quad, j) = sum[q / (TN / 4)][q % (TN / 4) * 4 + j];
        tsr_store_f32x4(partial + (q * THREADS + thread) * 4, quad);
    }
    return unit_is_last(counter, count, word, thread);
}

/* Adds half the quads of `pieces` pieces, a constant. All loads are on their way together. */
TSR_DEVICE void add_pieces(const float *from, int pieces, int half, elem sum[TM][TN])
{
    tsr_f32x4 quad[AT_ONCE][HALF];
    TSR_UNROLL
    for (int s = 0; s < pieces; s++)
        TSR_UNROLL
    for (int q = 0; q < HALF; q++)
        quad[s][q] = tsr_load_f32x4(from + s * TILE + (half + q) * THREADS * 4);
    TSR_UNROLL
    for (int s = 0; s < pieces; s++)
        TSR_UNROLL
    for (int q = 0; q < HALF; q++)
        TSR_UNROLL
    for (int j = 0; j < 4; j++)
        sum[(half + q) / (TN / 4)][(half + q) % (TN / 4) * 4 + j] += tsr_lane(quad[s][q], j);
}

/* The sums of all pieces of a tile, ours too, in the order of K. */
TSR_DEVICE void add_up(const float *partials, unsigned count, int thread, elem sum[TM][TN])
{
    TSR_UNROLL
    for (int half = 0; half < QUADS; half += HALF) {
        TSR_UNROLL
        for (int q = half; q < half + HALF; q++) {
            TSR_UNROLL
            for (int j = 0; j < 4; j++)
                sum[q / (TN / 4)][q % (TN / 4) * 4 + j] = 0;
        }
        const float *from = partials + thread * 4;
        unsigned s = 0;
        TSR_ROLLED
        for (; s + AT_ONCE <= count; s += AT_ONCE, from += AT_ONCE * TILE)
            add_pieces(from, AT_ONCE, half, sum);
        TSR_ROLLED
        for (; s < count; s++, from += TILE)
            add_pieces(from, 1, half, sum);
    }
}

TSR_KERNEL_CTAS(THREADS, CTAS)
{
    elem *const shared = (elem *)TSR_SHARED;
    unsigned *const word = (unsigned *)(void *)(shared + STAGES * STAGE);
    const int thread = (int)threadIdx.x, thread_m = warp_product_row(thread), thread_n = warp_product_col(thread);
    const unsigned tiles_m = (unsigned)((args.m + BM - 1) / BM), tiles_n = (unsigned)((args.n + BN - 1) / BN);
    const unsigned steps = args.k > 0 ? (unsigned)((args.k + BK - 1) / BK) : 1;
    const int rest = (int)((args.k - 1) % BK) + 1;
    const unsigned units = args.schedule.stream_k_units > 0 ? (unsigned)args.schedule.stream_k_units : 1;
    const unsigned stream_k_tiles = (unsigned)(tiles_m * tiles_n * args.batch) - (gridDim.x - units);
    const unsigned all = stream_k_tiles * steps;

    unsigned index = stream_k_tiles + blockIdx.x - units, first = 0, left = steps;
    if (blockIdx.x < units) {
        const unsigned begin = unit_begin(blockIdx.x, all, units);
        left = unit_begin(blockIdx.x + 1, all, units) - begin;
        index = begin / steps;
        first = begin % steps;
    }
    for (; left > 0; index++, first = 0) {
        const unsigned count = left < steps - first ? left : steps - first;
        left -= count;

        const unsigned z = index / (tiles_m * tiles_n);
        const tile_place place = tile_raster(index % (tiles_m * tiles_n), tiles_m, tiles_n, BAND);
        const long long row0 = (long long)place.m * BM, col0 = (long long)place.n * BN;
        const long long k0 = first == 0 ? 0 : rest + (long long)(first - 1) * BK;
        tile_stream a = tile_stream_open((const elem *)args.a + z * args.batch_a + k0 * (args.trans_a ? args.lda : 1),
                                         args.lda, !args.trans_a, row0, args.m, BM);
        tile_stream b = tile_stream_open((const elem *)args.b + z * args.batch_b + k0 * (args.trans_b ? 1 : args.ldb),
                                         args.ldb, args.trans_b, col0, args.n, BN);
        elem sum[TM][TN];
        warp_product(&a, &b, args.k > 0 ? count : 0, first == 0 ? rest : BK, shared, thread, sum);

        if (count < steps) {
            const unsigned unit0 = unit_of(index * steps, all, units);
            const unsigned parts = unit_of((index + 1) * steps - 1, all, units) - unit0 + 1;
            float *const partials = (float *)(void *)((char *)args.workspace + TSR_WORKSPACE_COUNTER_BYTES) +
                                    (long long)(unit0 + index) * TILE;
            if (!hand_over(partials + (long long)(blockIdx.x - unit0) * TILE, (unsigned *)args.workspace + index, parts,
                           word, thread, sum))
                continue;
            add_up(partials, parts, thread, sum);
        }
        TSR_UNROLL
        for (int i = 0; i < TM; i++) {
            TSR_UNROLL
            for (int j = 0; j < TN; j += 4)
                tile_output_quad(&args, z, row0 + warp_product_row_of(thread_m, i),
                                 col0 + warp_product_col_of(thread_n, j), &sum[i][j], ALIGNED);
        }
    }
}
