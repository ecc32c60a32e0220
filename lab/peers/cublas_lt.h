/* cuBLASLt, found at run time: this file declares the part of its interface that the peer uses. The values are those of
 * cublasLt.h, cublas_api.h and library_types.h (tests/unit_cuda_abi.c compares them where they are installed). */
#ifndef LAB_CUBLAS_LT_H
#define LAB_CUBLAS_LT_H

#include <stdint.h>

#include "cuda/driver.h"
#include "lab/peers/cuda_library.h"

enum { LAB_CUBLAS_SUCCESS = 0, LAB_CUBLAS_NOT_SUPPORTED = 15 };
enum { LAB_CUBLAS_OP_N = 0, LAB_CUBLAS_OP_T = 1 };

/* Compute types. */
enum {
    LAB_CUBLAS_COMPUTE_32F = 68,
    LAB_CUBLAS_COMPUTE_64F = 70,
    LAB_CUBLAS_COMPUTE_32I = 72,
    LAB_CUBLAS_COMPUTE_32F_FAST_TF32 = 77
};

/* Epilogues. */
enum { LAB_LT_EPILOGUE_BIAS = 4, LAB_LT_EPILOGUE_RELU_BIAS = 6 };

/* Modes of scales, from version 12.9 on. */
enum {
    LAB_LT_SCALE_SCALAR = 0,
    LAB_LT_SCALE_OUTER_VEC = 3,
    LAB_LT_SCALE_VEC128 = 4, /* these two on compute capability 9.0 alone */
    LAB_LT_SCALE_BLK128X128 = 5
};

/* Attributes of descriptors. */
enum {
    LAB_LT_LAYOUT_BATCH_COUNT = 5,          /* int32_t */
    LAB_LT_LAYOUT_STRIDED_BATCH_OFFSET = 6, /* int64_t, elements */
    LAB_LT_DESC_TRANSA = 3,                 /* int32_t */
    LAB_LT_DESC_TRANSB = 4,                 /* int32_t */
    LAB_LT_DESC_EPILOGUE = 7,               /* uint32_t */
    LAB_LT_DESC_BIAS_POINTER = 8,           /* of a value for each row of the column-major D, of its type */
    LAB_LT_DESC_A_SCALE_POINTER = 17,       /* one float in device memory, as for B */
    LAB_LT_DESC_B_SCALE_POINTER = 18,
    LAB_LT_DESC_FAST_ACCUM = 25,   /* int8_t */
    LAB_LT_DESC_A_SCALE_MODE = 31, /* int32_t, as for B */
    LAB_LT_DESC_B_SCALE_MODE = 32,
    LAB_LT_PREF_MAX_WORKSPACE_BYTES = 1,   /* uint64_t */
    LAB_LT_PREF_MIN_ALIGNMENT_A_BYTES = 5, /* uint32_t, as for B, C, D */
    LAB_LT_PREF_MIN_ALIGNMENT_B_BYTES = 6,
    LAB_LT_PREF_MIN_ALIGNMENT_C_BYTES = 7,
    LAB_LT_PREF_MIN_ALIGNMENT_D_BYTES = 8
};

typedef unsigned lab_cublas_status;
typedef struct cublasLtContext *lab_lt_handle;
typedef struct lab_lt_layout_st *lab_lt_layout;
typedef struct lab_lt_desc_st *lab_lt_desc;
typedef struct lab_lt_preference_st *lab_lt_preference;

typedef struct lab_lt_algo {
    uint64_t data[8];
} lab_lt_algo;

typedef struct lab_lt_heuristic {
    lab_lt_algo algo;
    size_t workspace_bytes;
    lab_cublas_status status;
    float waves;
    int reserved[4];
} lab_lt_heuristic;

/* X(member, symbol, parameters); all return a status. Matrices are column-major. */
#define LAB_LT_CALLS(X)                                                                                            \
    X(create, cublasLtCreate, (lab_lt_handle * handle))                                                            \
    X(destroy, cublasLtDestroy, (lab_lt_handle handle))                                                            \
    X(layout_create, cublasLtMatrixLayoutCreate,                                                                   \
      (lab_lt_layout * layout, unsigned type, uint64_t rows, uint64_t columns, int64_t ld))                        \
    X(layout_destroy, cublasLtMatrixLayoutDestroy, (lab_lt_layout layout))                                         \
    X(layout_set, cublasLtMatrixLayoutSetAttribute,                                                                \
      (lab_lt_layout layout, unsigned attribute, const void *value, size_t bytes))                                 \
    X(desc_create, cublasLtMatmulDescCreate, (lab_lt_desc * desc, unsigned compute_type, unsigned scale_type))     \
    X(desc_destroy, cublasLtMatmulDescDestroy, (lab_lt_desc desc))                                                 \
    X(desc_set, cublasLtMatmulDescSetAttribute,                                                                    \
      (lab_lt_desc desc, unsigned attribute, const void *value, size_t bytes))                                     \
    X(preference_create, cublasLtMatmulPreferenceCreate, (lab_lt_preference * preference))                         \
    X(preference_destroy, cublasLtMatmulPreferenceDestroy, (lab_lt_preference preference))                         \
    X(preference_set, cublasLtMatmulPreferenceSetAttribute,                                                        \
      (lab_lt_preference preference, unsigned attribute, const void *value, size_t bytes))                         \
    X(heuristic, cublasLtMatmulAlgoGetHeuristic,                                                                   \
      (lab_lt_handle handle, lab_lt_desc desc, lab_lt_layout a, lab_lt_layout b, lab_lt_layout c, lab_lt_layout d, \
       lab_lt_preference preference, int wanted, lab_lt_heuristic *results, int *count))                           \
    X(matmul, cublasLtMatmul,                                                                                      \
      (lab_lt_handle handle, lab_lt_desc desc, const void *alpha, const void *a, lab_lt_layout a_layout,           \
       const void *b, lab_lt_layout b_layout, const void *beta, const void *c, lab_lt_layout c_layout, void *d,    \
       lab_lt_layout d_layout, const lab_lt_algo *algo, void *workspace, size_t workspace_bytes,                   \
       tsr_cu_stream stream))

typedef struct lab_lt {
    void *library;
#define LAB_LT_MEMBER(member, symbol, parameters) lab_cublas_status(*member) parameters;
    LAB_LT_CALLS(LAB_LT_MEMBER)
#undef LAB_LT_MEMBER
    size_t (*version)(void); /* 130101 for 13.1.1 */
    const char *(*status_name)(lab_cublas_status status);
} lab_lt;

/* Looks for versions 13 and 12, at $TESSERA_CUBLAS_PATH if that is set (cuda_library.h). */
tsr_status lab_lt_load(lab_lt *out);
void lab_lt_unload(lab_lt *lt);

#endif
