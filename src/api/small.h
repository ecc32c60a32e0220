/* The short way of small products on host memory: no plan, no lock, no copy of what the caller passed.
 * What every call goes through is inline: at these sizes a call of a function is a few percent. */
#ifndef TSR_API_AT_ONCE_H
#define TSR_API_AT_ONCE_H

#include <stdint.h>

#include "api/context.h"
#include "cpu/shape.h"

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
static inline __attribute__((always_inline)) int tsr_is_valid_at_once(long long element, int trans_a, int trans_b,
                                                                      int64_t m, int64_t n, int64_t k, const void *a,
                                                                      int64_t lda, const void *b, int64_t ldb,
                                                                      double beta, const void *c, int64_t ldc,
                                                                      const void *d, int64_t ldd)
{
    const int64_t a_rows = trans_a ? k : m, a_columns = trans_a ? m : k;
    const int64_t b_rows = trans_b ? n : k, b_columns = trans_b ? k : n;
    const unsigned long long beyond = tsr_difference(lda, a_columns) | tsr_difference(ldb, b_columns) |
                                      tsr_difference(ldc, n) | tsr_difference(ldd, n);
    const uintptr_t addresses = (uintptr_t)a | (uintptr_t)b | (uintptr_t)c | (uintptr_t)d;
    if (beyond >= TSR_MOST_LD || (addresses & (uintptr_t)(element - 1)) || !a || !b || !d)
        return 0;
    const long long d_bytes = tsr_span(m, n, ldd, element);
    if (beta != 0 && (c != d || ldc != ldd) && (!c || !tsr_apart(c, tsr_span(m, n, ldc, element), d, d_bytes)))
        return 0;
    return tsr_apart(a, tsr_span(a_rows, a_columns, lda, element), d, d_bytes) &&
           tsr_apart(b, tsr_span(b_rows, b_columns, ldb, element), d, d_bytes);
}

/* 1 if D was one tile of a valid product with few steps of K, and is done, D being C; 0, and nothing was written: it is
 * something else. What it is given need not be validated, but for transposes; f32 or f64. All in registers: the
 * smallest products take little longer than the tile. */
static inline __attribute__((always_inline)) int tsr_tile_at_once(const tsr_context *context, tsr_dtype dtype,
                                                                  int trans_a, int trans_b, int64_t m, int64_t n,
                                                                  int64_t k, double alpha, const void *a, int64_t lda,
                                                                  const void *b, int64_t ldb, double beta, void *d,
                                                                  int64_t ldd)
{
    const tsr_tiles *const tiles = context->tiles[dtype];
    const int64_t element = dtype == TSR_F64 ? 8 : 4;
    if (!tiles || trans_b > trans_a || m < 1 || n < 2 || k < 1 || !tsr_is_short(m, n, k, trans_a, trans_b) ||
        alpha == 0)
        return 0;
    tsr_micro_run *const tile = !trans_b        ? tsr_only_tile(tiles, m, n)
                                : tiles->turned ? tsr_only_tile(tiles->turned, n, m)
                                                : NULL;
    if (!tile || !tsr_is_valid_at_once(element, trans_a, trans_b, m, n, k, a, lda, b, ldb, beta, d, ldd, d, ldd))
        return 0;
    tsr_micro micro = tsr_micro_of(element, trans_a, trans_b, k, alpha, a, lda, b, ldb, beta, d, ldd, d, ldd);
    micro.n = (int)(trans_b ? m : n);
    tile(&micro);
    return 1;
}

/* 1 if the product was valid and small, and is done; 0 if the long way must be taken. Nothing was written then. What it
 * is given need not be validated, but for transposes; one problem, f32 or f64. */
int tsr_at_once(tsr_context *context, tsr_dtype dtype, int trans_a, int trans_b, int64_t m, int64_t n, int64_t k,
                double alpha, const void *a, int64_t lda, const void *b, int64_t ldb, double beta, const void *c,
                int64_t ldc, void *d, int64_t ldd);

/* The same for a descriptor and run arguments; neither pointer is NULL. */
int tsr_desc_at_once(tsr_context *context, const tsr_gemm_desc *desc, const tsr_run_args *args);

/* Plans of small products on host memory: what every run shares is worked out with the plan. Fills plan->quick. */
void tsr_quick_plan_make(tsr_plan *plan);
/* 1 if the run was valid and is done; 0 if the long way must be taken. Nothing was written then. plan->quick.row is not
 * NULL. */
int tsr_quick_plan_run(const tsr_plan *plan, const tsr_run_args *args);

#endif
