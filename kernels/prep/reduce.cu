/* reduce: D of the sums of all parts of K, added, after a launch of wgmma_skinny that left the sums of each part in the
 * workspace. A launch of its own, so that all SMs take part in adding; it starts early and waits
 * there.
 *
 * Sums lie as they lay in registers. What a warp had of 8 columns of its tile's shorter side, four floats of each of 32
 * threads, is a block of 16 x 8 elements of D, or 8 x 16 if the longer side is N; a block's sums of all parts are
 * neighbours, 512 bytes each:
 *
 *      part 0 | part 1 | part 2 ...      WAYS warps each add every WAYS-th           values in D's order,
 *      32 lanes x 4 floats of each       part; their totals meet in shared memory    32 * WAYS at a time, to D
 *
 * All this runs once, at the pace at which instructions are fetched: what can be known before the sums are there is
 * found before, then come BATCH loads at fixed distances, and little else. Parts are added in an order that depends on
 * nothing but their number.
 *
 * Arguments: tsr_reduce_args.
 * Assumes: a tile's rows are a multiple of 64, its columns one of 8. The grid has a warp for each block and way.
 * Bound by: latency, and by L2, where the sums lie. */
#define TSR_SHARED_ALIGN 128
#define TSR_ARGS         tsr_reduce_args

#include "core/reduce_args.h"
#include "ptx/arithmetic.h"
#include "ptx/barrier.h"
#include "ptx/grid.h"
#include "ptx/shared.h"
#include "ptx/vector.h"
#include "tile/wgmma_element.h"

enum { THREADS = 256, WARPS = THREADS / 32, VALUES = 16 * 8, GROUP = 64, QUADS = 4, BATCH = 8 };

/* A block, and what the thread does for it. */
typedef struct block {
    const float *sums; /* the lane's four of the warp's first part */
    int exists;        /* 1: some of it lies in D */
    tile_element *d;   /* the thread's first value; the next ones are `step` rows further down */
    const tile_element *c;
    int first, step, rows; /* row of that in the block, and the block's rows that D has; 0 if its column is beyond */
    int column;            /* of D */
} block;

TSR_DEVICE block block_of(const tsr_reduce_args *args, unsigned index, unsigned way, unsigned ways, unsigned lane)
{
    const int swap_ab = args->schedule.swap_ab;
    const long long long_side = swap_ab ? args->n : args->m, short_side = swap_ab ? args->m : args->n;
    const unsigned rows = (unsigned)args->tile_rows, columns = (unsigned)args->tile_columns,
                   tiles_long = (unsigned)args->tiles_along;
    const unsigned tiles_short = (unsigned)((short_side + columns - 1) / columns);
    const unsigned eights = columns / 8, blocks = rows / 16 * eights; /* of a tile */
    const unsigned tile = index / blocks, in_tile = index % blocks;
    const unsigned warp = in_tile % 4, eight = in_tile / 4 % eights, group = in_tile / 4 / eights;
    const long long long_at = (long long)(tile % tiles_long) * rows + group * GROUP + warp * 16;
    const long long short_at = (long long)(tile / tiles_long % tiles_short) * columns + eight * 8;
    const long long z = tile / tiles_long / tiles_short;
    const int width = swap_ab ? 16 : 8, height = swap_ab ? 8 : 16, at = (int)(way * 32 + lane);
    const long long m = swap_ab ? short_at : long_at, n = (swap_ab ? long_at : short_at) + at % width;
    block b;
    b.exists = z < args->batch && long_at < long_side && short_at < short_side;
    b.sums = (const float *)((const char *)args->workspace + TSR_WORKSPACE_COUNTER_BYTES) +
             ((long long)index * args->schedule.split_k + way) * VALUES + 4 * lane;
    b.first = at / width;
    b.step = (int)ways * 32 / width;
    b.rows = n >= args->n ? 0 : args->m - m < height ? (int)(args->m - m) : height;
    b.column = (int)n;
    b.d = (tile_element *)args->d + z * args->batch_d + (m + b.first) * args->ldd + n;
    b.c = (const tile_element *)args->c + z * args->batch_c + (m + b.first) * args->ldc + n;
    return b;
}

/* Every `ways`th part, `count` of them. */
TSR_DEVICE void add_parts(const float *sums, int ways, int count, float total[QUADS])
{
    int part = 0;
    TSR_UNROLL
    for (int i = 0; i < QUADS; i++)
        total[i] = 0;
    TSR_ROLLED
    for (; part + BATCH <= count; part += BATCH) {
        tsr_f32x4 four[BATCH];
        TSR_UNROLL
        for (int j = 0; j < BATCH; j++)
            four[j] = tsr_load_f32x4(sums + (part + j) * ways * VALUES);
        TSR_UNROLL
        for (int j = 0; j < BATCH; j++)
            TSR_UNROLL
        for (int i = 0; i < QUADS; i++)
            total[i] += tsr_lane(four[j], i);
    }
    TSR_UNROLL_BY(2)
    for (; part < count; part++) {
        const tsr_f32x4 four = tsr_load_f32x4(sums + part * ways * VALUES);
        TSR_UNROLL
        for (int i = 0; i < QUADS; i++)
            total[i] += tsr_lane(four, i);
    }
}

TSR_KERNEL(THREADS)
{
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, ways = (unsigned)args.ways, way = warp % ways;
    const block b = block_of(&args, blockIdx.x * (WARPS / ways) + warp / ways, way, ways, lane);
    const unsigned shared = tsr_shared_address(TSR_SHARED), of_block = shared + (warp - way) * VALUES * 4;
    const int swap_ab = args.schedule.swap_ab,
              count = ((int)(args.schedule.split_k + (int)ways - 1 - (int)way)) / (int)ways;
    const unsigned row = lane / 4, column = 2 * (lane % 4);
    const unsigned own = of_block + (way * VALUES + (swap_ab ? column * 16 + row : row * 8 + column)) * 4;
    const unsigned below = swap_ab ? 32 : 256, beside = swap_ab ? 64 : 4; /* 8 rows on, and a column on, in bytes */
    const epilogue e = epilogue_of(&args);
    float total[QUADS];

    tsr_grid_launch_dependents();
    tsr_grid_wait();
    if (b.exists) {
        add_parts(b.sums, (int)ways, count, total);
        TSR_UNROLL
        for (int i = 0; i < QUADS; i++)
            tsr_shared_store_f32(own + (i / 2 ? below : 0) + (i % 2 ? beside : 0), total[i]);
    }
    tsr_barrier();
    if (!b.exists)
        return;
    unsigned from = of_block + (way * 32 + lane) * 4;
    TSR_ROLLED
    for (int i = b.first, j = 0; i < b.rows; i += b.step, j += b.step, from += ways * 128) {
        float sum = tsr_shared_load_f32(from);
        for (unsigned other = 1; other < ways; other++)
            sum += tsr_shared_load_f32(from + other * VALUES * 4);
        float value;
        epilogue_scale(&e, 1, &sum, &value);
        if (e.reads_c) {
            const float old = tile_widen(b.c[j * args.ldc]);
            epilogue_add_c(&e, 1, &old, &value);
        }
        epilogue_form_row(&e, e.bias + b.column, 1, 1, &value);
        b.d[j * args.ldd] = tile_narrow(value);
    }
}
