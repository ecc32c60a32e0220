/* naive: D = alpha * op(A) * op(B) + beta * C, one thread for each element of D.
 *
 * New against uncoalesced: threadIdx.x walks along the COLUMNS of D. Nothing else changes; exchanging two indices is
 * worth a factor of four and more.
 *
 *      CTA's tile of D                    op(A)                      op(B)
 *        x: 0 1 2 ... 31
 *   y: 0 [ . . . ... . ]     row  ->  [ a a a a ... ]          [ b b b b ]
 *      1 [ . . . ... . ]                    K                  [ b b b b ]  K
 *      : [ . . . ... . ]                                       [ b b b b ]
 *      7 [ . . . ... . ]                                         ^ ^ ^ ^ col
 *
 * The 32 threads of a warp (x = 0..31, one y) hold 32 neighbours of one row of D. At each step of k they load 32
 * neighbours of row k of B: 128 bytes in a row, 4 full sectors (coalesced); and all of them load the same A[row, k]: a
 * broadcast. The store to D is coalesced as well. (With B transposed the loads of B are apart by ldb: the tiled rung
 * mends that.)
 *
 *   name      value  meaning
 *   BM        8      rows of D that a CTA makes = threads along y
 *   BN        32     columns of D that a CTA makes = threads along x, a full warp
 *   TILE             where it is given, both: blocks small enough to follow on paper
 *   ELEM_*    f32    element type, also f64
 *
 * Assumes: nothing. Any M, N, K, leading dimension, transpose and alignment of the element; offsets are 64-bit.
 *
 * Bound by: L1 and L2 traffic. Each multiply-add loads two elements: 2 FLOP for 8 bytes in f32, 0.25 FLOP/B; only the
 * caches, which let neighbours share what they load, keep it off the speed of DRAM.
 *
 * Measured on an H200, 2026-11-21: 6.15 TFLOP/s at 2048, 3.56 at 4096, 7% of cuBLAS. */
#include "tile/element.h"
#include "tile/output.h"

#ifdef TILE
enum { BM = TILE, BN = TILE, THREADS = BM * BN };
#else
enum { BM = 8, BN = 32, THREADS = BM * BN };
#endif

TSR_KERNEL(THREADS)
{
    const long long tiles_n = (args.n + BN - 1) / BN;
    const long long row = blockIdx.x / tiles_n * BM + threadIdx.y;
    const long long col = blockIdx.x % tiles_n * BN + threadIdx.x;
    if (row >= args.m || col >= args.n)
        return;

    /* Element (row, k) of op(A) lies at row * a_row + k * a_k, (k, col) of op(B) at k * b_k + col * b_col. */
    const long long a_row = args.trans_a ? 1 : args.lda, a_k = args.trans_a ? args.lda : 1;
    const long long b_k = args.trans_b ? 1 : args.ldb, b_col = args.trans_b ? args.ldb : 1;

    for (long long z = blockIdx.z; z < args.batch; z += gridDim.z) {
        const elem *a = (const elem *)args.a + z * args.batch_a + row * a_row;
        const elem *b = (const elem *)args.b + z * args.batch_b + col * b_col;
        elem sum = 0;
        for (long long k = 0; k < args.k; k++)
            sum = tsr_fma(a[k * a_k], b[k * b_k], sum);
        tsr_output(&args, z, row, col, sum);
    }
}
