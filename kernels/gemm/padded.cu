/* padded: D = alpha * op(A) * op(B) + beta * C, regtile2d without bank conflicts, by holes in shared memory.
 *
 * New against regtile2d: after each 32 rows of a tile one column of 16 bytes is left empty, and a step of k begins 140
 * elements after the last one instead of 128. Nothing else changes.
 *
 *      bank    0       8       16      24      0           reading b: eight threads, 16 bytes each, at once
 *              |       |       |       |       |
 *   plain      x0 .... x1 .... x2 .... x3 .... x4 ....     x0 and x4, x1 and x5, ... meet in one bank
 *   padded     x0 .... x1 .... x2 .... x3 .... ---- x4     x4 begins in bank 4, x5 in 12: they all miss each other
 *
 *   transposing A: element (row, k) falls into bank 140 * k + row = 12 * k + row (mod 32). The 8 k begin in banks 0,
 * 12, 24, 4, 16, 28, 8, 20: with 4 rows each they fill all 32.
 *
 * Bank conflicts, in wavefronts of one warp: read a 2 and read b 4 for each step of k (was 2 and 8), transpose A 4 and
 * store B 4 for each tile (was 32 and 4). Together 56 instead of 116 for a tile of 128 cycles. A hole of 16 bytes, not
 * of one element as for 4-byte reads, keeps 16-byte reads aligned.
 *
 *   name      value  meaning
 *   BM, BN    128    tile of D
 *   BK        8      step along K
 *   TM, TN    8      block of D that a thread makes; 16 x 16 threads
 *   PITCH     140    elements from k to k + 1: BM + 4 * (BM / 32 - 1)
 *   shared    8960   bytes: As[BK][PITCH_A], Bs[BK][PITCH_B]; 768 more than without holes
 *
 * Assumes: nothing. Any M, N, K, leading dimension, transpose and alignment of the element; offsets are 64-bit.
 *
 * Bound by: waiting for tiles, and instructions: 8 loads of 4 bytes with their checks for each thread and tile.
 *
 * Measured on an H200, 2026-11-21: 34.4 TFLOP/s at 2048, 35.3 at 4096, 69% of cuBLAS. */
#include "ptx/barrier.h"
#include "tile/fragment.h"
#include "tile/load.h"

enum { THREADS_X = BN / TN, THREADS = BM / TM * THREADS_X, PITCH_A = BM + BM / 8 - 4, PITCH_B = BN + BN / 8 - 4 };

/* Where element (row, k) of a tile lies: four elements are left out after each 32 rows. */
TSR_DEVICE int padded(int row, int k, int pitch)
{
    return k * pitch + row + row / 32 * 4;
}

TSR_KERNEL_CTAS(THREADS, 2)
{
    elem *const As = (elem *)TSR_SHARED, *const Bs = As + BK * PITCH_A;

    const unsigned tiles_n = (unsigned)((args.n + BN - 1) / BN);
    const long long row0 = (long long)(blockIdx.x / tiles_n) * BM, col0 = (long long)(blockIdx.x % tiles_n) * BN;
    const int x = (int)threadIdx.x, y = (int)threadIdx.y, thread = y * THREADS_X + x;

    for (long long z = blockIdx.z; z < args.batch; z += gridDim.z) {
        tile_loader a = tile_loader_open((const elem *)args.a + z * args.batch_a, args.lda, !args.trans_a, row0, args.m,
                                         BM, BK, THREADS, thread);
        tile_loader b = tile_loader_open((const elem *)args.b + z * args.batch_b, args.ldb, args.trans_b, col0, args.n,
                                         BN, BK, THREADS, thread);
        elem sum[TM][TN];
        TSR_UNROLL
        for (int i = 0; i < TM; i++) {
            TSR_UNROLL
            for (int j = 0; j < TN; j++)
                sum[i][j] = 0;
        }

        for (long long k0 = 0; k0 < args.k; k0 += BK) {
            const int depth = args.k - k0 < BK ? (int)(args.k - k0) : BK;
            TSR_UNROLL
            for (int i = 0; i < BM * BK / THREADS; i++) {
                const int row = a.row + i * a.row_step, k = a.k + i * a.k_step;
                As[padded(row, k, PITCH_A)] = tile_element(&a, i, depth);
            }
            TSR_UNROLL
            for (int i = 0; i < BN * BK / THREADS; i++) {
                const int row = b.row + i * b.row_step, k = b.k + i * b.k_step;
                Bs[padded(row, k, PITCH_B)] = tile_element(&b, i, depth);
            }
            a.next += a.tile_stride;
            b.next += b.tile_stride;
            tsr_barrier();

            TSR_UNROLL
            for (int k = 0; k < BK; k++) {
                elem fa[TM], fb[TN];
                tile_fragment(fa, &As[padded(y * TM, k, PITCH_A)], TM, 4);
                tile_fragment(fb, &Bs[padded(x * TN, k, PITCH_B)], TN, 4);
                TSR_UNROLL
                for (int i = 0; i < TM; i++) {
                    TSR_UNROLL
                    for (int j = 0; j < TN; j++)
                        sum[i][j] = tsr_fma(fa[i], fb[j], sum[i][j]);
                }
            }
            tsr_barrier();
        }
        TSR_UNROLL
        for (int i = 0; i < TM; i++) {
            TSR_UNROLL
            for (int j = 0; j < TN; j += 4)
                tile_output_quad(&args, z, row0 + y * TM + i, col0 + x * TN + j, &sum[i][j], 0);
        }
    }
}
