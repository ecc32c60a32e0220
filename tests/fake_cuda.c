#define FAKE_CUDA_LIBRARY
#include "fake_cuda.h"

#include "core/tensor_map.h"

#include <pthread.h>
#include <time.h>

#define EXPORT        __attribute__((visibility("default")))
#define MOST_CONTEXTS 16

static fake_cuda state;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char primary_bytes, foreign_bytes, function_bytes, microbench_bytes, handle_bytes;
#define PRIMARY ((tsr_cu_context)(void *)&primary_bytes)
#define FOREIGN ((tsr_cu_context)(void *)&foreign_bytes)
static _Thread_local tsr_cu_context stack[MOST_CONTEXTS];
static _Thread_local int depth;

/* Also at the start, for programs that do not know that this is no real library. */
__attribute__((constructor)) static void reset(void)
{
    static const int h200[][2] = {{1, 1024},      {13, 1980000}, {16, 132},    {36, 3201000}, {37, 6144},
                                  {38, 62914560}, {39, 2048},    {75, 9},      {76, 0},       {81, 233472},
                                  {82, 65536},    {87, 2},       {97, 232448}, {106, 32}};
    memset(&state, 0, sizeof state);
    state.version = 13000;
    state.device_count = getenv("FAKE_CUDA_DEVICES") ? atoi(getenv("FAKE_CUDA_DEVICES")) : 1;
    state.any_function = getenv("FAKE_CUDA_ANY_FUNCTION") != NULL;
    state.has_host_time = getenv("FAKE_CUDA_HOST_TIME") != NULL;
    state.name = "NVIDIA H200";
    state.bus_id = "0000:FF:1F.0";
    state.memory_bytes = (size_t)140 << 30;
    state.function_most_threads = 1024;
    state.clusters = 15;
    for (size_t i = 0; i < sizeof h200 / sizeof h200[0]; i++)
        state.attributes[h200[i][0]] = h200[i][1];
}

static void push(tsr_cu_context context)
{
    if (depth < MOST_CONTEXTS)
        stack[depth++] = context;
}

static void pop(void)
{
    depth--;
}

static tsr_cu_context current(void)
{
    return depth ? stack[depth - 1] : NULL;
}

static int stack_depth(void)
{
    return depth;
}

EXPORT fake_cuda_access fake_cuda_access_points = {&state, reset, FOREIGN, PRIMARY, push, pop, current, stack_depth};

static double host_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

/* Start of every call, with the lock held until `end`. */
static unsigned begin(const char *call, int needs_context)
{
    pthread_mutex_lock(&lock);
    if (needs_context && current() != PRIMARY) {
        state.context_errors++;
        return 201;
    }
    if (state.fail_call && strcmp(state.fail_call, call) == 0 && state.seen_failing++ >= state.fail_from)
        return state.fail_result;
    return TSR_CU_SUCCESS;
}

static unsigned end(unsigned result)
{
    pthread_mutex_unlock(&lock);
    return result;
}

/* A call: BODY runs if nothing is to fail. */
#define CALL(symbol, needs_context, parameters, ...)     \
    static unsigned fake_##symbol parameters             \
    {                                                    \
        unsigned result = begin(#symbol, needs_context); \
        if (result == TSR_CU_SUCCESS) {                  \
            __VA_ARGS__                                  \
        }                                                \
        return end(result);                              \
    }

CALL(cuInit, 0, (unsigned flags), if (flags) result = 1;)
CALL(cuDeviceGetCount, 0, (int *count), *count = state.device_count;)
CALL(cuDeviceGet, 0, (tsr_cu_device * device, int ordinal), *device = 40 + ordinal;)
CALL(cuDeviceGetName, 0, (char *name, int bytes, tsr_cu_device device), (void)device;
     snprintf(name, (size_t)bytes, "%s", state.name);)
CALL(cuDeviceGetAttribute, 0, (int *value, unsigned attribute, tsr_cu_device device),
     if (device < 40 || device >= 40 + state.device_count) result = 101;
     else *value = state.attributes[attribute];)
CALL(cuDeviceGetPCIBusId, 0, (char *id, int bytes, tsr_cu_device device), (void)device;
     snprintf(id, (size_t)bytes, "%s", state.bus_id);)
CALL(cuDeviceTotalMem, 0, (size_t * bytes, tsr_cu_device device), (void)device; *bytes = state.memory_bytes;)
CALL(cuDevicePrimaryCtxRetain, 0, (tsr_cu_context * context, tsr_cu_device device), (void)device; state.retained++;
     *context = PRIMARY;)
CALL(cuDevicePrimaryCtxRelease, 0, (tsr_cu_device device), (void)device; state.retained--;)
CALL(cuCtxPushCurrent, 0, (tsr_cu_context context), push(context);)
CALL(cuCtxPopCurrent, 1, (tsr_cu_context * context), *context = stack[--depth];)
CALL(cuCtxSynchronize, 1, (void), state.synchronizes++;)

static unsigned fake_cuModuleLoadDataEx(tsr_cu_module *module, const void *image, unsigned count, unsigned *options,
                                        void **values)
{
    unsigned result = begin("cuModuleLoadDataEx", 1);
    if (result == TSR_CU_SUCCESS) {
        state.modules++;
        state.module_loads++;
        *module = (tsr_cu_module)(uintptr_t)image;
    } else if (state.compiler_log)
        for (unsigned i = 0; i < count; i++)
            if (options[i] == TSR_CU_JIT_ERROR_LOG_BUFFER)
                strcpy(values[i], state.compiler_log);
    return end(result);
}

CALL(cuModuleUnload, 1, (tsr_cu_module module), (void)module; state.modules--;)
CALL(cuModuleGetFunction, 1, (tsr_cu_function * function, tsr_cu_module module, const char *name),
     if (!state.any_function && memcmp((const char *)(void *)module, name, strlen(name) + 1) != 0) result = 500;
     else *function = (tsr_cu_function)(void *)(strncmp(name, "microbench_", 11) == 0 ? &microbench_bytes
                                                                                      : &function_bytes);)
CALL(cuFuncLoad, 1, (tsr_cu_function function), (void)function; state.function_loads++;)
CALL(cuOccupancyMaxActiveClusters, 1, (int *clusters, tsr_cu_function function, const tsr_cu_config *config),
     (void)function;
     state.clusters_asked_of = *(const tsr_cu_launch_config *)(const void *)config; *clusters = state.clusters;)
CALL(cuFuncGetAttribute, 1, (int *value, unsigned attribute, tsr_cu_function function), (void)function;
     *value = attribute == TSR_CU_FUNC_MAX_THREADS_PER_BLOCK ? state.function_most_threads : -1;)
CALL(cuFuncSetAttribute, 1, (tsr_cu_function function, unsigned attribute, int value), (void)function;
     if (attribute == TSR_CU_FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES) state.raised_smem_bytes = value;)

static unsigned fake_cuLaunchKernelEx(const tsr_cu_config *driver_config, tsr_cu_function function, void **parameters,
                                      void **extra)
{
    const tsr_cu_launch_config *config = (const void *)driver_config;
    unsigned result = begin("cuLaunchKernelEx", 1);
    if (result == TSR_CU_SUCCESS && (extra || config->attribute_count > FAKE_ATTRIBUTES))
        result = 1;
    if (result == TSR_CU_SUCCESS) {
        state.launches++;
        state.launch = (fake_launch){.function = function,
                                     .grid = {config->grid_x, config->grid_y, config->grid_z},
                                     .block = {config->block_x, config->block_y, config->block_z},
                                     .smem_bytes = config->smem_bytes,
                                     .stream = config->stream,
                                     .attribute_count = config->attribute_count};
        if (config->attribute_count)
            memcpy(state.launch.attributes, config->attributes, config->attribute_count * sizeof *config->attributes);
        if (function == (tsr_cu_function)(void *)&microbench_bytes)
            state.launch.microbench = *(const tsr_microbench_args *)parameters[0];
        else
            memcpy(&state.launch.args, parameters[0], sizeof state.launch.args);
        if (state.kernel)
            state.kernel(&state.launch.args);
    }
    return end(result);
}

/* What was there before is anything but zeros. */
static void *new_memory(size_t bytes)
{
    void *const memory = aligned_alloc(256, bytes);
    if (memory)
        memset(memory, 0xa5, bytes < 4096 ? bytes : 4096);
    return memory;
}

CALL(cuMemGetInfo, 1, (size_t * free_bytes, size_t *total_bytes), *free_bytes = 1000;
     *total_bytes = state.memory_bytes;)
CALL(cuMemAlloc, 1, (tsr_cu_pointer * pointer, size_t bytes), state.allocations++; state.last_alloc_bytes = bytes;
     *pointer = (tsr_cu_pointer)(uintptr_t)new_memory((bytes + 255) / 256 * 256);) /* as a driver aligns */
CALL(cuMemFree, 1, (tsr_cu_pointer pointer), state.allocations--; free((void *)(uintptr_t)pointer);)
CALL(cuMemAllocHost, 1, (void **pointer, size_t bytes), state.pinned++; *pointer = malloc(bytes);)
CALL(cuMemFreeHost, 1, (void *pointer), state.pinned--; free(pointer);)
CALL(cuStreamWaitEvent, 1, (tsr_cu_stream stream, tsr_cu_event event, unsigned flags), (void)stream; (void)event;
     if (flags) result = 1;)
CALL(cuMemcpyHtoDAsync, 1, (tsr_cu_pointer to, const void *from, size_t bytes, tsr_cu_stream stream), (void)stream;
     memcpy((void *)(uintptr_t)to, from, bytes);)
CALL(cuMemcpyDtoHAsync, 1, (void *to, tsr_cu_pointer from, size_t bytes, tsr_cu_stream stream), (void)stream;
     memcpy(to, (const void *)(uintptr_t)from, bytes);)
CALL(cuMemsetD8Async, 1, (tsr_cu_pointer to, unsigned char value, size_t bytes, tsr_cu_stream stream), (void)stream;
     memset((void *)(uintptr_t)to, value, bytes);)
CALL(cuStreamCreate, 1, (tsr_cu_stream * stream, unsigned flags), (void)flags; state.streams++;
     *stream = (tsr_cu_stream)(void *)&handle_bytes;)
CALL(cuStreamDestroy, 1, (tsr_cu_stream stream), (void)stream; state.streams--;)
CALL(cuStreamSynchronize, 1, (tsr_cu_stream stream), (void)stream; state.synchronizes++;)
CALL(cuEventCreate, 1, (tsr_cu_event * event, unsigned flags), (void)flags; state.events++;
     *event = (tsr_cu_event)(void *)&handle_bytes;)
CALL(cuEventDestroy, 1, (tsr_cu_event event), (void)event; state.events--;)
CALL(cuEventRecord, 1, (tsr_cu_event event, tsr_cu_stream stream), (void)event; (void)stream;
     state.recorded_ms[0] = state.recorded_ms[1]; state.recorded_ms[1] = host_ms();)
CALL(cuEventSynchronize, 1, (tsr_cu_event event), (void)event; state.synchronizes++;)
CALL(cuTensorMapEncodeTiled, 1,
     (tsr_cu_tensor_map * map, unsigned type, uint32_t rank, void *base, const uint64_t *dims,
      const uint64_t *strides_bytes, const uint32_t *box, const uint32_t *element_strides, unsigned interleave,
      unsigned swizzle, unsigned l2_promotion, unsigned fill),
     (void)dims;
     (void)strides_bytes; (void)element_strides; (void)interleave; (void)l2_promotion; (void)fill; (void)rank;
     state.maps++; ((tsr_tensor_map *)(void *)map)->opaque[0] = (unsigned long long)(uintptr_t)base;
     ((tsr_tensor_map *)(void *)map)->opaque[1] = (unsigned long long)type << 32 | swizzle;
     ((tsr_tensor_map *)(void *)map)->opaque[2] = (unsigned long long)box[0] << 32 | box[1];)
CALL(cuEventElapsedTime, 1, (float *milliseconds, tsr_cu_event start, tsr_cu_event stop), (void)start; (void)stop;
     *milliseconds = state.has_host_time ? (float)(state.recorded_ms[1] - state.recorded_ms[0]) : 1.5f;)

CALL(cuStreamBeginCapture, 1, (tsr_cu_stream stream, unsigned mode), (void)mode;
     if (!stream || state.capturing) result = 900; else state.capturing = 1;)
CALL(cuStreamEndCapture, 1, (tsr_cu_stream stream, tsr_cu_graph *graph), (void)stream;
     if (!state.capturing) result = 901; else state.graphs++; state.capturing = 0;
     *graph = (tsr_cu_graph)(void *)&handle_bytes;)
CALL(cuGraphInstantiateWithFlags, 1, (tsr_cu_graph_exec * exec, tsr_cu_graph graph, unsigned long long flags),
     (void)graph;
     (void)flags; state.graphs++; *exec = (tsr_cu_graph_exec)(void *)&handle_bytes;)
CALL(cuGraphLaunch, 1, (tsr_cu_graph_exec exec, tsr_cu_stream stream), (void)exec; (void)stream;
     state.graph_launches++;)
CALL(cuGraphExecDestroy, 1, (tsr_cu_graph_exec exec), (void)exec; state.graphs--;)
CALL(cuGraphDestroy, 1, (tsr_cu_graph graph), (void)graph; state.graphs--;)

EXPORT unsigned cuDriverGetVersion(int *version);
EXPORT unsigned cuDriverGetVersion(int *version)
{
    const unsigned result = begin("cuDriverGetVersion", 0);
    *version = state.version;
    return end(result);
}

EXPORT unsigned cuGetErrorName(unsigned result, const char **text);
EXPORT unsigned cuGetErrorName(unsigned result, const char **text)
{
    *text = result == 2     ? "CUDA_ERROR_OUT_OF_MEMORY"
            : result == 201 ? "CUDA_ERROR_INVALID_CONTEXT"
            : result == 218 ? "CUDA_ERROR_INVALID_PTX"
            : result == 500 ? "CUDA_ERROR_NOT_FOUND"
            : result == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS"
            : result == 701 ? "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"
            : result == 803 ? "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"
                            : NULL;
    return *text ? 0 : 1;
}

EXPORT unsigned cuGetErrorString(unsigned result, const char **text);
EXPORT unsigned cuGetErrorString(unsigned result, const char **text)
{
    const char *name;
    *text = "words of the driver";
    return cuGetErrorName(result, &name);
}

EXPORT unsigned cuGetProcAddress_v2(const char *symbol, void **address, int version, uint64_t flags, unsigned *status);
EXPORT unsigned cuGetProcAddress_v2(const char *symbol, void **address, int version, uint64_t flags, unsigned *status)
{
#define fake_cuGetErrorName                          cuGetErrorName
#define fake_cuGetErrorString                        cuGetErrorString
#define ENTRY(member, name, parameters)              {#name, (void *)fake_##name, TSR_DRIVER_OLDEST},
#define NEWER_ENTRY(member, name, parameters, since) {#name, (void *)fake_##name, since},
    static const struct {
        const char *name;
        void *address;
        int since;
    } table[] = {TSR_DRIVER_CALLS(ENTRY) TSR_DRIVER_NEWER_CALLS(NEWER_ENTRY)};
    *status = 1;
    *address = NULL;
    if (flags != TSR_CU_LEGACY_STREAM)
        state.proc_errors++;
    if (state.missing_call && strcmp(state.missing_call, symbol) == 0)
        return 0; /* the driver's way: success, and the status says that it found nothing */
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (strcmp(table[i].name, symbol) == 0 && version == table[i].since && state.version >= table[i].since) {
            *address = table[i].address;
            *status = 0;
            return 0;
        }
    state.proc_errors++;
    return 500;
}
