/* cpu-tiled for 8-bit integers. Operands are widened to 16 bits while they are packed, less their zero points, which
 * leaves numbers of at most 255; a multiply-add takes two steps of K, and sums wrap around at 2^32. So the order of
 * the sums is of no account: all algorithms, instruction sets and numbers of threads give the same bits.
 *
 * Sums modulo 2^32 distribute over alpha and beta, so a result in s32 is added to in D itself; others wait in s32 for
 * all of K, then become f32, and end as those of other types do (end.h). */
#include "cpu/integers.h"

#include "core/error.h"
#include "cpu/choose.h"
#include "cpu/cpu.h"
#include "cpu/split_k.h"

enum { CHUNK = 512 }; /* columns of a row that are finished together */

static tsr_bytes bytes_of(const void *at, int type, long long ld, long long batch)
{
    return (tsr_bytes){.at = at, .batch = batch, .ld = ld, .is_signed = type == TSR_S8};
}

static void set_zeros(tsr_bytes *operand, const void *zeros, int mode, long long batch, long long first)
{
    operand->zeros = zeros;
    operand->zeros_batch = batch;
    operand->zeros_first = first;
    operand->zeros_differ = mode == TSR_SCALING_VECTOR;
}

tsr_integer_end tsr_integer_end_of(const tsr_integer_job *job, long long z, float *bias)
{
    const tsr_gemm_args *const g = job->job->args;
    const long long d_bytes = (long long)tsr_dtype_bytes(job->dtype_d);
    tsr_integer_end e = {.job = job,
                         .end = tsr_end_of(g, job->scaling),
                         .c = g->beta != 0 ? (const char *)g->c + z * g->batch_c * d_bytes : NULL,
                         .d = (char *)g->d + z * g->batch_d * d_bytes,
                         .bias = bias};
    tsr_end_begin(&e.end, z);
    for (long long j = 0; bias && j < g->n; j++)
        bias[j] = (float)tsr_load_element((tsr_dtype)e.end.scaling.type_bias, g->bias, j);
    return e;
}

static void end_whole(const tsr_integer_end *e, long long i, long long j, long long n, const int32_t *sums)
{
    const tsr_gemm_args *const g = e->job->job->args;
    const uint32_t alpha = (uint32_t)(int32_t)g->alpha, beta = (uint32_t)(int32_t)g->beta;
    const uint32_t *const c = e->c ? (const uint32_t *)e->c + i * g->ldc + j : NULL;
    uint32_t *const d = (uint32_t *)e->d + i * g->ldd + j;
    for (long long x = 0; x < n; x++)
        d[x] = alpha * (uint32_t)sums[x] + (c ? beta * c[x] : 0);
}

/* The order of operations is that of tsr_end_value. */
static void end_floats(const tsr_integer_end *e, long long i, long long j, int n, const int32_t *sums)
{
    const tsr_gemm_args *const g = e->job->job->args;
    const tsr_dtype dtype = e->job->dtype_d;
    char *const d = (char *)e->d + (i * g->ldd + j) * (long long)tsr_dtype_bytes(dtype);
    float values[CHUNK], old[CHUNK];
    e->job->code->scale(values, sums, n, e->end.rows ? e->end.alpha * e->end.rows[i] : e->end.alpha,
                        e->end.columns ? e->end.columns + j : NULL);
    if (e->c) {
        if (dtype == TSR_F32)
            memcpy(old, (const float *)e->c + i * g->ldc + j, (size_t)n * sizeof(float));
        else
            tsr_widen(&e->job->of_d, e->c, i * g->ldc + j, n, old);
        for (int x = 0; x < n; x++)
            values[x] = e->end.beta * old[x] + values[x];
    }
    for (int x = 0; e->bias && x < n; x++)
        values[x] += e->bias[j + x];
    for (int x = 0; g->epilogue == TSR_EPILOGUE_BIAS_RELU && x < n; x++)
        values[x] = values[x] < 0 ? 0 : values[x];
    e->job->job->store->finish(d, NULL, 1, 0, values, n);
}

void tsr_integer_end_row(const tsr_integer_end *e, long long i, long long j, long long n, const int32_t *sums)
{
    if (e->job->dtype_d == TSR_S32) {
        end_whole(e, i, j, n, sums);
        return;
    }
    for (long long x = 0; x < n; x += CHUNK)
        end_floats(e, i, j + x, (int)(n - x < CHUNK ? n - x : CHUNK), sums + x);
}

/* D = beta * C in its form, where no product is added. */
static void scale_all(const tsr_integer_job *job)
{
    static const int32_t zero;
    const tsr_gemm_args *const g = job->job->args;
    uint32_t amax = 0;
    for (long long z = 0; z < g->batch; z++) {
        const tsr_integer_end e = tsr_integer_end_of(job, z, NULL);
        for (long long i = 0; i < g->m; i++)
            for (long long j = 0; j < g->n; j++)
                if (job->dtype_d == TSR_S32)
                    end_whole(&e, i, j, 1, &zero);
                else
                    tsr_end_store(&e.end, e.d, i * g->ldd + j, tsr_end_value(&e.end, i, j, 0, e.c), &amax);
    }
}

/* The answer names an algorithm alone: sums do not depend on it. */
tsr_algorithms tsr_cpu_integers_choose(const tsr_config *config, const tsr_device *device, const tsr_problem *problem)
{
    (void)config;
    const tsr_gemm_args args = tsr_args_of(problem);
    const int threads = problem->threads > 0 ? problem->threads : device->threads;
    const tsr_cpu_choice choice = tsr_cpu_algorithm(device, problem->op.a, &args, 0, threads);
    const int algorithm = tsr_choice_number(choice);
    return (tsr_algorithms){.without_c = algorithm, .with_c = algorithm, .k_parts = choice.k_parts};
}

static tsr_status run(const tsr_integer_job *job, tsr_algorithm algorithm)
{
    return algorithm == TSR_SKINNY ? tsr_integer_few(job) : tsr_integer_blocks(job);
}

/* ---- K in parts ---- */

typedef struct part_job {
    const tsr_integer_job *job; /* of all of K */
    tsr_algorithm algorithm;
    const tsr_integer_end *ends; /* of each problem */
} part_job;

/* Sums in s32, less zero points: of all of D. */
static tsr_status sum_part(const void *data, const tsr_k_part *part)
{
    const part_job *const p = data;
    tsr_integer_job job = *p->job;
    tsr_job tiled = *job.job;
    tsr_gemm_args g = *tiled.args;
    const long long a_step = g.trans_a ? job.a.ld : 1, b_step = g.trans_b ? 1 : job.b.ld;
    job.a.at += part->z * job.a.batch + part->p * a_step;
    job.b.at += part->z * job.b.batch + part->p * b_step;
    job.a.zeros_first += part->z * job.a.zeros_batch;
    job.b.zeros_first += part->z * job.b.zeros_batch;
    g.a = job.a.at;
    g.b = job.b.at;
    g.k = part->k;
    g.c = NULL;
    g.d = part->sums;
    g.ldc = g.ldd = g.n;
    g.batch = 1;
    g.alpha = 1;
    g.beta = 0;
    g.epilogue = TSR_EPILOGUE_NONE;
    g.type_d = TSR_S32;
    tiled.args = &g;
    tiled.threads = 1;
    job.job = &tiled;
    job.scaling = NULL;
    job.dtype_d = TSR_S32;
    return run(&job, p->algorithm);
}

static void add_sums(const void *data, void *to, const void *from, long long n)
{
    uint32_t *const total = to;
    const uint32_t *const part = from;
    (void)data;
    for (long long x = 0; x < n; x++)
        total[x] += part[x];
}

static void end_row(const void *data, long long z, long long row, const void *sums)
{
    const part_job *const p = data;
    const tsr_gemm_args *const g = p->job->job->args;
    tsr_integer_end_row(&p->ends[z], row, 0, g->n, sums);
}

static tsr_status run_parts(const tsr_integer_job *job, const tsr_cpu_choice *choice)
{
    const tsr_gemm_args *const g = job->job->args;
    const int has_bias = job->dtype_d != TSR_S32 && g->epilogue != TSR_EPILOGUE_NONE;
    const size_t end_bytes = (size_t)tsr_round_up(g->batch * (long long)sizeof(tsr_integer_end), 64);
    char *const memory = tsr_job_take(job->job, end_bytes + (has_bias ? (size_t)g->n * sizeof(float) : 0));
    if (!memory)
        return tsr_fail(TSR_OUT_OF_MEMORY, "no memory for a bias of %lld elements", (long long)g->n);
    tsr_integer_end *const ends = (tsr_integer_end *)(void *)memory;
    for (long long z = 0; z < g->batch; z++)
        ends[z] = tsr_integer_end_of(job, z, has_bias ? (float *)(void *)(memory + end_bytes) : NULL);
    const part_job parts = {job, choice->algorithm, ends};
    const tsr_split_k split = {.job = &parts,
                               .device = job->job->device,
                               .reserve = job->job->reserve,
                               .threads = job->job->threads,
                               .m = g->m,
                               .n = g->n,
                               .k = g->k,
                               .batch = g->batch,
                               .steps = tsr_part_steps(g->k, choice->k_parts, TSR_K_PART_UNIT),
                               .least_m = g->m,
                               .least_n = g->n,
                               .sum_bytes = sizeof(int32_t),
                               .sum = sum_part,
                               .add = add_sums,
                               .end = end_row};
    const tsr_status status = tsr_split_k_run(&split);
    tsr_job_give(job->job, memory);
    return status;
}

tsr_status tsr_cpu_integers(const tsr_config *config, const tsr_cpu_call *call)
{
    const tsr_gemm_args *const g = call->args;
    const tsr_scaling *const s = call->scaling;
    const tsr_cpu_device *const cpu = call->device->impl;
    const tsr_dtype dtype_d = (tsr_dtype)g->type_d;
    if (g->m == 0 || g->n == 0 || g->batch == 0)
        return TSR_OK;
    const tsr_cpu_choice choice = call->algorithm
                                      ? tsr_choice_of(call->algorithm)
                                      : tsr_cpu_algorithm(call->device, (tsr_dtype)g->type_a, g, 0, call->threads);
    const tsr_job tiled = {.args = g,
                           .isa = cpu->isa,
                           .tiles = &cpu->integers->tiles,
                           .store = &cpu->isa->store[dtype_d],
                           .device = call->device,
                           .reserve = call->reserve,
                           .threads = call->threads,
                           .element_bytes = 1,
                           .wide_bytes = 2};
    tsr_integer_job job = {.job = &tiled,
                           .code = cpu->integers,
                           .scaling = s,
                           .a = bytes_of(g->a, g->type_a, g->lda, g->batch_a),
                           .b = bytes_of(g->b, g->type_b, g->ldb, g->batch_b),
                           .dtype_d = dtype_d,
                           .of_d = {.dtype = dtype_d}};
    if (s) {
        set_zeros(&job.a, s->zero_a, s->mode_a, s->batch_a, s->first_m);
        set_zeros(&job.b, s->zero_b, s->mode_b, s->batch_b, s->first_n);
    }
    if (dtype_d != TSR_S32 && !tiled.store->finish)
        return tsr_fail(TSR_INTERNAL, "config %s: cpu-tiled has no code for results in %s", config->instance,
                        tsr_dtype_name(dtype_d));
    if (g->k == 0) {
        scale_all(&job);
        return TSR_OK;
    }
    return choice.k_parts ? run_parts(&job, &choice) : run(&job, choice.algorithm);
}
