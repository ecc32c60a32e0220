/* The entry points of one major version of cuBLAS: each has the name and signature of the real one, under its version
 * node. entry_12.c and entry_13.c set ENTRY_MAJOR and ENTRY_NODE. */
#include "cublas/cublas.h"

#define ENTRY_PASTE(x, y)    x##y
#define ENTRY_JOIN(x, y)     ENTRY_PASTE(x, y)
#define ENTRY_TEXT_OF(text)  #text
#define ENTRY_TEXT(text)     ENTRY_TEXT_OF(text)
#define ENTRY_INSIDE(symbol) ENTRY_JOIN(ENTRY_JOIN(symbol, _of_), ENTRY_MAJOR)

/* Declares the function behind `symbol`, exports it as symbol@library.so.MAJOR, and begins its definition. */
#define ENTRY_IN(library, symbol, parameters)                                                                    \
    __attribute__((visibility("default"))) tsr_cublas_status ENTRY_INSIDE(symbol) parameters;                    \
    __asm__(".symver " ENTRY_TEXT(ENTRY_INSIDE(symbol)) ", " ENTRY_TEXT(symbol) "@" library                      \
                                                                                ".so." ENTRY_TEXT(ENTRY_MAJOR)); \
    tsr_cublas_status ENTRY_INSIDE(symbol) parameters
#define ENTRY(symbol, parameters)    ENTRY_IN("libcublas", symbol, parameters)
#define ENTRY_LT(symbol, parameters) ENTRY_IN("libcublasLt", symbol, parameters)

/* The real call, with `arguments` in parentheses. */
#define ENTRY_REAL(real, member, symbol, arguments) \
    (!(real)          ? TSR_CUBLAS_NOT_INITIALIZED  \
     : (real)->member ? (real)->member arguments    \
                      : tsr_real_lacks(ENTRY_TEXT(symbol)))

/* The body of a product that may be answered. All products name these arguments alike; what else the product has
 * follows as initialisers. */
#define ENTRY_ANSWER(symbol, member, arguments, ...)              \
    const tsr_real_cublas *real = tsr_real_cublas_of(ENTRY_NODE); \
    tsr_cublas_visit visit;                                       \
    tsr_cublas_status status;                                     \
    if (tsr_cublas_is_passing())                                  \
        return ENTRY_REAL(real, member, symbol, arguments);       \
    const tsr_cublas_gemm gemm = {.name = ENTRY_TEXT(symbol),     \
                                  .node = ENTRY_NODE,             \
                                  .handle = handle,               \
                                  .trans_a = trans_a,             \
                                  .trans_b = trans_b,             \
                                  .m = m,                         \
                                  .n = n,                         \
                                  .k = k,                         \
                                  .alpha = alpha,                 \
                                  .a = a,                         \
                                  .b = b,                         \
                                  .beta = beta,                   \
                                  .c = c,                         \
                                  .lda = lda,                     \
                                  .ldb = ldb,                     \
                                  .ldc = ldc,                     \
                                  __VA_ARGS__};                   \
    if (!tsr_cublas_begin_gemm(&visit, &gemm, &status))           \
        status = ENTRY_REAL(real, member, symbol, arguments);     \
    tsr_cublas_end(&visit);                                       \
    return status

/* The bodies of calls that make a handle and end one. */
#define ENTRY_CREATE(symbol, member)                                                       \
    const int is_passing = tsr_cublas_is_passing();                                        \
    tsr_cublas_depth++;                                                                    \
    const tsr_cublas_status status = ENTRY_REAL(real, member, symbol, (handle));           \
    if (status == TSR_CUBLAS_SUCCESS && !is_passing && tsr_cublas_mode() >= TSR_MODE_AUTO) \
        tsr_handle_created(ENTRY_NODE, *handle, ENTRY_TEXT(symbol));                       \
    tsr_cublas_depth--;                                                                    \
    return status

#define ENTRY_DESTROY(symbol, member)         \
    tsr_handle_destroyed(ENTRY_NODE, handle); \
    return ENTRY_REAL(real, member, symbol, (handle))

ENTRY(cublasCreate_v2, (void **handle))
{
    const tsr_real_cublas *real = tsr_real_cublas_of(ENTRY_NODE);
    ENTRY_CREATE(cublasCreate_v2, create);
}

ENTRY(cublasDestroy_v2, (void *handle))
{
    const tsr_real_cublas *real = tsr_real_cublas_of(ENTRY_NODE);
    ENTRY_DESTROY(cublasDestroy_v2, destroy);
}

ENTRY_LT(cublasLtCreate, (void **handle))
{
    const tsr_real_lt *real = tsr_real_lt_of(ENTRY_NODE);
    ENTRY_CREATE(cublasLtCreate, lt_create);
}

ENTRY_LT(cublasLtDestroy, (void *handle))
{
    const tsr_real_lt *real = tsr_real_lt_of(ENTRY_NODE);
    ENTRY_DESTROY(cublasLtDestroy, lt_destroy);
}

/* The real call resets the workspace. */
ENTRY(cublasSetStream_v2, (void *handle, void *stream))
{
    const tsr_real_cublas *real = tsr_real_cublas_of(ENTRY_NODE);
    const tsr_cublas_status status = ENTRY_REAL(real, set_stream, cublasSetStream_v2, (handle, stream));
    if (status == TSR_CUBLAS_SUCCESS && !tsr_cublas_is_passing())
        tsr_handle_set_workspace(ENTRY_NODE, handle, NULL, 0);
    return status;
}

ENTRY(cublasSetWorkspace_v2, (void *handle, void *workspace, size_t bytes))
{
    const tsr_real_cublas *real = tsr_real_cublas_of(ENTRY_NODE);
    const tsr_cublas_status status = ENTRY_REAL(real, set_workspace, cublasSetWorkspace_v2, (handle, workspace, bytes));
    if (status == TSR_CUBLAS_SUCCESS && !tsr_cublas_is_passing())
        tsr_handle_set_workspace(ENTRY_NODE, handle, workspace, bytes);
    return status;
}

ENTRY_LT(cublasLtMatmulAlgoGetHeuristic, TSR_LT_HEURISTIC_PARAMETERS)
{
    const tsr_real_lt *real = tsr_real_lt_of(ENTRY_NODE);
    const tsr_cublas_status status =
        ENTRY_REAL(real, heuristic, cublasLtMatmulAlgoGetHeuristic,
                   (handle, desc, a_layout, b_layout, c_layout, d_layout, preference, wanted, results, count));
    if (status == TSR_CUBLAS_SUCCESS && !tsr_cublas_is_passing()) {
        tsr_cublas_depth++;
        tsr_algos_remember(results, *count, tsr_preference_allows(ENTRY_NODE, real, preference));
        tsr_cublas_depth--;
    }
    return status;
}

ENTRY_LT(cublasLtMatmul, TSR_LT_MATMUL_PARAMETERS)
{
    const tsr_real_lt *real = tsr_real_lt_of(ENTRY_NODE);
    tsr_cublas_visit visit;
    tsr_cublas_status status;
#define REAL_MATMUL                                                                                             \
    ENTRY_REAL(real, matmul, cublasLtMatmul,                                                                    \
               (handle, desc, alpha, a, a_layout, b, b_layout, beta, c, c_layout, d, d_layout, algo, workspace, \
                workspace_bytes, stream))
    if (tsr_cublas_is_passing())
        return REAL_MATMUL;
    const tsr_cublas_matmul matmul = {.node = ENTRY_NODE,
                                      .handle = handle,
                                      .desc = desc,
                                      .alpha = alpha,
                                      .a = a,
                                      .b = b,
                                      .beta = beta,
                                      .c = c,
                                      .d = d,
                                      .a_layout = a_layout,
                                      .b_layout = b_layout,
                                      .c_layout = c_layout,
                                      .d_layout = d_layout,
                                      .algo = algo,
                                      .workspace = workspace,
                                      .stream = stream,
                                      .workspace_bytes = workspace_bytes};
    if (!tsr_cublas_begin_matmul(&visit, &matmul, &status))
        status = REAL_MATMUL;
    tsr_cublas_end(&visit);
    return status;
#undef REAL_MATMUL
}

/* The products of libcublas, for int sizes and for those of 64 bits. */
#define ENTRY_INT int
#define ENTRY_WIDTH
#include "cublas/entry_width_tmpl.h"
#undef ENTRY_INT
#undef ENTRY_WIDTH
#define ENTRY_INT   int64_t
#define ENTRY_WIDTH _64
#include "cublas/entry_width_tmpl.h"
#undef ENTRY_INT
#undef ENTRY_WIDTH
