/* mma-f64: D = alpha * op(A) * op(B) + beta * C in f64 on tensor cores.
 *
 * New against mma: elements of 8 bytes, of which ldmatrix knows nothing.
 *   - Lanes load their fragments element by element. A fragment is 8 rows by 4 k, so quads of 32 bytes are swizzled,
 * not chunks of 16 (tile/f64_tile.h): either layout of either operand comes without bank conflicts, nothing is
 *     transposed on the way.
 *   - cp.async can move 8 bytes, so operands of any alignment arrive as the aligned ones do.
 *   - Sums take two registers each, half of what mma's warps have beside: 64 x 32 for a warp is all that fits.
 *
 *      CTA: BM x BN = 128 x 128      warp: WM x WN = 64 x 32        mma.m16n8k4: 16 x 8 of D, lane 4 g + t
 *      +----+----+----+----+           n  8 columns each
 *      | w0 | w1 | w2 | w3 |       16 [ ][ ][ ][ ]                          column 2t 2t+1
 *      +----+----+----+----+          [ ][ ][ ][ ]                 row g      [ 0   1 ]   sum[i][j][0..3]
 *      | w4 | w5 | w6 | w7 |          [ ][ ][ ][ ]                 row g + 8  [ 2   3 ]
 *      +----+----+----+----+          [ ][ ][ ][ ]
 *
 *      A fragment, rows g, g + 8:  k t | t + 4 | ...            B fragment, column g:  k t | t + 4 | ...
 *                        g         [a0 |  a2   | ...                                   [b0 |  b1   | ...
 *                        g + 8     [a1 |  a3   | ...
 *
 * For 4 of k a warp loads 96 rows, 24 wavefronts of 128 bytes; its 16 mma keep a quarter of an SM's tensor cores for
 * 256 clocks (sm_90; 512 on sm_80). So shared memory is busy for 3/8 of the time at most.
 *
 *   name      tuned       meaning
 *   BM, BN    128 64      tile of D; smaller ones for small D
 *   BK        32 16       step along K that is brought at once; 32 where shared memory allows it
 *   WM, WN    64x32 32x32 tile of a warp
 *   STEP_K    4 8         k of one instruction, and of one set of fragments (tile/f64_fragment.h)
 *   STAGES    3 2 4       buffers in shared memory
 *   BAND      8           rows of tiles in a band (collective/raster.h)
 *   CTAS      1 2         CTAs that must fit on an SM: bounds the registers
 *   WIDTH     2 1         elements that one cp.async moves; 2 also stores pairs
 *   shared    STAGES * BK * (BM + BN) * 8 bytes
 *
 * Assumes: WIDTH = 2 needs pointers, leading dimensions and batch strides that are multiples of 16 bytes; 1 needs
 * nothing. Any M, N, K and transpose. Offsets are 64-bit. WM and WN are multiples of 16, BK of 16.
 *
 * Bound by: the tensor cores: 128 multiply-adds a clock and SM on sm_90, 64 on sm_80.
 *
 * Measured, TFLOP/s on an H100 (2026-11-25; cuBLAS's DGEMM in the same run): 2048: 51 (54), 4096: 52 (54); 1024, by
 * 64 x 64 tiles: 48 (49). Power limits it at 4096 (1,700 MHz). perf/LOG/types.md. */
#include "ptx/barrier.h"
#include "ptx/grid.h"
#include "ptx/warp.h"

#include "collective/raster.h"
#include "tile/f64_fragment.h"
#include "tile/output_pair.h"

enum {
    WARPS_N = BN / WN,
    THREADS = (BM / WM) * WARPS_N * 32,
    ROWS_16 = WM / 16, /* fragments of a warp */
    COLS_8 = WN / 8,
    STEPS = BK / STEP_K,
    TILE_A = BM * BK * 8, /* bytes */
    TILE_B = BN * BK * 8,
    STAGE = TILE_A + TILE_B,
    LAST_STAGE = (STAGES - 1) * STAGE
};

/* What a warp multiplies in one step along K. */
typedef struct fragments {
    double a[ROWS_16][F64_A], b[COLS_8][F64_B];
} fragments;

TSR_DEVICE void load_fragments(fragments *to, const unsigned char *tiles, unsigned offset_a, unsigned offset_b,
                               int step, int a_k, int b_k)
{
    TSR_UNROLL
    for (int i = 0; i < ROWS_16; i++)
        f64_load_a(to->a[i], tiles, offset_a, i, step, BM, BK, a_k);
    TSR_UNROLL
    for (int j = 0; j < COLS_8; j++)
        f64_load_b(to->b[j], tiles + TILE_A, offset_b, j, step, BN, BK, b_k);
}

TSR_DEVICE void multiply_fragments(double sum[ROWS_16][COLS_8][4], const fragments *f)
{
    TSR_UNROLL
    for (int i = 0; i < ROWS_16; i++) {
        TSR_UNROLL
        for (int j = 0; j < COLS_8; j++)
            f64_mma(sum[i][j], f->a[i], f->b[j]);
    }
}

/* The operands' tiles, on their way to a stage. */
typedef struct streams {
    f64_stream a, b;
} streams;

TSR_DEVICE void copy_tiles(streams *s, unsigned char *to, int thread, int depth, int a_k, int b_k)
{
    f64_copy(&s->a, to, BM, BK, THREADS, thread, depth, WIDTH, a_k);
    f64_copy(&s->b, to + TILE_A, BN, BK, THREADS, thread, depth, WIDTH, b_k);
}

/* sum = op(A) * op(B) for the CTA's tile. a_k and b_k, constants: k is contiguous in memory. */
TSR_DEVICE void multiply(const tsr_gemm_args *args, long long z, long long row0, long long col0,
                         double sum[ROWS_16][COLS_8][4], int a_k, int b_k)
{
    unsigned char *const shared = TSR_SHARED;
    const int thread = (int)threadIdx.x, warp = thread / 32, lane = thread % 32;
    const unsigned offset_a = f64_lane_offset(warp / WARPS_N * WM, lane, BM, BK, a_k);
    const unsigned offset_b = f64_lane_offset(warp % WARPS_N * WN, lane, BN, BK, b_k);
    const unsigned tiles = (unsigned)((args->k + BK - 1) / BK), full = (unsigned)(args->k / BK);
    const int rest = (int)(args->k % BK);
    streams s;
    s.a = f64_stream_open((const double *)args->a + z * args->batch_a, args->lda, row0, args->m, BM, BK, THREADS,
                          thread, WIDTH, a_k);
    s.b = f64_stream_open((const double *)args->b + z * args->batch_b, args->ldb, col0, args->n, BN, BK, THREADS,
                          thread, WIDTH, b_k);

    /* Fill all stages but one. A stage without a tile is an empty group: waiting counts groups. */
    TSR_ROLLED
    for (unsigned t = 0; t < STAGES - 1; t++) {
        if (t < tiles)
            copy_tiles(&s, shared + t * STAGE, thread, t < full ? BK : rest, a_k, b_k);
        tsr_copy_commit();
    }
    tsr_copy_wait(STAGES - 2);
    tsr_barrier();

    int stage = 0; /* where the tile in use lies */
    fragments f[FRAGMENTS];
    if (FRAGMENTS == 2)
        load_fragments(&f[0], shared, offset_a, offset_b, 0, a_k, b_k);

    TSR_ROLLED
    for (unsigned t = 0; t < tiles; t++) {
        TSR_UNROLL
        for (int step = 0; step < STEPS; step++) {
            fragments *const now = &f[step % FRAGMENTS];
            if (FRAGMENTS == 1)
                load_fragments(now, shared + stage, offset_a, offset_b, step, a_k, b_k);
            if (step == STEPS - 1) {
                tsr_copy_wait(STAGES - 2);
                tsr_barrier();
                stage = stage == LAST_STAGE ? 0 : stage + STAGE;
            }
            if (FRAGMENTS == 2 && (step < STEPS - 1 || t + 1 < tiles))
                load_fragments(&f[(step + 1) % FRAGMENTS], shared + stage, offset_a, offset_b, (step + 1) % STEPS, a_k,
                               b_k);
            if (step == 0) {
                if (t + STAGES - 1 < tiles)
                    copy_tiles(&s, shared + (stage == 0 ? LAST_STAGE : stage - STAGE), thread,
                               t + STAGES - 1 < full ? BK : rest, a_k, b_k);
                tsr_copy_commit();
            }
            multiply_fragments(sum, now);
        }
    }
}

TSR_KERNEL_CTAS(THREADS, CTAS)
{
    const tile_place place =
        tile_raster(blockIdx.x, (unsigned)((args.m + BM - 1) / BM), (unsigned)((args.n + BN - 1) / BN), BAND);
    const long long row0 = (long long)place.m * BM, col0 = (long long)place.n * BN;
    tsr_grid_wait();

    for (long long z = blockIdx.z; z < args.batch; z += gridDim.z) {
        double sum[ROWS_16][COLS_8][4];
        TSR_UNROLL
        for (int i = 0; i < ROWS_16 * COLS_8 * 4; i++)
            sum[i / 4 / COLS_8][i / 4 % COLS_8][i % 4] = 0;

        if (args.k > 0) { /* otherwise A and B are not even there */
            if (args.trans_a && args.trans_b)
                multiply(&args, z, row0, col0, sum, 0, 1);
            else if (args.trans_a)
                multiply(&args, z, row0, col0, sum, 0, 0);
            else if (args.trans_b)
                multiply(&args, z, row0, col0, sum, 1, 1);
            else
                multiply(&args, z, row0, col0, sum, 1, 0);
        }

        const pair_out out = pair_out_open(&args, z);
        const int thread = tsr_again((int)threadIdx.x), warp = thread / 32;
        const long long row = row0 + warp / WARPS_N * WM + thread % 32 / 4;
        const long long col = col0 + warp % WARPS_N * WN + thread % 4 * 2;
        TSR_UNROLL
        for (int i = 0; i < ROWS_16; i++) {
            TSR_UNROLL
            for (int j = 0; j < COLS_8; j++) {
                output_pair(&out, row + 16 * i, col + 8 * j, &sum[i][j][0], WIDTH == 2);
                output_pair(&out, row + 16 * i + 8, col + 8 * j, &sum[i][j][2], WIDTH == 2);
            }
        }
    }
}
