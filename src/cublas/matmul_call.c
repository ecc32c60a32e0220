/* cublasLtMatmul in Tessera's terms. What a descriptor says is read by the real library's own getters. An attribute
 * that is not interpreted here must be as in a fresh descriptor, whether this file has heard of it or not: so a newer
 * cuBLAS cannot ask for something that goes unseen. */
#include <stdlib.h>
#include <string.h>

#include "cublas/cublas.h"

enum { ATTRIBUTES_MAX = 64, VALUE_BYTES = 64 };

/* ---- attributes -------------------------------------------------------------------------------------------------- */

typedef tsr_cublas_status attribute_get(void *object, int attribute, void *value, size_t bytes, size_t *written);

static int read_int(attribute_get *get, void *object, int attribute, int *out)
{
    size_t written;
    return get(object, attribute, out, sizeof *out, &written) == TSR_CUBLAS_SUCCESS && written == sizeof *out;
}

static int read_byte(attribute_get *get, void *object, int attribute, int8_t *out)
{
    size_t written;
    return get(object, attribute, out, sizeof *out, &written) == TSR_CUBLAS_SUCCESS && written == sizeof *out;
}

static int read_wide(attribute_get *get, void *object, int attribute, int64_t *out)
{
    size_t written;
    return get(object, attribute, out, sizeof *out, &written) == TSR_CUBLAS_SUCCESS && written == sizeof *out;
}

static int read_pointer(attribute_get *get, void *object, int attribute, const void **out)
{
    size_t written;
    return get(object, attribute, out, sizeof *out, &written) == TSR_CUBLAS_SUCCESS && written == sizeof *out;
}

/* The attributes of a fresh object. */
typedef struct defaults {
    size_t bytes[ATTRIBUTES_MAX]; /* 0: the library has no such attribute */
    unsigned char value[ATTRIBUTES_MAX][VALUE_BYTES];
} defaults;

typedef struct fresh_objects {
    defaults desc, layout, preference;
    int has_preference;
} fresh_objects;

/* Of each node, found at its first call and kept; NULL before. No lock: the real library runs meanwhile. */
static _Atomic(const fresh_objects *) fresh_of[TSR_NODES];
static const fresh_objects none; /* was found: there are none to be had */

/* 0 if an attribute is larger than any that are known. */
static int read_defaults(attribute_get *get, void *fresh, defaults *out)
{
    for (int i = 0; i < ATTRIBUTES_MAX; i++) {
        size_t bytes = 0, written;
        if (get(fresh, i, NULL, 0, &bytes) != TSR_CUBLAS_SUCCESS || bytes == 0)
            continue;
        if (bytes > VALUE_BYTES || get(fresh, i, out->value[i], bytes, &written) != TSR_CUBLAS_SUCCESS)
            return 0;
        out->bytes[i] = bytes;
    }
    return 1;
}

static int read_fresh_preference(const tsr_real_lt *real, fresh_objects *out)
{
    void *preference = NULL;
    if (!real->preference_create || !real->preference_destroy || !real->preference_get ||
        real->preference_create(&preference) != TSR_CUBLAS_SUCCESS)
        return 0;
    const int good = read_defaults(real->preference_get, preference, &out->preference);
    real->preference_destroy(preference);
    return good;
}

static int read_fresh(const tsr_real_lt *real, fresh_objects *out)
{
    void *desc = NULL, *layout = NULL;
    const int good = real->desc_create(&desc, TSR_CUBLAS_COMPUTE_32F, TSR_CUDA_R_32F) == TSR_CUBLAS_SUCCESS &&
                     real->layout_create(&layout, TSR_CUDA_R_32F, 1, 1, 1) == TSR_CUBLAS_SUCCESS &&
                     read_defaults(real->desc_get, desc, &out->desc) &&
                     read_defaults(real->layout_get, layout, &out->layout);
    if (desc)
        real->desc_destroy(desc);
    if (layout)
        real->layout_destroy(layout);
    out->has_preference = good && read_fresh_preference(real, out);
    return good;
}

/* If two threads come at once, the second one's are freed again. */
static const fresh_objects *make_fresh(int node, const tsr_real_lt *real)
{
    const fresh_objects *before = NULL;
    fresh_objects *out = calloc(1, sizeof *out);
    const int good = out && read_fresh(real, out);
    const fresh_objects *made = good ? out : &none;
    const int is_first = atomic_compare_exchange_strong(&fresh_of[node], &before, made);
    if (!is_first || !good)
        free(out);
    return is_first ? made : before;
}

/* NULL: there are none. */
static const fresh_objects *find_fresh(int node, const tsr_real_lt *real)
{
    const fresh_objects *known = atomic_load_explicit(&fresh_of[node], memory_order_acquire);
    if (!known)
        known = make_fresh(node, real);
    return known == &none ? NULL : known;
}

/* 1 if every attribute whose bit is not in `interpreted` is as in a fresh object. */
static int is_default(attribute_get *get, void *object, const defaults *fresh, uint64_t interpreted)
{
    for (int i = 0; i < ATTRIBUTES_MAX; i++) {
        unsigned char value[VALUE_BYTES];
        size_t written = 0;
        if (fresh->bytes[i] == 0 || (interpreted >> i & 1))
            continue;
        if (get(object, i, value, fresh->bytes[i], &written) != TSR_CUBLAS_SUCCESS || written != fresh->bytes[i] ||
            memcmp(value, fresh->value[i], written) != 0)
            return 0;
    }
    return 1;
}

/* ---- the call ---------------------------------------------------------------------------------------------------- */

/* The one place that knows which epilogues Tessera has. cuBLAS's bias runs along its m, which is our n. */
const char *tsr_cublas_epilogue(int epilogue)
{
    switch (epilogue) {
    case TSR_LT_EPILOGUE_DEFAULT:
        return "";
    case TSR_LT_EPILOGUE_BIAS:
        return "acc + bias[n]";
    case TSR_LT_EPILOGUE_RELU_BIAS:
        return "relu(acc + bias[n])";
    default:
        return NULL;
    }
}

static int is_complete(const tsr_real_lt *real)
{
    return real->desc_get && real->layout_get && real->desc_create && real->desc_destroy && real->layout_create &&
           real->layout_destroy;
}

/* cuBLAS's transposes, and types of operands and sums. */
static tsr_why read_types(const tsr_cublas_matmul *matmul, const tsr_real_lt *real, tsr_cublas_call *call)
{
    int compute, trans_a, trans_b, a_type, b_type = 0, d_type;
    if (!read_int(real->desc_get, matmul->desc, TSR_LT_COMPUTE_TYPE, &compute) ||
        !read_int(real->desc_get, matmul->desc, TSR_LT_TRANSA, &trans_a) ||
        !read_int(real->desc_get, matmul->desc, TSR_LT_TRANSB, &trans_b) ||
        !read_int(real->layout_get, matmul->a_layout, TSR_LT_LAYOUT_TYPE, &a_type) ||
        !read_int(real->layout_get, matmul->d_layout, TSR_LT_LAYOUT_TYPE, &d_type))
        return TSR_WHY_ATTRIBUTE;
    if (trans_a < TSR_CUBLAS_OP_N || trans_a > TSR_CUBLAS_OP_C || trans_b < TSR_CUBLAS_OP_N ||
        trans_b > TSR_CUBLAS_OP_C)
        return TSR_WHY_ARGUMENTS;
    const tsr_dtype of_a = tsr_cublas_dtype(a_type), cd = tsr_cublas_dtype(d_type);
    /* Other types do not mix; check_matrices looks at B's. */
    if (tsr_cublas_is_fp8(of_a) && !read_int(real->layout_get, matmul->b_layout, TSR_LT_LAYOUT_TYPE, &b_type))
        return TSR_WHY_ATTRIBUTE;
    const tsr_dtype of_b = tsr_cublas_is_fp8(of_a) ? tsr_cublas_dtype(b_type) : of_a;
    if (!of_a || !cd || tsr_cublas_is_fp8(of_a) != tsr_cublas_is_fp8(of_b))
        return TSR_WHY_TYPES;
    call->dtype_a = of_b; /* our A is cuBLAS's B */
    call->dtype_b = of_a;
    call->dtype_cd = cd;
    call->trans_a = trans_b == TSR_CUBLAS_OP_N ? TSR_N : TSR_T;
    call->trans_b = trans_a == TSR_CUBLAS_OP_N ? TSR_N : TSR_T;
    return tsr_cublas_compute(compute, call) && !tsr_cublas_is_emulating(of_a) ? TSR_WHY_ANSWERED : TSR_WHY_TYPES;
}

tsr_why tsr_matmul_read(const tsr_cublas_matmul *matmul, const tsr_real_lt *real, tsr_cublas_call *call)
{
    if (!matmul->handle)
        return TSR_WHY_HANDLE;
    if (!matmul->desc || !matmul->a_layout || !matmul->b_layout || !matmul->c_layout || !matmul->d_layout)
        return TSR_WHY_ARGUMENTS;
    if (!is_complete(real) || !read_int(real->desc_get, matmul->desc, TSR_LT_EPILOGUE, &call->lt_epilogue))
        return TSR_WHY_ATTRIBUTE;
    const tsr_why types = read_types(matmul, real, call);
    if (call->dtype_a == TSR_DTYPE_NONE)
        return types;
    if (!read_wide(real->layout_get, matmul->d_layout, TSR_LT_LAYOUT_COLS, &call->m) ||
        !read_wide(real->layout_get, matmul->d_layout, TSR_LT_LAYOUT_ROWS, &call->n) ||
        !read_wide(real->layout_get, matmul->b_layout, call->trans_a ? TSR_LT_LAYOUT_COLS : TSR_LT_LAYOUT_ROWS,
                   &call->k))
        return TSR_WHY_ATTRIBUTE;
    const char *expression = tsr_cublas_epilogue(call->lt_epilogue);
    call->epilogue = expression && *expression ? expression : NULL;
    if (types != TSR_WHY_ANSWERED)
        return types;
    if (!expression)
        return TSR_WHY_EPILOGUE;
    if (matmul->algo && !tsr_algos_know(matmul->algo))
        return TSR_WHY_ALGORITHM;
    return call->m >= 1 && call->n >= 1 && call->k >= 1 ? TSR_WHY_ANSWERED : TSR_WHY_ARGUMENTS;
}

/* What the table goes by. Our A is cuBLAS's B. */
tsr_why tsr_matmul_read_layouts(const tsr_cublas_matmul *matmul, const tsr_real_lt *real, tsr_cublas_call *call)
{
    const struct {
        void *layout;
        int64_t *ld, *stride;
    } reads[] = {{matmul->b_layout, &call->lda, &call->stride_a},
                 {matmul->a_layout, &call->ldb, &call->stride_b},
                 {matmul->c_layout, &call->ldc, &call->stride_c},
                 {matmul->d_layout, &call->ldd, &call->stride_d}};
    int batch;
    if (!read_int(real->layout_get, matmul->d_layout, TSR_LT_LAYOUT_BATCH_COUNT, &batch))
        return TSR_WHY_ATTRIBUTE;
    call->batch = batch;
    for (size_t i = 0; i < sizeof reads / sizeof reads[0]; i++)
        if (!read_wide(real->layout_get, reads[i].layout, TSR_LT_LAYOUT_LD, reads[i].ld) ||
            (batch > 1 && !read_wide(real->layout_get, reads[i].layout, TSR_LT_LAYOUT_BATCH_OFFSET, reads[i].stride)))
            return TSR_WHY_ATTRIBUTE;
    call->a = matmul->b;
    call->b = matmul->a;
    call->c = matmul->c;
    call->d = matmul->d;
    call->alpha_at = matmul->alpha;
    call->beta_at = matmul->beta;
    call->stream = matmul->stream;
    call->workspace = matmul->workspace;
    call->workspace_bytes = matmul->workspace_bytes;
    return tsr_cublas_is_plain(call) && !(call->c == call->d && call->ldc != call->ldd) ? TSR_WHY_ANSWERED
                                                                                        : TSR_WHY_ARGUMENTS;
}

/* One matrix; its rows and columns are as cuBLAS counts them. */
typedef struct matrix {
    int order, type, batch;
    int64_t rows, columns;
} matrix;

static int read_matrix(const tsr_real_lt *real, void *layout, matrix *out)
{
    return read_int(real->layout_get, layout, TSR_LT_LAYOUT_ORDER, &out->order) &&
           read_int(real->layout_get, layout, TSR_LT_LAYOUT_TYPE, &out->type) &&
           read_int(real->layout_get, layout, TSR_LT_LAYOUT_BATCH_COUNT, &out->batch) &&
           read_wide(real->layout_get, layout, TSR_LT_LAYOUT_ROWS, &out->rows) &&
           read_wide(real->layout_get, layout, TSR_LT_LAYOUT_COLS, &out->columns);
}

/* A, B, C and D of cuBLAS's: all that the first steps have not looked at. */
static tsr_why check_matrices(const tsr_cublas_matmul *matmul, const tsr_real_lt *real, const tsr_cublas_call *call)
{
    const int reads_c = !tsr_cublas_is_fp8(call->dtype_cd); /* otherwise see read_scales */
    const struct {
        void *layout;
        tsr_dtype dtype;
        int64_t rows, columns;
        tsr_trans trans;
    } wanted[] = {{matmul->a_layout, call->dtype_b, call->n, call->k, call->trans_b},
                  {matmul->b_layout, call->dtype_a, call->k, call->m, call->trans_a},
                  {matmul->c_layout, reads_c ? call->dtype_cd : TSR_DTYPE_NONE, call->n, call->m, TSR_N},
                  {matmul->d_layout, call->dtype_cd, call->n, call->m, TSR_N}};
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        const int is_swapped = wanted[i].trans == TSR_T;
        matrix is;
        if (!read_matrix(real, wanted[i].layout, &is))
            return TSR_WHY_ATTRIBUTE;
        if (is.order != TSR_LT_ORDER_COL)
            return TSR_WHY_ORDER;
        if (wanted[i].dtype != TSR_DTYPE_NONE && tsr_cublas_dtype(is.type) != wanted[i].dtype)
            return TSR_WHY_TYPES;
        if (is.batch != call->batch || (is_swapped ? is.columns : is.rows) != wanted[i].rows ||
            (is_swapped ? is.rows : is.columns) != wanted[i].columns)
            return TSR_WHY_ARGUMENTS;
    }
    return TSR_WHY_ANSWERED;
}

#define BIT(attribute) ((uint64_t)1 << (attribute))

/* A bias for all problems of a batch: its batch stride is not interpreted. It has D's type, or bf16 where D has 8 bits;
 * with 8-bit floats cuBLAS has rules of its own for what the default means, so that the type must be said where they
 * may differ. */
static tsr_why read_bias(const tsr_cublas_matmul *matmul, const tsr_real_lt *real, tsr_cublas_call *call)
{
    enum { AS_D = -1 };
    int type;
    if (!read_pointer(real->desc_get, matmul->desc, TSR_LT_BIAS_POINTER, &call->bias) ||
        !read_int(real->desc_get, matmul->desc, TSR_LT_BIAS_TYPE, &type))
        return TSR_WHY_ATTRIBUTE;
    const int is_plain = !tsr_cublas_is_fp8(call->dtype_a) || call->dtype_cd == TSR_BF16 || call->dtype_cd == TSR_F16;
    const tsr_dtype wanted = tsr_cublas_is_fp8(call->dtype_cd) ? TSR_BF16 : call->dtype_cd;
    if (type == AS_D ? !is_plain : tsr_cublas_dtype(type) != wanted)
        return TSR_WHY_TYPES;
    return call->bias ? TSR_WHY_ANSWERED : TSR_WHY_EPILOGUE;
}

/* What cuBLAS's A or B is scaled by, and which elements share a scale; versions before 12.8 have one an operand. */
static tsr_why read_scale(const tsr_cublas_matmul *matmul, const tsr_real_lt *real, const defaults *fresh,
                          int pointer_attribute, int mode_attribute, const void **scale, tsr_scale_mode *mode)
{
    int number = TSR_LT_SCALE_SCALAR;
    if (!read_pointer(real->desc_get, matmul->desc, pointer_attribute, scale) ||
        (fresh->bytes[mode_attribute] && !read_int(real->desc_get, matmul->desc, mode_attribute, &number)))
        return TSR_WHY_ATTRIBUTE;
    switch (number) {
    case TSR_LT_SCALE_SCALAR:
        *mode = TSR_SCALE_TENSOR;
        return TSR_WHY_ANSWERED;
    case TSR_LT_SCALE_OUTER_VEC:
        *mode = TSR_SCALE_VECTOR;
        break;
    case TSR_LT_SCALE_VEC128:
        *mode = TSR_SCALE_1X128;
        break;
    case TSR_LT_SCALE_BLK128X128:
        *mode = TSR_SCALE_128X128;
        break;
    default:
        return TSR_WHY_ATTRIBUTE;
    }
    return *scale ? TSR_WHY_ANSWERED : TSR_WHY_ATTRIBUTE;
}

/* Scales of 8-bit floats, and how exactly their products are summed. C is not read where D has 8 bits: its type may be
 * another one then. */
static tsr_why read_scales(const tsr_cublas_matmul *matmul, const tsr_real_lt *real, const defaults *fresh,
                           tsr_cublas_call *call)
{
    int8_t is_fast = 0;
    const tsr_why b = read_scale(matmul, real, fresh, TSR_LT_A_SCALE_POINTER, TSR_LT_A_SCALE_MODE, &call->scale_b,
                                 &call->scale_mode_b);
    const tsr_why a = read_scale(matmul, real, fresh, TSR_LT_B_SCALE_POINTER, TSR_LT_B_SCALE_MODE, &call->scale_a,
                                 &call->scale_mode_a);
    if (a != TSR_WHY_ANSWERED || b != TSR_WHY_ANSWERED ||
        !read_byte(real->desc_get, matmul->desc, TSR_LT_FAST_ACCUM, &is_fast))
        return TSR_WHY_ATTRIBUTE;
    if (call->batch > 1 && (call->scale_mode_a != TSR_SCALE_TENSOR || call->scale_mode_b != TSR_SCALE_TENSOR))
        return TSR_WHY_ATTRIBUTE; /* cuBLAS does not say where the scales of the next problem lie */
    call->compute = is_fast ? TSR_COMPUTE_FAST : TSR_COMPUTE_DEFAULT;
    if (!tsr_cublas_is_fp8(call->dtype_cd))
        return TSR_WHY_ANSWERED;
    const void *amax = NULL;
    if (!read_pointer(real->desc_get, matmul->desc, TSR_LT_D_SCALE_POINTER, &call->scale_d) ||
        !read_pointer(real->desc_get, matmul->desc, TSR_LT_AMAX_D_POINTER, &amax))
        return TSR_WHY_ATTRIBUTE;
    memcpy(&call->amax_d, &amax, sizeof amax); /* the getter gives const void * for every pointer */
    if (*(const float *)call->beta_at != 0)
        return TSR_WHY_TYPES;
    call->c = NULL;
    return TSR_WHY_ANSWERED;
}

/* Attributes that this file does not interpret, among them those of a bias or of scales where none are read. */
static int has_others(const tsr_cublas_matmul *matmul, const tsr_real_lt *real, const fresh_objects *fresh,
                      const tsr_cublas_call *call)
{
    uint64_t in_desc = BIT(TSR_LT_COMPUTE_TYPE) | BIT(TSR_LT_SCALE_TYPE) | BIT(TSR_LT_POINTER_MODE) |
                       BIT(TSR_LT_TRANSA) | BIT(TSR_LT_TRANSB) | BIT(TSR_LT_EPILOGUE);
    if (call->epilogue)
        in_desc |= BIT(TSR_LT_BIAS_POINTER) | BIT(TSR_LT_BIAS_TYPE);
    if (tsr_cublas_is_fp8(call->dtype_a))
        in_desc |= BIT(TSR_LT_A_SCALE_POINTER) | BIT(TSR_LT_B_SCALE_POINTER) | BIT(TSR_LT_A_SCALE_MODE) |
                   BIT(TSR_LT_B_SCALE_MODE) | BIT(TSR_LT_FAST_ACCUM);
    if (tsr_cublas_is_fp8(call->dtype_cd))
        in_desc |= BIT(TSR_LT_D_SCALE_POINTER) | BIT(TSR_LT_AMAX_D_POINTER);
    static const uint64_t in_layout = BIT(TSR_LT_LAYOUT_TYPE) | BIT(TSR_LT_LAYOUT_ORDER) | BIT(TSR_LT_LAYOUT_ROWS) |
                                      BIT(TSR_LT_LAYOUT_COLS) | BIT(TSR_LT_LAYOUT_LD) | BIT(TSR_LT_LAYOUT_BATCH_COUNT) |
                                      BIT(TSR_LT_LAYOUT_BATCH_OFFSET);
    void *const layouts[] = {matmul->a_layout, matmul->b_layout, matmul->c_layout, matmul->d_layout};
    if (!is_default(real->desc_get, matmul->desc, &fresh->desc, in_desc))
        return 1;
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++)
        if (!is_default(real->layout_get, layouts[i], &fresh->layout, in_layout))
            return 1;
    return 0;
}

tsr_why tsr_matmul_read_rest(const tsr_cublas_matmul *matmul, const tsr_real_lt *real, int ordinal,
                             tsr_cublas_call *call)
{
    int pointer_mode, scale;
    /* A handle of cublasLtCreate was not seen; one of cublasCreate, which does as well here, may have been. */
    const tsr_handle_view view = tsr_handle_look(matmul->node, matmul->handle);
    if (view.ordinal >= 0 && view.ordinal != ordinal)
        return TSR_WHY_DEVICE;
    call->holds_pool = view.holds_pool;
    if (!read_int(real->desc_get, matmul->desc, TSR_LT_POINTER_MODE, &pointer_mode) ||
        pointer_mode != TSR_CUBLAS_POINTER_MODE_HOST)
        return TSR_WHY_POINTER_MODE;
    if (!read_int(real->desc_get, matmul->desc, TSR_LT_SCALE_TYPE, &scale) || tsr_cublas_dtype(scale) != call->factor)
        return TSR_WHY_TYPES;
    const tsr_why matrices = check_matrices(matmul, real, call);
    if (matrices != TSR_WHY_ANSWERED)
        return matrices;
    const tsr_why bias = call->epilogue ? read_bias(matmul, real, call) : TSR_WHY_ANSWERED;
    if (bias != TSR_WHY_ANSWERED)
        return bias;
    const fresh_objects *fresh = find_fresh(matmul->node, real);
    if (!fresh)
        return TSR_WHY_ATTRIBUTE;
    const tsr_why scales =
        tsr_cublas_is_fp8(call->dtype_a) ? read_scales(matmul, real, &fresh->desc, call) : TSR_WHY_ANSWERED;
    if (scales != TSR_WHY_ANSWERED)
        return scales;
    return has_others(matmul, real, fresh, call) ? TSR_WHY_ATTRIBUTE : TSR_WHY_ANSWERED;
}

/* ---- algorithms -------------------------------------------------------------------------------------------------- */

enum { ALGOS_MAX = 1 << 14, PROBES_MAX = 32 };
static _Atomic uint64_t algos[ALGOS_MAX]; /* hashes of their content, the last bit apart; 0: free */

static uint64_t hash_algo(const tsr_lt_algo *algo)
{
    uint64_t hash = 1;
    for (size_t i = 0; i < sizeof algo->data / sizeof algo->data[0]; i++) {
        hash = (hash ^ algo->data[i]) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 31;
    }
    hash &= ~(uint64_t)1;
    return hash ? hash : 2;
}

/* The last bit of a hash: the algorithm came under a preference that forbids what Tessera does. Where the table is
 * full, an algorithm is not remembered, and its calls go to the real library. */
#define FORBIDDEN ((uint64_t)1)

void tsr_algos_remember(const tsr_lt_heuristic *results, int count, int is_allowed)
{
    for (int i = 0; i < count; i++) {
        const uint64_t hash = hash_algo(&results[i].algo), wanted = is_allowed ? hash : hash | FORBIDDEN;
        for (uint64_t probe = 0; probe < PROBES_MAX; probe++) {
            uint64_t seen = 0;
            _Atomic uint64_t *slot = &algos[(hash / 2 + probe) % ALGOS_MAX];
            if (atomic_compare_exchange_strong(slot, &seen, wanted))
                break;
            if ((seen & ~FORBIDDEN) != hash)
                continue;
            if (!is_allowed)
                atomic_fetch_or(slot, FORBIDDEN);
            break;
        }
    }
}

int tsr_algos_know(const tsr_lt_algo *algo)
{
    const uint64_t hash = hash_algo(algo);
    for (uint64_t probe = 0; probe < PROBES_MAX; probe++) {
        const uint64_t seen = atomic_load_explicit(&algos[(hash / 2 + probe) % ALGOS_MAX], memory_order_relaxed);
        if ((seen & ~FORBIDDEN) == hash)
            return seen == hash;
        if (seen == 0)
            return 0;
    }
    return 0;
}

int tsr_preference_allows(int node, const tsr_real_lt *real, void *preference)
{
    static const uint64_t interpreted = BIT(TSR_LT_PREFERENCE_SEARCH_MODE) | BIT(TSR_LT_PREFERENCE_WORKSPACE_BYTES) |
                                        BIT(TSR_LT_PREFERENCE_REDUCTIONS) | BIT(TSR_LT_PREFERENCE_ALIGN_A) |
                                        BIT(TSR_LT_PREFERENCE_ALIGN_B) | BIT(TSR_LT_PREFERENCE_ALIGN_C) |
                                        BIT(TSR_LT_PREFERENCE_ALIGN_D);
    int reductions;
    if (!preference)
        return 1;
    const fresh_objects *fresh = is_complete(real) ? find_fresh(node, real) : NULL;
    return fresh && fresh->has_preference &&
           read_int(real->preference_get, preference, TSR_LT_PREFERENCE_REDUCTIONS, &reductions) &&
           (reductions & TSR_LT_REDUCTION_COMPUTE_TYPE) &&
           is_default(real->preference_get, preference, &fresh->preference, interpreted);
}
