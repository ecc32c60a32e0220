/* Packing, matrix-vector sums and write-back for one stored type and one instruction set; included once for each, with
 * what micro_tmpl.h needs and
 *   S                 the stored type: float, double, or uint16_t for f16 and bf16
 *   SNAME(x)          the names of this instance
 *   S_LOAD(p) S_LOAD_MASK(m, p)          stored elements, widened to V
 *   S_STORE(p, v) S_STORE_MASK(p, m, v)  and narrowed
 *   S_WIDEN(x)        one element
 *   TRANSPOSE(r)      LANES vectors as a square block, in place
 *   V_SUM(v), the sum of the lanes in a fixed order; V_SUM_4(to, v) of four vectors, where that is faster
 * where there are 64-byte vectors, besides
 *   V_SUM_LANES(v)          the sums of the lanes of as many vectors as one has lanes, as a vector
 *   V_GATHER(m, p, step)    elements that lie `step` bytes apart
 *   V_PICK(v, k, p)         of the elements of four vectors the p-th and each k-th after it, k up to 4
 *   V_STORE_4(to, v, i)     the i-th four elements of one or two vectors */

#ifndef V_SUM_4
#define V_SUM_4(to, v) \
    ((to)[0] = V_SUM((v)[0]), (to)[1] = V_SUM((v)[1]), (to)[2] = V_SUM((v)[2]), (to)[3] = V_SUM((v)[3]))
#endif

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

#ifdef V_GATHER
static void SNAME(pack_gathered)(T *out, int width, int n, int64_t k, const char *in, int step_bytes)
{
    for (int64_t p = 0; p < k; p++, out += width, in += sizeof(T)) {
        const char *at = in;
        for (int j = 0; j < n; j += LANES, at += LANES * (int64_t)step_bytes) {
            const M some = M_FIRST(n - j < LANES ? n - j : LANES);
            const M written = M_FIRST(width - j < LANES ? width - j : LANES);
            V_STORE_MASK(out + j, written, V_GATHER(some, at, step_bytes));
        }
    }
}

/* Rows of k elements that follow each other: whole vectors are read, which gathering takes much longer for. */
static void SNAME(pack_tight)(T *out, int width, int n, int k, const T *in)
{
    for (int64_t j = 0; j < n; j += LANES, in += k * LANES) {
        const M written = M_FIRST(width - j < LANES ? width - j : LANES);
        V v[TSR_GATHERED] = {V_ZERO(), V_ZERO(), V_ZERO(), V_ZERO()};
#pragma GCC unroll 4
        for (int q = 0; q < TSR_GATHERED; q++) {
            const int64_t some = (n - j) * k - q * LANES;
            if (k > 2 || q < 2)
                v[q] = V_LOAD_MASK(M_FIRST(some < 0 ? 0 : some < LANES ? some : LANES), in + q * LANES);
        }
        T *to = out + j;
        for (int p = 0; p < k; p++, to += width)
            V_STORE_MASK(to, written, V_PICK(v, k, p));
    }
}
#endif

static void SNAME(pack_columns)(void *to, int width, int n, int64_t k, const void *from, int64_t step_bytes)
{
    enum { TAIL = MR % LANES }; /* of a panel of A; rows are never 0 */
    T *out = to;
#ifdef V_GATHER
    if (sizeof(S) == sizeof(T) && k <= TSR_GATHERED && step_bytes == k * (int)sizeof(S)) {
        SNAME(pack_tight)(out, width, n, (int)k, from);
        return;
    }
    if (sizeof(S) == sizeof(T) && k <= TSR_GATHERED && step_bytes <= INT32_MAX / LANES) {
        SNAME(pack_gathered)(out, width, n, k, from, (int)step_bytes);
        return;
    }
#endif
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

#define FAR_ROWS 6 /* of a matrix that comes from memory: as many streams as there are registers for */

/* `rows` dot products, each with four running vectors, always in the same order, but for the sums of their lanes.
 * `prefetch`: the rows that come next are prefetched, into L2. */
static inline __attribute__((always_inline)) void SNAME(dot_vectors)(V *one, const char *matrix, int64_t step_bytes,
                                                                     const S *x, int64_t k, const int rows,
                                                                     const int prefetch)
{
    V acc[FAR_ROWS][4];
#pragma GCC unroll 6
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
        for (int u = 0; u < 4; u++)
            acc[i][u] = V_ZERO();
    int64_t p = 0;
    for (; p + 4 * LANES <= k; p += 4 * LANES) {
        V xv[4];
#pragma GCC unroll 4
        for (int u = 0; u < 4; u++)
            xv[u] = S_LOAD(x + p + u * LANES);
#pragma GCC unroll 6
        for (int i = 0; i < rows; i++) {
            const S *row = (const S *)(matrix + i * step_bytes) + p;
#pragma GCC unroll 4
            for (int u = 0; u < 4; u++) {
                if (prefetch)
                    __builtin_prefetch((const char *)(row + u * LANES) + rows * step_bytes, 0, 2);
                acc[i][u] = V_FMA(S_LOAD(row + u * LANES), xv[u], acc[i][u]);
            }
        }
    }
#pragma GCC unroll 4
    for (int u = 0; u < 4; u++, p += LANES) {
        if (p >= k)
            break;
        const M some = M_FIRST((int)(k - p < LANES ? k - p : LANES));
        const V xv = S_LOAD_MASK(some, x + p);
#pragma GCC unroll 6
        for (int i = 0; i < rows; i++) {
            const S *row = (const S *)(matrix + i * step_bytes) + p;
            acc[i][u] = V_FMA(S_LOAD_MASK(some, row), xv, acc[i][u]);
        }
    }
#pragma GCC unroll 6
    for (int i = 0; i < rows; i++)
        one[i] = V_ADD(V_ADD(acc[i][0], acc[i][1]), V_ADD(acc[i][2], acc[i][3]));
}

/* Sums so short that adding up lanes would take longer: one element after the other. */
#define SHORT_SUM 8

static inline __attribute__((always_inline)) void SNAME(short_dots)(const tsr_dots *g, const int k)
{
    const char *row = g->matrix;
    T x[SHORT_SUM], *const out = g->sum;
#pragma GCC unroll 8
    for (int p = 0; p < k; p++)
        x[p] = S_WIDEN(((const S *)g->x)[p]);
    for (int64_t i = 0; i < g->count; i++, row += g->step_bytes) {
        T sum = 0;
#pragma GCC unroll 8
        for (int p = 0; p < k; p++)
            sum += S_WIDEN(((const S *)(const void *)row)[p]) * x[p];
        out[i] = sum;
    }
}

#ifdef V_SUM_LANES
/* As many at once as a vector has lanes; how many of `g` that were. */
static __attribute__((noinline)) int64_t SNAME(most_dots)(const tsr_dots *g)
{
    const char *matrix = g->matrix;
    int64_t i = 0;
    V one[LANES];
    for (; i + LANES <= g->count; i += LANES) {
        for (int r = 0; r < LANES; r += 4, matrix += 4 * g->step_bytes)
            SNAME(dot_vectors)(one + r, matrix, g->step_bytes, g->x, g->k, 4, 0);
        V_STORE((T *)g->sum + i, V_SUM_LANES(one));
    }
    return i;
}
#endif

static void SNAME(dots)(const tsr_dots *g)
{
    int64_t i = 0;
    switch (g->k) {
    case 1:
        SNAME(short_dots)(g, 1);
        return;
    case 2:
        SNAME(short_dots)(g, 2);
        return;
    case 3:
        SNAME(short_dots)(g, 3);
        return;
    case 4:
        SNAME(short_dots)(g, 4);
        return;
    case 5:
        SNAME(short_dots)(g, 5);
        return;
    case 6:
        SNAME(short_dots)(g, 6);
        return;
    case 7:
        SNAME(short_dots)(g, 7);
        return;
    case SHORT_SUM:
        SNAME(short_dots)(g, SHORT_SUM);
        return;
    default:
        break;
    }
    T *const sum = g->sum;
    V one[FAR_ROWS];
    const int zen4 = ZEN4 && g->zen4;
    if (zen4)
        for (; i + FAR_ROWS <= g->count; i += FAR_ROWS) {
            SNAME(dot_vectors)
            (one, (const char *)g->matrix + i * g->step_bytes, g->step_bytes, g->x, g->k, FAR_ROWS, 1);
            for (int r = 0; r < FAR_ROWS; r++)
                sum[i + r] = V_SUM(one[r]);
        }
#ifdef V_SUM_LANES
    else if (g->count >= LANES)
        i = SNAME(most_dots)(g);
#endif
    const char *matrix = (const char *)g->matrix + i * g->step_bytes;
    for (; i + 4 <= g->count; i += 4, matrix += 4 * g->step_bytes) {
        SNAME(dot_vectors)(one, matrix, g->step_bytes, g->x, g->k, 4, 0);
        V_SUM_4(sum + i, one);
    }
    for (; i < g->count; i++, matrix += g->step_bytes) {
        SNAME(dot_vectors)(one, matrix, g->step_bytes, g->x, g->k, 1, 0);
        sum[i] = V_SUM(one[0]);
    }
}

/* `rows` dot products with one running vector each; `ahead`: of so many vectors at a time, so that rows are read in
 * pieces of a few lines, and the rows that come next are prefetched, into L2. */
static inline __attribute__((always_inline)) void SNAME(step_vectors)(V *acc, const char *matrix, int64_t step_bytes,
                                                                      const T *x, int64_t k, const int rows,
                                                                      const int ahead)
{
    const int vectors = ahead ? ahead : 1;
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++)
        acc[i] = V_ZERO();
    int64_t p = 0;
    for (; p + vectors * LANES <= k; p += vectors * LANES)
#pragma GCC unroll 8
        for (int i = 0; i < rows; i++) {
            const S *row = (const S *)(matrix + i * step_bytes) + p;
#pragma GCC unroll 4
            for (int u = 0; u < vectors; u++) {
                if (ahead)
                    __builtin_prefetch((const char *)(row + u * LANES) + rows * step_bytes, 0, 2);
                acc[i] = V_FMA(S_LOAD(row + u * LANES), V_LOAD(x + p + u * LANES), acc[i]);
            }
        }
    for (; p < k; p += LANES) {
        const M some = M_FIRST((int)(k - p < LANES ? k - p : LANES));
        const V xv = V_LOAD_MASK(some, x + p);
#pragma GCC unroll 8
        for (int i = 0; i < rows; i++)
            acc[i] = V_FMA(S_LOAD_MASK(some, (const S *)(matrix + i * step_bytes) + p), xv, acc[i]);
    }
}

/* As many rows at once as hide a multiply-add's latency. */
#define STEP_ROWS 8

static void SNAME(dots_in_step)(const tsr_dots *g)
{
    const char *matrix = g->matrix;
    T *const sum = g->sum;
    V one[STEP_ROWS > LANES ? STEP_ROWS : LANES];
    int64_t i = 0;
    if (ZEN4 && g->zen4)
        for (; i + FAR_ROWS <= g->count; i += FAR_ROWS, matrix += FAR_ROWS * g->step_bytes) {
            SNAME(step_vectors)(one, matrix, g->step_bytes, g->x, g->k, FAR_ROWS, 4);
            for (int r = 0; r < FAR_ROWS; r++)
                sum[i + r] = V_SUM(one[r]);
        }
#ifdef V_SUM_LANES
    for (; i + LANES <= g->count; i += LANES) {
        for (int r = 0; r < LANES; r += STEP_ROWS, matrix += STEP_ROWS * g->step_bytes)
            SNAME(step_vectors)(one + r, matrix, g->step_bytes, g->x, g->k, STEP_ROWS, 0);
        V_STORE(sum + i, V_SUM_LANES(one));
    }
#endif
    for (; i + STEP_ROWS <= g->count; i += STEP_ROWS, matrix += STEP_ROWS * g->step_bytes) {
        SNAME(step_vectors)(one, matrix, g->step_bytes, g->x, g->k, STEP_ROWS, 0);
        V_SUM_4(sum + i, one);
        V_SUM_4(sum + i + 4, one + 4);
    }
    for (; i < g->count; i++, matrix += g->step_bytes) {
        SNAME(step_vectors)(one, matrix, g->step_bytes, g->x, g->k, 1, 0);
        sum[i] = V_SUM(one[0]);
    }
}

#undef STEP_ROWS
#undef SHORT_SUM
#undef FAR_ROWS

#include "cpu/isa/update_tmpl.h"

/* `forms`, a constant: 1: the bias is added and, if `relu`, what is below 0 becomes 0. */
static inline __attribute__((always_inline)) void SNAME(finish_row)(void *d, const void *c, double alpha, double beta,
                                                                    const void *sum, int64_t n, const int forms,
                                                                    const void *bias, int relu)
{
    const V alphas = V_SET1((T)alpha), betas = V_SET1((T)beta);
    const T *in = sum;
    const S *old = c, *add = bias;
    S *out = d;
    for (int64_t j = 0; j < n; j += LANES) {
        if (n - j >= LANES) {
            V v = V_MUL(alphas, V_LOAD(in + j));
            if (beta != 0)
                v = V_FMA(betas, S_LOAD(old + j), v);
            if (forms)
                v = V_ADD(v, S_LOAD(add + j));
            if (forms && relu)
                v = V_RELU(v);
            S_STORE(out + j, v);
        } else {
            const M some = M_FIRST((int)(n - j));
            V v = V_MUL(alphas, V_LOAD_MASK(some, in + j));
            if (beta != 0)
                v = V_FMA(betas, S_LOAD_MASK(some, old + j), v);
            if (forms)
                v = V_ADD(v, S_LOAD_MASK(some, add + j));
            if (forms && relu)
                v = V_RELU(v);
            S_STORE_MASK(out + j, some, v);
        }
    }
}

static void SNAME(finish)(void *d, const void *c, double alpha, double beta, const void *sum, int64_t n)
{
    SNAME(finish_row)(d, c, alpha, beta, sum, n, 0, NULL, 0);
}

static void SNAME(finish_form)(void *d, const void *c, double alpha, double beta, const void *sum, int64_t n,
                               const void *bias, int epilogue)
{
    SNAME(finish_row)(d, c, alpha, beta, sum, n, 1, bias, epilogue == TSR_EPILOGUE_BIAS_RELU);
}

#include "cpu/isa/rank_k_tmpl.h"
