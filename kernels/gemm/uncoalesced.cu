/* uncoalesced: D = alpha * op(A) * op(B) + beta * C, one thread for each element of D, the wrong way round.
 *
 * New here: everything; this is where the ladder starts on a GPU. Each thread takes one row of op(A) and one column of
 * op(B) straight from global memory and sums K products in a register.
 *
 *      CTA's tile of D                    op(A)                      op(B)
 *        y: 0 1 ... 7
 *   x: 0 [ . . .... ]        row  ->  [ a a a a ... ]          [ . b . . ]
 *      1 [ . . .... ]                       K                  [ . b . . ]  K
 *      : [ . . .... ]                                          [ . b . . ]
 *     31 [ . . .... ]                                               ^ col
 *
 * threadIdx.x walks down the ROWS of D, so the 32 threads of a warp (x = 0..31, one y) hold 32 different rows of one
 * column. At each step of k they load A[row, k] from 32 rows: addresses lda elements apart, hence 32 sectors of 32
 * bytes of which 4 bytes each are used. The store to D scatters in the same way. All of them load one and the same B[k,
 * col]: a broadcast. (With A transposed its rows lie next to each other and only the store stays bad.)
 *
 *   name      value  meaning
 *   BM        32     rows of D that a CTA makes = threads along x
 *   BN        8      columns of D that a CTA makes = threads along y
 *   ELEM_*    f32    element type, also f64
 *
 * Assumes: nothing. Any M, N, K, leading dimension, transpose and alignment of the element; offsets are 64-bit.
 *
 * Bound by: L1 and L2 traffic. A warp moves 32 sectors + 1 for 32 multiply-adds.
 *
 * Measured on an H200, 2026-11-21: 0.50 TFLOP/s at 2048 and 4096, 1% of cuBLAS. */
#include "tile/element.h"
#include "tile/output.h"

enum { BM = 32, BN = 8, THREADS = BM * BN };

TSR_KERNEL(THREADS)
{
    const long long tiles_n = (args.n + BN - 1) / BN;
    const long long row = blockIdx.x / tiles_n * BM + threadIdx.x;
    const long long col = blockIdx.x % tiles_n * BN + threadIdx.y;
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
