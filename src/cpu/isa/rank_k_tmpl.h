/* Products of few steps (tsr_rank_k_run), for one stored type and one instruction set; a part of store_tmpl.h, with
 * what that needs and V_STREAM(p, v), a store past the caches, and RANK_K_UNROLLED, the highest K with code of its own.
 *
 *   four rows of D, three vectors at a time from left to right: K loads for each vector of B and K broadcasts for each
 *   row of A; nothing is set up for a block of D but its sums. */
#define RANK_K_VECTORS 3
#define LONG_ROW       (5 * 1024) /* bytes */
#define ROWS_OF_A_TURN 32         /* before what is left of them beside whole vectors: they are still in a cache */

/* One step of a block of D, step p; p = -1: a and b are those of this step, which is not the first. */
static inline __attribute__((always_inline)) void SNAME(rank_k_step)(const tsr_rank_k *o, const char *a, const char *b,
                                                                     V (*sum)[RANK_K_VECTORS], const int p,
                                                                     const int rows, const int vectors, const int inner,
                                                                     const int masked, const M some)
{
    V row[RANK_K_VECTORS];
    if (p > 0)
        a += p * (inner ? (int)sizeof(T) : o->a_k_bytes);
#pragma GCC unroll 3
    for (int v = 0; v < vectors; v++) {
        const T *at = (const T *)(const void *)b + v * LANES;
        row[v] = masked && v == vectors - 1 ? V_LOAD_MASK(some, at) : V_LOAD(at);
        if (rows > 1)
            V_KEEP(row[v]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < rows; i++) {
        const V x = V_SET1(*(const T *)(const void *)(a + i * (inner ? o->a_row_bytes : (int)sizeof(T))));
#pragma GCC unroll 3
        for (int v = 0; v < vectors; v++)
            sum[i][v] = V_FMA(x, row[v], p == 0 ? V_ZERO() : sum[i][v]);
    }
}

/* `vectors` vectors of each of `rows` rows. */
static inline __attribute__((always_inline)) void SNAME(rank_k_block)(const tsr_rank_k *o, const char *a, char *d,
                                                                      int64_t j, const int rows, const int k,
                                                                      const int vectors, const int inner,
                                                                      const int masked, const M some, const int past)
{
    const V alpha = V_SET1((T)o->alpha);
    const char *b = (const char *)o->b + j * (int)sizeof(T);
    V sum[TSR_RANK_K_ROWS][RANK_K_VECTORS];
    if (vectors == RANK_K_VECTORS && !past && rows == TSR_RANK_K_ROWS && o->ahead_bytes) {
        const char *ahead = d + j * (int)sizeof(S) + o->ahead_bytes;
#pragma GCC unroll 4
        for (int i = 0; i < rows; i++, ahead += o->d_row_bytes)
#pragma GCC unroll 3
            for (int v = 0; v < vectors; v++)
                FETCH_TO_WRITE(ahead + v * LANES * (int)sizeof(S));
    }
    if (k) {
#pragma GCC unroll 8
        for (int p = 0; p < k; p++, b += o->b_k_bytes)
            SNAME(rank_k_step)(o, a, b, sum, p, rows, vectors, inner, masked, some);
    } else {
        SNAME(rank_k_step)(o, a, b, sum, 0, rows, vectors, inner, masked, some);
#pragma GCC unroll 1
        for (int p = 1; p < o->k; p++) {
            a += inner ? (int)sizeof(T) : o->a_k_bytes;
            b += o->b_k_bytes;
            SNAME(rank_k_step)(o, a, b, sum, -1, rows, vectors, inner, masked, some);
        }
    }
    if (o->alpha != 1) {
#pragma GCC unroll 4
        for (int i = 0; i < rows; i++)
#pragma GCC unroll 3
            for (int v = 0; v < vectors; v++)
                sum[i][v] = V_MUL(alpha, sum[i][v]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < rows; i++, d += o->d_row_bytes)
#pragma GCC unroll 3
        for (int v = 0; v < vectors; v++) {
            S *at = (S *)(void *)d + j + v * LANES;
            const V value = sum[i][v];
            if (masked && v == vectors - 1)
                S_STORE_MASK(at, some, value);
            else if (sizeof(S) == sizeof(T) && past)
                V_STREAM((T *)(void *)at, value);
            else
                S_STORE(at, value);
        }
}

/* Past the caches it begins with the elements before the first whole vector of D that is aligned. */
static inline __attribute__((always_inline)) void SNAME(rank_k_some)(const tsr_rank_k *o, const char *a, char *d,
                                                                     const int rows, const int k, const int inner,
                                                                     const int past)
{
    enum { BYTES = LANES * sizeof(S) };
    int64_t j = past ? (int64_t)((BYTES - (uintptr_t)d % BYTES) % BYTES / sizeof(S)) : 0;
    j = j < o->n ? j : o->n;
    if (j > 0)
        SNAME(rank_k_block)(o, a, d, 0, rows, k, 1, inner, 1, M_FIRST((int)j), past);
    for (; j + RANK_K_VECTORS * LANES <= o->n; j += RANK_K_VECTORS * LANES)
        SNAME(rank_k_block)(o, a, d, j, rows, k, RANK_K_VECTORS, inner, 0, M_FIRST(LANES), past);
    for (; (past || !k) && j < o->n; j += LANES)
        SNAME(rank_k_block)
    (o, a, d, j, rows, k, 1, inner, 1, M_FIRST((int)(o->n - j < LANES ? o->n - j : LANES)), past);
}

/* Some rows of one vector or two from column j on. */
static inline __attribute__((always_inline)) void SNAME(rank_k_part)(const char *a, int64_t a_row, int64_t a_step,
                                                                     char *d, int64_t d_row, V (*b)[2], const V alpha,
                                                                     const int rows, const int k, const int vectors,
                                                                     const int inner, const M some)
{
    V sum[TSR_RANK_K_ROWS][2];
#pragma GCC unroll 8
    for (int p = 0; p < k; p++) {
#pragma GCC unroll 4
        for (int i = 0; i < rows; i++) {
            const int64_t row = !inner ? i * (int)sizeof(T) : i == 3 ? 2 * a_row + a_row : i * a_row;
            const V x = V_SET1(*(const T *)(const void *)(a + row + (inner ? p * (int)sizeof(T) : 0)));
#pragma GCC unroll 2
            for (int v = 0; v < vectors; v++)
                sum[i][v] = V_FMA(x, b[p][v], p == 0 ? V_ZERO() : sum[i][v]);
        }
        if (!inner) {
            a += a_step;
            __asm__("" : "+r"(a));
        }
    }
#pragma GCC unroll 4
    for (int i = 0; i < rows; i++) {
        S *const at = (S *)(void *)d;
        if (vectors == 2)
            S_STORE(at, V_MUL(alpha, sum[i][0]));
        S_STORE_MASK(at + (vectors - 1) * LANES, some, V_MUL(alpha, sum[i][vectors - 1]));
        d += d_row;
        __asm__("" : "+r"(d));
    }
}

/* All rows of them; B stays in registers. */
static inline __attribute__((always_inline)) void SNAME(rank_k_column)(const tsr_rank_k *o, const char *a, char *d,
                                                                       int64_t j, int64_t rows, const int k,
                                                                       const int vectors, const int inner, const M some)
{
    const V alpha = V_SET1((T)o->alpha);
    const int64_t a_row = o->a_row_bytes, a_step = o->a_k_bytes, d_row = o->d_row_bytes;
    V b[TSR_RANK_K_STEPS][2];
#pragma GCC unroll 8
    for (int p = 0; p < k; p++) {
        const T *from = (const T *)(const void *)((const char *)o->b + p * o->b_k_bytes) + j;
        if (vectors == 2)
            b[p][0] = V_LOAD(from);
        b[p][vectors - 1] = V_LOAD_MASK(some, from + (vectors - 1) * LANES);
    }
    d += j * (int)sizeof(S);
    for (; rows >= TSR_RANK_K_ROWS; rows -= TSR_RANK_K_ROWS) {
        SNAME(rank_k_part)(a, a_row, a_step, d, d_row, b, alpha, TSR_RANK_K_ROWS, k, vectors, inner, some);
        a += TSR_RANK_K_ROWS * a_row;
        d += TSR_RANK_K_ROWS * d_row;
    }
    for (; rows > 0; rows--, a += a_row, d += d_row)
        SNAME(rank_k_part)(a, a_row, a_step, d, d_row, b, alpha, 1, k, vectors, inner, some);
}

static inline __attribute__((always_inline)) void SNAME(rank_k_rows)(const tsr_rank_k *rank_k, const int k,
                                                                     const int inner, const int past)
{
    const tsr_rank_k copy = *rank_k, *const o = &copy; /* which the compiler knows that storing D does not change */
    const char *a = o->a;
    char *d = o->d;
    const int64_t whole = past || !k ? o->n : o->n - o->n % (RANK_K_VECTORS * LANES);
    const int64_t most = whole ? ROWS_OF_A_TURN : o->rows;
    for (int64_t left = o->rows; left > 0;) {
        const int64_t rows = left < most ? left : most;
        const char *ai = a;
        char *di = d;
        for (int64_t i = 0, take = 1; whole && i < rows; i += take) {
            take = o->one_by_one ? 1 : rows - i >= TSR_RANK_K_ROWS ? TSR_RANK_K_ROWS : !past && rows - i >= 2 ? 2 : 1;
            if (take == TSR_RANK_K_ROWS)
                SNAME(rank_k_some)(o, ai, di, TSR_RANK_K_ROWS, k, inner, past);
            else if (!past && take == 2)
                SNAME(rank_k_some)(o, ai, di, 2, k, inner, past);
            else
                SNAME(rank_k_some)(o, ai, di, 1, k, inner, past);
            ai += take * o->a_row_bytes;
            di += take * o->d_row_bytes;
        }
        const int rest = (int)(o->n - whole);
        if (rest > LANES)
            SNAME(rank_k_column)(o, a, d, whole, rows, k, 2, inner, M_FIRST(rest > 2 * LANES ? LANES : rest - LANES));
        if (rest > 2 * LANES || (rest > 0 && rest <= LANES))
            SNAME(rank_k_column)
        (o, a, d, rest > LANES ? whole + 2 * LANES : whole, rows, k, 1, inner,
         M_FIRST(rest > LANES ? rest - 2 * LANES : rest));
        a += rows * o->a_row_bytes;
        d += rows * o->d_row_bytes;
        left -= rows;
    }
}

/* With K along the rows of A, a function for each K up to RANK_K_UNROLLED; else K is a loop: past the caches, where
 * memory is waited for, down the columns of A, and for any other K. All of these for all K would be 0.8 MB of code. */
#define RANK_K_K(k)                                          \
    static void SNAME(rank_k_along_##k)(const tsr_rank_k *o) \
    {                                                        \
        if (sizeof(S) == sizeof(T) && k <= RANK_K_UNROLLED)  \
            SNAME(rank_k_rows)(o, k, 1, 0);                  \
    }
#define RANK_K_ALL(F)   F(1) F(2) F(3) F(4) F(5) F(6) F(7) F(8)
#define RANK_K_ALONG(k) SNAME(rank_k_along_##k),

RANK_K_ALL(RANK_K_K)

#if RANK_K_UNROLLED > TSR_RANK_K_DOWN_STEPS /* sets with tiles that write D transposed */
/* The same down the columns of A, with up to two vectors of D: so few that a function for a K is small. */
static inline __attribute__((always_inline)) void SNAME(rank_k_down)(const tsr_rank_k *rank_k, const int k)
{
    if (sizeof(S) != sizeof(T))
        return;
    const tsr_rank_k o = *rank_k;
    if (o.n > LANES)
        SNAME(rank_k_column)(&o, o.a, o.d, 0, o.rows, k, 2, 0, M_FIRST((int)o.n - LANES));
    else
        SNAME(rank_k_column)(&o, o.a, o.d, 0, o.rows, k, 1, 0, M_FIRST((int)o.n));
}

static __attribute__((noinline)) void SNAME(rank_k_down_2)(const tsr_rank_k *o)
{
    SNAME(rank_k_down)(o, 2);
}

static __attribute__((noinline)) void SNAME(rank_k_down_3)(const tsr_rank_k *o)
{
    SNAME(rank_k_down)(o, 3);
}

static __attribute__((noinline)) void SNAME(rank_k_down_4)(const tsr_rank_k *o)
{
    SNAME(rank_k_down)(o, 4);
}
#endif

#if RANK_K_UNROLLED >= TSR_RANK_K_STEPS
/* Eight steps, which many sizes are, down the columns of A: for one vector of D or two, whose B then stays in
 * registers, and for rows of LONG_ROW bytes or more. In between a loop over the steps is faster, by 3 to 14% on a
 * Zen 5. */
static __attribute__((noinline)) void SNAME(rank_k_across_8)(const tsr_rank_k *o)
{
    if (sizeof(S) == sizeof(T))
        SNAME(rank_k_rows)(o, TSR_RANK_K_STEPS, 0, 0);
}
#endif

static void SNAME(rank_k)(const tsr_rank_k *o)
{
    static tsr_rank_k_run *const run[TSR_RANK_K_STEPS] = {RANK_K_ALL(RANK_K_ALONG)};
    if (sizeof(S) != sizeof(T) || o->past_cache)
        SNAME(rank_k_rows)(o, 0, 1, 1);
#if RANK_K_UNROLLED > TSR_RANK_K_DOWN_STEPS
    else if (o->down && o->k == 2)
        SNAME(rank_k_down_2)(o);
    else if (o->down && o->k == 3)
        SNAME(rank_k_down_3)(o);
    else if (o->down && o->k == 4)
        SNAME(rank_k_down_4)(o);
#endif
#if RANK_K_UNROLLED >= TSR_RANK_K_STEPS
    else if (o->k == TSR_RANK_K_STEPS && o->a_k_bytes != sizeof(T) &&
             (o->n <= 2 * LANES || o->n * (int64_t)sizeof(T) >= LONG_ROW))
        SNAME(rank_k_across_8)(o);
#endif
    else if (o->k > 1 && o->a_k_bytes != sizeof(T))
        SNAME(rank_k_rows)(o, 0, 0, 0);
    else if (RANK_K_UNROLLED > 0 && o->k <= RANK_K_UNROLLED)
        run[o->k - 1](o);
    else
        SNAME(rank_k_rows)(o, 0, 1, 0);
}

#undef RANK_K_VECTORS
#undef LONG_ROW
#undef ROWS_OF_A_TURN
#undef RANK_K_K
#undef RANK_K_ALL
#undef RANK_K_ALONG
