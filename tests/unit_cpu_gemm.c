/* cpu-sequential and cpu-tiled against exact results: small integers, whose sums every dtype holds or rounds once. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/backend.h"
#include "core/dtype.h"
#include "cpu/choose.h"
#include "cpu/cpu.h"
#include "cpu/cpu_device.h"
#include "cpu/isa/micro.h"
#include "cpu/skinny/shape.h"
#include "sanitized.h"

enum { GUARD_BYTES = 256, GUARD = 0xa5 };

typedef struct matrix {
    tsr_dtype dtype;
    long long rows, columns, ld, batch_stride, batch;
    size_t bytes;          /* of the elements, padding of rows included */
    unsigned char *memory; /* guards around them */
    char *at;              /* one element off the alignment of malloc */
} matrix;

typedef struct problem {
    tsr_dtype dtype;
    long long m, n, k, batch;
    int trans_a, trans_b;
    double alpha, beta;
    int pad; /* elements between rows */
    int threads;
    int in_place; /* D is C */
} problem;

static uint32_t random_state = 1;

static int random_int(int low, int high)
{
    random_state = random_state * 1664525u + 1013904223u;
    return low + (int)((random_state >> 8) % (uint32_t)(high - low + 1));
}

static matrix matrix_make(tsr_dtype dtype, long long rows, long long columns, int pad, long long batch)
{
    matrix x = {.dtype = dtype, .rows = rows, .columns = columns, .batch = batch};
    const size_t element = tsr_dtype_bytes(dtype);
    x.ld = columns + pad > 0 ? columns + pad : 1;
    x.batch_stride = rows * x.ld + 3 * pad;
    x.bytes = (size_t)(x.batch_stride * batch) * element;
    x.memory = malloc(x.bytes + 2 * GUARD_BYTES + element);
    assert_non_null(x.memory);
    memset(x.memory, GUARD, x.bytes + 2 * GUARD_BYTES + element);
    x.at = (char *)x.memory + GUARD_BYTES + element;
    return x;
}

static void matrix_free(matrix *x)
{
    free(x->memory);
}

static long long index_of(const matrix *x, long long z, long long i, long long j)
{
    return z * x->batch_stride + i * x->ld + j;
}

static double get(const matrix *x, long long z, long long i, long long j)
{
    return tsr_load_element(x->dtype, x->at, index_of(x, z, i, j));
}

static void fill(matrix *x, double (*value)(void))
{
    for (long long z = 0; z < x->batch; z++)
        for (long long i = 0; i < x->rows; i++)
            for (long long j = 0; j < x->columns; j++)
                tsr_store_element(x->dtype, x->at, index_of(x, z, i, j), value());
}

static double small_int(void)
{
    return random_int(-3, 3);
}

static double not_a_number(void)
{
    return NAN;
}

/* Everything that is no element of the matrix is as it was. */
static int guards_intact(const matrix *x)
{
    const size_t element = tsr_dtype_bytes(x->dtype), offset = (size_t)(x->at - (char *)x->memory);
    const size_t all = x->bytes + 2 * GUARD_BYTES + element;
    unsigned char *inside = calloc(1, all);
    assert_non_null(inside);
    for (long long z = 0; z < x->batch; z++)
        for (long long i = 0; i < x->rows; i++)
            memset(inside + offset + (size_t)index_of(x, z, i, 0) * element, 1, (size_t)x->columns * element);
    int ok = 1;
    for (size_t byte = 0; byte < all; byte++)
        ok &= inside[byte] || x->memory[byte] == GUARD;
    free(inside);
    return ok;
}

static double rounded(tsr_dtype dtype, double value)
{
    double element;
    tsr_store_element(dtype, &element, 0, value);
    return tsr_load_element(dtype, &element, 0);
}

/* Problem z of op(A), or of op(B) transposed, as doubles: `lines` of K elements each. */
static double *lines_along_k(const matrix *x, long long z, int k_is_row, long long lines, long long k)
{
    double *const wide = malloc((size_t)(lines * k) * sizeof *wide + 1);
    assert_non_null(wide);
    for (long long i = 0; i < lines; i++)
        for (long long q = 0; q < k; q++)
            wide[i * k + q] = k_is_row ? get(x, z, q, i) : get(x, z, i, q);
    return wide;
}

/* 0 if D is right in every bit, else the number of wrong elements, the first one printed. */
static long long wrong_elements(const problem *p, const matrix *a, const matrix *b, const matrix *c, const matrix *d,
                                const char *what)
{
    const long long k = p->alpha != 0 ? p->k : 0;
    long long wrong = 0;
    for (long long z = 0; z < p->batch; z++) {
        double *const rows = lines_along_k(a, z, p->trans_a, p->m, k);
        double *const columns = lines_along_k(b, z, !p->trans_b, p->n, k);
        for (long long i = 0; i < p->m; i++)
            for (long long j = 0; j < p->n; j++) {
                double sum = 0;
                for (long long q = 0; q < k; q++)
                    sum += rows[i * k + q] * columns[j * k + q];
                const double exact = p->alpha * sum + (p->beta != 0 ? p->beta * get(c, z, i, j) : 0);
                const double want = rounded(p->dtype, exact), have = get(d, z, i, j);
                if (have == want)
                    continue;
                if (wrong++ == 0)
                    print_error("%s %s %lldx%lldx%lld %c%c alpha %g beta %g pad %d threads %d: D[%lld](%lld, %lld) = "
                                "%g, must be %g\n",
                                what, tsr_dtype_name(p->dtype), p->m, p->n, p->k, p->trans_a ? 't' : 'n',
                                p->trans_b ? 't' : 'n', p->alpha, p->beta, p->pad, p->threads, z, i, j, have, want);
            }
        free(rows);
        free(columns);
    }
    return wrong;
}

static void check(tsr_device *device, tsr_cpu_run *run, const problem *p, const char *what)
{
    const tsr_config config = {
        .instance = "under test", .op = TSR_OP(p->dtype, p->dtype, tsr_dtype_compute(p->dtype)), .run = run};
    matrix a = p->trans_a ? matrix_make(p->dtype, p->k, p->m, p->pad, p->batch)
                          : matrix_make(p->dtype, p->m, p->k, p->pad, p->batch);
    matrix b = p->trans_b ? matrix_make(p->dtype, p->n, p->k, 2 * p->pad, p->batch)
                          : matrix_make(p->dtype, p->k, p->n, 2 * p->pad, p->batch);
    matrix c = matrix_make(p->dtype, p->m, p->n, 3 * p->pad, p->batch);
    matrix c_before = matrix_make(p->dtype, p->m, p->n, 3 * p->pad, p->batch);
    matrix d = matrix_make(p->dtype, p->m, p->n, p->pad, p->batch);
    fill(&a, p->alpha != 0 ? small_int : not_a_number);
    fill(&b, p->alpha != 0 ? small_int : not_a_number);
    fill(&c, p->beta != 0 ? small_int : not_a_number);
    fill(&d, not_a_number);
    memcpy(c_before.memory, c.memory, c.bytes + 2 * GUARD_BYTES + tsr_dtype_bytes(p->dtype));
    matrix *const out = p->in_place ? &c : &d;
    const tsr_gemm_args args = {.a = a.at,
                                .b = b.at,
                                .c = c.at,
                                .d = out->at,
                                .m = p->m,
                                .n = p->n,
                                .k = p->alpha != 0 ? p->k : 0,
                                .lda = a.ld,
                                .ldb = b.ld,
                                .ldc = c.ld,
                                .ldd = out->ld,
                                .batch_a = a.batch_stride,
                                .batch_b = b.batch_stride,
                                .batch_c = c.batch_stride,
                                .batch_d = out->batch_stride,
                                .batch = p->batch,
                                .alpha = p->alpha,
                                .beta = p->beta,
                                .trans_a = p->trans_a,
                                .trans_b = p->trans_b};
    const tsr_launch launch = {.config = &config, .args = &args, .threads = p->threads};
    assert_int_equal(tsr_cpu_backend.launch(device, &launch), TSR_OK);
    assert_int_equal(wrong_elements(p, &a, &b, &c_before, out, what), 0);
    assert_true(guards_intact(out));
    matrix_free(&a);
    matrix_free(&b);
    matrix_free(&c);
    matrix_free(&c_before);
    matrix_free(&d);
}

static tsr_device open_device(void)
{
    tsr_device device;
    const tsr_backend_options options = {.threads = 2};
    assert_int_equal(tsr_cpu_backend.open(0, &options, &device), TSR_OK);
    return device;
}

static const tsr_dtype dtypes[] = {TSR_F32, TSR_F64, TSR_F16, TSR_BF16};
static const double factors[] = {0, 1, -1, 0.5};

/* Every dtype, transposes, alpha and beta at one odd size. */
static void check_factors(tsr_device *device, tsr_cpu_run *run, const char *what, long long m, long long n, long long k)
{
    for (int bits = 0; bits < 4 * 16 * 4; bits++) {
        const problem p = {.dtype = dtypes[bits & 3],
                           .m = m,
                           .n = n,
                           .k = k,
                           .batch = 2,
                           .trans_a = bits >> 2 & 1,
                           .trans_b = bits >> 3 & 1,
                           .alpha = factors[bits >> 4 & 3],
                           .beta = factors[bits >> 6 & 3],
                           .pad = bits & 1 ? 3 : 0,
                           .threads = 1,
                           .in_place = bits >> 5 & 1};
        check(device, run, &p, what);
    }
}

static void test_sequential(void **state)
{
    (void)state;
    tsr_device device = open_device();
    check_factors(&device, tsr_cpu_sequential, "sequential", 7, 5, 9);
    check_factors(&device, tsr_cpu_sequential, "sequential", 1, 1, 0);
    tsr_cpu_backend.close(&device);
}

static void test_factors(void **state)
{
    (void)state;
    tsr_device device = open_device();
    for (const tsr_isa *const *isa = tsr_isa_all(); *isa; isa++) {
        if (tsr_cpu_force_isa(&device, (*isa)->name) != TSR_OK)
            continue;
        check_factors(&device, tsr_cpu_tiled, (*isa)->name, 17, 37, 11);
        check_factors(&device, tsr_cpu_tiled, (*isa)->name, 1, 70, 13);
        check_factors(&device, tsr_cpu_tiled, (*isa)->name, 70, 1, 67);
        check_factors(&device, tsr_cpu_tiled, (*isa)->name, 1, 1, 5);
        check_factors(&device, tsr_cpu_tiled, (*isa)->name, 5, 4, 0);
    }
    tsr_cpu_backend.close(&device);
}

/* Sizes around every edge of the register tile. */
static void test_tile_edges(void **state)
{
    (void)state;
    tsr_device device = open_device();
    for (const tsr_isa *const *isa = tsr_isa_all(); *isa; isa++) {
        if (tsr_cpu_force_isa(&device, (*isa)->name) != TSR_OK)
            continue;
        for (int t = 0; t < 4; t++) {
            const tsr_tiles *tiles = dtypes[t] == TSR_F64 ? &(*isa)->f64 : &(*isa)->f32;
            for (int m = 0; m <= 2 * tiles->mr + 1; m++)
                for (int n = 0; n <= tiles->nr + tiles->lanes + 1;
                     n += n < 3 || n % tiles->lanes >= tiles->lanes - 2 ? 1 : tiles->lanes / 2) {
                    const int bits = random_int(0, 255);
                    const problem p = {.dtype = dtypes[t],
                                       .m = m,
                                       .n = n,
                                       .k = random_int(1, 19),
                                       .batch = 1,
                                       .trans_a = bits & 1,
                                       .trans_b = bits >> 1 & 1,
                                       .alpha = factors[1 + (bits >> 2) % 3],
                                       .beta = factors[bits >> 4 & 3],
                                       .pad = bits >> 6 & 3,
                                       .threads = 1,
                                       .in_place = bits >> 5 & 1};
                    check(&device, tsr_cpu_tiled, &p, (*isa)->name);
                }
        }
    }
    tsr_cpu_backend.close(&device);
}

/* Shapes that take each path through the blocks, K of several blocks among them. */
static void test_blocks(void **state)
{
    static const int shapes[][3] = {{3, 40, 257},    {13, 33, 601},   {50, 40, 300},   {50, 530, 65},  {490, 33, 70},
                                    {500, 521, 9},   {2, 4101, 5},    {1030, 2, 263},  {97, 101, 103}, {8, 8, 1025},
                                    {2, 1100, 513},  {1100, 1030, 3}, {1, 2100, 260},  {2100, 1, 300}, {1, 3, 4001},
                                    {7, 1030, 520},  {16, 3000, 181}, {23, 400, 1400}, {1030, 7, 520}, {3000, 16, 181},
                                    {400, 23, 1400}, {173, 2, 952},   {1100, 3, 513},  {9, 6, 700},    {700, 3, 400},
                                    {131, 100, 65},  {37, 23, 90},    {35, 1, 40},     {2, 20, 150},   {14, 2, 449},
                                    {1, 60, 300},    {20, 1, 400},    {3, 9, 200},     {4, 5, 300},    {5, 30, 100},
                                    {100, 8, 64},    {139, 1, 1},     {83, 3, 7},      {70, 5, 6},     {6, 71, 8}};
    (void)state;
    tsr_device device = open_device();
    for (const tsr_isa *const *isa = tsr_isa_all(); *isa; isa++) {
        if (tsr_cpu_force_isa(&device, (*isa)->name) != TSR_OK)
            continue;
        for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
            for (int bits = 0; bits < 32; bits++) {
                if (bits >= 16 && (double)shapes[s][0] * shapes[s][1] * shapes[s][2] > 3e5)
                    break; /* the large ones once, without C or with it */
                if (is_left_out(s + (size_t)bits, 3))
                    continue;
                const problem p = {.dtype = dtypes[bits & 3],
                                   .m = shapes[s][0],
                                   .n = shapes[s][1],
                                   .k = shapes[s][2],
                                   .batch = 1,
                                   .trans_a = bits >> 2 & 1,
                                   .trans_b = bits >> 3 & 1,
                                   .alpha = 1,
                                   .beta = (bits >> 4 ^ bits) & 1 ? 0.5 : 0,
                                   .pad = (int)s % 3,
                                   .threads = 1 + bits % 3};
                check(&device, tsr_cpu_tiled, &p, (*isa)->name);
            }
    }
    tsr_cpu_backend.close(&device);
}

/* Rows of D of a few elements that follow each other, which some tiles write as whole vectors. */
static void test_tight_rows(void **state)
{
    static const int rows[] = {2, 15, 32, 47, 83}, steps[] = {2, 7, 40};
    (void)state;
    tsr_device device = open_device();
    for (const tsr_isa *const *isa = tsr_isa_all(); *isa; isa++) {
        if (tsr_cpu_force_isa(&device, (*isa)->name) != TSR_OK)
            continue;
        for (int at = 0; at < 5 * 3 * 5; at++)
            for (int bits = 0; bits < 16; bits++) {
                const problem p = {.dtype = bits & 1 ? TSR_F64 : TSR_F32,
                                   .m = rows[at % 5],
                                   .n = 2 + at / 5 % 5,
                                   .k = steps[at / 25],
                                   .batch = 1,
                                   .trans_a = bits >> 1 & 1,
                                   .trans_b = bits >> 2 & 1,
                                   .alpha = bits & 8 ? -2 : 1,
                                   .beta = 0,
                                   .pad = 0,
                                   .threads = 1};
                check(&device, tsr_cpu_tiled, &p, (*isa)->name);
            }
    }
    tsr_cpu_backend.close(&device);
}

/* NaN and infinities end up where the naive sum has them, and nowhere else. */
static void test_special_values(void **state)
{
    enum { M = 45, N = 67, K = 41 };
    static const double values[] = {NAN, INFINITY, -INFINITY};
    static float a[M * K], b[K * N], want[M * N], have[M * N];
    (void)state;
    tsr_device device = open_device();
    for (const tsr_isa *const *isa = tsr_isa_all(); *isa; isa++) {
        if (tsr_cpu_force_isa(&device, (*isa)->name) != TSR_OK)
            continue;
        for (int round = 0; round < 400; round++) {
            const long long m = random_int(1, M), n = random_int(1, N), k = random_int(1, K);
            const tsr_config config = {.instance = "under test",
                                       .op = TSR_OP(TSR_F32, TSR_F32, tsr_dtype_compute(TSR_F32))};
            const int trans_a = round & 1, trans_b = round >> 1 & 1;
            for (int i = 0; i < M * K; i++)
                a[i] = (float)random_int(-3, 3);
            for (int i = 0; i < K * N; i++)
                b[i] = (float)random_int(-3, 3);
            a[random_int(0, (int)(m * k) - 1)] = (float)values[round % 3];
            b[random_int(0, (int)(k * n) - 1)] = (float)values[round / 3 % 3];
            tsr_gemm_args args = {.a = a,
                                  .b = b,
                                  .d = want,
                                  .m = m,
                                  .n = n,
                                  .k = k,
                                  .lda = trans_a ? m : k,
                                  .ldb = trans_b ? k : n,
                                  .ldc = n,
                                  .ldd = n,
                                  .batch = 1,
                                  .alpha = 1,
                                  .trans_a = trans_a,
                                  .trans_b = trans_b};
            tsr_cpu_call call = {.args = &args, .threads = 1, .device = &device};
            assert_int_equal(tsr_cpu_sequential(&config, &call), TSR_OK);
            args.d = have;
            assert_int_equal(tsr_cpu_tiled(&config, &call), TSR_OK);
            for (long long i = 0; i < m * n; i++)
                assert_true(isnan(want[i]) ? isnan(have[i]) : have[i] == want[i]);
        }
    }
    tsr_cpu_backend.close(&device);
}

/* A page that may be used, between two that may not. */
typedef struct fenced {
    char *memory;
    size_t page;
} fenced;

static fenced fenced_make(void)
{
    fenced f = {.page = (size_t)sysconf(_SC_PAGESIZE)};
    f.memory = mmap(NULL, 3 * f.page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(f.memory, MAP_FAILED);
    assert_int_equal(mprotect(f.memory + f.page, f.page, PROT_READ | PROT_WRITE), 0);
    return f;
}

/* Room for so many bytes, which begins or ends with the page. */
static void *fenced_at(const fenced *f, size_t bytes, int at_end)
{
    assert_true(bytes <= f->page);
    return f->memory + f->page + (at_end ? f->page - bytes : 0);
}

/* Nothing is read or written outside: sanitizers do not see masked loads. */
static void test_fences(void **state)
{
    (void)state;
    tsr_device device = open_device();
    const fenced fa = fenced_make(), fb = fenced_make(), fd = fenced_make();
    for (const tsr_isa *const *isa = tsr_isa_all(); *isa; isa++)
        for (int round = 0; tsr_isa_runs(*isa) && round < 1200; round++) {
            const tsr_dtype dtype = dtypes[round & 3];
            const size_t element = tsr_dtype_bytes(dtype);
            const int most = dtype == TSR_F64 ? 20 : 30, ends = random_int(0, 7);
            const long long m = random_int(1, most), n = random_int(1, most), k = random_int(1, most);
            const int trans_a = random_int(0, 1), trans_b = random_int(0, 1);
            const tsr_config config = {.instance = "under test", .op = TSR_OP(dtype, dtype, tsr_dtype_compute(dtype))};
            tsr_gemm_args args = {.a = fenced_at(&fa, (size_t)(m * k) * element, ends & 1),
                                  .b = fenced_at(&fb, (size_t)(k * n) * element, ends & 2),
                                  .d = fenced_at(&fd, (size_t)(m * n) * element, ends & 4),
                                  .m = m,
                                  .n = n,
                                  .k = k,
                                  .lda = trans_a ? m : k,
                                  .ldb = trans_b ? k : n,
                                  .ldc = n,
                                  .ldd = n,
                                  .batch = 1,
                                  .alpha = 1,
                                  .beta = random_int(0, 1),
                                  .trans_a = trans_a,
                                  .trans_b = trans_b};
            args.c = args.d;
            memset(fd.memory + fd.page, 0, fd.page);
            const tsr_cpu_call call = {.args = &args, .threads = 1, .device = &device};
            char name[32];
            snprintf(name, sizeof name, "%s%s", (*isa)->name, tsr_isa_pairs(*isa) && round & 4 ? "+pairs" : "");
            assert_int_equal(tsr_cpu_force_isa(&device, name), TSR_OK);
            assert_int_equal(tsr_cpu_tiled(&config, &call), TSR_OK);
        }
    munmap(fa.memory, 3 * fa.page);
    munmap(fb.memory, 3 * fb.page);
    munmap(fd.memory, 3 * fd.page);
    tsr_cpu_backend.close(&device);
}

static void run_bf16(tsr_device *device, const char *isa, const tsr_gemm_args *args)
{
    const tsr_config config = {.instance = "under test", .op = TSR_OP(TSR_BF16, TSR_BF16, tsr_dtype_compute(TSR_BF16))};
    const tsr_cpu_call call = {.args = args, .threads = 2, .device = device};
    assert_int_equal(tsr_cpu_force_isa(device, isa), TSR_OK);
    assert_int_equal(tsr_cpu_tiled(&config, &call), TSR_OK);
}

static void run_any_rows(tsr_device *device, tsr_dtype dtype, tsr_gemm_args args, unsigned conditions, long long m,
                         void *d, int threads)
{
    const tsr_config config = {.instance = "under test", .op = TSR_OP(dtype, dtype, tsr_dtype_compute(dtype))};
    args.m = m;
    args.d = d;
    const tsr_cpu_choice choice = tsr_cpu_algorithm(device, dtype, &args, conditions, threads);
    const tsr_cpu_call call = {
        .args = &args, .threads = threads, .device = device, .algorithm = tsr_choice_number(choice)};
    assert_int_equal(tsr_cpu_tiled(&config, &call), TSR_OK);
}

/* Rows have the bits that they have among others, with each instruction set, B transposed: elements of usual size, and
 * such as underflow. N and K: parts of squares and of vectors, rows that lie a power of two apart, K of several blocks.
 */
static void test_any_rows(void **state)
{
    enum { M = 60, MOST_N = 130, MOST_K = 9000, MOST = 40 * 9000 };
    static const int sizes[][2] = {{40, 9000}, {37, 2048}, {70, 301}, {130, 192}, {33, 100}, {2, 517}};
    static const int ms[] = {1, 2, 3, 4, 5, 17, 49};
    static const char *const ends[] = {"", "+pairs"};
    char *const a = malloc(M * MOST_K * 8), *const b = malloc(MOST * 8);
    static char all[M * MOST_N * 8], some[M * MOST_N * 8];
    (void)state;
    tsr_device device = open_device();
    for (const tsr_isa *const *isa = tsr_isa_all(); *isa; isa++)
        for (int bits = 0; bits < 4 * 2 * 2 * 6; bits++) {
            if (is_left_out((unsigned)bits, 5))
                continue;
            const tsr_dtype dtype = dtypes[bits & 3];
            const size_t element = tsr_dtype_bytes(dtype);
            const long long n = sizes[bits / 16][0], k = sizes[bits / 16][1];
            const int low = bits & 4 ? -60 : -2;
            char name[32];
            snprintf(name, sizeof name, "%s%s", (*isa)->name, ends[bits >> 3 & 1]);
            if (tsr_cpu_force_isa(&device, name) != TSR_OK)
                continue;
            for (long long i = 0; i < M * k; i++)
                tsr_store_element(dtype, a, i, ldexp(random_int(-255, 255), random_int(low, low + 3)));
            for (long long i = 0; i < n * k; i++)
                tsr_store_element(dtype, b, i, ldexp(random_int(-255, 255), random_int(low, low + 3)));
            const tsr_gemm_args args = {.a = a,
                                        .b = b,
                                        .n = n,
                                        .k = k,
                                        .lda = k,
                                        .ldb = k,
                                        .ldc = n,
                                        .ldd = n,
                                        .batch = 1,
                                        .alpha = 1,
                                        .trans_b = 1};
            run_any_rows(&device, dtype, args, TSR_SUMS_IGNORE_M, M, all, 2);
            for (size_t i = 0; i < sizeof ms / sizeof ms[0]; i++) {
                run_any_rows(&device, dtype, args, TSR_SUMS_IGNORE_M, ms[i], some, 1);
                if (memcmp(all, some, (size_t)(ms[i] * n) * element) != 0)
                    fail_msg("%s, %s: %d x %lld x %lld has other bits than its rows have among %d", name,
                             tsr_dtype_name(dtype), ms[i], n, k, M);
            }
            /* A few rows of bf16 and a B that no cache holds: an ordinary product, by tiles or read once. */
            const long long l2_bytes = device.l2_bytes;
            device.l2_bytes = 1;
            for (int m = 2; dtype == TSR_BF16 && m <= TSR_STEPS_ROWS && n > m; m++) {
                tsr_gemm_args few = args;
                few.m = m;
                if ((*isa)->store[dtype].steps)
                    assert_int_equal(tsr_cpu_algorithm(&device, dtype, &few, 0, 1).algorithm, TSR_SKINNY);
                run_any_rows(&device, dtype, args, 0, m, some, 1);
                if (memcmp(all, some, (size_t)(m * n) * element) != 0)
                    fail_msg("%s: an ordinary %d x %lld x %lld has other bits than tiles give", name, m, n, k);
            }
            device.l2_bytes = l2_bytes;
        }
    free(a);
    free(b);
    tsr_cpu_backend.close(&device);
}

/* Pairs give the bits of widened elements, also where products or sums are subnormal, or elements are. */
static void test_pairs(void **state)
{
    enum { MOST = 80, FEW = 20, K = 700, LONG_K = 7000, ELEMS = FEW * LONG_K };
    static uint16_t a[ELEMS], b[ELEMS], c[MOST * MOST], widened[MOST * MOST], paired[MOST * MOST];
    (void)state;
    tsr_device device = open_device();
    if (tsr_cpu_force_isa(&device, "avx512+pairs") != TSR_OK) {
        tsr_cpu_backend.close(&device);
        skip();
    }
    for (int round = 0; round < 300; round++) {
        const int is_long = round % 50 == 7; /* K in parts */
        const long long m = random_int(2, is_long ? FEW : MOST), n = random_int(2, is_long ? FEW : MOST);
        const long long k = is_long ? random_int(6000, LONG_K) : random_int(1, round % 4 ? 70 : K);
        /* exponents around 1, around the square root of the smallest number, and of subnormals */
        const int low = round % 3 == 0 ? 117 : round % 3 == 1 ? 60 : 0, high = low + random_int(2, 20);
        for (long long i = 0; i < (m > n ? m : n) * k; i++) {
            a[i] = (uint16_t)(random_int(0, 1) << 15 | random_int(low, high) << 7 | random_int(0, 127));
            b[i] = (uint16_t)(random_int(0, 1) << 15 | random_int(low, high) << 7 | random_int(0, 127));
            if (random_int(0, 9) == 0)
                a[i] &= 0x8000;
        }
        for (int i = 0; i < MOST * MOST; i++)
            c[i] = (uint16_t)(random_int(low, high) << 7);
        const int trans_a = round & 1, trans_b = round >> 1 & 1;
        tsr_gemm_args args = {.a = a,
                              .b = b,
                              .c = c,
                              .d = widened,
                              .m = m,
                              .n = n,
                              .k = k,
                              .lda = trans_a ? m : k,
                              .ldb = trans_b ? k : n,
                              .ldc = n,
                              .ldd = n,
                              .batch = 1,
                              .alpha = round % 5 ? 1 : 0x1p100,
                              .beta = round % 7 ? 0 : 1,
                              .trans_a = trans_a,
                              .trans_b = trans_b};
        run_bf16(&device, "avx512", &args);
        args.d = paired;
        run_bf16(&device, "avx512+pairs", &args);
        assert_memory_equal(paired, widened, (size_t)(m * n) * sizeof *paired);
    }
    for (int m = 1; m < 40; m += 3)
        for (int n = 1; n < 40; n += 3)
            for (int k = 1; k < 80; k += 13) {
                const problem p = {.dtype = TSR_BF16,
                                   .m = m,
                                   .n = n,
                                   .k = k,
                                   .batch = 2,
                                   .trans_a = m & 1,
                                   .trans_b = n & 1,
                                   .alpha = 1,
                                   .beta = k & 1 ? 0.5 : 0,
                                   .pad = m % 4,
                                   .threads = 2};
                check(&device, tsr_cpu_tiled, &p, "avx512+pairs");
            }
    tsr_cpu_backend.close(&device);
}

static double any_number(void)
{
    return random_int(-1000, 1000) / 777.0;
}

/* alpha * A * B of whole matrices, alpha 1, to a D whose rows are `ldd` elements apart. */
static tsr_gemm_args product_of(const matrix *a, const matrix *b, void *d, long long ldd, int trans_a, int trans_b)
{
    return (tsr_gemm_args){.a = a->at,
                           .b = b->at,
                           .d = d,
                           .m = trans_a ? a->columns : a->rows,
                           .n = trans_b ? b->rows : b->columns,
                           .k = trans_a ? a->rows : a->columns,
                           .lda = a->columns,
                           .ldb = b->columns,
                           .ldd = ldd,
                           .batch = 1,
                           .alpha = 1,
                           .trans_a = trans_a,
                           .trans_b = trans_b};
}

/* D written past the caches, as where it is larger than they are: the same bits, and nothing beside it. */
static void test_streamed_results(void **state)
{
    enum { M = 70, N = 601, LD = 624, BYTES = M * LD * 8 };
    (void)state;
    tsr_device device = open_device();
    char *want = aligned_alloc(64, BYTES), *have = aligned_alloc(64, BYTES);
    assert_true(want && have);
    for (const tsr_isa *const *isa = tsr_isa_all(); *isa; isa++) {
        if (tsr_cpu_force_isa(&device, (*isa)->name) != TSR_OK)
            continue;
        for (int t = 0; t < 4 * 9 * 4; t++) {
            const tsr_dtype dtype = dtypes[t % 4];
            const int k = t / 4 % 9 + 1, trans_a = t / 36 & 1, trans_b = t / 72; /* the last K goes another way */
            const tsr_config config = {.instance = "under test", .op = TSR_OP(dtype, dtype, tsr_dtype_compute(dtype))};
            matrix a = matrix_make(dtype, trans_a ? k : M, trans_a ? M : k, 0, 1);
            matrix b = matrix_make(dtype, trans_b ? N : k, trans_b ? k : N, 0, 1);
            fill(&a, any_number);
            fill(&b, any_number);
            memset(want, GUARD, BYTES);
            memset(have, GUARD, BYTES);
            tsr_gemm_args args = product_of(&a, &b, want, LD - t % 3, trans_a, trans_b);
            args.alpha = t % 5 ? 1 : 0.5;
            const tsr_cpu_call call = {.args = &args, .threads = 2, .device = &device};
            device.l3_bytes = 1LL << 40;
            assert_int_equal(tsr_cpu_tiled(&config, &call), TSR_OK);
            device.l3_bytes = 0;
            args.d = have;
            assert_int_equal(tsr_cpu_tiled(&config, &call), TSR_OK);
            assert_memory_equal(have, want, BYTES);
            matrix_free(&a);
            matrix_free(&b);
        }
    }
    free(want);
    free(have);
    tsr_cpu_backend.close(&device);
}

/* Tiles that write D past the caches, from wherever in a line its rows begin: the same bits, and nothing beside it. */
static void test_streamed_tiles(void **state)
{
    enum { M = 490, N = 203, LD = 224, BYTES = (M * LD + 16) * 8, STEPS = 17 };
    (void)state;
    tsr_device device = open_device();
    char *want = aligned_alloc(64, BYTES), *have = aligned_alloc(64, BYTES);
    assert_true(want && have);
    for (const tsr_isa *const *isa = tsr_isa_all(); *isa; isa++) {
        if (tsr_cpu_force_isa(&device, (*isa)->name) != TSR_OK)
            continue;
        for (int t = 0; t < 2 * 17 * 2; t++) {
            const tsr_dtype dtype = t % 2 ? TSR_F64 : TSR_F32;
            const int bytes = dtype == TSR_F64 ? 8 : 4, offset = t / 2 % 17, trans_b = t / 34;
            const tsr_config config = {.instance = "under test", .op = TSR_OP(dtype, dtype, tsr_dtype_compute(dtype))};
            matrix a = matrix_make(dtype, M, STEPS, 0, 1);
            matrix b = matrix_make(dtype, trans_b ? N : STEPS, trans_b ? STEPS : N, 0, 1);
            fill(&a, any_number);
            fill(&b, any_number);
            memset(want, GUARD, BYTES);
            memset(have, GUARD, BYTES);
            tsr_gemm_args args = product_of(&a, &b, want + offset * bytes, offset == 16 ? LD - 1 : LD, 0, trans_b);
            args.alpha = t % 5 ? 1 : 0.5;
            const tsr_cpu_call call = {.args = &args, .threads = 1 + t % 3 / 2, .device = &device};
            device.l2_bytes = (int64_t)bytes * 8192; /* D is more than four times as large, B less than half */
            device.l3_bytes = 1LL << 40;
            assert_int_equal(tsr_cpu_tiled(&config, &call), TSR_OK);
            device.l3_bytes = 0;
            args.d = have + offset * bytes;
            assert_int_equal(tsr_cpu_tiled(&config, &call), TSR_OK);
            assert_memory_equal(have, want, BYTES);
            matrix_free(&a);
            matrix_free(&b);
        }
    }
    free(want);
    free(have);
    tsr_cpu_backend.close(&device);
}

/* How a Zen 4 reads a large matrix: the same bits, whatever the layout, the few rows or columns, and what is left over.
 */
static void test_zen4(void **state)
{
    enum { MANY = 1301, K = 523, MOST = 17 };
    static const int counts[] = {1, 2, 3, 5, 8, 9, 12, 16, MOST};
    static double want[MOST * MANY], have[MOST * MANY];
    (void)state;
    tsr_device device = open_device();
    device.l2_bytes = 1;
    for (size_t t = 0; tsr_isa_find("avx512") && t < 4 * 8 * sizeof counts / sizeof counts[0]; t++) {
        const tsr_dtype dtype = dtypes[t % 4];
        const int few = counts[t / 32], trans_a = t >> 2 & 1, trans_b = t >> 3 & 1, by_columns = t >> 4 & 1;
        const int m = by_columns ? MANY : few, n = by_columns ? few : MANY;
        const tsr_config config = {.instance = "under test", .op = TSR_OP(dtype, dtype, tsr_dtype_compute(dtype))};
        matrix a = matrix_make(dtype, trans_a ? K : m, trans_a ? m : K, 0, 1);
        matrix b = matrix_make(dtype, trans_b ? n : K, trans_b ? K : n, 0, 1);
        fill(&a, any_number);
        fill(&b, any_number);
        tsr_gemm_args args = product_of(&a, &b, want, n, trans_a, trans_b);
        const tsr_cpu_call call = {.args = &args, .threads = 1, .device = &device};
        if (t % 4 < 2) /* of 16-bit elements some are for tiles, which know no Zen 4 */
            assert_int_not_equal(tsr_shape_of(dtype, m, n, K, trans_a, trans_b), TSR_SHAPE_TILES);
        memset(want, GUARD, sizeof want);
        memset(have, GUARD, sizeof have);
        assert_int_equal(tsr_cpu_force_isa(&device, "avx512"), TSR_OK);
        assert_int_equal(tsr_cpu_tiled(&config, &call), TSR_OK);
        assert_int_equal(tsr_cpu_force_isa(&device, "avx512-zen4"), TSR_OK);
        args.d = have;
        assert_int_equal(tsr_cpu_tiled(&config, &call), TSR_OK);
        assert_memory_equal(have, want, sizeof want);
        matrix_free(&a);
        matrix_free(&b);
    }
    tsr_cpu_backend.close(&device);
}

/* Its tiles of half a vector: the same bits as those of a whole one, and nothing else is written. */
static void test_half_vectors(void **state)
{
    enum { LD = 80, MOST_ROWS = 50 };
    static const int rows[] = {2, 5, 8, 13, 16, 17, 33, MOST_ROWS}, steps[] = {1, 2, 3, 9, 64, 131, 600};
    static double want[MOST_ROWS * LD], have[MOST_ROWS * LD];
    (void)state;
    tsr_device device = open_device();
    for (int n = 2; tsr_isa_find("avx512") && n <= 76; n++)
        for (int t = 0; t < 2 * 4 * 3; t++) {
            const tsr_dtype dtype = t % 2 ? TSR_F64 : TSR_F32;
            const int trans_a = t >> 1 & 1, trans_b = t >> 2 & 1, how = t >> 3;
            const int m = rows[(n + t) % 8], k = steps[(n + t) % 7];
            const tsr_config config = {.instance = "under test", .op = TSR_OP(dtype, dtype, tsr_dtype_compute(dtype))};
            matrix a = matrix_make(dtype, trans_a ? k : m, trans_a ? m : k, 0, 1);
            matrix b = matrix_make(dtype, trans_b ? n : k, trans_b ? k : n, 0, 1);
            fill(&a, any_number);
            fill(&b, any_number);
            tsr_gemm_args args = product_of(&a, &b, want, LD, trans_a, trans_b);
            args.alpha = how == 1 ? -1.5 : 1;
            args.beta = how == 2;
            args.c = want;
            args.ldc = LD;
            const tsr_cpu_call call = {.args = &args, .threads = 1, .device = &device};
            memset(want, GUARD, sizeof want);
            memset(have, GUARD, sizeof have);
            for (size_t i = 0; i < sizeof want / sizeof *want && how == 2; i++)
                want[i] = have[i] = 0.25 * (double)(i % 7);
            assert_int_equal(tsr_cpu_force_isa(&device, "avx512"), TSR_OK);
            assert_int_equal(tsr_cpu_tiled(&config, &call), TSR_OK);
            assert_int_equal(tsr_cpu_force_isa(&device, "avx512-zen4"), TSR_OK);
            args.d = have;
            args.c = have;
            assert_int_equal(tsr_cpu_tiled(&config, &call), TSR_OK);
            assert_memory_equal(have, want, sizeof want);
            matrix_free(&a);
            matrix_free(&b);
        }
    tsr_cpu_backend.close(&device);
}

/* What a vector narrows is what the scalar conversion narrows: ties, overflow, denormals, NaN. */
static void test_narrowing(void **state)
{
    static const float inputs[] = {0.0f,     -0.0f,     1.0f,     1.00048828125f, 1.00146484375f, 65504.0f,   65519.0f,
                                   65520.0f, -65536.0f, 6.0e-8f,  2.9e-8f,        3.0e-8f,        6.1e-5f,    1e-40f,
                                   3.4e38f,  -3.4e38f,  INFINITY, -INFINITY,      1.00390625f,    1.01171875f};
    enum { COUNT = sizeof inputs / sizeof inputs[0] };
    (void)state;
    for (const tsr_isa *const *isa = tsr_isa_all(); *isa; isa++) {
        if (!tsr_isa_runs(*isa))
            continue;
        uint16_t out[COUNT];
        (*isa)->store[TSR_F16].finish(out, NULL, 1, 0, inputs, COUNT);
        for (int i = 0; i < COUNT; i++)
            assert_int_equal(out[i], tsr_f32_to_f16(inputs[i]));
        (*isa)->store[TSR_BF16].finish(out, NULL, 1, 0, inputs, COUNT);
        for (int i = 0; i < COUNT; i++)
            assert_int_equal(out[i], tsr_f32_to_bf16(inputs[i]));
        const float nan = NAN;
        (*isa)->store[TSR_F16].finish(out, NULL, 1, 0, &nan, 1);
        assert_true(isnan(tsr_f16_to_f32(out[0])));
        (*isa)->store[TSR_BF16].finish(out, NULL, 1, 0, &nan, 1);
        assert_true(isnan(tsr_bf16_to_f32(out[0])));
    }
}

/* An instruction set that is not there is refused. */
static void test_unknown_isa(void **state)
{
    (void)state;
    tsr_device device = open_device();
    assert_int_equal(tsr_cpu_force_isa(&device, "mmx"), TSR_UNSUPPORTED);
    assert_non_null(strstr(tsr_last_error(), "mmx"));
    assert_int_equal(tsr_cpu_force_isa(&device, "plain"), TSR_OK);
    tsr_cpu_backend.close(&device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sequential),       cmocka_unit_test(test_factors),
        cmocka_unit_test(test_tile_edges),       cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_tight_rows),       cmocka_unit_test(test_special_values),
        cmocka_unit_test(test_any_rows),         cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_fences),           cmocka_unit_test(test_narrowing),
        cmocka_unit_test(test_streamed_results), cmocka_unit_test(test_streamed_tiles),
        cmocka_unit_test(test_unknown_isa),      cmocka_unit_test(test_zen4),
        cmocka_unit_test(test_half_vectors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
