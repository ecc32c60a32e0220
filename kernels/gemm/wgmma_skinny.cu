/* wgmma_skinny: D = alpha * op(A) * op(B) + beta * C where M or N is small, D has few tiles and K is long, or D is one
 * wave of tiles.
 *
 * New against wgmma: such problems are bound by memory, so all SMs must read at once and each must have many bytes
 * under way. Tiles alone are too few for that; K is cut into parts as well. CTAs that work on parts of one tile form a
 * cluster and add up their sums through each other's shared memory: one launch, no workspace, always in the same order.
 *
 * The longer side of D is wgmma's M (64 rows for each warp group), the shorter one its N, so that a small M wastes no
 * rows: for M <= N the kernel computes D^T = op(B)^T op(A)^T, which only means reading the operands under each other's
 * names. Tensor cores take either from shared memory along either of its dimensions. "Long" and "short" below are these
 * two. With the other schedule.swap_ab they change places: BN columns of any height lie along the longer side, so that
 * 64 x 5120 is 128 tiles of 64 x 40, not 80 of 64 x 64.
 *
 *     long side          K, cut into split_k parts
 *     64 * GROUPS   +----------+----------+----------+--     each part: a CTA; one warp, the producer, keeps a ring of
 *     rows of the   | rank 0   | rank 1   | rank 2   | ...   64-deep boxes of both operands full (TMA), GROUPS warp
 *     long operand  +----------+----------+----------+--     groups multiply
 *                        |          |          |
 *                   sums in shared memory of each CTA: 64 * GROUPS x BN floats, over the ring, which is empty by then
 *                        |          |          |
 *                   the copy engine sends rank r its share of the lines that they are of D, which adds those of all
 *                   ranks, in the order of the ranks, and stores them (collective/wgmma_reduce.h)
 *
 * SHARE tiles beside each other along the long side may be of one cluster, too; each loads a share of the short
 * operand's boxes and sends it to all (multicast), which pays where that operand is as large a load as the long one.
 *
 * Where the short operand lies along K, tiles are equally high along the short side, in steps of 8 rows for each
 * sharer, and so are its boxes: rows beyond an operand cost the copy engine four clocks more than rows that are there.
 *
 * Where a cluster's 8 CTAs are too few (128 x 128 x 65536), each part's sums go to the workspace as they lie in
 * registers, and a second launch adds them, by all SMs at once (kernels/prep/reduce.cu). No CTA ever waits for one
 * outside its cluster.
 *
 * Operands of 8 bits and f32, which is multiplied as tf32, lie along K, 128 or 32 of them a box. With 8 bits C and D
 * are of several types and there are scales, as in wgmma_kmajor (collective/skinny_eight.h).
 *
 * A tile whose K is not cut leaves by another, shorter way where D takes 16 bytes at once (collective/wgmma_whole.h).
 * Where tiles share nothing the producer asks for its boxes before it has met anybody, CTAs of its cluster included.
 *
 * The next launch may start when all CTAs have asked for their last boxes (programmatic dependent launch), not before:
 * what it brings would push out of L2 what this one still needs. Until this one ends it asks for its first boxes.
 *
 *   BN           columns of the short side: 16 to 256    GROUPS   warp groups, 64 rows of the long side each
 *   RING_BYTES   of the ring of stages                   CTAS     on an SM at once
 *   SHARE        tiles of a cluster: 1, 2 or 4           PARTS    most parts of K in a cluster: 1 to 8
 *   DEEP         1, or 2 where SHARE is 1: stages of     AT_ONCE  a stage's boxes are asked for at once (1), or each
 *                64 or 128 along K                                when the copy engine has taken the one before
 *   WIDE         1: sums need more registers than a producer, which has a warp group of its own to give them away, and
 *                as much shared memory as there is, so that those of other ranks come to where the ring was
 *   ELEM_*       of A and B: bf16, f16, tf32, int8 or    PROMOTE  1: sums leave the tensor cores each 128 of K
 *                fp8, which also has
 *   OUT_*        of C and D: either, the type of A or f32 (args.type_d), f32 alone, or any (tile/any_element.h)
 *
 * Assumes: bases, leading dimensions and batch strides of A and B are multiples of 16 bytes; C and D any; with DEEP = 2
 * K is a multiple of 64. The grid is tiles * split_k CTAs, tiles rounded up to whole groups of SHARE, in clusters of
 * SHARE * cluster_k CTAs, up to PARTS parts but not 7; where cluster_k is less than split_k, it is 1 and sums are left
 * to another launch; 8 CTAs at most. M, N, K below 2^31 - 512. With split_k = 1 an element's sum is that of `wgmma`.
 * Bound by: device memory; by L2 to shared memory for BN = 128, where the short operand is read again by each cluster;
 * by the tensor cores' clock from BN = 128 and two groups on. Measured: perf/LOG/hopper.md; docs/PERFORMANCE.md, "Few
 * rows of 8-bit floats". */
#if defined(ELEM_bf16)
#define TSR_WGMMA_TYPES         "f32.bf16.bf16"
#define TSR_WGMMA_ELEMENT_BYTES 2
#elif defined(ELEM_f16)
#define TSR_WGMMA_TYPES         "f32.f16.f16"
#define TSR_WGMMA_ELEMENT_BYTES 2
#elif defined(ELEM_fp8)
#define TSR_WGMMA_TYPES         "f32.e4m3.e4m3"
#define TSR_WGMMA_ELEMENT_BYTES 1
#elif defined(ELEM_int8)
#define TSR_WGMMA_TYPES         "s32.s8.s8"
#define TSR_WGMMA_ELEMENT_BYTES 1
#elif defined(ELEM_tf32)
#define TSR_WGMMA_TYPES         "f32.tf32.tf32"
#define TSR_WGMMA_ELEMENT_BYTES 4
#else
#error "give the element type: -DELEM_bf16, -DELEM_f16, -DELEM_fp8, -DELEM_int8 or -DELEM_tf32"
#endif
#define HAS_EIGHT_BITS   (TSR_WGMMA_ELEMENT_BYTES == 1)
#define TSR_WGMMA_N      BN
#define TSR_SHARED_ALIGN 1024 /* the span of the swizzle's pattern */
#define TILE_SLICES      DEEP

#include "ptx/barrier.h"
#include "ptx/cluster.h"
#include "ptx/cluster_meet.h"
#include "ptx/grid.h"
#include "ptx/mbarrier.h"
#include "ptx/scaled.h"
#include "ptx/shared.h"
#include "ptx/vector.h"
#include "ptx/warpgroup.h"
#include "ptx/wgmma_forms.h"

enum {
    READS_MN = TSR_WGMMA_ELEMENT_BYTES == 2, /* tensor cores read such elements along M and N, too */
    SPAN = 128 / TSR_WGMMA_ELEMENT_BYTES,    /* elements of 128 bytes: the span of the swizzle */
    BK = SPAN * DEEP,                        /* of a stage */
    BK_MMA = 32 / TSR_WGMMA_ELEMENT_BYTES,   /* along K of one instruction */
    LONG = 64 * GROUPS,
    CONSUMERS = 128 * GROUPS,
    THREADS = CONSUMERS + (WIDE ? 128 : 32),

    BOX_BYTES = 128 * 64,          /* 64 rows, SPAN along K, or 64 elements along M or N */
    SLAB_BYTES = BOX_BYTES * DEEP, /* an operand that is contiguous along M or N: 64 elements of these, BK along K */
    LONG_BYTES = GROUPS * SLAB_BYTES,
    SHORT_K_BYTES = BN * 128 * DEEP,              /* contiguous along K: DEEP times rows of SPAN */
    SHORT_MN_BYTES = (BN + 63) / 64 * SLAB_BYTES, /* along M or N: whole slabs */
    SCALED_ROWS = LONG,                           /* of scales of blocks, in a stage */
    SCALED_COLUMNS = BN,
    ROWS_STEP = 8 * SHARE, /* a box's rows: whole spans of the swizzle for each sharer */
    ASKED = 4,             /* boxes along K that are asked for early */
    MOST_STAGES = RING_BYTES / (LONG_BYTES + SHORT_K_BYTES),

    ALL_CONSUMERS = 1, /* named barriers */
    START = 2,
    SCALES = 3 /* where the warp that copies scales of blocks waits for the mbarriers */
};

#include "collective/ring.h"
#include "collective/wgmma_boxes.h"
#include "collective/wgmma_reduce.h"
#include "collective/wgmma_whole.h"

enum {
    STAGING_AT = WIDE ? TILE_BYTES : RING_BYTES,
    FULL_AT = RING_BYTES + (WIDE ? 0 : STAGING_BYTES), /* mbarriers: the copy engine has delivered a stage */
    EMPTY_AT = FULL_AT + 8 * MOST_STAGES,              /* all warps that read it are done with it */
    STAGING_FULL_AT = EMPTY_AT + 8 * MOST_STAGES,      /* the rank's lines of all others have come */
    STAGING_FREE_AT = STAGING_FULL_AT + 8              /* all other ranks' rings are empty */
};

#include "collective/skinny_part.h"

/* The operands' tensor maps, and the problem of the batch that each is read at. */
typedef struct sources {
    const tsr_tensor_map *long_map, *short_map;
    int z_long, z_short;
} sources;

TSR_DEVICE sources sources_of(const tsr_gemm_args *args, const tsr_tensor_maps *maps, const part *p)
{
    const long long batch_long = p->swap_ab ? args->batch_b : args->batch_a;
    const long long batch_short = p->swap_ab ? args->batch_a : args->batch_b;
    const sources from = {p->swap_ab ? &maps->b : &maps->a, p->swap_ab ? &maps->a : &maps->b, batch_long ? p->z : 0,
                          batch_short ? p->z : 0};
    return from;
}

/* A stage's part of both operands, from `k` on. */
TSR_DEVICE void load_stage(const part *p, const sources *from, unsigned bar, unsigned to, int k, int long_is_mn,
                           int short_is_mn)
{
    const unsigned sharers = ((1u << SHARE) - 1) << (p->rank * SHARE);
    tile_load_boxes(to, from->long_map, bar, long_is_mn, LONG, p->long_at, k, from->z_long, 1, 0, 0);
    if (short_is_mn)
        tile_load_boxes(to + LONG_BYTES, from->short_map, bar, 1, BN, p->short_at, k, from->z_short, SHARE,
                        (int)p->sharer, sharers);
    else
        tile_load_boxes(to + LONG_BYTES, from->short_map, bar, 0, p->rows_short, p->short_at, k, from->z_short, SHARE,
                        (int)p->sharer, sharers);
}

/* Before the grid in front has ended, the first steps are asked for: to L2, where that grid's writes arrive as well,
 * whoever is first. Tiles that need the same boxes ask for different ones. Parts of few steps do not ask: the requests
 * proper would only come later. */
TSR_DEVICE void prefetch_early(const part *p, const sources *from)
{
    if (p->count <= ASKED)
        return;
    for (int i = p->short_at / p->rows_short; i < ASKED; i += p->tiles_short)
        tile_prefetch_boxes(from->long_map, p->long_is_mn, LONG, p->long_at, (p->first + i * p->step) * BK,
                            from->z_long, 1, 0);
    for (int i = p->long_at / (LONG * SHARE); i < ASKED; i += p->groups_long)
        if (p->short_is_mn)
            tile_prefetch_boxes(from->short_map, 1, BN, p->short_at, (p->first + i * p->step) * BK, from->z_short,
                                SHARE, (int)p->sharer);
        else
            tile_prefetch_boxes(from->short_map, 0, p->rows_short, p->short_at, (p->first + i * p->step) * BK,
                                from->z_short, SHARE, (int)p->sharer);
}

/* Keeps the ring full. With AT_ONCE one lane alone is here, and how the operands lie is a constant. */
TSR_DEVICE void fill(const part *p, const sources *from, int long_is_mn, int short_is_mn)
{
    const int stages = HAS_EIGHT_BITS ? p->stages
                       : short_is_mn  ? RING_BYTES / (LONG_BYTES + SHORT_MN_BYTES)
                                      : MOST_STAGES;
    const unsigned stage_bytes = LONG_BYTES + (short_is_mn ? SHORT_MN_BYTES : SHORT_K_BYTES);
    const unsigned box_bytes = LONG_BYTES + (short_is_mn ? SHORT_MN_BYTES : (unsigned)p->rows_short * 128 * DEEP);
    int k = p->first * BK;
    ring at = {0, 0};
    TSR_ROLLED
    for (int block = 0; block < p->count; block++, k += p->step * BK) {
        const unsigned full = p->shared + FULL_AT + 8 * at.stage;
        const unsigned to = p->shared + at.stage * stage_bytes;
        tsr_mbarrier_wait(p->shared + EMPTY_AT + 8 * at.stage, at.parity ^ 1);
        if (AT_ONCE || tsr_elect()) {
            tsr_mbarrier_arrive_expect(full, box_bytes);
            load_stage(p, from, full, to, k, long_is_mn, short_is_mn);
        }
        ring_advance(&at, (unsigned)stages);
    }
}

/* A warp is done with a stage: lane r tells sharer r, who may send into it. */
TSR_DEVICE void release(const part *p, unsigned stage)
{
    const unsigned lane = threadIdx.x % 32;
    if (SHARE == 1) {
        if (lane == 0)
            tsr_mbarrier_arrive_here(p->shared + EMPTY_AT + 8 * stage);
    } else if (lane < SHARE) {
        tsr_mbarrier_arrive(p->shared + EMPTY_AT + 8 * stage, p->rank * SHARE + lane);
    }
}

#if HAS_EIGHT_BITS
#include "collective/skinny_eight.h"
#endif

/* The producer, one warp. `scaling`: NULL but for operands of 8 bits. */
TSR_DEVICE void produce(const tsr_gemm_args *args, const tsr_tensor_maps *maps, const tsr_scaling *scaling,
                        const part *p)
{
    const int is_elected = tsr_elect();
    const sources from = sources_of(args, maps, p);
    /* Where several stand on an SM they are early, and would take from the grid in front what it still needs. */
    if (is_elected && CTAS == 1)
        prefetch_early(p, &from);
    tsr_grid_wait();
#if defined(ELEM_fp8) && PROMOTE
    if (TSR_UNLIKELY(args->block_scales))
        fill_with_scales(args, scaling, p, &from, 1, !WIDE);
    else
#else
    (void)scaling;
#endif
        if (!AT_ONCE)
        fill(p, &from, p->long_is_mn, p->short_is_mn);
    else if (is_elected && p->long_is_mn && p->short_is_mn)
        fill(p, &from, 1, 1);
    else if (is_elected && p->long_is_mn)
        fill(p, &from, 1, 0);
    else if (is_elected && p->short_is_mn)
        fill(p, &from, 0, 1);
    else if (is_elected)
        fill(p, &from, 0, 0);
    tsr_warp_sync(TSR_ALL_LANES);
    tsr_grid_launch_dependents();
}

#if !HAS_EIGHT_BITS
/* One instruction; `_is_mn`: constants. */
TSR_DEVICE void multiply_step(unsigned long long a, unsigned long long b, int accumulate, int long_is_mn,
                              int short_is_mn, float sum[TSR_WGMMA_REGISTERS])
{
#if defined(ELEM_tf32)
    (void)long_is_mn;
    (void)short_is_mn;
    tsr_wgmma_k_major(sum, a, b, accumulate);
#else
    tsr_wgmma(sum, a, b, accumulate, long_is_mn, short_is_mn);
#endif
}

/* The products of the stage at `at`, or of its first `steps` instructions along K. */
TSR_DEVICE void multiply_stage(const part *p, ring at, int group, int steps, int is_first, int long_is_mn,
                               int short_is_mn, float sum[TSR_WGMMA_REGISTERS])
{
    const unsigned step_long = long_is_mn ? 128 * BK_MMA / 16 : 2; /* along K: 32 bytes, in units of 16 */
    const unsigned step_short = short_is_mn ? 128 * BK_MMA / 16 : 2;
    const unsigned box_long = (long_is_mn ? BOX_BYTES : LONG * 128) / 16, box_steps = SPAN / BK_MMA;
    const unsigned box_short = (short_is_mn ? BOX_BYTES : (unsigned)p->rows_short * 128) / 16;
    const unsigned stage = p->shared + at.stage * (unsigned)p->stage_bytes;
    const unsigned long long a =
        tsr_wgmma_descriptor(stage + (unsigned)group * (long_is_mn ? SLAB_BYTES : BOX_BYTES), SLAB_BYTES);
    const unsigned long long b = tsr_wgmma_descriptor(stage + LONG_BYTES, SLAB_BYTES);
    tsr_mbarrier_wait(p->shared + FULL_AT + 8 * at.stage, at.parity);
    tsr_wgmma_hold(sum);
    tsr_wgmma_fence();
    TSR_UNROLL
    for (unsigned k = 0; k < (unsigned)steps; k++)
        multiply_step(a + k / box_steps * box_long + k % box_steps * step_long,
                      b + k / box_steps * box_short + k % box_steps * step_short, !is_first || k > 0, long_is_mn,
                      short_is_mn, sum);
    tsr_wgmma_commit();
}

/* The products of the part, 64 rows of the long side for each warp group. One batch of wgmma is always in flight. Where
 * K ends within the last stage, the zeros beyond are not added: a sum that is cut to -0 would lose its sign. */
TSR_DEVICE void multiply(const part *p, int group, int long_is_mn, int short_is_mn, float sum[TSR_WGMMA_REGISTERS])
{
    ring at = {0, 0};
    unsigned previous = 0;
    for (int block = 0; block < p->whole; block++) {
        multiply_stage(p, at, group, BK / BK_MMA, block == 0, long_is_mn, short_is_mn, sum);
        tsr_wgmma_wait(1);
        if (block > 0)
            release(p, previous);
        previous = at.stage;
        ring_advance(&at, (unsigned)p->stages);
    }
    if (DEEP > 1 && p->whole < p->count)
        multiply_stage(p, at, group, SPAN / BK_MMA, p->whole == 0, long_is_mn, short_is_mn, sum);
    tsr_wgmma_hold(sum);
    tsr_wgmma_wait(0);
    tsr_wgmma_hold(sum);
}
#endif

/* The CTA's sums to its shared memory, where the ring was: all loads have come, and all consumers must be done. Then to
 * the ranks that add them up. */
TSR_DEVICE void leave_sums(const part *p, const tile_reduce *mine, const sum_type sum[TSR_WGMMA_REGISTERS])
{
    const int warp = tsr_warp_uniform((int)threadIdx.x / 32), lane = (int)threadIdx.x % 32;
    tsr_named_barrier(ALL_CONSUMERS, CONSUMERS);
    if (WIDE && warp == 0 && lane < (int)p->size && lane != (int)p->rank)
        tsr_mbarrier_arrive(p->shared + STAGING_FREE_AT, (unsigned)lane * SHARE + p->sharer);
    if (p->swap_ab)
        tile_reduce_leave(mine, 1, sum);
    else
        tile_reduce_leave(mine, 0, sum);
    if (p->size > 1)
        tsr_fence_async_shared();
    tsr_named_barrier(ALL_CONSUMERS, CONSUMERS);
    if (p->size > 1) {
        if (warp == 0 && tsr_elect()) {
            if (WIDE)
                tsr_mbarrier_wait(p->shared + STAGING_FREE_AT, 0);
            tile_reduce_send(mine, p->shared, p->shared + STAGING_AT, p->shared + STAGING_FULL_AT, p->rank, p->size,
                             p->sharer, SHARE);
        }
        tsr_mbarrier_wait(p->shared + STAGING_FULL_AT, 0);
    }
}

TSR_DEVICE tile_reduce share_of(const tsr_gemm_args *args, const part *p)
{
    const int lane = (int)threadIdx.x % 32, row = (int)threadIdx.x / 32 * 16 + lane / 4, column = 2 * (lane % 4);
    return tile_reduce_of(args, p->shared, p->shared + STAGING_AT, p->swap_ab, p->short_at, p->rows_short, p->long_at,
                          p->z, p->lines, p->lines_each, p->rank, row, column);
}

/* `scaling`: NULL but for operands of 8 bits. */
TSR_DEVICE void consume(const tsr_gemm_args *args, const tsr_scaling *scaling, const part *p, int group)
{
    const tile_reduce mine = share_of(args, p);
    sum_type sum[TSR_WGMMA_REGISTERS];
    if (p->count == 0)
        TSR_UNROLL
    for (int i = 0; i < TSR_WGMMA_REGISTERS; i++)
        sum[i] = 0;
    if (!p->short_is_mn && p->rows_short < BN)
        clear_beyond(p);
    tsr_grid_wait();
    if (!p->is_left)
        tile_reduce_prefetch_c(&mine);
#if HAS_EIGHT_BITS
    const float alpha = any_alpha(args);
    multiply_eight_part(args, scaling, p, group, sum);
    const any_scaled to = any_scaled_open(args, scaling, p->z, &alpha);
    any_columns columns = {{1, 1, 1, 1}, {0, 0, 0, 0}};
    if (tile_reduce_is_quads(&to, args)) /* while others' sums come */
        columns = any_columns_of(&to, to.out.type, mine.column);
#else
    (void)scaling;
    if (READS_MN && p->long_is_mn && p->short_is_mn)
        multiply(p, group, 1, 1, sum);
    else if (READS_MN && p->long_is_mn)
        multiply(p, group, 1, 0, sum);
    else if (READS_MN && p->short_is_mn)
        multiply(p, group, 0, 1, sum);
    else
        multiply(p, group, 0, 0, sum);
#endif
    const int is_whole = p->size == 1 && !p->is_left && tile_whole_is_possible(args);
    if (!p->is_left && !is_whole)
        leave_sums(p, &mine, sum);
    /* Whatever others send or tell this CTA has come. */
    if (p->size * SHARE > 1)
        tsr_cluster_arrive_relaxed();
    if (p->is_left)
        tile_leave_to_next(args, p->tile * GROUPS + (unsigned)group, p->rows_short, p->index, sum);
    else if (is_whole)
        tile_whole_output(args, p->shared, p->swap_ab, p->short_at, p->rows_short, p->long_at, p->z, p->lines, sum);
    else
#if HAS_EIGHT_BITS
        finish_eight(args, p, &mine, &to, &columns);
#else
        tile_reduce_finish(args, &mine, p->rank, p->size);
#endif
}

#if HAS_EIGHT_BITS
#define ENTRY   TSR_KERNEL_SCALED_ANY_CLUSTER
#define SCALING &scaling
#else
#define ENTRY   TSR_KERNEL_TMA_ANY_CLUSTER
#define SCALING 0
#endif

ENTRY(THREADS, CTAS)
{
    const int warp = tsr_warp_uniform((int)threadIdx.x / 32), is_asking = warp == 4 * GROUPS && tsr_elect();
    if (is_asking) { /* they come while the part is found out */
        tsr_tma_prefetch_map(&maps.a);
        tsr_tma_prefetch_map(&maps.b);
    }
    part p = part_of(&args);
#if defined(ELEM_fp8) && PROMOTE
    if (TSR_UNLIKELY(args.block_scales))
        make_room_for_scales(&p);
#elif defined(ELEM_int8)
    if (TSR_UNLIKELY(has_zero_points(&scaling)))
        make_room_for_zeros(&p);
#endif
    if (warp >= 4 * GROUPS) {
        if (is_asking)
            make_barriers(&p);
        tsr_warp_sync(TSR_ALL_LANES);
        begin(&p, 1);
        if (WIDE)
            tsr_registers_lower(GROUPS < 3 ? 40 : 32);
#if defined(ELEM_fp8) && PROMOTE && WIDE
        if (TSR_UNLIKELY(args.block_scales) && warp == 4 * GROUPS)
            tsr_named_barrier_arrive(SCALES, 64); /* the mbarriers are there */
        if (TSR_UNLIKELY(args.block_scales) && warp == 4 * GROUPS + 1) {
            tsr_named_barrier(SCALES, 64);
            tsr_grid_wait();
            fill_with_scales(&args, SCALING, &p, 0, 0, 1);
        }
#endif
        if (warp == 4 * GROUPS)
            produce(&args, &maps, SCALING, &p);
        if (p.size > 1 && SHARE == 1)
            tsr_cluster_wait();
        if (p.size * SHARE > 1)
            tsr_cluster_arrive_relaxed();
    } else {
        begin(&p, 0);
        if (WIDE)
            tsr_registers_raise(GROUPS < 3 ? 232 : 160);
        consume(&args, SCALING, &p, warp / 4);
    }
    /* A CTA must outlive what it sends, and what is sent to it. */
    if (p.size * SHARE > 1)
        tsr_cluster_wait();
}
