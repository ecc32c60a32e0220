/* How cpu-tiled goes about a problem: decided from the problem alone, so that run and pack hooks agree and bits depend
 * on nothing else. */
#ifndef TSR_CPU_SHAPE_H
#define TSR_CPU_SHAPE_H

#include "core/row.h"
#include "cpu/micro.h"

typedef enum tsr_shape {
    TSR_SHAPE_TILES,  /* register tiles in cache blocks (direct.c, nest.c) */
    TSR_SHAPE_ROWS,   /* few rows of D: B is the large operand, read once (stream.c) */
    TSR_SHAPE_COLUMNS /* few columns of D: A is */
} tsr_shape;

enum {
    TSR_FEW_ROWS = 48,         /* at most, or columns */
    TSR_FEW_ROWS_BF16 = 16,    /* more are faster in pairs, where the processor has them */
    TSR_FEWEST_ROWS = 8,       /* at most, where the large operand may lie in a cache */
    TSR_LARGE_B = 512 * 1024,  /* elements: more than an L2 holds, */
    TSR_LONG_ROW = 128,        /* in rows that are worth to be streams */
    TSR_LONG_SUM = 512,        /* steps of K with which adding up lanes at the end is little */
    TSR_SUM_PER_ROW = 40,      /* in a cache, steps for each of the few rows: what turning the other operand costs, */
    TSR_TURNED_PER_ROW = 64,   /* or where the few rows are to be turned; */
    TSR_FEW_RESULTS = 512,     /* of each of the few, where sums are priced beside tiles; */
    TSR_LEAST_SUM = 64,        /* at least, */
    TSR_LEAST_BOTH = 17,       /* or where neither is to be turned; */
    TSR_LONGEST_SUM = 1 << 30, /* that an int counts */
    TSR_CONFLICT_BYTES = 2048  /* rows that lie a multiple of this apart push each other's lines out of L1 */
};

/* Both operands have K along their rows: tiles would turn B, block by block, then take half a cycle for each
 * multiply-add of a vector, or less where D is narrow; sums along K take as much for each vector of K, and a few to add
 * up its lanes. 1 if the latter are clearly less. */
static inline int tsr_dots_pay(int lanes, long long few, long long many, long long k, int by_columns)
{
    const long long m = by_columns ? many : few, n = by_columns ? few : many;
    const long long k_vectors = (k + lanes - 1) / lanes, n_vectors = (n + lanes - 1) / lanes;
    const double turn = (double)(n_vectors * k_vectors) * (lanes == 16 ? 75 : 35);
    const double step = m >= 2 * lanes && n <= lanes / 2 ? (n <= 4 ? 0.2 : 0.3)
                        : n_vectors == 1                 ? 0.7
                                                         : 0.55 * (double)n_vectors;
    const double tiles = turn + (double)(m * k) * step;
    const double dots = 60 + (double)(m * n) * (3 + 0.6 * (double)k_vectors);
    return 1.2 * dots < tiles;
}

/* 1 if `few` rows (columns) of D, times a large operand with `many` columns (rows), are for stream.c. `inner`: K runs
 * along that operand's rows as stored, and sums are vectors along K; with very few of them that pays in the caches too.
 * `few_inner`: the same of the other operand. */
static inline int tsr_is_few(tsr_dtype dtype, long long few, long long many, long long k, int inner, int few_inner,
                             int by_columns)
{
    const int is_large = (double)many * (double)k >= TSR_LARGE_B && many >= TSR_LONG_ROW;
    if (!inner)
        return is_large && few <= (dtype == TSR_BF16 ? TSR_FEW_ROWS_BF16 : TSR_FEW_ROWS);
    if ((dtype != TSR_F32 && dtype != TSR_F64) || few > TSR_FEW_ROWS || k >= TSR_LONGEST_SUM)
        return 0;
    if (few_inner && many <= TSR_FEW_RESULTS && tsr_dots_pay(dtype == TSR_F64 ? 8 : 16, few, many, k, by_columns))
        return 1;
    return (is_large && k >= TSR_LONG_SUM) || (few <= TSR_FEWEST_ROWS && k >= TSR_LEAST_SUM &&
                                               k >= few * (few_inner ? TSR_SUM_PER_ROW : TSR_TURNED_PER_ROW));
}

static inline tsr_shape tsr_shape_of(tsr_dtype dtype, long long m, long long n, long long k, int trans_a, int trans_b)
{
    if (n == 1)
        return TSR_SHAPE_COLUMNS;
    if (m == 1)
        return TSR_SHAPE_ROWS;
    const int both_inner = !trans_a && trans_b;
    if (k < (both_inner ? TSR_LEAST_BOTH : TSR_LEAST_SUM) && m < TSR_LARGE_B / TSR_LEAST_SUM &&
        n < TSR_LARGE_B / TSR_LEAST_SUM)
        return TSR_SHAPE_TILES; /* small products should not wait for more */
    const int columns_first = n < m;
    if (columns_first && tsr_is_few(dtype, n, m, k, !trans_a, trans_b, 1))
        return TSR_SHAPE_COLUMNS;
    if (tsr_is_few(dtype, m, n, k, trans_b, !trans_a, 0))
        return TSR_SHAPE_ROWS;
    return !columns_first && tsr_is_few(dtype, n, m, k, !trans_a, trans_b, 1) ? TSR_SHAPE_COLUMNS : TSR_SHAPE_TILES;
}

/* The tiles of a row's compute type. */
static inline const tsr_tiles *tsr_tiles_of(const tsr_isa *isa, tsr_dtype dtype)
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
    return dtype == TSR_BF16 && pairs ? TSR_PAIRS_KC : tsr_tiles_of(isa, dtype)->kc;
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
