#include "fake_cusparse_lt.h"

#include <math.h>

#define FAKE_CUDA_LIBRARY
#include "fake_cuda.h"

#define EXPORT __attribute__((visibility("default")))

enum { SMALLEST_OBJECT = 512, OBJECT_ALIGN = 16, BUFFER_BYTES = 96 };
enum { HANDLE = 0x48, MATRIX, MATMUL, ALGORITHM, PLAN };

/* What the library keeps in its objects. `self` tells an object that was moved from one that stayed. */
typedef struct object {
    const void *self;
    int kind;
} object;

typedef struct matrix {
    object head;
    int64_t rows, columns, ld, stride;
    unsigned type, order;
    int is_structured, batches;
} matrix;

typedef struct matmul {
    object head;
    unsigned op_a, op_b;
    matrix a, b, d;
} matmul;

typedef struct plan {
    object head;
    const matmul *matmul; /* the caller's objects, which must stay */
    const object *algorithm;
    int is_searched;
} plan;

_Static_assert(sizeof(matmul) <= SMALLEST_OBJECT && sizeof(plan) <= SMALLEST_OBJECT, "objects of version 0.8");

static fake_slt state;

__attribute__((constructor)) static void reset(void)
{
    memset(&state, 0, sizeof state);
#ifdef FAKE_OLD
    state.version = 603;
#else
    state.version = 801;
#endif
    state.workspace_bytes[0] = state.workspace_bytes[1] = 1024;
}

EXPORT fake_slt_access fake_slt_access_points = {&state, reset};

static lab_cusparse_status begin(const char *call)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    const fake_cuda_access *cuda = driver ? dlsym(driver, "fake_cuda_access_points") : NULL;
    if (!cuda || cuda->current() != cuda->primary)
        state.context_errors++;
    return state.fail_call && strcmp(state.fail_call, call) == 0 ? state.fail_status : LAB_CUSPARSE_SUCCESS;
}

/* 1 if the object is one of this kind, made by this library where it still is. */
static int is(const void *at, int kind)
{
    const object *const head = at;
    const int good = head && (uintptr_t)at % OBJECT_ALIGN == 0 && head->self == at && head->kind == kind;
    state.object_errors += !good;
    return good;
}

static void *make(void *at, int kind)
{
    object *const head = at;
    state.object_errors += !at || (uintptr_t)at % OBJECT_ALIGN != 0;
    memset(at, 0, SMALLEST_OBJECT);
    *head = (object){at, kind};
    return at;
}

static lab_cusparse_status unmake(const void *at, int kind, int *alive)
{
    if (!is(at, kind))
        return LAB_CUSPARSE_INVALID_VALUE;
    --*alive;
    memset((void *)(uintptr_t)at, 0xee, SMALLEST_OBJECT);
    return LAB_CUSPARSE_SUCCESS;
}

/* The declarations that -Wmissing-prototypes asks for, from the list that the peer reads. */
#define DECLARE(member, symbol, parameters) EXPORT lab_cusparse_status symbol parameters;
LAB_SLT_CALLS(DECLARE)
#ifndef FAKE_OLD
EXPORT lab_cusparse_status cusparseLtMatmulAlgSelectionDestroy(const lab_slt_algorithm *algorithm);
EXPORT const char *cusparseLtGetErrorName(lab_cusparse_status status);

lab_cusparse_status cusparseLtMatmulAlgSelectionDestroy(const lab_slt_algorithm *algorithm)
{
    return unmake(algorithm, ALGORITHM, &state.algorithms);
}

const char *cusparseLtGetErrorName(lab_cusparse_status status)
{
    return status == LAB_CUSPARSE_NOT_SUPPORTED ? "CUSPARSE_STATUS_NOT_SUPPORTED" : "CUSPARSE_STATUS_OTHER";
}
#endif

lab_cusparse_status cusparseLtInit(lab_slt_handle *handle)
{
    const lab_cusparse_status status = begin("cusparseLtInit");
    if (status == LAB_CUSPARSE_SUCCESS) {
        make(handle, HANDLE);
        state.handles++;
    }
    return status;
}

lab_cusparse_status cusparseLtDestroy(const lab_slt_handle *handle)
{
    begin("cusparseLtDestroy");
    return unmake(handle, HANDLE, &state.handles);
}

lab_cusparse_status cusparseLtGetVersion(const lab_slt_handle *handle, int *version)
{
    *version = state.version;
    return is(handle, HANDLE) ? LAB_CUSPARSE_SUCCESS : LAB_CUSPARSE_INVALID_VALUE;
}

/* ---- matrices ---------------------------------------------------------------------------------------------------- */

/* 0: the library has no such type. */
static int64_t bytes_of(unsigned type)
{
    switch (type) {
    case LAB_CUDA_R_32F:
    case LAB_CUDA_R_32I:
        return 4;
    case LAB_CUDA_R_16F:
    case LAB_CUDA_R_16BF:
        return 2;
    case LAB_CUDA_R_8I:
    case LAB_CUDA_R_8F_E4M3:
    case LAB_CUDA_R_8F_E5M2:
        return 1;
    default:
        return 0;
    }
}

static lab_cusparse_status init_matrix(const char *call, const lab_slt_handle *handle, lab_slt_matrix *to, matrix value,
                                       uint32_t align_bytes)
{
    const lab_cusparse_status status = begin(call);
    const int64_t step = (value.is_structured ? 32 : 16) / (bytes_of(value.type) ? bytes_of(value.type) : 1);
    if (!is(handle, HANDLE) || value.order != LAB_CUSPARSE_ORDER_ROW || !bytes_of(value.type) || value.rows < 1 ||
        value.columns < 1 || value.ld < value.columns)
        return LAB_CUSPARSE_INVALID_VALUE;
    if (value.rows % step || value.columns % step || value.ld % step || align_bytes == 0 || align_bytes % 16)
        return LAB_CUSPARSE_NOT_SUPPORTED;
    if (status != LAB_CUSPARSE_SUCCESS)
        return status;
    matrix *const made = make(to, MATRIX);
    value.head = made->head;
    value.batches = 1;
    value.stride = value.rows * value.ld;
    *made = value;
    state.matrices++;
    return status;
}

lab_cusparse_status cusparseLtDenseDescriptorInit(const lab_slt_handle *handle, lab_slt_matrix *to, int64_t rows,
                                                  int64_t columns, int64_t ld, uint32_t align_bytes, unsigned type,
                                                  unsigned order)
{
    const matrix value = {.rows = rows, .columns = columns, .ld = ld, .type = type, .order = order};
    return init_matrix("cusparseLtDenseDescriptorInit", handle, to, value, align_bytes);
}

lab_cusparse_status cusparseLtStructuredDescriptorInit(const lab_slt_handle *handle, lab_slt_matrix *to, int64_t rows,
                                                       int64_t columns, int64_t ld, uint32_t align_bytes, unsigned type,
                                                       unsigned order, unsigned sparsity)
{
    const matrix value = {.rows = rows, .columns = columns, .ld = ld, .type = type, .order = order, .is_structured = 1};
    if (sparsity != LAB_SLT_SPARSITY_50_PERCENT)
        return LAB_CUSPARSE_INVALID_VALUE;
    return init_matrix("cusparseLtStructuredDescriptorInit", handle, to, value, align_bytes);
}

lab_cusparse_status cusparseLtMatDescriptorDestroy(const lab_slt_matrix *of)
{
    begin("cusparseLtMatDescriptorDestroy");
    return unmake(of, MATRIX, &state.matrices);
}

lab_cusparse_status cusparseLtMatDescSetAttribute(const lab_slt_handle *handle, lab_slt_matrix *to, unsigned attribute,
                                                  const void *value, size_t bytes)
{
    matrix *const x = (void *)to;
    if (!is(handle, HANDLE) || !is(to, MATRIX))
        return LAB_CUSPARSE_INVALID_VALUE;
    if (attribute == LAB_SLT_NUM_BATCHES && bytes == sizeof x->batches)
        memcpy(&x->batches, value, bytes);
    else if (attribute == LAB_SLT_BATCH_STRIDE && bytes == sizeof x->stride)
        memcpy(&x->stride, value, bytes);
    else
        return LAB_CUSPARSE_INVALID_VALUE;
    if (x->batches < 1 || (x->stride != 0 && x->stride < x->rows * x->ld))
        return LAB_CUSPARSE_INVALID_VALUE;
    return begin("cusparseLtMatDescSetAttribute");
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

static int are_known_types(unsigned ab, unsigned cd, unsigned compute_type)
{
    switch (ab) {
    case LAB_CUDA_R_32F:
    case LAB_CUDA_R_16F:
    case LAB_CUDA_R_16BF:
        return cd == ab && compute_type == LAB_SLT_COMPUTE_32F;
    case LAB_CUDA_R_8I:
        return (cd == LAB_CUDA_R_8I || cd == LAB_CUDA_R_32I || cd == LAB_CUDA_R_16F || cd == LAB_CUDA_R_16BF) &&
               compute_type == LAB_SLT_COMPUTE_32I;
    default:
        return (cd == LAB_CUDA_R_32F || cd == LAB_CUDA_R_16F || cd == LAB_CUDA_R_16BF) &&
               compute_type == LAB_SLT_COMPUTE_32F;
    }
}

lab_cusparse_status cusparseLtMatmulDescriptorInit(const lab_slt_handle *handle, lab_slt_matmul *to, unsigned op_a,
                                                   unsigned op_b, const lab_slt_matrix *a, const lab_slt_matrix *b,
                                                   const lab_slt_matrix *c, const lab_slt_matrix *d,
                                                   unsigned compute_type)
{
    const lab_cusparse_status status = begin("cusparseLtMatmulDescriptorInit");
    if (!is(handle, HANDLE) || !is(a, MATRIX) || !is(b, MATRIX) || !is(c, MATRIX) || !is(d, MATRIX) ||
        op_a > LAB_CUSPARSE_OP_T || op_b > LAB_CUSPARSE_OP_T)
        return LAB_CUSPARSE_INVALID_VALUE;
    const matrix *const x = (const void *)a, *const y = (const void *)b, *const z = (const void *)d;
    const int64_t m = op_a ? x->columns : x->rows, k = op_a ? x->rows : x->columns;
    if (x->is_structured == y->is_structured || z->is_structured || (op_b ? y->columns : y->rows) != k ||
        z->rows != m || z->columns != (op_b ? y->rows : y->columns) || x->batches != z->batches ||
        y->batches != z->batches)
        return LAB_CUSPARSE_INVALID_VALUE;
    if (memcmp(&((const matrix *)(const void *)c)->rows, &z->rows, sizeof *z - offsetof(matrix, rows)) != 0 ||
        x->type != y->type || !are_known_types(x->type, z->type, compute_type) ||
        (bytes_of(x->type) == 1 && (op_a != LAB_CUSPARSE_OP_N || op_b != LAB_CUSPARSE_OP_T)))
        return LAB_CUSPARSE_NOT_SUPPORTED;
    if (status != LAB_CUSPARSE_SUCCESS)
        return status;
    matmul *const made = make(to, MATMUL);
    *made = (matmul){.head = made->head, .op_a = op_a, .op_b = op_b, .a = *x, .b = *y, .d = *z};
    state.compute_type = compute_type;
    return status;
}

lab_cusparse_status cusparseLtMatmulAlgSelectionInit(const lab_slt_handle *handle, lab_slt_algorithm *to,
                                                     const lab_slt_matmul *product, unsigned which)
{
    const lab_cusparse_status status = begin("cusparseLtMatmulAlgSelectionInit");
    if (!is(handle, HANDLE) || !is(product, MATMUL) || which != LAB_SLT_ALG_DEFAULT)
        return LAB_CUSPARSE_INVALID_VALUE;
    if (status != LAB_CUSPARSE_SUCCESS)
        return status;
    make(to, ALGORITHM);
    state.algorithms++;
    return status;
}

lab_cusparse_status cusparseLtMatmulPlanInit(const lab_slt_handle *handle, lab_slt_plan *to,
                                             const lab_slt_matmul *product, const lab_slt_algorithm *algorithm)
{
    const lab_cusparse_status status = begin("cusparseLtMatmulPlanInit");
    if (!is(handle, HANDLE) || !is(product, MATMUL) || !is(algorithm, ALGORITHM))
        return LAB_CUSPARSE_INVALID_VALUE;
    if (status != LAB_CUSPARSE_SUCCESS)
        return status;
    plan *const made = make(to, PLAN);
    made->matmul = (const void *)product;
    made->algorithm = (const void *)algorithm;
    state.plans++;
    return status;
}

lab_cusparse_status cusparseLtMatmulPlanDestroy(const lab_slt_plan *of)
{
    begin("cusparseLtMatmulPlanDestroy");
    return unmake(of, PLAN, &state.plans);
}

static int is_whole_plan(const lab_slt_handle *handle, const lab_slt_plan *of)
{
    const plan *const p = (const void *)of;
    return is(handle, HANDLE) && is(of, PLAN) && is(p->matmul, MATMUL) && is(p->algorithm, ALGORITHM);
}

lab_cusparse_status cusparseLtMatmulGetWorkspace(const lab_slt_handle *handle, const lab_slt_plan *of, size_t *bytes)
{
    const lab_cusparse_status status = begin("cusparseLtMatmulGetWorkspace");
    if (!is_whole_plan(handle, of))
        return LAB_CUSPARSE_INVALID_VALUE;
    *bytes = state.workspace_bytes[((const plan *)(const void *)of)->is_searched];
    return status;
}

/* ---- elements ---------------------------------------------------------------------------------------------------- */

static double load(unsigned type, const void *data, int64_t at)
{
    uint32_t bits;
    float value;
    switch (type) {
    case LAB_CUDA_R_32F:
        return (double)((const float *)data)[at];
    case LAB_CUDA_R_32I:
        return ((const int32_t *)data)[at];
    case LAB_CUDA_R_8I:
        return ((const int8_t *)data)[at];
    case LAB_CUDA_R_16BF:
        bits = (uint32_t)((const uint16_t *)data)[at] << 16;
        memcpy(&value, &bits, sizeof value);
        return (double)value;
    default: { /* e4m3, without NaN */
        const int byte = ((const uint8_t *)data)[at], exponent = byte >> 3 & 15, mantissa = byte & 7;
        const double size = exponent ? ldexp(8 + mantissa, exponent - 10) : ldexp(mantissa, -9);
        return byte & 0x80 ? -size : size;
    }
    }
}

/* bf16 by cutting bits off: the test's results have no more than it holds. */
static void store(unsigned type, void *data, int64_t at, double value)
{
    const float narrow = (float)value;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    if (type == LAB_CUDA_R_32F)
        ((float *)data)[at] = narrow;
    else if (type == LAB_CUDA_R_32I)
        ((int32_t *)data)[at] = (int32_t)value;
    else
        ((uint16_t *)data)[at] = (uint16_t)(bits >> 16);
}

/* ---- compression: of each group the values, and in a byte each where they were ----------------------------------- */

static const matrix *structured_of(const matmul *m)
{
    return m->a.is_structured ? &m->a : &m->b;
}

static int64_t matrices_of(const matrix *x)
{
    return x->stride == 0 ? 1 : x->batches;
}

static int64_t kept_of(const matrix *x)
{
    return x->rows * x->columns / 2;
}

static int64_t compressed_bytes(const matrix *x)
{
    return kept_of(x) * (bytes_of(x->type) + 1);
}

/* Where element k of line `line` along K is stored. */
static int64_t place(const matmul *m, int64_t line, int64_t k)
{
    const int is_a = m->a.is_structured;
    const int along_row = is_a ? m->op_a == LAB_CUSPARSE_OP_N : m->op_b == LAB_CUSPARSE_OP_T;
    const matrix *const x = structured_of(m);
    return along_row ? line * x->ld + k : k * x->ld + line;
}

static int64_t length_k(const matmul *m)
{
    return m->op_a ? m->a.rows : m->a.columns;
}

static void compress_one(const matmul *m, const char *whole, char *to)
{
    const matrix *const x = structured_of(m);
    const int64_t k = length_k(m), lines = x->rows * x->columns / k, bytes = bytes_of(x->type);
    const int64_t span = x->type == LAB_CUDA_R_32F ? 2 : 4;
    char *const indices = to + kept_of(x) * bytes;
    int64_t at = 0;
    for (int64_t line = 0; line < lines; line++)
        for (int64_t first = 0; first < k; first += span) {
            int64_t kept = 0;
            for (int64_t i = 0; i < span; i++) {
                const int64_t from = place(m, line, first + i);
                /* Zeros are kept where there is room for them, so that each group has as many. */
                const int wanted = load(x->type, whole, from) != 0 || span - i <= span / 2 - kept;
                if (!wanted)
                    continue;
                if (kept == span / 2) {
                    state.broken_groups++;
                    continue;
                }
                memcpy(to + (at + kept) * bytes, whole + from * bytes, (size_t)bytes);
                indices[at + kept++] = (char)i;
            }
            at += span / 2;
        }
}

/* Column k of line `line`: 0 where nothing was kept. */
static double kept_value(const matmul *m, const char *compressed, int64_t line, int64_t k)
{
    const matrix *const x = structured_of(m);
    const int64_t span = x->type == LAB_CUDA_R_32F ? 2 : 4, at = line * length_k(m) / 2 + k / span * (span / 2);
    const char *const indices = compressed + kept_of(x) * bytes_of(x->type);
    for (int64_t i = at; i < at + span / 2; i++)
        if (indices[i] == k % span)
            return load(x->type, compressed, i);
    return 0;
}

lab_cusparse_status cusparseLtSpMMACompressedSize(const lab_slt_handle *handle, const lab_slt_plan *of, size_t *bytes,
                                                  size_t *buffer_bytes)
{
    const lab_cusparse_status status = begin("cusparseLtSpMMACompressedSize");
    if (!is_whole_plan(handle, of))
        return LAB_CUSPARSE_INVALID_VALUE;
    const matrix *const x = structured_of(((const plan *)(const void *)of)->matmul);
    *bytes = (size_t)(matrices_of(x) * compressed_bytes(x));
    *buffer_bytes = BUFFER_BYTES;
    return status;
}

lab_cusparse_status cusparseLtSpMMACompress(const lab_slt_handle *handle, const lab_slt_plan *of, const void *whole,
                                            void *compressed, void *buffer, tsr_cu_stream stream)
{
    const lab_cusparse_status status = begin("cusparseLtSpMMACompress");
    if (!is_whole_plan(handle, of) || !whole || !compressed || !buffer || stream)
        return LAB_CUSPARSE_INVALID_VALUE;
    const matmul *const m = ((const plan *)(const void *)of)->matmul;
    const matrix *const x = structured_of(m);
    memset(buffer, 0x55, BUFFER_BYTES);
    for (int64_t z = 0; z < matrices_of(x); z++)
        compress_one(m, (const char *)whole + z * x->stride * bytes_of(x->type),
                     (char *)compressed + z * compressed_bytes(x));
    state.compressions++;
    return status;
}

/* ---- multiplication ---------------------------------------------------------------------------------------------- */

/* op(X)(i, j) of problem z. */
static double whole_value(const matrix *x, unsigned op, const void *data, int64_t z, int64_t i, int64_t j)
{
    return load(x->type, data, z * x->stride + (op ? j * x->ld + i : i * x->ld + j));
}

static void multiply(const matmul *m, float alpha, const char *a, const char *b, float beta, const void *c, void *d)
{
    const int64_t k = length_k(m);
    const char *const compressed = m->a.is_structured ? a : b;
    const matrix *const x = structured_of(m);
    for (int64_t z = 0; z < m->d.batches; z++) {
        const char *const one = compressed + (x->stride == 0 ? 0 : z * compressed_bytes(x));
        for (int64_t i = 0; i < m->d.rows; i++)
            for (int64_t j = 0; j < m->d.columns; j++) {
                double sum = 0;
                for (int64_t p = 0; p < k; p++)
                    sum += x == &m->a ? kept_value(m, one, i, p) * whole_value(&m->b, m->op_b, b, z, p, j)
                                      : whole_value(&m->a, m->op_a, a, z, i, p) * kept_value(m, one, j, p);
                sum *= (double)alpha;
                if (beta != 0)
                    sum += (double)beta * whole_value(&m->d, LAB_CUSPARSE_OP_N, c, z, i, j);
                store(m->d.type, d, z * m->d.stride + i * m->d.ld + j, sum);
            }
    }
}

static lab_cusparse_status multiply_by(const char *call, const lab_slt_handle *handle, const lab_slt_plan *of,
                                       const void *alpha, const void *a, const void *b, const void *beta, const void *c,
                                       void *d, void *workspace)
{
    const lab_cusparse_status status = begin(call);
    if (!is_whole_plan(handle, of) || !a || !b || !d || (uintptr_t)a % 16 || (uintptr_t)b % 16 || (uintptr_t)d % 16 ||
        !workspace)
        return LAB_CUSPARSE_INVALID_VALUE;
    const plan *const p = (const void *)of;
    state.c_was_null = c == NULL;
    state.ran_searched = p->is_searched;
    state.workspace = workspace;
    /* Who times it needs no more than the first results. */
    static int products;
    const char *const most = getenv("FAKE_CUSPARSELT_PRODUCTS");
    if (status == LAB_CUSPARSE_SUCCESS && (!most || products++ < atoi(most)))
        multiply(p->matmul, *(const float *)alpha, a, b, *(const float *)beta, c, d);
    return status;
}

lab_cusparse_status cusparseLtMatmulSearch(const lab_slt_handle *handle, lab_slt_plan *of, const void *alpha,
                                           const void *a, const void *b, const void *beta, const void *c, void *d,
                                           void *workspace, tsr_cu_stream *streams, int32_t stream_count)
{
    (void)streams;
    (void)stream_count;
    const lab_cusparse_status status =
        multiply_by("cusparseLtMatmulSearch", handle, of, alpha, a, b, beta, c, d, workspace);
    if (status == LAB_CUSPARSE_SUCCESS) {
        ((plan *)(void *)of)->is_searched = 1;
        state.searches++;
    }
    return status;
}

lab_cusparse_status cusparseLtMatmul(const lab_slt_handle *handle, const lab_slt_plan *of, const void *alpha,
                                     const void *a, const void *b, const void *beta, const void *c, void *d,
                                     void *workspace, tsr_cu_stream *streams, int32_t stream_count)
{
    state.stream_count = stream_count;
    state.stream = stream_count > 0 ? streams[0] : NULL;
    return multiply_by("cusparseLtMatmul", handle, of, alpha, a, b, beta, c, d, workspace);
}
