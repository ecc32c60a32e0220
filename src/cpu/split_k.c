#include "cpu/split_k.h"

#include <stdatomic.h>

#include "core/error.h"

enum {
    TASKS_PER_THREAD = 2,
    ROW_UNIT = 48,    /* rows or columns of a slice, in multiples: whole panels of each algorithm */
    END_SUMS = 2048,  /* partial sums that a task adds, at least, */
    ALONE_SUMS = 8192 /* or so many are added by the caller alone */
};

typedef struct splitting {
    const tsr_split_k *split;
    char *sums;              /* parts x problems x M x N */
    long long parts, d_sums; /* of all problems */
    long long slice_m, slice_n, grid_m, grid_n;
    long long rows; /* of D that a task ends */
    atomic_int status;
} splitting;

static long long least(long long a, long long b)
{
    return a < b ? a : b;
}

static void sum_task(void *data, int64_t index, int slot)
{
    splitting *const s = data;
    const tsr_split_k *const k = s->split;
    const long long slices = s->grid_m * s->grid_n, at = index % slices, part = index / slices % s->parts,
                    z = index / slices / s->parts;
    tsr_k_part to = {.z = z,
                     .i = at % s->grid_m * s->slice_m,
                     .j = at / s->grid_m * s->slice_n,
                     .p = part * k->steps,
                     .is_slice = slices > 1};
    (void)slot;
    to.m = least(s->slice_m, k->m - to.i);
    to.n = least(s->slice_n, k->n - to.j);
    to.k = least(k->steps, k->k - to.p);
    to.sums = s->sums + (part * s->d_sums + (z * k->m + to.i) * k->n + to.j) * k->sum_bytes;
    const tsr_status status = k->sum(k->job, &to);
    if (status != TSR_OK)
        atomic_store(&s->status, (int)status);
}

/* Rows of D of all problems. */
static void end_task(void *data, int64_t index, int slot)
{
    const splitting *const s = data;
    const tsr_split_k *const k = s->split;
    const long long first = index * s->rows, rows = least(s->rows, k->m * k->batch - first);
    char *const total = s->sums + first * k->n * k->sum_bytes;
    (void)slot;
    for (long long part = 1; part < s->parts; part++)
        k->add(k->job, total, total + part * s->d_sums * k->sum_bytes, rows * k->n);
    for (long long row = 0; row < rows; row++)
        k->end(k->job, (first + row) / k->m, (first + row) % k->m, total + row * k->n * k->sum_bytes);
}

/* Slices of about equal length, `wanted` if they are not to be shorter than that. */
static long long slice_of(long long length, long long shortest, long long wanted)
{
    const long long most = length / shortest, slices = least(most < 1 ? 1 : most, wanted);
    return slices < 2 ? length : least(length, tsr_round_up((length + slices - 1) / slices, ROW_UNIT));
}

static void cut(splitting *s)
{
    const tsr_split_k *const k = s->split;
    const long long wanted =
        (TASKS_PER_THREAD * (long long)k->threads + s->parts * k->batch - 1) / (s->parts * k->batch);
    const long long slices = k->threads > 1 ? wanted : 1;
    s->slice_m = slice_of(k->m, k->least_m, slices);
    s->grid_m = (k->m + s->slice_m - 1) / s->slice_m;
    s->slice_n = slice_of(k->n, k->least_n, slices);
    s->grid_n = (k->n + s->slice_n - 1) / s->slice_n;
}

/* Length of the last of `count` pieces. */
static long long last_of(long long length, long long piece, long long count)
{
    return length - (count - 1) * piece;
}

/* Each thread has a part at work: of whole slices and of the last ones, of the first parts of K and of the last. A
 * smaller one may take more, as it is cut into other blocks. */
static tsr_status rehearse(const splitting *s)
{
    const tsr_split_k *const k = s->split;
    const long long tasks = s->parts * s->grid_m * s->grid_n * k->batch;
    const long long ms[] = {s->slice_m, last_of(k->m, s->slice_m, s->grid_m)},
                    ns[] = {s->slice_n, last_of(k->n, s->slice_n, s->grid_n)},
                    ks[] = {least(k->steps, k->k), last_of(k->k, k->steps, s->parts)};
    const size_t before = k->reserve->takes;
    tsr_status status = TSR_OK;
    for (int kind = 0; kind < 8; kind++) {
        const tsr_k_part part = {.m = ms[kind & 1],
                                 .n = ns[kind >> 1 & 1],
                                 .k = ks[kind >> 2],
                                 .is_slice = s->grid_m * s->grid_n > 1,
                                 .sums = s->sums};
        if ((kind & 1 && ms[0] == ms[1]) || (kind & 2 && ns[0] == ns[1]) || (kind & 4 && ks[0] == ks[1]))
            continue;
        tsr_reserve_next(k->reserve, before);
        for (long long i = 0; i < least(k->threads, tasks) && status == TSR_OK; i++)
            status = k->sum(k->job, &part);
    }
    return status;
}

tsr_status tsr_split_k_run(const tsr_split_k *k)
{
    tsr_cpu_device *const cpu = k->device->impl;
    splitting s = {.split = k, .parts = (k->k + k->steps - 1) / k->steps, .d_sums = k->batch * k->m * k->n};
    const size_t bytes = (size_t)(s.parts * s.d_sums * k->sum_bytes);
    atomic_init(&s.status, TSR_OK);
    cut(&s);
    s.sums = tsr_reserve_take(k->reserve, &cpu->scratch, bytes);
    if (!s.sums)
        return tsr_fail(TSR_OUT_OF_MEMORY, "no memory for the sums of %lld parts of K: %zu bytes", s.parts, bytes);
    if (k->reserve && k->reserve->is_rehearsal)
        return rehearse(&s);
    tsr_pool_run(&cpu->pool, k->threads, s.parts * s.grid_m * s.grid_n * k->batch, sum_task, &s);
    const tsr_status status = (tsr_status)atomic_load(&s.status);
    if (status == TSR_OK) {
        const long long all = s.parts * s.d_sums, rows = k->m * k->batch;
        s.rows = (END_SUMS + s.parts * k->n - 1) / (s.parts * k->n);
        tsr_pool_run(&cpu->pool, all > ALONE_SUMS ? k->threads : 1, (rows + s.rows - 1) / s.rows, end_task, &s);
    }
    tsr_reserve_give(k->reserve, &cpu->scratch, s.sums);
    /* a thread that failed said why to itself */
    return status == TSR_OK ? TSR_OK : tsr_fail(status, "no memory for a part of K");
}
