/* cpu-tiled for bf16 where the processor multiplies elements two steps of K at a time (micro.h, tsr_pairs): loops like
 * those of blocked/blocked.c, but K is cut at TSR_PAIRS_KC only, so that nearly always a tile has its whole sums in
 * registers and writes bf16 at once. Where the pairs would take subnormals for zeros, the block is widened instead, by
 * blocked/blocked.c. */
#include "core/error.h"
#include "cpu/job.h"
#include "cpu/small/tile.h"
#include "cpu/spare.h"

enum {
    ALONE_BYTES = 64 * 1024, /* of packed operands of a product that asks for no memory */
    SLAB_BYTES = 4 << 20,    /* of a region's packed B */
    SUMS_REGION = 1024,      /* rows and columns of a region whose sums wait for the next part of K */
    IN_PLACE_COLUMNS = 2048, /* up to so many columns A is read where it lies; */
    FEW_COLUMNS = 96,        /* or so many, where its rows push each other out of the cache */
    IN_PLACE_ROWS = 240,     /* of such an A that are looked through, and then multiplied */
    LEAST_MC = 24,           /* rows of a block of A */
    MOST_MC = 960,           /*   that is packed */
    PACK_ROWS = 8,           /* rows of a stored matrix that are packed together */
    MIN_TASK_OPS = 24 << 20  /* of a task for a thread: twice blocked/blocked.c's, as pairs are twice as fast */
};

/* Rows of A as tiles read them. */
typedef struct view {
    const char *at;
    long long group_bytes, row_bytes, pair_bytes; /* from one packed group of mr rows to the next; 0: in place */
    unsigned lowest;
} view;

typedef struct pairs_blocks {
    const tsr_job *job;
    const tsr_pairs *pairs;
    long long kc, mc; /* steps of K and rows of A of a block */
    tsr_regions regions;
    int in_place; /* tiles read A where it lies */
    long long tasks;
    int slots; /* threads at most */
    size_t a_bytes, b_bytes, sum_bytes, slot_bytes;
    char *scratch;
} pairs_blocks;

/* 1 if a region's sums wait in memory: for the next part of K, for a form, which is added before they are rounded, or
 * as what is asked for. */
static int keeps_sums(const pairs_blocks *n)
{
    const tsr_job *const job = n->job;
    return n->kc < job->args->k || job->args->epilogue != TSR_EPILOGUE_NONE || job->end != job->store;
}

typedef struct region {
    long long i0, i1, j0, j1;
    const char *a, *b, *c; /* of this problem of the batch, element (0, 0) */
    char *d;
    char *a_buffer, *b_buffer, *sums, *widening;
} region;

static long long least(long long a, long long b)
{
    return a < b ? a : b;
}

static unsigned lower(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Packs the panels of `steps` steps of `span` rows of A, of one height, or columns of B, the last panel wider.
 * k_inner: K runs along the stored rows. */
static unsigned pack(const tsr_pairs *pairs, char *to, int is_b, int k_inner, const char *from, long long ld_bytes,
                     long long span, long long steps)
{
    const tsr_tiles *tiles = &pairs->tiles;
    const int one_panel = span <= (is_b ? 3 * tiles->lanes : tiles->mr);
    const long long chunk = k_inner || one_panel ? steps : PACK_ROWS, panel_bytes = (steps + 1) / 2 * 4;
    unsigned lowest = 0xffff;
    for (long long q = 0; q < steps; q += chunk) {
        const long long some = least(chunk, steps - q);
        for (long long i = 0, n; i < span; i += n) {
            n = is_b ? tsr_panel_columns(tiles, tiles->mr, 1, span - i) : least(tiles->mr, span - i);
            const int width = is_b ? tsr_vectors_of(tiles, n) * tiles->lanes : tiles->mr;
            char *const at = to + i * panel_bytes + q / 2 * width * 4;
            lowest = lower(lowest,
                           k_inner ? pairs->pack_columns(at, width, (int)n, some, from + i * ld_bytes, ld_bytes)
                                   : pairs->pack_rows(at, width, (int)n, some, from + q * ld_bytes + i * 2, ld_bytes));
        }
    }
    return lowest;
}

/* Bytes of packed panels: of A, and of B. */
static long long packed_a_bytes(const tsr_pairs *pairs, long long rows, long long steps)
{
    return tsr_round_up(rows, pairs->tiles.mr) * ((steps + 1) / 2 * 4);
}

static long long packed_b_bytes(const tsr_pairs *pairs, long long columns, long long steps)
{
    return tsr_round_up(columns, pairs->tiles.lanes) * ((steps + 1) / 2 * 4);
}

static int reads_in_place(const tsr_gemm_args *g, long long columns)
{
    return !g->trans_a && g->k % 2 == 0 &&
           columns <= (g->lda * 2 % TSR_L1_WAY_BYTES == 0 ? FEW_COLUMNS : IN_PLACE_COLUMNS);
}

/* `rows` rows of A, of which `from` is the first element of the part of K. */
static view view_of(const tsr_pairs *pairs, const tsr_gemm_args *g, int in_place, char *buffer, const char *from,
                    long long rows, long long steps)
{
    const long long lda_bytes = g->lda * 2;
    if (in_place)
        return (view){from, 0, lda_bytes, 4, pairs->lowest(from, rows, steps, lda_bytes)};
    const unsigned lowest = pack(pairs, buffer, 0, !g->trans_a, from, lda_bytes, rows, steps);
    const int mr = pairs->tiles.mr;
    return (view){buffer, mr * ((steps + 1) / 2 * 4), 4, mr * 4, lowest};
}

/* One panel of B times all rows; `tile` is the first one's, with D and C of `bytes` an element. */
static void panel(const tsr_tiles *tiles, tsr_micro tile, const view *a, long long rows)
{
    if (a->group_bytes == 0) {
        const tsr_cut cut = tsr_cut_rows(tiles, tile.n, tile.k, rows);
        tsr_cut_run(&cut, &tile, tile.d_row_bytes, tile.c_row_bytes);
        return;
    }
    const int mr = tiles->mr;
    const tsr_cut whole = tsr_cut_rows(tiles, tile.n, TSR_SHORT_K + 1, mr);
    for (long long i = 0; i < rows; i += mr) {
        const long long some = least(mr, rows - i);
        const tsr_cut cut = some == mr ? whole : tsr_cut_rows(tiles, tile.n, TSR_SHORT_K + 1, some);
        tile.a = a->at + i / mr * a->group_bytes;
        tsr_cut_run(&cut, &tile, tile.d_row_bytes, tile.c_row_bytes);
    }
}

/* Rows of A times packed columns of B; `tile` has the addresses of the first element of D and C. */
static void multiply(const tsr_tiles *tiles, tsr_micro tile, const view *a, long long rows, const char *b,
                     long long columns, int d_bytes)
{
    tile.a = a->at;
    tile.a_row_bytes = a->row_bytes;
    tile.a_k_bytes = a->pair_bytes;
    tile.b = b;
    for (long long j = 0; j < columns; j += tile.n) {
        tile.n = tsr_panel_columns(tiles, tiles->mr, 1, columns - j);
        tile.b_k_bytes = (long long)tsr_vectors_of(tiles, tile.n) * tiles->lanes * 4;
        panel(tiles, tile, a, rows);
        tile.b = (const char *)tile.b + tile.b_k_bytes * tile.k;
        tile.c = tile.c ? (const char *)tile.c + tile.n * d_bytes : NULL;
        tile.d = (char *)tile.d + tile.n * d_bytes;
    }
}

/* Tiles that write D itself. */
static tsr_micro tile_of_d(const tsr_gemm_args *g, const char *c, char *d, long long steps)
{
    return (tsr_micro){.k = (steps + 1) / 2,
                       .c = g->beta != 0 ? c : NULL,
                       .c_row_bytes = g->ldc * 2,
                       .d = d,
                       .d_row_bytes = g->ldd * 2,
                       .alpha = g->alpha,
                       .beta = g->beta};
}

typedef struct alone {
    const tsr_job *job;
    int in_place;
    long long a_bytes; /* of packed A, in front of B's */
    int done;
} alone;

static void multiply_alone(void *data, char *packed)
{
    alone *const p = data;
    const tsr_gemm_args *g = p->job->args;
    const tsr_cpu_device *cpu = p->job->device->impl;
    const tsr_pairs *pairs = cpu->pairs;
    char *const packed_b = packed + p->a_bytes;
    const unsigned lowest_b = pack(pairs, packed_b, 1, g->trans_b, g->b, g->ldb * 2, g->n, g->k);
    const view a = view_of(pairs, g, p->in_place, packed, g->a, g->m, g->k);
    p->done = tsr_pairs_are_exact(a.lowest, lowest_b);
    if (p->done)
        multiply(&pairs->narrow, tile_of_d(g, g->c, g->d, g->k), &a, g->m, packed_b, g->n, 2);
}

int tsr_pairs_alone(const tsr_job *job)
{
    const tsr_gemm_args *g = job->args;
    const tsr_cpu_device *cpu = job->device->impl;
    alone p = {.job = job, .in_place = reads_in_place(g, g->n)};
    p.a_bytes = p.in_place ? 0 : tsr_round_up(packed_a_bytes(cpu->pairs, g->m, g->k), 64);
    const long long bytes = p.a_bytes + packed_b_bytes(cpu->pairs, g->n, g->k);
    if (g->k > TSR_PAIRS_KC || bytes > ALONE_BYTES)
        return 0;
    tsr_with_spare((size_t)bytes, multiply_alone, &p);
    return p.done;
}

/* Address of element (i, p) of A, (p, j) of B, (i, j) of C and D. */
static const char *at_a(const tsr_gemm_args *g, const char *a, long long i, long long p)
{
    return a + 2 * (g->trans_a ? p * g->lda + i : i * g->lda + p);
}

static const char *at_b(const tsr_gemm_args *g, const char *b, long long p, long long j)
{
    return b + 2 * (g->trans_b ? j * g->ldb + p : p * g->ldb + j);
}

/* Rows i .. i + rows of the region by widened elements, all of K. */
static void widen(const pairs_blocks *n, const region *r, long long i, long long rows)
{
    tsr_job job = *n->job;
    tsr_gemm_args g = *n->job->args;
    g.batch = 1;
    g.m = rows;
    g.n = r->j1 - r->j0;
    g.a = at_a(&g, r->a, i, 0);
    g.b = at_b(&g, r->b, 0, r->j0);
    g.c = r->c ? r->c + (i * g.ldc + r->j0) * job.d_bytes : NULL;
    g.d = r->d + (i * g.ldd + r->j0) * job.d_bytes;
    g.bias = g.bias ? (const char *)g.bias + r->j0 * 2 : NULL;
    job.args = &g;
    tsr_blocked_in(&job, r->widening);
}

/* All of K in one part. */
static void whole_region(const pairs_blocks *n, const region *r)
{
    const tsr_gemm_args *g = n->job->args;
    const long long columns = r->j1 - r->j0;
    const unsigned lowest_b =
        pack(n->pairs, r->b_buffer, 1, g->trans_b, at_b(g, r->b, 0, r->j0), g->ldb * 2, columns, g->k);
    for (long long i = r->i0; i < r->i1; i += n->mc) {
        const long long rows = least(n->mc, r->i1 - i);
        const view a = view_of(n->pairs, g, n->in_place, r->a_buffer, at_a(g, r->a, i, 0), rows, g->k);
        if (!tsr_pairs_are_exact(a.lowest, lowest_b)) {
            widen(n, r, i, rows);
            continue;
        }
        const char *c = r->c ? r->c + (i * g->ldc + r->j0) * 2 : NULL;
        multiply(&n->pairs->narrow, tile_of_d(g, c, r->d + (i * g->ldd + r->j0) * 2, g->k), &a, rows, r->b_buffer,
                 columns, 2);
    }
}

/* K in parts, or a form to come: sums wait in memory. 0 if pairs may not multiply the region; nothing of D was written
 * then. */
static int sum_parts(const pairs_blocks *n, const region *r)
{
    const tsr_gemm_args *g = n->job->args;
    const long long columns = r->j1 - r->j0, sum_row_bytes = n->regions.n * 4;
    for (long long p = 0; p < g->k; p += n->kc) {
        const long long steps = least(n->kc, g->k - p);
        const unsigned lowest_b =
            pack(n->pairs, r->b_buffer, 1, g->trans_b, at_b(g, r->b, p, r->j0), g->ldb * 2, columns, steps);
        for (long long i = r->i0; i < r->i1; i += n->mc) {
            const long long rows = least(n->mc, r->i1 - i);
            const view a = view_of(n->pairs, g, n->in_place, r->a_buffer, at_a(g, r->a, i, p), rows, steps);
            char *const sums = r->sums + (i - r->i0) * sum_row_bytes;
            const tsr_micro tile = {.k = (steps + 1) / 2,
                                    .c = p > 0 ? sums : NULL,
                                    .c_row_bytes = sum_row_bytes,
                                    .d = sums,
                                    .d_row_bytes = sum_row_bytes,
                                    .alpha = 1,
                                    .beta = p > 0};
            if (!tsr_pairs_are_exact(a.lowest, lowest_b))
                return 0;
            multiply(&n->pairs->tiles, tile, &a, rows, r->b_buffer, columns, 4);
        }
    }
    return 1;
}

static void region_in_parts(const pairs_blocks *n, const region *r)
{
    const tsr_gemm_args *g = n->job->args;
    const int d_bytes = n->job->d_bytes;
    if (!sum_parts(n, r)) {
        for (long long i = r->i0; i < r->i1; i += n->mc)
            widen(n, r, i, least(n->mc, r->i1 - i));
        return;
    }
    for (long long i = r->i0; i < r->i1; i++)
        tsr_finish(n->job->end, g, r->d + (i * g->ldd + r->j0) * d_bytes,
                   r->c ? r->c + (i * g->ldc + r->j0) * d_bytes : NULL, r->sums + (i - r->i0) * n->regions.n * 4, r->j0,
                   r->j1 - r->j0, d_bytes);
}

static void task(void *data, int64_t index, int slot)
{
    const pairs_blocks *n = data;
    const tsr_gemm_args *g = n->job->args;
    const long long per_problem = n->regions.grid_m * n->regions.grid_n, z = index / per_problem;
    const long long at = index % per_problem;
    region r = {.i0 = at % n->regions.grid_m * n->regions.m, .j0 = at / n->regions.grid_m * n->regions.n};
    r.i1 = least(r.i0 + n->regions.m, g->m);
    r.j1 = least(r.j0 + n->regions.n, g->n);
    r.a = (const char *)g->a + z * g->batch_a * 2;
    r.b = (const char *)g->b + z * g->batch_b * 2;
    r.c = g->beta != 0 ? (const char *)g->c + z * g->batch_c * n->job->d_bytes : NULL;
    r.d = (char *)g->d + z * g->batch_d * n->job->d_bytes;
    r.a_buffer = n->scratch + (size_t)slot * n->slot_bytes;
    r.b_buffer = r.a_buffer + n->a_bytes;
    r.sums = r.b_buffer + n->b_bytes;
    r.widening = r.sums + n->sum_bytes;
    if (keeps_sums(n))
        region_in_parts(n, &r);
    else
        whole_region(n, &r);
}

/* Rows of a block: a region's rows in equal parts, as few as leave a packed block a quarter of L2. */
static long long rows_of_block(const pairs_blocks *n)
{
    const int mr = n->pairs->tiles.mr;
    const long long rows = least(n->regions.m, n->job->args->m);
    long long most = n->job->device->l2_bytes / 4 / (n->kc * 2) / mr * mr;
    most = most < LEAST_MC ? LEAST_MC : least(most, n->in_place ? IN_PLACE_ROWS : MOST_MC);
    const long long parts = (rows + most - 1) / most;
    return tsr_round_up((rows + parts - 1) / parts, mr);
}

static size_t aligned(long long bytes)
{
    return (size_t)tsr_round_up(bytes, 64);
}

/* How the job is cut where threads are `awake`, and the memory that takes. */
static pairs_blocks plan_pairs(const tsr_job *job, int awake)
{
    const tsr_gemm_args *g = job->args;
    const tsr_cpu_device *cpu = job->device->impl;
    pairs_blocks n = {.job = job, .pairs = cpu->pairs, .kc = tsr_job_k_block(job)};
    const tsr_tiles *tiles = &n.pairs->tiles;
    const int in_parts = keeps_sums(&n);
    const double ops = 2.0 * (double)g->m * (double)g->n * (double)g->k * (double)g->batch;
    const int threads = ops < 2.0 * MIN_TASK_OPS ? 1 : job->threads;
    long long columns = SLAB_BYTES / (n.kc * 2) / tiles->nr * tiles->nr;
    columns = in_parts ? least(columns, SUMS_REGION) : columns;
    n.regions.m = in_parts ? least(g->m, SUMS_REGION) : g->m;
    n.regions.n = least(g->n, columns);
    tsr_cut_regions(job, tiles, threads, awake, MIN_TASK_OPS, &n.regions);
    columns = least(n.regions.n, g->n);
    n.in_place = reads_in_place(g, columns);
    n.mc = rows_of_block(&n);
    tsr_gemm_args block = *g;
    block.m = least(n.mc, g->m);
    block.n = columns;
    tsr_job widened = *job;
    widened.args = &block;
    n.a_bytes = n.in_place ? 0 : aligned(packed_a_bytes(n.pairs, block.m, n.kc));
    n.b_bytes = aligned(packed_b_bytes(n.pairs, columns, n.kc));
    n.sum_bytes = in_parts ? aligned(n.regions.m * n.regions.n * 4) : 0;
    n.slot_bytes = (n.a_bytes + n.b_bytes + n.sum_bytes + 4095) / 4096 * 4096 + tsr_blocked_most_bytes(&widened);
    n.tasks = n.regions.grid_m * n.regions.grid_n * g->batch;
    n.slots = (int)least(threads, n.tasks);
    return n;
}

tsr_status tsr_blocked_pairs(const tsr_job *job)
{
    tsr_cpu_device *const cpu = job->device->impl;
    pairs_blocks n = plan_pairs(job, tsr_job_is_awake(job));
    size_t bytes = n.slot_bytes * (size_t)n.slots;
    for (int awake = 0; awake < 2 && tsr_job_rehearses(job); awake++) {
        const pairs_blocks other = plan_pairs(job, awake);
        const size_t other_bytes = other.slot_bytes * (size_t)other.slots;
        bytes = other_bytes > bytes ? other_bytes : bytes;
    }
    n.scratch = tsr_job_take(job, bytes);
    if (!n.scratch)
        return tsr_fail(TSR_OUT_OF_MEMORY, "no memory for packing: %zu bytes", bytes);
    if (!tsr_job_rehearses(job))
        tsr_pool_run(&cpu->pool, n.slots, n.tasks, task, &n);
    tsr_job_give(job, n.scratch);
    return TSR_OK;
}
