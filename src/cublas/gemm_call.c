/* cublasGemmEx and its likes in Tessera's terms. A column-major product is the row-major product of its transposes:
 * D^T = op(B)^T op(A)^T lies in memory as cuBLAS's C does, so that operands and sizes change places and nothing moves.
 */
#include "cublas/cublas.h"

tsr_dtype tsr_cublas_dtype(int type)
{
    switch (type) {
    case TSR_CUDA_R_16BF:
        return TSR_BF16;
    case TSR_CUDA_R_16F:
        return TSR_F16;
    case TSR_CUDA_R_32F:
        return TSR_F32;
    case TSR_CUDA_R_64F:
        return TSR_F64;
    case TSR_CUDA_R_8F_E4M3:
        return TSR_E4M3;
    case TSR_CUDA_R_8F_E5M2:
        return TSR_E5M2;
    case TSR_CUDA_R_8I:
        return TSR_S8;
    case TSR_CUDA_R_32I:
        return TSR_S32;
    default:
        return TSR_DTYPE_NONE;
    }
}

static int is_16_bit(tsr_dtype dtype)
{
    return dtype == TSR_BF16 || dtype == TSR_F16;
}

int tsr_cublas_is_fp8(tsr_dtype dtype)
{
    return dtype == TSR_E4M3 || dtype == TSR_E5M2;
}

/* Tessera's sums are f32 where cuBLAS may take f16: never less precise than what was asked for. */
int tsr_cublas_compute(int compute, tsr_cublas_call *call)
{
    const tsr_dtype ab = call->dtype_a, cd = call->dtype_cd;
    call->compute = TSR_COMPUTE_DEFAULT;
    call->factor = TSR_F32;
    switch (compute) {
    case TSR_CUBLAS_COMPUTE_32F:
        return (ab == TSR_F32 && cd == TSR_F32) || (is_16_bit(ab) && (cd == ab || cd == TSR_F32)) ||
               (tsr_cublas_is_fp8(ab) && (tsr_cublas_is_fp8(cd) || is_16_bit(cd) || cd == TSR_F32));
    case TSR_CUBLAS_COMPUTE_32F_FAST_TF32:
        call->compute = tsr_cublas_allows_tf32() ? TSR_COMPUTE_TF32 : TSR_COMPUTE_DEFAULT;
        return ab == TSR_F32 && cd == TSR_F32;
    case TSR_CUBLAS_COMPUTE_16F:
        call->factor = TSR_F16;
        return ab == TSR_F16 && cd == TSR_F16;
    case TSR_CUBLAS_COMPUTE_64F:
        call->factor = TSR_F64;
        return ab == TSR_F64 && cd == TSR_F64;
    case TSR_CUBLAS_COMPUTE_32I:
        call->factor = TSR_S32;
        return ab == TSR_S8 && cd == TSR_S32;
    default:
        return 0;
    }
}

static int is_operand(const void *pointer, int64_t ld, int64_t row_elems, int64_t stride)
{
    return pointer && ld >= row_elems && stride >= 0;
}

int tsr_cublas_is_plain(const tsr_cublas_call *call)
{
    return call->m >= 1 && call->n >= 1 && call->k >= 1 && call->batch >= 1 && call->alpha_at && call->beta_at &&
           is_operand(call->a, call->lda, call->trans_a ? call->m : call->k, call->stride_a) &&
           is_operand(call->b, call->ldb, call->trans_b ? call->k : call->n, call->stride_b) &&
           is_operand(call->d, call->ldd, call->n, call->stride_d) && call->ldc >= call->n && call->stride_c >= 0 &&
           (call->batch == 1 || call->stride_d > 0);
}

static int is_transpose(int op)
{
    return op == TSR_CUBLAS_OP_N || op == TSR_CUBLAS_OP_T || op == TSR_CUBLAS_OP_C;
}

/* Our A is cuBLAS's B, our M is its N, and the other way round. */
static void swap_operands(const tsr_cublas_gemm *gemm, tsr_cublas_call *call)
{
    call->trans_a = gemm->trans_b == TSR_CUBLAS_OP_N ? TSR_N : TSR_T;
    call->trans_b = gemm->trans_a == TSR_CUBLAS_OP_N ? TSR_N : TSR_T;
    call->m = gemm->n;
    call->n = gemm->m;
    call->k = gemm->k;
    call->a = gemm->b;
    call->b = gemm->a;
    call->c = call->d = gemm->c;
    call->lda = gemm->ldb;
    call->ldb = gemm->lda;
    call->ldc = call->ldd = gemm->ldc;
    call->batch = gemm->batch;
    call->stride_a = gemm->stride_b;
    call->stride_b = gemm->stride_a;
    call->stride_c = call->stride_d = gemm->stride_c;
    call->alpha_at = gemm->alpha;
    call->beta_at = gemm->beta;
}

/* The handle's math mode: only modes whose numerics are known are answered. 0 for the others. */
static int read_math_mode(const tsr_cublas_gemm *gemm, const tsr_real_cublas *real, tsr_cublas_call *call)
{
    int mode = 0;
    if (!real->get_math_mode || real->get_math_mode(gemm->handle, &mode) != TSR_CUBLAS_SUCCESS)
        return 0;
    mode &= ~TSR_CUBLAS_NO_REDUCED_REDUCTION; /* Tessera reduces in f32 in any case */
    if (mode == TSR_CUBLAS_TF32_MATH && call->dtype_a == TSR_F32 && tsr_cublas_allows_tf32())
        call->compute = TSR_COMPUTE_TF32;
    return mode == TSR_CUBLAS_DEFAULT_MATH || mode == TSR_CUBLAS_TF32_MATH;
}

tsr_why tsr_gemm_read(const tsr_cublas_gemm *gemm, const tsr_real_cublas *real, tsr_cublas_call *call)
{
    swap_operands(gemm, call);
    call->dtype_a = call->dtype_b = tsr_cublas_dtype(gemm->a_type);
    call->dtype_cd = tsr_cublas_dtype(gemm->c_type);
    if (!gemm->handle)
        return TSR_WHY_HANDLE;
    if (gemm->a_type != gemm->b_type || !call->dtype_a || tsr_cublas_is_fp8(call->dtype_a) ||
        !tsr_cublas_compute(gemm->compute, call) || tsr_cublas_is_emulating(call->dtype_a))
        return TSR_WHY_TYPES;
    if (!is_transpose(gemm->trans_a) || !is_transpose(gemm->trans_b) || !tsr_cublas_is_plain(call))
        return TSR_WHY_ARGUMENTS;
    if (gemm->algo != TSR_CUBLAS_GEMM_DEFAULT && gemm->algo != TSR_CUBLAS_GEMM_DEFAULT_TENSOR_OP)
        return TSR_WHY_ALGORITHM;
    /* The mode decides which line of the table counts for f32; that of other types is read later. */
    if (call->dtype_a == TSR_F32 && !read_math_mode(gemm, real, call))
        return TSR_WHY_MATH_MODE;
    return TSR_WHY_ANSWERED;
}

tsr_why tsr_gemm_read_handle(const tsr_cublas_gemm *gemm, const tsr_real_cublas *real, int ordinal,
                             tsr_cublas_call *call)
{
    int pointer_mode = -1, sm_count = 0;
    if (!real->get_stream || real->get_stream(gemm->handle, &call->stream) != TSR_CUBLAS_SUCCESS)
        return TSR_WHY_HANDLE;
    if (!real->get_pointer_mode || real->get_pointer_mode(gemm->handle, &pointer_mode) != TSR_CUBLAS_SUCCESS ||
        pointer_mode != TSR_CUBLAS_POINTER_MODE_HOST)
        return TSR_WHY_POINTER_MODE;
    if (call->dtype_a != TSR_F32 && !read_math_mode(gemm, real, call))
        return TSR_WHY_MATH_MODE;
    if (real->get_sm_count_target && (real->get_sm_count_target(gemm->handle, &sm_count) != 0 || sm_count != 0))
        return TSR_WHY_SM_COUNT;
    const tsr_handle_view view = tsr_handle_look(gemm->node, gemm->handle);
    if (view.ordinal >= 0 && view.ordinal != ordinal)
        return TSR_WHY_DEVICE;
    call->workspace = view.workspace;
    call->workspace_bytes = view.workspace_bytes;
    call->holds_pool = view.holds_pool;
    return TSR_WHY_ANSWERED;
}
