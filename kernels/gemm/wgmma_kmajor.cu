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

#if PROMOTE
/* The same for the stages' scales of blocks, by a warp of its own: the producer has no time for them. */
TSR_DEVICE void produce_scales(const tsr_gemm_args *args, const walk *w)
{
    ring at = {0, 0};
    tsr_grid_wait();
    for (unsigned index = 0; has_unit(w, index); index++) {
        const tile_unit u = unit_of(w, index);
        const tile_place place = tile_order_place(&w->raster, u.tile);
        const int m = (place.m * CLUSTER_M + w->rank) * BM, n = place.n * BN;
        scale_copies scales = scale_copies_of(w->scaling, 0, place.z, args->m, args->n, m, n, u.first, 1);
        TSR_ROLLED
        for (int block = 0; block < u.count; block++) {
            tsr_mbarrier_wait(w->shared + EMPTY_AT + 8 * at.stage, at.parity ^ 1);
            scale_copies_start(&scales, (unsigned char *)TSR_SHARED + SCALES_AT + at.stage * SCALES_BYTES,
                               w->shared + FULL_AT + 8 * at.stage);
            ring_advance(&at, STAGES);
        }
    }
}
#endif

/* A warp is done with a stage. */
TSR_DEVICE void release(const walk *w, unsigned stage)
{
    ring_release(w->shared + EMPTY_AT + 8 * stage, CLUSTER_M);
}

/* Until a stage has come. */
TSR_DEVICE void stage_await(const walk *w, ring at)
{
    tsr_mbarrier_wait(w->shared + FULL_AT + 8 * at.stage, at.parity);
}

/* 64 of the stage's rows, of which this is the group's first. */
TSR_DEVICE int first_slab(int group)
{
    return PINGPONG ? 0 : group * SLABS;
}

/* One instruction; `second_a`, `second_b`: constants, A and B are e5m2 or u8. */
TSR_DEVICE void multiply_step(unsigned long long a, unsigned long long b, int accumulate, int second_a, int second_b,
                              sum_type sum[TSR_WGMMA_REGISTERS])
{
#if defined(ELEM_tf32)
    (void)second_a;
    (void)second_b;
    tsr_wgmma_k_major(sum, a, b, accumulate);
#elif defined(ELEM_fp8)
    tsr_wgmma_fp8(sum, a, b, accumulate, second_a, second_b);
#else
    tsr_wgmma_int8(sum, a, b, accumulate, second_a, second_b);
#endif
}

/* Issues the products of one stage, which has come; `accumulate`: to what is in `sum`. */
TSR_DEVICE void multiply_stage(const walk *w, unsigned at, int group, int accumulate, int second_a, int second_b,
                               sum_type sum[TSR_WGMMA_REGISTERS])
{
    const unsigned stage = w->shared + at * STAGE_BYTES;
    const unsigned long long a = tsr_wgmma_descriptor(stage + (unsigned)group * SLAB_BYTES, SLAB_BYTES);
    const unsigned long long b = tsr_wgmma_descriptor(stage + A_BYTES, SLAB_BYTES);
    hold_sums(sum);
    tsr_wgmma_fence();
    TSR_UNROLL
    for (unsigned k = 0; k < INSTRUCTIONS; k++)
        multiply_step(a + 2 * k, b + 2 * k, accumulate || k > 0, second_a, second_b, sum);
    tsr_wgmma_commit();
}

TSR_DEVICE void hold_all_sums(sum_type sum[SLABS][TSR_WGMMA_REGISTERS])
{
    TSR_UNROLL
    for (int slab = 0; slab < SLABS; slab++)
        hold_sums(sum[slab]);
}

/* The same for all of a warp group's rows, whose first 64 are number `first` of the stage's. */
TSR_DEVICE void multiply_rows(const walk *w, unsigned at, int first, int accumulate, int second_a, int second_b,
                              sum_type sum[SLABS][TSR_WGMMA_REGISTERS])
{
#if SLABS == 1
    multiply_stage(w, at, first, accumulate, second_a, second_b, sum[0]);
#else
    const unsigned stage = w->shared + at * STAGE_BYTES;
    const unsigned long long a = tsr_wgmma_descriptor(stage + (unsigned)first * SLAB_BYTES, SLAB_BYTES);
    const unsigned long long b = tsr_wgmma_descriptor(stage + A_BYTES, SLAB_BYTES);
    hold_all_sums(sum);
    tsr_wgmma_fence();
    TSR_UNROLL
    for (unsigned k = 0; k < INSTRUCTIONS; k++) {
        TSR_UNROLL
        for (unsigned slab = 0; slab < SLABS; slab++)
            multiply_step(a + slab * SLAB_BYTES / 16 + 2 * k, b + 2 * k, accumulate || k > 0, second_a, second_b,
                          sum[slab]);
    }
    tsr_wgmma_commit();
#endif
}

/* With PINGPONG: all products of unit `index` have been issued, and the other warp group has its turn, if there is one
 * more. That is asked for only now, so that no register keeps it during the main loop. */
TSR_DEVICE void pass_on(const walk *w, int group, unsigned index)
{
    if (PINGPONG && has_unit(w, index + 1))
        tsr_named_barrier_arrive(ORDER + 1 - (unsigned)group, 256);
}

/* The products of `count` blocks of a tile in the tensor cores' sums. One batch stays in flight; the one before it is
 * done, and so is its stage. `index`: of the unit. */
TSR_DEVICE void multiply_straight(const walk *w, ring *at, int count, int group, unsigned index, int second_a,
                                  int second_b, sum_type sum[SLABS][TSR_WGMMA_REGISTERS])
{
    unsigned previous = 0;
    for (int block = 0; block < count; block++) {
        stage_await(w, *at);
        multiply_rows(w, at->stage, first_slab(group), block > 0, second_a, second_b, sum);
        tsr_wgmma_wait(1);
        if (block > 0)
            release(w, previous);
        previous = at->stage;
        ring_advance(at, STAGES);
    }
    pass_on(w, group, index);
    hold_all_sums(sum);
    tsr_wgmma_wait(0);
    hold_all_sums(sum);
    if (count > 0)
        release(w, previous);
}

#if defined(ELEM_int8)
/* Of K, in some blocks of a tile. */
TSR_DEVICE unsigned steps_of(const tsr_gemm_args *args, const tile_unit *u)
{
    const long long left = args->k - (long long)u->first * BK, all = (long long)u->count * BK;
    return (unsigned)(left < all ? left : all);
}

TSR_DEVICE int has_zero_points(const tsr_scaling *s)
{
    return s->zero_a || s->zero_b;
}

/* Of a warp group's first 64 rows. */
TSR_DEVICE unsigned zeros_of(const walk *w, int group)
{
    return w->shared + ZEROS_AT + (unsigned)group * ZERO_STEP;
}

/* The same with the sums of A's and B's bytes, for zero points. */
TSR_DEVICE void multiply_with_zeros(const walk *w, ring *at, int count, int group, unsigned index, int second_a,
                                    int second_b, sum_type sum[SLABS][TSR_WGMMA_REGISTERS])
{
    const unsigned zeros = zeros_of(w, group);
    for (int block = 0; block < count; block++) {
        const unsigned stage = w->shared + at->stage * STAGE_BYTES;
        stage_await(w, *at);
        multiply_rows(w, at->stage, first_slab(group), block > 0, second_a, second_b, sum);
        TSR_UNROLL
        for (unsigned slab = 0; slab < SLABS; slab++)
            zero_sums_add(zeros + slab * ZERO_AREA, stage + ((unsigned)first_slab(group) + slab) * SLAB_BYTES,
                          stage + A_BYTES, second_a, second_b);
        hold_all_sums(sum);
        tsr_wgmma_wait(0);
        hold_all_sums(sum);
        tsr_warp_sync(TSR_ALL_LANES);
        release(w, at->stage);
        ring_advance(at, STAGES);
    }
    pass_on(w, group, index);
}
#endif

#if PROMOTE
#include "collective/promoted.h"
#endif

/* Some blocks of a tile. */
TSR_DEVICE void multiply(const walk *w, const tsr_gemm_args *args, const tile_unit *u, ring *at, int group,
                         unsigned index, int second_a, int second_b, sum_type sum[SLABS][TSR_WGMMA_REGISTERS])
{
#if PROMOTE
    (void)index;
    if (!TSR_UNLIKELY(args->block_scales))
        multiply_scaled(w, at, u->count, group, second_a, second_b, NO_SCALES, sum);
    else if (block_scales_are_few(&w->scales))
        multiply_scaled(w, at, u->count, group, second_a, second_b, FEW_SCALES, sum);
    else
        multiply_scaled(w, at, u->count, group, second_a, second_b, MANY_SCALES, sum);
#else
#if defined(ELEM_int8)
    const tsr_scaling *const s = w->scaling;
    if (has_zero_points(s)) {
        TSR_UNROLL
        for (unsigned slab = 0; slab < SLABS; slab++)
            zero_sums_begin(zeros_of(w, group) + slab * ZERO_AREA, ZEROS + (unsigned)group);
        multiply_with_zeros(w, at, u->count, group, index, second_a, second_b, sum);
#if !PINGPONG
        const tile_place place = tile_order_place(&w->raster, u->tile); /* only now: see consume */
        zero_points_apply(args, s, place.z, steps_of(args, u), zeros_of(w, group), ZEROS + (unsigned)group,
                          (place.m * CLUSTER_M + w->rank) * BM + group * 64, place.n * BN, second_a, second_b,
                          TSR_WGMMA_REGISTERS, sum[0]);
#endif
        return;
    }
#endif
    (void)args;
    multiply_straight(w, at, u->count, group, index, second_a, second_b, sum);
#endif
}

#if !defined(ELEM_tf32)
/* Scales of rows and columns where D takes four neighbours by one store (any_scaled_is_quads). All scales and the bias
 * are loaded before the first piece, so that one latency covers them; the main loop's registers are free by then.
 * `type` is a constant. */
TSR_DEVICE void output_scaled_quads(const any_scaled *e, int type, unsigned piece, int m, int n,
                                    const sum_type sum[TSR_WGMMA_REGISTERS])
{
    enum { LANES = PIECE / 4, ROWS = 32 / LANES, STEPS = 16 / ROWS, PIECES = BN / PIECE };
    const int lane = (int)threadIdx.x % 32, row = m + lane / LANES, column = n + lane % LANES * 4;
    const unsigned take = piece + (unsigned)(lane / LANES * PITCH + lane % LANES * 4) * 4;
    const long long step_bytes = ROWS * e->out.ldd * any_bytes(type);
    unsigned char *const d = e->out.d + (row * e->out.ldd + column) * any_bytes(type);
    const int left = e->out.m - row < 0 ? 0 : e->out.m - row > 16 ? 16 : (int)(e->out.m - row);
    any_columns columns[PIECES];
    float row_factors[STEPS];
    TSR_UNROLL
    for (int p = 0; p < PIECES; p++)
        columns[p] = any_columns_of(e, type, column + p * PIECE);
    TSR_UNROLL
    for (int i = 0; i < STEPS; i++)
        row_factors[i] = i * ROWS < left ? any_row_factor(e, row + i * ROWS) : 0;
    TSR_UNROLL
    for (int first = 0; first < BN; first += PIECE) {
        float four[STEPS][4];
        leave_piece(piece, first, sum);
        TSR_UNROLL
        for (int i = 0; i < STEPS; i++)
            tsr_shared_load_f32x4(take + (unsigned)(i * ROWS * PITCH) * 4, four[i]);
        if (column + first >= e->out.n)
            continue;
        TSR_UNROLL
        for (int i = 0; i < STEPS; i++)
            if (i * ROWS < left)
                any_scaled_store_quad(e, type, d + i * step_bytes + first * any_bytes(type), row_factors[i],
                                      &columns[first / PIECE], 0, four[i]);
    }
}

/* The warp's 16 rows of the tile, from row `m` of D on. 0: nothing was stored, for only output_elements can. */
TSR_DEVICE int output_scaled(const any_scaled *e, unsigned piece, int m, int n, const sum_type sum[TSR_WGMMA_REGISTERS])
{
    if (any_is_eight(e) && e->fours)
        output_eight(e, piece, m, n, sum);
    else if (!any_scaled_is_quads(e))
        return 0;
    else if (e->out.type == TSR_TYPE_F32)
        output_scaled_quads(e, TSR_TYPE_F32, piece, m, n, sum);
    else if (ENDS_LEAN && lean_fits_scaled(&e->out, e->columns) && e->out.type == TSR_TYPE_BF16)
        output_lean_scaled(&e->out, TSR_TYPE_BF16, 1, e->rows, e->columns, piece, m, n, sum);
    else if (ENDS_LEAN && lean_fits_scaled(&e->out, e->columns))
        output_lean_scaled(&e->out, TSR_TYPE_F16, 1, e->rows, e->columns, piece, m, n, sum);
    else if (e->out.type == TSR_TYPE_BF16)
        output_scaled_quads(e, TSR_TYPE_BF16, piece, m, n, sum);
    else
        output_scaled_quads(e, TSR_TYPE_F16, piece, m, n, sum);
    return 1;
}
#endif

#if BOXED_D
/* 1 if all tiles leave by boxes, and C comes by such where it is read: the host's rule for their maps
 * (core/tensor_spec.h), and what collective/wgmma_lean.h asks of scales and a bias. */
TSR_DEVICE int output_is_boxed(const tsr_gemm_args *args, const tsr_scaling *s)
{
    unsigned long long all =
        (unsigned long long)args->d | (unsigned long long)((args->ldd | args->batch_d | args->n) * 2);
    if (args->beta != 0)
        all |= (unsigned long long)args->c | (unsigned long long)((args->ldc | args->batch_c) * 2);
    const unsigned long long columns =
        s->b && s->mode_b == TSR_SCALING_VECTOR
            ? (unsigned long long)(s->b + s->first_n) | (unsigned long long)(s->batch_b * 4)
            : 0;
    return any_bytes(args->type_d) == 2 && all % 16 == 0 && columns % 8 == 0 &&
           (args->epilogue == TSR_EPILOGUE_NONE || (unsigned long long)args->bias % 4 == 0);
}

/* Before a tile is multiplied: requests C's rows of this warp. */
TSR_DEVICE void request_c(const tsr_gemm_args *args, const tsr_tensor_maps *maps, const walk *w, unsigned tile,
                          int group, int warp, unsigned piece)
{
    const tile_place place = tile_order_place(&w->raster, tile);
    const int m = (place.m * CLUSTER_M + w->rank) * BM + group * SLABS * 64 + warp * 16;
    const unsigned bar = w->shared + C_FULL_AT + 16 * (unsigned)(group * 4 + warp);
    tsr_tma_wait_read(0); /* D's boxes of the tile before have left */
    tsr_warp_sync(TSR_ALL_LANES);
    if (tsr_elect())
        tsr_mbarrier_arrive_expect(bar, SLABS * LEAN_BYTES);
    tsr_warp_sync(TSR_ALL_LANES);
    TSR_UNROLL
    for (int slab = 0; slab < SLABS; slab++)
        lean_request_c(args, maps, piece + (unsigned)(slab * LEAN_BYTES), bar, m + slab * 64, place.n * BN, place.z);
}

/* Until they have come. The mbarrier's phase stands beside it: no register keeps it during the main loop. */
TSR_DEVICE void await_c(unsigned bar)
{
    const unsigned parity = tsr_shared_load_u32(bar + 8);
    tsr_mbarrier_wait(bar, parity);
    tsr_warp_sync(TSR_ALL_LANES);
    if (threadIdx.x % 32 == 0)
        tsr_shared_store_u32(bar + 8, parity ^ 1);
}
#endif

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
