/* Page-locked memory, streams and events, for copies that overlap with kernels. */
#include "core/error.h"
#include "cuda/impl.h"

static tsr_status leave_with(tsr_device *device, const char *call, tsr_cu_result result)
{
    tsr_cuda_leave(device);
    return result == TSR_CU_SUCCESS ? TSR_OK : tsr_cuda_fail(device, call, result);
}

static tsr_status pin(tsr_device *device, size_t bytes, void **out)
{
    const tsr_cuda *cuda = device->impl;
    const tsr_status status = tsr_cuda_enter(device);
    return status == TSR_OK ? leave_with(device, "cuMemAllocHost", cuda->driver.mem_alloc_host(out, bytes)) : status;
}

static tsr_status open_stream(tsr_device *device, void **out)
{
    const tsr_cuda *cuda = device->impl;
    const tsr_status status = tsr_cuda_enter(device);
    tsr_cu_stream stream = NULL;
    if (status != TSR_OK)
        return status;
    const tsr_cu_result result = cuda->driver.stream_create(&stream, TSR_CU_STREAM_NON_BLOCKING);
    *out = stream;
    return leave_with(device, "cuStreamCreate", result);
}

static tsr_status open_event(tsr_device *device, void **out)
{
    const tsr_cuda *cuda = device->impl;
    const tsr_status status = tsr_cuda_enter(device);
    tsr_cu_event event = NULL;
    if (status != TSR_OK)
        return status;
    const tsr_cu_result result = cuda->driver.event_create(&event, TSR_CU_EVENT_DISABLE_TIMING);
    *out = event;
    return leave_with(device, "cuEventCreate", result);
}

/* What is closed is let go of whatever the driver says; in a dead context there is nothing left to let go of. */
static int enter_to_close(tsr_device *device)
{
    const tsr_cuda *cuda = device->impl;
    return !atomic_load(&cuda->fatal) && tsr_cuda_enter(device) == TSR_OK;
}

static void unpin(tsr_device *device, void *pointer)
{
    const tsr_cuda *cuda = device->impl;
    if (pointer && enter_to_close(device)) {
        cuda->driver.mem_free_host(pointer);
        tsr_cuda_leave(device);
    }
}

static void close_stream(tsr_device *device, void *stream)
{
    const tsr_cuda *cuda = device->impl;
    if (stream && enter_to_close(device)) {
        cuda->driver.stream_destroy(stream);
        tsr_cuda_leave(device);
    }
}

static void close_event(tsr_device *device, void *event)
{
    const tsr_cuda *cuda = device->impl;
    if (event && enter_to_close(device)) {
        cuda->driver.event_destroy(event);
        tsr_cuda_leave(device);
    }
}

static tsr_status upload(tsr_device *device, void *to, const void *pinned, size_t bytes, void *stream)
{
    const tsr_cuda *cuda = device->impl;
    const tsr_status status = tsr_cuda_enter(device);
    return status == TSR_OK
               ? leave_with(device, "cuMemcpyHtoDAsync",
                            cuda->driver.memcpy_htod_async((tsr_cu_pointer)(uintptr_t)to, pinned, bytes, stream))
               : status;
}

static tsr_status download(tsr_device *device, void *pinned, const void *from, size_t bytes, void *stream)
{
    const tsr_cuda *cuda = device->impl;
    const tsr_status status = tsr_cuda_enter(device);
    return status == TSR_OK
               ? leave_with(device, "cuMemcpyDtoHAsync",
                            cuda->driver.memcpy_dtoh_async(pinned, (tsr_cu_pointer)(uintptr_t)from, bytes, stream))
               : status;
}

static tsr_status record(tsr_device *device, void *event, void *stream)
{
    const tsr_cuda *cuda = device->impl;
    const tsr_status status = tsr_cuda_enter(device);
    return status == TSR_OK ? leave_with(device, "cuEventRecord", cuda->driver.event_record(event, stream)) : status;
}

static tsr_status follow(tsr_device *device, void *stream, void *event)
{
    const tsr_cuda *cuda = device->impl;
    const tsr_status status = tsr_cuda_enter(device);
    return status == TSR_OK ? leave_with(device, "cuStreamWaitEvent", cuda->driver.stream_wait_event(stream, event, 0))
                            : status;
}

static tsr_status wait(tsr_device *device, void *event)
{
    const tsr_cuda *cuda = device->impl;
    const tsr_status status = tsr_cuda_enter(device);
    return status == TSR_OK ? leave_with(device, "cuEventSynchronize", cuda->driver.event_synchronize(event)) : status;
}

const tsr_async tsr_cuda_async = {
    .pin = pin,
    .unpin = unpin,
    .open_stream = open_stream,
    .close_stream = close_stream,
    .open_event = open_event,
    .close_event = close_event,
    .upload = upload,
    .download = download,
    .record = record,
    .follow = follow,
    .wait = wait,
};
