/* One launch: nothing here allocates, waits or reads the environment, so that a stream can be captured. */
#include <string.h>

#include "core/dtype.h"
#include "core/error.h"
#include "core/tensor_map.h"
#include "core/tensor_spec.h"
#include "cuda/impl.h"

#define MOST_GRID_X  2147483647LL
#define MOST_GRID_YZ 65535LL

static unsigned tensor_swizzle(int bytes)
{
    return bytes == 128  ? TSR_CU_TENSOR_SWIZZLE_128B
           : bytes == 64 ? TSR_CU_TENSOR_SWIZZLE_64B
           : bytes == 32 ? TSR_CU_TENSOR_SWIZZLE_32B
                         : TSR_CU_TENSOR_SWIZZLE_NONE;
}

/* The driver refuses maps that break its rules; the plan has been held to them (plan/applicable.c). */
static tsr_status encode(tsr_device *device, const tsr_tensor_spec *spec, tsr_tensor_map *out)
{
    const tsr_cuda *cuda = device->impl;
    uint64_t dims[TSR_TENSOR_MOST_RANK] = {0}, strides[TSR_TENSOR_MOST_RANK] = {0};
    uint32_t box[TSR_TENSOR_MOST_RANK] = {0}, steps[TSR_TENSOR_MOST_RANK] = {0};
    for (int i = 0; i < spec->rank; i++) {
        dims[i] = (uint64_t)spec->dims[i];
        strides[i] = i + 1 < spec->rank ? (uint64_t)spec->strides_bytes[i] : 0;
        box[i] = (uint32_t)spec->box[i];
        steps[i] = 1;
    }
    /* Into L2, misses may bring more than was asked for. That never helped on an H200: with 256 bytes rows that do not
     * begin with a line cost 11 to 13% in large products, and streams of aligned ones 4 to 12% (perf/LOG). */
    const tsr_cu_result result = cuda->driver.tensor_map_encode_tiled(
        (tsr_cu_tensor_map *)(void *)out, tsr_dtype_tensor_type(spec->dtype), (unsigned)spec->rank,
        (void *)(uintptr_t)spec->base, dims, strides, box, steps, TSR_CU_TENSOR_INTERLEAVE_NONE,
        tensor_swizzle(spec->swizzle_bytes), TSR_CU_TENSOR_L2_PROMOTION_NONE, TSR_CU_TENSOR_FILL_ZEROS);
    return result == TSR_CU_SUCCESS ? TSR_OK : tsr_cuda_fail(device, "cuTensorMapEncodeTiled", result);
}

/* The maps that a config with `tma` takes beside its arguments. Encoding runs on the CPU alone but wants a current
 * context (error 201 without one, driver 580). */
static tsr_status encode_all(tsr_device *device, const tsr_launch *launch, tsr_tensor_maps *out)
{
    tsr_tensor_map *const maps[4] = {&out->a, &out->b, &out->c, &out->d};
    tsr_tensor_spec specs[4];
    memset(out, 0, sizeof *out);
    tsr_config_tensor_specs(launch->config, launch->args, specs);
    for (int i = 0; i < 4; i++) {
        const tsr_status status = specs[i].base ? encode(device, &specs[i], maps[i]) : TSR_OK;
        if (status != TSR_OK)
            return status;
    }
    return TSR_OK;
}

/* Launches the config's grid. Kernels that choose their clusters at launch, or may start before the grid in front of
 * them has ended (GPUs before Hopper cannot do that), say so by attributes. */
static tsr_cu_result start(const tsr_device *device, const tsr_launch *launch, const tsr_grid *grid, void **parameters)
{
    enum { FIRST_EARLY_ARCH = 90 };
    const tsr_cuda *cuda = device->impl;
    const tsr_config *config = launch->config;
    tsr_cu_launch_attribute attributes[2] = {{0}};
    unsigned count = 0;
    if (launch->cluster > 1) {
        attributes[count].id = TSR_CU_LAUNCH_CLUSTER_DIMENSION;
        attributes[count].value.cluster.x = (unsigned)launch->cluster;
        attributes[count].value.cluster.y = attributes[count].value.cluster.z = 1;
        count++;
    }
    if (config->dependent_launch && device->cuda.arch >= FIRST_EARLY_ARCH) {
        attributes[count].id = TSR_CU_LAUNCH_PROGRAMMATIC_STREAM_SERIALIZATION;
        attributes[count].value.allowed = 1;
        count++;
    }
    const tsr_cu_launch_config launch_config = {.grid_x = (unsigned)grid->x,
                                                .grid_y = (unsigned)grid->y,
                                                .grid_z = (unsigned)grid->z,
                                                .block_x = (unsigned)config->threads_x,
                                                .block_y = (unsigned)config->threads_y,
                                                .block_z = 1,
                                                .smem_bytes = (unsigned)config->smem_bytes,
                                                .stream = launch->stream,
                                                .attributes = count ? attributes : NULL,
                                                .attribute_count = count};
    return cuda->driver.launch_kernel_ex((const tsr_cu_config *)(const void *)&launch_config, launch->loaded->function,
                                         parameters, NULL);
}

/* The schedule's grid, or the config's, of no more clusters than run at the same time. */
static tsr_grid grid_of(const tsr_device *device, const tsr_launch *launch)
{
    if (launch->grid.x > 0)
        return launch->grid;
    tsr_grid grid = tsr_config_grid(launch->config, launch->args, device->cuda.sm_count);
    const long long most = (long long)launch->loaded->clusters * tsr_config_cluster(launch->config);
    if (most > 0 && grid.x > most)
        grid.x = most;
    return grid;
}

tsr_status tsr_cuda_launch(tsr_device *device, const tsr_launch *launch)
{
    const tsr_config *config = launch->config;
    tsr_grid grid;
    tsr_tensor_maps maps;
    /* The driver reads as many as the kernel takes, during the call. */
    const tsr_scaling none = {.type_bias = launch->args ? launch->args->type_d : TSR_TYPE_NONE};
    void *parameters[] = {launch->copy         ? (void *)(uintptr_t)launch->copy
                          : launch->reduce     ? (void *)(uintptr_t)launch->reduce
                          : launch->microbench ? (void *)(uintptr_t)launch->microbench
                                               : (void *)(uintptr_t)launch->args,
                          &maps, (void *)(uintptr_t)(launch->scaling ? launch->scaling : &none)};
    tsr_cu_result result;
    tsr_status status;

    if (!launch->loaded || launch->loaded->config != config)
        return tsr_fail(TSR_INTERNAL, "%s: %s is launched before it is loaded", device->id, config->instance);
    grid = grid_of(device, launch);
    if (grid.x <= 0 || grid.y <= 0 || grid.z <= 0)
        return TSR_OK; /* D has no elements */
    if (grid.x > MOST_GRID_X || grid.y > MOST_GRID_YZ || grid.z > MOST_GRID_YZ)
        return tsr_fail(TSR_UNSUPPORTED,
                        "%s: %s would need %lld x %lld x %lld blocks, a grid has at most %lld x %lld x %lld",
                        device->id, config->instance, grid.x, grid.y, grid.z, MOST_GRID_X, MOST_GRID_YZ, MOST_GRID_YZ);
    status = tsr_cuda_enter(device);
    if (status != TSR_OK)
        return status;
    if (config->scaled && !config->tma)
        memset(&maps, 0, sizeof maps); /* passed, and not read */
    status = config->tma ? encode_all(device, launch, &maps) : TSR_OK;
    if (status != TSR_OK) {
        tsr_cuda_leave(device);
        return status;
    }
    result = start(device, launch, &grid, parameters);
    tsr_cuda_leave(device);
    return result == TSR_CU_SUCCESS ? TSR_OK : tsr_cuda_fail(device, "cuLaunchKernelEx", result);
}
