/* Several dot products with each row of a matrix that must come from memory, for one compute type and one instruction
 * set; included after store_tmpl.h, with what that needs.
 *
 *   PANEL rows of the matrix x 4 rows of x are summed at once, a vector along K in each step: 10 loads for 24
 *   multiply-adds where there are 32 registers. K goes in blocks, so that the panel's part stays in L1 while all rows
 * of x pass by; sums of lanes wait in memory meanwhile. Every row of x, in its turn, asks for its share of the block
 * that comes next: requests that come all at once are dropped.
 *
 * A sum has one vector of running sums, whatever the place of its row in a panel. */
#define PANEL      (MR == 12 ? 6 : 3)
#define MOST_PANEL 6
#define LAST_PANEL 3 /* so few rows that are left are a panel of their own */
#define X_ROWS     4
#define BLOCK      (4096 / (int)sizeof(T)) /* steps of K */
#define NEAR_BYTES (512 * 1024)
#define X_BLOCK    (8 * BLOCK) /* the same times rows of x, where those fill one set of sums */

/* Where a panel's next block lies, or any: one line of each of `rows` rows is asked for in each step. */
typedef struct NAME(next_lines) {
    const char *at;
    int64_t step;
    int rows;
} NAME(next_lines);

/* Where the rows of the matrix and of x are read: one base pointer for three rows, reached by the addressing modes. */
typedef struct NAME(dots_place) {
    const char *m[2], *x[2];
    int64_t step, x_step;
} NAME(dots_place);

static inline __attribute__((always_inline)) void NAME(dots_step)(V (*acc)[MOST_PANEL], NAME(dots_place) * at,
                                                                  const int count, const int n, const int masked,
                                                                  const M some)
{
    V mv[MOST_PANEL];
#pragma GCC unroll 6
    for (int j = 0; j < count; j++) {
        const T *row = (const T *)(at->m[j / 3] + j % 3 * at->step);
        mv[j] = masked ? V_LOAD_MASK(some, row) : V_LOAD(row);
    }
#pragma GCC unroll 4
    for (int i = 0; i < n; i++) {
        const T *row = (const T *)(at->x[i / 3] + i % 3 * at->x_step);
        const V xv = masked ? V_LOAD_MASK(some, row) : V_LOAD(row);
#pragma GCC unroll 6
        for (int j = 0; j < count; j++)
            V_ACCUMULATE(acc[i][j], xv, mv[j]);
    }
#pragma GCC unroll 2
    for (int g = 0; g < 2; g++) {
        at->m[g] += LANES * (int)sizeof(T);
        at->x[g] += LANES * (int)sizeof(T);
        __asm__("" : "+r"(at->m[g]), "+r"(at->x[g]));
    }
}

/* `k` steps of `count` rows of the matrix and n of x. */
static inline __attribute__((always_inline)) void NAME(dots_block)(T *sums, const char *matrix, int64_t step,
                                                                   const char *x, int64_t x_step, int64_t k,
                                                                   const NAME(next_lines) * next, const int count,
                                                                   const int n, int first)
{
    V acc[X_ROWS][MOST_PANEL];
    NAME(dots_place) at = {{matrix, matrix + 3 * step}, {x, x + 3 * x_step}, step, x_step};
    const char *ahead = next->at;
    if (first) /* a branch around this much, not a function of its own, which would be twice as much code */
#pragma GCC unroll 4
        for (int i = 0; i < n; i++)
#pragma GCC unroll 6
            for (int j = 0; j < count; j++)
                acc[i][j] = V_ZERO();
    else
#pragma GCC unroll 4
        for (int i = 0; i < n; i++)
#pragma GCC unroll 6
            for (int j = 0; j < count; j++)
                acc[i][j] = V_LOAD(sums + (i * count + j) * LANES);
    int64_t p = 0;
    for (; p + LANES <= k; p += LANES, ahead += LANES * (int)sizeof(T)) {
        NAME(dots_step)(acc, &at, count, n, 0, M_FIRST(LANES));
        for (int r = 0; r < next->rows; r++)
            __builtin_prefetch(ahead + r * next->step, 0, 2);
    }
    if (p < k)
        NAME(dots_step)(acc, &at, count, n, 1, M_FIRST((int)(k - p)));
#pragma GCC unroll 4
    for (int i = 0; i < n; i++)
#pragma GCC unroll 6
        for (int j = 0; j < count; j++)
            V_STORE(sums + (i * count + j) * LANES, acc[i][j]);
}

static inline __attribute__((always_inline)) void NAME(dots_panel)(const tsr_many_dots *d, const char *matrix, T *sums,
                                                                   const int count)
{
    const int fours = (d->rows + X_ROWS - 1) / X_ROWS, share = (count + fours - 1) / fours;
    const int64_t step = d->step_bytes, x_step = d->x_row_bytes;
    const int once = d->rows <= X_ROWS;                    /* the matrix passes by once: */
    const int loads_suffice = once && !(ZEN4 && d->zen4);  /* they keep enough of it on its way, but on a Zen 4 */
    const int stays_in_l2 = d->count * step <= NEAR_BYTES; /* the matrix is in L2, where requests would bring it */
    const int64_t most = once ? X_BLOCK / d->rows : BLOCK, block = d->in_step ? most / LANES * LANES : most;
    for (int64_t p = 0; p < d->k; p += block) {
        const int64_t k = d->k - p < block ? d->k - p : block;
        const char *const part = matrix + p * (int)sizeof(T);
        const char *const later = p + block < d->k ? part + block * (int)sizeof(T) : matrix + count * step;
        const char *x = (const char *)d->x + p * (int)sizeof(T);
        T *at = sums;
        int asked = 0;
        for (int i = 0; i < d->rows; i += X_ROWS, x += X_ROWS * x_step, at += X_ROWS * count * LANES) {
            const int prefetch = loads_suffice || stays_in_l2 ? 0 : count - asked < share ? count - asked : share;
            const NAME(next_lines) next = {later + asked * step, step, prefetch};
            asked += next.rows;
            switch (d->rows - i) {
            case 1:
                NAME(dots_block)(at, part, step, x, x_step, k, &next, count, 1, p == 0);
                break;
            case 2:
                NAME(dots_block)(at, part, step, x, x_step, k, &next, count, 2, p == 0);
                break;
            case 3:
                NAME(dots_block)(at, part, step, x, x_step, k, &next, count, 3, p == 0);
                break;
            default:
                NAME(dots_block)(at, part, step, x, x_step, k, &next, count, X_ROWS, p == 0);
            }
        }
    }
}

/* The sums of the lanes, as many at once as there are lanes, or four. */
static inline __attribute__((always_inline)) void NAME(dots_sums)(const tsr_many_dots *d, const T *sums,
                                                                  const int count, char *out)
{
    T flat[TSR_DOTS_ROWS * MOST_PANEL];
    const int all = count * d->rows;
    int s = 0;
#ifdef V_SUM_LANES
    for (; s + LANES <= all; s += LANES) {
        V v[LANES];
#pragma GCC unroll 16
        for (int l = 0; l < LANES; l++)
            v[l] = V_LOAD(sums + (s + l) * LANES);
        V_STORE(flat + s, V_SUM_LANES(v));
    }
#endif
    for (; s + 4 <= all; s += 4) {
        const T *const at = sums + s * LANES;
        const V v[4] = {V_LOAD(at), V_LOAD(at + LANES), V_LOAD(at + 2 * LANES), V_LOAD(at + 3 * LANES)};
        V_SUM_4(flat + s, v);
    }
    for (; s < all; s++)
        flat[s] = V_SUM(V_LOAD(sums + s * LANES));
    for (int i = 0; i < d->rows; i++, out += d->sum_step_bytes)
#pragma GCC unroll 6
        for (int c = 0; c < count; c++)
            *(T *)(void *)(out + c * d->sum_row_bytes) = flat[i * count + c];
}

#ifdef V_SUM_LANES
/* The matrix lies in a cache, and all steps of K are taken at once: a few rows of it times a few of x, NEAR_SUMS sums
 * that stay in registers until their lanes are added up there. Rows that do not exist are the last one again. The bits
 * are those of panels. */
#define NEAR_SUMS   16
#define NEAR_ROWS   8                       /* of the matrix, with two of x */
#define NEAR_MATRIX (3 * NEAR_BYTES)        /* beyond panels are as fast, with an L2 of 2 MiB */
#define NEAR_STEPS  (8192 / (int)sizeof(T)) /* of rows of which four are left in L1 by as many of the matrix */

static inline __attribute__((always_inline)) void NAME(near_step)(V *acc, const char *const *row, const char *const *x,
                                                                  int64_t at, const int r, const int c,
                                                                  const int masked, const M some)
{
    V xv[X_ROWS];
#pragma GCC unroll 4
    for (int j = 0; j < c; j++)
        xv[j] = masked ? V_LOAD_MASK(some, (const T *)(x[j] + at)) : V_LOAD((const T *)(x[j] + at));
#pragma GCC unroll 8
    for (int i = 0; i < r; i++) {
        const V mv = masked ? V_LOAD_MASK(some, (const T *)(row[i] + at)) : V_LOAD((const T *)(row[i] + at));
#pragma GCC unroll 4
        for (int j = 0; j < c; j++)
            V_ACCUMULATE(acc[i * c + j], mv, xv[j]);
    }
}

/* Rows `first` and on of the matrix, of x from `other` on, r and c of them, or as many as there are. `swapped`, r = c:
 * they change roles, results of a row of x follow each other, and four sums are written at a time. */
static inline __attribute__((always_inline)) void NAME(near_tile)(const tsr_many_dots *d, int64_t first, int other,
                                                                  const int r, const int c, const int swapped)
{
    const int rows = d->count - first < r ? (int)(d->count - first) : r;
    const char *const matrix = (const char *)d->matrix + first * d->step_bytes;
    const char *const few = (const char *)d->x + other * d->x_row_bytes;
    const int64_t row_step = swapped ? d->x_row_bytes : d->step_bytes,
                  x_step = swapped ? d->step_bytes : d->x_row_bytes;
    const int row_count = swapped ? c : rows, x_count = swapped ? rows : c;
    const char *row[NEAR_ROWS], *x[X_ROWS];
    V acc[NEAR_SUMS];
    T flat[NEAR_SUMS];
    row[0] = swapped ? few : matrix;
    x[0] = swapped ? matrix : few;
#pragma GCC unroll 8
    for (int i = 1; i < r; i++)
        row[i] = row[i - 1] + (i < row_count ? row_step : 0);
#pragma GCC unroll 4
    for (int j = 1; j < c; j++)
        x[j] = x[j - 1] + (!swapped || j < x_count ? x_step : 0);
#pragma GCC unroll 16
    for (int i = 0; i < NEAR_SUMS; i++)
        acc[i] = V_ZERO();
    const int64_t whole = d->k / LANES * (LANES * (int64_t)sizeof(T));
    int64_t at = 0;
    for (; at < whole; at += LANES * (int)sizeof(T))
        NAME(near_step)(acc, row, x, at, r, c, 0, M_FIRST(LANES));
    if (d->k % LANES)
        NAME(near_step)(acc, row, x, at, r, c, 1, M_FIRST((int)(d->k % LANES)));
    char *out = (char *)d->sum + first * d->sum_row_bytes + other * d->sum_step_bytes;
    if (!swapped && d->sum_step_bytes == (int)sizeof(T) && d->sum_row_bytes == c * (int)sizeof(T)) { /* as here */
#pragma GCC unroll 2
        for (int s = 0; s < r * c; s += LANES) {
            const int left = rows * c - s;
            V_STORE_MASK((T *)(void *)out + s,
                         M_FIRST(left < 0       ? 0
                                 : left < LANES ? left
                                                : LANES),
                         V_SUM_LANES(acc + s));
        }
        return;
    }
    const int64_t out_step = swapped ? d->sum_step_bytes : d->sum_row_bytes,
                  across = swapped ? d->sum_row_bytes : d->sum_step_bytes;
    V sums[2];
#pragma GCC unroll 2
    for (int s = 0; s < r * c; s += LANES)
        sums[s / LANES] = V_SUM_LANES(acc + s);
    if (r == c && x_count == c && across == (int)sizeof(T)) {
#pragma GCC unroll 4
        for (int i = 0; i < r; i++, out += out_step)
            if (i < row_count)
                V_STORE_4(out, sums, i);
        return;
    }
#pragma GCC unroll 2
    for (int s = 0; s < r * c; s += LANES)
        V_STORE(flat + s, sums[s / LANES]);
    for (int i = 0; i < row_count; i++, out += out_step)
#pragma GCC unroll 4
        for (int j = 0; j < c; j++)
            if (j < x_count)
                *(T *)(void *)(out + j * across) = flat[i * c + j];
}

static inline __attribute__((always_inline)) void NAME(near_rows)(const tsr_many_dots *d, int other, const int r,
                                                                  const int c, const int swapped)
{
    for (int64_t i = 0; i < d->count; i += r)
        NAME(near_tile)(d, i, other, r, c, swapped);
}

static __attribute__((noinline)) void NAME(near_dots)(const tsr_many_dots *d)
{
    int other = 0;
    for (int left = d->rows; left > 0; left = d->rows - other) /* never one alone: 4 + 3 + 2, 3 + 2 */
        if (left == 4 || left > 6) {
            if (d->sum_row_bytes == (int)sizeof(T))
                NAME(near_rows)(d, other, 4, 4, 1);
            else
                NAME(near_rows)(d, other, 4, 4, 0);
            other += 4;
        } else if (left != 2) {
            NAME(near_rows)(d, other, 5, 3, 0);
            other += 3;
        } else {
            if (d->count <= 4)
                NAME(near_rows)(d, other, 4, 2, 0);
            else
                NAME(near_rows)(d, other, NEAR_ROWS, 2, 0);
            other += 2;
        }
}

/* 1 if that is faster than panels: both in half cycles, a multiply-add each, or a bit more where there are more loads
 * for it. A Zen 4, with one multiply-add a cycle, has loads enough for any number of rows of x. Where rows are no
 * multiple of a tile's height, some are summed for nothing. */
static inline int NAME(is_near)(const tsr_many_dots *d, const int zen4)
{
    enum { PANEL_CALL = 80, PANEL_SUM = 7, TILE = 70, ZEN4_PANEL_SUM = 11, ZEN4_TILE = 110 };
    if (d->rows == 1 || (!zen4 && d->rows > TSR_NEAR_ROWS) || d->k > NEAR_STEPS ||
        d->count * d->step_bytes > NEAR_MATRIX)
        return 0;
    const int vectors = (int)d->k / LANES + 1, count = (int)d->count;
    int near = 0;
    for (int left = d->rows; left > 0;) {
        const int c = left == 4 || left > 6 ? 4 : left == 2 ? 2 : 3;
        const int r = c == 4 || (c == 2 && count <= 4) ? 4 : c == 2 ? NEAR_ROWS : 5, sums = r * c * vectors;
        near += (count + r - 1) / r * (zen4 ? 2 * sums + ZEN4_TILE : sums * 5 / 4 + TILE);
        left -= c;
    }
    const int rest = count % PANEL, last = rest == 0 ? 0 : zen4 && rest <= LAST_PANEL ? LAST_PANEL : PANEL;
    const int sum = zen4 ? 2 * vectors + ZEN4_PANEL_SUM : vectors + PANEL_SUM;
    return near < (count - rest + last) * d->rows * sum + (count / PANEL + (rest > 0)) * PANEL_CALL;
}
#endif

static void NAME(panel_dots)(const tsr_many_dots *d)
{
    _Alignas(64) T sums[TSR_DOTS_ROWS * MOST_PANEL * LANES];
    const char *matrix = d->matrix;
    char *out = d->sum;
    for (int64_t j = 0; j < d->count;) {
        int64_t left = d->count - j;
        if (left > LAST_PANEL && left < PANEL && d->count >= PANEL) { /* it begins early, among rows that others have */
            const int64_t again = PANEL - left;
            j -= again;
            left = PANEL;
            out -= again * d->sum_row_bytes;
            matrix -= again * d->step_bytes;
        }
        const int count = left >= PANEL ? PANEL : left >= LAST_PANEL ? LAST_PANEL : (int)left;
        if (count == PANEL) {
            NAME(dots_panel)(d, matrix, sums, PANEL);
            NAME(dots_sums)(d, sums, PANEL, out);
        } else if (count == LAST_PANEL) {
            NAME(dots_panel)(d, matrix, sums, LAST_PANEL);
            NAME(dots_sums)(d, sums, LAST_PANEL, out);
        } else if (count == 2) {
            NAME(dots_panel)(d, matrix, sums, 2);
            NAME(dots_sums)(d, sums, 2, out);
        } else {
            NAME(dots_panel)(d, matrix, sums, 1);
            NAME(dots_sums)(d, sums, 1, out);
        }
        out += count * d->sum_row_bytes;
        matrix += count * d->step_bytes;
        j += count;
    }
}

static void NAME(many_dots)(const tsr_many_dots *d)
{
#ifdef V_SUM_LANES
    if (NAME(is_near)(d, 0)) {
        NAME(near_dots)(d);
        return;
    }
#endif
    NAME(panel_dots)(d);
}

#ifdef V_SUM_LANES
static void NAME(many_dots_zen4)(const tsr_many_dots *d)
{
    if (NAME(is_near)(d, 1))
        NAME(near_dots)(d);
    else
        NAME(panel_dots)(d);
}
#endif

#undef NEAR_SUMS
#undef NEAR_ROWS
#undef NEAR_MATRIX
#undef NEAR_STEPS
#undef PANEL
#undef MOST_PANEL
#undef LAST_PANEL
#undef X_ROWS
#undef BLOCK
#undef X_BLOCK
#undef NEAR_BYTES

#include "cpu/isa/chains_tmpl.h"
