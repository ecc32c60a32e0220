/* mma-tma: D = alpha * op(A) * op(B) + beta * C by mma.sync, with the copy engine to bring the tiles.
 *
 * New against mma: nobody copies, and nobody meets. It is for GPUs with TMA, whether they have wgmma or not.
 *   - Tiles come as boxes with the 128-byte swizzle, for which one lane asks; ldmatrix reads them without conflicts.
 *   - Warps wait for stages by mbarriers, each for itself, up to STAGES steps apart; there is no barrier of the CTA. So
 * one warp stores its part of D while another one multiplies.
 *   - PRODUCER = 1: a warp of its own asks for boxes, on into the next tile while this one is stored; registers go from
 * its warp group to the others (setmaxnreg, sm_90a). PRODUCER = 0: warp 0 asks, between its products (any sm_90).
 *   - A's fragments of a step are read while those before are multiplied; B's pass in pieces of 16 columns, read one
 * ahead. That takes 40 registers beside 128 sums.
 *   - D goes through shared memory, 8 lines of a warp at a time, so that it leaves as 16-byte stores of whole sectors.
 *
 *      CTA: 256 x 128              a stage, 64 of K: slabs of 64 rows or columns, 8 KiB; warp (m, n) reads slab m of A
 *      +--------+--------+         and slab n of B, in either layout
 *      | warp 0 | warp 1 |
 *      +--------+--------+           k contiguous: 64 lines of 64 k        rows contiguous: 64 lines of 64 rows
 *      | warp 2 | warp 3 |           ldmatrix, step s: chunks 2s, 2s+1     ldmatrix.trans, step s: lines 16s to 16s+15
 *      +--------+--------+
 *      | warp 4 | warp 5 |           line 0 | 0 1 2 3 4 5 6 7 |   chunks of 16 bytes, as the copy engine places them
 *      +--------+--------+           line 1 | 1 0 3 2 5 4 7 6 |
 *      | warp 6 | warp 7 |           line 2 | 2 3 0 1 6 7 4 5 |
 *      +--------+--------+
 *
 *   name      tuned     meaning
 *   BM, BN    256 128   tile of D, multiples of 64; a warp makes 64 x 64 (fragments: ptx/mma.h)
 *   STAGES    4         of the ring
 *   RASTER    8         rows of tiles in a group (collective/order.h)
 *   CTAS      1         CTAs that fit on an SM
 *   PRODUCER  1         see above
 *   PRODUCER_, CONSUMER_REGISTERS   of a thread: 40, 232
 *   ELEM_*    bf16 f16  A and B; OUT_f32: C and D are f32
 *   shared    STAGES * (128 * (BM + BN) + 16) bytes, and 2304 for each warp
 *
 * Assumes: bases, leading dimensions and batch strides of A and B are multiples of 16 bytes (the copy engine's rule; a
 * plan pads others); C and D any. M, N, K below 2^31 - 512.
 *
 * Bound by: mma.sync itself. Without copies and waits the same loop takes 2% less, without reading fragments 6%
 * (perf/LOG); two thirds of what wgmma reaches is all that sm_90 gives to mma.sync.
 *
 * Measured on an H200, 2026-11-22, bf16, 256 x 128: 429 TFLOP/s at 2048, 469 at 4096, 463 at 8192: 65, 62 and 62% of
 * cuBLAS in the same run, where mma had 54, 53 and 54%. */
#define TSR_SHARED_ALIGN 1024

#include "ptx/barrier.h"
#include "ptx/grid.h"
#include "ptx/mbarrier.h"
#include "ptx/tma.h"
#include "ptx/warpgroup.h"

#include "collective/order.h"
#include "collective/ring.h"
#include "collective/ring_barriers.h"
#include "tile/tensor_fragment.h"

#include "collective/tensor_lines.h"

enum {
    BK = 64, /* 128 bytes: the span of the swizzle */
    SLAB = 64,
    WARPS_N = BN / SLAB,
    WARPS = BM / SLAB * WARPS_N, /* that multiply */
    THREADS = 32 * WARPS + (PRODUCER ? 128 : 0),
    STEPS = BK / STEP_K,
    GROUPS = SLAB / 16, /* of 16 rows or columns, that one ldmatrix reads */
    COLS = SLAB / 8,    /* of a warp, in fragments of D */

    LINE_BYTES = 128,
    SLAB_BYTES = SLAB * LINE_BYTES, /* by BK, in either layout */
    A_BYTES = BM * LINE_BYTES,
    STAGE_BYTES = (BM + BN) * LINE_BYTES,
    FULL_AT = STAGES * STAGE_BYTES,
    EMPTY_AT = FULL_AT + 8 * STAGES,
    LINES_AT = EMPTY_AT + 8 * STAGES,
    LINES = 8,        /* of D, that a warp stores at a time */
    PITCH = SLAB + 8, /* floats from one to the next: pairs of four of them lie in all banks */
    SMEM_BYTES = LINES_AT + WARPS * LINES * PITCH * 4
};

#include "collective/slab_boxes.h"

/* What all roles know. */
typedef struct walk {
    unsigned shared;
    int k_blocks;
    unsigned first, step; /* of the CTA's walk over tiles */
} walk;

/* Where the block STAGES - 1 after this one goes: to the stage of the one before. */
TSR_DEVICE ring ring_refill(const ring *at)
{
    const int wraps = at->stage == 0;
    const ring refill = {wraps ? STAGES - 1 : at->stage - 1, at->parity ^ (unsigned)!wraps};
    return refill;
}

/* A warp asks for a block of K, once all have left the stage that it goes to. */
TSR_DEVICE void load_block(const tsr_gemm_args *args, const tsr_tensor_maps *maps, const walk *w, const ring *to,
                           const tile_place *place, int block)
{
    const unsigned at = w->shared + to->stage * STAGE_BYTES, bars = w->shared + 8 * to->stage;
    const int m = place->m * BM, n = place->n * BN, k = block * BK;
    const int za = args->batch_a ? place->z : 0, zb = args->batch_b ? place->z : 0;
    tsr_mbarrier_wait(bars + EMPTY_AT, to->parity ^ 1);
    if (tsr_elect()) {
        tsr_mbarrier_arrive_expect(bars + FULL_AT, STAGE_BYTES);
        tile_load_slabs(at, &maps->a, bars + FULL_AT, !args->trans_a, BM, m, k, za);
        tile_load_slabs(at + A_BYTES, &maps->b, bars + FULL_AT, args->trans_b, BN, n, k, zb);
    }
}

/* 16 rows of a warp's slab: group `group` of step `step`. `at` is the lane's place in the stage. */
TSR_DEVICE void read_group(unsigned to[4], unsigned at, int group, int step, int k_contiguous)
{
    if (k_contiguous)
        tsr_ldmatrix_x4(to, TSR_SHARED + (at ^ (unsigned)(step * 32)) + group * 16 * LINE_BYTES);
    else
        tsr_ldmatrix_x4_trans(to, TSR_SHARED + (at ^ (unsigned)(group * 32)) + step * STEP_K * LINE_BYTES);
}

TSR_DEVICE void read_a(unsigned a[GROUPS][4], unsigned at, int step, int a_k)
{
    TSR_UNROLL
    for (int i = 0; i < GROUPS; i++)
        read_group(a[i], at, i, step, a_k);
}

/* All rows of the warp by 16 columns. */
TSR_DEVICE void multiply_piece(float sum[GROUPS][COLS][4], unsigned a[GROUPS][4], unsigned b[4], int j)
{
    TSR_UNROLL
    for (int i = 0; i < GROUPS; i++) {
        tensor_mma(sum[i][2 * j], a[i], b);
        tensor_mma(sum[i][2 * j + 1], a[i], b + 2);
    }
}

/* sum = op(A) * op(B) for the warp's tile. a_k and b_k, constants: k is contiguous in memory. */
TSR_DEVICE void multiply(const tsr_gemm_args *args, const tsr_tensor_maps *maps, const walk *w, ring *at,
                         const tile_place *place, int warp, float sum[GROUPS][COLS][4], int a_k, int b_k)
{
    const int lane = (int)threadIdx.x % 32, blocks = w->k_blocks;
    const unsigned lane_a = tensor_lane_offset(0, lane, 0, SLAB, BK, a_k) + (unsigned)(warp / WARPS_N * SLAB_BYTES);
    const unsigned lane_b =
        tensor_lane_offset(0, lane, 1, SLAB, BK, b_k) + (unsigned)(warp % WARPS_N * SLAB_BYTES) + A_BYTES;
    unsigned a[2][GROUPS][4], b[2][4], from = at->stage * STAGE_BYTES;

    if (!PRODUCER && warp == 0) {
        ring to = *at;
        TSR_ROLLED
        for (int block = 0; block < STAGES && block < blocks; block++) {
            load_block(args, maps, w, &to, place, block);
            ring_advance(&to, STAGES);
        }
    }
    tsr_mbarrier_wait(w->shared + FULL_AT + 8 * at->stage, at->parity);
    read_a(a[0], from + lane_a, 0, a_k);
    read_group(b[0], from + lane_b, 0, 0, b_k);

    TSR_ROLLED
    for (int t = 0; t < blocks; t++) {
        TSR_UNROLL
        for (int step = 0; step < STEPS; step++) {
            TSR_UNROLL
            for (int j = 0; j < GROUPS; j++) {
                if (j < GROUPS - 1)
                    read_group(b[(j + 1) % 2], from + lane_b, j + 1, step, b_k);
                if (j == GROUPS - 2 && step == STEPS - 1) {
                    /* All of this stage has been read. */
                    tsr_warp_sync(TSR_ALL_LANES);
                    if (lane == 0)
                        tsr_mbarrier_arrive_here(w->shared + EMPTY_AT + 8 * at->stage);
                    ring_advance(at, STAGES);
                    from = at->stage * STAGE_BYTES;
                    if (t + 1 < blocks)
                        tsr_mbarrier_wait(w->shared + FULL_AT + 8 * at->stage, at->parity);
                }
                if (step < STEPS - 1 || t + 1 < blocks) {
                    if (j == GROUPS - 2)
                        read_a(a[(step + 1) % 2], from + lane_a, (step + 1) % STEPS, a_k);
                    if (j == GROUPS - 1)
                        read_group(b[(j + 1) % 2], from + lane_b, 0, (step + 1) % STEPS, b_k);
                }
                /* Late enough that the others have left the stage, too. */
                if (!PRODUCER && step == 1 && j == 0 && warp == 0 && t > 0 && t + STAGES - 1 < blocks) {
                    const ring to = ring_refill(at);
                    load_block(args, maps, w, &to, place, t + STAGES - 1);
                }
                multiply_piece(sum, a[step % 2], b[j % 2], j);
            }
        }
    }
}

TSR_DEVICE void output(const tsr_gemm_args *args, unsigned unit, int thread, float sum[GROUPS][COLS][4])
{
    const int warp = thread / 32, lane = thread % 32, aligned = tensor_lines_aligned(args);
    const tile_order raster = tile_order_of(args, BM, BN);
    const tile_place place = tile_order_place(&raster, unit);
    const tensor_out out = tensor_out_open(args, place.z);
    const long long row = (long long)place.m * BM + warp / WARPS_N * SLAB,
                    col = (long long)place.n * BN + warp % WARPS_N * SLAB;
    float *const lines = (float *)(TSR_SHARED + LINES_AT) + warp * LINES * PITCH;
    TSR_UNROLL
    for (int i = 0; i < 2 * GROUPS; i++) {
        TSR_UNROLL
        for (int j = 0; j < COLS; j++)
            tsr_store_f32x2(lines + lane / 4 * PITCH + 8 * j + 2 * (lane % 4), sum[i / 2][j][i % 2 * 2],
                            sum[i / 2][j][i % 2 * 2 + 1]);
        tsr_warp_sync(TSR_ALL_LANES);
        tensor_lines_store(&out, lines, LINES, SLAB, PITCH, lane, row + i * LINES, col, aligned);
        tsr_warp_sync(TSR_ALL_LANES);
    }
}

#if PRODUCER
/* The warp that only asks for boxes. */
TSR_DEVICE void produce(const tsr_gemm_args *args, const tsr_tensor_maps *maps, const walk *w)
{
    const tile_order raster = tile_order_of(args, BM, BN);
    ring at = {0, 0};
    for (unsigned unit = w->first; unit < raster.total; unit += w->step) {
        const tile_place place = tile_order_place(&raster, unit);
        for (int block = 0; block < w->k_blocks; block++) {
            load_block(args, maps, w, &at, &place, block);
            ring_advance(&at, STAGES);
        }
    }
}
#endif

/* A warp that multiplies, and stores. */
TSR_DEVICE void consume(const tsr_gemm_args *args, const tsr_tensor_maps *maps, const walk *w, int thread, int warp)
{
    const tile_order raster = tile_order_of(args, BM, BN);
    ring at = {0, 0};
    for (unsigned unit = w->first; unit < raster.total; unit += w->step) {
        const tile_place place = tile_order_place(&raster, unit);
        float sum[GROUPS][COLS][4];
        TSR_UNROLL
        for (int i = 0; i < GROUPS * COLS * 4; i++)
            sum[i / 4 / COLS][i / 4 % COLS][i % 4] = 0;
        if (args->k > 0) { /* otherwise A and B are not even there */
            if (args->trans_a && args->trans_b)
                multiply(args, maps, w, &at, &place, warp, sum, 0, 1);
            else if (args->trans_a)
                multiply(args, maps, w, &at, &place, warp, sum, 0, 0);
            else if (args->trans_b)
                multiply(args, maps, w, &at, &place, warp, sum, 1, 1);
            else
                multiply(args, maps, w, &at, &place, warp, sum, 1, 0);
        }
        /* Asked for once more, so that no register keeps D's places, nor alpha, during the main loop. */
        const int again = tsr_again(thread);
        output(args + (again >> 31), unit, again, sum);
    }
}

TSR_KERNEL_TMA_ANY_CLUSTER(THREADS, CTAS)
{
    const int thread = (int)threadIdx.x, warp = tsr_warp_uniform(thread / 32);
    const walk w = {.shared = tsr_shared_address(TSR_SHARED),
                    .k_blocks = (int)((args.k + BK - 1) / BK),
                    .first = blockIdx.x + gridDim.x * blockIdx.z,
                    .step = gridDim.x * gridDim.z};
    if (thread == 0) {
        ring_barriers_make(w.shared + FULL_AT, w.shared + EMPTY_AT, STAGES, 1, WARPS);
        tsr_mbarrier_fence_init();
    }
    /* Only where this CTA has the SM to itself: among several, CTAs that wait for their turn are distributed unevenly.
     */
    if (CTAS == 1)
        tsr_grid_launch_dependents();
    tsr_barrier();
    tsr_grid_wait();

#if PRODUCER
    if (warp >= WARPS) {
        tsr_registers_lower(PRODUCER_REGISTERS);
        if (warp == WARPS)
            produce(&args, &maps, &w);
        return;
    }
    tsr_registers_raise(CONSUMER_REGISTERS);
#endif
    consume(&args, &maps, &w, thread, warp);
}
