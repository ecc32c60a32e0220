/* warp-specialized: D = alpha * op(A) * op(B) + beta * C in FP32, by threads that do nothing but multiply and add.
 *
 * New against warptile: whoever multiplies neither copies nor meets anybody.
 *   - The copy engine (TMA) brings the tiles: one lane of a producer warp asks for boxes. cp.async of 4 bytes, which
 * transposed A on its way, took more time of the load/store units than its instructions say (perf/LOG).
 *   - An operand that is contiguous along K arrives as rows of k. Three transposing warps transpose it where it lies,
 * 32 rows at a time, before the multipliers see it.
 *   - Warps wait for stages by mbarriers, each for itself; there is no barrier of the CTA in the main loop.
 *   - Registers move from producers to multipliers (setmaxnreg).
 *
 *      warp group of producers                                         multipliers: warps of WM x WN, as in warptile
 *        warp 0: loads     raw[s]   A has arrived, not yet transposed         full[s]   wait, read fragments, multiply,
 * add warps 1..3: turn  full[s]  B has arrived and A is transposed         empty[s]  tell that a stage has been read
 *
 * A stage is slabs of 32 rows of op(A), or columns of op(B), by BK: slab[k][32]. Turning a slab takes as much place as
 * it held before, 2 KiB:
 *
 *      arrived: 32 rows of 16 k, 64-byte swizzle                    transposed: 16 k of 32 rows
 *      lane (q, r) reads quads q of rows r, r + 8, r + 16, r + 24,   and writes, for each of its 4 k, the quad r.
 *
 * Both without bank conflicts. So place 4 r + i of a transposed slab is row r + 8 i; only the output minds.
 *
 *   name      tuned    meaning
 *   BM, BN    128 256  tile of D, multiples of 32
 *   BK        16       step along K: the 64 bytes of the swizzle
 *   DEPTH     8        steps of k in the code of the main loop: 17 KB; 35 KB for 16 are fetched too slowly
 *   WM, WN    64       tile of a warp; WM / TM x WN / TN lanes, at least 2 each way
 *   TM, TN    16, 8    elements of D that a thread makes, in quads
 *   STAGES    6        of the ring
 *   BAND      16       rows of tiles in a band (collective/raster.h)
 *   CTAS      1        CTAs that fit on an SM
 *   PRODUCER_, CONSUMER_REGISTERS   of a thread: 40, 232
 *   shared    STAGES * (BK * (BM + BN) * 4 + 24) bytes, and 4 * WM / TM lines of WN + 4 elements for each warp
 *                      that multiplies
 *
 * Assumes: bases, leading dimensions and batch strides of A and B are multiples of 16 bytes (the copy engine's rule; a
 * plan pads others); C and D any. M, N, K below 2^31 - 512.
 * Bound by: the two banks of the register file. A model of them over the machine code, a cycle for each operand of the
 * busier bank, gives 0.85 multiply-adds a cycle for the main loop (tools/machine-code --banks); other orders of the
 * same instructions came out up to 0.05 lower, and up to 2.6% slower. Beside that, a tile of 128 x 256 costs 9 us
 * before its first and after its last product.
 *
 * Measured on an H200, 2026-11-21, 128 x 256: 51.6 TFLOP/s at 2048, 52.6 at 4096, 53.0 at 8192: 1.03, 1.03 and 1.04 of
 * cuBLAS in the same run. A transposed 52.4 at 4096 (1.02), B 49.0 (0.97; 128 x 128 50.1), both 51.2 (1.05). */
#define TSR_SHARED_ALIGN 1024

#include "ptx/barrier.h"
#include "ptx/grid.h"
#include "ptx/mbarrier.h"
#include "ptx/tma.h"
#include "ptx/warpgroup.h"
#include "tile/fragment.h"
#include "tile/output.h"

#include "collective/raster.h"
#include "collective/ring.h"

enum {
    WARPS_N = BN / WN,
    MULTIPLIERS = (BM / WM) * WARPS_N * 32, /* threads */
    THREADS = MULTIPLIERS + 128,
    TURNERS = 3,       /* warps */
    LANES_M = WM / TM, /* a warp's lanes down and across its tile */
    LANES_N = WN / TN,
    STEP_M = 4 * LANES_M, /* rows from one quad of a thread to its next */
    STEP_N = 4 * LANES_N,

    SLAB = 32, /* rows or columns */
    SLAB_BYTES = SLAB * BK * 4,
    A_BYTES = BM * BK * 4,
    B_BYTES = BN * BK * 4,
    STAGE_BYTES = A_BYTES + B_BYTES,
    RAW_AT = STAGES * STAGE_BYTES,
    FULL_AT = RAW_AT + 8 * STAGES,
    EMPTY_AT = FULL_AT + 8 * STAGES,
    LINES_AT = (EMPTY_AT + 8 * STAGES + 15) / 16 * 16,
    LINES = 4 * LANES_M, /* rows of a warp's tile that leave together: a quad of rows of each of its lanes down */
    PITCH = WN + 4,      /* elements from line to line */
    SMEM_BYTES = LINES_AT + MULTIPLIERS / 32 * LINES * PITCH * 4
};

#include "collective/slab_boxes.h"

/* What all roles know. */
typedef struct walk {
    unsigned shared;
    unsigned steps; /* along K */
    int m, n;       /* where the CTA's tile begins */
    int turn_a, turn_b;
} walk;

/* One lane asks for the boxes of all steps. */
TSR_DEVICE void produce(const walk *w, const tsr_tensor_maps *maps, ring *at, int za, int zb)
{
    const unsigned raw_bytes = (w->turn_a ? A_BYTES : 0u) + (w->turn_b ? B_BYTES : 0u);
    for (unsigned t = 0; t < w->steps; t++) {
        const unsigned to = w->shared + at->stage * STAGE_BYTES, bars = w->shared + 8 * at->stage;
        tsr_mbarrier_wait(bars + EMPTY_AT, at->parity ^ 1);
        if (tsr_elect()) {
            if (raw_bytes)
                tsr_mbarrier_arrive_expect(bars + RAW_AT, raw_bytes);
            tsr_mbarrier_arrive_expect(bars + FULL_AT, STAGE_BYTES - raw_bytes);
            tile_load_slabs(to, &maps->a, bars + (w->turn_a ? RAW_AT : FULL_AT), w->turn_a, BM, w->m, (int)t * BK, za);
            tile_load_slabs(to + A_BYTES, &maps->b, bars + (w->turn_b ? RAW_AT : FULL_AT), w->turn_b, BN, w->n,
                            (int)t * BK, zb);
        }
        ring_advance(at, STAGES);
    }
}

/* A warp transposes a slab: 32 rows of 16 k to 16 k of 32 rows. */
TSR_DEVICE void turn_slab(float *slab)
{
    const int lane = (int)tsr_lane_id(), q = lane / 8, r = lane % 8;
    tsr_f32x4 quad[4];
    TSR_UNROLL
    for (int i = 0; i < 4; i++)
        quad[i] = tsr_load_f32x4(slab + (r + 8 * i) * BK + 4 * (q ^ r / 2));
    tsr_warp_sync(TSR_ALL_LANES);
    TSR_UNROLL
    for (int k = 0; k < 4; k++) {
        tsr_f32x4 transposed = quad[0];
        TSR_UNROLL
        for (int i = 0; i < 4; i++)
            tsr_lane(transposed, i) = tsr_lane(quad[i], k);
        tsr_store_f32x4(slab + (4 * q + k) * SLAB + 4 * r, transposed);
    }
}

/* Slabs that came as rows of k are distributed to the transposing warps, one after the other, through all steps; `next`
 * is this warp's next one, counted from the first slab of the step. Each lane arrives for what it has written itself.
 */
TSR_DEVICE void turn(const walk *w, ring *at, int *next)
{
    const int slabs = (w->turn_a ? BM / SLAB : 0) + (w->turn_b ? BN / SLAB : 0);
    const unsigned first = w->turn_a ? 0 : A_BYTES;
    if (slabs == 0)
        return;
    for (unsigned t = 0; t < w->steps; t++) {
        const unsigned bars = w->shared + 8 * at->stage;
        tsr_mbarrier_wait(bars + RAW_AT, at->parity);
        for (; *next < slabs; *next += TURNERS) {
            turn_slab((float *)(TSR_SHARED + at->stage * STAGE_BYTES + first + (unsigned)(*next * SLAB_BYTES)));
            /* The copy engine will write here again. */
            tsr_fence_async_shared();
            tsr_mbarrier_arrive_here(bars + FULL_AT);
        }
        *next -= slabs;
        ring_advance(at, STAGES);
    }
}

/* Where the quads of a stage lie that a thread reads, in floats: place `mn` of k = 0. */
TSR_DEVICE int slab_place(int mn)
{
    return mn / SLAB * (SLAB * BK) + mn % SLAB;
}

/* The `count` elements of a thread for one k: quads that are `step` places apart. */
TSR_DEVICE void read_fragment(float *to, const float *from, int count, int step)
{
    TSR_UNROLL
    for (int i = 0; i < count; i += 4)
        tile_fragment(to + i, from + slab_place(i / 4 * step), 4, 0);
}

/* As an ox ploughs (collective/warp_product.h). */
TSR_DEVICE void multiply_step(const float a[TM], const float b[TN], float sum[TM][TN])
{
    TSR_UNROLL
    for (int u = 0; u < TM * TN; u++) {
        const int i = u / TN, j = i % 2 ? u % TN : TN - 1 - u % TN;
        sum[i][j] = tsr_fma_f32(a[i], b[j], sum[i][j]);
    }
}

TSR_DEVICE void multiply(const walk *w, ring *at, int thread_m, int thread_n, float sum[TM][TN])
{
    const float *const from_a = (const float *)TSR_SHARED + slab_place(thread_m);
    const float *const from_b = (const float *)(TSR_SHARED + A_BYTES) + slab_place(thread_n);
    const int lane = (int)tsr_lane_id();
    const float *a = from_a + at->stage * (STAGE_BYTES / 4), *b = from_b + at->stage * (STAGE_BYTES / 4);
    float fa[2][TM], fb[2][TN];

    TSR_UNROLL
    for (int i = 0; i < TM; i++) {
        TSR_UNROLL
        for (int j = 0; j < TN; j++)
            sum[i][j] = 0;
    }
    if (w->steps > 0) {
        tsr_mbarrier_wait(w->shared + FULL_AT + 8 * at->stage, at->parity);
        read_fragment(fa[0], a, TM, STEP_M);
        read_fragment(fb[0], b, TN, STEP_N);
    }
    const unsigned parts = BK / DEPTH, rounds = w->steps * parts;
    for (unsigned t = 0; t < rounds; t++) {
        TSR_UNROLL
        for (int k = 0; k < DEPTH; k++) {
            if (k == DEPTH - 1) {
                a += DEPTH * SLAB;
                b += DEPTH * SLAB;
                if (DEPTH == BK || (t + 1) % parts == 0) {
                    /* All of this stage has been read. */
                    tsr_warp_sync(TSR_ALL_LANES);
                    if (lane == 0)
                        tsr_mbarrier_arrive_here(w->shared + EMPTY_AT + 8 * at->stage);
                    ring_advance(at, STAGES);
                    a = from_a + at->stage * (STAGE_BYTES / 4);
                    b = from_b + at->stage * (STAGE_BYTES / 4);
                    if (t + 1 < rounds)
                        tsr_mbarrier_wait(w->shared + FULL_AT + 8 * at->stage, at->parity);
                }
            }
            if (k < DEPTH - 1 || t + 1 < rounds) {
                /* Which of the two is read first decides how the assembler orders and places what follows. */
                read_fragment(fb[(k + 1) % 2], b + (k + 1) % DEPTH * SLAB, TN, STEP_N);
                read_fragment(fa[(k + 1) % 2], a + (k + 1) % DEPTH * SLAB, TM, STEP_M);
            }
            multiply_step(fa[k % 2], fb[k % 2], sum);
        }
    }
}

/* Row of op(A), or column of op(B), of place `at` in the tile. Places whose bits do not overlap may be taken
 * apart. */
TSR_DEVICE int place_of(int at, int transposed)
{
    return transposed ? at / SLAB * SLAB + at % SLAB / 4 + at % 4 * 8 : at;
}

/* 1 if four neighbours in a row of D, and of C where it is read, are one access. */
TSR_DEVICE int output_is_aligned(const tsr_gemm_args *args)
{
    const unsigned long long d =
        (unsigned long long)args->d | (unsigned long long)args->ldd * 4 | (unsigned long long)args->batch_d * 4;
    const unsigned long long c =
        (unsigned long long)args->c | (unsigned long long)args->ldc * 4 | (unsigned long long)args->batch_c * 4;
    return (args->beta != 0.0 ? c | d : d) % 16 == 0;
}

/* Where in the tile a thread's first quad of sums lies, as in collective/warp_product.h. */
TSR_DEVICE int thread_row(int thread)
{
    const int lane = thread % 32;
    return thread / 32 / WARPS_N * WM + 4 * ((lane >> 1 & 1) | (lane >> 2) / (LANES_N / 2) << 1);
}
TSR_DEVICE int thread_column(int thread)
{
    const int lane = thread % 32;
    return thread / 32 % WARPS_N * WN + 4 * ((lane & 1) | (lane >> 2) % (LANES_N / 2) << 1);
}

/* A thread's sums of four rows of each of its warp's lanes down, as lines of D. */
TSR_DEVICE void leave_lines(const walk *w, int lane, float *lines, float sum[4][TN])
{
    float *const to = lines + thread_row(lane) / 4 * PITCH + place_of(thread_column(lane), w->turn_b);
    TSR_UNROLL
    for (int i = 0; i < 4; i++) {
        TSR_UNROLL
        for (int j = 0; j < TN; j += 4) {
            float *const quad = to + i * LANES_M * PITCH + place_of(j / 4 * STEP_N, w->turn_b);
            const int step = w->turn_b ? 8 : 1;
            TSR_UNROLL
            for (int e = 0; e < 4; e++)
                quad[e * step] = sum[i][j + e];
        }
    }
}

/* Lines to D, neighbours by neighbouring lanes. The loops are not unrolled: code that runs once comes from memory, at
 * tens of cycles an instruction. `row` is the place in the tile of line 0. */
TSR_DEVICE void store_lines(const tsr_gemm_args *args, const walk *w, long long z, int lane, int row, int col,
                            const float *lines, int by_quads)
{
    enum { QUADS = WN / 4 };
    if (by_quads) {
        TSR_UNROLL_BY(2)
        for (int at = lane; at < LINES * QUADS; at += 32) {
            const int line = at / QUADS, q = at % QUADS;
            const tsr_f32x4 quad = tsr_load_f32x4(lines + line * PITCH + 4 * q);
            const float sum[4] = {tsr_lane(quad, 0), tsr_lane(quad, 1), tsr_lane(quad, 2), tsr_lane(quad, 3)};
            tile_output_quad(args, z, w->m + place_of(row + 4 * (line % LANES_M) + line / LANES_M, w->turn_a),
                             (long long)w->n + col + 4 * q, sum, 1);
        }
        return;
    }
    TSR_UNROLL_BY(2)
    for (int line = 0; line < LINES; line++) {
        const long long d_row = w->m + place_of(row + 4 * (line % LANES_M) + line / LANES_M, w->turn_a);
        if (d_row >= args->m)
            continue;
        TSR_UNROLL
        for (int e = 0; e < WN; e += 32)
            if (w->n + col + e + lane < args->n)
                tsr_output(args, z, d_row, (long long)w->n + col + e + lane, lines[line * PITCH + e + lane]);
    }
}

TSR_DEVICE void output(const tsr_gemm_args *args, const walk *w, long long z, int thread, float sum[TM][TN])
{
    const int warp = thread / 32, lane = thread % 32, by_quads = output_is_aligned(args);
    float *const lines = (float *)(TSR_SHARED + LINES_AT) + warp * LINES * PITCH;
    TSR_UNROLL
    for (int i = 0; i < TM; i += 4) {
        leave_lines(w, lane, lines, sum + i);
        tsr_warp_sync(TSR_ALL_LANES);
        store_lines(args, w, z, lane, warp / WARPS_N * WM + i / 4 * STEP_M, warp % WARPS_N * WN, lines, by_quads);
        tsr_warp_sync(TSR_ALL_LANES);
    }
}

TSR_KERNEL_TMA_ANY_CLUSTER(THREADS, CTAS)
{
    const int thread = (int)threadIdx.x, warp = tsr_warp_uniform(thread / 32);
    const tile_place place =
        tile_raster(blockIdx.x, (unsigned)((args.m + BM - 1) / BM), (unsigned)((args.n + BN - 1) / BN), BAND);
    const walk w = {.shared = tsr_shared_address(TSR_SHARED),
                    .steps = (unsigned)((args.k + BK - 1) / BK),
                    .m = (int)place.m * BM,
                    .n = (int)place.n * BN,
                    .turn_a = !args.trans_a,
                    .turn_b = args.trans_b};
    if (thread == 0) {
        const unsigned slabs = (w.turn_a ? BM / SLAB : 0u) + (w.turn_b ? BN / SLAB : 0u);
        for (unsigned i = 0; i < STAGES; i++) {
            tsr_mbarrier_init(w.shared + RAW_AT + 8 * i, 1);
            tsr_mbarrier_init(w.shared + FULL_AT + 8 * i, 1 + 32 * slabs);

            tsr_mbarrier_init(w.shared + EMPTY_AT + 8 * i, MULTIPLIERS / 32);
        }
        tsr_mbarrier_fence_init();
    }
    /* Only where this CTA has the SM to itself: among several, CTAs that wait for their turn are distributed unevenly.
     */
    if (CTAS == 1)
        tsr_grid_launch_dependents();
    tsr_barrier();
    tsr_grid_wait();

    ring at = {0, 0};
    if (thread >= MULTIPLIERS) {
        const int producer = warp - MULTIPLIERS / 32;
        int next = producer - 1;
        tsr_registers_lower(PRODUCER_REGISTERS);
        for (long long z = blockIdx.z; z < args.batch; z += gridDim.z)
            if (producer == 0)
                produce(&w, &maps, &at, args.batch_a ? (int)z : 0, args.batch_b ? (int)z : 0);
            else
                turn(&w, &at, &next);
    } else {
        float sum[TM][TN];
        tsr_registers_raise(CONSUMER_REGISTERS);
        for (long long z = blockIdx.z; z < args.batch; z += gridDim.z) {
            multiply(&w, &at, thread_row(thread), thread_column(thread), sum);
            /* Asked for once more, so that no register keeps D's places during the main loop. */
            const int again = tsr_again(thread);
            output(&args, &w, z, again, sum);
        }
    }
}
