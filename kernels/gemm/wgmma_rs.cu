/* wgmma-rs: D = alpha * op(A) * op(B) + beta * C in tf32, where one operand lies along K and the other one along M or
 * N.
 *
 * New against wgmma-kmajor: wgmma reads 32-bit operands of shared memory along K alone, so plans of wgmma-kmajor copy
 * the other operand transposed first. Here that operand is the instruction's A, which may come from registers: its box
 * lies in shared memory as it lies in global memory, and each lane takes the elements that the instruction wants of it.
 *   - A stored transposed, B too (tt): lines are rows of D.
 *   - Neither is (nn): D^T = op(B)^T op(A)^T is computed (swap_ab): lines are columns of D.
 *
 *   a CTA, one on each SM, walks over tiles of D:             a ring of STAGES in shared memory:
 *
 *     warp groups, all but the last   64 lines of a tile each   full[s]   the copy engine has delivered stage s
 *     the last one                    one warp is the producer  empty[s]  all readers of stage s are done
 *
 *   stage: BM lines as boxes of 32 lines x 32 of K, rows along the lines | the other operand, BN x 32 of K, along K
 *
 * Fragments: a lane takes two neighbouring lines by one load of 8 bytes. The two are rows q and q + 8 of its warp's
 * fragment, q = lane / 4, and which pair of lines is row q is free: with the pairs of lines_of_lane the loads of half a
 * warp, of four k and four pairs, meet each of the 32 banks once. Elements of the next stage come into a second set of
 * registers while the products of this one run.
 *
 * STREAM_K = 1: where tiles would leave CTAs idle in the last round, the blocks along K of some tiles are shared out
 * evenly first, as in wgmma-kmajor (collective/stream_k.h, collective/wgmma_fixup.h).
 *
 * The end: a tile leaves in pieces through shared memory. Where lines are rows of D each warp exchanges its own 16 of
 * them, where they are columns all warps of a group do, so that rows of 128 bytes and more of D are stored at once:
 * stores of 32 bytes a row, straight from registers, took 12% of all time at 4096. Rows of D that begin anywhere leave
 * 32 neighbours a store (output_elements).
 *
 *   ELEM_tf32                                 CLUSTER_M   CTAs of a cluster, whose lines follow each other: each loads
 *   BM, BN     tile: lines, and rows of the               a share of the other operand's part and sends it to all
 *              other operand                  RASTER      tile rows walked together (collective/order.h)
 *   STAGES     of the ring                    PRODUCER_, CONSUMER_REGISTERS   of a thread (setmaxnreg)
 *   STREAM_K   1: see above
 *
 * Assumes: bases, leading dimensions and batch strides of A and B are multiples of 16 bytes; C and D any. M, N, K below
 * 2^31 - 512. */
#if !defined(ELEM_tf32)
#error "give the elements: -DELEM_tf32"
#endif
#define TSR_WGMMA_TYPES         "f32.tf32.tf32"
#define TSR_WGMMA_ELEMENT_BYTES 4
#define TSR_WGMMA_N             BN
#define TSR_SHARED_ALIGN        1024 /* the span of the swizzle's pattern */

#include "ptx/barrier.h"
#include "ptx/cluster.h"
#include "ptx/grid.h"
#include "ptx/mbarrier.h"
#include "ptx/shared.h"
#include "ptx/shared_vector.h"
#include "ptx/tma.h"
#include "ptx/warp.h"
#include "ptx/warpgroup.h"
#include "ptx/wgmma_forms.h"
#include "tile/any_column.h"

#include "collective/order.h"
#include "collective/ring.h"
#include "collective/ring_barriers.h"
#include "collective/ring_begin.h"
#include "collective/stream_k.h"
#include "collective/wgmma_fixup.h"

enum {
    GROUPS = BM / 64, /* warp groups that multiply */
    THREADS = 128 * (GROUPS + 1),
    BK = 32,          /* the span of the swizzle */
    INSTRUCTIONS = 4, /* along K of a stage */

    BOX_LINES = 32, /* likewise */
    BOX_BYTES = BOX_LINES * BK * 4,
    SLAB_BYTES = 128 * 64, /* 64 rows of the other operand */
    LINES_BYTES = BM * BK * 4,
    STAGE_BYTES = LINES_BYTES + BN * BK * 4,

    PIECE = 32,                   /* rows of the other operand that leave together */
    QUADS = 64 * PIECE / 128 / 4, /* of a piece, for each thread of a group */
    PITCH = PIECE + 8,            /* words from line to line of a piece, */
    ACROSS_PITCH = 64 + 4,        /*   and from row to row where D^T is computed */
    PIECE_BYTES = 64 * PITCH * 4,
    PIECES_AT = STAGES * STAGE_BYTES,
    FULL_AT = PIECES_AT + GROUPS * PIECE_BYTES,
    EMPTY_AT = FULL_AT + 8 * STAGES,
    STREAM_K_AT = EMPTY_AT + 8 * STAGES,
    LAST_AT = STREAM_K_AT + STREAM_K * TILE_STREAM_K_BYTES, /* of each warp group: whether its part came last */

    START = 1,  /* named barriers: where the consumers wait for the mbarriers, */
    PIECES = 2, /*   each warp group for its piece, */
    FIXUP = 4   /*   and for the word that says whether its part of a tile came last */
};

#include "collective/wgmma_boxes.h"

/* What all roles know. */
typedef struct walk {
    tile_order raster; /* of clusters, over lines and rows of the other operand */
    unsigned shared, first, step;
    int rank, k_blocks;
    int shares_k; /* 1: shared memory has the partition (collective/stream_k.h); 0: all tiles are whole */
    int swap_ab;  /* B has the lines */
} walk;

#include "collective/walk_units.h"

/* Keeps the ring full. */
TSR_DEVICE void produce(const tsr_gemm_args *args, const tsr_tensor_maps *maps, const walk *w)
{
    const unsigned all = (1u << CLUSTER_M) - 1;
    const tsr_tensor_map *const lines = w->swap_ab ? &maps->b : &maps->a, *other = w->swap_ab ? &maps->a : &maps->b;
    const long long batch_a = args->batch_a, batch_b = args->batch_b;
    ring at = {0, 0};
    if (tsr_elect()) {
        tsr_tma_prefetch_map(lines);
        tsr_tma_prefetch_map(other);
    }
    tsr_grid_wait();
    for (unsigned index = 0; has_unit(w, index); index++) {
        const tile_unit u = unit_of(w, index);
        const tile_place place = tile_order_place(&w->raster, u.tile);
        const int line = (place.m * CLUSTER_M + w->rank) * BM;
        const int zl = (w->swap_ab ? batch_b : batch_a) ? place.z : 0,
                  zx = (w->swap_ab ? batch_a : batch_b) ? place.z : 0;
        TSR_ROLLED
        for (int block = u.first; block < u.first + u.count; block++) {
            const unsigned full = w->shared + FULL_AT + 8 * at.stage, to = w->shared + at.stage * STAGE_BYTES;
            tsr_mbarrier_wait(w->shared + EMPTY_AT + 8 * at.stage, at.parity ^ 1);
            if (tsr_elect()) {
                tsr_mbarrier_arrive_expect(full, STAGE_BYTES);
                TSR_UNROLL
                for (int box = 0; box < BM / BOX_LINES; box++)
                    tsr_tma_load(to + (unsigned)(box * BOX_BYTES), lines, full, line + box * BOX_LINES, block * BK, zl);
                tile_load_boxes(to + LINES_BYTES, other, full, 0, BN, place.n * BN, block * BK, zx, CLUSTER_M, w->rank,
                                all);
            }
            ring_advance(&at, STAGES);
        }
    }
}

/* A warp is done with a stage. */
TSR_DEVICE void release(const walk *w, unsigned stage)
{
    ring_release(w->shared + EMPTY_AT + 8 * stage, CLUSTER_M);
}

/* Of the group's lines the first of the lane's two. Bits: 0x20 and 0x8 the warp, 0x10, 0x4 and 0x2 the fragment's row.
 */
TSR_DEVICE int lines_of_lane(void)
{
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32 % 4, q = lane / 4;
    return warp / 2 * 32 + (q / 2 % 2) * 16 + warp % 2 * 8 + q / 4 * 4 + q % 2 * 2;
}

/* Fragments of a stage, as they lie in registers. */
typedef unsigned fragments[INSTRUCTIONS][4];

/* Those of the lane's lines; `from`: the group's first box. */
TSR_DEVICE void load_fragments(unsigned from, fragments a)
{
    const int k = (int)threadIdx.x % 4, line = lines_of_lane();
    const unsigned chunk = (unsigned)(line % BOX_LINES / 4), in_chunk = (unsigned)(line % 4 * 4);
    const unsigned box = from + (unsigned)(line / BOX_LINES * BOX_BYTES);
    TSR_UNROLL
    for (int half = 0; half < 2; half++) {
        const unsigned row = (unsigned)(k + 4 * half); /* of a box, modulo the 8 of the swizzle */
        const unsigned at = box + row * 128 + ((chunk ^ row) << 4) + in_chunk;
        TSR_UNROLL
        for (int i = 0; i < INSTRUCTIONS; i++) {
            float two[2];
            tsr_shared_load_f32x2(at + (unsigned)(i * 8 * 128), two);
            a[i][2 * half] = tsr_bits_of_f32(two[0]);
            a[i][2 * half + 1] = tsr_bits_of_f32(two[1]);
        }
    }
}

/* Issues the products of one stage; `accumulate`: to what is in `sum`. `a` gets the lane's fragments. */
TSR_DEVICE void multiply_stage(const walk *w, ring at, int group, int accumulate, fragments a,
                               float sum[TSR_WGMMA_REGISTERS])
{
    const unsigned stage = w->shared + at.stage * STAGE_BYTES;
    const unsigned long long other = tsr_wgmma_descriptor(stage + LINES_BYTES, SLAB_BYTES);
    tsr_mbarrier_wait(w->shared + FULL_AT + 8 * at.stage, at.parity);
    load_fragments(stage + (unsigned)group * (2 * BOX_BYTES), a);
    tsr_wgmma_hold(sum);
    tsr_wgmma_fence();
    TSR_UNROLL
    for (unsigned i = 0; i < INSTRUCTIONS; i++)
        tsr_wgmma_register_a_k_major(sum, a[i], other + 2 * i, accumulate || i > 0);
    tsr_wgmma_commit();
}

/* A use of the fragments behind the wait for their products. Without one the assembler loads some of them between two
 * products and then serializes all of them (C7513). */
TSR_DEVICE void keep(const fragments a, unsigned *kept)
{
    TSR_UNROLL
    for (int i = 0; i < INSTRUCTIONS * 4; i++)
        *kept |= a[i / 4][i % 4];
}

/* The products of `count` blocks of a tile. One batch stays in flight; the one before it is done, and so are its stage
 * and its fragments: these lie in two sets of registers by turns. */
TSR_DEVICE void multiply(const walk *w, ring *at, int count, int group, float sum[TSR_WGMMA_REGISTERS])
{
    fragments a[2];
    unsigned previous = 0, kept = 0;
    TSR_ROLLED
    for (int two = 0; two < count; two += 2) {
        TSR_UNROLL
        for (int turn = 0; turn < 2; turn++) {
            if (two + turn == count)
                break;
            multiply_stage(w, *at, group, two + turn > 0, a[turn], sum);
            tsr_wgmma_wait(1);
            if (two + turn > 0) {
                keep(a[1 - turn], &kept);
                release(w, previous);
            }
            previous = at->stage;
            ring_advance(at, STAGES);
        }
    }
    tsr_wgmma_hold(sum);
    tsr_wgmma_wait(0);
    tsr_wgmma_hold(sum);
    if (count > 0)
        release(w, previous);
    if (count < 0) /* never, which the assembler does not know */
        tsr_shared_store_u32(w->shared, kept);
}

#include "collective/rs_ends.h"

/* 1 if all parts of the group's lines of a tile are in `sum`; 0 if another part, which is not done yet, will add them
 * up. */
TSR_DEVICE int fixup(const tsr_gemm_args *args, const walk *w, unsigned tile, int group, float sum[TSR_WGMMA_REGISTERS])
{
    const tile_fixup all =
        tile_fixup_of(args, w->shared + STREAM_K_AT, tile, CLUSTER_M * GROUPS, (unsigned)(w->rank * GROUPS + group),
                      64 * BN, w->shared + LAST_AT + 4 * (unsigned)group, FIXUP + (unsigned)group);
    return tile_fixup_sums(&all, TSR_WGMMA_REGISTERS, sum);
}

TSR_DEVICE void consume(const tsr_gemm_args *args, const walk *w, int group)
{
    ring at = {0, 0};
    tsr_grid_wait();
    for (unsigned index = 0; has_unit(w, index); index++) {
        float sum[TSR_WGMMA_REGISTERS];
        TSR_UNROLL
        for (int i = 0; i < TSR_WGMMA_REGISTERS; i++)
            sum[i] = 0;
        multiply(w, &at, tsr_warp_uniform(unit_of(w, index).count), group, sum);
        /* Found only now, so that no register keeps them during the main loop. */
        const tile_unit u = unit_of(w, index);
        const tile_place place = tile_order_place(&w->raster, u.tile);
        if (STREAM_K && TSR_UNLIKELY(u.count < w->k_blocks) && !fixup(args, w, u.tile, group, sum))
            continue;
        const unsigned piece = w->shared + PIECES_AT + (unsigned)group * PIECE_BYTES;
        const int line = (place.m * CLUSTER_M + w->rank) * BM + group * 64, other = place.n * BN;
        const quads q = quads_of(w, piece, line, other);
        any_out out = any_out_open(args, place.z, 0);
        out.type = TSR_TYPE_F32;
        out.quads |= any_quads_of_c(&out, args);
        if (out.quads)
            output_quads(&out, &q, group, sum);
        else {
            const any_scaled unscaled = any_unscaled(&out);
            output_elements(&unscaled, &q, piece, group, line, other, sum);
        }
    }
}

/* By one lane, before its warp and others begin. */
TSR_DEVICE void make_barriers(const tsr_gemm_args *args, const walk *w)
{
    if (STREAM_K && TSR_UNLIKELY(w->shares_k))
        tile_stream_k_make(w->shared + STREAM_K_AT, w->raster.total, (unsigned)w->k_blocks,
                           (unsigned)args->schedule.stream_k_tiles, w->first, w->step);
    ring_barriers_make(w->shared + FULL_AT, w->shared + EMPTY_AT, STAGES, 1, 4 * GROUPS * CLUSTER_M);
    tsr_mbarrier_fence_init();
}

TSR_KERNEL_TMA(THREADS, CLUSTER_M)
{
    const int group = tsr_warp_uniform((int)threadIdx.x / 128), swap_ab = args.schedule.swap_ab;
    const walk w = {.raster = tile_order_of_lines(&args, BM * CLUSTER_M, BN),
                    .shared = tsr_shared_address(TSR_SHARED),
                    .first = blockIdx.x / CLUSTER_M,
                    .step = gridDim.x / CLUSTER_M,
                    .rank = CLUSTER_M > 1 ? (int)tsr_cluster_rank() : 0,
                    .k_blocks = tsr_warp_uniform((int)(((unsigned)args.k + BK - 1) / BK)),
                    /* alpha 0 reaches a plan for the whole K as K = 0: there are no blocks to share out. */
                    .shares_k = STREAM_K && args.schedule.stream_k_tiles > 0 && args.k > 0,
                    .swap_ab = swap_ab};

    tsr_grid_launch_dependents();
    if (group == GROUPS) {
        const int is_first = tsr_warp_uniform((int)threadIdx.x / 32) == 4 * GROUPS;
        if (is_first && tsr_elect())
            make_barriers(&args, &w);
        tsr_warp_sync(TSR_ALL_LANES);
        ring_begin(CLUSTER_M, 1, START, THREADS);
        tsr_registers_lower(PRODUCER_REGISTERS);
        if (is_first)
            produce(&args, &maps, &w);
    } else {
        ring_begin(CLUSTER_M, 0, START, THREADS);
        tsr_registers_raise(CONSUMER_REGISTERS);
        consume(&args, &w, group);
    }
    /* A CTA must outlive the messages of its neighbours. */
    if (CLUSTER_M > 1) {
        tsr_cluster_arrive();
        tsr_cluster_wait();
    }
}
