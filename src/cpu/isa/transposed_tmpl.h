/* Register tiles that write D transposed: the sum of row i and column j goes to D[j][i]. Where both operands are stored
 * transposed, D^T = (B as stored) * (A as stored) needs neither transposed in memory, only the sums, in registers.
 * Included after micro_tmpl.h, with what that needs and H               a vector of 8 elements, what is written at
 * once: 8 rows of the tile H_SET1(x) H_LOAD_MASK(m, p) H_STORE(p, v) H_STORE_MASK(p, m, v) H_FMA(a, b, c) TURN(r)
 * begins to transpose 8 vectors, in place TRANSPOSED(out, r, part)   ends it for lanes 8 * part .. 8 * part + 7: out[l]
 * holds lane 8 * part + l of all 8 PLACES, PLACES_OF(o, c)    (o * LANES + e) / c for each lane e, as the next two want
 * it V_PERMUTE(p, v) V_PERMUTE_INTO(to, m, p, v)    lanes p of v; those that m names, the others are those of `to`
 */

#define TIGHT_ROWS 5 /* of sums, at most, that permuting is faster for */

/* Each `step`-th lane from `first` on. */
static inline __attribute__((always_inline)) M NAME(each_of)(const int step, const int first)
{
    unsigned lanes = 0;
#pragma GCC unroll 16
    for (int e = 0; e < LANES; e++)
        lanes |= (unsigned)(e % step == first) << e;
    return (M)lanes;
}

/* Vector v of rows g .. g + rows - 1, which lie in `columns` of its lanes. */
static inline __attribute__((always_inline)) void NAME(write_transposed)(const V *acc, char *d, int64_t d_row_bytes,
                                                                         const int nv, const int v, const int g,
                                                                         const int rows, const int columns)
{
    V r[8];
    d += v * LANES * d_row_bytes + g * (int)sizeof(T);
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++)
        r[i] = i < rows ? acc[(g + i) * nv + v] : V_ZERO();
    TURN(r);
#pragma GCC unroll 2
    for (int part = 0; part < LANES / 8; part++) {
        if (columns <= 8 * part)
            return;
        H out[8];
        TRANSPOSED(out, r, part);
#pragma GCC unroll 8
        for (int l = 0; l < 8; l++, d += d_row_bytes) {
            if (columns <= 8 * part + l)
                return;
            if (rows == 8)
                H_STORE((T *)d, out[l]);
            else
                H_STORE_MASK((T *)d, M_FIRST(rows), out[l]);
        }
    }
}

/* The same where all of D's rows are these few elements and follow each other: whole vectors of D, each of a
 * permutation of every row of sums. Stores of single rows would cross a line nearly each time. */
static inline __attribute__((always_inline)) void NAME(write_tight)(const V *acc, T *d, const int nv, const int v,
                                                                    const int rows, const int columns)
{
#pragma GCC unroll 8
    for (int o = 0; o < rows; o++) {
        const int left = columns * rows - o * LANES, skew = rows - o * LANES % rows;
        if (left <= 0)
            return;
        const PLACES places = PLACES_OF(o, rows);
        V out = V_PERMUTE(places, acc[v]);
#pragma GCC unroll 8
        for (int i = 1; i < rows; i++)
            out = V_PERMUTE_INTO(out, NAME(each_of)(rows, (i + skew) % rows), places, acc[i * nv + v]);
        if (left >= LANES)
            V_STORE(d + o * LANES, out);
        else
            V_STORE_MASK(d + o * LANES, M_FIRST(left), out);
    }
}

#define KEPT 16 /* elements of a row of sums that wait for C */

static __attribute__((noinline)) void NAME(add_c)(const tsr_micro *t, const T *sums, int rows)
{
    const H beta = H_SET1((T)t->beta);
    for (int j = 0; j < t->n; j++, sums += KEPT)
        for (int i = 0; i < rows; i += 8) {
            const M some = M_FIRST(rows - i < 8 ? rows - i : 8);
            const H c = H_LOAD_MASK(some, (const T *)((const char *)t->c + j * t->c_row_bytes) + i);
            H_STORE_MASK((T *)((char *)t->d + j * t->d_row_bytes) + i, some,
                         H_FMA(beta, c, H_LOAD_MASK(some, sums + i)));
        }
}

static inline __attribute__((always_inline)) void NAME(transposed_tile)(const tsr_micro *t, const int mr, const int nv,
                                                                        const int masked)
{
    const int last = t->n - (nv - 1) * LANES, has_c = t->beta != 0;
    V acc[16 * TSR_TILE_VECTORS];
    T kept[TSR_TILE_VECTORS * LANES * KEPT];
    NAME(sums)(acc, t, M_FIRST(last), mr, nv, masked, 0, 0);
    if (t->alpha != 1) {
        const V alpha = V_SET1((T)t->alpha);
#pragma GCC unroll 24
        for (int i = 0; i < mr * nv; i++)
            acc[i] = V_MUL(alpha, acc[i]);
    }
    if (mr > 1 && mr <= TIGHT_ROWS && !has_c && t->d_row_bytes == mr * (int)sizeof(T)) {
#pragma GCC unroll 3
        for (int v = 0; v < nv; v++)
            NAME(write_tight)
        (acc, (T *)t->d + v * LANES * mr, nv, v, mr, masked && v == nv - 1 ? last : LANES);
        return;
    }
    char *const d = has_c ? (char *)kept : t->d;
    const int64_t d_row_bytes = has_c ? KEPT * (int64_t)sizeof(T) : t->d_row_bytes;
#pragma GCC unroll 3
    for (int v = 0; v < nv; v++)
#pragma GCC unroll 2
        for (int g = 0; g < mr; g += 8)
            NAME(write_transposed)
    (acc, d, d_row_bytes, nv, v, g, mr - g < 8 ? mr - g : 8, masked && v == nv - 1 ? last : LANES);
    if (has_c)
        NAME(add_c)(t, kept, mr);
}

#define ONE(mr, nv, masked)                                                 \
    static void NAME(transposed_##mr##_##nv##_##masked)(const tsr_micro *t) \
    {                                                                       \
        NAME(transposed_tile)(t, mr, nv, masked);                           \
    }
#define LIST(mr, nv, m)  NAME(transposed_##mr##_##nv##_##m),
#define ROWS_8(F, nv, m) F(1, nv, m) F(2, nv, m) F(3, nv, m) F(4, nv, m) F(5, nv, m) F(6, nv, m) F(7, nv, m) F(8, nv, m)
#define ROWS_16(F, nv, m) \
    ROWS_8(F, nv, m)      \
    F(9, nv, m) F(10, nv, m) F(11, nv, m) F(12, nv, m) F(13, nv, m) F(14, nv, m) F(15, nv, m) F(16, nv, m)

/* clang-format off */
ROWS_16(ONE, 1, 0) ROWS_16(ONE, 1, 1) ROWS_8(ONE, 2, 0) ROWS_8(ONE, 2, 1) ROWS_8(ONE, 3, 0) ROWS_8(ONE, 3, 1)

static tsr_micro_run *const NAME(transposed_tiles)[TSR_TILE_VECTORS][2][TSR_TILE_ROWS] = {
    {{ROWS_16(LIST, 1, 0)}, {ROWS_16(LIST, 1, 1)}},
    {{ROWS_8(LIST, 2, 0)}, {ROWS_8(LIST, 2, 1)}},
    {{ROWS_8(LIST, 3, 0)}, {ROWS_8(LIST, 3, 1)}},
};
/* clang-format on */

static const tsr_tiles NAME(transposed_set) = {
    .mr = 8, .nr = 2 * LANES, .lanes = LANES, .kc = 256, .rows = {16, 8, 8}, .width = NAME(transposed_tiles)};

#undef ONE
#undef LIST
#undef ROWS_8
#undef ROWS_16
#undef KEPT
#undef H
#undef H_SET1
#undef H_LOAD_MASK
#undef H_STORE
#undef H_STORE_MASK
#undef H_FMA
#undef TURN
#undef TRANSPOSED
#undef TIGHT_ROWS
#undef PLACES
#undef PLACES_OF
#undef V_PERMUTE
#undef V_PERMUTE_INTO
