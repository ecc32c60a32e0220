/* Tessera: tiled matrix multiplication. For C99, C++11 and later, with enumerations of the size of int (gcc's
 * -fshort-enums has others).
 *
 *     D = alpha * op(A) * op(B) + beta * C
 *
 * op(A) is M x K, op(B) is K x N, C and D are M x N. Matrices are row-major: element (i, j) of an operand with leading
 * dimension ld lies at i * ld + j. A transposed operand is stored the other way round (A as K x M, B as N x K). For
 * column-major matrices compute the transposed problem: D^T = op(B)^T * op(A)^T.
 *
 * Rules that hold for every kernel:
 *   - An epilogue (tsr_gemm_desc.epilogue) may follow: D = relu(alpha * op(A) * op(B) + beta * C + bias).
 *   - beta == 0 never reads C; alpha == 0 or K == 0 never reads A or B; otherwise NaN and Inf propagate.
 *   - D may be C itself (same pointer, dtype and leading dimension). Otherwise it shares no element with A, B or C.
 *     Views of one buffer may interleave, but not in a batch.
 *   - Element alignment is enough for every pointer; a stronger guarantee in the descriptor may pick a faster kernel.
 *   - Same version, device, flags, alignments and thread count give the same bits, run after run.
 *
 * Errors: functions return a tsr_status. tsr_last_error() gives the calling thread's last message, which names the
 * argument and the rule. A failed call writes nothing through its pointers, unless it says otherwise.
 * The library never prints and never exits.
 *
 * Structs: those that begin with struct_bytes grow from version to version, at the end alone. A caller sets
 * struct_bytes to the sizeof that it was compiled with: the library takes every size from version 0.1's on (up to
 * 4,096), and gives members that an older caller lacks their defaults. What a newer caller sets and this library does
 * not know must be zero, or the call fails with TSR_UNSUPPORTED. Structs that the library fills are written up to the
 * caller's size.
 *
 * Threads: every function may be called from any thread at any time, on the same context, plan and prepared operand
 * too; only the destroy and release functions must come last. No function is a cancellation point: a thread that is
 * cancelled (pthread_cancel) within one goes on to its end. Asynchronous cancellation is not allowed for, nor is
 * leaving a call by longjmp from a signal handler, nor a call from a signal handler that has interrupted one. A
 * library's constructor may call, but must not wait for another thread that calls: that one may wait for the loader,
 * whose lock the constructor's thread holds, to find a GPU's driver or OpenMP. On a CPU a call needs up to 48 KiB of
 * its thread's stack; a GPU's driver may need more. The library's own threads block signals, but for those that a
 * thread's own fault raises (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS): the program's handlers see them. On the
 * CPU a product has the calling thread's rounding mode, flush to zero and floating-point traps, in all its threads
 * alike; the caller's flags tell of its own part. These threads, and their number, follow the affinity mask that the
 * main thread has when they are made, wherever the calling thread is pinned; they have an ordinary priority where the
 * caller's is real-time, and stacks of 512 KiB.
 *
 * Callbacks (alloc, free, log, tell) may use the library, the context that calls them too unless it is being created or
 * destroyed. They return: no exception, longjmp or pthread_exit may leave one.
 *
 * Unloading: dlclose leaves the library in memory, since the default context's threads live as long as the process; so
 * does a plugin that the static library is linked into. Opened again, it goes on. */
#ifndef TESSERA_H
#define TESSERA_H

#include <stddef.h>
#include <stdint.h>

#define TSR_VERSION_MAJOR 0
#define TSR_VERSION_MINOR 1
#define TSR_VERSION_PATCH 0

#if defined(__GNUC__)
#define TSR_API __attribute__((visibility("default")))
#else
#define TSR_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- status ---------------------------------------------------------------------------------------------------- */

#define TSR_STATUS_MAP(X)                                              \
    X(TSR_OK, "success")                                               \
    X(TSR_INVALID_ARGUMENT, "invalid argument")                        \
    X(TSR_UNSUPPORTED, "unsupported by this version, build or device") \
    X(TSR_NO_DEVICE, "no such device")                                 \
    X(TSR_OUT_OF_MEMORY, "out of memory")                              \
    X(TSR_DRIVER_ERROR, "the CUDA driver reported an error")           \
    X(TSR_KERNEL_FAULT, "the emulator caught a fault in a kernel")     \
    X(TSR_IO_ERROR, "a file could not be read or written")             \
    X(TSR_INTERNAL, "internal error")

/* TSR_INVALID_ARGUMENT: a rule of an argument is broken, or types do not go together; no version takes that.
 * TSR_UNSUPPORTED: the request has a place in the interface, and this version, build or device has no code for it: an
 * epilogue of another text, a named kernel that cannot run the product, the emulator where it is not built. */
typedef enum tsr_status {
#define TSR_STATUS_ENUM(name, text) name,
    TSR_STATUS_MAP(TSR_STATUS_ENUM)
#undef TSR_STATUS_ENUM
} tsr_status;

/* The status in words; a static string, never NULL. */
TSR_API const char *tsr_status_text(tsr_status status);

/* Message of the last call that failed on this thread, "" if none has. Valid until this thread's next failing call. */
TSR_API const char *tsr_last_error(void);

/* "MAJOR.MINOR.PATCH" of the library that is running. */
TSR_API const char *tsr_version(void);

/* ---- types ------------------------------------------------------------------------------------------------------ */

/* How an element is stored. A and B have one type, but that e4m3 and e5m2 mix, and s8 and u8; C and D have one type:
 *   A, B         C, D                                compute
 *   f64          f64                                 default (f64)
 *   f32          f32                                 default (f32), TF32
 *   f16, bf16    f16, bf16, f32, e4m3, e5m2          default (f32)
 *   e4m3, e5m2   f32, bf16, f16, e4m3, e5m2          default (f32), FAST
 *   s8, u8       s32, f32, bf16, f16                 default (s32)
 * docs/TYPES.md says on which devices. tsr_gemm_desc_make gives all four operands one type: of s8 and u8 set c.dtype
 * and d.dtype, too. */
typedef enum tsr_dtype {
    TSR_DTYPE_NONE = 0,
    TSR_F64,  /* IEEE binary64 */
    TSR_F32,  /* IEEE binary32 */
    TSR_F16,  /* IEEE binary16 */
    TSR_BF16, /* the upper half of a binary32 */
    TSR_E4M3, /* OCP 8-bit float, no infinities */
    TSR_E5M2, /* OCP 8-bit float */
    TSR_S8,
    TSR_U8,
    TSR_S32,
    TSR_DTYPE_COUNT
} tsr_dtype;

/* Arithmetic of the products and sums. TSR_COMPUTE_DEFAULT is never less precise than the operands: f64 for f64, s32
 * for 8-bit integers, f32 for the rest. Anything less precise is used only when named here: TSR_COMPUTE_TF32 for f32
 * operands (11 significant bits of each element, sums in f32), TSR_COMPUTE_FAST for 8-bit floats (sums stay in the
 * tensor cores, which keep about 14 bits of them; by default each 128 of K are summed in f32). These two name the least
 * accurate arithmetic that will do. A CPU, to which it would bring no speed, gives the bits of the default; in a
 * context with a GPU it does so only where no kernel of the GPU has that arithmetic. A GPU multiplies in f32 what is
 * faster so (few rows or columns), but for products with TSR_BATCH_INVARIANT. s32 wraps around. */
typedef enum tsr_compute {
    TSR_COMPUTE_DEFAULT = 0,
    TSR_COMPUTE_F64,
    TSR_COMPUTE_F32,
    TSR_COMPUTE_TF32,
    TSR_COMPUTE_S32,
    TSR_COMPUTE_FAST,
    TSR_COMPUTE_COUNT
} tsr_compute;

typedef enum tsr_trans { TSR_N = 0, TSR_T = 1 } tsr_trans;

/* Where an operand lies. Host operands of a GPU context are copied there and back by the call, which then waits. */
typedef enum tsr_memory { TSR_HOST = 0, TSR_DEVICE = 1 } tsr_memory;

/* Which elements of A or B share a scale, an f32 each, where the operand has scales (tsr_run_args.scale_a, scale_b).
 * `outer` stands for a row of A or a column of B, of which there are M or N; KB = (K + 127) / 128, rounded down. All
 * are stored without gaps, the same way whether the operand is transposed or not. In a batch the scales of one problem
 * follow those of the one before, but where the problems share the operand (TSR_BROADCAST_A, _B): then they share its
 * scales. A scale of the whole operand is one for all problems. The layouts are those of cuBLASLt (modes
 * CUBLASLT_MATMUL_MATRIX_SCALE_...) and of PyTorch's torch._scaled_mm (names behind the semicolon), where scales of 1 x
 * 128 blocks are "outer-dim-major" and those of 128 x 128 blocks lie along K "with 16-byte aligned strides". */
typedef enum tsr_scale_mode {
    TSR_SCALE_TENSOR = 0, /* all: 1 scale (SCALAR_32F; TensorWise) */
    TSR_SCALE_VECTOR,     /* a row of A, a column of B: [outer] (OUTER_VEC_32F; RowWise) */
    TSR_SCALE_1X128,      /* 128 steps of K of one of these: [k / 128][outer], KB * M or KB * N (VEC128_32F;
                           * BlockWise1x128). 8-bit floats alone, as is the next one */
    TSR_SCALE_128X128,    /* 128 steps of K of 128 of these: [outer / 128][k / 128], where a row has KB rounded up to a
                           * multiple of 4, of which the last are not read (BLK128x128_32F; BlockWise128x128) */
    TSR_SCALE_MODE_COUNT
} tsr_scale_mode;

typedef enum tsr_batch_kind {
    TSR_BATCH_STRIDED = 0,  /* batch_count problems, batch_stride elements apart */
    TSR_BATCH_POINTERS = 1, /* arrays of pointers (not supported yet) */
    TSR_BATCH_GROUPED = 2   /* a size for each problem (not supported yet) */
} tsr_batch_kind;

/* Where this has no size, the compiler's enumerations are not those that the library was built with. */
typedef char tsr_enums_are_ints[sizeof(tsr_dtype) == sizeof(int) ? 1 : -1];

/* Name of a dtype or compute type as the command line spells it ("f32"); "?" when out of range. */
TSR_API const char *tsr_dtype_name(tsr_dtype dtype);
TSR_API const char *tsr_compute_name(tsr_compute compute);
TSR_API size_t tsr_dtype_bytes(tsr_dtype dtype);

/* ---- context ---------------------------------------------------------------------------------------------------- */

typedef struct tsr_context tsr_context;

typedef struct tsr_context_options {
    size_t struct_bytes;     /* sizeof(tsr_context_options) */
    int threads;             /* CPU threads of a call; 0: see tsr_set_threads */
    int plan_cache_entries;  /* plans kept for reuse; 0: 256 */
    const char *tuning_file; /* tuned choices (not supported yet: must be NULL) */
    /* Host memory for packing and staging; both or neither. `align` is a power of two; memory that is not aligned
     * to it is refused. The library never frees what it did not allocate. May be called from any thread. */
    void *(*alloc)(size_t align, size_t bytes, void *user);
    void (*free)(void *pointer, void *user);
    /* Called with one line, without newline, for what is worth telling but is no error. May come from any thread. */
    void (*log)(const char *line, void *user);
    void *user;
} tsr_context_options;

/* Opens a device:
 *   "cpu"       this machine's processors
 *   "cuda:0"    one NVIDIA GPU, by ordinal; uses the device's primary context and leaves the caller's current one as is
 *   "emu"       runs the CUDA kernels on the CPU, exactly and slowly, and checks what they do
 *   "auto"      the CPU, and the first GPU where there is one; each call goes where it is expected to finish first
 * `options` may be NULL. TSR_NO_DEVICE says what is missing. Any thread may use a context at any time; the child of a
 * fork may use its parent's "cpu", and its "auto", where the GPU then counts as none. */
TSR_API tsr_status tsr_context_create(const char *device, const tsr_context_options *options, tsr_context **out);
/* Closes the context, or, where prepared operands of it are left, leaves that to the release of the last one; NULL is
 * fine. Its plans must not run any more. */
TSR_API void tsr_context_destroy(tsr_context *context);

/* CPU threads. A context has as many as its options say. Without that, the first valid number of $TESSERA_NUM_THREADS,
 * $OPENBLAS_NUM_THREADS, $MKL_NUM_THREADS, $BLIS_NUM_THREADS and $OMP_NUM_THREADS counts (ours up to 4,096, the others'
 * up to the number of processors), as it is when the context is created. Without any of them, the processors count that
 * the process's main thread may use. tsr_set_threads limits the threads of every later call in the process,
 * tsr_set_threads_here those of every later call of the calling thread; 0 removes a limit. No result depends on either.
 * A call from within a parallel region of OpenMP takes one thread. TSR_INVALID_ARGUMENT beyond 4,096.
 */
TSR_API tsr_status tsr_set_threads(int threads);
TSR_API tsr_status tsr_set_threads_here(int threads);
/* What a call of this thread may use on a context that was created with 0. */
TSR_API int tsr_get_threads(void);

/* Calls `tell` with a line, without newline, for each environment variable of ours that holds what is of no use
 * (TESSERA_NUM_THREADS, TESSERA_LOG): the library itself ignores it, and tells a context's log. */
TSR_API void tsr_check_environment(void (*tell)(const char *line, void *user), void *user);

/* Memory of the context's device (host memory on "cpu" and "emu"); its first 64 KiB are zero, so that it can be a
 * workspace. Copies wait until they are done. */
TSR_API tsr_status tsr_device_alloc(tsr_context *context, size_t bytes, void **out);
TSR_API tsr_status tsr_device_free(tsr_context *context, void *pointer);
TSR_API tsr_status tsr_upload(tsr_context *context, void *device_to, const void *host_from, size_t bytes);
TSR_API tsr_status tsr_download(tsr_context *context, void *host_to, const void *device_from, size_t bytes);
/* Waits for all work on `stream` (a CUstream; NULL: the default stream). */
TSR_API tsr_status tsr_synchronize(tsr_context *context, void *stream);

/* ---- the problem ------------------------------------------------------------------------------------------------ */

typedef struct tsr_operand {
    tsr_dtype dtype;
    tsr_trans trans; /* A and B only; TSR_N for C and D */
    tsr_memory memory;
    uint32_t align_bytes; /* guaranteed alignment of the pointers of every run, a power of two; 0: one element */
    int64_t ld;           /* elements from row to row; 0: rows lie tight */
    int64_t batch_stride; /* elements from problem to problem; 0 with several: see tsr_gemm_desc.broadcast */
    int64_t reserved[2];  /* 0 */
} tsr_operand;

/* What a descriptor allows a plan to need as workspace, unless it says otherwise. */
#define TSR_WORKSPACE_LIMIT_BYTES (67108864 * sizeof(char)) /* 64 MiB, as a size_t */

/* Flags. */
/* Row i of D has the same bits whatever M is: only kernels are chosen whose order of sums does not depend on M, and
 * that agree to the bit. What that costs on a CPU is in docs/CPU.md. */
#define TSR_BATCH_INVARIANT 1u
/* A, or B, is compressed 2:4 ("2:4 structured sparsity" below): every run takes it as prepared_a or prepared_b, which
 * tsr_compress24 or tsr_import24 makes from a plan with this flag. Not both. With TSR_COMPUTE_TF32 the pattern is 1:2.
 * The descriptor says how the whole matrix is stored. */
#define TSR_SPARSE24_A 2u
#define TSR_SPARSE24_B 4u
/* A D of 8-bit floats beyond its type's range becomes infinite (e5m2) or NaN (e4m3, which has no infinities). Without
 * the flag it becomes the largest finite number, infinite values too; NaN is NaN either way. */
#define TSR_OVERFLOW_SPECIAL 8u

/* Operands that are the same matrix in every problem of a batch, whose batch_stride then is 0. */
#define TSR_BROADCAST_A 1u
#define TSR_BROADCAST_B 2u
#define TSR_BROADCAST_C 4u

typedef struct tsr_gemm_desc {
    size_t struct_bytes; /* sizeof(tsr_gemm_desc) */
    int64_t m, n, k;     /* >= 0 */
    tsr_operand a, b, c, d;
    tsr_compute compute;
    tsr_batch_kind batch_kind;
    int64_t batch_count; /* >= 0 */
    uint32_t flags;
    int threads; /* CPU threads for this problem, at most 4,096; 0: the context's */
    /* Run this kernel, by name ("tiled") or instance ("tiled_f32_t16"); NULL: choose. Behind an "@" may stand the
     * schedule, for kernels that partition K: "whole", "split-k=P", "cluster-k=P", "stream-k=TILES/UNITS", "swap-ab=0"
     * or "swap-ab=1", with commas between; TSR_UNSUPPORTED says why one is not legal for the problem. Products of host
     * matrices that go to a GPU tile by tile take the library's schedules. */
    const char *kernel;
    /* What becomes of acc = alpha * op(A) * op(B) + beta * C before it is rounded to D; NULL: D is acc.
     *     "acc + bias[n]"          one value for each column of D, of D's dtype, or of bf16 for a D of 8 bits:
     *                              tsr_run_args.bias
     *     "relu(acc + bias[n])"    and relu(x), which is x < 0 ? 0 : x: NaN stays NaN, -0 stays -0
     * Blanks do not matter; TSR_UNSUPPORTED names any other text. acc is in the type of the sums (f32 for operands of 8
     * and 16 bits), and so is each step: alpha * sum is rounded, beta * C is added by one fused multiply-add, the bias
     * is added, and only what relu makes of that is rounded to D's dtype. With alpha or K 0 the product is 0; so it is
     * on a GPU where alpha times a scale of a whole operand in host memory is 0. */
    const char *epilogue;
    size_t workspace_limit_bytes; /* kernels that need more workspace are not chosen */
    /* TSR_BROADCAST_A, _B, _C: which operands the problems of a batch share. A batch_stride of 0 in a batch of several
     * is an error without (for A and B when the plan is made, for C in a run that reads it), so that one that was
     * forgotten does not repeat a matrix in silence. In version 0.1's shorter struct, which ends before this member, 0
     * repeats. */
    uint32_t broadcast;
    uint32_t reserved;                         /* 0 */
    tsr_scale_mode scale_mode_a, scale_mode_b; /* of 8-bit operands; each on its own */
} tsr_gemm_desc;

/* C's NULL in the inline functions is no null pointer to strict C++ projects. */
#ifdef __cplusplus
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wzero-as-null-pointer-constant"
#endif

/* A descriptor with one dtype for all operands, tight rows, host memory and no batch; change what differs. For matrices
 * in a GPU's memory: tsr_gemm_desc_make_device. */
static inline tsr_gemm_desc tsr_gemm_desc_make(tsr_dtype dtype, int64_t m, int64_t n, int64_t k)
{
    tsr_operand operand = {dtype, TSR_N, TSR_HOST, 0, 0, 0, {0, 0}};
    tsr_gemm_desc desc;
    desc.struct_bytes = sizeof desc;
    desc.m = m;
    desc.n = n;
    desc.k = k;
    desc.a = desc.b = desc.c = desc.d = operand;
    desc.compute = TSR_COMPUTE_DEFAULT;
    desc.batch_kind = TSR_BATCH_STRIDED;
    desc.batch_count = 1;
    desc.flags = 0;
    desc.threads = 0;
    desc.kernel = NULL;
    desc.epilogue = NULL;
    desc.workspace_limit_bytes = TSR_WORKSPACE_LIMIT_BYTES;
    desc.broadcast = 0;
    desc.reserved = 0;
    desc.scale_mode_a = desc.scale_mode_b = TSR_SCALE_TENSOR;
    return desc;
}

/* The same for matrices in a GPU's memory, where its allocators (cuMemAlloc, cudaMalloc) let them begin: at multiples
 * of 256 bytes. With the 0 of tsr_gemm_desc_make, which promises no more than an element, most of the fast kernels
 * first copy A and B to aligned rows. For a matrix that begins within another one, lower its align_bytes. */
static inline tsr_gemm_desc tsr_gemm_desc_make_device(tsr_dtype dtype, int64_t m, int64_t n, int64_t k)
{
    tsr_gemm_desc desc = tsr_gemm_desc_make(dtype, m, n, k);
    desc.a.memory = desc.b.memory = desc.c.memory = desc.d.memory = TSR_DEVICE;
    desc.a.align_bytes = desc.b.align_bytes = desc.c.align_bytes = desc.d.align_bytes = 256;
    return desc;
}

/* ---- plan and run ------------------------------------------------------------------------------------------------ */

/* Which kernel runs a problem, and how. Immutable; any number of threads and streams may run one plan together. */
typedef struct tsr_plan tsr_plan;

/* Finds the plan in the context's cache or makes it. Release it when done; it must not outlive its context.
 * TSR_UNSUPPORTED when no kernel applies; the message then says why the closest one does not. */
TSR_API tsr_status tsr_plan_create(tsr_context *context, const tsr_gemm_desc *desc, tsr_plan **out);
TSR_API void tsr_plan_release(tsr_plan *plan); /* NULL is fine */
/* Instance name of the main kernel; valid as long as the library is loaded. */
TSR_API const char *tsr_plan_kernel(const tsr_plan *plan);
/* Device workspace that one run needs. Runs that overlap need a workspace each. The first 64 KiB must be zero before
 * the first run that uses it; each run leaves them zero, so any plan may be next. The rest may hold anything. */
TSR_API size_t tsr_plan_workspace_bytes(const tsr_plan *plan);
/* Writes and reads a plan as a text file, atomically (not supported yet). */
TSR_API tsr_status tsr_plan_save(const tsr_plan *plan, const char *path);
TSR_API tsr_status tsr_plan_load(tsr_context *context, const char *path, tsr_plan **out);

/* A factor: `value`, or, where `device` is not NULL, what lies there when the kernel runs, in the compute type
 * (device factors are not supported yet). */
typedef struct tsr_scalar {
    double value;
    const void *device;
} tsr_scalar;

typedef struct tsr_prepared tsr_prepared;

typedef struct tsr_run_args {
    size_t struct_bytes; /* sizeof(tsr_run_args) */
    const void *a, *b, *c;
    void *d;
    tsr_scalar alpha, beta;
    void *stream; /* CUstream; NULL: the default stream */
    void
        *workspace; /* device memory, aligned to 256 bytes; NULL: the plan needs none, or an operand lies on the host */
    size_t workspace_bytes;
    const tsr_prepared *prepared_a, *prepared_b; /* used instead of a and b */
    /* For an epilogue that reads it, else NULL: N values of D's dtype (bf16 for a D of 8 bits), one after the other,
     * shared by all problems of a batch. They lie where D does, on the host or the device, are aligned to an element,
     * and share none with D. */
    const void *bias;
    /* Of A or B in 8 bits: floats (binary32), aligned to 4 bytes, that lie where the operand does and are read when the
     * kernel runs; the operand is what is stored times these. tsr_gemm_desc.scale_mode_a and scale_mode_b say how many
     * they are, and in which order. Scales of the whole operand, of a row and of a column multiply the sum: its factor
     * is alpha * *scale_a * *scale_b, then times the row's and times the column's, in f32, from left to right. Scales
     * of blocks multiply the sums of 128 steps of K, in f32: sum += part * (a's * b's). NULL: 1. A scale that is NaN is
     * an error where it lies in host memory, and otherwise makes NaN of the elements of D that it has a part in. */
    const void *scale_a, *scale_b;
    /* Of D in 8-bit floats: one float as above, where D lies; D is the result (behind the epilogue) times that, in f32,
     * and then rounded. So it is the inverse of what a reader multiplies D by, as with cuBLASLt. NULL: 1. */
    const void *scale_d;
    const void *metadata_a; /* not supported, NULL: tsr_import24 takes the metadata of a compressed operand */
    /* Of C in 8-bit floats: one float as above, where C lies; beta * *scale_c multiplies what is stored. NULL: 1. */
    const void *scale_c;
    /* Of D in 8-bit floats: gets one float, the greatest magnitude of the result before scale_d, as with cuBLASLt; 0
     * where D has no elements, NaN if one of them is NaN. It lies where D does, aligned to 4 bytes, and shares no byte
     * with D, a scale or the bias; one for all problems of a batch. NULL: not wanted. */
    void *amax_d;
    int64_t scale_a_count, scale_b_count; /* floats at scale_a and scale_b; must be right where it is not 0 */
    /* Of A or B in s8 or u8: numbers of the operand's dtype, as many as it has scales and in the same order (also where
     * scale_a or scale_b is NULL), that lie where the operand does. The product is of what is stored less these, modulo
     * 2^32 before alpha and scales. NULL: 0. */
    const void *zero_a, *zero_b;
} tsr_run_args;

/* Arguments with alpha 1, beta 0 and C = D, ready for tsr_plan_run. */
static inline tsr_run_args tsr_run_args_make(const void *a, const void *b, void *d)
{
    tsr_scalar one = {1.0, NULL}, zero = {0.0, NULL};
    tsr_run_args args;
    args.struct_bytes = sizeof args;
    args.a = a;
    args.b = b;
    args.c = d;
    args.d = d;
    args.alpha = one;
    args.beta = zero;
    args.stream = NULL;
    args.workspace = NULL;
    args.workspace_bytes = 0;
    args.prepared_a = args.prepared_b = NULL;
    args.bias = args.scale_a = args.scale_b = args.scale_d = args.metadata_a = args.scale_c = NULL;
    args.zero_a = args.zero_b = NULL;
    args.amax_d = NULL;
    args.scale_a_count = args.scale_b_count = 0;
    return args;
}

#ifdef __cplusplus
#pragma GCC diagnostic pop
#endif

/* Device operands: enqueues the kernels on the stream and returns; allocates nothing and never waits, so that it can be
 * captured in a graph. Host operands: returns when D is written. On "cpu" and "emu" always the latter. After
 * TSR_DRIVER_ERROR, TSR_KERNEL_FAULT or TSR_OUT_OF_MEMORY, D may be partly written. */
TSR_API tsr_status tsr_plan_run(tsr_plan *plan, const tsr_run_args *args);

/* plan + run in one call. With device operands, only kernels are considered that need no more than args->workspace. */
TSR_API tsr_status tsr_gemm(tsr_context *context, const tsr_gemm_desc *desc, const tsr_run_args *args);

/* ---- prepared operands ------------------------------------------------------------------------------------------- */

/* Packs operand 'a' or 'b' of the plan's problem once, for many runs: of every plan of the same context that runs on
 * the same device with an operand of the same dtype, size and transposition, whatever the plan's other sizes (weights
 * serve every M); the plan itself need not be kept. A run that reads another packed form than runs before (on the CPU
 * few rows have one of their own) makes it first, from the context's memory; results have the bits of operands that are
 * not prepared. `data` is read during the call only. The result is the caller's to release, after the last run that
 * uses it; until then the context stays open, its threads and callbacks too, even if it is destroyed before.
 * TSR_UNSUPPORTED if the plan's kernel has no prepared form of that operand. On a GPU some kernels need the copy
 * transposed ("transpose" in tsr_candidate.reason); one copy serves plans of these kernels or plans of the others, and
 * the run of any other plan is refused with TSR_UNSUPPORTED. */
TSR_API tsr_status tsr_prepare(tsr_plan *plan, char operand, const void *data, tsr_prepared **out);
TSR_API void tsr_prepared_release(tsr_prepared *prepared); /* NULL is fine */

/* ---- 2:4 structured sparsity ------------------------------------------------------------------------------------- */

/* An operand keeps the 2:4 pattern if of each four neighbours along K, from k = 0 on, at most two are not zero (-0 is
 * zero, NaN is not). K need not be a multiple of 4: the last group then has fewer, as if zeros stood behind it.
 * For bf16, f16, f32, e4m3, e5m2, s8 and u8. f32 multiplied as f32 is 2:4 too, on the CPU alone.
 *
 * f32 with compute = TSR_COMPUTE_TF32 has the pattern of the GPUs' instructions, 1:2: of each two neighbours along K at
 * most one is not zero. That is a case of 2:4, and so is its compressed form, of whose indices the first is 0 or 1 and
 * the second 2 or 3. The CPU multiplies it in f32.
 *
 * Compressed, a line along K (a row of op(A), a column of op(B)), whichever way the operand is stored, is
 *   values    of each group the two elements that are kept, in the order of K: V = 2 * ceil(K / 4) elements
 *   metadata  of each group four bits: bits 0 and 1 are the first kept element's index in its group, bits 2 and 3 the
 *             second's, which is higher. Group g is in byte g / 2, in its lower four bits if g is even; a line has
 *             ceil(K / 8) bytes
 * Lines follow each other without gaps, and so do the matrices of a batch (one if they share it). A group with
 * fewer than two that are not zero keeps zeros at its lowest free indices (1:2: in either half); a value whose index
 * lies beyond K counts as zero. With K a multiple of 8 the values have half of the matrix's bytes, and the metadata as
 * many as 1/8 of the values of 16 bits (9/16 of the matrix in all), 1/4 of the values of 8 bits (5/8), and 1/16 of the
 * values of 32 bits (17/32).
 *
 * On the CPU a product has the bits of the product with the whole matrix, spread out again (-0 comes back as 0).
 * Tensor cores skip the elements of the other operand that meet only dropped zeros: NaN and infinities there do not
 * reach D, as they do on the CPU. These kernels read another layout, of lines padded to 128 and K to 256 bytes, which
 * tsr_compress24 and tsr_import24 make. */

/* The functions of this section that take a descriptor look at its sizes, batch, compute and operand 'a' or 'b', which
 * lies in host memory; flags do not matter. Where the pattern is broken, TSR_INVALID_ARGUMENT and a message that names
 * the first group: "A breaks the 2:4 pattern: row 3, columns 8 to 11 hold 3 nonzeros, at most 2 may be"; "A breaks the
 * 1:2 pattern: row 3, columns 8 to 9 hold 2 nonzeros, at most 1 may be". */

/* TSR_OK if the operand keeps the pattern. */
TSR_API tsr_status tsr_check24(const tsr_gemm_desc *desc, char operand, const void *data);
/* Makes all but the two largest magnitudes of each group zero, in place, of 1:2 the smaller of each two; groups that
 * keep the pattern stay as they are.
 * Of equal magnitudes the one with the lower k stays; NaN counts as larger than any number. *lost, unless `lost` is
 * NULL, gets the Frobenius norm of what went over that of the whole operand, finite elements alone; 0 of zeros. */
TSR_API tsr_status tsr_prune24(const tsr_gemm_desc *desc, char operand, void *data, double *lost);
/* Bytes of the compressed operand's values and metadata. */
TSR_API tsr_status tsr_bytes24(const tsr_gemm_desc *desc, char operand, size_t *values_bytes, size_t *metadata_bytes);
/* Compresses an operand that keeps the pattern, and spreads one out again, elements alone, with zeros between. Metadata
 * whose two indices of a group do not ascend, or of 1:2 are of one half, is refused, and the message names the first
 * such group. */
TSR_API tsr_status tsr_pack24(const tsr_gemm_desc *desc, char operand, const void *data, void *values, void *metadata);
TSR_API tsr_status tsr_unpack24(const tsr_gemm_desc *desc, char operand, const void *values, const void *metadata,
                                void *data);
/* As tsr_prepare, for the operand that the plan's TSR_SPARSE24_A or TSR_SPARSE24_B names: from the whole matrix, which
 * lies where the descriptor says, or from its values and metadata in host memory. */
TSR_API tsr_status tsr_compress24(tsr_plan *plan, char operand, const void *data, tsr_prepared **out);
TSR_API tsr_status tsr_import24(tsr_plan *plan, char operand, const void *values, const void *metadata,
                                tsr_prepared **out);

/* ---- one-line calls ---------------------------------------------------------------------------------------------- */

/* Row-major, host memory, C = alpha * op(A) * op(B) + beta * C, on a default context that opens "auto" (or
 * $TESSERA_DEVICE) at the first call that is not tiny, and lives as long as the process. Tiny calls before, of up to
 * 16,384 operations (20 x 20 x 20), read no file and look for no GPU where "auto" or "cpu" is the default. Leading
 * dimensions are at least the row length. */
TSR_API tsr_status tsr_sgemm(tsr_trans trans_a, tsr_trans trans_b, int64_t m, int64_t n, int64_t k, float alpha,
                             const float *a, int64_t lda, const float *b, int64_t ldb, float beta, float *c,
                             int64_t ldc);
TSR_API tsr_status tsr_dgemm(tsr_trans trans_a, tsr_trans trans_b, int64_t m, int64_t n, int64_t k, double alpha,
                             const double *a, int64_t lda, const double *b, int64_t ldb, double beta, double *c,
                             int64_t ldc);

/* The context behind them, opened if need be, for tsr_route, batches and plans. It must not be destroyed. */
TSR_API tsr_status tsr_default_context(tsr_context **out);

/* ---- why --------------------------------------------------------------------------------------------------------- */

/* One kernel's answer to a problem. */
typedef struct tsr_candidate {
    const char *kernel; /* instance name */
    const char *device; /* where it would run: "cpu", "cuda:0", "emu" */
    int applicable;     /* 0: `reason` says why not */
    int chosen;
    char reason[120];    /* why not; if applicable: what the plan does before the kernel ("after pad A,B in 2 x 3
                             slices": of D's rows and columns, each copied and multiplied in turn; "in 4 slices of K":
                             all but the first add to D), or that a CPU's kernel sums parts of K apart ("by 11 parts of
                             K"), or "" */
    double cost_ns;      /* expected time, transfers of host operands included */
    double bytes;        /* expected traffic of the memory that limits it */
    const char *limiter; /* "compute", "memory", "cache", "launch", "transfer" */
    char schedule[80];   /* how a kernel that has several would partition the product, as desc.kernel takes it behind an
                            "@": "whole", "split-k=8", "stream-k=3/132"; of others and of slices "" */
} tsr_candidate;

/* Writes up to `capacity` candidates of `candidate_bytes` (sizeof(tsr_candidate) as the caller knows it) each: the
 * chosen one first, then by cost, then the rejected ones. *count gets how many there are. `out` may be NULL when
 * capacity is 0. */
TSR_API tsr_status tsr_route(tsr_context *context, const tsr_gemm_desc *desc, tsr_candidate *out,
                             size_t candidate_bytes, size_t capacity, size_t *count);

/* What is known of a kernel instance. Strings are static. */
typedef struct tsr_kernel_info {
    size_t struct_bytes;  /* sizeof(tsr_kernel_info), set by the caller */
    const char *name;     /* "tiled" */
    const char *instance; /* "tiled_f32_t16" */
    const char *summary;
    const char *source;    /* the file in the source tree */
    const char *constants; /* "TILE=16" */
    tsr_dtype dtype_ab, dtype_cd;
    tsr_compute compute;
    int is_cuda;          /* runs on GPUs and in the emulator; otherwise on the CPU */
    int has_device_code;  /* this build embeds it for GPUs */
    int registers;        /* of a thread on compute capability 9.0 (H100, H200); 0 without device code */
    const char *hash;     /* of its machine code for 9.0, without names; "" without device code */
    const char *hardware; /* "H200 2026-11-21", where this machine code last passed; "unknown: stamped with
                           * nvcc 13.0.88" where another nvcc made the code that passed; or "untested on hardware" */
} tsr_kernel_info;

/* Fills *out with kernel `index` (0, 1, ...); TSR_INVALID_ARGUMENT past the last one. */
TSR_API tsr_status tsr_kernel(size_t index, tsr_kernel_info *out);

#ifdef __cplusplus
}
#endif

#endif
