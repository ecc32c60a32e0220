/* cpu-tiled for 8-bit integers, up to TSR_INTEGER_ROWS rows or columns of D: the large operand is read once, as it
 * lies. With few columns D^T = B^T A^T is computed: the rows of `x` are B's columns then, and the matrix is A. Zero
 * points of the matrix are subtracted from the sums, times the sums of x. */
#include "core/error.h"
#include "cpu/integers.h"

enum {
    SUM_BYTES = 16 * 1024, /* of a task of updates: they stay in L1 */
    LEAST_COUNT = 256,     /* columns of a task of updates */
    DOTS_COUNT = 64,       /* of a task of dot products */
    MIN_TASK_BYTES = 64 * 1024,
    PADDING = 64 /* elements behind a row of x or of sums that vectors may take with it */
};

typedef struct few {
    const tsr_integer_job *job;
    const tsr_bytes *matrix, *few;
    int is_swapped; /* rows of x are columns of B */
    int rows;
    int k_inner; /* K runs along the matrix's stored rows */
    long long count, count_of_task, sum_row, x_row;
    int16_t *x;
    int32_t x_sums[TSR_INTEGER_ROWS];
    int32_t *sums; /* sum_row x rows for each slot */
    long long z;
    tsr_integer_end end;
} few;

static long long least(long long a, long long b)
{
    return a < b ? a : b;
}

/* x as 16-bit numbers in rows along K, less zero points, zeros behind the last. */
static void widen_x(few *f)
{
    const tsr_gemm_args *const g = f->job->job->args;
    const tsr_bytes *const o = f->few;
    const uint8_t *const from = o->at + f->z * o->batch;
    const int along = f->is_swapped ? g->trans_b : !g->trans_a;
    memset(f->x, 0, (size_t)(f->rows * f->x_row) * sizeof *f->x);
    if (along)
        f->job->code->widen_rows(f->x, f->x_row, f->rows, g->k, from, o->ld, o->is_signed);
    for (int i = 0; i < f->rows; i++) {
        int16_t *const x = f->x + i * f->x_row;
        const int16_t zero = tsr_byte_zero(o, f->z, i);
        uint32_t sum = 0;
        for (long long p = 0; !along && p < g->k; p++)
            x[p] = (int16_t)tsr_byte_value(o, from[p * o->ld + i]);
        for (long long p = 0; (o->zeros || f->matrix->zeros) && p < g->k; p++) {
            x[p] = (int16_t)(x[p] - zero);
            sum += (uint32_t)x[p];
        }
        f->x_sums[i] = (int32_t)sum;
    }
}

static void subtract_zeros(const few *f, int32_t *sums, long long first, long long count)
{
    for (int i = 0; i < f->rows; i++)
        for (long long j = 0; j < count; j++) {
            const uint32_t zero = (uint32_t)tsr_byte_zero(f->matrix, f->z, first + j);
            uint32_t *const sum = (uint32_t *)sums + i * f->sum_row + j;
            *sum -= zero * (uint32_t)f->x_sums[i];
        }
}

static void finish(const few *f, const int32_t *sums, long long first, long long count)
{
    for (int i = 0; !f->is_swapped && i < f->rows; i++)
        tsr_integer_end_row(&f->end, i, first, count, sums + i * f->sum_row);
    for (long long j = 0; f->is_swapped && j < count; j++) {
        int32_t row[TSR_INTEGER_ROWS];
        for (int i = 0; i < f->rows; i++)
            row[i] = sums[i * f->sum_row + j];
        tsr_integer_end_row(&f->end, first + j, 0, f->rows, row);
    }
}

static void task(void *data, int64_t index, int slot)
{
    const few *const f = data;
    const long long first = index * f->count_of_task, count = least(f->count_of_task, f->count - first);
    int32_t *const sums = f->sums + slot * f->rows * f->sum_row;
    const tsr_integer_rows rows = {.count = count,
                                   .k = f->job->job->args->k,
                                   .rows = f->rows,
                                   .is_signed = f->matrix->is_signed,
                                   .matrix = f->matrix->at + f->z * f->matrix->batch +
                                             (f->k_inner ? first * f->matrix->ld : first),
                                   .step_bytes = f->matrix->ld,
                                   .x = f->x,
                                   .x_row = f->x_row,
                                   .sum = sums,
                                   .sum_row = f->sum_row};
    if (f->k_inner) {
        f->job->code->dots(&rows);
    } else {
        memset(sums, 0, (size_t)(f->rows * f->sum_row) * sizeof *sums);
        f->job->code->updates(&rows);
    }
    if (f->matrix->zeros)
        subtract_zeros(f, sums, first, count);
    finish(f, sums, first, count);
}

/* Lines of the matrix for a task: pieces of rows as long as sums stay in L1, but enough of them for all threads. */
static long long count_of_task(const few *f, int threads)
{
    const long long most = f->k_inner ? DOTS_COUNT : SUM_BYTES / 4 / f->rows;
    const long long share = (f->count + threads - 1) / threads;
    return f->k_inner ? most : least(most, share < LEAST_COUNT ? LEAST_COUNT : tsr_round_up(share, PADDING));
}

tsr_status tsr_integer_few(const tsr_integer_job *job)
{
    const tsr_gemm_args *const g = job->job->args;
    tsr_cpu_device *const cpu = job->job->device->impl;
    const int is_swapped = g->m > TSR_INTEGER_ROWS, has_bias = g->epilogue != TSR_EPILOGUE_NONE;
    few f = {.job = job,
             .matrix = is_swapped ? &job->a : &job->b,
             .few = is_swapped ? &job->b : &job->a,
             .is_swapped = is_swapped,
             .rows = (int)(is_swapped ? g->n : g->m),
             .k_inner = is_swapped ? !g->trans_a : g->trans_b,
             .count = is_swapped ? g->m : g->n,
             .x_row = tsr_round_up(g->k, PADDING) + PADDING};
    const int threads =
        (double)f.count * (double)g->k < 2.0 * MIN_TASK_BYTES ? 1 : job->job->threads; /* bytes of the matrix */
    f.count_of_task = count_of_task(&f, threads);
    f.sum_row = tsr_round_up(least(f.count_of_task, f.count), PADDING);
    const long long tasks = (f.count + f.count_of_task - 1) / f.count_of_task;
    const int slots = (int)least(threads, tasks);
    const size_t bytes = (size_t)(f.rows * f.x_row) * sizeof *f.x + (size_t)(slots * f.rows * f.sum_row) * 4 +
                         (has_bias ? (size_t)g->n * sizeof(float) : 0);
    char *const scratch = tsr_job_take(job->job, bytes);
    if (!scratch)
        return tsr_fail(TSR_OUT_OF_MEMORY, "no memory for %zu bytes of widened rows and sums", bytes);
    f.x = (int16_t *)(void *)scratch;
    f.sums = (int32_t *)(void *)(scratch + (size_t)(f.rows * f.x_row) * sizeof *f.x);
    float *const bias = has_bias ? (float *)(void *)(f.sums + slots * f.rows * f.sum_row) : NULL;
    for (f.z = 0; f.z < g->batch && !tsr_job_rehearses(job->job); f.z++) {
        f.end = tsr_integer_end_of(job, f.z, bias);
        widen_x(&f);
        tsr_pool_run(&cpu->pool, slots, tasks, task, &f);
    }
    tsr_job_give(job->job, scratch);
    return TSR_OK;
}
