/* cpu-tiled for small products with one row or one column: what skinny/few_rows.c does, with its bits, without its
 * plans. One operand is a matrix, the other a vector x; `results` are the elements of D. */
#include <string.h>

#include "cpu/job.h"
#include "cpu/spare.h"

enum {
    MOST_BYTES = 512 * 1024, /* of the matrix: larger ones are worth waking threads for */
    PIECE = 4096,            /* results at a time */
    GATHER_ELEMS = 1024      /* of an x that is copied because its elements do not follow each other */
};

typedef struct line {
    const char *matrix, *x, *c;
    char *d;
    long long row_bytes, step; /* bytes from row to row of the matrix, and, dots, from element to element */
    long long x_step, c_step, d_step;
    long long results;
    int dots; /* K runs along the rows of the matrix, or it is one vector */
} line;

/* The matrix is one column, whose elements follow each other as those of a row do. */
static inline int is_row(long long k, long long ld)
{
    return k == 1 && ld == 1;
}

static inline line describe(const tsr_gemm_args *g, long long bytes)
{
    if (g->n == 1)
        return (line){.matrix = g->a,
                      .x = g->b,
                      .c = g->beta != 0 ? g->c : NULL,
                      .d = g->d,
                      .row_bytes = g->lda * bytes,
                      .step = (g->trans_a ? g->lda : 1) * bytes,
                      .x_step = (g->trans_b ? 1 : g->ldb) * bytes,
                      .c_step = g->ldc * bytes,
                      .d_step = g->ldd * bytes,
                      .results = g->m,
                      .dots = (!g->trans_a || g->m == 1) && !is_row(g->k, g->lda)};
    return (line){.matrix = g->b,
                  .x = g->a,
                  .c = g->beta != 0 ? g->c : NULL,
                  .d = g->d,
                  .row_bytes = g->ldb * bytes,
                  .step = bytes,
                  .x_step = (g->trans_a ? g->lda : 1) * bytes,
                  .c_step = bytes,
                  .d_step = bytes,
                  .results = g->n,
                  .dots = g->trans_b && !is_row(g->k, g->ldb)};
}

static void gather(char *to, const char *from, long long step, long long k, long long bytes)
{
    for (long long p = 0; p < k; p++)
        if (bytes == 8)
            memcpy(to + p * 8, from + p * step, 8);
        else
            memcpy(to + p * 4, from + p * step, 4);
}

/* D as tiles of one row: K runs down the rows of the matrix, and results follow each other. */
static void row_of_tiles(const tsr_tiles *tiles, const tsr_gemm_args *g, const line *l, long long bytes)
{
    const long long widest = 3LL * tiles->lanes;
    int columns = (int)(l->results < widest ? l->results : widest);
    tsr_micro tile = {.k = g->k,
                      .a = l->x,
                      .a_row_bytes = 0,
                      .a_k_bytes = l->x_step,
                      .b = l->matrix,
                      .b_k_bytes = l->row_bytes,
                      .c = l->c,
                      .c_row_bytes = 0,
                      .d = l->d,
                      .d_row_bytes = 0,
                      .alpha = g->alpha,
                      .beta = g->beta,
                      .n = columns,
                      .fetch = 0, /* every field: the compiler fills the rest in a way that starts slowly */
                      .ahead_bytes = 0,
                      .past_cache = 0};
    tsr_tile_of(tiles, 1, columns)(&tile);
    for (long long j = columns; j < l->results; j += columns) {
        columns = (int)(l->results - j < widest ? l->results - j : widest);
        tile.n = columns;
        tile.b = l->matrix + j * bytes;
        tile.c = l->c ? l->c + j * bytes : NULL;
        tile.d = l->d + j * bytes;
        tsr_tile_of(tiles, 1, columns)(&tile);
    }
}

/* The same with few steps, however many results. */
static void few_steps(const tsr_store *store, const tsr_gemm_args *g, const line *l, long long bytes)
{
    const tsr_rank_k rank_k = {.rows = 1,
                               .n = l->results,
                               .k = (int)g->k,
                               .past_cache = 0,
                               .one_by_one = 0,
                               .down = 0,
                               .ahead_bytes = 0,
                               .alpha = g->alpha,
                               .a = l->x,
                               .a_row_bytes = bytes,
                               .a_k_bytes = l->x_step,
                               .b = l->matrix,
                               .b_k_bytes = l->row_bytes,
                               .d = l->d,
                               .d_row_bytes = 0};
    store->rank_k(&rank_k);
}

static void finish(const tsr_store *store, const tsr_gemm_args *g, const line *l, long long j, const char *sums,
                   long long n, long long bytes)
{
    char *const d = l->d + j * l->d_step;
    const char *const c = l->c ? l->c + j * l->c_step : NULL;
    if (l->d_step == bytes && (!c || l->c_step == bytes)) {
        store->finish(d, c, g->alpha, g->beta, sums, n);
        return;
    }
    for (long long i = 0; i < n; i++)
        store->finish(d + i * l->d_step, c ? c + i * l->c_step : NULL, g->alpha, g->beta, sums + i * bytes, 1);
}

typedef struct pieces {
    const tsr_store *store;
    const tsr_gemm_args *g;
    line l;
    long long bytes;
} pieces;

static long long piece_of(const line *l)
{
    return l->results < PIECE ? l->results : PIECE;
}

/* With sums in memory, and copies of vectors whose elements do not follow each other. */
static void run_pieces(void *data, char *spare)
{
    const pieces *const p = data;
    const tsr_store *const store = p->store;
    const tsr_gemm_args *const g = p->g;
    const line *const l = &p->l;
    const long long bytes = p->bytes;
    char *const sums = spare, *const copy = sums + tsr_round_up(piece_of(l) * bytes, 64);
    char *const row = copy + (l->x_step != bytes ? tsr_round_up(g->k * bytes, 64) : 0);
    const char *x = l->x, *matrix = l->matrix;
    if (l->x_step != bytes) {
        gather(copy, x, l->x_step, g->k, bytes);
        x = copy;
    }
    if (l->dots && l->step != bytes) {
        gather(row, matrix, l->step, g->k, bytes);
        matrix = row;
    }
    for (long long j = 0; j < l->results; j += PIECE) {
        const long long n = l->results - j < PIECE ? l->results - j : PIECE;
        const char *const part = matrix + j * (l->dots ? l->row_bytes : bytes);
        if (l->dots) {
            const tsr_dots dots = {
                .count = n, .k = g->k, .matrix = part, .step_bytes = l->row_bytes, .x = x, .sum = sums};
            store->dots(&dots);
        } else {
            const tsr_update update = {.count = n,
                                       .rows = 1,
                                       .k = (int)g->k,
                                       .matrix = part,
                                       .step_bytes = l->row_bytes,
                                       .next = part,
                                       .x = x,
                                       .sum = sums,
                                       .sum_step_bytes = 0};
            memset(sums, 0, (size_t)(n * bytes));
            store->update(&update);
        }
        finish(store, g, l, j, sums, n, bytes);
    }
}

static __attribute__((noinline)) void in_pieces(const tsr_store *store, const tsr_gemm_args *g, long long bytes)
{
    pieces p = {store, g, describe(g, bytes), bytes};
    const int copies = (p.l.x_step != bytes) + (p.l.dots && p.l.step != bytes);
    tsr_with_spare((size_t)(tsr_round_up(piece_of(&p.l) * bytes, 64) + copies * tsr_round_up(g->k * bytes, 64)),
                   run_pieces, &p);
}

/* Sums along K that are D's elements, K along both operands. Values here, not a `line`: the processor waits where it
 * reads two numbers at once that were written one by one. */
static inline int plain_dots(const tsr_store *store, const tsr_gemm_args *g, long long bytes)
{
    const int by_columns = g->n == 1;
    const long long results = by_columns ? g->m : g->n, ld = by_columns ? g->lda : g->ldb;
    const int inner = by_columns ? !g->trans_a || g->lda == 1 : g->trans_b;
    const int x_inner = by_columns ? g->trans_b || g->ldb == 1 : !g->trans_a || g->lda == 1;
    const int d_inner = !by_columns || g->ldd == 1 || results == 1;
    if (is_row(g->k, ld) || !inner || !x_inner || !d_inner || (by_columns && g->trans_a && results > 1) ||
        g->alpha != 1 || g->beta != 0)
        return 0;
    const tsr_dots dots = {.count = results,
                           .k = g->k,
                           .matrix = by_columns ? g->a : g->b,
                           .step_bytes = ld * bytes,
                           .x = by_columns ? g->b : g->a,
                           .sum = g->d};
    store->dots(&dots);
    return 1;
}

int tsr_gemv_fits(const tsr_gemm_args *g, long long bytes)
{
    const line l = describe(g, bytes);
    return (double)l.results * (double)g->k * (double)bytes < MOST_BYTES &&
           (g->k <= GATHER_ELEMS || (l.x_step == bytes && (!l.dots || l.step == bytes)));
}

void tsr_gemv(const tsr_tiles *tiles, const tsr_store *store, const tsr_gemm_args *g, tsr_dtype dtype)
{
    const long long bytes = tsr_wide_bytes(dtype);
    if (plain_dots(store, g, bytes) ||
        (g->k >= 2 * TSR_LEAST_CHAIN &&
         tsr_skinny_chains(store, g, g->n == 1 ? TSR_SHAPE_COLUMNS : TSR_SHAPE_ROWS, dtype)))
        return;
    const line l = describe(g, bytes);
    if (!l.dots && tsr_is_tiled_row(tiles, l.results, g->k) && l.d_step == bytes && (!l.c || l.c_step == bytes))
        row_of_tiles(tiles, g, &l, bytes);
    else if (!l.dots && g->k <= TSR_RANK_K_STEPS && !l.c && l.d_step == bytes)
        few_steps(store, g, &l, bytes);
    else
        in_pieces(store, g, bytes); /* which describes it again: nobody asks for the address of l, so it is registers */
}
