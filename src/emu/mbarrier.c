/* mbarriers and proxy fences. A phase completes when all arrivals and all bytes have come. The copy engine delivers as
 * late as it may: when a thread waits for the phase. */
#include <string.h>

#include "emu/emulated_machine.h"

enum { MOST_ARRIVALS = (1 << 20) - 1 };

emu_mbarrier *tsr_emu_find_mbarrier(emu_cta *cta, size_t offset)
{
    emu_cta_hopper *hopper = cta->hopper;
    for (unsigned i = 0; i < hopper->n_mbarriers; i++)
        if (hopper->mbarriers[i].offset == offset)
            return &hopper->mbarriers[i];
    return NULL;
}

/* The barrier at `address` of CTA `rank`, which the thread must have seen initialised. */
static emu_mbarrier *use(emu_thread *self, unsigned address, unsigned rank, const void *place)
{
    emu_cta *cta = self->cta;
    const size_t offset =
        tsr_emu_place_in_slot(self, address, 8, place) - self->window + rank * cta->worker->launch->shape.window_stride;
    emu_fault fault = {0};
    emu_mbarrier *bar = tsr_emu_find_mbarrier(cta, offset);
    if (!bar)
        tsr_emu_break("no mbarrier was initialised here", place);
    if (!tsr_emu_shared_read(&cta->shared, offset, 8, &self->clock, &fault)) {
        fault.size = 8;
        tsr_emu_fail_thread(&fault, place);
    }
    if (rank != self->rank && !bar->is_fenced)
        tsr_emu_break("another CTA's mbarrier was initialised without fence.mbarrier_init", place);
    return bar;
}

static void tell_mbarrier(const emu_thread *self, tsr_event_kind kind, const emu_mbarrier *bar, unsigned number,
                          unsigned bytes, const void *place)
{
    const size_t stride = self->cta->worker->launch->shape.window_stride;
    tsr_emu_tell(self, (tsr_event){.kind = kind,
                                   .other = (long long)(bar->offset / stride),
                                   .at = bar->offset % stride,
                                   .mbarrier = bar->offset % stride,
                                   .number = number,
                                   .bytes = bytes,
                                   .place = place});
}

static void complete(emu_cta *cta, emu_mbarrier *bar)
{
    if (bar->pending > 0 || bar->bytes != 0)
        return;
    tsr_emu_seen_drop(&cta->shared.time, bar->done);
    bar->done = bar->board;
    bar->board = NULL;
    bar->pending = bar->count;
    if (cta->listener)
        tsr_emu_tell_of_slot(
            cta, bar->offset,
            (tsr_event){.kind = TSR_EVENT_COMPLETE, .at = bar->offset, .mbarrier = bar->offset, .number = bar->phase});
    bar->phase++;
    cta->polls = 0;
    tsr_emu_wake_all(&bar->waiting);
}

void tsr_emu_mbarrier_init(unsigned address, unsigned count)
{
    const void *place = __builtin_return_address(0);
    emu_thread *self = tsr_emu_hopper_self(place);
    emu_cta *cta = self->cta;
    const size_t offset = tsr_emu_place_in_slot(self, address, 8, place);
    emu_fault fault = {0};
    if (offset % 8)
        tsr_emu_break("an mbarrier must lie at a multiple of 8 bytes", place);
    if (count < 1 || count > MOST_ARRIVALS)
        tsr_emu_break("an mbarrier counts 1 to 2^20 - 1 arrivals", place);
    if (!tsr_emu_shared_write(&cta->shared, offset, 8, &self->clock, &fault)) {
        fault.size = 8;
        fault.is_write = 1;
        tsr_emu_fail_thread(&fault, place);
    }
    emu_mbarrier *bar = tsr_emu_find_mbarrier(cta, offset);
    if (bar && (bar->loads || bar->waiting))
        tsr_emu_break("an mbarrier in use is initialised again", place);
    if (!bar) {
        if (cta->hopper->n_mbarriers == EMU_MBARRIERS)
            tsr_emu_break("the emulator keeps at most 256 mbarriers of a cluster", place);
        bar = &cta->hopper->mbarriers[cta->hopper->n_mbarriers++];
        *bar = (emu_mbarrier){.offset = offset};
    }
    bar->count = bar->pending = count;
    bar->bytes = 0;
    bar->phase = 0;
    bar->is_fenced = 0;
    if (cta->listener)
        tell_mbarrier(self, TSR_EVENT_INIT, bar, count, 0, place);
}

void tsr_emu_fence_mbarrier_init(void)
{
    const emu_thread *self = tsr_emu_hopper_self(__builtin_return_address(0));
    emu_cta_hopper *hopper = self->cta->hopper;
    const size_t window = self->window;
    for (unsigned i = 0; i < hopper->n_mbarriers; i++)
        if (hopper->mbarriers[i].offset - window < self->cta->window_bytes)
            hopper->mbarriers[i].is_fenced = 1;
}

/* `bytes`: that it is told to expect. */
static void arrive(emu_thread *self, emu_mbarrier *bar, unsigned bytes, const void *place)
{
    if (bar->pending == 0)
        tsr_emu_break("more arrivals at an mbarrier than its phase counts", place);
    if (self->cta->listener)
        tell_mbarrier(self, TSR_EVENT_ARRIVE, bar, bar->phase, bytes, place);
    tsr_emu_release(self, &bar->board);
    bar->pending--;
    complete(self->cta, bar);
}

void tsr_emu_mbarrier_arrive(unsigned address, unsigned rank)
{
    const void *place = __builtin_return_address(0);
    emu_thread *self = tsr_emu_hopper_self(place);
    tsr_emu_reach(self, rank, place);
    arrive(self, use(self, address, rank, place), 0, place);
}

void tsr_emu_mbarrier_arrive_expect(unsigned address, unsigned bytes)
{
    const void *place = __builtin_return_address(0);
    emu_thread *self = tsr_emu_hopper_self(place);
    emu_mbarrier *bar = use(self, address, self->rank, place);
    bar->bytes += bytes;
    arrive(self, bar, bytes, place);
}

void tsr_emu_mbarrier_arrive_copies(unsigned address)
{
    const void *place = __builtin_return_address(0);
    emu_thread *self = tsr_emu_hopper_self(place);
    emu_mbarrier *bar = use(self, address, self->rank, place);
    tsr_emu_copies_land(self);
    arrive(self, bar, 0, place);
}

/* The copy engine delivers one of the loads that count down here, whichever. */
static void deliver_one(emu_thread *self, emu_mbarrier *bar)
{
    emu_cta *cta = self->cta;
    emu_load *load = bar->loads;
    bar->loads = load->next;
    load->next = cta->hopper->free_loads; /* nobody takes it before we are done */
    cta->hopper->free_loads = load;
    if (load->sender)
        tsr_emu_deliver_sent(cta, load);
    else
        tsr_emu_deliver(cta, load);
    if (cta->listener)
        tsr_emu_tell_of_slot(cta, load->to,
                             (tsr_event){.kind = TSR_EVENT_LAND,
                                         .at = load->to,
                                         .mbarrier = bar->offset,
                                         .bytes = load->bytes,
                                         .number = bar->phase,
                                         .place = load->place,
                                         .box = load->sender ? NULL : &load->spec,
                                         .box_at = load->sender ? NULL : load->at});
    bar->bytes -= (long long)load->bytes;
    if (!bar->board) {
        bar->board = load->seen;
    } else {
        /* The board learns as a thread would. */
        emu_clock clock = {.stamp = load->stamp, .seen = bar->board};
        if (!tsr_emu_clock_acquire(&cta->shared.time, &clock, load->seen))
            tsr_emu_no_memory();
        bar->board = clock.seen;
        tsr_emu_seen_drop(&cta->shared.time, load->seen);
    }
    /* Arrivals say what to expect, so once all have come nothing more may. */
    if (bar->pending == 0 && bar->bytes < 0)
        tsr_emu_break("more bytes come to an mbarrier than its phase was told to expect", load->place);
    complete(cta, bar);
}

void tsr_emu_mbarrier_wait(unsigned address, unsigned parity)
{
    const void *place = __builtin_return_address(0);
    emu_thread *self = tsr_emu_hopper_self(place);
    emu_mbarrier *bar = use(self, address, self->rank, place);
    if (parity > 1)
        tsr_emu_break("a phase's parity is 0 or 1", place);
    const unsigned wanted =
        (bar->phase & 1) == parity ? bar->phase : bar->phase - 1; /* the phase whose end it waits for */
    if (self->cta->listener)
        tell_mbarrier(self, TSR_EVENT_WAIT, bar, wanted, 0, place);
    while ((bar->phase & 1) == parity) {
        if (bar->loads)
            deliver_one(self, bar);
        else
            tsr_emu_wait_in(self, &bar->waiting, place);
    }
    tsr_emu_acquire(self, bar->done);
    if (self->cta->listener)
        tell_mbarrier(self, TSR_EVENT_PASS, bar, wanted, 0, place);
}

void tsr_emu_fence_async_shared(void)
{
    emu_thread *self = tsr_emu_hopper_self(__builtin_return_address(0));
    emu_fences *fences = &self->cta->hopper->fences[self->id];
    fences->clocks[fences->count++ % EMU_FENCES] = self->clock.stamp >> EMU_STAMP_SHIFT;
    if (!tsr_emu_clock_advance(&self->cta->shared.time, &self->clock))
        tsr_emu_misuse("the emulator ran out of clocks");
}
