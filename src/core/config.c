#include "core/config.h"

#define MAX_GRID_Z 65535 /* CUDA's limit of gridDim.z */

void tsr_config_tile(const tsr_config *config, long long m, long long n, int *bm, int *bn)
{
    const int swap_ab = config->swaps_ab && m > n;
    *bm = swap_ab ? config->bn : config->bm;
    *bn = swap_ab ? config->bm : config->bn;
}

tsr_schedule tsr_config_whole(const tsr_config *config, long long m, long long n)
{
    return (tsr_schedule){.split_k = 1, .cluster_k = 1, .swap_ab = config->swaps_ab && m <= n};
}

int tsr_config_short_tile(const tsr_config *config, const tsr_gemm_args *args)
{
    const int swap_ab = args->schedule.swap_ab;
    const long long side = swap_ab ? args->m : args->n, step = 8 * config->cluster_n;
    const int is_along_k = swap_ab ? !args->trans_a : args->trans_b;
    if (!is_along_k || side == 0)
        return config->bm;
    const long long tiles = (side + config->bm - 1) / config->bm, rows = (side + tiles - 1) / tiles;
    return (int)((rows + step - 1) / step * step);
}

int tsr_config_lies_across(const tsr_config *config, const tsr_op *op, int trans_a)
{
    return tsr_op_swaps_ab(op) || (config->mn_major_lines && !trans_a);
}

int tsr_config_cluster(const tsr_config *config)
{
    return config->cluster_m > 0 && config->cluster_n > 0 ? config->cluster_m * config->cluster_n : 1;
}

/* Of 132 SMs of an H100 or H200 clusters of 4 and 8 find 120 (cuOccupancyMaxActiveClusters: 30 and 15). */
int tsr_config_clusters(const tsr_config *config, int sm_count)
{
    const int cluster = tsr_config_cluster(config);
    const int usable = cluster > 2 ? sm_count - sm_count / 11 : sm_count;
    return usable >= cluster ? usable / cluster : 1;
}

static tsr_grid persistent_grid(const tsr_config *config, const tsr_gemm_args *args, int sm_count)
{
    const int cluster = tsr_config_cluster(config);
    const long long bm = (long long)config->bm * (config->cluster_m > 0 ? config->cluster_m : 1);
    const long long bn = (long long)config->bn * (config->cluster_n > 0 ? config->cluster_n : 1);
    const int lies_across =
        (config->op.operands == TSR_TAKES_SPARSE24 || config->mn_major_lines) && args->schedule.swap_ab;
    const long long m = lies_across ? args->n : args->m, n = lies_across ? args->m : args->n;
    const long long tiles = ((m + bm - 1) / bm) * ((n + bn - 1) / bn) * args->batch;
    const long long fit = tsr_config_clusters(config, sm_count);
    return (tsr_grid){(tiles < fit ? tiles : fit) * cluster, 1, 1};
}

tsr_grid tsr_config_grid(const tsr_config *config, const tsr_gemm_args *args, int sm_count)
{
    if (config->persistent)
        return persistent_grid(config, args, sm_count);
    int bm, bn;
    tsr_config_tile(config, args->m, args->n, &bm, &bn);
    const long long tiles_m = (args->m + bm - 1) / bm, tiles_n = (args->n + bn - 1) / bn;
    const long long z = args->batch < MAX_GRID_Z ? args->batch : MAX_GRID_Z;
    return (tsr_grid){tiles_m * tiles_n, 1, z};
}

int tsr_config_takes_unaligned(const tsr_config *config)
{
    return config->unaligned_a || config->unaligned_b;
}

int tsr_config_is_f64_tensor(const tsr_config *config)
{
    return config->family == TSR_FAMILY_MMA_F64;
}
