/* Which tile, and which part of K of it, a CTA of `wgmma_skinny` has, and how its warps begin. For a kernel that names
 * the constants of that file. */
#ifndef TSR_COLLECTIVE_SKINNY_PART_H
#define TSR_COLLECTIVE_SKINNY_PART_H

#include "ptx/barrier.h"
#include "ptx/cluster.h"
#include "ptx/cluster_meet.h"
#include "ptx/mbarrier.h"
#include "ptx/shared.h"

#include "collective/quotient.h"
#include "collective/wgmma_reduce.h"

/* A CTA's part of the work. */
typedef struct part {
    unsigned shared;
    int swap_ab;                  /* 1: the long side is N, and D is computed transposed */
    int long_at, short_at;        /* of its tile */
    int groups_long, tiles_short; /* of tiles along the two sides */
    int z;                        /* problem of the batch */
    int first, step, count;       /* blocks of BK along K */
    int whole;                    /* of these, those that K does not end within */
    int long_is_mn, short_is_mn;  /* 1: contiguous along M or N, not along K */
    int stages, stage_bytes;      /* of the ring */
    int arrivals;                 /* that make a stage full, beside its bytes */
    int rows_short;               /* of a tile along the short side, BN at most */
    unsigned rank, size;          /* part of K within the cluster, and how many it has */
    int lines, lines_each;        /* of the tile, as they lie in D; that a rank adds up */
    unsigned sharer;              /* place among the cluster's SHARE tiles */
    int is_left;                  /* 1: K has more parts than the cluster, and another launch adds them up */
    int index;                    /* of the part among all */
    unsigned tile;                /* along the longer side first, then the shorter one, then the batch */
} part;

TSR_DEVICE part part_of(const tsr_gemm_args *args)
{
    part p;
    p.shared = tsr_shared_address(TSR_SHARED);
    p.swap_ab = args->schedule.swap_ab;
    p.rank = tsr_cluster_rank() / SHARE;
    p.sharer = tsr_cluster_rank() % SHARE;
    p.size = tsr_cluster_size() / SHARE;
    const int split = args->schedule.split_k;
    const int across = p.swap_ab != (args->m <= args->n);           /* tiles' columns lie along the longer side */
    const unsigned outers = tile_quotient((unsigned)split, p.size); /* clusters that share a tile */
    const unsigned long_side = (unsigned)(p.swap_ab ? args->n : args->m);
    const unsigned short_side = (unsigned)(p.swap_ab ? args->m : args->n);
    const unsigned groups_long = (long_side + SHARE * LONG - 1) / (SHARE * LONG);
    const unsigned tiles_short = (short_side + BN - 1) / BN, tiles = tiles_short * groups_long;
    const unsigned cluster = tile_quotient(blockIdx.x, p.size * SHARE);
    const unsigned group = tile_quotient(cluster, outers), outer = cluster - group * outers;
    const unsigned z = group < tiles ? 0 : group / tiles, in_problem = group - z * tiles;
    /* Neighbours need the same part of the longer side's operand. */
    const unsigned side = across ? groups_long : tiles_short;
    const unsigned slow = tile_quotient(in_problem, side), fast = in_problem - slow * side;
    const unsigned at_short = across ? slow : fast;
    const unsigned at_long = (across ? fast : slow) * SHARE + p.sharer;
    p.groups_long = (int)groups_long;
    p.tiles_short = (int)tiles_short;
    p.long_at = (int)at_long * LONG;
    p.z = (int)z;

    const int blocks = (int)((args->k + BK - 1) / BK), index = (int)(outer * p.size + p.rank);
    p.first = p.index = index;
    p.step = split;
    p.count = index < blocks ? (int)tile_quotient((unsigned)(blocks - index + split - 1), (unsigned)split) : 0;
    const int has_half = DEEP > 1 && args->k / SPAN % DEEP != 0; /* the last block of K */
    p.whole = has_half && index < blocks && (blocks - 1 - index) == (p.count - 1) * split ? p.count - 1 : p.count;
    p.is_left = outers > 1;
    p.tile = (z * tiles_short + at_short) * (groups_long * SHARE) + at_long;
    p.long_is_mn = p.swap_ab ? !args->trans_b : args->trans_a;
    p.short_is_mn = p.swap_ab ? args->trans_a : !args->trans_b;
    p.stage_bytes = LONG_BYTES + (p.short_is_mn ? SHORT_MN_BYTES : SHORT_K_BYTES);
    const unsigned rows = tile_quotient(short_side + tiles_short - 1, tiles_short);
    p.rows_short = p.short_is_mn ? BN : (int)((rows + ROWS_STEP - 1) / ROWS_STEP * ROWS_STEP);
    p.short_at = (int)at_short * p.rows_short;
    const long long lines_left = p.swap_ab ? args->m - p.short_at : args->m - p.long_at;
    const int most_lines = p.swap_ab ? p.rows_short : LONG;
    p.lines = lines_left < 0 ? 0 : lines_left < most_lines ? (int)lines_left : most_lines;
    p.lines_each = tile_lines_each(p.lines, p.size);
    p.arrivals = 1;
    p.stages = p.short_is_mn ? RING_BYTES / (LONG_BYTES + SHORT_MN_BYTES) : MOST_STAGES;
    return p;
}

/* Boxes are no higher than the short operand, as the copy engine takes far longer for rows that it makes up than for
 * those it reads. What tensor cores read beyond is zero. It is written while the first boxes come. */
TSR_DEVICE void clear_beyond(const part *p)
{
    enum { CHUNK = 8 };
    const unsigned stages = (unsigned)(p->count < p->stages ? p->count : p->stages);
    const unsigned chunks = (unsigned)(BN - p->rows_short) * (128 / CHUNK);
    for (unsigned stage = 0; stage < stages; stage++) {
        const unsigned at =
            p->shared + stage * (unsigned)p->stage_bytes + LONG_BYTES + (unsigned)p->rows_short * 128 * DEEP;
        for (unsigned i = threadIdx.x; i < chunks; i += CONSUMERS)
            tsr_shared_store_f32x2(at + i * CHUNK, 0, 0);
    }
    tsr_fence_async_shared();
    tsr_named_barrier(ALL_CONSUMERS, CONSUMERS);
}

/* By one lane, before its warp and others begin. */
TSR_DEVICE void make_barriers(const part *p)
{
    for (unsigned i = 0; i < MOST_STAGES; i++) {
        tsr_mbarrier_init(p->shared + FULL_AT + 8 * i, (unsigned)p->arrivals);
        tsr_mbarrier_init(p->shared + EMPTY_AT + 8 * i, 4 * GROUPS * SHARE);
    }
    tsr_mbarrier_init(p->shared + STAGING_FULL_AT, 1);
    tsr_mbarrier_init(p->shared + STAGING_FREE_AT, p->size > 1 ? p->size - 1 : 1);
    tsr_mbarrier_fence_init();
    if (p->size > 1)
        tsr_mbarrier_arrive_expect(p->shared + STAGING_FULL_AT,
                                   (p->size - 1) * (unsigned)tile_lines_of(p->lines, p->lines_each, p->rank) *
                                       (p->swap_ab ? LONG : BN) * 4);
}

/* All warps have come, of all CTAs of the cluster. Where boxes go to one CTA alone, producers need not wait for it. */
TSR_DEVICE void begin(const part *p, int is_producer)
{
    if (p->size * SHARE > 1) {
        tsr_cluster_arrive_relaxed();
        if (!is_producer || SHARE > 1)
            tsr_cluster_wait();
    } else if (is_producer) {
        tsr_named_barrier_arrive(START, THREADS);
    } else {
        tsr_named_barrier(START, THREADS);
    }
}

#endif
