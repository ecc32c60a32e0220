/* libtessera_cublas: cuBLAS's GEMM calls, answered by Tessera where the table of measurements says that it is faster,
 * and handed on to the real library otherwise. What its files share. docs/CUBLAS.md has the rules. */
#ifndef TSR_CUBLAS_CUBLAS_H
#define TSR_CUBLAS_CUBLAS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "cublas/abi.h"
#include "cublas/real.h"
#include "tessera.h"

/* ---- why a call was answered, or not ----------------------------------------------------------------------------- */

#define TSR_WHY_MAP(X)                                                          \
    X(TSR_WHY_ANSWERED, "faster-by-the-table")                                  \
    X(TSR_WHY_ALWAYS, "always")                                                 \
    X(TSR_WHY_OFF, "off")                                                       \
    X(TSR_WHY_NO_LINE, "no-line-in-the-table")                                  \
    X(TSR_WHY_SLOWER, "not-faster-by-the-table")                                \
    X(TSR_WHY_ARGUMENTS, "arguments") /* wrong, empty or of no use to us */     \
    X(TSR_WHY_TYPES, "types")         /* of elements, factors or sums */        \
    X(TSR_WHY_ALGORITHM, "algorithm") /* the caller has chosen one */           \
    X(TSR_WHY_MATH_MODE, "math-mode")                                           \
    X(TSR_WHY_POINTER_MODE, "pointer-mode") /* factors in device memory */      \
    X(TSR_WHY_SM_COUNT, "sm-count-target")                                      \
    X(TSR_WHY_EPILOGUE, "epilogue")                                             \
    X(TSR_WHY_ATTRIBUTE, "attribute") /* of a descriptor, not at its default */ \
    X(TSR_WHY_ORDER, "order")         /* of a matrix, not column-major */       \
    X(TSR_WHY_POINTERS, "pointer-batch")                                        \
    X(TSR_WHY_GROUPS, "groups")                                                 \
    X(TSR_WHY_HANDLE, "handle")                                                 \
    X(TSR_WHY_DEVICE, "device")   /* none, or not in its primary context */     \
    X(TSR_WHY_CAPTURE, "capture") /* a shape without a loaded plan */           \
    X(TSR_WHY_NO_KERNEL, "no-kernel")                                           \
    X(TSR_WHY_WORKSPACE, "workspace")                                           \
    X(TSR_WHY_FAILED, "failed") /* Tessera did, before it wrote anything */

typedef enum tsr_why {
#define TSR_WHY_ENUM(name, text) name,
    TSR_WHY_MAP(TSR_WHY_ENUM)
#undef TSR_WHY_ENUM
} tsr_why;

/* ---- a call ------------------------------------------------------------------------------------------------------ */

/* One product in Tessera's terms: row-major, so that cuBLAS's operands have changed places, A for B. */
typedef struct tsr_cublas_call {
    const char *name;           /* the symbol that was called */
    tsr_dtype dtype_a, dtype_b; /* not the same only where both are 8-bit floats; TSR_DTYPE_NONE: not known yet */
    tsr_dtype dtype_cd;
    tsr_compute compute; /* TSR_COMPUTE_DEFAULT, or TF32 or FAST, where the caller allows it */
    tsr_trans trans_a, trans_b;
    int64_t m, n, k, lda, ldb, ldc, ldd;
    int64_t batch, stride_a, stride_b, stride_c, stride_d; /* strides in elements */
    const void *a, *b, *c;
    void *d;
    const void *alpha_at, *beta_at; /* in host memory, of dtype `factor` */
    tsr_dtype factor;
    double alpha, beta;
    const char *epilogue; /* NULL: none */
    const void *bias;     /* that it reads, of D's dtype */
    int lt_epilogue;      /* cublasLt's number for it, or for one that Tessera lacks; 0: no such call */
    /* Of 8-bit floats: scales in device memory, or NULL; which elements share one; D's greatest magnitude. */
    const void *scale_a, *scale_b, *scale_d;
    tsr_scale_mode scale_mode_a, scale_mode_b;
    void *amax_d;
    void *stream;
    void *workspace; /* the caller's, which may hold anything; NULL: none */
    size_t workspace_bytes;
    int holds_pool;     /* the handle does: the pool stays while it runs */
    const char *kernel; /* that ran; NULL: none did */
} tsr_cublas_call;

/* cublasGemmEx, cublasGemmStridedBatchedEx and their likes of one type, as they were called: column-major. */
typedef struct tsr_cublas_gemm {
    const char *name;
    int node;
    void *handle;
    int trans_a, trans_b;
    int64_t m, n, k;
    const void *alpha, *a, *b, *beta;
    void *c;
    int a_type, b_type, c_type;
    int64_t lda, ldb, ldc, stride_a, stride_b, stride_c, batch;
    int compute, algo;
} tsr_cublas_gemm;

/* cublasLtMatmul, as it was called. */
typedef struct tsr_cublas_matmul {
    int node;
    void *handle, *desc;
    const void *alpha, *a, *b, *beta, *c;
    void *d;
    void *a_layout, *b_layout, *c_layout, *d_layout;
    const tsr_lt_algo *algo;
    void *workspace, *stream;
    size_t workspace_bytes;
} tsr_cublas_matmul;

/* ---- entry and guard --------------------------------------------------------------------------------------------- */

/* Unknown until the environment was read. PASSING: every call goes on, and nothing is logged. */
enum { TSR_MODE_UNKNOWN, TSR_MODE_PASSING, TSR_MODE_OFF, TSR_MODE_AUTO, TSR_MODE_ALWAYS };
extern __attribute__((visibility("hidden"))) atomic_int tsr_cublas_mode_now;
int tsr_cublas_mode(void); /* reads the environment if need be */

/* How deep this thread is within calls of ours: what the real library, or Tessera, calls in turn goes straight on. */
extern __attribute__((visibility("hidden"))) _Thread_local int tsr_cublas_depth;

static inline int tsr_cublas_is_passing(void)
{
    return tsr_cublas_depth > 0 || atomic_load_explicit(&tsr_cublas_mode_now, memory_order_relaxed) == TSR_MODE_PASSING;
}

/* One call on its way: begin with an answer, end once it is answered or the real library has returned. */
typedef struct tsr_cublas_visit {
    tsr_cublas_call call;
    tsr_why why;
    double start_ns; /* 0: calls are not logged */
} tsr_cublas_visit;

/* 1: the call is answered, and *status is what the caller gets. 0: it goes to the real library. */
int tsr_cublas_begin_gemm(tsr_cublas_visit *visit, const tsr_cublas_gemm *gemm, tsr_cublas_status *status);
int tsr_cublas_begin_matmul(tsr_cublas_visit *visit, const tsr_cublas_matmul *matmul, tsr_cublas_status *status);
/* A call that always goes on. */
void tsr_cublas_begin_other(tsr_cublas_visit *visit, const char *name, tsr_why why);
void tsr_cublas_end(tsr_cublas_visit *visit);

/* Exported for programs that want to know: how many calls of this process Tessera has answered. */
__attribute__((visibility("default"))) unsigned long long tessera_cublas_answered(void);
/* Likewise: how many lines the table has for the calling thread's GPU and the cuBLAS that calls have reached, and both
 * as its columns name them, at most `bytes` with the NUL ("" where the driver does not name the GPU). -1: no GPU, or no
 * call has reached a cuBLAS. */
__attribute__((visibility("default"))) int tessera_cublas_table_lines(char *chip, char *cublas, size_t bytes);

/* ---- what the entries remember for later calls ------------------------------------------------------------------- */

/* `name`: the symbol that made it. */
void tsr_handle_created(int node, void *handle, const char *name);
void tsr_handle_destroyed(int node, void *handle);
/* cublasSetWorkspace, which has no getter; workspace NULL: the library's own again, as after cublasSetStream. */
void tsr_handle_set_workspace(int node, void *handle, void *workspace, size_t bytes);
/* The GPU that was current when the handle was made, -1 if that was not seen; and the workspace. */
typedef struct tsr_handle_view {
    int ordinal;
    void *workspace;
    size_t workspace_bytes;
    int holds_pool; /* its GPU's pool lives as long as it does */
} tsr_handle_view;
tsr_handle_view tsr_handle_look(int node, void *handle);

/* Algorithms that a heuristic of this process gave, by their content. What the caller's preference forbids Tessera must
 * not do: such an algorithm, wherever it comes from again, is one that the caller has chosen. */
void tsr_algos_remember(const tsr_lt_heuristic *results, int count, int is_allowed);
int tsr_algos_know(const tsr_lt_algo *algo);
/* 1 if the preference allows what Tessera may do: parts of K added in the type of the sums, in any number, by any
 * implementation. */
int tsr_preference_allows(int node, const tsr_real_lt *real, void *preference);

/* ---- the steps of an answer -------------------------------------------------------------------------------------- */

/* Fills the parts of *call that matter to the table and says whether Tessera could compute it at all. */
tsr_why tsr_gemm_read(const tsr_cublas_gemm *gemm, const tsr_real_cublas *real, tsr_cublas_call *call);
/* Then, for a call that shall be answered on GPU `ordinal`: stream, workspace and what else the handle says. */
tsr_why tsr_gemm_read_handle(const tsr_cublas_gemm *gemm, const tsr_real_cublas *real, int ordinal,
                             tsr_cublas_call *call);

/* The same for cublasLtMatmul, in steps, for each attribute costs a call: sizes and types; leading dimensions and
 * batch; then, for a call that shall be answered on GPU `ordinal`, whether all else is as it must be. */
tsr_why tsr_matmul_read(const tsr_cublas_matmul *matmul, const tsr_real_lt *real, tsr_cublas_call *call);
tsr_why tsr_matmul_read_layouts(const tsr_cublas_matmul *matmul, const tsr_real_lt *real, tsr_cublas_call *call);
tsr_why tsr_matmul_read_rest(const tsr_cublas_matmul *matmul, const tsr_real_lt *real, int ordinal,
                             tsr_cublas_call *call);

/* A cublasLt epilogue as an expression of Tessera's; "" is none, NULL is one that we lack. */
const char *tsr_cublas_epilogue(int epilogue);

/* cudaDataType as a tsr_dtype; TSR_DTYPE_NONE: one that is not answered. */
tsr_dtype tsr_cublas_dtype(int type);
/* 1: an 8-bit float. */
int tsr_cublas_is_fp8(tsr_dtype dtype);
/* Compute and factor types for the call's dtypes; 0 if such a call is not answered. */
int tsr_cublas_compute(int compute, tsr_cublas_call *call);
/* 0 where the user has switched TF32 off for the whole process (NVIDIA_TF32_OVERRIDE=0), as cuBLAS reads it. */
int tsr_cublas_allows_tf32(void);
/* 1 where the user has asked cuBLAS for emulated f32 or f64, which nobody else gives. */
int tsr_cublas_is_emulating(tsr_dtype dtype);
/* Sizes and leading dimensions as cuBLAS takes them, nothing empty, strides that Tessera takes. */
int tsr_cublas_is_plain(const tsr_cublas_call *call);

/* What the table says: TSR_WHY_ANSWERED, TSR_WHY_ALWAYS or why not. `may`: by sizes alone, before the rest is known. */
tsr_why tsr_cublas_may(int node, int ordinal, const tsr_cublas_call *call);
tsr_why tsr_cublas_verdict(int node, int ordinal, const tsr_cublas_call *call);
/* Bytes to which pointers and rows are aligned, as the table counts them; that of D holds for C too. */
void tsr_cublas_aligns(const tsr_cublas_call *call, int *a, int *b, int *d);
/* 1 if calls on that GPU may be answered at all. */
int tsr_cublas_may_answer(int node, int ordinal);
/* The next shape that has a line of its own by which its calls are answered, from *at == 0 on, as a call with tight
 * rows, aligned pointers that must not be followed, and a workspace of 32 MiB, which is what PyTorch gives on this
 * line's GPUs; 0: there are no more. */
int tsr_cublas_next_shape(int node, int ordinal, size_t *at, tsr_cublas_call *call);

/* Runs the call on Tessera: TSR_WHY_ANSWERED with *status, or why it did not. */
tsr_why tsr_cublas_run(tsr_cublas_call *call, int ordinal, tsr_cublas_status *status);
/* The Tessera context of GPU `ordinal`, opened at the first call; NULL if it cannot be had. */
tsr_context *tsr_cublas_context(int ordinal);
/* Makes the plan of such a call, loads its kernels and keeps it; the kernel's name, NULL if none applies. */
const char *tsr_cublas_plan(const tsr_cublas_call *call, int ordinal, tsr_context *context);
/* The GPU that the calling thread's calls go to; -1: none. */
int tsr_cublas_device(void);
/* 1 if the calling thread's current context is the one of GPU `ordinal` that Tessera runs in. */
int tsr_cublas_is_primary(int ordinal);

/* ---- workspace of ours ------------------------------------------------------------------------------------------- */

#define TSR_POOL_SMALL_BYTES    ((size_t)4 << 20)
#define TSR_POOL_COUNTERS_BYTES ((size_t)64 << 10)
/* The most that one plan may take of it, where the caller has given workspace too or none. */
size_t tsr_pool_most_bytes(int is_given);
/* The size of a GPU's pool, which is made in the current context when it is held first, and freed when all that hold it
 * have dropped it. */
size_t tsr_pool_bytes(void);
void tsr_pool_hold(int ordinal, tsr_context *context);
void tsr_pool_drop(int ordinal);
/* A part for runs on the stream, whose number is `id`; its counters are zero there. NULL: there is none. `is_held`: by
 * the handle of the run; otherwise the pool stays for good, as nobody sees that handle's end. */
void *tsr_pool_take(int ordinal, tsr_context *context, int is_held, void *stream, uint64_t id, size_t bytes);

/* One lock for what is kept between calls, never held while a kernel loads or the real library runs. The child of a
 * fork gets it free. */
void tsr_cublas_lock(void);
void tsr_cublas_unlock(void);

void tsr_cublas_log(const tsr_cublas_visit *visit, double ns);

#endif
