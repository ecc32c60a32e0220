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
 * RASTER rows (tile/order.h); how they leave is in tile/wgmma_output.h, or where D is not aligned in tile/wgmma_rows.h.
 * Where tiles are too few for all SMs, K is cut into args.split parts, each part of a tile is walked as if it were a
 * tile, and the last one to be done adds up (tile/wgmma_join.h).
 *
 *   PINGPONG   1, or 0 for cooperative        CLUSTER_M, CLUSTER_N   CTAs of a cluster
 *   BM, BN     tile of D of a CTA             CONSUMERS              warp groups that multiply: 2
 *   STAGES     of the ring                    EPILOGUE_BOXES         output buffers of each consumer
 *   RASTER     tile rows walked together      PRODUCER_, CONSUMER_REGISTERS   of a thread (setmaxnreg)
 *
 * Assumes: bases, leading dimensions and batch strides of A and B are multiples of 16 bytes (the copy engine's rule); C
 * and D any: where they or N are not, elements go by threads. M, N, K below 2^31 - 512.
 * Bound by: power at large sizes (the clock falls), then L2 to shared memory (128 x 128 tiles in clusters of 2 move 24
 * KB for 2 MFLOP); at small sizes by latency and by SMs without a tile. Measured, H200, 2026-11-22, bf16, against
 * cuBLASLt's first / best choice: 8192^3 697 TFLOP/s, 1.05 / 1.01; 4096^3 1.02 / 1.02; 2048^3 1.05 / 1.03; 1024^3 1.19
 * / 1.17; 256^3 1.94 / 1.92. Two boards differ by 10%. */
#if defined(ELEM_bf16)
#define TSR_WGMMA_TYPES "f32.bf16.bf16"
#elif defined(ELEM_f16)
#define TSR_WGMMA_TYPES "f32.f16.f16"
#else
#error "give the element type: -DELEM_bf16 or -DELEM_f16"
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
#include "tile/order.h"
#include "tile/wgmma_join.h"
#include "tile/wgmma_output.h"
#include "tile/wgmma_rows.h"

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
    STAGE_BYTES = A_BYTES + B_BYTES,
    BOXES_AT = STAGES * STAGE_BYTES,
    BARRIERS_AT = BOXES_AT + CONSUMERS * EPILOGUE_BOXES * BOX_BYTES,
    FULL_AT = BARRIERS_AT,
    EMPTY_AT = FULL_AT + 8 * STAGES,
    C_FULL_AT = EMPTY_AT + 8 * STAGES,
    LAST_AT = C_FULL_AT + 8 * CONSUMERS,
    SMEM_BYTES = LAST_AT + 4 * CONSUMERS,

    /* Named barriers of ping-pong: ORDER + g is where warp group g waits for its turn at the tensor cores. The output
     * uses 1 + g. */
    ORDER = 1 + CONSUMERS
};

/* What all roles know. */
typedef struct walk {
    tile_order raster;
    unsigned shared;
    int rank_m, rank_n; /* the CTA's tile within the cluster's */
    int k_blocks;
    unsigned split, units; /* parts of K, parts of all tiles */
    unsigned first, step;  /* of the cluster's walk over units */
} walk;

/* The blocks along K of a unit: a part of a tile, or all of it. */
typedef struct span {
    int first, count;
} span;

/* Divisions are slow, and most launches need none. */
TSR_DEVICE unsigned tile_of(const walk *w, unsigned unit)
{
    return w->split == 1 ? unit : unit / w->split;
}

TSR_DEVICE span span_of(const walk *w, unsigned unit)
{
    span all = {0, w->k_blocks};
    if (w->split > 1) {
        const unsigned part = unit % w->split, blocks = (unsigned)w->k_blocks;
        all.first = (int)(blocks * part / w->split); /* below 2^25 blocks, a few parts */
        all.count = (int)(blocks * (part + 1) / w->split) - all.first;
    }
    return all;
}

/* One position in the ring of stages. */
typedef struct ring {
    int stage;
    unsigned parity;
} ring;

/* Past the blocks of a tile that another warp group takes. */
TSR_DEVICE void ring_skip(ring *at, int blocks)
{
    const int stage = at->stage + blocks;
    at->stage = stage % STAGES;
    at->parity ^= (unsigned)(stage / STAGES) & 1;
}

TSR_DEVICE void ring_advance(ring *at)
{
    at->stage++;
    if (at->stage == STAGES) {
        at->stage = 0;
        at->parity ^= 1;
    }
}

TSR_DEVICE void load(unsigned to, const tsr_tensor_map *map, unsigned bar, int x, int y, int z, unsigned mask,
                     int share)
{
    if (share > 1)
        tsr_tma_load_multicast(to, map, bar, x, y, z, mask);
    else
        tsr_tma_load(to, map, bar, x, y, z);
}

/* One operand's part of a stage, ROWS elements along M or N. CTAs that need the same part each load a share of it and
 * send it to all in `mask`: a K-major part is shared out by rows, an MN-major one by slices of K in each slab. */
TSR_DEVICE void load_operand(unsigned to, const tsr_tensor_map *map, unsigned bar, int mn_major, int rows, int mn,
                             int k, int z, int share, int part, unsigned mask)
{
    if (mn_major) {
        const int slice = BK / share;
        TSR_UNROLL
        for (int slab = 0; slab < (rows + 63) / 64; slab++)
            load(to + (unsigned)(slab * SLAB_BYTES + part * slice * 128), map, bar, mn + 64 * slab, k + part * slice, z,
                 mask, share);
    } else {
        const int slice = rows / share;
        load(to + (unsigned)(part * slice * 128), map, bar, k, mn + part * slice, z, mask, share);
    }
}

/* One warp keeps the ring full; one of its lanes asks for the boxes. */
TSR_DEVICE void produce(const tsr_gemm_args *args, const tsr_tensor_maps *maps, const walk *w)
{
    /* CTAs with the same rank_m need the same rows of A, those with the same rank_n the same columns of B. */
    unsigned mask_a = 0, mask_b = 0;
    TSR_UNROLL
    for (int n = 0; n < CLUSTER_N; n++)
        mask_a |= 1u << (w->rank_m * CLUSTER_N + n);
    TSR_UNROLL
    for (int m = 0; m < CLUSTER_M; m++)
        mask_b |= 1u << (m * CLUSTER_N + w->rank_n);

    if (tsr_elect()) {
        tsr_tma_prefetch_map(&maps->a);
        tsr_tma_prefetch_map(&maps->b);
        tsr_tma_prefetch_map(&maps->d);
    }
    /* Contiguous along K, B is loaded by rows and fills a stage only where BN is a multiple of 64. */
    const int stage_bytes = args->trans_b ? A_BYTES + BN * 128 : STAGE_BYTES;
    ring at = {0, 0};
    for (unsigned unit = w->first; unit < w->units; unit += w->step) {
        const tile_place place = tile_order_place(&w->raster, tile_of(w, unit));
        const span blocks = span_of(w, unit);
        const int m = (place.m * CLUSTER_M + w->rank_m) * BM, n = (place.n * CLUSTER_N + w->rank_n) * BN;
        const int za = args->batch_a ? place.z : 0, zb = args->batch_b ? place.z : 0;
        for (int block = blocks.first; block < blocks.first + blocks.count; block++) {
            const unsigned full = w->shared + FULL_AT + 8 * (unsigned)at.stage;
            const unsigned to = w->shared + (unsigned)at.stage * STAGE_BYTES;
            tsr_mbarrier_wait(w->shared + EMPTY_AT + 8 * (unsigned)at.stage, at.parity ^ 1);
            if (tsr_elect()) {
                tsr_mbarrier_arrive_expect(full, (unsigned)stage_bytes);
                if (args->trans_a)
                    load_operand(to, &maps->a, full, 1, BM, m, block * BK, za, CLUSTER_N, w->rank_n, mask_a);
                else
                    load_operand(to, &maps->a, full, 0, BM, m, block * BK, za, CLUSTER_N, w->rank_n, mask_a);
                if (args->trans_b)
                    load_operand(to + A_BYTES, &maps->b, full, 0, BN, n, block * BK, zb, CLUSTER_M, w->rank_m, mask_b);
                else
                    load_operand(to + A_BYTES, &maps->b, full, 1, BN, n, block * BK, zb, CLUSTER_M, w->rank_m, mask_b);
            }
            ring_advance(&at);
        }
    }
}

/* A warp is done with a stage: lane r tells CTA r of the cluster, because that one may send into this CTA's stage. */
TSR_DEVICE void release(const walk *w, int stage)
{
    const int lane = (int)threadIdx.x % 32;
    if (CLUSTER == 1) {
        if (lane == 0)
            tsr_mbarrier_arrive_here(w->shared + EMPTY_AT + 8 * (unsigned)stage);
    } else if (lane < CLUSTER) {
        tsr_mbarrier_arrive(w->shared + EMPTY_AT + 8 * (unsigned)stage, (unsigned)lane);
    }
}

/* The products of `count` blocks of a tile. `pass_on` >= 0: the ping-pong partner whose turn comes when all have been
 * issued. */
TSR_DEVICE void multiply(const walk *w, ring *at, int count, int pass_on, int row, int mn_major_a, int mn_major_b,
                         float sum[MMAS][TSR_WGMMA_REGISTERS])
{
    int previous = 0;
    for (int block = 0; block < count; block++) {
        const unsigned stage = w->shared + (unsigned)at->stage * STAGE_BYTES;
        /* 64 rows of A are SLAB_BYTES in either layout. */
        const unsigned long long a = tsr_wgmma_descriptor(stage + (unsigned)row / 64 * SLAB_BYTES, SLAB_BYTES);
        const unsigned long long b = tsr_wgmma_descriptor(stage + A_BYTES, SLAB_BYTES);
        const unsigned step_a = mn_major_a ? 128 * BK_MMA / 16 : 2 * BK_MMA / 16;
        const unsigned step_b = mn_major_b ? 128 * BK_MMA / 16 : 2 * BK_MMA / 16;

        tsr_mbarrier_wait(w->shared + FULL_AT + 8 * (unsigned)at->stage, at->parity);
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
        ring_advance(at);
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

/* A part's sums to the workspace; 1 if this was the last part, and `sum` the whole tile's. */
TSR_DEVICE int join(const tsr_gemm_args *args, const walk *w, unsigned unit, int group, int thread,
                    float sum[MMAS][TSR_WGMMA_REGISTERS])
{
    const unsigned tile = (tile_of(w, unit) * CLUSTER + (unsigned)(w->rank_m * CLUSTER_N + w->rank_n));
    const unsigned index = PINGPONG ? tile : tile * CONSUMERS + (unsigned)group;
    const tile_join all = {.sums = (float *)((char *)args->workspace + TSR_WORKSPACE_COUNTER_BYTES) +
                                   (long long)index * w->split * (WM * BN),
                           .counter = (unsigned *)args->workspace + index,
                           .last_at = w->shared + LAST_AT + 4 * (unsigned)group,
                           .barrier = 1 + (unsigned)group,
                           .thread = thread,
                           .part = (int)(unit % w->split),
                           .parts = (int)w->split};
    return tile_joined(&all, MMAS * TSR_WGMMA_REGISTERS, sum[0]);
}

TSR_DEVICE void consume(const tsr_gemm_args *args, const tsr_tensor_maps *maps, const walk *w, int group)
{
    const int row = PINGPONG ? 0 : group * WM;
    tile_boxes boxes = {.shared = w->shared + BOXES_AT + (unsigned)group * (EPILOGUE_BOXES * BOX_BYTES),
                        .c_full = w->shared + C_FULL_AT + 8 * (unsigned)group,
                        .c_parity = 0,
                        .next = 0,
                        .group = group,
                        .thread = (int)threadIdx.x % 128};
    const int boxed = tile_output_is_boxed(args);
    ring at = {0, 0};
    float sum[MMAS][TSR_WGMMA_REGISTERS];

    if (PINGPONG && group == 1)
        ring_skip(&at, span_of(w, w->first).count);
    for (unsigned unit = w->first + (PINGPONG ? (unsigned)group * w->step : 0); unit < w->units;
         unit += PINGPONG ? 2 * w->step : w->step) {
        const int pass_on = PINGPONG && unit + w->step < w->units ? 1 - group : -1;
        const tile_place place = tile_order_place(&w->raster, tile_of(w, unit));
        const int count = span_of(w, unit).count;
        const int m = (place.m * CLUSTER_M + w->rank_m) * BM + row, n = (place.n * CLUSTER_N + w->rank_n) * BN;
        if (count == 0)
            TSR_UNROLL
        for (int i = 0; i < MMAS; i++)
            TSR_UNROLL
        for (int j = 0; j < TSR_WGMMA_REGISTERS; j++)
            sum[i][j] = 0;
        if (PINGPONG && unit != w->first)
            tsr_named_barrier(ORDER + (unsigned)group, 256);
        /* A transposed is M-major, B not transposed is N-major. */
        if (args->trans_a && args->trans_b)
            multiply(w, &at, count, pass_on, row, 1, 0, sum);
        else if (args->trans_a)
            multiply(w, &at, count, pass_on, row, 1, 1, sum);
        else if (args->trans_b)
            multiply(w, &at, count, pass_on, row, 0, 0, sum);
        else
            multiply(w, &at, count, pass_on, row, 0, 1, sum);
        if (PINGPONG)
            ring_skip(&at, span_of(w, unit + w->step).count);
        if (w->split > 1 && !join(args, w, unit, group, boxes.thread, sum))
            continue;
        TSR_UNROLL
        for (int i = 0; i < MMAS; i++)
            if (boxed)
                tile_output(args, maps, &boxes, m + 64 * i, n, place.z, sum[i]);
            else
                tile_output_rows(args, &boxes, m + 64 * i, n, place.z, sum[i]);
    }
    if (boxes.thread == 0)
        tsr_tma_wait_read(0); /* shared memory must outlive the last stores' reads */
}

TSR_KERNEL_TMA(THREADS, CLUSTER)
{
    const unsigned shared = tsr_shared_address(TSR_SHARED);
    const int group = tsr_warp_uniform((int)threadIdx.x / 128);
    const int rank = CLUSTER > 1 ? (int)tsr_cluster_rank() : 0;
    walk w = {.raster = tile_order_of(&args, BM * CLUSTER_M, BN * CLUSTER_N),
              .shared = shared,
              .rank_m = rank / CLUSTER_N,
              .rank_n = rank % CLUSTER_N,
              .k_blocks = (int)((args.k + BK - 1) / BK),
              .split = (unsigned)args.split,
              .units = (unsigned)args.split,
              .first = blockIdx.x / CLUSTER,
              .step = gridDim.x / CLUSTER};

    w.units *= w.raster.total;
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) {
            tsr_mbarrier_init(shared + FULL_AT + 8 * (unsigned)i, 1);
            tsr_mbarrier_init(shared + EMPTY_AT + 8 * (unsigned)i, RELEASES * CLUSTER);
        }
        for (int i = 0; i < CONSUMERS; i++)
            tsr_mbarrier_init(shared + C_FULL_AT + 8 * (unsigned)i, 1);
        tsr_mbarrier_fence_init();
    }
    tsr_grid_launch_dependents();
    if (CLUSTER > 1) {
        tsr_cluster_arrive();
        tsr_cluster_wait();
    } else {
        tsr_barrier();
    }
    tsr_grid_wait();

    if (group == CONSUMERS) {
        tsr_registers_lower(PRODUCER_REGISTERS);
        if (tsr_warp_uniform((int)threadIdx.x / 32) == 4 * CONSUMERS)
            produce(&args, &maps, &w);
    } else {
        tsr_registers_raise(CONSUMER_REGISTERS);
        consume(&args, &maps, &w, group);
    }
    /* A CTA must outlive the messages of its neighbours. */
    if (CLUSTER > 1) {
        tsr_cluster_arrive();
        tsr_cluster_wait();
    }
}
