/* cpu-tiled where K is a few steps: nearly all that moves is D, so its rows are written from end to end, each from the
 * rows of B, which stay in L2; past the caches where D is larger than those. */
#include "core/error.h"
#include "cpu/job.h"

enum {
    ROWS = 32,
    TASK_BYTES = 1 << 20,
    WIDEST = 8,
    TASK_RESULTS = 192 * 1024 /* elements of D that are worth waking a thread for */
};

typedef struct rank_k {
    const tsr_job *job;
    const char *a; /* of this problem of the batch */
    char *d;
    const char *b; /* in the compute type, steps in the order of addition */
    long long b_row_bytes;
    long long rows; /* of a task */
    int in_step;    /* rows of D begin at the same place of a vector */
    int past_cache; /* or D is written past the caches, 16-bit elements to where they are anyway */
} rank_k;

static void task(void *data, int64_t index, int slot)
{
    const rank_k *o = data;
    const tsr_job *job = o->job;
    const tsr_gemm_args *g = job->args;
    const long long element = job->element_bytes, wide = job->wide_bytes, lda_bytes = g->lda * element;
    const long long last = (index + 1) * o->rows < g->m ? (index + 1) * o->rows : g->m;
    _Alignas(64) char x[ROWS * TSR_RANK_K_STEPS * WIDEST];
    (void)slot;
    for (long long i = index * o->rows; i < last; i += ROWS) {
        const long long count = last - i < ROWS ? last - i : ROWS;
        if (g->trans_a)
            job->store->pack_columns(x, (int)g->k, (int)g->k, count, o->a + i * element, lda_bytes);
        else
            job->store->pack_rows(x, (int)g->k, (int)g->k, count, o->a + i * lda_bytes, lda_bytes);
        for (long long r = 0; r < count && job->swapped; r++)
            tsr_swap_steps((float *)(void *)x + r * g->k, 1, g->k);
        const tsr_rank_k rows = {.rows = count,
                                 .n = g->n,
                                 .k = (int)g->k,
                                 .past_cache = o->past_cache,
                                 .one_by_one = o->past_cache && !o->in_step,
                                 .ahead_bytes = o->past_cache ? 0 : tsr_rank_k_ahead(g->ldd * element),
                                 .alpha = g->alpha,
                                 .a = x,
                                 .a_row_bytes = g->k * wide,
                                 .a_k_bytes = wide,
                                 .b = o->b,
                                 .b_k_bytes = o->b_row_bytes,
                                 .d = o->d + i * g->ldd * element,
                                 .d_row_bytes = g->ldd * element};
        job->store->rank_k(&rows);
    }
    if (o->past_cache)
        TSR_STREAM_END(); /* before another thread hears that the task is done */
}

tsr_status tsr_rank_k_all(const tsr_job *job)
{
    const tsr_gemm_args *g = job->args;
    tsr_cpu_device *cpu = job->device->impl;
    const long long element = job->element_bytes, row_bytes = tsr_round_up(g->n * job->wide_bytes, 64);
    const int width = (int)(row_bytes / job->wide_bytes);
    char *const b = tsr_job_take(job, (size_t)(g->k * row_bytes));
    if (!b)
        return tsr_fail(TSR_OUT_OF_MEMORY, "no memory for packing: %lld bytes", (long long)g->k * row_bytes);
    const int past_cache = tsr_is_past_caches(g, element, job->device);
    rank_k o = {.job = job,
                .b = b,
                .b_row_bytes = row_bytes,
                .in_step = tsr_rows_are_in_step(g, job->tiles),
                .past_cache = past_cache};
    const long long fit = (past_cache ? TASK_BYTES / element : TASK_RESULTS) / g->n + 1,
                    share = (g->m + job->threads - 1) / job->threads;
    o.rows = past_cache == (fit < share) ? fit : share; /* in the caches no less than what is worth a thread */
    const long long tasks = (g->m + o.rows - 1) / o.rows;
    for (long long z = 0; z < g->batch && !tsr_job_rehearses(job); z++) {
        const char *from = (const char *)g->b + z * g->batch_b * element;
        if (g->trans_b)
            job->store->pack_columns(b, width, (int)g->n, g->k, from, g->ldb * element);
        else
            job->store->pack_rows(b, width, (int)g->n, g->k, from, g->ldb * element);
        if (job->swapped)
            tsr_swap_steps((float *)(void *)b, width, g->k);
        o.a = (const char *)g->a + z * g->batch_a * element;
        o.d = (char *)g->d + z * g->batch_d * element;
        tsr_pool_run(&cpu->pool, job->threads < tasks ? job->threads : (int)tasks, tasks, task, &o);
    }
    tsr_job_give(job, b);
    return TSR_OK;
}
