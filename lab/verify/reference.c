#include "lab/verify/reference.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/dtype.h"
#include "core/epilogue.h"
#include "core/error.h"
#include "lab/common/parallel.h"

/* A tile of D, and the step along K that is converted to double at a time. */
#define TILE_M 16
#define TILE_N 64
#define STEP_K 128
_Static_assert(STEP_K == TSR_SCALE_BLOCK, "a step of K has one scale");
/* Products that one thread multiplies in the time that it takes to start another. */
#define ALONE_BELOW 1e7

typedef struct workspace {
    double a[TILE_M][STEP_K];
    double b[STEP_K][TILE_N];
    double sum[TILE_M][TILE_N];                                /* of the products */
    double rest[TILE_M][TILE_N];                               /* what sum lost, double-double only */
    double size[TILE_M][TILE_N];                               /* of the products' magnitudes */
    double running[TILE_M][TILE_N], truncated[TILE_M][TILE_N]; /* with truncation only: as tensor cores sum */
} workspace;

typedef struct reference_job {
    const lab_reference_problem *problem;
    const int64_t *rows, *columns;
    int64_t row_count, column_count;
    lab_reference_element *out;
    int twofold; /* double-double sums */
    _Atomic int out_of_memory;
} reference_job;

/* How far up and down a sum may come. */
typedef struct extent {
    double up, down;
} extent;

typedef struct d_tile {
    int64_t row0, column0, rows, columns;
} d_tile;

static int64_t row_of(const reference_job *job, int64_t i)
{
    return job->rows != NULL ? job->rows[i] : i;
}

static int64_t column_of(const reference_job *job, int64_t j)
{
    return job->columns != NULL ? job->columns[j] : j;
}

/* Of a row of A or a column of B, in the step that begins at k0. */
static double scale_of(const lab_scales *scales, int64_t outer, int64_t k0)
{
    return scales->at != NULL
               ? (double)scales->at[tsr_scale_index(scales->mode, scales->stride, outer, k0 / TSR_SCALE_BLOCK)]
               : 1.0;
}

static double zero_of(const lab_scales *scales, tsr_dtype dtype, int64_t outer)
{
    return scales->zeros != NULL
               ? tsr_load_element(dtype, scales->zeros, scales->mode == TSR_SCALING_VECTOR ? outer : 0)
               : 0.0;
}

/* Products of 8-bit integers are summed as they are: the sum wraps around at 2^32 before any scale multiplies it. */
static int is_whole(const lab_reference_problem *p)
{
    return tsr_dtype_is_integer(p->dtype_a);
}

/* Scales of blocks multiply products, others the sum: an infinite one makes no NaN of a 0. */
static double scale_in_step(const lab_reference_problem *p, const lab_scales *scales, int64_t outer, int64_t k0)
{
    return is_whole(p) || scales->mode < TSR_SCALING_1X128 ? 1.0 : scale_of(scales, outer, k0);
}

static double scale_of_sum(const lab_reference_problem *p, const lab_scales *scales, int64_t outer)
{
    return is_whole(p) || scales->mode < TSR_SCALING_1X128 ? scale_of(scales, outer, 0) : 1.0;
}

static void load_a(const reference_job *job, const d_tile *tile, int64_t k0, int64_t ks, workspace *w)
{
    const lab_reference_problem *p = job->problem;
    for (int64_t i = 0; i < tile->rows; i++) {
        int64_t row = row_of(job, tile->row0 + i);
        const double scale = scale_in_step(p, &p->scales_a, row, k0);
        const double zero = zero_of(&p->scales_a, p->dtype_a, row);
        for (int64_t k = 0; k < ks; k++)
            w->a[i][k] = scale * (tsr_load_element(p->dtype_a, p->a,
                                                   p->trans_a ? (k0 + k) * p->lda + row : row * p->lda + k0 + k) -
                                  zero);
    }
}

static void load_b(const reference_job *job, const d_tile *tile, int64_t k0, int64_t ks, workspace *w)
{
    const lab_reference_problem *p = job->problem;
    for (int64_t j = 0; j < tile->columns; j++) {
        int64_t column = column_of(job, tile->column0 + j);
        const double scale = scale_in_step(p, &p->scales_b, column, k0);
        const double zero = zero_of(&p->scales_b, p->dtype_b, column);
        for (int64_t k = 0; k < ks; k++)
            w->b[k][j] = scale * (tsr_load_element(p->dtype_b, p->b,
                                                   p->trans_b ? column * p->ldb + k0 + k : (k0 + k) * p->ldb + column) -
                                  zero);
    }
    for (int64_t k = 0; k < ks; k++)
        for (int64_t j = tile->columns; j < TILE_N; j++)
            w->b[k][j] = 0.0;
}

static inline __attribute__((always_inline)) void add_products(workspace *w, int64_t rows, int64_t ks)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t k = 0; k < ks; k++) {
            const double a = w->a[i][k];
            double *restrict sum = w->sum[i], *restrict size = w->size[i];
            const double *restrict b = w->b[k];
            for (int j = 0; j < TILE_N; j++) {
                sum[j] += a * b[j];
                size[j] += fabs(a * b[j]);
            }
        }
}

/* Each product is split into its rounded value and the exact rest (by fma), each addition likewise (Knuth's two-sum);
 * the rests are summed apart. */
static inline __attribute__((always_inline)) void add_products_twofold(workspace *w, int64_t rows, int64_t ks)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t k = 0; k < ks; k++) {
            const double a = w->a[i][k];
            double *restrict sum = w->sum[i], *restrict rest = w->rest[i], *restrict size = w->size[i];
            const double *restrict b = w->b[k];
            for (int j = 0; j < TILE_N; j++) {
                double product = a * b[j];
                double product_rest = __builtin_fma(a, b[j], -product);
                double total = sum[j] + product;
                double moved = total - sum[j];
                double sum_rest = (sum[j] - (total - moved)) + (product - moved);
                sum[j] = total;
                rest[j] += product_rest + sum_rest;
                size[j] += fabs(product);
            }
        }
}

/* The same loops compiled for what the processor has: the baseline of x86-64 has neither fma nor wide vectors. */
#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) static void add_wide(workspace *w, int64_t rows, int64_t ks, int twofold)
{
    if (twofold)
        add_products_twofold(w, rows, ks);
    else
        add_products(w, rows, ks);
}
#endif

static void add_plain(workspace *w, int64_t rows, int64_t ks, int twofold)
{
    if (twofold)
        add_products_twofold(w, rows, ks);
    else
        add_products(w, rows, ks);
}

static void add_step(workspace *w, int64_t rows, int64_t ks, int twofold)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        add_wide(w, rows, ks, twofold);
        return;
    }
#endif
    add_plain(w, rows, ks, twofold);
}

/* An instruction adds 32 products to the running sum, aligned to the largest of these 33 and each cut to 14 bits: it is
 * off by at most 33 * 2^-13 of the largest. */
static void add_truncation(workspace *w, int64_t rows, int64_t ks, lab_truncation truncation)
{
    enum { INSTRUCTION_K = 32 };
    const double share = (INSTRUCTION_K + 1) * 0x1p-13;
    for (int64_t i = 0; i < rows; i++) {
        double *const sum = w->running[i];
        for (int64_t first = 0; first < ks; first += INSTRUCTION_K) {
            double largest[TILE_N];
            for (int j = 0; j < TILE_N; j++)
                largest[j] = fabs(sum[j]);
            for (int64_t k = first; k < ks && k < first + INSTRUCTION_K; k++)
                for (int j = 0; j < TILE_N; j++) {
                    const double product = w->a[i][k] * w->b[k][j];
                    largest[j] = fmax(largest[j], fabs(product));
                    sum[j] += product;
                }
            for (int j = 0; j < TILE_N; j++)
                w->truncated[i][j] += share * largest[j];
        }
        if (truncation == LAB_TRUNCATES_BLOCKS)
            memset(sum, 0, sizeof w->running[i]);
    }
}

/* value + rest = x * factor, to twice the precision. */
static void scale(double factor, double *value, double *rest)
{
    double product = factor * *value;
    *rest = factor * *rest + fma(factor, *value, -product);
    *value = product;
}

/* value + rest += addend. */
static void add(double addend, double *value, double *rest)
{
    double total = *value + addend;
    double moved = total - *value;
    *rest += (*value - (total - moved)) + (addend - moved);
    *value = total;
}

/* A whole number below 2^63, modulo 2^32. */
static uint32_t wrapped(double whole)
{
    return (uint32_t)(int64_t)whole;
}

/* A result in s32: all of it modulo 2^32. */
static double whole_result(const lab_reference_problem *p, int64_t row, int64_t column, double sum)
{
    uint32_t value = wrapped(p->alpha) * wrapped(sum);
    if (p->beta != 0.0)
        value += wrapped(p->beta) * wrapped(tsr_load_element(p->dtype_c, p->c, row * p->ldc + column));
    return (double)(int32_t)value;
}

/* Of a sum and of its products' magnitudes: all products that go up may come first, or all that go down; its factor may
 * turn it round. */
static extent extent_of(double sum, double size, double factor)
{
    const double more = 0.5 * (size + sum), less = 0.5 * (size - sum);
    return factor < 0.0 ? (extent){less, more} : (extent){more, less};
}

static void widen(extent *e, double addend)
{
    e->up += fmax(addend, 0.0);
    e->down += fmax(-addend, 0.0);
}

/* value + rest is a sum of products: in s32 where they are whole, else in double; scales but those of blocks, and
 * alpha, are to come. */
static void finish_sum(const lab_reference_problem *p, int64_t row, int64_t column, double *value, double *rest,
                       lab_reference_element *out, extent *behind)
{
    const double scales[] = {scale_of_sum(p, &p->scales_a, row), scale_of_sum(p, &p->scales_b, column)};
    const double factor = p->alpha * scales[0] * scales[1], magnitude = fabs(factor);
    if (is_whole(p))
        *value = (double)(int32_t)wrapped(*value);
    const extent before = extent_of(*value, is_whole(p) ? fabs(*value) : out->size, factor);
    out->up = before.up;
    out->down = before.down;
    *behind = (extent){magnitude * before.up, magnitude * before.down};
    for (int i = 0; i < 2; i++)
        scale(scales[i], value, rest);
    scale(p->alpha, value, rest);
    out->size *= magnitude;
    out->truncated *= magnitude;
}

/* What becomes of an infinite sum; `added`: beta * C and the bias. */
static double finish_infinity(const lab_reference_problem *p, double infinity, double added)
{
    double value = infinity + added;
    if (p->epilogue == TSR_EPILOGUE_BIAS_RELU && value < 0.0)
        value = 0.0;
    return p->scale_d != NULL ? (double)*p->scale_d * value : value;
}

static void finish_extent(const lab_reference_problem *p, const extent *behind, double added,
                          lab_reference_element *out)
{
    out->up = fmax(out->up, behind->up);
    out->down = fmax(out->down, behind->down);
    out->of_up = finish_infinity(p, (double)INFINITY, added);
    out->of_down = finish_infinity(p, -(double)INFINITY, added);
}

/* out->size and out->truncated are those of the products. */
static void finish_element(const lab_reference_problem *p, int64_t row, int64_t column, double sum, double rest,
                           lab_reference_element *out)
{
    double value = 0.0, added = 0.0;
    extent behind = {0.0, 0.0};
    out->up = out->down = 0.0;
    if (p->alpha != 0.0 && p->k > 0) {
        value = sum;
        finish_sum(p, row, column, &value, &rest, out, &behind);
    }
    if (p->beta != 0.0) {
        double c = tsr_load_element(p->dtype_c, p->c, row * p->ldc + column);
        const double beta = p->scale_c != NULL ? p->beta * (double)*p->scale_c : p->beta;
        double product = beta * c;
        double product_rest = fma(beta, c, -product);
        add(product, &value, &rest);
        rest += product_rest;
        out->size += fabs(product);
        added += product;
        widen(&behind, product);
    }
    if (p->epilogue != TSR_EPILOGUE_NONE) {
        const double bias = tsr_load_element(tsr_dtype_bias(p->dtype_c), p->bias, column);
        add(bias, &value, &rest);
        out->size += fabs(bias);
        added += bias;
        widen(&behind, bias);
    }
    finish_extent(p, &behind, added, out);
    out->value = value + rest;
    out->rest = rest - (out->value - value);
    if (!isfinite(value) || !isfinite(out->rest)) {
        out->value = value;
        out->rest = 0.0;
    }
    if (tsr_dtype_is_integer(p->dtype_c)) {
        out->value = whole_result(p, row, column, sum);
        out->rest = 0.0;
    }
    if (p->epilogue == TSR_EPILOGUE_BIAS_RELU && out->value < 0.0)
        out->value = out->rest = 0.0;
    out->before = out->value;
    if (p->scale_d != NULL) {
        scale((double)*p->scale_d, &out->value, &out->rest);
        out->size *= fabs((double)*p->scale_d);
        out->truncated *= fabs((double)*p->scale_d);
        if (!isfinite(out->value) || !isfinite(out->rest))
            out->rest = 0.0;
    }
}

static void compute_tile(const reference_job *job, const d_tile *tile, workspace *w)
{
    const lab_reference_problem *p = job->problem;
    memset(w->sum, 0, sizeof w->sum);
    memset(w->rest, 0, sizeof w->rest);
    memset(w->size, 0, sizeof w->size);
    memset(w->running, 0, sizeof w->running);
    memset(w->truncated, 0, sizeof w->truncated);
    int64_t depth = p->alpha != 0.0 ? p->k : 0;
    for (int64_t k0 = 0; k0 < depth; k0 += STEP_K) {
        int64_t ks = depth - k0 < STEP_K ? depth - k0 : STEP_K;
        load_a(job, tile, k0, ks, w);
        load_b(job, tile, k0, ks, w);
        add_step(w, tile->rows, ks, job->twofold);
        if (p->truncation != LAB_NO_TRUNCATION)
            add_truncation(w, tile->rows, ks, p->truncation);
    }
    for (int64_t i = 0; i < tile->rows; i++)
        for (int64_t j = 0; j < tile->columns; j++) {
            lab_reference_element *out = &job->out[(tile->row0 + i) * job->column_count + tile->column0 + j];
            out->size = w->size[i][j];
            out->truncated = w->truncated[i][j];
            finish_element(p, row_of(job, tile->row0 + i), column_of(job, tile->column0 + j), w->sum[i][j],
                           w->rest[i][j], out);
        }
}

/* One row of tiles of D. */
static void compute_stripe(void *user, int64_t index)
{
    reference_job *job = user;
    workspace *w = malloc(sizeof *w);
    if (w == NULL) {
        atomic_store(&job->out_of_memory, 1);
        return;
    }
    d_tile tile = {.row0 = index * TILE_M};
    tile.rows = job->row_count - tile.row0 < TILE_M ? job->row_count - tile.row0 : TILE_M;
    for (tile.column0 = 0; tile.column0 < job->column_count; tile.column0 += TILE_N) {
        tile.columns = job->column_count - tile.column0 < TILE_N ? job->column_count - tile.column0 : TILE_N;
        compute_tile(job, &tile, w);
    }
    free(w);
}

tsr_status lab_reference(const lab_reference_problem *problem, const int64_t *rows, int64_t row_count,
                         const int64_t *columns, int64_t column_count, lab_reference_element *out)
{
    reference_job job = {.problem = problem, .rows = rows, .columns = columns, .out = out};
    job.row_count = rows != NULL ? row_count : problem->m;
    job.column_count = columns != NULL ? column_count : problem->n;
    job.twofold = problem->dtype_a == TSR_F64;
    const double products = (double)job.row_count * (double)job.column_count * (double)(problem->k + 1);
    const int threads = products < ALONE_BELOW ? 1 : problem->threads;
    lab_parallel((job.row_count + TILE_M - 1) / TILE_M, threads, compute_stripe, &job);
    if (atomic_load(&job.out_of_memory))
        return tsr_fail(TSR_OUT_OF_MEMORY, "no memory for the reference of a %lld x %lld x %lld problem",
                        (long long)problem->m, (long long)problem->n, (long long)problem->k);
    return TSR_OK;
}
