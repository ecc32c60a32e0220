/* The short way of small products: the bits of the long way, and its refusals. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tessera.h"

enum { MOST = 70, ELEMS = MOST * (MOST + 3) };

typedef union buffer {
    double f64[ELEMS];
    float f32[ELEMS];
    unsigned char bytes[ELEMS * 8];
} buffer;

static buffer a, b, c, long_way, short_way;
static uint32_t random_state = 7;

static int random_int(int low, int high)
{
    random_state = random_state * 1664525u + 1013904223u;
    return low + (int)((random_state >> 8) % (uint32_t)(high - low + 1));
}

static void fill(buffer *x, tsr_dtype dtype)
{
    for (int i = 0; i < ELEMS; i++) {
        const double value = random_int(-1000, 1000) / 777.0;
        if (dtype == TSR_F64)
            x->f64[i] = value;
        else
            x->f32[i] = (float)value;
    }
}

typedef struct trial {
    tsr_dtype dtype;
    int m, n, k, pad;
    tsr_trans trans_a, trans_b;
    double alpha, beta;
} trial;

static tsr_gemm_desc describe(const trial *t)
{
    tsr_gemm_desc desc = tsr_gemm_desc_make(t->dtype, t->m, t->n, t->k);
    desc.a.trans = t->trans_a;
    desc.b.trans = t->trans_b;
    desc.a.ld = (t->trans_a ? t->m : t->k) + t->pad;
    desc.b.ld = (t->trans_b ? t->k : t->n) + t->pad;
    desc.c.ld = desc.d.ld = t->n + t->pad;
    return desc;
}

static tsr_status one_line(const trial *t, void *d)
{
    const tsr_gemm_desc desc = describe(t);
    if (t->dtype == TSR_F64)
        return tsr_dgemm(t->trans_a, t->trans_b, t->m, t->n, t->k, t->alpha, a.f64, desc.a.ld, b.f64, desc.b.ld,
                         t->beta, d, desc.d.ld);
    return tsr_sgemm(t->trans_a, t->trans_b, t->m, t->n, t->k, (float)t->alpha, a.f32, desc.a.ld, b.f32, desc.b.ld,
                     (float)t->beta, d, desc.d.ld);
}

static void expect_same(const trial *t, const char *what)
{
    if (memcmp(long_way.bytes, short_way.bytes, sizeof long_way.bytes) != 0)
        print_error("%s: %s %dx%dx%d %d%d alpha %g beta %g\n", what, tsr_dtype_name(t->dtype), t->m, t->n, t->k,
                    (int)t->trans_a, (int)t->trans_b, t->alpha, t->beta);
    assert_memory_equal(long_way.bytes, short_way.bytes, sizeof long_way.bytes);
}

/* Operands in device memory, which is the host's here, take the long way. */
static void same_bits(void **state)
{
    static const double alphas[] = {1, -0.5, 0, NAN}, betas[] = {0, 1, -2, 0};
    tsr_context *context = *state;
    for (int round = 0; round < 3000; round++) {
        const int is_long = round % 16 == 15;                   /* few elements of D, K in several blocks */
        const int is_wide = round % 16 == 6 || round % 16 == 9; /* many tiles side by side */
        const trial t = {.dtype = round & 1 ? TSR_F64 : TSR_F32,
                         .m = random_int(0, is_long     ? 6
                                            : is_wide   ? 9
                                            : round % 3 ? 20
                                                        : MOST),
                         .n = random_int(0, is_long     ? 6
                                            : is_wide   ? 500
                                            : round % 5 ? 36
                                                        : MOST),
                         .k = random_int(0, is_long     ? 560
                                            : is_wide   ? 10
                                            : round % 7 ? 20
                                                        : MOST),
                         .pad = random_int(0, 3),
                         .trans_a = (tsr_trans)random_int(0, 1),
                         .trans_b = (tsr_trans)random_int(0, 1),
                         .alpha = alphas[random_int(0, 15) % 11 % 4],
                         .beta = betas[random_int(0, 3)]};
        fill(&a, t.dtype);
        fill(&b, t.dtype);
        fill(&c, t.dtype);
        if (t.beta == 0)
            memset(&c, 0xff, sizeof c); /* NaN, never read */
        tsr_gemm_desc desc = describe(&t);
        desc.kernel = "cpu-tiled";
        desc.a.memory = TSR_DEVICE;
        tsr_run_args args = tsr_run_args_make(&a, &b, &long_way);
        args.alpha.value = t.alpha;
        args.beta.value = t.beta;
        long_way = c;
        assert_int_equal(tsr_gemm(context, &desc, &args), TSR_OK);

        short_way = c;
        assert_int_equal(one_line(&t, &short_way), TSR_OK);
        expect_same(&t, "one line");

        desc.kernel = NULL;
        desc.a.memory = TSR_HOST;
        args.c = args.d = &short_way;
        short_way = c;
        assert_int_equal(tsr_gemm(context, &desc, &args), TSR_OK);
        expect_same(&t, "tsr_gemm");

        short_way = c;
        args.c = &c; /* apart from D */
        assert_int_equal(tsr_gemm(context, &desc, &args), TSR_OK);
        expect_same(&t, "tsr_gemm, C apart");

        tsr_plan *plan = NULL;
        short_way = c;
        assert_int_equal(tsr_plan_create(context, &desc, &plan), TSR_OK);
        assert_int_equal(tsr_plan_run(plan, &args), TSR_OK);
        tsr_plan_release(plan);
        expect_same(&t, "tsr_plan_run");
    }
}

static void refuse(tsr_status status, const char *message)
{
    assert_int_equal(status, TSR_INVALID_ARGUMENT);
    if (!strstr(tsr_last_error(), message))
        print_error("\"%s\" lacks \"%s\"\n", tsr_last_error(), message);
    assert_non_null(strstr(tsr_last_error(), message));
}

static void one_line_calls_refuse(void **state)
{
    (void)state;
    float *const x = a.f32, *const y = b.f32, *const z = c.f32;
    assert_int_equal(tsr_sgemm(TSR_N, TSR_N, 4, 5, 6, 1, x, 6, y, 5, 0, z, 5), TSR_OK);
    refuse(tsr_sgemm(TSR_N, TSR_N, -4, 5, 6, 1, x, 6, y, 5, 0, z, 5), "m = -4");
    refuse(tsr_sgemm(TSR_N, TSR_N, 4, 5, 6, 1, x, 5, y, 5, 0, z, 5), "lda = 5");
    refuse(tsr_sgemm(TSR_T, TSR_N, 4, 5, 6, 1, x, 3, y, 5, 0, z, 5), "lda = 3");
    refuse(tsr_sgemm(TSR_N, TSR_T, 4, 5, 6, 1, x, 6, y, 5, 0, z, 5), "ldb = 5");
    refuse(tsr_sgemm(TSR_N, TSR_N, 4, 5, 6, 1, x, 6, y, 5, 0, z, -5), "ldc = -5");
    refuse(tsr_sgemm((tsr_trans)2, TSR_N, 4, 5, 6, 1, x, 6, y, 5, 0, z, 5), "trans_a = 2");
    refuse(tsr_sgemm(TSR_N, (tsr_trans)-1, 4, 5, 6, 1, x, 6, y, 6, 0, z, 5), "trans_b = -1");
    refuse(tsr_sgemm(TSR_N, TSR_N, 4, 5, 6, 1, NULL, 6, y, 5, 0, z, 5), "a = NULL");
    refuse(tsr_sgemm(TSR_N, TSR_N, 4, 5, 6, 1, x, 6, NULL, 5, 0, z, 5), "b = NULL");
    refuse(tsr_sgemm(TSR_N, TSR_N, 4, 5, 6, 1, x, 6, y, 5, 0, NULL, 5), "c = NULL");
    refuse(tsr_sgemm(TSR_N, TSR_N, 4, 5, 6, 1, x, 6, y, 5, 0, x + 23, 5), "overlaps A");
    refuse(tsr_sgemm(TSR_N, TSR_N, 4, 5, 6, 1, x + 19, 6, y, 5, 0, x, 5), "overlaps A");
    refuse(tsr_sgemm(TSR_N, TSR_N, 4, 5, 6, 1, x, 6, y, 5, 0, y + 29, 5), "overlaps B");
    assert_int_equal(tsr_sgemm(TSR_N, TSR_N, 4, 5, 6, 1, x, 6, y, 5, 0, x + 24, 5), TSR_OK);
    assert_int_equal(tsr_sgemm(TSR_N, TSR_N, 4, 5, 6, 1, x + 20, 6, y, 5, 0, x, 5), TSR_OK);
    refuse(tsr_sgemm(TSR_N, TSR_N, 4, 5, 6, 1, (float *)((char *)x + 2), 6, y, 5, 0, z, 5), "not aligned");
    refuse(tsr_sgemm(TSR_N, TSR_N, 4, 5, 6, 1, x, INT64_MAX, y, 5, 0, z, 5), "2^63");
    refuse(tsr_sgemm(TSR_N, TSR_N, 4, 5, 6, 1, x, INT64_MIN, y, 5, 0, z, 5), "lda = -9223372036854775808");
    refuse(tsr_sgemm(TSR_N, TSR_N, 4, 5, 6, 1, x, 6, y, INT64_MIN, 0, z, 5), "ldb = -9223372036854775808");
    refuse(tsr_sgemm(TSR_N, TSR_N, 4, 5, 6, 1, x, 6, y, 5, 0, z, INT64_MIN), "ldc = -9223372036854775808");
    refuse(tsr_sgemm(TSR_N, TSR_N, INT64_MIN, 5, 6, 1, x, 6, y, 5, 0, z, 5), "m = -9223372036854775808");
    refuse(tsr_sgemm(TSR_N, TSR_N, INT64_MAX, INT64_MAX, 1, 1, x, 6, y, INT64_MAX, 0, z, INT64_MAX), "2^63");
}

static void descriptors_refuse(void **state)
{
    tsr_context *context = *state;
    const tsr_gemm_desc good = tsr_gemm_desc_make(TSR_F32, 4, 5, 6);
    const tsr_run_args args = tsr_run_args_make(&a, &b, &c);
    assert_int_equal(tsr_gemm(context, &good, &args), TSR_OK);
    tsr_gemm_desc desc = good;
    desc.c.ld = 4;
    refuse(tsr_gemm(context, &desc, &args), "ldc = 4");
    desc = good;
    desc.d.batch_stride = -1;
    refuse(tsr_gemm(context, &desc, &args), "D.batch_stride = -1");
    desc = good;
    desc.c.trans = TSR_T;
    refuse(tsr_gemm(context, &desc, &args), "C.trans");
    desc = good;
    desc.b.dtype = TSR_F64;
    refuse(tsr_gemm(context, &desc, &args), "B.dtype = f64");
    desc = good;
    desc.threads = -1;
    refuse(tsr_gemm(context, &desc, &args), "threads = -1");
    desc.threads = 4097;
    refuse(tsr_gemm(context, &desc, &args), "threads = 4097: must be 0 to 4096");
    desc = good;
    desc.a.align_bytes = 64;
    tsr_run_args off = args;
    off.a = a.f32 + 1;
    refuse(tsr_gemm(context, &desc, &off), "not aligned to the 64 bytes");
    desc = good;
    desc.struct_bytes = 8;
    refuse(tsr_gemm(context, &desc, &args), "struct_bytes = 8");
    tsr_run_args odd = args;
    odd.struct_bytes = 8;
    refuse(tsr_gemm(context, &good, &odd), "struct_bytes = 8");
    odd = args;
    odd.beta.value = 1;
    odd.c = c.f32 + 1;
    refuse(tsr_gemm(context, &good, &odd), "overlaps C");
    odd.c = NULL;
    refuse(tsr_gemm(context, &good, &odd), "c = NULL");
}

/* Runs of a plan check what the plan cannot know. */
static void plan_runs_refuse(void **state)
{
    tsr_context *context = *state;
    _Alignas(64) float far[64] = {0};
    tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F32, 4, 5, 6);
    desc.b.align_bytes = 64;
    desc.c.ld = 7;
    tsr_plan *plan = NULL;
    assert_int_equal(tsr_plan_create(context, &desc, &plan), TSR_OK);
    const tsr_run_args good = tsr_run_args_make(&a, far, &c);
    tsr_run_args args = good;
    assert_int_equal(tsr_plan_run(plan, &args), TSR_OK);
    args.b = far + 1;
    refuse(tsr_plan_run(plan, &args), "not aligned to the 64 bytes");
    args = good;
    args.a = (char *)&a + 2;
    refuse(tsr_plan_run(plan, &args), "not aligned");
    args = good;
    args.d = a.f32 + 23;
    refuse(tsr_plan_run(plan, &args), "overlaps A");
    args.d = a.f32 + 24;
    assert_int_equal(tsr_plan_run(plan, &args), TSR_OK);
    args = good;
    args.a = c.f32 + 19;
    refuse(tsr_plan_run(plan, &args), "overlaps A");
    args.a = c.f32 + 20;
    assert_int_equal(tsr_plan_run(plan, &args), TSR_OK);
    args = good;
    args.d = far + 29;
    refuse(tsr_plan_run(plan, &args), "overlaps B");
    args = good;
    args.beta.value = 1; /* C is D, but its rows lie elsewhere */
    refuse(tsr_plan_run(plan, &args), "overlaps C");
    args.c = b.f32;
    assert_int_equal(tsr_plan_run(plan, &args), TSR_OK);
    args.c = c.f32 + 19;
    refuse(tsr_plan_run(plan, &args), "overlaps C");
    args.c = NULL;
    refuse(tsr_plan_run(plan, &args), "c = NULL");
    args.beta.value = 0;
    assert_int_equal(tsr_plan_run(plan, &args), TSR_OK);
    args.bias = far;
    refuse(tsr_plan_run(plan, &args), "bias: must be NULL");
    args = good;
    args.a = NULL;
    refuse(tsr_plan_run(plan, &args), "a = NULL");
    refuse(tsr_plan_run(plan, NULL), "args = NULL");
    refuse(tsr_plan_run(NULL, &good), "plan = NULL");
    tsr_plan_release(plan);
}

static int open_context(void **state)
{
    setenv("TESSERA_DEVICE", "cpu", 1);
    return tsr_context_create("cpu", NULL, (tsr_context **)state) != TSR_OK;
}

static int close_context(void **state)
{
    tsr_context_destroy(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_bits),
        cmocka_unit_test(one_line_calls_refuse),
        cmocka_unit_test(descriptors_refuse),
        cmocka_unit_test(plan_runs_refuse),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
