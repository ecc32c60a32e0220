/* Small products as register tiles: how D is cut into them, and what every run of one problem shares, worked out once.
 */
#ifndef TSR_CPU_SMALL_TILE_H
#define TSR_CPU_SMALL_TILE_H

#include "core/device.h"
#include "core/gemm_args.h"
#include "cpu/isa/micro.h"

/* Rows cut into tiles of nearly equal height, the `higher` ones, by one, first. */
typedef struct tsr_cut {
    tsr_micro_run *run[2]; /* of the lower and of the higher tiles */
    int count, least, higher;
} tsr_cut;

#define TSR_SHORT_K       64 /* with so few steps lower tiles, which the processor overlaps better */
#define TSR_UNPACKED_ROWS 48 /* with more a B whose lines push each other out of the cache is copied */

/* How M rows of a panel of columns are cut into tiles. */
static inline tsr_cut tsr_cut_rows(const tsr_tiles *tiles, int columns, long long k, long long m)
{
    const int vectors = tsr_vectors_of(tiles, columns);
    const int most = vectors == 2 && k <= TSR_SHORT_K ? tiles->rows[2] : tiles->rows[vectors - 1];
    tsr_micro_run *const *run = tsr_tiles_across(tiles, columns);
    if (m <= most)
        return (tsr_cut){.run = {run[m - 1], NULL}, .count = 1, .least = (int)m, .higher = 0};
    const unsigned count = ((unsigned)m + (unsigned)most - 1) / (unsigned)most;
    const int least = (int)((unsigned)m / count), higher = (int)m - least * (int)count;
    return (tsr_cut){
        .run = {run[least - 1], higher ? run[least] : NULL}, .count = (int)count, .least = least, .higher = higher};
}

/* Columns of the next panel of m rows and k steps: two vectors, three where they are the last or rows are few, but not
 * if that would leave one alone, which keeps the loads too busy. What fills half a vector at most is a panel of its
 * own where there are tiles for it, unless those are over as soon as they begin. */
static inline int tsr_panel_columns(const tsr_tiles *tiles, long long m, long long k, long long left)
{
    enum { LEAST_STEPS = 128 }; /* of all rows */
    const int beyond = (int)(left & (tiles->lanes - 1));
    if (tiles->half && left > tiles->lanes && left <= 3 * tiles->lanes && beyond && 2 * beyond <= tiles->lanes &&
        m * k >= LEAST_STEPS)
        return (int)left - beyond;
    return (int)(left <= 3 * tiles->lanes                        ? left
                 : m <= tiles->rows[2] && left > 2LL * tiles->nr ? 3 * tiles->lanes
                                                                 : tiles->nr);
}

/* Runs the tiles; `tile` is the first one. Where the next row's part of D and C is. */
static inline __attribute__((always_inline)) void tsr_cut_run(const tsr_cut *cut, tsr_micro *tile, int64_t d_next,
                                                              int64_t c_next)
{
    for (int i = 0; i < cut->count; i++) {
        const int is_higher = i < cut->higher, take = cut->least + is_higher;
        cut->run[is_higher](tile);
        tile->a = (const char *)tile->a + take * tile->a_row_bytes;
        tile->d = (char *)tile->d + take * d_next;
        if (tile->c)
            tile->c = (const char *)tile->c + take * c_next;
    }
}

/* One row of D, K down the rows of the matrix: 1 if tiles are the way, one after the other. Each waits for its own
 * chains of multiply-adds, so only few of few steps. */
static inline int tsr_is_tiled_row(const tsr_tiles *tiles, int64_t n, int64_t k)
{
    enum { MOST_VECTORS = 14, MOST_STEPS = 24 };
    return n <= (int64_t)TSR_TILE_VECTORS * tiles->lanes ? k <= tiles->kc
                                                         : n <= (int64_t)MOST_VECTORS * tiles->lanes && k <= MOST_STEPS;
}

/* The tile that is all of an m x n D; NULL: there is none. */
static inline tsr_micro_run *tsr_only_tile(const tsr_tiles *tiles, int64_t m, int64_t n)
{
    if (n > (int64_t)TSR_TILE_VECTORS * tiles->lanes)
        return NULL;
    return m <= tiles->rows[tsr_vectors_of(tiles, n) - 1] ? tsr_tile_of(tiles, m, n) : NULL;
}

/* The tiles of an m x n D that is one column of them, all steps of K at once; count 0: it is not, or other ways may be
 * faster for its last columns. M, N and K are above 0. */
static inline tsr_cut tsr_only_tiles(const tsr_tiles *tiles, int64_t m, int64_t n, int64_t k)
{
    if (n > (int64_t)TSR_TILE_VECTORS * tiles->lanes || k > tiles->kc || m > TSR_UNPACKED_ROWS ||
        (m >= 2 * tiles->lanes && (n & (tiles->lanes - 1)) != 0) || tsr_panel_columns(tiles, m, k, n) != n)
        return (tsr_cut){.run = {NULL, NULL}, .count = 0, .least = 0, .higher = 0};
    return tsr_cut_rows(tiles, (int)n, k, m);
}

/* What the first tile is told, but for its columns; leading dimensions in elements of so many bytes. `transposed`: both
 * operands are transposed, D^T = B^T * A^T, by tiles that write D transposed. */
static inline __attribute__((always_inline)) tsr_micro tsr_micro_of(long long element, int trans_a, int transposed,
                                                                    int64_t k, double alpha, const void *a, int64_t lda,
                                                                    const void *b, int64_t ldb, double beta,
                                                                    const void *c, int64_t ldc, void *d, int64_t ldd)
{
    const int64_t a_row = transposed ? ldb : trans_a ? 1 : lda, a_step = trans_a && !transposed ? lda : 1;
    /* every field: the compiler fills the rest in a way that starts slowly */
    return (tsr_micro){.k = k,
                       .a = transposed ? b : a,
                       .a_row_bytes = a_row * element,
                       .a_k_bytes = a_step * element,
                       .b = transposed ? a : b,
                       .b_k_bytes = (transposed ? lda : ldb) * element,
                       .c = c,
                       .c_row_bytes = ldc * element,
                       .d = d,
                       .d_row_bytes = ldd * element,
                       .alpha = alpha,
                       .beta = beta,
                       .n = 0,
                       .fetch = 0,
                       .ahead_bytes = 0,
                       .past_cache = 0};
}

/* Panels of so many columns, side by side. */
typedef struct tsr_panels {
    tsr_cut cut;
    int columns, count;
} tsr_panels;

#define TSR_PANEL_KINDS 4 /* of tsr_panel_columns: three vectors, two, the rest, and its half */

typedef struct tsr_cpu_tile {
    tsr_cut cut;                          /* count 0: D needs more than a column of tiles: `panels` */
    tsr_panels panels[TSR_PANEL_KINDS];   /* first.count 0: D is done by code of its own */
    tsr_micro micro;                      /* without pointers and factors */
    int transposed;                       /* the tiles take B for A and A for B */
    int64_t d_next, c_next;               /* bytes from a tile's row to the next one's part of D and C */
    int64_t b_across, d_across, c_across; /* from a column to the next one */
    tsr_rank_k rank_k;                    /* without pointers and factors, for beta = 0; */
    tsr_rank_k_run *run_rank_k;           /* NULL: tiles are the algorithm */
} tsr_cpu_tile;

/* For one product of f32 or f64 that tiles are the algorithm for (TSR_SMALL, or TSR_GEMV with tsr_is_plain_row),
 * whatever pointers and factors. */
void tsr_cpu_tile_make(const tsr_isa *isa, tsr_dtype dtype, const tsr_gemm_args *args, tsr_cpu_tile *out);

/* What is not one column of tiles; 0, and nothing was done: code of its own is the way. */
int tsr_cpu_panels_run(const tsr_cpu_tile *tile, const void *a, const void *b, const void *c, void *d, double alpha,
                       double beta);

/* What is one column of tiles (cut.count above 0); alpha is not 0; with beta = 0 C is not read. */
static inline int tsr_cpu_column_run(const tsr_cpu_tile *tile, const void *a, const void *b, const void *c, void *d,
                                     double alpha, double beta)
{
    tsr_micro micro = tile->micro;
    micro.a = tile->transposed ? b : a;
    micro.b = tile->transposed ? a : b;
    micro.c = c;
    micro.d = d;
    micro.alpha = alpha;
    micro.beta = beta;
    if (tile->cut.count == 1)
        tile->cut.run[0](&micro);
    else
        tsr_cut_run(&tile->cut, &micro, tile->d_next, tile->c_next);
    return 1;
}

#endif
