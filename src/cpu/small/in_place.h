/* What small products' tiles are chosen by, for calls (small/in_place.c) and for plans (small/tile.c). */
#ifndef TSR_CPU_SMALL_IN_PLACE_H
#define TSR_CPU_SMALL_IN_PLACE_H

#include "core/gemm_args.h"
#include "cpu/skinny/shape.h"
#include "cpu/small/tile.h"

enum {
    TSR_SURE_ROWS = 480, /* products with up to these are small, whatever else */
    TSR_SURE_COLUMNS = 512,
    TSR_ALONE_OPS = 24 << 20,     /* what one thread does in 100 to 200 us: longer ones are worth waking threads for */
    TSR_PART_WORK = 4 << 20,      /* operations times an element's bytes, for each thread that is awake: about 9 us */
    TSR_CACHED_BYTES = 16 * 1024, /* a D that stays in L1 beside the rest */
};

/* 1 if others that are awake may share it. */
static inline int tsr_may_share(const tsr_gemm_args *g, long long bytes)
{
    return 2 * g->m * g->n * g->k * bytes >= 2 * TSR_PART_WORK;
}

/* Cycles of a call of a tile, and of writing what it sums. */
#define TSR_TILE_CYCLES 80

/* Cycles of the last `columns` columns of D by tiles that write D transposed, three vectors of rows at a time. */
static inline __attribute__((always_inline)) long long tsr_transposed_cycles(const tsr_tiles *tiles,
                                                                             const tsr_gemm_args *g, int columns)
{
    enum { FEWEST_CYCLES = 4 }; /* of a step of a tile: one multiply-add waits for the one before */
    const int alone = g->n == columns;
    const long long step = columns * 3 / 2 > FEWEST_CYCLES ? columns * 3 / 2 : FEWEST_CYCLES;
    long long write = TSR_TILE_CYCLES;
    if (alone && columns > tiles->transposed->rows[2])
        write = 2 * TSR_TILE_CYCLES; /* of two tiles */
    else if (alone && columns <= 4 && g->ldd == g->n)
        write = 20 + 3 * columns * columns; /* whole vectors of D */
    const long long tiles_down = ((g->m + 3 * tiles->lanes - 1) >> __builtin_ctz((unsigned)tiles->lanes)) / 3;
    return tiles_down * (g->k * step + write);
}

/* Columns at the end of D that would fill less than half of a vector, and for which there is a better way: where A is
 * stored transposed, vectors down D's rows, in tiles that write D transposed; else tsr_narrow_run, where there are
 * tiles for half a vector only up to four floats that are all columns or are of many steps; 0 if that does not pay.
 * Cycles are counted: tiles along rows take half a one for each row and step, narrow ones a fifth or, beyond four
 * columns, three tenths for each row and step. */
static inline int tsr_tail_columns(const tsr_tiles *tiles, const tsr_gemm_args *g)
{
    const int lanes = tiles->lanes, columns = (int)(g->n & (lanes - 1)); /* lanes: a power of two */
    const int alone = g->n == columns, few = columns <= 4;
    int least_rows = 2 * lanes; /* down D's rows in f32 fewer pay, too, but for one column or many that are all */
    if (g->trans_a && lanes == 16 && (!alone || (few && columns > 1)))
        least_rows = alone ? 16 : 12;
    if (columns == 0 || g->m < least_rows || !tiles->narrow)
        return 0;
    enum { MANY_STEPS = 4096 }; /* of all rows */
    const int tight = few && lanes == 16 && (alone || g->m * g->k >= MANY_STEPS);
    if (!g->trans_a && (columns > lanes / 2 || (tiles->half && !tight)))
        return 0;
    if (g->trans_a)
        return tsr_transposed_cycles(tiles, g, columns) + TSR_TILE_CYCLES / 2 <
                       g->m * (alone ? g->k * 10 + 24 : g->k * 7) / 16
                   ? columns
                   : 0;
    const long long cycles = g->m * (g->k * (columns > 4 ? 3 : 2) / 10 + 2);
    return cycles + TSR_TILE_CYCLES < g->m * g->k * (alone ? 10 : 7) / 16 ? columns : 0;
}

/* Up to two vectors of D's rows, A stored transposed, a few steps of K: each row is written as soon as it is summed,
 * with B in registers, unless vectors down D's few columns are faster, or, but on a Zen 4 (tiles->half), tiles, which
 * ask for D's lines ahead. Cycles measured: 2.2 to 3 a row; transposed tiles of up to five columns take a fifth less
 * than is counted elsewhere. */
static inline __attribute__((always_inline)) int tsr_goes_down_columns(const tsr_tiles *tiles, const tsr_gemm_args *g,
                                                                       long long bytes)
{
    enum { NEAR_BYTES = 36 * 1024, FEW_COLUMNS = 5 }; /* of a D that stays in L1 */
    const int lanes = tiles->lanes;
    if (!g->trans_a || g->k < 2 || g->k > TSR_RANK_K_DOWN_STEPS || g->n > 2 * lanes || g->m <= tiles->rows[0] ||
        !tiles->transposed)
        return 0;
    if (g->n >= lanes)
        return (g->n & (lanes - 1)) == 0 || tiles->half || g->m * g->n * bytes <= NEAR_BYTES;
    const long long transposed = tsr_transposed_cycles(tiles, g, (int)g->n) * (g->n <= FEW_COLUMNS ? 4 : 5);
    return transposed + 5 * TSR_TILE_CYCLES / 2 > g->m * (2 * g->k + 7);
}

/* The tiles that write D transposed take B as stored for A and A as stored for B: worth it where both would have to be
 * transposed, unless there is more of D to transpose than of B. */
static inline int tsr_is_transposed(const tsr_tiles *tiles, const tsr_gemm_args *g)
{
    enum {
        TRANSPOSED_ROWS = 64,   /* of D, with fewer it always pays to write D transposed rather than transpose B, */
        TRANSPOSED_PER_STEP = 2 /* with more for each step of K */
    };
    return g->trans_a && g->trans_b && tiles->transposed && g->k <= tiles->kc &&
           (g->m <= TRANSPOSED_ROWS || g->m <= TRANSPOSED_PER_STEP * g->k);
}

/* The first tile, but for its columns. */
static inline __attribute__((always_inline)) tsr_micro tsr_first_tile(const tsr_gemm_args *g, long long bytes,
                                                                      int transposed, const void *a, const void *b,
                                                                      const void *c, void *d)
{
    tsr_micro tile = tsr_micro_of(bytes, g->trans_a, transposed, g->k, g->alpha, a, g->lda, b, g->ldb, g->beta, c,
                                  g->ldc, d, g->ldd);
    tile.fetch = g->m * g->n * bytes > TSR_CACHED_BYTES;
    return tile;
}

/* How products of few steps of K go. */
typedef enum tsr_traversal {
    TSR_BY_TILES, /* or by columns of them that have a way of their own */
    TSR_ALONG_ROWS,
    TSR_DOWN_COLUMNS /* the same, of A's columns */
} tsr_traversal;

/* D's rows are written one after the other: for up to 8 steps of K, unless transposed tiles need not transpose much of
 * D, and for some more where D is not in L1 and nothing must be transposed, since tiles of so few steps wait for its
 * lines. Not so on a Zen 4 (tiles->half), where A's columns go by tiles unless D is larger than L2. */
static inline __attribute__((always_inline)) tsr_traversal
tsr_few_steps_traversal(const tsr_tiles *tiles, const tsr_gemm_args *g, long long bytes, int transposed)
{
    enum {
        FEW_TRANSPOSED_ROWS = 16, /* of D, with fewer of which transposed tiles are as fast */
        NEAR_BYTES = 24 * 1024,   /* of D, but for those that are in L1 anyway */
        ZEN4_BYTES = 1024 * 1024, /* a Zen 4's L2 */
        FEWEST_STEPS = 4,         /* of K, with more a column or two of tiles is as fast as rows, */
        FEW_STEPS = 12            /* with more D's lines are not waited for */
    };
    const long long d_bytes = g->m * g->n * bytes, near_bytes = tiles->half ? ZEN4_BYTES : NEAR_BYTES;
    if (!transposed && tsr_goes_down_columns(tiles, g, bytes))
        return TSR_DOWN_COLUMNS;
    if (g->n <= 3 * tiles->lanes &&
        (g->m <= tiles->rows[0] ||                                                     /* a tile or two */
         (g->trans_a && g->k > 1 && (g->n <= tiles->lanes || d_bytes <= near_bytes)))) /* A's columns, one by one */
        return TSR_BY_TILES;
    if (!transposed && g->k > FEWEST_STEPS && (!g->trans_a || g->m > 4) && g->n > 3 * tiles->lanes &&
        g->n <= 5 * tiles->lanes + tiles->lanes / 4 && d_bytes <= TSR_CACHED_BYTES)
        return TSR_BY_TILES; /* two columns of them */
    if (g->k <= TSR_RANK_K_STEPS)
        return !transposed || g->m >= FEW_TRANSPOSED_ROWS ? TSR_ALONG_ROWS : TSR_BY_TILES;
    return g->k <= FEW_STEPS && !g->trans_b && d_bytes > NEAR_BYTES && g->n > 3 * tiles->lanes && g->m > tiles->rows[2]
               ? TSR_ALONG_ROWS
               : TSR_BY_TILES;
}

static inline __attribute__((always_inline)) tsr_rank_k
tsr_rank_k_of(const tsr_gemm_args *g, tsr_traversal traversal, long long bytes, const void *a, const void *b, void *d)
{
    return (tsr_rank_k){.rows = g->m,
                        .n = g->n,
                        .k = (int)g->k,
                        .past_cache = 0,
                        .one_by_one = 0,
                        .down = traversal == TSR_DOWN_COLUMNS,
                        .ahead_bytes = g->m * g->n * bytes > TSR_CACHED_BYTES ? tsr_rank_k_ahead(g->ldd * bytes) : 0,
                        .alpha = g->alpha,
                        .a = a,
                        .a_row_bytes = (g->trans_a ? 1 : g->lda) * bytes,
                        .a_k_bytes = (g->trans_a ? g->lda : 1) * bytes,
                        .b = b,
                        .b_k_bytes = g->ldb * bytes,
                        .d = d,
                        .d_row_bytes = g->ldd * bytes};
}

#endif
