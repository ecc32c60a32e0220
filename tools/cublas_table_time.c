/* Both libraries on one GPU, as a program meets them: the same handle, the same stream, cuBLAS's own entry point and
 * ours in front of it, with the workspace that PyTorch gives. */
#include <dlfcn.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cublas/abi.h"
#include "cublas_table.h"
#include "lab/common/convert.h"
#include "lab/common/gpu.h"
#include "lab/common/random.h"
#include "lab/common/timer.h"
#include "lab/peers/cublas_lt.h"

#define WORKSPACE_BYTES ((size_t)32 << 20)
#define PATTERN_BYTES   ((size_t)16 << 20) /* of random elements, repeated through the operands */
#define COMPARED_BYTES  ((size_t)4 << 20)  /* of each part */
#define ARENA_MAX_BYTES ((size_t)12 << 30)
#define ROUND_NS        300e3
#define PLACE_BYTES     512 /* operands begin at multiples of this */
#define EXTRAS_BYTES    ((size_t)1 << 20)
#define SCALE_B_AT      256 /* in the extras, behind A's scale; cuBLAS's kernels want scales aligned as PyTorch has them */
#define BIAS_AT         512
enum { SETS_MAX = 16, CALLS_MAX = 32, ROUNDS_MAX = 64, PARTS = 2, PART_ELEMS = COMPARED_BYTES / 2 };

typedef tsr_cublas_status call_strided TSR_GEMM_STRIDED_EX_PARAMETERS(int64_t);
typedef tsr_cublas_status call_single TSR_GEMM_EX_PARAMETERS(int);
typedef tsr_cublas_status call_matmul TSR_LT_MATMUL_PARAMETERS;
typedef tsr_cublas_status call_heuristic TSR_LT_HEURISTIC_PARAMETERS;

/* What cublasLtMatmul is asked for one shape. */
typedef struct lt_product {
    lab_lt_desc desc;
    lab_lt_layout a, b, d; /* cuBLAS's: its A is our B */
    tsr_lt_heuristic first;
} lt_product;

struct table_session {
    lab_gpu gpu;
    lab_lt lt;
    lab_timer timer;
    tsr_cu_stream stream;
    tsr_cu_pointer arena, workspace, extras;  /* extras: scales of A and B, and a bias */
    size_t arena_bytes, results_at, l2_bytes; /* results_at: where the part for results begins */
    int filled_types;                         /* whose elements the arena holds; -1: none */
    void *handle;
    call_single *real_single, *our_single;
    call_strided *real_strided, *our_strided;
    call_matmul *our_matmul;       /* NULL: none */
    call_heuristic *our_heuristic; /* which gives cuBLAS's answers */
    lt_product lt_now;
    tsr_cublas_status (*destroy)(void *handle);
    unsigned long long (*answered)(void);
    char chip[TSR_MEASURED_CHIP_BYTES], version[16];
    unsigned char *compared;
    double *values[2]; /* of cuBLAS and of ours: the parts of D that are compared */
};

const char *table_chip(const table_session *session)
{
    return session->chip;
}

const char *table_version(const table_session *session)
{
    return session->version;
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static void name_chip(table_session *s)
{
    char name[TSR_MEASURED_CHIP_BYTES] = "";
    s->gpu.driver.device_get_name(name, sizeof name, s->gpu.device);
    tsr_measured_chip(name, s->chip);
}

/* Beside libcublasLt, which was found. */
static void *open_cublas(const table_session *s, int major, char error[512])
{
    char path[PATH_MAX + 32];
    Dl_info place;
    if (!dladdr((void *)s->lt.create, &place))
        place.dli_fname = "";
    const char *slash = strrchr(place.dli_fname, '/');
    snprintf(path, sizeof path, "%.*slibcublas.so.%d", slash ? (int)(slash + 1 - place.dli_fname) : 0, place.dli_fname,
             major);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        snprintf(error, 512, "%s", dlerror());
    return library;
}

static int find_calls(table_session *s, const char *library, char error[512])
{
    const size_t version = s->lt.version();
    const int major = (int)(version / 10000);
    tsr_cublas_status (*create)(void **handle), (*set_stream)(void *handle, void *stream);
    tsr_cublas_status (*set_workspace)(void *handle, void *workspace, size_t bytes);
    char node[32], lt_node[32];
    snprintf(s->version, sizeof s->version, "%d.%d", major, (int)(version / 100 % 100));
    snprintf(node, sizeof node, "libcublas.so.%d", major);
    snprintf(lt_node, sizeof lt_node, "libcublasLt.so.%d", major);
    void *real = open_cublas(s, major, error), *ours = real ? dlopen(library, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!ours) {
        if (real)
            snprintf(error, 512, "%s", dlerror());
        return 0;
    }
    *(void **)&s->real_single = dlvsym(real, "cublasGemmEx", node);
    *(void **)&s->real_strided = dlvsym(real, "cublasGemmStridedBatchedEx_64", node);
    *(void **)&s->our_single = dlvsym(ours, "cublasGemmEx", node);
    *(void **)&s->our_strided = dlvsym(ours, "cublasGemmStridedBatchedEx_64", node);
    *(void **)&s->our_matmul = dlvsym(ours, "cublasLtMatmul", lt_node);
    *(void **)&s->our_heuristic = dlvsym(ours, "cublasLtMatmulAlgoGetHeuristic", lt_node);
    *(void **)&s->answered = dlsym(ours, "tessera_cublas_answered");
    *(void **)&s->destroy = dlvsym(ours, "cublasDestroy_v2", node);
    *(void **)&create = dlvsym(ours, "cublasCreate_v2", node);
    *(void **)&set_stream = dlvsym(ours, "cublasSetStream_v2", node);
    *(void **)&set_workspace = dlvsym(ours, "cublasSetWorkspace_v2", node);
    const int is_complete = s->real_single && s->real_strided && s->our_single && s->our_strided && s->answered &&
                            s->destroy && create && set_stream && set_workspace;
    if (!is_complete || create(&s->handle) != 0 || set_stream(s->handle, s->stream) != 0 ||
        set_workspace(s->handle, (void *)(uintptr_t)s->workspace, WORKSPACE_BYTES) != 0) {
        snprintf(error, 512, "%s", is_complete ? "cublasCreate failed" : "a name is missing in cuBLAS or in ours");
        return 0;
    }
    return 1;
}

static int take_memory(table_session *s, char error[512])
{
    size_t free_bytes = 0, total_bytes = 0;
    int l2_bytes = 0;
    s->gpu.driver.mem_get_info(&free_bytes, &total_bytes);
    s->gpu.driver.device_get_attribute(&l2_bytes, TSR_CU_L2_CACHE_SIZE, s->gpu.device);
    s->l2_bytes = (size_t)l2_bytes;
    s->arena_bytes = free_bytes / 2 > ARENA_MAX_BYTES ? ARENA_MAX_BYTES : free_bytes / 2;
    s->arena_bytes = s->arena_bytes < PATTERN_BYTES ? PATTERN_BYTES : s->arena_bytes / PATTERN_BYTES * PATTERN_BYTES;
    s->results_at = s->arena_bytes / (3 * PLACE_BYTES) * (2 * PLACE_BYTES);
    s->compared = malloc(COMPARED_BYTES);
    for (int i = 0; i < 2; i++)
        s->values[i] = malloc(PARTS * PART_ELEMS * sizeof(double));
    if (s->gpu.driver.mem_alloc(&s->arena, s->arena_bytes) == TSR_CU_SUCCESS &&
        s->gpu.driver.mem_alloc(&s->workspace, WORKSPACE_BYTES) == TSR_CU_SUCCESS &&
        s->gpu.driver.mem_alloc(&s->extras, EXTRAS_BYTES) == TSR_CU_SUCCESS &&
        s->gpu.driver.stream_create(&s->stream, TSR_CU_STREAM_NON_BLOCKING) == TSR_CU_SUCCESS && s->compared &&
        s->values[0] && s->values[1])
        return 1;
    snprintf(error, 512, "no %zu bytes of memory", s->arena_bytes);
    return 0;
}

table_session *table_open(int ordinal, const char *library, char error[512])
{
    char device[32];
    table_session *s = calloc(1, sizeof *s);
    snprintf(device, sizeof device, "cuda:%d", ordinal);
    snprintf(error, 512, "no memory");
    if (!s)
        return NULL;
    s->filled_types = -1;
    setenv("TESSERA_CUBLAS", "always", 1);
    const int has_gpu = lab_gpu_open(ordinal, &s->gpu) == TSR_OK;
    if (!has_gpu || lab_gpu_enter(&s->gpu) != TSR_OK || lab_lt_load(&s->lt) != TSR_OK ||
        lab_timer_open(device, &s->timer) != TSR_OK) {
        snprintf(error, 512, "%s", tsr_last_error());
        free(s); /* the process ends here */
        return NULL;
    }
    name_chip(s);
    if (take_memory(s, error) && find_calls(s, library, error))
        return s;
    table_close(s);
    return NULL;
}

void table_close(table_session *s)
{
    if (s->handle)
        s->destroy(s->handle);
    if (s->stream)
        s->gpu.driver.stream_destroy(s->stream);
    if (s->arena)
        s->gpu.driver.mem_free(s->arena);
    if (s->workspace)
        s->gpu.driver.mem_free(s->workspace);
    if (s->extras)
        s->gpu.driver.mem_free(s->extras);
    free(s->compared);
    free(s->values[0]);
    free(s->values[1]);
    lab_timer_close(&s->timer);
    lab_gpu_leave(&s->gpu);
    lab_gpu_close(&s->gpu);
    free(s);
}

/* ---- operands ---------------------------------------------------------------------------------------------------- */

/* Normal random numbers of the type, where A and B may lie. 0 on failure. */
static int fill(table_session *s, int types)
{
    const tsr_dtype dtype = table_products[types].ab;
    unsigned char *pattern;
    int good = s->filled_types >= 0 && table_products[s->filled_types].ab == dtype;
    if (good || !(pattern = malloc(PATTERN_BYTES)))
        return good;
    lab_fill(LAB_FILL_NORMAL, 0, dtype, pattern, (int64_t)(PATTERN_BYTES / tsr_dtype_bytes(dtype)), 7);
    good = 1;
    for (size_t at = 0; at < s->results_at && good; at += PATTERN_BYTES) {
        const size_t left = s->results_at - at, bytes = left < PATTERN_BYTES ? left : PATTERN_BYTES;
        good = s->gpu.driver.memcpy_htod_async(s->arena + at, pattern, bytes, s->stream) == TSR_CU_SUCCESS;
    }
    good = s->gpu.driver.stream_synchronize(s->stream) == TSR_CU_SUCCESS && good;
    free(pattern);
    s->filled_types = types;
    return good;
}

/* Where the operands of the first set lie, from the arena's start. Results have a part of the arena for themselves, so
 * that A and B stay the random numbers that they are. */
typedef struct places {
    size_t a, b, d;
    size_t ab_bytes, d_bytes; /* from set to set */
    int sets;
} places;

/* Moves an operand off its alignment where rows alone would leave it better aligned than the shape says. */
static size_t place(size_t *at, int64_t rows, int64_t ld, int64_t stride, int64_t batch, size_t element_bytes,
                    int align)
{
    const size_t bytes = (size_t)((batch - 1) * stride + rows * ld) * element_bytes;
    const int of_rows = tsr_measured_align(0, ld, stride, batch, element_bytes);
    const size_t start = *at + (of_rows > align ? (size_t)align : 0);
    *at = (start + bytes + PLACE_BYTES) / PLACE_BYTES * PLACE_BYTES;
    return start;
}

static places find_places(const table_session *s, const table_shape *p)
{
    const size_t ab_bytes = tsr_dtype_bytes(table_products[p->types].ab),
                 cd_bytes = tsr_dtype_bytes(table_products[p->types].cd);
    places out = {0};
    out.a = place(&out.ab_bytes, p->trans_a ? p->k : p->m, p->lda, p->stride_a, p->batch, ab_bytes, p->align_a);
    out.b = place(&out.ab_bytes, p->trans_b ? p->n : p->k, p->ldb, p->stride_b, p->batch, ab_bytes, p->align_b);
    out.d = s->results_at + place(&out.d_bytes, p->m, p->ldd, p->stride_d, p->batch, cd_bytes, p->align_d);
    const size_t wanted = 2 * s->l2_bytes / (out.ab_bytes + out.d_bytes) + 1;
    const size_t inputs = s->results_at / out.ab_bytes, results = (s->arena_bytes - s->results_at) / out.d_bytes;
    const size_t fitting = inputs < results ? inputs : results;
    out.sets = (int)(wanted < fitting ? wanted : fitting);
    out.sets = out.sets > SETS_MAX ? SETS_MAX : out.sets;
    return out;
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

/* Scales of 1 and a bias of normal random numbers. 0 on failure. */
static int fill_extras(table_session *s, const table_shape *p)
{
    const tsr_dtype dtype = table_products[p->types].cd;
    static const float one = 1;
    unsigned char *extras = calloc(1, EXTRAS_BYTES);
    if (!extras)
        return 0;
    memcpy(extras, &one, sizeof one);
    memcpy(extras + SCALE_B_AT, &one, sizeof one);
    lab_fill(LAB_FILL_NORMAL, 0, dtype, extras + BIAS_AT, p->n, 11);
    const int good = s->gpu.driver.memcpy_htod_async(s->extras, extras, EXTRAS_BYTES, s->stream) == TSR_CU_SUCCESS &&
                     s->gpu.driver.stream_synchronize(s->stream) == TSR_CU_SUCCESS;
    free(extras);
    return good;
}

/* Sums, layouts, epilogue and scales of one shape. */
static int describe(const table_session *s, const table_shape *p, lab_lt_desc desc)
{
    const int32_t trans_a = p->trans_b, trans_b = p->trans_a;
    const uint32_t epilogue = LAB_LT_EPILOGUE_BIAS;
    const int8_t is_fast = (int8_t)table_products[p->types].is_fast;
    const tsr_cu_pointer scale_a = s->extras, scale_b = s->extras + SCALE_B_AT, bias = s->extras + BIAS_AT;
    unsigned bad = s->lt.desc_set(desc, LAB_LT_DESC_TRANSA, &trans_a, sizeof trans_a) |
                   s->lt.desc_set(desc, LAB_LT_DESC_TRANSB, &trans_b, sizeof trans_b);
    if (table_products[p->types].has_bias)
        bad |= s->lt.desc_set(desc, LAB_LT_DESC_EPILOGUE, &epilogue, sizeof epilogue) |
               s->lt.desc_set(desc, LAB_LT_DESC_BIAS_POINTER, &bias, sizeof bias);
    if (table_products[p->types].ab == TSR_E4M3)
        bad |= s->lt.desc_set(desc, LAB_LT_DESC_A_SCALE_POINTER, &scale_a, sizeof scale_a) |
               s->lt.desc_set(desc, LAB_LT_DESC_B_SCALE_POINTER, &scale_b, sizeof scale_b) |
               s->lt.desc_set(desc, LAB_LT_DESC_FAST_ACCUM, &is_fast, sizeof is_fast);
    return !bad;
}

/* One matrix of a column-major product: what is a row of ours is a column there. */
static lab_lt_layout lay_out(const table_session *s, int type, int64_t rows, int64_t columns, int64_t ld)
{
    lab_lt_layout layout = NULL;
    return s->lt.layout_create(&layout, (unsigned)type, (uint64_t)columns, (uint64_t)rows, ld) == 0 ? layout : NULL;
}

/* cuBLAS's first choice, with the workspace and the alignments that PyTorch tells it. */
static int choose(table_session *s, const table_shape *p, lt_product *lt)
{
    const uint64_t workspace_bytes = WORKSPACE_BYTES;
    const uint32_t aligns[4] = {(uint32_t)p->align_b, (uint32_t)p->align_a, (uint32_t)p->align_d, (uint32_t)p->align_d};
    lab_lt_preference preference = NULL;
    int count = 0;
    if (s->lt.preference_create(&preference) != 0)
        return 0;
    unsigned bad =
        s->lt.preference_set(preference, LAB_LT_PREF_MAX_WORKSPACE_BYTES, &workspace_bytes, sizeof workspace_bytes);
    for (unsigned i = 0; i < 4; i++)
        bad |= s->lt.preference_set(preference, LAB_LT_PREF_MIN_ALIGNMENT_A_BYTES + i, &aligns[i], sizeof aligns[i]);
    bad = bad || s->our_heuristic(s->handle, lt->desc, lt->a, lt->b, lt->d, lt->d, preference, 1, &lt->first, &count) !=
                     TSR_CUBLAS_SUCCESS;
    s->lt.preference_destroy(preference);
    return !bad && count == 1;
}

static void close_product(table_session *s)
{
    lt_product *lt = &s->lt_now;
    lab_lt_layout const layouts[] = {lt->a, lt->b, lt->d};
    if (lt->desc)
        s->lt.desc_destroy(lt->desc);
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++)
        if (layouts[i])
            s->lt.layout_destroy(layouts[i]);
    *lt = (lt_product){0};
}

/* Makes s->lt_now ready for calls; close_product follows in any case. */
static int open_product(table_session *s, const table_shape *p)
{
    lt_product *lt = &s->lt_now;
    const int ab = table_products[p->types].cuda_ab;
    if (s->lt.desc_create(&lt->desc, (unsigned)table_products[p->types].compute, LAB_CUDA_R_32F) != 0)
        return 0;
    lt->a = p->trans_b ? lay_out(s, ab, p->n, p->k, p->ldb) : lay_out(s, ab, p->k, p->n, p->ldb);
    lt->b = p->trans_a ? lay_out(s, ab, p->k, p->m, p->lda) : lay_out(s, ab, p->m, p->k, p->lda);
    lt->d = lay_out(s, table_products[p->types].cuda_cd, p->m, p->n, p->ldd);
    return lt->a && lt->b && lt->d && describe(s, p, lt->desc) && choose(s, p, lt) && fill_extras(s, p);
}

static int call_lt(const table_session *s, const char *a, const char *b, void *d, int is_ours)
{
    static const float one = 1, zero = 0;
    const lt_product *lt = &s->lt_now;
    void *const workspace = (void *)(uintptr_t)s->workspace;
    if (is_ours)
        return s->our_matmul(s->handle, lt->desc, &one, b, lt->a, a, lt->b, &zero, d, lt->d, d, lt->d, &lt->first.algo,
                             workspace, WORKSPACE_BYTES, s->stream) == TSR_CUBLAS_SUCCESS;
    lab_lt_algo algo;
    memcpy(&algo, &lt->first.algo, sizeof algo);
    return s->lt.matmul((lab_lt_handle)s->handle, lt->desc, &one, b, lt->a, a, lt->b, &zero, d, lt->d, d, lt->d, &algo,
                        workspace, WORKSPACE_BYTES, s->stream) == LAB_CUBLAS_SUCCESS;
}

/* The product on operands of one set, by cuBLAS or by us: its A is our B. */
static int call(const table_session *s, const table_shape *p, const places *at, int set, int is_ours)
{
    static const float one = 1, zero = 0;
    static const double one_wide = 1, zero_wide = 0;
    const int is_wide = p->types == TSR_TYPES_F64;
    const void *alpha = is_wide ? (const void *)&one_wide : &one, *beta = is_wide ? (const void *)&zero_wide : &zero;
    char *const arena = (char *)(uintptr_t)s->arena, *const base = arena + (size_t)set * at->ab_bytes;
    void *const d = arena + at->d + (size_t)set * at->d_bytes;
    if (table_products[p->types].is_lt)
        return call_lt(s, base + at->a, base + at->b, d, is_ours);
    if (p->batch > 1)
        return (is_ours ? s->our_strided : s->real_strided)(
                   s->handle, p->trans_b, p->trans_a, p->n, p->m, p->k, alpha, base + at->b,
                   table_products[p->types].cuda_ab, p->ldb, p->stride_b, base + at->a,
                   table_products[p->types].cuda_ab, p->lda, p->stride_a, beta, d, table_products[p->types].cuda_cd,
                   p->ldd, p->stride_d, p->batch, table_products[p->types].compute,
                   TSR_CUBLAS_GEMM_DEFAULT) == TSR_CUBLAS_SUCCESS;
    return (is_ours ? s->our_single : s->real_single)(
               s->handle, p->trans_b, p->trans_a, (int)p->n, (int)p->m, (int)p->k, alpha, base + at->b,
               table_products[p->types].cuda_ab, (int)p->ldb, base + at->a, table_products[p->types].cuda_ab,
               (int)p->lda, beta, d, table_products[p->types].cuda_cd, (int)p->ldd, table_products[p->types].compute,
               TSR_CUBLAS_GEMM_DEFAULT) == TSR_CUBLAS_SUCCESS;
}

/* ---- comparing --------------------------------------------------------------------------------------------------- */

/* Elements of one problem of D that are compared: the first of the first problem and the last of the last. They may be
 * the same ones. */
typedef struct part {
    size_t at; /* from the arena's start */
    int64_t first, count;
} part;

static part find_part(const table_shape *p, const places *at, int is_last)
{
    const size_t element_bytes = tsr_dtype_bytes(table_products[p->types].cd);
    const int64_t whole = (p->m - 1) * p->ldd + p->n, most = (int64_t)(COMPARED_BYTES / element_bytes);
    const int64_t count = whole < most ? whole : most, first = is_last ? whole - count : 0;
    const int64_t problem = is_last ? (p->batch - 1) * p->stride_d : 0;
    return (part){at->d + (size_t)(problem + first) * element_bytes, first, count};
}

/* The parts of D after one call. What the call leaves unwritten is not a number. */
static int fetch(table_session *s, const table_shape *p, const places *at, int is_ours)
{
    const tsr_dtype dtype = table_products[p->types].cd;
    const part parts[PARTS] = {find_part(p, at, 0), find_part(p, at, 1)};
    memset(s->compared, 0xff, COMPARED_BYTES);
    for (int i = 0; i < PARTS; i++)
        if (s->gpu.driver.memcpy_htod_async(s->arena + parts[i].at, s->compared,
                                            (size_t)parts[i].count * tsr_dtype_bytes(dtype),
                                            s->stream) != TSR_CU_SUCCESS)
            return 0;
    if (!call(s, p, at, 0, is_ours))
        return 0;
    for (int i = 0; i < PARTS; i++) {
        const int64_t count = parts[i].count;
        if (s->gpu.driver.memcpy_dtoh_async(s->compared, s->arena + parts[i].at, (size_t)count * tsr_dtype_bytes(dtype),
                                            s->stream) != TSR_CU_SUCCESS ||
            s->gpu.driver.stream_synchronize(s->stream) != TSR_CU_SUCCESS)
            return 0;
        lab_convert(TSR_F64, s->values[is_ours] + (size_t)i * PART_ELEMS, count, dtype, s->compared, count, 0, 1,
                    count);
    }
    return 1;
}

/* 1 if the two results agree as far as rounding lets them. */
static int agree(const table_session *s, const table_shape *p, const places *at)
{
    const double unit = table_products[p->types].unit;
    for (int i = 0; i < PARTS; i++) {
        const part is = find_part(p, at, i);
        for (int64_t e = 0; e < is.count; e++) {
            const double x = s->values[0][i * PART_ELEMS + e], y = s->values[1][i * PART_ELEMS + e];
            if ((is.first + e) % p->ldd >= p->n)
                continue; /* between rows */
            if (!(fabs(x - y) <= unit * (fabs(x) + sqrt((double)p->k))))
                return 0;
        }
    }
    return 1;
}

/* ---- timing ------------------------------------------------------------------------------------------------------ */

/* Nanoseconds of one call, over `calls` of them on changing operands; negative on failure. */
static double time_calls(table_session *s, const table_shape *p, const places *at, int calls, int is_ours, int *set)
{
    double ns = 0;
    if (s->timer.ops->begin(s->timer.state, s->stream) != TSR_OK)
        return -1;
    for (int i = 0; i < calls; i++) {
        if (!call(s, p, at, *set, is_ours))
            return -1;
        *set = (*set + 1) % at->sets;
    }
    return s->timer.ops->end(s->timer.state, s->stream, &ns) == TSR_OK ? ns / calls : -1;
}

static table_outcome time_rounds(table_session *s, const table_shape *p, const places *at, int rounds,
                                 lab_interval *ratio)
{
    double times[2][ROUNDS_MAX];
    int set = 0;
    const double guess = time_calls(s, p, at, 2, 0, &set);
    if (guess < 0 || time_calls(s, p, at, 2, 1, &set) < 0)
        return TABLE_FAILED;
    int calls = (int)(ROUND_NS / (guess > 1 ? guess : 1)) + 1;
    calls = calls > CALLS_MAX ? CALLS_MAX : calls;
    for (int round = 0; round < rounds; round++)
        for (int turn = 0; turn < 2; turn++) {
            const int is_ours = (round + turn) % 2;
            times[is_ours][round] = time_calls(s, p, at, calls, is_ours, &set);
            if (times[is_ours][round] < 0)
                return TABLE_FAILED;
        }
    *ratio = lab_ratio_of_medians(times[0], times[1], (size_t)rounds, 1);
    return TABLE_MEASURED;
}

static table_outcome time_shape(table_session *s, const table_shape *shape, int rounds, lab_interval *ratio)
{
    const places at = find_places(s, shape);
    const size_t bias_bytes = (size_t)shape->n * tsr_dtype_bytes(table_products[shape->types].cd);
    if (at.sets < 1 || (table_products[shape->types].is_lt && bias_bytes > EXTRAS_BYTES - BIAS_AT))
        return TABLE_TOO_LARGE;
    if (table_products[shape->types].is_lt && (!s->our_matmul || !s->our_heuristic || shape->batch > 1))
        return TABLE_NOT_OURS;
    if ((table_products[shape->types].is_lt && !open_product(s, shape)) || !fill(s, shape->types) ||
        !fetch(s, shape, &at, 0))
        return TABLE_FAILED;
    const unsigned long long before = s->answered();
    if (!fetch(s, shape, &at, 1))
        return TABLE_FAILED;
    if (s->answered() == before)
        return TABLE_NOT_OURS;
    return agree(s, shape, &at) ? time_rounds(s, shape, &at, rounds < ROUNDS_MAX ? rounds : ROUNDS_MAX, ratio)
                                : TABLE_WRONG;
}

table_outcome table_time(table_session *s, const table_shape *shape, int rounds, lab_interval *ratio)
{
    const table_outcome outcome = time_shape(s, shape, rounds, ratio);
    close_product(s);
    return outcome;
}

double table_forwarding_ns(table_session *s)
{
    enum { CALLS = 2000, ROUNDS = 15 };
    const float one = 1;
    double least[2] = {1e9, 1e9};
    void *memory = (void *)(uintptr_t)s->arena;
    for (int round = 0; round < ROUNDS; round++)
        for (int is_ours = 0; is_ours < 2; is_ours++) {
            call_single *product = is_ours ? s->our_single : s->real_single;
            s->gpu.driver.stream_synchronize(s->stream);
            const double start = lab_now_ns();
            for (int i = 0; i < CALLS; i++) /* n = 0: nothing to do, and never ours */
                if (product(s->handle, 0, 0, 64, 0, 64, &one, memory, TSR_CUDA_R_16BF, 64, memory, TSR_CUDA_R_16BF, 64,
                            &one, memory, TSR_CUDA_R_16BF, 64, TSR_CUBLAS_COMPUTE_32F, -1) != TSR_CUBLAS_SUCCESS)
                    return -1;
            const double ns = (lab_now_ns() - start) / CALLS;
            least[is_ours] = ns < least[is_ours] ? ns : least[is_ours];
        }
    return least[1] - least[0];
}
