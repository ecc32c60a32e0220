#include "lab/common/gpu.h"

#include "core/error.h"

tsr_status lab_gpu_fail(const lab_gpu *gpu, const char *call, tsr_cu_result result)
{
    char text[256];
    tsr_driver_describe(&gpu->driver, call, result, text, sizeof text);
    return tsr_fail(result == TSR_CU_OUT_OF_MEMORY ? TSR_OUT_OF_MEMORY : TSR_DRIVER_ERROR, "cuda:%d: %s", gpu->ordinal,
                    text);
}

tsr_status lab_gpu_open(int ordinal, lab_gpu *out)
{
    int count = 0;
    tsr_status status = tsr_driver_load(&out->driver);
    if (status != TSR_OK)
        return status;
    out->ordinal = ordinal;
    tsr_cu_result result = out->driver.device_get_count(&count);
    if (result != TSR_CU_SUCCESS)
        return lab_gpu_fail(out, "cuDeviceGetCount", result);
    if (ordinal < 0 || ordinal >= count)
        return tsr_fail(TSR_NO_DEVICE, "cuda:%d: the driver shows %d GPU%s", ordinal, count, count == 1 ? "" : "s");
    result = out->driver.device_get(&out->device, ordinal);
    if (result != TSR_CU_SUCCESS)
        return lab_gpu_fail(out, "cuDeviceGet", result);
    result = out->driver.primary_ctx_retain(&out->context, out->device);
    return result == TSR_CU_SUCCESS ? TSR_OK : lab_gpu_fail(out, "cuDevicePrimaryCtxRetain", result);
}

void lab_gpu_close(lab_gpu *gpu)
{
    gpu->driver.primary_ctx_release(gpu->device);
}

tsr_status lab_gpu_enter(const lab_gpu *gpu)
{
    const tsr_cu_result result = gpu->driver.ctx_push_current(gpu->context);
    return result == TSR_CU_SUCCESS ? TSR_OK : lab_gpu_fail(gpu, "cuCtxPushCurrent", result);
}

void lab_gpu_leave(const lab_gpu *gpu)
{
    tsr_cu_context left;
    gpu->driver.ctx_pop_current(&left);
}
