/* The last step of every rung that keeps one sum per element in registers. */
#ifndef TSR_TILE_OUTPUT_H
#define TSR_TILE_OUTPUT_H

#include "tile/element.h"

/* D[row, col] = alpha * sum + beta * C[row, col] in problem z of the batch. With beta == 0, C is not read: it may hold
 * NaN, or not exist. With K == 0 there is no sum, so that an infinite alpha does not make it NaN. */
TSR_DEVICE void tsr_output(const tsr_gemm_args *args, long long z, long long row, long long col, elem sum)
{
    elem value = args->k > 0 ? tsr_mul((elem)args->alpha, sum) : 0;
    if (args->beta != 0.0) {
        const elem *c = (const elem *)args->c + z * args->batch_c;
        value = tsr_fma((elem)args->beta, c[row * args->ldc + col], value);
    }
    elem *d = (elem *)args->d + z * args->batch_d;
    d[row * args->ldd + col] = value;
}

#endif
