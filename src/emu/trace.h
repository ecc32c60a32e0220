/* What one CTA of a launch does, event by event, for those who explain a kernel.
 *
 * A thread's events are in the order of its program. Those of several threads interleave as the threads happened to
 * run; between two barriers each thread mostly runs in one piece. */
#ifndef TSR_EMU_TRACE_H
#define TSR_EMU_TRACE_H

#include <stddef.h>
#include <stdint.h>

#include "core/device.h"

typedef enum tsr_trace_kind {
    TSR_TRACE_READ,
    TSR_TRACE_WRITE,
    TSR_TRACE_COPY,   /* cp.async, where it starts; its target has the value once it was waited for */
    TSR_TRACE_FMA,    /* fma.rn.f32: value.f32 has the factors, the summand and the result */
    TSR_TRACE_WARP,   /* the lanes of a warp do something together: a matrix instruction, a shuffle, a vote */
    TSR_TRACE_BARRIER /* of all threads of the CTA */
} tsr_trace_kind;

typedef struct tsr_trace_event {
    unsigned char kind;
    unsigned char is_shared;  /* `at` is an offset in the CTA's shared memory, otherwise an address */
    unsigned char bytes;      /* of the access, 1 to 16; longer ones are several events */
    unsigned char from_bytes; /* COPY: bytes that come from `from`; the rest becomes 0 */
    unsigned short thread;    /* x + y * blockDim.x */
    const void *place;        /* return address, for tsr_emu_trace_place */
    uintptr_t at;
    uintptr_t from; /* COPY: address in global memory */
    union {
        unsigned char bytes[16];
        float f32[4];
    } value; /* what was read, written or copied */
} tsr_trace_event;

/* A trace to be made. `events` is the caller's to free with free(). */
typedef struct tsr_emu_trace {
    long long cta; /* number of the CTA in the grid, x fastest */
    int alone;     /* 1: only this CTA runs (with those of its cluster), and only its part of D is written */
    size_t limit;  /* events at most */
    size_t count;  /* recorded */
    size_t capacity;
    size_t lost;        /* not recorded, for want of room or memory */
    int has_open_write; /* the last event is a write that has not happened yet */
    tsr_trace_event *events;
} tsr_emu_trace;

/* The next launches on this device, which must be an emulator, are traced; NULL: no longer. Not for a device that other
 * threads use at the same time. */
void tsr_emu_trace_launches(tsr_device *device, tsr_emu_trace *trace);

/* "kernels/gemm/tiled.cu:64" of an event's place; 1 if it is a line. */
int tsr_emu_trace_place(const void *place, char *text, size_t text_bytes);

#endif
