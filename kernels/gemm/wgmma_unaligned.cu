/* wgmma_unaligned: D = alpha * op(A) * op(B) + beta * C on Hopper where rows of A and B begin anywhere.
 *
 * New against wgmma: no copy to aligned rows before the product. The copy engine wants bases and strides that are
 * multiples of 16 bytes, but it loads boxes that begin at any element. Rows 8 apart lie equally far past such a
 * multiple, so the rows of an operand are taken in 8 classes, row number modulo 8, each by a tensor map of its own
 * (core/class_maps.h). A class's rows come to lie side by side in the stage:
 *
 *    rows in memory           a stage: class after class
 *     ..|0000000000|          |0000|  row  0      The operand's rows are permuted, row r to r % 8 * rows / 8 + r / 8.
 *     .|1111111111|           |8888|  row  8        - along M or N that only means that D's rows or columns are
 *    |2222222222|             |1111|  row  1          permuted, which is put right when D is stored
 *    ...                      |9999|  row  9          (tile/wgmma_class_rows.h);
 *     ..|8888888888|           ...                  - along K, both operands must be permuted alike.
 *
 * Which operands have rows along K depends on the transposes (K': K permuted, within a block of 64):
 *
 *    A, B            rows of A, of B   the products
 *    nt              M, N              both operands from shared memory, as in wgmma
 *    tn              K, K              the same: both permuted alike
 *    nn              M, K              A must follow B: through registers, where a thread takes K by 8 anyway
 *    tt              K, N              A must be put right: ldmatrix takes rows in any order
 *
 * nn in registers: instruction i of a block multiplies K' = 16 i to 16 i + 15, which are classes 2 i and 2 i + 1, 8
 * elements each. A thread's elements of a row of A for all four instructions are two chunks of 16 bytes, 2 t and 2 t +
 * 1 with t = lane % 4: the elements of a class from both chunks are the pair that a register holds.
 *
 *    chunk 2 t      | 0 1 | 2 3 | 4 5 | 6 7 |    numbers: classes        instruction 0: (0 0') for K' 0..7, (1 1') for
 *    chunk 2 t + 1  | 0'1'| 2'3'| 4'5'| 6'7'|                            8..15, and so on
 *
 * Everything else (ring of stages, ping-pong or cooperative consumers, clusters, K in parts) is as in wgmma. All four
 * warps of the producer's group ask for boxes, two classes each.
 *
 *   PINGPONG   1, or 0 for cooperative        CLUSTER_M, CLUSTER_N   CTAs of a cluster, each 1 or 2
 *   BM, BN     tile of D: multiples of 64     CONSUMERS              warp groups that multiply: 2
 *   STAGES     of the ring                    EPILOGUE_BOXES         8 KB of output buffer of each consumer
 *   RASTER     tile rows walked together      PRODUCER_, CONSUMER_REGISTERS   of a thread (setmaxnreg)
 *   JOINS      1 if K may be cut in parts
 *
 * Assumes: batch strides of A and B are multiples of 16 bytes; all else any. M, N, K below 2^31 - 512.
 * Bound by: L2 to shared memory, since a piece of 128 bytes of an unaligned row lies in two lines. Measured: not yet.
 */
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
#include "ptx/hold.h"
#include "ptx/ldmatrix.h"
#include "ptx/mbarrier.h"
#include "ptx/tma_classes.h"
#include "ptx/warpgroup.h"
#include "ptx/wgmma_forms.h"
#include "tile/order.h"
#include "tile/wgmma_class_rows.h"
#include "tile/wgmma_join.h"

enum {
    BK = 64,     /* 128 bytes: the span of the swizzle */
    BK_MMA = 16, /* along K of one instruction */
    CLUSTER = CLUSTER_M * CLUSTER_N,
    THREADS = 128 * (1 + CONSUMERS),
    PRODUCERS = 4, /* warps */
    WM = PINGPONG ? BM : BM / CONSUMERS,
    MMAS = WM / 64,                            /* instructions that cover a warp group's rows */
    RELEASES = 4 * (PINGPONG ? 1 : CONSUMERS), /* warps that read a stage */
    TWO_SETS = MMAS * BN <= 128,               /* of registers for A: else there is no room beside the sums */

    SLAB_BYTES = 128 * BK, /* 64 rows along K, or 64 elements along M or N and BK along K */
    A_BYTES = BM * 128,
    B_BYTES = BN * 128,
    STAGE_BYTES = A_BYTES + B_BYTES,
    BOXES_AT = STAGES * STAGE_BYTES,
    FULL_AT = BOXES_AT + CONSUMERS * EPILOGUE_BOXES * BOX_BYTES,
    EMPTY_AT = FULL_AT + 8 * STAGES,
    LAST_AT = EMPTY_AT + 8 * STAGES,

    /* Named barriers of ping-pong: ORDER + g is where warp group g waits for its turn at the tensor cores. The output
     * uses 1 + g. */
    ORDER = 1 + CONSUMERS
};

/* How the operands of the products lie; see above. */
enum { BOTH_BY_K, BOTH_BY_MN, GATHERED, TURNED };

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

/* An operand as a warp of the producer sees it: its share of the classes is `first` and, unless CTAs share the operand,
 * `first` + 1. */
typedef struct source {
    const tsr_tensor_map *maps; /* of the first class */
    int first;
    int skew[2];    /* coordinate of a row's first element, by class */
    int missing[2]; /* 1: the class has no rows, and its map has one that is not there */
    int by_rows;    /* rows lie along M or N, not along K */
} source;

TSR_DEVICE source source_of(const tsr_tensor_map *maps, const void *base, long long ld, long long rows, int by_rows,
                            int share, int part, int warp)
{
    source s;
    s.first = part * (TSR_CLASSES / share) + warp * (TSR_CLASSES / share / PRODUCERS);
    s.maps = maps + s.first;
    s.by_rows = by_rows;
    TSR_UNROLL
    for (int i = 0; i < 2; i++) {
        const long long residue = s.first + i;
        s.skew[i] = (int)(((unsigned long long)base / 2 + (unsigned long long)(residue * ld)) % 8);
        s.missing[i] = residue >= rows;
    }
    return s;
}

/* The warp's share of one operand's part of a stage, `rows` elements along M or N from `mn` on; the CTAs in `mask` all
 * get it. */
TSR_DEVICE void load_classes(const source *s, unsigned to, unsigned bar, int rows, int mn, int k, int z, int share,
                             unsigned mask)
{
    TSR_UNROLL
    for (int i = 0; i < TSR_CLASSES / PRODUCERS / share; i++)
        TSR_UNROLL
    for (int slab = 0; slab < rows / 64; slab++) {
        if (s->by_rows && slab > 0)
            break;
        const unsigned box = to + (s->by_rows ? (unsigned)((s->first + i) * (rows / TSR_CLASSES * 128))
                                              : (unsigned)(slab * SLAB_BYTES + (s->first + i) * 1024));
        const int x = (s->by_rows ? k : mn + 64 * slab) + s->skew[i];
        const int y = (s->by_rows ? mn : k) / TSR_CLASSES + s->missing[i];
        if (share > 1)
            tsr_tma_load_multicast(box, s->maps + i, bar, x, y, z, mask);
        else
            tsr_tma_load(box, s->maps + i, bar, x, y, z);
    }
}

/* Four warps keep the ring full, a share of the classes each; one of their lanes asks for the boxes. */
TSR_DEVICE void produce(const tsr_gemm_args *args, const tsr_class_maps *maps, const walk *w, int warp)
{
    /* CTAs with the same rank_m need the same rows of A, those with the same rank_n the same columns of B. */
    unsigned mask_a = 0, mask_b = 0;
    TSR_UNROLL
    for (int n = 0; n < CLUSTER_N; n++)
        mask_a |= 1u << (w->rank_m * CLUSTER_N + n);
    TSR_UNROLL
    for (int m = 0; m < CLUSTER_M; m++)
        mask_b |= 1u << (m * CLUSTER_N + w->rank_n);

    const source a = source_of(maps->a, args->a, args->lda, args->trans_a ? args->k : args->m, !args->trans_a,
                               CLUSTER_N, w->rank_n, warp);
    const source b = source_of(maps->b, args->b, args->ldb, args->trans_b ? args->n : args->k, args->trans_b, CLUSTER_M,
                               w->rank_m, warp);
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
                if (warp == 0)
                    tsr_mbarrier_arrive_expect(full, STAGE_BYTES);
                load_classes(&a, to, full, BM, m, block * BK, za, CLUSTER_N, mask_a);
                load_classes(&b, to + A_BYTES, full, BN, n, block * BK, zb, CLUSTER_M, mask_b);
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

/* What a thread needs of 64 rows of A, K-major: chunks 2 t and 2 t + 1 of two rows. */
typedef struct chunks {
    unsigned even[2][4], odd[2][4];
} chunks;

TSR_DEVICE void load_chunks(unsigned at, chunks *c)
{
    const unsigned lane = threadIdx.x % 32, row = threadIdx.x % 128 / 32 * 16 + lane / 4, chunk = lane % 4 * 2;
    TSR_UNROLL
    for (int half = 0; half < 2; half++) { /* rows 8 apart have the same swizzle */
        const unsigned line = at + row * 128 + (unsigned)half * 1024;
        tsr_shared_load_u32x4(line + (chunk ^ row % 8) * 16, c->even[half]);
        tsr_shared_load_u32x4(line + ((chunk + 1) ^ row % 8) * 16, c->odd[half]);
    }
}

/* The registers of the four instructions of a block whose K lies by classes. */
TSR_DEVICE void gather(chunks *c, unsigned a[BK / BK_MMA][4])
{
    TSR_UNROLL
    for (int half = 0; half < 2; half++) {
        tsr_hold_u32x4(c->even[half]);
        tsr_hold_u32x4(c->odd[half]);
        TSR_UNROLL
        for (int i = 0; i < 4; i++) {
            a[i][half] = (c->even[half][i] & 0xffff) | c->odd[half][i] << 16;
            a[i][2 + half] = c->even[half][i] >> 16 | (c->odd[half][i] & 0xffff0000);
        }
    }
}

/* The same of A's slab at `at`, M-major with K by classes, for operands of B whose K is in order. */
TSR_DEVICE void turn(const walk *w, unsigned at, unsigned a[BK / BK_MMA][4])
{
    const unsigned lane = threadIdx.x % 32, matrix = lane / 8, residue = lane % 8;
    const unsigned chunk = threadIdx.x % 128 / 32 * 2 + matrix % 2;
    TSR_UNROLL
    for (int i = 0; i < BK / BK_MMA; i++) {
        const unsigned eight = (unsigned)(2 * i) + matrix / 2; /* K = 8 eight + residue */
        tsr_ldmatrix_x4_trans(a[i],
                              TSR_SHARED + (at - w->shared) + residue * 1024 + eight * 128 + ((chunk ^ eight) * 16));
    }
}

/* All batches of products are done, and the stage of the last one. */
TSR_DEVICE void finish_products(const walk *w, int block, int previous, float sum[MMAS][TSR_WGMMA_REGISTERS])
{
    TSR_UNROLL
    for (int i = 0; i < MMAS; i++)
        tsr_wgmma_hold(sum[i]);
    tsr_wgmma_wait(0);
    TSR_UNROLL
    for (int i = 0; i < MMAS; i++)
        tsr_wgmma_hold(sum[i]);
    if (block > 0)
        release(w, previous);
}

/* One block's products, as a batch that is in flight at the end. */
TSR_DEVICE void multiply_block(const walk *w, ring *at, int block, int *previous, int row, int how,
                               unsigned a_registers[MMAS][BK / BK_MMA][4], float sum[MMAS][TSR_WGMMA_REGISTERS])
{
    const unsigned stage = w->shared + (unsigned)at->stage * STAGE_BYTES;
    const unsigned a_at = stage + (unsigned)row / 64 * SLAB_BYTES; /* 64 rows of A are a slab in either layout */
    const unsigned long long a = tsr_wgmma_descriptor(a_at, SLAB_BYTES);
    const unsigned long long b = tsr_wgmma_descriptor(stage + A_BYTES, SLAB_BYTES);
    const int mn_major = how == BOTH_BY_MN, mn_major_b = how == BOTH_BY_MN || how == GATHERED;
    const unsigned step_a = mn_major ? 128 * BK_MMA / 16 : 2 * BK_MMA / 16;
    const unsigned step_b = mn_major_b ? 128 * BK_MMA / 16 : 2 * BK_MMA / 16;
    const int by_registers = how == GATHERED || how == TURNED, waits_first = by_registers && !TWO_SETS;
    chunks c[MMAS];

    tsr_mbarrier_wait(w->shared + FULL_AT + 8 * (unsigned)at->stage, at->parity);
    if (how == GATHERED)
        TSR_UNROLL
    for (int i = 0; i < MMAS; i++)
        load_chunks(a_at + (unsigned)i * SLAB_BYTES, &c[i]);
    if (waits_first)
        finish_products(w, block, *previous, sum);
    TSR_UNROLL
    for (int i = 0; i < MMAS; i++) {
        if (how == GATHERED)
            gather(&c[i], a_registers[i]);
        if (how == TURNED)
            turn(w, a_at + (unsigned)i * SLAB_BYTES, a_registers[i]);
        if (by_registers)
            TSR_UNROLL
        for (int k = 0; k < BK / BK_MMA; k++)
            tsr_hold_u32x4(a_registers[i][k]);
        tsr_wgmma_hold(sum[i]);
    }
    tsr_wgmma_fence();
    TSR_UNROLL
    for (int k = 0; k < BK / BK_MMA; k++)
        TSR_UNROLL
    for (int i = 0; i < MMAS; i++)
        if (by_registers)
            tsr_wgmma_register_a(sum[i], a_registers[i][k], b + k * step_b, block + k > 0, mn_major_b);
        else
            tsr_wgmma(sum[i], a + k * step_a + (unsigned)i * SLAB_BYTES / 16, b + k * step_b, block + k > 0, mn_major,
                      mn_major);
    tsr_wgmma_commit();
    if (!waits_first) {
        tsr_wgmma_wait(1); /* the batch before is done, with its stage and its registers of A */
        if (block > 0)
            release(w, *previous);
    }
    *previous = at->stage;
    ring_advance(at);
}

/* The products of `count` blocks of a tile, `how` a constant. `pass_on` >= 0: the ping-pong partner whose turn comes
 * when all have been issued. */
TSR_DEVICE void multiply(const walk *w, ring *at, int count, int pass_on, int row, int how,
                         float sum[MMAS][TSR_WGMMA_REGISTERS])
{
    unsigned even[MMAS][BK / BK_MMA][4], odd[MMAS][BK / BK_MMA][4]; /* A of blocks taken in turn */
    int previous = 0, block = 0;
    if (TWO_SETS || how == BOTH_BY_K || how == BOTH_BY_MN)
        for (; block + 1 < count; block += 2) {
            multiply_block(w, at, block, &previous, row, how, even, sum);
            multiply_block(w, at, block + 1, &previous, row, how, odd, sum);
        }
    for (; block < count; block++)
        multiply_block(w, at, block, &previous, row, how, even, sum);
    if (PINGPONG && pass_on >= 0)
        tsr_named_barrier_arrive(ORDER + (unsigned)pass_on, 256);
    finish_products(w, count, previous, sum);
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

TSR_DEVICE void consume(const tsr_gemm_args *args, const walk *w, int group)
{
    const int row = PINGPONG ? 0 : group * WM;
    const tile_boxes boxes = {.shared = w->shared + BOXES_AT + (unsigned)group * (EPILOGUE_BOXES * BOX_BYTES),
                              .group = group,
                              .thread = (int)threadIdx.x % 128};
    ring at = {0, 0};
    float sum[MMAS][TSR_WGMMA_REGISTERS];

    if (PINGPONG && group == 1)
        ring_skip(&at, span_of(w, w->first).count);
    for (unsigned unit = w->first + (PINGPONG ? (unsigned)group * w->step : 0); unit < w->units;
         unit += PINGPONG ? 2 * w->step : w->step) {
        const int pass_on = PINGPONG && unit + w->step < w->units ? 1 - group : -1;
        const tile_place place = tile_order_place(&w->raster, tile_of(w, unit));
        const int count = span_of(w, unit).count;
        const int m = (place.m * CLUSTER_M + w->rank_m) * BM, n = (place.n * CLUSTER_N + w->rank_n) * BN;
        if (count == 0)
            TSR_UNROLL
        for (int i = 0; i < MMAS; i++)
            TSR_UNROLL
        for (int j = 0; j < TSR_WGMMA_REGISTERS; j++)
            sum[i][j] = 0;
        if (PINGPONG && unit != w->first)
            tsr_named_barrier(ORDER + (unsigned)group, 256);
        if (args->trans_a && args->trans_b)
            multiply(w, &at, count, pass_on, row, TURNED, sum);
        else if (args->trans_a)
            multiply(w, &at, count, pass_on, row, BOTH_BY_MN, sum);
        else if (args->trans_b)
            multiply(w, &at, count, pass_on, row, BOTH_BY_K, sum);
        else
            multiply(w, &at, count, pass_on, row, GATHERED, sum);
        if (PINGPONG)
            ring_skip(&at, span_of(w, unit + w->step).count);
        if (JOINS && w->split > 1 && !join(args, w, unit, group, boxes.thread, sum))
            continue;
        TSR_UNROLL
        for (int i = 0; i < MMAS; i++)
            tile_output_classes(args, &boxes, m, n, place.z, row + 64 * i, sum[i]);
    }
}

TSR_KERNEL_CLASSES(THREADS, CLUSTER)
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
        tsr_mbarrier_fence_init();
    }
    if (threadIdx.x >= 128 * CONSUMERS && threadIdx.x < 128 * CONSUMERS + 2 * TSR_CLASSES)
        tsr_tma_prefetch_map(&maps.a[threadIdx.x % (2 * TSR_CLASSES)]); /* and b's, which follow */
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
        produce(&args, &maps, &w, tsr_warp_uniform((int)threadIdx.x / 32) - 4 * CONSUMERS);
    } else {
        tsr_registers_raise(CONSUMER_REGISTERS);
        consume(&args, &w, group);
    }
    /* A CTA must outlive the messages of its neighbours. */
    if (CLUSTER > 1) {
        tsr_cluster_arrive();
        tsr_cluster_wait();
    }
}
