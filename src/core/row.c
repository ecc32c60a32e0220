#include "core/row.h"

#define MAX_GRID_Z 65535 /* CUDA's limit of gridDim.z */

tsr_grid tsr_row_grid(const tsr_row *row, const tsr_gemm_args *args)
{
    const long long tiles_m = (args->m + row->bm - 1) / row->bm, tiles_n = (args->n + row->bn - 1) / row->bn;
    const long long z = args->batch < MAX_GRID_Z ? args->batch : MAX_GRID_Z;
    return (tsr_grid){tiles_m * tiles_n, 1, z};
}
