/* A libtessera_cublas that claims every product and does not finish it, for tests of what measures the table: $LAZY
 * says what it leaves of D. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "cublas/abi.h"

#define CALL(symbol, parameters)                                                \
    __attribute__((visibility("default"))) tsr_cublas_status symbol parameters; \
    tsr_cublas_status symbol parameters

static unsigned long long answered;

__attribute__((visibility("default"))) unsigned long long tessera_cublas_answered(void);
unsigned long long tessera_cublas_answered(void)
{
    return answered;
}

static void *real(const char *symbol)
{
    void *library = dlopen("libcublas.so.13", RTLD_LAZY | RTLD_NOLOAD);
    return library ? dlvsym(library, symbol, "libcublas.so.13") : NULL;
}

/* All of it, or its last element. */
static int leaves(const char *what)
{
    const char *text = getenv("LAZY");
    return text && strcmp(text, what) == 0;
}

CALL(cublasCreate_v2, (void **handle))
{
    tsr_cublas_status (*call)(void **handle);
    *(void **)&call = real("cublasCreate_v2");
    return call(handle);
}

CALL(cublasDestroy_v2, (void *handle))
{
    tsr_cublas_status (*call)(void *handle);
    *(void **)&call = real("cublasDestroy_v2");
    return call(handle);
}

CALL(cublasSetStream_v2, (void *handle, void *stream))
{
    (void)handle;
    (void)stream;
    return TSR_CUBLAS_SUCCESS;
}

CALL(cublasSetWorkspace_v2, (void *handle, void *workspace, size_t bytes))
{
    (void)handle;
    (void)workspace;
    (void)bytes;
    return TSR_CUBLAS_SUCCESS;
}

CALL(cublasGemmStridedBatchedEx_64, TSR_GEMM_STRIDED_EX_PARAMETERS(int64_t))
{
    tsr_cublas_status(*call) TSR_GEMM_STRIDED_EX_PARAMETERS(int64_t);
    *(void **)&call = real("cublasGemmStridedBatchedEx_64");
    answered++;
    if (leaves("all"))
        return TSR_CUBLAS_SUCCESS;
    /* Bytes of the last element, which get back what they were; 0: the product is finished, or there is no element. */
    const size_t bytes = !leaves("last") || m == 0 || n == 0 ? 0 : c_type == TSR_CUDA_R_32F ? 4 : 2;
    char before[4];
    char *const last = bytes ? (char *)c + (size_t)((batch - 1) * stride_c + (n - 1) * ldc + m - 1) * bytes : c;
    memcpy(before, last, bytes);
    const tsr_cublas_status status = call(handle, trans_a, trans_b, m, n, k, alpha, a, a_type, lda, stride_a, b, b_type,
                                          ldb, stride_b, beta, c, c_type, ldc, stride_c, batch, compute, algo);
    memcpy(last, before, bytes);
    return status;
}

CALL(cublasGemmEx, TSR_GEMM_EX_PARAMETERS(int))
{
    return cublasGemmStridedBatchedEx_64(handle, trans_a, trans_b, m, n, k, alpha, a, a_type, lda, 0, b, b_type, ldb, 0,
                                         beta, c, c_type, ldc, 0, 1, compute, algo);
}
