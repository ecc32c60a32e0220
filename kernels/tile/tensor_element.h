/* The types of a tensor-core kernel that is compiled once for each: -DELEM_bf16, -DELEM_f16 or -DELEM_tf32 for A and B,
 * and -DOUT_f32, -DOUT_f16 or -DOUT_bf16 if C and D are that where A and B are not. Memory holds tf32 as f32. */
#ifndef TSR_TILE_TENSOR_ELEMENT_H
#define TSR_TILE_TENSOR_ELEMENT_H

#include "ptx/arithmetic.h"
#include "ptx/convert.h"
#include "ptx/vector.h"

#if defined(ELEM_bf16)
typedef unsigned short elem;
#define tensor_widen  tsr_widen_bf16
#define tensor_narrow tsr_narrow_bf16
#elif defined(ELEM_f16)
typedef unsigned short elem;
#define tensor_widen  tsr_widen_f16
#define tensor_narrow tsr_narrow_f16
#elif defined(ELEM_tf32)
typedef unsigned elem; /* the bits of a float */
#else
#error "give the element type: -DELEM_bf16, -DELEM_f16 or -DELEM_tf32"
#endif

enum { CHUNK = 16 / (int)sizeof(elem) /* elements that one 16-byte access moves */ };

#if defined(OUT_f32) || defined(ELEM_tf32)
typedef float out_elem;
TSR_DEVICE float tensor_widen_out(out_elem value)
{
    return value;
}
TSR_DEVICE out_elem tensor_narrow_out(float value)
{
    return value;
}
TSR_DEVICE void tensor_store_pair(out_elem *to, float first, float second)
{
    tsr_store_f32x2(to, first, second);
}
#else
typedef unsigned short out_elem;
#if defined(OUT_f16)
#define tensor_widen_half  tsr_widen_f16
#define tensor_narrow_half tsr_narrow_f16
#elif defined(OUT_bf16)
#define tensor_widen_half  tsr_widen_bf16
#define tensor_narrow_half tsr_narrow_bf16
#else
#define tensor_widen_half  tensor_widen
#define tensor_narrow_half tensor_narrow
#endif
TSR_DEVICE float tensor_widen_out(out_elem value)
{
    return tensor_widen_half(value);
}
TSR_DEVICE out_elem tensor_narrow_out(float value)
{
    return tensor_narrow_half(value);
}
/* Two neighbours, rounded and stored together; `to` is aligned to both. */
TSR_DEVICE void tensor_store_pair(out_elem *to, float first, float second)
{
    *(unsigned *)(void *)to = tensor_narrow_half(first) | (unsigned)tensor_narrow_half(second) << 16;
}
#endif

#define epilogue_is_f64 0
#define epilogue_widen  tensor_widen_out
typedef float epilogue_sum;
typedef out_elem epilogue_element;
#include "epilogue/epilogue.h"

/* Where sums go: D, and C, in one problem of the batch. */
typedef struct tensor_out {
    const out_elem *c;
    out_elem *d;
    long long m, n, ldc, ldd;
    epilogue e;
} tensor_out;

TSR_DEVICE tensor_out tensor_out_open(const tsr_gemm_args *args, long long z)
{
    tensor_out out;
    out.c = (const out_elem *)args->c + z * args->batch_c;
    out.d = (out_elem *)args->d + z * args->batch_d;
    out.m = args->m;
    out.n = args->n;
    out.ldc = args->ldc;
    out.ldd = args->ldd;
    out.e = epilogue_of(args);
    return out;
}

/* 1 if D and its rows are aligned to two elements. */
TSR_DEVICE int tensor_out_is_paired(const tensor_out *out)
{
    return ((unsigned long long)out->d / sizeof(out_elem) | (unsigned long long)out->ldd) % 2 == 0;
}

/* Writes D[row, col], if it lies inside the matrix. */
TSR_DEVICE void tensor_output(const tensor_out *out, long long row, long long col, float sum)
{
    if (row >= out->m || col >= out->n)
        return;
    float value;
    epilogue_scale(&out->e, 1, &sum, &value);
    if (out->e.reads_c) {
        const float old = tensor_widen_out(out->c[row * out->ldc + col]);
        epilogue_add_c(&out->e, 1, &old, &value);
    }
    epilogue_form_row(&out->e, out->e.bias + col, 1, 1, &value);
    out->d[row * out->ldd + col] = tensor_narrow_out(value);
}

/* Two neighbours of a row, or those inside the matrix, by one store if D and its rows are aligned to two elements. */
TSR_DEVICE void tensor_output_pair(const tensor_out *out, long long row, long long col, const float sum[2], int aligned)
{
    if (row >= out->m || col >= out->n)
        return;
    const int both = col + 2 <= out->n;
    out_elem *const d = out->d + row * out->ldd + col;
    float value[2];
    epilogue_scale(&out->e, 2, sum, value);
    if (out->e.reads_c) {
        const out_elem *const c = out->c + row * out->ldc + col;
        const float old[2] = {tensor_widen_out(c[0]), both ? tensor_widen_out(c[1]) : 0};
        epilogue_add_c(&out->e, 2, old, value);
    }
    epilogue_form_row(&out->e, out->e.bias + col, 1 + both, 2, value);
    if (aligned && both) {
        tensor_store_pair(d, value[0], value[1]);
        return;
    }
    d[0] = tensor_narrow_out(value[0]);
    if (both)
        d[1] = tensor_narrow_out(value[1]);
}

#endif
