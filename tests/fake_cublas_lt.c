#include "fake_cublas_lt.h"

#define FAKE_CUDA_LIBRARY
#include "fake_cuda.h"

#define EXPORT __attribute__((visibility("default")))

struct lab_lt_layout_st {
    unsigned type;
    int64_t rows, columns, ld, batch_stride;
    int32_t batch;
};
struct lab_lt_desc_st {
    unsigned compute_type, scale_type;
    int32_t op[2];
};
struct lab_lt_preference_st {
    uint32_t align_bytes[4];
    uint64_t workspace_bytes;
};

static fake_lt state;

/* Also at the start, for programs that do not know that this is no real library. */
__attribute__((constructor)) static void reset(void)
{
    memset(&state, 0, sizeof state);
    state.proposed = 3;
    state.unusable = -1;
    state.version = 130102;
}

EXPORT fake_lt_access fake_lt_access_points = {&state, reset};

static lab_cublas_status begin(const char *call)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    const fake_cuda_access *cuda = driver ? dlsym(driver, "fake_cuda_access_points") : NULL;
    if (!cuda || cuda->current() != cuda->primary)
        state.context_errors++;
    return state.fail_call && strcmp(state.fail_call, call) == 0 ? state.fail_status : LAB_CUBLAS_SUCCESS;
}

static void *new_object(size_t bytes)
{
    state.objects++;
    return calloc(1, bytes);
}

static lab_cublas_status drop(void *object)
{
    state.objects--;
    free(object);
    return LAB_CUBLAS_SUCCESS;
}

/* The declarations that -Wmissing-prototypes asks for, from the list that the peer reads. */
#define DECLARE(member, symbol, parameters) EXPORT lab_cublas_status symbol parameters;
LAB_LT_CALLS(DECLARE)
EXPORT size_t cublasLtGetVersion(void);
EXPORT const char *cublasLtGetStatusName(lab_cublas_status status);

size_t cublasLtGetVersion(void)
{
    return state.version;
}

const char *cublasLtGetStatusName(lab_cublas_status status)
{
    return status == LAB_CUBLAS_NOT_SUPPORTED ? "CUBLAS_STATUS_NOT_SUPPORTED" : "CUBLAS_STATUS_OTHER";
}

lab_cublas_status cublasLtCreate(lab_lt_handle *handle)
{
    const lab_cublas_status status = begin("cublasLtCreate");
    if (status == LAB_CUBLAS_SUCCESS) {
        state.handles++;
        *handle = (lab_lt_handle)(void *)&state;
    }
    return status;
}

lab_cublas_status cublasLtDestroy(lab_lt_handle handle)
{
    state.handles -= handle == (lab_lt_handle)(void *)&state;
    return begin("cublasLtDestroy");
}

lab_cublas_status cublasLtMatrixLayoutCreate(lab_lt_layout *layout, unsigned type, uint64_t rows, uint64_t columns,
                                             int64_t ld)
{
    const lab_cublas_status status = begin("cublasLtMatrixLayoutCreate");
    if (status != LAB_CUBLAS_SUCCESS)
        return status;
    *layout = new_object(sizeof **layout);
    **layout = (struct lab_lt_layout_st){type, (int64_t)rows, (int64_t)columns, ld, 0, 1};
    return status;
}

lab_cublas_status cublasLtMatrixLayoutDestroy(lab_lt_layout layout)
{
    return drop(layout);
}

lab_cublas_status cublasLtMatrixLayoutSetAttribute(lab_lt_layout layout, unsigned attribute, const void *value,
                                                   size_t bytes)
{
    if (attribute == LAB_LT_LAYOUT_BATCH_COUNT && bytes == sizeof layout->batch)
        memcpy(&layout->batch, value, bytes);
    else if (attribute == LAB_LT_LAYOUT_STRIDED_BATCH_OFFSET && bytes == sizeof layout->batch_stride)
        memcpy(&layout->batch_stride, value, bytes);
    else
        return 7;
    return begin("cublasLtMatrixLayoutSetAttribute");
}

lab_cublas_status cublasLtMatmulDescCreate(lab_lt_desc *desc, unsigned compute_type, unsigned scale_type)
{
    const lab_cublas_status status = begin("cublasLtMatmulDescCreate");
    if (status != LAB_CUBLAS_SUCCESS)
        return status;
    *desc = new_object(sizeof **desc);
    **desc = (struct lab_lt_desc_st){compute_type, scale_type, {0, 0}};
    return status;
}

lab_cublas_status cublasLtMatmulDescDestroy(lab_lt_desc desc)
{
    return drop(desc);
}

lab_cublas_status cublasLtMatmulDescSetAttribute(lab_lt_desc desc, unsigned attribute, const void *value, size_t bytes)
{
    if ((attribute == LAB_LT_DESC_TRANSA || attribute == LAB_LT_DESC_TRANSB) && bytes == sizeof desc->op[0])
        memcpy(&desc->op[attribute - LAB_LT_DESC_TRANSA], value, bytes);
    else if ((attribute == LAB_LT_DESC_A_SCALE_POINTER || attribute == LAB_LT_DESC_B_SCALE_POINTER) &&
             bytes == sizeof state.scales[0])
        memcpy(&state.scales[attribute - LAB_LT_DESC_A_SCALE_POINTER], value, bytes);
    else if ((attribute == LAB_LT_DESC_A_SCALE_MODE || attribute == LAB_LT_DESC_B_SCALE_MODE) &&
             bytes == sizeof state.scale_modes[0])
        memcpy(&state.scale_modes[attribute - LAB_LT_DESC_A_SCALE_MODE], value, bytes);
    else
        return 7;
    return begin("cublasLtMatmulDescSetAttribute");
}

lab_cublas_status cublasLtMatmulPreferenceCreate(lab_lt_preference *preference)
{
    const lab_cublas_status status = begin("cublasLtMatmulPreferenceCreate");
    if (status == LAB_CUBLAS_SUCCESS)
        *preference = new_object(sizeof **preference);
    return status;
}

lab_cublas_status cublasLtMatmulPreferenceDestroy(lab_lt_preference preference)
{
    return drop(preference);
}

lab_cublas_status cublasLtMatmulPreferenceSetAttribute(lab_lt_preference preference, unsigned attribute,
                                                       const void *value, size_t bytes)
{
    if (attribute == LAB_LT_PREF_MAX_WORKSPACE_BYTES && bytes == 8)
        memcpy(&preference->workspace_bytes, value, bytes);
    else if (attribute >= LAB_LT_PREF_MIN_ALIGNMENT_A_BYTES && attribute <= LAB_LT_PREF_MIN_ALIGNMENT_D_BYTES &&
             bytes == 4)
        memcpy(&preference->align_bytes[attribute - LAB_LT_PREF_MIN_ALIGNMENT_A_BYTES], value, bytes);
    else
        return 7;
    return begin("cublasLtMatmulPreferenceSetAttribute");
}

lab_cublas_status cublasLtMatmulAlgoGetHeuristic(lab_lt_handle handle, lab_lt_desc desc, lab_lt_layout a,
                                                 lab_lt_layout b, lab_lt_layout c, lab_lt_layout d,
                                                 lab_lt_preference preference, int wanted, lab_lt_heuristic *results,
                                                 int *count)
{
    (void)handle;
    (void)a;
    (void)b;
    (void)c;
    (void)d;
    state.compute_type = desc->compute_type;
    state.scale_type = desc->scale_type;
    state.workspace_limit_bytes = preference->workspace_bytes;
    memcpy(state.align_bytes, preference->align_bytes, sizeof state.align_bytes);
    state.wanted = wanted;
    *count = state.proposed < wanted ? state.proposed : wanted;
    for (int i = 0; i < *count; i++) {
        memset(&results[i], 0, sizeof results[i]);
        results[i].algo.data[0] = 100 + (uint64_t)i;
        results[i].status = i == state.unusable ? LAB_CUBLAS_NOT_SUPPORTED : LAB_CUBLAS_SUCCESS;
    }
    return begin("cublasLtMatmulAlgoGetHeuristic");
}

static double element(const void *data, unsigned type, int64_t index)
{
    return type == LAB_CUDA_R_64F ? ((const double *)data)[index] : (double)((const float *)data)[index];
}

/* op(X)(i, j) of problem z; X is column-major. */
static double value(const void *data, lab_lt_layout x, int32_t op, int64_t z, int64_t i, int64_t j)
{
    return element(data, x->type, z * x->batch_stride + (op ? i * x->ld + j : j * x->ld + i));
}

lab_cublas_status cublasLtMatmul(lab_lt_handle handle, lab_lt_desc desc, const void *alpha, const void *a,
                                 lab_lt_layout a_layout, const void *b, lab_lt_layout b_layout, const void *beta,
                                 const void *c, lab_lt_layout c_layout, void *d, lab_lt_layout d_layout,
                                 const lab_lt_algo *algo, void *workspace, size_t workspace_bytes, tsr_cu_stream stream)
{
    const lab_cublas_status status = begin("cublasLtMatmul");
    const double factor = element(alpha, desc->scale_type, 0), keep = element(beta, desc->scale_type, 0);
    const int64_t k = desc->op[0] ? a_layout->rows : a_layout->columns;
    (void)handle;
    state.algo = algo->data[0];
    state.stream = stream;
    state.c_was_null = c == NULL;
    if (status != LAB_CUBLAS_SUCCESS || !workspace || workspace_bytes < state.workspace_limit_bytes)
        return status ? status : 7;
    for (int64_t z = 0; z < d_layout->batch; z++)
        for (int64_t j = 0; j < d_layout->columns; j++)
            for (int64_t i = 0; i < d_layout->rows; i++) {
                const int64_t at = z * d_layout->batch_stride + j * d_layout->ld + i;
                double sum = 0;
                for (int64_t p = 0; p < k; p++)
                    sum += value(a, a_layout, desc->op[0], z, i, p) * value(b, b_layout, desc->op[1], z, p, j);
                sum *= factor;
                if (keep != 0)
                    sum += keep * value(c, c_layout, 0, z, i, j);
                if (d_layout->type == LAB_CUDA_R_64F)
                    ((double *)d)[at] = sum;
                else
                    ((float *)d)[at] = (float)sum;
            }
    return status;
}
