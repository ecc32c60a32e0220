/* What fails: the real library, its calls, and Tessera. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "client_calls.h"
#include "tessera.h"

/* ---- a library that is absent, or lacks calls ---------------------------------------------------------------------
 */

/* The functions that stand in front under the node of cuBLAS 12, which this program is not linked against. */
typedef struct front_calls {
#define MEMBER(member, symbol, parameters) tsr_cublas_status(*symbol) parameters;
    TSR_CUBLAS_CALLS(MEMBER)
    TSR_LT_CALLS(MEMBER)
#undef MEMBER
} front_calls;

static front_calls find_front(void)
{
    front_calls out;
#define FIND(member, symbol, parameters) *(void **)&out.symbol = dlvsym(RTLD_DEFAULT, #symbol, "libcublas.so.12");
    TSR_CUBLAS_CALLS(FIND)
#undef FIND
#define FIND(member, symbol, parameters) *(void **)&out.symbol = dlvsym(RTLD_DEFAULT, #symbol, "libcublasLt.so.12");
    TSR_LT_CALLS(FIND)
#undef FIND
    return out;
}

/* Everything but cublasCreate, cublasDestroy and cublasLtMatmul returns `expected`. */
static void check_all(const front_calls *front, void *handle, int expected, const char *what)
{
    static char memory[4096];
    int count = 0;
    tsr_lt_heuristic results[2];
#define H                            handle
#define P(n)                         ((void *)(memory + 16 * (n)))
#define SIGNATURE(symbol, arguments) CHECK(front->symbol arguments == expected, "%s: %s", what, #symbol);
#include "signature_calls.h"
#undef SIGNATURE
#undef H
#undef P
    CHECK(front->cublasSetStream_v2(handle, NULL) == expected, "%s: cublasSetStream", what);
    CHECK(front->cublasLtCreate(&handle) == expected, "%s: cublasLtCreate", what);
    CHECK(front->cublasLtDestroy(handle) == expected, "%s: cublasLtDestroy", what);
    CHECK(front->cublasSetWorkspace_v2(handle, memory, sizeof memory) == expected, "%s: cublasSetWorkspace", what);
    CHECK(front->cublasLtMatmulAlgoGetHeuristic(handle, memory, memory, memory, memory, memory, memory, 2, results,
                                                &count) == expected,
          "%s: cublasLtMatmulAlgoGetHeuristic", what);
}

/* A process without a cuBLAS of that node, into which one comes that lacks almost everything. */
void case_lacking(void)
{
    const front_calls front = find_front();
    const float one = 1;
    static char memory[4096];
    void *handle = memory;
#define MATMUL                                                                                                       \
    front.cublasLtMatmul(memory, memory, &one, memory, memory, memory, memory, &one, memory, memory, memory, memory, \
                         NULL, NULL, 0, NULL)
    CHECK(front.cublasCreate_v2(&handle) == TSR_CUBLAS_NOT_INITIALIZED && handle == memory, "cublasCreate of none");
    check_all(&front, handle, TSR_CUBLAS_NOT_INITIALIZED, "no library");
    CHECK(MATMUL == TSR_CUBLAS_NOT_INITIALIZED, "cublasLtMatmul of none");
    CHECK(front.cublasDestroy_v2(handle) == TSR_CUBLAS_NOT_INITIALIZED, "cublasDestroy of none");

    CHECK(dlopen(BARE, RTLD_NOW | RTLD_LOCAL) && dlopen(BARE_LT, RTLD_NOW | RTLD_LOCAL), "%s", dlerror());
    CHECK(front.cublasCreate_v2(&handle) == TSR_CUBLAS_SUCCESS && handle != memory, "it came later");
    check_all(&front, handle, TSR_CUBLAS_NOT_SUPPORTED, "a library that lacks it");
    CHECK(MATMUL == 11, "it is reached although its getters are missing");
    CHECK(front.cublasDestroy_v2(handle) == TSR_CUBLAS_SUCCESS, "cublasDestroy");
    CHECK(front.cublasDestroy_v2(NULL) == TSR_CUBLAS_NOT_INITIALIZED, "its status arrives");
#undef MATMUL
}

/* ---- getters ------------------------------------------------------------------------------------------------------
 */

/* What cannot be asked is not answered. */
void case_getters(void)
{
    static const char *const getters[] = {"cublasGetStream_v2", "cublasGetPointerMode_v2", "cublasGetMathMode",
                                          "cublasGetSmCountTarget"};
    const product narrow = product_of(BF16, BF16, TSR_CUBLAS_COMPUTE_32F, 0, 0, 8, 8, 8, 3);
    const product wide = product_of(F32, F32, TSR_CUBLAS_COMPUTE_32F, 0, 0, 8, 8, 8, 3);
    void *handle = new_handle();
    for (size_t i = 0; i < sizeof getters / sizeof getters[0]; i++) {
        orders->fails = getters[i];
        check_product(handle, &narrow, call_strided, FORWARDED, getters[i]);
        check_product(handle, &wide, call_strided, FORWARDED, getters[i]);
    }
    orders->fails = NULL;
    check_product(handle, &narrow, call_strided, ANSWERED, "as before");

    /* Every attribute of a batch's descriptor and layouts is read. */
    fake_orders *lt = fake_cublaslt_orders();
    check_product(handle, &narrow, call_lt, ANSWERED, "cublasLt");
    lt_product some = make_lt(&narrow);
    char what[64];
    int count = 0;
    for (int i = 0; i < 2 * FAKE_LAYOUTS; i++) {
        size_t bytes = 0;
        if ((i < FAKE_LAYOUTS
                 ? direct.cublasLtMatmulDescGetAttribute(some.desc, i, NULL, 0, &bytes)
                 : direct.cublasLtMatrixLayoutGetAttribute(some.a, i - FAKE_LAYOUTS, NULL, 0, &bytes)) != 0)
            continue;
        count++;
        snprintf(what, sizeof what, "attribute %d", i);
        lt->attribute_fails = 1 + i;
        for (lt->is_short = 0; lt->is_short < 2; lt->is_short++)
            check_product(handle, &narrow, call_lt, FORWARDED, what);
    }
    CHECK(count == 35 + 10, "%d attributes", count);
    lt->attribute_fails = lt->is_short = 0;
    check_product(handle, &narrow, call_lt, ANSWERED, "cublasLt, as before");
    free_lt(&some);
    free_handle(handle);
}

/* Where no fresh descriptor can be made, nothing of cublasLt is answered: what a default is stays unknown. */
void case_no_fresh(void)
{
    void *handle = new_handle();
    const product p = product_of(F32, F32, TSR_CUBLAS_COMPUTE_32F, 0, 0, 8, 8, 8, 1);
    lt_product lt = make_lt(&p);
    void *a = operand(F32, 200, 1), *b = operand(F32, 200, 2), *c = operand(F32, 200, 3);
    const float one = 1;
    for (int i = 0; i < 2; i++) {
        fake_cublaslt_orders()->fails = i == 0 ? "cublasLtMatmulDescCreate" : NULL;
        CHECK(cublasLtMatmul(handle, lt.desc, &one, a, lt.a, b, lt.b, &one, c, lt.c, c, lt.c, NULL, NULL, 0, NULL) ==
                      0 &&
                  lt_record->calls == 1 + i,
              "call %d reaches cuBLAS", i);
    }
    check_product(handle, &p, call_ex, ANSWERED, "others are answered");
    free_lt(&lt);
    free(a);
    free(b);
    free(c);
    free_handle(handle);
}

/* ---- state that a failed call must not leave ----------------------------------------------------------------------
 */

void case_state(void)
{
    driver->ordinal = 1;
    void *handle = new_handle(), *again = handle;
    const product p = product_of(BF16, BF16, TSR_CUBLAS_COMPUTE_32F, 0, 1, 8, 8, 8, 1);
    driver->ordinal = 2;
    orders->fails = "cublasCreate_v2";
    CHECK(cublasCreate_v2(&again) == FAKE_FAILURE && again == handle, "cublasCreate");
    driver->ordinal = 1;
    orders->fails = NULL;
    check_product(handle, &p, call_ex, ANSWERED, "the handle is one of the first GPU still");

    /* An algorithm of a heuristic that failed is unknown. */
    lt_product lt = make_lt(&p);
    void *a = operand(BF16, 200, 1), *b = operand(BF16, 200, 2), *c = operand(BF16, 200, 3);
    const float one = 1;
    tsr_lt_heuristic found[2];
    int count = 0;
    fake_cublaslt_orders()->fails = "cublasLtMatmulAlgoGetHeuristic";
    CHECK(cublasLtMatmulAlgoGetHeuristic(handle, lt.desc, lt.a, lt.b, lt.c, lt.c, NULL, 1, found, &count) ==
                  FAKE_FAILURE &&
              count == 1,
          "cublasLtMatmulAlgoGetHeuristic");
#define MATMUL(handle_) \
    cublasLtMatmul(handle_, lt.desc, &one, a, lt.a, b, lt.b, &one, c, lt.c, c, lt.c, &found[0].algo, NULL, 0, NULL)
    CHECK(MATMUL(handle) == 0 && lt_record->calls == 1, "its algorithm");
    fake_cublaslt_orders()->fails = NULL;
    CHECK(cublasLtMatmulAlgoGetHeuristic(handle, lt.desc, lt.a, lt.b, lt.c, lt.c, NULL, 1, found, &count) == 0,
          "a heuristic that succeeds");
    CHECK(MATMUL(handle) == 0 && lt_record->calls == 1, "the same algorithm is known now");
    CHECK(MATMUL(NULL) == TSR_CUBLAS_NOT_INITIALIZED && lt_record->calls == 2, "no handle");
#undef MATMUL
    CHECK(cublasSetStream_v2(NULL, NULL) == TSR_CUBLAS_NOT_INITIALIZED, "cublasSetStream without a handle");
    CHECK(cublasDestroy_v2(NULL) == TSR_CUBLAS_NOT_INITIALIZED, "cublasDestroy without a handle");
    free_lt(&lt);
    free(a);
    free(b);
    free(c);
    free_handle(handle);
}

/* In the emulator, where kernels need workspace, and no memory for a pool. */
void case_state_workspace(void)
{
    static char given[8 << 20];
    driver->has_no_memory = 1;
    void *handle = new_handle();
    const product p = product_of(F32, F32, TSR_CUBLAS_COMPUTE_32F, 1, 0, 8, 4, 1024, 1);
    orders->fails = "cublasSetWorkspace_v2";
    CHECK(cublasSetWorkspace_v2(handle, given, sizeof given) == FAKE_FAILURE, "cublasSetWorkspace");
    check_product(handle, &p, call_ex, FORWARDED, "a workspace that cuBLAS did not take");
    orders->fails = NULL;
    CHECK(cublasSetWorkspace_v2(handle, given, sizeof given) == 0, "cublasSetWorkspace");
    check_product(handle, &p, call_ex, ANSWERED, "one that it took");
    orders->fails = "cublasSetStream_v2";
    CHECK(cublasSetStream_v2(handle, client_places) == FAKE_FAILURE, "cublasSetStream");
    check_product(handle, &p, call_ex, ANSWERED, "a stream that cuBLAS did not take leaves the workspace");
    orders->fails = NULL;
    CHECK(cublasSetStream_v2(handle, NULL) == 0, "cublasSetStream");
    check_product(handle, &p, call_ex, FORWARDED, "one that it took does not");
    free_handle(handle);
}

/* ---- Tessera fails ------------------------------------------------------------------------------------------------
 */

static tsr_status run_status; /* what every run comes to; TSR_OK: it is made */
static int spoils;            /* runs that fail have written to D */

/* In front of the library's. */
__attribute__((visibility("default"))) tsr_status tsr_plan_run(tsr_plan *plan, const tsr_run_args *args)
{
    tsr_status (*real)(tsr_plan * plan, const tsr_run_args *args);
    if (run_status != TSR_OK) {
        if (spoils)
            memset(args->d, 0x3f, 16);
        return run_status;
    }
    *(void **)&real = dlsym(RTLD_NEXT, "tsr_plan_run");
    return real(plan, args);
}

/* A product that reads D in place: nobody can compute it anew. */
static void check_lost(void *handle, const product *p, call_product *call, int expected_status, int expected_calls)
{
    void *a = operand(F32, 200, 1), *b = operand(F32, 200, 2), *c = operand(F32, 200, 3);
    const factor alpha = factor_of(1, p->compute), beta = factor_of(1, p->compute);
    const int before = calls_seen();
    const int status = call(handle, p, &alpha, &beta, a, b, c, 0);
    CHECK(status == expected_status && calls_seen() - before == expected_calls, "run %d: status %d, %d calls",
          (int)run_status, status, calls_seen() - before);
    free(a);
    free(b);
    free(c);
}

void case_outcome(void)
{
    static const tsr_status late[] = {TSR_NO_DEVICE,    TSR_OUT_OF_MEMORY, TSR_DRIVER_ERROR,
                                      TSR_KERNEL_FAULT, TSR_IO_ERROR,      TSR_INTERNAL};
    static const tsr_status early[] = {TSR_INVALID_ARGUMENT, TSR_UNSUPPORTED};
    void *handle = new_handle();
    const product fresh = product_of(F32, F32, TSR_CUBLAS_COMPUTE_32F, 0, 1, 8, 8, 8, 1);
    product adds = fresh;
    adds.beta = 1;
    for (size_t i = 0; i < sizeof late / sizeof late[0]; i++) {
        run_status = late[i];
        spoils = 1;
        check_product(handle, &fresh, call_ex, FORWARDED, "D is not read");
        check_product(handle, &fresh, call_lt, FORWARDED, "D is not read");
        check_lost(handle, &adds, call_ex, TSR_CUBLAS_EXECUTION_FAILED, 0);
        check_lost(handle, &adds, call_lt, TSR_CUBLAS_EXECUTION_FAILED, 0);
    }
    /* D apart from C. */
    lt_product lt = make_lt(&adds);
    void *a = operand(F32, 200, 1), *b = operand(F32, 200, 2), *c = operand(F32, 200, 3), *d = operand(F32, 200, 4),
         *reference = operand(F32, 200, 4);
    const float one = 1;
    const int before = calls_seen();
    CHECK(cublasLtMatmul(handle, lt.desc, &one, a, lt.a, b, lt.b, &one, c, lt.c, d, lt.c, NULL, NULL, 0, NULL) == 0 &&
              calls_seen() == before + 1,
          "C is whole, and cuBLAS computes the product");
    direct.cublasLtMatmul(handle, lt.desc, &one, a, lt.a, b, lt.b, &one, c, lt.c, reference, lt.c, NULL, NULL, 0, NULL);
    CHECK(memcmp(d, reference, (size_t)(8 * fresh.ldc - 2) * sizeof(float)) == 0, "its result");
    for (size_t i = 0; i < sizeof early / sizeof early[0]; i++) {
        run_status = early[i];
        spoils = 0;
        check_product(handle, &adds, call_ex, FORWARDED, "nothing was written");
        check_product(handle, &adds, call_lt, FORWARDED, "nothing was written");
    }
    run_status = TSR_OK;
    check_product(handle, &adds, call_ex, ANSWERED, "as before");
    free_lt(&lt);
    free(a);
    free(b);
    free(c);
    free(d);
    free(reference);
    free_handle(handle);
}
