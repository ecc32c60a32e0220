/* wgmma-sparse24: D = alpha * op(A) * op(B) + beta * C on Hopper's tensor cores, one of A and B compressed 2:4.
 *
 * New against wgmma: wgmma.sp multiplies two of each four elements along K of its A, and twice as much of K in the same
 * time. New against sparse24: no thread copies an operand.
 *   - The compressed operand, the instruction's A, lies in the form of core/sparse24.h. Its values are a matrix with
 *     half of K for the copy engine, its metadata another one: of each 16 lines the words of the lanes that multiply
 *     them. A lane's words lie in its registers one stage long.
 *   - Of the other operand all of K is there: it is most of a stage, and of what tensor cores read. CTAs of a cluster,
 *     whose tiles have the same part of it, load a share each and send it to all.
 *   - Where B is compressed (swap_ab) D^T = op(B)^T op(A)^T is computed: lines are columns of D, and a tile leaves
 *     transposed (collective/wgmma_transposed.h).
 *
 *   a CTA, one on each SM, walks over tiles of D:             a ring of STAGES in shared memory:
 *
 *     warp groups, all but the last   WM lines of a tile each   full[s]   the copy engine has delivered stage s
 *     the last one                    one warp is the producer  empty[s]  all readers of stage s are done
 *
 *   stage: values BM x 64 DEPTH bytes | DEPTH slices of the other operand, BN x 128 bytes each | metadata
 *
 * The other operand's slices are as wgmma's (collective/wgmma_boxes.h): along K or, of 16 bits, along M or N. Values
 * are swizzled over their 64 or 128 bytes of a line. 8-bit floats: see wgmma_kmajor.cu for PROMOTE; each stage is
 * summed from zero. The end is wgmma_kmajor's.
 *
 *   ELEM_*     bf16 f16 tf32 fp8 int8 s8      CLUSTER_M   CTAs of a cluster, whose lines follow each other
 *   BM, BN     tile: lines of the compressed  RASTER      tile rows walked together (collective/order.h)
 *              operand, and of the other one  PRODUCER_, CONSUMER_REGISTERS   of a thread (setmaxnreg)
 *   DEPTH      slices of a stage: 1 or 2      PIECE       columns that leave together
 *   STAGES     of the ring                    MMAS        products of 64 lines of a warp group
 *                                             PROMOTE     1: 8-bit floats add up outside the tensor cores
 *
 * Assumes: the other operand's base, leading dimension and batch stride are multiples of 16 bytes, and but of 16 bits
 * it lies along K; BM divides the form's 128 lines or is a multiple of 64; C and D any. M, N, K below 2^31 - 512.
 *
 * Bound by: shared memory. At their sparse rate tensor cores would read 128 bytes of the other operand in each clock,
 * all that an SM's shared memory gives, and the copy engine writes beside them. At large sizes by power.
 *
 * Measured: 1,047 TFLOP/s of the dense product's operations on an H100 at 4096, 1,064 at 8192 (2026-11-25, bf16, nt,
 * 128 x 256): 1.69 and 1.49 times as fast as the dense product.
 * 594 on an H200 at 8192 in tf32 (2026-11-27): 1.63 times as fast as the dense product. perf/LOG/types.md. */
#if BN % PIECE != 0
#error "PIECE must divide BN"
#endif
#define TSR_WGMMA_N      BN
#define TSR_SHARED_ALIGN 1024 /* the span of the swizzle's pattern */

#include "ptx/barrier.h"
#include "ptx/cluster.h"
#include "ptx/grid.h"
#include "ptx/mbarrier.h"
#include "ptx/shared.h"
#include "ptx/tma.h"
#include "ptx/warpgroup.h"
#include "tile/wgmma_sparse_element.h"

#include "collective/order.h"
#include "collective/ring.h"
#include "collective/ring_barriers.h"
#include "collective/ring_begin.h"

enum {
    WM = 64 * MMAS,   /* lines of a warp group */
    GROUPS = BM / WM, /* those that multiply */
    THREADS = 128 * (GROUPS + 1),
    BK = 128 * DEPTH / TSR_WGMMA_ELEMENT_BYTES,
    KEPT = BK / 2,   /* of the BK elements of a line that are given */
    WORD_BLOCK = 32, /* words that 16 lines have for WORD_K of K */
    WORD_K = TSR_WGMMA_ELEMENT_BYTES == 4 ? 32 : 64,
    WORDS = BK / WORD_K,    /* of metadata of a lane in a stage */
    ROW_BYTES = 64 * DEPTH, /* of a line's values: the span of their swizzle */
    FEW_ENDS = 0,
    ELEMENT_ROWS = MMAS == 1 ? 16 : 4,
    ELEMENT_PIECES = MMAS == 1 ? 1 : BN / PIECE,
    QUADS_OF_C = 0,                   /* wide tiles would spill, */
    ADDS_C = MMAS == 1,               /* the widest here, */
    ENDS_LEAN = BM * BN <= 128 * 256, /* and the widest here, too */
    PITCH = PIECE + 8,                /* words from row to row of a piece: rows of a store lie in different banks */

    SLAB_BYTES = 128 * 64, /* 64 rows or columns of a slice */
    SLICE_BYTES = BN * 128,
    VALUES_BYTES = BM * ROW_BYTES,
    METADATA_AT = VALUES_BYTES + DEPTH * SLICE_BYTES,
    LINES = 128 % BM == 0   ? BM
            : BM % 128 == 0 ? 128
                            : 64, /* of a box: the form has them all, or none of them */
    METADATA_BYTES = LINES / 16 * WORDS * WORD_BLOCK * 4,
    LOADED_BYTES = METADATA_AT + BM / LINES * METADATA_BYTES,
    STAGE_BYTES = (LOADED_BYTES + TSR_SHARED_ALIGN - 1) / TSR_SHARED_ALIGN * TSR_SHARED_ALIGN,
    PIECE_BYTES = PIECE * 20 * 4 > 16 * PITCH * 4 ? PIECE * 20 * 4 : 16 * PITCH * 4, /* transposed, or as it is */
    PIECES_AT = STAGES * STAGE_BYTES,
    FULL_AT = PIECES_AT + 4 * GROUPS * PIECE_BYTES,
    EMPTY_AT = FULL_AT + 8 * STAGES,

    START = 1, /* named barrier: where the consumers wait for the mbarriers */
    FORM_LINES = 128
};

#include "collective/wgmma_boxes.h"

#include "collective/wgmma_transposed.h"

/* What all roles know. */
typedef struct walk {
    tile_order raster; /* of clusters, over lines and rows of the other operand */
    unsigned shared, first, step;
    int rank, k_blocks;
    int swap_ab;  /* B is compressed */
    int mn_major; /* the other operand lies along M or N */
} walk;

/* Tiles of all problems, found anew each time: a register that the main loop has for sums instead. */
TSR_DEVICE unsigned total_of(const tsr_gemm_args *args, const walk *w)
{
    return (unsigned)tsr_warp_uniform((int)w->raster.tiles) * (unsigned)args->batch;
}

/* Keeps the ring full. */
TSR_DEVICE void produce(const tsr_gemm_args *args, const tsr_tensor_maps *maps, const walk *w)
{
    const unsigned all = (1u << CLUSTER_M) - 1;
    const tsr_tensor_map *const values = w->swap_ab ? &maps->b : &maps->a, *other = w->swap_ab ? &maps->a : &maps->b;
    const long long batch_a = args->batch_a, batch_b = args->batch_b;
    /* Boxes behind the last line of the form: their results leave nowhere, but there is metadata for them. */
    const long long lines = w->swap_ab ? args->n : args->m;
    const int last_line = (int)((lines + FORM_LINES - 1) / FORM_LINES * FORM_LINES) - LINES;
    ring at = {0, 0};
    if (tsr_elect()) {
        tsr_tma_prefetch_map(values);
        tsr_tma_prefetch_map(other);
        tsr_tma_prefetch_map(&maps->c);
    }
    tsr_grid_wait();
    for (unsigned unit = w->first; unit < total_of(args, w); unit += w->step) {
        const tile_place place = tile_order_place(&w->raster, unit);
        const int own = (place.m * CLUSTER_M + w->rank) * BM;
        const int zs = (w->swap_ab ? batch_b : batch_a) ? place.z : 0,
                  zx = (w->swap_ab ? batch_a : batch_b) ? place.z : 0;
        TSR_ROLLED
        for (int block = 0; block < w->k_blocks; block++) {
            const unsigned full = w->shared + FULL_AT + 8 * at.stage, to = w->shared + at.stage * STAGE_BYTES;
            tsr_mbarrier_wait(w->shared + EMPTY_AT + 8 * at.stage, at.parity ^ 1);
            if (tsr_elect()) {
                tsr_mbarrier_arrive_expect(full, LOADED_BYTES);
                TSR_UNROLL
                for (int box = 0; box < BM / LINES; box++) {
                    const int asked = own + box * LINES, line = asked < last_line ? asked : last_line;
                    tsr_tma_load(to + (unsigned)(box * LINES * ROW_BYTES), values, full, block * KEPT, line, zs);
                    tsr_tma_load(to + METADATA_AT + (unsigned)(box * METADATA_BYTES), &maps->c, full,
                                 block * WORDS * WORD_BLOCK, line / 16, zs);
                }
                TSR_UNROLL
                for (int slice = 0; slice < DEPTH; slice++)
                    tile_load_boxes(to + VALUES_BYTES + (unsigned)slice * SLICE_BYTES, other, full, w->mn_major, BN,
                                    place.n * BN, block * BK + slice * (BK / DEPTH), zx, CLUSTER_M, w->rank, all);
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

/* Of a thread: sums, and what metadata of a stage it holds for them. */
typedef sum_type sums[MMAS][TSR_WGMMA_REGISTERS];
typedef unsigned metadata[MMAS][WORDS];

TSR_DEVICE void hold_all(sums sum)
{
    TSR_UNROLL
    for (int i = 0; i < MMAS; i++)
        hold_sums(sum[i]);
}

/* Issues the products of one stage; `accumulate`: to what is in `sum`. `words` get the lane's metadata. */
TSR_DEVICE void multiply_stage(const walk *w, ring at, int group, int accumulate, metadata words, sums sum,
                               int mn_major, int second_s, int second_x)
{
    enum { LANE_WORDS = WORDS * WORD_BLOCK, SLABS = WM / 16 };
    const int warp = (int)threadIdx.x / 32 % 4, lane = (int)threadIdx.x % 32;
    const unsigned stage = w->shared + at.stage * STAGE_BYTES;
    const unsigned own = stage + METADATA_AT + (unsigned)((group * SLABS + warp) * LANE_WORDS + lane) * 4;
    const unsigned long long values =
        tsr_wgmma_descriptor_of(stage + (unsigned)group * (WM * ROW_BYTES), 8 * ROW_BYTES, 8 * ROW_BYTES, ROW_BYTES);
    const unsigned long long other = tsr_wgmma_descriptor(stage + VALUES_BYTES, SLAB_BYTES);
    /* Of the other operand, in units of 16 bytes: half of a slice along K. */
    const unsigned step = mn_major ? 32 * 128 / 16 : 64 / 16;
    tsr_mbarrier_wait(w->shared + FULL_AT + 8 * at.stage, at.parity);
    TSR_UNROLL
    for (int i = 0; i < MMAS * WORDS; i++)
        words[i / WORDS][i % WORDS] =
            tsr_shared_load_u32(own + (unsigned)(i / WORDS * 4 * LANE_WORDS + i % WORDS * WORD_BLOCK) * 4);
    hold_all(sum);
    tsr_wgmma_fence();
    TSR_UNROLL
    for (int k = 0; k < 2 * DEPTH; k++)
        TSR_UNROLL
    for (int i = 0; i < MMAS; i++)
        sparse_product(values + (unsigned)i * (64 * ROW_BYTES / 16) + 2 * (unsigned)k,
                       other + (unsigned)(k / 2) * (SLICE_BYTES / 16) + (unsigned)(k % 2) * step,
                       words[i][k * WORDS / (2 * DEPTH)], k % 2, accumulate || k > 0, sum[i], mn_major, second_s,
                       second_x);
    tsr_wgmma_commit();
}

#if PROMOTE
/* All products of a tile, in sums that leave the tensor cores after each stage. */
TSR_DEVICE void multiply(const walk *w, ring *at, int group, sums sum, int mn_major, int second_s, int second_x)
{
    sums part;
    metadata words;
    for (int block = 0; block < w->k_blocks; block++) {
        multiply_stage(w, *at, group, 0, words, part, mn_major, second_s, second_x);
        hold_all(part);
        tsr_wgmma_wait(0);
        hold_all(part);
        release(w, at->stage);
        ring_advance(at, STAGES);
        TSR_UNROLL
        for (int i = 0; i < MMAS * TSR_WGMMA_REGISTERS; i++)
            sum[i / TSR_WGMMA_REGISTERS][i % TSR_WGMMA_REGISTERS] +=
                part[i / TSR_WGMMA_REGISTERS][i % TSR_WGMMA_REGISTERS];
    }
}
#else
/* Always, since no metadata is 0: a use that keeps it in its registers until the products are done. Besides, what is
 * used but once the assembler prepares between two products, which it then takes apart. */
TSR_DEVICE int are_there(metadata words)
{
    int all = 1;
    TSR_UNROLL
    for (int i = 0; i < MMAS * WORDS; i++)
        all &= words[i / WORDS][i % WORDS] != 0;
    return all;
}

/* All products of a tile. One batch stays in flight; the one before it is done, and so are its stage and its metadata:
 * these lie in two places by turns. */
TSR_DEVICE void multiply(const walk *w, ring *at, int group, sums sum, int mn_major, int second_s, int second_x)
{
    metadata words[2];
    unsigned previous = 0;
    TSR_UNROLL
    for (int i = 0; i < MMAS * WORDS; i++)
        words[1][i / WORDS][i % WORDS] = 0;
    TSR_ROLLED
    for (int two = 0; two < w->k_blocks; two += 2) {
        TSR_UNROLL
        for (int turn = 0; turn < 2; turn++) {
            if (two + turn == w->k_blocks)
                break;
            multiply_stage(w, *at, group, two + turn > 0, words[turn], sum, mn_major, second_s, second_x);
            tsr_wgmma_wait(1);
            if (two + turn > 0 && are_there(words[1 - turn]))
                release(w, previous);
            previous = at->stage;
            ring_advance(at, STAGES);
        }
    }
    hold_all(sum);
    tsr_wgmma_wait(0);
    hold_all(sum);
    if (w->k_blocks > 0)
        release(w, previous);
}
#endif

TSR_DEVICE void consume(const tsr_gemm_args *args, const walk *w, int group)
{
    const int warp = tsr_warp_uniform((int)threadIdx.x / 32) % 4;
    const unsigned piece = w->shared + PIECES_AT + (unsigned)(group * 4 + warp) * PIECE_BYTES;
    ring at = {0, 0};
    tsr_grid_wait();
#if TSR_WGMMA_ELEMENT_BYTES == 1 /* others have no scales */
    const float alpha = any_alpha(args);
#endif
    for (unsigned unit = w->first; unit < total_of(args, w); unit += w->step) {
        sums sum;
        TSR_UNROLL
        for (int i = 0; i < MMAS * TSR_WGMMA_REGISTERS; i++)
            sum[i / TSR_WGMMA_REGISTERS][i % TSR_WGMMA_REGISTERS] = 0;
#if ONE_TYPE
        multiply(w, &at, group, sum, 0, 0, 0);
#elif TSR_WGMMA_ELEMENT_BYTES == 1
        const int second_s = (w->swap_ab ? args->type_b : args->type_a) == ANY_SECOND;
        const int second_x = (w->swap_ab ? args->type_a : args->type_b) == ANY_SECOND;
        if (second_s && second_x)
            multiply(w, &at, group, sum, 0, 1, 1);
        else if (second_s)
            multiply(w, &at, group, sum, 0, 1, 0);
        else if (second_x)
            multiply(w, &at, group, sum, 0, 0, 1);
        else
            multiply(w, &at, group, sum, 0, 0, 0);
#else
        if (w->mn_major)
            multiply(w, &at, group, sum, 1, 0, 0);
        else
            multiply(w, &at, group, sum, 0, 0, 0);
#endif
        /* Found only now, so that no register keeps it during the main loop. */
        const tile_place place = tile_order_place(&w->raster, unit);
        const int line = (place.m * CLUSTER_M + w->rank) * BM + group * WM + warp * 16;
#if TSR_WGMMA_ELEMENT_BYTES == 1
        any_out out = any_out_open(args, place.z, &alpha);
#else
        any_out out = any_out_open(args, place.z, 0);
#endif
        if (ADDS_C)
            out.quads |= any_quads_of_c(&out, args);
        const any_scaled unscaled = any_unscaled(&out);
        TSR_UNROLL
        for (int i = 0; i < MMAS; i++)
            if (w->swap_ab && !output_columns(&out, piece, place.n * BN, line + 64 * i, sum[i]))
                output_transposed_elements(&unscaled, piece, place.n * BN, line + 64 * i, sum[i]);
            else if (!w->swap_ab && !output_rows(&out, piece, line + 64 * i, place.n * BN, sum[i]))
                output_elements(&unscaled, piece, line + 64 * i, place.n * BN, sum[i]);
    }
}

/* By one lane, before its warp and others begin. */
TSR_DEVICE void make_barriers(const walk *w)
{
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
                    .swap_ab = swap_ab,
                    .mn_major = TSR_WGMMA_ELEMENT_BYTES == 2 && (swap_ab ? args.trans_a : !args.trans_b)};

    tsr_grid_launch_dependents();
    if (group == GROUPS) {
        const int is_first = tsr_warp_uniform((int)threadIdx.x / 32) == 4 * GROUPS;
        if (is_first && tsr_elect())
            make_barriers(&w);
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
