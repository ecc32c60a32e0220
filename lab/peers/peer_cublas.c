/* cuBLASLt at its best: 64 MiB of workspace, the true alignments, algorithms found before any run. Row-major products
 * are asked for as the transposed product of column-major matrices, D^T = op(B)^T op(A)^T, which is the same memory
 * layout as ours: the library's A is our B. */
#include <stdio.h>
#include <stdlib.h>

#include "core/dtype.h"
#include "core/error.h"
#include "core/forms.h"
#include "lab/common/gpu.h"
#include "lab/peers/cublas_lt.h"
#include "lab/peers/peer.h"

#define WORKSPACE_BYTES ((size_t)64 << 20)
#define ALIGN_BYTES_MAX 256              /* more than this tells the library nothing */
#define VECTORS_FROM    ((size_t)120900) /* the first version that takes scales of rows, columns and blocks */

typedef struct cublas_peer {
    lab_gpu gpu;
    lab_lt lt;
    lab_lt_handle handle;
    tsr_cu_pointer workspace;
} cublas_peer;

typedef struct cublas_problem {
    const cublas_peer *peer;
    lab_lt_desc desc;
    lab_lt_layout a, b, c, d; /* of our operands */
    unsigned scale_type;
    int has_bias, has_scales;
    int algo_count;
    lab_lt_heuristic algos[LAB_PEER_CHOICES_MAX];
} cublas_problem;

static tsr_status fail(const cublas_peer *peer, const char *call, lab_cublas_status status)
{
    return tsr_fail(status == LAB_CUBLAS_NOT_SUPPORTED ? TSR_UNSUPPORTED : TSR_DRIVER_ERROR, "%s: %s (%u)", call,
                    peer->lt.status_name(status), status);
}

/* ---- the library ------------------------------------------------------------------------------------------------ */

static void close_peer(void *state)
{
    cublas_peer *peer = state;
    if (lab_gpu_enter(&peer->gpu) == TSR_OK) {
        if (peer->handle)
            peer->lt.destroy(peer->handle);
        if (peer->workspace)
            peer->gpu.driver.mem_free(peer->workspace);
        lab_gpu_leave(&peer->gpu);
    }
    lab_gpu_close(&peer->gpu);
    lab_lt_unload(&peer->lt);
    free(peer);
}

static tsr_status start(cublas_peer *peer)
{
    tsr_status status = lab_gpu_enter(&peer->gpu);
    if (status != TSR_OK)
        return status;
    const lab_cublas_status created = peer->lt.create(&peer->handle);
    if (created != LAB_CUBLAS_SUCCESS) {
        peer->handle = NULL;
        status = fail(peer, "cublasLtCreate", created);
    } else {
        const tsr_cu_result result = peer->gpu.driver.mem_alloc(&peer->workspace, WORKSPACE_BYTES);
        if (result != TSR_CU_SUCCESS) {
            peer->workspace = 0;
            status = lab_gpu_fail(&peer->gpu, "cuMemAlloc", result);
        }
    }
    lab_gpu_leave(&peer->gpu);
    return status;
}

static tsr_status open_peer(int ordinal, int threads, void **state)
{
    (void)threads;
    cublas_peer *peer = calloc(1, sizeof *peer);
    if (peer == NULL)
        return tsr_fail(TSR_OUT_OF_MEMORY, "no memory for cuBLAS");
    tsr_status status = lab_gpu_open(ordinal, &peer->gpu); /* first: the library is half a gigabyte */
    if (status != TSR_OK) {
        free(peer);
        return status;
    }
    status = lab_lt_load(&peer->lt);
    if (status != TSR_OK) {
        lab_gpu_close(&peer->gpu);
        free(peer);
        return status;
    }
    status = start(peer);
    if (status != TSR_OK) {
        close_peer(peer);
        return status;
    }
    *state = peer;
    return TSR_OK;
}

static void peer_version(void *state, char *out, size_t out_bytes)
{
    const size_t version = ((const cublas_peer *)state)->lt.version();
    snprintf(out, out_bytes, "cuBLASLt %zu.%zu.%zu", version / 10000, version / 100 % 100, version % 100);
}

/* ---- a problem -------------------------------------------------------------------------------------------------- */

/* Compute type and the type of alpha and beta. CUBLAS_COMPUTE_32F keeps f32 operands in f32. */
static tsr_status compute_types(const tsr_gemm_desc *desc, unsigned *compute_type, unsigned *scale_type)
{
    const tsr_dtype dtype = desc->a.dtype;
    tsr_compute compute = desc->compute;
    if (compute == TSR_COMPUTE_DEFAULT)
        compute = tsr_dtype_compute(dtype);
    switch (compute) {
    case TSR_COMPUTE_F64:
        *compute_type = LAB_CUBLAS_COMPUTE_64F;
        *scale_type = LAB_CUDA_R_64F;
        return TSR_OK;
    case TSR_COMPUTE_F32:
    case TSR_COMPUTE_FAST:
        *compute_type = LAB_CUBLAS_COMPUTE_32F;
        *scale_type = LAB_CUDA_R_32F;
        return TSR_OK;
    case TSR_COMPUTE_TF32:
        *compute_type = LAB_CUBLAS_COMPUTE_32F_FAST_TF32;
        *scale_type = LAB_CUDA_R_32F;
        return TSR_OK;
    case TSR_COMPUTE_S32:
        *compute_type = LAB_CUBLAS_COMPUTE_32I;
        *scale_type = LAB_CUDA_R_32I;
        return TSR_OK;
    default:
        return tsr_fail(TSR_UNSUPPORTED, "cuBLAS has no compute type %s", tsr_compute_name(compute));
    }
}

/* The library's A is our B, and its scales likewise. */
static lab_cublas_status set_scale_pointers(const lab_lt *lt, lab_lt_desc desc, const void *scale_a,
                                            const void *scale_b)
{
    const lab_cublas_status status = lt->desc_set(desc, LAB_LT_DESC_A_SCALE_POINTER, &scale_b, sizeof scale_b);
    return status == LAB_CUBLAS_SUCCESS ? lt->desc_set(desc, LAB_LT_DESC_B_SCALE_POINTER, &scale_a, sizeof scale_a)
                                        : status;
}

/* Modes, and pointers that only say to the heuristic that there will be scales: those of the workspace. */
static tsr_status describe_scales(const cublas_peer *peer, const tsr_gemm_desc *desc, lab_lt_desc to)
{
    const lab_lt *lt = &peer->lt;
    const void *const somewhere = (const void *)(uintptr_t)peer->workspace;
    static const int32_t numbers[TSR_SCALE_MODE_COUNT] = {LAB_LT_SCALE_SCALAR, LAB_LT_SCALE_OUTER_VEC,
                                                          LAB_LT_SCALE_VEC128, LAB_LT_SCALE_BLK128X128};
    const tsr_scale_mode modes[2] = {desc->scale_mode_b, desc->scale_mode_a}; /* the library's A is our B */
    const int are_blocks = modes[0] > TSR_SCALE_VECTOR || modes[1] > TSR_SCALE_VECTOR;
    if (!tsr_dtype_is_fp8(desc->a.dtype) || !tsr_dtype_is_fp8(desc->b.dtype))
        return tsr_fail(TSR_UNSUPPORTED, "cuBLASLt has scales of 8-bit floats, not of %s",
                        tsr_dtype_name(desc->a.dtype));
    if ((modes[0] > TSR_SCALE_TENSOR || modes[1] > TSR_SCALE_TENSOR) && lt->version() < VECTORS_FROM)
        return tsr_fail(TSR_UNSUPPORTED, "cuBLASLt has scales of %s from 12.9 on, and this is %zu.%zu",
                        are_blocks ? "blocks" : "rows and columns", lt->version() / 10000, lt->version() / 100 % 100);
    if (are_blocks && desc->batch_count > 1)
        return tsr_fail(TSR_UNSUPPORTED, "cuBLASLt does not say where scales of blocks lie for a batch");
    lab_cublas_status status = set_scale_pointers(lt, to, somewhere, somewhere);
    for (unsigned i = 0; i < 2 && status == LAB_CUBLAS_SUCCESS; i++)
        if (modes[i] != TSR_SCALE_TENSOR) /* which versions before 12.8 know no mode of */
            status = lt->desc_set(to, i ? LAB_LT_DESC_B_SCALE_MODE : LAB_LT_DESC_A_SCALE_MODE, &numbers[modes[i]],
                                  sizeof numbers[0]);
    return status == LAB_CUBLAS_SUCCESS ? TSR_OK : fail(peer, "cublasLtMatmulDescSetAttribute", status);
}

/* The layout of one of our operands, stored as rows x columns: to the library, columns x rows. */
static tsr_status make_layout(const cublas_peer *peer, const tsr_gemm_desc *desc, const tsr_operand *operand,
                              int64_t rows, int64_t columns, lab_lt_layout *out)
{
    const lab_lt *lt = &peer->lt;
    const int type = lab_cuda_type(operand->dtype);
    const int32_t batch = (int32_t)desc->batch_count;
    const int64_t stored_rows = operand->trans == TSR_T ? columns : rows;
    const int64_t stored_columns = operand->trans == TSR_T ? rows : columns;
    lab_cublas_status status = lt->layout_create(out, (unsigned)type, (uint64_t)stored_columns, (uint64_t)stored_rows,
                                                 operand->ld > 0 ? operand->ld : stored_columns);
    if (status != LAB_CUBLAS_SUCCESS) {
        *out = NULL;
        return fail(peer, "cublasLtMatrixLayoutCreate", status);
    }
    if (batch != 1)
        status = lt->layout_set(*out, LAB_LT_LAYOUT_BATCH_COUNT, &batch, sizeof batch);
    if (batch != 1 && status == LAB_CUBLAS_SUCCESS)
        status = lt->layout_set(*out, LAB_LT_LAYOUT_STRIDED_BATCH_OFFSET, &operand->batch_stride,
                                sizeof operand->batch_stride);
    return status == LAB_CUBLAS_SUCCESS ? TSR_OK : fail(peer, "cublasLtMatrixLayoutSetAttribute", status);
}

static tsr_status make_desc(const cublas_peer *peer, const tsr_gemm_desc *desc, cublas_problem *problem)
{
    const lab_lt *lt = &peer->lt;
    const int32_t op_a = desc->b.trans == TSR_T ? LAB_CUBLAS_OP_T : LAB_CUBLAS_OP_N;
    const int32_t op_b = desc->a.trans == TSR_T ? LAB_CUBLAS_OP_T : LAB_CUBLAS_OP_N;
    const int8_t fast = 1;
    unsigned compute_type = 0;
    const tsr_status known = compute_types(desc, &compute_type, &problem->scale_type);
    if (known != TSR_OK)
        return known;
    lab_cublas_status status = lt->desc_create(&problem->desc, compute_type, problem->scale_type);
    if (status != LAB_CUBLAS_SUCCESS) {
        problem->desc = NULL;
        return fail(peer, "cublasLtMatmulDescCreate", status);
    }
    status = lt->desc_set(problem->desc, LAB_LT_DESC_TRANSA, &op_a, sizeof op_a);
    if (status == LAB_CUBLAS_SUCCESS)
        status = lt->desc_set(problem->desc, LAB_LT_DESC_TRANSB, &op_b, sizeof op_b);
    if (status == LAB_CUBLAS_SUCCESS && desc->compute == TSR_COMPUTE_FAST)
        status = lt->desc_set(problem->desc, LAB_LT_DESC_FAST_ACCUM, &fast, sizeof fast);
    const int form = desc->epilogue ? (int)tsr_form_of(desc->epilogue) : TSR_EPILOGUE_NONE;
    const uint32_t epilogue =
        form == TSR_EPILOGUE_BIAS_RELU ? (uint32_t)LAB_LT_EPILOGUE_RELU_BIAS : (uint32_t)LAB_LT_EPILOGUE_BIAS;
    problem->has_bias = form != TSR_EPILOGUE_NONE;
    if (status == LAB_CUBLAS_SUCCESS && problem->has_bias)
        status = lt->desc_set(problem->desc, LAB_LT_DESC_EPILOGUE, &epilogue, sizeof epilogue);
    if (status != LAB_CUBLAS_SUCCESS)
        return fail(peer, "cublasLtMatmulDescSetAttribute", status);
    return problem->has_scales ? describe_scales(peer, desc, problem->desc) : TSR_OK;
}

static uint32_t alignment(const tsr_operand *operand)
{
    const uint32_t bytes = operand->align_bytes ? operand->align_bytes : (uint32_t)tsr_dtype_bytes(operand->dtype);
    return bytes < ALIGN_BYTES_MAX ? bytes : ALIGN_BYTES_MAX;
}

static lab_cublas_status set_preferences(const lab_lt *lt, const tsr_gemm_desc *desc, lab_lt_preference preference)
{
    const uint64_t workspace_bytes = WORKSPACE_BYTES;
    const struct {
        unsigned attribute;
        uint32_t bytes;
    } aligned[] = {{LAB_LT_PREF_MIN_ALIGNMENT_A_BYTES, alignment(&desc->b)},
                   {LAB_LT_PREF_MIN_ALIGNMENT_B_BYTES, alignment(&desc->a)},
                   {LAB_LT_PREF_MIN_ALIGNMENT_C_BYTES, alignment(&desc->c)},
                   {LAB_LT_PREF_MIN_ALIGNMENT_D_BYTES, alignment(&desc->d)}};
    lab_cublas_status status =
        lt->preference_set(preference, LAB_LT_PREF_MAX_WORKSPACE_BYTES, &workspace_bytes, sizeof workspace_bytes);
    for (size_t i = 0; i < sizeof aligned / sizeof aligned[0] && status == LAB_CUBLAS_SUCCESS; i++)
        status = lt->preference_set(preference, aligned[i].attribute, &aligned[i].bytes, sizeof aligned[i].bytes);
    return status;
}

/* The library's proposals, best first by its own estimate. */
static tsr_status find_algos(const cublas_peer *peer, const tsr_gemm_desc *desc, cublas_problem *problem)
{
    const lab_lt *lt = &peer->lt;
    lab_lt_heuristic found[LAB_PEER_CHOICES_MAX];
    lab_lt_preference preference;
    int count = 0;
    lab_cublas_status status = lt->preference_create(&preference);
    if (status != LAB_CUBLAS_SUCCESS)
        return fail(peer, "cublasLtMatmulPreferenceCreate", status);
    status = set_preferences(lt, desc, preference);
    if (status == LAB_CUBLAS_SUCCESS)
        status = lt->heuristic(peer->handle, problem->desc, problem->b, problem->a, problem->c, problem->d, preference,
                               LAB_PEER_CHOICES_MAX, found, &count);
    lt->preference_destroy(preference);
    if (status != LAB_CUBLAS_SUCCESS)
        return fail(peer, "cublasLtMatmulAlgoGetHeuristic", status);
    for (int i = 0; i < count; i++)
        if (found[i].status == LAB_CUBLAS_SUCCESS && found[i].workspace_bytes <= WORKSPACE_BYTES)
            problem->algos[problem->algo_count++] = found[i];
    return problem->algo_count > 0 ? TSR_OK : tsr_fail(TSR_UNSUPPORTED, "cuBLASLt has no algorithm for this problem");
}

static void release(void *state)
{
    cublas_problem *problem = state;
    const lab_lt *lt = &problem->peer->lt;
    lab_lt_layout layouts[] = {problem->a, problem->b, problem->c, problem->d};
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++)
        if (layouts[i])
            lt->layout_destroy(layouts[i]);
    if (problem->desc)
        lt->desc_destroy(problem->desc);
    free(problem);
}

static tsr_status check(const tsr_gemm_desc *desc)
{
    const tsr_operand *operands[] = {&desc->a, &desc->b, &desc->c, &desc->d};
    if (desc->m < 1 || desc->n < 1 || desc->k < 1 || desc->batch_count < 1)
        return tsr_fail(TSR_UNSUPPORTED, "cuBLASLt takes no empty matrices");
    if (desc->batch_count > INT32_MAX)
        return tsr_fail(TSR_UNSUPPORTED, "cuBLASLt counts problems of a batch in 32 bits");
    for (size_t i = 0; i < sizeof operands / sizeof operands[0]; i++) {
        if (operands[i]->memory != TSR_DEVICE)
            return tsr_fail(TSR_UNSUPPORTED, "%c lies in host memory; cuBLASLt needs GPU memory", "ABCD"[i]);
        if (lab_cuda_type(operands[i]->dtype) < 0)
            return tsr_fail(TSR_UNSUPPORTED, "cuBLASLt has no dtype %s", tsr_dtype_name(operands[i]->dtype));
    }
    return TSR_OK;
}

static tsr_status fill(const cublas_peer *peer, const tsr_gemm_desc *desc, cublas_problem *problem)
{
    tsr_status status = make_desc(peer, desc, problem);
    if (status == TSR_OK)
        status = make_layout(peer, desc, &desc->a, desc->m, desc->k, &problem->a);
    if (status == TSR_OK)
        status = make_layout(peer, desc, &desc->b, desc->k, desc->n, &problem->b);
    if (status == TSR_OK)
        status = make_layout(peer, desc, &desc->c, desc->m, desc->n, &problem->c);
    if (status == TSR_OK)
        status = make_layout(peer, desc, &desc->d, desc->m, desc->n, &problem->d);
    return status == TSR_OK ? find_algos(peer, desc, problem) : status;
}

static tsr_status prepare_any(void *state, const tsr_gemm_desc *desc, int has_scales, void **out, int *choices)
{
    const cublas_peer *peer = state;
    tsr_status status = check(desc);
    if (status != TSR_OK)
        return status;
    cublas_problem *problem = calloc(1, sizeof *problem);
    if (problem == NULL)
        return tsr_fail(TSR_OUT_OF_MEMORY, "no memory for a problem");
    problem->peer = peer;
    problem->has_scales = has_scales;
    status = lab_gpu_enter(&peer->gpu);
    if (status == TSR_OK) {
        status = fill(peer, desc, problem);
        lab_gpu_leave(&peer->gpu);
    }
    if (status != TSR_OK) {
        release(problem);
        return status;
    }
    *choices = problem->algo_count;
    *out = problem;
    return TSR_OK;
}

static tsr_status prepare(void *state, const tsr_gemm_desc *desc, void **out, int *choices)
{
    return prepare_any(state, desc, 0, out, choices);
}

static tsr_status prepare_scaled(void *state, const tsr_gemm_desc *desc, void **out, int *choices)
{
    return prepare_any(state, desc, 1, out, choices);
}

/* A factor in the type that the library reads it in. */
typedef union factor {
    double f64;
    float f32;
    int32_t s32;
} factor;

static factor make_factor(double value, unsigned scale_type)
{
    factor result;
    if (scale_type == LAB_CUDA_R_64F)
        result.f64 = value;
    else if (scale_type == LAB_CUDA_R_32F)
        result.f32 = (float)value;
    else
        result.s32 = (int32_t)value;
    return result;
}

static tsr_status run(void *state, int choice, const tsr_run_args *args)
{
    const cublas_problem *problem = state;
    const cublas_peer *peer = problem->peer;
    const factor alpha = make_factor(args->alpha.value, problem->scale_type);
    const factor beta = make_factor(args->beta.value, problem->scale_type);
    if (choice < 0 || choice >= problem->algo_count)
        return tsr_fail(TSR_INVALID_ARGUMENT, "choice = %d: there are %d", choice, problem->algo_count);
    const tsr_status entered = lab_gpu_enter(&peer->gpu);
    if (entered != TSR_OK)
        return entered;
    lab_cublas_status status = LAB_CUBLAS_SUCCESS;
    if (problem->has_bias)
        status = peer->lt.desc_set(problem->desc, LAB_LT_DESC_BIAS_POINTER, &args->bias, sizeof args->bias);
    if (status == LAB_CUBLAS_SUCCESS && problem->has_scales)
        status = set_scale_pointers(&peer->lt, problem->desc, args->scale_a, args->scale_b);
    /* C is not read when beta is 0, but the library refuses NULL. */
    if (status == LAB_CUBLAS_SUCCESS)
        status =
            peer->lt.matmul(peer->handle, problem->desc, &alpha, args->b, problem->b, args->a, problem->a, &beta,
                            args->c ? args->c : args->d, problem->c, args->d, problem->d, &problem->algos[choice].algo,
                            (void *)(uintptr_t)peer->workspace, WORKSPACE_BYTES, args->stream);
    lab_gpu_leave(&peer->gpu);
    return status == LAB_CUBLAS_SUCCESS ? TSR_OK : fail(peer, "cublasLtMatmul", status);
}

const lab_peer_ops lab_peer_cublas = {"cublas", 1,       open_peer, close_peer,    peer_version,
                                      prepare,  release, run,       prepare_scaled};
