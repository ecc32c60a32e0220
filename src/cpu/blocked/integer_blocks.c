/* cpu-tiled for 8-bit integers, the blocked loops: those of blocked/blocked.c around tiles that take a few steps of K
 * in each 32-bit lane. Both operands are always packed.
 *
 *   pairs   two steps of 16 bits: elements are widened, less their zero points
 *   quads   four steps of 8 bits, where the instruction set has products of u8 by s8. Bytes of A and B have offsets x
 *           and y: 128 or -128 where a sign bit was flipped, plus the zero point. Sums are compensated for them:
 *           sum of (a - x) (b - y) = sum of a b - y * (sum of a - x * K) - x * sum of b
 *
 *   region   rows x columns of D: a task; the columns' slab of packed B, KC steps deep, stays in L2
 *     p      KC steps of K; a panel of B stays in L1
 *       i    mc rows: the block of A stays in L2 too
 *         j  a panel of B; down the block, tile after tile
 */
#include "core/error.h"
#include "cpu/integers.h"

enum {
    KC_LANES = 256,       /* a panel of B is half of an L1 of 32 KiB */
    QUADS_KC_LANES = 512, /* all of L1: fewer sums wait */
    LANE_BYTES = 4,
    FLIP = 0x80, /* turns a byte of one sign into one of the other, 128 more or less */
    FLIPPED = 128,
    LEAST_QUADS_STEPS = 32, /* with fewer the sums of rows and columns are too much beside products */
    PART_OF_L2 = 4,         /* that a block of A takes, */
    SLAB_OF_L2 = 2,         /* and a slab of B */
    LEAST_ROWS = 96,        /* of a block of A */
    LEAST_COLUMNS = 128,    /* of a slab */
    MOST_COLUMNS = 4096,    /* where K is short */
    SUMS_ROWS = 512,        /* of a region whose sums wait beside it */
    SUMS_COLUMNS = 1024,    /* the same */
    PACK_STEPS = 8,         /* that are packed along all panels, as long streams */
    ROW_SLACK = 16,         /* lanes between rows of A: rows a power of two apart share sets of L1 */
    MIN_TASK_OPS = 24 << 20 /* as for pairs of bf16 */
};

typedef struct blocks {
    const tsr_integer_job *job;
    const tsr_quads *quads; /* NULL: pairs */
    const tsr_tiles *tiles;
    int lane_steps;                 /* of K, in a lane */
    int flip_a, flip_b;             /* quads: FLIP, or 0 */
    int has_offset_a, has_offset_b; /* quads: some x, some y is not 0 */
    int adds_one_row;               /* quads: the compensation is one row for all rows of D, and no sum waits */
    long long kc, mc;
    tsr_regions regions;
    long long tasks;
    int slots; /* threads at most */
    size_t a_bytes, b_bytes, sum_bytes, offset_bytes, slot_bytes;
    int has_bias;
    char *scratch;
} blocks;

typedef struct region {
    long long z, i0, i1, j0, j1;
    char *a_buffer, *b_buffer;
    int32_t *sums;             /* rows of regions.n; NULL: D has them */
    uint32_t *sums_a, *sums_b; /* quads: of A's rows, where B has offsets; of B's columns, where A has */
    uint32_t *offsets_b;       /* y of each column */
    uint32_t *row;             /* that is added to all rows of D; NULL: none */
    tsr_integer_end end;
} region;

/* A block of A as tiles read it. */
typedef struct view {
    const char *at;
    long long group, row, lane; /* bytes from panel to panel (0: none), from row to row, from lane to lane along K */
} view;

static long long least(long long a, long long b)
{
    return a < b ? a : b;
}

static long long lanes_of(const blocks *n, long long steps)
{
    return (steps + n->lane_steps - 1) / n->lane_steps;
}

/* Bytes of a packed panel, with what packing writes behind it. */
static long long panel_bytes(const blocks *n, int width, long long steps)
{
    return lanes_of(n, steps) * width * LANE_BYTES + (width % n->tiles->lanes ? TSR_INTEGER_SLACK : 0);
}

static long long row_bytes(const blocks *n, long long steps)
{
    return (tsr_round_up(lanes_of(n, steps), n->tiles->lanes) + ROW_SLACK) * LANE_BYTES;
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
 * the stored rows. `total` of A's rows or B's columns exist. `flip`: of quads. */
static void pack(const blocks *n, const tsr_bytes *operand, int width, int k_inner, int flip, long long z,
                 long long outer, long long span, long long total, long long p, long long steps, char *to)
{
    const tsr_integers *const code = n->job->code;
    const uint8_t *const from =
        operand->at + z * operand->batch + (k_inner ? outer * operand->ld + p : p * operand->ld + outer);
    const long long bytes = panel_bytes(n, width, steps);
    const long long chunk = k_inner || span <= width ? steps : PACK_STEPS;
    for (long long q = 0; q < steps; q += chunk)
        for (long long i = 0; i < span; i += width) {
            char *const at = to + i / width * bytes + q / n->lane_steps * width * LANE_BYTES;
            const uint8_t *const first = from + (k_inner ? i * operand->ld : q * operand->ld + i);
            const long long some = k_inner ? least(width, span - i) : total - outer - i;
            const long long part = k_inner ? steps : least(chunk, steps - q);
            if (n->quads)
                (k_inner ? n->quads->pack_columns : n->quads->pack_rows)((uint8_t *)at, width, some, part, first,
                                                                         operand->ld, flip);
            else
                (k_inner ? code->pack_columns : code->pack_rows)((int16_t *)(void *)at, width, some, part, first,
                                                                 operand->ld, operand->is_signed);
        }
    for (long long i = 0; !n->quads && operand->zeros && i < span; i += width)
        subtract_from_panel(code, operand, z, outer + i, (int)least(width, span - i), width, steps,
                            (int16_t *)(void *)(to + i / width * bytes));
}

/* Rows of A along K, as pairs less their zero points. */
static void widen_a(const blocks *n, const region *r, long long i, long long rows, const uint8_t *from, long long steps)
{
    const tsr_bytes *const a = &n->job->a;
    const long long to_row = row_bytes(n, steps) / (long long)sizeof(int16_t);
    int16_t *const to = (int16_t *)(void *)r->a_buffer;
    n->job->code->widen_rows(to, to_row, rows, steps, from, a->ld, a->is_signed);
    for (long long x = 0; a->zeros && x < rows; x++) {
        const int16_t zero = tsr_byte_zero(a, r->z, i + x);
        for (long long q = 0; q < steps; q++)
            to[x * to_row + q] = (int16_t)(to[x * to_row + q] - zero);
    }
}

/* Rows i .. i + rows - 1 of A. Where K runs along them they are copied as they lie, since tiles read A with strides;
 * what lies behind their last step meets zeros of B. */
static view view_a(const blocks *n, const region *r, long long i, long long rows, long long p, long long steps)
{
    const tsr_gemm_args *const g = n->job->job->args;
    const tsr_bytes *const a = &n->job->a;
    const uint8_t *const from = a->at + r->z * a->batch + (g->trans_a ? p * a->ld + i : i * a->ld + p);
    uint32_t *const sums = r->sums_a ? r->sums_a + (i - r->i0) : NULL;
    if (g->trans_a) {
        const int mr = n->tiles->mr;
        const long long bytes = panel_bytes(n, mr, steps);
        pack(n, a, mr, 0, n->flip_a, r->z, i, rows, g->m, p, steps, r->a_buffer);
        for (long long x = 0; sums && x < rows; x += mr)
            n->quads->add_panel(sums + x, (int)least(mr, rows - x), mr, steps,
                                (const uint8_t *)r->a_buffer + x / mr * bytes, 0);
        return (view){r->a_buffer, bytes, LANE_BYTES, (long long)mr * LANE_BYTES};
    }
    const long long to_row = row_bytes(n, steps);
    if (n->quads)
        n->quads->copy_rows((uint8_t *)r->a_buffer, to_row, rows, steps, from, a->ld, n->flip_a);
    else
        widen_a(n, r, i, rows, from, steps);
    if (sums)
        n->quads->add_rows(sums, rows, steps, (const uint8_t *)r->a_buffer, to_row);
    return (view){r->a_buffer, 0, to_row, LANE_BYTES};
}

/* x of a row of A, or y of a column of B; `flipped`: 128, -128 or 0. */
static uint32_t offset_of_line(const tsr_bytes *operand, long long z, long long outer, int flipped)
{
    return (uint32_t)(tsr_byte_zero(operand, z, outer) + flipped);
}

static uint32_t x_of(const blocks *n, long long z, long long row)
{
    return n->has_offset_a ? offset_of_line(&n->job->a, z, row, n->flip_a ? FLIPPED : 0) : 0;
}

static void pack_b(const blocks *n, const region *r, long long p, long long steps)
{
    const tsr_gemm_args *const g = n->job->job->args;
    const int nr = n->tiles->nr;
    const long long columns = r->j1 - r->j0, bytes = panel_bytes(n, nr, steps);
    pack(n, &n->job->b, nr, g->trans_b, n->flip_b, r->z, r->j0, columns, g->n, p, steps, r->b_buffer);
    for (long long j = 0; r->sums_b && j < columns; j += nr)
        n->quads->add_panel(r->sums_b + j, (int)least(nr, columns - j), nr, steps,
                            (const uint8_t *)r->b_buffer + j / nr * bytes, 1);
    if (r->row) {
        const tsr_quads_end end = {.alpha = (uint32_t)(int32_t)g->alpha * -x_of(n, r->z, 0)};
        n->quads->finish(&end, r->row, NULL, r->sums_b, columns);
    }
}

/* Before any sum: those of rows and columns are 0, and what y is. */
static void begin_offsets(const blocks *n, region *r)
{
    const long long rows = r->i1 - r->i0, columns = r->j1 - r->j0;
    for (long long j = 0; j < columns && n->has_offset_b; j++)
        r->offsets_b[j] = offset_of_line(&n->job->b, r->z, r->j0 + j, n->flip_b ? -FLIPPED : 0);
    for (long long j = 0; j < columns && n->has_offset_a; j++)
        r->sums_b[j] = 0;
    for (long long i = 0; i < rows && n->has_offset_b; i++)
        r->sums_a[i] = 0;
}

/* Rows i .. i + rows - 1 of D, from the sums of products of bytes as they are, or of pairs. */
static void finish_rows(const blocks *n, const region *r, long long i, long long rows)
{
    const tsr_gemm_args *const g = n->job->job->args;
    const long long columns = r->j1 - r->j0;
    const int is_whole = n->job->dtype_d == TSR_S32;
    for (long long last = i + rows; i < last; i++) {
        int32_t *const sums = r->sums + (i - r->i0) * n->regions.n;
        if (n->quads) {
            const uint32_t x = x_of(n, r->z, i);
            const tsr_quads_end end = {.y = r->offsets_b,
                                       .sums_b = r->sums_b,
                                       .sum_a = r->sums_a ? r->sums_a[i - r->i0] - x * (uint32_t)g->k : 0,
                                       .x = x,
                                       .alpha = is_whole ? (uint32_t)(int32_t)g->alpha : 1,
                                       .beta = (uint32_t)(int32_t)g->beta};
            uint32_t *const d = (uint32_t *)r->end.d + i * g->ldd + r->j0;
            const uint32_t *const c = is_whole && r->end.c ? (const uint32_t *)r->end.c + i * g->ldc + r->j0 : NULL;
            n->quads->finish(&end, is_whole ? d : (uint32_t *)sums, c, (const uint32_t *)sums, columns);
        }
        if (!n->quads || !is_whole)
            tsr_integer_end_row(&r->end, i, r->j0, columns, sums);
    }
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
    const tsr_tiles *const tiles = n->tiles;
    const long long rows = least(n->mc, r->i1 - i), columns = r->j1 - r->j0;
    const view a = view_a(n, r, i, rows, p, steps);
    const long long d_row = r->sums ? n->regions.n : g->ldd;
    int32_t *const d = r->sums ? r->sums + (i - r->i0) * d_row : (int32_t *)r->end.d + i * d_row + r->j0;
    const int32_t *c = d;
    tsr_micro tile = {.k = lanes_of(n, steps),
                      .a_row_bytes = a.row,
                      .a_k_bytes = a.lane,
                      .b_k_bytes = (long long)tiles->nr * LANE_BYTES,
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
    if (r->row) {
        c = (const int32_t *)r->row;
        tile.c_row_bytes = 0;
        tile.beta = 1;
    }
    const long long bytes = panel_bytes(n, tiles->nr, steps);
    for (long long j = 0; j < columns; j += tiles->nr) {
        tile.n = (int)least(tiles->nr, columns - j);
        tile.b = r->b_buffer + j / tiles->nr * bytes;
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
                .a_buffer = buffers,
                .b_buffer = buffers + n->a_bytes,
                .sums = n->sum_bytes ? (int32_t *)(void *)(buffers + n->a_bytes + n->b_bytes) : NULL};
    char *const offsets = buffers + n->a_bytes + n->b_bytes + n->sum_bytes;
    r.i1 = least(r.i0 + n->regions.m, g->m);
    r.j1 = least(r.j0 + n->regions.n, g->n);
    r.sums_b = n->has_offset_a ? (uint32_t *)(void *)offsets : NULL;
    r.offsets_b = n->has_offset_b ? (uint32_t *)(void *)offsets + n->regions.n : NULL;
    r.sums_a = n->has_offset_b ? r.offsets_b + n->regions.n : NULL;
    r.row = n->adds_one_row ? (uint32_t *)(void *)offsets + n->regions.n : NULL;
    r.end = tsr_integer_end_of(job, r.z, n->has_bias ? (float *)(void *)(offsets + n->offset_bytes) : NULL);
    begin_offsets(n, &r);
    for (long long p = 0; p < g->k; p += n->kc) {
        const long long steps = least(n->kc, g->k - p);
        pack_b(n, &r, p, steps);
        for (long long i = r.i0; i < r.i1; i += n->mc) {
            block(n, &r, i, p, steps);
            if (r.sums && p + steps == g->k)
                finish_rows(n, &r, i, least(n->mc, r.i1 - i));
        }
    }
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

/* Steps of K between two looks at B. */
static long long most_steps(const blocks *n)
{
    return (long long)n->lane_steps * (n->quads ? QUADS_KC_LANES : KC_LANES);
}

/* Pairs, or quads if there are any, and what those make up for. */
static blocks describe(const tsr_integer_job *job)
{
    blocks n = {.job = job, .tiles = &job->code->tiles, .lane_steps = 2};
    if (!job->code->quads || job->job->args->k < LEAST_QUADS_STEPS)
        return n;
    n.quads = job->code->quads;
    n.tiles = &n.quads->tiles;
    n.lane_steps = 4;
    n.flip_a = job->a.is_signed ? FLIP : 0;
    n.flip_b = job->b.is_signed ? 0 : FLIP;
    n.has_offset_a = n.flip_a || job->a.zeros;
    n.has_offset_b = n.flip_b || job->b.zeros;
    n.adds_one_row = n.has_offset_a && !n.has_offset_b && !(job->a.zeros && job->a.zeros_differ) &&
                     job->dtype_d == TSR_S32 && job->job->args->beta == 0 && job->job->args->k <= most_steps(&n);
    return n;
}

/* How the job is cut where threads are `awake`, and the memory that takes. */
static blocks plan_blocks(const tsr_integer_job *job, int awake)
{
    const tsr_gemm_args *const g = job->job->args;
    blocks n = describe(job);
    const tsr_tiles *const tiles = n.tiles;
    const int waits = job->dtype_d != TSR_S32 || (!n.adds_one_row && (n.has_offset_a || n.has_offset_b));
    const double ops = 2.0 * (double)g->m * (double)g->n * (double)g->k * (double)g->batch;
    const int threads = ops < 2.0 * MIN_TASK_OPS ? 1 : job->job->threads;
    n.kc = part_of(g->k, most_steps(&n), n.lane_steps);
    n.has_bias = job->dtype_d != TSR_S32 && g->epilogue != TSR_EPILOGUE_NONE;
    /* rows or columns of one part of K that fit L2 */
    const long long l2_spans = job->job->device->l2_bytes / (lanes_of(&n, n.kc) * LANE_BYTES);
    const long long columns = clamp(l2_spans / SLAB_OF_L2, LEAST_COLUMNS, waits ? SUMS_COLUMNS : MOST_COLUMNS);
    n.regions.m = waits ? least(g->m, SUMS_ROWS) : g->m;
    n.regions.n = part_of(g->n, columns, tiles->nr);
    tsr_cut_regions(job->job, tiles, threads, awake, MIN_TASK_OPS, &n.regions);
    n.mc = part_of(least(n.regions.m, g->m), clamp(l2_spans / PART_OF_L2, LEAST_ROWS, MOST_COLUMNS), tiles->mr);
    n.a_bytes = aligned(g->trans_a ? n.mc / tiles->mr * panel_bytes(&n, tiles->mr, n.kc) : n.mc * row_bytes(&n, n.kc));
    n.b_bytes = aligned((n.regions.n + tiles->nr - 1) / tiles->nr * panel_bytes(&n, tiles->nr, n.kc));
    n.sum_bytes = waits ? aligned(n.regions.m * n.regions.n * 4) : 0;
    n.offset_bytes = aligned((2 * n.regions.n + n.regions.m) * 4);
    n.slot_bytes = (size_t)tsr_round_up(
        (long long)(n.a_bytes + n.b_bytes + n.sum_bytes + n.offset_bytes) + (n.has_bias ? g->n * 4 : 0), 4096);
    n.tasks = n.regions.grid_m * n.regions.grid_n * g->batch;
    n.slots = (int)least(threads, n.tasks);
    return n;
}

tsr_status tsr_integer_blocks(const tsr_integer_job *job)
{
    tsr_cpu_device *const cpu = job->job->device->impl;
    blocks n = plan_blocks(job, tsr_job_is_awake(job->job));
    size_t bytes = n.slot_bytes * (size_t)n.slots;
    for (int awake = 0; awake < 2 && tsr_job_rehearses(job->job); awake++) {
        const blocks other = plan_blocks(job, awake);
        const size_t other_bytes = other.slot_bytes * (size_t)other.slots;
        bytes = other_bytes > bytes ? other_bytes : bytes;
    }
    n.scratch = tsr_job_take(job->job, bytes);
    if (!n.scratch)
        return tsr_fail(TSR_OUT_OF_MEMORY, "no memory for packing: %zu bytes", bytes);
    if (!tsr_job_rehearses(job->job))
        tsr_pool_run(&cpu->pool, n.slots, n.tasks, task, &n);
    tsr_job_give(job->job, n.scratch);
    return TSR_OK;
}
