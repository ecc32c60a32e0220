/* Packing, matrix-vector sums and write-back for one stored type and one instruction set; included once for each, with
 * what micro_tmpl.h needs and
 *   S                 the stored type: float, double, or uint16_t for f16 and bf16
 *   SNAME(x)          the names of this instance
 *   S_LOAD(p) S_LOAD_MASK(m, p)          stored elements, widened to V
 *   S_STORE(p, v) S_STORE_MASK(p, m, v)  and narrowed
 *   S_WIDEN(x)        one element
 *   TRANSPOSE(r)      LANES vectors as a square block, in place
 *   V_SUM(v), the sum of the lanes in a fixed order; V_SUM_4(to, v) of four vectors, where that is faster
 */

#ifndef V_SUM_4
#define V_SUM_4(to, v) \
    ((to)[0] = V_SUM((v)[0]), (to)[1] = V_SUM((v)[1]), (to)[2] = V_SUM((v)[2]), (to)[3] = V_SUM((v)[3]))
#endif

#define UPDATE_ROWS    4 /* rows of sums that are added to at once, each so many vectors wide */
#define UPDATE_VECTORS (MR == 12 ? 2 : 1)
#define ASK_LATE       2  /* lines of later rows that few_block asks for before a row of sums, */
#define ASK_AHEAD      12 /* so many rows ahead: as many as memory takes to answer, and as L1 keeps beside sums */

/* Asks for the rows 8 steps later, which the next call packs: prefetchers see only pieces of rows. */
static inline __attribute__((always_inline)) void SNAME(pack_rows_of)(T *out, const int width, const int n, int64_t k,
                                                                      const char *in, int64_t step_bytes)
{
    const int whole = n - n % LANES, padded = width - width % LANES;
    const M some = M_FIRST(n - whole), rest = M_FIRST(width - padded);
    for (int64_t p = 0; p < k; p++, in += step_bytes, out += width) {
        const S *row = (const S *)in;
        const char *later = in + 8 * step_bytes;
        int j = 0;
        for (; j < whole; j += LANES) {
            __builtin_prefetch(later + j * (int)sizeof(S));
            V_STORE(out + j, S_LOAD(row + j));
        }
        V last = V_ZERO();
        if (whole < n) {
            __builtin_prefetch(later + whole * (int)sizeof(S));
            last = S_LOAD_MASK(some, row + whole);
        }
        for (; j < padded; j += LANES, last = V_ZERO())
            V_STORE(out + j, last);
        if (j < width)
            V_STORE_MASK(out + j, rest, last);
    }
}

/* Whole panels of A and of B have code of their own. */
static void SNAME(pack_rows)(void *to, int width, int n, int64_t k, const void *from, int64_t step_bytes)
{
    if (width == MR && n == MR)
        SNAME(pack_rows_of)(to, MR, MR, k, from, step_bytes);
    else if (width == 2 * LANES && n == 2 * LANES)
        SNAME(pack_rows_of)(to, 2 * LANES, 2 * LANES, k, from, step_bytes);
    else
        SNAME(pack_rows_of)(to, width, n, k, from, step_bytes);
}

/* A block of LANES rows j and LANES steps p, of which `rows` and `steps` exist; `columns` are written. */
static inline __attribute__((always_inline)) void SNAME(pack_block)(T *out, int width, int columns, int rows,
                                                                    int64_t steps, const char *in, int64_t step_bytes)
{
    V r[LANES];
    const M some = M_FIRST((int)steps), written = M_FIRST(columns);
#pragma GCC unroll 16
    for (int j = 0; j < LANES; j++) {
        r[j] = V_ZERO();
        if (j < rows)
            r[j] = steps == LANES ? S_LOAD((const S *)(in + j * step_bytes))
                                  : S_LOAD_MASK(some, (const S *)(in + j * step_bytes));
    }
    TRANSPOSE(r);
#pragma GCC unroll 16
    for (int p = 0; p < LANES; p++)
        if (p < steps) {
            if (columns == LANES)
                V_STORE(out + p * width, r[p]);
            else
                V_STORE_MASK(out + p * width, written, r[p]);
        }
}

/* All steps of up to LANES rows. */
static inline __attribute__((always_inline)) void SNAME(pack_strip)(T *out, int width, int columns, int rows, int64_t k,
                                                                    const char *in, int64_t step_bytes)
{
    int64_t p = 0;
    for (; p + LANES <= k; p += LANES, in += LANES * sizeof(S), out += LANES * width)
        SNAME(pack_block)(out, width, columns, rows, LANES, in, step_bytes);
    if (p < k)
        SNAME(pack_block)(out, width, columns, rows, k - p, in, step_bytes);
}

static void SNAME(pack_columns)(void *to, int width, int n, int64_t k, const void *from, int64_t step_bytes)
{
    enum { TAIL = MR % LANES }; /* of a panel of A; rows are never 0 */
    T *out = to;
    const char *in = from;
    for (int j = 0; j < n; j += LANES, out += LANES, in += LANES * step_bytes) {
        const int columns = width - j < LANES ? width - j : LANES, rows = n - j < LANES ? n - j : LANES;
        if (rows == LANES) /* columns too then */
            SNAME(pack_strip)(out, width, LANES, LANES, k, in, step_bytes);
        else if (rows == TAIL && columns == TAIL)
            SNAME(pack_strip)(out, width, TAIL, TAIL, k, in, step_bytes);
        else
            SNAME(pack_strip)(out, width, columns, rows, k, in, step_bytes);
    }
}

/* One dot product, or four at once, each with four running vectors, always in the same order. */
static inline __attribute__((always_inline)) void SNAME(some_dots)(const tsr_dots *g, int64_t first, const int rows)
{
    const char *matrix = (const char *)g->matrix + first * g->step_bytes;
    const S *x = g->x;
    V acc[4][4];
#pragma GCC unroll 4
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
        for (int u = 0; u < 4; u++)
            acc[i][u] = V_ZERO();
    int64_t p = 0;
    for (; p + 4 * LANES <= g->k; p += 4 * LANES) {
        V xv[4];
#pragma GCC unroll 4
        for (int u = 0; u < 4; u++)
            xv[u] = S_LOAD(x + p + u * LANES);
#pragma GCC unroll 4
        for (int i = 0; i < rows; i++) {
            const S *row = (const S *)(matrix + i * g->step_bytes) + p;
#pragma GCC unroll 4
            for (int u = 0; u < 4; u++)
                acc[i][u] = V_FMA(S_LOAD(row + u * LANES), xv[u], acc[i][u]);
        }
    }
#pragma GCC unroll 4
    for (int u = 0; u < 4; u++, p += LANES) {
        if (p >= g->k)
            break;
        const M some = M_FIRST((int)(g->k - p < LANES ? g->k - p : LANES));
        const V xv = S_LOAD_MASK(some, x + p);
#pragma GCC unroll 4
        for (int i = 0; i < rows; i++) {
            const S *row = (const S *)(matrix + i * g->step_bytes) + p;
            acc[i][u] = V_FMA(S_LOAD_MASK(some, row), xv, acc[i][u]);
        }
    }
    V one[4];
#pragma GCC unroll 4
    for (int i = 0; i < rows; i++)
        one[i] = V_ADD(V_ADD(acc[i][0], acc[i][1]), V_ADD(acc[i][2], acc[i][3]));
    if (rows == 4)
        V_SUM_4((T *)g->sum + first, one);
    else
        ((T *)g->sum)[first] = V_SUM(one[0]);
}

static void SNAME(dots)(const tsr_dots *g)
{
    int64_t i = 0;
    for (; i + 4 <= g->count; i += 4)
        SNAME(some_dots)(g, i, 4);
    for (; i < g->count; i++)
        SNAME(some_dots)(g, i, 1);
}

/* Up to 16 rows of sums: reading the matrix is the limit, or near it. One block of columns: `wide` vectors of each of
 * `steps` rows of the matrix are read into registers, each by a load of its own that follows one stream, which is what
 * prefetchers recognise; then each row of sums takes them. With one row of sums the processor has loads enough in
 * flight; with more the next group of rows is asked for meanwhile: into L2 with the loads, or, `late`, into L1 between
 * the last rows of sums, when those before are used and what is pushed out of L1 is rows of the matrix that are done
 * with. Processors drop requests to L2 more often, depending on where the code happens to lie. */
static inline __attribute__((always_inline)) void SNAME(few_block)(const tsr_update *u, const char *matrix, const T *x,
                                                                   T *sum, int64_t step, const int rows,
                                                                   const int steps, const int wide, const int late,
                                                                   const int masked, const M some)
{
    enum { BYTES = LANES * (int)sizeof(S) };
    const int64_t step3 = 3 * step, sum_step = u->sum_step_bytes, ahead = TSR_GROUP * step;
    const char *base[2] = {matrix, matrix + 5 * step}, *ask = matrix + ASK_AHEAD * step;
    int left = steps * wide; /* to ask for */
    V m[TSR_GROUP][4];
#pragma GCC unroll 8
    for (int p = 0; p < steps; p++) {
        const char *row = base[p / 5] + (p % 5 == 3 ? step3 : step * (p % 5));
#pragma GCC unroll 4
        for (int v = 0; v < wide; v++) {
            const S *at = (const S *)row + v * LANES;
            m[p][v] = masked ? S_LOAD_MASK(some, at) : S_LOAD(at);
            if (late)
                __asm__ volatile("" ::: "memory"); /* the loads stay in this order: upwards in each row */
            else if (rows != 1)
                __builtin_prefetch((const char *)at + ahead, 0, 2);
        }
    }
    for (int i = 0; i < rows; i++) {
        if (late && (rows - i) * ASK_LATE <= left) {
#pragma GCC unroll 4
            for (int v = 0; v < ASK_LATE; v++)
                __builtin_prefetch(ask + v * BYTES);
            left -= ASK_LATE;
            ask += left % wide ? ASK_LATE * BYTES : step - (wide - ASK_LATE) * BYTES;
        }
        V s[4];
#pragma GCC unroll 4
        for (int v = 0; v < wide; v++)
            s[v] = masked ? V_LOAD_MASK(some, sum) : V_LOAD(sum + v * LANES);
#pragma GCC unroll 8
        for (int p = 0; p < steps; p++) {
            const V xv = V_SET1(x[p]);
#pragma GCC unroll 4
            for (int v = 0; v < wide; v++)
                s[v] = V_FMA(xv, m[p][v], s[v]);
        }
#pragma GCC unroll 4
        for (int v = 0; v < wide; v++)
            if (masked)
                V_STORE_MASK(sum, some, s[v]);
            else
                V_STORE(sum + v * LANES, s[v]);
        x += TSR_GROUP;
        sum = (T *)((char *)sum + sum_step);
    }
}

/* One group of rows of the matrix. The copy of a single row of x tells the compiler that storing sums does not change
 * it, so that it stays in registers. */
static inline __attribute__((always_inline)) void SNAME(few_group)(const tsr_update *u, const char *matrix, const T *x,
                                                                   const int rows, const int steps, const int wide,
                                                                   const int late)
{
    const int64_t step = u->step_bytes, count = u->count;
    T *const sum = u->sum;
    T x_row[TSR_GROUP];
    if (rows == 1) {
        memcpy(x_row, x, (size_t)steps * sizeof *x);
        x = x_row;
    }
    int64_t j = 0;
    for (; j + wide * LANES <= count; j += wide * LANES, matrix += wide * LANES * (int)sizeof(S))
        SNAME(few_block)(u, matrix, x, sum + j, step, rows, steps, wide, late, 0, M_FIRST(LANES));
    for (; j < count; j += LANES, matrix += LANES * (int)sizeof(S))
        SNAME(few_block)
    (u, matrix, x, sum + j, step, rows, steps, 1, 0, 1, M_FIRST((int)(count - j < LANES ? count - j : LANES)));
}

static inline __attribute__((always_inline)) void SNAME(few_rows)(const tsr_update *u, const int rows, const int steps,
                                                                  const int wide, const int late)
{
    const char *matrix = u->matrix;
    const T *x = u->x;
    int p = 0;
    for (; p + TSR_GROUP <= u->k; p += TSR_GROUP, x += rows * TSR_GROUP)
        for (int q = 0; q < TSR_GROUP; q += steps, matrix += steps * u->step_bytes)
            SNAME(few_group)(u, matrix, x + q, rows, steps, wide, late);
    for (int n = u->k - p, q = 0; n > 0;) {
        const int some = n >= 4 ? 4 : n >= 2 ? 2 : 1;
        if (some == 4)
            SNAME(few_group)(u, matrix, x + q, rows, 4, 1, 0);
        else if (some == 2)
            SNAME(few_group)(u, matrix, x + q, rows, 2, 1, 0);
        else
            SNAME(few_group)(u, matrix, x + q, rows, 1, 1, 0);
        n -= some;
        q += some;
        matrix += some * u->step_bytes;
    }
}

/* Adds `steps` rows of the matrix, of which `wide` vectors are in registers, to n rows of sums. */
static inline __attribute__((always_inline)) void SNAME(update_sums)(V (*m)[UPDATE_VECTORS], const T *x, char *sum,
                                                                     int64_t sum_step, const int n, const int steps,
                                                                     const int wide, const int masked, const M some)
{
    V s[UPDATE_ROWS][UPDATE_VECTORS];
    char *row = sum;
#pragma GCC unroll 4
    for (int i = 0; i < n; i++, row += sum_step)
#pragma GCC unroll 2
        for (int v = 0; v < wide; v++)
            s[i][v] = masked ? V_LOAD_MASK(some, (const T *)row) : V_LOAD((const T *)row + v * LANES);
#pragma GCC unroll 8
    for (int p = 0; p < steps; p++)
#pragma GCC unroll 4
        for (int i = 0; i < n; i++) {
            const V xv = V_SET1(x[i * TSR_GROUP + p]);
#pragma GCC unroll 2
            for (int v = 0; v < wide; v++)
                V_ACCUMULATE(s[i][v], xv, m[p][v]);
        }
#pragma GCC unroll 4
    for (int i = 0; i < n; i++, sum += sum_step)
#pragma GCC unroll 2
        for (int v = 0; v < wide; v++)
            if (masked)
                V_STORE_MASK((T *)sum, some, s[i][v]);
            else
                V_STORE((T *)sum + v * LANES, s[i][v]);
}

/* One block of columns: `wide` vectors of each of `steps` rows of the matrix are read into registers, each by a load of
 * its own that follows one stream, which is what prefetchers recognise; then the rows of sums take them, four at a
 * time: chains of additions enough to keep the multipliers busy. The same columns of the rows at `ahead` are asked for,
 * a few before each four rows of sums: processors drop such requests when too many come at once. With one row of sums
 * the processor has loads enough in flight. */
static inline __attribute__((always_inline)) void SNAME(update_block)(const tsr_update *u, const char *matrix,
                                                                      const char *ahead, const T *x, T *sum,
                                                                      const int rows, const int steps, const int wide,
                                                                      const int masked, const M some)
{
    const int64_t step = u->step_bytes, step3 = 3 * step, sum_step = u->sum_step_bytes;
    const char *base[2] = {matrix, matrix + 5 * step};
    V m[TSR_GROUP][UPDATE_VECTORS];
#pragma GCC unroll 8
    for (int p = 0; p < steps; p++) {
        const char *row = base[p / 5] + (p % 5 == 3 ? step3 : step * (p % 5));
#pragma GCC unroll 2
        for (int v = 0; v < wide; v++) {
            const S *at = (const S *)row + v * LANES;
            m[p][v] = masked ? S_LOAD_MASK(some, at) : S_LOAD(at);
            __asm__ volatile("" ::: "memory"); /* the loads stay in this order: upwards in each row */
        }
    }
    const int fours = (rows + UPDATE_ROWS - 1) / UPDATE_ROWS, share = (TSR_GROUP + fours - 1) / fours;
    char *at = (char *)sum;
    int fetched = steps == TSR_GROUP ? 0 : TSR_GROUP, left = rows;
    for (; left > 0; left -= UPDATE_ROWS, at += UPDATE_ROWS * sum_step, x += UPDATE_ROWS * TSR_GROUP) {
        for (const int until = fetched + share; fetched < until && fetched < TSR_GROUP; fetched++, ahead += step)
#pragma GCC unroll 2
            for (int v = 0; v < wide; v++)
                __builtin_prefetch((const S *)ahead + v * LANES);
        if (left >= UPDATE_ROWS)
            SNAME(update_sums)(m, x, at, sum_step, UPDATE_ROWS, steps, wide, masked, some);
        else if (left == 3)
            SNAME(update_sums)(m, x, at, sum_step, 3, steps, wide, masked, some);
        else if (left == 2)
            SNAME(update_sums)(m, x, at, sum_step, 2, steps, wide, masked, some);
        else
            SNAME(update_sums)(m, x, at, sum_step, 1, steps, wide, masked, some);
    }
}

/* One group of rows of the matrix. */
static inline __attribute__((always_inline)) void SNAME(update_group)(const tsr_update *u, const char *matrix,
                                                                      const char *ahead, const T *x, const int rows,
                                                                      const int steps, const int wide)
{
    enum { BYTES = LANES * (int)sizeof(S) };
    const int64_t count = u->count;
    T *const sum = u->sum;
    int64_t j = 0;
    for (; j + wide * LANES <= count; j += wide * LANES, matrix += wide * BYTES, ahead += wide * BYTES)
        SNAME(update_block)(u, matrix, ahead, x, sum + j, rows, steps, wide, 0, M_FIRST(LANES));
    for (; j < count; j += LANES, matrix += BYTES, ahead += BYTES)
        SNAME(update_block)
    (u, matrix, ahead, x, sum + j, rows, steps, 1, 1, M_FIRST((int)(count - j < LANES ? count - j : LANES)));
}

static inline __attribute__((always_inline)) void SNAME(update_rows)(const tsr_update *u, const int rows,
                                                                     const int wide)
{
    const char *matrix = u->matrix;
    const T *x = u->x;
    const int64_t group = TSR_GROUP * u->step_bytes;
    int p = 0;
    for (; p + TSR_GROUP <= u->k; p += TSR_GROUP, x += rows * TSR_GROUP, matrix += group)
        SNAME(update_group)(u, matrix, p + TSR_GROUP < u->k ? matrix + group : u->next, x, rows, TSR_GROUP, wide);
    for (; p < u->k; p++, matrix += u->step_bytes, x++)
        SNAME(update_group)(u, matrix, matrix, x, rows, 1, 1);
}

static void SNAME(update)(const tsr_update *u)
{
    if (u->rows == 1)
        SNAME(few_rows)(u, 1, TSR_GROUP, 1, 0);
    else if (u->rows <= 8) /* limited by memory: narrow streams */
        SNAME(few_rows)(u, u->rows, TSR_GROUP, 1, 0);
    else if (u->rows > TSR_FEWER_ROWS)
        SNAME(update_rows)(u, u->rows, UPDATE_VECTORS);
    else if (MR == 12) /* limited by arithmetic: fewer loads of x, and short chains of additions */
        SNAME(few_rows)(u, u->rows, TSR_GROUP / 2, 4, 1);
    else
        SNAME(few_rows)(u, u->rows, TSR_GROUP, 2, 0);
}

static void SNAME(finish)(void *d, const void *c, double alpha, double beta, const void *sum, int64_t n)
{
    const V alphas = V_SET1((T)alpha), betas = V_SET1((T)beta);
    const T *in = sum;
    const S *old = c;
    S *out = d;
    for (int64_t j = 0; j < n; j += LANES) {
        if (n - j >= LANES) {
            V v = V_MUL(alphas, V_LOAD(in + j));
            if (beta != 0)
                v = V_FMA(betas, S_LOAD(old + j), v);
            S_STORE(out + j, v);
        } else {
            const M some = M_FIRST((int)(n - j));
            V v = V_MUL(alphas, V_LOAD_MASK(some, in + j));
            if (beta != 0)
                v = V_FMA(betas, S_LOAD_MASK(some, old + j), v);
            S_STORE_MASK(out + j, some, v);
        }
    }
}

#include "cpu/outer_tmpl.h"

#undef ASK_AHEAD
#undef ASK_LATE
#undef UPDATE_ROWS
#undef UPDATE_VECTORS
