#define TSR_SHARED_ALIGN 1024

#include "ptx/barrier.h"
#include "ptx/cluster.h"
#include "ptx/grid.h"
#include "ptx/mbarrier.h"
#include "ptx/tma.h"
#include "ptx/warpgroup.h"
#include "tile/order.h"
#include "tile/tensor_fragment.h"

enum {
    CLUSTER = CLUSTER_M * CLUSTER_N,
    BK = 64, /* 128 bytes: the span of the swizzle */
    WARPS_M = BM / WM,
    WARPS_N = BN / WN,
    WARPS = WARPS_M * WARPS_N, /* that multiply */
    THREADS = 32 * WARPS + (PRODUCER ? 128 : 0),
    STEPS = BK / STEP_K,
    GROUPS_M = WM / 16, /* of a warp: 16 rows, 16 columns */
    GROUPS_N = (WN + 15) / 16,
    HAS_HALF = WN % 16 != 0, /* the last group of columns is 8 wide */
    COLS = WN / 8,
    PIECES = GROUPS_N, /* of a step, by what is read of B */

    SLAB_BYTES = 64 * BK * 2, /* 64 rows or columns by BK, in either layout */
    A_BYTES = BM * BK * 2,
    B_BYTES = (BN + 63) / 64 * SLAB_BYTES,
    STAGE_BYTES = A_BYTES + B_BYTES,
    FULL_AT = STAGES * STAGE_BYTES,
    EMPTY_AT = FULL_AT + 8 * STAGES,
    LINES_AT = (EMPTY_AT + 8 * STAGES + 15) / 16 * 16,
    PITCH = HAS_HALF ? WN : WN + 8, /* 8 or 24 banks from line to line: four lines of pairs in all banks */
    LINES = 8,
    SMEM_BYTES = LINES_AT + WARPS * LINES * PITCH * 4
};

/* What all roles know. */
typedef struct walk {
    unsigned shared;
    int k_blocks;
    int rank_m, rank_n; /* the CTA's tile within the cluster's */
    unsigned first;     /* tile of this CTA, or of its cluster */
} walk;

/* One position in the ring of stages. */
typedef struct ring {
    unsigned stage, parity;
} ring;

TSR_DEVICE void ring_advance(ring *at)
{
    at->stage++;
    if (at->stage == STAGES) {
        at->stage = 0;
        at->parity ^= 1;
    }
}

TSR_DEVICE ring ring_before(const ring *at)
{
    const int wraps = at->stage == 0;
    const ring before = {wraps ? STAGES - 1 : at->stage - 1, at->parity ^ (unsigned)wraps};
    return before;
}

TSR_DEVICE void load(unsigned to, const tsr_tensor_map *map, unsigned bar, int x, int y, int z, unsigned mask,
                     int share)
{
    if (share > 1)
        tsr_tma_load_multicast(to, map, bar, x, y, z, mask);
    else
        tsr_tma_load(to, map, bar, x, y, z);
}

/* One operand's part of a stage: rows of K in one box, or a slab of 64 by BK after the other. CTAs that need the same
 * part each load a share of it and send it to all in `mask`. */
TSR_DEVICE void load_operand(unsigned to, const tsr_tensor_map *map, unsigned bar, int k_contiguous, int rows, int mn,
                             int k, int z, int share, int part, unsigned mask)
{
    if (k_contiguous) {
        const int slice = rows / share;
        load(to + (unsigned)(part * slice * 128), map, bar, k, mn + part * slice, z, mask, share);
        return;
    }
    const int slice = BK / share;
    TSR_UNROLL
    for (int slab = 0; slab < (rows + 63) / 64; slab++)
        load(to + (unsigned)(slab * SLAB_BYTES + part * slice * 128), map, bar, mn + slab * 64, k + part * slice, z,
             mask, share);
}

/* A warp asks for a block of K, once all have left the stage that it goes to. */
TSR_DEVICE void load_block(const tsr_gemm_args *args, const tsr_tensor_maps *maps, const walk *w, const ring *to,
                           const tile_place *place, int block)
{
    const unsigned at = w->shared + to->stage * STAGE_BYTES, bars = w->shared + 8 * to->stage;
    const int m = (place->m * CLUSTER_M + w->rank_m) * BM, n = (place->n * CLUSTER_N + w->rank_n) * BN, k = block * BK;
    const int za = args->batch_a ? place->z : 0, zb = args->batch_b ? place->z : 0;
    unsigned mask_a = 0, mask_b = 0;
    TSR_UNROLL
    for (int i = 0; i < CLUSTER_N; i++)
        mask_a |= 1u << (w->rank_m * CLUSTER_N + i);
    TSR_UNROLL
    for (int i = 0; i < CLUSTER_M; i++)
        mask_b |= 1u << (i * CLUSTER_N + w->rank_n);
    tsr_mbarrier_wait(bars + EMPTY_AT, to->parity ^ 1);
    if (tsr_elect()) {
        tsr_mbarrier_arrive_expect(bars + FULL_AT, A_BYTES + (args->trans_b ? BN * 128 : B_BYTES));
        if (args->trans_a)
            load_operand(at, &maps->a, bars + FULL_AT, 0, BM, m, k, za, CLUSTER_N, w->rank_n, mask_a);
        else
            load_operand(at, &maps->a, bars + FULL_AT, 1, BM, m, k, za, CLUSTER_N, w->rank_n, mask_a);
        if (args->trans_b)
            load_operand(at + A_BYTES, &maps->b, bars + FULL_AT, 1, BN, n, k, zb, CLUSTER_M, w->rank_m, mask_b);
        else
            load_operand(at + A_BYTES, &maps->b, bars + FULL_AT, 0, BN, n, k, zb, CLUSTER_M, w->rank_m, mask_b);
    }
}

/* A warp has read all of a stage: lane r tells CTA r of the cluster, because that one may send into it. */
TSR_DEVICE void release(const walk *w, unsigned stage, int lane)
{
    tsr_warp_sync(TSR_ALL_LANES);
    if (CLUSTER == 1) {
        if (lane == 0)
            tsr_mbarrier_arrive_here(w->shared + EMPTY_AT + 8 * stage);
    } else if (lane < CLUSTER) {
        tsr_mbarrier_arrive(w->shared + EMPTY_AT + 8 * stage, (unsigned)lane);
    }
}

/* A group of 16 rows, of step `step`, for the warp whose lanes' places in the stage are `at`. */
TSR_DEVICE void read_group(unsigned to[4], unsigned at, int group, int step, int warps, int k_contiguous)
{
    const int g = group * warps;
    if (k_contiguous)
        tsr_ldmatrix_x4(to, TSR_SHARED + (at ^ (unsigned)(step * 32)) + g * 16 * 128);
    else
        tsr_ldmatrix_x4_trans(to,
                              TSR_SHARED + (at ^ (unsigned)(g % 4 * 32)) + g / 4 * SLAB_BYTES + step * STEP_K * 128);
}

/* The last 8 columns. */
TSR_DEVICE void read_half_group(unsigned to[2], unsigned at, int group, int step, int warps, int k_contiguous)
{
    const int g = group * warps;
    if (k_contiguous)
        tsr_ldmatrix_x2(to, TSR_SHARED + (at ^ (unsigned)(step * 32)) + g * 16 * 128);
    else
        tsr_ldmatrix_x2_trans(to,
                              TSR_SHARED + (at ^ (unsigned)(g % 4 * 32)) + g / 4 * SLAB_BYTES + step * STEP_K * 128);
}

/* The lanes' places. */
typedef struct lanes {
    unsigned a, b, half;
} lanes;

TSR_DEVICE void read_a(unsigned a[GROUPS_M][4], const lanes *l, unsigned from, int step, int a_k)
{
    TSR_UNROLL
    for (int i = 0; i < GROUPS_M; i++)
        read_group(a[i], from + l->a, i, step, WARPS_M, a_k);
}

TSR_DEVICE void read_b(unsigned b[4], const lanes *l, unsigned from, int step, int j, int b_k)
{
    if (HAS_HALF && j == GROUPS_N - 1)
        read_half_group(b, from + l->half, j, step, WARPS_N, b_k);
    else
        read_group(b, from + l->b, j, step, WARPS_N, b_k);
}

TSR_DEVICE void multiply_piece(float sum[GROUPS_M][COLS][4], unsigned a[GROUPS_M][4], unsigned b[4], int j)
{
    TSR_UNROLL
    for (int i = 0; i < GROUPS_M; i++) {
        tensor_mma(sum[i][2 * j], a[i], b);
        if (2 * j + 1 < COLS)
            tensor_mma(sum[i][2 * j + 1], a[i], b + 2);
    }
}

TSR_DEVICE void multiply(const tsr_gemm_args *args, const tsr_tensor_maps *maps, const walk *w, ring *at,
                         const tile_place *place, int warp, float sum[GROUPS_M][COLS][4], int a_k, int b_k)
{
    const int lane = (int)threadIdx.x % 32, warp_m = warp / WARPS_N, warp_n = warp % WARPS_N;
    const lanes l = {tensor_lane_offset(16 * warp_m, lane, 0, 64, BK, a_k),
                     tensor_lane_offset(16 * warp_n, lane, 1, 64, BK, b_k) + A_BYTES,
                     tensor_lane_offset(8 * warp_n, lane, 1, 64, BK, b_k) + A_BYTES};
    const int blocks = w->k_blocks;
    unsigned a[2][GROUPS_M][4], b[2][4];
    unsigned from = at->stage * STAGE_BYTES;

    if (!PRODUCER && warp == 0) {
        ring to = *at;
        TSR_ROLLED
        for (int block = 0; block < STAGES && block < blocks; block++) {
            load_block(args, maps, w, &to, place, block);
            ring_advance(&to);
        }
    }
    tsr_mbarrier_wait(w->shared + FULL_AT + 8 * at->stage, at->parity);
    read_a(a[0], &l, from, 0, a_k);
    read_b(b[0], &l, from, 0, 0, b_k);

    TSR_ROLLED
    for (int t = 0; t < blocks; t++) {
        TSR_UNROLL
        for (int step = 0; step < STEPS; step++) {
            TSR_UNROLL
            for (int j = 0; j < PIECES; j++) {
                const int now = (step * PIECES + j) % 2;
                if (j < PIECES - 1)
                    read_b(b[1 - now], &l, from, step, j + 1, b_k);
                if (j == PIECES - 2 && step == STEPS - 1) {
                    if (CLUSTER == 1)
                        release(w, at->stage, lane);
                    ring_advance(at);
                    from = at->stage * STAGE_BYTES;
                    if (t + 1 < blocks)
                        tsr_mbarrier_wait(w->shared + FULL_AT + 8 * at->stage, at->parity);
                }
                if (step < STEPS - 1 || t + 1 < blocks) {
                    if (j == PIECES - 2)
                        read_a(a[(step + 1) % 2], &l, from, (step + 1) % STEPS, a_k);
                    if (j == PIECES - 1)
                        read_b(b[1 - now], &l, from, (step + 1) % STEPS, 0, b_k);
                }
                if (!PRODUCER && step == REFILL && j == 0 && warp == 0 && t > 0 && t + STAGES - 1 < blocks) {
                    /* To where the block before this one lay. */
                    ring to = ring_before(at);
                    to.parity ^= 1;
                    load_block(args, maps, w, &to, place, t + STAGES - 1);
                }
                multiply_piece(sum, a[step % 2], b[now], j);
                if (CLUSTER > 1 && step == STEPS - 1 && j == PIECES - 1)
                    release(w, ring_before(at).stage, lane);
            }
        }
    }
}

/* 1 if eight neighbours in a row of D, and of C where it is read, are whole accesses. */
TSR_DEVICE int output_is_aligned(const tsr_gemm_args *args)
{
    const unsigned long long size = sizeof(out_elem);
    const unsigned long long d =
        (unsigned long long)args->d | (unsigned long long)args->ldd * size | (unsigned long long)args->batch_d * size;
    const unsigned long long c =
        (unsigned long long)args->c | (unsigned long long)args->ldc * size | (unsigned long long)args->batch_c * size;
    return (args->beta != 0.0 ? c | d : d) % 16 == 0;
}

/* Eight neighbours of a row of D that lie inside, aligned; `value` holds alpha times the sums. */
TSR_DEVICE void output_eight(const tensor_out *out, long long row, long long col, float value[8])
{
#if defined(OUT_f32)
    if (out->reads_c) {
        TSR_UNROLL
        for (int q = 0; q < 2; q++) {
            const tsr_f32x4 c = tsr_load_f32x4(out->c + row * out->ldc + col + 4 * q);
            TSR_UNROLL
            for (int e = 0; e < 4; e++)
                value[4 * q + e] = tsr_fma_f32(out->beta, tsr_lane(c, e), value[4 * q + e]);
        }
    }
    TSR_UNROLL
    for (int q = 0; q < 2; q++) {
        tsr_f32x4 quad;
        TSR_UNROLL
        for (int e = 0; e < 4; e++)
            tsr_lane(quad, e) = value[4 * q + e];
        tsr_store_f32x4(out->d + row * out->ldd + col + 4 * q, quad);
    }
#else
    tsr_u32x4 words;
    if (out->reads_c) {
        words = tsr_load_u32x4((const unsigned *)(const void *)(out->c + row * out->ldc + col));
        TSR_UNROLL
        for (int e = 0; e < 8; e++) {
            const float c = tensor_widen((unsigned short)(tsr_lane(words, e / 2) >> e % 2 * 16));
            value[e] = tsr_fma_f32(out->beta, c, value[e]);
        }
    }
    TSR_UNROLL
    for (int e = 0; e < 4; e++)
        tsr_lane(words, e) = tensor_narrow(value[2 * e]) | (unsigned)tensor_narrow(value[2 * e + 1]) << 16;
    tsr_store_u32x4((unsigned *)(void *)(out->d + row * out->ldd + col), words);
#endif
}

/* Eight lines of a warp's tile to D, eight neighbours a lane. The loop is not unrolled: code that runs once comes from
 * memory. */
TSR_DEVICE void store_lines(const tensor_out *out, const float *lines, int lane, long long row, long long col,
                            int warp_n, int aligned)
{
    TSR_ROLLED
    for (int at = lane; at < LINES * COLS; at += 32) {
        const int line = at / COLS, q = at % COLS;
        const float *const from = lines + line * PITCH + 8 * q;
        const long long r = row + line;
        const long long c = col + (HAS_HALF && q == COLS - 1 ? (GROUPS_N - 1) * WARPS_N * 16 + 8 * warp_n
                                                             : (q / 2 * WARPS_N + warp_n) * 16 + q % 2 * 8);
        if (aligned && r < out->m && c + 8 <= out->n) {
            const tsr_f32x4 low = tsr_load_f32x4(from), high = tsr_load_f32x4(from + 4);
            float value[8];
            TSR_UNROLL
            for (int e = 0; e < 8; e++)
                value[e] =
                    out->any_sum ? tsr_mul_f32(out->alpha, e < 4 ? tsr_lane(low, e % 4) : tsr_lane(high, e % 4)) : 0;
            output_eight(out, r, c, value);
        } else {
            TSR_ROLLED
            for (int e = 0; e < 8; e++)
                tensor_output(out, r, c + e, from[e]);
        }
    }
}

TSR_DEVICE void output(const tsr_gemm_args *args, unsigned unit, int thread, float sum[GROUPS_M][COLS][4])
{
    const tile_order raster = tile_order_of(args, BM * CLUSTER_M, BN * CLUSTER_N);
    const tile_place place = tile_order_place(&raster, unit);
    const int rank = CLUSTER > 1 ? (int)tsr_cluster_rank() : 0;
    const int warp = thread / 32, lane = thread % 32, g = lane / 4, t = lane % 4;
    const int warp_m = warp / WARPS_N, warp_n = warp % WARPS_N, aligned = output_is_aligned(args);
    const tensor_out out = tensor_out_open(args, place.z);
    const long long row = (long long)(place.m * CLUSTER_M + rank / CLUSTER_N) * BM + 16 * warp_m,
                    col = (long long)(place.n * CLUSTER_N + rank % CLUSTER_N) * BN;
    float *const lines = (float *)(TSR_SHARED + LINES_AT) + warp * LINES * PITCH;
    TSR_UNROLL
    for (int i = 0; i < 2 * GROUPS_M; i++) {
        TSR_UNROLL
        for (int j = 0; j < COLS; j++)
            tsr_store_f32x2(lines + g * PITCH + 8 * j + 2 * t, sum[i / 2][j][i % 2 * 2], sum[i / 2][j][i % 2 * 2 + 1]);
        tsr_warp_sync(TSR_ALL_LANES);
        store_lines(&out, lines, lane, row + i / 2 * WARPS_M * 16 + i % 2 * 8, col, warp_n, aligned);
        tsr_warp_sync(TSR_ALL_LANES);
    }
}

#if CLUSTER_M * CLUSTER_N > 1
TSR_KERNEL_TMA(THREADS, CLUSTER)
#else
TSR_KERNEL_TMA_ANY_CLUSTER(THREADS, CTAS)
#endif
{
    const int thread = (int)threadIdx.x, warp = tsr_warp_uniform(thread / 32);
    const int rank = CLUSTER > 1 ? (int)tsr_cluster_rank() : 0;
    const unsigned step = gridDim.x * gridDim.z / CLUSTER;
    const walk w = {.shared = tsr_shared_address(TSR_SHARED),
                    .k_blocks = (int)((args.k + BK - 1) / BK),
                    .rank_m = rank / CLUSTER_N,
                    .rank_n = rank % CLUSTER_N,
                    .first = (blockIdx.x + gridDim.x * blockIdx.z) / CLUSTER};
    if (thread == 0) {
        for (unsigned i = 0; i < STAGES; i++) {
            tsr_mbarrier_init(w.shared + FULL_AT + 8 * i, 1);
            tsr_mbarrier_init(w.shared + EMPTY_AT + 8 * i, WARPS * CLUSTER);
        }
        tsr_mbarrier_fence_init();
    }
    if (CTAS == 1)
        tsr_grid_launch_dependents();
    if (CLUSTER > 1) {
        tsr_cluster_arrive();
        tsr_cluster_wait();
    } else {
        tsr_barrier();
    }
    tsr_grid_wait();

    ring at = {0, 0};
#if PRODUCER
    if (warp >= WARPS) {
        tsr_registers_lower(PRODUCER_REGISTERS);
        const tile_order raster = tile_order_of(&args, BM * CLUSTER_M, BN * CLUSTER_N);
        if (warp == WARPS)
            for (unsigned unit = w.first; unit < raster.total; unit += step) {
                const tile_place place = tile_order_place(&raster, unit);
                for (int block = 0; block < w.k_blocks; block++) {
                    load_block(&args, &maps, &w, &at, &place, block);
                    ring_advance(&at);
                }
            }
    } else {
        tsr_registers_raise(CONSUMER_REGISTERS);
#else
    {
#endif
        for (unsigned unit = w.first; unit < tile_order_of(&args, BM * CLUSTER_M, BN * CLUSTER_N).total; unit += step) {
            const tile_order raster = tile_order_of(&args, BM * CLUSTER_M, BN * CLUSTER_N);
            const tile_place place = tile_order_place(&raster, unit);
            float sum[GROUPS_M][COLS][4];
            TSR_UNROLL
            for (int i = 0; i < GROUPS_M * COLS * 4; i++)
                sum[i / 4 / COLS][i / 4 % COLS][i % 4] = 0;
            if (args.k > 0) { /* otherwise A and B are not even there */
                if (args.trans_a && args.trans_b)
                    multiply(&args, &maps, &w, &at, &place, warp, sum, 0, 1);
                else if (args.trans_a)
                    multiply(&args, &maps, &w, &at, &place, warp, sum, 0, 0);
                else if (args.trans_b)
                    multiply(&args, &maps, &w, &at, &place, warp, sum, 1, 1);
                else
                    multiply(&args, &maps, &w, &at, &place, warp, sum, 1, 0);
            }
            /* Asked for once more, so that no register keeps D's places, nor alpha, during the main loop. */
            const int again = (int)tsr_shuffle(TSR_ALL_LANES, (unsigned)thread, (unsigned)thread);
            output(&args + (again >> 31), unit, again, sum);
        }
    }
    /* A CTA must outlive the messages of its neighbours. */
    if (CLUSTER > 1) {
        tsr_cluster_arrive();
        tsr_cluster_wait();
    }
}
