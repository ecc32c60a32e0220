#include "emu/copy.h"

#include <string.h>

#include "emu/emulated_machine.h"
#include "ptx/emulator_behind.h"

void tsr_emu_copies_free(emu_copies *copies, const tsr_allocator *allocator)
{
    tsr_free(allocator, copies->items);
    *copies = (emu_copies){0};
}

void tsr_emu_copies_forget(emu_copies *copies, emu_shared *shared)
{
    const emu_clock never = {0};
    for (unsigned i = copies->first; i < copies->count; i++) {
        const emu_copy *copy = &copies->items[i];
        tsr_emu_shared_land(shared, copy->offset, copy->bytes, &never, shared->bytes + copy->offset);
    }
    copies->first = copies->count = copies->committed = 0;
}

/* Room for one more at the end, NULL when out of memory. */
static emu_copy *add_copy(emu_copies *copies, const tsr_allocator *allocator)
{
    if (copies->first == copies->count)
        copies->first = copies->count = 0;
    if (copies->count == copies->capacity) {
        const unsigned capacity = copies->capacity ? 2 * copies->capacity : 16;
        emu_copy *items = tsr_alloc(allocator, 64, capacity * sizeof *items);
        if (!items)
            return NULL;
        const unsigned waiting = copies->count - copies->first;
        if (waiting)
            memcpy(items, copies->items + copies->first, waiting * sizeof *items);
        tsr_free(allocator, copies->items);
        copies->items = items;
        copies->capacity = capacity;
        copies->first = 0;
        copies->count = waiting;
    }
    return &copies->items[copies->count++];
}

/* `skip`: of from_bytes, the first ones, which are not read. */
static void start_copy(void *to, const void *from, unsigned bytes, unsigned skip, unsigned from_bytes,
                       const void *place)
{
    emu_thread *thread = tsr_emu_self();
    emu_shared *shared = &thread->cta->shared;
    const size_t offset = (uintptr_t)to - (uintptr_t)shared->bytes;
    const char *rule = NULL;
    emu_fault fault; /* filled where something is wrong: it is large */
    if (bytes != 4 && bytes != 8 && bytes != 16)
        rule = "cp.async of other than 4, 8 or 16 bytes";
    else if (from_bytes > bytes)
        rule = "cp.async: more bytes from the source than are copied";
    else if (offset >= shared->count || shared->count - offset < bytes)
        rule = "cp.async: the target is not in the CTA's shared memory";
    else if (offset % bytes != 0 || (from_bytes > 0 && (uintptr_t)from % bytes != 0))
        rule = "cp.async: source and target must be multiples of the copy's size";
    if (rule)
        tsr_emu_break(rule, place);
    if (from_bytes)
        tsr_emu_check((const char *)from + skip, from_bytes - skip, 0, place);
    if (!tsr_emu_shared_start_copy(shared, offset, bytes, &thread->clock, &fault)) {
        fault.is_write = 1;
        fault.size = bytes;
        tsr_emu_fail_thread(&fault, place);
    }
    emu_copy *copy = add_copy(&thread->copies, thread->cta->worker->launch->job->allocator);
    if (!copy)
        tsr_emu_fail_thread(&(emu_fault){.kind = EMU_NO_MEMORY}, place);
    *copy = (emu_copy){.offset = offset, .bytes = bytes, .group = thread->copies.committed};
    if (from_bytes) {
        memset(copy->data, 0xff, skip); /* not a number in 16 bits */
        memcpy(copy->data + skip, (const char *)from + skip, from_bytes - skip);
    }
    tsr_emu_watch_put(thread, TSR_WATCH_COPY, bytes, from_bytes ? (uintptr_t)from : 0, place);
    tsr_emu_watch_put(thread, EMU_RECORD_TO, bytes, offset - thread->window, place);
    if (thread->cta->trace)
        tsr_emu_trace_copy(thread, copy, from, from_bytes, place);
    if (thread->cta->listener)
        tsr_emu_tell(thread, (tsr_event){.kind = TSR_EVENT_COPY,
                                         .other = thread->rank,
                                         .at = offset - thread->window,
                                         .from = from_bytes ? (uintptr_t)from : 0,
                                         .bytes = from_bytes,
                                         .place = place});
}

void tsr_emu_copy_start(void *to, const void *from, unsigned bytes, unsigned from_bytes)
{
    start_copy(to, from, bytes, 0, from_bytes, __builtin_return_address(0));
}

void tsr_emu_copy_start_behind(void *to, const void *from, unsigned skip, unsigned from_bytes)
{
    start_copy(to, from, 16, skip < from_bytes ? skip : 0, skip < from_bytes ? from_bytes : 0,
               __builtin_return_address(0));
}

void tsr_emu_copy_commit(void)
{
    tsr_emu_self()->copies.committed++;
}

static void land_first(emu_thread *thread)
{
    const emu_copy *copy = &thread->copies.items[thread->copies.first++];
    tsr_emu_shared_land(&thread->cta->shared, copy->offset, copy->bytes, &thread->clock, copy->data);
}

void tsr_emu_copies_land(emu_thread *thread)
{
    while (thread->copies.first < thread->copies.count)
        land_first(thread);
}

void tsr_emu_copy_wait(unsigned pending_groups)
{
    emu_thread *thread = tsr_emu_self();
    const emu_copies *copies = &thread->copies;
    while (copies->first < copies->count && copies->items[copies->first].group + pending_groups < copies->committed)
        land_first(thread);
}
