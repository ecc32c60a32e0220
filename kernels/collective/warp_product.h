/* The main loop of the FP32 kernels above double-buffered: a CTA multiplies BM rows of op(A) by BN columns of op(B)
 * along part of K, and leaves the sums in registers. See warptile.cu for the picture and for what the constants mean.
 *
 * One step of k is TM x TN multiply-adds. Their order decides what the register file must deliver: it has two banks
 * (even and odd registers), each gives one operand a cycle, and a multiply-add needs three. So one of them must be the
 * operand that the instruction before had in the same place, which then comes from the reuse cache. Walking the outer
 * product like an ox that ploughs, each multiply-add keeps either its a or its b:
 *
 *            b0  b1  b2  b3
 *      a0     0 > 1 > 2 > 3
 *                         v          by rows from the left, every turn reads a new a and a new b: for rows of 8 that
 *      a1     7 < 6 < 5 < 4          is 17 operands where 16 can be read
 *             v
 *      a2     8 > 9 ...                                                                                              */
#ifndef TSR_COLLECTIVE_WARP_PRODUCT_H
#define TSR_COLLECTIVE_WARP_PRODUCT_H

#include "ptx/async_copy.h"
#include "ptx/barrier.h"
#include "tile/async_tile.h"
#include "tile/fragment.h"

enum {
    WARPS_N = BN / WN,
    THREADS = (BM / WM) * WARPS_N * 32,
    LANES_M = WM / TM, /* a warp's lanes down and across its tile */
    LANES_N = WN / TN,
    PITCH_A = BM + 4,
    PITCH_B = BN + 4,
    STAGE = BK * (PITCH_A + PITCH_B), /* elements */
    LAST_STAGE = (STAGES - 1) * STAGE,
    WIDTH = ALIGNED ? 4 : 1
};

/* Where in the CTA's tile a thread's first quad of sums lies; the others are 4 * LANES_M rows and 4 * LANES_N columns
 * apart. Neighbouring lanes (0 and 1) share rows, and lanes 0 and 2 columns. */
TSR_DEVICE int warp_product_row(int thread)
{
    const int warp = thread / 32, lane = thread % 32;
    return warp / WARPS_N * WM + 4 * ((lane >> 1 & 1) | (lane >> 2) / (LANES_N / 2) << 1);
}
TSR_DEVICE int warp_product_col(int thread)
{
    const int warp = thread / 32, lane = thread % 32;
    return warp % WARPS_N * WN + 4 * ((lane & 1) | (lane >> 2) % (LANES_N / 2) << 1);
}

/* Row of sum[i] in the CTA's tile, and column of the quad at sum[][j]. */
#define warp_product_row_of(first, i) ((first) + (i) / 4 * (4 * LANES_M) + (i) % 4)
#define warp_product_col_of(first, j) ((first) + (j) / 4 * (4 * LANES_N))

/* sum = `steps` steps of BK along K, the first of which is `first_depth` long; a and b begin there. When it returns,
 * nobody reads `shared` any more. */
TSR_DEVICE void warp_product(tile_stream *a, tile_stream *b, unsigned steps, int first_depth, elem *shared, int thread,
                             elem sum[TM][TN])
{
    const int thread_m = warp_product_row(thread), thread_n = warp_product_col(thread);

    /* Fill all stages but one. The first step takes what K leaves over a multiple of BK, so that all others are whole.
     * A stage without a step is an empty group: waiting counts groups. */
    for (unsigned s = 0; s < STAGES - 1; s++) {
        elem *const to = shared + s * STAGE;
        if (s == 0 && steps > 0 && first_depth < BK) {
            tile_copy_part(a, to, BM, BK, PITCH_A, THREADS, thread, first_depth);
            tile_copy_part(b, to + BK * PITCH_A, BN, BK, PITCH_B, THREADS, thread, first_depth);
        } else if (s < steps) {
            tile_copy_cut(a, to, BM, BK, PITCH_A, THREADS, thread, WIDTH);
            tile_copy_cut(b, to + BK * PITCH_A, BN, BK, PITCH_B, THREADS, thread, WIDTH);
        }
        tsr_copy_commit();
    }
    tsr_copy_wait(STAGES - 2);
    tsr_barrier();

    TSR_UNROLL
    for (int i = 0; i < TM; i++) {
        TSR_UNROLL
        for (int j = 0; j < TN; j++)
            sum[i][j] = 0;
    }

    int stage = 0; /* where the tile in use lies */
    const elem *from_a = shared + thread_m, *from_b = shared + BK * PITCH_A + thread_n;
    elem fa[2][TM], fb[2][TN];
    if (steps > 0) {
        tile_fragment(fa[0], from_a, TM, 4 * LANES_M);
        tile_fragment(fb[0], from_b, TN, 4 * LANES_N);
    }
    for (unsigned t = 0; t < steps; t++) {
        TSR_UNROLL
        for (int k = 0; k < BK; k++) {
            if (k == BK - 1) {
                tsr_copy_wait(STAGES - 2);
                tsr_barrier();
                stage = stage == LAST_STAGE ? 0 : stage + STAGE;
                from_a = shared + stage + thread_m;
                from_b = shared + stage + BK * PITCH_A + thread_n;
            }
            if (k < BK - 1 || t + 1 < steps) {
                tile_fragment(fa[(k + 1) % 2], from_a + (k + 1) % BK * PITCH_A, TM, 4 * LANES_M);
                tile_fragment(fb[(k + 1) % 2], from_b + (k + 1) % BK * PITCH_B, TN, 4 * LANES_N);
            }
            if (k == 0) {
                if (t + STAGES - 1 < steps) {
                    elem *const to = shared + (stage == 0 ? LAST_STAGE : stage - STAGE);
                    tile_copy_cut(a, to, BM, BK, PITCH_A, THREADS, thread, WIDTH);
                    tile_copy_cut(b, to + BK * PITCH_A, BN, BK, PITCH_B, THREADS, thread, WIDTH);
                }
                tsr_copy_commit();
            }
            TSR_UNROLL
            for (int u = 0; u < TM * TN; u++) {
                const int i = u / TN, j = i % 2 ? TN - 1 - u % TN : u % TN;
                sum[i][j] = tsr_fma(fa[k % 2][i], fb[k % 2][j], sum[i][j]);
            }
        }
    }
}

#endif
