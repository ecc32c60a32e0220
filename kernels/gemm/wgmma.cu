/* wgmma: D = alpha * op(A) * op(B) + beta * C with Hopper's copy engine and warp-group tensor cores.
 *
 * New against the rungs below: no thread loads or stores an element. One warp (the producer) asks the copy engine (TMA)
 * for boxes of A and B, tensor cores (wgmma) read these boxes from shared memory and add to registers, and finished
 * tiles leave as boxes, too. All that threads do is wait for each other, by mbarriers.
 *
 *   a CTA, one on each SM, walks over tiles of D:            a ring of STAGES in shared memory:
 *
 *     warp group 0   consumer: tiles 0, 2, 4, ...              full[s]   the copy engine has delivered stage s
 *     warp group 1   consumer: tiles 1, 3, 5, ...              empty[s]  all readers of stage s are done
 *     warp group 2   one warp is the producer
 *                                                              stage: BM x 64 of A | 64 x BN of B, 128-byte swizzle
 *
 *   time ->   group 0   multiply tile 0 | store 0      | multiply tile 2 | store 2 ...
 *             group 1                   | multiply tile 1 | store 1      | multiply ...
 *
 * Ping-pong (PINGPONG = 1): the groups take turns at the tensor cores, so that one stores while the other multiplies;
 * a named barrier hands over the turn. Cooperative (0): both groups work on one tile, BM / 2 rows each.
 * Cluster: CLUSTER_M x CLUSTER_N CTAs work on neighbouring tiles. Those with the same rows of A, or columns of B, load
 * a share each and send it to all (multicast), so that each byte leaves L2 once for the cluster. A stage is empty when
 * the readers in all CTAs of the cluster are done, because all of them may be written to by one. One batch of wgmma is
 * always in flight: stage s is given back when the batch of stage s + 1 has been issued. Tiles are walked in groups of
 * RASTER rows (collective/order.h); how they leave is in collective/wgmma_output.h, or where D is not aligned in
 * collective/wgmma_rows.h. Where the last wave of tiles would leave SMs idle, the steps along K of the walk's first
 * schedule.stream_k_tiles tiles are shared out evenly over all clusters instead ("stream-K", Osama et al., PPoPP 2023):
 * one takes the end of a tile, maybe whole ones, and the beginning of another. Parts of a tile are added up by whoever
 * is last (collective/wgmma_fixup.h). They come first, so that one warp group leaves sums while the other multiplies.
 *
 * Where A's rows begin anywhere (UNALIGNED_A = 1), the copy engine brings them to stages of their own as they lie in
 * memory, and the warps beside the consumers shift them from there to the stages that are multiplied
 * (collective/wgmma_unaligned.h):
 *
 *     A   --copy engine-->   raw[s], rows askew   --four warps-->   stage s: A   <--wgmma
 *     B   --copy engine------------------------------------------>           B
 *
 *   PINGPONG   1, or 0 for cooperative        CLUSTER_M, CLUSTER_N   CTAs of a cluster
 *   BM, BN     tile of D of a CTA             CONSUMERS              warp groups that multiply: 2
 *   STAGES     of the ring                    EPILOGUE_BOXES         output buffers of each consumer
 *   RASTER     tile rows walked together      PRODUCER_, CONSUMER_REGISTERS   of a thread (setmaxnreg)
 *   RAW_STAGES of A's rows as they lie in memory, with UNALIGNED_A: no clusters then, and no ping-pong
 *   ELEM_*     bf16 or f16: A and B            OUT_*                  bf16, f16 or f32: C and D; any: see below
 *
 * OUT_any: C and D are e4m3, e5m2 or the other type of 16 bits (args.type_d), and leave by threads, through pieces of
 * shared memory in place of the boxes (collective/wgmma_pieces.h, collective/wgmma_scaled.h).
 *
 * Assumes: bases, leading dimensions and batch strides of A and B are multiples of 16 bytes (the copy engine's rule),
 * with UNALIGNED_A those of B and A's batch stride alone; C and D any: where they or N are not, elements go by threads.
 * M, N, K below 2^31 - 512.
 *
 * Bound by: power at large sizes (the clock falls), then L2 to shared memory (128 x 128 tiles in clusters of 2 move 24
 * KB for 2 MFLOP); at small sizes by latency and by SMs without a tile. Measured, H200, 2026-11-22, bf16, against
 * cuBLASLt's first / best choice: 8192^3 703 TFLOP/s, 1.06 / 1.03; 4096^3 1.03 / 1.03; 2048^3 1.08 / 1.05; 1024^3 1.22
 * / 1.20; 256^3 1.97 / 1.94; in a graph 1024^3 1.03, 512^3 1.50, 256^3 1.48. Two boards differ by 10%. */
#if defined(ELEM_bf16)
#define TSR_WGMMA_TYPES "f32.bf16.bf16"
#elif defined(ELEM_f16)
#define TSR_WGMMA_TYPES "f32.f16.f16"
#else
#error "give the element type: -DELEM_bf16 or -DELEM_f16"
#endif
#ifndef UNALIGNED_A
#define UNALIGNED_A 0
#endif
#define TSR_WGMMA_N      BN
#define TSR_SHARED_ALIGN 1024 /* the span of the swizzle's pattern */

#include "ptx/barrier.h"
#include "ptx/cluster.h"
#include "ptx/grid.h"
#include "ptx/mbarrier.h"
#include "ptx/tma.h"
#include "ptx/warpgroup.h"
#include "ptx/wgmma.h"

#include "collective/order.h"
#include "collective/ring.h"
#include "collective/ring_barriers.h"
#include "collective/ring_begin.h"
#include "collective/stream_k.h"
#include "collective/wgmma_fixup.h"
#if defined(OUT_any)
#include "ptx/scaled.h"

enum {
    PIECE = 32,
    PITCH = PIECE + 8, /* words from row to row of a piece: rows of a store lie in different banks */
    PIECE_BYTES = 16 * PITCH * 4,
    BOX_BYTES = 8192, /* of which a warp group has EPILOGUE_BOXES */
    QUADS_OF_C = 1,
    ADDS_C = 0,
    FEW_ENDS = 0,
    ELEMENT_ROWS = 16,
    ELEMENT_PIECES = 1,
    ENDS_LEAN = 1
};
typedef float sum_type;
#include "collective/wgmma_scaled.h"
#if 4 * 16 * (32 + 8) * 4 > EPILOGUE_BOXES * 8192
#error "a warp group's boxes must hold four pieces"
#endif
#else
#include "collective/wgmma_output.h"
#include "collective/wgmma_rows.h"
#endif

enum {
    BK = 64,     /* 128 bytes: the span of the swizzle */
    BK_MMA = 16, /* along K of one instruction */
    CLUSTER = CLUSTER_M * CLUSTER_N,
    THREADS = 128 * (1 + CONSUMERS),
    WM = PINGPONG ? BM : BM / CONSUMERS,
    MMAS = WM / 64,                            /* instructions that cover a warp group's rows */
    RELEASES = 4 * (PINGPONG ? 1 : CONSUMERS), /* warps that read a stage */

    SLAB_BYTES = 128 * BK, /* MN-major: 64 elements along M or N, BK along K */
    A_BYTES = BM * BK * 2,
    B_BYTES = (BN + 63) / 64 * SLAB_BYTES,
    STAGE_BYTES = A_BYTES + B_BYTES
};

#include "collective/wgmma_boxes.h"
#if UNALIGNED_A
#include "collective/wgmma_unaligned.h"
#else
enum { RAW_BYTES = 0, RAW_STAGES = 0 };
#endif

enum {
    RAW_AT = STAGES * STAGE_BYTES,
    BOXES_AT = RAW_AT + RAW_STAGES * RAW_BYTES,
    BARRIERS_AT = BOXES_AT + CONSUMERS * EPILOGUE_BOXES * BOX_BYTES,
    FULL_AT = BARRIERS_AT,
    EMPTY_AT = FULL_AT + 8 * STAGES,
    RAW_FULL_AT = EMPTY_AT + 8 * STAGES,
    RAW_EMPTY_AT = RAW_FULL_AT + 8 * RAW_STAGES,
    C_FULL_AT = RAW_EMPTY_AT + 8 * RAW_STAGES,
    LAST_AT = C_FULL_AT + 8 * CONSUMERS,
    STREAM_K_AT = LAST_AT + 4 * CONSUMERS,
    SMEM_BYTES = STREAM_K_AT + TILE_STREAM_K_BYTES,

    /* 64 x 64 x 64 take the tensor cores so little time that the producer's own instructions count. Elsewhere it asks
     * for a box when the copy engine has taken the one before: where all SMs ask, L2 serves that 1 to 3% faster. */
    SHORT_STEPS = BM * BN <= 64 * 64,
    ASKED = SHORT_STEPS ? 16 : 4, /* blocks along K that are asked for early */

    /* Named barriers. Ping-pong: ORDER + g is where warp group g waits for its turn. START: where the consumers wait
     * for the mbarriers. The output uses 1 + g. */
    ORDER = 1 + CONSUMERS,
    START = ORDER + CONSUMERS
};

/* What all roles know. */
typedef struct walk {
    tile_order raster;
    unsigned shared;
    int rank_m, rank_n; /* the CTA's tile within the cluster's */
#if defined(OUT_any)
    const tsr_scaling *scaling;
#endif
} walk;

/* 1 if D has nothing of the CTA's tile, which is there for the others of its cluster: it loads its share of what they
 * share, and multiplies nothing. Boxes of rows that a matrix does not have would cost the copy engine more than others.
 */
TSR_DEVICE int is_idle(const tsr_gemm_args *args, int m, int n)
{
    return (CLUSTER_M > 1 && CLUSTER_N == 1 && m >= args->m) || (CLUSTER_N > 1 && CLUSTER_M == 1 && n >= args->n);
}

#if !UNALIGNED_A
/* Before the grid in front has ended, the first tile's first boxes are asked for: to L2, where that grid's writes
 * arrive as well, whoever is first. Tiles that share rows of A or columns of B ask for different blocks. */
TSR_DEVICE void prefetch_early(const tsr_tensor_maps *maps, const walk *w, const tile_place *at, const tile_unit *u,
                               int m, int n, int za, int zb, int mn_major_a, int mn_major_b)
{
    const int count = u->count < ASKED ? u->count : ASKED;
    for (int i = at->n; i < count; i += (int)w->raster.tiles_n)
        tile_prefetch_boxes(&maps->a, mn_major_a, BM, m, (u->first + i) * BK, za, CLUSTER_N, w->rank_n);
    for (int i = at->m; i < count; i += (int)w->raster.tiles_m)
        tile_prefetch_boxes(&maps->b, mn_major_b, BN, n, (u->first + i) * BK, zb, CLUSTER_M, w->rank_m);
}

/* Keeps the ring full. With SHORT_STEPS one lane alone is here, and `mn_major_` are constants: no lane is elected in
 * each step, and the boxes of a step are asked for at once. */
TSR_DEVICE void fill(const tsr_gemm_args *args, const tsr_tensor_maps *maps, const walk *w, int mn_major_a,
                     int mn_major_b)
{
    /* CTAs with the same rank_m need the same rows of A, those with the same rank_n the same columns of B. */
    unsigned mask_a = 0, mask_b = 0;
    TSR_UNROLL
    for (int n = 0; n < CLUSTER_N; n++)
        mask_a |= 1u << (w->rank_m * CLUSTER_N + n);
    TSR_UNROLL
    for (int m = 0; m < CLUSTER_M; m++)
        mask_b |= 1u << (m * CLUSTER_N + w->rank_n);

    /* Contiguous along K, B is loaded by rows and fills a stage only where BN is a multiple of 64. */
    const int stage_bytes = mn_major_b ? STAGE_BYTES : A_BYTES + BN * 128;
    const unsigned partition = w->shared + STREAM_K_AT;
    ring at = {0, 0};
    for (unsigned index = 0; tile_has_unit(partition, index); index++) {
        const tile_unit u = tile_unit_of(partition, index);
        const tile_place place = tile_order_place(&w->raster, u.tile);
        const int m = (place.m * CLUSTER_M + w->rank_m) * BM, n = (place.n * CLUSTER_N + w->rank_n) * BN;
        const int za = args->batch_a ? place.z : 0, zb = args->batch_b ? place.z : 0, idle = is_idle(args, m, n);
        const int loads_a = CLUSTER_M == 1 || !idle, loads_b = CLUSTER_N == 1 || !idle;
        const unsigned bytes = (unsigned)(loads_a ? A_BYTES : 0) + (unsigned)(loads_b ? stage_bytes - A_BYTES : 0);
        if (index == 0) {
            if (SHORT_STEPS || tsr_elect())
                prefetch_early(maps, w, &place, &u, m, n, za, zb, mn_major_a, mn_major_b);
            tsr_grid_wait();
        }
        TSR_ROLLED
        for (int block = u.first; block < u.first + u.count; block++) {
            const unsigned full = w->shared + FULL_AT + 8 * at.stage;
            const unsigned to = w->shared + at.stage * STAGE_BYTES;
            tsr_mbarrier_wait(w->shared + EMPTY_AT + 8 * at.stage, at.parity ^ 1);
            if (SHORT_STEPS || tsr_elect()) {
                tsr_mbarrier_arrive_expect(full, bytes);
                if (loads_a)
                    tile_load_boxes(to, &maps->a, full, mn_major_a, BM, m, block * BK, za, CLUSTER_N, w->rank_n,
                                    mask_a);
                if (loads_b)
                    tile_load_boxes(to + A_BYTES, &maps->b, full, mn_major_b, BN, n, block * BK, zb, CLUSTER_M,
                                    w->rank_m, mask_b);
            }
            ring_advance(&at, STAGES);
        }
    }
}

/* The producer, one warp. */
TSR_DEVICE void produce(const tsr_gemm_args *args, const tsr_tensor_maps *maps, const walk *w)
{
    const int is_elected = tsr_elect();
    if (is_elected) {
        tsr_tma_prefetch_map(&maps->a);
        tsr_tma_prefetch_map(&maps->b);
#if !defined(OUT_any)
        tsr_tma_prefetch_map(&maps->d);
#endif
    }
    if (!SHORT_STEPS)
        fill(args, maps, w, args->trans_a, !args->trans_b);
    else if (is_elected && args->trans_a && args->trans_b)
        fill(args, maps, w, 1, 0);
    else if (is_elected && args->trans_a)
        fill(args, maps, w, 1, 1);
    else if (is_elected && args->trans_b)
        fill(args, maps, w, 0, 0);
    else if (is_elected)
        fill(args, maps, w, 0, 1);
    tsr_warp_sync(TSR_ALL_LANES);
}

#else
#include "collective/wgmma_shifted.h"
#endif

/* A warp is done with a stage. */
TSR_DEVICE void release(const walk *w, unsigned stage)
{
    ring_release(w->shared + EMPTY_AT + 8 * stage, CLUSTER);
}

/* The products of `count` blocks of a tile. `pass_on` >= 0: the ping-pong partner whose turn comes when all have been
 * issued. */
TSR_DEVICE void multiply(const walk *w, ring *at, int count, int pass_on, int row, int mn_major_a, int mn_major_b,
                         float sum[MMAS][TSR_WGMMA_REGISTERS])
{
    unsigned previous = 0;
    for (int block = 0; block < count; block++) {
        const unsigned stage = w->shared + at->stage * STAGE_BYTES;
        /* 64 rows of A are SLAB_BYTES in either layout. */
        const unsigned long long a = tsr_wgmma_descriptor(stage + (unsigned)row / 64 * SLAB_BYTES, SLAB_BYTES);
        const unsigned long long b = tsr_wgmma_descriptor(stage + A_BYTES, SLAB_BYTES);
        const unsigned step_a = mn_major_a ? 128 * BK_MMA / 16 : 2 * BK_MMA / 16;
        const unsigned step_b = mn_major_b ? 128 * BK_MMA / 16 : 2 * BK_MMA / 16;

        tsr_mbarrier_wait(w->shared + FULL_AT + 8 * at->stage, at->parity);
        TSR_UNROLL
        for (int i = 0; i < MMAS; i++)
            tsr_wgmma_hold(sum[i]);
        tsr_wgmma_fence();
        TSR_UNROLL
        for (int k = 0; k < BK / BK_MMA; k++)
            TSR_UNROLL
        for (int i = 0; i < MMAS; i++)
            tsr_wgmma(sum[i], a + k * step_a + (unsigned)i * SLAB_BYTES / 16, b + k * step_b, block + k > 0, mn_major_a,
                      mn_major_b);
        tsr_wgmma_commit();

        /* One batch stays in flight; the one before it is done, and so is its stage. */
        tsr_wgmma_wait(1);
        if (block > 0)
            release(w, previous);
        previous = at->stage;
        ring_advance(at, STAGES);
    }
    if (PINGPONG && pass_on >= 0)
        tsr_named_barrier_arrive(ORDER + (unsigned)pass_on, 256);
    TSR_UNROLL
    for (int i = 0; i < MMAS; i++)
        tsr_wgmma_hold(sum[i]);
    tsr_wgmma_wait(0);
    TSR_UNROLL
    for (int i = 0; i < MMAS; i++)
        tsr_wgmma_hold(sum[i]);
    if (count > 0)
        release(w, previous);
}

/* The same where there is nothing to multiply. */
TSR_DEVICE void pass_by(const walk *w, ring *at, int count, int pass_on)
{
    for (int block = 0; block < count; block++) {
        tsr_mbarrier_wait(w->shared + FULL_AT + 8 * at->stage, at->parity);
        release(w, at->stage);
        ring_advance(at, STAGES);
    }
    if (PINGPONG && pass_on >= 0)
        tsr_named_barrier_arrive(ORDER + (unsigned)pass_on, 256);
}

/* 1 if all parts of the tile are in `sum`; 0 if another part, which is not done yet, will add them up. */
TSR_DEVICE int fixup(const tsr_gemm_args *args, const walk *w, unsigned tile, int group,
                     float sum[MMAS][TSR_WGMMA_REGISTERS])
{
    const unsigned rank = (unsigned)(w->rank_m * CLUSTER_N + w->rank_n);
    const tile_fixup all = tile_fixup_of(args, w->shared + STREAM_K_AT, tile, CLUSTER * (PINGPONG ? 1 : CONSUMERS),
                                         PINGPONG ? rank : rank * CONSUMERS + (unsigned)group, WM * BN,
                                         w->shared + LAST_AT + 4 * (unsigned)group, 1 + (unsigned)group);
    return tile_fixup_sums(&all, MMAS * TSR_WGMMA_REGISTERS, sum[0]);
}

#if defined(OUT_any)
#include "collective/wgmma_any.h"
#endif

TSR_DEVICE void consume(const tsr_gemm_args *args, const tsr_tensor_maps *maps, const walk *w, int group)
{
    const int row = PINGPONG ? 0 : group * WM;
#if defined(OUT_any)
    (void)maps;
#else
    tile_boxes boxes = {.shared = w->shared + BOXES_AT + (unsigned)group * (EPILOGUE_BOXES * BOX_BYTES),
                        .c_full = w->shared + C_FULL_AT + 8 * (unsigned)group,
                        .c_parity = 0,
                        .next = 0,
                        .group = group,
                        .thread = (int)threadIdx.x % 128};
    const int boxed = tile_output_is_boxed(args), thread = boxes.thread;
#endif
    const unsigned partition = w->shared + STREAM_K_AT;
    ring at = {0, 0};
    float sum[MMAS][TSR_WGMMA_REGISTERS];

    tsr_grid_wait();
    if (PINGPONG && group == 1)
        ring_skip(&at, tile_unit_of(partition, 0).count, STAGES);
    for (unsigned index = PINGPONG ? (unsigned)group : 0; tile_has_unit(partition, index); index += PINGPONG ? 2 : 1) {
        const int pass_on = PINGPONG && tile_has_unit(partition, index + 1) ? 1 - group : -1;
        const tile_unit u = tile_unit_of(partition, index);
        const tile_place place = tile_order_place(&w->raster, u.tile);
        const int m = (place.m * CLUSTER_M + w->rank_m) * BM + row, n = (place.n * CLUSTER_N + w->rank_n) * BN;
        const int idle = is_idle(args, m - row, n);
        if (u.count == 0)
            TSR_UNROLL
        for (int i = 0; i < MMAS; i++)
            TSR_UNROLL
        for (int j = 0; j < TSR_WGMMA_REGISTERS; j++)
            sum[i][j] = 0;
        if (PINGPONG && index > 0)
            tsr_named_barrier(ORDER + (unsigned)group, 256);
        /* A transposed is M-major, B not transposed is N-major. */
        if (idle)
            pass_by(w, &at, u.count, pass_on);
        else if (args->trans_a && args->trans_b)
            multiply(w, &at, u.count, pass_on, row, 1, 0, sum);
        else if (args->trans_a)
            multiply(w, &at, u.count, pass_on, row, 1, 1, sum);
        else if (args->trans_b)
            multiply(w, &at, u.count, pass_on, row, 0, 0, sum);
        else
            multiply(w, &at, u.count, pass_on, row, 0, 1, sum);
        if (PINGPONG)
            ring_skip(&at, tile_unit_of(partition, index + 1).count, STAGES);
        if (idle)
            continue;
        if (u.count < (int)tile_stream_k_word(partition, STREAM_K_K_BLOCKS) && !fixup(args, w, u.tile, group, sum))
            continue;
#if defined(OUT_any)
        output_group(args, w, group, m, n, place.z, sum);
#else
        TSR_UNROLL
        for (int i = 0; i < MMAS; i++)
            if (boxed)
                tile_output(args, maps, &boxes, m + 64 * i, n, place.z, sum[i]);
            else
                tile_output_rows(args, &boxes, m + 64 * i, n, place.z, sum[i]);
#endif
    }
#if !defined(OUT_any)
    if (thread == 0)
        tsr_tma_wait_read(0); /* shared memory must outlive the last stores' reads */
#endif
}

/* By one lane, before its warp and others begin. */
TSR_DEVICE void make_barriers(const tsr_gemm_args *args, const walk *w)
{
    /* alpha 0 reaches a plan for the whole K as K = 0: there are no iterations to share out, all tiles are whole. */
    const unsigned shared_tiles = args->k > 0 ? (unsigned)args->schedule.stream_k_tiles : 0;
    tile_stream_k_make(w->shared + STREAM_K_AT, w->raster.total, (unsigned)((args->k + BK - 1) / BK), shared_tiles,
                       blockIdx.x / CLUSTER, gridDim.x / CLUSTER);
#if UNALIGNED_A
    for (unsigned i = 0; i < STAGES; i++) { /* full: B has come, and four warps have shifted A */
        tsr_mbarrier_init(w->shared + FULL_AT + 8 * i, 1 + 4);
        tsr_mbarrier_init(w->shared + EMPTY_AT + 8 * i, RELEASES);
    }
    ring_barriers_make(w->shared + RAW_FULL_AT, w->shared + RAW_EMPTY_AT, RAW_STAGES, 1, 4);
#else
    ring_barriers_make(w->shared + FULL_AT, w->shared + EMPTY_AT, STAGES, 1, RELEASES * CLUSTER);
#endif
    for (unsigned i = 0; i < CONSUMERS; i++)
        tsr_mbarrier_init(w->shared + C_FULL_AT + 8 * i, 1);
    tsr_mbarrier_fence_init();
}

#if defined(OUT_any)
TSR_KERNEL_SCALED(THREADS, CLUSTER)
#else
TSR_KERNEL_TMA(THREADS, CLUSTER)
#endif
{
    const unsigned shared = tsr_shared_address(TSR_SHARED);
    const int group = tsr_warp_uniform((int)threadIdx.x / 128);
    const int rank = CLUSTER > 1 ? (int)tsr_cluster_rank() : 0;
    walk w = {.raster = tile_order_of(&args, BM * CLUSTER_M, BN * CLUSTER_N),
              .shared = shared,
              .rank_m = rank / CLUSTER_N,
              .rank_n = rank % CLUSTER_N};
#if defined(OUT_any)
    w.scaling = &scaling;
#endif

    tsr_grid_launch_dependents();
    if (group == CONSUMERS) {
        const int is_first = tsr_warp_uniform((int)threadIdx.x / 32) == 4 * CONSUMERS;
        if (is_first && tsr_elect())
            make_barriers(&args, &w);
        tsr_warp_sync(TSR_ALL_LANES);
        ring_begin(CLUSTER, !UNALIGNED_A || is_first, START, THREADS);
        tsr_registers_lower(PRODUCER_REGISTERS);
#if UNALIGNED_A
        produce_shifted(&args, &maps, &w);
#else
        if (is_first)
            produce(&args, &maps, &w);
#endif
    } else {
        ring_begin(CLUSTER, 0, START, THREADS);
        tsr_registers_raise(CONSUMER_REGISTERS);
        consume(&args, &maps, &w, group);
    }
    /* A CTA must outlive the messages of its neighbours. */
    if (CLUSTER > 1) {
        tsr_cluster_arrive();
        tsr_cluster_wait();
    }
}
