/* regtile2d: D = alpha * op(A) * op(B) + beta * C, a TM x TN block of elements for each thread.
 *
 * New against regtile1d: the register tile has two sides. A thread reads TM elements of A's tile and TN of B's and
 * makes TM * TN multiply-adds from them: an outer product.
 *
 *                        Bs                                  one step of k:
 *               +------------------+
 *            BK |      b0 .. b7    |                               b0 b1 .. b7
 *               +------------------+                          a0 [ .  .     . ]
 *        As             x                                     a1 [ .  .     . ]    16 elements read,
 *      +----+   +------------------+                           : [            ]    64 multiply-adds
 *      | a0 |   |     +------+     |                          a7 [ .  .     . ]
 *      |  : | y |     | 8x8  |     |
 *      | a7 |   |     +------+     |       As is kept transposed, As[k][m], so that a thread's eight a lie side by
 * side, as |    |   |                  |       its eight b do: two 16-byte reads each.
 *      +----+   +------------------+
 *        BK              BN
 *
 * Bank conflicts, in wavefronts (passes over the 32 banks) of one warp, which has 16 x and 2 y:
 *   read a      2 per step of k   all threads of one y read the same 16 bytes
 *   read b      8 per step of k   2 reads of 16 pieces; the pieces begin 8 elements apart, so they fall into half of
 * the banks: 4 wavefronts a read where 2 would do transpose A     32 per tile        4 stores of 8 k x 4 rows; all k of
 * a row fall into one bank: 8 wavefronts a store store B     4 per tile        32 neighbours: none Together 8 * 10 + 36
 * = 116 for a tile, whose 512 multiply-adds take the warp's share of the SM 128 cycles. With A transposed and B
 * transposed it is B that is transposed: the same.
 *
 *   name      value  meaning
 *   BM, BN    128    tile of D
 *   BK        8      step along K
 *   TM, TN    8      block of D that a thread makes; 16 x 16 threads
 *   shared    8 KiB  As[BK][BM], Bs[BK][BN]
 *
 * Assumes: nothing. Any M, N, K, leading dimension, transpose and alignment of the element; offsets are 64-bit.
 *
 * Bound by: shared memory's bank conflicts, and waiting: nothing is computed while a tile is on its way but by the
 * other CTA of the SM. At DRAM 2 * 128 * 128 / (4 * 256) = 32 FLOP/B.
 *
 * Measured on an H200, 2026-11-21: 30.2 TFLOP/s at 2048, 31.1 at 4096, 61% of cuBLAS. */
#include "ptx/barrier.h"
#include "ptx/warp.h"
#include "tile/fragment.h"
#include "tile/load.h"

enum { THREADS_X = BN / TN, THREADS = BM / TM * THREADS_X };

TSR_KERNEL_CTAS(THREADS, 2)
{
    elem *const As = (elem *)TSR_SHARED, *const Bs = As + BK * BM;

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
                As[k * BM + row] = tile_element(&a, i, depth);
            }
            TSR_UNROLL
            for (int i = 0; i < BN * BK / THREADS; i++) {
                const int row = b.row + i * b.row_step, k = b.k + i * b.k_step;
                Bs[k * BN + row] = tile_element(&b, i, depth);
            }
            a.next += a.tile_stride;
            b.next += b.tile_stride;
            tsr_barrier();

            TSR_UNROLL
            for (int k = 0; k < BK; k++) {
                elem fa[TM], fb[TN];
                tile_fragment(fa, &As[k * BM + y * TM], TM, 4);
                tile_fragment(fb, &Bs[k * BN + x * TN], TN, 4);
                TSR_UNROLL
                for (int i = 0; i < TM; i++) {
                    TSR_UNROLL
                    for (int j = 0; j < TN; j++)
                        sum[i][j] = tsr_fma(fa[i], fb[j], sum[i][j]);
                }
            }
            tsr_barrier();
        }
        const int across = tsr_again(thread) % THREADS_X;
        TSR_UNROLL
        for (int i = 0; i < TM; i++) {
            TSR_UNROLL
            for (int j = 0; j < TN; j += 4)
                tile_output_quad(&args, z, row0 + y * TM + i, col0 + across * TN + j, &sum[i][j], 0);
        }
    }
}
