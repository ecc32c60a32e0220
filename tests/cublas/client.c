/* cublas_client CASE: calls the pretended cuBLAS as a program would that was linked against it, with libtessera_cublas
 * preloaded, and looks at who answered. tests/cublas/CMakeLists.txt has the environment of each case. */
#include "client_calls.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int is_ours(void *function)
{
    Dl_info place;
    return dladdr(function, &place) && strstr(place.dli_fname, "libtessera_cublas") != NULL;
}

/* ---- cases ---------------------------------------------------------------------------------------------------------
 */

/* The loader binds this program to libtessera_cublas, by the version nodes alone. */
static void case_binding(void)
{
    const int expected = getenv("EXPECT_UNBOUND") == NULL;
    CHECK(is_ours((void *)cublasGemmEx) == expected, "cublasGemmEx");
    CHECK(is_ours((void *)cublasGemmEx_64) == expected, "cublasGemmEx_64");
    CHECK(is_ours((void *)cublasSgemm_v2) == expected, "cublasSgemm_v2");
    CHECK(is_ours((void *)cublasLtMatmul) == expected, "cublasLtMatmul");
    CHECK(is_ours((void *)cublasCreate_v2) == expected, "cublasCreate_v2");
    CHECK(is_ours((void *)cublasLtCreate) == expected, "cublasLtCreate");
    CHECK(is_ours((void *)cublasLtMatmulAlgoGetHeuristic) == expected, "cublasLtMatmulAlgoGetHeuristic");
    CHECK(!is_ours((void *)cublasGetMathMode), "cublasGetMathMode");
    /* A reference without a version, as of a program that looks names up for itself, gets the real one. */
    CHECK(!is_ours(dlsym(RTLD_DEFAULT, "cublasGemmEx")), "dlsym");
    if (expected)
        CHECK(is_ours(dlvsym(RTLD_DEFAULT, "cublasGemmEx", "libcublas.so.12")), "the other node");
}

static char expected_texts[64][FAKE_TEXT_BYTES];
static int text_count, text_at;

static int seen_vendor(const char *symbol, int status)
{
    CHECK(status == 11, "%s: status %d", symbol, status);
    CHECK(strcmp(record->last, expected_texts[text_at]) == 0, "%s as declared by NVIDIA:\n  %s\n  %s", symbol,
          record->last, expected_texts[text_at]);
    text_at++;
    return 1;
}

/* Every argument of every function arrives, and so does the status. */
static void case_forward(void)
{
    void *handle = new_handle();
    orders->status = 11;
#define P(n) ((void *)(client_places + (n)))
#define H    handle
#define SIGNATURE(symbol, arguments)                                             \
    direct.symbol arguments;                                                     \
    strcpy(expected_texts[text_count], record->last);                            \
    record->last[0] = '\0';                                                      \
    CHECK(symbol arguments == 11, "%s: status", #symbol);                        \
    CHECK(strncmp(record->last, #symbol " ", strlen(#symbol) + 1) == 0 &&        \
              strcmp(record->last, expected_texts[text_count]) == 0,             \
          "%s:\n  %s\n  %s", #symbol, record->last, expected_texts[text_count]); \
    text_count++;
#include "signature_calls.h"
#undef SIGNATURE
    CHECK(text_count == 32, "%d functions", text_count);
#ifdef HAVE_CUBLAS_H
    vendor_calls(handle, seen_vendor);
    CHECK(text_at == text_count, "%d of %d", text_at, text_count);
#else
    (void)seen_vendor;
#endif
    orders->status = 0;
    free_handle(handle);
}

/* The same of cublasLt, whose arguments must point somewhere. */
static void case_forward_lt(void)
{
    void *handle = new_handle();
    const product p = product_of(BF16, BF16, TSR_CUBLAS_COMPUTE_32F, 1, 0, 4, 5, 6, 1);
    lt_product lt = make_lt(&p);
    char wanted[FAKE_TEXT_BYTES];
    tsr_lt_heuristic results[3];
    int count = 0;
    fake_cublaslt_orders()->status = 11;
    const float one = 1;
    const tsr_lt_algo algo = {{1}};
#define ARGUMENTS \
    (handle, lt.desc, &one, P(1), lt.a, P(2), lt.b, &one, P(3), lt.c, P(4), lt.c, &algo, P(5), 0x123456789aLL, P(6))
    direct.cublasLtMatmul ARGUMENTS;
    strcpy(wanted, lt_record->last);
    lt_record->last[0] = '\0';
    CHECK(cublasLtMatmul ARGUMENTS == 11, "status");
    CHECK(strcmp(lt_record->last, wanted) == 0, "%s\n  %s", lt_record->last, wanted);
#undef ARGUMENTS
    fake_cublaslt_orders()->status = 0;
    void *preference = NULL;
    CHECK(cublasLtMatmulPreferenceCreate(&preference) == 0, "preference");
#define ARGUMENTS (handle, lt.desc, lt.a, lt.b, lt.c, lt.c, preference, 3, results, &count)
    direct.cublasLtMatmulAlgoGetHeuristic ARGUMENTS;
    strcpy(wanted, lt_record->last);
    lt_record->last[0] = '\0';
    CHECK(cublasLtMatmulAlgoGetHeuristic ARGUMENTS == 0 && count == 2, "status");
    CHECK(strcmp(lt_record->last, wanted) == 0, "%s\n  %s", lt_record->last, wanted);
#undef ARGUMENTS
    cublasLtMatmulPreferenceDestroy(preference);
    free_lt(&lt);
    free_handle(handle);
}

/* Every layout, type, factor and batch that is answered has cuBLAS's results. */
static void case_answer(void)
{
    static const struct {
        int ab_type, c_type, compute;
    } types[] = {{BF16, BF16, TSR_CUBLAS_COMPUTE_32F}, {F16, F16, TSR_CUBLAS_COMPUTE_32F},
                 {F32, F32, TSR_CUBLAS_COMPUTE_32F},   {F64, F64, TSR_CUBLAS_COMPUTE_64F},
                 {F16, F16, TSR_CUBLAS_COMPUTE_16F},   {F32, F32, TSR_CUBLAS_COMPUTE_32F_FAST_TF32},
                 {BF16, F32, TSR_CUBLAS_COMPUTE_32F},  {F16, F32, TSR_CUBLAS_COMPUTE_32F},
                 {S8, S32, TSR_CUBLAS_COMPUTE_32I}};
    static const double factors[][2] = {{1, 0}, {1, 1}, {-0.5, 2}, {0, 0.5}, {2, 0}};
    void *handle = new_handle();
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++)
        for (int layout = 0; layout < 9; layout++)
            for (size_t f = 0; f < sizeof factors / sizeof factors[0]; f++) {
                product p = product_of(types[t].ab_type, types[t].c_type, types[t].compute, layout % 3, layout / 3, 7,
                                       11, 13, 1);
                p.alpha = factors[f][0];
                p.beta = factors[f][1];
                if (types[t].compute == TSR_CUBLAS_COMPUTE_32I && f == 2) /* whole factors alone */
                    p.alpha = -5;
                check_product(handle, &p, call_ex, ANSWERED, "cublasGemmEx");
                check_product(handle, &p, call_lt, ANSWERED, "cublasLtMatmul");
                p.batch = 3;
                check_product(handle, &p, call_strided, ANSWERED, "cublasGemmStridedBatchedEx");
                check_product(handle, &p, call_lt, ANSWERED, "cublasLtMatmul, batch");
                p.batch = 1;
                if (types[t].compute != TSR_CUBLAS_COMPUTE_32F_FAST_TF32 &&
                    (types[t].ab_type != F16 || types[t].compute == TSR_CUBLAS_COMPUTE_16F) &&
                    types[t].ab_type != BF16 && types[t].ab_type != S8)
                    check_product(handle, &p, call_typed, ANSWERED, "cublasSgemm and its like");
            }
    /* A matrix that all problems of a batch share. */
    product shared = product_of(F32, F32, TSR_CUBLAS_COMPUTE_32F, 0, 1, 6, 5, 4, 3);
    shared.stride_a = shared.stride_b = 0;
    void *a = operand(F32, 500, 1), *b = operand(F32, 500, 2), *c = operand(F32, 500, 3), *d = operand(F32, 500, 3);
    const float one = 1, zero = 0;
    const int before = calls_seen();
    CHECK(call_strided(handle, &shared, &one, &zero, a, b, c, 0) == 0 && calls_seen() == before, "shared operands");
    CHECK(call_strided(handle, &shared, &one, &zero, a, b, d, 1) == 0 && memcmp(c, d, 500 * 4) == 0, "shared operands");
    free(a);
    free(b);
    free(c);
    free(d);
    free_handle(handle);
}

/* What sends a call on although everything is answered that can be. */
static void case_rules(void)
{
    void *handle = new_handle();
    const product plain = product_of(BF16, BF16, TSR_CUBLAS_COMPUTE_32F, 0, 0, 8, 8, 8, 1);
    const product single = product_of(F32, F32, TSR_CUBLAS_COMPUTE_32F, 0, 0, 8, 8, 8, 1);
    check_product(handle, &plain, call_ex, ANSWERED, "plain");
    check_product(handle, &single, call_ex, ANSWERED, "plain f32");

    static const int modes[] = {1, 2, 4, 8, 32}; /* tensor-op, pedantic, two emulations, unknown */
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        cublasSetMathMode(handle, modes[i]);
        check_product(handle, &plain, call_ex, FORWARDED, "math mode");
        check_product(handle, &single, call_ex, FORWARDED, "math mode, f32");
    }
    cublasSetMathMode(handle, 16);
    check_product(handle, &plain, call_ex, ANSWERED, "no reduced reductions");
    cublasSetMathMode(handle, 3);
    check_product(handle, &plain, call_ex, ANSWERED, "TF32 mode, which is nothing to bf16");
    /* Small ones are multiplied in f32, others in TF32; the CPU sums both in f32. */
    const product large = product_of(F32, F32, TSR_CUBLAS_COMPUTE_32F, 0, 0, 128, 128, 128, 1);
    const product small = product_of(F32, F32, TSR_CUBLAS_COMPUTE_32F, 0, 0, 128, 128, 127, 1);
    check_product(handle, &single, call_ex, ANSWERED, "TF32 mode, 8^3");
    check_product(handle, &small, call_ex, ANSWERED, "TF32 mode, the largest small one");
    check_product(handle, &large, call_ex, ANSWERED, "TF32 mode");
    cublasSetMathMode(handle, 0);

    cublasSetSmCountTarget(handle, 100);
    check_product(handle, &plain, call_ex, FORWARDED, "SM count target");
    cublasSetSmCountTarget(handle, 0);
    cublasSetPointerMode_v2(handle, 1);
    check_product(handle, &plain, call_ex, FORWARDED, "device factors");
    cublasSetPointerMode_v2(handle, 0);

    static const int computes[] = {65, 69, 74, 75, 78, 72, 73};
    for (size_t i = 0; i < sizeof computes / sizeof computes[0]; i++) {
        product p = single;
        p.compute = computes[i];
        check_product(handle, &p, call_ex, FORWARDED, "compute type");
        check_product(handle, &p, call_lt, FORWARDED, "compute type");
    }

    void *a = operand(BF16, 200, 1), *b = operand(BF16, 200, 2), *c = operand(BF16, 200, 3);
    const float one = 1;
    int before = record->calls;
    CHECK(cublasGemmEx(handle, 0, 0, 8, 8, 8, &one, a, BF16, 8, b, BF16, 8, &one, c, BF16, 8, 68, 3) == 0, "algorithm");
    CHECK(record->calls == ++before, "an algorithm of the caller's");
    CHECK(cublasGemmEx(handle, 0, 0, 8, 8, 8, &one, a, BF16, 8, b, F16, 8, &one, c, BF16, 8, 68, -1) == 0, "types");
    CHECK(record->calls == ++before, "two types");
    CHECK(cublasGemmEx(NULL, 0, 0, 8, 8, 8, &one, a, BF16, 8, b, BF16, 8, &one, c, BF16, 8, 68, -1) == 1, "no handle");
    CHECK(record->calls == ++before, "no handle");
    CHECK(cublasGemmEx(handle, 0, 0, 8, 8, 8, NULL, a, BF16, 8, b, BF16, 8, &one, c, BF16, 8, 68, -1) == 7, "no alpha");
    CHECK(record->calls == ++before, "no alpha");
    CHECK(cublasGemmEx(handle, 0, 0, 8, 8, 8, &one, a, BF16, 8, b, BF16, 8, &one, c, BF16, 7, 68, -1) == 7, "ldc");
    CHECK(record->calls == ++before, "ldc too small");
    CHECK(cublasGemmEx(handle, 0, 0, 0, 8, 8, &one, a, BF16, 8, b, BF16, 8, &one, c, BF16, 8, 68, -1) == 0, "m = 0");
    CHECK(record->calls == ++before, "nothing to do");
    CHECK(cublasGemmEx(handle, 0, 0, -1, 8, 8, &one, a, BF16, 8, b, BF16, 8, &one, c, BF16, 8, 68, -1) == 7, "m < 0");
    CHECK(record->calls == ++before, "m < 0");
    CHECK(cublasGemmEx(handle, 3, 0, 8, 8, 8, &one, a, BF16, 8, b, BF16, 8, &one, c, BF16, 8, 68, -1) == 0, "CONJG");
    CHECK(record->calls == ++before, "an unknown transpose");
    CHECK(cublasGemmEx(handle, 0, 0, 8, 8, 8, &one, a, BF16, 8, b, BF16, 8, &one, a, BF16, 8, 68, -1) == 0, "C is A");
    CHECK(record->calls == ++before, "operands that overlap are cuBLAS's to compute");
    CHECK(cublasGemmStridedBatchedEx(handle, 0, 0, 8, 8, 8, &one, (char *)a + 32, BF16, 8, -1, b, BF16, 8, 0, &one, c,
                                     BF16, 8, 64, 2, 68, -1) == 0,
          "stride < 0");
    CHECK(record->calls == ++before, "a negative stride");
    free(a);
    free(b);
    free(c);
    free_handle(handle);
}

/* One product of cublasLt after `attribute` was set. */
static void check_attribute(int in_desc, int attribute, uint64_t value, size_t bytes, int expected, const char *what)
{
    const product p = product_of(BF16, BF16, TSR_CUBLAS_COMPUTE_32F, 0, 1, 8, 8, 8, 1);
    void *handle = new_handle();
    lt_product lt = make_lt(&p);
    void *a = operand(BF16, 200, 1), *b = operand(BF16, 200, 2), *c = operand(BF16, 200, 3);
    const float one[2] = {1, 1};
    CHECK((in_desc ? cublasLtMatmulDescSetAttribute(lt.desc, attribute, &value, bytes)
                   : cublasLtMatrixLayoutSetAttribute(lt.a, attribute, &value, bytes)) == 0,
          "%s cannot be set", what);
    const int before = lt_record->calls;
    CHECK(cublasLtMatmul(handle, lt.desc, one, a, lt.a, b, lt.b, one, c, lt.c, c, lt.c, NULL, NULL, 0, NULL) == 0, "%s",
          what);
    CHECK(lt_record->calls - before == (expected == FORWARDED), "%s", what);
    free_lt(&lt);
    free(a);
    free(b);
    free(c);
    free_handle(handle);
}

static void call_within(void)
{
    free_handle(new_handle());
}

static void case_rules_lt(void)
{
    /* At the first call the real library is asked what a fresh descriptor is like, and may call us in turn. */
    alarm(60);
    fake_cublaslt_orders()->at_desc_create = call_within;
    check_attribute(1, TSR_LT_EPILOGUE, 1, 4, ANSWERED, "the default epilogue");
    fake_cublaslt_orders()->at_desc_create = NULL;
    static const int epilogues[] = {2, 4, 6, 32, 36, 130, 132, 164, 256, 512};
    for (size_t i = 0; i < sizeof epilogues / sizeof epilogues[0]; i++)
        check_attribute(1, TSR_LT_EPILOGUE, (uint64_t)epilogues[i], 4, FORWARDED, "an epilogue");
    check_attribute(1, TSR_LT_POINTER_MODE, 1, 4, FORWARDED, "device factors");
    check_attribute(1, TSR_LT_POINTER_MODE, 3, 4, FORWARDED, "a vector of factors");
    check_attribute(1, 5, 1, 4, FORWARDED, "a transposed C");
    check_attribute(1, 15, 100, 4, FORWARDED, "SM count target");
    check_attribute(1, 17, 8, 8, FORWARDED, "a scale");
    check_attribute(1, 25, 1, 1, FORWARDED, "fast accumulation");
    check_attribute(1, 45, 5, 8, ANSWERED, "an attribute of a later version, at its default");
    check_attribute(1, 45, 6, 8, FORWARDED, "an attribute of a later version");
    check_attribute(1, 11, 8, 8, FORWARDED, "what an epilogue keeps beside D, which none here does");
    check_attribute(1, 12, 8, 8, FORWARDED, "its rows");
    check_attribute(1, 13, 8, 8, FORWARDED, "its batch");
    check_attribute(1, TSR_LT_SCALE_TYPE, F16, 4, FORWARDED, "another type of factors");
    check_attribute(0, TSR_LT_LAYOUT_ORDER, 1, 4, FORWARDED, "a row-major A");
    check_attribute(0, 7, 64, 8, FORWARDED, "planes");
    check_attribute(0, 8, 1, 4, FORWARDED, "a batch of pointers");
    check_attribute(0, 45, 5, 8, ANSWERED, "an attribute of a later version, at its default");
    check_attribute(0, 45, 6, 8, FORWARDED, "an attribute of a later version");
    check_attribute(0, TSR_LT_LAYOUT_BATCH_COUNT, 2, 4, FORWARDED, "another batch in A");
    check_attribute(0, TSR_LT_LAYOUT_TYPE, F32, 4, FORWARDED, "another type of A");
    check_attribute(0, TSR_LT_LAYOUT_COLS, 7, 8, FORWARDED, "another K in A");

    /* Algorithms: those that a heuristic gave, by content, and none. */
    const product p = product_of(BF16, BF16, TSR_CUBLAS_COMPUTE_32F, 0, 1, 8, 8, 8, 1);
    void *handle = new_handle();
    lt_product lt = make_lt(&p);
    void *a = operand(BF16, 200, 1), *b = operand(BF16, 200, 2), *c = operand(BF16, 200, 3), *d = operand(BF16, 200, 4);
    const float one = 1, zero = 0;
    tsr_lt_heuristic found[2];
    int count = 0, before = lt_record->calls;
    tsr_lt_algo algo = {{100, 0, 0, 0, 0, 0, 0, 8}};
#define MATMUL(c_, d_, beta_) \
    cublasLtMatmul(handle, lt.desc, &one, a, lt.a, b, lt.b, beta_, c_, lt.c, d_, lt.c, &algo, NULL, 0, NULL)
    CHECK(MATMUL(c, c, &one) == 0 && lt_record->calls == ++before, "an algorithm of the caller's own");
    CHECK(cublasLtMatmulAlgoGetHeuristic(handle, lt.desc, lt.a, lt.b, lt.c, lt.c, NULL, 1, found, &count) == 0 &&
              count == 1 && lt_record->heuristics == 1,
          "the heuristic is the real one's");
    algo = found[0].algo;
    CHECK(MATMUL(c, c, &one) == 0 && lt_record->calls == before, "an algorithm of the heuristic");
    algo.data[3] ^= 1;
    CHECK(MATMUL(c, c, &one) == 0 && lt_record->calls == ++before, "an algorithm that was changed");
    algo = found[0].algo;
    /* D apart from C, and no C at all. */
    CHECK(MATMUL(c, d, &one) == 0 && lt_record->calls == before, "D apart from C");
    CHECK(MATMUL(NULL, d, &zero) == 0 && lt_record->calls == before, "no C");
    free_lt(&lt);
    free(a);
    free(b);
    free(c);
    free(d);
    free_handle(handle);
}

/* What a test asks of an epilogue beyond its number. */
typedef struct lt_epilogue {
    int number, bias_type; /* -1: D's */
    int64_t stride;        /* from problem to problem */
    enum { OF_ITS_OWN, ABSENT, IN_D, UNALIGNED } bias;
} lt_epilogue;

static void run_epilogue(void *handle, const product *p, const lt_epilogue *e, const void *a, const void *b, void *c,
                         void *bias, int is_direct)
{
    lt_product lt = make_lt(p);
    const void *const at = e->bias == ABSENT      ? NULL
                           : e->bias == IN_D      ? c
                           : e->bias == UNALIGNED ? (char *)bias + 1
                                                  : bias;
    const factor alpha = factor_of(p->alpha, p->compute), beta = factor_of(p->beta, p->compute);
    cublasLtMatmulDescSetAttribute(lt.desc, TSR_LT_EPILOGUE, &e->number, sizeof e->number);
    cublasLtMatmulDescSetAttribute(lt.desc, TSR_LT_BIAS_POINTER, &at, sizeof at);
    cublasLtMatmulDescSetAttribute(lt.desc, TSR_LT_BIAS_TYPE, &e->bias_type, sizeof e->bias_type);
    cublasLtMatmulDescSetAttribute(lt.desc, 10, &e->stride, sizeof e->stride);
    CHECK((is_direct ? direct.cublasLtMatmul : cublasLtMatmul)(handle, lt.desc, &alpha, a, lt.a, b, lt.b, &beta, c,
                                                               lt.c, c, lt.c, NULL, NULL, 0, NULL) == 0,
          "epilogue %d", e->number);
    free_lt(&lt);
}

static void check_epilogue(void *handle, const product *p, const lt_epilogue *e, int expected, const char *what)
{
    const int64_t c_elems = p->stride_c * p->batch;
    void *a = operand(p->ab_type, p->stride_a * p->batch, 1), *b = operand(p->ab_type, p->stride_b * p->batch, 2);
    void *c = operand(p->c_type, c_elems, 3), *reference = operand(p->c_type, c_elems, 3);
    void *bias = operand(e->bias_type < 0 ? p->c_type : e->bias_type, p->m + e->stride * p->batch, 4);
    const int before = lt_record->calls;
    run_epilogue(handle, p, e, a, b, c, bias, 0);
    CHECK(lt_record->calls - before == (expected == FORWARDED), "%s: epilogue %d", what, e->number);
    run_epilogue(handle, p, e, a, b, reference, bias, 1);
    CHECK(memcmp(c, reference, (size_t)(c_elems + GUARD) * (size_t)fake_bytes(p->c_type)) == 0,
          "%s: epilogue %d, types %d %d, batch %d, beta %g: other results", what, e->number, p->ab_type, p->c_type,
          p->batch, p->beta);
    free(a);
    free(b);
    free(c);
    free(reference);
    free(bias);
}

/* A bias, without ReLU and with it. */
static void case_epilogue(void)
{
    static const int types[][3] = {{BF16, BF16, TSR_CUBLAS_COMPUTE_32F}, {F16, F16, TSR_CUBLAS_COMPUTE_32F},
                                   {F16, F16, TSR_CUBLAS_COMPUTE_16F},   {BF16, F32, TSR_CUBLAS_COMPUTE_32F},
                                   {F16, F32, TSR_CUBLAS_COMPUTE_32F},   {F32, F32, TSR_CUBLAS_COMPUTE_32F},
                                   {F64, F64, TSR_CUBLAS_COMPUTE_64F}};
    void *handle = new_handle();
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++)
        for (int i = 0; i < 8; i++) {
            product p = product_of(types[t][0], types[t][1], types[t][2], i & 1, i >> 1 & 1, 7, 11, 13, i & 4 ? 3 : 1);
            p.beta = i & 2;
            const lt_epilogue plain_bias = {.number = 4, .bias_type = -1}, relu_bias = {.number = 6, .bias_type = -1},
                              of_type = {.number = 6, .bias_type = types[t][1]}, relu = {.number = 2, .bias_type = -1};
            check_epilogue(handle, &p, &plain_bias, ANSWERED, "bias");
            check_epilogue(handle, &p, &relu_bias, ANSWERED, "bias and ReLU");
            check_epilogue(handle, &p, &of_type, ANSWERED, "D's type");
            check_epilogue(handle, &p, &relu, FORWARDED, "ReLU alone");
        }
    product p = product_of(BF16, BF16, TSR_CUBLAS_COMPUTE_32F, 0, 0, 7, 11, 13, 1);
    static const lt_epilogue others[] = {{.number = 4, .bias_type = -1, .bias = ABSENT},
                                         {.number = 6, .bias_type = -1, .bias = ABSENT},
                                         {.number = 4, .bias_type = F32},
                                         {.number = 4, .bias_type = F16},
                                         {.number = 4, .bias_type = -1, .bias = IN_D},
                                         {.number = 4, .bias_type = -1, .bias = UNALIGNED},
                                         {.number = 1, .bias_type = -1}};
    static const char *const words[] = {"no bias", "no bias", "f32", "f16", "within D", "not aligned", "not read"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        check_epilogue(handle, &p, &others[i], FORWARDED, words[i]);
    p.batch = 3;
    const lt_epilogue strided = {.number = 4, .bias_type = -1, .stride = 9};
    check_epilogue(handle, &p, &strided, FORWARDED, "a bias for each problem");
    free_handle(handle);
}

/* A product of 8-bit floats: types and scale modes of cuBLAS's A and B, and what else a test sets. */
typedef struct scaled {
    int a_type, b_type, c_type, d_type, mode_a, mode_b, batch;
    int has_scales, has_scale_d, has_amax, is_fast, epilogue, bias_type;
    double beta;
} scaled;

static const scaled plain_scaled = {.a_type = E4M3,
                                    .b_type = E4M3,
                                    .c_type = BF16,
                                    .d_type = BF16,
                                    .batch = 1,
                                    .epilogue = TSR_LT_EPILOGUE_DEFAULT,
                                    .bias_type = -1};

enum { SCALED_M = 133, SCALED_N = 9, SCALED_K = 261, SCALES = 2048 };

static void set_desc(void *desc, int attribute, const void *value, size_t bytes)
{
    CHECK(cublasLtMatmulDescSetAttribute(desc, attribute, value, bytes) == 0, "attribute %d cannot be set", attribute);
}

static void set_pointer(void *desc, int attribute, const void *pointer)
{
    set_desc(desc, attribute, &pointer, sizeof pointer);
}

/* D^T is given as cuBLAS has it, K along both operands, as fp8 must be there. */
static void run_scaled(void *handle, const scaled *s, const void *a, const void *b, void *d, const float *scales,
                       const void *bias, float *amax, int is_direct)
{
    void *desc = NULL;
    const int transposed = TSR_CUBLAS_OP_T;
    const int8_t fast = (int8_t)s->is_fast;
    const float alpha = 0.5f, beta = (float)s->beta;
    cublasLtMatmulDescCreate(&desc, TSR_CUBLAS_COMPUTE_32F, F32);
    set_desc(desc, TSR_LT_TRANSA, &transposed, sizeof transposed);
    set_desc(desc, TSR_LT_A_SCALE_MODE, &s->mode_a, sizeof s->mode_a);
    set_desc(desc, TSR_LT_B_SCALE_MODE, &s->mode_b, sizeof s->mode_b);
    set_desc(desc, TSR_LT_FAST_ACCUM, &fast, sizeof fast);
    set_pointer(desc, TSR_LT_A_SCALE_POINTER, s->has_scales ? scales : NULL);
    set_pointer(desc, TSR_LT_B_SCALE_POINTER, s->has_scales ? scales + SCALES : NULL);
    set_pointer(desc, TSR_LT_D_SCALE_POINTER, s->has_scale_d ? scales : NULL);
    set_pointer(desc, TSR_LT_AMAX_D_POINTER, s->has_amax ? amax : NULL);
    set_desc(desc, TSR_LT_EPILOGUE, &s->epilogue, sizeof s->epilogue);
    set_pointer(desc, TSR_LT_BIAS_POINTER, s->epilogue > 1 ? bias : NULL);
    set_desc(desc, TSR_LT_BIAS_TYPE, &s->bias_type, sizeof s->bias_type);
    void *const layouts[] = {
        layout_of(s->a_type, SCALED_K, SCALED_M, SCALED_K + 3, (SCALED_K + 3) * SCALED_M, s->batch),
        layout_of(s->b_type, SCALED_K, SCALED_N, SCALED_K, SCALED_K * SCALED_N, s->batch),
        layout_of(s->c_type, SCALED_M, SCALED_N, SCALED_M, SCALED_M * SCALED_N, s->batch),
        layout_of(s->d_type, SCALED_M, SCALED_N, SCALED_M, SCALED_M * SCALED_N, s->batch)};
    CHECK((is_direct ? direct.cublasLtMatmul : cublasLtMatmul)(handle, desc, &alpha, a, layouts[0], b, layouts[1],
                                                               &beta, d, layouts[2], d, layouts[3], NULL, NULL, 0,
                                                               NULL) == 0,
          "status");
    for (int i = 0; i < 4; i++)
        cublasLtMatrixLayoutDestroy(layouts[i]);
    cublasLtMatmulDescDestroy(desc);
}

static void check_scaled(void *handle, const scaled *s, int expected, const char *what)
{
    const int64_t d_elems = (int64_t)SCALED_M * SCALED_N * s->batch;
    void *a = operand(s->a_type, (int64_t)(SCALED_K + 3) * SCALED_M * s->batch, 1);
    void *b = operand(s->b_type, (int64_t)SCALED_K * SCALED_N * s->batch, 2), *bias = operand(BF16, SCALED_M, 4);
    void *d = operand(s->d_type, d_elems, 3), *reference = operand(s->d_type, d_elems, 3);
    static float scales[2 * SCALES];
    float amax = -1, amax_wanted = -1;
    for (int i = 0; i < 2 * SCALES; i++) /* powers of two: whatever is multiplied stays exact */
        scales[i] = i % 3 == 0 ? 0.25f : i % 3 == 1 ? 1 : 2;
    const int before = lt_record->calls;
    run_scaled(handle, s, a, b, d, scales, bias, &amax, 0);
    CHECK(lt_record->calls - before == (expected == FORWARDED), "%s", what);
    run_scaled(handle, s, a, b, reference, scales, bias, &amax_wanted, 1);
    CHECK(memcmp(d, reference, (size_t)(d_elems + GUARD) * (size_t)fake_bytes(s->d_type)) == 0,
          "%s: types %d %d %d, modes %d %d: other results", what, s->a_type, s->b_type, s->d_type, s->mode_a,
          s->mode_b);
    CHECK(amax == amax_wanted, "%s: amax %g, not %g", what, (double)amax, (double)amax_wanted);
    free(a);
    free(b);
    free(d);
    free(reference);
    free(bias);
}

/* 8-bit floats, with every kind of scale that Tessera has. */
static void case_scaled(void)
{
    static const int operands[][2] = {{E4M3, E4M3}, {E4M3, E5M2}, {E5M2, E4M3}};
    static const int results[] = {BF16, F16, F32, E4M3, E5M2};
    static const int modes[][2] = {{0, 0}, {3, 3}, {4, 5}, {5, 4}, {4, 4}, {0, 3}};
    void *handle = new_handle();
    for (size_t o = 0; o < sizeof operands / sizeof operands[0]; o++)
        for (size_t r = 0; r < sizeof results / sizeof results[0]; r++)
            for (size_t m = 0; m < sizeof modes / sizeof modes[0]; m++) {
                const int is_8_bit = fake_bytes(results[r]) == 1;
                const scaled s = {.a_type = operands[o][0],
                                  .b_type = operands[o][1],
                                  .c_type = is_8_bit ? BF16 : results[r],
                                  .d_type = results[r],
                                  .mode_a = modes[m][0],
                                  .mode_b = modes[m][1],
                                  .batch = 1,
                                  .has_scales = 1,
                                  .has_scale_d = is_8_bit,
                                  .has_amax = is_8_bit && m % 2 == 0,
                                  .epilogue = TSR_LT_EPILOGUE_DEFAULT,
                                  .bias_type = -1,
                                  .beta = is_8_bit ? 0 : 2};
                check_scaled(handle, &s, ANSWERED, "scales");
            }
    scaled s = plain_scaled;
    check_scaled(handle, &s, ANSWERED, "no scales");
    s.batch = 3;
    s.has_scales = 1;
    check_scaled(handle, &s, ANSWERED, "a batch, with a scale an operand");
    s.mode_a = s.mode_b = TSR_LT_SCALE_OUTER_VEC;
    check_scaled(handle, &s, FORWARDED, "a batch, with scales of rows");
    s = plain_scaled;
    s.epilogue = TSR_LT_EPILOGUE_RELU_BIAS;
    check_scaled(handle, &s, ANSWERED, "a bias of D's type");
    s.d_type = E4M3;
    check_scaled(handle, &s, FORWARDED, "a bias whose type is not said");
    s.bias_type = BF16;
    check_scaled(handle, &s, ANSWERED, "a bias in bf16");
    s = plain_scaled;
    s.is_fast = 1;
    check_scaled(handle, &s, ANSWERED, "sums in the tensor cores, for which the CPU stands in");
    s = plain_scaled;
    s.mode_a = TSR_LT_SCALE_OUTER_VEC;
    check_scaled(handle, &s, FORWARDED, "scales of rows that are not there");
    s.mode_a = 2;
    s.has_scales = 1;
    check_scaled(handle, &s, FORWARDED, "scales of 32 elements");
    s = plain_scaled;
    s.has_scale_d = 1;
    check_scaled(handle, &s, FORWARDED, "a scale of a D that is wide");
    s = plain_scaled;
    s.d_type = E4M3;
    s.beta = 1;
    s.c_type = E4M3;
    check_scaled(handle, &s, FORWARDED, "a C that is read beside a D of 8 bits");
    s = plain_scaled;
    s.b_type = BF16;
    check_scaled(handle, &s, FORWARDED, "8 and 16 bits");
    free_handle(handle);
}

/* On the emulator, which has tensor cores: sums stay in them where FAST_ACCUM says so, and only there. */
static void case_fast_sums(void)
{
    char kernel[64];
    start_log();
    void *handle = new_handle();
    scaled s = plain_scaled;
    check_scaled(handle, &s, ANSWERED, "sums in f32 each 128 of K");
    last_of_log("by", kernel, sizeof kernel);
    CHECK(strstr(kernel, "fp8") && !strstr(kernel, "fp8f"), "without FAST_ACCUM: %s", kernel);
    s.is_fast = 1;
    check_scaled(handle, &s, ANSWERED, "sums in the tensor cores");
    last_of_log("by", kernel, sizeof kernel);
    CHECK(strstr(kernel, "fp8f"), "with FAST_ACCUM: %s", kernel);
    s.mode_a = s.mode_b = 4; /* scales of blocks, which multiply sums of 128 of K */
    check_scaled(handle, &s, FORWARDED, "sums in the tensor cores, with scales of blocks");
    last_of_log("why", kernel, sizeof kernel);
    CHECK(strcmp(kernel, "attribute") == 0, "with FAST_ACCUM and scales of blocks: why=%s", kernel);
    end_log();
    free_handle(handle);
}

/* What the real library calls in turn does not come back: nothing is answered within a call that was sent on. */
static void case_guard(void)
{
    void *handle = new_handle();
    const product p = product_of(BF16, BF16, TSR_CUBLAS_COMPUTE_32F, 0, 0, 8, 8, 8, 1);
    cublasSetMathMode(handle, 2); /* pedantic: sent on */
    orders->calls_through = 1;
    void *a = operand(BF16, 200, 1), *b = operand(BF16, 200, 2), *c = operand(BF16, 200, 3);
    const float one = 1;
    CHECK(call_ex(handle, &p, &one, &one, a, b, c, 0) == 0, "status");
    CHECK(record->calls == 1 && lt_record->calls == 1, "%d outer calls, %d inner calls", record->calls,
          lt_record->calls);
    /* And the guard is off again. */
    cublasSetMathMode(handle, 0);
    CHECK(call_ex(handle, &p, &one, &one, a, b, c, 0) == 0 && record->calls == 1, "the next call is answered");
    free(a);
    free(b);
    free(c);
    free_handle(handle);
}

/* Streams that capture, contexts and devices. */
static void case_driver(void)
{
    driver->first_number = 10; /* device numbers that are no ordinals */
    driver->ordinal = 1;
    void *handle = new_handle();
    const product seen = product_of(BF16, BF16, TSR_CUBLAS_COMPUTE_32F, 0, 0, 8, 8, 8, 1);
    const product fresh = product_of(BF16, BF16, TSR_CUBLAS_COMPUTE_32F, 0, 0, 9, 8, 8, 1);
    check_product(handle, &seen, call_ex, ANSWERED, "a stream that does not capture");
    driver->capturing = 1;
    check_product(handle, &seen, call_ex, ANSWERED, "captured, with a plan");
    check_product(handle, &fresh, call_ex, FORWARDED, "captured, without a plan");
    check_product(handle, &fresh, call_lt, FORWARDED, "captured, without a plan");
    CHECK(driver->spoilt == 0, "%d captures are spoilt", driver->spoilt);
    driver->capturing = -1;
    check_product(handle, &seen, call_ex, FORWARDED, "the driver does not say");
    driver->capturing = 0;
    check_product(handle, &fresh, call_ex, ANSWERED, "the plan is made now");
    driver->is_foreign = 1;
    check_product(handle, &seen, call_ex, FORWARDED, "another context");
    driver->is_foreign = 0;
    driver->ordinal = 2;
    check_product(handle, &seen, call_ex, FORWARDED, "another GPU than the handle's");
    check_product(handle, &seen, call_lt, FORWARDED, "another GPU than the handle's");
    void *second = new_handle();
    check_product(second, &seen, call_ex, ANSWERED, "a handle of that GPU");
    check_product(second, &seen, call_lt, ANSWERED, "a handle of that GPU");
    driver->ordinal = -1;
    check_product(handle, &seen, call_ex, FORWARDED, "no current context");
    driver->ordinal = 1;
    check_product(handle, &seen, call_ex, ANSWERED, "as before");
    CHECK(driver->mode == 0, "the capture mode is %d", driver->mode);
    free_handle(second);
    free_handle(handle);
}

static void case_no_driver(void)
{
    void *handle = new_handle();
    const product p = product_of(BF16, BF16, TSR_CUBLAS_COMPUTE_32F, 0, 0, 8, 8, 8, 1);
    check_product(handle, &p, call_ex, FORWARDED, "no driver");
    check_product(handle, &p, call_lt, FORWARDED, "no driver");
    free_handle(handle);
}

/* On the emulator kernels need workspace: the caller's, zeroed before each run, or a part of the pool. */
static void case_workspace(void)
{
    void *handle = new_handle();
    static char given[8 << 20];
    /* Few tiles and a long K: K is split. */
    const product p = product_of(F32, F32, TSR_CUBLAS_COMPUTE_32F, 1, 0, 8, 4, 1024, 1);
    void *const stream = client_places + 3;
    CHECK(cublasSetStream_v2(handle, stream) == 0, "stream");
    check_product(handle, &p, call_ex, ANSWERED, "ours");
    check_product(handle, &p, call_ex, ANSWERED, "ours, once more");
    CHECK(driver->allocations == 1 && driver->zeroed == 1, "ours: %d allocations", driver->allocations);
    CHECK(driver->zeroed_bytes == 65536 && driver->zeroed_on == stream, "ours: %zu bytes", driver->zeroed_bytes);
    driver->zeroed = 0;
    driver->zeroed_bytes = 0;
    memset(given, 0xff, sizeof given);
    CHECK(cublasSetWorkspace_v2(handle, given, sizeof given) == 0, "workspace");
    check_product(handle, &p, call_ex, ANSWERED, "small needs are ours");
    CHECK(driver->zeroed == 0, "small needs are ours");
    driver->capturing = 1;
    check_product(handle, &p, call_ex, ANSWERED, "captured: the caller's");
    CHECK(driver->zeroed == 1 && driver->zeroed_bytes == 65536, "%d times, %zu bytes", driver->zeroed,
          driver->zeroed_bytes);
    CHECK(cublasSetStream_v2(handle, stream) == 0, "stream");
    check_product(handle, &p, call_ex, FORWARDED, "captured, and the stream took the workspace away");
    CHECK(driver->spoilt == 0, "%d captures are spoilt", driver->spoilt);
    driver->capturing = 0;
    check_product(handle, &p, call_ex, ANSWERED, "ours again");
    CHECK(driver->zeroed == 1, "ours again");
    CHECK(cublasSetStream_v2(handle, client_places + 4) == 0, "stream");
    driver->cannot_zero = 1;
    check_product(handle, &p, call_ex, FORWARDED, "a part that cannot be zeroed");
    driver->cannot_zero = 0;
    check_product(handle, &p, call_ex, ANSWERED, "it is not lost");
    CHECK(driver->zeroed == 2 && driver->zeroed_on == client_places + 4, "another stream has a part of its own");
    free_handle(handle);
}

/* The pool has 16 parts. A stream that comes later has none, and takes the caller's workspace. */
static void case_workspace_parts(void)
{
    enum { PARTS = 16 };
    static char streams[PARTS + 4], given[8 << 20];
    void *handle = new_handle();
    const product p = product_of(F32, F32, TSR_CUBLAS_COMPUTE_32F, 1, 0, 8, 4, 1024, 1);
    for (int i = 0; i < PARTS + 4; i++) {
        CHECK(cublasSetStream_v2(handle, streams + i) == 0, "stream");
        check_product(handle, &p, call_ex, i < PARTS ? ANSWERED : FORWARDED, "without a workspace of the caller's");
        CHECK(driver->zeroed == (i < PARTS ? i + 1 : PARTS), "stream %d: %d parts", i, driver->zeroed);
    }
    driver->zeroed = 0;
    memset(given, 0xff, sizeof given);
    CHECK(cublasSetWorkspace_v2(handle, given, sizeof given) == 0, "workspace");
    check_product(handle, &p, call_ex, ANSWERED, "with a workspace of the caller's");
    CHECK(driver->zeroed == 1, "the caller's is zeroed");
    CHECK(cublasSetStream_v2(handle, streams) == 0, "stream");
    check_product(handle, &p, call_ex, ANSWERED, "the first stream has its part");
    CHECK(driver->zeroed == 1 && driver->allocations == 1, "the first stream has its part");
    free_handle(handle);
}

/* Copies of unaligned operands need more than the small pieces: the caller's workspace if it is large enough, or, where
 * the user allows that, the pool's large part. */
static void case_workspace_large(void)
{
    void *handle = new_handle();
    static char given[16 << 20];
    const int is_allowed = getenv("TESSERA_CUBLAS_WORKSPACE_MIB") != NULL;
    product p = product_of(BF16, BF16, TSR_CUBLAS_COMPUTE_32F, 0, 0, 16, 8, 300001, 1);
    p.lda = 17; /* unaligned, so that A is copied */
    p.ldb = p.k + 7;
    p.ldc = p.m;
    p.stride_a = p.lda * p.k;
    p.stride_b = p.ldb * p.n;
    const float one = 1, zero = 0;
    void *a = operand(BF16, p.stride_a, 1), *b = operand(BF16, p.stride_b, 2), *c = operand(BF16, p.stride_c, 3);
    CHECK(cublasSetWorkspace_v2(handle, given, sizeof given) == 0, "workspace");
    CHECK(call_ex(handle, &p, &one, &zero, a, b, c, 0) == 0 && record->calls == 0, "the caller's is large enough");
    CHECK(driver->zeroed == 1, "the caller's was zeroed %d times", driver->zeroed);
    CHECK(cublasSetWorkspace_v2(handle, given, 1 << 20) == 0, "workspace");
    driver->zeroed = 0;
    driver->capturing = 1;
    CHECK(call_ex(handle, &p, &one, &zero, a, b, c, 0) == 0 && record->calls == 1, "captured, and no plan");
    driver->capturing = 0;
    CHECK(call_ex(handle, &p, &one, &zero, a, b, c, 0) == 0, "a small one");
    CHECK(record->calls == 1 && driver->allocations == 1 && driver->zeroed == is_allowed,
          "what the caller gives is too small for its plan");
    CHECK(driver->allocated_bytes == (size_t)(64 + 32) << 20, "the pool has %zu bytes", driver->allocated_bytes);
    driver->capturing = 1;
    CHECK(call_ex(handle, &p, &one, &zero, a, b, c, 0) == 0 && record->calls == 1 + is_allowed,
          "captured: a plan that needs the pool's large part is sent on");
    driver->capturing = 0;
    CHECK(cublasSetStream_v2(handle, client_places) == 0, "stream");
    CHECK(call_ex(handle, &p, &one, &zero, a, b, c, 0) == 0 && record->calls == 2 + is_allowed,
          "another stream: the large part is the first one's");
    free(a);
    free(b);
    free(c);
    free_handle(handle);
}

/* Which line of the table counts. */
static void case_table(void)
{
    /* Row-major m n k: cuBLAS's n m k. Leading dimensions of product_of: lda + 3, ldb + 1, ldc + 2. */
    write_table("# a note\n"
                "H200\t13.1\tbf16\tnn\t2,2,4\t8\t16\t32\t1\t2.500\t2.400\t2026-11-24\n"
                "H200\t13.1\tbf16\tnn\t2,2,4\t8\t16\t64\t1\t1.700\t1.700\t2026-11-24\n"
                "H200\t13.1\tbf16\tnn\t2,2,4\t2^4\t2^4\t2^5\t2^0\t2.0\t1.8\t2026-11-24\n"
                "H200\t13.1\tbf16\tnn\t2,2,4\t24\t16\t32\t1\t0.9\t0.8\t2026-11-24\n"
                "H200\t13.0\tbf16\tnn\t2,2,4\t40\t40\t40\t1\t2.0\t1.9\t2026-11-24\n"
                "H100-80GB-HBM3\t13.1\tbf16\tnn\t2,2,4\t40\t40\t41\t1\t2.0\t1.9\t2026-11-24\n"
                "H200\t13.1\tbf16+bias\tnn\t2,2,4\t24\t16\t32\t1\t2.3\t2.2\t2026-11-24\n"
                "H200\t13.1\te4m3-bf16\tnt\t1,8,2\t9\t133\t261\t1\t2.3\t2.2\t2026-11-24\n"
                "this line says nothing\n"
                "H200\t13.1\tf32\tnt\t4,4,8\t8\t16\t32\t2\t2.500\t2.400\t2026-11-24");
    void *handle = new_handle();
    product p = product_of(BF16, BF16, TSR_CUBLAS_COMPUTE_32F, 0, 0, 16, 8, 32, 1);
    check_product(handle, &p, call_ex, ANSWERED, "its own line");
    check_product(handle, &p, call_lt, ANSWERED, "its own line");
    const lt_epilogue bias = {.number = TSR_LT_EPILOGUE_BIAS, .bias_type = -1},
                      relu_bias = {.number = TSR_LT_EPILOGUE_RELU_BIAS, .bias_type = -1};
    check_epilogue(handle, &p, &bias, FORWARDED, "no line is of such a product with a bias");
    product q = product_of(BF16, BF16, TSR_CUBLAS_COMPUTE_32F, 0, 0, 16, 24, 32, 1); /* cuBLAS's n is our m */
    check_epilogue(handle, &q, &bias, ANSWERED, "the line with a bias");
    check_epilogue(handle, &q, &relu_bias, ANSWERED, "ReLU behind it");
    check_product(handle, &q, call_lt, FORWARDED, "the line without one");
    q = p;
    q.ldb = 40;
    q.stride_b = q.ldb * q.n;
    check_product(handle, &q, call_ex, FORWARDED, "another alignment");
    q = product_of(F16, F16, TSR_CUBLAS_COMPUTE_32F, 0, 0, 16, 8, 32, 1);
    check_product(handle, &q, call_ex, FORWARDED, "another type");
    q = product_of(BF16, BF16, TSR_CUBLAS_COMPUTE_32F, 0, 0, 16, 8, 64, 1);
    check_product(handle, &q, call_ex, FORWARDED, "too little gain");
    q = product_of(BF16, BF16, TSR_CUBLAS_COMPUTE_32F, 0, 0, 28, 19, 62, 1);
    check_product(handle, &q, call_ex, ANSWERED, "the line of its class");
    check_product(handle, &q, call_lt, ANSWERED, "the line of its class");
    q = product_of(BF16, BF16, TSR_CUBLAS_COMPUTE_32F, 0, 0, 16, 24, 32, 1);
    check_product(handle, &q, call_ex, FORWARDED, "its own line comes before that of its class");
    q = product_of(BF16, BF16, TSR_CUBLAS_COMPUTE_32F, 0, 0, 40, 40, 40, 1);
    check_product(handle, &q, call_ex, FORWARDED, "another cuBLAS");
    q = product_of(BF16, BF16, TSR_CUBLAS_COMPUTE_32F, 0, 0, 40, 40, 41, 1);
    check_product(handle, &q, call_ex, FORWARDED, "another chip");
    q = product_of(F32, F32, TSR_CUBLAS_COMPUTE_32F, 1, 0, 16, 8, 32, 2);
    q.stride_a = q.stride_b = 2000;
    q.stride_c = 200;
    check_product(handle, &q, call_strided, ANSWERED, "a batch");
    q.batch = 1;
    check_product(handle, &q, call_strided, FORWARDED, "no batch");
    scaled s = plain_scaled;
    s.has_scales = 1;
    check_scaled(handle, &s, ANSWERED, "8-bit floats with a scale an operand");
    s.mode_a = s.mode_b = TSR_LT_SCALE_OUTER_VEC;
    check_scaled(handle, &s, FORWARDED, "no line is of scales of rows");
    s.mode_a = s.mode_b = TSR_LT_SCALE_SCALAR;
    s.is_fast = 1;
    check_scaled(handle, &s, FORWARDED, "no line is of fast sums");
    s.is_fast = 0;
    s.b_type = E5M2;
    check_scaled(handle, &s, FORWARDED, "no line is of E5M2");
    remove_table();
    free_handle(handle);
}

/* Two majors in one process: each call reaches its own. */
static void case_both(void)
{
    void *library = dlopen(USES_12, RTLD_NOW | RTLD_LOCAL);
    int (*product_12)(void) = NULL;
    fake_record *(*record_12)(void) = NULL;
    CHECK(library, "%s", dlerror());
    if (!library)
        return;
    *(void **)&product_12 = dlsym(library, "product_12");
    *(void **)&record_12 = dlsym(library, "record_12");
    void *handle = new_handle();
    cublasSetMathMode(handle, 2);
    const product p = product_of(BF16, BF16, TSR_CUBLAS_COMPUTE_32F, 0, 0, 8, 8, 8, 1);
    check_product(handle, &p, call_ex, FORWARDED, "13");
    const int seen = record->calls;
    CHECK(product_12() == 0, "12");
    CHECK(record_12()->calls == 1 && record->calls == seen, "%d calls reached 12, %d more 13", record_12()->calls,
          record->calls - seen);
    free_handle(handle);
}

static void *run_thread(void *user)
{
    void *handle = new_handle();
    const int first = *(const int *)user;
    for (int i = 0; i < 60; i++) {
        const product p = product_of(i % 2 ? F32 : BF16, i % 2 ? F32 : BF16, TSR_CUBLAS_COMPUTE_32F, i & 1, i >> 1 & 1,
                                     5 + (first + i) % 7, 9, 6 + i % 5, 1);
        void *a = operand(p.ab_type, p.stride_a, 1), *b = operand(p.ab_type, p.stride_b, 2);
        void *c = operand(p.c_type, p.stride_c, 3), *d = operand(p.c_type, p.stride_c, 3);
        fake_product q = {.trans_a = p.trans_a,
                          .trans_b = p.trans_b,
                          .m = p.m,
                          .n = p.n,
                          .k = p.k,
                          .alpha = 1,
                          .beta = 1,
                          .a = a,
                          .b = b,
                          .c = d,
                          .d = d,
                          .a_type = p.ab_type,
                          .b_type = p.ab_type,
                          .c_type = p.c_type,
                          .lda = p.lda,
                          .ldb = p.ldb,
                          .ldc = p.ldc,
                          .ldd = p.ldc,
                          .batch = 1};
        const float one = 1;
        CHECK(call_ex(handle, &p, &one, &one, a, b, c, 0) == 0, "status");
        fake_multiply(&q);
        CHECK(memcmp(c, d, (size_t)p.stride_c * (size_t)fake_bytes(p.c_type)) == 0, "thread %d, product %d", first, i);
        free(a);
        free(b);
        free(c);
        free(d);
    }
    free_handle(handle);
    return NULL;
}

static unsigned long long answered(void)
{
    unsigned long long (*count)(void) = NULL;
    *(void **)&count = dlsym(RTLD_DEFAULT, "tessera_cublas_answered");
    CHECK(count, "no tessera_cublas_answered");
    return count ? count() : 0;
}

static void case_threads(void)
{
    pthread_t threads[6];
    int first[6];
    for (int i = 0; i < 6; i++) {
        first[i] = i;
        CHECK(pthread_create(&threads[i], NULL, run_thread, &first[i]) == 0, "thread");
    }
    for (int i = 0; i < 6; i++)
        pthread_join(threads[i], NULL);
    CHECK(calls_seen() == 0, "%d calls reached cuBLAS", calls_seen());
    CHECK(answered() == 6 * 60, "%llu calls were answered", answered());
}

/* The first calls come from two threads, of which one holds the loader's lock. */
static void case_first(void)
{
    int (*calls)(void) = NULL;
    alarm(30);
    void *library = dlopen(FIRST, RTLD_NOW | RTLD_LOCAL);
    CHECK(library, "%s", dlerror());
    if (library)
        *(void **)&calls = dlsym(library, "first_calls");
    CHECK(calls && calls() == 0, "the first calls");
}

static void case_fork(void)
{
    void *handle = new_handle();
    const product p = product_of(BF16, BF16, TSR_CUBLAS_COMPUTE_32F, 0, 0, 8, 8, 8, 1);
    int state = 0;
    check_product(handle, &p, call_ex, ANSWERED, "parent");
    const pid_t child = fork();
    if (child == 0) { /* no context of CUDA's survives */
        driver->ordinal = -1;
        free_handle(new_handle());
        check_product(handle, &p, call_ex, FORWARDED, "child");
        check_product(handle, &p, call_lt, FORWARDED, "child");
        _exit(failures != 0);
    }
    CHECK(child > 0 && waitpid(child, &state, 0) == child && WIFEXITED(state) && WEXITSTATUS(state) == 0, "child");
    check_product(handle, &p, call_ex, ANSWERED, "parent again");
    free_handle(handle);
}

/* Off: nothing is answered. */
static void case_off(void)
{
    void *handle = new_handle();
    const product p = product_of(BF16, BF16, TSR_CUBLAS_COMPUTE_32F, 0, 0, 8, 8, 8, 1);
    check_product(handle, &p, call_ex, FORWARDED, "off");
    check_product(handle, &p, call_lt, FORWARDED, "off");
    free_handle(handle);
}

static int tests_answers(void)
{
    return strcmp(getenv("TESSERA_CUBLAS"), "always") == 0;
}

/* One line for each call; the script that starts this case reads them. */
static void case_log(void)
{
    void *handle = new_handle();
    const product p = product_of(BF16, BF16, TSR_CUBLAS_COMPUTE_32F, 1, 0, 16, 8, 32, 1);
    const float one = 1;
    void *a = operand(BF16, 1000, 1), *b = operand(BF16, 1000, 2), *c = operand(BF16, 1000, 3);
    call_ex(handle, &p, &one, &one, a, b, c, 0);
    call_lt(handle, &p, &one, &one, a, b, c, 0);
    const lt_epilogue gelu_bias = {.number = 36, .bias_type = -1}, relu_bias = {.number = 6, .bias_type = -1};
    run_epilogue(handle, &p, &gelu_bias, a, b, c, a, 0);
    run_epilogue(handle, &p, &relu_bias, a, b, c, a, 0);
    cublasSetMathMode(handle, 2);
    orders->calls_through = 1;
    call_ex(handle, &p, &one, &one, a, b, c, 0);
    cublasSgemmBatched(handle, 0, 0, 1, 1, 1, &one, NULL, 1, NULL, 1, &one, NULL, 1, 1);
    cublasDgemmGroupedBatched(handle, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1,
                              NULL);
    scaled blocks = plain_scaled;
    blocks.b_type = E5M2;
    blocks.mode_a = TSR_LT_SCALE_BLK128X128;
    blocks.mode_b = TSR_LT_SCALE_VEC128;
    blocks.has_scales = 1;
    check_scaled(handle, &blocks, tests_answers() ? ANSWERED : FORWARDED, "logged");
    free(a);
    free(b);
    free(c);
    free_handle(handle);
}

/* ---- what sending on costs -----------------------------------------------------------------------------------------
 */

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

enum { SPEED_CALLS = 1000, SPEED_ROUNDS = 500, MOST_NS = 300 };

/* The least time of a call over many short rounds: other processes only add. More rounds where that seems slow, since a
 * whole machine can be slow for a tenth of a second. */
#define LEAST_NS(out, call)                                                                                 \
    do {                                                                                                    \
        out = 1e9;                                                                                          \
        for (int round = 0; round < SPEED_ROUNDS || (out > MOST_NS && round < 8 * SPEED_ROUNDS); round++) { \
            const double start = now_ns();                                                                  \
            for (int i = 0; i < SPEED_CALLS; i++)                                                           \
                call;                                                                                       \
            const double ns = (now_ns() - start) / SPEED_CALLS;                                             \
            out = ns < out ? ns : out;                                                                      \
        }                                                                                                   \
    } while (0)

static void check_speed(const char *what, double through, double alone)
{
    printf("%-44s %6.0f ns more than %4.0f\n", what, through - alone, alone);
    CHECK(through - alone <= MOST_NS, "%s costs %.0f ns more", what, through - alone);
}

static void speed_of_gemm(void *handle, const char *what, const product *p)
{
    const float one = 1;
    void *a = operand(p->ab_type, 100, 1);
    double through, alone;
    LEAST_NS(through, call_ex(handle, p, &one, &one, a, a, a, 0));
    LEAST_NS(alone, call_ex(handle, p, &one, &one, a, a, a, 1));
    check_speed(what, through, alone);
    free(a);
}

static void speed_of_lt(void *handle, const char *what, const product *p, int epilogue)
{
    const float one = 1;
    void *a = operand(p->ab_type, 100, 1);
    lt_product lt = make_lt(p);
    double through, alone;
    cublasLtMatmulDescSetAttribute(lt.desc, TSR_LT_EPILOGUE, &epilogue, sizeof epilogue);
    LEAST_NS(through,
             cublasLtMatmul(handle, lt.desc, &one, a, lt.a, a, lt.b, &one, a, lt.c, a, lt.c, NULL, NULL, 0, NULL));
    LEAST_NS(alone, direct.cublasLtMatmul(handle, lt.desc, &one, a, lt.a, a, lt.b, &one, a, lt.c, a, lt.c, NULL, NULL,
                                          0, NULL));
    check_speed(what, through, alone);
    free_lt(&lt);
    free(a);
}

static void case_speed(void)
{
    write_table("H200\t13.1\tbf16\tnn\t16,16,16\t2^4\t2^4\t2^5\t2^0\t2.2\t2.1\t2026-11-24\n"
                "H200\t13.1\tf32\tnn\t16,16,16\t2^4\t2^4\t2^5\t2^0\t2.2\t2.1\t2026-11-24\n");
    void *handle = new_handle();
    orders->is_quick = fake_cublaslt_orders()->is_quick = 1;
    const product none = product_of(BF16, BF16, TSR_CUBLAS_COMPUTE_32F, 0, 0, 1000, 1000, 1000, 1);
    const product near = product_of(BF16, BF16, TSR_CUBLAS_COMPUTE_32F, 0, 0, 16, 16, 32, 1);
    const product single = product_of(F32, F32, TSR_CUBLAS_COMPUTE_32F, 0, 0, 16, 16, 32, 1);
    speed_of_gemm(handle, "cublasGemmEx, no line for its sizes", &none);
    speed_of_gemm(handle, "cublasGemmEx, another alignment", &near);
    speed_of_gemm(handle, "cublasGemmEx, f32", &single);
    speed_of_lt(handle, "cublasLtMatmul, no line for its sizes", &none, 1);
    speed_of_lt(handle, "cublasLtMatmul, another alignment", &near, 1);
    speed_of_lt(handle, "cublasLtMatmul, an epilogue", &near, 4);
    double through, alone;
    LEAST_NS(through, (cublasSetStream_v2(handle, NULL), cublasSetWorkspace_v2(handle, handle, 1)));
    LEAST_NS(alone, (direct.cublasSetStream_v2(handle, NULL), direct.cublasSetWorkspace_v2(handle, handle, 1)));
    check_speed("cublasSetStream and cublasSetWorkspace", through, alone);
    void *made;
    LEAST_NS(through, (cublasCreate_v2(&made), cublasDestroy_v2(made)));
    LEAST_NS(alone, (direct.cublasCreate_v2(&made), direct.cublasDestroy_v2(made)));
    check_speed("cublasCreate and cublasDestroy, nothing made", through, alone);
    remove_table();
    free_handle(handle);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
        int has_no_driver;
    } cases[] = {{"binding", case_binding, 0},
                 {"forward", case_forward, 0},
                 {"forward_lt", case_forward_lt, 0},
                 {"answer", case_answer, 0},
                 {"rules", case_rules, 0},
                 {"rules_lt", case_rules_lt, 0},
                 {"epilogue", case_epilogue, 0},
                 {"scaled", case_scaled, 0},
                 {"epilogue_emu", case_epilogue, 0},
                 {"guard", case_guard, 0},
                 {"driver", case_driver, 0},
                 {"no_driver", case_no_driver, 1},
                 {"workspace", case_workspace, 0},
                 {"workspace_parts", case_workspace_parts, 0},
                 {"workspace_large", case_workspace_large, 0},
                 {"table", case_table, 0},
                 {"both", case_both, 0},
                 {"threads", case_threads, 0},
                 {"first", case_first, 0},
                 {"fork", case_fork, 0},
                 {"off", case_off, 0},
                 {"lacking", case_lacking, 0},
                 {"getters", case_getters, 0},
                 {"no_fresh", case_no_fresh, 0},
                 {"no_context", case_no_driver, 0},
                 {"state", case_state, 0},
                 {"state_workspace", case_state_workspace, 0},
                 {"outcome", case_outcome, 0},
                 {"names", case_names, 0},
                 {"tf32_off", case_tf32_off, 0},
                 {"emulation_f32", case_emulation, 0},
                 {"emulation_f64", case_emulation, 0},
                 {"odd_environment", case_odd_environment, 0},
                 {"no_table", case_odd_environment, 0},
                 {"preferences", case_preferences, 0},
                 {"guard_of_thread", case_guard_of_thread, 0},
                 {"why", case_why, 0},
                 {"fast_sums", case_fast_sums, 0},
                 {"pool", case_pool, 0},
                 {"pool_fails", case_pool_fails, 0},
                 {"pool_unseen", case_pool_unseen, 0},
                 {"pool_fork", case_pool_fork, 0},
                 {"pool_threads", case_pool_threads, 0},
                 {"same_stream", case_same_stream, 0},
                 {"pool_borrowed", case_pool_borrowed, 0},
                 {"many_plans", case_many_plans, 0},
                 {"pool_none", case_pool_none, 0},
                 {"pool_off", case_pool_none, 0},
                 {"plans", case_plans, 0},
                 {"log", case_log, 0},
                 {"speed", case_speed, 0}};
    find_direct();
    for (size_t i = 0; argc == 2 && i < sizeof cases / sizeof cases[0]; i++)
        if (strcmp(argv[1], cases[i].name) == 0) {
            if (!cases[i].has_no_driver)
                load_driver();
            cases[i].run();
            printf("%s: %d failures\n", argv[1], failures);
            return failures != 0;
        }
    fprintf(stderr, "usage: cublas_client CASE\n");
    return 2;
}
