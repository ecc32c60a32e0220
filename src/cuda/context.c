/* Entering and leaving the device's context; errors of the driver as statuses. */
#include "core/error.h"
#include "cuda/impl.h"

static tsr_status fail_dead(tsr_device *device, tsr_cu_result fatal)
{
    tsr_cuda *cuda = device->impl;
    char text[256];
    tsr_driver_describe(&cuda->driver, "an earlier call", fatal, text, sizeof text);
    return tsr_fail(TSR_DRIVER_ERROR, "%s: this process can no longer use the GPU since %s", device->id, text);
}

tsr_status tsr_cuda_fail(tsr_device *device, const char *call, tsr_cu_result result)
{
    tsr_cuda *cuda = device->impl;
    char text[256];
    tsr_driver_describe(&cuda->driver, call, result, text, sizeof text);
    if (tsr_driver_is_fatal(result)) {
        unsigned living = 0;
        atomic_compare_exchange_strong(&cuda->fatal, &living, result);
        return tsr_fail(TSR_DRIVER_ERROR,
                        "%s: %s; it may come from any earlier kernel, and this process can no longer use the GPU",
                        device->id, text);
    }
    return tsr_fail(result == TSR_CU_OUT_OF_MEMORY ? TSR_OUT_OF_MEMORY : TSR_DRIVER_ERROR, "%s: %s", device->id, text);
}

tsr_status tsr_cuda_enter(tsr_device *device)
{
    tsr_cuda *cuda = device->impl;
    const tsr_cu_result fatal = atomic_load_explicit(&cuda->fatal, memory_order_relaxed);
    tsr_cu_result result;
    if (fatal)
        return fail_dead(device, fatal);
    result = cuda->driver.ctx_push_current(cuda->context);
    return result == TSR_CU_SUCCESS ? TSR_OK : tsr_cuda_fail(device, "cuCtxPushCurrent", result);
}

void tsr_cuda_leave(tsr_device *device)
{
    tsr_cuda *cuda = device->impl;
    tsr_cu_context left;
    cuda->driver.ctx_pop_current(&left); /* cannot fail after a push on this thread */
}
