/* cuBLAS's numbers as libtessera_cublas has them, against NVIDIA's headers where those are installed. Signatures are
 * compared by tests/cublas/vendor_calls.c, which calls every function as those headers declare it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cublas/abi.h"

#if defined(HAVE_CUDA_H) && defined(__has_include)
#if __has_include(<cublasLt.h>) && __has_include(<cublas_v2.h>)
#define HAVE_CUBLAS_H 1
#include <cublas_v2.h>

#include <cublasLt.h>

#define SAME(own, theirs) _Static_assert((int)(own) == (int)(theirs), #own)
SAME(TSR_CUBLAS_SUCCESS, CUBLAS_STATUS_SUCCESS);
SAME(TSR_CUBLAS_NOT_INITIALIZED, CUBLAS_STATUS_NOT_INITIALIZED);
SAME(TSR_CUBLAS_EXECUTION_FAILED, CUBLAS_STATUS_EXECUTION_FAILED);
SAME(TSR_CUBLAS_NOT_SUPPORTED, CUBLAS_STATUS_NOT_SUPPORTED);
SAME(TSR_CUBLAS_OP_N, CUBLAS_OP_N);
SAME(TSR_CUBLAS_OP_T, CUBLAS_OP_T);
SAME(TSR_CUBLAS_OP_C, CUBLAS_OP_C);
SAME(TSR_CUDA_R_32F, CUDA_R_32F);
SAME(TSR_CUDA_R_64F, CUDA_R_64F);
SAME(TSR_CUDA_R_16F, CUDA_R_16F);
SAME(TSR_CUDA_R_16BF, CUDA_R_16BF);
SAME(TSR_CUDA_R_8I, CUDA_R_8I);
SAME(TSR_CUDA_R_32I, CUDA_R_32I);
SAME(TSR_CUDA_R_8F_E4M3, CUDA_R_8F_E4M3);
SAME(TSR_CUDA_R_8F_E5M2, CUDA_R_8F_E5M2);
SAME(TSR_CUBLAS_COMPUTE_16F, CUBLAS_COMPUTE_16F);
SAME(TSR_CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_32F);
SAME(TSR_CUBLAS_COMPUTE_64F, CUBLAS_COMPUTE_64F);
SAME(TSR_CUBLAS_COMPUTE_32I, CUBLAS_COMPUTE_32I);
SAME(TSR_CUBLAS_COMPUTE_32F_FAST_TF32, CUBLAS_COMPUTE_32F_FAST_TF32);
SAME(TSR_CUBLAS_GEMM_DEFAULT, CUBLAS_GEMM_DEFAULT);
SAME(TSR_CUBLAS_GEMM_DEFAULT_TENSOR_OP, CUBLAS_GEMM_DEFAULT_TENSOR_OP);
SAME(TSR_CUBLAS_DEFAULT_MATH, CUBLAS_DEFAULT_MATH);
SAME(TSR_CUBLAS_TF32_MATH, CUBLAS_TF32_TENSOR_OP_MATH);
SAME(TSR_CUBLAS_NO_REDUCED_REDUCTION, CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION);
SAME(TSR_CUBLAS_POINTER_MODE_HOST, CUBLAS_POINTER_MODE_HOST);
SAME(TSR_CUBLAS_POINTER_MODE_HOST, CUBLASLT_POINTER_MODE_HOST);
SAME(TSR_LT_COMPUTE_TYPE, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE);
SAME(TSR_LT_SCALE_TYPE, CUBLASLT_MATMUL_DESC_SCALE_TYPE);
SAME(TSR_LT_POINTER_MODE, CUBLASLT_MATMUL_DESC_POINTER_MODE);
SAME(TSR_LT_TRANSA, CUBLASLT_MATMUL_DESC_TRANSA);
SAME(TSR_LT_TRANSB, CUBLASLT_MATMUL_DESC_TRANSB);
SAME(TSR_LT_EPILOGUE, CUBLASLT_MATMUL_DESC_EPILOGUE);
SAME(TSR_LT_BIAS_POINTER, CUBLASLT_MATMUL_DESC_BIAS_POINTER);
SAME(TSR_LT_BIAS_TYPE, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE);
SAME(TSR_LT_A_SCALE_POINTER, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER);
SAME(TSR_LT_B_SCALE_POINTER, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER);
SAME(TSR_LT_D_SCALE_POINTER, CUBLASLT_MATMUL_DESC_D_SCALE_POINTER);
SAME(TSR_LT_AMAX_D_POINTER, CUBLASLT_MATMUL_DESC_AMAX_D_POINTER);
SAME(TSR_LT_FAST_ACCUM, CUBLASLT_MATMUL_DESC_FAST_ACCUM);
#if CUBLAS_VERSION >= 120900
SAME(TSR_LT_A_SCALE_MODE, CUBLASLT_MATMUL_DESC_A_SCALE_MODE);
SAME(TSR_LT_B_SCALE_MODE, CUBLASLT_MATMUL_DESC_B_SCALE_MODE);
SAME(TSR_LT_SCALE_SCALAR, CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F);
SAME(TSR_LT_SCALE_OUTER_VEC, CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F);
SAME(TSR_LT_SCALE_VEC128, CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F);
SAME(TSR_LT_SCALE_BLK128X128, CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F);
#endif
SAME(TSR_LT_PREFERENCE_SEARCH_MODE, CUBLASLT_MATMUL_PREF_SEARCH_MODE);
SAME(TSR_LT_PREFERENCE_WORKSPACE_BYTES, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
SAME(TSR_LT_PREFERENCE_REDUCTIONS, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK);
SAME(TSR_LT_PREFERENCE_ALIGN_A, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
SAME(TSR_LT_PREFERENCE_ALIGN_B, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
SAME(TSR_LT_PREFERENCE_ALIGN_C, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
SAME(TSR_LT_PREFERENCE_ALIGN_D, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
SAME(TSR_LT_REDUCTION_COMPUTE_TYPE, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
SAME(TSR_LT_LAYOUT_TYPE, CUBLASLT_MATRIX_LAYOUT_TYPE);
SAME(TSR_LT_LAYOUT_ORDER, CUBLASLT_MATRIX_LAYOUT_ORDER);
SAME(TSR_LT_LAYOUT_ROWS, CUBLASLT_MATRIX_LAYOUT_ROWS);
SAME(TSR_LT_LAYOUT_COLS, CUBLASLT_MATRIX_LAYOUT_COLS);
SAME(TSR_LT_LAYOUT_LD, CUBLASLT_MATRIX_LAYOUT_LD);
SAME(TSR_LT_LAYOUT_BATCH_COUNT, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
SAME(TSR_LT_LAYOUT_BATCH_OFFSET, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
SAME(TSR_LT_EPILOGUE_DEFAULT, CUBLASLT_EPILOGUE_DEFAULT);
SAME(TSR_LT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_BIAS);
SAME(TSR_LT_EPILOGUE_RELU_BIAS, CUBLASLT_EPILOGUE_RELU_BIAS);
SAME(TSR_LT_ORDER_COL, CUBLASLT_ORDER_COL);
SAME(sizeof(tsr_lt_algo), sizeof(cublasLtMatmulAlgo_t));
SAME(sizeof(tsr_lt_heuristic), sizeof(cublasLtMatmulHeuristicResult_t));
SAME(offsetof(tsr_lt_heuristic, workspace_bytes), offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
SAME(offsetof(tsr_lt_heuristic, status), offsetof(cublasLtMatmulHeuristicResult_t, state));
SAME(sizeof(tsr_cublas_status), sizeof(cublasStatus_t));

/* cublasLtMatmul and its heuristic, argument by argument: enumerations are as wide as int, all else is a pointer or a
 * size. */
static cublasStatus_t (*const matmul)(cublasLtHandle_t, cublasLtMatmulDesc_t, const void *, const void *,
                                      cublasLtMatrixLayout_t, const void *, cublasLtMatrixLayout_t, const void *,
                                      const void *, cublasLtMatrixLayout_t, void *, cublasLtMatrixLayout_t,
                                      const cublasLtMatmulAlgo_t *, void *, size_t, cudaStream_t) = NULL;
_Static_assert(__builtin_types_compatible_p(__typeof__(*matmul), __typeof__(cublasLtMatmul)), "cublasLtMatmul");
static cublasStatus_t (*const heuristic)(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                                         cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                         cublasLtMatmulPreference_t, int, cublasLtMatmulHeuristicResult_t[],
                                         int *) = NULL;
_Static_assert(__builtin_types_compatible_p(__typeof__(*heuristic), __typeof__(cublasLtMatmulAlgoGetHeuristic)),
               "cublasLtMatmulAlgoGetHeuristic");
#endif
#endif

static void test_numbers(void **state)
{
    (void)state;
#ifndef HAVE_CUBLAS_H
    skip(); /* nothing to compare with */
#else
    assert_null(matmul);
    assert_null(heuristic);
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_numbers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
