#include "cublas/nvidia.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>

typedef unsigned cu_result; /* 0: success */

/* X(member, symbol, parameters) */
#define NVIDIA_CALLS(X)                                                       \
    X(context_current, cuCtxGetCurrent, (void **context))                     \
    X(context_push, cuCtxPushCurrent_v2, (void *context))                     \
    X(context_pop, cuCtxPopCurrent_v2, (void **context))                      \
    X(context_device, cuCtxGetDevice, (int *device))                          \
    X(device_count, cuDeviceGetCount, (int *count))                           \
    X(device_of, cuDeviceGet, (int *device, int ordinal))                     \
    X(device_name, cuDeviceGetName, (char *name, int bytes, int device))      \
    X(primary_retain, cuDevicePrimaryCtxRetain, (void **context, int device)) \
    X(is_capturing, cuStreamIsCapturing, (void *stream, int *status))         \
    X(exchange_mode, cuThreadExchangeStreamCaptureMode, (int *mode))          \
    X(mem_alloc, cuMemAlloc_v2, (unsigned long long *memory, size_t bytes))   \
    X(mem_free, cuMemFree_v2, (unsigned long long memory))                    \
    X(set_bytes, cuMemsetD8Async, (unsigned long long to, unsigned char value, size_t bytes, void *stream))

typedef struct nvidia_driver {
#define MEMBER(member, symbol, parameters) cu_result(*member) parameters;
    NVIDIA_CALLS(MEMBER)
#undef MEMBER
    cu_result (*stream_id)(void *stream, unsigned long long *id); /* since 12.0: may be missing */
} nvidia_driver;

/* NULL until it was looked for. No lock: a thread that holds the loader's lock may call while another waits for it. */
static _Atomic(const nvidia_driver *) found;
static const nvidia_driver none; /* was found: no driver, or one that lacks a call */

/* Of GPU `ordinal`: its device's number plus 1 (0: not asked yet), and its primary context, retained for good: programs
 * that compare contexts hold it anyway. */
static atomic_int device_numbers[TSR_NVIDIA_DEVICES_MAX];
static _Atomic(void *) primaries[TSR_NVIDIA_DEVICES_MAX];

/* If two threads come at once, the second one's is freed again. */
static const nvidia_driver *find_driver(void)
{
    const nvidia_driver *before = NULL;
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    nvidia_driver *out = library ? calloc(1, sizeof *out) : NULL;
    int is_complete = out != NULL;
    if (out) {
#define FIND(member, symbol, parameters)              \
    *(void **)&out->member = dlsym(library, #symbol); \
    is_complete = is_complete && out->member;
        NVIDIA_CALLS(FIND)
#undef FIND
        *(void **)&out->stream_id = dlsym(library, "cuStreamGetId");
    }
    const nvidia_driver *made = is_complete ? out : &none;
    const int is_first = atomic_compare_exchange_strong(&found, &before, made);
    if (!is_first || !is_complete)
        free(out);
    return is_first ? made : before;
}

/* NULL: there is none. */
static const nvidia_driver *find(void)
{
    const nvidia_driver *known = atomic_load_explicit(&found, memory_order_acquire);
    if (!known)
        known = find_driver();
    return known == &none ? NULL : known;
}

int tsr_nvidia_is_here(void)
{
    return find() != NULL;
}

static int has_number(const nvidia_driver *driver, int ordinal, int device)
{
    int number, known = atomic_load_explicit(&device_numbers[ordinal], memory_order_relaxed);
    if (known == 0 && driver->device_of(&number, ordinal) == 0) {
        known = number + 1;
        atomic_store_explicit(&device_numbers[ordinal], known, memory_order_relaxed);
    }
    return known == device + 1;
}

int tsr_nvidia_current(void)
{
    const nvidia_driver *driver = find();
    int device, count;
    if (!driver || driver->context_device(&device) != 0)
        return -1;
    /* A device's number is its ordinal in every driver so far; nothing promises it. */
    if (device >= 0 && device < TSR_NVIDIA_DEVICES_MAX && has_number(driver, device, device))
        return device;
    if (driver->device_count(&count) != 0)
        return -1;
    for (int ordinal = 0; ordinal < count && ordinal < TSR_NVIDIA_DEVICES_MAX; ordinal++)
        if (has_number(driver, ordinal, device))
            return ordinal;
    return -1;
}

void tsr_nvidia_chip(int ordinal, char out[TSR_MEASURED_CHIP_BYTES])
{
    const nvidia_driver *driver = find();
    char name[TSR_MEASURED_CHIP_BYTES] = "";
    int device;
    out[0] = '\0';
    if (driver && driver->device_of(&device, ordinal) == 0 && driver->device_name(name, sizeof name, device) == 0)
        tsr_measured_chip(name, out);
}

int tsr_nvidia_is_primary(int ordinal)
{
    const nvidia_driver *driver = find();
    void *current = NULL;
    int device;
    if (!driver || ordinal < 0 || ordinal >= TSR_NVIDIA_DEVICES_MAX || driver->context_current(&current) != 0)
        return 0;
    void *primary = atomic_load_explicit(&primaries[ordinal], memory_order_acquire);
    if (!primary && driver->device_of(&device, ordinal) == 0 && driver->primary_retain(&primary, device) == 0)
        atomic_store_explicit(&primaries[ordinal], primary, memory_order_release);
    return primary && primary == current;
}

int tsr_nvidia_look_at(void *stream, tsr_nvidia_stream *out)
{
    const nvidia_driver *driver = find();
    int status = 0;
    unsigned long long id = 0;
    if (!driver || driver->is_capturing(stream, &status) != 0)
        return 0;
    out->is_capturing = status != 0;
    /* Of a stream that captures the driver gives no number: the call itself would spoil the capture. */
    const int has_id = status == 0 && driver->stream_id && driver->stream_id(stream, &id) == 0;
    out->id = has_id ? id : (uint64_t)(uintptr_t)stream;
    return 1;
}

int tsr_nvidia_relax_capture(int mode)
{
    const nvidia_driver *driver = find();
    if (driver)
        driver->exchange_mode(&mode);
    return mode;
}

void *tsr_nvidia_alloc(size_t bytes)
{
    const nvidia_driver *driver = find();
    unsigned long long memory = 0;
    return driver && driver->mem_alloc(&memory, bytes) == 0 ? (void *)(uintptr_t)memory : NULL;
}

void tsr_nvidia_free(int ordinal, void *memory)
{
    const nvidia_driver *driver = find();
    void *left, *primary = atomic_load_explicit(&primaries[ordinal], memory_order_acquire);
    if (!driver || !primary || driver->context_push(primary) != 0)
        return;
    driver->mem_free((unsigned long long)(uintptr_t)memory);
    driver->context_pop(&left);
}

int tsr_nvidia_zero(void *device_to, size_t bytes, void *stream)
{
    const nvidia_driver *driver = find();
    return driver && driver->set_bytes((unsigned long long)(uintptr_t)device_to, 0, bytes, stream) == 0;
}
