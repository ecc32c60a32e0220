/* cpu-tiled where D has few rows or few columns: one operand, the matrix, is large, is used a few times at most, and
 * often must come from memory. It is read once, row by row as it is stored, several rows at once.
 *
 *   dots     K runs along its rows (few columns, A as it is; few rows, B transposed): each result is a row times a
 *            vector, or few of them
 *   steps    K runs along its rows, and the sums are those of tiles: squares of it are transposed in registers
 *   updates  K runs down its rows: each row, times an element of each row of the other operand, is added to the sums,
 *            which stay in the cache
 *
 * Few columns are few rows of the transposed product, whose results are transposed when they are written. `rows` below
 * are the few rows, or columns; `results` are what each of them has.
 *
 * Results are cut into pieces that tasks share; an element's sum runs the same way in whatever piece it lies. */
#include <string.h>

#include "core/error.h"
#include "cpu/job.h"
#include "cpu/spare.h"

enum {
    SUM_BYTES = 32 * 1024,          /* sums of one piece */
    MAX_PIECE = 4096,               /* results of one piece, at most */
    PIECE_BYTES = 1024,             /* of a piece's row of sums with many: what is asked for ahead fits L1 too */
    FEWER_PIECE_BYTES = 1280,       /* the same with fewer, */
    STREAMED_ROWS = 8,              /* but for so few, whose rows are streams */
    K_STEPS = 128,                  /* of x at a time, on the stack: STREAMED_ROWS x 128 */
    PANELS = 48,                    /* rows of the matrix that are whole panels of many_dots on each processor */
    LEAST_DOTS = 8,                 /* rows of the matrix that are read together for one row of x */
    MOST_STEPS = 1 << 20,           /* of a call, where x lies ready */
    TASK_BYTES = 256 * 1024,        /* of the matrix, at least, for a task of its own */
    LEAST_COLUMNS = 1024,           /* of a task that updates: rows are streams, short ones are read slowly, */
    FEWEST_COLUMNS = 256,           /* but many threads together read faster than a few with long rows */
    COPY_BYTES = 64 * 1024,         /* of a copy of x in a spare buffer */
    IN_PLACE_BYTES = 16 * 1024,     /* of an x whose rows leave each other in the cache wherever they lie */
    IN_PLACE_RESULTS = 128,         /* of each row of x, which a copy of it would cost more than it gains */
    IN_ONE_PLACE_BYTES = 64 * 1024, /* of rows of x that leave each other there if they are close to each other, */
    APART_BYTES = 128,              /* but by so much more, at least, than a multiple of TSR_CONFLICT_BYTES */
    GATHER_ELEMS = 1024             /* of a strided vector that is copied to a spare buffer rather than to scratch */
};

typedef struct stream {
    const tsr_job *job;
    const char *matrix, *x, *c; /* of the first problem */
    char *d;
    long long matrix_batch, x_batch, c_batch, d_batch; /* bytes from problem to problem */
    long long matrix_row, x_row, c_row, d_row;         /* bytes from row to row, as stored */
    long long x_step;                                  /* bytes from element to element */
    long long results, k;                              /* results of one row */
    long long block; /* steps of K that are summed from zero: all, or as many as tiles take, to give their bits */
    int rows;
    int by_columns; /* results of one row go down a column of D */
    int inner;      /* K runs along the matrix's rows: dots, or steps */
    int dots;
    long long matrix_step; /* dots: bytes from element to element; not an element's where the matrix is one vector */
    long long piece, task, tasks; /* results of a piece and of a task; tasks of one problem */
    long long sum_row;            /* bytes from row to row of a piece's sums */
    char *gathered;               /* contiguous copies of x, one for each slot; NULL: not needed */
    const char *groups;     /* x of each problem as tsr_update or tsr_many_dots wants it; NULL: made when needed */
    long long groups_batch; /* bytes from problem to problem, */
    long long copy_row;     /* and for each row */
    int in_place;           /* dots read x where it is */
    int zen4;               /* the matrix comes from memory, to a Zen 4 */
} stream;

static void set_matrix(stream *s, const char *data, const void *packed, long long ld, long long batch)
{
    const long long bytes = s->job->element_bytes;
    s->matrix = packed ? packed : data;
    s->matrix_row = (packed ? (s->inner ? s->k : s->results) : ld) * bytes;
    s->matrix_batch = (packed && batch ? s->results * s->k : batch) * bytes;
}

/* `inner`: K runs along the rows as stored. */
static void set_x(stream *s, const char *data, const void *packed, int inner, long long ld, long long batch)
{
    const long long bytes = s->job->element_bytes;
    const long long row = packed ? (inner ? s->k : s->rows) : ld;
    s->x = packed ? packed : data;
    s->x_step = (inner ? 1 : row) * bytes;
    s->x_row = (inner ? row : 1) * bytes;
    s->x_batch = (packed && batch ? s->rows * s->k : batch) * bytes;
}

/* 1 if rows of x leave each other in the cache where they lie, or so few results of each are not worth a copy. */
static int stays_in_place(long long rows, long long k, long long results, long long row_bytes, long long bytes)
{
    return rows * k * bytes <= IN_PLACE_BYTES || results <= IN_PLACE_RESULTS ||
           (rows * row_bytes <= IN_ONE_PLACE_BYTES && row_bytes % TSR_CONFLICT_BYTES >= APART_BYTES);
}

static stream describe(const tsr_job *job)
{
    const tsr_gemm_args *g = job->args;
    const long long bytes = job->element_bytes;
    stream s = {.job = job, .k = g->k, .block = g->k};
    if (job->shape == TSR_SHAPE_TILES)
        s.block = tsr_job_k_block(job);
    s.c = g->c;
    s.d = g->d;
    s.by_columns = job->shape == TSR_SHAPE_COLUMNS;
    if (s.by_columns) {
        s.results = g->m;
        s.rows = (int)g->n;
        s.inner = s.dots = !g->trans_a || (g->m == 1 && !job->is_slice);
        s.matrix_step = (g->trans_a && !job->packed_a ? g->lda : 1) * bytes;
        set_matrix(&s, g->a, job->packed_a, g->lda, g->batch_a);
        set_x(&s, g->b, job->packed_b, g->trans_b, g->ldb, g->batch_b);
    } else {
        s.results = g->n;
        s.rows = (int)g->m;
        s.inner = g->trans_b;
        s.dots = s.inner && job->shape != TSR_SHAPE_TILES;
        s.matrix_step = bytes;
        set_matrix(&s, g->b, job->packed_b, g->ldb, g->batch_b);
        set_x(&s, g->a, job->packed_a, !g->trans_a, g->lda, g->batch_a);
    }
    const tsr_cpu_device *device = job->device->impl;
    s.zen4 = device->isa->zen4 && (double)s.results * (double)s.k * (double)bytes > (double)job->device->l2_bytes;
    s.c_row = g->ldc * job->d_bytes;
    s.d_row = g->ldd * job->d_bytes;
    s.in_place = s.dots && s.x_step == job->wide_bytes && stays_in_place(s.rows, s.k, s.results, s.x_row, bytes);
    if (s.in_place) {
        s.groups = s.x;
        s.groups_batch = s.x_batch;
        s.copy_row = s.x_row;
    }
    s.c_batch = g->batch_c * job->d_bytes;
    s.d_batch = g->batch_d * job->d_bytes;
    return s;
}

/* Copies K elements to where they follow each other. */
static const char *gather(const stream *s, const char *from, long long step, char *to)
{
    const int bytes = s->job->element_bytes;
    for (long long p = 0; p < s->k; p++)
        for (int byte = 0; byte < bytes; byte++)
            to[p * bytes + byte] = from[p * step + byte];
    return to;
}

/* One row's operands are copied if their elements do not follow each other. */
static int gathers(const stream *s)
{
    const long long bytes = s->job->element_bytes;
    return s->dots && s->rows == 1 && (s->x_step != bytes || s->matrix_step != bytes);
}

/* Widens steps p .. p + steps of x into groups, as tsr_update wants them. */
static void pack_x(const stream *s, const char *x, long long p, long long steps, char *to)
{
    const tsr_store *store = s->job->store;
    for (long long q = 0; q < steps; q += TSR_GROUP) {
        const int n = steps - q < TSR_GROUP ? (int)(steps - q) : TSR_GROUP;
        const char *from = x + (p + q) * s->x_step;
        if (s->x_step == s->job->element_bytes)
            store->pack_rows(to, TSR_GROUP, n, s->rows, from, s->x_row);
        else
            store->pack_columns(to, TSR_GROUP, n, s->rows, from, s->x_step);
        to += s->rows * TSR_GROUP * s->job->wide_bytes;
    }
}

/* `sums` are as tsr_update leaves them, or, by columns, the sums of each result beside each other; of results `first`
 * and on. g: the factors and the form. */
static void write_back(const stream *s, const tsr_gemm_args *g, char *d, const char *c, const char *sums,
                       long long first, long long n)
{
    const tsr_store *const store = s->job->end;
    const long long bytes = s->job->d_bytes, row_bytes = s->rows * bytes, wide = s->job->wide_bytes;
    if (!s->by_columns) {
        for (int i = 0; i < s->rows; i++)
            tsr_finish(store, g, d + i * s->d_row, c ? c + i * s->c_row : NULL, sums + i * s->sum_row, first, n, bytes);
        return;
    }
    if (s->d_row == row_bytes && (!c || s->c_row == row_bytes) && g->epilogue == TSR_EPILOGUE_NONE) {
        store->finish(d, c, g->alpha, g->beta, sums, n * s->rows);
        return;
    }
    for (long long j = 0; j < n; j++)
        tsr_finish(store, g, d + j * s->d_row, c ? c + j * s->c_row : NULL, sums + j * s->rows * wide, 0, s->rows,
                   bytes);
}

/* The sums of steps `first` .. `last` of K, along the matrix's rows. */
static void steps(const stream *s, const char *matrix, const char *x, char *sums, long long n, long long first,
                  long long last)
{
    const tsr_many_dots part = {.count = n,
                                .k = last - first,
                                .matrix = matrix + first * s->job->element_bytes,
                                .step_bytes = s->matrix_row,
                                .rows = s->rows,
                                .x = x + first * s->job->wide_bytes,
                                .x_row_bytes = s->copy_row,
                                .sum = sums,
                                .sum_row_bytes = s->job->wide_bytes,
                                .sum_step_bytes = s->sum_row};
    s->job->store->steps(&part);
}

/* The sums of steps `first` .. `last` of K. `next`: the columns that are read after these. */
static void updates(const stream *s, const char *matrix, const char *next, const char *x, const char *groups,
                    char *sums, long long n, long long first, long long last)
{
    _Alignas(64) char x_block[STREAMED_ROWS * K_STEPS * 8];
    if (s->rows == 1 && s->x_step == s->job->wide_bytes && s->job->element_bytes == s->job->wide_bytes)
        groups = x; /* one row is in groups as it is */
    for (int i = 0; i < s->rows; i++)
        memset(sums + i * s->sum_row, 0, (size_t)(n * s->job->wide_bytes));
    const long long most = groups ? MOST_STEPS : K_STEPS;
    for (long long p = first; p < last; p += most) {
        const long long steps = last - p < most ? last - p : most;
        const tsr_update update = {.count = n,
                                   .rows = s->rows,
                                   .k = (int)steps,
                                   .matrix = matrix + p * s->matrix_row,
                                   .step_bytes = s->matrix_row,
                                   .next = p + steps < s->k ? matrix + (p + steps) * s->matrix_row : next,
                                   .x = groups ? groups + p * s->rows * s->job->wide_bytes : x_block,
                                   .sum = sums,
                                   .sum_step_bytes = s->sum_row,
                                   .zen4 = s->zen4};
        if (!groups)
            pack_x(s, x, p, steps, x_block);
        s->job->store->update(&update);
    }
}

/* Either of them. */
static void sum_steps(const stream *s, const char *matrix, const char *next, const char *x, const char *groups,
                      char *sums, long long n, long long first, long long last)
{
    if (s->inner)
        steps(s, matrix, groups, sums, n, first, last);
    else
        updates(s, matrix, next, x, groups, sums, n, first, last);
}

static void dots(const stream *s, const char *matrix, const char *x, const char *groups, char *sums, long long n)
{
    const tsr_job *job = s->job;
    const long long wide = job->wide_bytes;
    if (s->rows == 1) {
        const tsr_dots one = {
            .count = n, .k = s->k, .matrix = matrix, .step_bytes = s->matrix_row, .x = x, .sum = sums, .zen4 = s->zen4};
        job->store->dots(&one);
        return;
    }
    const tsr_many_dots many = {.count = n,
                                .k = s->k,
                                .matrix = matrix,
                                .step_bytes = s->matrix_row,
                                .rows = s->rows,
                                .x = groups,
                                .x_row_bytes = s->copy_row,
                                .sum = sums,
                                .sum_row_bytes = s->by_columns ? s->rows * wide : wide,
                                .sum_step_bytes = s->by_columns ? wide : s->sum_row,
                                .zen4 = s->zen4};
    job->store->many_dots(&many);
}

/* The sums of each result beside each other. */
static void turn(const stream *s, char *to, const char *sums, long long n)
{
    const tsr_dtype dtype = s->job->wide_bytes == 8 ? TSR_F64 : TSR_F32;
    s->job->isa->store[dtype].pack_columns(to, s->rows, s->rows, n, sums, s->sum_row);
}

/* K in blocks, as tiles sum it: each block's sums are added to D, or, if elements are widened, to `totals`. */
static void sum_blocks(const stream *s, const char *part, const char *next, const char *x, const char *groups,
                       char *sums, char *totals, char *d, const char *c, long long first, long long n)
{
    const tsr_job *const job = s->job;
    const tsr_store *const wide = &job->isa->store[TSR_F32];
    const int is_wide = job->element_bytes == job->wide_bytes;
    tsr_gemm_args g = *job->args;
    stream to = *s; /* from the second block on C is D */
    for (long long p = 0; p < s->k; p += s->block) {
        const long long end = p + s->block < s->k ? p + s->block : s->k;
        sum_steps(s, part, next, x, groups, p == 0 && !is_wide ? totals : sums, n, p, end);
        if (is_wide) {
            g.epilogue = end < s->k ? TSR_EPILOGUE_NONE : job->args->epilogue;
            write_back(&to, &g, d, c, sums, first, n);
            g.beta = 1;
            c = d;
            to.c_row = s->d_row;
        } else {
            for (int i = 0; p > 0 && i < s->rows; i++)
                wide->finish(totals + i * s->sum_row, totals + i * s->sum_row, 1, 1, sums + i * s->sum_row, n);
        }
    }
    if (!is_wide)
        write_back(s, &g, d, c, totals, first, n);
}

/* What a task has for itself: the sums of a piece, those of blocks of K or the transposed ones, and vectors whose
 * elements do not follow each other. */
typedef struct task_spare {
    size_t sum_bytes, local_bytes;
} task_spare;

static task_spare spare_of(const stream *s)
{
    return (task_spare){(size_t)tsr_round_up(s->rows * s->sum_row, 64),
                        gathers(s) && !s->gathered ? 2 * (size_t)s->k * (size_t)s->job->element_bytes : 0};
}

typedef struct one_task {
    const stream *s;
    int64_t index;
    int slot;
} one_task;

/* Results first .. last of one problem. */
static void run_in_spare(void *data, char *spare)
{
    const one_task *const task = data;
    const stream *const s = task->s;
    const int64_t index = task->index;
    const int slot = task->slot;
    const tsr_job *job = s->job;
    const long long z = index / s->tasks, first = index % s->tasks * s->task, bytes = job->element_bytes;
    const long long last = first + s->task < s->results ? first + s->task : s->results;
    const long long d_step = s->by_columns ? s->d_row : job->d_bytes, c_step = s->by_columns ? s->c_row : job->d_bytes;
    const char *x = s->x + z * s->x_batch, *matrix = s->matrix + z * s->matrix_batch;
    const char *const groups = s->groups ? s->groups + z * s->groups_batch : NULL;
    const char *c = job->args->beta != 0 ? s->c + z * s->c_batch : NULL;
    char *d = s->d + z * s->d_batch;
    const size_t sum_bytes = spare_of(s).sum_bytes;
    char *const sums = spare, *const others = spare + sum_bytes, *const local = others + sum_bytes;
    if (gathers(s)) {
        char *const to = s->gathered ? s->gathered + 2 * (size_t)slot * (size_t)s->k * (size_t)bytes : local;
        if (s->x_step != bytes)
            x = gather(s, x, s->x_step, to);
        if (s->matrix_step != bytes)
            matrix = gather(s, matrix, s->matrix_step, to + s->k * bytes);
    }
    for (long long j = first; j < last; j += s->piece) {
        const long long n = last - j < s->piece ? last - j : s->piece;
        const char *part = matrix + j * (s->inner ? s->matrix_row : bytes), *at = sums;
        if (s->dots) {
            dots(s, part, x, groups, sums, n);
        } else {
            const char *next = j + s->piece < last ? part + s->piece * bytes : part;
            if (s->block < s->k) {
                sum_blocks(s, part, next, x, groups, sums, others, d + j * d_step, c ? c + j * c_step : NULL, j, n);
                continue;
            }
            sum_steps(s, part, next, x, groups, sums, n, 0, s->k);
            if (s->by_columns && s->rows > 1) {
                turn(s, others, sums, n);
                at = others;
            }
        }
        write_back(s, job->args, d + j * d_step, c ? c + j * c_step : NULL, at, j, n);
    }
}

static void run_task(void *data, int64_t index, int slot)
{
    const task_spare spare = spare_of(data);
    tsr_with_spare(2 * spare.sum_bytes + spare.local_bytes, run_in_spare, &(one_task){data, index, slot});
}

/* A task for every few hundred kilobytes of the matrix, a few for each thread. */
static int cut(stream *s)
{
    const tsr_job *job = s->job;
    const double bytes = (double)s->results * (double)s->k * job->element_bytes;
    int slots = job->threads;
    if (bytes * (double)job->args->batch < 2.0 * TASK_BYTES)
        slots = 1;
    const long long unit = s->inner && s->rows > 1 ? PANELS : 64;
    s->piece = SUM_BYTES / (s->rows * job->wide_bytes) / unit * unit;
    s->piece = s->piece < MAX_PIECE ? s->piece : MAX_PIECE / unit * unit;
    if (!s->inner && s->rows > STREAMED_ROWS) {
        const int most = (s->rows > TSR_FEWER_ROWS ? PIECE_BYTES : FEWER_PIECE_BYTES) / job->wide_bytes;
        s->piece = s->piece < most ? s->piece : most;
    }
    if (s->piece > s->results)
        s->piece = tsr_round_up(s->results, 64);
    s->sum_row = s->piece * job->wide_bytes + 64;
    s->task = s->results;
    if (slots > 1 && bytes > TASK_BYTES) {
        const double tasks = bytes / TASK_BYTES < 8.0 * slots ? bytes / TASK_BYTES : 8.0 * slots;
        /* Tasks of fewer panels would each read all of x, and each copies what is gathered. */
        const long long task_unit = s->dots && unit != PANELS && !gathers(s) ? LEAST_DOTS : unit;
        s->task = tsr_round_up((long long)((double)s->results / tasks) + 1, task_unit);
        if (!s->inner) {
            const long long share = tsr_round_up((s->results + slots - 1) / slots, 64);
            const long long least = share < FEWEST_COLUMNS  ? FEWEST_COLUMNS
                                    : share < LEAST_COLUMNS ? share
                                                            : LEAST_COLUMNS;
            s->task = s->task < least ? least : s->task;
        }
    }
    s->tasks = (s->results + s->task - 1) / s->task;
    return slots;
}

/* x of every problem in groups, so that pieces need not make them again and again, or with K along its rows, which do
 * not lie where they push each other out of the cache. */
static int needs_copy(const stream *s)
{
    return s->rows > (s->dots ? 1 : s->inner ? 0 : STREAMED_ROWS) && !s->in_place;
}

static long long plan_copy(stream *s)
{
    const long long problems = s->x_batch ? s->job->args->batch : 1;
    s->copy_row = tsr_round_up(s->k * s->job->wide_bytes, 64) + (s->inner ? 64 : 0);
    s->groups_batch = s->x_batch ? s->rows * s->copy_row : 0;
    return problems * s->rows * s->copy_row;
}

static void copy_x(stream *s, char *copy)
{
    const long long problems = s->x_batch ? s->job->args->batch : 1, wide = s->job->wide_bytes;
    s->groups = copy;
    for (long long z = 0; z < problems; z++) {
        const char *x = s->x + z * s->x_batch;
        char *const to = copy + z * s->groups_batch;
        if (!s->inner)
            pack_x(s, x, 0, s->k, to);
        else if (s->x_step != s->job->element_bytes)
            s->job->store->pack_columns(to, (int)(s->copy_row / wide), (int)s->k, s->rows, x, s->x_step);
        else if (wide != s->job->element_bytes)
            s->job->store->pack_rows(to, (int)(s->copy_row / wide), (int)s->k, s->rows, x, s->x_row);
        else
            for (long long i = 0; i < s->rows; i++)
                memcpy(to + i * s->copy_row, x + i * s->x_row, (size_t)(s->k * wide));
    }
}

/* All of D; `chains` lacks where the sums go. `c` is NULL where beta is 0. */
static void chains_product(const tsr_store *store, const tsr_gemm_args *g, tsr_chains *chains, int by_columns,
                           long long bytes, const char *c, char *d)
{
    enum { ROW = TSR_CHAINS_VECTORS * 64 };
    _Alignas(64) char sums[TSR_CHAINS_VECTORS * ROW], transposed[TSR_CHAINS_VECTORS * 8];
    const long long ldc_bytes = g->ldc * bytes, ldd_bytes = g->ldd * bytes;
    const int plain = !c && g->alpha == 1 && g->epilogue == TSR_EPILOGUE_NONE; /* sums are D's elements */
    if (!by_columns && plain) {
        chains->sum = d;
        chains->sum_row_bytes = ldd_bytes;
        store->chains(chains);
        return;
    }
    chains->sum = sums;
    chains->sum_row_bytes = ROW;
    store->chains(chains);
    if (!by_columns) {
        for (int i = 0; i < chains->rows; i++)
            tsr_finish(store, g, d + i * ldd_bytes, c ? c + i * ldc_bytes : NULL, sums + (size_t)i * ROW, 0,
                       chains->count, bytes);
        return;
    }
    for (long long j = 0; j < chains->count; j++) {
        char *const row = plain ? d + j * ldd_bytes : transposed;
        for (int i = 0; i < chains->rows; i++)
            if (bytes == 8)
                memcpy(row + i * 8, sums + (size_t)i * ROW + j * 8, 8);
            else
                memcpy(row + i * 4, sums + (size_t)i * ROW + j * 4, 4);
        if (!plain)
            tsr_finish(store, g, d + j * ldd_bytes, c ? c + j * ldc_bytes : NULL, transposed, 0, chains->rows, bytes);
    }
}

int tsr_skinny_chains(const tsr_store *store, const tsr_gemm_args *g, tsr_shape shape, tsr_dtype dtype)
{
    const int by_columns = shape == TSR_SHAPE_COLUMNS, x_inner = by_columns ? g->trans_b : !g->trans_a;
    const long long bytes = tsr_wide_bytes(dtype), few = by_columns ? g->n : g->m, many = by_columns ? g->m : g->n;
    if (shape == TSR_SHAPE_TILES || (by_columns ? !g->trans_a || g->m == 1 : g->trans_b) ||
        !tsr_is_chains(dtype, few, many, g->k))
        return 0;
    const long long x_ld = (by_columns ? g->ldb : g->lda) * bytes;
    tsr_chains chains = {.count = many,
                         .k = g->k,
                         .rows = (int)few,
                         .matrix = by_columns ? g->a : g->b,
                         .step_bytes = (by_columns ? g->lda : g->ldb) * bytes,
                         .x = by_columns ? g->b : g->a,
                         .x_row_bytes = x_inner ? x_ld : bytes,
                         .x_step_bytes = x_inner ? bytes : x_ld,
                         .sum = NULL,
                         .sum_row_bytes = 0};
    chains_product(store, g, &chains, by_columns, bytes, g->beta != 0 ? g->c : NULL, g->d);
    return 1;
}

/* 1 if the job was of a few vectors of sums, and is done. */
static int run_chains(const stream *s)
{
    const tsr_job *job = s->job;
    const tsr_gemm_args *g = job->args;
    const tsr_dtype dtype = job->element_bytes == 8 ? TSR_F64 : TSR_F32;
    if (s->dots || job->shape == TSR_SHAPE_TILES || !job->store->chains || job->is_slice ||
        !tsr_is_chains(dtype, s->rows, s->results, s->k))
        return 0;
    for (long long z = 0; z < g->batch && !tsr_job_rehearses(job); z++) {
        tsr_chains chains = {.count = s->results,
                             .k = s->k,
                             .rows = s->rows,
                             .matrix = s->matrix + z * s->matrix_batch,
                             .step_bytes = s->matrix_row,
                             .x = s->x + z * s->x_batch,
                             .x_row_bytes = s->x_row,
                             .x_step_bytes = s->x_step};
        chains_product(job->store, g, &chains, s->by_columns, job->element_bytes,
                       g->beta != 0 ? s->c + z * s->c_batch : NULL, s->d + z * s->d_batch);
    }
    return 1;
}

tsr_status tsr_skinny(const tsr_job *job)
{
    tsr_cpu_device *device = job->device->impl;
    stream s = describe(job);
    if (run_chains(&s))
        return TSR_OK;
    const int slots = cut(&s);
    char *copied = NULL;
    tsr_status status = TSR_OK;
    if (needs_copy(&s)) {
        char *const copy = tsr_job_take(job, (size_t)plan_copy(&s));
        if (!copy)
            return tsr_fail(TSR_OUT_OF_MEMORY, "no memory to copy %s: %lld x %lld elements", s.by_columns ? "B" : "A",
                            (long long)s.rows, s.k);
        if (!tsr_job_rehearses(job))
            copy_x(&s, copy);
        copied = copy;
    }
    if (gathers(&s) && s.k > GATHER_ELEMS) {
        s.gathered = tsr_job_take(job, 2 * (size_t)slots * (size_t)s.k * (size_t)job->element_bytes);
        if (!s.gathered)
            status = tsr_fail(TSR_OUT_OF_MEMORY, "no memory to copy a vector of K = %lld elements", s.k);
    }
    if (status == TSR_OK && !tsr_job_rehearses(job))
        tsr_pool_run(&device->pool, slots, s.tasks * job->args->batch, run_task, &s);
    if (s.gathered)
        tsr_job_give(job, s.gathered);
    if (copied)
        tsr_job_give(job, copied);
    return status;
}

/* Few dot products straight from the call. */
typedef struct plain_dots {
    tsr_many_dots many;
    const tsr_store *store;
    const char *x;
    long long x_row, copy_row, bytes;
} plain_dots;

static void copy_and_dot(void *data, char *copy)
{
    plain_dots *const p = data;
    p->store->pack_columns(copy, (int)(p->copy_row / p->bytes), (int)p->many.k, p->many.rows, p->x, p->x_row);
    p->many.x = copy;
    p->store->many_dots(&p->many);
}

int tsr_skinny_dots(const tsr_store *store, const tsr_gemm_args *g, tsr_shape shape, long long bytes)
{
    const int by_columns = shape == TSR_SHAPE_COLUMNS;
    const int inner = by_columns ? !g->trans_a : g->trans_b, x_inner = by_columns ? g->trans_b : !g->trans_a;
    const long long rows = by_columns ? g->n : g->m, results = by_columns ? g->m : g->n;
    const long long x_row = (by_columns ? g->ldb : g->lda) * bytes, copy_row = tsr_round_up(g->k * bytes, 64) + 64;
    if (!inner || g->alpha != 1 || g->beta != 0 || rows == 1 ||
        (x_inner ? !stays_in_place(rows, g->k, results, x_row, bytes) : rows * copy_row > COPY_BYTES) ||
        results * g->k * bytes >= 2 * TASK_BYTES)
        return 0;
    const char *const x = by_columns ? g->b : g->a;
    const tsr_many_dots many = {.count = results,
                                .k = g->k,
                                .matrix = by_columns ? g->a : g->b,
                                .step_bytes = (by_columns ? g->lda : g->ldb) * bytes,
                                .rows = (int)rows,
                                .x = x,
                                .x_row_bytes = x_inner ? x_row : copy_row,
                                .sum = g->d,
                                .sum_row_bytes = by_columns ? g->ldd * bytes : bytes,
                                .sum_step_bytes = by_columns ? bytes : g->ldd * bytes};
    if (x_inner) {
        store->many_dots(&many);
        return 1;
    }
    plain_dots copied = {many, store, x, x_row, copy_row, bytes};
    tsr_with_spare((size_t)(rows * copy_row), copy_and_dot, &copied);
    return 1;
}

static void run_tasks(stream *s)
{
    for (long long i = 0; i < s->tasks * s->job->args->batch; i++)
        run_task(s, i, 0);
}

static void copy_and_run(void *data, char *copy)
{
    copy_x(data, copy);
    run_tasks(data);
}

int tsr_skinny_alone(const tsr_job *job)
{
    stream s = describe(job);
    if (run_chains(&s))
        return 1;
    const long long copy_bytes = needs_copy(&s) ? plan_copy(&s) : 0;
    if ((double)s.results * (double)s.k * job->element_bytes >= 2.0 * TASK_BYTES ||
        (gathers(&s) && s.k > GATHER_ELEMS) || copy_bytes > COPY_BYTES)
        return 0;
    cut(&s);
    if (copy_bytes)
        tsr_with_spare((size_t)copy_bytes, copy_and_run, &s);
    else
        run_tasks(&s);
    return 1;
}
