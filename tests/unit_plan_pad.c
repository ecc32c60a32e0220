/* Padding as a plan step: which configs it opens, what the copies look like, what a run costs and needs, prepared
 * operands; products on the emulator against the same kernel on aligned operands, bit for bit. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "core/dtype.h"
#include "plan/pad.h"
#include "plan/plan.h"
#include "tessera.h"

#define KERNEL "wgmma_bf16_bf16_p64x64_s10_c11"

static tsr_context *open_emu(void)
{
    tsr_context *context = NULL;
    if (tsr_context_create("emu", NULL, &context) != TSR_OK)
        skip();
    return context;
}

static tsr_gemm_desc describe(long long m, long long n, long long k)
{
    tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_BF16, m, n, k);
    desc.a.memory = desc.b.memory = desc.c.memory = desc.d.memory = TSR_DEVICE;
    desc.kernel = KERNEL;
    return desc;
}

static uint16_t *random_elements(size_t count, unsigned seed)
{
    uint16_t *elements = malloc(count * sizeof *elements);
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        elements[i] = tsr_f32_to_bf16((float)(int)(seed >> 8 & 0xffff) / 4096.0f - 8.0f);
    }
    return elements;
}

/* ---- the copies ---- */

static tsr_problem problem_of(long long m, long long n, long long k, long long batch)
{
    tsr_problem p = {.m = m, .n = n, .k = k, .batch = batch};
    p.op = (tsr_op){.a = TSR_BF16, .b = TSR_BF16, .c = TSR_BF16, .d = TSR_BF16, .compute = TSR_COMPUTE_F32};
    p.a = p.b = p.c = p.d = (tsr_matrix){.align_bytes = 2};
    p.a.ld = k;
    p.b.ld = p.c.ld = p.d.ld = n;
    p.a.batch_stride = m * k;
    p.b.batch_stride = k * n;
    return p;
}

static void copies_have_aligned_rows(void **state)
{
    (void)state;
    const tsr_problem p = problem_of(5, 1030, 33, 3);
    const tsr_problem both = tsr_padded_problem(&p, TSR_PAD_A | TSR_PAD_B);
    assert_int_equal(both.a.ld, 40);   /* short rows: the next multiple of 16 bytes */
    assert_int_equal(both.b.ld, 1088); /* long ones: of 128 */
    assert_int_equal(both.a.batch_stride, 5 * 40);
    assert_int_equal(both.b.batch_stride, 33 * 1088);
    assert_int_equal(tsr_padded_bytes(&both, 'a'), 3 * 5 * 40 * 2 + 80); /* up to a multiple of 256 */
    assert_int_equal(tsr_padded_bytes(&both, 'b') % 256, 0);
    assert_true(tsr_operand_is_aligned(&both, 'a', 16) && tsr_operand_is_aligned(&both, 'b', 16));
    const tsr_problem one = tsr_padded_problem(&p, TSR_PAD_B);
    assert_int_equal(one.a.ld, 33);
    assert_int_equal(one.b.ld, 1088);
    /* An operand that the batch shares is copied once. */
    tsr_problem shared = p;
    shared.a.batch_stride = 0;
    const tsr_problem shared_padded = tsr_padded_problem(&shared, TSR_PAD_A);
    assert_int_equal(shared_padded.a.batch_stride, 0);
    assert_int_equal(tsr_padded_bytes(&shared_padded, 'a'), 512);
}

static void alignment_is_base_and_strides(void **state)
{
    (void)state;
    tsr_problem p = problem_of(8, 16, 24, 1);
    p.a.align_bytes = 16;
    assert_true(tsr_operand_is_aligned(&p, 'a', 16));
    p.a.align_bytes = 8;
    assert_false(tsr_operand_is_aligned(&p, 'a', 16));
    p.a.align_bytes = 16;
    p.a.ld = 25;
    assert_false(tsr_operand_is_aligned(&p, 'a', 16));
    p.a.ld = 24;
    p.a.batch_stride = 100;
    assert_false(tsr_operand_is_aligned(&p, 'a', 16));
    const tsr_config tma = {.tma = 1}, vectors = {.align_elems = 8}, any = {.align_elems = 0};
    assert_int_equal(tsr_config_align_bytes(&tma, &p, 'a'), 16);
    assert_int_equal(tsr_config_align_bytes(&tma, &p, 'd'), 2);
    assert_int_equal(tsr_config_align_bytes(&vectors, &p, 'd'), 16);
    assert_int_equal(tsr_config_align_bytes(&any, &p, 'a'), 2);
    assert_string_equal(tsr_pad_config(TSR_E5M2)->instance, "pad_1b");
    assert_string_equal(tsr_pad_config(TSR_F16)->instance, "pad_2b");
    assert_string_equal(tsr_pad_config(TSR_F32)->instance, "pad_4b");
}

/* One row, or a tight column of A or B, has any leading dimension: an aligned one, for a GPU. */
static void vectors_are_seen_as_aligned_rows(void **state)
{
    (void)state;
    const tsr_device gpu = {.kind = TSR_DEVICE_CUDA}, cpu = {.kind = TSR_DEVICE_CPU};
    tsr_problem p = problem_of(1, 1, 33, 1);
    p.a.memory = p.b.memory = p.c.memory = p.d.memory = TSR_DEVICE;
    tsr_problem seen = tsr_device_problem(&p, &gpu); /* B is a column */
    assert_true(seen.a.trans == TSR_N && seen.a.ld == 40);
    assert_true(seen.b.trans == TSR_T && seen.b.ld == 40);
    assert_int_equal(seen.d.ld, 8);
    seen = tsr_device_problem(&p, &cpu);
    assert_true(seen.b.trans == TSR_N && seen.a.ld == 33 && seen.b.ld == 1 && seen.d.ld == 1);
    p.a.trans = p.b.trans = TSR_T;
    p.a.ld = 1;
    p.b.ld = 50; /* one row that is longer than it need be */
    seen = tsr_device_problem(&p, &gpu);
    assert_true(seen.a.trans == TSR_N && seen.a.ld == 40);
    assert_true(seen.b.trans == TSR_T && seen.b.ld == 40);
    p.a.ld = 2; /* a column with gaps */
    seen = tsr_device_problem(&p, &gpu);
    assert_true(seen.a.trans == TSR_T && seen.a.ld == 2);
    /* A column of D is no row of another problem's. */
    p = problem_of(5, 1, 33, 1);
    p.d.memory = TSR_DEVICE;
    assert_int_equal(tsr_device_problem(&p, &gpu).d.ld, 1);
    /* K = 1: columns of A, rows of B. */
    p = problem_of(5, 7, 1, 1);
    p.a.memory = p.b.memory = TSR_DEVICE;
    seen = tsr_device_problem(&p, &gpu);
    assert_true(seen.a.trans == TSR_T && seen.a.ld == 8);
    assert_true(seen.b.trans == TSR_N && seen.b.ld == 8);
}

/* ---- the route ---- */

static tsr_candidate candidate_of(tsr_context *context, const tsr_gemm_desc *desc)
{
    static tsr_candidate all[512];
    size_t count = 0;
    tsr_gemm_desc any = *desc;
    any.kernel = NULL;
    assert_int_equal(tsr_route(context, &any, all, sizeof all[0], 512, &count), TSR_OK);
    for (size_t i = 0; i < count && i < 512; i++)
        if (strcmp(all[i].kernel, KERNEL) == 0)
            return all[i];
    fail_msg("no candidate " KERNEL);
    return all[0];
}

static void the_route_tells_what_is_padded(void **state)
{
    (void)state;
    tsr_context *context = open_emu();
    tsr_gemm_desc desc = describe(64, 64, 64);
    desc.a.align_bytes = desc.b.align_bytes = 16;
    tsr_candidate candidate = candidate_of(context, &desc);
    assert_true(candidate.applicable);
    assert_string_equal(candidate.reason, "");
    const double aligned_ns = candidate.cost_ns;
    desc.a.align_bytes = 0;
    candidate = candidate_of(context, &desc);
    assert_true(candidate.applicable && candidate.cost_ns > aligned_ns);
    assert_string_equal(candidate.reason, "after pad A");
    desc.b.ld = 65;
    assert_string_equal(candidate_of(context, &desc).reason, "after pad A,B");
    desc.a.align_bytes = 256;
    assert_string_equal(candidate_of(context, &desc).reason, "after pad B");
    /* No room for the copy: the reason says how much it takes. */
    desc.workspace_limit_bytes = 65536;
    candidate = candidate_of(context, &desc);
    assert_false(candidate.applicable);
    assert_string_equal(candidate.reason, "needs 73728 bytes of workspace to align A or B; the limit is 65536");
    /* Rows that want aligned C and D cannot be helped. */
    tsr_candidate all[512];
    size_t count = 0;
    desc.workspace_limit_bytes = TSR_WORKSPACE_LIMIT_BYTES;
    desc.c.align_bytes = 16;
    desc.d.ld = 65;
    desc.kernel = NULL;
    assert_int_equal(tsr_route(context, &desc, all, sizeof all[0], 512, &count), TSR_OK);
    for (size_t i = 0; i < count && i < 512; i++)
        if (strcmp(all[i].kernel, "mma_bf16_64x64_a8") == 0)
            assert_string_equal(all[i].reason, "D is not aligned to 16 bytes");
    tsr_context_destroy(context);
}

/* Who says that matrices lie in device memory as allocators give it pays for no copy; who does not, does. */
static void device_memory_is_aligned(void **state)
{
    (void)state;
    tsr_context *context = NULL;
    assert_int_equal(tsr_context_create("emu", NULL, &context), TSR_OK);
    tsr_gemm_desc device = tsr_gemm_desc_make_device(TSR_E4M3, 512, 512, 512);
    tsr_gemm_desc plain = tsr_gemm_desc_make(TSR_E4M3, 512, 512, 512);
    plain.a.memory = plain.b.memory = plain.c.memory = plain.d.memory = TSR_DEVICE;
    device.b.trans = plain.b.trans = TSR_T;
    device.c.dtype = device.d.dtype = plain.c.dtype = plain.d.dtype = TSR_BF16;
    tsr_plan *plans[2] = {NULL, NULL};
    assert_int_equal(tsr_plan_create(context, &device, &plans[0]), TSR_OK);
    assert_int_equal(tsr_plan_create(context, &plain, &plans[1]), TSR_OK);
    assert_int_equal(tsr_plan_workspace_bytes(plans[0]), 0);
    assert_true(tsr_plan_workspace_bytes(plans[1]) > 0);
    tsr_plan_release(plans[0]);
    tsr_plan_release(plans[1]);
    tsr_context_destroy(context);
}

/* ---- runs ---- */

typedef struct run {
    tsr_context *context;
    tsr_gemm_desc desc;
    tsr_plan *plan;
    void *workspace;
    tsr_run_args args;
} run;

static run run_make(tsr_context *context, const tsr_gemm_desc *desc, const uint16_t *a, const uint16_t *b, uint16_t *d)
{
    run r = {.context = context, .desc = *desc};
    assert_int_equal(tsr_plan_create(context, desc, &r.plan), TSR_OK);
    const size_t bytes = tsr_plan_workspace_bytes(r.plan);
    if (bytes)
        assert_int_equal(tsr_device_alloc(context, bytes, &r.workspace), TSR_OK);
    r.args = tsr_run_args_make(a, b, d);
    r.args.workspace = r.workspace;
    r.args.workspace_bytes = bytes;
    return r;
}

static void run_free(run *r)
{
    tsr_device_free(r->context, r->workspace);
    tsr_plan_release(r->plan);
}

enum { M = 70, N = 71, K = 73 };

/* The product by aligned copies that the test itself makes: what the padded run must give, to the bit. */
static void aligned_product(tsr_context *context, const uint16_t *a, const uint16_t *b, uint16_t *d)
{
    enum { LD = 80 };
    uint16_t *wide_a = aligned_alloc(256, (2 * M * LD + 255) / 256 * 256),
             *wide_b = aligned_alloc(256, (2 * K * LD + 255) / 256 * 256);
    for (int i = 0; i < M; i++)
        memcpy(wide_a + i * LD, a + i * K, 2 * K);
    for (int i = 0; i < K; i++)
        memcpy(wide_b + i * LD, b + i * N, 2 * N);
    tsr_gemm_desc desc = describe(M, N, K);
    desc.a.ld = desc.b.ld = LD;
    desc.a.align_bytes = desc.b.align_bytes = 16;
    run r = run_make(context, &desc, wide_a, wide_b, d);
    assert_int_equal(tsr_plan_workspace_bytes(r.plan), 0);
    assert_int_equal(tsr_plan_run(r.plan, &r.args), TSR_OK);
    run_free(&r);
    free(wide_a);
    free(wide_b);
}

static void a_padded_run_gives_the_same_bits(void **state)
{
    (void)state;
    tsr_context *context = open_emu();
    uint16_t *a = random_elements(M * K, 1), *b = random_elements(K * N, 2);
    uint16_t *expected = calloc(M * N, 2), *d = calloc(M * N, 2);
    aligned_product(context, a, b, expected);
    const tsr_gemm_desc desc = describe(M, N, K);
    run r = run_make(context, &desc, a, b, d);
    assert_true(r.args.workspace_bytes >= 65536 + 2 * (M * 80 + K * 72)); /* counters, which it must leave alone */
    assert_int_equal(tsr_plan_run(r.plan, &r.args), TSR_OK);
    assert_memory_equal(d, expected, 2 * M * N);
    for (int i = 0; i < 65536; i++)
        assert_int_equal(((unsigned char *)r.workspace)[i], 0);
    /* Too small a workspace is refused before anything runs; by tsr_gemm too where the kernel is named. */
    r.args.workspace_bytes--;
    assert_int_equal(tsr_plan_run(r.plan, &r.args), TSR_INVALID_ARGUMENT);
    assert_non_null(strstr(tsr_last_error(), "workspace: " KERNEL " needs"));
    assert_int_equal(tsr_gemm(context, &desc, &r.args), TSR_UNSUPPORTED);
    assert_non_null(strstr(tsr_last_error(), "to align A or B"));
    run_free(&r);
    free(a);
    free(b);
    free(d);
    free(expected);
    tsr_context_destroy(context);
}

#define SKINNY "wgmma_skinny_bf16_bf16_16_g1"

/* The transpose of a matrix of whole numbers. */
static uint16_t *transposed(const uint16_t *from, int rows, int columns)
{
    uint16_t *to = malloc((size_t)rows * (size_t)columns * sizeof *to);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++)
            to[j * rows + i] = from[i * columns + j];
    return to;
}

/* An operand of D's shorter side that lies across K: as good as one along K, and its prepared copy serves plans that
 * read it as it lies, too. */
static void the_short_operand_is_copied_transposed(void **state)
{
    (void)state;
    enum { SHORT = 2, LONG = 64, DEPTH = 1024 };
    tsr_context *context = open_emu();
    uint16_t *few = random_elements(SHORT * DEPTH, 1), *many = random_elements(LONG * DEPTH, 2); /* along K */
    for (int i = 0; i < LONG * DEPTH; i++)
        many[i] = tsr_f32_to_bf16((float)(i * 7 % 13 - 6));
    for (int i = 0; i < SHORT * DEPTH; i++)
        few[i] = tsr_f32_to_bf16((float)(i * 5 % 11 - 5));
    uint16_t *few_across = transposed(few, SHORT, DEPTH);
    for (int side = 0; side < 2; side++) {
        uint16_t expected[SHORT * LONG], d[SHORT * LONG];
        const int is_a = side == 0;
        tsr_gemm_desc desc = is_a ? describe(SHORT, LONG, DEPTH) : describe(LONG, SHORT, DEPTH);
        desc.kernel = SKINNY;
        desc.a.align_bytes = desc.b.align_bytes = 16;
        desc.b.trans = TSR_T;
        run along = run_make(context, &desc, is_a ? few : many, is_a ? many : few, expected);
        assert_int_equal(tsr_plan_run(along.plan, &along.args), TSR_OK);
        run_free(&along);

        desc.a.trans = is_a ? TSR_T : TSR_N;
        desc.b.trans = is_a ? TSR_T : TSR_N;
        static tsr_candidate all[512];
        size_t count = 0, at = 0;
        assert_int_equal(tsr_route(context, &desc, all, sizeof all[0], 512, &count), TSR_OK);
        while (at < count && strcmp(all[at].kernel, SKINNY) != 0)
            at++;
        assert_true(at < count);
        assert_string_equal(all[at].reason, is_a ? "after transpose A" : "after transpose B");
        run across = run_make(context, &desc, is_a ? few_across : many, is_a ? many : few_across, d);
        memset(d, 0xff, sizeof d);
        assert_int_equal(tsr_plan_run(across.plan, &across.args), TSR_OK);
        assert_memory_equal(d, expected, sizeof d);

        tsr_prepared *prepared = NULL;
        assert_int_equal(tsr_prepare(across.plan, is_a ? 'a' : 'b', few_across, &prepared), TSR_OK);
        *(is_a ? &across.args.prepared_a : &across.args.prepared_b) = prepared;
        memset(d, 0xff, sizeof d);
        assert_int_equal(tsr_plan_run(across.plan, &across.args), TSR_OK);
        assert_memory_equal(d, expected, sizeof d);
        run_free(&across);

        /* One row or column of the longer side is the shorter side: this plan copies the other operand, if any. */
        *(is_a ? &desc.n : &desc.m) = 1;
        uint16_t one[SHORT];
        run other = run_make(context, &desc, is_a ? few_across : many, is_a ? many : few_across, one);
        *(is_a ? &other.args.prepared_a : &other.args.prepared_b) = prepared;
        assert_int_equal(tsr_plan_run(other.plan, &other.args), TSR_OK);
        for (int i = 0; i < SHORT; i++)
            assert_int_equal(one[i], expected[is_a ? i * LONG : i]);
        run_free(&other);
        tsr_prepared_release(prepared);
    }
    free(few);
    free(many);
    free(few_across);
    tsr_context_destroy(context);
}

/* A vector with gaps and one without are the same operand, though a GPU sees the latter as a row: either's prepared
 * copy serves the other's plan. */
static void prepared_vectors_serve_any_leading_dimension(void **state)
{
    (void)state;
    enum { N1 = 64, K1 = 40, GAP = 3 };
    tsr_context *context = open_emu();
    uint16_t *b = random_elements(K1 * N1, 1), *tight = random_elements(K1, 2);
    uint16_t apart[K1 * GAP], expected[N1], d[N1];
    for (int i = 0; i < K1; i++)
        apart[i * GAP] = tight[i];
    const uint16_t *const vectors[2] = {tight, apart};
    run plans[2];
    tsr_prepared *prepared[2];
    for (int i = 0; i < 2; i++) {
        tsr_gemm_desc desc = describe(1, N1, K1);
        desc.a.trans = TSR_T;
        desc.a.ld = i ? GAP : 1; /* of addresses that promise no alignment: both are copied */
        plans[i] = run_make(context, &desc, vectors[i], b, expected);
        assert_int_equal(tsr_plan_run(plans[i].plan, &plans[i].args), TSR_OK);
        assert_int_equal(tsr_prepare(plans[i].plan, 'a', vectors[i], &prepared[i]), TSR_OK);
    }
    for (int i = 0; i < 4; i++) {
        run *const r = &plans[i / 2];
        r->args.prepared_a = prepared[i % 2];
        r->args.d = d;
        memset(d, 0xff, sizeof d);
        assert_int_equal(tsr_plan_run(r->plan, &r->args), TSR_OK);
        assert_memory_equal(d, expected, sizeof d);
    }
    for (int i = 0; i < 2; i++) {
        tsr_prepared_release(prepared[i]);
        run_free(&plans[i]);
    }
    free(b);
    free(tight);
    tsr_context_destroy(context);
}

/* Less workspace than the copies take: the product is made in slices of columns, of rows where A is the larger copy, or
 * of both where a copy of one operand alone is too large; the bits stay. */
static void slices_give_the_same_bits(void **state)
{
    (void)state;
    static const struct {
        long long m, n, k;
        tsr_trans trans_a, trans_b;
        size_t limit_bytes;
    } cases[] = {
        {70, 601, 73, TSR_N, TSR_N, 65536 + 70 * 160 + 73 * 560},
        {70, 601, 73, TSR_N, TSR_T, 65536 + 12 * 1024 + 45 * 1024},
        {601, 71, 73, TSR_N, TSR_N, 65536 + 12 * 1024 + 45 * 1024},
        {601, 71, 73, TSR_T, TSR_N, 65536 + 12 * 1024 + 45 * 1024},
        {601, 701, 73, TSR_N, TSR_N, 65536 + 80 * 1024},
        {601, 701, 73, TSR_T, TSR_T, 65536 + 80 * 1024},
    };
    tsr_context *context = open_emu();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const long long m = cases[i].m, n = cases[i].n, k = cases[i].k;
        const size_t d_bytes = (size_t)(m * n) * 2;
        uint16_t *a = random_elements((size_t)(m * k), 1), *b = random_elements((size_t)(k * n), 2);
        uint16_t *c = random_elements((size_t)(m * n), 3), *expected = malloc(d_bytes), *d = malloc(d_bytes);
        tsr_gemm_desc desc = describe(m, n, k);
        desc.a.trans = cases[i].trans_a;
        desc.b.trans = cases[i].trans_b;
        desc.epilogue = "relu(acc + bias[n])"; /* each slice its columns' */
        uint16_t *bias = random_elements((size_t)n, 4);
        run whole = run_make(context, &desc, a, b, expected);
        whole.args.c = c;
        whole.args.beta.value = 0.5;
        whole.args.bias = bias;
        assert_int_equal(tsr_plan_run(whole.plan, &whole.args), TSR_OK);
        desc.workspace_limit_bytes = cases[i].limit_bytes;
        run sliced = run_make(context, &desc, a, b, d);
        assert_true(sliced.args.workspace_bytes <= desc.workspace_limit_bytes);
        assert_true(sliced.args.workspace_bytes < whole.args.workspace_bytes);
        sliced.args.c = c;
        sliced.args.beta.value = 0.5;
        sliced.args.bias = bias;
        assert_int_equal(tsr_plan_run(sliced.plan, &sliced.args), TSR_OK);
        assert_memory_equal(d, expected, d_bytes);
        /* Prepared operands are whole. */
        for (int which = 1; which < 4; which++) {
            tsr_prepared *pa = NULL, *pb = NULL;
            memset(d, 0xff, d_bytes);
            if (which & 1)
                assert_int_equal(tsr_prepare(sliced.plan, 'a', a, &pa), TSR_OK);
            if (which & 2)
                assert_int_equal(tsr_prepare(sliced.plan, 'b', b, &pb), TSR_OK);
            sliced.args.prepared_a = pa;
            sliced.args.prepared_b = pb;
            assert_int_equal(tsr_plan_run(sliced.plan, &sliced.args), TSR_OK);
            assert_memory_equal(d, expected, d_bytes);
            tsr_prepared_release(pa);
            tsr_prepared_release(pb);
        }
        run_free(&whole);
        run_free(&sliced);
        free(a);
        free(b);
        free(c);
        free(d);
        free(bias);
        free(expected);
    }
    tsr_context_destroy(context);
}

/* Whole numbers, of which sums are exact whatever their order. */
static float *whole_numbers(size_t count, unsigned seed)
{
    float *elements = malloc(count * sizeof *elements);
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        elements[i] = (float)(int)(seed >> 24 & 7) - 3;
    }
    return elements;
}

/* Neither rows nor columns can be cut, so K is: all parts but the first add to D, and the last one has the epilogue. */
static void parts_of_k_add_to_d(void **state)
{
    (void)state;
    enum { PARTS_M = 70, PARTS_N = 72, PARTS_K = 1100 };
    tsr_context *context = open_emu();
    float *a = whole_numbers(PARTS_M * PARTS_K, 1), *b = whole_numbers(PARTS_K * PARTS_N, 2);
    float *c = whole_numbers(PARTS_M * PARTS_N, 3), *bias = whole_numbers(PARTS_N, 4);
    float *expected = malloc(PARTS_M * PARTS_N * 4), *d = malloc(PARTS_M * PARTS_N * 4);
    for (int i = 0; i < 16; i++) {
        const int trans_a = i & 1, trans_b = i >> 1 & 1, alpha = i >> 2 & 1 ? 2 : 0, beta = i >> 3 & 1;
        tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F32, PARTS_M, PARTS_N, PARTS_K);
        desc.a.memory = desc.b.memory = desc.c.memory = desc.d.memory = TSR_DEVICE;
        desc.compute = TSR_COMPUTE_TF32;
        desc.kernel = "wgmma_kmajor_tf32_64x64_c1";
        desc.a.trans = trans_a ? TSR_T : TSR_N;
        desc.b.trans = trans_b ? TSR_T : TSR_N;
        desc.a.ld = trans_a ? PARTS_M : PARTS_K;
        desc.b.ld = trans_b ? PARTS_K : PARTS_N;
        desc.a.align_bytes = desc.b.align_bytes = 4; /* both are copied */
        desc.c.align_bytes = desc.d.align_bytes = 16;
        desc.epilogue = "relu(acc + bias[n])";
        desc.workspace_limit_bytes = 65536 + (PARTS_M + PARTS_N + 3) * 520 * 4;
        for (int row = 0; row < PARTS_M; row++)
            for (int column = 0; column < PARTS_N; column++) {
                float sum = 0;
                for (int k = 0; k < PARTS_K; k++)
                    sum += (trans_a ? a[k * PARTS_M + row] : a[row * PARTS_K + k]) *
                           (trans_b ? b[column * PARTS_K + k] : b[k * PARTS_N + column]);
                const float value = (float)alpha * sum + (float)beta * c[row * PARTS_N + column] + bias[column];
                expected[row * PARTS_N + column] = value < 0 ? 0 : value;
            }
        run r = {.context = context, .desc = desc};
        assert_int_equal(tsr_plan_create(context, &desc, &r.plan), TSR_OK);
        const size_t bytes = tsr_plan_workspace_bytes(r.plan);
        assert_true(bytes > 0 && bytes <= desc.workspace_limit_bytes);
        assert_int_equal(tsr_device_alloc(context, bytes, &r.workspace), TSR_OK);
        r.args = tsr_run_args_make(a, b, d);
        r.args.workspace = r.workspace;
        r.args.workspace_bytes = bytes;
        r.args.c = beta ? c : NULL;
        r.args.alpha.value = alpha;
        r.args.beta.value = beta;
        r.args.bias = bias;
        memset(d, 0xff, PARTS_M * PARTS_N * 4);
        assert_int_equal(tsr_plan_run(r.plan, &r.args), TSR_OK);
        assert_memory_equal(d, expected, PARTS_M * PARTS_N * 4);
        tsr_prepared *prepared = NULL; /* a whole operand, of which each part reads its own */
        assert_int_equal(tsr_prepare(r.plan, 'b', b, &prepared), TSR_OK);
        r.args.prepared_b = prepared;
        memset(d, 0xff, PARTS_M * PARTS_N * 4);
        assert_int_equal(tsr_plan_run(r.plan, &r.args), TSR_OK);
        assert_memory_equal(d, expected, PARTS_M * PARTS_N * 4);
        tsr_prepared_release(prepared);
        run_free(&r);
        /* Rows of a batch-invariant product are one sum from first to last. */
        desc.flags = TSR_BATCH_INVARIANT;
        assert_int_equal(tsr_plan_create(context, &desc, &r.plan), TSR_UNSUPPORTED);
        assert_non_null(strstr(tsr_last_error(), "to align A or B"));
    }
    free(a);
    free(b);
    free(c);
    free(bias);
    free(expected);
    free(d);
    tsr_context_destroy(context);
}

/* alpha = 0: neither A nor B may be read, and nothing is copied. */
static void without_a_product_nothing_is_copied(void **state)
{
    (void)state;
    tsr_context *context = open_emu();
    uint16_t *d = random_elements(M * N, 3), *before = malloc(2 * M * N);
    memcpy(before, d, 2 * M * N);
    const tsr_gemm_desc desc = describe(M, N, K);
    run r = run_make(context, &desc, NULL, NULL, d);
    memset((char *)r.workspace + 65536, 0x5a, r.args.workspace_bytes - 65536);
    r.args.alpha.value = 0;
    r.args.beta.value = 1;
    assert_int_equal(tsr_plan_run(r.plan, &r.args), TSR_OK);
    assert_memory_equal(d, before, 2 * M * N);
    for (size_t i = 65536; i < r.args.workspace_bytes; i++)
        assert_int_equal(((unsigned char *)r.workspace)[i], 0x5a);
    run_free(&r);
    free(d);
    free(before);
    tsr_context_destroy(context);
}

static void prepared_operands_are_padded_once(void **state)
{
    (void)state;
    tsr_context *context = open_emu();
    uint16_t *a = random_elements(M * K, 1), *b = random_elements(K * N, 2);
    uint16_t *expected = calloc(M * N, 2), *d = calloc(M * N, 2);
    aligned_product(context, a, b, expected);
    tsr_gemm_desc desc = describe(M, N, K);
    run r = run_make(context, &desc, a, b, d);
    for (int which = 1; which < 4; which++) { /* A, B, both */
        tsr_prepared *pa = NULL, *pb = NULL;
        memset(d, 0xff, 2 * M * N);
        memset((char *)r.workspace + 65536, 0xff, r.args.workspace_bytes - 65536);
        if (which & 1)
            assert_int_equal(tsr_prepare(r.plan, 'a', a, &pa), TSR_OK);
        if (which & 2)
            assert_int_equal(tsr_prepare(r.plan, 'b', b, &pb), TSR_OK);
        tsr_run_args args = tsr_run_args_make(pa ? NULL : a, pb ? NULL : b, d);
        args.prepared_a = pa;
        args.prepared_b = pb;
        args.workspace = r.workspace;
        args.workspace_bytes = r.args.workspace_bytes;
        assert_int_equal(tsr_plan_run(r.plan, &args), TSR_OK);
        assert_memory_equal(d, expected, 2 * M * N);
        /* With both prepared nothing is left to copy. */
        int touched = 0;
        for (size_t i = 65536; i < args.workspace_bytes; i++)
            touched |= ((unsigned char *)r.workspace)[i] != 0xff;
        assert_int_equal(touched, which != 3);
        tsr_prepared_release(pa);
        tsr_prepared_release(pb);
    }
    /* A B that was padded for M rows serves any number of them, and a plan that would pad nothing. */
    for (int64_t m = 1; m <= M; m += M - 1) {
        tsr_prepared *pb = NULL;
        tsr_gemm_desc other = describe(m, N, K);
        memset(d, 0xff, 2 * M * N);
        assert_int_equal(tsr_prepare(r.plan, 'b', b, &pb), TSR_OK);
        if (m == 1)
            other.kernel = "wmma_small_bf16_32x32_a1";
        run s = run_make(context, &other, a, NULL, d);
        s.args.prepared_b = pb;
        assert_int_equal(tsr_plan_run(s.plan, &s.args), TSR_OK);
        for (int i = 0; i < m * N; i++)
            assert_true(fabsf(tsr_bf16_to_f32(d[i]) - tsr_bf16_to_f32(expected[i])) <=
                        0.02f + 0.02f * fabsf(tsr_bf16_to_f32(expected[i])));
        run_free(&s);
        tsr_prepared_release(pb);
    }
    /* What is aligned has no other form. */
    tsr_prepared *none = NULL;
    desc.a.ld = 80;
    desc.a.align_bytes = 16;
    run aligned = run_make(context, &desc, a, b, d);
    assert_int_equal(tsr_prepare(aligned.plan, 'a', a, &none), TSR_UNSUPPORTED);
    assert_non_null(strstr(tsr_last_error(), "reads it where it lies"));
    run_free(&aligned);
    run_free(&r);
    free(a);
    free(b);
    free(d);
    free(expected);
    tsr_context_destroy(context);
}

/* A copy made for a config that reads along K alone is transposed: configs that read either way take it, and the former
 * refuse a copy that was only padded. */
static void transposed_copies_serve_others(void **state)
{
    (void)state;
    enum { SIDE = 34 }; /* rows of 136 bytes: both kinds copy */
    static const struct {
        const char *kernel;
        tsr_compute compute;
        const char *refusal; /* of B from the other; NULL: it is taken */
    } kinds[2] = {
        {"wgmma_kmajor_tf32_64x64_c1", TSR_COMPUTE_TF32,
         "prepared_b: was prepared as it lies, kernel wgmma_kmajor_tf32_64x64_c1 reads it transposed"},
        {"warp_specialized_f32_128x128", TSR_COMPUTE_F32, NULL},
    };
    tsr_context *context = open_emu();
    float a[SIDE * SIDE], b[SIDE * SIDE], d[SIDE * SIDE];
    tsr_plan *plans[2];
    tsr_prepared *copies[2];
    for (int i = 0; i < SIDE * SIDE; i++) {
        a[i] = (float)(i % 7 - 3);
        b[i] = (float)(i % 11 - 5);
    }
    for (int kind = 0; kind < 2; kind++) {
        tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F32, SIDE, SIDE, SIDE);
        desc.a.memory = desc.b.memory = desc.c.memory = desc.d.memory = TSR_DEVICE;
        desc.compute = kinds[kind].compute;
        desc.kernel = kinds[kind].kernel;
        assert_int_equal(tsr_plan_create(context, &desc, &plans[kind]), TSR_OK);
        assert_int_equal(tsr_prepare(plans[kind], 'b', b, &copies[kind]), TSR_OK);
    }
    for (int kind = 0; kind < 2; kind++) {
        const size_t bytes = tsr_plan_workspace_bytes(plans[kind]);
        tsr_run_args args = tsr_run_args_make(a, NULL, d);
        assert_int_equal(tsr_device_alloc(context, bytes, &args.workspace), TSR_OK);
        args.workspace_bytes = bytes;
        for (int other = 0; other < 2; other++) {
            args.prepared_b = copies[other ? !kind : kind];
            memset(d, 0xff, sizeof d);
            if (other && kinds[kind].refusal) {
                assert_int_equal(tsr_plan_run(plans[kind], &args), TSR_UNSUPPORTED);
                assert_string_equal(tsr_last_error(), kinds[kind].refusal);
                continue;
            }
            assert_int_equal(tsr_plan_run(plans[kind], &args), TSR_OK);
            for (int i = 0; i < SIDE * SIDE; i++) {
                float sum = 0; /* of whole numbers: exact in every type */
                for (int k = 0; k < SIDE; k++)
                    sum += a[i / SIDE * SIDE + k] * b[k * SIDE + i % SIDE];
                assert_true(d[i] == sum);
            }
        }
        tsr_device_free(context, args.workspace);
    }
    for (int kind = 0; kind < 2; kind++) {
        tsr_prepared_release(copies[kind]);
        tsr_plan_release(plans[kind]);
    }
    tsr_context_destroy(context);
}

/* An operand of a batch of none, which nobody has to give. */
static void an_empty_batch_has_nothing_to_copy(void **state)
{
    (void)state;
    tsr_context *const context = open_emu();
    for (int i = 0; i < 2; i++) {
        tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_S8, 17, 113, 2);
        tsr_plan *plan = NULL;
        tsr_prepared *prepared = NULL;
        desc.c.dtype = desc.d.dtype = TSR_F32;
        desc.b.trans = TSR_T;
        desc.b.ld = 2;
        desc.batch_count = 0;
        desc.kernel = "wgmma-kmajor";
        assert_int_equal(tsr_plan_create(context, &desc, &plan), TSR_OK);
        if (tsr_prepare(plan, i ? 'a' : 'b', NULL, &prepared) != TSR_OK)
            fail_msg("%s", tsr_last_error());
        tsr_prepared_release(prepared);
        tsr_plan_release(plan);
    }
    tsr_context_destroy(context);
}

/* Slices of which the last is narrower and would be cut along K: no schedule of theirs needs workspace. */
static void narrow_slices_need_no_workspace(void **state)
{
    (void)state;
    enum { ROWS = 12, COLUMNS = 9594, STEPS = 657, BYTES = 4259840 };
    tsr_context *const context = open_emu();
    float *const a = calloc((size_t)ROWS * (STEPS + 1), sizeof *a),
                 *const b = calloc((size_t)COLUMNS * STEPS, sizeof *b),
                 *const d = calloc((size_t)ROWS * COLUMNS, sizeof *d), *const workspace = aligned_alloc(256, BYTES);
    assert_true(a && b && d && workspace);
    memset(workspace, 0, BYTES);
    tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F32, ROWS, COLUMNS, STEPS);
    tsr_run_args args = tsr_run_args_make(a, b, d);
    desc.a.memory = desc.b.memory = desc.c.memory = desc.d.memory = TSR_DEVICE;
    desc.a.ld = STEPS + 1;
    desc.b.trans = TSR_T;
    desc.b.ld = STEPS;
    desc.kernel = "thin_f32_1t_a4";
    desc.workspace_limit_bytes = BYTES;
    args.workspace = workspace;
    args.workspace_bytes = BYTES;
    for (int i = 0; i < ROWS * (STEPS + 1); i++)
        a[i] = 1;
    for (int i = 0; i < COLUMNS * STEPS; i++)
        b[i] = 1;
    tsr_plan *plan = NULL;
    assert_int_equal(tsr_plan_create(context, &desc, &plan), TSR_OK);
    if (tsr_plan_run(plan, &args) != TSR_OK)
        fail_msg("%s", tsr_last_error());
    for (int i = 0; i < ROWS * COLUMNS; i++)
        assert_true(d[i] == STEPS);
    tsr_plan_release(plan);
    tsr_context_destroy(context);
    free(a);
    free(b);
    free(d);
    free(workspace);
}

/* However long a side is, and however little workspace there is, a plan takes no time to speak of. */
static void long_sides_are_planned_at_once(void **state)
{
    (void)state;
    enum { MOST_S = 5 };
    tsr_context *const context = open_emu();
    const time_t start = time(NULL);
    for (int i = 0; i < 2; i++) {
        tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_BF16, 4096, 100000000, i ? 100001 : 1001);
        tsr_plan *plan = NULL;
        desc.a.ld = desc.k;
        desc.b.ld = desc.n + 1;
        desc.a.memory = desc.b.memory = desc.c.memory = desc.d.memory = TSR_DEVICE;
        desc.workspace_limit_bytes = i ? 64 << 20 : 0;
        assert_int_equal(tsr_plan_create(context, &desc, &plan), TSR_OK);
        tsr_plan_release(plan);
    }
    assert_true(time(NULL) - start <= MOST_S);
    tsr_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_have_aligned_rows),
        cmocka_unit_test(alignment_is_base_and_strides),
        cmocka_unit_test(vectors_are_seen_as_aligned_rows),
        cmocka_unit_test(the_route_tells_what_is_padded),
        cmocka_unit_test(device_memory_is_aligned),
        cmocka_unit_test(a_padded_run_gives_the_same_bits),
        cmocka_unit_test(the_short_operand_is_copied_transposed),
        cmocka_unit_test(prepared_vectors_serve_any_leading_dimension),
        cmocka_unit_test(slices_give_the_same_bits),
        cmocka_unit_test(parts_of_k_add_to_d),
        cmocka_unit_test(without_a_product_nothing_is_copied),
        cmocka_unit_test(prepared_operands_are_padded_once),
        cmocka_unit_test(transposed_copies_serve_others),
        cmocka_unit_test(an_empty_batch_has_nothing_to_copy),
        cmocka_unit_test(narrow_slices_need_no_workspace),
        cmocka_unit_test(long_sides_are_planned_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
