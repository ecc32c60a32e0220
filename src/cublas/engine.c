/* Runs a call on Tessera: a context for each GPU, a plan for each shape, workspace for each stream. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blas/call_log.h"
#include "cublas/cublas.h"
#include "cublas/nvidia.h"

/* Workspace. The caller's may hold anything, so that its counters must be zeroed before each run: a launch more. Plans
 * with small needs therefore take a part of the pool (cublas_pool.c); so do large ones where the caller has given none.
 * While a stream captures only the caller's will do: a graph may run beside the stream that it was captured on. */
enum { WORKSPACE_ALIGN_BYTES = 256, POINTER_ALIGN_MAX_BYTES = 16, FEWEST_SLOTS = 1 << 13, MOST_SLOTS = 1 << 17 };

/* For tests: a context on this device of Tessera's ("cpu", "emu") stands for every GPU. */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static const char *test_device;

static void read_environment(void)
{
    const char *device = getenv("TESSERA_CUBLAS_DEVICE");
    test_device = device && *device ? device : NULL;
}

static const char *device_for_tests(void)
{
    pthread_once(&once, read_environment);
    return test_device;
}

int tsr_cublas_device(void)
{
    return device_for_tests() && !tsr_nvidia_is_here() ? 0 : tsr_nvidia_current();
}

int tsr_cublas_is_primary(int ordinal)
{
    return (device_for_tests() && !tsr_nvidia_is_here()) || tsr_nvidia_is_primary(ordinal);
}

/* ---- contexts ---------------------------------------------------------------------------------------------------- */

static tsr_context *contexts[TSR_NVIDIA_DEVICES_MAX];
static int has_failed[TSR_NVIDIA_DEVICES_MAX];

/* Made outside the lock; if two threads come at once, the second one's is closed again. */
static tsr_context *open_context(int ordinal)
{
    char name[32];
    tsr_context *made = NULL;
    const tsr_context_options options = {.struct_bytes = sizeof options, .plan_cache_entries = FEWEST_SLOTS};
    snprintf(name, sizeof name, "cuda:%d", ordinal);
    const int mode = tsr_nvidia_relax_capture(TSR_NVIDIA_RELAXED);
    const tsr_status status = tsr_context_create(device_for_tests() ? device_for_tests() : name, &options, &made);
    tsr_nvidia_relax_capture(mode);
    tsr_cublas_lock();
    tsr_context *before = contexts[ordinal];
    if (!before && status == TSR_OK)
        contexts[ordinal] = made;
    has_failed[ordinal] |= status != TSR_OK;
    tsr_cublas_unlock();
    if (before && status == TSR_OK)
        tsr_context_destroy(made);
    return before ? before : status == TSR_OK ? made : NULL;
}

tsr_context *tsr_cublas_context(int ordinal)
{
    if (ordinal < 0 || ordinal >= TSR_NVIDIA_DEVICES_MAX)
        return NULL;
    tsr_cublas_lock();
    tsr_context *known = contexts[ordinal];
    const int failed = has_failed[ordinal];
    tsr_cublas_unlock();
    return known || failed ? known : open_context(ordinal);
}

/* ---- plans ------------------------------------------------------------------------------------------------------- */

/* What a plan depends on, without padding between members. */
typedef struct plan_key {
    int64_t m, n, k, lda, ldb, ldc, ldd, batch, stride_a, stride_b, stride_c, stride_d;
    size_t workspace_bytes;
    const char *epilogue; /* a literal of tsr_cublas_epilogue */
    int32_t ordinal, dtype_a, dtype_b, dtype_cd, compute, trans_a, trans_b, align_a, align_b, align_c, align_d;
    int32_t scale_mode_a, scale_mode_b, unused;
} plan_key;

typedef struct plan_slot {
    plan_key key;
    int is_used;
    tsr_plan *plan; /* NULL: no kernel applies */
} plan_slot;

/* At most half of the slots are used, and none is ever taken out. The context's own cache of plans does not remember
 * that no kernel applies, and cannot be asked without making a plan, which a stream that captures does not allow. */
static plan_slot *plans;
static size_t plan_slots, plan_count;

static int32_t pointer_align(const void *pointer)
{
    const uintptr_t bits = (uintptr_t)pointer | POINTER_ALIGN_MAX_BYTES;
    return (int32_t)(bits & -bits);
}

static plan_key key_of(const tsr_cublas_call *call, int ordinal, size_t workspace_bytes)
{
    return (plan_key){.m = call->m,
                      .n = call->n,
                      .k = call->k,
                      .lda = call->lda,
                      .ldb = call->ldb,
                      .ldc = call->ldc,
                      .ldd = call->ldd,
                      .batch = call->batch,
                      .stride_a = call->batch > 1 ? call->stride_a : 0,
                      .stride_b = call->batch > 1 ? call->stride_b : 0,
                      .stride_c = call->batch > 1 ? call->stride_c : 0,
                      .stride_d = call->batch > 1 ? call->stride_d : 0,
                      .workspace_bytes = workspace_bytes,
                      .epilogue = call->epilogue,
                      .ordinal = ordinal,
                      .dtype_a = (int32_t)call->dtype_a,
                      .dtype_b = (int32_t)call->dtype_b,
                      .dtype_cd = (int32_t)call->dtype_cd,
                      .compute = (int32_t)call->compute,
                      .trans_a = (int32_t)call->trans_a,
                      .trans_b = (int32_t)call->trans_b,
                      .align_a = pointer_align(call->a),
                      .align_b = pointer_align(call->b),
                      .align_c = pointer_align(call->c),
                      .align_d = pointer_align(call->d),
                      .scale_mode_a = (int32_t)call->scale_mode_a,
                      .scale_mode_b = (int32_t)call->scale_mode_b};
}
_Static_assert(sizeof(plan_key) == 13 * 8 + sizeof(char *) + 14 * 4, "plan_key has padding, which is compared");

static plan_slot *slot_of(plan_slot *table, size_t slots, const plan_key *key)
{
    uint64_t hash = 1, word;
    const char *bytes = (const char *)key;
    for (size_t at = 0; at < sizeof *key; at += sizeof word) {
        memcpy(&word, bytes + at, sizeof word);
        hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
    }
    size_t at = hash % slots;
    while (table[at].is_used && memcmp(&table[at].key, key, sizeof *key) != 0)
        at = (at + 1) % slots;
    return &table[at];
}
_Static_assert(sizeof(plan_key) % sizeof(uint64_t) == 0, "plan_key is hashed in words");

/* 1 and the plan, NULL if no kernel applies; 0 if it is not known yet. */
static int find_plan(const plan_key *key, tsr_plan **out)
{
    tsr_cublas_lock();
    const plan_slot *slot = plans ? slot_of(plans, plan_slots, key) : NULL;
    const int is_known = slot && slot->is_used;
    *out = is_known ? slot->plan : NULL;
    tsr_cublas_unlock();
    return is_known;
}

/* 1 if there is room for another plan; without memory, or when the table has its greatest size, half of it stays. */
static int make_room(void)
{
    if (plans && plan_count < plan_slots / 2)
        return 1;
    const size_t slots = plans ? 2 * plan_slots : FEWEST_SLOTS;
    plan_slot *const larger = slots <= MOST_SLOTS ? calloc(slots, sizeof *larger) : NULL;
    if (!larger)
        return 0;
    for (size_t i = 0; plans && i < plan_slots; i++)
        if (plans[i].is_used)
            *slot_of(larger, slots, &plans[i].key) = plans[i];
    free(plans);
    plans = larger;
    plan_slots = slots;
    return 1;
}

/* 1 if the table took the plan; 0 if it has one already or there is no room. */
static int keep_plan(const plan_key *key, tsr_plan *plan)
{
    int is_kept = 0;
    tsr_cublas_lock();
    if (make_room()) {
        plan_slot *slot = slot_of(plans, plan_slots, key);
        is_kept = !slot->is_used;
        if (is_kept) {
            *slot = (plan_slot){*key, 1, plan};
            plan_count++;
        }
    }
    tsr_cublas_unlock();
    return is_kept;
}

static tsr_operand operand_of(tsr_dtype dtype, tsr_trans trans, int32_t align, int64_t ld, int64_t stride)
{
    return (tsr_operand){.dtype = dtype,
                         .trans = trans,
                         .memory = TSR_DEVICE,
                         .align_bytes = (uint32_t)align,
                         .ld = ld,
                         .batch_stride = stride};
}

/* TF32 is allowed, not asked for: products that launches bound take no longer in f32. */
static tsr_compute compute_of(const plan_key *key)
{
    const double tf32_least = 128. * 128. * 128.; /* multiply-adds */
    const int is_small = (double)key->m * (double)key->n * (double)key->k * (double)key->batch < tf32_least;
    return key->compute == TSR_COMPUTE_TF32 && is_small ? TSR_COMPUTE_DEFAULT : (tsr_compute)key->compute;
}

static tsr_gemm_desc describe(const plan_key *key)
{
    const tsr_dtype a = (tsr_dtype)key->dtype_a, b = (tsr_dtype)key->dtype_b, cd = (tsr_dtype)key->dtype_cd;
    tsr_gemm_desc desc = tsr_gemm_desc_make(a, key->m, key->n, key->k);
    desc.a = operand_of(a, (tsr_trans)key->trans_a, key->align_a, key->lda, key->stride_a);
    desc.b = operand_of(b, (tsr_trans)key->trans_b, key->align_b, key->ldb, key->stride_b);
    desc.c = operand_of(cd, TSR_N, key->align_c, key->ldc, key->stride_c);
    desc.d = operand_of(cd, TSR_N, key->align_d, key->ldd, key->stride_d);
    desc.compute = compute_of(key);
    desc.batch_count = key->batch;
    desc.epilogue = key->epilogue;
    desc.scale_mode_a = (tsr_scale_mode)key->scale_mode_a;
    desc.scale_mode_b = (tsr_scale_mode)key->scale_mode_b;
    desc.workspace_limit_bytes = key->workspace_bytes;
    if (key->batch > 1)
        desc.broadcast = (key->stride_a == 0 ? TSR_BROADCAST_A : 0) | (key->stride_b == 0 ? TSR_BROADCAST_B : 0) |
                         (key->stride_c == 0 ? TSR_BROADCAST_C : 0);
    return desc;
}

/* *is_ours: the plan is not kept, and the caller releases it. NULL: no kernel applies, or there is no context. */
static tsr_plan *make_plan(const plan_key *key, tsr_context *context, int *is_ours)
{
    tsr_plan *plan = NULL;
    const tsr_gemm_desc desc = describe(key);
    const int mode = tsr_nvidia_relax_capture(TSR_NVIDIA_RELAXED);
    const tsr_status status = tsr_plan_create(context, &desc, &plan);
    tsr_nvidia_relax_capture(mode);
    if (status != TSR_OK)
        plan = NULL;
    const int is_final = status == TSR_OK || status == TSR_UNSUPPORTED || status == TSR_INVALID_ARGUMENT;
    *is_ours = !(is_final && keep_plan(key, plan)) && plan;
    return plan;
}

/* ---- workspace --------------------------------------------------------------------------------------------------- */

/* The part of the caller's workspace that is aligned. */
static void *callers(const tsr_cublas_call *call, size_t *bytes)
{
    const uintptr_t start = (uintptr_t)call->workspace;
    const size_t skipped = (size_t)(-start % WORKSPACE_ALIGN_BYTES);
    const int is_usable = call->workspace && call->workspace_bytes > skipped;
    *bytes = is_usable ? call->workspace_bytes - skipped : 0;
    return is_usable ? (char *)call->workspace + skipped : NULL;
}

/* What plans for this call may need. */
static size_t limit_of(const tsr_cublas_call *call)
{
    size_t bytes;
    const size_t ours_bytes = tsr_pool_most_bytes(callers(call, &bytes) != NULL);
    return bytes > ours_bytes ? bytes : ours_bytes;
}

static void *take_part(const tsr_cublas_call *call, tsr_context *context, int ordinal, const tsr_nvidia_stream *stream,
                       size_t need_bytes)
{
    return tsr_pool_take(ordinal, context, call->holds_pool, call->stream, stream->id, need_bytes);
}

static void *find_workspace(const tsr_cublas_call *call, tsr_context *context, int ordinal,
                            const tsr_nvidia_stream *stream, size_t need_bytes)
{
    size_t bytes;
    void *given = callers(call, &bytes);
    const int is_small = need_bytes <= TSR_POOL_SMALL_BYTES;
    const int is_ours = !stream->is_capturing && need_bytes <= tsr_pool_most_bytes(given != NULL);
    void *part = is_ours && is_small ? take_part(call, context, ordinal, stream, need_bytes) : NULL;
    if (part)
        return part;
    if (given && bytes >= need_bytes)
        return tsr_nvidia_zero(given, TSR_POOL_COUNTERS_BYTES < bytes ? TSR_POOL_COUNTERS_BYTES : bytes, call->stream)
                   ? given
                   : NULL;
    return is_ours && !is_small ? take_part(call, context, ordinal, stream, need_bytes) : NULL;
}

/* ---- plans of several launches ----------------------------------------------------------------------------------- */

/* Copies of operands, the product and a reduction follow each other in workspace that all calls on a stream share:
 * those of another thread must not come between them. One lock for some streams; the child of a fork gets new ones. */
enum { ORDERS = 64 };
static pthread_mutex_t orders[ORDERS];
static pthread_once_t orders_once = PTHREAD_ONCE_INIT;

static void make_orders(void)
{
    for (int i = 0; i < ORDERS; i++)
        pthread_mutex_init(&orders[i], NULL);
}

static void prepare_orders(void)
{
    make_orders();
    pthread_atfork(NULL, NULL, make_orders);
}

static pthread_mutex_t *order_of(int ordinal, uint64_t stream_id)
{
    pthread_once(&orders_once, prepare_orders);
    const uint64_t hash = (stream_id + (uint64_t)ordinal * 0x100000001b3u) * 0x9e3779b97f4a7c15u;
    return &orders[hash >> 58];
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

static double half_value(uint16_t bits)
{
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double value = exponent == 31  ? (fraction ? __builtin_nan("") : __builtin_inf())
                   : exponent == 0 ? (double)fraction / (1 << 24)
                                   : (double)(1024 + fraction) * (double)((int64_t)1 << exponent) / ((int64_t)1 << 25);
    return bits >> 15 ? -value : value;
}

static double factor_value(const void *at, tsr_dtype dtype)
{
    if (dtype == TSR_F64)
        return *(const double *)at;
    if (dtype == TSR_F32)
        return (double)*(const float *)at;
    if (dtype == TSR_S32)
        return *(const int32_t *)at;
    return half_value(*(const uint16_t *)at);
}

static int look_at_stream(const tsr_cublas_call *call, int ordinal, tsr_nvidia_stream *out)
{
    if (device_for_tests() && !tsr_nvidia_is_here()) {
        *out = (tsr_nvidia_stream){0, 0};
        return 1;
    }
    return tsr_nvidia_is_primary(ordinal) && tsr_nvidia_look_at(call->stream, out);
}

/* A failure before anything was written, or after which cuBLAS may start anew, sends the call on. */
static tsr_why outcome(const tsr_cublas_call *call, tsr_status result, tsr_cublas_status *status)
{
    const int wrote_nothing = result == TSR_INVALID_ARGUMENT || result == TSR_UNSUPPORTED;
    const int is_repeatable = call->beta == 0 || call->c != call->d;
    *status = result == TSR_OK ? TSR_CUBLAS_SUCCESS : TSR_CUBLAS_EXECUTION_FAILED;
    return result != TSR_OK && (wrote_nothing || is_repeatable) ? TSR_WHY_FAILED : TSR_WHY_ANSWERED;
}

static tsr_why run_plan(tsr_cublas_call *call, tsr_plan *plan, void *workspace, size_t workspace_bytes,
                        tsr_cublas_status *status)
{
    tsr_run_args args = tsr_run_args_make(call->a, call->b, call->d);
    call->alpha = factor_value(call->alpha_at, call->factor);
    call->beta = factor_value(call->beta_at, call->factor);
    args.alpha.value = call->alpha;
    args.beta.value = call->beta;
    args.c = call->c;
    args.bias = call->bias;
    args.scale_a = call->scale_a;
    args.scale_b = call->scale_b;
    args.scale_d = call->scale_d;
    args.amax_d = call->amax_d;
    args.stream = call->stream;
    args.workspace = workspace;
    args.workspace_bytes = workspace_bytes;
    if (call->beta != 0 && !call->c)
        return TSR_WHY_ARGUMENTS;
    return outcome(call, tsr_plan_run(plan, &args), status);
}

const char *tsr_cublas_plan(const tsr_cublas_call *call, int ordinal, tsr_context *context)
{
    tsr_plan *plan;
    int is_ours = 0;
    const plan_key key = key_of(call, ordinal, limit_of(call));
    if (!find_plan(&key, &plan))
        plan = make_plan(&key, context, &is_ours);
    const char *kernel = plan ? tsr_plan_kernel(plan) : NULL;
    if (is_ours)
        tsr_plan_release(plan);
    return kernel;
}

tsr_why tsr_cublas_run(tsr_cublas_call *call, int ordinal, tsr_cublas_status *status)
{
    tsr_nvidia_stream stream;
    tsr_plan *plan;
    int is_ours = 0;
    const size_t limit_bytes = limit_of(call);
    const plan_key key = key_of(call, ordinal, limit_bytes);
    if (!look_at_stream(call, ordinal, &stream))
        return TSR_WHY_DEVICE;
    const int is_known = find_plan(&key, &plan);
    if (!is_known && stream.is_capturing)
        return TSR_WHY_CAPTURE;
    tsr_context *context = tsr_cublas_context(ordinal);
    if (!context)
        return TSR_WHY_DEVICE;
    if (!is_known)
        plan = make_plan(&key, context, &is_ours);
    if (!plan)
        return TSR_WHY_NO_KERNEL;
    tsr_why why = TSR_WHY_WORKSPACE;
    const size_t need_bytes = tsr_plan_workspace_bytes(plan);
    pthread_mutex_t *const order = need_bytes ? order_of(ordinal, stream.id) : NULL;
    int cancel; /* which would leave the lock held */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    if (order)
        pthread_mutex_lock(order);
    void *workspace = need_bytes ? find_workspace(call, context, ordinal, &stream, need_bytes) : NULL;
    if (workspace || need_bytes == 0)
        why = run_plan(call, plan, workspace, need_bytes, status);
    if (order)
        pthread_mutex_unlock(order);
    pthread_setcancelstate(cancel, NULL);
    if (why == TSR_WHY_ANSWERED)
        call->kernel = tsr_plan_kernel(plan);
    if (is_ours)
        tsr_plan_release(plan);
    return why;
}
