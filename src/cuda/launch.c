/* One launch: nothing here allocates, waits or reads the environment, so that a stream can be captured. */
#include "core/error.h"
#include "cuda/impl.h"

#define MOST_GRID_X  2147483647LL
#define MOST_GRID_YZ 65535LL

tsr_status tsr_cuda_launch(tsr_device *device, const tsr_launch *launch)
{
    const tsr_cuda *cuda = device->impl;
    const tsr_row *row = launch->row;
    const tsr_grid grid = tsr_row_grid(row, launch->args);
    void *parameters[] = {(void *)(uintptr_t)launch->args}; /* the driver reads it during the call */
    tsr_cu_result result;
    tsr_status status;

    if (!launch->loaded || launch->loaded->row != row)
        return tsr_fail(TSR_INTERNAL, "%s: %s is launched before it is loaded", device->id, row->instance);
    if (grid.x <= 0 || grid.y <= 0 || grid.z <= 0)
        return TSR_OK; /* D has no elements */
    if (grid.x > MOST_GRID_X || grid.y > MOST_GRID_YZ || grid.z > MOST_GRID_YZ)
        return tsr_fail(TSR_UNSUPPORTED,
                        "%s: %s would need %lld x %lld x %lld blocks, a grid has at most %lld x %lld x %lld",
                        device->id, row->instance, grid.x, grid.y, grid.z, MOST_GRID_X, MOST_GRID_YZ, MOST_GRID_YZ);
    status = tsr_cuda_enter(device);
    if (status != TSR_OK)
        return status;
    result = cuda->driver.launch_kernel(launch->loaded->function, (unsigned)grid.x, (unsigned)grid.y, (unsigned)grid.z,
                                        (unsigned)row->threads_x, (unsigned)row->threads_y, 1,
                                        (unsigned)row->smem_bytes, launch->stream, parameters, NULL);
    tsr_cuda_leave(device);
    return result == TSR_CU_SUCCESS ? TSR_OK : tsr_cuda_fail(device, "cuLaunchKernel", result);
}
