/* wgmma_loads: D = alpha * op(A) * op(B) + beta * C on Hopper where rows of A and B begin anywhere.
 *
 * New against wgmma: a producer without the copy engine, which takes nothing but rows that begin at multiples of 16
 * bytes. Where they do not, wgmma needs copies that do, first: a launch more, and for small products most of the time.
 * Here warp groups of producers read the rows as they are, by 16-byte loads, shift them into place and store them as
 * the copy engine would have left them (tile/wgmma_load.h). Consumers, ring and barriers are those of wgmma.
 *
 *     warp groups 0, 1   consumers                           full[s]    the four warps of a producer have stored stage
 * s warp groups 2, 3   producers: stages in turn           empty[s]   all readers of stage s are done
 *
 *     time ->   group 2   ask for stage 0 ....... | shift, store | ask for stage 2 ....... | shift, store
 *               group 3              ask for stage 1 ....... | shift, store | ask for stage 3 ...
 *
 * A producer's thread asks for WINDOW chunks of a stage before it stores the first one: what is under way hides the
 * latency, 16 to 24 KB for each group. Threads wrote the stage, so each of them orders its writes before the tensor
 * cores' reads (fence.proxy.async) and each warp arrives at full[s].
 *
 *   PINGPONG   1, or 0 for cooperative        STAGES           of the ring
 *   BM, BN     tile of D: multiples of 64     EPILOGUE_BOXES   8 KB of output buffer of each consumer
 *   CONSUMERS  warp groups that multiply: 2   PRODUCERS        warp groups that load: 2
 *   WINDOW     chunks of a producer's thread that are under way at once
 *   RASTER     tile rows walked together      PRODUCER_, CONSUMER_REGISTERS   of a thread (setmaxnreg)
 *
 * Assumes: M, N, K below 2^31 - 512; nothing of alignments.
 * Bound by: the pipe of shared memory and L1. A stage of 128 x 128 takes it 512 clocks for loads, each chunk twice, 256
 * for stores and 384 for wgmma's reads, where the products take 512. Measured: not yet. */
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
#include "ptx/grid.h"
#include "ptx/mbarrier.h"
#include "ptx/warpgroup.h"
#include "ptx/wgmma.h"
#include "tile/order.h"
#include "tile/wgmma_join.h"
#include "tile/wgmma_load.h"
#include "tile/wgmma_rows.h"

enum {
    BK = 64,     /* 128 bytes: the span of the swizzle */
    BK_MMA = 16, /* along K of one instruction */
    THREADS = 128 * (PRODUCERS + CONSUMERS),
    WM = PINGPONG ? BM : BM / CONSUMERS,
    MMAS = WM / 64,                            /* instructions that cover a warp group's rows */
    RELEASES = 4 * (PINGPONG ? 1 : CONSUMERS), /* warps that read a stage */
    CHUNKS_A = BM * LOAD_CHUNK / 128,          /* of a stage, for each thread of a producer */
    CHUNKS_B = BN * LOAD_CHUNK / 128,
    EDGE_WINDOW = 4, /* chunks under way where each is checked: more would spill */

    SLAB_BYTES = 128 * BK, /* MN-major: 64 elements along M or N, BK along K */
    A_BYTES = BM * 128,
    STAGE_BYTES = A_BYTES + BN * 128,
    BOXES_AT = STAGES * STAGE_BYTES,
    FULL_AT = BOXES_AT + CONSUMERS * EPILOGUE_BOXES * BOX_BYTES,
    EMPTY_AT = FULL_AT + 8 * STAGES,
    LAST_AT = EMPTY_AT + 8 * STAGES,

    /* Named barriers of ping-pong: ORDER + g is where warp group g waits for its turn at the tensor cores. The output
     * uses 1 + g. */
    ORDER = 1 + CONSUMERS
};

/* What all roles know. */
typedef struct walk {
    tile_order raster;
    unsigned shared;
    int k_blocks;
    unsigned split, units; /* parts of K, parts of all tiles */
    unsigned first, step;  /* of the CTA's walk over units */
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

/* Both operands of a stage, whose chunks a thread counts through: A's, then B's. */
typedef struct stage_source {
    const load_operand *a, *b;
    load_place at_a, at_b;
} stage_source;

TSR_DEVICE void fetch(const stage_source *s, int chunk, load_piece *p)
{
    if (chunk < CHUNKS_A)
        load_fetch(s->a, &s->at_a, chunk, p);
    else
        load_fetch(s->b, &s->at_b, chunk - CHUNKS_A, p);
}

TSR_DEVICE void put(const stage_source *s, int chunk, load_piece *p, unsigned stage)
{
    if (chunk < CHUNKS_A)
        load_put(s->a, &s->at_a, chunk, p, stage);
    else
        load_put(s->b, &s->at_b, chunk - CHUNKS_A, p, stage + A_BYTES);
}

/* One stage, from asking for its chunks, `window` of them under way at once, to telling the consumers. */
TSR_DEVICE void fill(const walk *w, const stage_source *s, const ring *at, int window)
{
    const unsigned stage = w->shared + (unsigned)at->stage * STAGE_BYTES;
    load_piece piece[WINDOW];
    TSR_UNROLL
    for (int i = 0; i < window; i++)
        fetch(s, i, &piece[i]);
    tsr_mbarrier_wait(w->shared + EMPTY_AT + 8 * (unsigned)at->stage, at->parity ^ 1);
    TSR_UNROLL
    for (int i = 0; i < CHUNKS_A + CHUNKS_B; i++) {
        put(s, i, &piece[i % window], stage);
        if (i + window < CHUNKS_A + CHUNKS_B)
            fetch(s, i + window, &piece[i % window]);
    }
    tsr_fence_async_shared();
    tsr_warp_sync(TSR_ALL_LANES);
    if (threadIdx.x % 32 == 0)
        tsr_mbarrier_arrive_here(w->shared + FULL_AT + 8 * (unsigned)at->stage);
}

/* The producers keep the ring full, taking stages in turn. */
TSR_DEVICE void produce(const tsr_gemm_args *args, const walk *w, int producer)
{
    const int thread = (int)threadIdx.x % 128;
    const load_operand a =
        load_operand_of(args->a, args->lda, args->batch_a, args->batch, args->m, args->k, !args->trans_a, thread);
    const load_operand b =
        load_operand_of(args->b, args->ldb, args->batch_b, args->batch, args->n, args->k, args->trans_b, thread);
    int turn = 0;
    ring at = {0, 0};
    for (unsigned unit = w->first; unit < w->units; unit += w->step) {
        const tile_place place = tile_order_place(&w->raster, tile_of(w, unit));
        const span blocks = span_of(w, unit);
        for (int block = blocks.first; block < blocks.first + blocks.count; block++) {
            if (turn == producer) {
                stage_source source = {&a, &b, load_place_of(&a, BM, place.z, place.m * BM, (long long)block * BK),
                                       load_place_of(&b, BN, place.z, place.n * BN, (long long)block * BK)};
                if (source.at_a.edges || source.at_b.edges) {
                    source.at_a.edges = source.at_b.edges = 1;
                    fill(w, &source, &at, EDGE_WINDOW);
                } else { /* the same code without the checks */
                    source.at_a.edges = source.at_b.edges = 0;
                    fill(w, &source, &at, WINDOW);
                }
            }
            turn = turn + 1 < PRODUCERS ? turn + 1 : 0;
            ring_advance(&at);
        }
    }
}

/* A warp is done with a stage. */
TSR_DEVICE void release(const walk *w, int stage)
{
    if (threadIdx.x % 32 == 0)
        tsr_mbarrier_arrive_here(w->shared + EMPTY_AT + 8 * (unsigned)stage);
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
    const unsigned tile = tile_of(w, unit);
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
        const int m = place.m * BM + row, n = place.n * BN;
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
            tile_output_rows(args, &boxes, m + 64 * i, n, place.z, sum[i]);
    }
}

TSR_KERNEL_CTAS(THREADS, 1)
{
    const unsigned shared = tsr_shared_address(TSR_SHARED);
    const int group = tsr_warp_uniform((int)threadIdx.x / 128);
    walk w = {.raster = tile_order_of(&args, BM, BN),
              .shared = shared,
              .k_blocks = (int)((args.k + BK - 1) / BK),
              .split = (unsigned)args.split,
              .units = (unsigned)args.split,
              .first = blockIdx.x,
              .step = gridDim.x};

    w.units *= w.raster.total;
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) {
            tsr_mbarrier_init(shared + FULL_AT + 8 * (unsigned)i, 4);
            tsr_mbarrier_init(shared + EMPTY_AT + 8 * (unsigned)i, RELEASES);
        }
        tsr_mbarrier_fence_init();
    }
    tsr_grid_launch_dependents();
    tsr_barrier();
    tsr_grid_wait();

    if (group >= CONSUMERS) {
        tsr_registers_raise(PRODUCER_REGISTERS);
        produce(&args, &w, group - CONSUMERS);
    } else {
        tsr_registers_lower(CONSUMER_REGISTERS);
        consume(&args, &w, group);
    }
}
