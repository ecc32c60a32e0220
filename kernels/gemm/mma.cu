/* mma: D = alpha * op(A) * op(B) + beta * C on tensor cores, each instruction chosen by hand.
 *
 * New against wmma: fragments whose layout is known, so that nothing passes through shared memory that need not.
 *   - mma.sync multiplies registers; ldmatrix fills them, four 8 x 8 blocks an instruction, transposed if need be.
 *   - cp.async brings the next tiles meanwhile, 16 bytes at a time, into STAGES buffers.
 *   - Chunks of 16 bytes are swizzled (tile/tensor_tile.h): neither copies nor ldmatrix meet bank conflicts, and there
 *     are no holes.
 *   - Fragments are double-buffered in registers: those of the next step are read while this one is multiplied
 *     (FRAGMENTS = 2).
 *
 *      CTA: BM x BN           warp: WM x WN = 64 x 64             mma.m16n8k16: 16 x 8 of D, lane 4 g + t
 *      +----+----+----+----+       n  8 columns each
 *      | w0 | w1 | w2 | w3 |   16 [ ][ ][ ][ ][ ][ ][ ][ ]             column 2t 2t+1
 *      +----+----+----+----+      [ ][ ][ ][ ][ ][ ][ ][ ]       row g      [ 0   1 ]   sum[i][j][0..3]
 *      | w4 | w5 | w6 | w7 |      [ ][ ][ ][ ][ ][ ][ ][ ]       row g + 8  [ 2   3 ]
 *      +----+----+----+----+      [ ][ ][ ][ ][ ][ ][ ][ ]
 *
 *      A fragment, rows g, g + 8:  k 2t,2t+1 | 2t+8,2t+9        B fragment, column g:  k 2t,2t+1 | 2t+8,2t+9
 *                        g         [  a0     |    a2    ]                              [   b0    |    b1   ]
 *                        g + 8     [  a1     |    a3    ]
 *
 * A warp reads 4 KiB from shared memory for 32 mma (16-bit): 32 cycles for an SM, whose tensor cores take 64 (sm_80).
 *
 *   name      tuned    meaning
 *   BM, BN    128 256  tile of D; smaller ones for small D
 *   BK        32 64    step along K
 *   WM, WN    64       tile of a warp
 *   STAGES    4 3      buffers in shared memory
 *   FRAGMENTS 2 (1)    sets of fragments in registers; tf32, whose elements are rounded first, has room for one only
 *   BAND      8        rows of tiles in a band (collective/raster.h)
 *   CTAS      1        CTAs that must fit on an SM: bounds the registers
 *   ALIGNED   0 1      1: cp.async of 16 bytes; 0: by elements, 16-bit ones through registers
 *   ANY_CD    0 1      1: C and D may lie anywhere, whatever ALIGNED is, and sums go through shared memory, so that one
 *                      piece of code ends all of them: half of the machine code
 *   ELEM_*    bf16 f16 tf32    A and B; OUT_*: f32, f16 or bf16 if C and D are another type
 *   shared    STAGES * BK * (BM + BN) * bytes of an element
 *
 * Assumes: ALIGNED = 1 needs pointers, leading dimensions and batch strides that are multiples of 16 bytes in A and B,
 * and of two elements in D but with ANY_CD = 1; the other instances nothing. Any M, N, K and transpose. Offsets are
 * 64-bit. BM and BN are at least 64, WN a multiple of 16, BK 4 or 8 chunks of 16 bytes.
 *
 * Bound by: the tensor cores, as far as mma.sync feeds them. On sm_90 that is less than two thirds of what wgmma does.
 *
 * Measured on an H200, 2026-11-21, bf16, 128 x 128, two CTAs an SM: 365 TFLOP/s at 2048, 421 at 4096, 451 at 8192: 54,
 * 54 and 57% of cuBLAS. */
#include "ptx/async_copy.h"
#include "ptx/barrier.h"
#include "ptx/warp.h"

#include "collective/raster.h"
#include "tile/tensor_fragment.h"

#ifndef ANY_CD
#define ANY_CD 0
#endif

enum {
    WARPS_N = BN / WN,
    THREADS = (BM / WM) * WARPS_N * 32,
    ROWS_16 = WM / 16, /* fragments of a warp */
    COLS_16 = WN / 16,
    STEPS = BK / STEP_K,
    TILE_A = BM * BK * (int)sizeof(elem), /* bytes */
    TILE_B = BN * BK * (int)sizeof(elem),
    STAGE = TILE_A + TILE_B,
    LAST_STAGE = (STAGES - 1) * STAGE
};

/* What a warp multiplies in one step along K. */
typedef struct fragments {
    unsigned a[ROWS_16][4], b[COLS_16][4];
} fragments;

TSR_DEVICE void load_fragments(fragments *to, const unsigned char *tiles, unsigned offset_a, unsigned offset_b,
                               int step, int a_k, int b_k)
{
    TSR_UNROLL
    for (int i = 0; i < ROWS_16; i++)
        tensor_load(to->a[i], tiles, offset_a, i, step, 0, BM, BK, a_k);
    TSR_UNROLL
    for (int j = 0; j < COLS_16; j++)
        tensor_load(to->b[j], tiles, offset_b, j, step, 1, BN, BK, b_k);
}

TSR_DEVICE void multiply_fragments(float sum[ROWS_16][2 * COLS_16][4], fragments *f)
{
    TSR_UNROLL
    for (int i = 0; i < ROWS_16; i++)
        tensor_round(f->a[i]);
    TSR_UNROLL
    for (int j = 0; j < COLS_16; j++)
        tensor_round(f->b[j]);
    TSR_UNROLL
    for (int i = 0; i < ROWS_16; i++) {
        TSR_UNROLL
        for (int j = 0; j < 2 * COLS_16; j++)
            tensor_mma(sum[i][j], f->a[i], &f->b[j / 2][j % 2 * 2]);
    }
}

/* sum = op(A) * op(B) for the CTA's tile. a_k and b_k, constants: k is contiguous in memory. */
TSR_DEVICE void multiply(const tsr_gemm_args *args, long long z, long long row0, long long col0,
                         float sum[ROWS_16][2 * COLS_16][4], int a_k, int b_k)
{
    unsigned char *const shared = TSR_SHARED;
    const int thread = (int)threadIdx.x, warp = thread / 32, lane = thread % 32;
    const unsigned offset_a = tensor_lane_offset(warp / WARPS_N * WM, lane, 0, BM, BK, a_k);
    const unsigned offset_b = tensor_lane_offset(warp % WARPS_N * WN, lane, 1, BN, BK, b_k) + TILE_A;
    const unsigned tiles = (unsigned)((args->k + BK - 1) / BK), full = (unsigned)(args->k / BK);
    const int rest = (int)(args->k % BK);
    tensor_stream a = tensor_stream_open((const elem *)args->a + z * args->batch_a, args->lda, row0, args->m, BM, BK,
                                         THREADS, thread, a_k);
    tensor_stream b = tensor_stream_open((const elem *)args->b + z * args->batch_b, args->ldb, col0, args->n, BN, BK,
                                         THREADS, thread, b_k);

    /* Fill all stages but one. A stage without a tile is an empty group: waiting counts groups. */
    TSR_ROLLED
    for (unsigned t = 0; t < STAGES - 1; t++) {
        if (t < tiles) {
            unsigned char *const to = shared + t * STAGE;
            tensor_copy(&a, to, BM, BK, THREADS, thread, t < full ? BK : rest, a_k, ALIGNED);
            tensor_copy(&b, to + TILE_A, BN, BK, THREADS, thread, t < full ? BK : rest, b_k, ALIGNED);
        }
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
                if (t + STAGES - 1 < tiles) {
                    unsigned char *const to = shared + (stage == 0 ? LAST_STAGE : stage - STAGE);
                    const int depth = t + STAGES - 1 < full ? BK : rest;
                    tensor_copy(&a, to, BM, BK, THREADS, thread, depth, a_k, ALIGNED);
                    tensor_copy(&b, to + TILE_A, BN, BK, THREADS, thread, depth, b_k, ALIGNED);
                }
                tsr_copy_commit();
            }
            multiply_fragments(sum, now);
        }
    }
}

#if ANY_CD
#if WN != 64
#error "ANY_CD: a row of a warp's tile is a pair for each lane"
#endif

/* Where pair `index` of a row of the warp's tile goes: rows are 256 bytes, and the four pairs that eight rows leave at
 * once lie in different banks. */
TSR_DEVICE float *pair_place(int warp, int row, int index)
{
    return (float *)(void *)(TSR_SHARED + warp * (WM * WN * 4)) + row * WN + (index ^ row % 8 * 4) * 2;
}

/* The tile to D, a row of the warp's 64 columns after the other; all warps have read the stages. */
TSR_DEVICE void output_rows(const tensor_out *out, long long row0, long long col0, float sum[ROWS_16][2 * COLS_16][4])
{
    const int thread = tsr_again((int)threadIdx.x), warp = thread / 32, lane = thread % 32;
    const int paired = tensor_out_is_paired(out);
    const long long row = row0 + warp / WARPS_N * WM, col = col0 + warp % WARPS_N * WN + lane * 2;
    TSR_UNROLL
    for (int i = 0; i < ROWS_16 * 2; i++) { /* eight rows each */
        TSR_UNROLL
        for (int j = 0; j < 2 * COLS_16; j++)
            tsr_store_f32x2(pair_place(warp, i * 8 + lane / 4, j * 4 + lane % 4), sum[i / 2][j][i % 2 * 2],
                            sum[i / 2][j][i % 2 * 2 + 1]);
    }
    tsr_warp_sync(TSR_ALL_LANES);
    TSR_ROLLED
    for (int i = 0; i < WM; i++)
        tensor_output_pair(out, row + i, col, pair_place(warp, i, lane), paired);
    tsr_barrier(); /* the next problem's tiles may come */
}
#endif

TSR_KERNEL_CTAS(THREADS, CTAS)
{
    const tile_place place =
        tile_raster(blockIdx.x, (unsigned)((args.m + BM - 1) / BM), (unsigned)((args.n + BN - 1) / BN), BAND);
    const long long row0 = (long long)place.m * BM, col0 = (long long)place.n * BN;

    for (long long z = blockIdx.z; z < args.batch; z += gridDim.z) {
        float sum[ROWS_16][2 * COLS_16][4];
        TSR_UNROLL
        for (int i = 0; i < ROWS_16 * 2 * COLS_16 * 4; i++)
            sum[i / 4 / (2 * COLS_16)][i / 4 % (2 * COLS_16)][i % 4] = 0;

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

        const tensor_out out = tensor_out_open(&args, z);
#if ANY_CD
        output_rows(&out, row0, col0, sum);
#else
        const int thread = tsr_again((int)threadIdx.x), warp = thread / 32;
        const long long row = row0 + warp / WARPS_N * WM + thread % 32 / 4;
        const long long col = col0 + warp % WARPS_N * WN + thread % 4 * 2;
        TSR_UNROLL
        for (int i = 0; i < ROWS_16; i++) {
            TSR_UNROLL
            for (int j = 0; j < 2 * COLS_16; j++) {
                tensor_output_pair(&out, row + 16 * i, col + 8 * j, &sum[i][j][0], ALIGNED);
                tensor_output_pair(&out, row + 16 * i + 8, col + 8 * j, &sum[i][j][2], ALIGNED);
            }
        }
#endif
    }
}
