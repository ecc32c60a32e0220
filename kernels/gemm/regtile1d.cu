/* regtile1d: D = alpha * op(A) * op(B) + beta * C, a column of TM elements for each thread.
 *
 * New against tiled: a thread makes TM results instead of one, and keeps them in registers. What it reads of B's tile
 * serves TM multiply-adds instead of one.
 *
 *                     Bs                      one step of k, TM = 4:
 *                  +----------+
 *               BK |    b     |               sum0 += a0 * b      reads: 1 of Bs, TM of As
 *                  +----------+               sum1 += a1 * b
 *         As            x                     sum2 += a2 * b      The 32 threads of a warp have neighbouring x and one
 *      +----+      +----------+               sum3 += a3 * b      y: they read 32 neighbours of Bs, and each a is a
 *      | a0 |      |    0     |                                   broadcast, 4 of k at once (As keeps k contiguous, so
 *      | a1 | y    |    1     |                                   the compiler reads 16 bytes).
 *      | a2 |      |    2     |
 *      | a3 |      |    3     |
 *   BM |    |      |          |
 *      +----+      +----------+
 *        BK             BN
 *
 * Shared memory, wavefronts (passes over its 32 banks) for 4 steps of k in a warp: TM broadcasts of A + 4 reads of B =
 * 20 for 4 * TM = 64 multiply-adds of the warp. `tiled` needs 1 + 4 = 5 for 4. Global traffic falls with the tile's
 * sides: 2 * BM * BN / (4 * (BM + BN)) = 16 FLOP/B instead of 8.
 *
 *   name      value  meaning
 *   BM, BN    64     tile of D
 *   BK        16     step along K
 *   TM        16     rows of D that a thread makes; BM / TM * BN = 64 x 4 threads
 *   shared    8 KiB  As[BM][BK], Bs[BK][BN]
 *
 * Assumes: nothing. Any M, N, K, leading dimension, transpose and alignment of the element; offsets are 64-bit.
 *
 * Bound by: shared memory still. 20 wavefronts take 20 cycles of the SM, the 64 multiply-adds of a warp 16: at most 80%
 * of the peak; and waiting for each tile, as `tiled` does. As is transposed in shared memory when A is transposed, at
 * the price of bank conflicts; so is Bs when B is.
 *
 * Measured on an H200, 2026-11-21: 16.4 TFLOP/s at 2048, 17.1 at 4096, 34% of cuBLAS. */
#include "ptx/barrier.h"
#include "tile/load.h"
#include "tile/output.h"

enum { THREADS = BM / TM * BN };

TSR_KERNEL_CTAS(THREADS, 2)
{
    elem(*const As)[BK] = (elem(*)[BK])TSR_SHARED;
    elem(*const Bs)[BN] = (elem(*)[BN])(As + BM);

    const unsigned tiles_n = (unsigned)((args.n + BN - 1) / BN);
    const long long row0 = (long long)(blockIdx.x / tiles_n) * BM, col0 = (long long)(blockIdx.x % tiles_n) * BN;
    const int x = (int)threadIdx.x, y = (int)threadIdx.y, thread = y * BN + x;

    for (long long z = blockIdx.z; z < args.batch; z += gridDim.z) {
        tile_loader a = tile_loader_open((const elem *)args.a + z * args.batch_a, args.lda, !args.trans_a, row0, args.m,
                                         BM, BK, THREADS, thread);
        tile_loader b = tile_loader_open((const elem *)args.b + z * args.batch_b, args.ldb, args.trans_b, col0, args.n,
                                         BN, BK, THREADS, thread);
        elem sum[TM];
        TSR_UNROLL
        for (int i = 0; i < TM; i++)
            sum[i] = 0;

        for (long long k0 = 0; k0 < args.k; k0 += BK) {
            const int depth = args.k - k0 < BK ? (int)(args.k - k0) : BK;
            TSR_UNROLL
            for (int i = 0; i < BM * BK / THREADS; i++)
                As[a.row + i * a.row_step][a.k + i * a.k_step] = tile_element(&a, i, depth);
            TSR_UNROLL
            for (int i = 0; i < BN * BK / THREADS; i++)
                Bs[b.k + i * b.k_step][b.row + i * b.row_step] = tile_element(&b, i, depth);
            a.next += a.tile_stride;
            b.next += b.tile_stride;
            tsr_barrier();

            TSR_UNROLL
            for (int k = 0; k < BK; k++) {
                const elem bk = Bs[k][x];
                TSR_UNROLL
                for (int i = 0; i < TM; i++)
                    sum[i] = tsr_fma(As[y * TM + i][k], bk, sum[i]);
            }
            tsr_barrier();
        }
        TSR_UNROLL
        for (int i = 0; i < TM; i++)
            if (row0 + y * TM + i < args.m && col0 + x < args.n)
                tsr_output(&args, z, row0 + y * TM + i, col0 + x, sum[i]);
    }
}
