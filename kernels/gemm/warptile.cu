/* warptile: D = alpha * op(A) * op(B) + beta * C, as near to the multiply-add units' peak as FP32 gets here.
 *
 * New against double-buffered: a level of tiles between CTA and thread, and nothing left to wait for.
 *   - A warp makes WM x WN; its lanes lie in a grid as square as can be, so it reads least from shared memory for what
 * it computes. A thread makes 16 x 8: 24 elements read for 128 multiply-adds, at 6 of 134 instructions.
 *   - Fragments are double-buffered in registers: those of k + 1 are read while k is multiplied, across tiles too.
 *   - CTAs take tiles in bands (tile/raster.h), so that those which run together share rows and columns in L2.
 *   - Four warps a CTA, two CTAs an SM: while one CTA is at its barrier, each scheduler has a warp of the other.
 *
 *      CTA: BM x BN        warp: WM x WN = 64 x 64, 4 x 8 lanes           thread: TM x TN = 16 x 8, in 4 x 4 blocks
 *      +----+----+               8 lanes, 4 columns each
 *      | w0 | w1 |         lane 0 1 4 5 8 9 12 13 | again, 32 apart       [#] . . [#] . .
 *      +----+----+              2 3 6 7 ...       |                        .       .        [#]: 4 x 4, 16 rows and
 *      | w2 | w3 |              16 17 ...         |                       [#] . . [#] . .   32 columns apart
 *      +----+----+              18 19 ...         |                        :       :        (4 of them by 2)
 *                          ----- again, 16 rows down -----
 *
 * Reading a fragment, neighbouring lanes (0 and 1) read the same quad of A, and lanes 0 and 2 the same quad of B: with
 * that, shared memory serves half a warp at once, 8 different quads in all 32 banks. No conflicts.
 * In the main loop there is no index arithmetic but for the copies: a tile of BK = 16 is 2048 multiply-adds, 96 reads
 * of shared memory, 20 to 36 copies and some 75 others for each thread: 91% multiply-adds.
 *
 *   name      tuned    meaning
 *   BM, BN    128      tile of D; also other shapes, for few rows or few tiles
 *   BK        16       step along K
 *   WM, WN    64       tile of a warp; WM / TM x WN / TN lanes, at least 2 each way
 *   TM, TN    16, 8    elements of D that a thread makes, in quads
 *   STAGES    3        buffers in shared memory
 *   BAND      16       rows of tiles in a band
 *   CTAS      2        CTAs that must fit on an SM: bounds the registers
 *   ALIGNED   0 1      1: 16-byte copies where rows are contiguous, 16-byte stores of D
 *   shared    STAGES * BK * (BM + BN + 8) * 4 bytes
 *
 * Assumes: ALIGNED = 1 needs pointers, leading dimensions and batch strides that are multiples of four elements; the
 * other instances nothing. Any M, N, K and transpose. Offsets are 64-bit. BM and BN are multiples of 8, and a multiple
 * or a divisor of the number of threads; BK is a multiple of 8.
 *
 * Bound by: instruction issue. One warp instruction a cycle and scheduler is also the rate of the multiply-add units,
 * so the share of other instructions is lost.
 *
 * Measured on an H200, 2026-11-21: 128 x 256 x 16: 46.7 TFLOP/s at 2048, 48.4 at 4096, 49.4 at 8192: 0.95, 0.97 and
 * 1.04 of cuBLAS. 128 x 128 x 8 with TM x TN = 8 x 16: 46.9, 47.6, 48.0. */
#include "ptx/async_copy.h"
#include "ptx/barrier.h"
#include "tile/async_tile.h"
#include "tile/fragment.h"
#include "tile/raster.h"

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

TSR_KERNEL_CTAS(THREADS, CTAS)
{
    elem *const shared = (elem *)TSR_SHARED;
    const int thread = (int)threadIdx.x, warp = thread / 32, lane = thread % 32;
    const int lane_m = (lane >> 1 & 1) | (lane >> 2) / (LANES_N / 2) << 1;
    const int lane_n = (lane & 1) | (lane >> 2) % (LANES_N / 2) << 1;
    const int thread_m = warp / WARPS_N * WM + 4 * lane_m, thread_n = warp % WARPS_N * WN + 4 * lane_n;

    const tile_place place =
        tile_raster(blockIdx.x, (unsigned)((args.m + BM - 1) / BM), (unsigned)((args.n + BN - 1) / BN), BAND);
    const long long row0 = (long long)place.m * BM, col0 = (long long)place.n * BN;
    const unsigned tiles = (unsigned)((args.k + BK - 1) / BK);

    for (long long z = blockIdx.z; z < args.batch; z += gridDim.z) {
        tile_stream a =
            tile_stream_open((const elem *)args.a + z * args.batch_a, args.lda, !args.trans_a, row0, args.m, BM);
        tile_stream b =
            tile_stream_open((const elem *)args.b + z * args.batch_b, args.ldb, args.trans_b, col0, args.n, BN);

        /* Fill all stages but one. The first tile takes what K leaves over a multiple of BK, so that all others are
         * whole. A stage without a tile is an empty group: waiting counts groups. */
        for (unsigned s = 0; s < STAGES - 1; s++) {
            elem *const to = shared + s * STAGE;
            if (s == 0 && tiles > 0) {
                const int depth = (int)((args.k - 1) % BK) + 1;
                tile_copy_part(&a, to, BM, BK, PITCH_A, THREADS, thread, depth);
                tile_copy_part(&b, to + BK * PITCH_A, BN, BK, PITCH_B, THREADS, thread, depth);
            } else if (s < tiles) {
                tile_copy(&a, to, BM, BK, PITCH_A, THREADS, thread, WIDTH);
                tile_copy(&b, to + BK * PITCH_A, BN, BK, PITCH_B, THREADS, thread, WIDTH);
            }
            tsr_copy_commit();
        }
        tsr_copy_wait(STAGES - 2);
        tsr_barrier();

        elem sum[TM][TN];
        TSR_UNROLL
        for (int i = 0; i < TM; i++) {
            TSR_UNROLL
            for (int j = 0; j < TN; j++)
                sum[i][j] = 0;
        }

        int stage = 0; /* where the tile in use lies */
        const elem *from_a = shared + thread_m, *from_b = shared + BK * PITCH_A + thread_n;
        elem fa[2][TM], fb[2][TN];
        if (tiles > 0) {
            tile_fragment(fa[0], from_a, TM, 4 * LANES_M);
            tile_fragment(fb[0], from_b, TN, 4 * LANES_N);
        }
        for (unsigned t = 0; t < tiles; t++) {
            TSR_UNROLL
            for (int k = 0; k < BK; k++) {
                if (k == BK - 1) {
                    tsr_copy_wait(STAGES - 2);
                    tsr_barrier();
                    stage = stage == LAST_STAGE ? 0 : stage + STAGE;
                    from_a = shared + stage + thread_m;
                    from_b = shared + stage + BK * PITCH_A + thread_n;
                }
                if (k < BK - 1 || t + 1 < tiles) {
                    tile_fragment(fa[(k + 1) % 2], from_a + (k + 1) % BK * PITCH_A, TM, 4 * LANES_M);
                    tile_fragment(fb[(k + 1) % 2], from_b + (k + 1) % BK * PITCH_B, TN, 4 * LANES_N);
                }
                if (k == 0) {
                    if (t + STAGES - 1 < tiles) {
                        elem *const to = shared + (stage == 0 ? LAST_STAGE : stage - STAGE);
                        tile_copy(&a, to, BM, BK, PITCH_A, THREADS, thread, WIDTH);
                        tile_copy(&b, to + BK * PITCH_A, BN, BK, PITCH_B, THREADS, thread, WIDTH);
                    }
                    tsr_copy_commit();
                }
                TSR_UNROLL
                for (int i = 0; i < TM; i++) {
                    TSR_UNROLL
                    for (int j = 0; j < TN; j++)
                        sum[i][j] = tsr_fma(fa[k % 2][i], fb[k % 2][j], sum[i][j]);
                }
            }
        }

        TSR_UNROLL
        for (int i = 0; i < TM; i++) {
            TSR_UNROLL
            for (int j = 0; j < TN; j += 4)
                tile_output_quad(&args, z, row0 + thread_m + i / 4 * (4 * LANES_M) + i % 4,
                                 col0 + thread_n + j / 4 * (4 * LANES_N), &sum[i][j], ALIGNED);
        }
    }
}
