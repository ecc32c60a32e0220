/* Copying unaligned operands to aligned rows beside the product that needs them.
 *
 * Warps that have nothing else to do copy, in the order in which tiles will need it, and tell by flags how far they
 * are; who loads waits for the flags of what it loads alone. An operand is cut into blocks, each with a flag:
 *
 *      rows along M or N (K contiguous)            rows along K (M or N contiguous)
 *
 *                chunk 0     chunk 1                     panel 0     panel 1
 *      panel 0 | 128 x ck  | 128 x ck |         chunk 0 | ck x 256  | ck x 256 |       ck = 256 << CHUNK shift
 *      panel 1 | 128 x ck  | 128 x ck |         chunk 1 | ck x 256  | ck x 256 |
 *
 * and a block into items of 8 rows x 512 bytes, which a warp copies at once. Items are claimed from a counter: first
 * chunk after chunk of what the first wave of tiles reads, then what is left of B, panel after panel, then of A. Nobody
 * who copies waits for anything, so that a grid of which only some CTAs run still gets on.
 *
 * A row of an item begins `skew` bytes past a multiple of 16. Lane i loads the aligned piece i, gets piece i + 1 from its
 * neighbour, shifts and stores:
 *
 *      source   |.....aaa|bbbbbbbb|cccccccc|d.......|
 *      copy     |aaabbbbb|bbbccccc|cccd....|
 *
 * Where a piece reaches past the row (and rows are not tight, so that their neighbours are not the matrix), elements go one by one. What
 * lies past a row in the copy is never read: the copy engine knows how long rows are. */
#ifndef TSR_TILE_COPY_AHEAD_H
#define TSR_TILE_COPY_AHEAD_H

#include "ptx/atomic.h"
#include "ptx/bulk.h"
#include "ptx/mbarrier.h"
#include "ptx/proxy.h"
#include "ptx/shared_vector.h"
#include "ptx/vector.h"
#include "ptx/warp.h"
#include "tile/shift.h"

#ifndef PUBLISH_NOW
#define PUBLISH_NOW 0
#endif
enum {
    COPY_ROWS = 8,
    COPY_COLS = 256, /* of an item */
    COPY_PITCH = 2 * COPY_COLS + 16,
    COPY_BUFFER_BYTES = COPY_ROWS * COPY_PITCH,
    COPY_WARPS = 3, /* that copy */
    COPY_PANEL = 128,
    COPY_CHUNK = 256,
    COPY_MOST_CHUNKS = 32,
    COPY_NEXT = 0, /* words of the workspace's counters */
    COPY_DONE = 1,
    COPY_FLAGS = 32
};

/* One operand as it is stored, and its copy. */
typedef struct copy_operand {
    const unsigned char *from;
    unsigned char *to;
    long long ld_bytes, pitch_bytes;
    unsigned rows, columns;
    int along_k; /* rows are along K */
} copy_operand;

/* How the work is cut. */
typedef struct copy_ahead {
    unsigned panels_a, panels_b; /* 0: not copied */
    unsigned first_a, first_b;   /* of which the first wave of tiles reads so many */
    unsigned shift_a, shift_b;   /* items of a block: 1 << shift */
    unsigned chunks, shift;      /* blocks of 64 along K to a chunk: 1 << shift */
    unsigned step;               /* items of a chunk of the first wave */
    unsigned rest;               /* the first item after the first wave */
    unsigned rest_a;             /* the first item of what is left of A */
    unsigned total;
} copy_ahead;

/* Long rows are whole lines, as in plan/pad.c. */
TSR_DEVICE long long copy_pitch_bytes(long long columns)
{
    return columns >= 512 ? (columns + 63) / 64 * 128 : (columns + 7) / 8 * 16;
}

TSR_DEVICE int copy_is_needed(const void *from, long long ld)
{
    return ((unsigned long long)from | (unsigned long long)ld * 2) % 16 != 0;
}

TSR_DEVICE copy_operand copy_operand_of(const tsr_gemm_args *args, int is_a)
{
    copy_operand x;
    const long long rows_a = args->trans_a ? args->k : args->m, columns_a = args->trans_a ? args->m : args->k;
    const long long bytes_a =
        copy_is_needed(args->a, args->lda) ? (rows_a * copy_pitch_bytes(columns_a) + 255) / 256 * 256 : 0;
    const long long columns_b = args->trans_b ? args->k : args->n, columns = is_a ? columns_a : columns_b;
    x.from = (const unsigned char *)(is_a ? args->a : args->b);
    x.to = (unsigned char *)args->workspace + TSR_WORKSPACE_COUNTER_BYTES + (is_a ? 0 : bytes_a);
    x.ld_bytes = 2 * (is_a ? args->lda : args->ldb);
    x.pitch_bytes = copy_pitch_bytes(columns);
    x.rows = (unsigned)(is_a ? rows_a : args->trans_b ? args->n : args->k);
    x.columns = (unsigned)columns;
    x.along_k = is_a ? args->trans_a : !args->trans_b;
    return x;
}

TSR_DEVICE unsigned copy_panels(long long extent, int along_k)
{
    return (unsigned)(along_k ? (extent + COPY_COLS - 1) / COPY_COLS : (extent + COPY_PANEL - 1) / COPY_PANEL);
}

/* `bm` x `bn` tiles, of which `ctas` are begun at once. */
TSR_DEVICE copy_ahead copy_ahead_of(const tsr_gemm_args *args, unsigned bm, unsigned bn, unsigned tiles_m,
                                    unsigned tiles_n, unsigned ctas)
{
    copy_ahead all;
    const unsigned group = tiles_m < RASTER ? tiles_m : RASTER;
    const unsigned columns = (ctas + group - 1) / group;
    const unsigned blocks = (unsigned)((args->k + 63) / 64);
    all.shift = 2;
    while ((blocks + (1u << all.shift) - 1) >> all.shift > COPY_MOST_CHUNKS)
        all.shift++;
    all.chunks = (blocks + (1u << all.shift) - 1) >> all.shift;
    all.shift_a = all.shift + (args->trans_a ? 3 : 2);
    all.shift_b = all.shift + (args->trans_b ? 2 : 3);
    all.panels_a = copy_is_needed(args->a, args->lda) ? copy_panels(args->m, args->trans_a) : 0;
    all.panels_b = copy_is_needed(args->b, args->ldb) ? copy_panels(args->n, !args->trans_b) : 0;
    all.first_a = copy_panels((long long)group * bm, args->trans_a);
    all.first_a = all.first_a < all.panels_a ? all.first_a : all.panels_a;
    all.first_b = copy_panels((long long)(columns < tiles_n ? columns : tiles_n) * bn, !args->trans_b);
    all.first_b = all.first_b < all.panels_b ? all.first_b : all.panels_b;
    all.step = (all.first_a << all.shift_a) + (all.first_b << all.shift_b);
    all.rest = all.chunks * all.step;
    all.rest_a = all.rest + ((all.panels_b - all.first_b) * all.chunks << all.shift_b);
    all.total = all.rest_a + ((all.panels_a - all.first_a) * all.chunks << all.shift_a);
    return all;
}

/* An item: `rows` rows of `bytes` bytes. */
typedef struct copy_job {
    const unsigned char *from;
    unsigned char *to;
    long long ld_bytes, pitch_bytes;
    unsigned rows, bytes;
    int is_inner;   /* no piece of it reaches past what may be read */
    unsigned *flag; /* of its block */
} copy_job;

TSR_DEVICE unsigned copy_skew(const copy_job *job, unsigned row)
{
    return ((unsigned)(unsigned long long)job->from + row * (unsigned)job->ld_bytes) % 16;
}

/* Lanes 0 to 7 ask the copy engine for a row each of an inner item; all arrive at `bar`. */
TSR_DEVICE void copy_start(const copy_job *job, unsigned buffer, unsigned bar, unsigned lane)
{
    if (lane < COPY_ROWS) {
        const unsigned skew = copy_skew(job, lane);
        const unsigned bytes = job->is_inner && lane < job->rows ? (job->bytes + skew + 15) / 16 * 16 : 0;
        tsr_mbarrier_arrive_expect(bar, bytes);
        if (bytes)
            tsr_bulk_load(buffer + lane * COPY_PITCH, job->from + lane * job->ld_bytes - skew, bytes, bar);
    }
}

TSR_DEVICE void copy_store(const copy_job *job, unsigned buffer, unsigned lane)
{
    enum { BATCH = 4 }; /* rows that are under way at once */
    TSR_UNROLL
    for (unsigned first = 0; first < COPY_ROWS; first += BATCH) {
        unsigned word[BATCH][2][4] = {{{0}}};
        TSR_UNROLL
        for (unsigned i = 0; i < BATCH; i++) {
            const unsigned row = first + i, at = buffer + row * COPY_PITCH + 16 * lane;
            if (row < job->rows && 16 * lane < job->bytes)
                tsr_shared_load_u32x4(at, word[i][0]);
            if (row < job->rows && 16 * lane + 16 < job->bytes + copy_skew(job, row))
                tsr_shared_load_u32x4(at + 16, word[i][1]);
        }
        TSR_UNROLL
        for (unsigned i = 0; i < BATCH; i++) {
            const unsigned row = first + i;
            const tsr_u32x4 out = tile_shift(word[i][0], word[i][1], copy_skew(job, row));
            if (row < job->rows && 16 * lane < job->bytes)
                tsr_store_u32x4((unsigned *)(void *)(job->to + row * job->pitch_bytes + 16 * lane), out);
        }
    }
}

/* Any other item: element by element. */
TSR_DEVICE void copy_edge(const copy_job *job, unsigned lane)
{
    TSR_UNROLL_BY(4)
    for (unsigned i = 0; i < COPY_ROWS; i++) {
        const unsigned char *const from = job->from + i * job->ld_bytes + 16 * lane;
        tsr_u32x4 out = {0, 0, 0, 0};
        TSR_UNROLL
        for (unsigned e = 0; e < 8; e++)
            if (i < job->rows && 16 * lane + 2 * e < job->bytes)
                tsr_lane(out, e / 2) |= (unsigned)*(const unsigned short *)(const void *)(from + 2 * e)
                                        << (16 * (e % 2));
        if (i < job->rows && 16 * lane < job->bytes)
            tsr_store_u32x4((unsigned *)(void *)(job->to + i * job->pitch_bytes + 16 * lane), out);
    }
}

/* Item number `item` of all. */
TSR_DEVICE copy_job copy_find(const tsr_gemm_args *args, const copy_ahead *all, unsigned item)
{
    unsigned chunk, panel, part;
    int is_a;
    if (item < all->rest) {
        const unsigned items_a = all->first_a << all->shift_a;
        chunk = item / all->step;
        item -= chunk * all->step;
        is_a = item < items_a;
        item -= is_a ? 0 : items_a;
        const unsigned shift = is_a ? all->shift_a : all->shift_b;
        panel = item >> shift;
        part = item - (panel << shift);
    } else {
        is_a = item >= all->rest_a;
        item -= is_a ? all->rest_a : all->rest;
        const unsigned shift = is_a ? all->shift_a : all->shift_b, block = item >> shift;
        part = item - (block << shift);
        panel = block / all->chunks;
        chunk = block - panel * all->chunks;
        panel += is_a ? all->first_a : all->first_b;
    }
    const copy_operand x = copy_operand_of(args, is_a);
    const unsigned chunk_k = chunk << (all->shift + 6);
    const unsigned row = x.along_k ? chunk_k + part * COPY_ROWS : panel * COPY_PANEL + part % 16 * COPY_ROWS;
    const unsigned column = x.along_k ? panel * COPY_COLS : chunk_k + part / 16 * COPY_COLS;
    copy_job job;
    job.from = x.from + row * x.ld_bytes + 2ll * column;
    job.to = x.to + row * x.pitch_bytes + 2ll * column;
    job.ld_bytes = x.ld_bytes;
    job.pitch_bytes = x.pitch_bytes;
    job.rows = row >= x.rows || column >= x.columns ? 0 : x.rows - row < COPY_ROWS ? x.rows - row : COPY_ROWS;
    job.bytes = x.columns - column < COPY_COLS ? 2 * (x.columns - column) : 2 * COPY_COLS;
    /* Tight rows have the matrix for neighbours, but for its ends. */
    const int is_right = column + COPY_COLS + 8 <= x.columns;
    job.is_inner = x.ld_bytes == 2ll * x.columns ? (row > 0 || column > 0) && (row + COPY_ROWS < x.rows || is_right)
                                                 : column > 0 && is_right;
    job.flag = (unsigned *)args->workspace + COPY_FLAGS + (is_a ? 0 : all->panels_a * all->chunks) +
               panel * all->chunks + chunk;
    return job;
}

/* What the warp's lanes have stored may be read. */
TSR_DEVICE void copy_publish(unsigned *flag, unsigned lane)
{
    if (!flag)
        return;
    tsr_fence_async();
    tsr_warp_sync(TSR_ALL_LANES);
    if (lane == 0)
        tsr_add_release(flag, 1);
}

/* A warp's items, of which it has claimed `item` and `next` already. It has two buffers of COPY_BUFFER_BYTES at
 * `buffers` and as many barriers at `bars`. An item is published when the next one has come, so that the fence finds
 * its stores done. */
TSR_DEVICE void copy_items(const tsr_gemm_args *args, const copy_ahead *all, unsigned buffers, unsigned bars,
                           unsigned item, unsigned next)
{
    const unsigned lane = tsr_lane_id();
    unsigned *stored = 0;
    unsigned turn = 0;
    copy_job job, next_job;
    if (item < all->total) {
        job = copy_find(args, all, item);
        copy_start(&job, buffers, bars, lane);
    }
    if (next < all->total) {
        next_job = copy_find(args, all, next);
        copy_start(&next_job, buffers + COPY_BUFFER_BYTES, bars + 8, lane);
    }
    while (item < all->total) {
        const unsigned buffer = buffers + turn % 2 * COPY_BUFFER_BYTES, bar = bars + turn % 2 * 8;
        unsigned claimed = 0;
        if (lane == 0)
            claimed = tsr_add_relaxed((unsigned *)args->workspace + COPY_NEXT, 1);
        tsr_mbarrier_wait(bar, turn / 2 % 2);
        if (!PUBLISH_NOW)
            copy_publish(stored, lane);
        if (job.is_inner)
            copy_store(&job, buffer, lane);
        else
            copy_edge(&job, lane);
        stored = job.flag;
        item = next;
        job = next_job;
        next = tsr_shuffle(TSR_ALL_LANES, claimed, 0);
        tsr_warp_sync(TSR_ALL_LANES); /* all have read the buffer */
        if (next < all->total) {
            next_job = copy_find(args, all, next);
            copy_start(&next_job, buffer, bar, lane);
        }
        if (PUBLISH_NOW) {
            copy_publish(stored, lane);
            stored = 0;
        }
        turn++;
    }
    copy_publish(stored, lane);
}

/* What a tile's loads wait for. */
typedef struct copy_wait {
    const unsigned *a, *b; /* flags of its panels; NULL: nothing to wait for */
    unsigned ready;        /* bit c: chunk c of both */
} copy_wait;

TSR_DEVICE copy_wait copy_wait_of(const tsr_gemm_args *args, const copy_ahead *all, int m, int n)
{
    copy_wait wait;
    const unsigned panel_a = (unsigned)m / (args->trans_a ? COPY_COLS : COPY_PANEL);
    const unsigned panel_b = (unsigned)n / (args->trans_b ? COPY_PANEL : COPY_COLS);
    const unsigned *const flags = (const unsigned *)args->workspace + COPY_FLAGS;
    /* A CTA of a cluster may have a tile beyond the matrix. */
    wait.a = panel_a < all->panels_a ? flags + panel_a * all->chunks : 0;
    wait.b = panel_b < all->panels_b ? flags + (all->panels_a + panel_b) * all->chunks : 0;
    wait.ready = wait.a || wait.b ? 0 : ~0u;
    return wait;
}

/* A warp: until block `block` of 64 along K has been copied. */
TSR_DEVICE void copy_await(const copy_ahead *all, copy_wait *wait, int block)
{
    const unsigned chunk = (unsigned)block >> all->shift, lane = tsr_lane_id();
    if (wait->ready >> chunk & 1)
        return;
    do {
        int is_ready = lane < all->chunks;
        if (is_ready && wait->a)
            is_ready = tsr_load_acquire(wait->a + lane) == 1u << all->shift_a;
        if (is_ready && wait->b)
            is_ready = tsr_load_acquire(wait->b + lane) == 1u << all->shift_b;
        wait->ready = tsr_ballot(TSR_ALL_LANES, is_ready);
    } while (!(wait->ready >> chunk & 1));
    tsr_fence_async();
    tsr_warp_sync(TSR_ALL_LANES);
}

/* A warp neither claims nor waits any more. The last of `warps` clears the words for the next launch. */
TSR_DEVICE void copy_finish(const tsr_gemm_args *args, const copy_ahead *all, unsigned warps)
{
    const unsigned lane = tsr_lane_id(), count = COPY_FLAGS + (all->panels_a + all->panels_b) * all->chunks;
    unsigned *const words = (unsigned *)args->workspace;
    unsigned last = 0;
    if (lane == 0)
        last = tsr_add_acquire_release(words + COPY_DONE, 1) + 1 == warps;
    if (!tsr_shuffle(TSR_ALL_LANES, last, 0))
        return;
    tsr_warp_sync(TSR_ALL_LANES);
    for (unsigned i = lane; i < count; i += 32)
        words[i] = 0;
}

#endif
