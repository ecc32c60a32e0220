/* cpu-tiled: where products are made of tiles, an element's bits depend neither on how operands are stored nor on the
 * size of the product that it is part of, on any instruction set: each path (tiles, transposed tiles, packed panels,
 * blocks, few columns) adds in the order of K. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/backend.h"
#include "core/dtype.h"
#include "cpu/cpu.h"
#include "cpu/cpu_device.h"
#include "cpu/isa/isa.h"
#include "cpu/skinny/shape.h"

enum { MOST = 1200 * 64 };

static double a[MOST], b[MOST], c[MOST], plain[MOST], other[MOST]; /* room for either type */
static double a_turned[MOST], b_turned[MOST];
static uint32_t random_state = 1;
static int compared; /* layouts */

static int random_int(int low, int high)
{
    random_state = random_state * 1664525u + 1013904223u;
    return low + (int)((random_state >> 8) % (uint32_t)(high - low + 1));
}

/* Numbers whose sums are rounded. */
static void fill(tsr_dtype dtype, void *x, long long count)
{
    for (long long i = 0; i < count; i++) {
        const double value = (double)random_int(-1000000, 1000000) / 999983.0;
        if (dtype == TSR_F64)
            ((double *)x)[i] = value;
        else
            ((float *)x)[i] = (float)value;
    }
}

static void transpose(tsr_dtype dtype, void *to, const void *from, long long rows, long long columns)
{
    for (long long i = 0; i < rows; i++)
        for (long long j = 0; j < columns; j++)
            if (dtype == TSR_F64)
                ((double *)to)[j * rows + i] = ((const double *)from)[i * columns + j];
            else
                ((float *)to)[j * rows + i] = ((const float *)from)[i * columns + j];
}

static void product(tsr_device *device, tsr_dtype dtype, tsr_gemm_args *g, int layout, void *d)
{
    const tsr_config config = {.instance = "under test", .op = TSR_OP(dtype, dtype, tsr_dtype_compute(dtype))};
    const tsr_cpu_call call = {.args = g, .threads = 1, .device = device};
    g->trans_a = layout & 1;
    g->trans_b = layout >> 1;
    g->a = g->trans_a ? (void *)a_turned : (void *)a;
    g->b = g->trans_b ? (void *)b_turned : (void *)b;
    g->lda = g->trans_a ? g->m : g->k;
    g->ldb = g->trans_b ? g->k : g->n;
    g->d = d;
    assert_int_equal(tsr_cpu_tiled(&config, &call), TSR_OK);
}

static int is_tiles(tsr_dtype dtype, const tsr_gemm_args *g, int layout)
{
    return tsr_shape_of(dtype, g->m, g->n, g->k, layout & 1, layout >> 1) == TSR_SHAPE_TILES;
}

static void check_layouts(tsr_device *device, tsr_dtype dtype, long long m, long long n, long long k)
{
    static const double factors[] = {1, 1, 0, -0.7, 1.3};
    const size_t element = dtype == TSR_F64 ? 8 : 4;
    const double beta = factors[random_int(1, 4)];
    tsr_gemm_args g = {.c = beta != 0 ? c : NULL,
                       .m = m,
                       .n = n,
                       .k = k,
                       .ldc = n + 3,
                       .ldd = n + 1,
                       .batch = 1,
                       .alpha = random_int(0, 1) ? 1 : 1.1,
                       .beta = beta};
    fill(dtype, a, m * k);
    fill(dtype, b, k * n);
    fill(dtype, c, m * g.ldc);
    transpose(dtype, a_turned, a, m, k);
    transpose(dtype, b_turned, b, k, n);
    memset(plain, 0x5a, (size_t)(m * g.ldd) * element);
    product(device, dtype, &g, 0, plain);
    for (int layout = 1; layout < 4; layout++) {
        if (!is_tiles(dtype, &g, 0) || !is_tiles(dtype, &g, layout))
            continue;
        compared++;
        memset(other, 0x5a, (size_t)(m * g.ldd) * element);
        product(device, dtype, &g, layout, other);
        assert_memory_equal(other, plain, (size_t)(m * g.ldd) * element);
    }
}

static tsr_device open_device(void)
{
    tsr_device device;
    const tsr_backend_options options = {.threads = 1};
    assert_int_equal(tsr_cpu_backend.open(0, &options, &device), TSR_OK);
    return device;
}

static void for_each_isa(void (*check)(tsr_device *device, tsr_dtype dtype))
{
    tsr_device device = open_device();
    for (const tsr_isa *const *isa = tsr_isa_all(); *isa; isa++) {
        if (tsr_cpu_force_isa(&device, (*isa)->name) != TSR_OK)
            continue;
        check(&device, TSR_F32);
        check(&device, TSR_F64);
    }
    tsr_cpu_backend.close(&device);
}

/* Every height and width of one or two tiles. */
static void small(tsr_device *device, tsr_dtype dtype)
{
    for (int m = 2; m < 52; m++)
        for (int n = 2; n < 52; n++)
            check_layouts(device, dtype, m, n, random_int(1, 40));
}

static void larger(tsr_device *device, tsr_dtype dtype)
{
    for (int round = 0; round < 40; round++)
        check_layouts(device, dtype, random_int(2, 220), random_int(2, 220), random_int(1, 300));
}

/* Few columns, alone or beside whole vectors of them, and so many steps that K is cut. */
static void narrow(tsr_device *device, tsr_dtype dtype)
{
    for (int round = 0; round < 60; round++)
        check_layouts(device, dtype, random_int(12, 150), random_int(0, 2) * 16 + random_int(2, 9), random_int(1, 511));
}

/* Few steps of K, D of up to a few vectors, which go row by row (and with beta tile by tile). */
static void few_steps(tsr_device *device, tsr_dtype dtype)
{
    for (int round = 0; round < 500; round++)
        check_layouts(device, dtype, random_int(2, 200), random_int(2, 50), random_int(1, 5));
}

/* Few rows of a product, against the same rows as a product of their own: small ones go another way than large ones. */
static void parts(tsr_device *device, tsr_dtype dtype)
{
    static const int shapes[][3] = {{600, 100, 90}, {60, 600, 90}, {500, 60, 64}, {130, 530, 70}};
    const size_t element = dtype == TSR_F64 ? 8 : 4;
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
        for (int layout = 0; layout < 4; layout++) {
            const long long m = shapes[s][0], n = shapes[s][1], k = shapes[s][2];
            tsr_gemm_args g = {.m = m, .n = n, .k = k, .ldc = n, .ldd = n, .batch = 1, .alpha = 1};
            fill(dtype, a, m * k);
            fill(dtype, b, k * n);
            transpose(dtype, a_turned, a, m, k);
            transpose(dtype, b_turned, b, k, n);
            product(device, dtype, &g, layout, plain);
            do /* 40 rows are always tiles, very few may be sums along K */
                g.m = random_int(3, 40);
            while (!is_tiles(dtype, &g, layout));
            transpose(dtype, a_turned, a, g.m, k);
            product(device, dtype, &g, layout, other);
            assert_memory_equal(other, plain, (size_t)(g.m * n) * element);
        }
}

/* Sums along K of few rows or columns: the same whether the other operand lies in a cache or its rows lie far apart. */
static void sums(tsr_device *device, tsr_dtype dtype)
{
    enum { WIDE = 13000, MOST_ROWS = 60 };
    const size_t element = dtype == TSR_F64 ? 8 : 4;
    char *const apart = calloc((size_t)MOST_ROWS * WIDE, element);
    assert_non_null(apart);
    for (int round = 0; round < 60; round++) {
        const long long few = random_int(2, 24), many = random_int(31, MOST_ROWS), k = random_int(17, 1200);
        const int by_columns = random_int(0, 1);
        tsr_gemm_args g = {.m = by_columns ? many : few, .n = by_columns ? few : many, .k = k, .batch = 1, .alpha = 1};
        g.ldc = g.ldd = g.n;
        fill(dtype, a, g.m * k);
        fill(dtype, b_turned, g.n * k);
        product(device, dtype, &g, 2, plain);
        const char *const near = by_columns ? (const char *)a : (const char *)b_turned;
        for (long long i = 0; i < many; i++)
            memcpy(apart + (size_t)i * WIDE * element, near + (size_t)(i * k) * element, (size_t)k * element);
        if (by_columns) {
            g.a = apart;
            g.lda = WIDE;
        } else {
            g.b = apart;
            g.ldb = WIDE;
        }
        g.d = other;
        const tsr_config config = {.instance = "under test", .op = TSR_OP(dtype, dtype, tsr_dtype_compute(dtype))};
        const tsr_cpu_call call = {.args = &g, .threads = 1, .device = device};
        assert_int_equal(tsr_cpu_tiled(&config, &call), TSR_OK);
        assert_memory_equal(other, plain, (size_t)(g.m * g.n) * element);
        memset(other, 0xff, (size_t)(g.m * g.n) * element);
        tsr_small small = {.most_ops = INFINITY};
        assert_true(tsr_cpu_tiled_small.of_device(&config, device, &small));
        if (small.try_apart(&small, TSR_LAYOUT(g.trans_a, g.trans_b), g.m, g.n, g.k, g.a, g.lda, g.b, g.ldb, NULL,
                            g.ldc, g.d, g.ldd, 1, 0))
            assert_memory_equal(other, plain, (size_t)(g.m * g.n) * element);
    }
    free(apart);
}

static void test_sums(void **state)
{
    (void)state;
    for_each_isa(sums);
}

static void test_small(void **state)
{
    (void)state;
    for_each_isa(small);
}

static void test_larger(void **state)
{
    (void)state;
    for_each_isa(larger);
}

static void test_narrow(void **state)
{
    (void)state;
    compared = 0;
    for_each_isa(narrow);
    assert_true(compared > 100);
}

static void test_few_steps(void **state)
{
    (void)state;
    compared = 0;
    for_each_isa(few_steps);
    assert_true(compared > 1000);
}

static void test_parts(void **state)
{
    (void)state;
    for_each_isa(parts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small),     cmocka_unit_test(test_larger), cmocka_unit_test(test_narrow),
        cmocka_unit_test(test_few_steps), cmocka_unit_test(test_parts),  cmocka_unit_test(test_sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
