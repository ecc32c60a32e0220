#include "ptx/atomic.h"
#include "tile/raster.h"
#include "tile/warp_product.h"

enum { QUADS = TM * TN / 4, TILE = BM * BN /* elements */ };

/* How the steps of the dealt tiles lie on the units: unit u makes steps u * all / units to (u + 1) * all / units. */
TSR_DEVICE unsigned unit_begin(unsigned unit, unsigned all, unsigned units)
{
    return (unsigned)((unsigned long long)unit * all / units);
}

/* The unit that makes this step. */
TSR_DEVICE unsigned unit_of(unsigned step, unsigned all, unsigned units)
{
    return (unsigned)((((unsigned long long)step + 1) * units - 1) / all);
}

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
    tsr_barrier();
    if (thread == 0) {
        *word = tsr_add_acquire_release(counter, 1);
        if (*word == count - 1)
            tsr_store_release(counter, 0);
    }
    tsr_barrier();
    return *word == count - 1;
}

/* The sums of all pieces of a tile, ours too, in the order of K. Half the loads of a piece are on their way together. */
TSR_DEVICE void add_up(const float *partials, unsigned count, int thread, elem sum[TM][TN])
{
    TSR_UNROLL
    for (int half = 0; half < QUADS; half += QUADS / 2) {
        TSR_UNROLL
        for (int q = half; q < half + QUADS / 2; q++) {
            TSR_UNROLL
            for (int j = 0; j < 4; j++)
                sum[q / (TN / 4)][q % (TN / 4) * 4 + j] = 0;
        }
        const float *from = partials + thread * 4;
        TSR_ROLLED
        for (unsigned s = 0; s < count; s++) {
            TSR_UNROLL
            for (int q = half; q < half + QUADS / 2; q++) {
                const tsr_f32x4 quad = tsr_load_f32x4(from + q * THREADS * 4);
                TSR_UNROLL
                for (int j = 0; j < 4; j++)
                    sum[q / (TN / 4)][q % (TN / 4) * 4 + j] += tsr_lane(quad, j);
            }
            from += TILE;
        }
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
    const unsigned units = (unsigned)args.split;
    const unsigned dealt = (unsigned)(tiles_m * tiles_n * args.batch) - (gridDim.x - units);
    const unsigned all = dealt * steps;

    unsigned index = dealt + blockIdx.x - units, first = 0, left = steps;
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
        tile_stream a =
            tile_stream_open((const elem *)args.a + z * args.batch_a + k0 * (args.trans_a ? args.lda : 1), args.lda,
                             !args.trans_a, row0, args.m, BM);
        tile_stream b =
            tile_stream_open((const elem *)args.b + z * args.batch_b + k0 * (args.trans_b ? 1 : args.ldb), args.ldb,
                             args.trans_b, col0, args.n, BN);
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
