/* cpu-tiled where M or N is 1: a matrix times a vector, limited by how fast the matrix is read. The matrix is read
 * once, row by row as it is stored, several rows at once so that the processor's prefetchers see a few long streams.
 *
 *   stored with K along its rows:  each result is a dot product of a row and the vector
 *   stored with K down its rows:   each row, times one element of the vector, is added to the results
 *
 * Results are cut into pieces that tasks share; an element's sum runs the same way in whatever piece it lies. */
#include "core/error.h"
#include "cpu/job.h"

enum {
    PIECE = 1024,            /* results of one piece; their sums lie on the stack */
    TASK_BYTES = 256 * 1024, /* of the matrix, at least, for a task of its own */
    GATHER_ELEMS = 1024      /* of a strided vector that is copied to the stack rather than to scratch */
};

typedef struct gemv {
    const tsr_job *job;
    const char *matrix, *x, *c; /* of the first problem */
    char *d;
    long long matrix_batch, x_batch, c_batch, d_batch; /* bytes from problem to problem */
    long long row_bytes, x_step, c_step, d_step;       /* bytes; steps from element to element */
    long long results, k;
    long long piece, pieces; /* of one problem */
    int dots;
    char *gathered; /* contiguous copies of x, one for each slot; NULL: not needed */
} gemv;

static void set_matrix(gemv *v, const char *data, const void *packed, long long ld, long long batch, int dots)
{
    const long long bytes = v->job->element_bytes;
    v->dots = dots;
    v->matrix = packed ? packed : data;
    v->row_bytes = (packed ? (dots ? v->k : v->results) : ld) * bytes;
    v->matrix_batch = (packed && batch ? v->results * v->k : batch) * bytes;
}

static void set_vector(gemv *v, const char *data, const void *packed, long long step, long long batch)
{
    const long long bytes = v->job->element_bytes;
    v->x = packed ? packed : data;
    v->x_step = (packed ? 1 : step) * bytes;
    v->x_batch = (packed && batch ? v->k : batch) * bytes;
}

static void describe(gemv *v, const tsr_job *job)
{
    const tsr_gemm_args *g = job->args;
    const long long bytes = job->element_bytes;
    v->job = job;
    v->k = g->k;
    if (g->n == 1) {
        v->results = g->m;
        set_matrix(v, g->a, job->packed_a, g->lda, g->batch_a, !g->trans_a);
        set_vector(v, g->b, job->packed_b, g->trans_b ? 1 : g->ldb, g->batch_b);
    } else {
        v->results = g->n;
        set_matrix(v, g->b, job->packed_b, g->ldb, g->batch_b, g->trans_b);
        set_vector(v, g->a, job->packed_a, g->trans_a ? g->lda : 1, g->batch_a);
    }
    v->c = g->c;
    v->d = g->d;
    v->c_step = (g->n == 1 ? g->ldc : 1) * bytes;
    v->d_step = (g->n == 1 ? g->ldd : 1) * bytes;
    v->c_batch = g->batch_c * bytes;
    v->d_batch = g->batch_d * bytes;
}

/* Copies x where its elements do not follow each other and the kernel wants that they do. */
static const char *gather(const gemv *v, const char *x, char *to)
{
    const int bytes = v->job->element_bytes;
    for (long long p = 0; p < v->k; p++)
        for (int byte = 0; byte < bytes; byte++)
            to[p * bytes + byte] = x[p * v->x_step + byte];
    return to;
}

static void write_back(const gemv *v, char *d, const char *c, const void *sums, long long n)
{
    const tsr_gemm_args *g = v->job->args;
    tsr_finish_run *finish = v->job->store->finish;
    const char *sum = sums;
    if (v->d_step == v->job->element_bytes && (!c || v->c_step == v->d_step)) {
        finish(d, c, g->alpha, g->beta, sum, n);
        return;
    }
    for (long long i = 0; i < n; i++)
        finish(d + i * v->d_step, c ? c + i * v->c_step : NULL, g->alpha, g->beta, sum + i * v->job->wide_bytes, 1);
}

static void task(void *data, int64_t index, int slot)
{
    const gemv *v = data;
    const tsr_job *job = v->job;
    const long long z = index / v->pieces, first = index % v->pieces * v->piece;
    const long long last = first + v->piece < v->results ? first + v->piece : v->results;
    const char *x = v->x + z * v->x_batch;
    const char *matrix = v->matrix + z * v->matrix_batch;
    char *d = v->d + z * v->d_batch;
    const char *c = job->args->beta != 0 ? v->c + z * v->c_batch : NULL;
    double sums[PIECE];
    char local[GATHER_ELEMS * 8];

    long long x_step = v->x_step;
    if (v->dots && x_step != job->element_bytes && v->k > 1) {
        x = gather(v, x, v->gathered ? v->gathered + (size_t)slot * (size_t)v->k * (size_t)job->element_bytes : local);
        x_step = job->element_bytes;
    }
    for (long long i = first; i < last; i += PIECE) {
        const long long n = last - i < PIECE ? last - i : PIECE;
        const tsr_gemv part = {.count = n,
                               .k = v->k,
                               .matrix = matrix + i * (v->dots ? v->row_bytes : job->element_bytes),
                               .step_bytes = v->row_bytes,
                               .x = x,
                               .x_step_bytes = x_step,
                               .sum = sums};
        (v->dots ? job->store->dot : job->store->axpy)(&part);
        write_back(v, d + i * v->d_step, c ? c + i * v->c_step : NULL, sums, n);
    }
}

tsr_status tsr_gemv_rows(const tsr_job *job)
{
    tsr_cpu_device *device = job->device->impl;
    gemv v = {0};
    describe(&v, job);

    const double bytes = (double)v.results * (double)v.k * job->element_bytes;
    int slots = job->threads;
    if (bytes * (double)job->args->batch < 2.0 * TASK_BYTES)
        slots = 1;
    v.piece = v.results;
    if (slots > 1 && bytes > TASK_BYTES) {
        const double tasks = bytes / TASK_BYTES < 8.0 * slots ? bytes / TASK_BYTES : 8.0 * slots;
        v.piece = tsr_round_up((long long)((double)v.results / tasks) + 1, 64);
    }
    v.pieces = (v.results + v.piece - 1) / v.piece;

    if (v.dots && v.x_step != job->element_bytes && v.k > GATHER_ELEMS) {
        v.gathered = tsr_scratch_take(&device->scratch, (size_t)slots * (size_t)v.k * (size_t)job->element_bytes);
        if (!v.gathered)
            return tsr_fail(TSR_OUT_OF_MEMORY, "no memory to copy a vector of K = %lld elements", v.k);
    }
    tsr_pool_run(&device->pool, slots, v.pieces * job->args->batch, task, &v);
    if (v.gathered)
        tsr_scratch_give(&device->scratch, v.gathered);
    return TSR_OK;
}
