/* Parts of K that meet in the Hopper kernels: several units multiply parts of K for the same tile and leave their sums
 * in the workspace; the one that comes last adds them up, part after part, whoever it is. Nobody waits for anybody. The
 * beginning of a tile, which comes first in that order, need not leave its sums if all others are there.
 *
 * Sums lie in the workspace as they lie in registers: for each part, 16 bytes of each of the 128 threads of a warp
 * group side by side, so that both ways are whole lines. */
#ifndef TSR_TILE_WGMMA_JOIN_H
#define TSR_TILE_WGMMA_JOIN_H

#include "ptx/atomic.h"
#include "ptx/barrier.h"
#include "ptx/shared.h"
#include "ptx/vector.h"

/* A warp group's share of a tile whose parts meet. */
typedef struct tile_join {
    float *beginning, *others; /* where part 0 leaves its sums, and part i: at others + i * stride */
    long long stride;
    unsigned *counter; /* parts that have come; 0 before and after */
    unsigned word_at;  /* of shared memory, the warp group's own */
    unsigned barrier;  /* named barrier of the warp group */
    int thread;        /* in the warp group */
    int part, parts;
} tile_join;

TSR_DEVICE float *tile_join_at(const tile_join *join, int part)
{
    return (part == 0 ? join->beginning : join->others + part * join->stride) + 4 * join->thread;
}

/* 1 in all threads of the warp group if all other parts have come; `arrives`: and this one counts from now on. */
TSR_DEVICE int tile_join_is_last(const tile_join *join, int arrives)
{
    tsr_named_barrier(join->barrier, 128); /* the word of the time before has been read, sums have been written */
    if (join->thread == 0) {
        const unsigned come = arrives ? tsr_add_acquire_release(join->counter, 1) : tsr_load_acquire(join->counter);
        tsr_shared_store_u32(join->word_at, come + 1 == (unsigned)join->parts);
    }
    tsr_named_barrier(join->barrier, 128);
    return (int)tsr_shared_load_u32(join->word_at);
}

TSR_DEVICE void tile_join_leave(const tile_join *join, int count, const float *sum)
{
    float *const mine = tile_join_at(join, join->part);
    TSR_UNROLL
    for (int i = 0; i < count / 4; i++) {
        tsr_f32x4 four = {0, 0, 0, 0};
        TSR_UNROLL
        for (int j = 0; j < 4; j++)
            tsr_lane(four, j) = sum[4 * i + j];
        tsr_store_f32x4(mine + 512 * i, four);
    }
}

/* `adds`, a constant: to what is in `sum`. */
TSR_DEVICE void tile_join_take(const tile_join *join, int part, int adds, int count, float *sum)
{
    const float *const from = tile_join_at(join, part);
    TSR_UNROLL
    for (int i = 0; i < count / 4; i++) {
        const tsr_f32x4 four = tsr_load_f32x4(from + 512 * i);
        TSR_UNROLL
        for (int j = 0; j < 4; j++)
            sum[4 * i + j] = adds ? sum[4 * i + j] + tsr_lane(four, j) : tsr_lane(four, j);
    }
}

/* 1 in all threads of the warp group that comes last: sum[] is then that of all parts, part 0 plus part 1 plus part 2
 * and so on. What is in registers is not read again where the order allows it: the first two may change places. `count`
 * is a constant, a multiple of 4. */
TSR_DEVICE int tile_joined(const tile_join *join, int count, float *sum)
{
    const int is_early = join->part <= 1; /* of the first two */
    if (join->part != 0 || !tile_join_is_last(join, 0)) {
        tile_join_leave(join, count, sum);
        if (!tile_join_is_last(join, 1))
            return 0;
        if (!is_early)
            tile_join_take(join, 0, 0, count, sum);
    }
    if (is_early)
        tile_join_take(join, 1 - join->part, 1, count, sum);
    TSR_ROLLED
    for (int part = is_early ? 2 : 1; part < join->parts; part++)
        tile_join_take(join, part, 1, count, sum);
    if (join->thread == 0)
        tsr_store_release(join->counter, 0);
    return 1;
}

#endif
