/* cpu-sequential: C = alpha * A * B + beta * C as it is defined, the baseline of every speedup. One thread, one running
 * sum for each element, the innermost loop along K. */
#include "core/dtype.h"
#include "core/error.h"
#include "cpu/cpu.h"
#include "cpu/end.h"
#include "cpu/widen.h"

#define S         float
#define ACC       float
#define WIDEN(x)  (x)
#define NARROW(x) (x)
#define NAME      f32
#include "cpu/sequential_tmpl.h"

#define S         double
#define ACC       double
#define WIDEN(x)  (x)
#define NARROW(x) (x)
#define NAME      f64
#include "cpu/sequential_tmpl.h"

#define S         uint16_t
#define ACC       float
#define WIDEN(x)  tsr_f16_to_f32(x)
#define NARROW(x) tsr_f32_to_f16(x)
#define NAME      f16
#include "cpu/sequential_tmpl.h"

#define S         uint16_t
#define ACC       float
#define WIDEN(x)  tsr_bf16_to_f32(x)
#define NARROW(x) tsr_f32_to_bf16(x)
#define NAME      bf16
#include "cpu/sequential_tmpl.h"

/* The same for A, B and D of any types. */
typedef struct mixed {
    const tsr_gemm_args *g;
    tsr_end end;
    tsr_widener a, b;
    long long z; /* problem of the batch */
    const void *a_at, *b_at;
    long long a_row, a_column, b_row, b_column; /* elements */
} mixed;

static float product(const mixed *x, long long i, long long j, long long p)
{
    return tsr_widen_one(&x->a, x->a_at, i * x->a_row + p * x->a_column) *
           tsr_widen_one(&x->b, x->b_at, p * x->b_row + j * x->b_column);
}

static float sum_of(const mixed *x, long long i, long long j)
{
    float sum = 0;
    for (long long p = 0; p < x->g->k; p++)
        sum += product(x, i, j, p);
    return sum;
}

/* Each 128 of K times their blocks' scales. */
static float scaled_sum_of(const mixed *x, long long i, long long j)
{
    const tsr_scaling *const s = &x->end.scaling;
    float sum = 0, part = 0;
    for (long long p = 0; p < x->g->k; p++) {
        part += product(x, i, j, p);
        if (p % TSR_SCALE_BLOCK != TSR_SCALE_BLOCK - 1 && p + 1 < x->g->k)
            continue;
        const long long block = p / TSR_SCALE_BLOCK;
        sum += part * (tsr_end_block_a(s, x->z, i, block) * tsr_end_block_b(s, x->z, j, block));
        part = 0;
    }
    return sum;
}

/* Modulo 2^32. */
static int32_t whole_sum_of(const mixed *x, long long i, long long j)
{
    const tsr_scaling *const s = &x->end.scaling;
    const int32_t zero_a = tsr_zero_point(&x->a, s->zero_a, s->mode_a, x->z * s->batch_a + s->first_m + i);
    const int32_t zero_b = tsr_zero_point(&x->b, s->zero_b, s->mode_b, x->z * s->batch_b + s->first_n + j);
    uint32_t sum = 0;
    for (long long p = 0; p < x->g->k; p++)
        sum += (uint32_t)(((int32_t)tsr_widen_one(&x->a, x->a_at, i * x->a_row + p * x->a_column) - zero_a) *
                          ((int32_t)tsr_widen_one(&x->b, x->b_at, p * x->b_row + j * x->b_column) - zero_b));
    return (int32_t)sum;
}

static void finish_mixed(const mixed *x, int is_whole, const void *c, void *d, long long i, long long j, uint32_t *amax)
{
    const tsr_gemm_args *const g = x->g;
    const long long from = i * g->ldc + j, to = i * g->ldd + j;
    if (x->end.dtype_d == TSR_S32) {
        uint32_t value = g->k > 0 ? (uint32_t)(int32_t)g->alpha * (uint32_t)whole_sum_of(x, i, j) : 0;
        if (c)
            value += (uint32_t)(int32_t)g->beta * ((const uint32_t *)c)[from];
        ((int32_t *)d)[to] = (int32_t)value;
        return;
    }
    float sum = 0;
    if (g->k > 0)
        sum = is_whole                              ? (float)whole_sum_of(x, i, j)
              : tsr_end_has_blocks(&x->end.scaling) ? scaled_sum_of(x, i, j)
                                                    : sum_of(x, i, j);
    tsr_end_store(&x->end, d, to, tsr_end_value(&x->end, i, j, sum, c), amax);
}

static void multiply_mixed(const tsr_gemm_args *g, const tsr_scaling *scaling, int is_whole)
{
    mixed x = {.g = g,
               .end = tsr_end_of(g, scaling),
               .a = tsr_widener_of((tsr_dtype)g->type_a),
               .b = tsr_widener_of((tsr_dtype)g->type_b),
               .a_row = g->trans_a ? 1 : g->lda,
               .a_column = g->trans_a ? g->lda : 1,
               .b_row = g->trans_b ? 1 : g->ldb,
               .b_column = g->trans_b ? g->ldb : 1};
    const long long a_bytes = (long long)tsr_dtype_bytes((tsr_dtype)g->type_a);
    const long long b_bytes = (long long)tsr_dtype_bytes((tsr_dtype)g->type_b);
    const long long d_bytes = (long long)tsr_dtype_bytes(x.end.dtype_d);
    uint32_t amax = 0;
    for (x.z = 0; x.z < g->batch; x.z++) {
        const char *const c = g->beta != 0 ? (const char *)g->c + x.z * g->batch_c * d_bytes : NULL;
        x.a_at = g->k > 0 ? (const char *)g->a + x.z * g->batch_a * a_bytes : NULL;
        x.b_at = g->k > 0 ? (const char *)g->b + x.z * g->batch_b * b_bytes : NULL;
        tsr_end_begin(&x.end, x.z);
        for (long long i = 0; i < g->m; i++)
            for (long long j = 0; j < g->n; j++)
                finish_mixed(&x, is_whole, c, (char *)g->d + x.z * g->batch_d * d_bytes, i, j, &amax);
    }
    tsr_end_finish(&x.end, amax);
}

tsr_status tsr_cpu_sequential(const tsr_config *config, const tsr_cpu_call *call)
{
    if (config->op.a != config->op.cd) { /* several types, or D's is another one */
        multiply_mixed(call->args, call->scaling, config->op.computes == TSR_COMPUTE_BIT(TSR_COMPUTE_S32));
        return TSR_OK;
    }
    switch (tsr_op_of(&config->op).a) {
    case TSR_F32:
        f32(call->args);
        return TSR_OK;
    case TSR_F64:
        f64(call->args);
        return TSR_OK;
    case TSR_F16:
        f16(call->args);
        return TSR_OK;
    case TSR_BF16:
        bf16(call->args);
        return TSR_OK;
    default:
        return tsr_fail(TSR_INTERNAL, "config %s: cpu-sequential has no code for %s", config->instance,
                        tsr_dtype_name(tsr_op_of(&config->op).a));
    }
}
