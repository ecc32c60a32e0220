/* sum: D = alpha * (sums of all parts of K, added) + beta * C, after a launch of wgmma_skinny that left the sums of
 * each part in the workspace. A launch of its own, so that all SMs take part in adding; it starts early and waits
 * there.
 *
 * Sums lie as they lay in registers: for each tile, part and 64 rows of the tile's longer side, four floats of each of
 * the 128 threads side by side, 128 * 16 bytes for each 8 columns of the shorter side. What a warp had of 8 columns is
 * a block of 16 x 8 elements of D, or 8 x 16 if the longer side is N:
 *
 *      32 lanes x 4 floats of         WAYS warps each add every WAYS-th           values in D's order,
 *      part 0 | part 1 | part 2 ...   part; their totals meet in shared memory    32 * WAYS at a time, to D
 *
 * All loads of a warp are under way at once (BATCH of them at least), neighbouring lanes read neighbouring pieces.
 * Parts are added in an order that depends on nothing but their number.
 *
 * Arguments: those of the product, but lda and ldb: rows and columns of its tiles, along D's longer and shorter side;
 * batch_a: its tiles along the longer side, some of them wholly beyond D; batch_b: WAYS, 1, 2, 4 or 8.
 * Assumes: a tile's rows are a multiple of 64, its columns one of 8. The grid has a warp for each block and way.
 * Bound by: latency, and by L2, where the sums lie. */
#define TSR_SHARED_ALIGN 128

#include "ptx/arithmetic.h"
#include "ptx/barrier.h"
#include "ptx/grid.h"
#include "ptx/shared.h"
#include "ptx/vector.h"
#include "tile/wgmma_element.h"

enum { THREADS = 256, WARPS = THREADS / 32, VALUES = 16 * 8, GROUP = 64, QUADS = 4, BATCH = 8 };

/* A block of a tile, and where its sums of part 0 lie for this lane. */
typedef struct block {
    const float *sums;
    long long stride;               /* from part to part */
    long long long_at, short_at, z; /* its first element */
    int exists;
} block;

TSR_DEVICE block block_of(const tsr_gemm_args *args, unsigned index, unsigned lane)
{
    const int turned = args->m <= args->n;
    const long long long_side = turned ? args->n : args->m, short_side = turned ? args->m : args->n;
    const unsigned rows = (unsigned)args->lda, columns = (unsigned)args->ldb, tiles_long = (unsigned)args->batch_a;
    const unsigned tiles_short = (unsigned)((short_side + columns - 1) / columns);
    const unsigned eights = columns / 8, blocks = rows / 16 * eights; /* of a tile */
    const unsigned tile = index / blocks, in_tile = index % blocks;
    const unsigned warp = in_tile % 4, eight = in_tile / 4 % eights, group = in_tile / 4 / eights;
    const unsigned tile_short = tile / tiles_long % tiles_short;
    block b;
    b.long_at = (long long)(tile % tiles_long) * rows + group * GROUP + warp * 16;
    b.short_at = (long long)tile_short * columns + eight * 8;
    b.z = tile / tiles_long / tiles_short;
    b.stride = (long long)rows * columns;
    b.exists = b.z < args->batch && b.long_at < long_side && b.short_at < short_side;
    b.sums = (const float *)((const char *)args->workspace + TSR_WORKSPACE_COUNTER_BYTES) +
             tile * args->split * b.stride + group * GROUP * columns + (eight * 4 + warp) * VALUES + 4 * lane;
    return b;
}

/* Parts `way`, `way` + `ways` and so on. */
TSR_DEVICE void add_parts(const block *b, int way, int ways, int parts, float total[QUADS])
{
    TSR_UNROLL
    for (int i = 0; i < QUADS; i++)
        total[i] = 0;
    for (int first = way; first < parts; first += ways * BATCH) {
        tsr_f32x4 four[BATCH];
        TSR_UNROLL
        for (int j = 0; j < BATCH; j++)
            if (first + j * ways < parts)
                four[j] = tsr_load_f32x4(b->sums + (first + j * ways) * b->stride);
        TSR_UNROLL
        for (int j = 0; j < BATCH; j++)
            if (first + j * ways < parts)
                TSR_UNROLL
        for (int i = 0; i < QUADS; i++)
            total[i] += tsr_lane(four[j], i);
    }
}

/* Value `at` of a block in D's order: 8 rows of 16 if D is turned, else 16 of 8. */
TSR_DEVICE void store_value(const tsr_gemm_args *args, const block *b, int at, float sum)
{
    const int turned = args->m <= args->n;
    const long long m = turned ? b->short_at + at / 16 : b->long_at + at / 8;
    const long long n = turned ? b->long_at + at % 16 : b->short_at + at % 8;
    float value = tsr_mul_f32(tile_alpha(args), sum);
    if (m >= args->m || n >= args->n)
        return;
    if (args->beta != 0) {
        const tile_element *c = (const tile_element *)args->c + b->z * args->batch_c + m * args->ldc + n;
        value = tsr_fma_f32((float)args->beta, tile_widen(*c), value);
    }
    ((tile_element *)args->d)[b->z * args->batch_d + m * args->ldd + n] = tile_narrow(value);
}

TSR_KERNEL(THREADS)
{
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, ways = (unsigned)args.batch_b, way = warp % ways;
    const block b = block_of(&args, blockIdx.x * (WARPS / ways) + warp / ways, lane);
    const unsigned shared = tsr_shared_address(TSR_SHARED), own = shared + (warp - way) * VALUES * 4;
    const int turned = args.m <= args.n, row = (int)lane / 4, column = 2 * ((int)lane % 4);
    float total[QUADS];

    tsr_grid_launch_dependents();
    tsr_grid_wait();
    if (b.exists) {
        add_parts(&b, (int)way, (int)ways, args.split, total);
        TSR_UNROLL
        for (int i = 0; i < QUADS; i++) {
            const int r = row + 8 * (i / 2), c = column + i % 2;
            tsr_shared_store_f32(own + (way * VALUES + (unsigned)(turned ? c * 16 + r : r * 8 + c)) * 4, total[i]);
        }
    }
    tsr_barrier();
    if (!b.exists)
        return;
    for (unsigned at = way * 32 + lane; at < VALUES; at += ways * 32) {
        float sum = tsr_shared_load_f32(own + at * 4);
        for (unsigned other = 1; other < ways; other++)
            sum += tsr_shared_load_f32(own + (other * VALUES + at) * 4);
        store_value(&args, &b, (int)at, sum);
    }
}
