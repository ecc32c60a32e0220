#include "fake_driver.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALL(symbol, parameters)                                       \
    __attribute__((visibility("default"))) unsigned symbol parameters; \
    unsigned symbol parameters

enum { DEVICES = 4, INVALID = 1, NO_CONTEXT = 201, NOT_IN_CAPTURE = 900, PUSHED_MAX = 4 };

static fake_driver state = {.chip = "NVIDIA H200"};
static char primary[DEVICES], foreign;

/* Of the calling thread, over the context that the test has made current. */
static _Thread_local void *pushed[PUSHED_MAX];
static _Thread_local int pushed_count;

static void *current(void)
{
    if (pushed_count)
        return pushed[pushed_count - 1];
    return state.ordinal < 0 ? NULL : state.is_foreign ? &foreign : &primary[state.ordinal];
}

__attribute__((visibility("default"))) fake_driver *fake_driver_state(void)
{
    return &state;
}

CALL(cuCtxGetCurrent, (void **context))
{
    *context = current();
    return 0;
}

CALL(cuCtxGetDevice, (int *device))
{
    *device = state.first_number + state.ordinal;
    return state.ordinal < 0 ? NO_CONTEXT : 0;
}

CALL(cuCtxPushCurrent_v2, (void *context))
{
    if (pushed_count == PUSHED_MAX || !context)
        return INVALID;
    pushed[pushed_count++] = context;
    return 0;
}

CALL(cuCtxPopCurrent_v2, (void **context))
{
    if (pushed_count == 0)
        return NO_CONTEXT;
    *context = pushed[--pushed_count];
    return 0;
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

/* As driver 580 has it: of a stream that captures the call fails, and the capture is spoilt. */
CALL(cuStreamGetId, (void *stream, unsigned long long *id))
{
    if (state.capturing > 0) {
        state.spoilt++;
        return NOT_IN_CAPTURE;
    }
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

/* Before each piece of memory stands the context that it is of. */
enum { ALIGN_BYTES = 256, OUT_OF_MEMORY = 2, FILLED_BYTES = 1 << 18, STEP_BYTES = 1 << 22 };

CALL(cuMemAlloc_v2, (unsigned long long *memory, size_t bytes))
{
    char *made = state.has_no_memory ? NULL : aligned_alloc(ALIGN_BYTES, ALIGN_BYTES + bytes);
    void *of = current();
    __atomic_fetch_add(&state.allocations, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&state.allocated_bytes, bytes, __ATOMIC_RELAXED);
    *memory = made ? (uintptr_t)(made + ALIGN_BYTES) : 0;
    if (!made)
        return OUT_OF_MEMORY;
    memcpy(made, &of, sizeof of);
    /* Where a pool's parts begin; all of a large one takes too long. */
    for (size_t at = 0; at < bytes; at += STEP_BYTES)
        memset(made + ALIGN_BYTES + at, 0xff, bytes - at < FILLED_BYTES ? bytes - at : FILLED_BYTES);
    return 0;
}

CALL(cuMemFree_v2, (unsigned long long memory))
{
    void *of;
    memcpy(&of, (char *)(uintptr_t)memory - ALIGN_BYTES, sizeof of);
    __atomic_fetch_add(&state.frees, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&state.freed_elsewhere, of != current(), __ATOMIC_RELAXED);
    free((char *)(uintptr_t)memory - ALIGN_BYTES);
    return 0;
}

CALL(cuMemsetD8Async, (unsigned long long to, unsigned char value, size_t bytes, void *stream))
{
    if (state.cannot_zero)
        return INVALID;
    memset((void *)(uintptr_t)to, value, bytes);
    state.zeroed_on = stream;
    state.zeroed++;
    state.zeroed_bytes += bytes;
    return 0;
}
