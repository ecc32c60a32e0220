/* From sums to values of D, the only place where that is computed:
 *
 *     value = alpha * sum,  + beta * C,  + bias of the column,  relu         each step rounded in the type of the sums
 *
 * An end of a kernel takes these steps in this order, for one value or for a group that it holds; whoever stores a
 * value rounds it to D's type. A group is `count` values, a constant, so that whether there is a C, and a form, is
 * asked once for all of them. Both are the same for the whole grid.
 *
 * For headers that name the types first (tile/element.h, tile/tensor_element.h, tile/wgmma_element.h):
 *   epilogue_sum       float, or double where epilogue_is_f64 is 1
 *   epilogue_element   an element of C, D and the bias as it lies in memory
 *   epilogue_widen(x)  such an element as a sum */
#ifndef TSR_EPILOGUE_EPILOGUE_H
#define TSR_EPILOGUE_EPILOGUE_H

#include "core/gemm_args.h"
#include "ptx/arithmetic.h"

#if epilogue_is_f64
#define epilogue_mul tsr_mul_f64
#define epilogue_add tsr_add_f64
#define epilogue_fma tsr_fma_f64
#else
#define epilogue_mul tsr_mul_f32
#define epilogue_add tsr_add_f32
#define epilogue_fma tsr_fma_f32
#endif

typedef struct epilogue {
    epilogue_sum alpha, beta;     /* alpha is 0 where K is: an infinity must not make NaN of no sum */
    int reads_c;                  /* beta is not 0; otherwise C may hold NaN, or not exist */
    int form;                     /* tsr_epilogue */
    const epilogue_element *bias; /* of column 0 */
} epilogue;

TSR_DEVICE epilogue epilogue_of(const TSR_ARGS *args)
{
    epilogue e;
    e.alpha = args->k > 0 ? (epilogue_sum)args->alpha : 0;
    e.beta = (epilogue_sum)args->beta;
    e.reads_c = args->beta != 0.0;
    e.form = args->epilogue;
    e.bias = (const epilogue_element *)args->bias;
    return e;
}

TSR_DEVICE void epilogue_scale(const epilogue *e, int count, const epilogue_sum *sum, epilogue_sum *value)
{
    TSR_UNROLL
    for (int i = 0; i < count; i++)
        value[i] = epilogue_mul(e->alpha, sum[i]);
}

/* Where e->reads_c. */
TSR_DEVICE void epilogue_add_c(const epilogue *e, int count, const epilogue_sum *c, epilogue_sum *value)
{
    TSR_UNROLL
    for (int i = 0; i < count; i++)
        value[i] = epilogue_fma(e->beta, c[i], value[i]);
}

/* The bias of neighbouring columns of which D has `left`, 0 beyond; `from`: the first one's. Where there is a form. */
TSR_DEVICE void epilogue_bias(const epilogue_element *from, int left, int count, epilogue_sum *bias)
{
    TSR_UNROLL
    for (int i = 0; i < count; i++)
        bias[i] = i < left ? epilogue_widen(from[i]) : 0;
}

TSR_DEVICE void epilogue_add_bias(int count, const epilogue_sum *bias, epilogue_sum *value)
{
    TSR_UNROLL
    for (int i = 0; i < count; i++)
        value[i] = epilogue_add(value[i], bias[i]);
}

/* What the form makes of values with such a bias; where there is one. */
TSR_DEVICE void epilogue_form(const epilogue *e, int count, const epilogue_sum *bias, epilogue_sum *value)
{
    epilogue_add_bias(count, bias, value);
    if (e->form == TSR_EPILOGUE_BIAS_RELU)
        TSR_UNROLL
    for (int i = 0; i < count; i++)
        value[i] = value[i] < 0 ? 0 : value[i];
}

/* The same for neighbours in a row, of which D has `left`, whether there is a form or not. */
TSR_DEVICE void epilogue_form_row(const epilogue *e, const epilogue_element *from, int left, int count,
                                  epilogue_sum *value)
{
    if (e->form != TSR_EPILOGUE_NONE) {
        epilogue_sum bias[16];
        epilogue_bias(from, left, count, bias);
        epilogue_form(e, count, bias, value);
    }
}

#endif
