#include "emu/trace.h"

#include <stdlib.h>
#include <string.h>

#include "emu/emulated_machine.h"

/* A write is announced before it happens. Whatever is announced next, it has happened. */
static void close_write(tsr_emu_trace *trace)
{
    if (!trace->has_open_write)
        return;
    tsr_trace_event *event = &trace->events[trace->count - 1];
    const unsigned char *from = (const unsigned char *)event->from;
    memcpy(event->value.bytes, from, event->bytes);
    event->from = 0;
    trace->has_open_write = 0;
}

/* Room for one more event, NULL if there is none. */
static tsr_trace_event *add(tsr_emu_trace *trace)
{
    close_write(trace);
    if (trace->count == trace->capacity && trace->count < trace->limit) {
        const size_t wanted = trace->capacity ? 2 * trace->capacity : 4096;
        const size_t capacity = wanted < trace->limit ? wanted : trace->limit;
        tsr_trace_event *events = realloc(trace->events, capacity * sizeof *events);
        if (events) {
            trace->events = events;
            trace->capacity = capacity;
        }
    }
    if (trace->count == trace->capacity) {
        trace->lost++;
        return NULL;
    }
    return &trace->events[trace->count++];
}

/* 1 if the thread's CTA is the one to trace: a slot holds all CTAs of a cluster. */
static int is_wanted(const emu_thread *thread)
{
    const emu_cta *cta = thread->cta;
    return cta->trace->cta == cta->number * cta->worker->launch->shape.cluster + thread->rank;
}

static tsr_trace_event start(const emu_thread *thread, tsr_trace_kind kind, const void *place)
{
    const unsigned id = thread->id % thread->cta->worker->launch->shape.cta_threads;
    return (tsr_trace_event){.kind = (unsigned char)kind, .thread = (unsigned short)id, .place = place};
}

static void put(tsr_emu_trace *trace, const tsr_trace_event *event)
{
    tsr_trace_event *to = add(trace);
    if (to)
        *to = *event;
}

void tsr_emu_trace_access(emu_thread *thread, const void *address, size_t size, int is_write, const void *place)
{
    tsr_emu_trace *trace = thread->cta->trace;
    if (!is_wanted(thread))
        return;
    const uintptr_t inside = (uintptr_t)address - (uintptr_t)thread->cta->shared.bytes - thread->window;
    const int is_shared = inside < thread->cta->window_bytes;
    for (size_t done = 0; done < size; done += 16) {
        tsr_trace_event event = start(thread, is_write ? TSR_TRACE_WRITE : TSR_TRACE_READ, place);
        const unsigned char *from = (const unsigned char *)address + done;
        event.is_shared = (unsigned char)is_shared;
        event.bytes = (unsigned char)(size - done < 16 ? size - done : 16);
        event.at = (is_shared ? inside : (uintptr_t)address) + done;
        if (is_write)
            event.from = (uintptr_t)from;
        else
            memcpy(event.value.bytes, from, event.bytes);
        tsr_trace_event *to = add(trace);
        if (!to)
            return;
        *to = event;
        trace->has_open_write = is_write;
    }
}

void tsr_emu_trace_copy(emu_thread *thread, const emu_copy *copy, const void *from, unsigned from_bytes,
                        const void *place)
{
    if (!is_wanted(thread))
        return;
    tsr_trace_event event = start(thread, TSR_TRACE_COPY, place);
    event.is_shared = 1;
    event.bytes = (unsigned char)copy->bytes;
    event.from_bytes = (unsigned char)from_bytes;
    event.at = copy->offset - thread->window;
    event.from = (uintptr_t)from;
    memcpy(event.value.bytes, copy->data, copy->bytes);
    put(thread->cta->trace, &event);
}

void tsr_emu_trace_fma(emu_thread *thread, const float operands[4], const void *place)
{
    if (!is_wanted(thread))
        return;
    tsr_trace_event event = start(thread, TSR_TRACE_FMA, place);
    memcpy(event.value.f32, operands, sizeof event.value.f32);
    put(thread->cta->trace, &event);
}

void tsr_emu_trace_meeting(emu_thread *thread, tsr_trace_kind kind, const void *place)
{
    if (!is_wanted(thread))
        return;
    const tsr_trace_event event = start(thread, kind, place);
    put(thread->cta->trace, &event);
}

void tsr_emu_trace_end(emu_cta *cta)
{
    if (cta->trace)
        close_write(cta->trace);
}

int tsr_emu_trace_place(const void *place, char *text, size_t text_bytes)
{
    return tsr_emu_place(place, text, text_bytes);
}

/* libm's, where it is one instruction, costs more in the call than in the work. */
static inline float fma_f32(float a, float b, float c)
{
#if defined(__x86_64__)
    if (__builtin_expect(__builtin_cpu_supports("fma"), 1)) {
        __asm__("vfmadd213ss %2, %1, %0" : "+x"(a) : "x"(b), "x"(c));
        return a;
    }
#endif
    return __builtin_fmaf(a, b, c);
}

static inline double fma_f64(double a, double b, double c)
{
#if defined(__x86_64__)
    if (__builtin_expect(__builtin_cpu_supports("fma"), 1)) {
        __asm__("vfmadd213sd %2, %1, %0" : "+x"(a) : "x"(b), "x"(c));
        return a;
    }
#endif
    return __builtin_fma(a, b, c);
}

/* Kept apart, so that what is called for each multiply-add needs no stack. */
static __attribute__((noinline, cold)) float fma_traced(float a, float b, float c, const void *place)
{
    const float result = fma_f32(a, b, c);
    if (tsr_emu_self()->cta->trace)
        tsr_emu_trace_fma(tsr_emu_self(), (const float[4]){a, b, c, result}, place);
    if (tsr_emu_self()->cta->listener)
        tsr_emu_tell(tsr_emu_self(), (tsr_event){.kind = TSR_EVENT_FMA, .place = place});
    return result;
}

float tsr_emu_fma_f32(float a, float b, float c)
{
#if defined(__x86_64__)
    if (__builtin_expect(__builtin_cpu_supports("fma") && !tsr_emu_self()->cta->is_followed, 1)) {
        __asm__("vfmadd213ss %2, %1, %0" : "+x"(a) : "x"(b), "x"(c));
        return a;
    }
#endif
    return fma_traced(a, b, c, __builtin_return_address(0));
}

double tsr_emu_fma_f64(double a, double b, double c)
{
    return fma_f64(a, b, c);
}
