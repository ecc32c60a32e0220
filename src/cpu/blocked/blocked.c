/* cpu-tiled where M and N exceed 1: loops that cut the product into blocks for each level of the memory.
 *
 *   region   rows x columns of D         a task; tasks are shared among threads; all of K: how the work is shared never
 *                                        changes a sum
 *   p        kc steps of K               one panel of B (kc x nr) stays in L1
 *   i        mc rows                     the block of A (mc x kc) stays in L2
 *   j        nr columns, a panel of B
 *            mr rows, a panel of A       the register tile (micro_tmpl.h)
 *
 * Where packing would cost more than it gives, tiles read A or B where the caller has it. B is packed either in whole
 * slabs (kc x the region's columns), for regions with many rows, or one panel at a time into the stack. */
#include "core/error.h"
#include "cpu/job.h"

enum {
    LEAST_MC = 96,
    MOST_MC = 960,
    DIRECT_A_COLUMNS = 512,
    ALIASED_A_COLUMNS = 128, /* fewer, where A's lines push each other out of L1, */
    ALIASED_A_PANELS = 8,    /* or fewer panels, where A is transposed */
    DIRECT_B_ROWS = 48,
    PACK_ROWS = 8,
    REGION_COLUMNS = 4096,
    NARROW_REGION = 1024,      /* rows and columns of a region of 16-bit elements, whose sums are kept beside it */
    MIN_TASK_OPS = 12 << 20,   /* what is worth waking a thread for */
    AWAKE_TASK_WORK = 8 << 20, /* operations times an element's bytes: for one that is awake */
    AHEAD_BYTES = 512,         /* D asked for before, where K is so short that a tile is over before its lines come */
    LINE_BYTES = 64,
    PART_OF_L3 = 3 /* a D of such a part is not counted on to stay there */
};

/* An operand as tiles read it. */
typedef struct view {
    const char *at;
    long long panel_bytes;         /* from panel to panel */
    long long span_bytes, k_bytes; /* from row to row of A (column to column of B), from step to step of K */
} view;

typedef enum b_mode { B_PACKED, B_DIRECT, B_PANEL, B_SLAB } b_mode;

typedef struct blocks {
    const tsr_job *job;
    long long kc, mc;                             /* steps of K and rows of A between two looks at B, see docs/CPU.md */
    long long region_m, region_n, grid_m, grid_n; /* size and number of regions */
    int a_direct;                                 /* tiles read A where it lies */
    b_mode b;
    int past_cache; /* D is written past the caches, */
    int head;       /* from so many columns on: then its vectors are aligned */
    int narrow;     /* results are kept in the compute type until K is done */
    size_t a_bytes, b_bytes, sum_bytes, slot_bytes;
    char *scratch;
} blocks;

typedef struct region {
    long long i0, i1, j0, j1;
    const char *a, *b, *c; /* of this problem of the batch, element (0, 0) */
    char *d;
    const char *packed_a, *packed_b;
    char *a_buffer, *b_buffer, *sums;
} region;

static long long least(long long a, long long b)
{
    return a < b ? a : b;
}

/* Packs panels of `width` from rows or columns i0 .. i1 of the span. k_inner: K runs along the stored rows. Where it
 * does not, a few stored rows at a time are read along all panels, as long streams. */
static void pack(const tsr_job *job, char *to, int width, int k_inner, const char *from, long long ld_bytes,
                 long long i0, long long i1, long long p, long long steps)
{
    const long long element = job->element_bytes, row_bytes = width * job->wide_bytes;
    const long long chunk = k_inner || i1 - i0 <= width ? steps : PACK_ROWS;
    for (long long q = 0; q < steps; q += chunk) {
        const long long rows = least(chunk, steps - q);
        char *at = to + q * row_bytes;
        for (long long i = i0; i < i1; i += width, at += steps * row_bytes) {
            const int n = (int)least(width, i1 - i);
            if (k_inner)
                job->store->pack_columns(at, width, n, rows, from + i * ld_bytes + (p + q) * element, ld_bytes);
            else
                job->store->pack_rows(at, width, n, rows, from + (p + q) * ld_bytes + i * element, ld_bytes);
            if (job->swapped && to) /* never NULL, but clang-tidy does not see it */
                tsr_swap_steps((float *)(void *)at, width, rows);
        }
    }
}

static view packed_view(const tsr_job *job, const char *at, int width, long long steps)
{
    return (view){at, width * steps * job->wide_bytes, job->wide_bytes, (long long)width * job->wide_bytes};
}

/* A's rows i .. i + rows at step p. */
static view view_a(const blocks *n, const region *r, long long i, long long rows, long long p, long long steps)
{
    const tsr_gemm_args *g = n->job->args;
    const int mr = n->job->tiles->mr;
    const long long element = n->job->element_bytes, ld_bytes = g->lda * element;
    if (r->packed_a) {
        const char *block = r->packed_a + p * tsr_round_up(g->m, mr) * n->job->wide_bytes;
        return packed_view(n->job, block + i * steps * n->job->wide_bytes, mr, steps);
    }
    if (n->a_direct) {
        const long long span = g->trans_a ? element : ld_bytes, k_bytes = g->trans_a ? ld_bytes : element;
        return (view){r->a + i * span + p * k_bytes, 0, span, k_bytes};
    }
    pack(n->job, r->a_buffer, mr, !g->trans_a, r->a, ld_bytes, i, i + rows, p, steps);
    return packed_view(n->job, r->a_buffer, mr, steps);
}

/* B's columns of the region at step p; for B_PANEL only where they lie. */
static view view_b(const blocks *n, const region *r, long long p, long long steps)
{
    const tsr_gemm_args *g = n->job->args;
    const int nr = n->job->tiles->nr;
    const long long element = n->job->element_bytes, ld_bytes = g->ldb * element;
    switch (n->b) {
    case B_PACKED: {
        const char *block = r->packed_b + p * tsr_round_up(g->n, nr) * n->job->wide_bytes;
        return packed_view(n->job, block + r->j0 * steps * n->job->wide_bytes, nr, steps);
    }
    case B_SLAB: {
        const long long head = n->head ? least(n->head, r->j1 - r->j0) : 0;
        if (head)
            pack(n->job, r->b_buffer, nr, g->trans_b, r->b, ld_bytes, r->j0, r->j0 + head, p, steps);
        pack(n->job, r->b_buffer + (head ? nr * steps * n->job->wide_bytes : 0), nr, g->trans_b, r->b, ld_bytes,
             r->j0 + head, r->j1, p, steps);
        return packed_view(n->job, r->b_buffer, nr, steps);
    }
    case B_DIRECT:
        return (view){r->b + p * ld_bytes + r->j0 * element, nr * element, element, ld_bytes};
    case B_PANEL:
        break;
    }
    return (view){0};
}

/* One block of A times one panel of B. */
static void panel(const tsr_tiles *tiles, tsr_micro *tile, const view *a, long long rows, int step)
{
    const char *const c = tile->c;
    char *const d = tile->d;
    for (long long i = 0; i < rows; i += step) {
        const int mr = (int)least(step, rows - i);
        tile->a = a->at + (a->panel_bytes ? i / step * a->panel_bytes : i * a->span_bytes);
        tile->c = c ? c + i * tile->c_row_bytes : NULL;
        tile->d = d + i * tile->d_row_bytes;
        tsr_tile_of(tiles, mr, tile->n)(tile);
    }
}

/* Rows of a tile: the panel's where A is packed, else the largest that cuts the rows into equal tiles. */
static int tile_rows(const tsr_tiles *tiles, const view *a, long long rows)
{
    if (a->panel_bytes)
        return tiles->mr;
    const long long count = (rows + tiles->mr - 1) / tiles->mr;
    return (int)((rows + count - 1) / count);
}

/* D (or the sums) of one block of A and the region's columns of B at step p. */
static void block(const blocks *n, const region *r, const view *b, long long i, long long p, long long steps)
{
    const tsr_job *job = n->job;
    const tsr_gemm_args *g = job->args;
    const tsr_tiles *tiles = job->tiles;
    const long long rows = least(n->mc, r->i1 - i), element = job->element_bytes;
    const view a = view_a(n, r, i, rows, p, steps);
    const int step = tile_rows(tiles, &a, rows);
    char *const panel_of_b = r->b_buffer;
    tsr_micro tile = {.fetch = 1,
                      .ahead_bytes = tsr_is_mostly_results(job, n->kc) ? AHEAD_BYTES : 0,
                      .past_cache = n->past_cache,
                      .k = steps,
                      .a_row_bytes = a.span_bytes,
                      .a_k_bytes = a.k_bytes,
                      .b_k_bytes = b->k_bytes};
    char *d;
    const char *c;
    if (n->narrow) {
        tile.d_row_bytes = tile.c_row_bytes = n->region_n * job->wide_bytes;
        d = r->sums + (i - r->i0) * tile.d_row_bytes;
        c = d;
        tile.alpha = 1;
        tile.beta = p > 0;
    } else {
        tile.d_row_bytes = g->ldd * element;
        tile.c_row_bytes = p > 0 ? tile.d_row_bytes : g->ldc * element;
        d = r->d + i * tile.d_row_bytes + r->j0 * element;
        c = p > 0 ? d : r->c + i * tile.c_row_bytes + r->j0 * element;
        tile.alpha = g->alpha;
        tile.beta = p > 0 ? 1 : g->beta;
    }
    const int forms = g->epilogue != TSR_EPILOGUE_NONE && !n->narrow && p + steps == g->k;
    const char *from = b->at;
    for (long long j = r->j0; j < r->j1; j += tile.n) {
        tile.n = (int)least(j == r->j0 && n->head ? n->head : tiles->nr, r->j1 - j);
        if (n->b == B_PANEL) {
            pack(job, panel_of_b, tiles->nr, g->trans_b, r->b, g->ldb * element, j, j + tile.n, p, steps);
            tile.b = panel_of_b;
            tile.b_k_bytes = (long long)tiles->nr * job->wide_bytes;
        } else {
            tile.b = from;
            from += b->panel_bytes;
        }
        tile.c = tile.beta != 0 ? c + (j - r->j0) * job->wide_bytes : NULL;
        tile.d = d + (j - r->j0) * job->wide_bytes;
        panel(tiles, &tile, &a, rows, step);
        if (forms)
            tsr_form_in_place(job->store, g, d + (j - r->j0) * element, rows, j, tile.n, element);
    }
}

static void finish_region(const blocks *n, const region *r)
{
    const tsr_job *job = n->job;
    const tsr_gemm_args *g = job->args;
    for (long long i = r->i0; i < r->i1; i++) {
        const char *sums = r->sums + (i - r->i0) * n->region_n * job->wide_bytes;
        char *d = r->d + (i * g->ldd + r->j0) * job->d_bytes;
        const char *c = g->beta != 0 ? r->c + (i * g->ldc + r->j0) * job->d_bytes : NULL;
        tsr_finish(job->end, g, d, c, sums, r->j0, r->j1 - r->j0, job->d_bytes);
    }
}

static const char *packed_of(const tsr_job *job, const void *packed, long long z, long long batch, long long span,
                             int width)
{
    if (!packed || batch == 0)
        return packed;
    return (const char *)packed + z * tsr_round_up(span, width) * job->args->k * job->wide_bytes;
}

static void task(void *data, int64_t index, int slot)
{
    const blocks *n = data;
    const tsr_job *job = n->job;
    const tsr_gemm_args *g = job->args;
    const long long per_problem = n->grid_m * n->grid_n, z = index / per_problem, at = index % per_problem;
    const long long element = job->element_bytes;
    region r = {.i0 = at % n->grid_m * n->region_m, .j0 = at / n->grid_m * n->region_n};
    r.i1 = least(r.i0 + n->region_m, g->m);
    r.j1 = least(r.j0 + n->region_n, g->n);
    r.a = job->packed_a ? NULL : (const char *)g->a + z * g->batch_a * element;
    r.b = job->packed_b ? NULL : (const char *)g->b + z * g->batch_b * element;
    r.c = g->beta != 0 ? (const char *)g->c + z * g->batch_c * job->d_bytes : NULL;
    r.d = (char *)g->d + z * g->batch_d * job->d_bytes;
    r.packed_a = packed_of(job, job->packed_a, z, g->batch_a, g->m, job->tiles->mr);
    r.packed_b = packed_of(job, job->packed_b, z, g->batch_b, g->n, job->tiles->nr);
    if (n->scratch) {
        r.a_buffer = n->scratch + (size_t)slot * n->slot_bytes;
        r.b_buffer = r.a_buffer + n->a_bytes;
        r.sums = r.b_buffer + n->b_bytes;
    }
    for (long long p = 0; p < g->k; p += n->kc) {
        const long long steps = least(n->kc, g->k - p);
        const view b = view_b(n, &r, p, steps);
        for (long long i = r.i0; i < r.i1; i += n->mc)
            block(n, &r, &b, i, p, steps);
    }
    if (n->narrow)
        finish_region(n, &r);
    if (n->past_cache)
        TSR_STREAM_END(); /* before another thread hears that the task is done */
}

static int is_worth_waking(const tsr_job *job)
{
    return tsr_work_of(job->args) >= 2.0 * MIN_TASK_OPS;
}

static double least_task_ops(const tsr_job *job)
{
    return is_worth_waking(job) ? MIN_TASK_OPS : (double)AWAKE_TASK_WORK / job->wide_bytes;
}

/* Shorter products only with threads that are awake, or soon will be. */
static int threads_for(const tsr_job *job, tsr_pool *pool)
{
    const double work = tsr_work_of(job->args) * (double)job->wide_bytes;
    if (job->threads == 1 || is_worth_waking(job))
        return job->threads;
    return work >= 2.0 * AWAKE_TASK_WORK && tsr_pool_is_ready(pool, job->threads, work >= TSR_WAKE_WORK) ? job->threads
                                                                                                         : 1;
}

static void cut(blocks *n, int threads, int awake)
{
    const tsr_gemm_args *g = n->job->args;
    tsr_regions r = {.m = n->narrow ? least(g->m, NARROW_REGION) : g->m,
                     .n = least(g->n, n->narrow ? NARROW_REGION : REGION_COLUMNS)};
    tsr_cut_regions(n->job, n->job->tiles, threads, awake, least_task_ops(n->job), &r);
    n->region_m = r.m;
    n->region_n = r.n;
    n->grid_m = r.grid_m;
    n->grid_n = r.grid_n;
}

static long long most_rows_of_block(const tsr_job *job, long long kc)
{
    const int mr = job->tiles->mr;
    const long long most = job->device->l2_bytes / 2 / (kc * job->wide_bytes) / mr * mr;
    return most < LEAST_MC ? LEAST_MC : least(most, MOST_MC);
}

/* Rows of a block: a region's rows in equal parts, as few as leave a block of A half of L2. */
static long long rows_of_block(const blocks *n, long long rows)
{
    const long long most = most_rows_of_block(n->job, n->kc), parts = (rows + most - 1) / most;
    return tsr_round_up((rows + parts - 1) / parts, n->job->tiles->mr);
}

/* Where D is most of what moves, and neither read, for a form either, nor likely to stay in the caches, it is written
 * past them: a line that is written the usual way is read first. Its rows must begin at the same place of a line, and
 * tiles be whole lines. */
static void choose_stores(blocks *n)
{
    const tsr_job *job = n->job;
    const tsr_gemm_args *g = job->args;
    const long long element = job->element_bytes, before = (long long)((uintptr_t)g->d % LINE_BYTES);
    const double bytes = (double)g->m * (double)g->n * (double)element;
    n->past_cache = TSR_STREAMS && !n->narrow && g->epilogue == TSR_EPILOGUE_NONE &&
                    job->tiles->nr * element % LINE_BYTES == 0 && g->beta == 0 && n->kc >= g->k &&
                    bytes * PART_OF_L3 > (double)job->device->l3_bytes && before % element == 0 &&
                    g->ldd * element % LINE_BYTES == 0 && (g->batch == 1 || g->batch_d * element % LINE_BYTES == 0);
    if (n->past_cache && before)
        n->head = (int)((LINE_BYTES - before) / element);
}

/* 1 if what tiles read of an A that is not packed pushes itself, or B, out of L1: many steps of K if it is transposed,
 * else the rows of a tile, where L1 has no more ways than these. */
static int is_aliased(const tsr_job *job)
{
    const tsr_gemm_args *g = job->args;
    const long long ld_bytes = g->lda * job->element_bytes;
    if (g->trans_a)
        return ld_bytes % TSR_CONFLICT_BYTES == 0;
    return ld_bytes % TSR_L1_WAY_BYTES == 0 && job->device->l1_bytes / TSR_L1_WAY_BYTES <= job->tiles->mr;
}

/* Which operands are packed, and the memory that takes. */
static void choose(blocks *n)
{
    const tsr_job *job = n->job;
    const tsr_gemm_args *g = job->args;
    const long long rows = least(n->region_m, g->m), columns = least(n->region_n, g->n);
    n->mc = rows_of_block(n, rows);
    const long long aliased = g->trans_a ? (long long)ALIASED_A_PANELS * job->tiles->nr : ALIASED_A_COLUMNS;
    n->a_direct = !n->narrow && (is_aliased(job) ? columns < aliased : columns <= DIRECT_A_COLUMNS);
    if (job->packed_b)
        n->b = B_PACKED;
    else if (!n->narrow && !g->trans_b && rows <= DIRECT_B_ROWS)
        n->b = B_DIRECT;
    else
        n->b = rows <= n->mc ? B_PANEL : B_SLAB;
    if (tsr_is_mostly_results(job, n->kc) && n->b >= B_PANEL &&
        n->region_n * n->kc * job->wide_bytes <= job->device->l2_bytes / 2) {
        n->b = B_SLAB;
        n->mc = job->tiles->mr;
        choose_stores(n);
    }
    if (!job->packed_a && !n->a_direct)
        n->a_bytes = (size_t)(n->mc * n->kc * job->wide_bytes);
    if (n->b == B_SLAB)
        n->b_bytes = (size_t)((n->region_n + (n->head ? job->tiles->nr : 0)) * n->kc * job->wide_bytes);
    else if (n->b == B_PANEL)
        n->b_bytes = (size_t)(n->kc * job->tiles->nr * job->wide_bytes);
    if (n->narrow)
        n->sum_bytes = (size_t)(n->region_m * n->region_n * job->wide_bytes);
    n->a_bytes = (size_t)tsr_round_up((long long)n->a_bytes, 64);
    size_t slot_bytes = n->a_bytes + n->b_bytes + n->sum_bytes;
    n->slot_bytes = (size_t)tsr_round_up((long long)slot_bytes, 4096);
}

static blocks plan_blocks(const tsr_job *job, int threads, int awake)
{
    blocks n = {.job = job, .kc = tsr_job_k_block(job), .narrow = job->element_bytes != job->wide_bytes};
    cut(&n, threads, awake);
    choose(&n);
    return n;
}

tsr_block_plan tsr_blocked_plan(const tsr_job *job)
{
    tsr_cpu_device *device = job->device->impl;
    const int threads = threads_for(job, &device->pool);
    const blocks n = plan_blocks(job, threads, tsr_job_is_awake(job));
    return (tsr_block_plan){.kc = n.kc,
                            .mc = n.mc,
                            .region_m = n.region_m,
                            .region_n = n.region_n,
                            .grid_m = n.grid_m,
                            .grid_n = n.grid_n,
                            .threads = (int)least(threads, n.grid_m * n.grid_n * job->args->batch),
                            .a_in_place = n.a_direct,
                            .b = n.b == B_PANEL  ? TSR_B_PANELS
                                 : n.b == B_SLAB ? TSR_B_SLABS
                                                 : TSR_B_IN_PLACE,
                            .packed_bytes = n.slot_bytes,
                            .past_cache = n.past_cache};
}

static size_t bytes_of(const blocks *n, int threads)
{
    return n->slot_bytes * (size_t)least(threads, n->grid_m * n->grid_n * n->job->args->batch);
}

/* Whether threads are awake is not known before: with one, or with all of them, in large tasks or in small ones. */
static size_t rehearsed_bytes(const tsr_job *job)
{
    const blocks alone = plan_blocks(job, 1, 0);
    size_t most = bytes_of(&alone, 1);
    for (int awake = 0; awake < 2; awake++) {
        const blocks together = plan_blocks(job, job->threads, awake);
        const size_t bytes = bytes_of(&together, job->threads);
        most = bytes > most ? bytes : most;
    }
    return most;
}

tsr_status tsr_blocked(const tsr_job *job)
{
    const tsr_gemm_args *g = job->args;
    tsr_cpu_device *device = job->device->impl;
    const int threads = threads_for(job, &device->pool);
    blocks n = plan_blocks(job, threads, tsr_job_is_awake(job));
    const long long tasks = n.grid_m * n.grid_n * g->batch;
    const int slots = (int)least(threads, tasks);
    const size_t bytes = tsr_job_rehearses(job) ? rehearsed_bytes(job) : bytes_of(&n, threads);
    if (bytes) {
        n.scratch = tsr_job_take(job, bytes);
        if (!n.scratch)
            return tsr_fail(TSR_OUT_OF_MEMORY, "no memory for packing: %zu bytes", bytes);
    }
    if (!tsr_job_rehearses(job))
        tsr_pool_run(&device->pool, slots, tasks, task, &n);
    if (n.scratch)
        tsr_job_give(job, n.scratch);
    return TSR_OK;
}

/* What choose() may ask for, whatever it packs. */
size_t tsr_blocked_most_bytes(const tsr_job *job)
{
    const tsr_gemm_args *g = job->args;
    const long long kc = tsr_job_k_block(job), wide = job->wide_bytes;
    const long long m = tsr_round_up(g->m, job->tiles->mr), n = tsr_round_up(g->n, job->tiles->nr);
    const long long a = least(m, most_rows_of_block(job, kc)) * kc * wide, b = (n + job->tiles->nr) * kc * wide;
    const long long sums = least(m, NARROW_REGION + job->tiles->mr) * least(n, NARROW_REGION + job->tiles->nr) * wide;
    return (size_t)tsr_round_up(tsr_round_up(a, 64) + b + sums, 4096);
}

void tsr_blocked_in(const tsr_job *job, char *scratch)
{
    blocks n = plan_blocks(job, 1, 0);
    n.scratch = scratch;
    for (long long i = 0; i < n.grid_m * n.grid_n * job->args->batch; i++)
        task(&n, i, 0);
}
