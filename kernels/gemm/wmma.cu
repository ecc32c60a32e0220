/* wmma: D = alpha * op(A) * op(B) + beta * C on tensor cores, the simplest way.
 *
 * New against tiled: 32 lanes together multiply 16 x 16 matrices. One instruction makes 4096 multiply-adds, where an
 * FFMA makes 32. A matrix in registers is a fragment: a warp loads it from shared memory, multiplies, stores it, and
 * never learns which lane has which element. A and B are 16-bit, sums are f32.
 *
 *      CTA: BM x BN = 128 x 128                 warp: WM x WN = 32 x 64
 *      +--------+--------+                           b0  b1  b2  b3      fragments of op(B), 16 x 16
 *      |   w0   |   w1   |                      a0 [ 00 ][ 01 ][ 02 ][ 03 ]
 *      +--------+--------+                      a1 [ 10 ][ 11 ][ 12 ][ 13 ]
 *      |   w2   |   w3   |                      |
 *      +--------+--------+                      fragments of op(A); sum[i][j] += a[i] * b[j]: 6 loads for 8 products
 *      |   w4   |   w5   |
 *      +--------+--------+
 *      |   w6   |   w7   |
 *      +--------+--------+
 *
 * Tiles of A and B lie in shared memory the way they lie in global memory: transposed or not, the load of a fragment is
 * told. Lines are 8 elements longer than need be, so that 8 of them, one below the other, begin in different banks.
 * As nobody knows where an element of a sum is, alpha, beta and C wait until the fragments are back in shared memory,
 * 16 x 16 at a time, in the warp's own scratch.
 *
 *   name      tuned    meaning
 *   BM, BN    128      tile of D
 *   BK        32       step along K
 *   WM, WN    32, 64   tile of a warp
 *   ALIGNED   0 1      1: loads of 16 bytes from global memory, else of one element
 *   ELEM_*    bf16 f16    A and B; OUT_f32: C and D are f32
 *   shared    the larger of both layouts of both tiles, or 1280 bytes of scratch for each warp
 *
 * Assumes: ALIGNED = 1 needs pointers, leading dimensions and batch strides that are multiples of 8 elements; the
 * other instances nothing. Any M, N, K and transpose. Offsets are 64-bit.
 *
 * Bound by: waiting. Between the two barriers of a tile the tensor cores have nothing to do.
 *
 * Measured on an H200, 2026-11-21, bf16: 59 TFLOP/s at 2048, 55 at 4096: 9 and 7% of cuBLAS. */
#include "ptx/barrier.h"
#include "ptx/warp.h"
#include "tile/tensor_line.h"
#include "tile/wmma_fragment.h"

enum {
    WARPS_N = BN / WN,
    THREADS = (BM / WM) * WARPS_N * 32,
    ROWS_16 = WM / 16,
    COLS_16 = WN / 16,
    SPACE_A = BM * (BK + 8) > BK *(BM + 8) ? BM *(BK + 8) : BK *(BM + 8), /* elements, in either layout */
    SCRATCH_PITCH = 20,
    SCRATCH = 16 * SCRATCH_PITCH /* floats of a warp */
};

/* sum += what the tiles in shared memory give for the warp's place (m, n). a_k and b_k: k is contiguous in them;
 * constants, since instructions differ. */
TSR_DEVICE void multiply_tiles(tsr_wmma_acc sum[ROWS_16][COLS_16], const elem *As, const elem *Bs, int m, int n,
                               int a_k, int b_k)
{
    const int pitch_a = (a_k ? BK : BM) + 8, pitch_b = (b_k ? BK : BN) + 8;
    TSR_UNROLL
    for (int k = 0; k < BK; k += 16) {
        fragment a[ROWS_16], b[COLS_16];
        TSR_UNROLL
        for (int i = 0; i < ROWS_16; i++)
            load_a(&a[i], &As[a_k ? (m + 16 * i) * pitch_a + k : k * pitch_a + m + 16 * i], (unsigned)pitch_a, !a_k);
        TSR_UNROLL
        for (int j = 0; j < COLS_16; j++)
            load_b(&b[j], &Bs[b_k ? (n + 16 * j) * pitch_b + k : k * pitch_b + n + 16 * j], (unsigned)pitch_b, b_k);
        TSR_UNROLL
        for (int i = 0; i < ROWS_16; i++) {
            TSR_UNROLL
            for (int j = 0; j < COLS_16; j++)
                multiply(&sum[i][j], &a[i], &b[j], !a_k, b_k);
        }
    }
}

TSR_KERNEL(THREADS)
{
    elem *const As = (elem *)TSR_SHARED, *const Bs = As + SPACE_A;
    const unsigned tiles_n = (unsigned)((args.n + BN - 1) / BN);
    const long long row0 = (long long)(blockIdx.x / tiles_n) * BM, col0 = (long long)(blockIdx.x % tiles_n) * BN;
    const int thread = (int)threadIdx.x, warp = thread / 32, lane = thread % 32;
    const int m = warp / WARPS_N * WM, n = warp % WARPS_N * WN;

    for (long long z = blockIdx.z; z < args.batch; z += gridDim.z) {
        const elem *const a = (const elem *)args.a + z * args.batch_a, *const b =
                                                                           (const elem *)args.b + z * args.batch_b;
        tsr_wmma_acc sum[ROWS_16][COLS_16];
        TSR_UNROLL
        for (int i = 0; i < ROWS_16 * COLS_16 * 8; i++)
            sum[i / 8 / COLS_16][i / 8 % COLS_16].elements[i % 8] = 0;

        for (long long k0 = 0; k0 < args.k; k0 += BK) {
            if (args.trans_a)
                tile_lines(As, a, args.lda, k0, args.k, BK, row0, args.m, BM, THREADS, thread, ALIGNED);
            else
                tile_lines(As, a, args.lda, row0, args.m, BM, k0, args.k, BK, THREADS, thread, ALIGNED);
            if (args.trans_b)
                tile_lines(Bs, b, args.ldb, col0, args.n, BN, k0, args.k, BK, THREADS, thread, ALIGNED);
            else
                tile_lines(Bs, b, args.ldb, k0, args.k, BK, col0, args.n, BN, THREADS, thread, ALIGNED);
            tsr_barrier(); /* the tiles are there */
            if (args.trans_a && args.trans_b)
                multiply_tiles(sum, As, Bs, m, n, 0, 1);
            else if (args.trans_a)
                multiply_tiles(sum, As, Bs, m, n, 0, 0);
            else if (args.trans_b)
                multiply_tiles(sum, As, Bs, m, n, 1, 1);
            else
                multiply_tiles(sum, As, Bs, m, n, 1, 0);
            tsr_barrier(); /* nobody reads them any more */
        }

        const tensor_out out = tensor_out_open(&args, z);
        float *const scratch = (float *)TSR_SHARED + warp * SCRATCH;
        TSR_UNROLL
        for (int i = 0; i < ROWS_16; i++) {
            TSR_UNROLL
            for (int j = 0; j < COLS_16; j++) {
                tsr_wmma_store_shared(scratch, &sum[i][j], SCRATCH_PITCH);
                tsr_warp_sync(TSR_ALL_LANES);
                TSR_UNROLL
                for (int e = 0; e < 8; e++) { /* two rows at a time */
                    const int row = 2 * e + lane / 16, col = lane % 16;
                    tensor_output(&out, row0 + m + 16 * i + row, col0 + n + 16 * j + col,
                                  scratch[row * SCRATCH_PITCH + col]);
                }
                tsr_warp_sync(TSR_ALL_LANES);
            }
        }
        tsr_barrier(); /* the next problem of the batch overwrites the scratch */
    }
}
