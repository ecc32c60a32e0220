/* cuSPARSELt, found at run time: this file declares the part of its interface that the peer uses, with the numbers of
 * versions 0.6 to 0.10 (cusparseLt.h and cusparse.h; tests/unit_cuda_abi.c compares them where they are installed). */
#ifndef LAB_CUSPARSE_LT_H
#define LAB_CUSPARSE_LT_H

#include <stdint.h>

#include "cuda/driver.h"
#include "lab/peers/cuda_library.h"

enum { LAB_CUSPARSE_SUCCESS = 0, LAB_CUSPARSE_INVALID_VALUE = 3, LAB_CUSPARSE_NOT_SUPPORTED = 10 };
enum { LAB_CUSPARSE_OP_N = 0, LAB_CUSPARSE_OP_T = 1 };
enum { LAB_CUSPARSE_ORDER_COL = 1, LAB_CUSPARSE_ORDER_ROW = 2 };
enum { LAB_SLT_COMPUTE_32I = 0, LAB_SLT_COMPUTE_16F = 1, LAB_SLT_COMPUTE_32F = 2 };
enum { LAB_SLT_SPARSITY_50_PERCENT = 0 };
enum { LAB_SLT_ALG_DEFAULT = 0 };
enum { LAB_SLT_NUM_BATCHES = 0, LAB_SLT_BATCH_STRIDE = 1 }; /* int, and int64_t in elements */

/* The caller brings the memory of the library's objects, and they stay where they are: 13,072 bytes each in 0.6, 1,024
 * in 0.7, 512 at multiples of 16 from 0.8 on. */
enum { LAB_SLT_OBJECT_BYTES = 16384, LAB_SLT_OBJECT_ALIGN = 64 };
#define LAB_SLT_OBJECT(name)                                                       \
    typedef struct name {                                                          \
        _Alignas(LAB_SLT_OBJECT_ALIGN) unsigned char opaque[LAB_SLT_OBJECT_BYTES]; \
    } name
LAB_SLT_OBJECT(lab_slt_handle);
LAB_SLT_OBJECT(lab_slt_matrix);
LAB_SLT_OBJECT(lab_slt_matmul);
LAB_SLT_OBJECT(lab_slt_algorithm);
LAB_SLT_OBJECT(lab_slt_plan);

typedef unsigned lab_cusparse_status;

/* X(member, symbol, parameters); all return a status. */
#define LAB_SLT_CALLS(X)                                                                                            \
    X(init, cusparseLtInit, (lab_slt_handle * handle))                                                              \
    X(destroy, cusparseLtDestroy, (const lab_slt_handle *handle))                                                   \
    X(version, cusparseLtGetVersion, (const lab_slt_handle *handle, int *version))                                  \
    X(dense_init, cusparseLtDenseDescriptorInit,                                                                    \
      (const lab_slt_handle *handle, lab_slt_matrix *matrix, int64_t rows, int64_t columns, int64_t ld,             \
       uint32_t align_bytes, unsigned type, unsigned order))                                                        \
    X(structured_init, cusparseLtStructuredDescriptorInit,                                                          \
      (const lab_slt_handle *handle, lab_slt_matrix *matrix, int64_t rows, int64_t columns, int64_t ld,             \
       uint32_t align_bytes, unsigned type, unsigned order, unsigned sparsity))                                     \
    X(matrix_destroy, cusparseLtMatDescriptorDestroy, (const lab_slt_matrix *matrix))                               \
    X(matrix_set, cusparseLtMatDescSetAttribute,                                                                    \
      (const lab_slt_handle *handle, lab_slt_matrix *matrix, unsigned attribute, const void *value, size_t bytes))  \
    X(matmul_init, cusparseLtMatmulDescriptorInit,                                                                  \
      (const lab_slt_handle *handle, lab_slt_matmul *matmul, unsigned op_a, unsigned op_b, const lab_slt_matrix *a, \
       const lab_slt_matrix *b, const lab_slt_matrix *c, const lab_slt_matrix *d, unsigned compute_type))           \
    X(algorithm_init, cusparseLtMatmulAlgSelectionInit,                                                             \
      (const lab_slt_handle *handle, lab_slt_algorithm *algorithm, const lab_slt_matmul *matmul, unsigned which))   \
    X(plan_init, cusparseLtMatmulPlanInit,                                                                          \
      (const lab_slt_handle *handle, lab_slt_plan *plan, const lab_slt_matmul *matmul,                              \
       const lab_slt_algorithm *algorithm))                                                                         \
    X(plan_destroy, cusparseLtMatmulPlanDestroy, (const lab_slt_plan *plan))                                        \
    X(workspace, cusparseLtMatmulGetWorkspace,                                                                      \
      (const lab_slt_handle *handle, const lab_slt_plan *plan, size_t *bytes))                                      \
    X(compressed_size, cusparseLtSpMMACompressedSize,                                                               \
      (const lab_slt_handle *handle, const lab_slt_plan *plan, size_t *bytes, size_t *buffer_bytes))                \
    X(compress, cusparseLtSpMMACompress,                                                                            \
      (const lab_slt_handle *handle, const lab_slt_plan *plan, const void *whole, void *compressed, void *buffer,   \
       tsr_cu_stream stream))                                                                                       \
    X(search, cusparseLtMatmulSearch,                                                                               \
      (const lab_slt_handle *handle, lab_slt_plan *plan, const void *alpha, const void *a, const void *b,           \
       const void *beta, const void *c, void *d, void *workspace, tsr_cu_stream *streams, int32_t stream_count))    \
    X(matmul, cusparseLtMatmul,                                                                                     \
      (const lab_slt_handle *handle, const lab_slt_plan *plan, const void *alpha, const void *a, const void *b,     \
       const void *beta, const void *c, void *d, void *workspace, tsr_cu_stream *streams, int32_t stream_count))

typedef struct lab_slt {
    void *library;
#define LAB_SLT_MEMBER(member, symbol, parameters) lab_cusparse_status(*member) parameters;
    LAB_SLT_CALLS(LAB_SLT_MEMBER)
#undef LAB_SLT_MEMBER
    /* From 0.8 on, else NULL. */
    lab_cusparse_status (*algorithm_destroy)(const lab_slt_algorithm *algorithm);
    const char *(*status_name)(lab_cusparse_status status);
} lab_slt;

/* Looks for version 0, at $TESSERA_CUSPARSELT_PATH if that is set (cuda_library.h). */
tsr_status lab_slt_load(lab_slt *out);
void lab_slt_unload(lab_slt *slt);

#endif
