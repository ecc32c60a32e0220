#include "cpu/choose.h"

#include "core/check.h"
#include "cpu/cpu_device.h"
#include "cpu/job.h"
#include "cpu/small/in_place.h"
#include "cpu/split_k.h"

/* The product that an algorithm is chosen for. */
typedef struct product {
    const tsr_device *device;
    const tsr_cpu_device *cpu;
    const tsr_tiles *tiles;
    const tsr_gemm_args *args;
    long long element_bytes;
    int is_wide; /* elements are computed with as they are stored */
    int threads;
} product;

/* ---- GEMV ---- */

static int is_gemv(const product *p, tsr_dtype dtype)
{
    const tsr_gemm_args *const g = p->args;
    return (g->m == 1 || g->n == 1) && (dtype == TSR_F32 || dtype == TSR_F64) && g->batch == 1 &&
           tsr_gemv_fits(g, p->element_bytes);
}

/* 1 if one row's sums are those of tiles: no chains, and K in one block. */
static int gives_tiles_bits(const product *p, tsr_dtype dtype)
{
    const tsr_gemm_args *const g = p->args;
    return tsr_is_plain_row(dtype, g->m, g->n, g->k, g->trans_b) && tsr_k_block(p->tiles->kc, g->k) == g->k;
}

/* ---- skinny ---- */

/* 1 if a few rows of D with the sums of tiles are faster by updates, which read B along its rows. */
static int takes_updates(const product *p, tsr_dtype dtype)
{
    const tsr_gemm_args *const g = p->args;
    return g->n > 1 && !g->trans_b && !tsr_is_swapped(p->cpu->isa, dtype) &&
           (g->m == 1 || tsr_is_few(dtype, g->m, g->n, g->k, 0, !g->trans_a, 0));
}

/* 1 if a row with the sums of tiles is faster where a B along whose rows K runs is read once, and none of it packed; or
 * a few rows, if B lies beyond the inner caches. */
static int takes_steps(const product *p, tsr_dtype dtype)
{
    enum { TIMES_L2 = 16 };
    const tsr_gemm_args *const g = p->args;
    return g->n > 1 && g->m <= TSR_STEPS_ROWS && g->trans_b && g->k < TSR_LONGEST_SUM &&
           p->cpu->isa->store[dtype].steps &&
           (g->m == 1 ||
            (double)g->n * (double)g->k * (double)p->element_bytes > TIMES_L2 * (double)p->device->l2_bytes);
}

/* ---- small ---- */

/* All columns are such as have a way of their own: no more of A than goes by is needed at once, and hardly anything of
 * B and D. */
static int is_narrow(const product *p)
{
    const double most_elements = 1e15; /* of A: cycles are counted in 64 bits */
    const tsr_gemm_args *const g = p->args;
    return g->n < p->tiles->lanes && (double)g->m * (double)g->k < most_elements && tsr_tail_columns(p->tiles, g) > 0;
}

static int fits_caches(const product *p)
{
    enum {
        SURE_STEPS = 256,          /* products up to so many, and TSR_SURE_ROWS and columns, are small, whatever else */
        MAX_BYTES = 480 * 256 * 8, /* of A, and of B: they stay in L2 */
        MAX_RESULTS = 480 * 1024,  /* elements of D */
        MAX_WORK = 24 << 20        /* of several threads: blocks are shared better */
    };
    const tsr_gemm_args *const g = p->args;
    if (g->m <= TSR_SURE_ROWS && g->n <= TSR_SURE_COLUMNS && g->k <= SURE_STEPS)
        return 1;
    return g->m * g->k * p->element_bytes <= MAX_BYTES && g->n * g->k * p->element_bytes <= MAX_BYTES &&
           g->m * g->n <= MAX_RESULTS && (p->threads == 1 || tsr_work_of(g) < MAX_WORK);
}

/* Where threads share what is not packed. With both operands transposed packing is faster, for many threads it may be,
 * and problems of a batch are not shared here. */
static double most_ops(const product *p)
{
    enum { MAX_OPS = 64 << 20, FEW_THREADS = 4 };
    const tsr_gemm_args *const g = p->args;
    return (g->trans_a && g->trans_b) || g->batch > 1 || p->threads > FEW_THREADS ? TSR_ALONE_OPS : MAX_OPS;
}

static int is_small(const product *p)
{
    const tsr_gemm_args *const g = p->args;
    if (!p->is_wide)
        return 0;
    const int narrow = is_narrow(p);
    if (!narrow && !fits_caches(p))
        return 0;
    return p->threads == 1 || 2.0 * (double)g->m * (double)g->n * (double)g->k * (double)g->batch <= most_ops(p) ||
           (narrow && g->batch == 1);
}

/* ---- rank-k updates ---- */

static int is_rank_k(const product *p)
{
    enum {
        FEWEST_STEPS = 2,  /* where rows go one by one, or are narrowed: others are faster beyond */
        CACHED_STEPS = 8,  /* where D is in L3; small products do the same in L2 */
        LEAST_COLUMNS = 64 /* of rows worth going along */
    };
    const tsr_gemm_args *const g = p->args;
    if (g->beta != 0)
        return 0;
    if (tsr_is_past_caches(g, p->element_bytes, p->device))
        return g->k <= (p->is_wide && tsr_rows_are_in_step(g, p->tiles) ? TSR_RANK_K_STEPS : FEWEST_STEPS);
    return p->is_wide && g->k <= CACHED_STEPS && g->n >= LEAST_COLUMNS &&
           (double)g->m * (double)g->n * (double)p->element_bytes > (double)p->device->l2_bytes;
}

/* ---- forms of an epilogue ---- */

/* Who knows of no form gets one as a pass over D: only where that is in the inner caches, and little beside the
 * product. Rank-k updates write a D that is not; all others take the form where they have the sums. */
static int takes_form(const product *p, tsr_algorithm algorithm)
{
    enum { MOST_BYTES = 128 * 1024 }; /* of D */
    const tsr_gemm_args *const g = p->args;
    if (g->epilogue == TSR_EPILOGUE_NONE || (algorithm != TSR_SMALL && algorithm != TSR_RANK_K))
        return 1;
    return algorithm == TSR_SMALL && (double)g->m * (double)g->n * (double)p->element_bytes <= MOST_BYTES;
}

/* ---- K in parts ---- */

enum {
    K_PARTS = 16,               /* at most, */
    K_TASKS = 32,               /* or so many tasks with the slices that D gives: two for each of 16 threads */
    LEAST_K_PART = 512,         /* steps of K of a part at least, */
    LEAST_K_PART_OF_FEW = 1024, /* or, where the large operand is read once, so many, */
    K_PART_OF_ROW = 64,         /* and for each row or column: sums that are written once more are little beside them */
    K_SPLIT_BYTES = 2 << 20,    /* of a large operand that is worth waking threads for, */
    K_PART_BYTES = 256 * 1024,  /* and of a part of it */
    K_SPLIT_OPS = 24 << 20,     /* operations of what is tiled, worth the same, */
    K_PART_OPS = 4 << 20,       /* and of a part of it */
    SLICE_OF_UPDATES = 256,     /* results of a task of skinny/few_rows.c, */
    SLICE_OF_DOTS = 12,         /* results of sums along K that count as one: so few rows read a large operand well, */
    SLICES_OF_DOTS = 8,         /* and from so many on K is not split, as parts would read each row in pieces */
    MOST_TILED = 128 * 128,     /* elements of a D that regions cut no finer, without that each packs most of A and B */
    SMALL_OPERAND = 480 * 256 * 8 /* bytes: products of two such operands are small (fits_caches) */
};

static int at_most(double value, int most)
{
    return value < most ? (int)value : most;
}

/* Of `few` rows or columns of D with `many` results each. */
static int k_parts_of_few(const product *p, long long few, long long many, int inner)
{
    const tsr_gemm_args *const g = p->args;
    const long long slice = inner ? SLICE_OF_DOTS : SLICE_OF_UPDATES,
                    least_steps = few * K_PART_OF_ROW > LEAST_K_PART_OF_FEW ? few * K_PART_OF_ROW : LEAST_K_PART_OF_FEW;
    const long long slices_of_one = (many + slice - 1) / slice;
    const double slices = (double)slices_of_one * (double)g->batch;
    const double bytes = (double)many * (double)g->k * (double)p->element_bytes * (double)g->batch;
    if (slices >= (inner ? SLICES_OF_DOTS : K_PARTS) || bytes < K_SPLIT_BYTES)
        return 1;
    int parts = at_most((K_TASKS + slices - 1) / slices, K_PARTS);
    parts = at_most((double)g->k / (double)least_steps, parts);
    return at_most(bytes / K_PART_BYTES, parts);
}

static int k_parts_of_tiles(const product *p)
{
    const tsr_gemm_args *const g = p->args;
    const double results = (double)g->m * (double)g->n * (double)g->batch, ops = 2 * results * (double)g->k;
    const long long more = g->m < g->n ? g->n : g->m;
    if (results > MOST_TILED || ops < K_SPLIT_OPS || g->n < p->tiles->lanes ||
        (double)more * (double)g->k * (double)p->element_bytes <= SMALL_OPERAND)
        return 1;
    const int parts = at_most((double)g->k / LEAST_K_PART, K_PARTS);
    return at_most(ops / K_PART_OPS, parts);
}

/* How many parts of K are summed apart: 0, or 2 and more. The number of threads is not asked for, as bits depend on the
 * answer. `multiple`: of steps of K, that parts are long. */
static int k_parts(const product *p, tsr_algorithm algorithm, int by_columns, long long multiple)
{
    const tsr_gemm_args *const g = p->args;
    int parts;
    if (g->k < 2 * LEAST_K_PART || g->m <= 0 || g->n <= 0)
        return 0;
    if (algorithm == TSR_SKINNY)
        parts = by_columns ? k_parts_of_few(p, g->n, g->m, !g->trans_a) : k_parts_of_few(p, g->m, g->n, g->trans_b);
    else
        parts = k_parts_of_tiles(p);
    if (parts < 2)
        return 0;
    const long long steps = tsr_part_steps(g->k, parts, multiple);
    parts = (int)((g->k + steps - 1) / steps);
    return parts < 2 ? 0 : parts;
}

/* The same for sums of that shape, whatever the algorithm: prepared operands take another than those as stored. Tiles
 * and what gives their bits end a part where a block of K ends. */
static int k_parts_of_shape(const product *p, tsr_dtype dtype, tsr_shape shape)
{
    const int is_tiles = shape == TSR_SHAPE_TILES;
    if (p->args->k < 2 * LEAST_K_PART)
        return 0;
    return k_parts(p, is_tiles ? TSR_BLOCKED : TSR_SKINNY, shape == TSR_SHAPE_COLUMNS,
                   is_tiles ? tsr_k_block(tsr_kc_of(p->cpu->isa, p->cpu->has_pairs, dtype), p->args->k)
                            : TSR_K_PART_UNIT);
}

/* ---- all of them ---- */

static tsr_algorithm tiles_algorithm(const product *p, tsr_dtype dtype)
{
    const tsr_gemm_args *const g = p->args;
    const int small = is_small(p) && takes_form(p, TSR_SMALL);
    if (small && g->batch == 1 && tsr_are_small_extents(g->m, g->n, g->k))
        return TSR_SMALL;
    if (is_rank_k(p) && takes_form(p, TSR_RANK_K))
        return TSR_RANK_K;
    if (dtype == TSR_BF16 && p->cpu->pairs)
        return TSR_PAIRS;
    return small ? TSR_SMALL : TSR_BLOCKED;
}

/* 8-bit integers, whose sums depend on nothing. */
static tsr_cpu_choice integers_choice(const product *p)
{
    const tsr_gemm_args *const g = p->args;
    const int is_few = g->m <= TSR_INTEGER_ROWS || g->n <= TSR_INTEGER_ROWS;
    const tsr_algorithm algorithm = is_few ? TSR_SKINNY : TSR_BLOCKED;
    return (tsr_cpu_choice){algorithm, TSR_SHAPE_TILES,
                            k_parts(p, algorithm, g->m > TSR_INTEGER_ROWS, TSR_K_PART_UNIT)};
}

tsr_cpu_choice tsr_cpu_algorithm(const tsr_device *device, tsr_dtype dtype, const tsr_gemm_args *args,
                                 unsigned conditions, int threads)
{
    const tsr_cpu_device *const cpu = device->impl;
    const product p = {.device = device,
                       .cpu = cpu,
                       .tiles = tsr_isa_tiles(cpu->isa, dtype),
                       .args = args,
                       .element_bytes = (long long)tsr_dtype_bytes(dtype),
                       .is_wide = dtype == TSR_F32 || dtype == TSR_F64,
                       .threads = threads};
    if (dtype == TSR_S8 || dtype == TSR_U8)
        return integers_choice(&p);
    const int is_prepared = (conditions & TSR_HAS_PREPARED) != 0, ignores_m = (conditions & TSR_SUMS_IGNORE_M) != 0;
    const int trans_b = args->trans_b && !(conditions & TSR_SUMS_OF_TILES);
    const tsr_shape shape = ignores_m ? tsr_shape_for_any_m(dtype, args->n, args->k, args->trans_a, trans_b)
                                      : tsr_shape_of(dtype, args->m, args->n, args->k, args->trans_a, args->trans_b);
    if (args->m <= 0 || args->n <= 0 || args->k <= 0)
        return (tsr_cpu_choice){TSR_BLOCKED, shape, 0};
    if (shape == TSR_SHAPE_ANY_ROWS)
        return (tsr_cpu_choice){TSR_ANY_ROWS, shape, 0};
    const int parts = ignores_m ? 0 : k_parts_of_shape(&p, dtype, shape);
    if (!is_prepared && !parts && is_gemv(&p, dtype) && (shape != TSR_SHAPE_TILES || gives_tiles_bits(&p, dtype)))
        return (tsr_cpu_choice){TSR_GEMV, shape, 0};
    if (!is_prepared && shape == TSR_SHAPE_TILES && ((ignores_m && takes_updates(&p, dtype)) || takes_steps(&p, dtype)))
        return (tsr_cpu_choice){TSR_SKINNY, shape, parts};
    if (shape != TSR_SHAPE_TILES)
        return (tsr_cpu_choice){TSR_SKINNY, shape, parts};
    if (is_prepared || parts)
        return (tsr_cpu_choice){!is_prepared && dtype == TSR_BF16 && p.cpu->pairs ? TSR_PAIRS : TSR_BLOCKED, shape,
                                parts};
    return (tsr_cpu_choice){tiles_algorithm(&p, dtype), shape, 0};
}

tsr_gemm_args tsr_args_of(const tsr_problem *p)
{
    return (tsr_gemm_args){.m = p->m,
                           .n = p->n,
                           .k = p->k,
                           .lda = p->a.ld,
                           .ldb = p->b.ld,
                           .ldc = p->c.ld,
                           .ldd = p->d.ld,
                           .batch_a = p->a.batch_stride,
                           .batch_b = p->b.batch_stride,
                           .batch_c = p->c.batch_stride,
                           .batch_d = p->d.batch_stride,
                           .batch = p->batch,
                           .alpha = 1,
                           .epilogue = p->op.epilogue,
                           .trans_a = p->a.trans == TSR_T,
                           .trans_b = p->b.trans == TSR_T,
                           .type_a = (int)p->op.a,
                           .type_b = (int)p->op.b,
                           .type_d = (int)p->op.d};
}
