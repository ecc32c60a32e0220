/* Packing, matrix-vector sums and write-back for one stored type and one instruction set; included once for each, with
 * what micro_tmpl.h needs and
 *   S                 the stored type: float, double, or uint16_t for f16 and bf16
 *   SNAME(x)          the names of this instance
 *   S_LOAD(p) S_LOAD_MASK(m, p)          stored elements, widened to V
 *   S_STORE(p, v) S_STORE_MASK(p, m, v)  and narrowed
 *   S_WIDEN(x)        one element
 *   TRANSPOSE(r)      LANES vectors as a square block, in place
 *   V_ADD(a, b) V_SUM(v), the latter the sum of the lanes in a fixed order
 */

static void SNAME(pack_rows)(void *to, int width, int n, int64_t k, const void *from, int64_t step_bytes)
{
    T *out = to;
    const char *in = from;
    const int whole = n - n % LANES, padded = width - width % LANES;
    const M some = M_FIRST(n - whole), rest = M_FIRST(width - padded);
    for (int64_t p = 0; p < k; p++, in += step_bytes, out += width) {
        const S *row = (const S *)in;
        int j = 0;
        for (; j < whole; j += LANES)
            V_STORE(out + j, S_LOAD(row + j));
        V last = V_ZERO();
        if (whole < n)
            last = S_LOAD_MASK(some, row + whole);
        for (; j < padded; j += LANES, last = V_ZERO())
            V_STORE(out + j, last);
        if (j < width)
            V_STORE_MASK(out + j, rest, last);
    }
}

/* A block of LANES rows j and LANES steps p, of which `rows` and `steps` exist; `columns` are written. */
static inline __attribute__((always_inline)) void SNAME(pack_block)(T *out, int width, int columns, int rows,
                                                                    int64_t steps, const char *in, int64_t step_bytes)
{
    V r[LANES];
    const M some = M_FIRST((int)steps), written = M_FIRST(columns);
    if (rows == LANES && steps == LANES) {
#pragma GCC unroll 16
        for (int j = 0; j < LANES; j++)
            r[j] = S_LOAD((const S *)(in + j * step_bytes));
    } else {
#pragma GCC unroll 16
        for (int j = 0; j < LANES; j++) {
            r[j] = V_ZERO();
            if (j < rows)
                r[j] = S_LOAD_MASK(some, (const S *)(in + j * step_bytes));
        }
    }
    TRANSPOSE(r);
    if (columns == LANES && steps == LANES) {
#pragma GCC unroll 16
        for (int p = 0; p < LANES; p++)
            V_STORE(out + p * width, r[p]);
    } else {
#pragma GCC unroll 16
        for (int p = 0; p < LANES; p++)
            if (p < steps)
                V_STORE_MASK(out + p * width, written, r[p]);
    }
}

static void SNAME(pack_columns)(void *to, int width, int n, int64_t k, const void *from, int64_t step_bytes)
{
    T *out = to;
    for (int64_t p = 0; p < k; p += LANES) {
        const int64_t steps = k - p < LANES ? k - p : LANES;
        for (int j = 0; j < n; j += LANES) {
            const int columns = width - j < LANES ? width - j : LANES;
            const int rows = n - j < LANES ? n - j : LANES;
            const char *in = (const char *)((const S *)from + p) + j * step_bytes;
            for (int i = 0; i < columns; i++) /* the next panel's, where the prefetchers see only short streams */
                __builtin_prefetch(in + (width + i) * step_bytes);
            SNAME(pack_block)(out + p * width + j, width, columns, rows, steps, in, step_bytes);
        }
    }
}

/* `rows` dot products at once, each with four running vectors, always in the same order. */
static inline __attribute__((always_inline)) void SNAME(dots)(const tsr_gemv *g, int64_t first, const int rows)
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
#pragma GCC unroll 4
    for (int i = 0; i < rows; i++)
        ((T *)g->sum)[first + i] = V_SUM(V_ADD(V_ADD(acc[i][0], acc[i][1]), V_ADD(acc[i][2], acc[i][3])));
}

static void SNAME(dot)(const tsr_gemv *g)
{
    int64_t i = 0;
    for (; i + 4 <= g->count; i += 4)
        SNAME(dots)(g, i, 4);
    for (; i < g->count; i++)
        SNAME(dots)(g, i, 1);
}

/* Adds `rows` rows of the matrix, times their x, to the sums, in the order of the rows. */
static inline __attribute__((always_inline)) void SNAME(axpys)(const tsr_gemv *g, int64_t first, const int rows)
{
    const char *matrix = (const char *)g->matrix + first * g->step_bytes;
    const char *x = (const char *)g->x + first * g->x_step_bytes;
    T *sum = g->sum;
    V xv[8];
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++)
        xv[i] = V_SET1(S_WIDEN(*(const S *)(x + i * g->x_step_bytes)));
    int64_t j = 0;
    for (; j + 2 * LANES <= g->count; j += 2 * LANES) {
        V s0 = first ? V_LOAD(sum + j) : V_ZERO(), s1 = first ? V_LOAD(sum + j + LANES) : V_ZERO();
#pragma GCC unroll 8
        for (int i = 0; i < rows; i++) {
            const S *row = (const S *)(matrix + i * g->step_bytes) + j;
            s0 = V_FMA(xv[i], S_LOAD(row), s0);
            s1 = V_FMA(xv[i], S_LOAD(row + LANES), s1);
        }
        V_STORE(sum + j, s0);
        V_STORE(sum + j + LANES, s1);
    }
    for (; j < g->count; j += LANES) {
        const M some = M_FIRST((int)(g->count - j < LANES ? g->count - j : LANES));
        V s = first ? V_LOAD_MASK(some, sum + j) : V_ZERO();
#pragma GCC unroll 8
        for (int i = 0; i < rows; i++)
            s = V_FMA(xv[i], S_LOAD_MASK(some, (const S *)(matrix + i * g->step_bytes) + j), s);
        V_STORE_MASK(sum + j, some, s);
    }
}

static void SNAME(axpy)(const tsr_gemv *g)
{
    int64_t p = 0;
    for (; p + 8 <= g->k; p += 8)
        SNAME(axpys)(g, p, 8);
    for (; p < g->k; p++)
        SNAME(axpys)(g, p, 1);
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
