/* cpu-tiled for operands that are narrower than what they are multiplied in: blocks of A and B are widened to f32,
 * which is exact, and go through the engine for f32.
 *
 *   j, i   COLUMNS and ROWS: a block of D, whose sums lie beside it in f32
 *   k      STEPS of K, to which the engine adds
 *
 * Scales of blocks: BLOCK_STEPS of K at a time, whose sums are added up times their scales. */
#include "core/error.h"
#include "cpu/choose.h"
#include "cpu/cpu.h"
#include "cpu/cpu_device.h"
#include "cpu/end.h"
#include "cpu/reserve.h"
#include "cpu/widen.h"

enum {
    ROWS = TSR_WIDENED_ROWS,
    COLUMNS = TSR_WIDENED_COLUMNS,
    STEPS = TSR_WIDENED_STEPS,
    BLOCK_STEPS = TSR_SCALE_BLOCK,
    LINES_OF_TASK = 16
};

/* A matrix in memory, element (0, 0) of a block of it at `first`. */
typedef struct stored {
    const void *array;
    long long first, ld;
} stored;

typedef struct widening {
    const tsr_widener *widener;
    stored from;
    float *to; /* rows lie tight */
    long long rows, columns;
} widening;

static void widen_lines(void *job, int64_t index, int slot)
{
    const widening *const w = job;
    (void)slot;
    for (long long i = index * LINES_OF_TASK; i < w->rows && i < (index + 1) * LINES_OF_TASK; i++)
        tsr_widen(w->widener, w->from.array, w->from.first + i * w->from.ld, w->columns, w->to + i * w->columns);
}

/* One product of the batch at work. */
typedef struct work {
    const tsr_gemm_args *g;
    const tsr_cpu_call *call;
    tsr_pool *pool;
    tsr_widener a, b;
    tsr_end end;
    _Atomic uint32_t amax;
    long long z;     /* problem of the batch */
    int has_blocks;  /* scales of blocks */
    long long depth; /* steps of K between two ends of a block */
    const void *a_at, *b_at;
    const char *c;
    char *d;
    float *wide_a, *wide_b, *sums;
    tsr_reserve *reserve; /* NULL: products take memory as they come */
    float *total;         /* ROWS x COLUMNS sums of all steps so far, where blocks have scales; NULL: `sums` has them */
} work;

static void widen_block(work *w, char which, stored from, long long rows, long long columns)
{
    const int is_a = which == 'a';
    widening job = {.widener = is_a ? &w->a : &w->b,
                    .from = from,
                    .to = is_a ? w->wide_a : w->wide_b,
                    .rows = rows,
                    .columns = columns};
    tsr_pool_run(w->pool, w->call->threads, (rows + LINES_OF_TASK - 1) / LINES_OF_TASK, widen_lines, &job);
}

static long long least(long long a, long long b)
{
    return a < b ? a : b;
}

/* A block of D: where it lies, and how large it is. */
typedef struct place {
    long long i, j, rows, columns;
} place;

/* sums = (sums +) wide_a * wide_b. */
static tsr_status multiply(const work *w, const place *at, long long steps, int adds)
{
    static const tsr_config f32_config = {.instance = "cpu_tiled_f32", .op = TSR_OP(TSR_F32, TSR_F32, TSR_COMPUTE_F32)};
    const tsr_gemm_args *const g = w->g;
    const tsr_gemm_args args = {.a = w->wide_a,
                                .b = w->wide_b,
                                .c = w->sums,
                                .d = w->sums,
                                .m = at->rows,
                                .n = at->columns,
                                .k = steps,
                                .lda = g->trans_a ? at->rows : steps,
                                .ldb = g->trans_b ? steps : at->columns,
                                .ldc = at->columns,
                                .ldd = at->columns,
                                .batch = 1,
                                .alpha = 1,
                                .beta = adds ? 1 : 0,
                                .trans_a = g->trans_a,
                                .trans_b = g->trans_b,
                                .type_a = TSR_F32,
                                .type_b = TSR_F32,
                                .type_d = TSR_F32};
    tsr_cpu_call call = {.args = &args, .threads = w->call->threads, .device = w->call->device, .reserve = w->reserve};
    if (w->call->algorithm)
        call.algorithm = tsr_choice_number(
            tsr_cpu_algorithm(call.device, TSR_F32, &args, TSR_SUMS_IGNORE_M | TSR_SUMS_OF_TILES, call.threads));
    return tsr_cpu_tiled(&f32_config, &call);
}

/* ---- the end of a block ---- */

typedef struct finishing {
    work *w;
    place at;
    long long block; /* 128 steps of K, where these have scales */
    int is_first;    /* of the parts of K, for sums that go on */
    int is_last;
} finishing;

/* Adds 128 steps of K, times their scales, to the floats of one line; `scales` are the columns'. */
static void add_scaled(const finishing *f, long long line, const float *scales)
{
    const work *const w = f->w;
    const long long columns = f->at.columns;
    const float scale = tsr_end_block_a(&w->end.scaling, w->z, f->at.i + line, f->block);
    const float *const part = w->sums + line * columns;
    float *const total = w->total + line * columns;
    for (long long j = 0; j < columns; j++)
        total[j] = (f->is_first ? 0 : total[j]) + part[j] * (scale * scales[j]);
}

static void store_line(const finishing *f, long long line, uint32_t *amax)
{
    const work *const w = f->w;
    const long long columns = f->at.columns, i = f->at.i + line;
    const float *const sums = (w->has_blocks ? w->total : w->sums) + line * columns;
    for (long long j = 0; j < columns; j++) {
        const long long column = f->at.j + j;
        tsr_end_store(&w->end, w->d, i * w->g->ldd + column, tsr_end_value(&w->end, i, column, sums[j], w->c), amax);
    }
}

static void finish_lines(void *job, int64_t index, int slot)
{
    const finishing *const f = job;
    work *const w = f->w;
    const int has_blocks = w->has_blocks;
    uint32_t amax = 0;
    float scales[COLUMNS];
    (void)slot;
    for (long long j = 0; has_blocks && j < f->at.columns; j++)
        scales[j] = tsr_end_block_b(&w->end.scaling, w->z, f->at.j + j, f->block);
    for (long long i = index * LINES_OF_TASK; i < f->at.rows && i < (index + 1) * LINES_OF_TASK; i++) {
        if (has_blocks)
            add_scaled(f, i, scales);
        if (f->is_last)
            store_line(f, i, &amax);
    }
    tsr_end_raise(&w->amax, amax);
}

static void finish(work *w, const place *at, long long k, int is_last)
{
    finishing job = {.w = w, .at = *at, .block = k / BLOCK_STEPS, .is_first = k == 0, .is_last = is_last};
    if (w->has_blocks || is_last)
        tsr_pool_run(w->pool, w->call->threads, (at->rows + LINES_OF_TASK - 1) / LINES_OF_TASK, finish_lines, &job);
}

/* All of K for one block of D. */
static tsr_status run_block(work *w, const place *at)
{
    const tsr_gemm_args *const g = w->g;
    for (long long k = 0; k < g->k; k += w->depth) {
        const long long steps = least(w->depth, g->k - k);
        const stored a = {w->a_at, g->trans_a ? k * g->lda + at->i : at->i * g->lda + k, g->lda};
        const stored b = {w->b_at, g->trans_b ? at->j * g->ldb + k : k * g->ldb + at->j, g->ldb};
        widen_block(w, 'a', a, g->trans_a ? steps : at->rows, g->trans_a ? at->rows : steps);
        widen_block(w, 'b', b, g->trans_b ? at->columns : steps, g->trans_b ? steps : at->columns);
        const tsr_status status = multiply(w, at, steps, !w->has_blocks && k > 0);
        if (status != TSR_OK)
            return status;
        finish(w, at, k, k + steps == g->k);
    }
    return TSR_OK;
}

/* D = beta * C in its form, where no product is added. */
static void scale(work *w)
{
    const tsr_gemm_args *const g = w->g;
    uint32_t amax = 0;
    for (long long i = 0; i < g->m; i++)
        for (long long j = 0; j < g->n; j++)
            tsr_end_store(&w->end, w->d, i * g->ldd + j, tsr_end_value(&w->end, i, j, 0, w->c), &amax);
    tsr_end_raise(&w->amax, amax);
}

static tsr_status run_problem(work *w)
{
    const tsr_gemm_args *const g = w->g;
    tsr_status status = TSR_OK;
    if (g->k == 0)
        scale(w);
    for (long long j = 0; j < g->n && g->k > 0 && status == TSR_OK; j += COLUMNS)
        for (long long i = 0; i < g->m && status == TSR_OK; i += ROWS) {
            const place at = {i, j, least(ROWS, g->m - i), least(COLUMNS, g->n - j)};
            status = run_block(w, &at);
        }
    return status;
}

/* All kinds of products that the blocks of D ask for: whole blocks and the last ones, the first steps of K and others.
 */
static tsr_status rehearse(const work *w)
{
    const tsr_gemm_args *const g = w->g;
    const long long rows[] = {least(ROWS, g->m), g->m % ROWS}, columns[] = {least(COLUMNS, g->n), g->n % COLUMNS},
                    steps[] = {least(w->depth, g->k), g->k % w->depth};
    const size_t before = w->reserve->takes;
    tsr_status status = TSR_OK;
    for (int kind = 0; kind < 16 && status == TSR_OK; kind++) {
        const place at = {.rows = rows[kind & 1], .columns = columns[kind >> 1 & 1]};
        const int adds = kind >> 3 & 1;
        if (at.rows == 0 || at.columns == 0 || steps[kind >> 2 & 1] == 0 ||
            (adds && (w->has_blocks || g->k <= w->depth)))
            continue;
        tsr_reserve_next(w->reserve, before);
        status = multiply(w, &at, steps[kind >> 2 & 1], adds);
    }
    return status;
}

static tsr_status run_all(work *w)
{
    const tsr_gemm_args *const g = w->g;
    const long long a_bytes = (long long)tsr_dtype_bytes(w->a.dtype), b_bytes = (long long)tsr_dtype_bytes(w->b.dtype);
    const long long d_bytes = (long long)tsr_dtype_bytes(w->end.dtype_d);
    tsr_status status = TSR_OK;
    for (w->z = 0; w->z < g->batch && status == TSR_OK; w->z++) {
        w->a_at = g->k > 0 ? (const char *)g->a + w->z * g->batch_a * a_bytes : NULL;
        w->b_at = g->k > 0 ? (const char *)g->b + w->z * g->batch_b * b_bytes : NULL;
        w->c = g->beta != 0 ? (const char *)g->c + w->z * g->batch_c * d_bytes : NULL;
        w->d = (char *)g->d + w->z * g->batch_d * d_bytes;
        tsr_end_begin(&w->end, w->z);
        status = run_problem(w);
    }
    if (status == TSR_OK)
        tsr_end_finish(&w->end, atomic_load(&w->amax));
    return status;
}

/* Several blocks of D, of which the first is written before the last is multiplied: all memory is taken first. */
static tsr_status run_reserved(work *w, tsr_scratch *scratch)
{
    tsr_reserve reserve;
    tsr_reserve_begin(&reserve, scratch);
    w->reserve = &reserve;
    tsr_status status = rehearse(w);
    tsr_reserve_rehearsed(&reserve);
    if (status == TSR_OK)
        status = run_all(w);
    w->reserve = NULL;
    tsr_reserve_end(&reserve);
    return status;
}

/* Above 0 where each block's sums must not depend on M; blocks are asked about when they are multiplied. */
tsr_algorithms tsr_cpu_widened_choose(const tsr_config *config, const tsr_device *device, const tsr_problem *problem)
{
    const int algorithm =
        problem->flags & TSR_BATCH_INVARIANT ? tsr_choice_number((tsr_cpu_choice){TSR_BLOCKED, TSR_SHAPE_TILES, 0}) : 0;
    (void)config;
    (void)device;
    return (tsr_algorithms){.without_c = algorithm, .with_c = algorithm};
}

tsr_status tsr_cpu_widened(const tsr_config *config, const tsr_cpu_call *call)
{
    const tsr_gemm_args *const g = call->args;
    tsr_cpu_device *const device = call->device->impl;
    (void)config;
    const int has_blocks = call->scaling && tsr_end_has_blocks(call->scaling);
    const long long depth = has_blocks ? BLOCK_STEPS : STEPS;
    const long long steps = least(g->k, depth);
    const long long rows = least(g->m, ROWS), columns = least(g->n, COLUMNS);
    const long long sums = rows * columns * (has_blocks ? 2 : 1);
    const size_t bytes = (size_t)(rows * steps + columns * steps + sums) * sizeof(float);
    if (g->m == 0 || g->n == 0 || g->batch == 0)
        return TSR_OK;
    float *const scratch = tsr_reserve_take(call->reserve, &device->scratch, bytes);
    if (!scratch)
        return tsr_fail(TSR_OUT_OF_MEMORY, "no memory for %zu bytes of widened operands", bytes);
    work w = {.g = g,
              .call = call,
              .pool = &device->pool,
              .reserve = call->reserve,
              .a = tsr_widener_of((tsr_dtype)g->type_a),
              .b = tsr_widener_of((tsr_dtype)g->type_b),
              .end = tsr_end_of(g, call->scaling),
              .has_blocks = has_blocks,
              .depth = depth,
              .wide_a = scratch,
              .wide_b = scratch + rows * steps,
              .sums = scratch + (rows + columns) * steps};
    w.total = has_blocks ? w.sums + rows * columns : NULL;
    const int is_one = (g->batch == 1 && g->m <= ROWS && g->n <= COLUMNS) || g->k == 0;
    const tsr_status status = call->reserve && call->reserve->is_rehearsal ? rehearse(&w)
                              : call->reserve || is_one                    ? run_all(&w)
                                                                           : run_reserved(&w, &device->scratch);
    tsr_reserve_give(call->reserve, &device->scratch, scratch);
    return status;
}
