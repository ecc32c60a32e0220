/* What a thread holds of a tile in registers, in quads: four neighbours that one 16-byte access moves. */
#ifndef TSR_TILE_FRAGMENT_H
#define TSR_TILE_FRAGMENT_H

#include "ptx/vector.h"
#include "tile/element.h"

/* Quads from shared memory, `step` elements apart, into to[0] .. to[count - 1]. */
TSR_DEVICE void tile_fragment(float *to, const float *from, int count, int step)
{
    TSR_UNROLL
    for (int i = 0; i < count; i += 4) {
        const tsr_f32x4 quad = tsr_load_f32x4(from + i / 4 * step);
        TSR_UNROLL
        for (int j = 0; j < 4; j++)
            to[i + j] = tsr_lane(quad, j);
    }
}

/* D of four neighbours' sums in a row; what lies outside the matrix is left alone. `aligned`: C, D and their rows are
 * aligned to 16 bytes. */
TSR_DEVICE void tile_output_quad(const tsr_gemm_args *args, long long z, long long row, long long col, const float *sum,
                                 int aligned)
{
    if (row >= args->m || col >= args->n)
        return;
    const epilogue e = epilogue_of(args);
    const float *c = (const float *)args->c + z * args->batch_c + row * args->ldc + col;
    float *d = (float *)args->d + z * args->batch_d + row * args->ldd + col;
    const int left = args->n - col < 4 ? (int)(args->n - col) : 4, whole = aligned && left == 4;
    float value[4];
    epilogue_scale(&e, 4, sum, value);
    if (e.reads_c) {
        float old[4] = {0, 0, 0, 0};
        if (whole)
            tile_fragment(old, c, 4, 0);
        else
            TSR_UNROLL
        for (int j = 0; j < 4; j++)
            if (j < left)
                old[j] = c[j];
        epilogue_add_c(&e, 4, old, value);
    }
    epilogue_form_row(&e, e.bias + col, left, 4, value);
    if (whole) {
        tsr_f32x4 quad = {0, 0, 0, 0};
        TSR_UNROLL
        for (int j = 0; j < 4; j++)
            tsr_lane(quad, j) = value[j];
        tsr_store_f32x4(d, quad);
        return;
    }
    TSR_UNROLL
    for (int j = 0; j < 4; j++)
        if (j < left)
            d[j] = value[j];
}

#endif
