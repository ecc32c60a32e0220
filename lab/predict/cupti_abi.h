/* What is used of CUPTI's range profiler and profiler host interfaces (CUDA 12.6 and later): types, values and calls as
 * NVIDIA's headers have them, which tests/unit_cuda_cupti.c compares. Every call takes one struct, which begins with
 * its own size: up to and with the last field that the caller knows. */
#ifndef LAB_CUPTI_ABI_H
#define LAB_CUPTI_ABI_H

#include <stddef.h>
#include <stdint.h>

#include "cuda/driver.h"

typedef int lab_cupti_result;

enum {
    LAB_CUPTI_SUCCESS = 0,
    LAB_CUPTI_INVALID_PARAMETER = 1,
    LAB_CUPTI_INVALID_METRIC_NAME = 17,
    LAB_CUPTI_HARDWARE_BUSY = 26,
    LAB_CUPTI_NOT_SUPPORTED = 27,
    LAB_CUPTI_VIRTUALIZED_DEVICE_NOT_SUPPORTED = 33,
    LAB_CUPTI_INSUFFICIENT_PRIVILEGES = 35,
    LAB_CUPTI_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES = 40
};
enum { LAB_CUPTI_RANGE_PROFILER = 0, LAB_CUPTI_USER_RANGE = 2, LAB_CUPTI_USER_REPLAY = 3 };

typedef struct lab_cupti_host lab_cupti_host;
typedef struct lab_cupti_range lab_cupti_range;

#define LAB_CUPTI_STRUCT_BYTES(type, last) (offsetof(type, last) + sizeof(((type *)0)->last))
#define LAB_CUPTI_HEAD \
    size_t bytes;      \
    void *reserved /* NULL */

typedef struct lab_cupti_start {
    LAB_CUPTI_HEAD;
} lab_cupti_start;

typedef struct lab_cupti_chip {
    LAB_CUPTI_HEAD;
    size_t device;
    const char *name; /* out */
} lab_cupti_chip;

typedef struct lab_cupti_host_open {
    LAB_CUPTI_HEAD;
    int profiler;
    const char *chip;
    const uint8_t *availability; /* NULL */
    lab_cupti_host *host;        /* out */
} lab_cupti_host_open;

typedef struct lab_cupti_host_close {
    LAB_CUPTI_HEAD;
    lab_cupti_host *host;
} lab_cupti_host_close;

typedef struct lab_cupti_add_metrics {
    LAB_CUPTI_HEAD;
    lab_cupti_host *host;
    const char **names;
    size_t count;
} lab_cupti_add_metrics;

typedef struct lab_cupti_config_size {
    LAB_CUPTI_HEAD;
    lab_cupti_host *host;
    size_t config_bytes; /* out */
} lab_cupti_config_size;

typedef struct lab_cupti_config {
    LAB_CUPTI_HEAD;
    lab_cupti_host *host;
    size_t config_bytes;
    uint8_t *config; /* filled */
} lab_cupti_config;

typedef struct lab_cupti_evaluate {
    LAB_CUPTI_HEAD;
    lab_cupti_host *host;
    const uint8_t *counters;
    size_t counter_bytes, range;
    const char **names;
    size_t count;
    double *values; /* filled */
} lab_cupti_evaluate;

typedef struct lab_cupti_enable {
    LAB_CUPTI_HEAD;
    tsr_cu_context context;
    lab_cupti_range *range; /* out */
} lab_cupti_enable;

typedef struct lab_cupti_of_range { /* start, pop, disable */
    LAB_CUPTI_HEAD;
    lab_cupti_range *range;
} lab_cupti_of_range;

typedef struct lab_cupti_push {
    LAB_CUPTI_HEAD;
    lab_cupti_range *range;
    const char *name;
} lab_cupti_push;

typedef struct lab_cupti_stop {
    LAB_CUPTI_HEAD;
    lab_cupti_range *range;
    size_t pass, level; /* out */
    uint8_t is_all;     /* out: every pass was made */
} lab_cupti_stop;

typedef struct lab_cupti_decode {
    LAB_CUPTI_HEAD;
    lab_cupti_range *range;
    size_t dropped; /* out */
} lab_cupti_decode;

typedef struct lab_cupti_counter_size {
    LAB_CUPTI_HEAD;
    lab_cupti_range *range;
    const char **names;
    size_t count, ranges;
    uint32_t nodes;       /* at least `ranges` */
    size_t counter_bytes; /* out */
} lab_cupti_counter_size;

typedef struct lab_cupti_counter_init {
    LAB_CUPTI_HEAD;
    lab_cupti_range *range;
    size_t counter_bytes;
    uint8_t *counters;
} lab_cupti_counter_init;

typedef struct lab_cupti_set {
    LAB_CUPTI_HEAD;
    lab_cupti_range *range;
    size_t config_bytes;
    const uint8_t *config;
    size_t counter_bytes;
    uint8_t *counters;
    int range_mode, replay_mode;
    size_t ranges; /* in a pass, at most */
    uint16_t levels, least_level;
    size_t pass;
    uint16_t target_level;
} lab_cupti_set;

/* X(member, symbol, struct, its last field) */
#define LAB_CUPTI_CALLS(X)                                                                          \
    X(start_up, cuptiProfilerInitialize, lab_cupti_start, reserved)                                 \
    X(shut_down, cuptiProfilerDeInitialize, lab_cupti_start, reserved)                              \
    X(chip, cuptiDeviceGetChipName, lab_cupti_chip, name)                                           \
    X(host_open, cuptiProfilerHostInitialize, lab_cupti_host_open, host)                            \
    X(host_close, cuptiProfilerHostDeinitialize, lab_cupti_host_close, host)                        \
    X(add_metrics, cuptiProfilerHostConfigAddMetrics, lab_cupti_add_metrics, count)                 \
    X(config_size, cuptiProfilerHostGetConfigImageSize, lab_cupti_config_size, config_bytes)        \
    X(config, cuptiProfilerHostGetConfigImage, lab_cupti_config, config)                            \
    X(evaluate, cuptiProfilerHostEvaluateToGpuValues, lab_cupti_evaluate, values)                   \
    X(enable, cuptiRangeProfilerEnable, lab_cupti_enable, range)                                    \
    X(disable, cuptiRangeProfilerDisable, lab_cupti_of_range, range)                                \
    X(counter_size, cuptiRangeProfilerGetCounterDataSize, lab_cupti_counter_size, counter_bytes)    \
    X(counter_init, cuptiRangeProfilerCounterDataImageInitialize, lab_cupti_counter_init, counters) \
    X(set, cuptiRangeProfilerSetConfig, lab_cupti_set, target_level)                                \
    X(start, cuptiRangeProfilerStart, lab_cupti_of_range, range)                                    \
    X(push, cuptiRangeProfilerPushRange, lab_cupti_push, name)                                      \
    X(pop, cuptiRangeProfilerPopRange, lab_cupti_of_range, range)                                   \
    X(stop, cuptiRangeProfilerStop, lab_cupti_stop, is_all)                                         \
    X(decode, cuptiRangeProfilerDecodeData, lab_cupti_decode, dropped)

typedef struct lab_cupti_calls {
    void *library;
    lab_cupti_result (*result_name)(lab_cupti_result result, const char **name); /* NULL: the library has none */
#define LAB_CUPTI_MEMBER(member, symbol, type, last) lab_cupti_result (*member)(type * parameters);
    LAB_CUPTI_CALLS(LAB_CUPTI_MEMBER)
#undef LAB_CUPTI_MEMBER
} lab_cupti_calls;

#endif
