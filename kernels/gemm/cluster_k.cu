/* cluster-k: D = alpha * op(A) * op(B) + beta * C for problems with few tiles, whose parts of K are added on the chip.
 *
 * New against stream-k: a tile is made by a cluster of CTAs, each of which multiplies its part of K; then they meet,
 * and each adds its share of the tile from the shared memory of all. No workspace, no counter, no fence: stream-k's
 * sums go to L2 and back, which costs 6 us, as much as all of a small product. But every tile is cut alike.
 *
 *      cluster of 3, 10 steps                                     share of the tile that rank r adds and stores
 *      rank 0 | steps 0 1 2   | sums -> own shared memory |       +-----------+
 *      rank 1 | steps 3 4 5   | sums -> own shared memory | meet  | rank 0    |  = its quads of ranks 0, 1, 2,
 *      rank 2 | steps 6 7 8 9 | sums -> own shared memory |       | rank 1    |    in this order: the order of K
 *                                                                 | rank 2    |
 *                                                                 +-----------+
 *
 * The main loop is that of warptile (collective/warp_product.h), and so are the parameters:
 *
 *   name      tuned      meaning
 *   BM, BN    64 64      tile of D; others for few rows
 *   BK        16         step along K
 *   WM, WN    64 32      tile of a warp
 *   TM, TN    8 8        elements of D that a thread makes
 *   STAGES    4          buffers in shared memory
 *   BAND      16         rows of tiles in a band
 *   CTAS      4          CTAs that an SM holds; the row says so too, since the cluster's size depends on it
 *   ALIGNED   0 1        1: 16-byte copies where rows are contiguous, 16-byte stores of D
 *   shared    STAGES * BK * (BM + BN + 8) * 4 bytes, then BM * (BN + 4) sums in the same place
 * A cluster has schedule.cluster_k CTAs, 1 to 8 (src/plan/schedules.c); the grid is all tiles of the batch x cluster_k.
 *
 * Assumes: as warptile, and sm_90.
 *
 * Bound by: as warptile; beside that, by the launch, the filling of the pipeline and the meeting.
 *
 * Measured on an H200, 2026-11-22: 333 x 777 x 555 in 16.7 us (stream-k 22.1, cuBLAS 17.0), 256 x 256 x 256 in 6.5 us
 * (14.6, 10.2), 16 x 4096 x 4096 in 27.6 us (33.3, 80.8). */
#include "ptx/cluster.h"
#include "ptx/grid.h"

#include "collective/raster.h"
#include "collective/warp_product.h"

enum {
    MOST_PARTS = 8,
    SHORT = 16, /* steps along K of a CTA */
    PITCH_SUMS = BN + 4,
    QUADS = BM * BN / 4 /* of the tile */
};

TSR_DEVICE void leave_sums(float *sums, int thread, elem sum[TM][TN])
{
    const int row = warp_product_row(thread), col = warp_product_col(thread);
    TSR_UNROLL
    for (int i = 0; i < TM; i++) {
        TSR_UNROLL
        for (int j = 0; j < TN; j += 4) {
            tsr_f32x4 quad;
            TSR_UNROLL
            for (int e = 0; e < 4; e++)
                tsr_lane(quad, e) = sum[i][j + e];
            tsr_store_f32x4(sums + warp_product_row_of(row, i) * PITCH_SUMS + warp_product_col_of(col, j), quad);
        }
    }
}

/* A quad of all parts, in the order of K. All loads are on their way together. */
TSR_DEVICE void add_parts(unsigned address, unsigned parts, float total[4])
{
    float value[MOST_PARTS][4];
    TSR_UNROLL
    for (unsigned rank = 0; rank < MOST_PARTS; rank++)
        if (rank < parts)
            tsr_cluster_load_f32x4(tsr_cluster_map(address, rank), value[rank]);
    TSR_UNROLL
    for (int e = 0; e < 4; e++)
        total[e] = value[0][e];
    TSR_UNROLL
    for (unsigned rank = 1; rank < MOST_PARTS; rank++) {
        TSR_UNROLL
        for (int e = 0; e < 4; e++)
            if (rank < parts)
                total[e] += value[rank][e];
    }
}

TSR_KERNEL_CTAS(THREADS, CTAS)
{
    const int thread = (int)threadIdx.x;
    const unsigned tiles_m = (unsigned)((args.m + BM - 1) / BM), tiles_n = (unsigned)((args.n + BN - 1) / BN);
    const unsigned parts = (unsigned)args.schedule.cluster_k, rank = parts > 1 ? tsr_cluster_rank() : 0;
    const unsigned index = blockIdx.x / parts, z = index / (tiles_m * tiles_n);
    const tile_place place = tile_raster(index % (tiles_m * tiles_n), tiles_m, tiles_n, BAND);
    const long long row0 = (long long)place.m * BM, col0 = (long long)place.n * BN;

    const long long steps = (args.k + BK - 1) / BK;
    const long long first = steps * rank / parts, count = steps * (rank + 1) / parts - first;
    const int rest = (int)((args.k - 1) % BK) + 1;
    const long long k0 = first == 0 ? 0 : rest + (first - 1) * BK;
    tile_stream a = tile_stream_open((const elem *)args.a + z * args.batch_a + k0 * (args.trans_a ? args.lda : 1),
                                     args.lda, !args.trans_a, row0, args.m, BM);
    tile_stream b = tile_stream_open((const elem *)args.b + z * args.batch_b + k0 * (args.trans_b ? 1 : args.ldb),
                                     args.ldb, args.trans_b, col0, args.n, BN);
    tsr_grid_wait();
    elem sum[TM][TN];
    warp_product(&a, &b, (unsigned)count, first == 0 ? rest : BK, (elem *)TSR_SHARED, thread, sum);

    /* The next grid may take places on the SMs: where little is left to do. Elsewhere its clusters would crowd. */
    if (count <= SHORT)
        tsr_grid_launch_dependents();
    if (parts == 1) {
        const int row = warp_product_row(thread), col = warp_product_col(thread);
        TSR_UNROLL
        for (int i = 0; i < TM; i++) {
            TSR_UNROLL
            for (int j = 0; j < TN; j += 4)
                tile_output_quad(&args, z, row0 + warp_product_row_of(row, i), col0 + warp_product_col_of(col, j),
                                 &sum[i][j], ALIGNED);
        }
        return;
    }
    leave_sums((float *)TSR_SHARED, thread, sum);
    tsr_cluster_arrive();
    tsr_cluster_wait();
    const unsigned sums = tsr_shared_address(TSR_SHARED), last = QUADS * (rank + 1) / parts;
    TSR_ROLLED
    for (unsigned q = QUADS * rank / parts + (unsigned)thread; q < last; q += THREADS) {
        const unsigned row = q / (BN / 4), col = q % (BN / 4) * 4;
        float total[4];
        add_parts(sums + (row * PITCH_SUMS + col) * 4, parts, total);
        tile_output_quad(&args, z, row0 + row, col0 + col, total, ALIGNED);
    }
    /* A CTA's shared memory must outlive the others' reads. */
    tsr_cluster_arrive();
    tsr_cluster_wait();
}
