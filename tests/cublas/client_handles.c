/* What is made with a handle: workspace, and plans of the table's own shapes. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client_calls.h"

enum { POOL_BYTES = 128 << 20, GIVEN_BYTES = 32 << 20 };

static void *new_lt_handle(void)
{
    void *handle = NULL;
    CHECK(cublasLtCreate(&handle) == 0 && handle, "no handle of cublasLt");
    return handle;
}

static void check_memory(int allocations, int frees, const char *what)
{
    CHECK(driver->allocations == allocations && driver->frees == frees, "%s: %d allocations, %d freed", what,
          driver->allocations, driver->frees);
    CHECK(driver->allocated_bytes == (size_t)allocations * POOL_BYTES, "%s: %zu bytes", what, driver->allocated_bytes);
    CHECK(driver->freed_elsewhere == 0, "%s: freed without its context", what);
    CHECK(driver->mode == 0, "%s: the capture mode is %d", what, driver->mode);
}

/* On the emulator: few tiles and a long K, so that K is split, which needs workspace. */
static product split_product(void)
{
    return product_of(F32, F32, TSR_CUBLAS_COMPUTE_32F, 1, 0, 8, 4, 1024, 1);
}

/* The first handle on a GPU makes the pool, the last one's end frees it. */
void case_pool(void)
{
    const product p = split_product();
    void *first = new_handle();
    check_memory(1, 0, "the first handle");
    void *second = new_handle(), *lt = new_lt_handle();
    check_memory(1, 0, "more of them");
    check_product(first, &p, call_ex, ANSWERED, "a product");
    check_memory(1, 0, "no product allocates");
    free_handle(first);
    free_handle(second);
    check_memory(1, 0, "one of cublasLt is left");
    check_product(lt, &p, call_lt, ANSWERED, "its product");
    driver->ordinal = -1; /* and nothing is current when it ends */
    CHECK(cublasLtDestroy(lt) == 0, "cublasLtDestroy");
    check_memory(1, 1, "the last one's end");
    driver->ordinal = 0;
    driver->zeroed = 0;
    void *again = new_handle();
    check_memory(2, 1, "a handle after that");
    check_product(again, &p, call_ex, ANSWERED, "its product");
    CHECK(driver->zeroed == 1, "the new pool's counters are zeroed");

    driver->ordinal = 2;
    void *other = new_handle();
    check_memory(3, 1, "another GPU");
    driver->ordinal = 0;
    free_handle(other);
    check_memory(3, 2, "its handle ends while this GPU is current");
    orders->fails = "cublasCreate_v2";
    void *none;
    CHECK(cublasCreate_v2(&none) == FAKE_FAILURE, "cublasCreate");
    orders->fails = NULL;
    free_handle(again);
    check_memory(3, 3, "a handle that was not made counts for nothing");
    driver->is_foreign = 1;
    free_handle(new_handle());
    check_memory(3, 3, "another context than the primary one");
}

/* Without memory for a pool, the caller's workspace serves; no product asks again, the next handle does. */
void case_pool_fails(void)
{
    static char given[8 << 20];
    const product p = split_product();
    driver->has_no_memory = 1;
    void *handle = new_handle();
    driver->has_no_memory = 0;
    check_product(handle, &p, call_ex, FORWARDED, "no pool");
    CHECK(driver->allocations == 1, "%d allocations", driver->allocations);
    CHECK(cublasSetWorkspace_v2(handle, given, sizeof given) == 0, "workspace");
    check_product(handle, &p, call_ex, ANSWERED, "the caller's");
    CHECK(cublasSetStream_v2(handle, NULL) == 0, "stream");
    void *second = new_handle();
    CHECK(driver->allocations == 2, "%d allocations", driver->allocations);
    check_product(handle, &p, call_ex, ANSWERED, "the pool that the second handle made");
    free_handle(handle);
    CHECK(driver->frees == 0, "the second handle has it still");
    free_handle(second);
    CHECK(driver->frees == 1, "%d freed", driver->frees);
}

/* A handle that was made out of sight: the pool comes with its first product that needs one, and stays. */
void case_pool_unseen(void)
{
    const product p = split_product();
    void *handle = NULL;
    CHECK(direct.cublasCreate_v2(&handle) == 0, "a handle");
    check_memory(0, 0, "nobody saw it");
    check_product(handle, &p, call_ex, ANSWERED, "a product");
    check_memory(1, 0, "its pool");
    free_handle(new_handle());
    check_memory(1, 0, "the pool of a handle that nobody sees end");
    check_product(handle, &p, call_ex, ANSWERED, "a product");
    check_memory(1, 0, "the same pool");
    CHECK(direct.cublasDestroy_v2(handle) == 0, "destroy");
}

/* The child of a fork, in which CUDA does not work, leaves the driver alone. */
void case_pool_fork(void)
{
    void *handle = new_handle();
    int state = 0;
    const pid_t child = fork();
    if (child == 0) {
        driver->ordinal = -1;
        free_handle(handle);
        free_handle(new_handle());
        check_memory(1, 0, "child");
        _exit(failures != 0);
    }
    CHECK(child > 0 && waitpid(child, &state, 0) == child && WIFEXITED(state) && WEXITSTATUS(state) == 0, "child");
    free_handle(handle);
    check_memory(1, 1, "parent");
}

static void *make_handles(void *user)
{
    const product p = split_product();
    const float one = 1, zero = 0;
    void *a = operand(F32, p.stride_a, 1), *b = operand(F32, p.stride_b, 2), *c = operand(F32, p.stride_c, 3);
    for (int i = 0; i < 8; i++) {
        void *handle = i % 2 ? new_lt_handle() : new_handle();
        if (i % 2 == 0) { /* each thread on a stream of its own */
            CHECK(cublasSetStream_v2(handle, user) == 0, "stream");
            CHECK(call_ex(handle, &p, &one, &zero, a, b, c, 0) == 0, "product");
        }
        CHECK((i % 2 ? cublasLtDestroy(handle) : cublasDestroy_v2(handle)) == 0, "destroy");
    }
    free(a);
    free(b);
    free(c);
    return NULL;
}

void case_pool_threads(void)
{
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, make_handles, client_places + i) == 0, "thread");
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    CHECK(driver->allocations == driver->frees && driver->allocations > 0, "%d allocations, %d freed",
          driver->allocations, driver->frees);
    CHECK(driver->freed_elsewhere == 0 && calls_seen() == 0, "%d calls reached cuBLAS", calls_seen());
}

/* Threads with a handle each and one stream: the launches of a plan that copies unaligned operands stay together. */
static void *multiply_on_one_stream(void *user)
{
    enum { N = 33, K = 129, PRODUCTS = 40 };
    const double value = *(const double *)user;
    const float one = 1, zero = 0;
    void *handle = new_handle();
    void *a = operand(BF16, N * K, 1), *b = operand(BF16, N * K, 2), *c = operand(F32, N * N, 3);
    for (int64_t i = 0; i < N * K; i++) {
        fake_put(a, BF16, i, value);
        fake_put(b, BF16, i, 1);
    }
    for (int i = 0; i < PRODUCTS; i++) {
        int wrong = 0;
        CHECK(cublasGemmEx(handle, 0, 0, N, N, K, &one, a, BF16, N, b, BF16, K, &zero, c, F32, N,
                           TSR_CUBLAS_COMPUTE_32F, -1) == 0,
              "product");
        for (int j = 0; j < N * N; j++)
            wrong += ((const float *)c)[j] != (float)(K * value);
        CHECK(wrong == 0, "product %d: %d elements are another thread's", i, wrong);
    }
    free_handle(handle);
    free(a);
    free(b);
    free(c);
    return NULL;
}

void case_same_stream(void)
{
    enum { THREADS = 3 };
    static double values[THREADS] = {1, 2, 4};
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, multiply_on_one_stream, &values[i]) == 0, "thread");
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    CHECK(calls_seen() == 0, "%d calls reached cuBLAS", calls_seen());
}

/* A handle that was made without a context uses the pool of others, whose end does not free it. */
void case_pool_borrowed(void)
{
    const product p = split_product();
    driver->ordinal = -1;
    void *borrower = new_handle();
    driver->ordinal = 0;
    void *other = new_handle();
    check_product(borrower, &p, call_ex, ANSWERED, "another's pool");
    check_memory(1, 0, "another's pool");
    free_handle(other);
    check_memory(1, 0, "the other one is gone");
    check_product(borrower, &p, call_ex, ANSWERED, "the pool is still there");
    check_memory(1, 0, "the pool is still there");
    free_handle(borrower);
}

/* However many shapes a program has, one that was called before may be captured. */
void case_many_plans(void)
{
    enum { SHAPES = 4200, M = 8, N = 2, K = 2 };
    const float one = 1, zero = 0;
    void *handle = new_handle();
    void *a = operand(F32, (int64_t)(M + SHAPES) * K, 1), *b = operand(F32, K * N, 2), *c = operand(F32, M * N, 3);
    for (int i = 0; i <= SHAPES; i++) {
        driver->capturing = i == SHAPES;
        const int lda = M + (i == SHAPES ? i - 1 : i);
        CHECK(cublasGemmEx(handle, 0, 0, M, N, K, &one, a, F32, lda, b, F32, K, &zero, c, F32, M,
                           TSR_CUBLAS_COMPUTE_32F, -1) == 0,
              "product");
    }
    CHECK(calls_seen() == 0, "%d calls reached cuBLAS", calls_seen());
    driver->capturing = 0;
    free_handle(handle);
    free(a);
    free(b);
    free(c);
}

/* Nothing is made where nothing is answered: switched off, or without a line for the GPU. */
void case_pool_none(void)
{
    driver->chip = "NVIDIA L4";
    void *handle = new_handle(), *lt = new_lt_handle();
    const product p = split_product();
    check_product(handle, &p, call_ex, FORWARDED, "nothing is answered");
    check_product(lt, &p, call_lt, FORWARDED, "nothing is answered");
    check_memory(0, 0, "nothing is answered");
    CHECK(cublasLtDestroy(lt) == 0, "destroy");
    free_handle(handle);
}

/* ---- plans --------------------------------------------------------------------------------------------------------
 */

static int call_lt_given(void *handle, const product *p, const void *alpha, const void *beta, const void *a,
                         const void *b, void *c, int is_direct)
{
    static _Alignas(256) char given[GIVEN_BYTES];
    lt_product lt = make_lt(p);
    const int status = (is_direct ? direct.cublasLtMatmul : cublasLtMatmul)(
        handle, lt.desc, alpha, a, lt.a, b, lt.b, beta, c, lt.c, c, lt.c, NULL, given, sizeof given, NULL);
    free_lt(&lt);
    return status;
}

/* A product whose operands lie tight, as PyTorch's do. */
static product tight_product(int type, int trans_a, int64_t m, int64_t n, int64_t k, int batch)
{
    product p = product_of(type, type, TSR_CUBLAS_COMPUTE_32F, trans_a, 0, m, n, k, batch);
    p.lda = trans_a ? k : m;
    p.ldb = k;
    p.ldc = m;
    p.stride_a = m * k;
    p.stride_b = k * n;
    p.stride_c = m * n;
    return p;
}

/* The table's own shapes have plans with the handle: the first call of all may come while a stream captures. */
void case_plans(void)
{
    static _Alignas(256) char given[GIVEN_BYTES];
    write_table("H200\t13.1\tbf16\tnn\t16,16,16\t8\t16\t32\t1\t2.5\t2.4\t2026-11-24\n"
                "H200\t13.1\tbf16\tnn\t2,16,16\t8\t16\t33\t1\t2.5\t2.4\t2026-11-24\n"
                "H200\t13.1\tbf16\tnn\t16,16,16\t8\t16\t64\t1\t1.03\t1.02\t2026-11-24\n"
                "H200\t13.1\tbf16\tnn\t16,16,16\t2^4\t2^4\t2^5\t2^0\t2.2\t2.1\t2026-11-24\n"
                "H200\t13.1\tf32\tnt\t16,16,16\t8\t16\t32\t2\t2.5\t2.4\t2026-11-24\n"
                "H200\t13.1\tf32+bias\tnn\t16,16,16\t8\t16\t32\t1\t2.5\t2.4\t2026-11-24\n"
                "H200\t13.0\tbf16\tnn\t16,16,16\t24\t24\t24\t1\t2.5\t2.4\t2026-11-24\n");
    void *handle = new_handle();
    CHECK(cublasSetWorkspace_v2(handle, given, sizeof given) == 0, "workspace");
    driver->capturing = 1;
    product p = tight_product(BF16, 0, 16, 8, 32, 1);
    check_product(handle, &p, call_ex, ANSWERED, "captured: a shape of the table");
    check_product(handle, &p, call_lt_given, ANSWERED, "captured: a shape of the table");
    p = tight_product(BF16, 0, 16, 8, 33, 1);
    check_product(handle, &p, call_ex, ANSWERED, "captured: rows that are not aligned");
    p = tight_product(F32, 1, 16, 8, 32, 2);
    check_product(handle, &p, call_strided, ANSWERED, "captured: a batch");
    p = tight_product(BF16, 0, 24, 24, 40, 1);
    check_product(handle, &p, call_ex, FORWARDED, "captured: the line of its class");
    check_product(handle, &p, call_ex, FORWARDED, "captured: nor later");
    driver->capturing = 0;
    check_product(handle, &p, call_ex, ANSWERED, "the line of its class");
    driver->capturing = 1;
    check_product(handle, &p, call_ex, ANSWERED, "captured: it has a plan now");
    for (int epilogue = TSR_LT_EPILOGUE_BIAS; epilogue <= TSR_LT_EPILOGUE_RELU_BIAS; epilogue += 2) {
        p = tight_product(F32, 0, 16, 8, 32, 1);
        lt_product lt = make_lt(&p);
        const float one = 1, zero = 0;
        void *a = operand(F32, p.stride_a, 1), *b = operand(F32, p.stride_b, 2), *c = operand(F32, p.stride_c, 3);
        cublasLtMatmulDescSetAttribute(lt.desc, TSR_LT_EPILOGUE, &epilogue, sizeof epilogue);
        cublasLtMatmulDescSetAttribute(lt.desc, TSR_LT_BIAS_POINTER, &a, sizeof a);
        const int before = calls_seen();
        CHECK(cublasLtMatmul(handle, lt.desc, &one, a, lt.a, b, lt.b, &zero, c, lt.c, c, lt.c, NULL, given,
                             sizeof given, NULL) == 0 &&
                  calls_seen() == before,
              "captured: epilogue %d", epilogue);
        free_lt(&lt);
        free(a);
        free(b);
        free(c);
    }
    remove_table();
    free_handle(handle);
}
