/* Mutants of the rungs (emu/rung_mutants.cmake): each has one line changed, and must be caught, by the emulator or by a
 * wrong result. Those that are marked as equivalent must pass; no more than one in twenty may be. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/dtype.h"
#include "core/sparse24.h"
#include "emu/run_launch.h"

typedef void kernel(const tsr_gemm_args args);
typedef void kernel_scaled(const tsr_gemm_args args, const tsr_tensor_maps maps, const tsr_scaling scaling);

/* X(base, dtype of A and B, of C and D, tile's rows, columns, threads along x and y, bytes of shared memory, alignment)
 */
#define BASES(X)                                                                        \
    X(tiled, TSR_F32, TSR_F32, 8, 8, 8, 8, 2 * 64 * 4, 1)                               \
    X(regtile1d, TSR_F32, TSR_F32, 64, 64, 64, 4, 2 * 64 * 16 * 4, 1)                   \
    X(regtile2d, TSR_F32, TSR_F32, 128, 128, 16, 16, 2 * 8 * 128 * 4, 1)                \
    X(padded, TSR_F32, TSR_F32, 128, 128, 16, 16, 2 * 8 * 140 * 4, 1)                   \
    X(swizzled, TSR_F32, TSR_F32, 128, 128, 16, 16, 2 * 8 * 128 * 4, 1)                 \
    X(vectorized, TSR_F32, TSR_F32, 128, 128, 16, 16, 2 * 8 * 140 * 4, 1)               \
    X(buffered, TSR_F32, TSR_F32, 128, 128, 16, 16, 3 * 2 * 8 * 132 * 4, 1)             \
    X(warptile, TSR_F32, TSR_F32, 64, 64, 64, 1, 4 * 16 * 136 * 4, 1)                   \
    X(wmma, TSR_BF16, TSR_BF16, 128, 128, 256, 1, 2 * 128 * 40 * 2, 1)                  \
    X(wmma_small, TSR_F16, TSR_F32, 32, 32, 128, 1, 2 * 32 * 72 * 2, 1)                 \
    X(mma, TSR_BF16, TSR_BF16, 64, 64, 128, 1, 4 * 32 * 128 * 2, 8)                     \
    X(mma_other, TSR_BF16, TSR_F16, 64, 64, 64, 1, 4 * 32 * 128 * 2, 8)                 \
    X(mma_f64, TSR_F64, TSR_F64, 64, 64, 128, 1, 4 * 16 * 128 * 8 + 16, 2)              \
    X(mma_f64_units, TSR_F64, TSR_F64, 64, 64, 128, 1, 4 * 16 * 128 * 8 + 16, 2)        \
    X(mma_f64_eight, TSR_F64, TSR_F64, 64, 128, 128, 1, 3 * 16 * 192 * 8 + 16, 1)       \
    X(mma_f64_sixteen, TSR_F64, TSR_F64, 64, 64, 128, 1, 3 * 32 * 128 * 8 + 16, 1)      \
    X(mma_f64_one_set, TSR_F64, TSR_F64, 64, 64, 128, 1, 3 * 16 * 128 * 8 + 16, 2)      \
    X(stream_k, TSR_F32, TSR_F32, 64, 64, 64, 1, 4 * 16 * 136 * 4 + 16, 1)              \
    X(thin, TSR_F32, TSR_F32, 4, 128, 256, 1, 4 * 8 * 128 * 4 + 16, 1)                  \
    X(thin_16, TSR_BF16, TSR_BF16, 4, 128, 256, 1, 4 * 8 * 128 * 4 + 16, 1)             \
    X(thin_64, TSR_F64, TSR_F64, 4, 128, 256, 1, 4 * 8 * 128 * 8 + 16, 1)               \
    X(thin_64_transposed, TSR_F64, TSR_F64, 2, 128, 256, 1, 2 * 136 * 8 + 16, 1)        \
    X(thin_16_transposed, TSR_F16, TSR_F16, 2, 128, 256, 1, 4 * 2 * 128 * 4 + 16, 1)    \
    X(thin_transposed, TSR_F32, TSR_F32, 4, 128, 256, 1, 4 * 128 * 4 + 16, 1)           \
    X(thin_columns, TSR_F32, TSR_F32, 128, 4, 256, 1, 4 * 8 * 128 * 4 + 16, 1)          \
    X(thin_columns_along_k, TSR_BF16, TSR_F32, 128, 2, 256, 1, 4 * 2 * 128 * 4 + 16, 1) \
    X(thin_mma, TSR_BF16, TSR_BF16, 16, 64, 64, 1, 2 * 2 * (2304 + 512) + 16, 8)        \
    X(thin_mma_columns, TSR_F16, TSR_F32, 64, 32, 64, 1, 2 * 3 * (2304 + 1024) + 16, 8) \
    X(thin_mma_along_k, TSR_BF16, TSR_F32, 32, 64, 256, 1, 2 * 96 * 576 + 16, 8)        \
    X(cluster_k, TSR_F32, TSR_F32, 64, 64, 64, 1, 4 * 16 * 136 * 4, 1)                  \
    X(sparse24, TSR_BF16, TSR_BF16, 128, 128, 128, 1, 3 * 25600, 8)                     \
    X(sparse24_tf32, TSR_F32, TSR_F32, 128, 128, 128, 1, 3 * 25600, 4)                  \
    X(sparse24_int8, TSR_S8, TSR_F32, 128, 128, 128, 1, 3 * 26624, 16)                  \
    X(mma_int8, TSR_S8, TSR_F32, 64, 64, 128, 1, 3 * 8192 + 512, 16)                    \
    X(mma_int8_large, TSR_U8, TSR_F32, 128, 128, 128, 1, 3 * 16384 + 1024, 16)          \
    X(mma_int8_direct, TSR_U8, TSR_S32, 64, 64, 128, 1, 3 * 8192 + 512, 1)

#define DECLARE(name, ...) kernel mutant_none_##name;
BASES(DECLARE)
#undef DECLARE
#define MUTANT(name, base, says) kernel mutant_##name;
#include "mutants.def"
#undef MUTANT

typedef struct base {
    const char *name;
    kernel *function;
    tsr_dtype dtype_ab, dtype_cd;
    int bm, bn;
    unsigned threads_x, threads_y;
    size_t shared_bytes;
    int align_elems;
} base;

enum {
#define NUMBER(name, ...) BASE_##name,
    BASES(NUMBER)
#undef NUMBER
};

static const base bases[] = {
#define ENTRY(name, ...) {#name, mutant_none_##name, __VA_ARGS__},
    BASES(ENTRY)
#undef ENTRY
};
enum { BASE_COUNT = sizeof bases / sizeof bases[0] };

typedef struct mutant {
    const char *name;
    kernel *function;
    int base;
    const char *says;
} mutant;

static const mutant mutants[] = {
#define MUTANT(name, base, says) {#name, mutant_##name, BASE_##base, says},
#include "mutants.def"
#undef MUTANT
};
enum { MUTANTS = sizeof mutants / sizeof mutants[0] };

/* Tails along all of M, N and K, more steps along K than stages, several tiles, every transpose, a batch. */
static const struct shape {
    int m, n, k, batch, trans_a, trans_b;
} shapes[] = {{65, 70, 141, 1, 0, 0}, {130, 33, 75, 2, 0, 1},  {64, 128, 128, 1, 1, 0},
              {31, 66, 37, 1, 1, 1},  {128, 128, 64, 2, 0, 0}, {5, 125, 71, 1, 0, 0},
              {3, 125, 72, 1, 1, 0},  {5, 125, 255, 1, 0, 1},  {21, 45, 1100, 1, 0, 1}};
enum { SHAPES = sizeof shapes / sizeof shapes[0], MOST = 2 * 160 * 160, SEEDS = 2, LONG_K = 1000 };

/* Kernels that cut K: into so many units of all tiles (one more than so many of each tile in f64), or parts of each
 * tile.
 */
enum { UNITS = 5, F64_UNITS = 6, F64_STEP = 16, PARTS = 2, CLUSTER = 3, WORKSPACE_FLOATS = 1 << 19 };

typedef struct matrices {
    double a[MOST], b[MOST], d[MOST], bias[160];                    /* bytes for any dtype */
    float scales[2][2 * 160];                                       /* of rows and columns of each problem */
    unsigned char zeros[2][2 * 160];                                /* their zero points */
    unsigned char values[MOST * 4], metadata[MOST], form[MOST * 8]; /* of a compressed operand */
    struct {
        unsigned counters[TSR_WORKSPACE_COUNTER_BYTES / 4];
        float sums[WORKSPACE_FLOATS];
    } workspace;
} matrices;

/* Small integers: sums are exact, also in the 16 bits of D, which the values are scaled for. */
static void fill(tsr_dtype dtype, void *array, unsigned seed)
{
    for (int i = 0; i < MOST; i++)
        tsr_store_element(dtype, array, i, (seed = seed * 1664525u + 1013904223u) >> 28 == 0 ? 2 : seed >> 31);
}

/* All of 8-bit integers, with scales of rows and columns and zero points; of sums below 2^24, which f32 has. */
static void fill_integers(matrices *x)
{
    unsigned seed = 3;
    for (int i = 0; i < MOST; i++) {
        ((unsigned char *)x->a)[i] = (unsigned char)((seed = seed * 1664525u + 1013904223u) >> 24);
        ((unsigned char *)x->b)[i] = (unsigned char)((seed = seed * 1664525u + 1013904223u) >> 24);
    }
    for (int i = 0; i < 2 * 160; i++)
        for (int which = 0; which < 2; which++) {
            x->scales[which][i] = (float)(1 << (i + which) % 2);
            x->zeros[which][i] = (unsigned char)((seed = seed * 1664525u + 1013904223u) >> 24);
        }
}

/* Numbers that are none of tf32: three quarters of the way from one to the next. */
static void make_rough(float *array)
{
    for (int i = 0; i < MOST; i++)
        array[i] *= 1 + 0x1.8p-11f;
}

static int is_thin_transposed(const base *b)
{
    return b == &bases[BASE_thin_transposed] || b == &bases[BASE_thin_16_transposed] ||
           b == &bases[BASE_thin_64_transposed];
}

static int is_thin_of_columns(const base *b)
{
    return b == &bases[BASE_thin_columns] || b == &bases[BASE_thin_columns_along_k];
}

static int is_thin_mma(const base *b)
{
    return b == &bases[BASE_thin_mma] || b == &bases[BASE_thin_mma_columns] || b == &bases[BASE_thin_mma_along_k];
}

static int is_thin(const base *b)
{
    return is_thin_mma(b) || b == &bases[BASE_thin] || b == &bases[BASE_thin_16] || b == &bases[BASE_thin_64] ||
           is_thin_transposed(b) || is_thin_of_columns(b);
}

/* Each form of thin takes its large operand in one layout only: B, or beside few columns A. With tensor cores the other
 * one lies along K; long ones of K are for rings of many steps. */
static int takes_layout(const base *b, const tsr_gemm_args *g)
{
    if (g->k >= LONG_K && b != &bases[BASE_thin_mma_along_k])
        return 0;
    if (is_thin_mma(b))
        return g->trans_a == (b == &bases[BASE_thin_mma_columns]) && g->trans_b == (b != &bases[BASE_thin_mma]);
    if (is_thin_of_columns(b))
        return g->trans_a == (b == &bases[BASE_thin_columns]);
    return !is_thin(b) || g->trans_b == is_thin_transposed(b);
}

/* A compressed is of bf16 or f32, B of s8. The other operand of s8 and f32 lies along K. */
static int is_sparse(const base *b)
{
    return b == &bases[BASE_sparse24] || b == &bases[BASE_sparse24_tf32] || b == &bases[BASE_sparse24_int8];
}

/* Those take tsr_scaling, too. Without copies by bytes both operands lie along K. */
static int is_int8(const base *b)
{
    return b == &bases[BASE_mma_int8] || b == &bases[BASE_mma_int8_large] || b == &bases[BASE_mma_int8_direct];
}

/* Which shapes have scales and zero points: results in s32 take no scales. */
static tsr_scaling scaling_of(const base *b, const tsr_gemm_args *g, const matrices *x)
{
    tsr_scaling s = {.type_bias = (int)b->dtype_cd};
    if (!is_int8(b) || g->n == 66) /* one shape has neither */
        return s;
    s.mode_a = s.mode_b = TSR_SCALING_VECTOR;
    s.batch_a = g->m;
    s.batch_b = g->n;
    s.zero_a = x->zeros[0];
    s.zero_b = x->zeros[1];
    if (b->dtype_cd != TSR_S32) {
        s.a = x->scales[0];
        s.b = x->scales[1];
        s.is_used = 1;
    }
    return s;
}

/* 1 if elements are rounded to tf32 before they are multiplied. */
static int is_tf32(const base *b)
{
    return b == &bases[BASE_sparse24_tf32];
}

/* As it is multiplied. */
static double element_of(const base *b, const void *array, long long index)
{
    const double value = tsr_load_element(b->dtype_ab, array, index);
    return is_tf32(b) ? nearbyint(value * 1024) / 1024 : value;
}

static tsr_problem problem_of(const base *b, const tsr_gemm_args *g)
{
    return (tsr_problem){
        .op = {.a = b->dtype_ab, .b = b->dtype_ab, .compute = is_tf32(b) ? TSR_COMPUTE_TF32 : TSR_COMPUTE_DEFAULT},
        .m = g->m,
        .n = g->n,
        .k = g->k,
        .batch = g->batch,
        .a = {.trans = g->trans_a ? TSR_T : TSR_N, .ld = g->lda, .batch_stride = g->batch_a},
        .b = {.trans = g->trans_b ? TSR_T : TSR_N, .ld = g->ldb, .batch_stride = g->batch_b}};
}

/* Prunes the operand, and puts its form in its place; returns its bytes. */
static long long compress(const base *b, tsr_gemm_args *g, matrices *x)
{
    const tsr_problem p = problem_of(b, g);
    const int is_b = g->schedule.swap_ab;
    const tsr_lines24 o = tsr_lines24_of(&p, is_b ? 'b' : 'a');
    tsr_squeeze24(&o, is_b ? x->b : x->a, x->values, x->metadata);
    tsr_device24(&o, x->values, x->metadata, x->form);
    *(is_b ? &g->b : &g->a) = x->form;
    *(is_b ? &g->batch_b : &g->batch_a) = tsr_device24_bytes(&o) / (long long)tsr_dtype_bytes(b->dtype_ab);
    return tsr_device24_bytes(&o) * o.matrices;
}

static int is_f64_tensor(const base *b)
{
    return b == &bases[BASE_mma_f64] || b == &bases[BASE_mma_f64_units] || b == &bases[BASE_mma_f64_eight] ||
           b == &bases[BASE_mma_f64_sixteen] || b == &bases[BASE_mma_f64_one_set];
}

static long long tiles_of(const base *b, long long m, long long n)
{
    return (m + b->bm - 1) / b->bm * ((n + b->bn - 1) / b->bn);
}

/* Stream-K units; 0: all tiles are whole. */
static int units_of(const base *b, const struct shape *s)
{
    if (b == &bases[BASE_stream_k])
        return UNITS;
    if (b != &bases[BASE_mma_f64_units])
        return 0;
    const int tiles = (int)tiles_of(b, s->m, s->n) * s->batch, steps = tiles * ((s->k + F64_STEP - 1) / F64_STEP);
    return F64_UNITS * tiles + 1 < steps ? F64_UNITS * tiles + 1 : steps;
}

static tsr_gemm_args args_of(const base *b, const struct shape *s, matrices *x)
{
    const int align = b->align_elems, takes_any_d = b == &bases[BASE_mma_other] || is_thin_mma(b);
    const int align_a = b == &bases[BASE_thin_mma_columns] ? 1 : align, /* the large operand may lie anywhere */
        align_b = is_thin_mma(b) && align_a != 1 ? 1 : align;
    const long long lda = ((s->trans_a ? s->m : s->k) + align_a - 1) / align_a * align_a;
    const long long ldb = ((s->trans_b ? s->k : s->n) + align_b - 1) / align_b * align_b;
    const long long ldd = takes_any_d ? s->n : (s->n + align - 1) / align * align;
    return (tsr_gemm_args){
        .a = x->a,
        .b = x->b,
        .d = x->d,
        .m = s->m,
        .n = s->n,
        .k = s->k,
        .lda = lda,
        .ldb = ldb,
        .ldd = ldd,
        .batch = s->batch,
        .batch_a = lda * (s->trans_a ? s->k : s->m),
        .batch_b = ldb * (s->trans_b ? s->n : s->k),
        .batch_d = ldd * s->m,
        .alpha = 1,
        .trans_a = s->trans_a,
        .trans_b = s->trans_b,
        .bias = x->bias,
        .epilogue = (int)((s - shapes) % TSR_EPILOGUE_COUNT),
        .workspace = &x->workspace,
        .type_a = (int)b->dtype_ab,
        .type_b = (int)b->dtype_ab,
        .type_d = (int)b->dtype_cd,
        .schedule = {.split_k = is_thin(b) ? PARTS : 1,
                     .swap_ab = b == &bases[BASE_sparse24_int8],
                     .cluster_k = b == &bases[BASE_cluster_k] ? CLUSTER : 1,
                     .stream_k_tiles = units_of(b, s) > 0 ? (int)tiles_of(b, s->m, s->n) * s->batch : 0,
                     .stream_k_units = units_of(b, s)}};
}

/* The grid has one layer, so that each CTA does all problems of the batch; where K is cut, all problems lie on a line.
 */
static tsr_grid grid_of(const base *b, const tsr_gemm_args *g)
{
    const long long tiles = tiles_of(b, g->m, g->n);
    return (tsr_grid){g->schedule.stream_k_units > 0 ? g->schedule.stream_k_units
                      : is_f64_tensor(b)             ? tiles * g->batch
                      : is_thin(b)                   ? tiles * g->batch * PARTS
                      : b == &bases[BASE_cluster_k]  ? tiles * g->batch * CLUSTER
                                                     : tiles,
                      1, 1};
}

static tsr_status run(const base *b, kernel *function, const char *name, const tsr_gemm_args *whole,
                      unsigned long long seed, matrices *x)
{
    tsr_gemm_args args = *whole;
    const tsr_gemm_args *const g = &args;
    const long long bytes = is_sparse(b) ? compress(b, &args, x) : 0;
    const tsr_scaling scaling = scaling_of(b, g, x);
    const tsr_emu_job job = {.name = name,
                             .kernel = is_int8(b) ? NULL : function,
                             .kernel_scaled = is_int8(b) ? (kernel_scaled *)(void (*)(void))function : NULL,
                             .scaling = &scaling,
                             .args = g,
                             .dtype_a = b->dtype_ab,
                             .dtype_b = b->dtype_ab,
                             .dtype_c = b->dtype_cd,
                             .dtype_d = b->dtype_cd,
                             .a_bytes = g->schedule.swap_ab ? 0 : bytes,
                             .b_bytes = g->schedule.swap_ab ? bytes : 0,
                             .grid = grid_of(b, g),
                             .cluster = b == &bases[BASE_cluster_k] ? CLUSTER : 1,
                             .is_dependent = is_thin(b) || b == &bases[BASE_cluster_k] || is_f64_tensor(b) ||
                                             b == &bases[BASE_tiled] || b == &bases[BASE_wmma_small],
                             .threads_x = b->threads_x,
                             .threads_y = b->threads_y,
                             .shared_bytes = b->shared_bytes,
                             .workspace_bytes = sizeof(matrices) - offsetof(matrices, workspace),
                             .seed = seed,
                             .workers = 2};
    return tsr_emu_run(&job);
}

static double zero_of(const base *b, const void *points, long long index)
{
    return points ? tsr_load_element(b->dtype_ab, points, index) : 0;
}

/* The product, and the counters as they were. */
static int is_right(const base *b, const tsr_gemm_args *g, const matrices *x)
{
    for (size_t i = 0; i < sizeof x->workspace.counters / sizeof(unsigned); i++)
        if (x->workspace.counters[i] != 0)
            return 0;
    const tsr_scaling s = scaling_of(b, g, x);
    for (long long z = 0; z < g->batch; z++)
        for (long long i = 0; i < g->m; i++)
            for (long long j = 0; j < g->n; j++) {
                double sum = 0;
                const double zero_a = zero_of(b, s.zero_a, z * s.batch_a + i),
                             zero_b = zero_of(b, s.zero_b, z * s.batch_b + j);
                for (long long k = 0; k < g->k; k++)
                    sum +=
                        (element_of(b, x->a, z * g->batch_a + (g->trans_a ? k * g->lda + i : i * g->lda + k)) -
                         zero_a) *
                        (element_of(b, x->b, z * g->batch_b + (g->trans_b ? j * g->ldb + k : k * g->ldb + j)) - zero_b);
                if (s.a)
                    sum *= (double)s.a[z * s.batch_a + i] * (double)s.b[z * s.batch_b + j];
                if (g->epilogue != TSR_EPILOGUE_NONE && b->dtype_cd != TSR_S32)
                    sum += tsr_load_element(b->dtype_cd, x->bias, j);
                if (g->epilogue == TSR_EPILOGUE_BIAS_RELU && b->dtype_cd != TSR_S32 && sum < 0)
                    sum = 0;
                if (tsr_load_element(b->dtype_cd, x->d, z * g->batch_d + i * g->ldd + j) != sum)
                    return 0;
            }
    return 1;
}

/* 1 if it was caught in some run; what was said of it, or "wrong result". */
static int is_caught(const base *b, kernel *function, const char *name, const char *says, matrices *x, char said[300])
{
    snprintf(said, 300, "passes");
    for (int s = 0; s < SHAPES; s++)
        for (unsigned long long seed = 0; seed < SEEDS; seed++) {
            const tsr_gemm_args g = args_of(b, &shapes[s], x);
            if (!takes_layout(b, &g))
                continue;
            if ((b == &bases[BASE_sparse24_int8] && g.trans_a) || (is_tf32(b) && !g.trans_b))
                continue; /* they lie along K */
            if (is_int8(b) && b != &bases[BASE_mma_int8_direct] && (g.trans_a || !g.trans_b))
                continue;
            if (is_sparse(b)) {
                const tsr_problem p = problem_of(b, &g);
                const tsr_lines24 o = tsr_lines24_of(&p, g.schedule.swap_ab ? 'b' : 'a');
                fill(b->dtype_ab, x->a, 1); /* what was pruned for another shape is too sparse for this one */
                fill(b->dtype_ab, x->b, 2);
                if (is_tf32(b))
                    make_rough((float *)(s / 2 % 2 ? x->b : x->a));
                tsr_drop24(&o, g.schedule.swap_ab ? x->b : x->a, NULL);
            }
            memset(x->workspace.counters, 0, sizeof x->workspace.counters);
            memset(x->d, 0x7f, sizeof x->d);
            if (run(b, function, name, &g, seed, x) != TSR_OK) {
                snprintf(said, 300, "%s", tsr_last_error());
                if (strstr(said, says))
                    return 1;
            } else if (!*says && seed == 0 && !is_right(b, &g, x)) {
                snprintf(said, 300, "wrong result");
                return 1;
            }
        }
    return 0;
}

static matrices *make_matrices(const base *b)
{
    matrices *x = test_malloc(sizeof *x);
    fill(b->dtype_ab, x->a, 1);
    fill(b->dtype_ab, x->b, 2);
    if (is_int8(b))
        fill_integers(x);
    for (int j = 0; j < (int)(sizeof x->bias / sizeof x->bias[0]); j++)
        tsr_store_element(b->dtype_cd, x->bias, j, j % 7 * -10 + 20);
    return x;
}

static void the_kernels_are_right(void **state)
{
    (void)state;
    for (int i = 0; i < BASE_COUNT; i++) {
        matrices *x = make_matrices(&bases[i]);
        char said[300];
        if (is_caught(&bases[i], bases[i].function, bases[i].name, "", x, said))
            fail_msg("%s: %s", bases[i].name, said);
        test_free(x);
    }
}

static void the_mutants_are_caught(void **state)
{
    (void)state;
    int equivalent = 0, missed = 0;
    for (int i = 0; i < MUTANTS; i++) {
        const base *b = &bases[mutants[i].base];
        const int is_equivalent = strcmp(mutants[i].says, "equivalent") == 0;
        matrices *x = make_matrices(b);
        char said[300];
        const int caught =
            is_caught(b, mutants[i].function, mutants[i].name, is_equivalent ? "" : mutants[i].says, x, said);
        print_message("%s: %s\n", mutants[i].name, said);
        if (caught == is_equivalent)
            print_error("%s: expected \"%s\", but it %s\n", mutants[i].name, mutants[i].says, said);
        missed += caught == is_equivalent;
        equivalent += is_equivalent;
        test_free(x);
    }
    print_message("%d mutants, %d of them equivalent\n", MUTANTS, equivalent);
    assert_int_equal(missed, 0);
    assert_true(equivalent * 20 <= MUTANTS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_kernels_are_right),
        cmocka_unit_test(the_mutants_are_caught),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
