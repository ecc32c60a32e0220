/* cuSPARSELt's product of a 2:4 compressed operand and a whole one, row-major as ours. Choice 0 is what the library
 * selects by default, choice 1 what its own search finds. The compressed operand is made of the numbers that ours is
 * made of (lab_pruned). Reference: NVIDIA cuSPARSELt documentation, "cuSPARSELt Functions". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/dtype.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/op.h"
#include "lab/common/compress.h"
#include "lab/common/gpu.h"
#include "lab/common/random.h"
#include "lab/peers/cusparse_lt.h"
#include "lab/peers/peer.h"

enum {
    OLDEST = 600,                       /* 0.6: before it, numbers of arithmetics were others */
    ALIGN_BYTES = 16,                   /* what the library's own examples promise of operands, */
    WHOLE_BYTES = 16,                   /* and what its lines' lengths and numbers are multiples of: */
    COMPRESSED_BYTES = 32,              /*  of the operand to compress */
    WORKSPACE_BYTES = 64 * 1024 * 1024, /* as cuBLASLt gets */
    WAYS = 2,
    PERIOD_ELEMS = 4194301, /* numbers to search with repeat after as many */
    SEED = 25
};

typedef struct slt_peer {
    lab_slt_handle handle;
    lab_gpu gpu;
    lab_slt slt;
    int is_started;
    tsr_cu_pointer workspace;
} slt_peer;

/* One algorithm with its plan. */
typedef struct slt_way {
    lab_slt_algorithm algorithm;
    lab_slt_plan plan;
    int has_algorithm, has_plan;
} slt_way;

enum { A, B, D, MATRICES }; /* C has D's descriptor */

typedef struct slt_problem {
    lab_slt_matrix matrices[MATRICES];
    lab_slt_matmul matmul;
    slt_way ways[WAYS];
    const slt_peer *peer;
    int matrix_count, way_count; /* that are there */
    char which;                  /* 'a' or 'b': the compressed operand */
    tsr_cu_pointer compressed;
    tsr_cu_pointer workspace; /* 0: the peer's is enough */
    size_t workspace_bytes;
} slt_problem;

static tsr_status fail(const slt_peer *peer, const char *call, lab_cusparse_status status)
{
    return tsr_fail(status == LAB_CUSPARSE_NOT_SUPPORTED ? TSR_UNSUPPORTED : TSR_DRIVER_ERROR, "%s: %s (%u)", call,
                    peer->slt.status_name ? peer->slt.status_name(status) : "status", status);
}

/* The library's call, and its name where it fails. */
#define CALL(peer, member, symbol, ...) check_call(peer, #symbol, (peer)->slt.member(&(peer)->handle, __VA_ARGS__))

static tsr_status check_call(const slt_peer *peer, const char *symbol, lab_cusparse_status status)
{
    return status == LAB_CUSPARSE_SUCCESS ? TSR_OK : fail(peer, symbol, status);
}

static tsr_status allocate(const slt_peer *peer, size_t bytes, tsr_cu_pointer *out)
{
    const tsr_cu_result result = peer->gpu.driver.mem_alloc(out, bytes > 0 ? bytes : 1);
    if (result == TSR_CU_SUCCESS)
        return TSR_OK;
    *out = 0;
    return lab_gpu_fail(&peer->gpu, "cuMemAlloc", result);
}

static void drop(const slt_peer *peer, tsr_cu_pointer pointer)
{
    if (pointer)
        peer->gpu.driver.mem_free(pointer);
}

static void *address(tsr_cu_pointer pointer)
{
    return (void *)(uintptr_t)pointer;
}

/* Until the GPU has done all that is in the stream that calls without one use. */
static tsr_status wait(const slt_peer *peer)
{
    const tsr_cu_result result = peer->gpu.driver.stream_synchronize(NULL);
    return result == TSR_CU_SUCCESS ? TSR_OK : lab_gpu_fail(&peer->gpu, "cuStreamSynchronize", result);
}

static tsr_status upload(const slt_peer *peer, tsr_cu_pointer to, const void *from, size_t bytes)
{
    const tsr_cu_result result = peer->gpu.driver.memcpy_htod_async(to, from, bytes, NULL);
    return result == TSR_CU_SUCCESS ? wait(peer) : lab_gpu_fail(&peer->gpu, "cuMemcpyHtoDAsync", result);
}

/* ---- the library ------------------------------------------------------------------------------------------------ */

static void close_peer(void *state)
{
    slt_peer *peer = state;
    if (lab_gpu_enter(&peer->gpu) == TSR_OK) {
        if (peer->is_started)
            peer->slt.destroy(&peer->handle);
        drop(peer, peer->workspace);
        lab_gpu_leave(&peer->gpu);
    }
    lab_gpu_close(&peer->gpu);
    lab_slt_unload(&peer->slt);
    tsr_free(NULL, peer);
}

static int version_of(const slt_peer *peer)
{
    int version = 0;
    return peer->slt.version(&peer->handle, &version) == LAB_CUSPARSE_SUCCESS ? version : 0;
}

/* 801 is 0.8.1, and 1000 is 0.10.0. */
static void peer_version(void *state, char *out, size_t out_bytes)
{
    const int version = version_of(state);
    snprintf(out, out_bytes, "cuSPARSELt %d.%d.%d", version / 1000000, version / 100 % 10000, version % 100);
}

static tsr_status start(slt_peer *peer)
{
    char version[64];
    tsr_status status = lab_gpu_enter(&peer->gpu);
    if (status != TSR_OK)
        return status;
    const lab_cusparse_status started = peer->slt.init(&peer->handle);
    peer->is_started = started == LAB_CUSPARSE_SUCCESS;
    if (!peer->is_started)
        status = fail(peer, "cusparseLtInit", started);
    else if (version_of(peer) < OLDEST) {
        peer_version(peer, version, sizeof version);
        status = tsr_fail(TSR_UNSUPPORTED, "%s: versions before 0.6 are not known here", version);
    } else {
        status = allocate(peer, WORKSPACE_BYTES, &peer->workspace);
    }
    lab_gpu_leave(&peer->gpu);
    return status;
}

static tsr_status open_peer(int ordinal, int threads, void **state)
{
    (void)threads;
    slt_peer *peer = tsr_alloc(NULL, LAB_SLT_OBJECT_ALIGN, sizeof *peer);
    if (peer == NULL)
        return tsr_fail(TSR_OUT_OF_MEMORY, "no memory for cuSPARSELt");
    memset(peer, 0, sizeof *peer);
    tsr_status status = lab_gpu_open(ordinal, &peer->gpu); /* first: the library is a quarter of a gigabyte */
    if (status != TSR_OK) {
        tsr_free(NULL, peer);
        return status;
    }
    status = lab_slt_load(&peer->slt);
    if (status != TSR_OK) {
        lab_gpu_close(&peer->gpu);
        tsr_free(NULL, peer);
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

/* ---- what it computes ------------------------------------------------------------------------------------------- */

static int is_floats(tsr_dtype dtype)
{
    return dtype == TSR_F32 || dtype == TSR_F16 || dtype == TSR_BF16;
}

/* The types as the library's documentation lists them for compute capability 9.0. */
static tsr_status check_types(const tsr_gemm_desc *desc)
{
    const tsr_dtype ab = desc->a.dtype, cd = desc->d.dtype;
    if (ab != desc->b.dtype)
        return tsr_fail(TSR_UNSUPPORTED, "cuSPARSELt multiplies operands of one type, not %s by %s", tsr_dtype_name(ab),
                        tsr_dtype_name(desc->b.dtype));
    if (ab == TSR_F32 && desc->compute != TSR_COMPUTE_TF32)
        return tsr_fail(TSR_UNSUPPORTED, "cuSPARSELt multiplies f32 in tf32 alone");
    const int is_known = is_floats(ab)          ? cd == ab
                         : tsr_dtype_is_fp8(ab) ? is_floats(cd)
                         : ab == TSR_S8         ? cd == TSR_S32 || cd == TSR_F16 || cd == TSR_BF16
                                                : 0;
    if (!is_known)
        return tsr_fail(TSR_UNSUPPORTED, "cuSPARSELt has no product of %s with results in %s", tsr_dtype_name(ab),
                        tsr_dtype_name(cd));
    if (desc->c.dtype != cd || desc->c.ld != desc->d.ld || desc->c.batch_stride != desc->d.batch_stride)
        return tsr_fail(TSR_UNSUPPORTED, "cuSPARSELt needs a C that lies as D does");
    if (tsr_dtype_bytes(ab) == 1 && (desc->a.trans != TSR_N || desc->b.trans != TSR_T))
        return tsr_fail(TSR_UNSUPPORTED, "cuSPARSELt reads 8-bit operands along K alone: layout nt");
    return TSR_OK;
}

/* A matrix as it is stored. */
typedef struct stored {
    int64_t rows, columns, ld;
} stored;

static stored stored_as(const tsr_operand *operand, int64_t rows, int64_t columns)
{
    const int is_transposed = operand->trans == TSR_T;
    stored result = {is_transposed ? columns : rows, is_transposed ? rows : columns, operand->ld};
    if (result.ld <= 0)
        result.ld = result.columns;
    return result;
}

static tsr_status check_sizes(const tsr_operand *operand, stored sizes, char name, int bytes)
{
    const int64_t step = bytes / (int64_t)tsr_dtype_bytes(operand->dtype);
    if (sizes.rows % step || sizes.columns % step || sizes.ld % step)
        return tsr_fail(TSR_UNSUPPORTED,
                        "cuSPARSELt needs rows, columns and leading dimension of %c in multiples of %d", name,
                        (int)step);
    if (operand->align_bytes % ALIGN_BYTES)
        return tsr_fail(TSR_UNSUPPORTED, "cuSPARSELt needs %c aligned to %d bytes", name, ALIGN_BYTES);
    return TSR_OK;
}

static tsr_status check(const tsr_gemm_desc *desc)
{
    const tsr_operand *operands[] = {&desc->a, &desc->b, &desc->c, &desc->d};
    if (!(desc->flags & TSR_SPARSE24))
        return tsr_fail(TSR_UNSUPPORTED,
                        "cuSPARSELt multiplies a compressed operand and a whole one, and here both are "
                        "whole");
    if (desc->m < 1 || desc->n < 1 || desc->k < 1 || desc->batch_count < 1)
        return tsr_fail(TSR_UNSUPPORTED, "cuSPARSELt takes no empty matrices");
    if (desc->batch_count > INT32_MAX)
        return tsr_fail(TSR_UNSUPPORTED, "cuSPARSELt counts problems of a batch in 32 bits");
    if (desc->epilogue)
        return tsr_fail(TSR_UNSUPPORTED, "cuSPARSELt adds a bias to rows of D, not to columns");
    for (size_t i = 0; i < sizeof operands / sizeof operands[0]; i++)
        if (operands[i]->memory != TSR_DEVICE)
            return tsr_fail(TSR_UNSUPPORTED, "%c lies in host memory; cuSPARSELt needs GPU memory", "ABCD"[i]);
    return check_types(desc);
}

/* ---- a problem -------------------------------------------------------------------------------------------------- */

static void release_on_gpu(slt_problem *problem)
{
    const slt_peer *peer = problem->peer;
    for (int i = 0; i < WAYS; i++) {
        slt_way *way = &problem->ways[i];
        if (way->has_plan)
            peer->slt.plan_destroy(&way->plan);
        if (way->has_algorithm && peer->slt.algorithm_destroy)
            peer->slt.algorithm_destroy(&way->algorithm);
    }
    for (int i = 0; i < problem->matrix_count; i++)
        peer->slt.matrix_destroy(&problem->matrices[i]);
    drop(peer, problem->compressed);
    drop(peer, problem->workspace);
}

static void release(void *state)
{
    slt_problem *problem = state;
    if (lab_gpu_enter(&problem->peer->gpu) == TSR_OK) {
        release_on_gpu(problem);
        lab_gpu_leave(&problem->peer->gpu);
    }
    tsr_free(NULL, problem);
}

/* The next matrix, of MATRICES. */
static tsr_status make_matrix(slt_problem *problem, const tsr_gemm_desc *desc, const tsr_operand *operand, stored sizes)
{
    const slt_peer *peer = problem->peer;
    const char name = "ABD"[problem->matrix_count];
    const int is_compressed = name == problem->which - 'a' + 'A';
    const unsigned type = (unsigned)lab_cuda_type(operand->dtype);
    const int batch = (int)desc->batch_count;
    lab_slt_matrix *const to = &problem->matrices[problem->matrix_count];
    tsr_status status = check_sizes(operand, sizes, name, is_compressed ? COMPRESSED_BYTES : WHOLE_BYTES);
    if (status != TSR_OK)
        return status;
    if (is_compressed)
        status = CALL(peer, structured_init, cusparseLtStructuredDescriptorInit, to, sizes.rows, sizes.columns,
                      sizes.ld, ALIGN_BYTES, type, LAB_CUSPARSE_ORDER_ROW, LAB_SLT_SPARSITY_50_PERCENT);
    else
        status = CALL(peer, dense_init, cusparseLtDenseDescriptorInit, to, sizes.rows, sizes.columns, sizes.ld,
                      ALIGN_BYTES, type, LAB_CUSPARSE_ORDER_ROW);
    if (status != TSR_OK)
        return status;
    problem->matrix_count++;
    if (batch == 1)
        return TSR_OK;
    status = CALL(peer, matrix_set, cusparseLtMatDescSetAttribute, to, LAB_SLT_NUM_BATCHES, &batch, sizeof batch);
    return status == TSR_OK ? CALL(peer, matrix_set, cusparseLtMatDescSetAttribute, to, LAB_SLT_BATCH_STRIDE,
                                   &operand->batch_stride, sizeof operand->batch_stride)
                            : status;
}

static tsr_status make_matmul(slt_problem *problem, const tsr_gemm_desc *desc)
{
    const slt_peer *peer = problem->peer;
    const unsigned ops[] = {desc->a.trans == TSR_T ? LAB_CUSPARSE_OP_T : LAB_CUSPARSE_OP_N,
                            desc->b.trans == TSR_T ? LAB_CUSPARSE_OP_T : LAB_CUSPARSE_OP_N};
    tsr_status status = make_matrix(problem, desc, &desc->a, stored_as(&desc->a, desc->m, desc->k));
    if (status == TSR_OK)
        status = make_matrix(problem, desc, &desc->b, stored_as(&desc->b, desc->k, desc->n));
    if (status == TSR_OK)
        status = make_matrix(problem, desc, &desc->d, stored_as(&desc->d, desc->m, desc->n));
    if (status != TSR_OK)
        return status;
    return CALL(peer, matmul_init, cusparseLtMatmulDescriptorInit, &problem->matmul, ops[0], ops[1],
                &problem->matrices[A], &problem->matrices[B], &problem->matrices[D], &problem->matrices[D],
                desc->a.dtype == TSR_S8 ? LAB_SLT_COMPUTE_32I : LAB_SLT_COMPUTE_32F);
}

static tsr_status make_way(slt_problem *problem, slt_way *way)
{
    const slt_peer *peer = problem->peer;
    tsr_status status = CALL(peer, algorithm_init, cusparseLtMatmulAlgSelectionInit, &way->algorithm, &problem->matmul,
                             LAB_SLT_ALG_DEFAULT);
    way->has_algorithm = status == TSR_OK;
    if (status == TSR_OK)
        status = CALL(peer, plan_init, cusparseLtMatmulPlanInit, &way->plan, &problem->matmul, &way->algorithm);
    way->has_plan = status == TSR_OK;
    return status;
}

/* Makes room for what the plan needs beyond the peer's workspace. */
static tsr_status grow_workspace(slt_problem *problem, const slt_way *way)
{
    const slt_peer *peer = problem->peer;
    size_t bytes = 0;
    tsr_cu_pointer larger = 0;
    tsr_status status = CALL(peer, workspace, cusparseLtMatmulGetWorkspace, &way->plan, &bytes);
    if (status != TSR_OK || bytes <= WORKSPACE_BYTES || bytes <= problem->workspace_bytes)
        return status;
    status = allocate(peer, bytes, &larger);
    if (status != TSR_OK)
        return status;
    drop(peer, problem->workspace);
    problem->workspace = larger;
    problem->workspace_bytes = bytes;
    return TSR_OK;
}

static void *workspace_of(const slt_problem *problem)
{
    return address(problem->workspace ? problem->workspace : problem->peer->workspace);
}

/* Compresses `bytes` bytes of the whole matrix. */
static tsr_status compress_whole(slt_problem *problem, const void *whole, size_t bytes)
{
    const slt_peer *peer = problem->peer;
    const lab_slt_plan *const plan = &problem->ways[0].plan;
    size_t compressed_bytes = 0, buffer_bytes = 0;
    tsr_cu_pointer on_gpu = 0, buffer = 0;
    tsr_status status =
        CALL(peer, compressed_size, cusparseLtSpMMACompressedSize, plan, &compressed_bytes, &buffer_bytes);
    if (status == TSR_OK)
        status = allocate(peer, compressed_bytes, &problem->compressed);
    if (status == TSR_OK)
        status = allocate(peer, buffer_bytes, &buffer);
    if (status == TSR_OK)
        status = allocate(peer, bytes, &on_gpu);
    if (status == TSR_OK)
        status = upload(peer, on_gpu, whole, bytes);
    if (status == TSR_OK)
        status = CALL(peer, compress, cusparseLtSpMMACompress, plan, address(on_gpu), address(problem->compressed),
                      address(buffer), NULL);
    if (status == TSR_OK)
        status = wait(peer);
    drop(peer, on_gpu);
    drop(peer, buffer);
    return status;
}

static tsr_status compress(slt_problem *problem, const tsr_gemm_desc *desc)
{
    void *whole = NULL;
    size_t bytes = 0;
    tsr_status status = lab_pruned(desc, problem->which, &whole, &bytes);
    if (status == TSR_OK)
        status = compress_whole(problem, whole, bytes);
    free(whole);
    return status;
}

/* ---- the library's own search ------------------------------------------------------------------------------------ */

/* Normal random numbers, as in the operands that are measured. */
static tsr_status fill(const slt_peer *peer, tsr_dtype dtype, tsr_cu_pointer to, int64_t count)
{
    const size_t size = tsr_dtype_bytes(dtype);
    const int64_t period = count < PERIOD_ELEMS ? count : PERIOD_ELEMS;
    void *const numbers = malloc((size_t)period * size);
    if (numbers == NULL)
        return tsr_fail(TSR_OUT_OF_MEMORY, "no memory for numbers to search with");
    lab_fill(LAB_FILL_NORMAL, 0, dtype, numbers, period, SEED);
    tsr_status status = TSR_OK;
    for (int64_t at = 0; at < count && status == TSR_OK; at += period)
        status =
            upload(peer, to + (size_t)at * size, numbers, (size_t)(count - at < period ? count - at : period) * size);
    free(numbers);
    return status;
}

static tsr_status search_on(slt_problem *problem, slt_way *way, tsr_cu_pointer whole, tsr_cu_pointer d)
{
    const slt_peer *peer = problem->peer;
    const float alpha = 1, beta = 0;
    tsr_cu_stream stream = NULL;
    const void *const a = address(problem->which == 'a' ? problem->compressed : whole);
    const void *const b = address(problem->which == 'a' ? whole : problem->compressed);
    const tsr_status status = CALL(peer, search, cusparseLtMatmulSearch, &way->plan, &alpha, a, b, &beta, address(d),
                                   address(d), workspace_of(problem), &stream, 1);
    return status == TSR_OK ? wait(peer) : status;
}

static int64_t count_d(const tsr_gemm_desc *desc)
{
    return (desc->batch_count - 1) * desc->d.batch_stride + desc->m * (desc->d.ld > 0 ? desc->d.ld : desc->n);
}

/* Choice 1: a plan that the library has searched for, on operands of its own. There is none where the library does not
 * search, or where memory does not hold them. */
static tsr_status search(slt_problem *problem, const tsr_gemm_desc *desc)
{
    const slt_peer *peer = problem->peer;
    const char other = problem->which == 'a' ? 'b' : 'a';
    const tsr_dtype dtype = desc->a.dtype; /* B's too */
    const int64_t count = lab_operand_count(desc, other);
    slt_way *const way = &problem->ways[1];
    tsr_cu_pointer whole = 0, d = 0;
    tsr_status status = make_way(problem, way);
    if (status == TSR_OK)
        status = allocate(peer, (size_t)count * tsr_dtype_bytes(dtype), &whole);
    if (status == TSR_OK)
        status = allocate(peer, (size_t)count_d(desc) * tsr_dtype_bytes(desc->d.dtype), &d);
    if (status == TSR_OK)
        status = fill(peer, dtype, whole, count);
    if (status == TSR_OK)
        status = search_on(problem, way, whole, d);
    if (status == TSR_OK)
        status = grow_workspace(problem, way);
    drop(peer, whole);
    drop(peer, d);
    if (status == TSR_OK)
        problem->way_count++;
    return status == TSR_UNSUPPORTED || status == TSR_OUT_OF_MEMORY ? TSR_OK : status;
}

static tsr_status make(slt_problem *problem, const tsr_gemm_desc *desc)
{
    tsr_status status = make_matmul(problem, desc);
    if (status == TSR_OK)
        status = make_way(problem, &problem->ways[0]);
    if (status == TSR_OK)
        status = grow_workspace(problem, &problem->ways[0]);
    if (status == TSR_OK)
        status = compress(problem, desc);
    if (status != TSR_OK)
        return status;
    problem->way_count = 1;
    return search(problem, desc);
}

static tsr_status prepare(void *state, const tsr_gemm_desc *desc, void **out, int *choices)
{
    const slt_peer *peer = state;
    tsr_status status = check(desc);
    if (status != TSR_OK)
        return status;
    slt_problem *problem = tsr_alloc(NULL, LAB_SLT_OBJECT_ALIGN, sizeof *problem);
    if (problem == NULL)
        return tsr_fail(TSR_OUT_OF_MEMORY, "no memory for a problem");
    memset(problem, 0, sizeof *problem);
    problem->peer = peer;
    problem->which = desc->flags & TSR_SPARSE24_B ? 'b' : 'a';
    status = lab_gpu_enter(&peer->gpu);
    if (status == TSR_OK) {
        status = make(problem, desc);
        lab_gpu_leave(&peer->gpu);
    }
    if (status != TSR_OK) {
        release(problem);
        return status;
    }
    *choices = problem->way_count;
    *out = problem;
    return TSR_OK;
}

static tsr_status run(void *state, int choice, const tsr_run_args *args)
{
    const slt_problem *problem = state;
    const slt_peer *peer = problem->peer;
    const float alpha = (float)args->alpha.value, beta = (float)args->beta.value;
    tsr_cu_stream stream = args->stream;
    if (choice < 0 || choice >= problem->way_count)
        return tsr_fail(TSR_INVALID_ARGUMENT, "choice = %d: there %s %d", choice,
                        problem->way_count == 1 ? "is" : "are", problem->way_count);
    tsr_status status = lab_gpu_enter(&peer->gpu);
    if (status != TSR_OK)
        return status;
    const void *const compressed = address(problem->compressed);
    status = CALL(peer, matmul, cusparseLtMatmul, &problem->ways[choice].plan, &alpha,
                  problem->which == 'a' ? compressed : args->a, problem->which == 'b' ? compressed : args->b, &beta,
                  args->c ? args->c : args->d, args->d, workspace_of(problem), &stream, 1);
    lab_gpu_leave(&peer->gpu);
    return status;
}

const lab_peer_ops lab_peer_cusparselt = {"cusparselt", 1,       open_peer, close_peer, peer_version,
                                          prepare,      release, run,       NULL};
