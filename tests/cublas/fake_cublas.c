/* libcublas.so.FAKE_MAJOR. Every exported name is under the node of the same name (fake.map.in). */
#include "fake_cublas.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cublas/abi.h"
#include "fake_numbers.h"

#define EXPORT __attribute__((visibility("default")))

typedef struct fake_handle {
    void *stream, *workspace;
    size_t workspace_bytes;
    int pointer_mode, math_mode, sm_count;
} fake_handle;

static fake_record record;
static fake_orders orders;

EXPORT fake_record *fake_cublas_record(void)
{
    return &record;
}

EXPORT fake_orders *fake_cublas_orders(void)
{
    return &orders;
}

/* ---- handles ----------------------------------------------------------------------------------------------------- */

#define CALL(symbol, parameters)                \
    EXPORT tsr_cublas_status symbol parameters; \
    tsr_cublas_status symbol parameters

static int fails(const char *symbol)
{
    return orders.fails && strcmp(orders.fails, symbol) == 0;
}

CALL(cublasCreate_v2, (void **handle))
{
    if (fails("cublasCreate_v2"))
        return FAKE_FAILURE;
    *handle = calloc(1, sizeof(fake_handle));
    return *handle ? 0 : 3;
}

CALL(cublasDestroy_v2, (void *handle))
{
    if (!handle)
        return TSR_CUBLAS_NOT_INITIALIZED;
    free(handle);
    return 0;
}

CALL(cublasSetStream_v2, (void *handle, void *stream))
{
    fake_handle *h = handle;
    if (!h)
        return TSR_CUBLAS_NOT_INITIALIZED;
    if (fails("cublasSetStream_v2"))
        return FAKE_FAILURE;
    h->stream = stream;
    h->workspace = NULL;
    h->workspace_bytes = 0;
    return 0;
}

CALL(cublasSetWorkspace_v2, (void *handle, void *workspace, size_t bytes))
{
    fake_handle *h = handle;
    if (!h)
        return TSR_CUBLAS_NOT_INITIALIZED;
    if (fails("cublasSetWorkspace_v2"))
        return FAKE_FAILURE;
    h->workspace = workspace;
    h->workspace_bytes = bytes;
    return 0;
}

/* Reads and writes of one member of a handle. */
#define ACCESS(get, set, type, member)         \
    CALL(get, (void *handle, type *out))       \
    {                                          \
        const fake_handle *h = handle;         \
        if (!h)                                \
            return TSR_CUBLAS_NOT_INITIALIZED; \
        if (fails(#get))                       \
            return FAKE_FAILURE;               \
        *out = h->member;                      \
        return 0;                              \
    }                                          \
    CALL(set, (void *handle, type value))      \
    {                                          \
        fake_handle *h = handle;               \
        if (!h)                                \
            return TSR_CUBLAS_NOT_INITIALIZED; \
        h->member = value;                     \
        return 0;                              \
    }
ACCESS(cublasGetPointerMode_v2, cublasSetPointerMode_v2, int, pointer_mode)
ACCESS(cublasGetMathMode, cublasSetMathMode, int, math_mode)
ACCESS(cublasGetSmCountTarget, cublasSetSmCountTarget, int, sm_count)

CALL(cublasGetStream_v2, (void *handle, void **stream))
{
    if (!handle)
        return TSR_CUBLAS_NOT_INITIALIZED;
    if (fails("cublasGetStream_v2"))
        return FAKE_FAILURE;
    *stream = ((fake_handle *)handle)->stream;
    return 0;
}

CALL(cublasGetVersion_v2, (void *handle, int *version))
{
    (void)handle;
    *version = FAKE_MAJOR * 10000 + 101;
    return 0;
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

/* From here on `note` and `compute` see each product; the factors' type follows from the type of the sums. */
static double factor(const void *at, int compute)
{
    return fake_get(at,
                    compute == TSR_CUBLAS_COMPUTE_16F   ? TSR_CUDA_R_16F
                    : compute == TSR_CUBLAS_COMPUTE_64F ? TSR_CUDA_R_64F
                    : compute == TSR_CUBLAS_COMPUTE_32I ? TSR_CUDA_R_32I
                                                        : TSR_CUDA_R_32F,
                    0);
}

#define NOTE(...)                                                   \
    do {                                                            \
        record.calls++;                                             \
        if (!orders.is_quick)                                       \
            snprintf(record.last, sizeof record.last, __VA_ARGS__); \
    } while (0)

/* The checks and the work that all strided products share. */
static tsr_cublas_status compute_product(void *handle, const void *alpha, const void *beta, int compute,
                                         fake_product product)
{
    if (orders.status || orders.is_quick)
        return orders.status;
    if (!handle)
        return TSR_CUBLAS_NOT_INITIALIZED;
    if (!alpha || !beta || product.m < 0 || product.n < 0 || product.k < 0 || product.ldc < product.m)
        return 7;
    product.alpha = factor(alpha, compute);
    product.beta = factor(beta, compute);
    product.c = product.d;
    product.ldd = product.ldc;
    product.stride_d = product.stride_c;
    fake_multiply(&product);
    return 0;
}

typedef int fake_matmul TSR_LT_MATMUL_PARAMETERS;
EXPORT fake_matmul cublasLtMatmul;
EXPORT tsr_cublas_status cublasLtMatmulDescCreate(void **desc, int compute, int scale_type);
EXPORT tsr_cublas_status cublasLtMatmulDescDestroy(void *desc);
EXPORT tsr_cublas_status cublasLtMatrixLayoutCreate(void **layout, int type, uint64_t rows, uint64_t columns,
                                                    int64_t ld);
EXPORT tsr_cublas_status cublasLtMatrixLayoutDestroy(void *layout);

/* By way of the other library, as a program would call it. */
static tsr_cublas_status call_through(void *handle, const void *alpha, const void *beta, const fake_product *p)
{
    void *desc, *a, *b, *c;
    cublasLtMatmulDescCreate(&desc, TSR_CUBLAS_COMPUTE_32F, TSR_CUDA_R_32F);
    cublasLtMatrixLayoutCreate(&a, p->a_type, (uint64_t)p->m, (uint64_t)p->k, p->lda);
    cublasLtMatrixLayoutCreate(&b, p->b_type, (uint64_t)p->k, (uint64_t)p->n, p->ldb);
    cublasLtMatrixLayoutCreate(&c, p->c_type, (uint64_t)p->m, (uint64_t)p->n, p->ldc);
    const tsr_cublas_status status =
        cublasLtMatmul(handle, desc, alpha, p->a, a, p->b, b, beta, p->d, c, p->d, c, NULL, NULL, 0, NULL);
    cublasLtMatrixLayoutDestroy(a);
    cublasLtMatrixLayoutDestroy(b);
    cublasLtMatrixLayoutDestroy(c);
    cublasLtMatmulDescDestroy(desc);
    return status;
}

#define W_INT          int
#define W_NAME(symbol) symbol
#include "fake_width_tmpl.h"
#undef W_INT
#undef W_NAME
#define W_INT          int64_t
#define W_NAME(symbol) symbol##_64
#include "fake_width_tmpl.h"
