/* Counters through CUPTI: on a driver and a CUPTI that only pretend; declarations against NVIDIA's headers, and the
 * names of counters against the real library, where there are some. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "core/device_code.h"
#include "core/error.h"
#include "fake_cuda.h"
#include "fake_cupti.h"
#include "lab/predict/cupti.h"

#ifdef HAVE_CUPTI_H
#include <cuda.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#define SAME(own, theirs) _Static_assert((size_t)(own) == (size_t)(theirs), #own)
SAME(LAB_CUPTI_INVALID_PARAMETER, CUPTI_ERROR_INVALID_PARAMETER);
SAME(LAB_CUPTI_INVALID_METRIC_NAME, CUPTI_ERROR_INVALID_METRIC_NAME);
SAME(LAB_CUPTI_HARDWARE_BUSY, CUPTI_ERROR_HARDWARE_BUSY);
SAME(LAB_CUPTI_NOT_SUPPORTED, CUPTI_ERROR_NOT_SUPPORTED);
SAME(LAB_CUPTI_VIRTUALIZED_DEVICE_NOT_SUPPORTED, CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED);
SAME(LAB_CUPTI_INSUFFICIENT_PRIVILEGES, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
SAME(LAB_CUPTI_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES, CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES);
SAME(LAB_CUPTI_RANGE_PROFILER, CUPTI_PROFILER_TYPE_RANGE_PROFILER);
SAME(LAB_CUPTI_USER_RANGE, CUPTI_UserRange);
SAME(LAB_CUPTI_USER_REPLAY, CUPTI_UserReplay);

#define AT(own, field, theirs, member) SAME(offsetof(own, field), offsetof(theirs, member))
#define HEAD(own, last, theirs)         \
    AT(own, bytes, theirs, structSize); \
    AT(own, reserved, theirs, pPriv);   \
    SAME(sizeof(own), sizeof(theirs));  \
    SAME(LAB_CUPTI_STRUCT_BYTES(own, last), theirs##_STRUCT_SIZE)
HEAD(lab_cupti_start, reserved, CUpti_Profiler_Initialize_Params);
HEAD(lab_cupti_start, reserved, CUpti_Profiler_DeInitialize_Params);
HEAD(lab_cupti_chip, name, CUpti_Device_GetChipName_Params);
AT(lab_cupti_chip, device, CUpti_Device_GetChipName_Params, deviceIndex);
HEAD(lab_cupti_host_open, host, CUpti_Profiler_Host_Initialize_Params);
AT(lab_cupti_host_open, profiler, CUpti_Profiler_Host_Initialize_Params, profilerType);
AT(lab_cupti_host_open, chip, CUpti_Profiler_Host_Initialize_Params, pChipName);
AT(lab_cupti_host_open, availability, CUpti_Profiler_Host_Initialize_Params, pCounterAvailabilityImage);
HEAD(lab_cupti_host_close, host, CUpti_Profiler_Host_Deinitialize_Params);
HEAD(lab_cupti_add_metrics, count, CUpti_Profiler_Host_ConfigAddMetrics_Params);
AT(lab_cupti_add_metrics, host, CUpti_Profiler_Host_ConfigAddMetrics_Params, pHostObject);
AT(lab_cupti_add_metrics, names, CUpti_Profiler_Host_ConfigAddMetrics_Params, ppMetricNames);
HEAD(lab_cupti_config_size, config_bytes, CUpti_Profiler_Host_GetConfigImageSize_Params);
AT(lab_cupti_config_size, host, CUpti_Profiler_Host_GetConfigImageSize_Params, pHostObject);
HEAD(lab_cupti_config, config, CUpti_Profiler_Host_GetConfigImage_Params);
AT(lab_cupti_config, config_bytes, CUpti_Profiler_Host_GetConfigImage_Params, configImageSize);
HEAD(lab_cupti_evaluate, values, CUpti_Profiler_Host_EvaluateToGpuValues_Params);
AT(lab_cupti_evaluate, counters, CUpti_Profiler_Host_EvaluateToGpuValues_Params, pCounterDataImage);
AT(lab_cupti_evaluate, counter_bytes, CUpti_Profiler_Host_EvaluateToGpuValues_Params, counterDataImageSize);
AT(lab_cupti_evaluate, range, CUpti_Profiler_Host_EvaluateToGpuValues_Params, rangeIndex);
AT(lab_cupti_evaluate, names, CUpti_Profiler_Host_EvaluateToGpuValues_Params, ppMetricNames);
AT(lab_cupti_evaluate, count, CUpti_Profiler_Host_EvaluateToGpuValues_Params, numMetrics);
HEAD(lab_cupti_enable, range, CUpti_RangeProfiler_Enable_Params);
AT(lab_cupti_enable, context, CUpti_RangeProfiler_Enable_Params, ctx);
HEAD(lab_cupti_of_range, range, CUpti_RangeProfiler_Disable_Params);
HEAD(lab_cupti_of_range, range, CUpti_RangeProfiler_Start_Params);
HEAD(lab_cupti_of_range, range, CUpti_RangeProfiler_PopRange_Params);
HEAD(lab_cupti_push, name, CUpti_RangeProfiler_PushRange_Params);
HEAD(lab_cupti_stop, is_all, CUpti_RangeProfiler_Stop_Params);
AT(lab_cupti_stop, pass, CUpti_RangeProfiler_Stop_Params, passIndex);
HEAD(lab_cupti_decode, dropped, CUpti_RangeProfiler_DecodeData_Params);
HEAD(lab_cupti_counter_size, counter_bytes, CUpti_RangeProfiler_GetCounterDataSize_Params);
AT(lab_cupti_counter_size, names, CUpti_RangeProfiler_GetCounterDataSize_Params, pMetricNames);
AT(lab_cupti_counter_size, count, CUpti_RangeProfiler_GetCounterDataSize_Params, numMetrics);
AT(lab_cupti_counter_size, ranges, CUpti_RangeProfiler_GetCounterDataSize_Params, maxNumOfRanges);
AT(lab_cupti_counter_size, nodes, CUpti_RangeProfiler_GetCounterDataSize_Params, maxNumRangeTreeNodes);
HEAD(lab_cupti_counter_init, counters, CUpti_RangeProfiler_CounterDataImage_Initialize_Params);
AT(lab_cupti_counter_init, counter_bytes, CUpti_RangeProfiler_CounterDataImage_Initialize_Params, counterDataSize);
HEAD(lab_cupti_set, target_level, CUpti_RangeProfiler_SetConfig_Params);
AT(lab_cupti_set, config_bytes, CUpti_RangeProfiler_SetConfig_Params, configSize);
AT(lab_cupti_set, config, CUpti_RangeProfiler_SetConfig_Params, pConfig);
AT(lab_cupti_set, counter_bytes, CUpti_RangeProfiler_SetConfig_Params, counterDataImageSize);
AT(lab_cupti_set, counters, CUpti_RangeProfiler_SetConfig_Params, pCounterDataImage);
AT(lab_cupti_set, range_mode, CUpti_RangeProfiler_SetConfig_Params, range);
AT(lab_cupti_set, replay_mode, CUpti_RangeProfiler_SetConfig_Params, replayMode);
AT(lab_cupti_set, ranges, CUpti_RangeProfiler_SetConfig_Params, maxRangesPerPass);
AT(lab_cupti_set, levels, CUpti_RangeProfiler_SetConfig_Params, numNestingLevels);
AT(lab_cupti_set, least_level, CUpti_RangeProfiler_SetConfig_Params, minNestingLevel);
AT(lab_cupti_set, pass, CUpti_RangeProfiler_SetConfig_Params, passIndex);
#endif

static fake_cuda_access cuda;
static fake_cupti_access cupti;

#define assert_error(text)                                               \
    do {                                                                 \
        if (!strstr(tsr_last_error(), text))                             \
            fail_msg("\"%s\" is not in \"%s\"", text, tsr_last_error()); \
    } while (0)

static int fresh(void **unused)
{
    (void)unused;
    cuda.reset();
    cupti.reset();
    cuda.state->any_function = 1;
    setenv("TESSERA_CUPTI_PATH", FAKE_CUDA_DIR "/libcupti.so.13", 1);
    return 0;
}

static int check_clean(void **unused)
{
    (void)unused;
    return cuda.state->retained != 0 || cuda.state->allocations != 0 || cuda.state->context_errors != 0 ||
           cuda.depth() != 0 || cupti.state->hosts != 0 || cupti.state->ranges != 0 || cupti.state->started != 0 ||
           cupti.state->errors != 0;
}

static tsr_status measure(lab_eight *eight, double *ns)
{
    tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F32, 64, 64, 64);
    desc.kernel = "tiled_f32_t16";
    return lab_cupti_measure("cuda:0", &desc, eight, ns);
}

/* Builds without nvcc have nothing that a GPU could run. */
static int has_code(void)
{
    return tsr_find_device_code("tiled_f32_t16") != NULL;
}

static void each_pass_runs_the_kernel(void **unused)
{
    (void)unused;
    lab_eight eight;
    double ns = 0;
    if (!has_code())
        skip();
    assert_int_equal(measure(&eight, &ns), TSR_OK);
    for (int i = 0; i < LAB_EIGHT - 1; i++)
        assert_true(lab_eight_value(&eight, i) == 10 + i);
    assert_true(eight.memory_gbps == 17e-9 && ns == 18);
    assert_int_equal(cupti.state->passes_made, 3);
    assert_int_equal(cuda.state->launches, 4); /* one more to load the code */
    assert_true(cupti.state->context == cuda.primary);
}

static void missing_counters_are_left_out(void **unused)
{
    (void)unused;
    lab_eight eight;
    double ns = 0;
    if (!has_code())
        skip();
    cupti.state->missing_metric = "l1tex__t_sector_hit_rate.pct";
    assert_int_equal(measure(&eight, &ns), TSR_OK);
    assert_true(isnan(eight.l1_hit));
    assert_true(eight.dram == 14 && eight.l2_hit == 15 && ns == 17);
    assert_int_equal(cupti.state->metrics, LAB_EIGHT);
}

static void every_failure_says_why(void **unused)
{
    (void)unused;
    lab_eight eight;
    double ns;
    const int can_run = has_code();
    int checked = 0;
#define NAME(member, symbol, type, last) #symbol,
    static const char *const calls[] = {LAB_CUPTI_CALLS(NAME)};
#undef NAME
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        const int ends = strstr(calls[i], "DeInit") || strstr(calls[i], "Deinit") || strstr(calls[i], "Disable");
        if (ends || (!can_run && i > 0))
            continue;
        fresh(NULL);
        cupti.state->fail_call = calls[i];
        cupti.state->fail_result = LAB_CUPTI_INSUFFICIENT_PRIVILEGES;
        assert_int_equal(measure(&eight, &ns), TSR_UNSUPPORTED);
        if (strcmp(calls[i], "cuptiProfilerHostConfigAddMetrics") == 0) {
            assert_error("CUPTI knows none of the counters on a GH100");
        } else {
            assert_error(calls[i]);
            assert_error("CUPTI_ERROR_INSUFFICIENT_PRIVILEGES (35): the driver lets administrators alone read");
        }
        assert_int_equal(check_clean(NULL), 0);
        checked++;
    }
    assert_true(checked >= (can_run ? 15 : 1));
}

static void bad_answers_are_refused(void **unused)
{
    (void)unused;
    lab_eight eight;
    double ns;
    if (!has_code())
        skip();
    cupti.state->dropped = 1;
    assert_int_equal(measure(&eight, &ns), TSR_UNSUPPORTED);
    assert_error("dropped");
    fresh(NULL);
    cupti.state->passes = 1000;
    assert_int_equal(measure(&eight, &ns), TSR_UNSUPPORTED);
    assert_error("more than 64 passes");
}

static void without_a_library(void **unused)
{
    (void)unused;
    lab_eight eight;
    double ns;
    setenv("TESSERA_CUPTI_PATH", "/nonexistent/libcupti.so.13", 1);
    assert_int_equal(measure(&eight, &ns), TSR_UNSUPPORTED);
    assert_error("TESSERA_CUPTI_PATH = \"/nonexistent/libcupti.so.13\" is no library");
    setenv("TESSERA_CUPTI_PATH", FAKE_CUDA_DIR "/libcuda.so.1", 1);
    assert_int_equal(measure(&eight, &ns), TSR_UNSUPPORTED);
    assert_error("this CUPTI has no cuptiProfilerInitialize: it must be of CUDA 12.6 or later");
}

static void a_failing_gpu_is_told(void **unused)
{
    (void)unused;
    lab_eight eight;
    double ns;
    if (!has_code())
        skip();
    cuda.state->fail_call = "cuLaunchKernelEx";
    cuda.state->fail_result = TSR_CU_OUT_OF_MEMORY;
    assert_true(measure(&eight, &ns) != TSR_OK);
}

/* The real library knows all nine on the chip of an H200, and how to collect them; no GPU is needed for that. */
static void real_library_knows_the_counters(void **unused)
{
    (void)unused;
#ifdef __SANITIZE_ADDRESS__
    skip(); /* it opens its parts with RTLD_DEEPBIND, which AddressSanitizer refuses */
#endif
    lab_cupti_calls calls;
    unsetenv("TESSERA_CUPTI_PATH");
    char *path = getenv("REAL_CUPTI_PATH");
    if (!path)
        skip();
    setenv("TESSERA_CUPTI_PATH", path, 1);
    if (lab_cupti_load(&calls) != TSR_OK)
        skip();
    lab_cupti_host_open open = {.bytes = LAB_CUPTI_STRUCT_BYTES(lab_cupti_host_open, host), .chip = "GH100"};
    const lab_cupti_result opened = calls.host_open(&open);
    if (opened != LAB_CUPTI_SUCCESS || !open.host)
        skip(); /* the libraries beside it are missing */
    lab_cupti_add_metrics add = {.bytes = LAB_CUPTI_STRUCT_BYTES(lab_cupti_add_metrics, count),
                                 .host = open.host,
                                 .names = (const char **)(uintptr_t)lab_eight_metrics,
                                 .count = LAB_EIGHT + 1};
    assert_int_equal(calls.add_metrics(&add), LAB_CUPTI_SUCCESS);
    lab_cupti_config_size size = {.bytes = LAB_CUPTI_STRUCT_BYTES(lab_cupti_config_size, config_bytes),
                                  .host = open.host};
    assert_int_equal(calls.config_size(&size), LAB_CUPTI_SUCCESS);
    assert_true(size.config_bytes > 100);
    lab_cupti_host_close close = {.bytes = LAB_CUPTI_STRUCT_BYTES(lab_cupti_host_close, host), .host = open.host};
    assert_int_equal(calls.host_close(&close), LAB_CUPTI_SUCCESS);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fresh, check_clean)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(each_pass_runs_the_kernel),
        TEST(missing_counters_are_left_out),
        TEST(every_failure_says_why),
        TEST(bad_answers_are_refused),
        TEST(without_a_library),
        TEST(a_failing_gpu_is_told),
        cmocka_unit_test(real_library_knows_the_counters),
    };
    (void)argc;
    fake_cuda_start(argv, FAKE_CUDA_DIR);
    cuda = fake_cuda_find();
    void *library = dlopen("libcupti.so.13", RTLD_NOW | RTLD_NODELETE);
    const fake_cupti_access *access_points = library ? dlsym(library, "fake_cupti_access_points") : NULL;
    if (!access_points) {
        fprintf(stderr, "libcupti.so.13 is not the fake library\n");
        return 1;
    }
    cupti = *access_points;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
