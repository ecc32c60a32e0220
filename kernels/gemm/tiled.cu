/* tiled: D = alpha * op(A) * op(B) + beta * C with tiles of A and B in shared memory.
 *
 * New against naive: the threads of a CTA load a TILE x TILE piece of op(A) and of op(B) together, once, and then all
 * of them compute from it. K is walked in phases of TILE. Each element that reaches shared memory is used TILE times,
 * so global traffic falls by TILE.
 *
 *                         phase:   0     1     2
 *                               +-----+-----+-----+ ^
 *                               |  B  |           | |     for each phase p:
 *                               | 0,n |    ...    | | K     1. thread (x, y) loads one element of A's tile and one of
 *                               +-----+           | |          B's; what lies outside the matrix becomes 0
 *     phase:  0     1     2     +-----+-----+-----+ v       2. barrier: the tiles are complete
 *          +-----+-----+-----+  +-----+                     3. TILE multiply-adds: row y of As with column x of Bs
 *        m |  A  |  A  |  A  |  |  D  | y                   4. barrier: nobody reads any more, the next phase may
 *          | m,0 | m,1 | m,2 |  | m,n |                        overwrite
 *          +-----+-----+-----+  +-----+
 *          <------- K ------->     x
 *
 * Coalescing: in global memory threadIdx.x always runs along the stored rows of an operand, transposed or not. A
 * transposed operand is transposed while it is written to shared memory: then the threads of a warp write a column of
 * the tile, which costs bank conflicts (up to 32 at TILE 32) once per phase, against 2 * TILE conflict-free reads. In
 * step 3 a warp reads As[y][k] as a broadcast and Bs[k][x] as neighbours: no conflicts.
 *
 *   name      value           meaning
 *   TILE      2 4 8 16 32     BM = BN = BK = threads along x = threads along y
 *   ELEM_*    f32             element type, also f64
 *   shared    2 * TILE^2      elements: As, Bs
 *
 * Assumes: nothing. Any M, N, K, leading dimension, transpose and alignment of the element; offsets are 64-bit.
 *
 * Bound by: shared memory. Each multiply-add reads two elements of it, so it can keep at most a part of the
 * multiply-add units busy; at DRAM, TILE 32 does 8 FLOP/B in f32. Register tiles, the next rung, mend that.
 *
 * Measured on an H200, 2026-11-21: TILE = 16: 8.05 TFLOP/s at 2048, 7.90 at 4096; 32: 7.07 and 5.75; 8: 5.11 and 5.11.
 */
#include "ptx/barrier.h"
#include "ptx/grid.h"
#include "tile/element.h"
#include "tile/output.h"

enum { THREADS = TILE * TILE };

TSR_KERNEL(THREADS)
{
    tsr_grid_wait(); /* programmatic dependent launch: small products gain */

    elem(*const As)[TILE] = (elem(*)[TILE])TSR_SHARED;
    elem(*const Bs)[TILE] = As + TILE;

    const long long tiles_n = (args.n + TILE - 1) / TILE;
    const long long row0 = blockIdx.x / tiles_n * TILE, col0 = blockIdx.x % tiles_n * TILE;
    const int x = (int)threadIdx.x, y = (int)threadIdx.y;

    /* What this thread loads: element (a_m, a_k) of A's tile and (b_k, b_n) of B's, x along the stored rows. */
    const int a_m = args.trans_a ? x : y, a_k = args.trans_a ? y : x;
    const int b_k = args.trans_b ? x : y, b_n = args.trans_b ? y : x;
    const long long a_step = args.trans_a ? TILE * args.lda : TILE;
    const long long b_step = args.trans_b ? TILE : TILE * args.ldb;
    const long long a_first = args.trans_a ? y * args.lda + row0 + x : (row0 + y) * args.lda + x;
    const long long b_first = args.trans_b ? (col0 + y) * args.ldb + x : y * args.ldb + col0 + x;

    for (long long z = blockIdx.z; z < args.batch; z += gridDim.z) {
        const elem *a = (const elem *)args.a + z * args.batch_a + a_first;
        const elem *b = (const elem *)args.b + z * args.batch_b + b_first;
        elem sum = 0;
        for (long long k0 = 0; k0 < args.k; k0 += TILE) {
            As[a_m][a_k] = row0 + a_m < args.m && k0 + a_k < args.k ? *a : 0;
            Bs[b_k][b_n] = col0 + b_n < args.n && k0 + b_k < args.k ? *b : 0;
            a += a_step;
            b += b_step;
            tsr_barrier();

            TSR_UNROLL
            for (int k = 0; k < TILE; k++)
                sum = tsr_fma(As[y][k], Bs[k][x], sum);
            tsr_barrier();
        }
        if (row0 + y < args.m && col0 + x < args.n)
            tsr_output(&args, z, row0 + y, col0 + x, sum);
    }
}
