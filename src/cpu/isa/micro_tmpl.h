/* The register tiles for one element type and one instruction set; included once for each. The includer defines
 *   T               float or double
 *   NAME(x)         the names of this instance
 *   MR              rows of the largest tile two vectors wide, 6 or 12; 2 * MR accumulators and 3 more must fit the
 *                   registers; of tiles three vectors wide MR * 2 / 3, of those one vector wide MR * 4 / 3
 *   V, LANES        vector type and its elements
 *   M, M_FIRST(n)   mask type, and the mask of the first n lanes
 *   V_ZERO() V_SET1(x) V_LOAD(p) V_LOAD_MASK(m, p) V_STORE(p, v) V_STORE_MASK(p, m, v) V_STREAM(p, v)
 *   V_ADD(a, b) V_MUL(a, b) V_FMA(a, b, c), the last a * b + c; V_MULADD where a step is something else (pairs of bf16)
 *   V_ACCUMULATE(sum, a, b)   sum += a * b as V_FMA does it; defined where the compiler would not keep sums in place
 *   V_ACCUMULATE_ONE(sum, p, b)   sum += *p * b, and
 *   V_ACCUMULATE_AT(sum, p, index, scale, b)   the same of what lies `index` bytes times scale behind p, scale "1", "2"
 *                   or "4": defined where either takes one instruction
 *   V_KEEP(v)       v stays in a register; defined where the compiler would load it again for each row that needs it
 *   FETCH_TO_WRITE(p)   fetches a cache line that will be written
 *   LAST_BY_ROWS, LEAST_BY_ROWS   the last steps, which tiles of at least so many vectors of sums do row by row;
 *                   undefined: none do
 *   UNROLL          steps of the loop's body, if not 4: a short loop, whose end the processor foresees more often
 *   PANELS          defined: only tiles for packed panels of B, up to two vectors wide, whose vectors are whole
 *   HALF            defined: only tiles one vector wide, masked; V is half as wide as in the set they belong to
 *
 *               B: row p, two vectors
 *               [  b0   ][  b1   ]
 *    A:   a0 *  [acc 0,0][acc 0,1]      each step p: 2 loads of B, MR broadcasts of A,
 *         a1 *  [acc 1,0][acc 1,1]      2 * MR multiply-adds, all in registers
 *         ...
 */

#ifndef V_MULADD
#define V_MULADD V_FMA
#endif
#ifndef V_KEEP
#define V_KEEP(v) ((void)0)
#endif
#ifndef V_ACCUMULATE
#define V_ACCUMULATE(sum, a, b) ((sum) = V_FMA(a, b, sum))
#endif
#ifndef V_ACCUMULATE_ONE
#define V_ACCUMULATE_ONE(sum, p, b)              V_ACCUMULATE(sum, V_SET1(*(const T *)(p)), b)
#define V_ACCUMULATE_AT(sum, p, index, scale, b) V_ACCUMULATE_ONE(sum, (p) + (index) * ((scale)[0] - '0'), b)
#endif
#ifndef LAST_BY_ROWS
#define LAST_BY_ROWS  1
#define LEAST_BY_ROWS 99 /* none */
#endif
#ifndef UNROLL
#define UNROLL 4
#endif

#ifdef PANELS
#define MASKS_B 0
#else
#define MASKS_B 1
#endif

/* D's lines are fetched when so many steps are left: early enough to arrive, late enough to still be there. */
#define LAST_STEPS  48
#define LEAST_STEPS 16 /* with fewer the fetches would cost more than they save */
#define MAX_GROUPS  4

/* A[i][p] for the current p: one base pointer for five rows, reached by the addressing modes (the stride times 1, 2 and
 * 4; a second stride register for 3), so that any stride costs no more than a packed panel. */
#define A_AT(i) (*(const T *)(at->a[(i) / 5] + ((i) % 5 == 3 ? at->row3 : at->row * ((i) % 5))))

/* Where a tile reads. */
typedef struct NAME(place) {
    const char *a[MAX_GROUPS], *b;
    int64_t row, row3, a_step, b_step;
} NAME(place);

static inline __attribute__((always_inline)) V NAME(read_vector)(const T *p, const M mask, const int masked)
{
    return masked ? V_LOAD_MASK(mask, p) : V_LOAD(p);
}

static inline __attribute__((always_inline)) void NAME(write_vector)(T *p, const M mask, const int masked, const V v)
{
    if (masked)
        V_STORE_MASK(p, mask, v);
    else
        V_STORE(p, v);
}

/* A step's vectors of B; the last one may be masked. */
static inline __attribute__((always_inline)) void NAME(load_b)(V *bv, const char *b, const M mask, const int nv,
                                                               const int masked, const int keep)
{
#pragma GCC unroll 3
    for (int v = 0; v < nv; v++) {
        bv[v] = NAME(read_vector)((const T *)b + v * LANES, mask, MASKS_B && masked && v == nv - 1);
        if (keep)
            V_KEEP(bv[v]);
    }
}

/* A row of a step: an element of A times the vectors of B. */
static inline __attribute__((always_inline)) void NAME(add_row)(V *acc, const V av, const V *bv, const int nv)
{
#pragma GCC unroll 3
    for (int v = 0; v < nv; v++)
        V_ACCUMULATE(acc[v], av, bv[v]);
}

/* All rows of a step that is one vector wide. */
static inline __attribute__((always_inline)) void NAME(add_column)(V *acc, const NAME(place) * at, const V bv,
                                                                   const int mr)
{
#pragma GCC unroll 4
    for (int i = 0; i < mr; i += 5) {
        const char *const a = at->a[i / 5];
        V_ACCUMULATE_ONE(acc[i], a, bv);
        if (i + 1 < mr)
            V_ACCUMULATE_AT(acc[i + 1], a, at->row, "1", bv);
        if (i + 2 < mr)
            V_ACCUMULATE_AT(acc[i + 2], a, at->row, "2", bv);
        if (i + 3 < mr)
            V_ACCUMULATE_AT(acc[i + 3], a, at->row3, "1", bv);
        if (i + 4 < mr)
            V_ACCUMULATE_AT(acc[i + 4], a, at->row, "4", bv);
    }
}

/* One step of K. The compiler is kept from unrolling the pointers too: it would run out of registers. */
static inline __attribute__((always_inline)) void NAME(step)(V *acc, NAME(place) * at, const M mask, const int mr,
                                                             const int nv, const int masked)
{
    V bv[TSR_TILE_VECTORS];
    NAME(load_b)(bv, at->b, mask, nv, masked, mr > 1);
    if (nv == 1) {
        NAME(add_column)(acc, at, bv[0], mr);
    } else {
#pragma GCC unroll 16
        for (int i = 0; i < mr; i++)
            NAME(add_row)(acc + i * nv, V_SET1(A_AT(i)), bv, nv);
    }
#pragma GCC unroll 4
    for (int g = 0; g < (mr + 4) / 5; g++) {
        at->a[g] += at->a_step;
        __asm__("" : "+r"(at->a[g]));
    }
    at->b += at->b_step;
    __asm__("" : "+r"(at->b));
}

enum { NAME(store_sums), NAME(stream_sums), NAME(add_sums), NAME(scale_sums) };

/* D = alpha * sums + beta * C; nothing to compute where alpha is 1 and beta 0, the usual case, or `stream_sums`; one
 * addition where both are 1, as in all parts of K but the first. */
static inline __attribute__((always_inline)) void
NAME(write)(const V *acc, const tsr_micro *t, const M mask, const int mr, const int nv, const int masked, const int how)
{
    const V alpha = V_SET1((T)t->alpha), beta = V_SET1((T)t->beta);
    const int has_c = how == NAME(add_sums) || (how == NAME(scale_sums) && t->beta != 0);
    const char *c_row = t->c;
    char *d_row = t->d;
#pragma GCC unroll 16
    for (int i = 0; i < mr; i++) {
        const T *c = (const T *)c_row;
        T *d = (T *)d_row;
#pragma GCC unroll 3
        for (int v = 0; v < nv; v++) {
            const int last = masked && v == nv - 1;
            V sum = acc[i * nv + v];
            if (how == NAME(scale_sums))
                sum = V_MUL(alpha, sum);
            if (has_c) {
                const V old = NAME(read_vector)(c + v * LANES, mask, last);
                sum = how == NAME(add_sums) ? V_ADD(old, sum) : V_MULADD(beta, old, sum);
            }
            if (how == NAME(stream_sums) && !last)
                V_STREAM(d + v * LANES, sum);
            else
                NAME(write_vector)(d + v * LANES, mask, last, sum);
        }
        c_row += t->c_row_bytes;
        d_row += t->d_row_bytes;
        __asm__("" : "+r"(c_row), "+r"(d_row));
    }
}

/* A row of D. */
static inline __attribute__((always_inline)) void NAME(fetch)(const tsr_micro *t, const char *d, const int nv)
{
#pragma GCC unroll 3
    for (int v = 0; v < nv; v++)
        FETCH_TO_WRITE(d + v * LANES * (int)sizeof(T));
    FETCH_TO_WRITE(d + t->n * (int)sizeof(T) - 1); /* another line where the row is not aligned */
}

/* The sums of a tile, but for its last `but` steps, at most k; where those are. Nothing of D is fetched unless `fetch`.
 */
static inline __attribute__((always_inline)) NAME(place)
    NAME(sums)(V *acc, const tsr_micro *t, const M mask, const int mr, const int nv, const int masked, const int fetch,
               const int but)
{
    NAME(place)
    at = {.b = t->b, .row = t->a_row_bytes, .row3 = 3 * t->a_row_bytes, .a_step = t->a_k_bytes, .b_step = t->b_k_bytes};
#pragma GCC unroll 36
    for (int i = 0; i < mr * nv; i++)
        acc[i] = V_ZERO();
    at.a[0] = t->a;
#pragma GCC unroll 3
    for (int g = 1; g < (mr + 4) / 5; g++)
        at.a[g] = at.a[g - 1] + 5 * at.row;

    int64_t left = t->k - but, until = fetch && t->fetch && t->k > LEAST_STEPS && !t->past_cache ? LAST_STEPS : 0;
    for (;;) {
        for (; left >= until + UNROLL; left -= UNROLL)
#pragma GCC unroll 4
            for (int u = 0; u < UNROLL; u++)
                NAME(step)(acc, &at, mask, mr, nv, masked);
        /* The rest or, before that, a row of D with each step: all at once they would stop the loads. */
        const int fetches = until > 0;
        const tsr_micro *later = t;
        __asm__ volatile("" : "+r"(later)); /* D is looked for here: above there is no register left for it */
        const char *d = (const char *)later->d + later->ahead_bytes;
#pragma GCC unroll 1
        for (int64_t steps = fetches && mr < left ? mr : left; steps > 0; steps--, left--) {
            if (fetches) {
                NAME(fetch)(later, d, nv);
                d += later->d_row_bytes;
            }
            NAME(step)(acc, &at, mask, mr, nv, masked);
        }
        if (!fetches)
            break;
        until = 0;
    }
    return at;
}

/* The last steps of a tile, one row after the other, each of which is written at once: stores in a burst would fill the
 * processor's buffer of them, and multiply-adds wait. */
static inline __attribute__((always_inline)) void NAME(finish_rows)(V *acc, const tsr_micro *t, NAME(place) at,
                                                                    const M mask, const int mr, const int nv,
                                                                    const int masked, const int has_c)
{
    V bv[LAST_BY_ROWS][TSR_TILE_VECTORS];
#pragma GCC unroll 4
    for (int u = 0; u < LAST_BY_ROWS; u++, at.b += at.b_step)
        NAME(load_b)(bv[u], at.b, mask, nv, masked, 1);
    const char *a = at.a[0], *c_row = t->c;
    char *d_row = t->d;
#pragma GCC unroll 16
    for (int i = 0; i < mr; i++) {
        V *const sum = acc + i * nv;
#pragma GCC unroll 4
        for (int u = 0; u < LAST_BY_ROWS; u++)
            if (nv == 1 && u == 0)
                V_ACCUMULATE_ONE(sum[0], a, bv[u][0]);
            else if (nv == 1)
                V_ACCUMULATE_AT(sum[0], a, u * at.a_step, "1", bv[u][0]);
            else
                NAME(add_row)(sum, V_SET1(*(const T *)(a + u * at.a_step)), bv[u], nv);
#pragma GCC unroll 3
        for (int v = 0; v < nv; v++) {
            if (has_c)
                sum[v] = V_ADD(NAME(read_vector)((const T *)c_row + v * LANES, mask, masked && v == nv - 1), sum[v]);
            NAME(write_vector)((T *)d_row + v * LANES, mask, masked && v == nv - 1, sum[v]);
        }
        a += at.row;
        d_row += t->d_row_bytes;
        __asm__("" : "+r"(a), "+r"(d_row));
        if (has_c) {
            c_row += t->c_row_bytes;
            __asm__("" : "+r"(c_row));
        }
    }
}

static inline __attribute__((always_inline)) void NAME(tile)(const tsr_micro *t, const int mr, const int nv,
                                                             const int masked)
{
    const M mask = M_FIRST(t->n - (nv - 1) * LANES);
    V acc[16 * TSR_TILE_VECTORS];
    const int finishes = mr * nv >= LEAST_BY_ROWS, adds = mr == MR && nv == 2 && !masked; /* adds: of large products */
    const int by_rows =
        finishes && t->k >= LAST_BY_ROWS && t->alpha == 1 && !t->past_cache && (t->beta == 0 || (adds && t->beta == 1));
    const NAME(place) at = NAME(sums)(acc, t, mask, mr, nv, masked, 1, by_rows ? LAST_BY_ROWS : 0);
    if (by_rows && adds && t->beta != 0)
        NAME(finish_rows)(acc, t, at, mask, mr, nv, masked, 1);
    else if (by_rows)
        NAME(finish_rows)(acc, t, at, mask, mr, nv, masked, 0);
    else if (mr == MR && nv == 2 && !masked && t->past_cache) {
        if (t->alpha != 1)
#pragma GCC unroll 24
            for (int i = 0; i < mr * nv; i++)
                acc[i] = V_MUL(V_SET1((T)t->alpha), acc[i]);
        NAME(write)(acc, t, mask, mr, nv, masked, NAME(stream_sums));
    } else if (!finishes && t->alpha == 1 && t->beta == 0)
        NAME(write)(acc, t, mask, mr, nv, masked, NAME(store_sums));
    else if (!finishes && adds && t->alpha == 1 && t->beta == 1)
        NAME(write)(acc, t, mask, mr, nv, masked, NAME(add_sums));
    else
        NAME(write)(acc, t, mask, mr, nv, masked, NAME(scale_sums));
}

/* The functions of the table: constants for rows, vectors, and whether the last vector is partly used. */
#define ONE(mr, nv, masked)                                           \
    static void NAME(tile_##mr##_##nv##_##masked)(const tsr_micro *t) \
    {                                                                 \
        NAME(tile)(t, mr, nv, masked);                                \
    }
#define ROWS_4(F, nv, m)  F(1, nv, m) F(2, nv, m) F(3, nv, m) F(4, nv, m)
#define ROWS_6(F, nv, m)  ROWS_4(F, nv, m) F(5, nv, m) F(6, nv, m)
#define ROWS_8(F, nv, m)  ROWS_6(F, nv, m) F(7, nv, m) F(8, nv, m)
#define ROWS_12(F, nv, m) ROWS_8(F, nv, m) F(9, nv, m) F(10, nv, m) F(11, nv, m) F(12, nv, m)
#define ROWS_16(F, nv, m) ROWS_12(F, nv, m) F(13, nv, m) F(14, nv, m) F(15, nv, m) F(16, nv, m)
#define LIST(mr, nv, m)   NAME(tile_##mr##_##nv##_##m),
#if MR == 12
#define ROWS_OF_1 ROWS_16
#define ROWS_OF_2 ROWS_12
#define ROWS_OF_3 ROWS_8
#else
#define ROWS_OF_1 ROWS_8
#define ROWS_OF_2 ROWS_6
#define ROWS_OF_3 ROWS_4
#endif

/* clang-format off */
#ifdef HALF
ROWS_OF_1(ONE, 1, 1)

static tsr_micro_run *const NAME(tiles)[TSR_TILE_ROWS] = {ROWS_OF_1(LIST, 1, 1)};
#elif defined(PANELS)
ROWS_OF_2(ONE, 1, 0) ROWS_OF_2(ONE, 1, 1) ROWS_OF_2(ONE, 2, 0) ROWS_OF_2(ONE, 2, 1)

static tsr_micro_run *const NAME(tiles)[TSR_TILE_VECTORS][2][TSR_TILE_ROWS] = {
    {{ROWS_OF_2(LIST, 1, 0)}, {ROWS_OF_2(LIST, 1, 1)}},
    {{ROWS_OF_2(LIST, 2, 0)}, {ROWS_OF_2(LIST, 2, 1)}},
};
#else
ROWS_OF_1(ONE, 1, 0) ROWS_OF_1(ONE, 1, 1) ROWS_OF_2(ONE, 2, 0) ROWS_OF_2(ONE, 2, 1) ROWS_OF_3(ONE, 3, 0)
ROWS_OF_3(ONE, 3, 1)

static tsr_micro_run *const NAME(tiles)[TSR_TILE_VECTORS][2][TSR_TILE_ROWS] = {
    {{ROWS_OF_1(LIST, 1, 0)}, {ROWS_OF_1(LIST, 1, 1)}},
    {{ROWS_OF_2(LIST, 2, 0)}, {ROWS_OF_2(LIST, 2, 1)}},
    {{ROWS_OF_3(LIST, 3, 0)}, {ROWS_OF_3(LIST, 3, 1)}},
};
#endif
/* clang-format on */

#undef ONE
#undef LIST
#undef ROWS_4
#undef ROWS_6
#undef ROWS_8
#undef ROWS_12
#undef ROWS_16
#undef ROWS_OF_1
#undef ROWS_OF_2
#undef ROWS_OF_3
#undef A_AT
#undef V_MULADD
#undef V_ACCUMULATE_ONE
#undef V_ACCUMULATE_AT
#undef LAST_STEPS
#undef LEAST_STEPS
#undef UNROLL
#undef MAX_GROUPS
#undef HALF
#undef PANELS
#undef MASKS_B
