#include "fake_driver.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALL(symbol, parameters)                                       \
    __attribute__((visibility("default"))) unsigned symbol parameters; \
    unsigned symbol parameters

enum { DEVICES = 4, INVALID = 1, NO_CONTEXT = 201 };

static fake_driver state = {.chip = "NVIDIA H200"};
static char primary[DEVICES], foreign;

__attribute__((visibility("default"))) fake_driver *fake_driver_state(void)
{
    return &state;
}

CALL(cuCtxGetCurrent, (void **context))
{
    *context = state.ordinal < 0 ? NULL : state.is_foreign ? &foreign : &primary[state.ordinal];
    return 0;
}

CALL(cuCtxGetDevice, (int *device))
{
    *device = state.first_number + state.ordinal;
    return state.ordinal < 0 ? NO_CONTEXT : 0;
}

CALL(cuDeviceGetCount, (int *count))
{
    *count = DEVICES;
    return 0;
}

CALL(cuDeviceGet, (int *device, int ordinal))
{
    *device = state.first_number + ordinal;
    return ordinal < 0 || ordinal >= DEVICES ? INVALID : 0;
}

CALL(cuDeviceGetName, (char *name, int bytes, int device))
{
    const char *given = getenv("FAKE_CHIP"); /* in a process that a test does not make itself */
    snprintf(name, (size_t)bytes, "%s", given ? given : state.chip);
    return device < state.first_number ? INVALID : 0;
}

CALL(cuDevicePrimaryCtxRetain, (void **context, int device))
{
    *context = &primary[device - state.first_number];
    return 0;
}

CALL(cuStreamIsCapturing, (void *stream, int *status))
{
    (void)stream;
    *status = state.capturing;
    return state.capturing < 0 ? INVALID : 0;
}

CALL(cuStreamGetId, (void *stream, unsigned long long *id))
{
    *id = (uintptr_t)stream + 1000;
    return 0;
}

CALL(cuThreadExchangeStreamCaptureMode, (int *mode))
{
    const int before = state.mode;
    state.mode = *mode;
    *mode = before;
    return 0;
}

CALL(cuMemAlloc_v2, (unsigned long long *memory, size_t bytes))
{
    enum { ALIGN_BYTES = 256, OUT_OF_MEMORY = 2 };
    void *made = state.has_no_memory ? NULL : aligned_alloc(ALIGN_BYTES, bytes);
    state.allocations++;
    if (made)
        memset(made, 0xff, bytes);
    *memory = (uintptr_t)made;
    return made ? 0 : OUT_OF_MEMORY;
}

CALL(cuMemFree_v2, (unsigned long long memory))
{
    free((void *)(uintptr_t)memory);
    return 0;
}

CALL(cuMemsetD8Async, (unsigned long long to, unsigned char value, size_t bytes, void *stream))
{
    memset((void *)(uintptr_t)to, value, bytes);
    state.zeroed_on = stream;
    state.zeroed++;
    state.zeroed_bytes += bytes;
    return 0;
}
