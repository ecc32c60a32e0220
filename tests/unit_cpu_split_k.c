/* K in parts on the CPU (src/cpu/split_k.h): which products get them, whatever the number of threads; exact results
 * with any number of parts, for each instruction set; and the same bits for every number of threads, by plans, calls,
 * prepared and compressed operands. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/context.h"
#include "core/dtype.h"
#include "cpu/choose.h"
#include "cpu/cpu.h"
#include "cpu/cpu_device.h"
#include "sanitized.h"

static const tsr_dtype floats[] = {TSR_F32, TSR_F64, TSR_F16, TSR_BF16};

enum { FLOATS = sizeof floats / sizeof floats[0], THREADS = 3 };

/* 0 .. below - 1. Constants: Knuth's MMIX. */
static uint32_t draw(uint64_t *seed, uint32_t below)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((*seed >> 33) % below);
}

static void *make(size_t bytes)
{
    void *const memory = malloc(bytes);
    assert_non_null(memory);
    return memory;
}

/* Whole numbers from -2 to 2, whose sums every type of sums holds. */
static void *make_matrix(tsr_dtype dtype, long long elements, uint64_t seed)
{
    char *const at = make((size_t)elements * tsr_dtype_bytes(dtype));
    for (long long i = 0; i < elements; i++)
        tsr_store_element(dtype, at, i, (double)draw(&seed, 5) - 2);
    return at;
}

static tsr_device open_device(const char *isa)
{
    const tsr_backend_options options = {.threads = THREADS};
    tsr_device device;
    assert_int_equal(tsr_cpu_backend.open(0, &options, &device), TSR_OK);
    if (isa)
        assert_int_equal(tsr_cpu_force_isa(&device, isa), TSR_OK);
    return device;
}

/* ---- the choice ---- */

typedef struct trial {
    tsr_dtype dtype;
    int trans_a, trans_b;
    long long m, n, k, batch;
    int parts;
} trial;

static const trial trials[] = {
    {TSR_F64, 0, 0, 8, 640, 14568, 1, 11}, /* three slices of 256 columns */
    {TSR_F32, 0, 0, 8, 640, 14568, 1, 11},
    {TSR_F64, 1, 0, 8, 640, 14568, 1, 11},
    {TSR_F64, 1, 0, 233, 1, 14665, 1, 14},
    {TSR_F32, 1, 0, 936, 8, 6312, 1, 6},
    {TSR_F64, 0, 0, 8, 2280, 11696, 1, 4},
    {TSR_F32, 0, 0, 1, 300, 20000, 1, 16},
    {TSR_F16, 0, 0, 8, 640, 14568, 1, 11},
    {TSR_F32, 0, 1, 5, 12, 200000, 1, 16}, /* sums along K, of few rows of B */
    {TSR_F32, 0, 0, 128, 128, 8192, 1, 16},
    {TSR_F64, 1, 1, 64, 64, 16384, 1, 16},
    {TSR_BF16, 0, 0, 128, 128, 32768, 1, 8}, /* or 16 where blocks of K are shorter */
    {TSR_S8, 0, 0, 2, 300, 20000, 1, 16},
    {TSR_S8, 0, 0, 64, 64, 16384, 1, 16},
    {TSR_F64, 0, 0, 8, 640, 14568, 3, 4}, /* of a batch */
    /* tasks enough */
    {TSR_F64, 0, 0, 8, 640, 14568, 6, 0},
    {TSR_F64, 0, 0, 233, 1, 14665, 1, 0}, /* sums along K, of a few rows of A each */
    {TSR_F32, 0, 0, 936, 8, 6312, 1, 0},
    {TSR_F32, 0, 0, 8, 5000, 8000, 1, 0},
    {TSR_F32, 0, 0, 512, 512, 8192, 1, 0},
    {TSR_S8, 0, 0, 512, 512, 8192, 1, 0},
    /* K short, or all of it little work */
    {TSR_F64, 0, 0, 9, 1268, 201, 1, 0},
    {TSR_F32, 1, 0, 605, 4, 1343, 1, 0},
    {TSR_F32, 0, 0, 1, 64, 4000, 1, 0},
    {TSR_F32, 0, 0, 16, 16, 4000, 1, 0},
    {TSR_F32, 0, 0, 40, 60, 200, 1, 0},
};

static tsr_gemm_args args_of(const trial *t)
{
    return (tsr_gemm_args){.m = t->m,
                           .n = t->n,
                           .k = t->k,
                           .lda = t->trans_a ? t->m : t->k,
                           .ldb = t->trans_b ? t->k : t->n,
                           .ldc = t->n,
                           .ldd = t->n,
                           .batch_a = t->batch > 1 ? t->m * t->k : 0,
                           .batch_b = t->batch > 1 ? t->k * t->n : 0,
                           .batch_c = t->batch > 1 ? t->m * t->n : 0,
                           .batch_d = t->batch > 1 ? t->m * t->n : 0,
                           .batch = t->batch,
                           .alpha = 1,
                           .trans_a = t->trans_a,
                           .trans_b = t->trans_b,
                           .type_a = (int)t->dtype,
                           .type_b = (int)t->dtype,
                           .type_d = (int)(t->dtype == TSR_S8 ? TSR_S32 : t->dtype)};
}

static void few_tasks_and_a_long_k_get_parts(void **state)
{
    static const int threads[] = {16, 1, 2, 64};
    (void)state;
    tsr_device device = open_device(NULL);
    for (size_t i = 0; i < sizeof trials / sizeof trials[0]; i++)
        for (size_t x = 0; x < sizeof threads / sizeof threads[0]; x++)
            for (int with_c = 0; with_c < 2; with_c++) {
                tsr_gemm_args args = args_of(&trials[i]);
                args.beta = with_c;
                const unsigned prepared = trials[i].dtype == TSR_S8 ? 0 : TSR_HAS_PREPARED;
                const int parts = tsr_cpu_algorithm(&device, trials[i].dtype, &args, 0, threads[x]).k_parts;
                const int is_right =
                    parts == trials[i].parts || (trials[i].dtype == TSR_BF16 && parts == 2 * trials[i].parts);
                if (!is_right ||
                    parts != tsr_cpu_algorithm(&device, trials[i].dtype, &args, prepared, threads[x]).k_parts)
                    fail_msg("%s %lld x %lld x %lld, %d threads: %d parts, not %d", tsr_dtype_name(trials[i].dtype),
                             trials[i].m, trials[i].n, trials[i].k, threads[x], parts, trials[i].parts);
            }
    /* sums that must not depend on M are not cut by a rule that asks for M */
    const tsr_gemm_args args = args_of(&trials[0]);
    assert_int_equal(tsr_cpu_algorithm(&device, TSR_F64, &args, TSR_SUMS_IGNORE_M, 16).k_parts, 0);
    tsr_cpu_backend.close(&device);
}

static void numbers_keep_the_parts(void **state)
{
    (void)state;
    for (int parts = 0; parts <= 16; parts++) {
        const tsr_cpu_choice from = {TSR_BLOCKED, TSR_SHAPE_COLUMNS, parts},
                             to = tsr_choice_of(tsr_choice_number(from));
        assert_int_equal(to.algorithm, from.algorithm);
        assert_int_equal(to.shape, from.shape);
        assert_int_equal(to.k_parts, parts);
    }
}

/* ---- any number of parts, exact ---- */

typedef struct factors {
    double alpha, beta;
    int epilogue;
} factors;

static const factors all_factors[] = {{1, 0, TSR_EPILOGUE_NONE},
                                      {0.5, 0, TSR_EPILOGUE_BIAS},
                                      {1, 1, TSR_EPILOGUE_NONE},
                                      {-2, 0.5, TSR_EPILOGUE_BIAS_RELU}};

/* Each row (of A) or column (of B) along K, in whole numbers. */
static int8_t *lines_of(const trial *t, const char *at, int k_inner, long long lines)
{
    int8_t *const to = make((size_t)(lines * t->k * t->batch));
    for (long long z = 0; z < t->batch; z++)
        for (long long i = 0; i < lines; i++)
            for (long long p = 0; p < t->k; p++)
                to[(z * lines + i) * t->k + p] =
                    (int8_t)tsr_load_element(t->dtype, at, z * lines * t->k + (k_inner ? i * t->k + p : p * lines + i));
    return to;
}

/* Sums of products of whole numbers. */
static double *sums_of(const trial *t, const char *a, const char *b)
{
    double *const sums = make((size_t)(t->m * t->n * t->batch) * sizeof *sums);
    int8_t *const rows = lines_of(t, a, !t->trans_a, t->m), *const columns = lines_of(t, b, t->trans_b, t->n);
    for (long long x = 0; x < t->m * t->n * t->batch; x++) {
        const int8_t *const row = rows + x / t->n * t->k, *const column =
                                                              columns + (x / t->n / t->m * t->n + x % t->n) * t->k;
        int sum = 0;
        for (long long p = 0; p < t->k; p++)
            sum += row[p] * column[p];
        sums[x] = sum;
    }
    free(rows);
    free(columns);
    return sums;
}

static void check_exact(const trial *t, const factors *f, const double *sums, const void *c, const void *bias,
                        const void *d, const char *what)
{
    char expected[8] = {0};
    const size_t bytes = tsr_dtype_bytes(t->dtype);
    for (long long x = 0; x < t->m * t->n * t->batch; x++) {
        double value = f->alpha * sums[x] + (f->beta != 0 ? f->beta * tsr_load_element(t->dtype, c, x) : 0);
        if (f->epilogue != TSR_EPILOGUE_NONE)
            value += tsr_load_element(t->dtype, bias, x % t->n);
        if (f->epilogue == TSR_EPILOGUE_BIAS_RELU && value < 0)
            value = 0;
        tsr_store_element(t->dtype, expected, 0, value);
        if (tsr_load_element(t->dtype, expected, 0) !=
            tsr_load_element(t->dtype, (const char *)d + (size_t)x * bytes, 0))
            fail_msg(
                "%s, %s %lld x %lld x %lld x%lld, layout %d%d, alpha %g beta %g form %d: element %lld is %g, not %g",
                what, tsr_dtype_name(t->dtype), t->m, t->n, t->k, t->batch, t->trans_a, t->trans_b, f->alpha, f->beta,
                f->epilogue, x, tsr_load_element(t->dtype, (const char *)d + (size_t)x * bytes, 0), value);
    }
}

static void run_parts(tsr_device *device, const trial *t, const factors *f, tsr_cpu_choice choice, const void *a,
                      const void *b, const void *c, const void *bias, void *d)
{
    const tsr_config config = {.instance = "under test", .op = TSR_OP(t->dtype, t->dtype, tsr_dtype_compute(t->dtype))};
    tsr_gemm_args args = args_of(t);
    args.a = a;
    args.b = b;
    args.c = f->beta != 0 ? c : NULL;
    args.d = d;
    args.alpha = f->alpha;
    args.beta = f->beta;
    args.epilogue = f->epilogue;
    args.bias = bias;
    const tsr_cpu_call call = {
        .args = &args, .threads = THREADS, .device = device, .algorithm = tsr_choice_number(choice)};
    assert_int_equal(tsr_cpu_tiled(&config, &call), TSR_OK);
}

/* One problem by every number of parts; `with_pairs`: by pairs of bf16 too. */
static void try_parts(tsr_device *device, const trial *t, const char *isa, int with_pairs)
{
    static const int parts[] = {1, 2, 3, 7, 16};
    const size_t bytes = tsr_dtype_bytes(t->dtype), d_bytes = (size_t)(t->m * t->n * t->batch) * bytes;
    char *const a = make_matrix(t->dtype, t->m * t->k * t->batch, 1),
                *const b = make_matrix(t->dtype, t->k * t->n * t->batch, 2),
                *const c = make_matrix(t->dtype, t->m * t->n * t->batch, 3),
                *const bias = make_matrix(t->dtype, t->n, 4), *const d = make(d_bytes);
    double *const sums = sums_of(t, a, b);
    const tsr_shape shape = tsr_shape_of(t->dtype, t->m, t->n, t->k, t->trans_a, t->trans_b);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        for (size_t x = 0; x < sizeof all_factors / sizeof all_factors[0]; x++) {
            tsr_cpu_choice choice = tsr_choice_of_shape(shape, parts[i]);
            if (with_pairs && shape == TSR_SHAPE_TILES)
                choice.algorithm = TSR_PAIRS;
            char what[64];
            snprintf(what, sizeof what, "%s, %d parts", isa, parts[i]);
            memset(d, 0xff, d_bytes);
            run_parts(device, t, &all_factors[x], choice, a, b, c, bias, d);
            check_exact(t, &all_factors[x], sums, c, bias, d, what);
        }
    free(a);
    free(b);
    free(c);
    free(bias);
    free(d);
    free(sums);
}

static void any_number_of_parts_is_exact(void **state)
{
    static const long long sizes[][4] = {{3, 700, 2100, 1}, {530, 3, 2109, 1}, {1, 300, 3001, 1},
                                         {300, 1, 3000, 1}, {1, 1, 5003, 1},   {40, 50, 2500, 1},
                                         {17, 33, 2105, 2}, {5, 16, 3000, 2},  {50, 52, 9001, 1}};
    (void)state;
    for (const tsr_isa *const *isa = tsr_isa_all(); *isa; isa++)
        for (int pairs = 0; pairs < 2; pairs++) {
            char name[32];
            snprintf(name, sizeof name, "%s%s", (*isa)->name, pairs ? "+pairs" : "");
            if (!tsr_isa_runs(*isa) || (pairs && !tsr_isa_pairs(*isa)))
                continue;
            tsr_device device = open_device(name);
            for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0] * FLOATS * 4; i++) {
                const long long *const size = sizes[i / (4 * FLOATS)];
                const trial t = {
                    floats[i / 4 % FLOATS], (int)(i >> 1 & 1), (int)(i & 1), size[0], size[1], size[2], size[3], 0};
                if ((!pairs || t.dtype == TSR_BF16) && !is_left_out(i, 9))
                    try_parts(&device, &t, name, pairs);
            }
            tsr_cpu_backend.close(&device);
        }
}

/* ---- the same bits, whoever runs it and how ---- */

static void *make_rough(tsr_dtype dtype, long long elements, uint64_t seed)
{
    char *const at = make((size_t)elements * tsr_dtype_bytes(dtype));
    for (long long i = 0; i < elements; i++)
        tsr_store_element(dtype, at, i, ((double)draw(&seed, 2001) - 1000) / 777);
    return at;
}

static tsr_context *open_context(int threads)
{
    const tsr_context_options options = {.struct_bytes = sizeof options, .threads = threads};
    tsr_context *context = NULL;
    assert_int_equal(tsr_context_create("cpu", &options, &context), TSR_OK);
    return context;
}

static tsr_gemm_desc describe(const trial *t)
{
    tsr_gemm_desc desc = tsr_gemm_desc_make(t->dtype, t->m, t->n, t->k);
    desc.a.trans = t->trans_a ? TSR_T : TSR_N;
    desc.b.trans = t->trans_b ? TSR_T : TSR_N;
    return desc;
}

static void bits_do_not_depend_on_threads(void **state)
{
    static const int threads[] = {1, 2, 3, 5, 16};
    static const trial products[] = {{TSR_F32, 0, 0, 8, 640, 4200, 1, 0},  {TSR_F64, 0, 0, 3, 600, 3000, 1, 0},
                                     {TSR_F64, 1, 0, 233, 1, 5000, 1, 0},  {TSR_F32, 1, 1, 936, 8, 3000, 1, 0},
                                     {TSR_F16, 0, 0, 5, 1000, 3000, 1, 0}, {TSR_BF16, 0, 0, 60, 64, 20000, 1, 0},
                                     {TSR_F32, 0, 1, 60, 100, 6000, 1, 0}, {TSR_F64, 0, 1, 4, 20, 30000, 1, 0},
                                     {TSR_BF16, 1, 0, 700, 3, 3000, 1, 0}, {TSR_F32, 0, 0, 1, 48, 60000, 1, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof products / sizeof products[0]; i++) {
        const trial *const t = &products[i];
        const size_t bytes = (size_t)(t->m * t->n) * tsr_dtype_bytes(t->dtype);
        void *const a = make_rough(t->dtype, t->m * t->k, i), *const b = make_rough(t->dtype, t->k * t->n, i + 50),
                    *const first = make(bytes), *const next = make(bytes);
        for (size_t x = 0; x < sizeof threads / sizeof threads[0]; x++) {
            tsr_context *const context = open_context(threads[x]);
            const tsr_gemm_desc desc = describe(t);
            void *const to = x == 0 ? first : next;
            tsr_run_args args = tsr_run_args_make(a, b, to);
            tsr_candidate chosen;
            size_t count;
            memset(to, 0xff, bytes);
            assert_int_equal(tsr_gemm(context, &desc, &args), TSR_OK);
            assert_memory_equal(first, to, bytes);
            assert_int_equal(tsr_route(context, &desc, &chosen, sizeof chosen, 1, &count), TSR_OK);
            assert_non_null(strstr(chosen.reason, " parts of K"));
            tsr_plan *plan = NULL;
            tsr_prepared *prepared = NULL;
            assert_int_equal(tsr_plan_create(context, &desc, &plan), TSR_OK);
            assert_int_equal(tsr_prepare(plan, 'b', b, &prepared), TSR_OK);
            args.d = next;
            args.b = NULL;
            args.prepared_b = prepared;
            memset(next, 0xff, bytes);
            assert_int_equal(tsr_plan_run(plan, &args), TSR_OK);
            assert_memory_equal(first, next, bytes);
            tsr_prepared_release(prepared);
            assert_int_equal(tsr_prepare(plan, 'a', a, &prepared), TSR_OK);
            args = tsr_run_args_make(NULL, b, next);
            args.prepared_a = prepared;
            memset(next, 0xff, bytes);
            assert_int_equal(tsr_plan_run(plan, &args), TSR_OK);
            assert_memory_equal(first, next, bytes);
            tsr_prepared_release(prepared);
            tsr_plan_release(plan);
            tsr_context_destroy(context);
        }
        free(a);
        free(b);
        free(first);
        free(next);
    }
}

/* A compressed operand is spread out a block of its lines at a time: each in the parts of the whole. */
static void compressed_operands_have_the_bits_of_whole_ones(void **state)
{
    static const trial products[] = {{TSR_F32, 1, 0, 1200, 2, 3072, 1, 0}, {TSR_BF16, 0, 0, 2, 1500, 4096, 1, 0}};
    tsr_context *const context = open_context(2);
    (void)state;
    for (size_t i = 0; i < sizeof products / sizeof products[0]; i++) {
        const trial *const t = &products[i];
        const size_t bytes = (size_t)(t->m * t->n) * tsr_dtype_bytes(t->dtype);
        void *const a = make_rough(t->dtype, t->m * t->k, i), *const b = make_rough(t->dtype, t->k * t->n, i + 50),
                    *const whole = make(bytes), *const compressed = make(bytes);
        const char operand = t->m > t->n ? 'a' : 'b';
        tsr_gemm_desc desc = describe(t), sparse = desc;
        tsr_plan *plan = NULL;
        tsr_prepared *prepared = NULL;
        sparse.flags |= operand == 'a' ? TSR_SPARSE24_A : TSR_SPARSE24_B;
        if (tsr_plan_create(context, &sparse, &plan) != TSR_OK)
            fail_msg("%s", tsr_last_error());
        assert_int_equal(tsr_prune24(&sparse, operand, operand == 'a' ? a : b, NULL), TSR_OK);
        assert_int_equal(tsr_compress24(plan, operand, operand == 'a' ? a : b, &prepared), TSR_OK);
        tsr_run_args args = tsr_run_args_make(a, b, whole);
        assert_int_equal(tsr_gemm(context, &desc, &args), TSR_OK);
        args.d = compressed;
        *(operand == 'a' ? &args.a : &args.b) = NULL;
        *(operand == 'a' ? &args.prepared_a : &args.prepared_b) = prepared;
        assert_int_equal(tsr_plan_run(plan, &args), TSR_OK);
        assert_memory_equal(whole, compressed, bytes);
        tsr_prepared_release(prepared);
        tsr_plan_release(plan);
        free(a);
        free(b);
        free(whole);
        free(compressed);
    }
    tsr_context_destroy(context);
}

/* A last slice of one row is summed as all others are. */
static void slices_of_one_row_have_the_bits_of_others(void **state)
{
    enum { M = 2017, MOST_COLUMNS = 5, K = 8192, MOST_THREADS = 20 };
    (void)state;
    void *const a = make_rough(TSR_F32, (long long)M * K, 1);
    for (int n = 1; n <= MOST_COLUMNS; n += 4) {
        const size_t bytes = (size_t)(M * n) * sizeof(float);
        void *const b = make_rough(TSR_F32, (long long)K * n, 2), *const first = make(bytes), *const next = make(bytes);
        for (int threads = 1; threads <= MOST_THREADS; threads += threads < 12 ? 12 : 3) {
            tsr_context *const context = open_context(threads);
            tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F32, M, n, K);
            tsr_run_args args = tsr_run_args_make(a, b, threads == 1 ? first : next);
            desc.a.trans = TSR_T;
            desc.a.ld = M;
            assert_int_equal(tsr_gemm(context, &desc, &args), TSR_OK);
            if (threads > 1 && memcmp(first, next, bytes) != 0)
                fail_msg("%d columns: %d threads give other bits than one", n, threads);
            tsr_context_destroy(context);
        }
        free(b);
        free(first);
        free(next);
    }
    free(a);
}

/* ---- 8-bit integers ---- */

/* Of parts of K the last, shorter one may pack more than the first: blocks of a compressed operand take the memory of
 * both before they are multiplied. */
static void compressed_integers_have_memory_for_every_part(void **state)
{
    static const long long sizes[][4] = {
        {5, 3105, 5477, 'b'}, {5, 2801, 1300, 'b'}, {6, 2500, 3001, 'b'}, {1335, 10, 1212, 'a'}, {1800, 9, 2999, 'a'}};
    tsr_context *const context = open_context(2);
    (void)state;
    for (int i = 0; i < 60; i++) {
        const long long *const s = sizes[i % 5], m = s[0], n = s[1], k = i < 5 ? s[2] : 1024 + (i * 7919LL) % 5000;
        const char operand = (char)s[3];
        tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_S8, m, n, k);
        tsr_plan *plan = NULL;
        tsr_prepared *prepared = NULL;
        void *const a = calloc((size_t)(m * k), 1), *const b = calloc((size_t)(k * n), 1),
                    *const d = make((size_t)(m * n) * sizeof(int32_t));
        assert_true(a && b);
        desc.c.dtype = desc.d.dtype = TSR_S32;
        desc.flags = operand == 'a' ? TSR_SPARSE24_A : TSR_SPARSE24_B;
        desc.b.trans = TSR_T;
        desc.b.ld = k;
        tsr_run_args args = tsr_run_args_make(a, b, d);
        assert_int_equal(tsr_plan_create(context, &desc, &plan), TSR_OK);
        assert_int_equal(tsr_compress24(plan, operand, operand == 'a' ? a : b, &prepared), TSR_OK);
        *(operand == 'a' ? &args.a : &args.b) = NULL;
        *(operand == 'a' ? &args.prepared_a : &args.prepared_b) = prepared;
        if (tsr_plan_run(plan, &args) != TSR_OK)
            fail_msg("%lld x %lld x %lld, %c compressed: %s", m, n, k, operand, tsr_last_error());
        tsr_prepared_release(prepared);
        tsr_plan_release(plan);
        free(a);
        free(b);
        free(d);
    }
    tsr_context_destroy(context);
}

typedef struct integer_trial {
    int trans_a, trans_b;
    long long m, n, k, batch;
    tsr_dtype d;
    int zeros;
} integer_trial;

/* Modulo 2^32, the order of the sums is of no account. */
static void integers_are_those_of_one_part(void **state)
{
    enum { MOST = 300, TYPES = 2 };
    static const integer_trial products[] = {{0, 0, 2, 300, 3000, 1, TSR_S32, 1},
                                             {1, 1, 300, 3, 3001, 2, TSR_F32, 0},
                                             {0, 1, 40, 50, 2500, 2, TSR_S32, 1},
                                             {1, 0, 33, 60, 2111, 1, TSR_F32, 1},
                                             {0, 0, 40, 50, 2500, 1, TSR_BF16, 0}};
    static const tsr_dtype types[] = {TSR_S8, TSR_U8};
    static const int parts[] = {1, 2, 3, 7, 16};
    (void)state;
    const tsr_config config = {.instance = "under test"};
    uint8_t zeros_a[2 * MOST], zeros_b[2 * MOST];
    float bias[MOST];
    uint64_t seed = 9;
    for (int i = 0; i < 2 * MOST; i++) {
        zeros_a[i] = (uint8_t)draw(&seed, 256);
        zeros_b[i] = (uint8_t)draw(&seed, 256);
    }
    for (int i = 0; i < MOST; i++)
        bias[i] = (float)draw(&seed, 100);
    for (const tsr_isa *const *isa = tsr_isa_all(); *isa; isa++) {
        if (!tsr_isa_runs(*isa))
            continue;
        tsr_device device = open_device((*isa)->name);
        for (size_t i = 0; i < sizeof products / sizeof products[0] * TYPES; i++) {
            const integer_trial *const p = &products[i / TYPES];
            const trial t = {TSR_S8, p->trans_a, p->trans_b, p->m, p->n, p->k, p->batch, 0};
            const size_t d_bytes = (size_t)(p->m * p->n * p->batch) * tsr_dtype_bytes(p->d);
            uint8_t *const a = make((size_t)(p->m * p->k * p->batch)), *const b =
                                                                           make((size_t)(p->k * p->n * p->batch));
            char *const c = make(d_bytes), *const whole = make(d_bytes), *const d = make(d_bytes);
            for (long long x = 0; x < p->m * p->k * p->batch; x++)
                a[x] = (uint8_t)draw(&seed, 256);
            for (long long x = 0; x < p->k * p->n * p->batch; x++)
                b[x] = (uint8_t)draw(&seed, 256);
            for (long long x = 0; x < p->m * p->n * p->batch; x++)
                tsr_store_element(p->d, c, x, (double)draw(&seed, 100));
            tsr_gemm_args args = args_of(&t);
            args.a = a;
            args.b = b;
            args.c = c;
            args.alpha = -3;
            args.beta = 2;
            args.type_a = (int)types[i % TYPES];
            args.type_b = (int)TSR_S8;
            args.type_d = (int)p->d;
            if (p->d == TSR_F32) {
                args.epilogue = TSR_EPILOGUE_BIAS_RELU;
                args.bias = bias;
            }
            tsr_scaling scaling = {.type_bias = (int)TSR_F32, .batch_a = p->m, .batch_b = p->n};
            if (p->zeros) {
                scaling.zero_a = zeros_a;
                scaling.zero_b = zeros_b;
                scaling.mode_a = scaling.mode_b = TSR_SCALING_VECTOR;
            }
            tsr_cpu_choice choice = tsr_cpu_algorithm(&device, TSR_S8, &args, 0, THREADS);
            choice.k_parts = 0;
            tsr_cpu_call call = {.args = &args,
                                 .scaling = &scaling,
                                 .threads = THREADS,
                                 .device = &device,
                                 .algorithm = tsr_choice_number(choice)};
            args.d = whole;
            assert_int_equal(tsr_cpu_integers(&config, &call), TSR_OK);
            args.d = d;
            for (size_t x = 0; x < sizeof parts / sizeof parts[0]; x++) {
                choice.k_parts = parts[x];
                call.algorithm = tsr_choice_number(choice);
                memset(d, 0xff, d_bytes);
                assert_int_equal(tsr_cpu_integers(&config, &call), TSR_OK);
                if (memcmp(whole, d, d_bytes) != 0)
                    fail_msg("%s: %lld x %lld x %lld x%lld to %s in %d parts differs", (*isa)->name, p->m, p->n, p->k,
                             p->batch, tsr_dtype_name(p->d), parts[x]);
            }
            free(a);
            free(b);
            free(c);
            free(whole);
            free(d);
        }
        tsr_cpu_backend.close(&device);
    }
}

/* ---- no memory ---- */

static int allocations_left;

static void *allocate(size_t align, size_t bytes, void *user)
{
    (void)user;
    if (allocations_left == 0)
        return NULL;
    allocations_left -= allocations_left > 0;
    return aligned_alloc(align, (bytes + align - 1) / align * align);
}

static void release(void *memory, void *user)
{
    (void)user;
    free(memory);
}

static void without_memory_nothing_is_written(void **state)
{
    static const trial products[] = {{TSR_F32, 0, 0, 20, 640, 4200, 1, 0}, {TSR_F32, 0, 0, 128, 100, 8192, 1, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof products / sizeof products[0]; i++) {
        const trial *const t = &products[i];
        const size_t bytes = (size_t)(t->m * t->n) * sizeof(float);
        float *const a = make_matrix(TSR_F32, t->m * t->k, 1), *const b = make_matrix(TSR_F32, t->k * t->n, 2);
        char *const d = make(bytes), *const before = make(bytes);
        int refused = 0;
        memset(before, 0x3c, bytes);
        for (int left = 0, done = 0; !done; left++) {
            const tsr_allocator allocator = {.alloc = allocate, .free = release};
            const tsr_backend_options options = {.threads = THREADS, .allocator = &allocator};
            const tsr_config config = {.instance = "under test", .op = TSR_OP(TSR_F32, TSR_F32, TSR_COMPUTE_F32)};
            tsr_device device;
            tsr_gemm_args args = args_of(t);
            allocations_left = -1;
            assert_int_equal(tsr_cpu_backend.open(0, &options, &device), TSR_OK);
            args.a = a;
            args.b = b;
            args.d = d;
            memcpy(d, before, bytes);
            const tsr_cpu_call call = {.args = &args, .threads = 1, .device = &device};
            allocations_left = left;
            const tsr_status status = tsr_cpu_tiled(&config, &call);
            done = status == TSR_OK;
            if (!done) {
                refused++;
                assert_int_equal(status, TSR_OUT_OF_MEMORY);
                assert_non_null(strstr(tsr_last_error(), "no memory"));
                assert_memory_equal(before, d, bytes);
            }
            allocations_left = -1;
            tsr_cpu_backend.close(&device);
        }
        assert_true(refused > 1);
        free(a);
        free(b);
        free(d);
        free(before);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_tasks_and_a_long_k_get_parts),
        cmocka_unit_test(numbers_keep_the_parts),
        cmocka_unit_test(any_number_of_parts_is_exact),
        cmocka_unit_test(bits_do_not_depend_on_threads),
        cmocka_unit_test(compressed_operands_have_the_bits_of_whole_ones),
        cmocka_unit_test(slices_of_one_row_have_the_bits_of_others),
        cmocka_unit_test(compressed_integers_have_memory_for_every_part),
        cmocka_unit_test(integers_are_those_of_one_part),
        cmocka_unit_test(without_memory_nothing_is_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
