/* vectorized: D = alpha * op(A) * op(B) + beta * C with 16-byte loads and stores of global memory.
 *
 * New against padded and swizzled: a thread loads one quad (four neighbours, 16 bytes) of A and one of B for each tile,
 * instead of four and four elements, and stores D in quads. A warp's load covers 512 bytes: 4 cache lines in one
 * instruction. Shared memory is laid out as in `padded`, whose places are constants.
 *
 *      global A, k contiguous          As[k][m]                     global B, n contiguous        Bs[k][n]
 *         k0  k1  k2  k3
 *   m   [ a   b   c   d ]  -turn->   k0 | .  a  .                k  [ e  f  g  h ]  -keep->   k | e f g h
 *                                    k1 | .  b  .                     16-byte load               16-byte store
 *        16-byte load                k2 | .  c  .
 *                                    k3 | .  d  .    four 4-byte stores: a warp has 16 m and k0, k4, which fall into
 *                                                    32 banks
 *
 * A transposed is kept, B transposed is transposed.
 *
 *   name      value  meaning
 *   BM, BN    128    tile of D
 *   BK        8      step along K
 *   TM, TN    8      block of D that a thread makes; 16 x 16 threads
 *   ALIGNED   1      16-byte accesses of global memory; 0: the same with 4-byte accesses, for any alignment
 *   PITCH     140    elements from k to k + 1 in shared memory
 *   shared    8960   bytes
 *
 * Assumes: ALIGNED = 1 needs pointers, leading dimensions and batch strides that are multiples of four elements; the
 * other instance nothing. Any M, N, K and transpose; a quad at an edge is loaded element by element. Offsets are
 * 64-bit.
 *
 * Bound by: waiting. A tile is loaded, stored, waited for and only then used; two CTAs on an SM cover for each other in
 * part.
 *
 * Measured on an H200, 2026-11-21: 34.3 TFLOP/s at 2048, 34.7 at 4096, 68% of cuBLAS. Not faster than `padded`, with
 * 632 instructions in the main loop to 675: it waits more, we think, as its two loads come after each other. */
#include "ptx/barrier.h"
#include "tile/fragment.h"
#include "tile/load_quad.h"

enum { THREADS_X = BN / TN, THREADS = BM / TM * THREADS_X, PITCH_A = BM + BM / 8 - 4, PITCH_B = BN + BN / 8 - 4 };

/* Where element (row, k) of a tile lies: four elements are left out after each 32 rows. */
TSR_DEVICE int padded(int row, int k, int pitch)
{
    return k * pitch + row + row / 32 * 4;
}

/* Quad number i of a thread: along the rows it keeps its shape; along k it is transposed, one element to each of four
 * k. */
TSR_DEVICE void store_quad(elem *tile, const tile_quads *quads, int i, int pitch, tsr_f32x4 quad)
{
    const int row = quads->row + i * quads->row_step, k = quads->k + i * quads->k_step;
    if (!quads->k_contiguous) {
        tsr_store_shared_f32x4(&tile[padded(row, k, pitch)], quad);
        return;
    }
    TSR_UNROLL
    for (int j = 0; j < 4; j++)
        tile[padded(row, k + j, pitch)] = tsr_lane(quad, j);
}

TSR_KERNEL_CTAS(THREADS, 2)
{
    elem *const As = (elem *)TSR_SHARED, *const Bs = As + BK * PITCH_A;

    const unsigned tiles_n = (unsigned)((args.n + BN - 1) / BN);
    const long long row0 = (long long)(blockIdx.x / tiles_n) * BM, col0 = (long long)(blockIdx.x % tiles_n) * BN;
    const int x = (int)threadIdx.x, y = (int)threadIdx.y, thread = y * THREADS_X + x;

    for (long long z = blockIdx.z; z < args.batch; z += gridDim.z) {
        tile_quads a = tile_quads_open((const elem *)args.a + z * args.batch_a, args.lda, !args.trans_a, row0, args.m,
                                       BM, BK, THREADS, thread);
        tile_quads b = tile_quads_open((const elem *)args.b + z * args.batch_b, args.ldb, args.trans_b, col0, args.n,
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
            for (int i = 0; i < BM * BK / 4 / THREADS; i++)
                store_quad(As, &a, i, PITCH_A, tile_quad(&a, i, depth, ALIGNED));
            TSR_UNROLL
            for (int i = 0; i < BN * BK / 4 / THREADS; i++)
                store_quad(Bs, &b, i, PITCH_B, tile_quad(&b, i, depth, ALIGNED));
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
                tile_output_quad(&args, z, row0 + y * TM + i, col0 + x * TN + j, &sum[i][j], ALIGNED);
        }
    }
}
