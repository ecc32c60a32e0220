/* The products of libcublas for one width of sizes: ENTRY_INT, with ENTRY_WIDTH at the end of the names. */

#define ENTRY_WIDE(symbol) ENTRY_JOIN(symbol, ENTRY_WIDTH)

ENTRY(ENTRY_WIDE(cublasGemmEx), TSR_GEMM_EX_PARAMETERS(ENTRY_INT))
{
    ENTRY_ANSWER(
        ENTRY_WIDE(cublasGemmEx), ENTRY_WIDE(gemm_ex),
        (handle, trans_a, trans_b, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c, c_type, ldc, compute, algo),
        .a_type = a_type, .b_type = b_type, .c_type = c_type, .batch = 1, .compute = compute, .algo = algo);
}

ENTRY(ENTRY_WIDE(cublasGemmStridedBatchedEx), TSR_GEMM_STRIDED_EX_PARAMETERS(ENTRY_INT))
{
    ENTRY_ANSWER(ENTRY_WIDE(cublasGemmStridedBatchedEx), ENTRY_WIDE(gemm_strided_ex),
                 (handle, trans_a, trans_b, m, n, k, alpha, a, a_type, lda, stride_a, b, b_type, ldb, stride_b, beta, c,
                  c_type, ldc, stride_c, batch, compute, algo),
                 .a_type = a_type, .b_type = b_type, .c_type = c_type, .stride_a = stride_a, .stride_b = stride_b,
                 .stride_c = stride_c, .batch = batch, .compute = compute, .algo = algo);
}

ENTRY(ENTRY_WIDE(cublasSgemmEx), TSR_SGEMM_EX_PARAMETERS(ENTRY_INT))
{
    ENTRY_ANSWER(ENTRY_WIDE(cublasSgemmEx), ENTRY_WIDE(sgemm_ex),
                 (handle, trans_a, trans_b, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c, c_type, ldc),
                 .a_type = a_type, .b_type = b_type, .c_type = c_type, .batch = 1, .compute = TSR_CUBLAS_COMPUTE_32F,
                 .algo = TSR_CUBLAS_GEMM_DEFAULT);
}

/* Arrays of pointers lie in device memory: Tessera has no such product yet. Nor has it groups. */
ENTRY(ENTRY_WIDE(cublasGemmBatchedEx), TSR_GEMM_BATCHED_EX_PARAMETERS(ENTRY_INT))
{
    const tsr_real_cublas *real = tsr_real_cublas_of(ENTRY_NODE);
    tsr_cublas_visit visit;
    tsr_cublas_begin_other(&visit, ENTRY_TEXT(ENTRY_WIDE(cublasGemmBatchedEx)), TSR_WHY_POINTERS);
    const tsr_cublas_status status = ENTRY_REAL(real, ENTRY_WIDE(gemm_batched_ex), ENTRY_WIDE(cublasGemmBatchedEx),
                                                (handle, trans_a, trans_b, m, n, k, alpha, a, a_type, lda, b, b_type,
                                                 ldb, beta, c, c_type, ldc, batch, compute, algo));
    tsr_cublas_end(&visit);
    return status;
}

ENTRY(ENTRY_WIDE(cublasGemmGroupedBatchedEx), TSR_GEMM_GROUPED_EX_PARAMETERS(ENTRY_INT))
{
    const tsr_real_cublas *real = tsr_real_cublas_of(ENTRY_NODE);
    tsr_cublas_visit visit;
    tsr_cublas_begin_other(&visit, ENTRY_TEXT(ENTRY_WIDE(cublasGemmGroupedBatchedEx)), TSR_WHY_GROUPS);
    const tsr_cublas_status status =
        ENTRY_REAL(real, ENTRY_WIDE(gemm_grouped_ex), ENTRY_WIDE(cublasGemmGroupedBatchedEx),
                   (handle, trans_a, trans_b, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c, c_type, ldc,
                    groups, size, compute));
    tsr_cublas_end(&visit);
    return status;
}

/* Those of one element type: a letter, its data type and the type of its sums. */
#define ENTRY_MEMBER(rest) ENTRY_WIDE(ENTRY_JOIN(s, rest))
#define ENTRY_TYPED(rest)  ENTRY_WIDE(ENTRY_JOIN(cublasS, rest))
#define ENTRY_GEMM         gemm_v2
#define ENTRY_TYPE         TSR_CUDA_R_32F
#define ENTRY_COMPUTE      TSR_CUBLAS_COMPUTE_32F
#define ENTRY_HAS_GROUPS   1
#include "cublas/entry_type_tmpl.h"

#define ENTRY_MEMBER(rest) ENTRY_WIDE(ENTRY_JOIN(d, rest))
#define ENTRY_TYPED(rest)  ENTRY_WIDE(ENTRY_JOIN(cublasD, rest))
#define ENTRY_GEMM         gemm_v2
#define ENTRY_TYPE         TSR_CUDA_R_64F
#define ENTRY_COMPUTE      TSR_CUBLAS_COMPUTE_64F
#define ENTRY_HAS_GROUPS   1
#include "cublas/entry_type_tmpl.h"

#define ENTRY_MEMBER(rest) ENTRY_WIDE(ENTRY_JOIN(h, rest))
#define ENTRY_TYPED(rest)  ENTRY_WIDE(ENTRY_JOIN(cublasH, rest))
#define ENTRY_GEMM         gemm
#define ENTRY_TYPE         TSR_CUDA_R_16F
#define ENTRY_COMPUTE      TSR_CUBLAS_COMPUTE_16F
#define ENTRY_HAS_GROUPS   0
#include "cublas/entry_type_tmpl.h"

#undef ENTRY_WIDE
