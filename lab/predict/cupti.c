#include "lab/predict/cupti.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "lab/common/compress.h"
#include "lab/common/device_facts.h"
#include "lab/common/gpu.h"
#include "lab/common/operands.h"

enum { METRICS = LAB_EIGHT + 1, MOST_PASSES = 64 };

/* One kernel while it is measured. */
typedef struct session {
    lab_cupti_calls cupti;
    lab_gpu gpu;
    tsr_context *context;
    tsr_plan *plan;
    lab_operands operands;
    tsr_run_args args;
    tsr_prepared *compressed; /* NULL: no operand is */
    void *workspace, *other;  /* other: what fills L2 between passes */
    unsigned char *zeros;
    size_t other_bytes;
    lab_cupti_host *host;
    lab_cupti_range *range;
    const char *names[METRICS]; /* those that the GPU has */
    int place[METRICS];         /* where each of them stands in lab_eight_metrics */
    size_t count;
    uint8_t *config, *counters;
    size_t config_bytes, counter_bytes;
} session;

/* What a user can do about it. */
static const char *advice(lab_cupti_result result)
{
    switch (result) {
    case LAB_CUPTI_INSUFFICIENT_PRIVILEGES:
    case LAB_CUPTI_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
        return ": the driver lets administrators alone read the GPU's counters; run as root, or load the driver with "
               "NVreg_RestrictProfilingToAdminUsers=0";
    case LAB_CUPTI_HARDWARE_BUSY:
        return ": another profiler has the counters";
    case LAB_CUPTI_NOT_SUPPORTED:
    case LAB_CUPTI_VIRTUALIZED_DEVICE_NOT_SUPPORTED:
        return ": this GPU, or the machine that it is given to, has no counters to read";
    default:
        return "";
    }
}

static tsr_status fail(const session *s, const char *call, lab_cupti_result result)
{
    const char *name = NULL;
    if (s->cupti.result_name)
        s->cupti.result_name(result, &name);
    return tsr_fail(TSR_UNSUPPORTED, "%s: %s (%d)%s", call, name ? name : "CUPTI error", result, advice(result));
}

#define SIZE_OF(member, symbol, type, last) SIZE_OF_##member = LAB_CUPTI_STRUCT_BYTES(type, last),
enum { LAB_CUPTI_CALLS(SIZE_OF) };
#undef SIZE_OF
/* Sets the struct's size and makes the call; returns from the function if it fails. */
#define CALL(s, member, symbol, parameters)                             \
    do {                                                                \
        (parameters)->bytes = SIZE_OF_##member;                         \
        const lab_cupti_result result_ = (s)->cupti.member(parameters); \
        if (result_ != LAB_CUPTI_SUCCESS)                               \
            return fail(s, symbol, result_);                            \
    } while (0)

/* ---- which counters ---- */

static tsr_status open_host(session *s, const char *chip)
{
    lab_cupti_host_open open = {.profiler = LAB_CUPTI_RANGE_PROFILER, .chip = chip};
    CALL(s, host_open, "cuptiProfilerHostInitialize", &open);
    s->host = open.host;
    return TSR_OK;
}

static void close_host(session *s)
{
    lab_cupti_host_close close = {.bytes = SIZE_OF_host_close, .host = s->host};
    if (s->host)
        s->cupti.host_close(&close);
    s->host = NULL;
}

static lab_cupti_result add(session *s, const char **names, size_t count)
{
    lab_cupti_add_metrics metrics = {.bytes = SIZE_OF_add_metrics, .host = s->host, .names = names, .count = count};
    return s->cupti.add_metrics(&metrics);
}

/* A name that the GPU does not know spoils the whole object, so each is tried with one of its own. */
static tsr_status find_known(session *s, const char *chip)
{
    size_t known = 0;
    for (size_t i = 0; i < s->count; i++) {
        close_host(s);
        const tsr_status status = open_host(s, chip);
        if (status != TSR_OK)
            return status;
        if (add(s, &s->names[i], 1) != LAB_CUPTI_SUCCESS)
            continue;
        s->names[known] = s->names[i];
        s->place[known++] = s->place[i];
    }
    s->count = known;
    close_host(s);
    return known > 0 ? open_host(s, chip) : tsr_fail(TSR_UNSUPPORTED, "CUPTI knows none of the counters on a %s", chip);
}

static tsr_status choose_counters(session *s)
{
    lab_cupti_chip chip = {.device = (size_t)s->gpu.ordinal};
    CALL(s, chip, "cuptiDeviceGetChipName", &chip);
    for (s->count = 0; s->count < METRICS; s->count++) {
        s->names[s->count] = lab_eight_metrics[s->count];
        s->place[s->count] = (int)s->count;
    }
    tsr_status status = open_host(s, chip.name);
    if (status == TSR_OK && add(s, s->names, s->count) != LAB_CUPTI_SUCCESS) {
        status = find_known(s, chip.name);
        const lab_cupti_result result = status == TSR_OK ? add(s, s->names, s->count) : LAB_CUPTI_SUCCESS;
        if (result != LAB_CUPTI_SUCCESS)
            status = fail(s, "cuptiProfilerHostConfigAddMetrics", result);
    }
    return status;
}

static tsr_status make_images(session *s)
{
    lab_cupti_config_size size = {.host = s->host};
    CALL(s, config_size, "cuptiProfilerHostGetConfigImageSize", &size);
    s->config_bytes = size.config_bytes;
    lab_cupti_counter_size counters = {
        .range = s->range, .names = s->names, .count = s->count, .ranges = 1, .nodes = 1};
    CALL(s, counter_size, "cuptiRangeProfilerGetCounterDataSize", &counters);
    s->counter_bytes = counters.counter_bytes;
    s->config = calloc(s->config_bytes + 1, 1);
    s->counters = calloc(s->counter_bytes + 1, 1);
    if (!s->config || !s->counters)
        return tsr_fail(TSR_OUT_OF_MEMORY, "no memory for CUPTI's images");
    lab_cupti_config config = {.host = s->host, .config_bytes = s->config_bytes, .config = s->config};
    CALL(s, config, "cuptiProfilerHostGetConfigImage", &config);
    lab_cupti_counter_init init = {.range = s->range, .counter_bytes = s->counter_bytes, .counters = s->counters};
    CALL(s, counter_init, "cuptiRangeProfilerCounterDataImageInitialize", &init);
    lab_cupti_set set = {.range = s->range,
                         .config_bytes = s->config_bytes,
                         .config = s->config,
                         .counter_bytes = s->counter_bytes,
                         .counters = s->counters,
                         .range_mode = LAB_CUPTI_USER_RANGE,
                         .replay_mode = LAB_CUPTI_USER_REPLAY,
                         .ranges = 1,
                         .levels = 1,
                         .least_level = 1,
                         .target_level = 1};
    CALL(s, set, "cuptiRangeProfilerSetConfig", &set);
    return TSR_OK;
}

/* ---- passes ---- */

static tsr_status run_kernel(session *s)
{
    const tsr_status status = tsr_plan_run(s->plan, &s->args);
    const tsr_cu_result result = s->gpu.driver.ctx_synchronize();
    return status != TSR_OK || result == TSR_CU_SUCCESS ? status : lab_gpu_fail(&s->gpu, "cuCtxSynchronize", result);
}

static tsr_status run_pass(session *s, int *is_last)
{
    tsr_status status = tsr_upload(s->context, s->other, s->zeros, s->other_bytes); /* L2 holds this and nothing else */
    if (status != TSR_OK)
        return status;
    lab_cupti_of_range start = {.range = s->range}, pop = start;
    lab_cupti_push push = {.range = s->range, .name = "tessera profile"};
    lab_cupti_stop stop = {.range = s->range};
    CALL(s, start, "cuptiRangeProfilerStart", &start);
    CALL(s, push, "cuptiRangeProfilerPushRange", &push);
    status = run_kernel(s);
    CALL(s, pop, "cuptiRangeProfilerPopRange", &pop);
    CALL(s, stop, "cuptiRangeProfilerStop", &stop);
    *is_last = stop.is_all;
    return status;
}

static tsr_status run_passes(session *s)
{
    int is_last = 0;
    tsr_status status = run_kernel(s); /* loads its code, which is not to be measured */
    for (int pass = 0; pass < MOST_PASSES && !is_last && status == TSR_OK; pass++)
        status = run_pass(s, &is_last);
    if (status == TSR_OK && !is_last)
        status = tsr_fail(TSR_UNSUPPORTED, "CUPTI wants more than %d passes", MOST_PASSES);
    return status;
}

static tsr_status read_values(session *s, double values[METRICS])
{
    double found[METRICS];
    lab_cupti_decode decode = {.range = s->range};
    CALL(s, decode, "cuptiRangeProfilerDecodeData", &decode);
    if (decode.dropped > 0)
        return tsr_fail(TSR_UNSUPPORTED, "CUPTI dropped what it measured");
    lab_cupti_evaluate evaluate = {.host = s->host,
                                   .counters = s->counters,
                                   .counter_bytes = s->counter_bytes,
                                   .names = s->names,
                                   .count = s->count,
                                   .values = found};
    CALL(s, evaluate, "cuptiProfilerHostEvaluateToGpuValues", &evaluate);
    for (size_t i = 0; i < METRICS; i++)
        values[i] = (double)NAN;
    for (size_t i = 0; i < s->count; i++)
        values[s->place[i]] = found[i];
    return TSR_OK;
}

static tsr_status measure(session *s, double values[METRICS])
{
    tsr_status status = choose_counters(s);
    if (status != TSR_OK)
        return status;
    lab_cupti_enable enable = {.context = s->gpu.context};
    CALL(s, enable, "cuptiRangeProfilerEnable", &enable);
    s->range = enable.range;
    status = make_images(s);
    if (status == TSR_OK)
        status = run_passes(s);
    return status == TSR_OK ? read_values(s, values) : status;
}

/* ---- what is measured ---- */

static tsr_status prepare(session *s, const char *device, const tsr_gemm_desc *desc)
{
    lab_device described;
    tsr_status status = tsr_context_create(device, NULL, &s->context);
    if (status == TSR_OK)
        status = tsr_plan_create(s->context, desc, &s->plan);
    if (status == TSR_OK)
        status = lab_operands_create(s->context, desc, 0, 1, &s->operands);
    if (status == TSR_OK && tsr_plan_workspace_bytes(s->plan) > 0)
        status = tsr_device_alloc(s->context, tsr_plan_workspace_bytes(s->plan), &s->workspace);
    if (status != TSR_OK)
        return status;
    const lab_operand_set *const set = &s->operands.sets[0];
    s->args = tsr_run_args_make(set->a, set->b, set->d);
    s->args.workspace = s->workspace;
    s->args.workspace_bytes = tsr_plan_workspace_bytes(s->plan);
    status = lab_compress(s->plan, desc, &s->args, &s->compressed);
    if (status != TSR_OK)
        return status;
    lab_device_of(s->context, &described);
    s->other_bytes = 2 * (size_t)(described.l2_bytes > 0 ? described.l2_bytes : 1);
    s->zeros = calloc(s->other_bytes, 1);
    return s->zeros ? tsr_device_alloc(s->context, s->other_bytes, &s->other)
                    : tsr_fail(TSR_OUT_OF_MEMORY, "no memory for %zu bytes", s->other_bytes);
}

static void drop(session *s)
{
    lab_cupti_of_range disable = {.bytes = SIZE_OF_disable, .range = s->range};
    if (s->range)
        s->cupti.disable(&disable);
    close_host(s);
    free(s->config);
    free(s->counters);
    free(s->zeros);
    if (s->workspace)
        tsr_device_free(s->context, s->workspace);
    if (s->other)
        tsr_device_free(s->context, s->other);
    tsr_prepared_release(s->compressed);
    lab_operands_free(&s->operands);
    tsr_plan_release(s->plan);
    tsr_context_destroy(s->context);
}

static tsr_status start_up(session *s)
{
    lab_cupti_start start = {0};
    CALL(s, start_up, "cuptiProfilerInitialize", &start);
    return TSR_OK;
}

tsr_status lab_cupti_measure(const char *device, const tsr_gemm_desc *desc, lab_eight *out, double *ns)
{
    session *s = calloc(1, sizeof *s);
    if (!s)
        return tsr_fail(TSR_OUT_OF_MEMORY, "no memory to measure");
    tsr_gemm_desc on_device = lab_aligned_desc(desc);
    on_device.a.memory = on_device.b.memory = on_device.c.memory = on_device.d.memory = TSR_DEVICE;
    double values[METRICS];
    tsr_status status = lab_cupti_load(&s->cupti);
    if (status == TSR_OK)
        status = lab_gpu_open(atoi(device + strlen("cuda:")), &s->gpu);
    if (status != TSR_OK) {
        free(s);
        return status;
    }
    status = start_up(s);
    const int has_started = status == TSR_OK;
    if (status == TSR_OK)
        status = prepare(s, device, &on_device);
    if (status == TSR_OK)
        status = lab_gpu_enter(&s->gpu);
    if (status == TSR_OK) {
        status = measure(s, values);
        lab_gpu_leave(&s->gpu);
    }
    drop(s);
    lab_cupti_start end = {.bytes = SIZE_OF_start_up};
    if (has_started)
        s->cupti.shut_down(&end);
    lab_gpu_close(&s->gpu);
    if (status == TSR_OK) {
        *out = lab_eight_of_metrics(values);
        *ns = values[LAB_EIGHT];
    }
    free(s);
    return status;
}
