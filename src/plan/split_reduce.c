#include "plan/split_reduce.h"

enum { BLOCK_LONG = 16, BLOCK_SHORT = 8, WARP = 32 };

static long long divide_up(long long value, long long by)
{
    return (value + by - 1) / by;
}

/* The side of D that rows (bn) of the product's tiles lie along. */
static long long longer(const tsr_gemm_args *args)
{
    return args->schedule.swap_ab ? args->n : args->m;
}

/* Warps that share the parts of a block: each has a few loads under way. */
static int ways_for(int parts)
{
    enum { MOST = 8, LOADS = 4 };
    int ways = 1;
    while (ways < MOST && parts >= 2 * ways * LOADS)
        ways *= 2;
    return ways;
}

tsr_reduce_args tsr_split_reduce_args(const tsr_config *config, const tsr_gemm_args *args)
{
    return (tsr_reduce_args){
        .c = args->c,
        .d = args->d,
        .workspace = args->workspace,
        .m = args->m,
        .n = args->n,
        .k = args->k,
        .tile_rows = config->bn, /* configs that swap A and B: along the longer side */
        .tile_columns = tsr_config_short_tile(config, args),
        .ldc = args->ldc,
        .ldd = args->ldd,
        .tiles_along = divide_up(longer(args), (long long)config->bn * config->cluster_n) * config->cluster_n,
        .ways = ways_for(args->schedule.split_k),
        .batch_c = args->batch_c,
        .batch_d = args->batch_d,
        .batch = args->batch,
        .alpha = args->alpha,
        .beta = args->beta,
        .schedule = args->schedule,
        .bias = args->bias,
        .epilogue = args->epilogue,
    };
}

tsr_grid tsr_split_reduce_grid(const tsr_config *config, const tsr_reduce_args *a)
{
    const long long shorter_side = a->schedule.swap_ab ? a->m : a->n;
    const long long tiles = a->tiles_along * divide_up(shorter_side, a->tile_columns) * a->batch;
    const long long warps = tiles * (a->tile_rows / BLOCK_LONG) * (a->tile_columns / BLOCK_SHORT) * a->ways;
    return (tsr_grid){divide_up(warps, config->threads_x / WARP), 1, 1};
}
