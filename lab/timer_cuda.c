/* The GPU's timer: two events in the stream that is measured, so that only what the GPU does counts; clock and power
 * from the management library. */
#include <stdlib.h>

#include "core/error.h"
#include "lab/gpu.h"
#include "lab/nvml.h"
#include "lab/timer.h"

typedef struct cuda_timer {
    lab_gpu gpu;
    lab_nvml nvml;
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
    lab_gpu_leave(&timer->gpu);
    return result == TSR_CU_SUCCESS ? TSR_OK : lab_gpu_fail(&timer->gpu, "cuEventCreate", result);
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

const lab_timer_ops lab_timer_cuda_ops = {"cuda", cuda_open, cuda_close, cuda_begin, cuda_end, cuda_sample};
