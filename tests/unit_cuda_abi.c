/* The interfaces of the driver, cuBLASLt and NVML as the sources declare them, against NVIDIA's headers where those are
 * installed: every value and every signature, at compile time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/dtype.h"
#include "core/tensor_map.h"
#include "cuda/driver.h"
#include "lab/common/nvml.h"
#include "lab/peers/cublas_lt.h"
#include "lab/peers/cusparse_lt.h"

#ifdef HAVE_CUDA_H
#include <cuda.h>

#define SAME(own, theirs) _Static_assert((int)(own) == (int)(theirs), #own)
SAME(TSR_CU_SUCCESS, CUDA_SUCCESS);
SAME(TSR_CU_OUT_OF_MEMORY, CUDA_ERROR_OUT_OF_MEMORY);
SAME(TSR_CU_STUB_LIBRARY, CUDA_ERROR_STUB_LIBRARY);
SAME(TSR_CU_NO_DEVICE, CUDA_ERROR_NO_DEVICE);
SAME(TSR_CU_NO_BINARY_FOR_GPU, CUDA_ERROR_NO_BINARY_FOR_GPU);
SAME(TSR_CU_ECC_UNCORRECTABLE, CUDA_ERROR_ECC_UNCORRECTABLE);
SAME(TSR_CU_NVLINK_UNCORRECTABLE, CUDA_ERROR_NVLINK_UNCORRECTABLE);
SAME(TSR_CU_UNSUPPORTED_PTX_VERSION, CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
SAME(TSR_CU_ILLEGAL_ADDRESS, CUDA_ERROR_ILLEGAL_ADDRESS);
SAME(TSR_CU_LAUNCH_TIMEOUT, CUDA_ERROR_LAUNCH_TIMEOUT);
SAME(TSR_CU_CONTEXT_IS_DESTROYED, CUDA_ERROR_CONTEXT_IS_DESTROYED);
SAME(TSR_CU_ASSERT, CUDA_ERROR_ASSERT);
SAME(TSR_CU_HARDWARE_STACK_ERROR, CUDA_ERROR_HARDWARE_STACK_ERROR);
SAME(TSR_CU_ILLEGAL_INSTRUCTION, CUDA_ERROR_ILLEGAL_INSTRUCTION);
SAME(TSR_CU_MISALIGNED_ADDRESS, CUDA_ERROR_MISALIGNED_ADDRESS);
SAME(TSR_CU_INVALID_ADDRESS_SPACE, CUDA_ERROR_INVALID_ADDRESS_SPACE);
SAME(TSR_CU_INVALID_PC, CUDA_ERROR_INVALID_PC);
SAME(TSR_CU_LAUNCH_FAILED, CUDA_ERROR_LAUNCH_FAILED);
#if CUDA_VERSION >= 12080
SAME(TSR_CU_CONTAINED, CUDA_ERROR_CONTAINED);
#endif
SAME(TSR_CU_MAX_THREADS_PER_BLOCK, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
SAME(TSR_CU_CLOCK_RATE, CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
SAME(TSR_CU_MULTIPROCESSOR_COUNT, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
SAME(TSR_CU_MEMORY_CLOCK_RATE, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
SAME(TSR_CU_GLOBAL_MEMORY_BUS_WIDTH, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
SAME(TSR_CU_L2_CACHE_SIZE, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
SAME(TSR_CU_MAX_THREADS_PER_MULTIPROCESSOR, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
SAME(TSR_CU_COMPUTE_CAPABILITY_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SAME(TSR_CU_COMPUTE_CAPABILITY_MINOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
SAME(TSR_CU_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
SAME(TSR_CU_MAX_REGISTERS_PER_MULTIPROCESSOR, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
SAME(TSR_CU_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO);
SAME(TSR_CU_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
SAME(TSR_CU_MAX_BLOCKS_PER_MULTIPROCESSOR, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
SAME(TSR_CU_FUNC_MAX_THREADS_PER_BLOCK, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
SAME(TSR_CU_FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
SAME(TSR_CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER);
SAME(TSR_CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
SAME(TSR_CU_EVENT_DEFAULT, CU_EVENT_DEFAULT);
SAME(TSR_CU_LAUNCH_CLUSTER_DIMENSION, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
SAME(TSR_CU_LAUNCH_PROGRAMMATIC_STREAM_SERIALIZATION, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
SAME(sizeof(tsr_cu_launch_attribute), sizeof(CUlaunchAttribute));
SAME(offsetof(tsr_cu_launch_attribute, value), offsetof(CUlaunchAttribute, value));
SAME(offsetof(tsr_cu_launch_attribute, value.cluster.z), offsetof(CUlaunchAttribute, value.clusterDim.z));
SAME(offsetof(tsr_cu_launch_attribute, value.allowed),
     offsetof(CUlaunchAttribute, value.programmaticStreamSerializationAllowed));
SAME(sizeof(tsr_cu_launch_config), sizeof(CUlaunchConfig));
SAME(offsetof(tsr_cu_launch_config, smem_bytes), offsetof(CUlaunchConfig, sharedMemBytes));
SAME(offsetof(tsr_cu_launch_config, stream), offsetof(CUlaunchConfig, hStream));
SAME(offsetof(tsr_cu_launch_config, attributes), offsetof(CUlaunchConfig, attrs));
SAME(offsetof(tsr_cu_launch_config, attribute_count), offsetof(CUlaunchConfig, numAttrs));
SAME(TSR_CU_EVENT_DISABLE_TIMING, CU_EVENT_DISABLE_TIMING);
SAME(TSR_CU_STREAM_NON_BLOCKING, CU_STREAM_NON_BLOCKING);
SAME(TSR_CU_CAPTURE_THREAD_LOCAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
SAME(TSR_CU_LEGACY_STREAM, CU_GET_PROC_ADDRESS_LEGACY_STREAM);

/* The column of elements.def. */
enum {
    OF_F64 = CU_TENSOR_MAP_DATA_TYPE_FLOAT64,
    OF_F32 = CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
    OF_F16 = CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
    OF_BF16 = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
    OF_E4M3 = CU_TENSOR_MAP_DATA_TYPE_UINT8,
    OF_E5M2 = CU_TENSOR_MAP_DATA_TYPE_UINT8,
    OF_S8 = CU_TENSOR_MAP_DATA_TYPE_UINT8,
    OF_U8 = CU_TENSOR_MAP_DATA_TYPE_UINT8,
    OF_S32 = CU_TENSOR_MAP_DATA_TYPE_INT32
};

SAME(TSR_CU_TENSOR_INTERLEAVE_NONE, CU_TENSOR_MAP_INTERLEAVE_NONE);
SAME(TSR_CU_TENSOR_SWIZZLE_128B, CU_TENSOR_MAP_SWIZZLE_128B);
SAME(TSR_CU_TENSOR_L2_PROMOTION_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE);
SAME(TSR_CU_TENSOR_FILL_ZEROS, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
_Static_assert(sizeof(tsr_tensor_map) == sizeof(CUtensorMap), "a tensor map's bytes");
_Static_assert(_Alignof(tsr_tensor_map) >= _Alignof(CUtensorMap), "a tensor map's alignment");

/* cuda.h maps each name to the version in force (cuMemAlloc to cuMemAlloc_v2). Its enums are unsigned int to C. */
#define SAME_TYPE(member, symbol, parameters) \
    _Static_assert(__builtin_types_compatible_p(__typeof__(*((tsr_driver *)0)->member), __typeof__(symbol)), #symbol);
TSR_DRIVER_CALLS(SAME_TYPE)
#if CUDA_VERSION >= 12040
#define SAME_NEWER_TYPE(member, symbol, parameters, since) SAME_TYPE(member, symbol, parameters)
TSR_DRIVER_NEWER_CALLS(SAME_NEWER_TYPE)
#endif

#if __has_include(<cublasLt.h>)
#include <cublasLt.h>
SAME(LAB_CUBLAS_SUCCESS, CUBLAS_STATUS_SUCCESS);
SAME(LAB_CUBLAS_NOT_SUPPORTED, CUBLAS_STATUS_NOT_SUPPORTED);
SAME(LAB_CUBLAS_OP_N, CUBLAS_OP_N);
SAME(LAB_CUBLAS_OP_T, CUBLAS_OP_T);
SAME(LAB_CUDA_R_32F, CUDA_R_32F);
SAME(LAB_CUDA_R_64F, CUDA_R_64F);
SAME(LAB_CUDA_R_16F, CUDA_R_16F);
SAME(LAB_CUDA_R_8I, CUDA_R_8I);
SAME(LAB_CUDA_R_8U, CUDA_R_8U);
SAME(LAB_CUDA_R_32I, CUDA_R_32I);
SAME(LAB_CUDA_R_16BF, CUDA_R_16BF);
SAME(LAB_CUDA_R_8F_E4M3, CUDA_R_8F_E4M3);
SAME(LAB_CUDA_R_8F_E5M2, CUDA_R_8F_E5M2);
SAME(LAB_CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_32F);
SAME(LAB_CUBLAS_COMPUTE_64F, CUBLAS_COMPUTE_64F);
SAME(LAB_CUBLAS_COMPUTE_32I, CUBLAS_COMPUTE_32I);
SAME(LAB_CUBLAS_COMPUTE_32F_FAST_TF32, CUBLAS_COMPUTE_32F_FAST_TF32);
SAME(LAB_LT_LAYOUT_BATCH_COUNT, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
SAME(LAB_LT_LAYOUT_STRIDED_BATCH_OFFSET, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
SAME(LAB_LT_DESC_TRANSA, CUBLASLT_MATMUL_DESC_TRANSA);
SAME(LAB_LT_DESC_TRANSB, CUBLASLT_MATMUL_DESC_TRANSB);
SAME(LAB_LT_DESC_FAST_ACCUM, CUBLASLT_MATMUL_DESC_FAST_ACCUM);
SAME(LAB_LT_DESC_EPILOGUE, CUBLASLT_MATMUL_DESC_EPILOGUE);
SAME(LAB_LT_DESC_BIAS_POINTER, CUBLASLT_MATMUL_DESC_BIAS_POINTER);
SAME(LAB_LT_DESC_A_SCALE_POINTER, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER);
SAME(LAB_LT_DESC_B_SCALE_POINTER, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER);
#if CUBLAS_VERSION >= 120900
SAME(LAB_LT_DESC_A_SCALE_MODE, CUBLASLT_MATMUL_DESC_A_SCALE_MODE);
SAME(LAB_LT_DESC_B_SCALE_MODE, CUBLASLT_MATMUL_DESC_B_SCALE_MODE);
SAME(LAB_LT_SCALE_SCALAR, CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F);
SAME(LAB_LT_SCALE_OUTER_VEC, CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F);
SAME(LAB_LT_SCALE_VEC128, CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F);
SAME(LAB_LT_SCALE_BLK128X128, CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F);
#endif
SAME(LAB_LT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_BIAS);
SAME(LAB_LT_EPILOGUE_RELU_BIAS, CUBLASLT_EPILOGUE_RELU_BIAS);
SAME(LAB_LT_PREF_MAX_WORKSPACE_BYTES, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
SAME(LAB_LT_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
SAME(LAB_LT_PREF_MIN_ALIGNMENT_B_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
SAME(LAB_LT_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
SAME(LAB_LT_PREF_MIN_ALIGNMENT_D_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
SAME(sizeof(lab_lt_algo), sizeof(cublasLtMatmulAlgo_t));
SAME(sizeof(lab_lt_heuristic), sizeof(cublasLtMatmulHeuristicResult_t));
SAME(offsetof(lab_lt_heuristic, workspace_bytes), offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
SAME(offsetof(lab_lt_heuristic, status), offsetof(cublasLtMatmulHeuristicResult_t, state));
SAME(offsetof(lab_lt_heuristic, waves), offsetof(cublasLtMatmulHeuristicResult_t, wavesCount));
/* Its descriptors are pointers to types without a tag, so only calls without them can be compared whole. */
#define SAME_LT_TYPE(member, symbol) \
    _Static_assert(__builtin_types_compatible_p(__typeof__(*((lab_lt *)0)->member), __typeof__(symbol)), #symbol)
SAME_LT_TYPE(create, cublasLtCreate);
SAME_LT_TYPE(destroy, cublasLtDestroy);
SAME_LT_TYPE(version, cublasLtGetVersion);
SAME_LT_TYPE(status_name, cublasLtGetStatusName);
/* The others by calls that are compiled and never made: a wrong count or kind of parameters is an error. */
static inline void calls_compile(void)
{
    cublasLtMatrixLayout_t layout = NULL;
    cublasLtMatmulDesc_t desc = NULL;
    cublasLtMatmulPreference_t preference = NULL;
    cublasLtMatmulHeuristicResult_t found;
    int count;
    cublasLtMatrixLayoutCreate(&layout, CUDA_R_32F, (uint64_t)1, (uint64_t)1, (int64_t)1);
    cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count);
    cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSA, &count, sizeof count);
    cublasLtMatmulPreferenceCreate(&preference);
    cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &count, sizeof count);
    cublasLtMatmulAlgoGetHeuristic((cublasLtHandle_t)NULL, desc, layout, layout, layout, layout, preference, 1, &found,
                                   &count);
    cublasLtMatmul((cublasLtHandle_t)NULL, desc, NULL, NULL, layout, NULL, layout, NULL, NULL, layout, NULL, layout,
                   &found.algo, NULL, (size_t)0, (tsr_cu_stream)NULL);
}
#endif

#if __has_include(<cusparseLt.h>) && __has_include(<cusparse.h>)
#include <stdalign.h>

#include <cusparseLt.h>
#if CUSPARSELT_VERSION >= 600
SAME(LAB_CUSPARSE_SUCCESS, CUSPARSE_STATUS_SUCCESS);
SAME(LAB_CUSPARSE_INVALID_VALUE, CUSPARSE_STATUS_INVALID_VALUE);
SAME(LAB_CUSPARSE_NOT_SUPPORTED, CUSPARSE_STATUS_NOT_SUPPORTED);
SAME(LAB_CUSPARSE_OP_N, CUSPARSE_OPERATION_NON_TRANSPOSE);
SAME(LAB_CUSPARSE_OP_T, CUSPARSE_OPERATION_TRANSPOSE);
SAME(LAB_CUSPARSE_ORDER_COL, CUSPARSE_ORDER_COL);
SAME(LAB_CUSPARSE_ORDER_ROW, CUSPARSE_ORDER_ROW);
SAME(LAB_SLT_COMPUTE_32I, CUSPARSE_COMPUTE_32I);
SAME(LAB_SLT_COMPUTE_16F, CUSPARSE_COMPUTE_16F);
SAME(LAB_SLT_COMPUTE_32F, CUSPARSE_COMPUTE_32F);
SAME(LAB_SLT_SPARSITY_50_PERCENT, CUSPARSELT_SPARSITY_50_PERCENT);
SAME(LAB_SLT_ALG_DEFAULT, CUSPARSELT_MATMUL_ALG_DEFAULT);
SAME(LAB_SLT_NUM_BATCHES, CUSPARSELT_MAT_NUM_BATCHES);
SAME(LAB_SLT_BATCH_STRIDE, CUSPARSELT_MAT_BATCH_STRIDE);
#define FITS(own, theirs)                                               \
    _Static_assert(sizeof(own) >= sizeof(theirs), "room for " #theirs); \
    _Static_assert(_Alignof(own) % _Alignof(theirs) == 0, "alignment of " #theirs)
FITS(lab_slt_handle, cusparseLtHandle_t);
FITS(lab_slt_matrix, cusparseLtMatDescriptor_t);
FITS(lab_slt_matmul, cusparseLtMatmulDescriptor_t);
FITS(lab_slt_algorithm, cusparseLtMatmulAlgSelection_t);
FITS(lab_slt_plan, cusparseLtMatmulPlan_t);
/* Its objects are structs of its own, so calls are compared by calls that are compiled and never made. */
static inline void sparse_calls_compile(void)
{
    cusparseLtHandle_t handle;
    cusparseLtMatDescriptor_t matrix;
    cusparseLtMatmulDescriptor_t matmul;
    cusparseLtMatmulAlgSelection_t algorithm;
    cusparseLtMatmulPlan_t plan;
    cudaStream_t stream = NULL;
    size_t bytes;
    int version;
    cusparseLtInit(&handle);
    cusparseLtGetVersion(&handle, &version);
    cusparseLtDenseDescriptorInit(&handle, &matrix, (int64_t)1, (int64_t)1, (int64_t)1, (uint32_t)16, CUDA_R_32F,
                                  CUSPARSE_ORDER_ROW);
    cusparseLtStructuredDescriptorInit(&handle, &matrix, (int64_t)1, (int64_t)1, (int64_t)1, (uint32_t)16, CUDA_R_32F,
                                       CUSPARSE_ORDER_ROW, CUSPARSELT_SPARSITY_50_PERCENT);
    cusparseLtMatDescSetAttribute(&handle, &matrix, CUSPARSELT_MAT_NUM_BATCHES, &version, sizeof version);
    cusparseLtMatmulDescriptorInit(&handle, &matmul, CUSPARSE_OPERATION_TRANSPOSE, CUSPARSE_OPERATION_TRANSPOSE,
                                   &matrix, &matrix, &matrix, &matrix, CUSPARSE_COMPUTE_32F);
    cusparseLtMatmulAlgSelectionInit(&handle, &algorithm, &matmul, CUSPARSELT_MATMUL_ALG_DEFAULT);
    cusparseLtMatmulPlanInit(&handle, &plan, &matmul, &algorithm);
    cusparseLtMatmulGetWorkspace(&handle, &plan, &bytes);
    cusparseLtSpMMACompressedSize(&handle, &plan, &bytes, &bytes);
    cusparseLtSpMMACompress(&handle, &plan, &bytes, &bytes, &bytes, stream);
    cusparseLtMatmulSearch(&handle, &plan, &bytes, &bytes, &bytes, &bytes, &bytes, &bytes, &bytes, &stream, (int32_t)1);
    cusparseLtMatmul(&handle, &plan, &bytes, &bytes, &bytes, &bytes, &bytes, &bytes, &bytes, &stream, (int32_t)1);
    cusparseLtMatDescriptorDestroy(&matrix);
    cusparseLtMatmulPlanDestroy(&plan);
#if CUSPARSELT_VERSION >= 800
    cusparseLtMatmulAlgSelectionDestroy(&algorithm);
    const char *(*const name)(cusparseStatus_t) = cusparseLtGetErrorName;
    (void)name;
#endif
    cusparseLtDestroy(&handle);
}
#endif
#endif

#if __has_include(<nvml.h>)
#include <nvml.h>
SAME(LAB_NVML_SUCCESS, NVML_SUCCESS);
SAME(LAB_NVML_CLOCK_SM, NVML_CLOCK_SM);
_Static_assert(__builtin_types_compatible_p(lab_nvml_device, nvmlDevice_t), "nvmlDevice_t");
#endif
#endif

static void declarations_match(void **unused)
{
    (void)unused;
#ifdef HAVE_CUDA_H
#define TSR_ELEMENT(NAME, ...) assert_int_equal(tsr_dtype_tensor_type(TSR_##NAME), OF_##NAME);
#include "core/elements.def"
#undef TSR_ELEMENT
#else
    skip(); /* no cuda.h on the machine that built this */
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(declarations_match)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
