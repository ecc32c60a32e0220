/* Device memory and copies. Copies go through the given stream and wait for it: pageable host memory may be freed or
 * changed as soon as the call returns. */
#include "core/error.h"
#include "cuda/impl.h"

static tsr_status fail_alloc(tsr_device *device, size_t bytes, tsr_cu_result result)
{
    const tsr_cuda *cuda = device->impl;
    size_t free_bytes = 0, total_bytes = 0;
    if (result != TSR_CU_OUT_OF_MEMORY || cuda->driver.mem_get_info(&free_bytes, &total_bytes) != TSR_CU_SUCCESS)
        return tsr_cuda_fail(device, "cuMemAlloc", result);
    return tsr_fail(TSR_OUT_OF_MEMORY, "%s: no room for %zu bytes: %zu of %zu are free", device->id, bytes, free_bytes,
                    total_bytes);
}

tsr_status tsr_cuda_alloc(tsr_device *device, size_t bytes, void **out)
{
    const tsr_cuda *cuda = device->impl;
    tsr_cu_pointer pointer = 0;
    tsr_cu_result result;
    tsr_status status;
    if (bytes == 0) { /* the driver refuses 0 bytes */
        *out = NULL;
        return TSR_OK;
    }
    status = tsr_cuda_enter(device);
    if (status != TSR_OK)
        return status;
    result = cuda->driver.mem_alloc(&pointer, bytes);
    if (result == TSR_CU_SUCCESS)
        *out = (void *)(uintptr_t)pointer;
    else
        status = fail_alloc(device, bytes, result);
    tsr_cuda_leave(device);
    return status;
}

tsr_status tsr_cuda_free(tsr_device *device, void *pointer)
{
    tsr_cuda *cuda = device->impl;
    tsr_cu_result result;
    tsr_status status;
    if (!pointer || atomic_load(&cuda->fatal)) /* a dead context has no memory left, and its end was reported */
        return TSR_OK;
    status = tsr_cuda_enter(device);
    if (status != TSR_OK)
        return status;
    result = cuda->driver.mem_free((tsr_cu_pointer)(uintptr_t)pointer);
    tsr_cuda_leave(device);
    return result == TSR_CU_SUCCESS ? TSR_OK : tsr_cuda_fail(device, "cuMemFree", result);
}

static tsr_status wait_after(tsr_device *device, const char *call, tsr_cu_result result, tsr_cu_stream stream)
{
    const tsr_cuda *cuda = device->impl;
    if (result == TSR_CU_SUCCESS) {
        call = "cuStreamSynchronize";
        result = cuda->driver.stream_synchronize(stream);
    }
    tsr_cuda_leave(device);
    return result == TSR_CU_SUCCESS ? TSR_OK : tsr_cuda_fail(device, call, result);
}

tsr_status tsr_cuda_zero(tsr_device *device, void *to, size_t bytes, void *stream)
{
    const tsr_cuda *cuda = device->impl;
    const tsr_status status = tsr_cuda_enter(device);
    if (status != TSR_OK)
        return status;
    const tsr_cu_result result = cuda->driver.memset_async((tsr_cu_pointer)(uintptr_t)to, 0, bytes, stream);
    tsr_cuda_leave(device);
    return result == TSR_CU_SUCCESS ? TSR_OK : tsr_cuda_fail(device, "cuMemsetD8Async", result);
}

tsr_status tsr_cuda_upload(tsr_device *device, void *to, const void *from, size_t bytes, void *stream)
{
    const tsr_cuda *cuda = device->impl;
    tsr_status status = bytes ? tsr_cuda_enter(device) : TSR_OK;
    if (status != TSR_OK || bytes == 0)
        return status;
    return wait_after(device, "cuMemcpyHtoDAsync",
                      cuda->driver.memcpy_htod_async((tsr_cu_pointer)(uintptr_t)to, from, bytes, stream), stream);
}

tsr_status tsr_cuda_download(tsr_device *device, void *to, const void *from, size_t bytes, void *stream)
{
    const tsr_cuda *cuda = device->impl;
    tsr_status status = bytes ? tsr_cuda_enter(device) : TSR_OK;
    if (status != TSR_OK || bytes == 0)
        return status;
    return wait_after(device, "cuMemcpyDtoHAsync",
                      cuda->driver.memcpy_dtoh_async(to, (tsr_cu_pointer)(uintptr_t)from, bytes, stream), stream);
}

tsr_status tsr_cuda_synchronize(tsr_device *device, void *stream)
{
    tsr_status status = tsr_cuda_enter(device);
    if (status != TSR_OK)
        return status;
    return wait_after(device, "cuStreamSynchronize", TSR_CU_SUCCESS, stream);
}
