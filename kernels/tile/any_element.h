/* The last step of kernels that take C and D of several types (args.type_d): four neighbours of a row at a time, from
 * sums in 32 bits. The type is a uniform branch. */
#ifndef TSR_TILE_ANY_ELEMENT_H
#define TSR_TILE_ANY_ELEMENT_H

#ifndef BOXED_D
#define BOXED_D 0
#endif

#include "ptx/arithmetic.h"
#include "ptx/fp8.h"
#include "ptx/pack.h"
#include "ptx/vector.h"
#include "ptx/words.h"

#if defined(ELEM_int8)
enum { ANY_SECOND = TSR_TYPE_U8 }; /* of A's and B's two types */
#else
enum { ANY_SECOND = TSR_TYPE_E5M2 };
#endif

/* A sum's bits, as they go through shared memory. */
#if defined(ELEM_int8)
TSR_DEVICE float any_bits(int sum)
{
    return tsr_f32_of_bits((unsigned)sum);
}
#else
TSR_DEVICE float any_bits(float sum)
{
    return sum;
}
#endif

/* An element of C, D and the bias is read by its type: any_load. */
#define epilogue_sum      float
#define epilogue_element  unsigned char
#define epilogue_is_f64   0
#define epilogue_widen(x) ((float)(x))
#include "epilogue/epilogue.h"

/* Where sums go, in one problem of the batch. */
typedef struct any_out {
    epilogue form;
    const unsigned char *c;
    unsigned char *d;
    long long m, n, ldc, ldd;
    int alpha_whole, beta_whole; /* of results in s32 */
    int type, bytes;
#if BOXED_D
    const tsr_tensor_maps *maps; /* where C and D go by boxes of the copy engine; set by the kernel */
    int z_d;                     /* the problem, as D's map counts */
#endif
    int quads; /* D takes four neighbours by one store everywhere, and nothing is added: but see any_quads_of_c */
} any_out;

TSR_DEVICE int any_bytes(int type)
{
    return type == TSR_TYPE_F32 || type == TSR_TYPE_S32 ? 4 : type == TSR_TYPE_E4M3 || type == TSR_TYPE_E5M2 ? 1 : 2;
}

TSR_DEVICE float any_load(int type, const unsigned char *from, long long index)
{
    if (type == TSR_TYPE_F32)
        return ((const float *)(const void *)from)[index];
    if (type == TSR_TYPE_BF16)
        return tsr_widen_bf16(((const unsigned short *)(const void *)from)[index]);
    if (type == TSR_TYPE_E4M3)
        return tsr_widen_e4m3(from[index]);
    if (type == TSR_TYPE_E5M2)
        return tsr_widen_e5m2(from[index]);
    return tsr_widen_f16(((const unsigned short *)(const void *)from)[index]);
}

/* alpha times the scales of the whole operands: the factor of a sum. A kernel that walks over tiles finds it before the
 * first one: scales lie in global memory, and at the end of a tile nothing hides the latency of a load. Both loads are
 * under way together; a scale of 1 where there is none changes no bit. */
TSR_DEVICE float any_alpha(const tsr_gemm_args *args)
{
    const float a = args->k > 0 && args->scale_a ? *args->scale_a : 1;
    const float b = args->k > 0 && args->scale_b ? *args->scale_b : 1;
    return tsr_mul_f32(tsr_mul_f32(epilogue_of(args).alpha, a), b);
}

/* `alpha`: any_alpha, found before; NULL: it is found here. */
TSR_DEVICE any_out any_out_open(const tsr_gemm_args *args, long long z, const float *alpha)
{
    any_out out;
    out.type = args->type_d;
    out.bytes = any_bytes(args->type_d);
    out.c = (const unsigned char *)args->c + z * args->batch_c * out.bytes;
    out.d = (unsigned char *)args->d + z * args->batch_d * out.bytes;
    out.m = args->m;
    out.n = args->n;
    out.ldc = args->ldc;
    out.ldd = args->ldd;
    out.form = epilogue_of(args);
    if (alpha)
        out.form.alpha = *alpha;
    if (!alpha && args->k > 0 && args->scale_a)
        out.form.alpha = tsr_mul_f32(out.form.alpha, *args->scale_a);
    if (!alpha && args->k > 0 && args->scale_b)
        out.form.alpha = tsr_mul_f32(out.form.alpha, *args->scale_b);
    out.alpha_whole = args->k > 0 ? (int)args->alpha : 0;
    out.beta_whole = (int)args->beta;
    out.quads = ((unsigned long long)out.d | (unsigned long long)(args->ldd * out.bytes) |
                 (unsigned long long)(args->n * out.bytes)) %
                        (4u * (unsigned)out.bytes) ==
                    0 &&
                !out.form.reads_c;
    return out;
}

/* 1 if C is read, gives four neighbours by one load everywhere, and D takes them by one store. */
TSR_DEVICE int any_quads_of_c(const any_out *out, const tsr_gemm_args *args)
{
    return out->form.reads_c && ((unsigned long long)out->d | (unsigned long long)out->c |
                                 (unsigned long long)((args->ldd | args->ldc | args->n) * out->bytes)) %
                                        (4u * (unsigned)out->bytes) ==
                                    0;
}

/* alpha * sum + beta * C modulo 2^32; `at`: elements from C's first. */
TSR_DEVICE int any_value_whole(const any_out *out, int sum, long long at)
{
    unsigned value = (unsigned)out->alpha_whole * (unsigned)sum;
    if (out->beta_whole != 0)
        value += (unsigned)out->beta_whole * ((const unsigned *)(const void *)out->c)[at];
    return (int)value;
}

/* A sum as a float: that of integers is rounded. */
TSR_DEVICE float any_sum(float bits)
{
#if defined(ELEM_int8)
    return (float)(int)tsr_bits_of_f32(bits);
#else
    return bits;
#endif
}

TSR_DEVICE float any_value(const any_out *out, float sum, long long at, long long col)
{
    float value;
    epilogue_scale(&out->form, 1, &sum, &value);
    if (out->form.reads_c) {
        const float c = any_load(out->type, out->c, at);
        epilogue_add_c(&out->form, 1, &c, &value);
    }
    if (out->form.form != TSR_EPILOGUE_NONE) {
        const float bias = any_load(out->type, out->form.bias, col);
        epilogue_form(&out->form, 1, &bias, &value);
    }
    return value;
}

TSR_DEVICE void any_store(const any_out *out, long long row, long long col, float bits)
{
    const long long to = row * out->ldd + col, from = row * out->ldc + col;
    if (out->type == TSR_TYPE_S32) {
        ((int *)(void *)out->d)[to] = any_value_whole(out, (int)tsr_bits_of_f32(bits), from);
        return;
    }
    const float value = any_value(out, any_sum(bits), from, col);
    if (out->type == TSR_TYPE_F32)
        ((float *)(void *)out->d)[to] = value;
    else
        ((unsigned short *)(void *)out->d)[to] =
            out->type == TSR_TYPE_BF16 ? tsr_narrow_bf16(value) : tsr_narrow_f16(value);
}

/* D[row, col .. col + 3], as far as they lie inside the matrix. */
TSR_DEVICE void any_output(const any_out *out, long long row, long long col, const float bits[4])
{
    if (row >= out->m)
        return;
    TSR_UNROLL
    for (int i = 0; i < 4; i++)
        if (col + i < out->n)
            any_store(out, row, col + i, bits[i]);
}

/* The bias of four neighbours from `col` on, where there is a form. `type` is a constant. */
TSR_DEVICE void any_bias_quad(const any_out *out, int type, long long col, float bias[4])
{
    TSR_UNROLL
    for (int i = 0; i < 4; i++)
        bias[i] = any_load(type, out->form.bias, col + i);
}

/* What tsr_load_words loaded of four neighbours of C, as they are summed: integers as bits. */
TSR_DEVICE void any_quad_of(int type, const unsigned bits[4], float c[4])
{
    TSR_UNROLL
    for (int i = 0; i < 4; i++) {
        const unsigned short half = (unsigned short)(bits[i / 2] >> 16 * (i % 2));
        c[i] = any_bytes(type) == 4    ? tsr_f32_of_bits(bits[i])
               : type == TSR_TYPE_BF16 ? tsr_widen_bf16(half)
                                       : tsr_widen_f16(half);
    }
}

/* Four neighbours of C by one load. `type` is a constant. */
TSR_DEVICE void any_load_quad(int type, const unsigned char *from, float c[4])
{
    unsigned bits[4] = {0, 0, 0, 0};
    tsr_load_words(any_bytes(type) == 4, from, bits);
    any_quad_of(type, bits, c);
}

/* Four values, of s32 their bits, by one store; `type` is a constant. */
TSR_DEVICE void any_store_four(int type, unsigned char *to, const float value[4])
{
    if (any_bytes(type) == 4) {
        tsr_f32x4 four = {0, 0, 0, 0};
        TSR_UNROLL
        for (int i = 0; i < 4; i++)
            tsr_lane(four, i) = value[i];
        tsr_store_f32x4((float *)(void *)to, four);
    } else if (type == TSR_TYPE_BF16) {
        tsr_store_u32x2((unsigned *)(void *)to, tsr_pack_bf16(value[0], value[1]), tsr_pack_bf16(value[2], value[3]));
    } else {
        tsr_store_u32x2((unsigned *)(void *)to, tsr_pack_f16(value[0], value[1]), tsr_pack_f16(value[2], value[3]));
    }
}

/* Four neighbours by one store; `c`: what any_load_quad gave, where C is read; NULL where nobody does. `type` is a
 * constant. */
TSR_DEVICE void any_store_quad(const any_out *out, int type, unsigned char *to, const float c[4], const float bias[4],
                               const float bits[4])
{
    float value[4], sum[4];
    TSR_UNROLL
    for (int i = 0; i < 4; i++)
        sum[i] = any_sum(bits[i]);
    epilogue_scale(&out->form, 4, sum, value);
    if (c && type != TSR_TYPE_S32 && out->form.reads_c)
        epilogue_add_c(&out->form, 4, c, value);
    if (type != TSR_TYPE_S32 && out->form.form != TSR_EPILOGUE_NONE)
        epilogue_form(&out->form, 4, bias, value);
    TSR_UNROLL
    for (int i = 0; i < 4 && type == TSR_TYPE_S32; i++) {
        unsigned whole = (unsigned)out->alpha_whole * tsr_bits_of_f32(bits[i]);
        if (c && out->form.reads_c)
            whole += (unsigned)out->beta_whole * tsr_bits_of_f32(c[i]);
        value[i] = tsr_f32_of_bits(whole);
    }
    any_store_four(type, to, value);
}

#endif
