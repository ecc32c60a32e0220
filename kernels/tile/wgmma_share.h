/* Adding up a tile of which each CTA of a cluster has multiplied a part of K. Rows of the tile's longer side are shared
 * out over the ranks. Every CTA leaves its sums in its shared memory, one slice for each rank, and the copy engine sends
 * the slices to their ranks' inboxes, where their bytes count down at an mbarrier: no barrier of the cluster, whose
 * release would be a fence of the whole GPU, and no load that waits for another SM. Each rank then adds its slice over
 * all ranks, in their order, and stores it. For kernels whose tiles are LONG x BN, D's longer side first; `turned` if
 * that side is N; clusters of up to PARTS parts.
 *
 *     CTA 0        CTA 1                       in a slice, sums lie as D does, so that four neighbours in D are one
 *     | 0 | 1 |    | 0 | 1 |   outboxes        load: lines of the rank's rows of the longer side if turned, else those
 *        own  \   /   own                      rows as lines of BN. Quads of a line are swapped, so that
 *     | 1's 0 |    | 0's 1 |   inboxes         the 32 values that a warp stores at once lie in different banks.
 */
#ifndef TSR_TILE_WGMMA_SHARE_H
#define TSR_TILE_WGMMA_SHARE_H

#include "ptx/bulk.h"
#include "ptx/cluster.h"
#include "ptx/shared.h"
#include "ptx/shared_vector.h"
#include "tile/wgmma_element.h"

enum {
    LONG_QUADS = LONG == 256 ? 6 : LONG == 128 ? 5 : 4, /* log2 of LONG / 4 and of BN / 4 */
    SHORT_QUADS = BN == 128  ? 5
                  : BN == 64 ? 4
                  : BN == 32 ? 3
                             : 2,
    INBOX_BYTES = (PARTS - 1) * (LONG / PARTS) * BN * 4
};

TSR_DEVICE int tile_log2(unsigned size)
{
    return size >= 8 ? 3 : size >= 4 ? 2 : size >= 2 ? 1 : 0;
}

/* Of one of `size` ranks. */
TSR_DEVICE unsigned tile_slice_bytes(unsigned size)
{
    return (unsigned)(LONG * BN * 4) >> tile_log2(size);
}

/* Where the quad that begins at element `at` of a line lies in a slice, in bytes, with `quads` (log2) in a line. */
TSR_DEVICE unsigned tile_quad_at(int turned, int line, int at, int quads)
{
    const int key = (turned ? line >> 1 : line) & 3;
    return (unsigned)((line << quads) + ((at >> 2) ^ ((2 * key) & ((1 << quads) - 1)))) * 16;
}

/* A thread's accumulators to the outbox at `shared`; `row` and `column` are those of its first one. */
TSR_DEVICE void tile_share_leave(unsigned shared, int turned, unsigned size, int row, int column, const float *sum)
{
    const int row_quads = LONG_QUADS - tile_log2(size); /* log2 */
    TSR_UNROLL
    for (int h = 0; h < 2; h++) {
        const int rank = (row + 8 * h) >> (row_quads + 2), line = (row + 8 * h) & ((4 << row_quads) - 1);
        const unsigned slice = shared + (unsigned)rank * tile_slice_bytes(size);
        TSR_UNROLL
        for (int j = 0; j < BN / 8; j++) {
            const int at = 8 * j + column;
            const float low = sum[4 * j + 2 * h], high = sum[4 * j + 2 * h + 1];
            if (turned) {
                tsr_shared_store_f32(slice + tile_quad_at(1, at, line, row_quads) + (unsigned)(line & 3) * 4, low);
                tsr_shared_store_f32(slice + tile_quad_at(1, at + 1, line, row_quads) + (unsigned)(line & 3) * 4, high);
            } else {
                tsr_shared_store_f32x2(slice + tile_quad_at(0, line, at, SHORT_QUADS) + (unsigned)(at & 2) * 4, low,
                                       high);
            }
        }
    }
}

/* What a rank adds up and stores: its rows of the longer side, as lines that are contiguous in D, each of 4 << quads
 * elements. Of them D has `lines` lines and `left` elements of each. */
typedef struct tile_share {
    tile_element *d;
    const tile_element *c;
    long long ldd, ldc;
    unsigned own, inbox, slice_bytes; /* shared addresses; bytes */
    int turned;
    unsigned rank, size;
    int quads, lines, left;
    int by_four; /* D's alignment allows four elements at once */
    float alpha, beta;
} tile_share;

/* Rank `rank` of `size` CTAs, with its outbox at `shared`; the tile begins at `short_at` and `long_at`. */
TSR_DEVICE tile_share tile_share_of(const tsr_gemm_args *args, unsigned shared, unsigned inbox, int turned,
                                    int short_at, int long_at, int z, unsigned rank, unsigned size)
{
    const int halvings = tile_log2(size), rows = LONG >> halvings, first = (int)rank * rows;
    const long long m = turned ? short_at : long_at + first;
    const long long n = turned ? long_at + first : short_at;
    const long long rows_left = args->m - m, columns_left = args->n - n;
    const int most_lines = turned ? BN : rows, width = turned ? rows : BN;
    tile_share mine;
    mine.d = (tile_element *)args->d + z * args->batch_d + m * args->ldd + n;
    mine.c = (const tile_element *)args->c + z * args->batch_c + m * args->ldc + n;
    mine.ldd = args->ldd;
    mine.ldc = args->ldc;
    mine.slice_bytes = tile_slice_bytes(size);
    mine.turned = turned;
    mine.own = shared + rank * mine.slice_bytes;
    mine.inbox = inbox;
    mine.rank = rank;
    mine.size = size;
    mine.quads = turned ? LONG_QUADS - halvings : SHORT_QUADS;
    mine.lines = columns_left <= 0 ? 0 : rows_left < most_lines ? (int)rows_left : most_lines;
    mine.left = columns_left < width ? (int)columns_left : width;
    mine.by_four = ((unsigned long long)args->d | (unsigned long long)args->ldd * OUT_BYTES |
                    (unsigned long long)args->batch_d * OUT_BYTES) %
                       (4 * OUT_BYTES) ==
                   0;
    mine.alpha = tile_alpha(args);
    mine.beta = (float)args->beta;
    return mine;
}

/* One thread sends the slices of all other ranks to them, each to the place that those before leave: rank q's inbox has
 * no place for q. Rank r of the cluster's CTAs is `cta` + r * `step`; `bar` counts an inbox's bytes. */
TSR_DEVICE void tile_share_send(const tile_share *mine, unsigned shared, unsigned bar, unsigned cta, unsigned step)
{
    for (unsigned i = 1; i < mine->size; i++) {
        const unsigned to = (mine->rank + i) & (mine->size - 1), there = cta + to * step;
        const unsigned place = mine->rank - (mine->rank > to);
        tsr_bulk_send(tsr_cluster_map(mine->inbox + place * mine->slice_bytes, there),
                      shared + to * mine->slice_bytes, mine->slice_bytes, tsr_cluster_map(bar, there));
    }
}

/* Four neighbours at `offset` bytes of the slice, added over `size` ranks in their order. `size` is a constant. */
TSR_DEVICE void tile_add_ranks(const tile_share *mine, unsigned offset, unsigned size, float total[4])
{
    float value[8][4];
    TSR_UNROLL
    for (unsigned rank = 0; rank < size; rank++) {
        const unsigned place = mine->inbox + (rank - (rank > mine->rank)) * mine->slice_bytes;
        tsr_shared_load_f32x4((rank == mine->rank ? mine->own : place) + offset, value[rank]);
    }
    TSR_UNROLL
    for (int i = 0; i < 4; i++) {
        total[i] = value[0][i];
        TSR_UNROLL
        for (unsigned rank = 1; rank < size; rank++)
            total[i] += value[rank][i];
    }
}

/* The same for any of the sizes that clusters may have. */
TSR_DEVICE void tile_share_add(const tile_share *mine, int line, int at, float total[4])
{
    const unsigned offset = tile_quad_at(mine->turned, line, at, mine->quads);
    if (mine->size == 8)
        tile_add_ranks(mine, offset, 8, total);
    else if (mine->size == 4)
        tile_add_ranks(mine, offset, 4, total);
    else if (mine->size == 2)
        tile_add_ranks(mine, offset, 2, total);
    else
        tile_add_ranks(mine, offset, 1, total);
}

/* Four neighbours of a line, or as many of them as D has. */
TSR_DEVICE void tile_share_store(const tile_share *mine, int line, int at, const float total[4])
{
    const int count = mine->left - at;
    tile_element *d = mine->d + line * mine->ldd + at;
    float value[4];
    TSR_UNROLL
    for (int i = 0; i < 4; i++)
        value[i] = tsr_mul_f32(mine->alpha, total[i]);
    if (mine->beta != 0) {
        const tile_element *c = mine->c + line * mine->ldc + at;
        TSR_UNROLL
        for (int i = 0; i < 4; i++)
            if (i < count)
                value[i] = tsr_fma_f32(mine->beta, tile_widen(c[i]), value[i]);
    }
    if (mine->by_four && count >= 4) {
        tile_store_four(d, value);
    } else {
        TSR_UNROLL
        for (int i = 0; i < 4; i++)
            if (i < count)
                d[i] = tile_narrow(value[i]);
    }
}

#endif
