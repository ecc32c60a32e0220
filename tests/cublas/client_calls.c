#include "client_calls.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int failures;
char client_places[32];

struct client_direct direct;

fake_record *record, *lt_record;
fake_orders *orders;
fake_driver *driver;

void find_direct(void)
{
    void *cublas = dlopen("libcublas.so.13", RTLD_LAZY | RTLD_NOLOAD);
    void *lt = dlopen("libcublasLt.so.13", RTLD_LAZY | RTLD_NOLOAD);
#define FIND(member, symbol, parameters) *(void **)&direct.symbol = dlvsym(cublas, #symbol, "libcublas.so.13");
    TSR_CUBLAS_CALLS(FIND)
#undef FIND
#define FIND(member, symbol, parameters) *(void **)&direct.symbol = dlvsym(lt, #symbol, "libcublasLt.so.13");
    TSR_LT_CALLS(FIND)
#undef FIND
    record = fake_cublas_record();
    lt_record = fake_cublaslt_record();
    orders = fake_cublas_orders();
}

void load_driver(void)
{
    void *library = dlopen(FAKE_DRIVER, RTLD_NOW | RTLD_LOCAL);
    fake_driver *(*state)(void) = NULL;
    if (library)
        *(void **)&state = dlsym(library, "fake_driver_state");
    CHECK(state, "no fake driver: %s", dlerror());
    driver = state ? state() : NULL;
}

void *new_handle(void)
{
    void *handle = NULL;
    CHECK(cublasCreate_v2(&handle) == 0 && handle, "no handle");
    return handle;
}

void free_handle(void *handle)
{
    CHECK(cublasDestroy_v2(handle) == 0, "destroy");
}

void write_table(const char *text)
{
    char path[] = "/tmp/tessera-cublas-table-XXXXXX";
    const int fd = mkstemp(path);
    CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text), "table");
    close(fd);
    setenv("TESSERA_CUBLAS_TABLE", path, 1);
}

void remove_table(void)
{
    unlink(getenv("TESSERA_CUBLAS_TABLE"));
}

/* ---- the call log --------------------------------------------------------------------------------------------------
 */

void start_log(void)
{
    char path[] = "/tmp/tessera-cublas-log-XXXXXX";
    const int fd = mkstemp(path);
    CHECK(fd >= 0, "log");
    close(fd);
    setenv("TESSERA_LOG", "calls", 1);
    setenv("TESSERA_LOG_FILE", path, 1);
}

void last_of_log(const char *key, char *out, size_t bytes)
{
    char line[1024], last[1024] = "", wanted[32];
    FILE *log = fopen(getenv("TESSERA_LOG_FILE"), "r");
    while (log && fgets(line, sizeof line, log))
        if (strncmp(line, "tessera-cublas ", 15) == 0)
            strcpy(last, line);
    if (log)
        fclose(log);
    snprintf(wanted, sizeof wanted, " %s=", key);
    const char *at = strstr(last, wanted);
    snprintf(out, bytes, "%.*s", at ? (int)strcspn(at + strlen(wanted), " \n") : 0, at ? at + strlen(wanted) : "");
}

void end_log(void)
{
    unlink(getenv("TESSERA_LOG_FILE"));
}

/* ---- products ------------------------------------------------------------------------------------------------------
 */

void *operand(int type, int64_t elems, unsigned seed)
{
    char *memory = malloc((size_t)(elems + GUARD) * 8);
    for (int64_t i = 0; i < elems + GUARD; i++) {
        seed = seed * 1664525u + 1013904223u;
        fake_put(memory, type, i, (double)(seed >> 24) - 7 * (double)(seed >> 24 > 0 ? (seed >> 24) / 7 : 0) - 3);
    }
    return memory;
}

factor factor_of(double value, int compute)
{
    factor out = {{0}};
    fake_put(out.bytes,
             compute == TSR_CUBLAS_COMPUTE_64F   ? F64
             : compute == TSR_CUBLAS_COMPUTE_16F ? F16
             : compute == TSR_CUBLAS_COMPUTE_32I ? S32
                                                 : F32,
             0, value);
    return out;
}

int call_ex(void *handle, const product *p, const void *alpha, const void *beta, const void *a, const void *b, void *c,
            int is_direct)
{
    return (is_direct ? direct.cublasGemmEx : cublasGemmEx)(
        handle, p->trans_a, p->trans_b, (int)p->m, (int)p->n, (int)p->k, alpha, a, p->ab_type, (int)p->lda, b,
        p->ab_type, (int)p->ldb, beta, c, p->c_type, (int)p->ldc, p->compute, -1);
}

int call_strided(void *handle, const product *p, const void *alpha, const void *beta, const void *a, const void *b,
                 void *c, int is_direct)
{
    return (is_direct ? direct.cublasGemmStridedBatchedEx_64 : cublasGemmStridedBatchedEx_64)(
        handle, p->trans_a, p->trans_b, p->m, p->n, p->k, alpha, a, p->ab_type, p->lda, p->stride_a, b, p->ab_type,
        p->ldb, p->stride_b, beta, c, p->c_type, p->ldc, p->stride_c, p->batch, p->compute, 99);
}

int call_typed(void *handle, const product *p, const void *alpha, const void *beta, const void *a, const void *b,
               void *c, int is_direct)
{
    tsr_cublas_status(*call) TSR_GEMM_PARAMETERS(int) = is_direct ? direct.cublasHgemm : cublasHgemm;
    if (p->ab_type == F32)
        call = is_direct ? direct.cublasSgemm_v2 : cublasSgemm_v2;
    if (p->ab_type == F64)
        call = is_direct ? direct.cublasDgemm_v2 : cublasDgemm_v2;
    return call(handle, p->trans_a, p->trans_b, (int)p->m, (int)p->n, (int)p->k, alpha, a, (int)p->lda, b, (int)p->ldb,
                beta, c, (int)p->ldc);
}

void *layout_of(int type, int64_t rows, int64_t columns, int64_t ld, int64_t stride, int batch)
{
    void *layout = NULL;
    cublasLtMatrixLayoutCreate(&layout, type, (uint64_t)rows, (uint64_t)columns, ld);
    cublasLtMatrixLayoutSetAttribute(layout, TSR_LT_LAYOUT_BATCH_COUNT, &batch, sizeof batch);
    cublasLtMatrixLayoutSetAttribute(layout, TSR_LT_LAYOUT_BATCH_OFFSET, &stride, sizeof stride);
    return layout;
}

lt_product make_lt(const product *p)
{
    lt_product out = {0};
    const int scale = p->compute == TSR_CUBLAS_COMPUTE_64F   ? F64
                      : p->compute == TSR_CUBLAS_COMPUTE_16F ? F16
                      : p->compute == TSR_CUBLAS_COMPUTE_32I ? S32
                                                             : F32;
    cublasLtMatmulDescCreate(&out.desc, p->compute, scale);
    cublasLtMatmulDescSetAttribute(out.desc, TSR_LT_TRANSA, &p->trans_a, sizeof p->trans_a);
    cublasLtMatmulDescSetAttribute(out.desc, TSR_LT_TRANSB, &p->trans_b, sizeof p->trans_b);
    out.a = layout_of(p->ab_type, p->trans_a ? p->k : p->m, p->trans_a ? p->m : p->k, p->lda, p->stride_a, p->batch);
    out.b = layout_of(p->ab_type, p->trans_b ? p->n : p->k, p->trans_b ? p->k : p->n, p->ldb, p->stride_b, p->batch);
    out.c = layout_of(p->c_type, p->m, p->n, p->ldc, p->stride_c, p->batch);
    return out;
}

void free_lt(lt_product *lt)
{
    cublasLtMatmulDescDestroy(lt->desc);
    cublasLtMatrixLayoutDestroy(lt->a);
    cublasLtMatrixLayoutDestroy(lt->b);
    cublasLtMatrixLayoutDestroy(lt->c);
}

int call_lt(void *handle, const product *p, const void *alpha, const void *beta, const void *a, const void *b, void *c,
            int is_direct)
{
    lt_product lt = make_lt(p);
    const int status = (is_direct ? direct.cublasLtMatmul : cublasLtMatmul)(
        handle, lt.desc, alpha, a, lt.a, b, lt.b, beta, c, lt.c, c, lt.c, NULL, NULL, 0, NULL);
    free_lt(&lt);
    return status;
}

int calls_seen(void)
{
    return record->calls + lt_record->calls;
}

product product_of(int ab_type, int c_type, int compute, int trans_a, int trans_b, int64_t m, int64_t n, int64_t k,
                   int batch)
{
    product p = {.trans_a = trans_a,
                 .trans_b = trans_b,
                 .ab_type = ab_type,
                 .c_type = c_type,
                 .compute = compute,
                 .batch = batch,
                 .m = m,
                 .n = n,
                 .k = k,
                 .lda = (trans_a ? k : m) + 3,
                 .ldb = (trans_b ? n : k) + 1,
                 .ldc = m + 2,
                 .alpha = 1,
                 .beta = 0};
    p.stride_a = p.lda * (trans_a ? m : k) + 5;
    p.stride_b = p.ldb * (trans_b ? k : n);
    p.stride_c = p.ldc * n + 1;
    return p;
}

void check_product(void *handle, const product *p, call_product *call, int expected, const char *what)
{
    const int64_t c_elems = p->stride_c * p->batch;
    void *a = operand(p->ab_type, p->stride_a * p->batch, 1), *b = operand(p->ab_type, p->stride_b * p->batch, 2);
    void *c = operand(p->c_type, c_elems, 3), *reference = operand(p->c_type, c_elems, 3);
    const factor alpha = factor_of(p->alpha, p->compute), beta = factor_of(p->beta, p->compute);
    const int before = calls_seen();
    const int status = call(handle, p, &alpha, &beta, a, b, c, 0);
    const int forwarded = calls_seen() - before;
    CHECK(status == 0, "%s: status %d", what, status);
    CHECK(forwarded == (expected == FORWARDED), "%s: %d calls reached cuBLAS", what, forwarded);
    CHECK(call(handle, p, &alpha, &beta, a, b, reference, 1) == 0, "%s: reference", what);
    CHECK(memcmp(c, reference, (size_t)(c_elems + GUARD) * (size_t)fake_bytes(p->c_type)) == 0,
          "%s: types %d %d, %d%d, %lld x %lld x %lld, batch %d, alpha %g, beta %g: other results", what, p->ab_type,
          p->c_type, p->trans_a, p->trans_b, (long long)p->m, (long long)p->n, (long long)p->k, p->batch, p->alpha,
          p->beta);
    free(a);
    free(b);
    free(c);
    free(reference);
}
