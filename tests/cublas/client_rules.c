/* The rules of docs/CUBLAS.md one by one: which names are answered, what the environment and a heuristic's preference
 * forbid, and what the call log says. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client_calls.h"

/* ---- names --------------------------------------------------------------------------------------------------------
 */

/* Every name that docs/CUBLAS.md calls answered. */
void case_names(void)
{
    void *handle = new_handle();
    const product p = product_of(F32, F32, TSR_CUBLAS_COMPUTE_32F, 0, 1, 6, 5, 4, 1);
    const product wide = product_of(F64, F64, TSR_CUBLAS_COMPUTE_64F, 0, 1, 6, 5, 4, 1);
    const product half = product_of(F16, F16, TSR_CUBLAS_COMPUTE_16F, 0, 1, 6, 5, 4, 1);
    const factor one_16 = factor_of(1, TSR_CUBLAS_COMPUTE_16F);
    const float one = 1;
    const double one_64 = 1;
    void *a = operand(F64, 200, 1), *b = operand(F64, 200, 2), *c = operand(F64, 200, 3), *d = operand(F64, 200, 3);
    int count = 0;
#define SIZES(p)      handle, p.trans_a, p.trans_b, (int)p.m, (int)p.n, (int)p.k
#define LD(p, which)  (int)p.ld##which
#define TYPED(p, one) (SIZES(p), &one, a, LD(p, a), b, LD(p, b), &one, to, LD(p, c))
#define STRIDED(p, one) \
    (SIZES(p), &one, a, LD(p, a), p.stride_a, b, LD(p, b), p.stride_b, &one, to, LD(p, c), p.stride_c, 2)
#define CALL(symbol, arguments)                                                                                \
    do {                                                                                                       \
        const int before = calls_seen();                                                                       \
        void *to = c;                                                                                          \
        CHECK(symbol arguments == 0 && calls_seen() == before, #symbol " is not answered");                    \
        to = d;                                                                                                \
        CHECK(direct.symbol arguments == 0 && memcmp(c, d, 200 * 8) == 0, #symbol " computes something else"); \
        count++;                                                                                               \
    } while (0)
#define BOTH(symbol, arguments) \
    CALL(symbol, arguments);    \
    CALL(symbol##_64, arguments)
    BOTH(cublasGemmEx, (SIZES(p), &one, a, F32, LD(p, a), b, F32, LD(p, b), &one, to, F32, LD(p, c), p.compute, -1));
    BOTH(cublasGemmStridedBatchedEx, (SIZES(p), &one, a, F32, LD(p, a), p.stride_a, b, F32, LD(p, b), p.stride_b, &one,
                                      to, F32, LD(p, c), p.stride_c, 2, p.compute, -1));
    BOTH(cublasSgemmEx, (SIZES(p), &one, a, F32, LD(p, a), b, F32, LD(p, b), &one, to, F32, LD(p, c)));
    BOTH(cublasSgemm_v2, TYPED(p, one));
    BOTH(cublasDgemm_v2, TYPED(wide, one_64));
    BOTH(cublasHgemm, TYPED(half, one_16));
    BOTH(cublasSgemmStridedBatched, STRIDED(p, one));
    BOTH(cublasDgemmStridedBatched, STRIDED(wide, one_64));
    BOTH(cublasHgemmStridedBatched, STRIDED(half, one_16));
    CHECK(count == 18, "%d names", count);
    free(a);
    free(b);
    free(c);
    free(d);
    free_handle(handle);
}

/* ---- the environment ----------------------------------------------------------------------------------------------
 */

/* NVIDIA_TF32_OVERRIDE=0: f32 is multiplied as f32, whatever a call allows. */
void case_tf32_off(void)
{
    void *handle = new_handle();
    product p = product_of(F32, F32, TSR_CUBLAS_COMPUTE_32F_FAST_TF32, 0, 0, 128, 128, 128, 1);
    check_product(handle, &p, call_ex, ANSWERED, "the compute type allows TF32");
    check_product(handle, &p, call_lt, ANSWERED, "the compute type allows TF32");
    p.compute = TSR_CUBLAS_COMPUTE_32F;
    cublasSetMathMode(handle, TSR_CUBLAS_TF32_MATH);
    check_product(handle, &p, call_ex, ANSWERED, "the math mode allows TF32");
    free_handle(handle);
}

/* CUBLAS_EMULATE_SINGLE_PRECISION=1 or CUBLAS_EMULATE_DOUBLE_PRECISION=1, one of them. */
void case_emulation(void)
{
    void *handle = new_handle();
    const int is_single = getenv("CUBLAS_EMULATE_SINGLE_PRECISION") != NULL;
    const product f32 = product_of(F32, F32, TSR_CUBLAS_COMPUTE_32F, 0, 0, 8, 8, 8, 1),
                  f64 = product_of(F64, F64, TSR_CUBLAS_COMPUTE_64F, 0, 0, 8, 8, 8, 1),
                  bf16 = product_of(BF16, BF16, TSR_CUBLAS_COMPUTE_32F, 0, 0, 8, 8, 8, 1);
    check_product(handle, &f32, call_ex, is_single ? FORWARDED : ANSWERED, "f32");
    check_product(handle, &f32, call_lt, is_single ? FORWARDED : ANSWERED, "f32");
    check_product(handle, &f64, call_ex, is_single ? ANSWERED : FORWARDED, "f64");
    check_product(handle, &f64, call_lt, is_single ? ANSWERED : FORWARDED, "f64");
    check_product(handle, &bf16, call_ex, ANSWERED, "bf16");
    free_handle(handle);
}

/* TESSERA_CUBLAS and TESSERA_CUBLAS_WORKSPACE_MIB with values of no use count as not set: auto, and the usual pool. A
 * table that cannot be read has no lines. */
void case_odd_environment(void)
{
    const int has_table = getenv("TESSERA_CUBLAS_TABLE") != NULL;
    if (!has_table)
        write_table("H200\t13.1\tf32\tnn\t4,4,8\t8\t8\t8\t1\t2.500\t2.400\t2026-11-24\n");
    void *handle = new_handle();
    product p = product_of(F32, F32, TSR_CUBLAS_COMPUTE_32F, 0, 0, 8, 8, 8, 1);
    check_product(handle, &p, call_ex, has_table ? FORWARDED : ANSWERED, "a line of the table");
    CHECK(driver->allocated_bytes == (has_table ? 0 : (size_t)128 << 20), "a pool of %zu bytes",
          driver->allocated_bytes);
    p.m = 7;
    check_product(handle, &p, call_ex, FORWARDED, "no line of the table");
    if (!has_table)
        remove_table();
    free_handle(handle);
}

/* ---- heuristics ---------------------------------------------------------------------------------------------------
 */

/* An algorithm that a heuristic gave under a preference. n tells algorithms apart: the pretended heuristic puts the
 * number of rows into them. */
static void check_preference(int rows, int attribute, uint64_t value, size_t bytes, int expected, const char *what)
{
    const product p = product_of(BF16, BF16, TSR_CUBLAS_COMPUTE_32F, 0, 1, rows, 8, 8, 1);
    void *handle = new_handle(), *preference = NULL;
    lt_product lt = make_lt(&p);
    void *a = operand(BF16, 1000, 1), *b = operand(BF16, 1000, 2), *c = operand(BF16, 1000, 3);
    const float one = 1;
    tsr_lt_heuristic found[1];
    int count = 0;
    CHECK(cublasLtMatmulPreferenceCreate(&preference) == 0, "preference");
    CHECK(attribute < 0 || cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, bytes) == 0,
          "%s cannot be set", what);
    const int before = lt_record->calls;
    CHECK(cublasLtMatmulAlgoGetHeuristic(handle, lt.desc, lt.a, lt.b, lt.c, lt.c, preference, 1, found, &count) == 0 &&
              count == 1,
          "heuristic");
    CHECK(cublasLtMatmul(handle, lt.desc, &one, a, lt.a, b, lt.b, &one, c, lt.c, c, lt.c, &found[0].algo, NULL, 0,
                         NULL) == 0,
          "product");
    CHECK(lt_record->calls - before == (expected == FORWARDED), "%s", what);
    cublasLtMatmulPreferenceDestroy(preference);
    free_lt(&lt);
    free(a);
    free(b);
    free(c);
    free_handle(handle);
}

/* What a preference forbids, Tessera must not do either: it adds parts of K in the type of the sums. */
void case_preferences(void)
{
    check_preference(1, -1, 0, 0, ANSWERED, "a fresh preference");
    check_preference(2, 0, 1, 4, ANSWERED, "search mode");
    check_preference(3, TSR_LT_PREFERENCE_WORKSPACE_BYTES, 1 << 20, 8, ANSWERED, "workspace");
    check_preference(4, TSR_LT_PREFERENCE_ALIGN_A, 16, 4, ANSWERED, "alignment of A");
    check_preference(5, TSR_LT_PREFERENCE_ALIGN_D, 2, 4, ANSWERED, "alignment of D");
    check_preference(6, TSR_LT_PREFERENCE_REDUCTIONS, 2, 4, ANSWERED, "parts of K in the type of the sums");
    check_preference(7, TSR_LT_PREFERENCE_REDUCTIONS, 0, 4, FORWARDED, "no parts of K");
    check_preference(8, TSR_LT_PREFERENCE_REDUCTIONS, 1, 4, FORWARDED, "parts of K in place alone");
    check_preference(9, TSR_LT_PREFERENCE_REDUCTIONS, 4, 4, FORWARDED, "parts of K in D's type alone");
    check_preference(10, 9, 0x3f800000, 4, FORWARDED, "at most one wave");
    check_preference(11, 12, 2, 8, FORWARDED, "implementations");
    check_preference(12, 13, 1, 4, FORWARDED, "an attribute of a later version");
    fake_orders *lt = fake_cublaslt_orders();
    lt->attribute_fails = 1 + FAKE_PREFERENCES + TSR_LT_PREFERENCE_REDUCTIONS;
    check_preference(13, -1, 0, 0, FORWARDED, "a preference that cannot be read");
    lt->attribute_fails = 0;
    /* The same algorithm once more: it is one thing to cuBLAS, whatever it was given for. */
    check_preference(6, TSR_LT_PREFERENCE_REDUCTIONS, 0, 4, FORWARDED, "known, and forbidden now");
    check_preference(6, -1, 0, 0, FORWARDED, "forbidden, and allowed now");
    check_preference(14, -1, 0, 0, ANSWERED, "as before");
}

/* ---- threads ------------------------------------------------------------------------------------------------------
 */

static void *answered_elsewhere(void *user)
{
    const product p = product_of(F32, F32, TSR_CUBLAS_COMPUTE_32F, 0, 0, 8, 8, 8, 1);
    void *handle = new_handle();
    check_product(handle, &p, call_ex, ANSWERED, "another thread, while the first is within cuBLAS");
    free_handle(handle);
    return user;
}

static int inner_calls;

static void within_cublas(void)
{
    pthread_t thread;
    const product p = product_of(F32, F32, TSR_CUBLAS_COMPUTE_32F, 0, 0, 8, 8, 8, 1);
    void *handle = new_handle();
    fake_cublaslt_orders()->at_desc_create = NULL;
    inner_calls++;
    check_product(handle, &p, call_ex, FORWARDED, "the same thread, within cuBLAS");
    CHECK(pthread_create(&thread, NULL, answered_elsewhere, NULL) == 0 && pthread_join(thread, NULL) == 0, "thread");
    free_handle(handle);
}

/* The guard against calls of the real library's own is one of the thread, not of the process. */
void case_guard_of_thread(void)
{
    void *handle = new_handle();
    const product p = product_of(F32, F32, TSR_CUBLAS_COMPUTE_32F, 0, 0, 8, 8, 8, 1);
    lt_product lt = make_lt(&p); /* before the callback is there */
    void *a = operand(F32, 200, 1), *b = operand(F32, 200, 2), *c = operand(F32, 200, 3);
    const float one = 1;
    alarm(60);
    fake_cublaslt_orders()->at_desc_create = within_cublas; /* the first call makes a fresh descriptor */
    const int before = lt_record->calls;
    CHECK(cublasLtMatmul(handle, lt.desc, &one, a, lt.a, b, lt.b, &one, c, lt.c, c, lt.c, NULL, NULL, 0, NULL) == 0 &&
              lt_record->calls == before,
          "the outer call is answered");
    CHECK(inner_calls == 1, "%d calls within", inner_calls);
    free_lt(&lt);
    free(a);
    free(b);
    free(c);
    free_handle(handle);
}

/* ---- the reason in the log ----------------------------------------------------------------------------------------
 */

static void check_why(const char *expected, const char *what)
{
    char found[64];
    last_of_log("why", found, sizeof found);
    CHECK(strcmp(found, expected) == 0, "%s: why=%s", what, found);
}

/* The first rule that does not hold, by its word. */
void case_why(void)
{
    start_log();
    void *handle = new_handle();
    const product plain = product_of(BF16, BF16, TSR_CUBLAS_COMPUTE_32F, 0, 0, 8, 8, 8, 1);
    product p = plain;
    check_product(handle, &p, call_ex, ANSWERED, "plain");
    check_why("always", "plain");
    p.compute = 65;
    check_product(handle, &p, call_ex, FORWARDED, "types");
    check_why("types", "compute type");
    p = plain;
    cublasSetMathMode(handle, 2);
    check_product(handle, &p, call_ex, FORWARDED, "math mode");
    check_why("math-mode", "math mode");
    cublasSetMathMode(handle, 0);
    cublasSetPointerMode_v2(handle, 1);
    check_product(handle, &p, call_ex, FORWARDED, "pointer mode");
    check_why("pointer-mode", "pointer mode");
    cublasSetPointerMode_v2(handle, 0);
    cublasSetSmCountTarget(handle, 8);
    check_product(handle, &p, call_ex, FORWARDED, "SM count target");
    check_why("sm-count-target", "SM count target");
    cublasSetSmCountTarget(handle, 0);
    driver->ordinal = 2;
    check_product(handle, &p, call_ex, FORWARDED, "device");
    check_why("device", "another GPU than the handle's");
    driver->ordinal = -1;
    check_product(handle, &p, call_ex, FORWARDED, "device");
    check_why("device", "no context");
    driver->ordinal = 0;
    p = product_of(BF16, BF16, TSR_CUBLAS_COMPUTE_32F, 0, 0, 9, 9, 9, 1);
    driver->capturing = 1;
    check_product(handle, &p, call_ex, FORWARDED, "capture");
    check_why("capture", "a captured shape without a plan");
    driver->capturing = 0;
    p = product_of(F32, F32, TSR_CUBLAS_COMPUTE_32F_FAST_TF32, 0, 0, 128, 128, 128, 1);
    check_product(handle, &p, call_ex, ANSWERED, "TF32 on a CPU, which sums in f32");

    void *a = operand(BF16, 200, 1), *b = operand(BF16, 200, 2), *c = operand(BF16, 200, 3);
    const float one = 1;
    cublasGemmEx(handle, 0, 0, 8, 8, 8, &one, a, BF16, 8, b, BF16, 8, &one, c, BF16, 8, 68, 3);
    check_why("algorithm", "an algorithm of the caller's");
    cublasGemmEx(handle, 0, 0, 8, 8, 8, &one, a, BF16, 8, b, BF16, 8, &one, a, BF16, 8, 68, -1);
    check_why("failed", "operands that overlap");
    cublasGemmEx(handle, 0, 0, 0, 8, 8, &one, a, BF16, 8, b, BF16, 8, &one, c, BF16, 8, 68, -1);
    check_why("arguments", "nothing to do");
    cublasGemmEx(NULL, 0, 0, 8, 8, 8, &one, a, BF16, 8, b, BF16, 8, &one, c, BF16, 8, 68, -1);
    check_why("handle", "no handle");

    static const struct {
        int in_desc, attribute;
        uint64_t value;
        size_t bytes;
        const char *why;
    } settings[] = {{1, TSR_LT_EPILOGUE, 32, 4, "epilogue"},
                    {1, TSR_LT_POINTER_MODE, 1, 4, "pointer-mode"},
                    {1, 15, 8, 4, "attribute"}, /* SM count target */
                    {1, 11, 8, 8, "attribute"}, /* what an epilogue keeps beside D */
                    {1, TSR_LT_FAST_ACCUM, 1, 1, "attribute"},
                    {1, 45, 6, 8, "attribute"},
                    {1, TSR_LT_SCALE_TYPE, F16, 4, "types"},
                    {0, TSR_LT_LAYOUT_ORDER, 1, 4, "order"},
                    {0, TSR_LT_LAYOUT_TYPE, F32, 4, "types"},
                    {0, TSR_LT_LAYOUT_COLS, 7, 8, "arguments"},
                    {0, 45, 6, 8, "attribute"}};
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        lt_product lt = make_lt(&plain);
        CHECK((settings[i].in_desc ? cublasLtMatmulDescSetAttribute : cublasLtMatrixLayoutSetAttribute)(
                  settings[i].in_desc ? lt.desc : lt.b, settings[i].attribute, &settings[i].value, settings[i].bytes) ==
                  0,
              "setting %zu", i);
        cublasLtMatmul(handle, lt.desc, &one, a, lt.a, b, lt.b, &one, c, lt.c, c, lt.c, NULL, NULL, 0, NULL);
        check_why(settings[i].why, settings[i].in_desc ? "descriptor" : "layout");
        free_lt(&lt);
    }
    const tsr_lt_algo algo = {{1}};
    lt_product lt = make_lt(&plain);
    cublasLtMatmul(handle, lt.desc, &one, a, lt.a, b, lt.b, &one, c, lt.c, c, lt.c, &algo, NULL, 0, NULL);
    check_why("algorithm", "an algorithm that no heuristic gave");
    free_lt(&lt);
    free(a);
    free(b);
    free(c);
    free_handle(handle);
    end_log();
}
