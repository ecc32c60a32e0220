/* Products of 8-bit integers (tsr_integers) for one instruction set; included once for each, behind micro_tmpl.h for
 * T int32_t, of which V_FMA takes a pair of elements in all lanes times pairs. The includer defines besides
 *   W_ALONG(p, s)       2 * LANES bytes that are neighbours along K, as pairs; s: 1 for s8, 0 for u8
 *   W_ACROSS(p, q, s)   LANES bytes of one step of K at p and of the next at q, as pairs, as V_FMA takes them
 *   W_PAIRS(p, q, s)    the same with pairs one after the other, as A has them; undefined: W_ACROSS
 *   W_TRANSPOSE(r)      LANES vectors of W_ALONG as a square of 32-bit lanes, then as V_FMA takes them
 *   W_DOT(a, b, c)      c + a * b for vectors of W_ALONG
 *   V_SUM(v)            the sum of the lanes
 *   INTEGERS_CODE       the name of the table, if others are to see it; undefined: integers_code
 *   INTEGERS_QUADS      tsr_quads; undefined: none
 *
 *   stored   p: a b c d ...   packed   a0 a1 | b0 b1 | c0 c1 | d0 d1 ...   16 bits each
 *            q: a b c d ...
 */

#ifndef W_PAIRS
#define W_PAIRS(p, q, s) W_ACROSS(p, q, s)
#endif

/* Reads `n` bytes, the rest as zeros. */
static inline const void *NAME(some_bytes)(uint8_t *all, const uint8_t *from, long long n)
{
    memset(all, 0, 2 * LANES);
    memcpy(all, from, (size_t)(n > 2 * LANES ? 2 * LANES : n));
    return all;
}

/* ---- packing ---- */

static inline __attribute__((always_inline)) void NAME(pack_pair)(int16_t *to, const int width, const long long n,
                                                                  const uint8_t *even, const uint8_t *odd,
                                                                  const int is_signed)
{
    for (int j = 0; j < width; j += LANES) {
        uint8_t some[2][2 * LANES];
        const void *e = even + j, *o = odd + j;
        if (n - j < LANES) {
            e = NAME(some_bytes)(some[0], even + j, n > j ? n - j : 0);
            o = NAME(some_bytes)(some[1], odd + j, n > j ? n - j : 0);
        }
        V_STORE((T *)(void *)to + j, width == 2 * LANES ? W_ACROSS(e, o, is_signed) : W_PAIRS(e, o, is_signed));
    }
}

static inline __attribute__((always_inline)) void NAME(pack_rows_of)(int16_t *to, const int width, const long long n,
                                                                     const int64_t k, const uint8_t *from,
                                                                     const int64_t step_bytes, const int is_signed)
{
    static const uint8_t zeros[16 * LANES];
    int64_t p = 0;
    for (; p + 2 <= k; p += 2, from += 2 * step_bytes, to += 2 * width)
        NAME(pack_pair)(to, width, n, from, from + step_bytes, is_signed);
    if (p < k)
        NAME(pack_pair)(to, width, n < width ? n : width, from, zeros, is_signed);
}

/* Whole panels of B have code of their own. */
static void NAME(pack_rows)(int16_t *to, int width, long long n, int64_t k, const void *from, int64_t step_bytes,
                            int is_signed)
{
    if (width == 2 * LANES && n >= width && is_signed)
        NAME(pack_rows_of)(to, 2 * LANES, 2 * LANES, k, from, step_bytes, 1);
    else if (width == 2 * LANES && n >= width)
        NAME(pack_rows_of)(to, 2 * LANES, 2 * LANES, k, from, step_bytes, 0);
    else if (is_signed)
        NAME(pack_rows_of)(to, width, n, k, from, step_bytes, 1);
    else
        NAME(pack_rows_of)(to, width, n, k, from, step_bytes, 0);
}

/* A square: LANES pairs of steps, of which `steps` exist, of LANES rows, of which `rows` exist. */
static inline __attribute__((always_inline)) void NAME(pack_square)(int16_t *to, const int width, const long long rows,
                                                                    const long long steps, const uint8_t *from,
                                                                    const int64_t step_bytes, const int is_signed)
{
    V r[LANES];
#pragma GCC unroll 16
    for (int i = 0; i < LANES; i++) {
        uint8_t some[2 * LANES];
        const void *at = from + i * step_bytes;
        if (i >= rows || steps < 2 * LANES)
            at = NAME(some_bytes)(some, i < rows ? at : some, i < rows ? steps : 0);
        r[i] = W_ALONG(at, is_signed);
    }
    W_TRANSPOSE(r);
#pragma GCC unroll 16
    for (int q = 0; q < LANES; q++)
        if (2 * q < steps)
            V_STORE((T *)(void *)to + q * width, r[q]);
}

static inline __attribute__((always_inline)) void NAME(pack_strip)(int16_t *to, const int width, const long long rows,
                                                                   int64_t k, const uint8_t *from,
                                                                   const int64_t step_bytes, const int is_signed)
{
    for (; k >= 2 * LANES; k -= 2 * LANES, from += 2 * LANES, to += 2 * LANES * width)
        NAME(pack_square)(to, width, rows, 2 * LANES, from, step_bytes, is_signed);
    if (k > 0)
        NAME(pack_square)(to, width, rows, k, from, step_bytes, is_signed);
}

/* The same from rows along which K runs. */
static void NAME(pack_columns)(int16_t *to, int width, long long n, int64_t k, const void *from, int64_t step_bytes,
                               int is_signed)
{
    for (int j = 0; j < width; j += LANES) {
        const uint8_t *const at = (const uint8_t *)from + (n > j ? j * step_bytes : 0);
        if (n - j >= LANES && is_signed)
            NAME(pack_strip)(to + 2 * j, width, LANES, k, at, step_bytes, 1);
        else if (n - j >= LANES)
            NAME(pack_strip)(to + 2 * j, width, LANES, k, at, step_bytes, 0);
        else
            NAME(pack_strip)(to + 2 * j, width, n - j, k, at, step_bytes, is_signed);
    }
}

static inline __attribute__((always_inline)) void NAME(widen_row)(int16_t *to, const uint8_t *from, int64_t k,
                                                                  const int is_signed)
{
    uint8_t some[2 * LANES];
    for (; k >= 2 * LANES; k -= 2 * LANES, from += 2 * LANES, to += 2 * LANES)
        V_STORE((T *)(void *)to, W_ALONG(from, is_signed));
    if (k > 0)
        V_STORE((T *)(void *)to, W_ALONG(NAME(some_bytes)(some, from, k), is_signed));
}

static void NAME(widen_rows)(int16_t *to, int64_t to_row, int64_t rows, int64_t k, const void *from, int64_t step_bytes,
                             int is_signed)
{
    for (int64_t i = 0; i < rows; i++)
        if (is_signed)
            NAME(widen_row)(to + i * to_row, (const uint8_t *)from + i * step_bytes, k, 1);
        else
            NAME(widen_row)(to + i * to_row, (const uint8_t *)from + i * step_bytes, k, 0);
}

/* ---- few rows ---- */

/* A vector of columns of `pairs` pairs of steps, added to the sums of all rows. The matrix has no row behind `last`,
 * where x has 0. */
static inline __attribute__((always_inline)) void NAME(update_vector)(const tsr_integer_rows *u, const int rows,
                                                                      const int pairs, const int64_t p, const int64_t j,
                                                                      const int is_signed)
{
    const uint8_t *const matrix = (const uint8_t *)u->matrix + p * u->step_bytes + j;
    V b[4];
#pragma GCC unroll 4
    for (int q = 0; q < pairs; q++) {
        const uint8_t *const even = matrix + 2 * q * u->step_bytes;
        const uint8_t *const odd = p + 2 * q + 1 < u->k ? even + u->step_bytes : even;
        uint8_t some[2][2 * LANES];
        b[q] = u->count - j >= LANES ? W_ACROSS(even, odd, is_signed)
                                     : W_ACROSS(NAME(some_bytes)(some[0], even, u->count - j),
                                                NAME(some_bytes)(some[1], odd, u->count - j), is_signed);
    }
#pragma GCC unroll 4
    for (int i = 0; i < rows; i++) {
        T *const at = u->sum + i * u->sum_row + j;
        V sum = V_LOAD(at);
#pragma GCC unroll 4
        for (int q = 0; q < pairs; q++) {
            T pair;
            memcpy(&pair, u->x + i * u->x_row + p + 2 * q, sizeof pair);
            sum = V_FMA(V_SET1(pair), b[q], sum);
        }
        V_STORE(at, sum);
    }
}

static inline __attribute__((always_inline)) void NAME(update_rows)(const tsr_integer_rows *u, const int rows,
                                                                    const int is_signed)
{
    int64_t p = 0;
    for (; p + 8 <= u->k; p += 8)
        for (int64_t j = 0; j < u->count; j += LANES)
            NAME(update_vector)(u, rows, 4, p, j, is_signed);
    for (; p < u->k; p += 2)
        for (int64_t j = 0; j < u->count; j += LANES)
            NAME(update_vector)(u, rows, 1, p, j, is_signed);
}

/* One vector of sums for each of `rows` rows of x and `columns` rows of the matrix. */
static inline __attribute__((always_inline)) void NAME(dot_tile)(const tsr_integer_rows *u, const int64_t j,
                                                                 const int first, const int rows, const int columns,
                                                                 const int is_signed)
{
    const uint8_t *const matrix = (const uint8_t *)u->matrix + j * u->step_bytes;
    const int16_t *const x = u->x + first * u->x_row;
    V sums[2][4];
#pragma GCC unroll 2
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
        for (int c = 0; c < columns; c++)
            sums[i][c] = V_ZERO();
    for (int64_t p = 0; p < u->k; p += 2 * LANES) {
        uint8_t some[2 * LANES];
        V v[2];
#pragma GCC unroll 2
        for (int i = 0; i < rows; i++)
            v[i] = V_LOAD((const T *)(const void *)(x + i * u->x_row + p));
#pragma GCC unroll 4
        for (int c = 0; c < columns; c++) {
            const void *at = matrix + c * u->step_bytes + p;
            if (u->k - p < 2 * LANES)
                at = NAME(some_bytes)(some, at, u->k - p);
            const V b = W_ALONG(at, is_signed);
#pragma GCC unroll 2
            for (int i = 0; i < rows; i++)
                sums[i][c] = W_DOT(v[i], b, sums[i][c]);
        }
    }
#pragma GCC unroll 2
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
        for (int c = 0; c < columns; c++)
            u->sum[(first + i) * u->sum_row + j + c] = V_SUM(sums[i][c]);
}

static inline __attribute__((always_inline)) void NAME(dot_rows)(const tsr_integer_rows *u, const int is_signed)
{
    int64_t j = 0;
    for (; j + 4 <= u->count; j += 4) {
        int i = 0;
        for (; i + 2 <= u->rows; i += 2)
            NAME(dot_tile)(u, j, i, 2, 4, is_signed);
        if (i < u->rows)
            NAME(dot_tile)(u, j, i, 1, 4, is_signed);
    }
    for (; j < u->count; j++)
        for (int i = 0; i < u->rows; i++)
            NAME(dot_tile)(u, j, i, 1, 1, is_signed);
}

static void NAME(updates)(const tsr_integer_rows *u)
{
    switch (u->rows * 2 + u->is_signed) {
    case 2:
        NAME(update_rows)(u, 1, 0);
        break;
    case 3:
        NAME(update_rows)(u, 1, 1);
        break;
    case 4:
        NAME(update_rows)(u, 2, 0);
        break;
    case 5:
        NAME(update_rows)(u, 2, 1);
        break;
    case 6:
        NAME(update_rows)(u, 3, 0);
        break;
    case 7:
        NAME(update_rows)(u, 3, 1);
        break;
    case 8:
        NAME(update_rows)(u, 4, 0);
        break;
    default:
        NAME(update_rows)(u, 4, 1);
        break;
    }
}

static void NAME(dots)(const tsr_integer_rows *u)
{
    if (u->is_signed)
        NAME(dot_rows)(u, 1);
    else
        NAME(dot_rows)(u, 0);
}

/* ---- results in floats ---- */

typedef T NAME(whole) __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef float NAME(floats) __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

static void NAME(scale)(float *to, const int32_t *sum, int64_t n, float factor, const float *columns)
{
    int64_t j = 0;
    for (; j + LANES <= n; j += LANES) {
        const NAME(floats) values = __builtin_convertvector(*(const NAME(whole) *)(sum + j), NAME(floats));
        *(NAME(floats) *)(to + j) = columns ? factor * *(const NAME(floats) *)(columns + j) * values : factor * values;
    }
    for (; j < n; j++)
        to[j] = columns ? factor * columns[j] * (float)sum[j] : factor * (float)sum[j];
}

#ifndef INTEGERS_QUADS
#define INTEGERS_QUADS NULL
#endif
#ifndef INTEGERS_CODE
#define INTEGERS_CODE integers_code
static
#endif
    const tsr_integers INTEGERS_CODE = {
        .quads = INTEGERS_QUADS,
        .tiles = {.mr = MR, .nr = 2 * LANES, .lanes = LANES, .rows = {MR, MR}, .width = NAME(tiles)},
        .pack_rows = NAME(pack_rows),
        .pack_columns = NAME(pack_columns),
        .widen_rows = NAME(widen_rows),
        .updates = NAME(updates),
        .dots = NAME(dots),
        .scale = NAME(scale),
};

#undef W_ALONG
#undef W_ACROSS
#undef W_PAIRS
#undef W_TRANSPOSE
#undef W_DOT
#undef INTEGERS_CODE
#undef INTEGERS_QUADS
