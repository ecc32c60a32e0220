/* How cpu-tiled goes about a problem: decided from the problem alone, so that run and pack hooks agree and bits depend
 * on nothing else. */
#ifndef TSR_CPU_SKINNY_SHAPE_H
#define TSR_CPU_SKINNY_SHAPE_H

#include "core/config.h"
#include "cpu/small/tile.h"

typedef enum tsr_shape {
    TSR_SHAPE_TILES,   /* register tiles in cache blocks (small/in_place.c, blocked/blocked.c) */
    TSR_SHAPE_ROWS,    /* few rows of D: B is the large operand, read once (skinny/few_rows.c) */
    TSR_SHAPE_COLUMNS, /* few columns of D: A is */
    TSR_SHAPE_ANY_ROWS /* any number of rows, whose sums are those of few rows, B transposed (skinny/any_rows.c) */
} tsr_shape;

enum {
    TSR_FEW_ROWS = 48,         /* at most, or columns */
    TSR_FEW_ROWS_BF16 = 16,    /* more are faster in pairs, where the processor has them */
    TSR_LARGE_B = 512 * 1024,  /* elements: more than an L2 holds, */
    TSR_LONG_ROW = 128,        /* in rows that are worth to be streams */
    TSR_LONG_SUM = 512,        /* steps of K with which adding up lanes at the end is little */
    TSR_FEW_RESULTS = 512,     /* of each row or column, where sums in a cache are priced beside tiles, or any number */
                               /* if rows are as few as TSR_NEAR_ROWS; */
    TSR_LEAST_SUM = 9,         /* steps of K with which they are, */
    TSR_SUM_PER_ROW = 4,       /* and for each of the few; */
    TSR_LEAST_CHAIN = 32,      /* for each chain of multiply-adds, and one more, where chains are worth adding up */
    TSR_SMALL_LENGTH = 4096,   /* so large, with less than */
    TSR_SMALL_SUM = 128,       /* steps of K, an operand is no large one; */
    TSR_LONGEST_SUM = 1 << 30, /* that an int counts */
    TSR_ANY_ROWS_STEPS = 192,  /* of K, with which sums along K cost large products little more than tiles, */
    TSR_ANY_ROWS_STEPS_F64 = 96,    /* whose vectors are half as many lanes; */
    TSR_ANY_ROWS_WIDENED = 1 << 16, /* and so few that a widened piece of B is no large one */
    TSR_L1_WAY_BYTES = 4096         /* rows so far apart share one set of L1 */
};

/* Cycles, roughly, of the two ways to multiply in the caches where K runs along the rows of the operand with `many`:
 * sums along K, a vector of K in each step, whose lanes are added up; and tiles, for which that operand is transposed
 * block by block, or the few are, or nothing (A by columns of D: vectors are few columns; A and B both transposed: D
 * is, if K is short). `few_inner`: K runs along the other operand's rows too. 1 if the sums are the faster way. */
static inline int tsr_dots_pay(int lanes, long long few, long long many, long long k, int few_inner, int by_columns)
{
    enum { MOST_TRANSPOSED_STEPS = 256 };
    const long long k_count = (k + lanes - 1) / lanes, few_count = (few + lanes - 1) / lanes,
                    many_count = (many + lanes - 1) / lanes;
    const double vectors = (double)k_count, few_vectors = (double)few_count, many_vectors = (double)many_count;
    const double turn = lanes == 16 ? 75 : 35;
    const double f = (double)few, m = (double)many, steps = (double)k;
    const double sum = few <= TSR_NEAR_ROWS ? 1.8 + 0.77 * vectors : 3.6 + 0.72 * vectors;
    const double transpose_few = few <= TSR_GATHERED ? 0.7 * f * steps : few_vectors * vectors * turn;
    const double transpose_many = many_vectors * vectors * turn;
    const double dots = 80 + f * m * sum + (few_inner ? 0 : 60 + transpose_few);
    if (few_inner && !by_columns)
        return dots < 20 + transpose_many + many_vectors * (steps * (1.5 + (few <= 8 ? 0.33 : 0.5) * f) + 3 * f);
    const int is_narrow = by_columns && few <= 4 && many >= 2 * lanes && lanes == 16;
    const double step = m * (is_narrow ? 0.4 : 0.57 * few_vectors);
    const double transposed = few_inner                                  ? few_vectors * vectors * turn
                              : !by_columns && k > MOST_TRANSPOSED_STEPS ? transpose_many
                                                                         : 0;
    return dots < 40 + steps * (step < 4 ? 4 : step) + m * few_vectors * (by_columns ? 2 : 4.5) + transposed;
}

/* 1 if `few` rows (columns) of D, times a large operand with `many` columns (rows), are for skinny/few_rows.c. `inner`:
 * K runs along that operand's rows as stored, and sums are vectors along K; with very few of them that pays in the
 * caches too. `few_inner`: the same of the other operand. */
static inline int tsr_is_few(tsr_dtype dtype, long long few, long long many, long long k, int inner, int few_inner,
                             int by_columns)
{
    const int is_large = (double)many * (double)k >= TSR_LARGE_B && many >= TSR_LONG_ROW;
    if (!inner)
        return is_large && few <= (dtype == TSR_BF16 ? TSR_FEW_ROWS_BF16 : TSR_FEW_ROWS);
    if ((dtype != TSR_F32 && dtype != TSR_F64) || few > TSR_FEW_ROWS || k >= TSR_LONGEST_SUM)
        return 0;
    if (k >= few * TSR_SUM_PER_ROW && (few <= TSR_NEAR_ROWS || (few_inner && many <= TSR_FEW_RESULTS)) &&
        tsr_dots_pay(dtype == TSR_F64 ? 8 : 16, few, many, k, few_inner, by_columns))
        return 1;
    return is_large && k >= TSR_LONG_SUM;
}

/* 1 if `few` rows (columns) of D of `many` elements, K down the rows of the operand with `many`, are so few vectors
 * that each needs several chains of multiply-adds (tsr_chains). */
static inline int tsr_is_chains(tsr_dtype dtype, long long few, long long many, long long k)
{
    if (k < 2 * TSR_LEAST_CHAIN || few > TSR_CHAINS_VECTORS || (dtype != TSR_F32 && dtype != TSR_F64))
        return 0;
    const long long vectors = (many + (dtype == TSR_F64 ? 7 : 15)) / (dtype == TSR_F64 ? 8 : 16);
    return few * vectors <= TSR_CHAINS_VECTORS && k >= (1 + few * vectors) * TSR_LEAST_CHAIN;
}

/* One row of D that skinny/gemv.c takes as tiles if it is short: K runs down the rows of B, and no chains are added up.
 */
static inline int tsr_is_plain_row(tsr_dtype dtype, long long m, long long n, long long k, int trans_b)
{
    return m == 1 && n > 1 && !trans_b && !tsr_is_chains(dtype, 1, n, k);
}

/* N above 1. 1 if K has so few steps that no other way than tiles is asked for, neither sums along K nor chains, and no
 * operand is a large one: small products should not wait for more. */
static inline int tsr_is_short(long long m, long long n, long long k, int trans_a, int trans_b)
{
    const long long fewer = m < n ? m : n, more = m < n ? n : m;
    if (k >= TSR_SMALL_SUM || more >= TSR_SMALL_LENGTH)
        return 0;
    if (k < TSR_LEAST_SUM)
        return m > 1 || !trans_b;
    if (m == 1)
        return !trans_b && k < 2 * TSR_LEAST_CHAIN;
    const int dots = (trans_b && k >= m * TSR_SUM_PER_ROW) || (!trans_a && k >= n * TSR_SUM_PER_ROW);
    return !dots && !(k >= 2 * TSR_LEAST_CHAIN && fewer <= TSR_CHAINS_VECTORS);
}

static inline tsr_shape tsr_shape_of(tsr_dtype dtype, long long m, long long n, long long k, int trans_a, int trans_b)
{
    if (n == 1)
        return TSR_SHAPE_COLUMNS;
    if (m == 1)
        return TSR_SHAPE_ROWS;
    if (tsr_is_short(m, n, k, trans_a, trans_b))
        return TSR_SHAPE_TILES;
    const long long fewer = m < n ? m : n, more = m < n ? n : m;
    if (fewer <= TSR_CHAINS_VECTORS && more <= 32) {
        const int by_columns = trans_a && tsr_is_chains(dtype, n, m, k),
                  by_rows = !trans_b && tsr_is_chains(dtype, m, n, k);
        if (by_columns && (!by_rows || n < m))
            return TSR_SHAPE_COLUMNS;
        if (by_rows)
            return TSR_SHAPE_ROWS;
    }
    const int columns_first = n < m;
    if (columns_first && tsr_is_few(dtype, n, m, k, !trans_a, trans_b, 1))
        return TSR_SHAPE_COLUMNS;
    if (tsr_is_few(dtype, m, n, k, trans_b, !trans_a, 0))
        return TSR_SHAPE_ROWS;
    return !columns_first && tsr_is_few(dtype, n, m, k, !trans_a, trans_b, 1) ? TSR_SHAPE_COLUMNS : TSR_SHAPE_TILES;
}

/* The shape where the order of the sums must not depend on M. A single column of D goes row by row of A as stored. With
 * B transposed and enough steps for lanes to be added up, sums run along K, as few rows want it. */
static inline tsr_shape tsr_shape_for_any_m(tsr_dtype dtype, long long n, long long k, int trans_a, int trans_b)
{
    if (n == 1)
        return trans_a ? TSR_SHAPE_TILES : TSR_SHAPE_COLUMNS;
    const int least = dtype == TSR_F64 ? TSR_ANY_ROWS_STEPS_F64 : TSR_ANY_ROWS_STEPS,
              most = dtype == TSR_F16 ? TSR_ANY_ROWS_WIDENED : TSR_LONGEST_SUM;
    return dtype != TSR_BF16 && trans_b && k >= least && k < most ? TSR_SHAPE_ANY_ROWS : TSR_SHAPE_TILES;
}

static inline tsr_shape tsr_shape_of_problem(const tsr_problem *p)
{
    const int trans_a = p->a.trans == TSR_T, trans_b = p->b.trans == TSR_T;
    return p->flags & TSR_BATCH_INVARIANT ? tsr_shape_for_any_m(p->op.a, p->n, p->k, trans_a, trans_b)
                                          : tsr_shape_of(p->op.a, p->m, p->n, p->k, trans_a, trans_b);
}

/* The tiles of a row's compute type. */
static inline const tsr_tiles *tsr_isa_tiles(const tsr_isa *isa, tsr_dtype dtype)
{
    return dtype == TSR_F64 ? &isa->f64 : &isa->f32;
}

/* Bytes of an element as it is computed with. */
static inline int tsr_wide_bytes(tsr_dtype dtype)
{
    return dtype == TSR_F64 ? 8 : 4;
}

static inline long long tsr_round_up(long long value, long long unit)
{
    return (value + unit - 1) / unit * unit;
}

/* Steps of K that are about right between two write-backs. `pairs`: the processor multiplies pairs of bf16. */
static inline int tsr_kc_of(const tsr_isa *isa, int pairs, tsr_dtype dtype)
{
    return dtype == TSR_BF16 && pairs ? TSR_PAIRS_KC : tsr_isa_tiles(isa, dtype)->kc;
}

/* 1 if of each two steps of K the later is added first: bf16, with an instruction set that has processors which
 * multiply pairs of them, on all its processors. */
static inline int tsr_is_swapped(const tsr_isa *isa, tsr_dtype dtype)
{
    return dtype == TSR_BF16 && isa->pairs;
}

/* Makes that of a packed panel of f32; a last single step stays. */
static inline void tsr_swap_steps(float *panel, int width, long long steps)
{
    for (long long p = 0; p + 2 <= steps; p += 2, panel += 2 * width)
        for (int j = 0; j < width; j++) {
            const float first = panel[j];
            panel[j] = panel[width + j];
            panel[width + j] = first;
        }
}

/* Steps of K between two write-backs: K in equal parts, as many as bring them nearest to kc, rounded up to 8. At most
 * TSR_MOST_STEPS(kc). */
#define TSR_MOST_STEPS(kc) ((kc)*3 / 2)

static inline long long tsr_k_block(int kc, long long k)
{
    if (k < TSR_MOST_STEPS(kc)) /* small products should not wait for divisions */
        return k;
    const long long parts = (k + kc / 2) / kc;
    return tsr_round_up((k + parts - 1) / parts, 8);
}

/* Prepared operands, all in the compute type: for tiles, K in blocks of tsr_k_block, each block all its panels of mr
 * rows of A (nr columns of B), each panel k-major; for rows and columns, the operand as it was stored, its rows tight,
 * in the stored type. Problems of a batch follow each other. */
size_t tsr_packed_bytes(const tsr_isa *isa, tsr_dtype dtype, const tsr_problem *problem, char which);
void tsr_pack_operand(const tsr_isa *isa, tsr_dtype dtype, const tsr_problem *problem, char which, const void *data,
                      void *packed);

#endif
