/* A few columns of D where K runs along A's rows as stored: tiles whose vectors are columns would be nearly empty, and
 * need a load for each element of A. Here a vector holds NARROW_ROWS rows x 4 columns of D. Included after
 * micro_tmpl.h, with what that needs and
 *   NARROW_ROWS         rows of a vector, in groups of four lanes
 *   N_ROW(v, r, p)      four elements at p for row r of v; N_ONE(v, r, p) only the first of them, zeros else
 *   N_SPLAT(v, s)       each row's element s, for all of its lanes
 *   N_REPEAT(p)         four elements at p, for each row
 *   N_PART(v, r)        row r of v
 *   Q                   such a row; Q_SET1(x) Q_LOAD(p) Q_LOAD_MASK(m, p) Q_STORE(p, v) Q_STORE_MASK(p, m, v) Q_FMA(a,
 * b, c)
 *
 *   four steps of K:   A: rows i .. i + 3, p .. p + 3      one vector, by a load for each row
 *                      step s: [a0s x 4][a1s x 4][a2s x 4][a3s x 4] * [b s0 .. s3] four times
 *
 * An element's sum is one chain in the order of p, as in all tiles. */
#define NARROW_GROUPS (TSR_NARROW_COLUMNS / 4)
#define NARROW_SUMS   6 /* vectors of rows at once, */
#define NARROW_FEWER  4 /* where there are two groups of columns */

/* Four steps, or one, of `quads` vectors of rows, which begin at `at`, times `groups` groups of four columns. */
static inline __attribute__((always_inline)) void NAME(narrow_steps)(V (*acc)[NARROW_GROUPS], const char *const *at,
                                                                     int64_t row, const T *b, const int quads,
                                                                     const int groups, const int steps)
{
    V a[NARROW_SUMS];
#pragma GCC unroll 6
    for (int q = 0; q < quads; q++) {
        a[q] = V_ZERO();
#pragma GCC unroll 4
        for (int r = 0; r < NARROW_ROWS; r++) {
            const T *from = (const T *)(const void *)(at[q] + (r == 3 ? 2 * row + row : r * row));
            if (steps == 4)
                N_ROW(a[q], r, from);
            else
                N_ONE(a[q], r, from);
        }
    }
#pragma GCC unroll 4
    for (int s = 0; s < steps; s++) {
        V bv[NARROW_GROUPS];
#pragma GCC unroll 2
        for (int g = 0; g < groups; g++)
            bv[g] = N_REPEAT(b + (s * groups + g) * 4);
#pragma GCC unroll 6
        for (int q = 0; q < quads; q++) {
            const V av = N_SPLAT(a[q], s);
#pragma GCC unroll 2
            for (int g = 0; g < groups; g++)
                acc[q][g] = V_FMA(av, bv[g], acc[q][g]);
        }
    }
}

/* Adds beta * C to the sums of rows i + first .. i + last, 4 * groups of them in a row. */
static __attribute__((noinline)) void NAME(narrow_add)(const tsr_micro *t, T *sums, int64_t i, int first, int last,
                                                       int groups)
{
    const Q beta = Q_SET1((T)t->beta);
    const char *const c = (const char *)t->c + i * t->c_row_bytes;
    for (int g = 0; g < groups; g++) {
        const int left = t->n - 4 * g;
        const M some = (M)(left >= 4 ? 15 : (1 << left) - 1);
        for (int r = first; r < last; r++) {
            T *const sum = sums + ((r / NARROW_ROWS * groups + g) * NARROW_ROWS + r % NARROW_ROWS) * 4;
            const Q old = Q_LOAD_MASK(some, (const T *)(const void *)(c + r * t->c_row_bytes) + 4 * g);
            Q_STORE(sum, Q_FMA(beta, old, Q_LOAD(sum)));
        }
    }
}

/* Rows i + skip and on of D. */
static inline __attribute__((always_inline)) void
NAME(narrow_write)(const tsr_micro *t, V (*acc)[NARROW_GROUPS], int64_t i, int skip, const int quads, const int groups)
{
    T sums[NARROW_SUMS * NARROW_GROUPS * LANES];
    const V alpha = V_SET1((T)t->alpha);
    const int left = t->n - 4 * (groups - 1), last = left >= 4 ? 15 : (1 << left) - 1;
#pragma GCC unroll 6
    for (int q = 0; q < quads; q++)
#pragma GCC unroll 2
        for (int g = 0; g < groups; g++)
            acc[q][g] = V_MUL(alpha, acc[q][g]);
    if (t->beta != 0) {
#pragma GCC unroll 6
        for (int q = 0; q < quads; q++)
#pragma GCC unroll 2
            for (int g = 0; g < groups; g++)
                V_STORE(sums + (q * groups + g) * LANES, acc[q][g]);
        NAME(narrow_add)(t, sums, i, skip, quads * NARROW_ROWS, groups);
#pragma GCC unroll 6
        for (int q = 0; q < quads; q++)
#pragma GCC unroll 2
            for (int g = 0; g < groups; g++)
                acc[q][g] = V_LOAD(sums + (q * groups + g) * LANES);
    }
    char *d = (char *)t->d + i * t->d_row_bytes;
#pragma GCC unroll 6
    for (int q = 0; q < quads; q++)
#pragma GCC unroll 4
        for (int r = 0; r < NARROW_ROWS; r++, d += t->d_row_bytes)
            if (q > 0 || r >= skip)
#pragma GCC unroll 2
                for (int g = 0; g < groups; g++) {
                    Q part = N_PART(acc[q][g], r);
                    /* of its own: one instruction that extracts and stores would fault where masked lanes do */
                    __asm__("" : "+v"(part));
                    Q_STORE_MASK((T *)(void *)d + 4 * g, (M)(g == groups - 1 ? last : 15), part);
                }
}

/* `quads` vectors of rows from row i on, of which the first `skip` rows are not written. */
static inline __attribute__((always_inline)) void NAME(narrow_block)(const tsr_micro *t, int64_t i, int skip,
                                                                     const int quads, const int groups)
{
    const int64_t row = t->a_row_bytes;
    const char *at[NARROW_SUMS];
    const T *b = t->b;
    V acc[NARROW_SUMS][NARROW_GROUPS];
#pragma GCC unroll 6
    for (int q = 0; q < quads; q++) {
        at[q] = (const char *)t->a + (i + q * NARROW_ROWS) * row;
#pragma GCC unroll 2
        for (int g = 0; g < groups; g++)
            acc[q][g] = V_ZERO();
    }
    int64_t left = t->k;
    for (; left >= 4; left -= 4, b += 16 * groups) {
        NAME(narrow_steps)(acc, at, row, b, quads, groups, 4);
#pragma GCC unroll 6
        for (int q = 0; q < quads; q++) {
            at[q] += 4 * sizeof(T);
            __asm__("" : "+r"(at[q]));
        }
    }
#pragma GCC unroll 1
    for (; left > 0; left--, b += 4 * groups) {
        NAME(narrow_steps)(acc, at, row, b, quads, groups, 1);
#pragma GCC unroll 6
        for (int q = 0; q < quads; q++) {
            at[q] += sizeof(T);
            __asm__("" : "+r"(at[q]));
        }
    }
    NAME(narrow_write)(t, acc, i, skip, quads, groups);
}

/* Blocks of nearly equal height; the last one begins early where rows do not fill its vectors. */
static inline __attribute__((always_inline)) void NAME(narrow_rows)(const tsr_micro *t, int64_t rows, const int groups)
{
    enum { MOST = NARROW_SUMS };
    const int64_t quads = (rows + NARROW_ROWS - 1) / NARROW_ROWS, most = groups == 1 ? MOST : NARROW_FEWER;
    const int64_t parts = (quads + most - 1) / most;
    int64_t done = 0;
    for (int64_t part = 1; part <= parts; part++) {
        const int64_t until = part * quads / parts;
        const int skip = part == parts ? (int)(quads * NARROW_ROWS - rows) : 0;
        const int64_t i = done * NARROW_ROWS - skip;
        switch (until - done) {
        case 1:
            NAME(narrow_block)(t, i, skip, 1, groups);
            break;
        case 2:
            NAME(narrow_block)(t, i, skip, 2, groups);
            break;
        case 3:
            NAME(narrow_block)(t, i, skip, 3, groups);
            break;
        case 4:
            NAME(narrow_block)(t, i, skip, 4, groups);
            break;
        case 5:
            NAME(narrow_block)(t, i, skip, groups == 1 ? 5 : NARROW_FEWER, groups);
            break;
        default:
            NAME(narrow_block)(t, i, skip, groups == 1 ? MOST : NARROW_FEWER, groups);
        }
        done = until;
    }
}

static void NAME(narrow)(const tsr_micro *t, int64_t rows)
{
    if (t->n <= 4)
        NAME(narrow_rows)(t, rows, 1);
    else
        NAME(narrow_rows)(t, rows, 2);
}

#undef NARROW_GROUPS
#undef NARROW_SUMS
#undef NARROW_FEWER
#undef NARROW_ROWS
#undef N_ROW
#undef N_ONE
#undef N_SPLAT
#undef N_REPEAT
#undef Q
#undef Q_SET1
#undef Q_LOAD
#undef Q_LOAD_MASK
#undef Q_STORE
#undef Q_STORE_MASK
#undef N_PART
#undef Q_FMA
