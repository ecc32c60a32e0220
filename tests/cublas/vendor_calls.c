/* The calls of signature_calls.h as NVIDIA's own headers declare them. */
#include <cublas_v2.h>

#include "client.h"
#include "cublas/abi.h"

/* These its headers declare for C++ alone. */
tsr_cublas_status cublasHgemm TSR_GEMM_PARAMETERS(int);
tsr_cublas_status cublasHgemm_64 TSR_GEMM_PARAMETERS(int64_t);
tsr_cublas_status cublasHgemmStridedBatched TSR_GEMM_STRIDED_PARAMETERS(int);
tsr_cublas_status cublasHgemmStridedBatched_64 TSR_GEMM_STRIDED_PARAMETERS(int64_t);
tsr_cublas_status cublasHgemmBatched TSR_GEMM_BATCHED_PARAMETERS(int);
tsr_cublas_status cublasHgemmBatched_64 TSR_GEMM_BATCHED_PARAMETERS(int64_t);

#define P(n) ((void *)(client_places + (n)))
#define H    ((cublasHandle_t)handle)

int vendor_calls(void *handle, int (*seen)(const char *symbol, int status))
{
    int good = 1;
#define SIGNATURE(symbol, arguments) good &= seen(#symbol, (int)symbol arguments);
#include "signature_calls.h"
#undef SIGNATURE
    return good;
}
