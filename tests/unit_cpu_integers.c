/* Products of 8-bit integers on the CPU, with each instruction set that this processor has: against three loops in
 * 32 bits that wrap around, and, with results in floats, against cpu-sequential to the bit. */
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
#include "cpu/isa/micro.h"

enum { PROBLEMS = 600, MOST = 8 << 20, GUARD = 256, PAD = 0xa5, MOST_OPS = 1 << 21 };

typedef struct problem {
    tsr_dtype a, b, d;
    int trans_a, trans_b, in_place, zeros_a, zeros_b, vectors, epilogue;
    long long m, n, k, batch;
    int pads[4]; /* elements between the rows of A, B, C and D */
    int32_t alpha, beta;
} problem;

static unsigned char *a_data, *b_data, *c_data, *d_data, *other;
static uint8_t zeros_a[4096], zeros_b[4096];
static float scales_a[4096], scales_b[4096];
static float bias[4096];

static int open_memory(void **state)
{
    unsigned char **const all[] = {&a_data, &b_data, &c_data, &d_data, &other};
    (void)state;
    for (int i = 0; i < 5; i++)
        if (!(*all[i] = malloc(MOST)))
            return -1;
    return 0;
}

static int close_memory(void **state)
{
    (void)state;
    free(a_data);
    free(b_data);
    free(c_data);
    free(d_data);
    free(other);
    return 0;
}

/* 0 .. below - 1. Constants: Knuth's MMIX. */
static uint32_t draw(uint64_t *seed, uint32_t below)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((*seed >> 33) % below);
}

static long long draw_between(uint64_t *seed, long long low, long long high)
{
    return low + draw(seed, (uint32_t)(high - low + 1));
}

static long long draw_size(uint64_t *seed)
{
    switch (draw(seed, 4)) {
    case 0:
        return draw_between(seed, 1, 5);
    case 1:
        return draw_between(seed, 1, 40);
    case 2:
        return draw_between(seed, 20, 140);
    default:
        return draw(seed, 6) == 0 ? draw_between(seed, 200, 600) : draw_between(seed, 4, 70);
    }
}

static problem draw_problem(uint64_t *seed)
{
    static const tsr_dtype results[] = {TSR_S32, TSR_S32, TSR_F32, TSR_BF16, TSR_F16};
    static const int32_t factors[] = {0, 1, 1, -1, 3, 40000, INT32_MIN};
    problem p = {.a = draw(seed, 2) ? TSR_S8 : TSR_U8,
                 .b = draw(seed, 2) ? TSR_S8 : TSR_U8,
                 .d = results[draw(seed, 5)],
                 .trans_a = (int)draw(seed, 2),
                 .trans_b = (int)draw(seed, 2),
                 .in_place = (int)draw(seed, 2),
                 .zeros_a = draw(seed, 3) == 0,
                 .zeros_b = draw(seed, 3) == 0,
                 .vectors = (int)draw(seed, 2),
                 .m = draw_size(seed),
                 .n = draw_size(seed),
                 .k = draw(seed, 5) ? draw_size(seed) : draw_between(seed, 500, 1300),
                 .batch = draw(seed, 6) ? 1 : draw_between(seed, 2, 3),
                 .alpha = factors[1 + draw(seed, 6)],
                 .beta = factors[draw(seed, 7)]};
    for (int i = 0; i < 4; i++)
        p.pads[i] = draw(seed, 3) == 0 ? (int)draw(seed, 20) : 0;
    if (p.d != TSR_S32) {
        p.epilogue = (int)draw(seed, 3);
        p.alpha = (int32_t)draw(seed, 2) + 1; /* which the scales multiply */
        p.beta = (int32_t)draw(seed, 3) - 1;
    }
    if (p.in_place)
        p.pads[3] = p.pads[2];
    if (p.m * p.n * p.k * p.batch > MOST_OPS)
        p.k = MOST_OPS / (p.m * p.n * p.batch) + 1;
    return p;
}

/* Rows of a stored matrix, and elements from row to row. */
static long long rows_of(const problem *p, char which)
{
    return which == 'a' ? (p->trans_a ? p->k : p->m) : which == 'b' ? (p->trans_b ? p->n : p->k) : p->m;
}

static long long ld_of(const problem *p, char which)
{
    switch (which) {
    case 'a':
        return (p->trans_a ? p->m : p->k) + p->pads[0];
    case 'b':
        return (p->trans_b ? p->k : p->n) + p->pads[1];
    default:
        return p->n + p->pads[which == 'c' ? 2 : 3];
    }
}

/* Elements of one problem. */
static long long size_of(const problem *p, char which)
{
    return rows_of(p, which) * ld_of(p, which);
}

/* Bytes of D, of C in place of D, and a guard. */
static size_t d_bytes(const problem *p)
{
    const long long c = size_of(p, 'c'), d = size_of(p, 'd');
    return (size_t)(p->batch * (c > d ? c : d)) * tsr_dtype_bytes(p->d) + GUARD;
}

static void fill(const problem *p, uint64_t *seed)
{
    const long long c_elements = p->batch * size_of(p, 'c');
    for (long long i = 0; i < p->batch * size_of(p, 'a'); i++)
        a_data[i] = (unsigned char)draw(seed, 256);
    for (long long i = 0; i < p->batch * size_of(p, 'b'); i++)
        b_data[i] = (unsigned char)draw(seed, 256);
    for (long long i = 0; i < c_elements; i++)
        if (p->d == TSR_S32)
            ((uint32_t *)(void *)c_data)[i] = draw(seed, 65536) * 65537;
        else
            tsr_store_element(p->d, c_data, i, (double)draw(seed, 2000) / 7 - 140);
    for (int i = 0; i < 4096; i++) {
        zeros_a[i] = (uint8_t)draw(seed, 256);
        zeros_b[i] = (uint8_t)draw(seed, 256);
        scales_a[i] = (float)draw(seed, 1000) / 3e4f;
        scales_b[i] = (float)draw(seed, 1000) / 7e4f;
        tsr_store_element(p->d == TSR_S32 ? TSR_F32 : p->d, bias, i, (double)draw(seed, 400) / 9 - 20);
    }
}

static tsr_status multiply(tsr_context *context, const problem *p, const char *kernel, unsigned char *d)
{
    const size_t c_bytes = (size_t)(p->batch * size_of(p, 'c')) * tsr_dtype_bytes(p->d);
    tsr_gemm_desc desc = tsr_gemm_desc_make(p->a, p->m, p->n, p->k);
    desc.kernel = kernel;
    desc.b.dtype = p->b;
    desc.c.dtype = desc.d.dtype = p->d;
    desc.a.trans = p->trans_a ? TSR_T : TSR_N;
    desc.b.trans = p->trans_b ? TSR_T : TSR_N;
    desc.a.ld = ld_of(p, 'a');
    desc.b.ld = ld_of(p, 'b');
    desc.c.ld = ld_of(p, 'c');
    desc.d.ld = ld_of(p, 'd');
    desc.batch_count = p->batch;
    desc.a.batch_stride = size_of(p, 'a');
    desc.b.batch_stride = size_of(p, 'b');
    desc.c.batch_stride = size_of(p, 'c');
    desc.d.batch_stride = size_of(p, 'd');
    desc.scale_mode_a = desc.scale_mode_b = p->vectors ? TSR_SCALE_VECTOR : TSR_SCALE_TENSOR;
    desc.epilogue = p->epilogue == 0 ? NULL : p->epilogue == 1 ? "acc + bias[n]" : "relu(acc + bias[n])";
    memset(d, PAD, d_bytes(p));
    if (p->in_place)
        memcpy(d, c_data, c_bytes);
    tsr_run_args args = tsr_run_args_make(a_data, b_data, d);
    args.c = p->in_place ? d : c_data;
    args.alpha.value = p->alpha;
    args.beta.value = p->beta;
    args.zero_a = p->zeros_a ? zeros_a : NULL;
    args.zero_b = p->zeros_b ? zeros_b : NULL;
    args.scale_a = p->d == TSR_S32 ? NULL : scales_a;
    args.scale_b = p->d == TSR_S32 ? NULL : scales_b;
    args.bias = p->epilogue ? bias : NULL;
    return tsr_gemm(context, &desc, &args);
}

static uint32_t value_of(tsr_dtype dtype, uint8_t bits)
{
    return (uint32_t)(dtype == TSR_S8 ? (int8_t)bits : bits);
}

/* D = alpha * (A - zero_a) * (B - zero_b) + beta * C by its definition, modulo 2^32. */
static uint32_t expected(const problem *p, long long z, long long i, long long j)
{
    const uint32_t zero_a =
        p->zeros_a ? value_of(p->a, zeros_a[p->vectors ? z * p->m + i : 0]) : 0; /* zero points follow the batch */
    const uint32_t zero_b = p->zeros_b ? value_of(p->b, zeros_b[p->vectors ? z * p->n + j : 0]) : 0;
    const uint8_t *const a = a_data + z * size_of(p, 'a'), *const b = b_data + z * size_of(p, 'b');
    const long long lda = ld_of(p, 'a'), ldb = ld_of(p, 'b');
    uint32_t sum = 0;
    for (long long q = 0; q < p->k; q++)
        sum += (value_of(p->a, a[p->trans_a ? q * lda + i : i * lda + q]) - zero_a) *
               (value_of(p->b, b[p->trans_b ? j * ldb + q : q * ldb + j]) - zero_b);
    const uint32_t c = ((uint32_t *)(void *)c_data)[z * size_of(p, 'c') + i * ld_of(p, 'c') + j];
    return (uint32_t)p->alpha * sum + (uint32_t)p->beta * c;
}

static void check_whole(const problem *p, const char *isa)
{
    const uint32_t *const d = (const uint32_t *)(const void *)d_data;
    for (long long z = 0; z < p->batch; z++)
        for (long long i = 0; i < p->m; i++)
            for (long long j = 0; j < p->n; j++) {
                const uint32_t got = d[z * size_of(p, 'd') + i * ld_of(p, 'd') + j], want = expected(p, z, i, j);
                if (got != want)
                    fail_msg("%s: %lld x %lld x %lld %c%c, D[%lld, %lld] of %lld = %08x, not %08x", isa, p->m, p->n,
                             p->k, p->trans_a ? 't' : 'n', p->trans_b ? 't' : 'n', i, j, z, got, want);
            }
}

static void check(tsr_context *context, const problem *p, const char *isa)
{
    if (p->vectors && (p->batch * p->m > 4096 || p->batch * p->n > 4096))
        return;
    if (multiply(context, p, "cpu-tiled", d_data) != TSR_OK)
        fail_msg("%s: %s", isa, tsr_last_error());
    if (p->d == TSR_S32)
        check_whole(p, isa);
    if (multiply(context, p, "cpu-sequential", other) != TSR_OK)
        fail_msg("%s", tsr_last_error());
    if (memcmp(d_data, other, d_bytes(p)) != 0) /* also what lies between D's rows and behind it */
        fail_msg("%s: %lld x %lld x %lld %c%c to %s: not what cpu-sequential gives", isa, p->m, p->n, p->k,
                 p->trans_a ? 't' : 'n', p->trans_b ? 't' : 'n', tsr_dtype_name(p->d));
}

static tsr_context *open_context(const tsr_isa *isa, int threads, long long l2_bytes)
{
    const tsr_cpu_profile profile = {
        .isa = isa->name, .l1_bytes = 32 << 10, .l2_bytes = l2_bytes, .l3_bytes = 32 << 20};
    const tsr_context_options options = {.struct_bytes = sizeof options, .threads = threads};
    tsr_context *context = NULL;
    assert_int_equal(tsr_context_open("cpu", &options, &profile, &context), TSR_OK);
    return context;
}

static void problems_of_all_kinds(void **state)
{
    (void)state;
    for (const tsr_isa *const *isa = tsr_isa_all(); *isa; isa++) {
        if (!tsr_isa_runs(*isa)) {
            print_message("not run: this processor lacks %s\n", (*isa)->name);
            continue;
        }
        tsr_context *const contexts[] = {open_context(*isa, 1, 1 << 20), open_context(*isa, 3, 64 << 10)};
        uint64_t seed = 27;
        for (int i = 0; i < PROBLEMS; i++) {
            const problem p = draw_problem(&seed);
            fill(&p, &seed);
            check(contexts[i % 2], &p, (*isa)->name);
        }
        tsr_context_destroy(contexts[0]);
        tsr_context_destroy(contexts[1]);
    }
}

/* The greatest bytes, so many that sums pass 2^31 and 2^32; one row, one column and tiles. */
static void sums_wrap_around(void **state)
{
    (void)state;
    for (const tsr_isa *const *isa = tsr_isa_all(); *isa; isa++) {
        if (!tsr_isa_runs(*isa))
            continue;
        tsr_context *const context = open_context(*isa, 1, 1 << 20);
        for (int i = 0; i < 12; i++) {
            const problem p = {.a = TSR_U8,
                               .b = TSR_U8,
                               .d = TSR_S32,
                               .trans_a = i & 1,
                               .trans_b = i >> 1 & 1,
                               .m = i < 8 ? 7 : 1,
                               .n = i < 4 || i >= 8 ? 9 : 2,
                               .k = 70001,
                               .batch = 1,
                               .alpha = 1};
            memset(a_data, 255, (size_t)size_of(&p, 'a'));
            memset(b_data, 255, (size_t)size_of(&p, 'b'));
            assert_int_equal(multiply(context, &p, "cpu-tiled", d_data), TSR_OK);
            int32_t got;
            memcpy(&got, d_data, sizeof got);
            assert_int_equal(got, (int32_t)(uint32_t)(70001ull * 255 * 255));
            check_whole(&p, (*isa)->name);
        }
        tsr_context_destroy(context);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(problems_of_all_kinds), cmocka_unit_test(sums_wrap_around)};
    return cmocka_run_group_tests_name("cpu_integers", tests, open_memory, close_memory);
}
