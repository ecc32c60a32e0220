/* mma_int8: D = alpha * op(A) * op(B) + beta * C of 8-bit integers on the tensor cores of sm_80 and later.
 *
 * New against mma: mma.m16n8k32 multiplies s8 and u8, in every mix, to sums in s32, which are exact modulo 2^32.
 *   - ldmatrix moves bytes as it moves halves of twice the width, so fragments come as those of 16 bits do, from
 *     operands that lie along K: 32 bytes of 16 lines are a step. Plans copy the others transposed first
 *     (kernels/prep/transpose.cu); with DIRECT the copies to shared memory transpose, byte by byte.
 *   - Zero points: each thread adds up the bytes of one or two of the tile's rows of A and columns of B in the stage
 *     that is multiplied (collective/zero_points.h), where somebody asks for it: a uniform branch.
 *   - Which operand is u8 is a uniform branch around the main loop; the type of D, scales of rows and columns and a
 * bias are some around the end (collective/int8_output.h), which goes through shared memory, so that it is there once.
 *
 *      CTA: BM x BN           warp: WM x WN = 64 x 64             mma.m16n8k32: 16 x 8 of D, lane 4 g + t
 *      +----+----+                n  8 columns each
 *      | w0 | w1 |            16 [ ][ ][ ][ ][ ][ ][ ][ ]             column 2t 2t+1
 *      +----+----+               [ ][ ][ ][ ][ ][ ][ ][ ]       row g      [ 0   1 ]   sum[i][j][0..3]
 *      | w2 | w3 |               [ ][ ][ ][ ][ ][ ][ ][ ]       row g + 8  [ 2   3 ]
 *      +----+----+               [ ][ ][ ][ ][ ][ ][ ][ ]
 *
 *      A fragment, rows g, g + 8:  k 4t..4t+3 | 4t+16..4t+19     B fragment, column g:  k 4t..4t+3 | 4t+16..4t+19
 *                        g         [   a0     |     a2     ]                            [   b0     |     b1     ]
 *                        g + 8     [   a1     |     a3     ]
 *
 *   name      tuned    meaning
 *   BM, BN    128 64   tile of D
 *   BK        64       step along K: two instructions
 *   WM, WN    64 32    tile of a warp
 *   STAGES    3        buffers in shared memory: 48 KiB, so that two CTAs fit on an SM of 8.6
 *   BAND      8        rows of tiles in a band (collective/raster.h)
 *   CTAS      2 4      CTAs that must fit on an SM: bounds the registers
 *   DIRECT    0 1      0: cp.async of 16 bytes; 1: bytes through registers, of any layout and alignment
 *   shared    STAGES * BK * (BM + BN), and (BM + BN) * 4 of sums for zero points
 *
 * Assumes: without DIRECT pointers, leading dimensions and batch strides that are multiples of 16 bytes in A and B,
 * which lie along K; with it nothing. Any M, N and K. Offsets are 64-bit.
 *
 * Bound by: the tensor cores, as far as mma.sync feeds them. On sm_90 that is less than two thirds of what wgmma does.
 *
 * Measured: docs/PERFORMANCE.md, "8-bit integers by mma.sync", on an H200. */
#include "ptx/async_copy.h"
#include "ptx/barrier.h"
#include "ptx/scaled.h"

#include "collective/raster.h"
#include "tile/byte_tile.h" /* and 8-bit elements, whose types the next takes */
#include "tile/tensor_fragment.h"

#include "collective/int8_output.h"

enum {
    WARPS_N = BN / WN,
    THREADS = (BM / WM) * WARPS_N * 32,
    ROWS_16 = WM / 16, /* fragments of a warp */
    COLS_16 = WN / 16,
    STEPS = BK / STEP_K,
    TILE_A = BM * BK, /* bytes */
    TILE_B = BN * BK,
    STAGE = TILE_A + TILE_B,
    ZEROS_AT = STAGES * STAGE,  /* sums of bytes, of BM rows and BN columns */
    LINES = (BM + BN) / THREADS /* rows and columns whose bytes a thread adds up */
};

#if !DIRECT
typedef tensor_stream stream;
#else
typedef byte_stream stream;
#endif

/* Of A, or of B; `is_along_k` is 1 but with DIRECT. */
TSR_DEVICE stream stream_open(const elem *origin, long long ld, long long first, long long lines, int height,
                              int thread, int is_along_k)
{
#if !DIRECT
    (void)is_along_k;
    return tensor_stream_open(origin, ld, first, lines, height, BK, THREADS, thread, 1);
#else
    (void)thread;
    return byte_stream_open(origin, ld, first, lines, height, is_along_k);
#endif
}

TSR_DEVICE void stream_copy(stream *s, unsigned char *to, int height, int thread, int depth)
{
#if !DIRECT
    tensor_copy(s, to, height, BK, THREADS, thread, depth, 1, 1);
#else
    byte_copy(s, to, height, BK, THREADS, thread, depth < BK ? depth : BK);
#endif
}

/* What a warp multiplies in one step along K. */
typedef struct fragments {
    unsigned a[ROWS_16][4], b[COLS_16][4];
} fragments;

/* `second_`: constants, A and B are u8. */
TSR_DEVICE void multiply_fragments(int sum[ROWS_16][2 * COLS_16][4], const fragments *f, int second_a, int second_b)
{
    TSR_UNROLL
    for (int i = 0; i < ROWS_16; i++) {
        TSR_UNROLL
        for (int j = 0; j < 2 * COLS_16; j++)
            tsr_mma_int8(sum[i][j], f->a[i], &f->b[j / 2][j % 2 * 2], second_a, second_b);
    }
}

TSR_DEVICE void multiply_step(int sum[ROWS_16][2 * COLS_16][4], const unsigned char *tiles, unsigned offset_a,
                              unsigned offset_b, int step, int second_a, int second_b)
{
    fragments f;
    TSR_UNROLL
    for (int i = 0; i < ROWS_16; i++)
        tensor_load(f.a[i], tiles, offset_a, i, step, 0, BM, BK, 1);
    TSR_UNROLL
    for (int j = 0; j < COLS_16; j++)
        tensor_load(f.b[j], tiles, offset_b, j, step, 1, BN, BK, 1);
    if (second_a && second_b)
        multiply_fragments(sum, &f, 1, 1);
    else if (second_a)
        multiply_fragments(sum, &f, 1, 0);
    else if (second_b)
        multiply_fragments(sum, &f, 0, 1);
    else
        multiply_fragments(sum, &f, 0, 0);
}

/* sum = op(A) * op(B) for the CTA's tile, and the sums of its bytes where has_zeros. second_a and second_b: A and B are
 * u8; constants but with DIRECT. */
TSR_DEVICE void multiply(const tsr_gemm_args *args, long long z, long long row0, long long col0, int has_zeros,
                         int sum[ROWS_16][2 * COLS_16][4], int second_a, int second_b)
{
    unsigned char *const shared = TSR_SHARED;
    const unsigned address = tsr_shared_address(shared);
    const int thread = (int)threadIdx.x, warp = thread / 32, lane = thread % 32;
    const unsigned offset_a = tensor_lane_offset(warp / WARPS_N * WM, lane, 0, BM, BK, 1);
    const unsigned offset_b = tensor_lane_offset(warp % WARPS_N * WN, lane, 1, BN, BK, 1) + TILE_A;
    const unsigned tiles = (unsigned)((args->k + BK - 1) / BK), full = (unsigned)(args->k / BK);
    const int rest = (int)(args->k % BK);
    stream a =
        stream_open((const elem *)args->a + z * args->batch_a, args->lda, row0, args->m, BM, thread, !args->trans_a);
    stream b =
        stream_open((const elem *)args->b + z * args->batch_b, args->ldb, col0, args->n, BN, thread, args->trans_b);
    int of_line[LINES];
    TSR_UNROLL
    for (int i = 0; i < LINES; i++)
        of_line[i] = 0;

    /* Copies run STAGES - 1 tiles ahead. A stage without a tile is an empty group: waiting counts groups. */
    unsigned stage = 0; /* where the next tile to come goes, and then the one in use lies */
    TSR_ROLLED
    for (unsigned t = 0; t < tiles + STAGES - 1; t++) {
        if (t >= STAGES - 1) {
            tsr_copy_wait(STAGES - 2);
            tsr_barrier(); /* the tile is there for all, and all are done with the one before it */
        }
        if (t < tiles) {
            stream_copy(&a, shared + stage, BM, thread, t < full ? BK : rest);
            stream_copy(&b, shared + stage + TILE_A, BN, thread, t < full ? BK : rest);
        }
        tsr_copy_commit();
        stage = stage == (STAGES - 1) * STAGE ? 0 : stage + STAGE;
        if (t < STAGES - 1)
            continue;
        TSR_UNROLL
        for (int step = 0; step < STEPS; step++)
            multiply_step(sum, shared + stage, offset_a, offset_b, step, second_a, second_b);
        if (has_zeros)
            TSR_UNROLL
        for (int i = 0; i < LINES; i++) { /* B's columns lie behind A's rows */
            const int line = i * THREADS + thread;
            of_line[i] += zero_sum_of(address + stage + (unsigned)(line * BK), BK / 16, thread / (128 / BK),
                                      line < BM ? second_a : second_b);
        }
    }
    if (has_zeros)
        TSR_UNROLL
    for (int i = 0; i < LINES; i++)
        tsr_shared_store_u32(address + ZEROS_AT + (unsigned)(i * THREADS + thread) * 4, (unsigned)of_line[i]);
    tsr_barrier(); /* the stages are free, and the sums of bytes are there */
}

TSR_KERNEL_SCALED_ANY_CLUSTER(THREADS, CTAS)
{
    const tile_place place =
        tile_raster(blockIdx.x, (unsigned)((args.m + BM - 1) / BM), (unsigned)((args.n + BN - 1) / BN), BAND);
    const long long row0 = (long long)place.m * BM, col0 = (long long)place.n * BN;
    const int has_zeros = scaling.zero_a || scaling.zero_b;
    const int second_a = args.type_a == ANY_SECOND, second_b = args.type_b == ANY_SECOND;
    (void)maps;

    for (long long z = blockIdx.z; z < args.batch; z += gridDim.z) {
        int sum[ROWS_16][2 * COLS_16][4];
        TSR_UNROLL
        for (int i = 0; i < ROWS_16 * 2 * COLS_16 * 4; i++)
            sum[i / 4 / (2 * COLS_16)][i / 4 % (2 * COLS_16)][i % 4] = 0;

        if (args.k > 0) {  /* otherwise A and B are not even there */
            tsr_barrier(); /* the problem before has left */
#if !DIRECT
            if (second_a && second_b)
                multiply(&args, z, row0, col0, has_zeros, sum, 1, 1);
            else if (second_a)
                multiply(&args, z, row0, col0, has_zeros, sum, 1, 0);
            else if (second_b)
                multiply(&args, z, row0, col0, has_zeros, sum, 0, 1);
            else
                multiply(&args, z, row0, col0, has_zeros, sum, 0, 0);
#else
            multiply(&args, z, row0, col0, has_zeros, sum, second_a, second_b);
#endif
        }

        const int warp = tsr_again((int)threadIdx.x) / 32;
        const unsigned shared = tsr_shared_address(TSR_SHARED);
        int8_output(&args, &scaling, z, shared + (unsigned)(warp * SLAB_BYTES), shared + ZEROS_AT, row0, col0,
                    warp / WARPS_N * WM, warp % WARPS_N * WN, (int(*)[SLAB_SUMS])sum);
    }
}
