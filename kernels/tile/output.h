/* The last step of every rung that keeps one sum per element in registers. */
#ifndef TSR_TILE_OUTPUT_H
#define TSR_TILE_OUTPUT_H

#include "tile/element.h"

/* D[row, col] of `sum`, in problem z of the batch. */
TSR_DEVICE void tsr_output(const tsr_gemm_args *args, long long z, long long row, long long col, elem sum)
{
    const epilogue e = epilogue_of(args);
    elem value;
    epilogue_scale(&e, 1, &sum, &value);
    if (e.reads_c) {
        const elem *c = (const elem *)args->c + z * args->batch_c;
        epilogue_add_c(&e, 1, &c[row * args->ldc + col], &value);
    }
    epilogue_form_row(&e, e.bias + col, 1, 1, &value);
    elem *d = (elem *)args->d + z * args->batch_d;
    d[row * args->ldd + col] = value;
}

#endif
