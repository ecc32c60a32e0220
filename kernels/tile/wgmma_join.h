/* Split K in the Hopper kernels: several units multiply parts of K for the same tile and leave their sums in the
 * workspace; the one that comes last adds them up, part after part, whoever it is. Nobody waits for anybody.
 *
 * Sums lie in the workspace as they lie in registers: for each tile and part, 16 bytes of each of the 128 threads of a
 * warp group side by side, so that both ways are whole lines. */
#ifndef TSR_TILE_WGMMA_JOIN_H
#define TSR_TILE_WGMMA_JOIN_H

#include "ptx/atomic.h"
#include "ptx/barrier.h"
#include "ptx/shared.h"
#include "ptx/vector.h"

/* A warp group's share of a tile that is split. */
typedef struct tile_join {
    float *sums;       /* of all parts */
    unsigned *counter; /* parts that have come; 0 before and after */
    unsigned last_at;  /* a word of shared memory of the warp group's own */
    unsigned barrier;  /* named barrier of the warp group */
    int thread;        /* in the warp group */
    int part, parts;
} tile_join;

/* 1 in all threads of the warp group that comes last: sum[] is then that of all parts. `count` is a constant, a
 * multiple of 4. */
TSR_DEVICE int tile_joined(const tile_join *join, int count, float *sum)
{
    const long long stride = (long long)count * 128;
    float *const mine = join->sums + join->part * stride + 4 * join->thread;
    TSR_UNROLL
    for (int i = 0; i < count / 4; i++) {
        tsr_f32x4 four = {0, 0, 0, 0};
        TSR_UNROLL
        for (int j = 0; j < 4; j++)
            tsr_lane(four, j) = sum[4 * i + j];
        tsr_store_f32x4(mine + 512 * i, four);
    }
    tsr_named_barrier(join->barrier, 128);
    if (join->thread == 0)
        tsr_shared_store_u32(join->last_at, tsr_add_acquire_release(join->counter, 1) + 1 == (unsigned)join->parts);
    tsr_named_barrier(join->barrier, 128);
    if (!tsr_shared_load_u32(join->last_at))
        return 0;
    TSR_UNROLL
    for (int i = 0; i < count; i++)
        sum[i] = 0;
    TSR_ROLLED
    for (int part = 0; part < join->parts; part++) {
        const float *from = join->sums + part * stride + 4 * join->thread;
        TSR_UNROLL
        for (int i = 0; i < count / 4; i++) {
            const tsr_f32x4 four = tsr_load_f32x4(from + 512 * i);
            TSR_UNROLL
            for (int j = 0; j < 4; j++)
                sum[4 * i + j] += tsr_lane(four, j);
        }
    }
    if (join->thread == 0)
        tsr_store_release(join->counter, 0);
    return 1;
}

#endif
