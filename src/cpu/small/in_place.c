/* cpu-tiled for small problems: register tiles straight on the caller's matrices. No memory is asked for, no
 * lock taken, unless the larger ones are shared with threads; B is copied to a spare buffer (cpu/spare.h), a panel at a
 * time, where it is transposed or read often. */
#include "cpu/small/in_place.h"
#include "cpu/job.h"
#include "cpu/spare.h"

enum {
    SURE_STEPS = 256,                           /* what few_panels takes */
    MOST_CLAIMS = 4,                            /* parts for each thread, of which whoever is free takes the next */
    LITTLE_PANEL_BYTES = 4096,                  /* with which a product is over before a spare buffer would be found */
    PANEL_BYTES = TSR_MOST_STEPS(256) * 48 * 4, /* of the largest panel: three vectors */
};

/* The operands of one problem. */
typedef struct operands {
    const char *a, *b, *c; /* c: NULL where beta is 0 */
    char *d;
} operands;

/* `count` columns of D from the first, as rows of tiles that write D transposed; A is stored transposed. */
static void transposed_columns(const tsr_tiles *tiles, const tsr_gemm_args *g, long long bytes, const operands *o,
                               long long first, int count)
{
    const long long ldb_bytes = g->ldb * bytes, block = tsr_k_block(tiles->kc, g->k);
    tsr_micro tile = {.a_row_bytes = g->trans_b ? ldb_bytes : bytes,
                      .a_k_bytes = g->trans_b ? bytes : ldb_bytes,
                      .b_k_bytes = g->lda * bytes,
                      .d_row_bytes = g->ldd * bytes,
                      .alpha = g->alpha};
    for (long long i = 0; i < g->m; i += tile.n) {
        tile.n = (int)(g->m - i < 3 * tiles->lanes ? g->m - i : 3 * tiles->lanes);
        tile.beta = g->beta;
        tile.c_row_bytes = g->ldc * bytes;
        tile.d = o->d + i * tile.d_row_bytes + first * bytes;
        tile.c = o->c ? o->c + i * tile.c_row_bytes + first * bytes : NULL;
        for (long long p = 0; p < g->k; p += block) {
            tile.k = g->k - p < block ? g->k - p : block;
            tile.a = o->b + first * tile.a_row_bytes + p * tile.a_k_bytes;
            tile.b = o->a + p * tile.b_k_bytes + i * bytes;
            tsr_tile_of(tiles->transposed, count, tile.n)(&tile);
            tile.beta = 1;
            tile.c = tile.d;
            tile.c_row_bytes = tile.d_row_bytes;
        }
    }
}

/* The same where A is stored as it is. */
static void narrow_columns(const tsr_tiles *tiles, const tsr_store *store, const tsr_gemm_args *g, long long bytes,
                           const operands *o, int count)
{
    const int width = count > 4 ? 8 : 4;
    const long long first = g->n - count, ldb_bytes = g->ldb * bytes, block = tsr_k_block(tiles->kc, g->k);
    _Alignas(64) char panel[TSR_MOST_STEPS(256) * TSR_NARROW_COLUMNS * 8];
    tsr_micro tile = {.k = 0,
                      .a = NULL,
                      .a_row_bytes = g->lda * bytes,
                      .a_k_bytes = bytes,
                      .b = panel,
                      .b_k_bytes = width * bytes,
                      .c = o->c ? o->c + first * bytes : NULL,
                      .c_row_bytes = g->ldc * bytes,
                      .d = o->d + first * bytes,
                      .d_row_bytes = g->ldd * bytes,
                      .alpha = g->alpha,
                      .beta = g->beta,
                      .n = count,
                      .fetch = 0,
                      .ahead_bytes = 0,
                      .past_cache = 0};
    for (long long p = 0; p < g->k; p += block) {
        tile.k = g->k - p < block ? g->k - p : block;
        tile.a = o->a + p * bytes;
        if (g->trans_b)
            store->pack_columns(panel, width, count, tile.k, o->b + first * ldb_bytes + p * bytes, ldb_bytes);
        else
            store->pack_rows(panel, width, count, tile.k, o->b + p * ldb_bytes + first * bytes, ldb_bytes);
        tiles->narrow(&tile, g->m);
        tile.beta = 1;
        tile.c = tile.d;
        tile.c_row_bytes = tile.d_row_bytes;
    }
}

static __attribute__((noinline)) void last_columns(const tsr_tiles *tiles, const tsr_store *store,
                                                   const tsr_gemm_args *g, long long bytes, const operands *o,
                                                   int count)
{
    if (g->trans_a && count > tiles->transposed->rows[2]) {
        transposed_columns(tiles, g, bytes, o, g->n - count, count - count / 2);
        transposed_columns(tiles, g, bytes, o, g->n - count / 2, count / 2);
    } else if (g->trans_a)
        transposed_columns(tiles, g, bytes, o, g->n - count, count);
    else
        narrow_columns(tiles, store, g, bytes, o, count);
}

/* A product of a few steps of K whose B is transposed first. */
static inline __attribute__((always_inline)) void transpose_few_steps(const tsr_store *store, const tsr_gemm_args *g,
                                                                      tsr_traversal traversal, long long bytes,
                                                                      const operands *o, char *panel)
{
    tsr_rank_k rank_k = tsr_rank_k_of(g, traversal, bytes, o->a, o->b, o->d);
    store->pack_columns(panel, (int)g->n, (int)g->n, g->k, o->b, g->ldb * bytes);
    rank_k.b = panel;
    rank_k.b_k_bytes = g->n * bytes;
    store->rank_k(&rank_k);
}

typedef struct transposed_steps {
    const tsr_store *store;
    const tsr_gemm_args *g;
    tsr_traversal traversal;
    long long bytes;
    const operands *o;
} transposed_steps;

static void transpose_in_spare(void *data, char *panel)
{
    const transposed_steps *const t = data;
    transpose_few_steps(t->store, t->g, t->traversal, t->bytes, t->o, panel);
}

static __attribute__((noinline)) void many_transposed(const tsr_store *store, const tsr_gemm_args *g,
                                                      tsr_traversal traversal, long long bytes, const operands *o)
{
    transposed_steps t = {store, g, traversal, bytes, o};
    tsr_with_spare((size_t)(g->n * g->k * bytes), transpose_in_spare, &t);
}

static __attribute__((noinline)) void few_transposed(const tsr_store *store, const tsr_gemm_args *g,
                                                     tsr_traversal traversal, long long bytes, const operands *o)
{
    _Alignas(64) char panel[LITTLE_PANEL_BYTES];
    transpose_few_steps(store, g, traversal, bytes, o, panel);
}

/* 0 if B would have to be transposed and does not fit a spare buffer. */
static inline int few_steps(const tsr_store *store, const tsr_gemm_args *g, tsr_traversal traversal, long long bytes,
                            const operands *o)
{
    if (g->trans_b) {
        if (g->n * g->k * bytes > PANEL_BYTES)
            return 0;
        if (g->n * g->k * bytes <= LITTLE_PANEL_BYTES)
            few_transposed(store, g, traversal, bytes, o);
        else
            many_transposed(store, g, traversal, bytes, o);
    } else {
        const tsr_rank_k rank_k = tsr_rank_k_of(g, traversal, bytes, o->a, o->b, o->d);
        store->rank_k(&rank_k);
    }
    return 1;
}

/* From a row, or a column, of a tile to the next one, in bytes. */
typedef struct strides {
    long long d_row, d_column, c_row, c_column;
} strides;

/* m x n elements of D, as many columns at a time as a tile has; `tile` is the first one but for its columns. */
static inline __attribute__((always_inline)) void run_panels(const tsr_tiles *tiles, tsr_micro *tile, const strides *s,
                                                             long long m, long long n, long long bytes)
{
    const char *const a = tile->a, *b = tile->b, *c = tile->c;
    char *d = tile->d;
    for (long long j = 0; j < n; j += tile->n) {
        tile->n = tsr_panel_columns(tiles, m, tile->k, n - j);
        tile->a = a;
        tile->b = b + j * bytes;
        tile->c = c ? c + j * s->c_column : NULL;
        tile->d = d + j * s->d_column;
        const tsr_cut cut = tsr_cut_rows(tiles, tile->n, tile->k, m);
        tsr_cut_run(&cut, tile, s->d_row, s->c_row);
    }
}

/* The same where B is copied first, and transposed if need be. */
typedef struct copied_panels {
    const tsr_tiles *tiles;
    const tsr_store *store;
    tsr_micro *tile;
    const strides *s;
    long long m, n, bytes;
    int trans_b;
} copied_panels;

static void copy_and_run(void *data, char *panel)
{
    const copied_panels *const p = data;
    const tsr_tiles *const tiles = p->tiles;
    tsr_micro *const tile = p->tile;
    const long long ldb_bytes = tile->b_k_bytes, bytes = p->bytes;
    const char *const a = tile->a, *b = tile->b, *c = tile->c;
    char *d = tile->d;
    for (long long j = 0; j < p->n; j += tile->n) {
        tile->n = tsr_panel_columns(tiles, p->m, tile->k, p->n - j);
        const int width = tsr_vectors_of(tiles, tile->n) * tiles->lanes;
        if (p->trans_b)
            p->store->pack_columns(panel, width, tile->n, tile->k, b + j * ldb_bytes, ldb_bytes);
        else
            p->store->pack_rows(panel, width, tile->n, tile->k, b + j * bytes, ldb_bytes);
        tile->a = a;
        tile->b = panel;
        tile->b_k_bytes = width * bytes;
        tile->c = c ? c + j * p->s->c_column : NULL;
        tile->d = d + j * p->s->d_column;
        const tsr_cut cut = tsr_cut_rows(tiles, tile->n, tile->k, p->m);
        tsr_cut_run(&cut, tile, p->s->d_row, p->s->c_row);
    }
}

static void run_copied_panels(const copied_panels *p)
{
    const long long widest = 3LL * p->tiles->lanes, columns = tsr_round_up(p->n, p->tiles->lanes);
    tsr_with_spare((size_t)((columns < widest ? columns : widest) * p->tile->k * p->bytes), copy_and_run,
                   (void *)(uintptr_t)p);
}

static void multiply_block(const tsr_tiles *tiles, const tsr_store *store, const tsr_gemm_args *g, long long bytes,
                           long long z)
{
    const int transposed = tsr_is_transposed(tiles, g), trans_b = g->trans_b && !transposed;
    const char *a = (const char *)g->a + z * g->batch_a * bytes, *b = (const char *)g->b + z * g->batch_b * bytes;
    const char *c = g->beta != 0 ? (const char *)g->c + z * g->batch_c * bytes : NULL;
    char *d = (char *)g->d + z * g->batch_d * bytes;
    long long m = g->m, n = g->n;
    const tsr_traversal traversal = c ? TSR_BY_TILES : tsr_few_steps_traversal(tiles, g, bytes, transposed);
    if (traversal != TSR_BY_TILES && few_steps(store, g, traversal, bytes, &(operands){a, b, c, d}))
        return;
    if (!transposed) {
        const int last = tsr_tail_columns(tiles, g);
        if (last)
            last_columns(tiles, store, g, bytes, &(operands){a, b, c, d}, last);
        n -= last;
        if (n == 0)
            return;
    }
    tsr_micro tile = tsr_first_tile(g, bytes, transposed, a, b, c, d);
    strides s = {.d_row = tile.d_row_bytes, .d_column = bytes, .c_row = tile.c_row_bytes, .c_column = bytes};
    if (transposed) {
        m = g->n;
        n = g->m;
        s = (strides){.d_row = bytes, .d_column = tile.d_row_bytes, .c_row = bytes, .c_column = tile.c_row_bytes};
        tiles = tiles->transposed;
    }
    if (trans_b || (m > TSR_UNPACKED_ROWS && tile.b_k_bytes % TSR_CONFLICT_BYTES == 0))
        run_copied_panels(&(copied_panels){tiles, store, &tile, &s, m, n, bytes, trans_b});
    else
        run_panels(tiles, &tile, &s, m, n, bytes);
}

/* All steps of K, as many at a time as blocked/blocked.c sums. */
static void multiply(const tsr_tiles *tiles, const tsr_store *store, const tsr_gemm_args *g, long long bytes,
                     long long z)
{
    const long long block = tsr_k_block(tiles->kc, g->k);
    if (block == g->k) {
        multiply_block(tiles, store, g, bytes, z);
        return;
    }
    const char *const a = g->a, *const b = g->b;
    tsr_gemm_args part = *g;
    for (long long p = 0; p < g->k; p += block) {
        part.k = g->k - p < block ? g->k - p : block;
        part.a = a + p * (g->trans_a ? g->lda : 1) * bytes;
        part.b = b + p * (g->trans_b ? 1 : g->ldb) * bytes;
        multiply_block(tiles, store, &part, bytes, z);
        part.beta = 1;
        part.c = g->d;
        part.ldc = g->ldd;
        part.batch_c = g->batch_d;
    }
}

/* A product cut along M or N for a few threads. */
typedef struct shared {
    const tsr_tiles *tiles;
    const tsr_store *store;
    const tsr_gemm_args *args;
    long long bytes, step; /* rows or columns of a part */
    int by_rows;
} shared;

static const void *later(const void *at, long long bytes)
{
    return at ? (const char *)at + bytes : NULL;
}

static void part(void *data, int64_t index, int slot)
{
    const shared *s = data;
    tsr_gemm_args g = *s->args;
    const long long first = index * s->step, bytes = s->bytes;
    (void)slot;
    if (s->by_rows) {
        g.m = g.m - first < s->step ? g.m - first : s->step;
        g.a = later(g.a, first * (g.trans_a ? 1 : g.lda) * bytes);
        g.c = later(g.c, first * g.ldc * bytes);
        g.d = (char *)g.d + first * g.ldd * bytes;
    } else {
        g.n = g.n - first < s->step ? g.n - first : s->step;
        g.b = later(g.b, first * (g.trans_b ? g.ldb : 1) * bytes);
        g.c = later(g.c, first * bytes);
        g.d = (char *)g.d + first * bytes;
    }
    multiply(s->tiles, s->store, &g, bytes, 0);
}

/* 1 if threads that happen to be awake, or could be woken for it, did the product; 0, and nothing was done, if it is
 * too small or there are none. */
static __attribute__((noinline)) int share_some(const tsr_tiles *tiles, const tsr_store *store, const tsr_gemm_args *g,
                                                long long bytes, tsr_pool *pool, int threads)
{
    const long long ops = 2 * g->m * g->n * g->k;
    if (ops <= TSR_ALONE_OPS && !tsr_pool_is_ready(pool, threads, ops * bytes >= TSR_WAKE_WORK))
        return 0;
    /* Each part of rows would transpose B again. */
    shared s = {
        .tiles = tiles, .store = store, .args = g, .bytes = bytes, .by_rows = g->m >= (g->trans_b ? 4 : 1) * g->n};
    const long long most = ops * bytes / TSR_PART_WORK, slots = most < threads ? most : threads,
                    length = s.by_rows ? g->m : g->n;
    const long long claims = most / slots, parts = slots * (claims < MOST_CLAIMS ? claims : MOST_CLAIMS);
    /* Rows are cut anew in each part; columns of less than a tile's width keep the loads too busy. */
    s.step = tsr_round_up((length + parts - 1) / parts, s.by_rows ? 1 : tiles->nr);
    tsr_pool_run(pool, (int)slots, (length + s.step - 1) / s.step, part, &s);
    return 1;
}

static inline int share(const tsr_tiles *tiles, const tsr_store *store, const tsr_gemm_args *g, long long bytes,
                        tsr_pool *pool, int threads)
{
    return threads > 1 && tsr_may_share(g, bytes) && share_some(tiles, store, g, bytes, pool, threads);
}

/* A tile with more steps than are summed at once, as blocked/blocked.c cuts them. */
static __attribute__((noinline)) void long_tile(tsr_micro_run *run, tsr_micro *tile, int kc)
{
    const long long k = tile->k, block = tsr_k_block(kc, k);
    for (long long p = 0; p < k; p += block) {
        tile->k = k - p < block ? k - p : block;
        run(tile);
        tile->a = (const char *)tile->a + block * tile->a_k_bytes;
        tile->b = (const char *)tile->b + block * tile->b_k_bytes;
        tile->beta = 1;
        tile->c = tile->d;
        tile->c_row_bytes = tile->d_row_bytes;
    }
}

/* All of D in one tile; 0 if it does not fit one. */
static inline __attribute__((always_inline)) int one_tile(const tsr_tiles *tiles, const tsr_gemm_args *g,
                                                          long long bytes, const int transposed)
{
    const long long m = transposed ? g->n : g->m, n = transposed ? g->m : g->n;
    tsr_micro_run *const run = tsr_only_tile(tiles, m, n);
    if (!run)
        return 0;
    tsr_micro tile = tsr_first_tile(g, bytes, transposed, g->a, g->b, g->c, g->d);
    tile.n = (int)n;
    tile.fetch = 0;
    if (g->k > tiles->kc)
        long_tile(run, &tile, tiles->kc);
    else
        run(&tile);
    return 1;
}

/* What tsr_cpu_tile does for a plan, M and N above 1, B as stored; 0, and nothing was done: something else is the
 * algorithm, or others may share it. */
static inline __attribute__((always_inline)) int few_panels(const tsr_tiles *tiles, const tsr_store *store,
                                                            const tsr_gemm_args *g, long long bytes)
{
    if (g->m > TSR_SURE_ROWS || g->n > TSR_SURE_COLUMNS || g->k > SURE_STEPS || tsr_may_share(g, bytes))
        return 0;
    const int most_steps =
        g->trans_a ? TSR_RANK_K_DOWN_STEPS : TSR_RANK_K_STEPS; /* with which many rows go one by one */
    if (g->m > TSR_UNPACKED_ROWS && (g->k > most_steps || g->n > 2 * tiles->lanes))
        return 0;
    const void *const c = g->beta != 0 ? g->c : NULL;
    const tsr_traversal traversal = c ? TSR_BY_TILES : tsr_few_steps_traversal(tiles, g, bytes, 0);
    if (traversal != TSR_BY_TILES)
        return few_steps(store, g, traversal, bytes, &(operands){g->a, g->b, NULL, g->d});
    if (g->k > tiles->kc)
        return 0;
    const int last = tsr_tail_columns(tiles, g);
    if (last == g->n)
        last_columns(tiles, store, g, bytes, &(operands){g->a, g->b, c, g->d}, last);
    if (last || g->m > TSR_UNPACKED_ROWS)
        return last == g->n;
    tsr_micro tile = tsr_first_tile(g, bytes, 0, g->a, g->b, c, g->d);
    run_panels(tiles, &tile, &(strides){tile.d_row_bytes, bytes, tile.c_row_bytes, bytes}, g->m, g->n, bytes);
    return 1;
}

void tsr_small_multiply(const tsr_tiles *tiles, const tsr_store *store, const tsr_gemm_args *g, long long element_bytes,
                        tsr_pool *pool, int threads)
{
    if (!g->trans_b ? one_tile(tiles, g, element_bytes, 0) || few_panels(tiles, store, g, element_bytes)
                    : tsr_is_transposed(tiles, g) && one_tile(tiles->transposed, g, element_bytes, 1))
        return;
    if (!share(tiles, store, g, element_bytes, pool, threads))
        multiply(tiles, store, g, element_bytes, 0);
}

void tsr_small_multiply_batch(const tsr_tiles *tiles, const tsr_store *store, const tsr_gemm_args *g,
                              long long element_bytes)
{
    for (long long z = 0; z < g->batch; z++)
        multiply(tiles, store, g, element_bytes, z);
}
