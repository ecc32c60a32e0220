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

/* D = alpha * sum + beta * C for four neighbours of a row, as tsr_output does it for one; what lies outside the matrix
 * is left alone. `aligned`: C, D and their rows are aligned to 16 bytes. */
TSR_DEVICE void tile_output_quad(const tsr_gemm_args *args, long long z, long long row, long long col, const float *sum,
                                 int aligned)
{
    if (row >= args->m || col >= args->n)
        return;
    const float alpha = (float)args->alpha, beta = (float)args->beta;
    const int any = args->k > 0; /* without a sum, an infinite alpha must not make it NaN */
    const float *c = (const float *)args->c + z * args->batch_c + row * args->ldc + col;
    float *d = (float *)args->d + z * args->batch_d + row * args->ldd + col;
    if (aligned && col + 4 <= args->n) {
        tsr_f32x4 value;
        TSR_UNROLL
        for (int j = 0; j < 4; j++)
            tsr_lane(value, j) = any ? tsr_mul_f32(alpha, sum[j]) : 0;
        if (args->beta != 0.0) {
            const tsr_f32x4 old = tsr_load_f32x4(c);
            TSR_UNROLL
            for (int j = 0; j < 4; j++)
                tsr_lane(value, j) = tsr_fma_f32(beta, tsr_lane(old, j), tsr_lane(value, j));
        }
        tsr_store_f32x4(d, value);
        return;
    }
    TSR_UNROLL
    for (int j = 0; j < 4; j++) {
        if (col + j >= args->n)
            return;
        float value = any ? tsr_mul_f32(alpha, sum[j]) : 0;
        if (args->beta != 0.0)
            value = tsr_fma_f32(beta, c[j], value);
        d[j] = value;
    }
}

#endif
