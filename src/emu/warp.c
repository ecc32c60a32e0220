/* What the lanes of a warp do together: shuffles, votes, matrix instructions. The lanes may come at any time; the last
 * one does the work for all. */
#include "emu/emulated_machine.h"

/* Lanes of this warp that there are. */
static unsigned existing_lanes(const emu_thread *thread)
{
    const unsigned rest = thread->cta->worker->launch->shape.n_threads - (thread->id & ~31u);
    return rest >= 32 ? 0xffffffffu : (1u << rest) - 1;
}

/* 1 if all lanes of the mask wait, each for the same lanes. */
static int is_complete(const emu_thread *warp, uint32_t waiting, unsigned mask)
{
    if ((waiting & mask) != mask)
        return 0;
    for (unsigned lane = 0; lane < 32; lane++)
        if ((mask >> lane & 1) && warp[lane].warp_mask != mask)
            return 0;
    return 1;
}

/* Stops until all lanes of the mask are here. 1 for the last one, which then must release the others. */
static int meet(emu_thread *self, unsigned mask, tsr_emu_warp_function *function, void *operands, const void *place)
{
    emu_cta *cta = self->cta;
    emu_thread *warp = &cta->threads[self->id & ~31u];
    uint32_t *waiting = &cta->warps[self->id / 32];
    mask &= existing_lanes(self);
    if (!(mask >> self->id % 32 & 1))
        tsr_emu_break("a lane is not in its own mask", place);
    self->state = EMU_AT_WARP;
    self->place = place;
    self->warp_mask = mask;
    self->warp_function = function;
    self->warp_operands = operands;
    *waiting |= 1u << self->id % 32;
    if (!is_complete(warp, *waiting, mask)) {
        tsr_emu_wait(self);
        return 0;
    }
    for (unsigned lane = 0; lane < 32; lane++)
        if ((mask >> lane & 1) && warp[lane].warp_function != function)
            tsr_emu_break("lanes of one warp met in different instructions", place);
    return 1;
}

static void release(emu_thread *self)
{
    emu_thread *warp = &self->cta->threads[self->id & ~31u];
    const unsigned mask = self->warp_mask;
    self->cta->warps[self->id / 32] &= ~mask;
    for (unsigned lane = 0; lane < 32; lane++)
        if ((mask >> lane & 1) && &warp[lane] != self)
            tsr_emu_wake(&warp[lane]);
    self->state = EMU_READY;
    self->cta->polls = 0;
}

void tsr_emu_warp(unsigned mask, tsr_emu_warp_function *function, void *operands)
{
    emu_thread *self = tsr_emu_self();
    if (self->cta->trace)
        tsr_emu_trace_meeting(self, TSR_TRACE_WARP, __builtin_return_address(0));
    if (!meet(self, mask, function, operands, __builtin_return_address(0)))
        return;
    emu_thread *warp = &self->cta->threads[self->id & ~31u];
    void *lanes[32] = {0};
    for (unsigned lane = 0; lane < 32; lane++)
        if (self->warp_mask >> lane & 1)
            lanes[lane] = warp[lane].warp_operands;
    tsr_emu_watch_pause(self, 1);
    const char *rule = function(lanes, self->warp_mask);
    tsr_emu_watch_pause(self, 0);
    if (rule)
        tsr_emu_break(rule, self->place);
    release(self);
}

void tsr_emu_warp_sync(unsigned mask)
{
    emu_thread *self = tsr_emu_self();
    if (!meet(self, mask, NULL, NULL, __builtin_return_address(0)))
        return;
    emu_time *time = &self->cta->shared.time;
    emu_thread *warp = &self->cta->threads[self->id & ~31u];
    emu_seen *board = NULL;
    int enough = 1;
    for (unsigned lane = 0; lane < 32 && enough; lane++)
        if (self->warp_mask >> lane & 1)
            enough = tsr_emu_clock_release(time, &warp[lane].clock, &board);
    for (unsigned lane = 0; lane < 32 && enough; lane++)
        if (self->warp_mask >> lane & 1)
            tsr_emu_clock_adopt(time, &warp[lane].clock, board);
    tsr_emu_seen_drop(time, board);
    if (!enough)
        tsr_emu_fail_thread(&(emu_fault){.kind = EMU_NO_MEMORY}, self->place);
    release(self);
}

/* Whoever can come here before this thread's next turn is taken to run together with it. */
unsigned tsr_emu_active_mask(void)
{
    emu_thread *self = tsr_emu_self();
    emu_thread *warp = &self->cta->threads[self->id & ~31u];
    const unsigned existing = existing_lanes(self);
    const void *place = __builtin_return_address(0);
    self->place = self->active_place = place;
    tsr_emu_wake(self);
    tsr_emu_wait(self);
    if (!self->active_place)
        return self->active_mask; /* another lane has counted us */
    unsigned mask = 0;
    for (unsigned lane = 0; lane < 32; lane++)
        if ((existing >> lane & 1) && warp[lane].active_place == place)
            mask |= 1u << lane;
    for (unsigned lane = 0; lane < 32; lane++)
        if (mask >> lane & 1) {
            warp[lane].active_mask = mask;
            warp[lane].active_place = NULL;
        }
    return mask;
}
