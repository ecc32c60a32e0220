/* The CUDA driver, found at run time: this file declares the part of its interface that Tessera calls, so that building
 * the host library needs no CUDA header. The types are those of the driver (tests/unit_cuda_abi.c compares them with
 * cuda.h where that is installed). */
#ifndef TSR_CUDA_DRIVER_H
#define TSR_CUDA_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#include "tessera.h"

typedef unsigned int tsr_cu_result;
typedef int tsr_cu_device;
typedef unsigned long long tsr_cu_pointer;
typedef struct CUctx_st *tsr_cu_context;
typedef struct CUmod_st *tsr_cu_module;
typedef struct CUfunc_st *tsr_cu_function;
typedef struct CUstream_st *tsr_cu_stream;
typedef struct CUevent_st *tsr_cu_event;
typedef struct CUtensorMap_st tsr_cu_tensor_map; /* a tsr_tensor_map */
typedef struct CUlaunchConfig_st tsr_cu_config;  /* a tsr_cu_launch_config */
typedef struct CUgraph_st *tsr_cu_graph;
typedef struct CUgraphExec_st *tsr_cu_graph_exec;

/* Results that are told apart. */
enum {
    TSR_CU_SUCCESS = 0,
    TSR_CU_OUT_OF_MEMORY = 2,
    TSR_CU_STUB_LIBRARY = 34,
    TSR_CU_NO_DEVICE = 100,
    TSR_CU_NO_BINARY_FOR_GPU = 209,
    TSR_CU_ECC_UNCORRECTABLE = 214,
    TSR_CU_NVLINK_UNCORRECTABLE = 220,
    TSR_CU_UNSUPPORTED_PTX_VERSION = 222,
    TSR_CU_CONTAINED = 226,
    TSR_CU_ILLEGAL_ADDRESS = 700,
    TSR_CU_LAUNCH_TIMEOUT = 702,
    TSR_CU_CONTEXT_IS_DESTROYED = 709,
    TSR_CU_ASSERT = 710,
    TSR_CU_HARDWARE_STACK_ERROR = 714,
    TSR_CU_ILLEGAL_INSTRUCTION = 715,
    TSR_CU_MISALIGNED_ADDRESS = 716,
    TSR_CU_INVALID_ADDRESS_SPACE = 717,
    TSR_CU_INVALID_PC = 718,
    TSR_CU_LAUNCH_FAILED = 719
};

/* Device attributes. */
enum {
    TSR_CU_MAX_THREADS_PER_BLOCK = 1,
    TSR_CU_CLOCK_RATE = 13,
    TSR_CU_MULTIPROCESSOR_COUNT = 16,
    TSR_CU_MEMORY_CLOCK_RATE = 36,
    TSR_CU_GLOBAL_MEMORY_BUS_WIDTH = 37,
    TSR_CU_L2_CACHE_SIZE = 38,
    TSR_CU_MAX_THREADS_PER_MULTIPROCESSOR = 39,
    TSR_CU_COMPUTE_CAPABILITY_MAJOR = 75,
    TSR_CU_COMPUTE_CAPABILITY_MINOR = 76,
    TSR_CU_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = 81,
    TSR_CU_MAX_REGISTERS_PER_MULTIPROCESSOR = 82,
    TSR_CU_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO = 87,
    TSR_CU_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
    TSR_CU_MAX_BLOCKS_PER_MULTIPROCESSOR = 106
};

/* Function attributes, JIT options, flags. */
enum {
    TSR_CU_FUNC_MAX_THREADS_PER_BLOCK = 0,
    TSR_CU_FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
    TSR_CU_JIT_ERROR_LOG_BUFFER = 5,
    TSR_CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6,
    TSR_CU_EVENT_DEFAULT = 0,
    TSR_CU_EVENT_DISABLE_TIMING = 2,
    TSR_CU_STREAM_NON_BLOCKING = 1,
    TSR_CU_CAPTURE_THREAD_LOCAL = 1,
    TSR_CU_LEGACY_STREAM = 1 /* cuGetProcAddress: a NULL stream is the legacy default stream */
};

/* One of a launch's attributes: CUlaunchAttribute. */
typedef struct tsr_cu_launch_attribute {
    unsigned id;
    char unused[4];
    union {
        struct {
            unsigned x, y, z;
        } cluster;
        int allowed;
        char bytes[64];
    } value;
} tsr_cu_launch_attribute;
enum { TSR_CU_LAUNCH_CLUSTER_DIMENSION = 4, TSR_CU_LAUNCH_PROGRAMMATIC_STREAM_SERIALIZATION = 6 };

/* CUlaunchConfig */
typedef struct tsr_cu_launch_config {
    unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, smem_bytes;
    tsr_cu_stream stream;
    tsr_cu_launch_attribute *attributes;
    unsigned attribute_count;
} tsr_cu_launch_config;

/* X(member, symbol, parameters): every call that must be there. */
#define TSR_DRIVER_CALLS(X)                                                                                            \
    X(init, cuInit, (unsigned flags))                                                                                  \
    X(get_error_name, cuGetErrorName, (tsr_cu_result result, const char **text))                                       \
    X(get_error_string, cuGetErrorString, (tsr_cu_result result, const char **text))                                   \
    X(device_get_count, cuDeviceGetCount, (int *count))                                                                \
    X(device_get, cuDeviceGet, (tsr_cu_device * device, int ordinal))                                                  \
    X(device_get_name, cuDeviceGetName, (char *name, int bytes, tsr_cu_device device))                                 \
    X(device_get_attribute, cuDeviceGetAttribute, (int *value, unsigned attribute, tsr_cu_device device))              \
    X(device_get_pci_bus_id, cuDeviceGetPCIBusId, (char *id, int bytes, tsr_cu_device device))                         \
    X(device_total_mem, cuDeviceTotalMem, (size_t * bytes, tsr_cu_device device))                                      \
    X(primary_ctx_retain, cuDevicePrimaryCtxRetain, (tsr_cu_context * context, tsr_cu_device device))                  \
    X(primary_ctx_release, cuDevicePrimaryCtxRelease, (tsr_cu_device device))                                          \
    X(ctx_push_current, cuCtxPushCurrent, (tsr_cu_context context))                                                    \
    X(ctx_pop_current, cuCtxPopCurrent, (tsr_cu_context * context))                                                    \
    X(ctx_synchronize, cuCtxSynchronize, (void))                                                                       \
    X(module_load_data_ex, cuModuleLoadDataEx,                                                                         \
      (tsr_cu_module * module, const void *image, unsigned count, unsigned *options, void **values))                   \
    X(module_unload, cuModuleUnload, (tsr_cu_module module))                                                           \
    X(module_get_function, cuModuleGetFunction, (tsr_cu_function * function, tsr_cu_module module, const char *name))  \
    X(func_get_attribute, cuFuncGetAttribute, (int *value, unsigned attribute, tsr_cu_function function))              \
    X(func_set_attribute, cuFuncSetAttribute, (tsr_cu_function function, unsigned attribute, int value))               \
    X(launch_kernel_ex, cuLaunchKernelEx,                                                                              \
      (const tsr_cu_config *config, tsr_cu_function function, void **parameters, void **extra))                        \
    X(mem_get_info, cuMemGetInfo, (size_t * free_bytes, size_t * total_bytes))                                         \
    X(mem_alloc, cuMemAlloc, (tsr_cu_pointer * pointer, size_t bytes))                                                 \
    X(mem_free, cuMemFree, (tsr_cu_pointer pointer))                                                                   \
    X(mem_alloc_host, cuMemAllocHost, (void **pointer, size_t bytes))                                                  \
    X(mem_free_host, cuMemFreeHost, (void *pointer))                                                                   \
    X(stream_wait_event, cuStreamWaitEvent, (tsr_cu_stream stream, tsr_cu_event event, unsigned flags))                \
    X(memcpy_htod_async, cuMemcpyHtoDAsync, (tsr_cu_pointer to, const void *from, size_t bytes, tsr_cu_stream stream)) \
    X(memcpy_dtoh_async, cuMemcpyDtoHAsync, (void *to, tsr_cu_pointer from, size_t bytes, tsr_cu_stream stream))       \
    X(memset_async, cuMemsetD8Async, (tsr_cu_pointer to, unsigned char value, size_t bytes, tsr_cu_stream stream))     \
    X(stream_create, cuStreamCreate, (tsr_cu_stream * stream, unsigned flags))                                         \
    X(stream_destroy, cuStreamDestroy, (tsr_cu_stream stream))                                                         \
    X(stream_synchronize, cuStreamSynchronize, (tsr_cu_stream stream))                                                 \
    X(event_create, cuEventCreate, (tsr_cu_event * event, unsigned flags))                                             \
    X(event_destroy, cuEventDestroy, (tsr_cu_event event))                                                             \
    X(event_record, cuEventRecord, (tsr_cu_event event, tsr_cu_stream stream))                                         \
    X(event_synchronize, cuEventSynchronize, (tsr_cu_event event))                                                     \
    X(tensor_map_encode_tiled, cuTensorMapEncodeTiled,                                                                 \
      (tsr_cu_tensor_map * map, unsigned type, uint32_t rank, void *base, const uint64_t *dims,                        \
       const uint64_t *strides_bytes, const uint32_t *box, const uint32_t *element_strides, unsigned interleave,       \
       unsigned swizzle, unsigned l2_promotion, unsigned fill))                                                        \
    X(event_elapsed_time, cuEventElapsedTime, (float *milliseconds, tsr_cu_event start, tsr_cu_event end))

/* Values of a tensor map's fields. */
enum {
    TSR_CU_TENSOR_INTERLEAVE_NONE = 0,
    TSR_CU_TENSOR_SWIZZLE_NONE = 0,
    TSR_CU_TENSOR_SWIZZLE_32B = 1,
    TSR_CU_TENSOR_SWIZZLE_64B = 2,
    TSR_CU_TENSOR_SWIZZLE_128B = 3,
    TSR_CU_TENSOR_L2_PROMOTION_NONE = 0,
    TSR_CU_TENSOR_FILL_ZEROS = 0
};

/* Calls of newer drivers; NULL where the driver lacks them. */
#define TSR_DRIVER_NEWER_CALLS(X)                                                                  \
    X(func_load, cuFuncLoad, (tsr_cu_function function), 12040)                                    \
    X(occupancy_max_active_clusters, cuOccupancyMaxActiveClusters,                                 \
      (int *clusters, tsr_cu_function function, const tsr_cu_config *config), 12000)               \
    X(stream_begin_capture, cuStreamBeginCapture, (tsr_cu_stream stream, unsigned mode), 12000)    \
    X(stream_end_capture, cuStreamEndCapture, (tsr_cu_stream stream, tsr_cu_graph * graph), 12000) \
    X(graph_instantiate, cuGraphInstantiateWithFlags,                                              \
      (tsr_cu_graph_exec * exec, tsr_cu_graph graph, unsigned long long flags), 12000)             \
    X(graph_launch, cuGraphLaunch, (tsr_cu_graph_exec exec, tsr_cu_stream stream), 12000)          \
    X(graph_exec_destroy, cuGraphExecDestroy, (tsr_cu_graph_exec exec), 12000)                     \
    X(graph_destroy, cuGraphDestroy, (tsr_cu_graph graph), 12000)

typedef struct tsr_driver {
    int version; /* 13000 for 13.0 */
#define TSR_DRIVER_MEMBER(member, symbol, parameters)              tsr_cu_result(*member) parameters;
#define TSR_DRIVER_NEWER_MEMBER(member, symbol, parameters, since) tsr_cu_result(*member) parameters;
    TSR_DRIVER_CALLS(TSR_DRIVER_MEMBER)
    TSR_DRIVER_NEWER_CALLS(TSR_DRIVER_NEWER_MEMBER)
#undef TSR_DRIVER_MEMBER
#undef TSR_DRIVER_NEWER_MEMBER
} tsr_driver;

/* The oldest driver that has every call above in the form used here. */
#define TSR_DRIVER_OLDEST 12000

/* Opens the system's driver (once for the process: later calls find it loaded), initialises it and fills *out. It is
 * never unloaded, because it does not survive that. TSR_NO_DEVICE with the reason: no driver, too old, no GPU. May be
 * called from any thread. */
tsr_status tsr_driver_load(tsr_driver *out);

/* Writes "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY (out of memory)". */
void tsr_driver_describe(const tsr_driver *driver, const char *call, tsr_cu_result result, char *text,
                         size_t text_bytes);

/* 1 for results after which the context can do no more work, whosever kernel caused them. */
int tsr_driver_is_fatal(tsr_cu_result result);

#endif
