/* cuBLAS and cuBLASLt as libtessera_cublas stands in for them: the numbers and signatures that it needs, so that
 * building it takes no CUDA header. tests/unit_cuda_cublas.c compares them with NVIDIA's headers where those are
 * installed. Enumerations travel as int, handles and descriptors as void *; matrices are column-major. */
#ifndef TSR_CUBLAS_ABI_H
#define TSR_CUBLAS_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef int tsr_cublas_status;
enum {
    TSR_CUBLAS_SUCCESS = 0,
    TSR_CUBLAS_NOT_INITIALIZED = 1,
    TSR_CUBLAS_EXECUTION_FAILED = 13,
    TSR_CUBLAS_NOT_SUPPORTED = 15
};

enum { TSR_CUBLAS_OP_N = 0, TSR_CUBLAS_OP_T = 1, TSR_CUBLAS_OP_C = 2 };

/* cudaDataType. */
enum {
    TSR_CUDA_R_32F = 0,
    TSR_CUDA_R_64F = 1,
    TSR_CUDA_R_16F = 2,
    TSR_CUDA_R_8I = 3,
    TSR_CUDA_R_32I = 10,
    TSR_CUDA_R_16BF = 14,
    TSR_CUDA_R_8F_E4M3 = 28,
    TSR_CUDA_R_8F_E5M2 = 29
};

enum {
    TSR_CUBLAS_COMPUTE_16F = 64,
    TSR_CUBLAS_COMPUTE_32F = 68,
    TSR_CUBLAS_COMPUTE_64F = 70,
    TSR_CUBLAS_COMPUTE_32I = 72,
    TSR_CUBLAS_COMPUTE_32F_FAST_TF32 = 77
};

/* The algorithms of cublasGemmEx that leave the choice to the library. */
enum { TSR_CUBLAS_GEMM_DEFAULT = -1, TSR_CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99 };

/* Math modes of a handle; the last is a flag beside the others. */
enum { TSR_CUBLAS_DEFAULT_MATH = 0, TSR_CUBLAS_TF32_MATH = 3, TSR_CUBLAS_NO_REDUCED_REDUCTION = 16 };

enum { TSR_CUBLAS_POINTER_MODE_HOST = 0 };

/* Attributes of a product's descriptor, of a matrix layout; epilogues; the column-major order; which elements share a
 * scale. */
enum {
    TSR_LT_COMPUTE_TYPE = 0,
    TSR_LT_SCALE_TYPE = 1,
    TSR_LT_POINTER_MODE = 2,
    TSR_LT_TRANSA = 3,
    TSR_LT_TRANSB = 4,
    TSR_LT_EPILOGUE = 7,
    TSR_LT_BIAS_POINTER = 8,
    TSR_LT_A_SCALE_POINTER = 17,
    TSR_LT_B_SCALE_POINTER = 18,
    TSR_LT_D_SCALE_POINTER = 20,
    TSR_LT_AMAX_D_POINTER = 21,
    TSR_LT_FAST_ACCUM = 25, /* a byte */
    TSR_LT_BIAS_TYPE = 26,
    TSR_LT_A_SCALE_MODE = 31, /* from cuBLAS 12.8 on, as is the next one */
    TSR_LT_B_SCALE_MODE = 32
};
enum {
    TSR_LT_LAYOUT_TYPE = 0,
    TSR_LT_LAYOUT_ORDER = 1,
    TSR_LT_LAYOUT_ROWS = 2,
    TSR_LT_LAYOUT_COLS = 3,
    TSR_LT_LAYOUT_LD = 4,
    TSR_LT_LAYOUT_BATCH_COUNT = 5,
    TSR_LT_LAYOUT_BATCH_OFFSET = 6
};
enum { TSR_LT_EPILOGUE_DEFAULT = 1, TSR_LT_EPILOGUE_BIAS = 4, TSR_LT_EPILOGUE_RELU_BIAS = 6, TSR_LT_ORDER_COL = 0 };
/* Attributes of a preference for heuristics, and how parts of K may be added, as a mask. */
enum {
    TSR_LT_PREFERENCE_SEARCH_MODE = 0,
    TSR_LT_PREFERENCE_WORKSPACE_BYTES = 1,
    TSR_LT_PREFERENCE_REDUCTIONS = 3,
    TSR_LT_PREFERENCE_ALIGN_A = 5,
    TSR_LT_PREFERENCE_ALIGN_B = 6,
    TSR_LT_PREFERENCE_ALIGN_C = 7,
    TSR_LT_PREFERENCE_ALIGN_D = 8
};
enum { TSR_LT_REDUCTION_COMPUTE_TYPE = 2 };
enum { TSR_LT_SCALE_SCALAR = 0, TSR_LT_SCALE_OUTER_VEC = 3, TSR_LT_SCALE_VEC128 = 4, TSR_LT_SCALE_BLK128X128 = 5 };

typedef struct tsr_lt_algo {
    uint64_t data[8];
} tsr_lt_algo;

typedef struct tsr_lt_heuristic {
    tsr_lt_algo algo;
    size_t workspace_bytes;
    tsr_cublas_status status;
    float waves;
    int reserved[4];
} tsr_lt_heuristic;

/* ---- signatures; INT is int, or int64_t for the names that end in _64 ---------------------------------------------
 */

#define TSR_GEMM_EX_PARAMETERS(INT)                                                                             \
    (void *handle, int trans_a, int trans_b, INT m, INT n, INT k, const void *alpha, const void *a, int a_type, \
     INT lda, const void *b, int b_type, INT ldb, const void *beta, void *c, int c_type, INT ldc, int compute,  \
     int algo)
#define TSR_GEMM_STRIDED_EX_PARAMETERS(INT)                                                                          \
    (void *handle, int trans_a, int trans_b, INT m, INT n, INT k, const void *alpha, const void *a, int a_type,      \
     INT lda, long long stride_a, const void *b, int b_type, INT ldb, long long stride_b, const void *beta, void *c, \
     int c_type, INT ldc, long long stride_c, INT batch, int compute, int algo)
#define TSR_GEMM_BATCHED_EX_PARAMETERS(INT)                                                                          \
    (void *handle, int trans_a, int trans_b, INT m, INT n, INT k, const void *alpha, const void *const a[],          \
     int a_type, INT lda, const void *const b[], int b_type, INT ldb, const void *beta, void *const c[], int c_type, \
     INT ldc, INT batch, int compute, int algo)
#define TSR_GEMM_GROUPED_EX_PARAMETERS(INT)                                                                         \
    (void *handle, const int trans_a[], const int trans_b[], const INT m[], const INT n[], const INT k[],           \
     const void *alpha, const void *const a[], int a_type, const INT lda[], const void *const b[], int b_type,      \
     const INT ldb[], const void *beta, void *const c[], int c_type, const INT ldc[], INT groups, const INT size[], \
     int compute)
/* cublasSgemmEx: operands of any type, factors and sums in f32. */
#define TSR_SGEMM_EX_PARAMETERS(INT)                                                                            \
    (void *handle, int trans_a, int trans_b, INT m, INT n, INT k, const void *alpha, const void *a, int a_type, \
     INT lda, const void *b, int b_type, INT ldb, const void *beta, void *c, int c_type, INT ldc)
/* Of one element type: cublasSgemm and its like. */
#define TSR_GEMM_PARAMETERS(INT)                                                                             \
    (void *handle, int trans_a, int trans_b, INT m, INT n, INT k, const void *alpha, const void *a, INT lda, \
     const void *b, INT ldb, const void *beta, void *c, INT ldc)
#define TSR_GEMM_STRIDED_PARAMETERS(INT)                                                                     \
    (void *handle, int trans_a, int trans_b, INT m, INT n, INT k, const void *alpha, const void *a, INT lda, \
     long long stride_a, const void *b, INT ldb, long long stride_b, const void *beta, void *c, INT ldc,     \
     long long stride_c, INT batch)
#define TSR_GEMM_BATCHED_PARAMETERS(INT)                                                                             \
    (void *handle, int trans_a, int trans_b, INT m, INT n, INT k, const void *alpha, const void *const a[], INT lda, \
     const void *const b[], INT ldb, const void *beta, void *const c[], INT ldc, INT batch)
#define TSR_GEMM_GROUPED_PARAMETERS(INT)                                                                  \
    (void *handle, const int trans_a[], const int trans_b[], const INT m[], const INT n[], const INT k[], \
     const void *alpha, const void *const a[], const INT lda[], const void *const b[], const INT ldb[],   \
     const void *beta, void *const c[], const INT ldc[], INT groups, const INT size[])
#define TSR_LT_MATMUL_PARAMETERS                                                                                \
    (void *handle, void *desc, const void *alpha, const void *a, void *a_layout, const void *b, void *b_layout, \
     const void *beta, const void *c, void *c_layout, void *d, void *d_layout, const tsr_lt_algo *algo,         \
     void *workspace, size_t workspace_bytes, void *stream)
#define TSR_LT_HEURISTIC_PARAMETERS                                                                              \
    (void *handle, void *desc, void *a_layout, void *b_layout, void *c_layout, void *d_layout, void *preference, \
     int wanted, tsr_lt_heuristic *results, int *count)

/* X(member, symbol, parameters): what libcublas is asked for. Calls that have a twin for 64-bit sizes come by
 * TSR_CUBLAS_WIDTH_CALLS, once for each width; W is the end of the twin's name. */
#define TSR_CUBLAS_WIDTH_CALLS(X, INT, W)                                                     \
    X(gemm_ex##W, cublasGemmEx##W, TSR_GEMM_EX_PARAMETERS(INT))                               \
    X(gemm_strided_ex##W, cublasGemmStridedBatchedEx##W, TSR_GEMM_STRIDED_EX_PARAMETERS(INT)) \
    X(gemm_batched_ex##W, cublasGemmBatchedEx##W, TSR_GEMM_BATCHED_EX_PARAMETERS(INT))        \
    X(gemm_grouped_ex##W, cublasGemmGroupedBatchedEx##W, TSR_GEMM_GROUPED_EX_PARAMETERS(INT)) \
    X(sgemm_ex##W, cublasSgemmEx##W, TSR_SGEMM_EX_PARAMETERS(INT))                            \
    X(sgemm##W, cublasSgemm_v2##W, TSR_GEMM_PARAMETERS(INT))                                  \
    X(dgemm##W, cublasDgemm_v2##W, TSR_GEMM_PARAMETERS(INT))                                  \
    X(hgemm##W, cublasHgemm##W, TSR_GEMM_PARAMETERS(INT))                                     \
    X(sgemm_strided##W, cublasSgemmStridedBatched##W, TSR_GEMM_STRIDED_PARAMETERS(INT))       \
    X(dgemm_strided##W, cublasDgemmStridedBatched##W, TSR_GEMM_STRIDED_PARAMETERS(INT))       \
    X(hgemm_strided##W, cublasHgemmStridedBatched##W, TSR_GEMM_STRIDED_PARAMETERS(INT))       \
    X(sgemm_batched##W, cublasSgemmBatched##W, TSR_GEMM_BATCHED_PARAMETERS(INT))              \
    X(dgemm_batched##W, cublasDgemmBatched##W, TSR_GEMM_BATCHED_PARAMETERS(INT))              \
    X(hgemm_batched##W, cublasHgemmBatched##W, TSR_GEMM_BATCHED_PARAMETERS(INT))              \
    X(sgemm_grouped##W, cublasSgemmGroupedBatched##W, TSR_GEMM_GROUPED_PARAMETERS(INT))       \
    X(dgemm_grouped##W, cublasDgemmGroupedBatched##W, TSR_GEMM_GROUPED_PARAMETERS(INT))
#define TSR_CUBLAS_CALLS(X)                                                                \
    TSR_CUBLAS_WIDTH_CALLS(X, int, )                                                       \
    TSR_CUBLAS_WIDTH_CALLS(X, int64_t, _64)                                                \
    X(create, cublasCreate_v2, (void **handle))                                            \
    X(destroy, cublasDestroy_v2, (void *handle))                                           \
    X(set_stream, cublasSetStream_v2, (void *handle, void *stream))                        \
    X(get_stream, cublasGetStream_v2, (void *handle, void **stream))                       \
    X(set_workspace, cublasSetWorkspace_v2, (void *handle, void *workspace, size_t bytes)) \
    X(get_pointer_mode, cublasGetPointerMode_v2, (void *handle, int *mode))                \
    X(get_math_mode, cublasGetMathMode, (void *handle, int *mode))                         \
    X(get_sm_count_target, cublasGetSmCountTarget, (void *handle, int *count))             \
    X(get_version, cublasGetVersion_v2, (void *handle, int *version))

/* The same of libcublasLt; cublasLtGetVersion, which is no call with a status, is found beside them. */
#define TSR_LT_CALLS(X)                                                                  \
    X(lt_create, cublasLtCreate, (void **handle))                                        \
    X(lt_destroy, cublasLtDestroy, (void *handle))                                       \
    X(matmul, cublasLtMatmul, TSR_LT_MATMUL_PARAMETERS)                                  \
    X(heuristic, cublasLtMatmulAlgoGetHeuristic, TSR_LT_HEURISTIC_PARAMETERS)            \
    X(desc_create, cublasLtMatmulDescCreate, (void **desc, int compute, int scale_type)) \
    X(desc_destroy, cublasLtMatmulDescDestroy, (void *desc))                             \
    X(desc_get, cublasLtMatmulDescGetAttribute,                                          \
      (void *desc, int attribute, void *value, size_t bytes, size_t *written))           \
    X(layout_create, cublasLtMatrixLayoutCreate,                                         \
      (void **layout, int type, uint64_t rows, uint64_t columns, int64_t ld))            \
    X(layout_destroy, cublasLtMatrixLayoutDestroy, (void *layout))                       \
    X(layout_get, cublasLtMatrixLayoutGetAttribute,                                      \
      (void *layout, int attribute, void *value, size_t bytes, size_t *written))         \
    X(preference_create, cublasLtMatmulPreferenceCreate, (void **preference))            \
    X(preference_destroy, cublasLtMatmulPreferenceDestroy, (void *preference))           \
    X(preference_get, cublasLtMatmulPreferenceGetAttribute,                              \
      (void *preference, int attribute, void *value, size_t bytes, size_t *written))

#endif
