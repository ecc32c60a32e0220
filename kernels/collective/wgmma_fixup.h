/* Fix-up in the Hopper kernels: several work units multiply parts of K for the same tile and leave their sums in the
 * workspace; the one that comes last adds them up, part after part, whoever it is. Nobody waits for anybody. The
 * beginning of a tile, which comes first in that order, need not leave its sums if all others are there.
 *
 * Sums lie in the workspace as they lie in registers: for each part, 16 bytes of each of the 128 threads of a warp
 * group side by side, so that both ways are whole lines. */
#ifndef TSR_COLLECTIVE_WGMMA_FIXUP_H
#define TSR_COLLECTIVE_WGMMA_FIXUP_H

#include "core/gemm_args.h"
#include "ptx/atomic.h"
#include "ptx/barrier.h"
#include "ptx/shared.h"
#include "ptx/vector.h"

#include "collective/stream_k.h"

#if defined(ELEM_int8) /* whose sums are modulo 2^32 */
typedef unsigned fixup_sum;
typedef tsr_u32x4 fixup_quad;
#define fixup_load  tsr_load_u32x4
#define fixup_store tsr_store_u32x4
#else
typedef float fixup_sum;
typedef tsr_f32x4 fixup_quad;
#define fixup_load  tsr_load_f32x4
#define fixup_store tsr_store_f32x4
#endif

/* A warp group's share of a tile that several units make. */
typedef struct tile_fixup {
    fixup_sum *beginning, *others; /* where part 0 leaves its sums, and part i: at others + i * stride */
    long long stride;
    unsigned *counter; /* parts that have come; 0 before and after */
    unsigned word_at;  /* of shared memory, the warp group's own */
    unsigned barrier;  /* named barrier of the warp group */
    int thread;        /* in the warp group */
    int part, parts;
} tile_fixup;

/* What cluster of tiles `tile` of the partition at `partition` has: `places` warp groups' sums, of which this is number
 * `place`, `floats` each. A cluster has two sets of them in the workspace: for the part of its first tile, unless that
 * begins there, and for the beginning of its last. By all threads of the warp group. */
TSR_DEVICE tile_fixup tile_fixup_of(const tsr_gemm_args *args, unsigned partition, unsigned tile, int places,
                                    unsigned place, int floats, unsigned word_at, unsigned barrier)
{
    const tile_parts parts = tile_parts_of(partition, tile);
    fixup_sum *const sums = (fixup_sum *)((char *)args->workspace + TSR_WORKSPACE_COUNTER_BYTES) +
                            ((long long)parts.cluster * (2 * places) + place) * floats;
    const tile_fixup all = {.beginning = sums + places * floats,
                            .others = sums,
                            .stride = 2LL * places * floats,
                            .counter = (unsigned *)args->workspace + tile * (unsigned)places + place,
                            .word_at = word_at,
                            .barrier = barrier,
                            .thread = (int)threadIdx.x % 128,
                            .part = parts.part,
                            .parts = parts.parts};
    return all;
}

TSR_DEVICE fixup_sum *tile_fixup_at(const tile_fixup *fixup, int part)
{
    return (part == 0 ? fixup->beginning : fixup->others + part * fixup->stride) + 4 * fixup->thread;
}

/* 1 in all threads of the warp group if all other parts have come; `arrives`: and this one counts from now on. */
TSR_DEVICE int tile_fixup_is_last(const tile_fixup *fixup, int arrives)
{
    tsr_named_barrier(fixup->barrier, 128); /* the word of the time before has been read, sums have been written */
    if (fixup->thread == 0) {
        const unsigned come = arrives ? tsr_add_acquire_release(fixup->counter, 1) : tsr_load_acquire(fixup->counter);
        tsr_shared_store_u32(fixup->word_at, come + 1 == (unsigned)fixup->parts);
    }
    tsr_named_barrier(fixup->barrier, 128);
    return (int)tsr_shared_load_u32(fixup->word_at);
}

TSR_DEVICE void tile_fixup_leave(const tile_fixup *fixup, int count, const fixup_sum *sum)
{
    fixup_sum *const mine = tile_fixup_at(fixup, fixup->part);
    TSR_UNROLL
    for (int i = 0; i < count / 4; i++) {
        fixup_quad four = {0, 0, 0, 0};
        TSR_UNROLL
        for (int j = 0; j < 4; j++)
            tsr_lane(four, j) = sum[4 * i + j];
        fixup_store(mine + 512 * i, four);
    }
}

/* `adds`, a constant: to what is in `sum`. */
TSR_DEVICE void tile_fixup_take(const tile_fixup *fixup, int part, int adds, int count, fixup_sum *sum)
{
    const fixup_sum *const from = tile_fixup_at(fixup, part);
    TSR_UNROLL
    for (int i = 0; i < count / 4; i++) {
        const fixup_quad four = fixup_load(from + 512 * i);
        TSR_UNROLL
        for (int j = 0; j < 4; j++)
            sum[4 * i + j] = adds ? sum[4 * i + j] + tsr_lane(four, j) : tsr_lane(four, j);
    }
}

/* 1 in all threads of the warp group that comes last: sum[] is then that of all parts, part 0 plus part 1 plus part 2
 * and so on. What is in registers is not read again where the order allows it: the first two may change places. `count`
 * is a constant, a multiple of 4. */
TSR_DEVICE int tile_fixup_sums(const tile_fixup *fixup, int count, fixup_sum *sum)
{
    const int is_early = fixup->part <= 1; /* of the first two */
    if (fixup->part != 0 || !tile_fixup_is_last(fixup, 0)) {
        tile_fixup_leave(fixup, count, sum);
        if (!tile_fixup_is_last(fixup, 1))
            return 0;
        if (!is_early)
            tile_fixup_take(fixup, 0, 0, count, sum);
    }
    if (is_early)
        tile_fixup_take(fixup, 1 - fixup->part, 1, count, sum);
    TSR_ROLLED
    for (int part = is_early ? 2 : 1; part < fixup->parts; part++)
        tile_fixup_take(fixup, part, 1, count, sum);
    if (fixup->thread == 0)
        tsr_store_release(fixup->counter, 0);
    return 1;
}

#endif
