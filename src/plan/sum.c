#include "plan/sum.h"

enum { BLOCK_LONG = 16, BLOCK_SHORT = 8, WARP = 32 };

static long long divide_up(long long value, long long by)
{
    return (value + by - 1) / by;
}

/* The sides of D that rows (bn) and columns (bm) of the product's tiles lie along. */
static long long longer(const tsr_gemm_args *args)
{
    return args->schedule.swap_ab ? args->n : args->m;
}

static long long shorter(const tsr_gemm_args *args)
{
    return args->schedule.swap_ab ? args->m : args->n;
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

tsr_gemm_args tsr_sum_args(const tsr_row *row, const tsr_gemm_args *args)
{
    tsr_gemm_args sum = *args;
    sum.a = sum.b = NULL;
    sum.trans_a = sum.trans_b = 0;
    sum.lda = row->bn; /* rows that turn: along the longer side */
    sum.ldb = tsr_row_short_tile(row, args);
    sum.batch_a = divide_up(longer(args), (long long)row->bn * row->cluster_n) * row->cluster_n;
    sum.batch_b = ways_for(args->schedule.split_k);
    return sum;
}

tsr_grid tsr_sum_grid(const tsr_row *sum, const tsr_gemm_args *a)
{
    const long long tiles = a->batch_a * divide_up(shorter(a), a->ldb) * a->batch;
    const long long warps = tiles * (a->lda / BLOCK_LONG) * (a->ldb / BLOCK_SHORT) * a->batch_b;
    return (tsr_grid){divide_up(warps, sum->threads_x / WARP), 1, 1};
}
