/* Adding up a tile of which each CTA of a cluster has multiplied a part of K: every CTA leaves its sums in its shared
 * memory, all meet, and each adds a share of the rows over all ranks, in their order, and stores it. For kernels whose
 * tiles are LONG x BN, D's longer side first; `turned` if that side is N.
 *
 * The sums lie as D does, so that four neighbours in D are one load: BN lines of LONG if turned, else the other way
 * round; lines begin in different banks. */
#ifndef TSR_TILE_WGMMA_SHARE_H
#define TSR_TILE_WGMMA_SHARE_H

#include "ptx/cluster.h"
#include "ptx/shared.h"
#include "tile/wgmma_element.h"

enum {
    PITCH_TURNED = LONG + 4, /* floats from line to line */
    PITCH = BN + 4,
    LONG_QUADS = LONG == 128 ? 5 : 4, /* log2 of LONG / 4 and of BN / 4 */
    SHORT_QUADS = BN == 128  ? 5
                  : BN == 64 ? 4
                  : BN == 32 ? 3
                             : 2
};

TSR_DEVICE int tile_log2(unsigned size)
{
    return size >= 8 ? 3 : size >= 4 ? 2 : size >= 2 ? 1 : 0;
}

/* A thread's accumulators to shared memory; `row` and `column` are those of its first one. */
TSR_DEVICE void tile_share_leave(unsigned shared, int turned, int row, int column, const float *sum)
{
    TSR_UNROLL
    for (int j = 0; j < BN / 8; j++)
        TSR_UNROLL
    for (int h = 0; h < 2; h++) {
        const float low = sum[4 * j + 2 * h], high = sum[4 * j + 2 * h + 1];
        if (turned) {
            const unsigned at = shared + (unsigned)((8 * j + column) * PITCH_TURNED + row + 8 * h) * 4;
            tsr_shared_store_f32(at, low);
            tsr_shared_store_f32(at + PITCH_TURNED * 4, high);
        } else {
            tsr_shared_store_f32x2(shared + (unsigned)((row + 8 * h) * PITCH + 8 * j + column) * 4, low, high);
        }
    }
}

/* Four neighbours, added over the ranks of the cluster in their order. `size` is a constant. */
TSR_DEVICE void tile_add_ranks(unsigned address, int size, float total[4])
{
    float value[8][4];
    TSR_UNROLL
    for (int rank = 0; rank < size; rank++)
        tsr_cluster_load_f32x4(tsr_cluster_map(address, (unsigned)rank), value[rank]);
    TSR_UNROLL
    for (int i = 0; i < 4; i++) {
        total[i] = value[0][i];
        TSR_UNROLL
        for (int rank = 1; rank < size; rank++)
            total[i] += value[rank][i];
    }
}

/* The same for any of the sizes that clusters may have. */
TSR_DEVICE void tile_share_add(unsigned address, unsigned size, float total[4])
{
    if (size == 8)
        tile_add_ranks(address, 8, total);
    else if (size == 4)
        tile_add_ranks(address, 4, total);
    else if (size == 2)
        tile_add_ranks(address, 2, total);
    else
        tile_add_ranks(address, 1, total);
}

/* What a rank adds up and stores: its share of the tile's rows of the long side, as lines that are contiguous in D,
 * each of 4 << quads elements. Of them D has `lines` lines and `left` elements of each. */
typedef struct tile_share {
    tile_element *d;
    const tile_element *c;
    long long ldd, ldc;
    unsigned sums, pitch; /* shared memory: address, floats from line to line */
    int quads, lines, left;
    int by_four; /* D's alignment allows four elements at once */
    float alpha, beta;
} tile_share;

/* Rank `rank` of `size` CTAs whose sums lie at `shared`; the tile begins at `short_at` and `long_at`. */
TSR_DEVICE tile_share tile_share_of(const tsr_gemm_args *args, unsigned shared, int turned, int short_at, int long_at,
                                    int z, unsigned rank, unsigned size)
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
    mine.pitch = turned ? PITCH_TURNED : PITCH;
    mine.sums = shared + (unsigned)(turned ? first : first * PITCH) * 4;
    mine.quads = turned ? LONG_QUADS - halvings : SHORT_QUADS;
    mine.lines = rows_left < most_lines ? (int)rows_left : most_lines;
    mine.left = columns_left < width ? (int)columns_left : width;
    mine.by_four = ((unsigned long long)args->d | (unsigned long long)args->ldd * OUT_BYTES |
                    (unsigned long long)args->batch_d * OUT_BYTES) %
                       (4 * OUT_BYTES) ==
                   0;
    mine.alpha = tile_alpha(args);
    mine.beta = (float)args->beta;
    return mine;
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
