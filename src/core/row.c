#include "core/row.h"

#define MAX_GRID_Z 65535 /* CUDA's limit of gridDim.z */

void tsr_row_tile(const tsr_row *row, long long m, long long n, int *bm, int *bn)
{
    const int turned = row->turns && m > n;
    *bm = turned ? row->bn : row->bm;
    *bn = turned ? row->bm : row->bn;
}

tsr_schedule tsr_row_whole(const tsr_row *row, long long m, long long n)
{
    return (tsr_schedule){.split_k = 1, .cluster_k = 1, .swap_ab = row->turns && m <= n};
}

int tsr_row_short_tile(const tsr_row *row, const tsr_gemm_args *args)
{
    const int turned = args->schedule.swap_ab;
    const long long side = turned ? args->m : args->n, step = 8 * row->cluster_n;
    const int is_along_k = turned ? !args->trans_a : args->trans_b;
    if (!is_along_k || side == 0)
        return row->bm;
    const long long tiles = (side + row->bm - 1) / row->bm, rows = (side + tiles - 1) / tiles;
    return (int)((rows + step - 1) / step * step);
}

int tsr_row_cluster(const tsr_row *row)
{
    return row->cluster_m > 0 && row->cluster_n > 0 ? row->cluster_m * row->cluster_n : 1;
}

static tsr_grid persistent_grid(const tsr_row *row, const tsr_gemm_args *args, int sm_count)
{
    const int cluster = tsr_row_cluster(row);
    const long long bm = (long long)row->bm * (row->cluster_m > 0 ? row->cluster_m : 1);
    const long long bn = (long long)row->bn * (row->cluster_n > 0 ? row->cluster_n : 1);
    const long long tiles = ((args->m + bm - 1) / bm) * ((args->n + bn - 1) / bn) * args->batch;
    const long long fit = sm_count >= cluster ? sm_count / cluster : 1;
    return (tsr_grid){(tiles < fit ? tiles : fit) * cluster, 1, 1};
}

tsr_grid tsr_row_grid(const tsr_row *row, const tsr_gemm_args *args, int sm_count)
{
    if (row->persistent)
        return persistent_grid(row, args, sm_count);
    int bm, bn;
    tsr_row_tile(row, args->m, args->n, &bm, &bn);
    const long long tiles_m = (args->m + bm - 1) / bm, tiles_n = (args->n + bn - 1) / bn;
    const long long z = args->batch < MAX_GRID_Z ? args->batch : MAX_GRID_Z;
    return (tsr_grid){tiles_m * tiles_n, 1, z};
}
