/* libcublas.so.12, or libcublasLt.so.12, of which almost all is missing: handles can be made, and cublasLtMatmul says
 * that it was reached. */
#include "cublas/abi.h"

#define CALL(symbol, parameters)                                                \
    __attribute__((visibility("default"))) tsr_cublas_status symbol parameters; \
    tsr_cublas_status symbol parameters

#if BARE_LT
enum { REACHED = 11 };

CALL(cublasLtMatmul, TSR_LT_MATMUL_PARAMETERS)
{
    (void)handle, (void)desc, (void)alpha, (void)a, (void)a_layout, (void)b, (void)b_layout, (void)beta, (void)c;
    (void)c_layout, (void)d, (void)d_layout, (void)algo, (void)workspace, (void)workspace_bytes, (void)stream;
    return REACHED;
}
#else
static char only;

CALL(cublasCreate_v2, (void **handle))
{
    *handle = &only;
    return TSR_CUBLAS_SUCCESS;
}

CALL(cublasDestroy_v2, (void *handle))
{
    return handle == &only ? TSR_CUBLAS_SUCCESS : TSR_CUBLAS_NOT_INITIALIZED;
}
#endif
