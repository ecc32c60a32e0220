/* warptile, for operands as they are: D = alpha * A * B + beta * C without a single copy of 4 bytes.
 *
 * New against warptile.cu, which transposes A on its way to shared memory, 4 bytes at a time: A stays as it is, its k
 * next to each other, and comes by 16-byte copies, a quarter of the instructions.
 *   - A thread reads four k of a row at once and uses them in the next four steps. The quad of a row is replaced as
 * soon as its last k has been multiplied, so one set of registers is enough; only B's fragments are double-buffered.
 *   - Its rows are neighbours of its neighbours' rows, LANES_M apart, so that eight lanes read 8 rows, 20 words apart.
 *   - The main loop is unrolled for DEPTH steps, which may be less than a tile: code that the instruction cache holds.
 *   - Tiles at an edge also take 16-byte copies, cut where the matrix ends. What K leaves over comes last.
 *
 *      shared memory, a stage:   A: BM rows of BK + 4                   B: BK rows of BN
 *                                m0 | k0 k1 k2 k3 | k4 ... | - - - -      k0 | n0 n1 n2 n3 | ...
 *                                m1 | k0 k1 k2 k3 | ...                   k1 | n0 n1 n2 n3 | ...
 *      a thread reads               [  a quad, for 4 k  ]                      [ TN / 4 quads, for each k ]
 *
 *   name      meaning
 *   BM, BN    tile of D
 *   BK        step along K
 *   DEPTH     steps of K in the main loop's code: divides BK, a multiple of 4
 *   WM, WN    tile of a warp; WM / TM x WN / TN lanes, at least 2 each way
 *   TM, TN    elements of D that a thread makes
 *   STAGES    buffers in shared memory
 *   BAND      rows of tiles in a band
 *   CTAS      CTAs that must fit on an SM: bounds the registers
 *   shared    STAGES * (BM * (BK + 4) + BK * BN) * 4 bytes
 *
 * Assumes: neither A nor B is transposed; pointers, leading dimensions and batch strides are multiples of four
 * elements. Any M, N, K. Offsets are 64-bit. BK / 4 and BN / 4 divide the number of threads, which divides BM * BK / 4
 * and BN * BK / 4.
 *
 * Bound by: instruction issue and the board's power.
 *
 * Measured on an H200, 2026-11-21: 64 x 64 x 32 takes 58.2 us at 1024, 127.5 us at 1 x 4096 x 4096 and 86.7 us at
 * 1028; warptile.cu 58.8, 150.3 and 110.2 at best. With 128 x 256 it is slower than warptile.cu: 43.4 to 48.4 TFLOP/s
 * at 4096, perf/LOG. */
#include "ptx/async_copy.h"
#include "ptx/barrier.h"
#include "tile/fragment.h"

#include "collective/raster.h"

enum {
    WARPS_N = BN / WN,
    THREADS = (BM / WM) * WARPS_N * 32,
    LANES_M = WM / TM, /* a warp's lanes down and across its tile */
    LANES_N = WN / TN,
    PITCH_A = BK + 4,
    STAGE = BM * PITCH_A + BK * BN, /* elements */
    LAST_STAGE = (STAGES - 1) * STAGE,
    ROWS_A = THREADS / (BK / 4), /* rows of A and of B that the CTA copies at once */
    ROWS_B = THREADS / (BN / 4)
};

/* Where a thread copies from; `next` is its first quad of the next tile. */
typedef struct quad_stream {
    const elem *next;
    long long ld;
    int row, col; /* in the tile */
    int to;       /* in the stage, elements */
} quad_stream;

/* Bytes of a quad of which `inside` elements, if any, lie in the matrix. */
TSR_DEVICE unsigned quad_bytes(int inside)
{
    return inside >= 4 ? 16 : inside > 0 ? 4 * (unsigned)inside : 0;
}

/* A tile whose matrix ends `rows` and `cols` from its first element; `count` quads a thread, `step` rows apart. */
TSR_DEVICE void copy_quads(const quad_stream *s, elem *stage, int count, int step, int pitch, int height, int width,
                           int rows, int cols)
{
    const elem *from = s->next;
    elem *const to = stage + s->to;
    if (rows >= height && cols >= width) {
        TSR_UNROLL
        for (int i = 0; i < count; i++) {
            tsr_copy_async_16(to + i * step * pitch, from, 16);
            from += step * s->ld;
        }
    } else {
        const unsigned bytes = quad_bytes(cols - s->col);
        TSR_UNROLL
        for (int i = 0; i < count; i++) {
            tsr_copy_async_16(to + i * step * pitch, from, s->row + i * step < rows ? bytes : 0);
            from += step * s->ld;
        }
    }
}

/* The next step along K, `depth` of it inside the matrices. */
TSR_DEVICE void copy_tile(quad_stream *a, quad_stream *b, elem *stage, int rows, int cols, int depth)
{
    copy_quads(a, stage, BM / ROWS_A, ROWS_A, PITCH_A, BM, BK, rows, depth);
    copy_quads(b, stage, BK / ROWS_B, ROWS_B, BN, BK, BN, depth, cols);
    a->next += BK;
    b->next += BK * b->ld;
}

TSR_KERNEL_CTAS(THREADS, CTAS)
{
    elem *const shared = (elem *)TSR_SHARED;
    const int thread = (int)threadIdx.x, warp = thread / 32, lane = thread % 32;
    const int lane_m = (lane >> 1 & 1) | (lane >> 2) / (LANES_N / 2) << 1;
    const int lane_n = (lane & 1) | (lane >> 2) % (LANES_N / 2) << 1;
    const int thread_m = warp / WARPS_N * WM + lane_m, thread_n = warp % WARPS_N * WN + 4 * lane_n;

    const tile_place place =
        tile_raster(blockIdx.x, (unsigned)((args.m + BM - 1) / BM), (unsigned)((args.n + BN - 1) / BN), BAND);
    const long long row0 = (long long)place.m * BM, col0 = (long long)place.n * BN;
    const int rows = args.m - row0 < BM ? (int)(args.m - row0) : BM; /* of the tile, inside the matrix */
    const int cols = args.n - col0 < BN ? (int)(args.n - col0) : BN;
    const unsigned tiles = (unsigned)((args.k + BK - 1) / BK);
    const int last_depth = (int)(args.k - (long long)(tiles - 1) * BK);

    for (long long z = blockIdx.z; z < args.batch; z += gridDim.z) {
        quad_stream a, b;
        a.row = thread / (BK / 4);
        a.col = thread % (BK / 4) * 4;
        a.to = a.row * PITCH_A + a.col;
        a.ld = args.lda;
        a.next = (const elem *)args.a + z * args.batch_a + (row0 + a.row) * args.lda + a.col;
        b.row = thread / (BN / 4);
        b.col = thread % (BN / 4) * 4;
        b.to = BM * PITCH_A + b.row * BN + b.col;
        b.ld = args.ldb;
        b.next = (const elem *)args.b + z * args.batch_b + b.row * args.ldb + col0 + b.col;

        /* Fill all stages but one. A stage without a tile is an empty group: waiting counts groups. */
        for (unsigned s = 0; s < STAGES - 1; s++) {
            if (s < tiles)
                copy_tile(&a, &b, shared + s * STAGE, rows, cols, s + 1 < tiles ? BK : last_depth);
            tsr_copy_commit();
        }
        tsr_copy_wait(STAGES - 2);
        tsr_barrier();

        elem sum[TM][TN];
        TSR_UNROLL
        for (int i = 0; i < TM; i++) {
            TSR_UNROLL
            for (int j = 0; j < TN; j++)
                sum[i][j] = 0;
        }

        int stage = 0; /* where the tile in use lies */
        const elem *from_a = shared + thread_m * PITCH_A, *from_b = shared + BM * PITCH_A + thread_n;
        elem fa[TM][4], fb[2][TN];
        if (tiles > 0) {
            TSR_UNROLL
            for (int i = 0; i < TM; i++)
                tile_fragment(fa[i], from_a + i * LANES_M * PITCH_A, 4, 0);
            tile_fragment(fb[0], from_b, TN, 4 * LANES_N);
        }
        for (unsigned t = 0; t < tiles; t++) {
            TSR_ROLLED
            for (int part = 0; part < BK; part += DEPTH) {
                const int more = part + DEPTH < BK || t + 1 < tiles;
                TSR_UNROLL
                for (int k = 0; k < DEPTH; k++) {
                    if (k == DEPTH - 1) { /* what is read from here on lies in the next part or tile */
                        from_a += DEPTH;
                        from_b += DEPTH * BN;
                        if (part + DEPTH == BK) {
                            tsr_copy_wait(STAGES - 2);
                            tsr_barrier();
                            stage = stage == LAST_STAGE ? 0 : stage + STAGE;
                            from_a = shared + stage + thread_m * PITCH_A;
                            from_b = shared + stage + BM * PITCH_A + thread_n;
                        }
                    }
                    if (k < DEPTH - 1 || more)
                        tile_fragment(fb[(k + 1) % 2], from_b + (k + 1) % DEPTH * BN, TN, 4 * LANES_N);
                    if (k == 0 && part == 0) {
                        if (t + STAGES - 1 < tiles)
                            copy_tile(&a, &b, shared + (stage == 0 ? LAST_STAGE : stage - STAGE), rows, cols,
                                      t + STAGES < tiles ? BK : last_depth);
                        tsr_copy_commit();
                    }
                    TSR_UNROLL
                    for (int i = 0; i < TM; i++) {
                        TSR_UNROLL
                        for (int j = 0; j < TN; j++)
                            sum[i][j] = tsr_fma(fa[i][k % 4], fb[k % 2][j], sum[i][j]);
                        if (k % 4 == 3 && (k < DEPTH - 1 || more))
                            tile_fragment(fa[i], from_a + i * LANES_M * PITCH_A + (k + 1) % DEPTH, 4, 0);
                    }
                }
            }
        }

        TSR_UNROLL
        for (int i = 0; i < TM; i++) {
            TSR_UNROLL
            for (int j = 0; j < TN; j += 4)
                tile_output_quad(&args, z, row0 + thread_m + i * LANES_M, col0 + thread_n + j / 4 * (4 * LANES_N),
                                 &sum[i][j], 1);
        }
    }
}
