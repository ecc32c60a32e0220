/* Barriers by number, for some of a CTA's warps. */
#include <string.h>

#include "emu/emulated_machine.h"

void tsr_emu_reset_named(emu_cta *cta)
{
    for (int i = 0; i < EMU_MAX_CLUSTER * EMU_NAMED_BARRIERS; i++)
        tsr_emu_seen_drop(&cta->shared.time, cta->named[i].board);
    memset(cta->named, 0, sizeof cta->named);
}

static const char *broken_rule(const emu_named *named, unsigned n_threads, unsigned id, unsigned threads)
{
    if (id < 1 || id >= EMU_NAMED_BARRIERS)
        return "named barriers have numbers from 1 to 15";
    if (threads == 0 || threads % 32 != 0 || threads > (n_threads + 31) / 32 * 32)
        return "a named barrier needs a multiple of 32 threads, no more than the CTA has";
    if (named->expected && named->expected != threads)
        return "threads came to one named barrier with different counts";
    return NULL;
}

/* The last one came: those who wait go on, knowing what all knew. */
static void complete(emu_cta *cta, unsigned id)
{
    emu_named *named = &cta->named[id];
    for (unsigned i = 0; i < cta->worker->launch->shape.n_threads; i++) {
        emu_thread *thread = &cta->threads[i];
        if (thread->state != EMU_AT_NAMED || thread->named_id != id)
            continue;
        tsr_emu_clock_adopt(&cta->shared.time, &thread->clock, named->board);
        tsr_emu_wake(thread);
    }
    tsr_emu_seen_drop(&cta->shared.time, named->board);
    *named = (emu_named){0};
    cta->polls = 0;
}

/* `index` is the barrier's in the slot. */
static void come(emu_thread *self, unsigned index, unsigned threads, int waits, const void *place)
{
    emu_cta *cta = self->cta;
    emu_named *named = &cta->named[index];
    if (!tsr_emu_clock_release(&cta->shared.time, &self->clock, &named->board))
        tsr_emu_fail_thread(&(emu_fault){.kind = EMU_NO_MEMORY}, place);
    named->expected = threads;
    named->arrived++;
    if (waits) {
        self->state = EMU_AT_NAMED;
        self->named_id = index;
        self->place = place;
    }
    if (named->arrived == threads)
        complete(cta, index); /* makes us ready, too */
    if (waits)
        tsr_emu_wait(self);
}

void tsr_emu_named_barrier(unsigned id, unsigned threads, int waits)
{
    emu_thread *self = tsr_emu_self();
    const unsigned index = self->rank * EMU_NAMED_BARRIERS + id % EMU_NAMED_BARRIERS;
    const char *rule = broken_rule(&self->cta->named[index], self->cta->worker->launch->shape.cta_threads, id, threads);
    if (rule)
        tsr_emu_misuse(rule);
    const void *place = __builtin_return_address(0);
    tsr_event event = {
        .kind = TSR_EVENT_NAMED, .other = self->rank, .number = id, .at = threads, .bytes = waits != 0, .place = place};
    if (self->cta->listener)
        tsr_emu_tell(self, event);
    come(self, index, threads, waits, place);
    event.kind = TSR_EVENT_NAMED_PASS;
    if (self->cta->listener && waits)
        tsr_emu_tell(self, event);
}

void tsr_emu_barrier_in_cluster(emu_thread *self, const void *place)
{
    tsr_emu_watch_put(self, TSR_WATCH_CTA_BARRIER, 0, 0, place);
    come(self, self->rank * EMU_NAMED_BARRIERS, self->cta->worker->launch->shape.cta_threads, 1, place);
}
