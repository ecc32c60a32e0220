/* double-buffered: D = alpha * op(A) * op(B) + beta * C; the next tiles are on their way while this one is used.
 *
 * New against vectorized: cp.async copies from global to shared memory without passing registers and without anyone
 * waiting. With STAGES buffers, STAGES - 1 tiles are in flight; one barrier a tile instead of two.
 *
 *      STAGES = 3      t = 0           1           2           3
 *      stage 0      [ use 0 ]   [ . . copy 3 . . . . . . ] [ use 3 ]
 *      stage 1      . . copy 1 ][ use 1 ]   [ . . copy 4 . . . . . .
 *      stage 2      . . . . copy 2 . . . .  ] [ use 2 ]  [ . . copy 5
 *                              ^ wait for the copy of tile t, barrier, start the copy into the stage of tile t - 1
 *
 * As there are no registers on the way, an operand with k contiguous is transposed by the copy itself: 4 bytes each, 8
 * k x 4 rows for a warp (tile/async_tile.h). The other kind takes 16-byte copies. A thread's 8 x 8 block lies in four 4
 * x 4 blocks, 64 apart, so that neighbouring threads read neighbouring quads and the padding within a k can go:
 *
 *         x: 0 1 .. 15 0 1 .. 15
 *      y 0 [ # # .. # | # # .. # ]      each # is 4 x 4; thread (0, 0) has the first # of each of the four parts
 *        : [          |          ]
 *      y 0 [ # # .. # | # # .. # ]
 *
 *   name      value     for a short K  meaning
 *   BM, BN    128       32 to 128      tile of D
 *   BK        8         8, 16          step along K
 *   TM, TN    8         4, 8           elements of D that a thread makes, in quads; BN / TN x BM / TM threads
 *   STAGES    2 3 4     2              buffers
 *   CTAS      2         2 to 6         CTAs that must fit on an SM: where K is short, some store while others load
 *   EARLY     0         1              1: the grid may start before the one before it in the stream has ended
 *   ALIGNED   0 1       0 1            1: 16-byte copies where rows are contiguous, 16-byte stores of D
 *   PITCH     BM + 4    (and BN + 4)   elements from k to k + 1, so that transposing has no bank conflicts
 *   shared    BK * (BM + BN + 8) * 4   bytes a stage
 *
 * Assumes: ALIGNED = 1 needs pointers, leading dimensions and batch strides that are multiples of four elements; the
 * other instance nothing. Any M, N, K and transpose. Offsets are 64-bit.
 *
 * Bound by: instruction issue. The warp's 512 multiply-adds a tile come with 32 reads of shared memory, which it has to
 * wait for at each k, and some 40 others.
 *
 * Measured on an H200, 2026-11-21: STAGES = 3: 41.9 TFLOP/s at 2048, 42.5 at 4096, 84% of cuBLAS. 2026-11-26, K = 8,
 * D of 464 x 12072: 17.6 us with 128 x 128 tiles, 13.7 us with 32 x 128. */
#include "ptx/async_copy.h"
#include "ptx/barrier.h"
#include "ptx/grid.h"
#include "ptx/warp.h"
#include "tile/async_tile.h"
#include "tile/fragment.h"

enum {
    THREADS_X = BN / TN,
    THREADS_Y = BM / TM,
    THREADS = THREADS_X * THREADS_Y,
    PITCH_A = BM + 4,
    PITCH_B = BN + 4,
    STAGE = BK * (PITCH_A + PITCH_B), /* elements */
    LAST_STAGE = (STAGES - 1) * STAGE,
    WIDTH = ALIGNED ? 4 : 1
};

TSR_KERNEL_CTAS(THREADS, CTAS)
{
    elem *const shared = (elem *)TSR_SHARED;

    const unsigned tiles_n = (unsigned)((args.n + BN - 1) / BN), tiles = (unsigned)((args.k + BK - 1) / BK);
    const long long row0 = (long long)(blockIdx.x / tiles_n) * BM, col0 = (long long)(blockIdx.x % tiles_n) * BN;
    const int x = (int)threadIdx.x, y = (int)threadIdx.y, thread = y * THREADS_X + x;

    if (EARLY)
        tsr_grid_wait();
    for (long long z = blockIdx.z; z < args.batch; z += gridDim.z) {
        tile_stream a =
            tile_stream_open((const elem *)args.a + z * args.batch_a, args.lda, !args.trans_a, row0, args.m, BM);
        tile_stream b =
            tile_stream_open((const elem *)args.b + z * args.batch_b, args.ldb, args.trans_b, col0, args.n, BN);
        elem sum[TM][TN];
        TSR_UNROLL
        for (int i = 0; i < TM; i++) {
            TSR_UNROLL
            for (int j = 0; j < TN; j++)
                sum[i][j] = 0;
        }

        /* Start all stages but one. The first tile takes what K leaves over a multiple of BK, so that the others are
         * whole. Waiting counts groups, so a stage without a tile is an empty group. */
        TSR_ROLLED
        for (unsigned t = 0; t < STAGES - 1; t++) {
            elem *const to = shared + t * STAGE;
            if (t < tiles) {
                const int depth = t == 0 ? (int)((args.k - 1) % BK) + 1 : BK;
                tile_copy_part(&a, to, BM, BK, PITCH_A, THREADS, thread, depth);
                tile_copy_part(&b, to + BK * PITCH_A, BN, BK, PITCH_B, THREADS, thread, depth);
            }
            tsr_copy_commit();
        }

        int stage = 0; /* where tile t lies */
        for (unsigned t = 0; t < tiles; t++) {
            tsr_copy_wait(STAGES - 2); /* tile t has landed, for this thread's copies; */
            tsr_barrier();             /* for everybody's; and nobody still reads tile t - 1 */
            if (t + STAGES - 1 < tiles) {
                elem *const to = shared + (stage == 0 ? LAST_STAGE : stage - STAGE);
                tile_copy(&a, to, BM, BK, PITCH_A, THREADS, thread, WIDTH);
                tile_copy(&b, to + BK * PITCH_A, BN, BK, PITCH_B, THREADS, thread, WIDTH);
            }
            tsr_copy_commit();

            const elem *const As = shared + stage, *const Bs = As + BK * PITCH_A;
            TSR_UNROLL
            for (int k = 0; k < BK; k++) {
                elem fa[TM], fb[TN];
                tile_fragment(fa, &As[k * PITCH_A + 4 * y], TM, 4 * THREADS_Y);
                tile_fragment(fb, &Bs[k * PITCH_B + 4 * x], TN, 4 * THREADS_X);
                TSR_UNROLL
                for (int i = 0; i < TM; i++) {
                    TSR_UNROLL
                    for (int j = 0; j < TN; j++)
                        sum[i][j] = tsr_fma(fa[i], fb[j], sum[i][j]);
                }
            }
            stage = stage == LAST_STAGE ? 0 : stage + STAGE;
        }
        tsr_barrier(); /* the next problem of the batch overwrites the stages */
        if (EARLY)
            tsr_grid_launch_dependents();

        const int again = tsr_again(thread), down = again / THREADS_X, across = again % THREADS_X;
        TSR_UNROLL
        for (int i = 0; i < TM; i++) {
            TSR_UNROLL
            for (int j = 0; j < TN; j += 4)
                tile_output_quad(&args, z, row0 + i / 4 * (4 * THREADS_Y) + 4 * down + i % 4,
                                 col0 + j / 4 * (4 * THREADS_X) + 4 * across, &sum[i][j], ALIGNED);
        }
    }
}
