/* One call of cpu-tiled. */
#ifndef TSR_CPU_JOB_H
#define TSR_CPU_JOB_H

#include "cpu/cpu_device.h"
#include "cpu/reserve.h"
#include "cpu/skinny/shape.h"

typedef struct tsr_job {
    const tsr_gemm_args *args;
    const tsr_isa *isa;
    const tsr_tiles *tiles;
    const tsr_store *store;
    tsr_device *device;
    tsr_reserve *reserve; /* of the call; NULL: none */
    tsr_shape shape;
    const void *packed_a, *packed_b;
    int threads;
    int element_bytes;    /* as stored */
    int wide_bytes;       /* as computed with */
    int kc;               /* steps of K between two write-backs; tsr_kc_of */
    long long k_block;    /* of a part of K: what the blocks of all of K are; 0: tsr_k_block answers */
    int swapped;          /* of each two steps of K the later is added first; tsr_is_swapped */
    const tsr_store *end; /* writes D: `store`, or, where D is the sums of a part of K, that of the compute type */
    int d_bytes;          /* of an element of C and D */
    int is_slice;         /* of a D with so many rows or columns that no chains are added up, whatever it has itself */
} tsr_job;

/* Memory for a call; NULL: there is none, and nothing may have been written. */
static inline void *tsr_job_take(const tsr_job *job, size_t bytes)
{
    return tsr_reserve_take(job->reserve, &((tsr_cpu_device *)job->device->impl)->scratch, bytes);
}

static inline void tsr_job_give(const tsr_job *job, void *buffer)
{
    tsr_reserve_give(job->reserve, &((tsr_cpu_device *)job->device->impl)->scratch, buffer);
}

/* 1 if memory is taken and given back, but nothing multiplied. */
static inline int tsr_job_rehearses(const tsr_job *job)
{
    return job->reserve && job->reserve->is_rehearsal;
}

/* 1 if smaller tasks are worth a thread now. Another answer may come a moment later: a rehearsal asks for the memory of
 * both. */
static inline int tsr_job_is_awake(const tsr_job *job)
{
    return tsr_pool_is_awake(&((tsr_cpu_device *)job->device->impl)->pool);
}

/* Steps of K of a block. */
static inline long long tsr_job_k_block(const tsr_job *job)
{
    return job->k_block ? job->k_block : tsr_k_block(job->kc, job->args->k);
}

/* D's columns `column` .. column + n - 1 of one row, from their sums: d and c are the first's. */
static inline void tsr_finish(const tsr_store *store, const tsr_gemm_args *g, void *d, const void *c, const void *sum,
                              long long column, long long n, long long element_bytes)
{
    if (g->epilogue == TSR_EPILOGUE_NONE)
        store->finish(d, c, g->alpha, g->beta, sum, n);
    else
        store->finish_form(d, c, g->alpha, g->beta, sum, n, (const char *)g->bias + column * element_bytes,
                           g->epilogue);
}

/* The form of `rows` x `n` values that lie in D already, from column `column` on, where elements are not widened: D's
 * elements are then acc. While they are in the cache. */
static inline void tsr_form_in_place(const tsr_store *store, const tsr_gemm_args *g, char *d, long long rows,
                                     long long column, long long n, long long element_bytes)
{
    const char *const bias = (const char *)g->bias + column * element_bytes;
    for (long long i = 0; i < rows; i++, d += g->ldd * element_bytes)
        store->finish_form(d, NULL, 1, 0, d, n, bias, g->epilogue);
}

/* 1 if a D beyond the inner caches is most of what moves: then it is written in long pieces of a few rows, all columns
 * of a block of mr rows after each other, while B stays in L2; not in columns of short pieces. */
static inline int tsr_is_mostly_results(const tsr_job *job, long long kc)
{
    enum { FEW_STEPS = 64, TIMES_L2 = 4 };
    return kc <= FEW_STEPS &&
           (double)job->args->m * (double)job->args->n * job->element_bytes > TIMES_L2 * (double)job->device->l2_bytes;
}

/* Small products, K above 0: register tiles straight on the operands, which asks for no memory. The bits of
 * tsr_blocked.
 */
void tsr_small_multiply(const tsr_tiles *tiles, const tsr_store *store, const tsr_gemm_args *args,
                        long long element_bytes, tsr_pool *pool, int threads); /* one problem */
void tsr_small_multiply_batch(const tsr_tiles *tiles, const tsr_store *store, const tsr_gemm_args *args,
                              long long element_bytes);
/* M and N above 1, K above 0. TSR_OUT_OF_MEMORY before anything is written. */
tsr_status tsr_blocked(const tsr_job *job);
/* The job of a call of cpu-tiled, whatever its algorithm. */
tsr_job tsr_tiled_job(const tsr_cpu_call *call, tsr_dtype dtype, tsr_shape shape);
/* How tsr_blocked cuts the job. */
typedef struct tsr_block_plan {
    long long kc, mc;                             /* steps of K, and rows of A, of a block; a panel of B is kc x nr */
    long long region_m, region_n, grid_m, grid_n; /* regions of D, one a task: size and number */
    int threads;
    int a_in_place; /* tiles read A where the caller has it; else it is packed in blocks of mc x kc */
    enum { TSR_B_IN_PLACE, TSR_B_PANELS, TSR_B_SLABS } b; /* likewise; packed a panel at a time, or all of a region */
    size_t packed_bytes;                                  /* of one task */
    int past_cache;                                       /* D is written past the caches */
} tsr_block_plan;
tsr_block_plan tsr_blocked_plan(const tsr_job *job);
/* The same in the calling thread, with memory that lies ready: at least tsr_blocked_most_bytes of a job that differs in
 * pointers only, or is larger in M and N. */
size_t tsr_blocked_most_bytes(const tsr_job *job);
void tsr_blocked_in(const tsr_job *job, char *scratch);
/* bf16 by pairs, M and N above 1, K above 0, nothing prepared, on a device that has them; the bits of tsr_blocked.
 * TSR_OUT_OF_MEMORY before anything is written. */
tsr_status tsr_blocked_pairs(const tsr_job *job);
/* The same in the calling thread, asking for no memory: 1; 0, and nothing was done, if the job is too large, or its
 * elements too small. */
int tsr_pairs_alone(const tsr_job *job);
/* TSR_RANK_K, M and N above 1: gives the bits of tsr_blocked. TSR_OUT_OF_MEMORY before anything is written. */
tsr_status tsr_rank_k_all(const tsr_job *job);
/* 1 if D is larger than the caches. */
static inline int tsr_is_past_caches(const tsr_gemm_args *g, long long element_bytes, const tsr_device *device)
{
    return (double)g->m * (double)g->n * (double)element_bytes > (double)device->l3_bytes;
}
/* 1 if rows of D begin at the same place of a vector. */
static inline int tsr_rows_are_in_step(const tsr_gemm_args *g, const tsr_tiles *tiles)
{
    return g->ldd % tiles->lanes == 0;
}
/* Few rows or columns, K above 0; with TSR_SHAPE_TILES few rows, B as stored, in the sums of tiles. TSR_OUT_OF_MEMORY
 * before anything is written. */
tsr_status tsr_skinny(const tsr_job *job);
/* TSR_SHAPE_ANY_ROWS, M and K above 0. TSR_OUT_OF_MEMORY before anything is written. */
tsr_status tsr_any_rows(const tsr_job *job);
/* M or N is 1, K above 0, f32 or f64, one problem: 1 if tsr_gemv takes it, which asks for no memory: the matrix is not
 * so large that threads may be worth it. The bits of tsr_skinny. */
int tsr_gemv_fits(const tsr_gemm_args *args, long long element_bytes);
void tsr_gemv(const tsr_tiles *tiles, const tsr_store *store, const tsr_gemm_args *args, tsr_dtype dtype);
/* The same for a few rows or columns, K along both operands as stored, alpha 1 and beta 0: sums are D's elements. 1; 0,
 * and nothing was done, if it is something else, or too large for one thread. */
int tsr_skinny_dots(const tsr_store *store, const tsr_gemm_args *args, tsr_shape shape, long long bytes);
/* The same for what tsr_is_chains, whatever the factors. */
int tsr_skinny_chains(const tsr_store *store, const tsr_gemm_args *args, tsr_shape shape, tsr_dtype dtype);
/* tsr_skinny in the calling thread, asking for no memory: 1; 0, and nothing was done, if the job is too large. */
int tsr_skinny_alone(const tsr_job *job);

/* Operations times an element's bytes that take about 100 us: long_enough for tsr_pool_is_ready. */
enum { TSR_WAKE_WORK = 56 << 20 };

/* Operations of all problems, and what writing D takes. */
double tsr_work_of(const tsr_gemm_args *g);

/* D in regions of m x n, grid_m x grid_n of them. */
typedef struct tsr_regions {
    long long m, n, grid_m, grid_n;
} tsr_regions;

/* Halves regions, from m x n, until every thread finds a few, but not below twice `ops_of_task`, what pays for waking a
 * thread; where threads are `awake`, a part of it will do. */
void tsr_cut_regions(const tsr_job *job, const tsr_tiles *tiles, int threads, int awake, double ops_of_task,
                     tsr_regions *regions);

#endif
