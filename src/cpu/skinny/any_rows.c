/* cpu-tiled for any number of rows of D where the order of the sums must not depend on it (TSR_BATCH_INVARIANT) and K
 * runs along the rows of B: a sum is a vector of running sums along K, whose lanes are reduced at the end, as
 * few_rows.c has it for a few rows. More rows go a chunk after the other by the same code.
 *
 *   task    a group and a range of columns
 *   group   GROUP_CHUNKS chunks of rows, whose part of A is copied once, K-major and away from each other in the cache
 *   piece   columns of D whose sums of one chunk stay in L1; their rows of B stay in L2 for all chunks of a group
 *
 * Elements of 16 bits are widened: A's in the copy, B's a piece at a time or, for a single row, in registers. */
#include <string.h>

#include "core/error.h"
#include "cpu/job.h"

enum {
    SUM_BYTES = 32 * 1024, /* sums of one chunk and piece */
    SPARE_BYTES = 64,      /* after a row of them, so that rows do not lie a power of two apart */
    ALL_SUM_BYTES = SUM_BYTES + TSR_FEW_ROWS * SPARE_BYTES,
    MOST_PIECE = 4096,       /* columns, */
    SHARED_PIECE = 96,       /* or, for several chunks, such as L2 keeps rows of B for */
    PANELS = 48,             /* columns that are whole panels of many_dots on each processor, */
    LEAST_PANELS = 12,       /* or on most */
    CHUNK_UNIT = 4,          /* rows that many_dots takes at a time */
    GROUP_CHUNKS = 4,        /* of a group at most, */
    COPY_BYTES = 4 << 20,    /* or what this holds, or one */
    IN_PLACE_BYTES = 16384,  /* of a chunk of A whose rows leave each other in the cache wherever they lie */
    TASK_BYTES = 256 * 1024, /* of B for each chunk, at least, for a task of its own */
    TASKS_PER_THREAD = 8
};

typedef struct rows {
    const tsr_job *job;
    const tsr_gemm_args *g;
    long long bytes;       /* of an element */
    const char *b;         /* of the first problem */
    long long b_row;       /* bytes from row to row, as stored */
    long long b_batch;     /* bytes from problem to problem */
    const char *a;         /* likewise; */
    long long a_row;       /* bytes from row to row of op(A), */
    long long a_step;      /* and from step to step of K */
    long long a_batch;     /* bytes from problem to problem */
    long long chunk;       /* rows */
    long long group;       /* rows */
    long long groups;      /* of a problem */
    long long piece;       /* columns */
    long long task, tasks; /* columns of a task; tasks of a group */
    long long sum_row;     /* bytes from row to row of a piece's sums */
    long long copy_row;    /* bytes from row to row of a copy of A, */
    long long x_row;       /* or of A where it lies */
    long long wide;        /* bytes of an element as it is computed with */
    long long wide_row;    /* from row to row of a piece of B that is widened; 0: none is */
    int in_place, is_shared, zen4;
    char *sums;   /* ALL_SUM_BYTES for each slot, */
    char *pieces; /* and a widened piece */
    char *copies; /* one for each slot; is_shared: one of the only group for all */
} rows;

static long long least(long long x, long long y)
{
    return x < y ? x : y;
}

static rows describe(const tsr_job *job)
{
    const tsr_gemm_args *const g = job->args;
    const tsr_cpu_device *const device = job->device->impl;
    const long long bytes = job->element_bytes;
    rows r = {.job = job, .g = g, .bytes = bytes, .wide = job->wide_bytes};
    r.b = job->packed_b ? job->packed_b : g->b;
    r.b_row = (job->packed_b ? g->k : g->ldb) * bytes;
    r.b_batch = (job->packed_b && g->batch_b ? g->n * g->k : g->batch_b) * bytes;
    r.a = job->packed_a ? job->packed_a : g->a;
    const long long lda = !job->packed_a ? g->lda : g->trans_a ? g->m : g->k;
    r.a_row = (g->trans_a ? 1 : lda) * bytes;
    r.a_step = (g->trans_a ? lda : 1) * bytes;
    r.a_batch = (job->packed_a && g->batch_a ? g->m * g->k : g->batch_a) * bytes;
    const long long chunks = (g->m + TSR_FEW_ROWS - 1) / TSR_FEW_ROWS;
    r.chunk = least(g->m, tsr_round_up((g->m + chunks - 1) / chunks, CHUNK_UNIT));
    r.copy_row = tsr_round_up(g->k * r.wide, 64) + 64;
    const long long fit = COPY_BYTES / (r.chunk * r.copy_row);
    r.group = r.chunk * (fit < 1 ? 1 : least(fit, GROUP_CHUNKS));
    r.groups = (g->m + r.group - 1) / r.group;
    r.piece = least(SUM_BYTES / (r.chunk * r.wide), chunks > 1 ? SHARED_PIECE : MOST_PIECE) / PANELS * PANELS;
    if (bytes != r.wide && g->m > 1) {
        r.wide_row = r.copy_row;
        const long long columns = job->device->l2_bytes / 2 / r.wide_row;
        if (columns < r.piece)
            r.piece = columns < PANELS ? LEAST_PANELS : columns / PANELS * PANELS;
    }
    r.sum_row = r.piece * r.wide + SPARE_BYTES;
    r.in_place = bytes == r.wide && r.a_step == bytes && (g->m == 1 || r.chunk * g->k * bytes <= IN_PLACE_BYTES);
    r.x_row = r.in_place ? r.a_row : r.copy_row;
    r.zen4 = device->isa->zen4 && (double)g->n * (double)g->k * (double)bytes > (double)job->device->l2_bytes;
    return r;
}

/* Tasks of TASK_BYTES or more, a few for each thread; how many threads that are. */
static int cut(rows *r)
{
    const tsr_gemm_args *const g = r->g;
    const long long chunks = (g->m + r->chunk - 1) / r->chunk;
    const double work = (double)g->n * (double)g->k * (double)r->bytes * (double)chunks;
    const double others = (double)r->groups * (double)g->batch; /* tasks, without cutting columns */
    r->task = g->n;
    r->tasks = 1;
    if (r->job->threads == 1 || work * (double)g->batch < 2.0 * TASK_BYTES)
        return 1;
    const double wanted = (double)TASKS_PER_THREAD * r->job->threads / others,
                 most = work / (double)r->groups / TASK_BYTES;
    const double some = wanted < most ? wanted : most;
    if (some > 1) {
        r->task = tsr_round_up((long long)((double)g->n / some) + 1, PANELS);
        r->tasks = (g->n + r->task - 1) / r->task;
    }
    return r->job->threads;
}

static void copy(const rows *r, const char *a, long long count, char *to)
{
    const int width = (int)(r->copy_row / r->wide), k = (int)r->g->k;
    if (r->a_step != r->bytes) {
        r->job->store->pack_columns(to, width, k, count, a, r->a_step);
        return;
    }
    if (r->bytes != r->wide) {
        r->job->store->pack_rows(to, width, k, count, a, r->a_row);
        return;
    }
    for (long long i = 0; i < count; i++)
        memcpy(to + i * r->copy_row, a + i * r->a_row, (size_t)(r->g->k * r->bytes));
}

/* Rows of B from `first` on, as they are computed with, and the bytes from row to row. */
static const char *wide_piece(const rows *r, const char *b, long long first, long long n, char *piece,
                              long long *row_bytes)
{
    b += first * r->b_row;
    *row_bytes = r->wide_row ? r->wide_row : r->b_row;
    if (!r->wide_row)
        return b;
    r->job->store->pack_rows(piece, (int)(r->wide_row / r->wide), (int)r->g->k, n, b, r->b_row);
    return piece;
}

/* The sums of `count` rows x and n rows of B. */
static void sum_chunk(const rows *r, const char *b, long long b_row, const char *x, long long n, long long count,
                      char *sums)
{
    if (r->g->m == 1) {
        const tsr_dots dots = {
            .count = n, .k = r->g->k, .matrix = b, .step_bytes = b_row, .x = x, .sum = sums, .zen4 = r->zen4};
        r->job->store->dots_in_step(&dots);
        return;
    }
    const tsr_many_dots dots = {.count = n,
                                .k = r->g->k,
                                .matrix = b,
                                .step_bytes = b_row,
                                .rows = (int)count,
                                .in_step = 1,
                                .x = x,
                                .x_row_bytes = r->x_row,
                                .sum = sums,
                                .sum_row_bytes = r->wide,
                                .sum_step_bytes = r->sum_row,
                                .zen4 = r->zen4 && !r->wide_row};
    r->job->isa->store[r->wide == 8 ? TSR_F64 : TSR_F32].many_dots(&dots);
}

/* D's columns first .. first + n of `count` rows. */
static void finish(const rows *r, char *d, const char *c, long long first, long long n, long long count,
                   const char *sums)
{
    for (long long i = 0; i < count; i++)
        tsr_finish(r->job->store, r->g, d + (i * r->g->ldd + first) * r->bytes,
                   c ? c + (i * r->g->ldc + first) * r->bytes : NULL, sums + i * r->sum_row, first, n, r->bytes);
}

static void run_task(void *data, int64_t index, int slot)
{
    const rows *const r = data;
    const tsr_gemm_args *const g = r->g;
    const long long of_problem = r->groups * r->tasks, z = index / of_problem, at = index % of_problem;
    const long long i0 = at / r->tasks * r->group, count = least(r->group, g->m - i0);
    const long long j0 = at % r->tasks * r->task, j1 = least(g->n, j0 + r->task);
    const char *const b = r->b + z * r->b_batch;
    char *const d = (char *)g->d + (z * g->batch_d + i0 * g->ldd) * r->bytes;
    const char *const c = g->beta != 0 ? (const char *)g->c + (z * g->batch_c + i0 * g->ldc) * r->bytes : NULL;
    const char *x = r->a + z * r->a_batch + i0 * r->a_row;
    if (r->is_shared) {
        x = r->copies;
    } else if (!r->in_place) {
        char *const to = r->copies + slot * r->group * r->copy_row;
        copy(r, x, count, to);
        x = to;
    }
    char *const sums = r->sums + slot * ALL_SUM_BYTES, *const piece = r->pieces + slot * r->piece * r->wide_row;
    for (long long j = j0; j < j1; j += r->piece) {
        const long long n = least(r->piece, j1 - j);
        long long row_bytes;
        const char *const part = wide_piece(r, b, j, n, piece, &row_bytes);
        for (long long i = 0; i < count; i += r->chunk) {
            const long long some = least(r->chunk, count - i);
            sum_chunk(r, part, row_bytes, x + i * r->x_row, n, some, sums);
            finish(r, d + i * g->ldd * r->bytes, c ? c + i * g->ldc * r->bytes : NULL, j, n, some, sums);
        }
    }
}

tsr_status tsr_any_rows(const tsr_job *job)
{
    tsr_cpu_device *const device = job->device->impl;
    rows r = describe(job);
    const int threads = cut(&r);
    const long long tasks = r.tasks * r.groups * r.g->batch, slots = least(threads, tasks);
    r.is_shared = !r.in_place && r.groups * r.g->batch == 1;
    const long long copied = r.in_place ? 0 : r.is_shared ? r.g->m : slots * r.group;
    const long long piece_bytes = r.piece * r.wide_row;
    r.sums = tsr_job_take(job, (size_t)(slots * (ALL_SUM_BYTES + piece_bytes) + copied * r.copy_row));
    if (!r.sums)
        return tsr_fail(TSR_OUT_OF_MEMORY, "no memory for sums and for %lld rows of A with %lld elements", copied,
                        (long long)r.g->k);
    r.pieces = r.sums + slots * ALL_SUM_BYTES;
    r.copies = r.pieces + slots * piece_bytes;
    if (r.is_shared && !tsr_job_rehearses(job))
        copy(&r, r.a, r.g->m, r.copies);
    if (!tsr_job_rehearses(job))
        tsr_pool_run(&device->pool, (int)slots, tasks, run_task, &r);
    tsr_job_give(job, r.sums);
    return TSR_OK;
}
