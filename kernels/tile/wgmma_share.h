/* Adding up a tile of which each CTA of a cluster has multiplied a part of K. Rows of the tile's longer side are shared
 * out over the ranks. Every CTA leaves its sums in its shared memory, one slice for each rank, and the copy engine
 * sends the slices to their ranks' inboxes, where their bytes count down at an mbarrier: no barrier of the cluster,
 * whose release would be a fence of the whole GPU, and no load that waits for another SM. Each rank then adds its slice
 * over all ranks, in their order, and stores it. For kernels whose tiles are LONG x BN, D's longer side first; `turned`
 * if that side is N; clusters of up to PARTS parts.
 *
 *     CTA 0               CTA 1               in a slice, sums lie as D does, so that four neighbours in D are one
 * load: outbox | - | 1 |    outbox | 0 | - |    lines of the rank's rows of the longer side if turned, else those rows
 * as \            /            lines of BN. Quads of a line are swapped, so that the 32 values that a warp inbox  | 0 |
 * . |    inbox  | . | 1 |    stores at once lie in different banks.
 *
 * All this is code that runs once, at ten cycles an instruction, with the tensor cores idle: what can be known before
 * is found before (tile_share_of), and the rest are few instructions. */
#ifndef TSR_TILE_WGMMA_SHARE_H
#define TSR_TILE_WGMMA_SHARE_H

#include "ptx/bulk.h"
#include "ptx/cluster.h"
#include "ptx/shared.h"
#include "ptx/shared_vector.h"
#include "ptx/vector.h"
#include "tile/wgmma_element.h"

enum {
    LONG_QUADS = LONG == 256   ? 6
                 : LONG == 128 ? 5
                               : 4, /* log2 of LONG / 4 and of BN / 4 */
    SHORT_QUADS = BN == 128  ? 5
                  : BN == 64 ? 4
                  : BN == 32 ? 3
                             : 2,
    INBOX_BYTES = PARTS > 1 ? LONG *BN * 4 : 0 /* a slice of each rank, the own one included */
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

/* What a thread does with its CTA's sums, and what a rank adds up and stores: its rows of the longer side, as lines
 * that are contiguous in D, each of 4 << quads elements. A thread takes the same four elements of every `step`th line.
 */
typedef struct tile_share {
    tile_element *d; /* the thread's first element */
    const tile_element *c;
    long long ldd, ldc;                          /* from one of its lines to the next */
    unsigned leave_at[2], leave_key, line_bytes; /* of the accumulators' two rows */
    unsigned take_at;                            /* the thread's four elements of rank 0's slice in the inbox */
    unsigned slice_bytes;
    int first, lines, step; /* its first line, lines that D has */
    int left;               /* elements from its first one to the end of the line in D */
    int item;               /* its first four among all of the slice */
    int is_plain;           /* D takes four elements at once, and nothing is added */
    float alpha, beta;
} tile_share;

/* Rank `rank` of `size` CTAs with an outbox and an inbox; the tile begins at `short_at` and `long_at` and has
 * `rows_short` of BN. `thread` of `threads`; `row` and `column` are those of its first accumulator. */
TSR_DEVICE tile_share tile_share_of(const tsr_gemm_args *args, unsigned outbox, unsigned inbox, int turned,
                                    int short_at, int rows_short, int long_at, int z, unsigned rank, unsigned size,
                                    int thread, int threads, int row, int column)
{
    const int halvings = tile_log2(size), rows = LONG >> halvings, first = (int)rank * rows;
    const long long m = turned ? short_at : long_at + first;
    const long long n = turned ? long_at + first : short_at;
    const long long rows_left = args->m - m, columns_left = args->n - n;
    const int most_lines = turned ? rows_short : rows, width = turned ? rows : rows_short;
    const int quads = turned ? LONG_QUADS - halvings : SHORT_QUADS, mask = (1 << quads) - 1;
    tile_share mine;
    mine.slice_bytes = tile_slice_bytes(size);
    mine.line_bytes = 16u << quads;
    TSR_UNROLL
    for (int h = 0; h < 2; h++) {
        const int of = (row + 8 * h) >> (LONG_QUADS + 2 - halvings), in_slice = (row + 8 * h) & (rows - 1);
        const unsigned slice = ((unsigned)of == rank ? inbox : outbox) + (unsigned)of * mine.slice_bytes;
        const int quad = (in_slice >> 2) ^ (column & mask); /* turned: the key is column / 2 */
        mine.leave_at[h] =
            slice + (turned ? (unsigned)column * mine.line_bytes + (unsigned)quad * 16 + (unsigned)(in_slice & 3) * 4
                            : (unsigned)in_slice * mine.line_bytes + (unsigned)(column & 6) * 4);
    }
    mine.leave_key = (unsigned)(2 * (row & 3) & mask) * 16;

    const int line = thread >> quads, quad = thread & mask, key = 2 * ((turned ? line >> 1 : line) & 3);
    mine.item = thread;
    mine.take_at = inbox + (unsigned)line * mine.line_bytes + (unsigned)(quad ^ (key & mask)) * 16;
    mine.first = line;
    mine.step = threads >> quads;
    mine.lines = columns_left <= 0 ? 0 : rows_left < most_lines ? (int)rows_left : most_lines;
    mine.left = (columns_left < width ? (int)columns_left : width) - 4 * quad;
    mine.d = (tile_element *)args->d + z * args->batch_d + (m + line) * args->ldd + n + 4 * quad;
    mine.c = (const tile_element *)args->c + z * args->batch_c + (m + line) * args->ldc + n + 4 * quad;
    mine.ldd = mine.step * args->ldd;
    mine.ldc = mine.step * args->ldc;
    mine.alpha = tile_alpha(args);
    mine.beta = (float)args->beta;
    mine.is_plain = ((unsigned long long)args->d | (unsigned long long)args->ldd * OUT_BYTES |
                     (unsigned long long)args->batch_d * OUT_BYTES) %
                            (4 * OUT_BYTES) ==
                        0 &&
                    mine.left >= 4 && mine.beta == 0;
    return mine;
}

/* A thread's accumulators to the outbox, or the inbox where they are the own rank's. */
TSR_DEVICE void tile_share_leave(const tile_share *mine, int turned, const float *sum)
{
    TSR_UNROLL
    for (int h = 0; h < 2; h++) {
        unsigned at = mine->leave_at[h];
        TSR_UNROLL
        for (int j = 0; j < BN / 8; j++) {
            const float low = sum[4 * j + 2 * h], high = sum[4 * j + 2 * h + 1];
            if (turned) {
                tsr_shared_store_f32(at, low);
                tsr_shared_store_f32(at + mine->line_bytes, high);
                at += 8 * mine->line_bytes;
            } else {
                tsr_shared_store_f32x2(at + ((unsigned)(32 * j) ^ mine->leave_key), low, high);
            }
        }
    }
}

/* One thread sends the slices of all other ranks to their inboxes. Rank r of the cluster's CTAs is `cta` + r * `step`;
 * `bar` counts an inbox's bytes. */
TSR_DEVICE void tile_share_send(unsigned outbox, unsigned inbox, unsigned bar, unsigned rank, unsigned size,
                                unsigned cta, unsigned step)
{
    const unsigned bytes = tile_slice_bytes(size);
    for (unsigned i = 1; i < size; i++) {
        const unsigned to = (rank + i) & (size - 1), there = cta + to * step;
        tsr_bulk_send(tsr_cluster_map(inbox + rank * bytes, there), outbox + to * bytes, bytes,
                      tsr_cluster_map(bar, there));
    }
}

/* A warp group's sums of part `index` to the workspace, for a launch that adds all parts: 16 bytes of each lane side by
 * side, for each 8 columns, and the same of all parts next to each other. `group` counts the groups of all tiles. */
TSR_DEVICE void tile_leave_to_next(const tsr_gemm_args *args, unsigned group, int rows_short, int index,
                                   const float *sum)
{
    enum { BLOCK = 128 }; /* floats of a warp's 8 columns */
    const unsigned eights = (unsigned)rows_short / 8, block = group * eights * 4 + threadIdx.x / 32 % 4;
    float *to = (float *)((char *)args->workspace + TSR_WORKSPACE_COUNTER_BYTES) +
                ((long long)block * args->split + index) * BLOCK + 4 * (threadIdx.x % 32);
    TSR_UNROLL
    for (int i = 0; i < BN / 8; i++) {
        if (i >= (int)eights)
            break;
        tsr_f32x4 four = {0, 0, 0, 0};
        TSR_UNROLL
        for (int j = 0; j < 4; j++)
            tsr_lane(four, j) = sum[4 * i + j];
        tsr_store_f32x4(to, four);
        to += 4 * BLOCK * args->split;
    }
}

/* The thread's four elements of its `i`th line, added over `size` ranks in their order. */
TSR_DEVICE void tile_share_add(const tile_share *mine, unsigned i, unsigned threads, unsigned size, float total[4])
{
    const unsigned at = mine->take_at + i * threads * 16;
    tsr_shared_load_f32x4(at, total);
    for (unsigned rank = 1; rank < size; rank++) {
        float more[4];
        tsr_shared_load_f32x4(at + rank * mine->slice_bytes, more);
        TSR_UNROLL
        for (int j = 0; j < 4; j++)
            total[j] += more[j];
    }
}

/* Four neighbours of the thread's `i`th line, or as many of them as D has. */
TSR_DEVICE void tile_share_store(const tile_share *mine, long long i, const float total[4])
{
    tile_element *d = mine->d + i * mine->ldd;
    float value[4];
    TSR_UNROLL
    for (int j = 0; j < 4; j++)
        value[j] = tsr_mul_f32(mine->alpha, total[j]);
    if (mine->is_plain) {
        tile_store_four(d, value);
        return;
    }
    if (mine->beta != 0) {
        const tile_element *c = mine->c + i * mine->ldc;
        TSR_UNROLL
        for (int j = 0; j < 4; j++)
            if (j < mine->left)
                value[j] = tsr_fma_f32(mine->beta, tile_widen(c[j]), value[j]);
    }
    TSR_UNROLL
    for (int j = 0; j < 4; j++)
        if (j < mine->left)
            d[j] = tile_narrow(value[j]);
}

#endif
