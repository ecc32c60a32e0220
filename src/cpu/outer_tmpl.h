/* Rows of a product of few steps (tsr_outer_run), for one stored type and one instruction set; a part of store_tmpl.h,
 * with what that needs and V_STREAM(p, v), a store past the caches. */

/* One vector of each row. */
static inline __attribute__((always_inline)) void SNAME(outer_vectors)(const tsr_outer *o, char *d, const T *const *b,
                                                                       const int rows, const int k, int64_t j,
                                                                       const int masked, const M some, const int past)
{
    const V alpha = V_SET1((T)o->alpha);
    const T *const x = o->x;
    V sum[TSR_OUTER_ROWS];
#pragma GCC unroll 4
    for (int i = 0; i < rows; i++)
        sum[i] = V_ZERO();
#pragma GCC unroll 8
    for (int p = 0; p < k; p++) {
        const V row = masked ? V_LOAD_MASK(some, b[p] + j) : V_LOAD(b[p] + j);
#pragma GCC unroll 4
        for (int i = 0; i < rows; i++)
            sum[i] = V_FMA(V_SET1(x[i * k + p]), row, sum[i]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < rows; i++, d += o->d_row_bytes) {
        const V value = V_MUL(alpha, sum[i]);
        if (masked)
            S_STORE_MASK((S *)d + j, some, value);
        else if (sizeof(S) == sizeof(T) && past)
            V_STREAM((T *)(void *)d + j, value);
        else
            S_STORE((S *)d + j, value);
    }
}

/* Past the caches it begins with the elements before the first whole vector of D that is aligned. */
static inline __attribute__((always_inline)) void SNAME(outer_of)(const tsr_outer *o, const int rows, const int k,
                                                                  const int past)
{
    enum { BYTES = LANES * sizeof(S) };
    const T *b[TSR_OUTER_STEPS];
    char *const d = o->d;
#pragma GCC unroll 8
    for (int p = 0; p < k; p++)
        b[p] = o->b[p];
    int64_t j = past ? (int64_t)((BYTES - (uintptr_t)d % BYTES) % BYTES / sizeof(S)) : 0;
    j = j < o->n ? j : o->n;
    if (j > 0)
        SNAME(outer_vectors)(o, d, b, rows, k, 0, 1, M_FIRST((int)j), past);
    for (; j + LANES <= o->n; j += LANES)
        SNAME(outer_vectors)(o, d, b, rows, k, j, 0, M_FIRST(LANES), past);
    if (j < o->n)
        SNAME(outer_vectors)(o, d, b, rows, k, j, 1, M_FIRST((int)(o->n - j)), past);
}

static inline __attribute__((always_inline)) void SNAME(outer_rows)(const tsr_outer *o, const int k)
{
    const int rows = o->rows == 1 ? 1 : TSR_OUTER_ROWS, past = o->past_cache || sizeof(S) != sizeof(T);
    if (rows == 1 && past)
        SNAME(outer_of)(o, 1, k, 1);
    else if (past)
        SNAME(outer_of)(o, TSR_OUTER_ROWS, k, 1);
    else if (rows == 1)
        SNAME(outer_of)(o, 1, k, 0);
    else
        SNAME(outer_of)(o, TSR_OUTER_ROWS, k, 0);
}

static void SNAME(outer)(const tsr_outer *o)
{
    switch (o->k) {
    case 1:
        SNAME(outer_rows)(o, 1);
        break;
    case 2:
        SNAME(outer_rows)(o, 2);
        break;
    case 3:
        SNAME(outer_rows)(o, 3);
        break;
    case 4:
        SNAME(outer_rows)(o, 4);
        break;
    case 5:
        SNAME(outer_rows)(o, 5);
        break;
    case 6:
        SNAME(outer_rows)(o, 6);
        break;
    case 7:
        SNAME(outer_rows)(o, 7);
        break;
    default:
        SNAME(outer_rows)(o, TSR_OUTER_STEPS);
    }
}
