/* warptile: D = alpha * op(A) * op(B) + beta * C, as near to the multiply-add units' peak as FP32 gets here.
 *
 * New against double-buffered: a level of tiles between CTA and thread, and nothing left to wait for.
 *   - A warp makes WM x WN; its lanes lie in a grid as square as can be, so it reads least from shared memory for what
 * it computes. A thread makes 16 x 8: 24 elements read for 128 multiply-adds, at 6 of 134 instructions.
 *   - Fragments are double-buffered in registers: those of k + 1 are read while k is multiplied, across tiles too.
 *   - CTAs take tiles in bands (collective/raster.h), so that those which run together share rows and columns in L2.
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
 * Eight lanes across make a row of 128 bytes, a whole line: with four, whose rows of 64 bytes are stored by themselves,
 * a product with a short K took up to 2.5 times as long. In the main loop there is no index arithmetic but for the
 * copies: a tile of BK = 16 is 2048 multiply-adds, 96 reads of shared memory, 20 to 36 copies and some 75 others for
 * each thread: 91% multiply-adds.
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
 * 1.04 of cuBLAS. */
#include "collective/raster.h"
#include "collective/warp_product.h"

TSR_KERNEL_CTAS(THREADS, CTAS)
{
    const int thread = (int)threadIdx.x, thread_m = warp_product_row(thread), thread_n = warp_product_col(thread);
    const tile_place place =
        tile_raster(blockIdx.x, (unsigned)((args.m + BM - 1) / BM), (unsigned)((args.n + BN - 1) / BN), BAND);
    const long long row0 = (long long)place.m * BM, col0 = (long long)place.n * BN;

    for (long long z = blockIdx.z; z < args.batch; z += gridDim.z) {
        tile_stream a =
            tile_stream_open((const elem *)args.a + z * args.batch_a, args.lda, !args.trans_a, row0, args.m, BM);
        tile_stream b =
            tile_stream_open((const elem *)args.b + z * args.batch_b, args.ldb, args.trans_b, col0, args.n, BN);
        elem sum[TM][TN];
        warp_product(&a, &b, (unsigned)((args.k + BK - 1) / BK), (int)((args.k - 1) % BK) + 1, (elem *)TSR_SHARED,
                     thread, sum);

        TSR_UNROLL
        for (int i = 0; i < TM; i++) {
            TSR_UNROLL
            for (int j = 0; j < TN; j += 4)
                tile_output_quad(&args, z, row0 + warp_product_row_of(thread_m, i),
                                 col0 + warp_product_col_of(thread_n, j), &sum[i][j], ALIGNED);
        }
    }
}
