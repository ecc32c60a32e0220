#include "emu/listen.h"

#include "emu/emulated_machine.h"
#include "emu/wgmma.h"

void tsr_emu_tell(const emu_thread *thread, tsr_event event)
{
    const emu_cta *cta = thread->cta;
    const emu_shape *shape = &cta->worker->launch->shape;
    event.cta = cta->number * shape->cluster + thread->rank;
    event.other = cta->number * shape->cluster + (long long)event.other;
    event.thread = thread->id % shape->cta_threads;
    cta->listener->event(cta->listener->user, &event);
}

void tsr_emu_tell_of_slot(const emu_cta *cta, size_t offset, tsr_event event)
{
    const emu_shape *shape = &cta->worker->launch->shape;
    const size_t rank = offset / shape->window_stride;
    event.cta = event.other = cta->number * shape->cluster + (long long)rank;
    event.at = event.at % shape->window_stride;
    event.mbarrier = event.mbarrier % shape->window_stride;
    cta->listener->event(cta->listener->user, &event);
}

void tsr_emu_tell_access(const emu_thread *thread, const void *address, size_t bytes, int is_write, const void *place)
{
    const uintptr_t inside = (uintptr_t)address - (uintptr_t)thread->cta->shared.bytes - thread->window;
    const int is_shared = inside < thread->cta->window_bytes;
    tsr_emu_tell(thread, (tsr_event){.kind = is_write ? TSR_EVENT_WRITE : TSR_EVENT_READ,
                                     .other = thread->rank,
                                     .is_shared = is_shared,
                                     .at = is_shared ? inside : (uintptr_t)address,
                                     .bytes = bytes,
                                     .place = place});
}

void tsr_emu_fragment_place(unsigned thread, unsigned index, unsigned *row, unsigned *column)
{
    tsr_emu_fragment(thread, index, row, column);
}

size_t tsr_emu_swizzled(size_t at, size_t offset, unsigned swizzle_bytes)
{
    return tsr_emu_swizzle(at + offset, swizzle_bytes ? swizzle_bytes : 16);
}
