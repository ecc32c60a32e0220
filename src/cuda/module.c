/* Device code: which configs have some that runs here, and loading it. */
#include <stdio.h>
#include <string.h>

#include "core/device_code.h"
#include "core/error.h"
#include "cuda/code_file.h"
#include "cuda/impl.h"

/* Shared memory that every function may use without asking. */
#define SMEM_WITHOUT_OPT_IN_BYTES (48 * 1024)

/* Machine code runs on its own architecture and later ones of the same major version, but code for 9.0 on 9.0 alone,
 * and none of the desktop on Tegra (8.7). Elsewhere the driver compiles the PTX. */
static int needs_ptx(int arch)
{
    return !(arch == 90 || (arch / 10 == 8 && arch != 87));
}

int tsr_cuda_code_runs(const tsr_config *config, int arch, int driver_version, int toolkit_version, char *reason,
                       size_t reason_bytes)
{
    if (toolkit_version == 0)
        snprintf(reason, reason_bytes, "built without nvcc: no device code");
    else if (arch < config->min_arch)
        snprintf(reason, reason_bytes, "needs compute capability %d.%d, this GPU has %d.%d", config->min_arch / 10,
                 config->min_arch % 10, arch / 10, arch % 10);
    else if (config->exact_arch && arch != config->min_arch)
        snprintf(reason, reason_bytes, "is for compute capability %d.%d alone, this GPU has %d.%d",
                 config->min_arch / 10, config->min_arch % 10, arch / 10, arch % 10);
    else if (driver_version / 1000 < toolkit_version / 1000)
        snprintf(reason, reason_bytes, "driver %d.%d is older than the %d.0 that the device code needs",
                 driver_version / 1000, driver_version % 1000 / 10, toolkit_version / 1000);
    else if (needs_ptx(arch) && driver_version < toolkit_version)
        snprintf(reason, reason_bytes,
                 "driver %d.%d is older than the %d.%d that PTX for compute capability %d.%d needs",
                 driver_version / 1000, driver_version % 1000 / 10, toolkit_version / 1000, toolkit_version % 1000 / 10,
                 arch / 10, arch % 10);
    else
        return 1;
    return 0;
}

int tsr_cuda_has_code(const tsr_config *config, const tsr_device *device, char *reason, size_t reason_bytes)
{
    if (config->kind != TSR_CONFIG_CUDA) {
        snprintf(reason, reason_bytes, "runs on the CPU only");
        return 0;
    }
    if (!tsr_cuda_code_runs(config, device->cuda.arch, device->cuda.driver_version, tsr_toolkit_version, reason,
                            reason_bytes))
        return 0;
    if (tsr_find_device_code(config->instance))
        return 1;
    snprintf(reason, reason_bytes, "this build has no device code of it");
    return 0;
}

static tsr_status fail_load(tsr_device *device, const tsr_config *config, const char *call, tsr_cu_result result,
                            const char *compiler_log)
{
    const tsr_cuda *cuda = device->impl;
    char text[256];
    if (result != TSR_CU_NO_BINARY_FOR_GPU && result != TSR_CU_UNSUPPORTED_PTX_VERSION && !compiler_log[0])
        return tsr_cuda_fail(device, call, result);
    tsr_driver_describe(&cuda->driver, call, result, text, sizeof text);
    return tsr_fail(compiler_log[0] ? TSR_DRIVER_ERROR : TSR_UNSUPPORTED, "%s: %s: %s%s%.600s", device->id,
                    config->instance, text, compiler_log[0] ? ": " : "", compiler_log);
}

/* What a launch would otherwise trip over: resources of the function on this GPU. */
static tsr_status raise_limits(tsr_device *device, const tsr_config *config, tsr_cu_function function)
{
    const tsr_cuda *cuda = device->impl;
    const int threads = config->threads_x * config->threads_y;
    int most_threads = 0;
    tsr_cu_result result = cuda->driver.func_get_attribute(&most_threads, TSR_CU_FUNC_MAX_THREADS_PER_BLOCK, function);
    if (result != TSR_CU_SUCCESS)
        return tsr_cuda_fail(device, "cuFuncGetAttribute", result);
    if (threads > most_threads)
        return tsr_fail(TSR_UNSUPPORTED, "%s: %s has %d threads a block, its registers allow %d", device->id,
                        config->instance, threads, most_threads);
    if (config->smem_bytes > device->cuda.smem_per_block_bytes)
        return tsr_fail(TSR_UNSUPPORTED, "%s: %s needs %d bytes of shared memory a block, the GPU has %d", device->id,
                        config->instance, config->smem_bytes, device->cuda.smem_per_block_bytes);
    if (config->smem_bytes <= SMEM_WITHOUT_OPT_IN_BYTES)
        return TSR_OK;
    result = cuda->driver.func_set_attribute(function, TSR_CU_FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES, config->smem_bytes);
    return result == TSR_CU_SUCCESS ? TSR_OK : tsr_cuda_fail(device, "cuFuncSetAttribute", result);
}

/* Finds the module of out->image among the loaded ones, or makes it. */
static tsr_status find_module(tsr_device *device, tsr_loaded *out)
{
    const tsr_cuda *cuda = device->impl;
    char compiler_log[1024] = "";
    unsigned options[] = {TSR_CU_JIT_ERROR_LOG_BUFFER, TSR_CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {compiler_log, (void *)(uintptr_t)(sizeof compiler_log - 1)};
    for (const tsr_loaded *loaded = cuda->loaded; loaded; loaded = loaded->next)
        if (loaded->image == out->image) {
            out->module = loaded->module;
            out->has_shared = 1;
            return TSR_OK;
        }
    const tsr_cu_result result = cuda->driver.module_load_data_ex(&out->module, out->image, 2, options, values);
    return result == TSR_CU_SUCCESS ? TSR_OK
                                    : fail_load(device, out->config, "cuModuleLoadDataEx", result, compiler_log);
}

/* How many clusters of more than two CTAs run at the same time, which GPUs of one name differ in, as their GPCs have
 * different numbers of SMs: a cluster too many in a persistent grid would start when the first ones have ended. A
 * driver that does not tell leaves the number of tsr_config_clusters. */
static int count_clusters(const tsr_cuda *cuda, const tsr_config *config, tsr_cu_function function)
{
    const int cluster = tsr_config_cluster(config);
    int clusters = 0;
    if (!config->persistent || cluster <= 2 || !cuda->driver.occupancy_max_active_clusters)
        return 0;
    const tsr_cu_launch_config launch = {.grid_x = (unsigned)cluster,
                                         .grid_y = 1,
                                         .grid_z = 1,
                                         .block_x = (unsigned)config->threads_x,
                                         .block_y = (unsigned)config->threads_y,
                                         .block_z = 1,
                                         .smem_bytes = (unsigned)config->smem_bytes};
    const tsr_cu_result result =
        cuda->driver.occupancy_max_active_clusters(&clusters, function, (const tsr_cu_config *)(const void *)&launch);
    return result == TSR_CU_SUCCESS && clusters > 0 ? clusters : 0;
}

/* The module, the config's function, and all of that on the GPU now: by default the driver would load it at the first
 * launch, which must not happen while a graph is captured. */
static tsr_status load_function(tsr_device *device, tsr_loaded *out)
{
    const tsr_cuda *cuda = device->impl;
    const tsr_config *const config = out->config;
    tsr_status status = find_module(device, out);
    if (status != TSR_OK)
        return status;

    tsr_cu_result result = cuda->driver.module_get_function(&out->function, out->module, config->instance);
    if (result != TSR_CU_SUCCESS)
        status = fail_load(device, config, "cuModuleGetFunction", result, "");
    else if (cuda->driver.func_load && (result = cuda->driver.func_load(out->function)) != TSR_CU_SUCCESS)
        status = fail_load(device, config, "cuFuncLoad", result, "");
    else
        status = raise_limits(device, config, out->function);
    if (status == TSR_OK)
        out->clusters = count_clusters(cuda, config, out->function);
    if (status != TSR_OK && !out->has_shared)
        cuda->driver.module_unload(out->module);
    return status;
}

static tsr_status load_locked(tsr_device *device, const tsr_config *config, const void *image, const tsr_loaded **out)
{
    tsr_cuda *cuda = device->impl;
    tsr_loaded *loaded;
    tsr_status status;
    for (loaded = cuda->loaded; loaded; loaded = loaded->next)
        if (loaded->config == config) {
            *out = loaded;
            return TSR_OK;
        }
    loaded = tsr_alloc(cuda->allocator, _Alignof(tsr_loaded), sizeof *loaded);
    if (!loaded)
        return tsr_fail(TSR_OUT_OF_MEMORY, "%s: no host memory for %s", device->id, config->instance);
    memset(loaded, 0, sizeof *loaded);
    loaded->config = config;
    loaded->image = image;
    status = tsr_cuda_enter(device);
    if (status == TSR_OK) {
        status = load_function(device, loaded);
        tsr_cuda_leave(device);
    }
    if (status != TSR_OK) {
        tsr_free(cuda->allocator, loaded);
        return status;
    }
    loaded->next = cuda->loaded;
    cuda->loaded = loaded;
    *out = loaded;
    return TSR_OK;
}

tsr_status tsr_cuda_load_image(tsr_device *device, const tsr_config *config, const void *image, const tsr_loaded **out)
{
    tsr_cuda *cuda = device->impl;
    tsr_status status;
    pthread_mutex_lock(&cuda->lock);
    status = load_locked(device, config, image, out);
    pthread_mutex_unlock(&cuda->lock);
    return status;
}

tsr_status tsr_cuda_load(tsr_device *device, const tsr_config *config, const tsr_loaded **out)
{
    char reason[160];
    if (!tsr_cuda_has_code(config, device, reason, sizeof reason))
        return tsr_fail(TSR_UNSUPPORTED, "%s: %s: %s", device->id, config->instance, reason);
    const unsigned char *image;
    const tsr_status status =
        tsr_cuda_image(tsr_find_device_code(config->instance), needs_ptx(device->cuda.arch), &image);
    return status == TSR_OK ? tsr_cuda_load_image(device, config, image, out) : status;
}
