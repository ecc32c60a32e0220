#include "emu/watch.h"

#include <math.h>
#include <string.h>

#include "emu/emulated_machine.h"
#include "emu/flow.h"

#define CALLER __builtin_return_address(0)

enum { MOST_RECORDS = 1 << 22 /* of a thread between two barriers: 64 MiB */ };

int tsr_emu_watch_make(emu_cta *cta)
{
    const emu_launch *launch = cta->worker->launch;
    const tsr_allocator *allocator = launch->job->allocator;
    emu_watch *watch = tsr_alloc(allocator, 64, sizeof *watch);
    cta->watch = watch;
    if (!watch)
        return 0;
    *watch = (emu_watch){.watcher = launch->job->watcher};
    watch->flow = tsr_emu_flow_make(allocator);
    watch->lanes = tsr_alloc(allocator, 64, launch->shape.n_threads * sizeof *watch->lanes);
    if (watch->lanes)
        memset(watch->lanes, 0, launch->shape.n_threads * sizeof *watch->lanes);
    return watch->flow && watch->lanes;
}

void tsr_emu_watch_free(emu_cta *cta)
{
    emu_watch *watch = cta->watch;
    const tsr_allocator *allocator = cta->shape.allocator;
    if (!watch)
        return;
    for (unsigned i = 0; watch->lanes && i < cta->shape.n_threads; i++)
        tsr_free(allocator, watch->lanes[i].records);
    if (watch->state)
        watch->watcher->end(watch->watcher->user, watch->state);
    tsr_emu_flow_free(watch->flow, allocator);
    tsr_free(allocator, watch->lanes);
    tsr_free(allocator, watch);
    cta->watch = NULL;
}

int tsr_emu_watch_begin(emu_cta *cta, long long number)
{
    emu_watch *watch = cta->watch;
    const emu_launch *launch = cta->worker->launch;
    tsr_emu_lanes_begin(watch->lanes, launch->shape.n_threads);
    if (watch->state)
        watch->watcher->end(watch->watcher->user, watch->state);
    watch->state = watch->watcher->begin(watch->watcher->user, number * launch->shape.cluster);
    return watch->state != NULL;
}

int tsr_emu_watch_meet(emu_cta *cta)
{
    emu_watch *watch = cta->watch;
    const emu_launch *launch = cta->worker->launch;
    for (unsigned first = 0; first < launch->shape.n_threads; first += 32) {
        const unsigned in_cta = first % launch->shape.cta_threads, rest = launch->shape.n_threads - first;
        tsr_watch_event event = {.cta = cta->number * launch->shape.cluster + first / launch->shape.cta_threads,
                                 .warp = in_cta / 32};
        if (!tsr_emu_align(watch->flow, watch->lanes + first, rest < 32 ? rest : 32, watch->watcher, watch->state,
                           &event))
            return 0;
    }
    watch->watcher->barrier(watch->state);
    return 1;
}

void tsr_emu_watch_end(emu_cta *cta)
{
    emu_watch *watch = cta->watch;
    if (!tsr_emu_watch_meet(cta))
        cta->worker->fault = (emu_fault){.kind = EMU_NO_MEMORY, .cta = cta->number};
    watch->watcher->end(watch->watcher->user, watch->state);
    watch->state = NULL;
}

/* ---- recording ---- */

static emu_lane *lane_of(const emu_thread *thread)
{
    emu_watch *watch = thread->cta->watch;
    if (!watch)
        return NULL;
    emu_lane *lane = &watch->lanes[thread->id];
    return lane->is_paused ? NULL : lane;
}

static __attribute__((noinline)) void grow(emu_thread *thread, emu_lane *lane)
{
    const tsr_allocator *allocator = thread->cta->worker->launch->job->allocator;
    const size_t capacity = lane->capacity ? 2 * lane->capacity : 256;
    emu_record *records = capacity <= MOST_RECORDS ? tsr_alloc(allocator, 64, capacity * sizeof *records) : NULL;
    if (!records)
        tsr_emu_fail_thread(&(emu_fault){.kind = EMU_NO_MEMORY}, CALLER);
    if (lane->count)
        memcpy(records, lane->records, lane->count * sizeof *records);
    tsr_free(allocator, lane->records);
    lane->records = records;
    lane->capacity = capacity;
}

static inline void put(emu_thread *thread, emu_lane *lane, uint64_t tag, uint64_t value)
{
    if (__builtin_expect(lane->count == lane->capacity, 0))
        grow(thread, lane);
    lane->records[lane->count++] = (emu_record){tag, value};
}

void tsr_emu_watch_put(emu_thread *thread, unsigned kind, size_t bytes, uint64_t value, const void *place)
{
    emu_lane *lane = lane_of(thread);
    if (lane)
        put(thread, lane, EMU_RECORD_TAG(kind, bytes, place), value);
}

void tsr_emu_watch_pause(emu_thread *thread, int is_paused)
{
    if (thread->cta->watch)
        thread->cta->watch->lanes[thread->id].is_paused = is_paused;
}

static inline void put_access(const void *address, size_t size, int is_write, const void *place)
{
    emu_thread *thread = tsr_emu_self();
    emu_lane *lane = lane_of(thread);
    if (!lane)
        return;
    const uintptr_t inside = (uintptr_t)address - (uintptr_t)thread->cta->shared.bytes - thread->window;
    if (inside < thread->cta->window_bytes)
        put(thread, lane, EMU_RECORD_TAG(is_write ? TSR_WATCH_SHARED_STORE : TSR_WATCH_SHARED_LOAD, size, place),
            inside);
    else if ((uintptr_t)address - (uintptr_t)thread->fiber.stack > EMU_STACK_BYTES - size)
        put(thread, lane, EMU_RECORD_TAG(is_write ? TSR_WATCH_GLOBAL_STORE : TSR_WATCH_GLOBAL_LOAD, size, place),
            (uintptr_t)address);
}

/* Constructors of watched objects call these two, too, when the program is loaded: on no thread of a kernel. */
void tsr_emu_func_entry(const void *caller);
void tsr_emu_watched_func_entry(const void *caller);
void tsr_emu_watched_func_entry(const void *caller)
{
    if (tsr_emu_ask_loader())
        tsr_emu_func_entry(caller);
}

/* A basic block starts; the return address is its name. */
void tsr_emu_watched_block(void);
void tsr_emu_watched_block(void)
{
    emu_thread *thread = tsr_emu_ask_loader();
    emu_lane *lane = thread ? lane_of(thread) : NULL;
    if (lane)
        put(thread, lane, EMU_RECORD_TAG(EMU_RECORD_BLOCK, 0, CALLER), 0);
}

static inline void put_fma(unsigned kind, const void *place)
{
    emu_thread *thread = tsr_emu_self();
    emu_lane *lane = lane_of(thread);
    if (!lane)
        return;
    if (lane->count && EMU_RECORD_KIND(lane->records[lane->count - 1].tag) == kind)
        lane->records[lane->count - 1].value++;
    else
        put(thread, lane, EMU_RECORD_TAG(kind, 0, place), 1);
}

/* What watched kernels call instead of tsr_emu_fma_f32 and tsr_emu_fma_f64. */
float tsr_emu_watched_fma_f32(float a, float b, float c);
float tsr_emu_watched_fma_f32(float a, float b, float c)
{
    put_fma(TSR_WATCH_FMA_F32, CALLER);
    return tsr_emu_fma_f32(a, b, c);
}
double tsr_emu_watched_fma_f64(double a, double b, double c);
double tsr_emu_watched_fma_f64(double a, double b, double c)
{
    put_fma(TSR_WATCH_FMA_F64, CALLER);
    return tsr_emu_fma_f64(a, b, c);
}

void tsr_emu_tensor_flops(unsigned flops)
{
    const emu_thread *self = tsr_emu_self();
    tsr_emu_watch_put(tsr_emu_self(), TSR_WATCH_TENSOR, 0, flops, CALLER);
    if (self->cta->listener)
        tsr_emu_tell(self, (tsr_event){.kind = TSR_EVENT_MMA, .other = self->rank, .bytes = flops, .place = CALLER});
}

void tsr_emu_matrix_access(const void *address, unsigned bytes, int is_write)
{
    put_access(address, bytes, is_write, CALLER);
}

void tsr_emu_matrix_pause(int is_paused)
{
    tsr_emu_watch_pause(tsr_emu_self(), is_paused);
}

/* What watched kernels call before an access: the check that all kernels call, and a record. */
#define READ(name, size)                                \
    void tsr_emu_watched_##name(const void *address);   \
    void tsr_emu_watched_##name(const void *address)    \
    {                                                   \
        tsr_emu_checked_read(address, size, 1, CALLER); \
        put_access(address, size, 0, CALLER);           \
    }
#define WRITE(name, size)                                \
    void tsr_emu_watched_##name(void *address);          \
    void tsr_emu_watched_##name(void *address)           \
    {                                                    \
        tsr_emu_checked_write(address, size, 1, CALLER); \
        put_access(address, size, 1, CALLER);            \
    }

#include "emu/accesses.def"

/* A struct that is copied whole: at most 16 bytes in one piece. */
void tsr_emu_watched_read_range(const void *address, unsigned long size);
void tsr_emu_watched_read_range(const void *address, unsigned long size)
{
    tsr_emu_checked_read(address, size, 0, CALLER);
    for (unsigned long at = 0; at < size; at += 16)
        put_access((const char *)address + at, size - at < 16 ? size - at : 16, 0, CALLER);
}
void tsr_emu_watched_write_range(void *address, unsigned long size);
void tsr_emu_watched_write_range(void *address, unsigned long size)
{
    tsr_emu_checked_write(address, size, 0, CALLER);
    for (unsigned long at = 0; at < size; at += 16)
        put_access((const char *)address + at, size - at < 16 ? size - at : 16, 1, CALLER);
}
