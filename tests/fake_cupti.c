#include "fake_cupti.h"

#include <stdlib.h>
#include <string.h>

enum { CONFIG_BYTES = 40, COUNTER_BYTES = 56 };

struct lab_cupti_host {
    size_t metrics;
    int is_spoilt; /* as the library's is by a name that it does not know */
};
struct lab_cupti_range {
    int is_set, is_started, is_pushed, is_decoded;
};

static fake_cupti state;
static struct lab_cupti_range range;

static void reset(void)
{
    state = (fake_cupti){.passes = 3};
    memset(&range, 0, sizeof range);
}

static int fails(const char *call)
{
    return state.fail_call && strcmp(state.fail_call, call) == 0;
}

/* `good` is what must hold when the call is made. */
#define ENTER(symbol, type, last, good) \
    if (fails(#symbol))                 \
        return state.fail_result;       \
    state.errors += p->bytes != LAB_CUPTI_STRUCT_BYTES(type, last) || p->reserved || !(good)

#define VISIBLE __attribute__((visibility("default")))
#define EXPORT(symbol, type)                  \
    VISIBLE lab_cupti_result symbol(type *p); \
    lab_cupti_result symbol(type *p)

EXPORT(cuptiProfilerInitialize, lab_cupti_start)
{
    ENTER(cuptiProfilerInitialize, lab_cupti_start, reserved, !state.started);
    state.started = 1;
    return 0;
}

EXPORT(cuptiProfilerDeInitialize, lab_cupti_start)
{
    ENTER(cuptiProfilerDeInitialize, lab_cupti_start, reserved, state.started && !state.hosts && !state.ranges);
    state.started = 0;
    return 0;
}

EXPORT(cuptiDeviceGetChipName, lab_cupti_chip)
{
    ENTER(cuptiDeviceGetChipName, lab_cupti_chip, name, p->device == 0);
    p->name = "GH100";
    return 0;
}

EXPORT(cuptiProfilerHostInitialize, lab_cupti_host_open)
{
    ENTER(cuptiProfilerHostInitialize, lab_cupti_host_open, host,
          p->profiler == 0 && strcmp(p->chip, "GH100") == 0 && !p->availability);
    p->host = calloc(1, sizeof *p->host);
    state.hosts++;
    return 0;
}

EXPORT(cuptiProfilerHostDeinitialize, lab_cupti_host_close)
{
    ENTER(cuptiProfilerHostDeinitialize, lab_cupti_host_close, host, p->host);
    free(p->host);
    state.hosts--;
    return 0;
}

EXPORT(cuptiProfilerHostConfigAddMetrics, lab_cupti_add_metrics)
{
    ENTER(cuptiProfilerHostConfigAddMetrics, lab_cupti_add_metrics, count, p->host && p->count > 0);
    for (size_t i = 0; i < p->count; i++)
        p->host->is_spoilt |= state.missing_metric && strcmp(p->names[i], state.missing_metric) == 0;
    p->host->metrics = p->count;
    state.metrics = p->count;
    return p->host->is_spoilt ? LAB_CUPTI_INVALID_PARAMETER : 0;
}

EXPORT(cuptiProfilerHostGetConfigImageSize, lab_cupti_config_size)
{
    ENTER(cuptiProfilerHostGetConfigImageSize, lab_cupti_config_size, config_bytes,
          p->host && !p->host->is_spoilt && p->host->metrics);
    p->config_bytes = CONFIG_BYTES;
    return 0;
}

EXPORT(cuptiProfilerHostGetConfigImage, lab_cupti_config)
{
    ENTER(cuptiProfilerHostGetConfigImage, lab_cupti_config, config, p->config_bytes == CONFIG_BYTES);
    memset(p->config, 7, CONFIG_BYTES);
    return 0;
}

EXPORT(cuptiRangeProfilerEnable, lab_cupti_enable)
{
    ENTER(cuptiRangeProfilerEnable, lab_cupti_enable, range, p->context && state.started && !state.ranges);
    state.context = p->context;
    state.ranges++;
    p->range = &range;
    return 0;
}

EXPORT(cuptiRangeProfilerDisable, lab_cupti_of_range)
{
    ENTER(cuptiRangeProfilerDisable, lab_cupti_of_range, range, p->range == &range && state.ranges);
    state.ranges--;
    return 0;
}

EXPORT(cuptiRangeProfilerGetCounterDataSize, lab_cupti_counter_size)
{
    ENTER(cuptiRangeProfilerGetCounterDataSize, lab_cupti_counter_size, counter_bytes,
          p->range == &range && p->count == state.metrics && p->ranges == 1 && p->nodes >= 1);
    p->counter_bytes = COUNTER_BYTES;
    return 0;
}

EXPORT(cuptiRangeProfilerCounterDataImageInitialize, lab_cupti_counter_init)
{
    ENTER(cuptiRangeProfilerCounterDataImageInitialize, lab_cupti_counter_init, counters,
          p->range == &range && p->counter_bytes == COUNTER_BYTES);
    memset(p->counters, 9, COUNTER_BYTES);
    return 0;
}

EXPORT(cuptiRangeProfilerSetConfig, lab_cupti_set)
{
    ENTER(cuptiRangeProfilerSetConfig, lab_cupti_set, target_level,
          p->range == &range && p->config_bytes == CONFIG_BYTES && p->config[0] == 7 &&
              p->counter_bytes == COUNTER_BYTES && p->counters[0] == 9 && p->range_mode == LAB_CUPTI_USER_RANGE &&
              p->replay_mode == LAB_CUPTI_USER_REPLAY && p->ranges == 1 && p->levels == 1 && p->least_level == 1 &&
              p->pass == 0 && p->target_level == 1);
    range.is_set = 1;
    return 0;
}

EXPORT(cuptiRangeProfilerStart, lab_cupti_of_range)
{
    ENTER(cuptiRangeProfilerStart, lab_cupti_of_range, range, range.is_set && !range.is_started);
    range.is_started = 1;
    return 0;
}

EXPORT(cuptiRangeProfilerPushRange, lab_cupti_push)
{
    ENTER(cuptiRangeProfilerPushRange, lab_cupti_push, name, range.is_started && !range.is_pushed && p->name);
    range.is_pushed = 1;
    return 0;
}

EXPORT(cuptiRangeProfilerPopRange, lab_cupti_of_range)
{
    ENTER(cuptiRangeProfilerPopRange, lab_cupti_of_range, range, range.is_pushed);
    range.is_pushed = 0;
    return 0;
}

EXPORT(cuptiRangeProfilerStop, lab_cupti_stop)
{
    ENTER(cuptiRangeProfilerStop, lab_cupti_stop, is_all, range.is_started && !range.is_pushed);
    range.is_started = 0;
    state.passes_made++;
    p->is_all = state.passes_made >= state.passes;
    return 0;
}

EXPORT(cuptiRangeProfilerDecodeData, lab_cupti_decode)
{
    ENTER(cuptiRangeProfilerDecodeData, lab_cupti_decode, dropped,
          !range.is_started && state.passes_made >= state.passes);
    range.is_decoded = 1;
    p->dropped = state.dropped;
    return 0;
}

/* Counter number i of the list is 10 + i. */
EXPORT(cuptiProfilerHostEvaluateToGpuValues, lab_cupti_evaluate)
{
    ENTER(cuptiProfilerHostEvaluateToGpuValues, lab_cupti_evaluate, values,
          range.is_decoded && p->counters[0] == 9 && p->counter_bytes == COUNTER_BYTES && p->range == 0 &&
              p->count == state.metrics);
    for (size_t i = 0; i < p->count; i++)
        p->values[i] = 10 + (double)i;
    state.sessions++;
    return 0;
}

VISIBLE lab_cupti_result cuptiGetResultString(lab_cupti_result result, const char **name);
lab_cupti_result cuptiGetResultString(lab_cupti_result result, const char **name)
{
    *name = result == LAB_CUPTI_INSUFFICIENT_PRIVILEGES ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES" : "CUPTI_ERROR_UNKNOWN";
    return 0;
}

extern VISIBLE const fake_cupti_access fake_cupti_access_points;
const fake_cupti_access fake_cupti_access_points = {&state, reset};
