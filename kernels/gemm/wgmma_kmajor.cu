/* wgmma_kmajor: D = alpha * op(A) * op(B) + beta * C for elements that Hopper's tensor cores read along K alone: 8-bit
 * floats, 8-bit integers, and f32 multiplied as tf32.
 *
 * New against wgmma: what a stage holds is counted in bytes. 128 bytes along K are 128 elements of 8 bits or 32 of f32,
 * four instructions either way, and take the tensor cores equally long. Both operands must lie along K (A as it is, B
 * transposed); plans copy the others first (kernels/prep/transpose.cu).
 *
 *   a CTA, one on each SM, walks over tiles of D:             a ring of STAGES in shared memory:
 *
 *     warp groups, all but the last   SLABS times 64 rows of    full[s]   the copy engine has delivered stage s
 *                                     a tile each; or a tile
 *                                     each, in turn
 *     the last one                    one warp is the producer, empty[s]  all readers of stage s are done
 *                                     one copies scales of blocks
 *
 *                                                               stage: BM x 128 bytes of A | BN x 128 bytes of B,
 *                                                               128-byte swizzle
 *
 * STREAM_K = 1: where tiles would leave CTAs idle in the last round, the blocks along K of some tiles are shared out
 * evenly first (collective/stream_k.h); the warp group whose part of a tile comes last adds all of them
 * (collective/wgmma_fixup.h).
 *
 * 8-bit floats: the tensor cores keep about 14 bits of a running sum. With PROMOTE each 128 of K are summed there, from
 * zero, and added to sums in f32 (DeepSeek-V3, 2024, section 3.3) beside other products (collective/promoted.h). Scales
 * of blocks multiply what is added; those of rows and columns, and of D, are the end's (tile/any_scaled.h). A and B may
 * be e4m3 or e5m2, or s8 or u8, each on its own, and C and D of several types (args.type_): uniform branches around the
 * main loop and around each four elements of D. Zero points: collective/zero_points.h.
 *
 * Ping-pong (PINGPONG = 1): two warp groups take turns at the tensor cores, a tile each, as in wgmma, so that one
 * stores while the other multiplies. Promoted sums leave no registers for that.
 *
 * The end: to a D of 16 bits collective/wgmma_lean.h, with BOXED_D by boxes of the copy engine, which also brings C
 * while the tile is multiplied. Else a warp lays PIECE columns of its 16 rows into shared memory, as they are summed,
 * and takes them out four neighbours a lane, scales, adds C, rounds and stores; with PINGPONG it adds C before
 * (output_added). Rows of D that begin anywhere leave by neighbouring lanes (output_elements). The producer fills the
 * ring for the next tile meanwhile.
 *
 *   ELEM_*     fp8, int8 or tf32              CLUSTER_M   CTAs of a cluster, whose tiles lie below each other: each
 *   BM, BN     tile of D                                  loads a share of B's part and sends it to all
 *   SLABS      1 or 2 times 64 rows that a    RASTER      tile rows walked together (collective/order.h)
 *              warp group has
 *   PINGPONG   1: see above, without PROMOTE
 *   STAGES     of the ring
 *   PROMOTE    1: see above                   PRODUCER_, CONSUMER_REGISTERS   of a thread (setmaxnreg)
 *   PIECE      columns that leave together: 32 or 64, a divisor of BN
 *   STREAM_K   1: see above
 *   BOXED_D    1: a D of 16 bits lies whole in shared memory before it leaves; without PINGPONG
 *
 * Assumes: bases, leading dimensions and batch strides of A and B are multiples of 16 bytes; C and D any. M, N, K below
 * 2^31 - 512.
 * Bound by: the tensor cores, and by power at large sizes. Measured: perf/LOG/types.md. */
#if defined(ELEM_fp8)
#define TSR_WGMMA_TYPES         "f32.e4m3.e4m3"
#define TSR_WGMMA_ELEMENT_BYTES 1
#elif defined(ELEM_int8)
#define TSR_WGMMA_TYPES         "s32.s8.s8"
#define TSR_WGMMA_ELEMENT_BYTES 1
#elif defined(ELEM_tf32)
#define TSR_WGMMA_TYPES         "f32.tf32.tf32"
#define TSR_WGMMA_ELEMENT_BYTES 4
#else
#error "give the elements: -DELEM_fp8, -DELEM_int8 or -DELEM_tf32"
#endif
#if PINGPONG && (PROMOTE || BM != 64 * SLABS)
#error "PINGPONG: without PROMOTE, and a warp group has a whole tile"
#endif
#if BN % PIECE != 0
#error "PIECE must divide BN"
#endif
#if BOXED_D && PINGPONG
#error "BOXED_D: without PINGPONG, whose tiles leave beside products anyway"
#endif
#define TSR_WGMMA_N      BN
#define TSR_SHARED_ALIGN 1024 /* the span of the swizzle's pattern */

#include "ptx/barrier.h"
#include "ptx/cluster.h"
#include "ptx/grid.h"
#include "ptx/mbarrier.h"
#include "ptx/scaled.h"
#include "ptx/shared_vector.h"
#include "ptx/tma.h"
#include "ptx/warpgroup.h"
#include "ptx/wgmma_eight.h"
#include "tile/any_element.h"
#include "tile/any_scaled.h"

#include "collective/order.h"
#include "collective/ring.h"
#include "collective/ring_barriers.h"
#include "collective/ring_begin.h"
#include "collective/stream_k.h"

enum {
    TILE_GROUPS = BM / 64 / SLABS, /* warp groups that multiply a tile */
    GROUPS = PINGPONG ? 2 : TILE_GROUPS,
    THREADS = 128 * (GROUPS + 1),
    BK = 128 / TSR_WGMMA_ELEMENT_BYTES, /* the span of the swizzle */
    INSTRUCTIONS = 4,                   /* along K of a stage */
    PITCH = PIECE + 8,                  /* words from row to row of a piece: rows of a store lie in different banks */
    PIECE_BYTES = 16 * PITCH * 4,
    QUADS_OF_C = !PINGPONG,
    ADDS_C = PINGPONG,
    FEW_ENDS = PINGPONG, /* half of the registers hold the other 64 rows meanwhile */
    ELEMENT_ROWS = TSR_WGMMA_ELEMENT_BYTES == 1 ? 8 : (BN <= 128 ? 16 : 4),
    ELEMENT_PIECES = 1,
    ENDS_LEAN = !BOXED_D, /* which has them for all tiles, or for none */

    SLAB_BYTES = 128 * 64, /* 64 rows */
    A_BYTES = BM * 128,
    B_BYTES = BN * 128,
    STAGE_BYTES = A_BYTES + B_BYTES,
    LEAN_AREAS = SLABS,
    AREA_BYTES = BOXED_D ? SLABS * 16 * BN * 2 : PIECE_BYTES, /* a warp's: its rows of D, or a piece */
    PIECES_AT = STAGES * STAGE_BYTES,
    FULL_AT = PIECES_AT + 4 * GROUPS * AREA_BYTES,
    EMPTY_AT = FULL_AT + 8 * STAGES,
    C_FULL_AT = EMPTY_AT + 8 * STAGES, /* of each warp, with BOXED_D, and its phase */
    STREAM_K_AT = C_FULL_AT + BOXED_D * 16 * 4 * GROUPS,
    LAST_AT = STREAM_K_AT + STREAM_K * TILE_STREAM_K_BYTES, /* of each warp group: whether its part came last */
    SCALES_AT = LAST_AT + STREAM_K * 8,                     /* of blocks, in each stage's turn */
    SCALED_ROWS = BM,
    SCALED_COLUMNS = BN,

    ZERO_AREA =
        (128 + BN) * 4, /* of a warp group's sums of bytes for 64 rows: where pieces are later, but for PINGPONG */
    ZEROS_AT = PINGPONG ? SCALES_AT : PIECES_AT,
    ZERO_STEP = PINGPONG ? SLABS * ZERO_AREA : 4 * AREA_BYTES, /* to the next warp group's */

    OVERLAPS = BN <= 128, /* with PROMOTE: sums of two stages fit into registers beside the tile's */

    START = 1,  /* named barriers: where the consumers wait for the mbarriers, */
    ZEROS = 2,  /*   each warp group for its sums of bytes, */
    SCALES = 4, /*   the warp that copies scales for the mbarriers, too, */
    ORDER = 5,  /*   with PINGPONG each warp group for its turn, */
    FIXUP = 7   /*   and each for the word that says whether its part of a tile came last */
};

#include "collective/wgmma_boxes.h"

#if defined(ELEM_int8)
#include "collective/zero_points.h"
typedef int sum_type;
#define hold_sums tsr_wgmma_hold_integer
#else
typedef float sum_type;
#define hold_sums tsr_wgmma_hold
#endif

#include "collective/wgmma_fixup.h"

#include "collective/wgmma_pieces.h"
#include "collective/wgmma_scaled.h"
#if PROMOTE
#include "collective/block_scales.h"
#endif

/* What all roles know. */
typedef struct walk {
    tile_order raster; /* of clusters */
    unsigned shared, first, step;
    int rank, k_blocks;
    int shares_k; /* 1: shared memory has the partition (collective/stream_k.h); 0: all tiles are whole */
    const tsr_scaling *scaling;
#if PROMOTE
    block_scales scales; /* of a consumer: tiles begin at multiples of APART */
#endif
} walk;

#include "collective/walk_units.h"

#include "collective/kmajor_ends.h"
#include "collective/kmajor_product.h"

/* Keeps the ring full. */
TSR_DEVICE void produce(const tsr_gemm_args *args, const tsr_tensor_maps *maps, const walk *w)
{
    const unsigned all = (1u << CLUSTER_M) - 1;
    ring at = {0, 0};
    if (tsr_elect()) {
        tsr_tma_prefetch_map(&maps->a);
        tsr_tma_prefetch_map(&maps->b);
    }
    tsr_grid_wait();
    for (unsigned index = 0; has_unit(w, index); index++) {
        const tile_unit u = unit_of(w, index);
        const tile_place place = tile_order_place(&w->raster, u.tile);
        const int m = (place.m * CLUSTER_M + w->rank) * BM, n = place.n * BN;
        const int za = args->batch_a ? place.z : 0, zb = args->batch_b ? place.z : 0;
        TSR_ROLLED
        for (int block = u.first; block < u.first + u.count; block++) {
            const unsigned full = w->shared + FULL_AT + 8 * at.stage, to = w->shared + at.stage * STAGE_BYTES;
            tsr_mbarrier_wait(w->shared + EMPTY_AT + 8 * at.stage, at.parity ^ 1);
            if (tsr_elect()) {
                tsr_mbarrier_arrive_expect(full, STAGE_BYTES);
                tile_load_boxes(to, &maps->a, full, 0, BM, m, block * BK, za, 1, 0, 0);
                tile_load_boxes(to + A_BYTES, &maps->b, full, 0, BN, n, block * BK, zb, CLUSTER_M, w->rank, all);
            }
            ring_advance(&at, STAGES);
        }
    }
}

/* 1 if all parts of 64 rows of the tile, number `rows` of the CTA's, are in `sum`; 0 if another part, which is not done
 * yet, will add them up. */
TSR_DEVICE int fixup(const tsr_gemm_args *args, const walk *w, unsigned tile, int group, int rows,
                     sum_type sum[TSR_WGMMA_REGISTERS])
{
    const tile_fixup all =
        tile_fixup_of(args, w->shared + STREAM_K_AT, tile, CLUSTER_M * BM / 64, (unsigned)(w->rank * (BM / 64) + rows),
                      64 * BN, w->shared + LAST_AT + 4 * (unsigned)group, FIXUP + (unsigned)group);
    return tile_fixup_sums(&all, TSR_WGMMA_REGISTERS, (fixup_sum *)sum);
}

TSR_DEVICE void consume(const tsr_gemm_args *args, const tsr_tensor_maps *maps, const walk *w, int group)
{
    const int warp = tsr_warp_uniform((int)threadIdx.x / 32) % 4;
    const unsigned piece = w->shared + PIECES_AT + (unsigned)(group * 4 + warp) * AREA_BYTES;
    ring at = {0, 0};
#if BOXED_D
    const int is_boxed = output_is_boxed(args, w->scaling);
#else
    (void)maps;
#endif
    tsr_grid_wait();
#if !defined(ELEM_tf32) /* which has no scales */
    const float alpha = any_alpha(args);
#endif
    if (PINGPONG && group == 1)
        ring_skip(&at, unit_of(w, 0).count, STAGES);
    for (unsigned index = PINGPONG ? (unsigned)group : 0; has_unit(w, index); index += PINGPONG ? 2 : 1) {
        const tile_unit u = unit_of(w, index);
        sum_type sum[SLABS][TSR_WGMMA_REGISTERS];
        TSR_UNROLL
        for (int i = 0; i < SLABS * TSR_WGMMA_REGISTERS; i++)
            sum[i / TSR_WGMMA_REGISTERS][i % TSR_WGMMA_REGISTERS] = 0;
#if BOXED_D
        if (is_boxed && args->beta != 0)
            request_c(args, maps, w, u.tile, group, warp, piece);
#endif
        if (PINGPONG && args->beta != 0) {
            const tile_place place = tile_order_place(&w->raster, u.tile);
            TSR_ROLLED
            for (int slab = 0; slab < SLABS; slab++)
                prefetch_c(args, place.z, (place.m * CLUSTER_M + w->rank) * BM + slab * 64 + warp * 16, place.n * BN);
        }
        if (PINGPONG && index > 0)
            tsr_named_barrier(ORDER + (unsigned)group, 256);
#if defined(ELEM_tf32)
        multiply(w, args, &u, &at, group, index, 0, 0, sum);
#else
        const int second_a = args->type_a == ANY_SECOND, second_b = args->type_b == ANY_SECOND;
        if (second_a && second_b)
            multiply(w, args, &u, &at, group, index, 1, 1, sum);
        else if (second_a)
            multiply(w, args, &u, &at, group, index, 1, 0, sum);
        else if (second_b)
            multiply(w, args, &u, &at, group, index, 0, 1, sum);
        else
            multiply(w, args, &u, &at, group, index, 0, 0, sum);
#endif
        if (PINGPONG)
            ring_skip(&at, unit_of(w, index + 1).count, STAGES);
#if BOXED_D
        if (is_boxed && args->beta != 0)
            await_c(w->shared + C_FULL_AT + 16 * (unsigned)(group * 4 + warp));
#endif
        TSR_ROLLED
        for (int slab = 0; slab < SLABS; slab++) {
            if (slab > 0)
                TSR_UNROLL
            for (int i = 0; i < TSR_WGMMA_REGISTERS; i++)
                sum[0][i] = sum[SLABS - 1][i];
            /* Found only now, so that no register keeps them during the main loop. */
            const tile_unit of_slab = unit_of(w, index);
            const tile_place place = tile_order_place(&w->raster, of_slab.tile);
#if defined(ELEM_int8) && PINGPONG /* here, where one slab's sums are at hand */
            if (has_zero_points(w->scaling))
                zero_points_apply(args, w->scaling, place.z, steps_of(args, &of_slab),
                                  zeros_of(w, group) + (unsigned)slab * ZERO_AREA, ZEROS + (unsigned)group,
                                  (place.m * CLUSTER_M + w->rank) * BM + slab * 64, place.n * BN,
                                  args->type_a == ANY_SECOND, args->type_b == ANY_SECOND, TSR_WGMMA_REGISTERS, sum[0]);
#endif
            if (STREAM_K && TSR_UNLIKELY(of_slab.count < w->k_blocks) &&
                !fixup(args, w, of_slab.tile, group, first_slab(group) + slab, sum[0]))
                continue;
            const int row = (place.m * CLUSTER_M + w->rank) * BM + (first_slab(group) + slab) * 64 + warp * 16;
#if defined(ELEM_tf32)
            any_out out = any_out_open(args, place.z, 0);
            out.quads |= any_quads_of_c(&out, args);
            const any_scaled unscaled = any_unscaled(&out);
            if (!output_rows(&out, piece, row, place.n * BN, sum[0]))
                output_elements(&unscaled, piece, row, place.n * BN, sum[0]);
#else
            any_scaled scaled = any_scaled_open(args, w->scaling, place.z, &alpha);
#if BOXED_D
            if (is_boxed) {
                scaled.out.maps = maps;
                scaled.out.z_d = args->batch_d ? place.z : 0;
                output_lean_any(&scaled.out, scaled.rows, scaled.columns, piece + (unsigned)(slab * LEAN_BYTES), row,
                                place.n * BN, sum[0]);
                continue;
            }
#endif
            const int is_scaled = !FEW_ENDS && (w->scaling->is_used || lean_fits_bias(&scaled.out));
            if (!is_scaled)
                scaled.out.quads |= any_quads_of_c(&scaled.out, args);
            int is_stored;
            if (FEW_ENDS)
                is_stored = output_few(&scaled, piece, row, place.n * BN, sum[0]);
            else if (is_scaled)
                is_stored = output_scaled(&scaled, piece, row, place.n * BN, sum[0]);
            else
                is_stored = output_rows(&scaled.out, piece, row, place.n * BN, sum[0]);
            if (!is_stored)
                output_elements(&scaled, piece, row, place.n * BN, sum[0]);
#endif
        }
    }
#if BOXED_D
    tsr_tma_wait_read(0); /* shared memory must last until all boxes have been read */
#endif
}

/* By one lane, before its warp and others begin. */
TSR_DEVICE void make_barriers(const tsr_gemm_args *args, const walk *w)
{
#if PROMOTE
    const unsigned arrivals = block_scales_arrivals(args);
#else
    const unsigned arrivals = 1;
#endif
    if (STREAM_K && TSR_UNLIKELY(w->shares_k))
        tile_stream_k_make(w->shared + STREAM_K_AT, w->raster.total, (unsigned)w->k_blocks,
                           (unsigned)args->schedule.stream_k_tiles, w->first, w->step);
    ring_barriers_make(w->shared + FULL_AT, w->shared + EMPTY_AT, STAGES, arrivals, 4 * TILE_GROUPS * CLUSTER_M);
    TSR_ROLLED
    for (unsigned warp = 0; BOXED_D && warp < 4 * GROUPS; warp++) {
        tsr_mbarrier_init(w->shared + C_FULL_AT + 16 * warp, 1);
        tsr_shared_store_u32(w->shared + C_FULL_AT + 16 * warp + 8, 0);
    }
    tsr_mbarrier_fence_init();
}

TSR_KERNEL_SCALED(THREADS, CLUSTER_M)
{
    const int group = tsr_warp_uniform((int)threadIdx.x / 128);
    const walk w = {
        .raster = tile_order_of(&args, BM * CLUSTER_M, BN),
        .shared = tsr_shared_address(TSR_SHARED),
        .first = blockIdx.x / CLUSTER_M,
        .step = gridDim.x / CLUSTER_M,
        .rank = CLUSTER_M > 1 ? (int)tsr_cluster_rank() : 0,
        .k_blocks = (int)((args.k + BK - 1) / BK),
        /* alpha 0 reaches a plan for the whole K as K = 0: there are no blocks to share out. */
        .shares_k = STREAM_K && args.schedule.stream_k_tiles > 0 && args.k > 0,
        .scaling = &scaling,
#if PROMOTE
        .scales = block_scales_open(&args, &scaling)
#endif
    };

    tsr_grid_launch_dependents();
    if (group == GROUPS) {
        const int warp = tsr_warp_uniform((int)threadIdx.x / 32), is_first = warp == 4 * GROUPS;
        if (is_first && tsr_elect())
            make_barriers(&args, &w);
        tsr_warp_sync(TSR_ALL_LANES);
        ring_begin(CLUSTER_M, 1, START, THREADS);
        tsr_registers_lower(PRODUCER_REGISTERS);
#if PROMOTE
        if (TSR_UNLIKELY(args.block_scales) && is_first)
            tsr_named_barrier_arrive(SCALES, 64); /* the mbarriers are there */
        if (TSR_UNLIKELY(args.block_scales) && warp == 4 * GROUPS + 1) {
            tsr_named_barrier(SCALES, 64);
            produce_scales(&args, &w);
        }
#endif
        if (is_first)
            produce(&args, &maps, &w);
    } else {
        ring_begin(CLUSTER_M, 0, START, THREADS);
        tsr_registers_raise(CONSUMER_REGISTERS);
        consume(&args, &maps, &w, group);
    }
    /* A CTA must outlive the messages of its neighbours. */
    if (CLUSTER_M > 1) {
        tsr_cluster_arrive();
        tsr_cluster_wait();
    }
}
