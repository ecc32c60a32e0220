/* A library of a program that was linked against the other major version. */
#include "cublas/abi.h"
#include "fake_cublas.h"

#define EXPORT __attribute__((visibility("default")))

tsr_cublas_status cublasCreate_v2(void **handle);
tsr_cublas_status cublasDestroy_v2(void *handle);
tsr_cublas_status cublasGemmEx TSR_GEMM_EX_PARAMETERS(int);

EXPORT int product_12(void);
EXPORT int product_12(void)
{
    static double a[4], b[4], c[4];
    const double one = 1;
    void *handle;
    if (cublasCreate_v2(&handle) != TSR_CUBLAS_SUCCESS)
        return 1;
    /* f64 operands and sums in f32: no such product is answered. */
    const int status = cublasGemmEx(handle, 0, 0, 2, 2, 2, &one, a, TSR_CUDA_R_64F, 2, b, TSR_CUDA_R_64F, 2, &one, c,
                                    TSR_CUDA_R_64F, 2, TSR_CUBLAS_COMPUTE_32F, -1);
    return cublasDestroy_v2(handle) || status;
}

EXPORT fake_record *record_12(void);
EXPORT fake_record *record_12(void)
{
    return fake_cublas_record();
}
