/* What a PyTorch library does with cuBLAS: one product of ones. */
#include "cublas/abi.h"

#define EXPORT __attribute__((visibility("default")))

tsr_cublas_status cublasCreate_v2(void **handle);
tsr_cublas_status cublasGemmEx TSR_GEMM_EX_PARAMETERS(int);

EXPORT int torch_product(void);
EXPORT int torch_product(void)
{
    static float a[16] = {1}, c[16];
    const float one = 1, zero = 0;
    void *handle;
    return cublasCreate_v2(&handle) ||
           cublasGemmEx(handle, 0, 0, 4, 4, 4, &one, a, TSR_CUDA_R_32F, 4, a, TSR_CUDA_R_32F, 4, &zero, c,
                        TSR_CUDA_R_32F, 4, TSR_CUBLAS_COMPUTE_32F, -1);
}
