/* The GPU's timer: two events in the stream that is measured, so that only what the GPU does counts; clock and power
 * from the management library. */
#include <stdlib.h>

#include "core/error.h"
#include "lab/common/gpu.h"
#include "lab/common/nvml.h"
#include "lab/common/timer.h"

typedef struct cuda_timer {
    lab_gpu gpu;
    lab_nvml nvml;
    tsr_cu_stream stream; /* of captured work: the default stream cannot be captured */
    tsr_cu_event first, last;
} cuda_timer;

static void cuda_close(void *state)
{
    cuda_timer *timer = state;
    lab_nvml_close(&timer->nvml);
    if (lab_gpu_enter(&timer->gpu) == TSR_OK) {
        if (timer->first)
            timer->gpu.driver.event_destroy(timer->first);
        if (timer->last)
            timer->gpu.driver.event_destroy(timer->last);
        if (timer->stream)
            timer->gpu.driver.stream_destroy(timer->stream);
        lab_gpu_leave(&timer->gpu);
    }
    lab_gpu_close(&timer->gpu);
    free(timer);
}

static tsr_status make_events(cuda_timer *timer)
{
    tsr_status status = lab_gpu_enter(&timer->gpu);
    if (status != TSR_OK)
        return status;
    tsr_cu_result result = timer->gpu.driver.event_create(&timer->first, TSR_CU_EVENT_DEFAULT);
    if (result == TSR_CU_SUCCESS)
        result = timer->gpu.driver.event_create(&timer->last, TSR_CU_EVENT_DEFAULT);
    const char *call = "cuEventCreate";
    if (result == TSR_CU_SUCCESS) {
        call = "cuStreamCreate";
        result = timer->gpu.driver.stream_create(&timer->stream, TSR_CU_STREAM_NON_BLOCKING);
    }
    lab_gpu_leave(&timer->gpu);
    return result == TSR_CU_SUCCESS ? TSR_OK : lab_gpu_fail(&timer->gpu, call, result);
}

static tsr_status cuda_open(int ordinal, void **state)
{
    char bus_id[32] = "";
    cuda_timer *timer = calloc(1, sizeof *timer);
    if (timer == NULL)
        return tsr_fail(TSR_OUT_OF_MEMORY, "no memory for a timer");
    tsr_status status = lab_gpu_open(ordinal, &timer->gpu);
    if (status != TSR_OK) {
        free(timer);
        return status;
    }
    status = make_events(timer);
    if (status != TSR_OK) {
        cuda_close(timer);
        return status;
    }
    timer->gpu.driver.device_get_pci_bus_id(bus_id, sizeof bus_id, timer->gpu.device);
    lab_nvml_open(bus_id, &timer->nvml);
    *state = timer;
    return TSR_OK;
}

/* Waits for earlier work first, so that none of it is counted. */
static tsr_status cuda_begin(void *state, void *stream)
{
    const cuda_timer *timer = state;
    const char *call = "cuStreamSynchronize";
    tsr_status status = lab_gpu_enter(&timer->gpu);
    if (status != TSR_OK)
        return status;
    tsr_cu_result result = timer->gpu.driver.stream_synchronize(stream);
    if (result == TSR_CU_SUCCESS) {
        call = "cuEventRecord";
        result = timer->gpu.driver.event_record(timer->first, stream);
    }
    lab_gpu_leave(&timer->gpu);
    return result == TSR_CU_SUCCESS ? TSR_OK : lab_gpu_fail(&timer->gpu, call, result);
}

static tsr_status cuda_end(void *state, void *stream, double *elapsed_ns)
{
    const cuda_timer *timer = state;
    const tsr_driver *driver = &timer->gpu.driver;
    const char *call = "cuEventRecord";
    float milliseconds = 0;
    tsr_status status = lab_gpu_enter(&timer->gpu);
    if (status != TSR_OK)
        return status;
    tsr_cu_result result = driver->event_record(timer->last, stream);
    if (result == TSR_CU_SUCCESS) {
        call = "cuEventSynchronize";
        result = driver->event_synchronize(timer->last);
    }
    if (result == TSR_CU_SUCCESS) {
        call = "cuEventElapsedTime";
        result = driver->event_elapsed_time(&milliseconds, timer->first, timer->last);
    }
    lab_gpu_leave(&timer->gpu);
    if (result != TSR_CU_SUCCESS)
        return lab_gpu_fail(&timer->gpu, call, result);
    *elapsed_ns = 1e6 * (double)milliseconds;
    return TSR_OK;
}

static void cuda_sample(void *state, lab_clocks *out)
{
    lab_nvml_sample(&((const cuda_timer *)state)->nvml, out);
}

/* ---- captured work ----------------------------------------------------------------------------------------------- */

static void *cuda_stream(void *state)
{
    return ((const cuda_timer *)state)->stream;
}

static tsr_status cuda_record(void *state)
{
    const cuda_timer *timer = state;
    const tsr_driver *driver = &timer->gpu.driver;
    if (!driver->stream_begin_capture || !driver->stream_end_capture || !driver->graph_instantiate ||
        !driver->graph_launch || !driver->graph_exec_destroy || !driver->graph_destroy)
        return tsr_fail(TSR_UNSUPPORTED, "the driver has no graphs");
    const tsr_status status = lab_gpu_enter(&timer->gpu);
    if (status != TSR_OK)
        return status;
    const tsr_cu_result result = driver->stream_begin_capture(timer->stream, TSR_CU_CAPTURE_THREAD_LOCAL);
    lab_gpu_leave(&timer->gpu);
    return result == TSR_CU_SUCCESS ? TSR_OK : lab_gpu_fail(&timer->gpu, "cuStreamBeginCapture", result);
}

static tsr_status cuda_recorded(void *state, void **tape)
{
    const cuda_timer *timer = state;
    const tsr_driver *driver = &timer->gpu.driver;
    tsr_cu_graph graph = NULL;
    tsr_cu_graph_exec exec = NULL;
    const char *call = "cuStreamEndCapture";
    *tape = NULL;
    const tsr_status status = lab_gpu_enter(&timer->gpu);
    if (status != TSR_OK)
        return status;
    tsr_cu_result result = driver->stream_end_capture(timer->stream, &graph);
    if (result == TSR_CU_SUCCESS) {
        call = "cuGraphInstantiate";
        result = driver->graph_instantiate(&exec, graph, 0);
        driver->graph_destroy(graph);
    }
    lab_gpu_leave(&timer->gpu);
    if (result != TSR_CU_SUCCESS)
        return lab_gpu_fail(&timer->gpu, call, result);
    *tape = exec;
    return TSR_OK;
}

static tsr_status cuda_replay(void *state, void *tape)
{
    const cuda_timer *timer = state;
    const tsr_status status = lab_gpu_enter(&timer->gpu);
    if (status != TSR_OK)
        return status;
    const tsr_cu_result result = timer->gpu.driver.graph_launch(tape, timer->stream);
    lab_gpu_leave(&timer->gpu);
    return result == TSR_CU_SUCCESS ? TSR_OK : lab_gpu_fail(&timer->gpu, "cuGraphLaunch", result);
}

static void cuda_drop(void *state, void *tape)
{
    const cuda_timer *timer = state;
    if (tape == NULL || lab_gpu_enter(&timer->gpu) != TSR_OK)
        return;
    timer->gpu.driver.graph_exec_destroy(tape);
    lab_gpu_leave(&timer->gpu);
}

const lab_timer_ops lab_timer_cuda_ops = {.kind = "cuda",
                                          .open = cuda_open,
                                          .close = cuda_close,
                                          .begin = cuda_begin,
                                          .end = cuda_end,
                                          .sample = cuda_sample,
                                          .stream = cuda_stream,
                                          .record = cuda_record,
                                          .recorded = cuda_recorded,
                                          .replay = cuda_replay,
                                          .drop = cuda_drop};
