/* swizzled: D = alpha * op(A) * op(B) + beta * C, regtile2d without bank conflicts, by an exchange of places.
 *
 * New against padded: no holes. The quads (four rows, 16 bytes) of one k exchange places: quad q lies where quad
 * q ^ ((q / 8 ^ k) % 8) would. An exclusive or is its own inverse, so reader and writer compute the same.
 *
 *      which quad lies in a place:
 *      place    0  1  2  3  4  5  6  7 |  8  9 10 11 12 13 14 15      8 quads: all 32 banks
 *      plain    0  1  2  3  4  5  6  7 |  8  9 10 11 12 13 14 15
 *      k = 0    0  1  2  3  4  5  6  7 |  9  8 11 10 13 12 15 14      q / 8 = 1: pairs exchanged
 *      k = 1    1  0  3  2  5  4  7  6 |  8  9 10 11 12 13 14 15
 *
 *   reading b: eight threads read quads 0 2 4 6 8 10 12 14. Plain, 0 and 8, 2 and 10, ... meet in one bank; swizzled, 8
 *   lies in place 9: they all miss each other. Turning A: 8 k of one quad lie in 8 different places.
 *
 * Bank conflicts: as few as `padded` has, 56 wavefronts instead of 116 for a warp and tile. Shared memory stays 8 KiB
 * and each k begins at a multiple of 512 bytes, as TMA and ldmatrix will want it. The price: the place of a quad is no
 * longer a constant away from the thread's first one. It takes an instruction for each read, 6% more of them in the
 * main loop.
 *
 *   name      value  meaning
 *   BM, BN    128    tile of D
 *   BK        8      step along K
 *   TM, TN    8      block of D that a thread makes; 16 x 16 threads
 *   shared    8 KiB  As[BK][BM], Bs[BK][BN]
 *
 * Assumes: nothing. Any M, N, K, leading dimension, transpose and alignment of the element; offsets are 64-bit.
 *
 * Bound by: as `padded`, waiting for tiles and instructions.
 *
 * Measured on an H200, 2026-11-21: 29.7 TFLOP/s at 2048, 31.3 at 4096, 61% of cuBLAS. Slower than `padded`, 34.4 and
 * 35.3, by as much as its main loop has more instructions: 761 to 675. */
#include "ptx/barrier.h"
#include "ptx/warp.h"
#include "tile/fragment.h"
#include "tile/load.h"

enum { THREADS_X = BN / TN, THREADS = BM / TM * THREADS_X };

/* Where element (row, k) of a tile lies: its quad of four rows changes places with another one of the same k. */
TSR_DEVICE int swizzled(int row, int k, int height)
{
    return k * height + (row ^ ((row >> 5 ^ k) & 7) << 2);
}

TSR_KERNEL_CTAS(THREADS, 2)
{
    elem *const As = (elem *)TSR_SHARED, *const Bs = As + BK * BM;

    const unsigned tiles_n = (unsigned)((args.n + BN - 1) / BN);
    const long long row0 = (long long)(blockIdx.x / tiles_n) * BM, col0 = (long long)(blockIdx.x % tiles_n) * BN;
    const int x = (int)threadIdx.x, y = (int)threadIdx.y, thread = y * THREADS_X + x;
    const int ya = y * TM ^ (y * TM >> 5 & 7) << 2, xb = x * TN ^ (x * TN >> 5 & 7) << 2;

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
                As[swizzled(row, k, BM)] = tile_element(&a, i, depth);
            }
            TSR_UNROLL
            for (int i = 0; i < BN * BK / THREADS; i++) {
                const int row = b.row + i * b.row_step, k = b.k + i * b.k_step;
                Bs[swizzled(row, k, BN)] = tile_element(&b, i, depth);
            }
            a.next += a.tile_stride;
            b.next += b.tile_stride;
            tsr_barrier();

            TSR_UNROLL
            for (int k = 0; k < BK; k++) {
                elem fa[TM], fb[TN];
                TSR_UNROLL
                for (int i = 0; i < TM; i += 4)
                    tile_fragment(&fa[i], &As[k * BM + (ya ^ i ^ (k & 7) << 2)], 4, 0);
                TSR_UNROLL
                for (int j = 0; j < TN; j += 4)
                    tile_fragment(&fb[j], &Bs[k * BN + (xb ^ j ^ (k & 7) << 2)], 4, 0);
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
