/* The short way of small products on host memory: no plan, no lock, no copy of what the caller passed.
 * What every call goes through is inline: at these sizes a call of a function is a few percent. */
#ifndef TSR_API_AT_ONCE_H
#define TSR_API_AT_ONCE_H

#include <stdint.h>

#include "api/context.h"

/* Finds the context's rows for it; called once, when its devices are open. */
void tsr_at_once_open(tsr_context *context);

enum {
    /* On a machine with a GPU only what the CPU finishes within a few microseconds, where copying to a GPU alone takes
     * longer; anything else is for the cost model to decide. */
    TSR_OPS_BESIDE_GPU = 1 << 18,
    TSR_OPS_OF_A_THREAD = 4 << 20, /* up to so many one thread does them, see cpu/direct.c */
    TSR_MOST = 4096,               /* M, N and K */
    TSR_MOST_LD = 1 << 30          /* beyond the row length: spans then fit 63 bits */
};

/* Nothing of a call is valid yet: the difference of any two numbers, large if it is negative. */
static inline unsigned long long tsr_difference(long long a, long long b)
{
    return (unsigned long long)a - (unsigned long long)b;
}

static inline int tsr_apart(const void *p, long long p_bytes, const void *q, long long q_bytes)
{
    const uintptr_t a = (uintptr_t)p, b = (uintptr_t)q;
    return b - a >= (uintptr_t)p_bytes && a - b >= (uintptr_t)q_bytes;
}

static inline long long tsr_span(long long rows, long long columns, long long ld, long long element)
{
    return ((rows - 1) * ld + columns) * element;
}

/* What validation asks of such a call. A call that fails here takes the long way, which says what is wrong. */
static inline __attribute__((always_inline)) int tsr_is_valid_at_once(const tsr_gemm_args *g, long long element)
{
    const long long a_rows = g->trans_a ? g->k : g->m, a_columns = g->trans_a ? g->m : g->k;
    const long long b_rows = g->trans_b ? g->n : g->k, b_columns = g->trans_b ? g->k : g->n;
    const unsigned long long beyond = tsr_difference(g->lda, a_columns) | tsr_difference(g->ldb, b_columns) |
                                      tsr_difference(g->ldc, g->n) | tsr_difference(g->ldd, g->n);
    const uintptr_t addresses = (uintptr_t)g->a | (uintptr_t)g->b | (uintptr_t)g->c | (uintptr_t)g->d;
    if (beyond >= TSR_MOST_LD || (addresses & (uintptr_t)(element - 1)) || !g->a || !g->b || !g->d)
        return 0;
    const long long d_bytes = tsr_span(g->m, g->n, g->ldd, element);
    if (g->beta != 0 && (g->c != g->d || g->ldc != g->ldd) &&
        (!g->c || !tsr_apart(g->c, tsr_span(g->m, g->n, g->ldc, element), g->d, d_bytes)))
        return 0;
    return tsr_apart(g->a, tsr_span(a_rows, a_columns, g->lda, element), g->d, d_bytes) &&
           tsr_apart(g->b, tsr_span(b_rows, b_columns, g->ldb, element), g->d, d_bytes);
}

static inline __attribute__((always_inline)) int tsr_run_at_once(const tsr_row *row, tsr_device *device,
                                                                 const tsr_gemm_args *g)
{
    const unsigned long long sizes = tsr_difference(g->m, 1) | tsr_difference(g->n, 1) | tsr_difference(g->k, 1);
    return sizes < TSR_MOST && g->alpha != 0 && tsr_is_valid_at_once(g, row->dtype_ab == TSR_F64 ? 8 : 4) &&
           row->at_once(row, device, g, 0);
}

/* 1 if the product was valid and small, and is done; 0 if the long way must be taken. Nothing was written then. `args`
 * need not be validated; batch is 1, dtype f32 or f64. */
static inline __attribute__((always_inline)) int tsr_at_once(tsr_context *context, tsr_dtype dtype,
                                                             const tsr_gemm_args *args)
{
    const tsr_row *row = context->at_once[dtype];
    if (!row || (context->gpu_beside && 2.0 * (double)args->m * (double)args->n * (double)args->k > TSR_OPS_BESIDE_GPU))
        return 0;
    return tsr_run_at_once(row, &context->targets[0].device, args);
}

/* The same for a descriptor and run arguments; neither pointer is NULL. */
int tsr_desc_at_once(tsr_context *context, const tsr_gemm_desc *desc, const tsr_run_args *args);

/* Plans of small products on host memory: what every run shares is worked out with the plan. Fills plan->quick. */
void tsr_quick_plan_make(tsr_plan *plan);
/* 1 if the run was valid and is done; 0 if the long way must be taken. Nothing was written then. plan->quick.row is not
 * NULL. */
int tsr_quick_plan_run(const tsr_plan *plan, const tsr_run_args *args);

#endif
