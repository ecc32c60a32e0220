#include "ptx/atomic.h"
#include "tile/raster.h"
#include "tile/warp_product.h"

enum { QUADS = TM * TN / 4, TILE = BM * BN /* elements */ };

/* How the steps of the dealt tiles lie on the units: unit u makes steps u * all / units to (u + 1) * all / units. */
typedef struct deal {
    unsigned long long all; /* steps of all dealt tiles together */
    unsigned steps, units;  /* steps of a tile */
} deal;

TSR_DEVICE unsigned long long deal_begin(const deal *d, unsigned unit)
{
    return unit * d->all / d->units;
}

/* The unit that makes this step. */
TSR_DEVICE unsigned deal_unit(const deal *d, unsigned long long step)
{
    return (unsigned)(((step + 1) * d->units - 1) / d->all);
}

/* The part of a tile that a CTA makes at a time. */
typedef struct piece {
    unsigned tile, first, steps; /* steps `first` to `first` + `steps` - 1 */
} piece;

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

/* The sums of all pieces of a tile, in the order of K; ours are still in registers. */
TSR_DEVICE void add_up(const float *partials, unsigned count, int thread, int q, float total[4])
{
    TSR_UNROLL
    for (int j = 0; j < 4; j++)
        total[j] = 0;
#if !TSR_EMU
#pragma unroll 4
#endif
    for (unsigned s = 0; s < count; s++) {
        const tsr_f32x4 quad = tsr_load_f32x4(partials + (long long)s * TILE + (q * THREADS + thread) * 4);
        TSR_UNROLL
        for (int j = 0; j < 4; j++)
            total[j] += tsr_lane(quad, j);
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
    const deal d = {(unsigned long long)dealt * steps, steps, units};

    unsigned long long now, end;
    if (blockIdx.x < units) {
        now = deal_begin(&d, blockIdx.x);
        end = deal_begin(&d, blockIdx.x + 1);
    } else {
        now = (unsigned long long)(dealt + blockIdx.x - units) * steps;
        end = now + steps;
    }
    while (now < end) {
        const unsigned index = (unsigned)(now / steps), first = (unsigned)(now % steps);
        const unsigned count = end - now < steps - first ? (unsigned)(end - now) : steps - first;
        now += count;

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

        unsigned parts = 1;
        const float *partials = 0;
        if (count < steps) {
            const unsigned unit0 = deal_unit(&d, (unsigned long long)index * steps);
            parts = deal_unit(&d, (unsigned long long)(index + 1) * steps - 1) - unit0 + 1;
            float *const slots =
                (float *)(void *)((char *)args.workspace + TSR_WORKSPACE_COUNTER_BYTES) + (long long)(unit0 + index) * TILE;
            partials = slots;
            if (!hand_over(slots + (long long)(blockIdx.x - unit0) * TILE, (unsigned *)args.workspace + index, parts, word,
                           thread, sum))
                continue;
        }
        TSR_UNROLL
        for (int i = 0; i < TM; i++) {
            TSR_UNROLL
            for (int j = 0; j < TN; j += 4) {
                const int q = (i * TN + j) / 4;
                float total[4];
                if (parts > 1)
                    add_up(partials, parts, thread, q, total);
                else
                    for (int l = 0; l < 4; l++)
                        total[l] = sum[i][j + l];
                tile_output_quad(&args, z, row0 + warp_product_row_of(thread_m, i),
                                 col0 + warp_product_col_of(thread_n, j), total, ALIGNED);
            }
        }
    }
}
