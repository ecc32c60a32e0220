/* The end of kernels on tensor cores whose sums are C's and D's type: a lane holds two neighbours of a row. */
#ifndef TSR_TILE_OUTPUT_PAIR_H
#define TSR_TILE_OUTPUT_PAIR_H

#include "ptx/vector.h"
#include "tile/element.h"

/* Where sums go: D, and C, in one problem of the batch. */
typedef struct pair_out {
    const elem *c;
    elem *d;
    long long m, n, ldc, ldd;
    epilogue e;
} pair_out;

TSR_DEVICE pair_out pair_out_open(const tsr_gemm_args *args, long long z)
{
    pair_out out;
    out.c = (const elem *)args->c + z * args->batch_c;
    out.d = (elem *)args->d + z * args->batch_d;
    out.m = args->m;
    out.n = args->n;
    out.ldc = args->ldc;
    out.ldd = args->ldd;
    out.e = epilogue_of(args);
    return out;
}

/* C[row, col] and C[row, col + 1], or zeros for those outside the matrix; by one access where `aligned`: C and its rows
 * are then aligned to two elements. A store to D could be one to C, so loads that shall be under way together come
 * before all stores. */
TSR_DEVICE void output_load_pair(const pair_out *out, long long row, long long col, int aligned, elem old[2])
{
    const elem *const c = out->c + row * out->ldc + col;
    old[0] = old[1] = 0;
    if (row >= out->m || col >= out->n)
        return;
    if (aligned && col + 2 <= out->n) {
        const tsr_f64x2 pair = tsr_load_f64x2(c);
        old[0] = tsr_lane(pair, 0);
        old[1] = tsr_lane(pair, 1);
    } else {
        old[0] = c[0];
        if (col + 2 <= out->n)
            old[1] = c[1];
    }
}

/* Writes D[row, col] and D[row, col + 1], or those inside the matrix; by one access where `aligned`, likewise. `old`:
 * C's, where it is read. */
TSR_DEVICE void output_pair(const pair_out *out, long long row, long long col, const elem old[2], const elem sum[2],
                            int aligned)
{
    if (row >= out->m || col >= out->n)
        return;
    const int both = col + 2 <= out->n;
    elem *const d = out->d + row * out->ldd + col;
    elem value[2];
    epilogue_scale(&out->e, 2, sum, value);
    if (out->e.reads_c)
        epilogue_add_c(&out->e, 2, old, value);
    epilogue_form_row(&out->e, out->e.bias + col, 1 + both, 2, value);
    if (aligned && both) {
        tsr_f64x2 pair;
        tsr_lane(pair, 0) = value[0];
        tsr_lane(pair, 1) = value[1];
        tsr_store_f64x2(d, pair);
        return;
    }
    d[0] = value[0];
    if (both)
        d[1] = value[1];
}

/* C[row, col]; 0 outside the matrix. */
TSR_DEVICE elem output_load_one(const pair_out *out, long long row, long long col)
{
    return row < out->m && col < out->n ? out->c[row * out->ldc + col] : 0;
}

/* Writes D[row, col], if it is inside the matrix. `old`: C's element, where it is read. */
TSR_DEVICE void output_one(const pair_out *out, long long row, long long col, elem old, elem sum)
{
    if (row >= out->m || col >= out->n)
        return;
    elem value;
    epilogue_scale(&out->e, 1, &sum, &value);
    if (out->e.reads_c)
        epilogue_add_c(&out->e, 1, &old, &value);
    epilogue_form_row(&out->e, out->e.bias + col, 1, 1, &value);
    out->d[row * out->ldd + col] = value;
}

#endif
