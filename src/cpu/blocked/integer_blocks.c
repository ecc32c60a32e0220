/* cpu-tiled for 8-bit integers, the blocked loops: those of blocked/blocked.c around tiles that take two steps of K at
 * a time. Both operands are always packed, since tiles read 16-bit elements.
 *
 *   region   rows x columns of D: a task; the columns' slab of packed B, KC steps deep, stays in L2
 *     p      KC steps of K; a panel of B stays in L1
 *       i    mc rows: the block of A stays in L2 too
 *         j  a panel of B; down the block, tile after tile
 */
#include "core/error.h"
#include "cpu/integers.h"

enum {
    KC = 512,               /* a panel of B is half of an L1 of 32 KiB */
    PART_OF_L2 = 4,         /* that a block of A takes, */
    SLAB_OF_L2 = 2,         /* and a slab of B */
    LEAST_ROWS = 96,        /* of a block of A */
    LEAST_COLUMNS = 128,    /* of a slab */
    MOST_COLUMNS = 4096,    /* where K is short */
    SUMS_ROWS = 512,        /* of a region whose sums wait beside it */
    SUMS_COLUMNS = 1024,    /* the same */
    PACK_STEPS = 8,         /* that are packed along all panels, as long streams */
    ROW_SLACK = 32,         /* elements between rows of A: rows a power of two apart share sets of L1 */
    MIN_TASK_OPS = 24 << 20 /* as for pairs of bf16 */
};

typedef struct blocks {
    const tsr_integer_job *job;
    long long kc, mc;
    tsr_regions regions;
    size_t a_bytes, b_bytes, sum_bytes, slot_bytes;
    int has_bias;
    char *scratch;
} blocks;

typedef struct region {
    long long z, i0, i1, j0, j1;
    int16_t *a_buffer, *b_buffer;
    int32_t *sums; /* rows of regions.n; NULL: D has them */
    tsr_integer_end end;
} region;

/* A block of A as tiles read it. */
typedef struct view {
    const int16_t *at;
    long long group, row, pair; /* elements from panel to panel (0: none), from row to row, from pair to pair */
} view;

static long long least(long long a, long long b)
{
    return a < b ? a : b;
}

static long long pairs_of(long long steps)
{
    return (steps + 1) / 2;
}

/* Elements of a packed panel, with what packing writes behind it. */
static long long panel_elements(int width, int lanes, long long steps)
{
    return pairs_of(steps) * width * 2 + (width % lanes ? TSR_INTEGER_SLACK / (long long)sizeof(int16_t) : 0);
}

static long long row_elements(const tsr_tiles *tiles, long long steps)
{
    return tsr_round_up(steps, 2 * tiles->lanes) + ROW_SLACK;
}

/* Subtracts zero points from a packed panel, but from no step behind the last. A vector is in an order of its own,
 * which is that of pairs of zero points packed alike. */
static void subtract_from_panel(const tsr_integers *code, const tsr_bytes *operand, long long z, long long outer, int n,
                                int width, long long steps, int16_t *panel)
{
    enum { MOST_WIDTH = 32 };
    int16_t both[2 * MOST_WIDTH + TSR_INTEGER_SLACK], one[2 * MOST_WIDTH + TSR_INTEGER_SLACK];
    uint8_t zeros[2][MOST_WIDTH] = {{0}};
    for (int j = 0; j < n; j++)
        zeros[0][j] = zeros[1][j] = (uint8_t)tsr_byte_zero(operand, z, outer + j);
    code->pack_rows(both, width, MOST_WIDTH, 2, zeros, MOST_WIDTH, operand->is_signed);
    code->pack_rows(one, width, MOST_WIDTH, 1, zeros, MOST_WIDTH, operand->is_signed);
    for (long long p = 0; p < steps; p += 2, panel += 2 * width)
        for (int x = 0; x < 2 * width; x++)
            panel[x] = (int16_t)(panel[x] - (p + 1 < steps ? both : one)[x]);
}

/* Packs panels of rows of A or columns of B outer .. outer + span - 1, steps p .. p + steps - 1. k_inner: K runs along
 * the stored rows. `total` of A's rows or B's columns exist. */
static void pack(const tsr_integer_job *job, const tsr_bytes *operand, int width, int k_inner, long long z,
                 long long outer, long long span, long long total, long long p, long long steps, int16_t *to)
{
    const tsr_integers *const code = job->code;
    const uint8_t *const from =
        operand->at + z * operand->batch + (k_inner ? outer * operand->ld + p : p * operand->ld + outer);
    const long long elements = panel_elements(width, code->tiles.lanes, steps);
    const long long chunk = k_inner || span <= width ? steps : PACK_STEPS;
    for (long long q = 0; q < steps; q += chunk)
        for (long long i = 0; i < span; i += width) {
            int16_t *const at = to + i / width * elements + q * width;
            if (k_inner)
                code->pack_columns(at, width, least(width, span - i), steps, from + i * operand->ld, operand->ld,
                                   operand->is_signed);
            else
                code->pack_rows(at, width, total - outer - i, least(chunk, steps - q), from + q * operand->ld + i,
                                operand->ld, operand->is_signed);
        }
    for (long long i = 0; operand->zeros && i < span; i += width)
        subtract_from_panel(code, operand, z, outer + i, (int)least(width, span - i), width, steps,
                            to + i / width * elements);
}

/* Rows i .. i + rows - 1 of A. Where K runs along them they are widened as they lie, since tiles read A with strides;
 * what lies behind their last step meets zeros of B. */
static view view_a(const blocks *n, const region *r, long long i, long long rows, long long p, long long steps)
{
    const tsr_integer_job *const job = n->job;
    const tsr_gemm_args *const g = job->job->args;
    const tsr_tiles *const tiles = &job->code->tiles;
    if (g->trans_a) {
        pack(job, &job->a, tiles->mr, 0, r->z, i, rows, g->m, p, steps, r->a_buffer);
        return (view){r->a_buffer, panel_elements(tiles->mr, tiles->lanes, steps), 2, 2LL * tiles->mr};
    }
    const long long to_row = row_elements(tiles, steps);
    job->code->widen_rows(r->a_buffer, to_row, rows, steps, job->a.at + r->z * job->a.batch + i * job->a.ld + p,
                          job->a.ld, job->a.is_signed);
    for (long long x = 0; job->a.zeros && x < rows; x++) {
        const int16_t zero = tsr_byte_zero(&job->a, r->z, i + x);
        for (long long q = 0; q < steps; q++)
            r->a_buffer[x * to_row + q] = (int16_t)(r->a_buffer[x * to_row + q] - zero);
    }
    return (view){r->a_buffer, 0, to_row, 2};
}

/* A panel of B down a block of A; `tile` is the first one's. */
static void panel(const tsr_tiles *tiles, tsr_micro tile, const view *a, long long rows)
{
    char *const d = tile.d;
    const char *const c = tile.c;
    const long long tiles_down = (rows + tiles->mr - 1) / tiles->mr;
    const long long step = a->group ? tiles->mr : (rows + tiles_down - 1) / tiles_down;
    for (long long i = 0; i < rows; i += step) {
        tile.a = a->at + (a->group ? i / step * a->group : i * a->row);
        tile.d = d + i * tile.d_row_bytes;
        tile.c = c ? c + i * tile.c_row_bytes : NULL;
        tsr_tile_of(tiles, least(step, rows - i), tile.n)(&tile);
    }
}

/* Rows of A times the region's columns. */
static void block(const blocks *n, const region *r, long long i, long long p, long long steps)
{
    const tsr_integer_job *const job = n->job;
    const tsr_gemm_args *const g = job->job->args;
    const tsr_tiles *const tiles = &job->code->tiles;
    const long long rows = least(n->mc, r->i1 - i), columns = r->j1 - r->j0;
    const view a = view_a(n, r, i, rows, p, steps);
    const long long d_row = r->sums ? n->regions.n : g->ldd;
    int32_t *const d = r->sums ? r->sums + (i - r->i0) * d_row : (int32_t *)r->end.d + i * d_row + r->j0;
    const int32_t *c = d;
    tsr_micro tile = {.k = pairs_of(steps),
                      .a_row_bytes = a.row * 2,
                      .a_k_bytes = a.pair * 2,
                      .b_k_bytes = tiles->nr * 4,
                      .d_row_bytes = d_row * 4,
                      .c_row_bytes = d_row * 4,
                      .alpha = r->sums ? 1 : g->alpha,
                      .beta = p > 0,
                      .fetch = 1};
    if (p == 0 && !r->sums && g->beta != 0) {
        c = (const int32_t *)r->end.c + i * g->ldc + r->j0;
        tile.c_row_bytes = g->ldc * 4;
        tile.beta = g->beta;
    }
    const long long elements = panel_elements(tiles->nr, tiles->lanes, steps);
    for (long long j = 0; j < columns; j += tiles->nr) {
        tile.n = (int)least(tiles->nr, columns - j);
        tile.b = r->b_buffer + j / tiles->nr * elements;
        tile.c = tile.beta != 0 ? c + j : NULL;
        tile.d = d + j;
        panel(tiles, tile, &a, rows);
    }
}

static void task(void *data, int64_t index, int slot)
{
    const blocks *const n = data;
    const tsr_integer_job *const job = n->job;
    const tsr_gemm_args *const g = job->job->args;
    const long long per_problem = n->regions.grid_m * n->regions.grid_n, at = index % per_problem;
    char *const buffers = n->scratch + (size_t)slot * n->slot_bytes;
    region r = {.z = index / per_problem,
                .i0 = at % n->regions.grid_m * n->regions.m,
                .j0 = at / n->regions.grid_m * n->regions.n,
                .a_buffer = (int16_t *)(void *)buffers,
                .b_buffer = (int16_t *)(void *)(buffers + n->a_bytes),
                .sums = n->sum_bytes ? (int32_t *)(void *)(buffers + n->a_bytes + n->b_bytes) : NULL};
    r.i1 = least(r.i0 + n->regions.m, g->m);
    r.j1 = least(r.j0 + n->regions.n, g->n);
    r.end = tsr_integer_end_of(
        job, r.z, n->has_bias ? (float *)(void *)(buffers + n->a_bytes + n->b_bytes + n->sum_bytes) : NULL);
    for (long long p = 0; p < g->k; p += n->kc) {
        const long long steps = least(n->kc, g->k - p);
        pack(job, &job->b, job->code->tiles.nr, g->trans_b, r.z, r.j0, r.j1 - r.j0, g->n, p, steps, r.b_buffer);
        for (long long i = r.i0; i < r.i1; i += n->mc)
            block(n, &r, i, p, steps);
    }
    for (long long i = r.i0; r.sums && i < r.i1; i++)
        tsr_integer_end_row(&r.end, i, r.j0, r.j1 - r.j0, r.sums + (i - r.i0) * n->regions.n);
}

/* K, or the rows of a region, in as few equal parts as are no longer than `most`. */
static long long part_of(long long all, long long most, int multiple)
{
    const long long parts = (all + most - 1) / most;
    return tsr_round_up((all + parts - 1) / parts, multiple);
}

static size_t aligned(long long bytes)
{
    return (size_t)tsr_round_up(bytes, 64);
}

static long long clamp(long long x, long long low, long long high)
{
    return x < low ? low : least(x, high);
}

tsr_status tsr_integer_blocks(const tsr_integer_job *job)
{
    const tsr_gemm_args *const g = job->job->args;
    const tsr_tiles *const tiles = &job->code->tiles;
    tsr_cpu_device *const cpu = job->job->device->impl;
    const int waits = job->dtype_d != TSR_S32;
    const double ops = 2.0 * (double)g->m * (double)g->n * (double)g->k * (double)g->batch;
    const int threads = ops < 2.0 * MIN_TASK_OPS ? 1 : job->job->threads;
    blocks n = {.job = job, .kc = part_of(g->k, KC, 2), .has_bias = waits && g->epilogue != TSR_EPILOGUE_NONE};
    const long long l2_steps = job->job->device->l2_bytes / (n.kc * 2); /* rows or columns of one step that fit L2 */
    const long long columns = clamp(l2_steps / SLAB_OF_L2, LEAST_COLUMNS, waits ? SUMS_COLUMNS : MOST_COLUMNS);
    n.regions.m = waits ? least(g->m, SUMS_ROWS) : g->m;
    n.regions.n = part_of(g->n, columns, tiles->nr);
    tsr_cut_regions(job->job, tiles, threads, MIN_TASK_OPS, &n.regions);
    n.mc = part_of(least(n.regions.m, g->m), clamp(l2_steps / PART_OF_L2, LEAST_ROWS, MOST_COLUMNS), tiles->mr);
    n.a_bytes = aligned(2 * (g->trans_a ? n.mc / tiles->mr * panel_elements(tiles->mr, tiles->lanes, n.kc)
                                        : n.mc * row_elements(tiles, n.kc)));
    n.b_bytes = aligned(2 * (n.regions.n / tiles->nr) * panel_elements(tiles->nr, tiles->lanes, n.kc));
    n.sum_bytes = waits ? aligned(n.regions.m * n.regions.n * 4) : 0;
    n.slot_bytes =
        (size_t)tsr_round_up((long long)(n.a_bytes + n.b_bytes + n.sum_bytes) + (n.has_bias ? g->n * 4 : 0), 4096);
    const long long tasks = n.regions.grid_m * n.regions.grid_n * g->batch;
    const int slots = (int)least(threads, tasks);
    n.scratch = tsr_scratch_take(&cpu->scratch, n.slot_bytes * (size_t)slots);
    if (!n.scratch)
        return tsr_fail(TSR_OUT_OF_MEMORY, "no memory for packing: %zu bytes", n.slot_bytes * (size_t)slots);
    tsr_pool_run(&cpu->pool, slots, tasks, task, &n);
    tsr_scratch_give(&cpu->scratch, n.scratch);
    return TSR_OK;
}
