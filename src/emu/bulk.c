/* Bulk copies and reductions without a tensor map. What moves between global and shared memory is a box of bytes of one
 * dimension (tma.c); what one CTA sends to another's shared memory is read and written when a thread waits for it. */
#include <string.h>

#include "emu/emulated_machine.h"

static tsr_tensor_spec row_of_bytes(const void *base, unsigned bytes)
{
    return (tsr_tensor_spec){.base = base, .dtype = TSR_U8, .rank = 1, .dims = {bytes}, .box = {(int)bytes}};
}

/* The rules of every bulk copy. */
static void check_rules(uintptr_t to, uintptr_t from, unsigned bytes, const void *place)
{
    if (to % 16 || from % 16)
        tsr_emu_break("a bulk copy's addresses must be multiples of 16 bytes", place);
    if (bytes == 0 || bytes % 16)
        tsr_emu_break("a bulk copy's size must be a multiple of 16 bytes", place);
}

void tsr_emu_bulk_load(unsigned to, const void *from, unsigned bytes, unsigned bar, unsigned mask)
{
    const void *place = __builtin_return_address(0);
    emu_thread *self = tsr_emu_hopper_self(place);
    const long long at[TSR_TENSOR_MOST_RANK] = {0};
    const tsr_tensor_spec spec = row_of_bytes(from, bytes);
    check_rules(to, (uintptr_t)from, bytes, place);
    tsr_emu_start_loads(self, &spec, at, to, bar, mask, place);
}

static void store(void *to, unsigned from, unsigned bytes, emu_combine combine, const void *place)
{
    emu_thread *self = tsr_emu_hopper_self(place);
    const long long at[TSR_TENSOR_MOST_RANK] = {0};
    const tsr_tensor_spec spec = row_of_bytes(to, bytes);
    check_rules((uintptr_t)to, from, bytes, place);
    tsr_emu_start_store(self, &spec, at, from, combine, place);
}

void tsr_emu_bulk_store(void *to, unsigned from, unsigned bytes)
{
    store(to, from, bytes, (emu_combine){0}, __builtin_return_address(0));
}

void tsr_emu_bulk_prefetch(const void *from, unsigned bytes)
{
    const void *place = __builtin_return_address(0);
    tsr_emu_hopper_self(place);
    check_rules(0, (uintptr_t)from, bytes, place);
}

static emu_combine combine_of(int reduction, int in_shared, const void *place)
{
    emu_combine combine = {.is_reduction = 1};
    int may_in_shared;
    if (!tsr_emu_find_reduction(reduction, &combine.operation, &combine.type, &may_in_shared))
        tsr_emu_break("there is no such reduction", place);
    if (in_shared && !may_in_shared)
        tsr_emu_break("shared memory is reduced in integers of 32 bits, or added to in 64", place);
    return combine;
}

void tsr_emu_bulk_reduce(void *to, unsigned from, unsigned bytes, int reduction)
{
    const void *place = __builtin_return_address(0);
    store(to, from, bytes, combine_of(reduction, 0, place), place);
}

/* ---- from one CTA's shared memory to another's ---- */

/* Where the bytes at a shared address of any CTA of the cluster lie in the slot. */
static size_t reach(emu_thread *self, unsigned address, unsigned bytes, const void *place)
{
    const unsigned rank = address >> EMU_RANK_SHIFT;
    const size_t inside = address & EMU_OFFSET_MASK;
    tsr_emu_reach(self, rank, place);
    if (inside > self->cta->window_bytes || self->cta->window_bytes - inside < bytes)
        tsr_emu_break("an asynchronous instruction reaches beyond the CTA's shared memory", place);
    return rank * self->cta->worker->launch->shape.window_stride + inside;
}

static void fail(const emu_thread *culprit, emu_fault *fault, size_t bytes, int is_write, const void *place)
{
    fault->size = bytes;
    fault->is_write = is_write;
    tsr_emu_fail_for(culprit, fault, place);
}

static void send(unsigned to, unsigned from, unsigned bytes, unsigned bar, emu_combine combine, const void *place)
{
    emu_thread *self = tsr_emu_hopper_self(place);
    emu_cta *cta = self->cta;
    emu_fault fault = {0};
    check_rules(to, from, bytes, place);
    if (to >> EMU_RANK_SHIFT != bar >> EMU_RANK_SHIFT)
        tsr_emu_break("the target and the mbarrier of a bulk copy lie in different CTAs", place);
    if (cta->worker->launch->shape.cluster == 1)
        tsr_emu_break("a bulk copy from shared to shared memory in a launch without clusters", place);
    const size_t from_at = tsr_emu_place_in_slot(self, from, bytes, place);
    const size_t to_at = reach(self, to, bytes, place), bar_at = reach(self, bar, 8, place);
    emu_mbarrier *barrier = tsr_emu_engine_mbarrier(cta, bar_at, place);
    if (!tsr_emu_shared_read_async(&cta->shared, from_at, bytes, &self->clock, cta->hopper->fences, &fault))
        fail(self, &fault, bytes, 0, place);
    /* Several reductions may be on their way to one place: only copies hold it. */
    if (!combine.is_reduction &&
        !tsr_emu_shared_start_async(&cta->shared, to_at, bytes, &self->clock, cta->hopper->fences, &fault))
        fail(self, &fault, bytes, 1, place);
    if (cta->listener)
        tsr_emu_tell(self, (tsr_event){.kind = TSR_EVENT_SEND,
                                       .other = (long long)(to >> EMU_RANK_SHIFT),
                                       .at = to & EMU_OFFSET_MASK,
                                       .mbarrier = bar & EMU_OFFSET_MASK,
                                       .bytes = bytes,
                                       .is_reduction = combine.is_reduction,
                                       .place = place});
    const emu_stamp stamp = self->clock.stamp;
    const emu_moment moment = tsr_emu_moment(self);
    emu_seen *seen = NULL;
    tsr_emu_release(self, &seen);
    emu_load *load = tsr_emu_add_load(cta, barrier);
    load->sender = self;
    load->from = from_at;
    load->moment = moment;
    load->place = place;
    load->combine = combine;
    load->to = to_at;
    load->bytes = bytes;
    load->stamp = stamp;
    load->seen = seen;
}

void tsr_emu_bulk_send(unsigned to, unsigned from, unsigned bytes, unsigned bar)
{
    send(to, from, bytes, bar, (emu_combine){0}, __builtin_return_address(0));
}

void tsr_emu_bulk_reduce_send(unsigned to, unsigned from, unsigned bytes, unsigned bar, int reduction)
{
    const void *place = __builtin_return_address(0);
    send(to, from, bytes, bar, combine_of(reduction, 1, place), place);
}

void tsr_emu_deliver_sent(emu_cta *cta, emu_load *load)
{
    emu_shared *shared = &cta->shared;
    unsigned char *to = shared->bytes + load->to, *from = shared->bytes + load->from;
    emu_fault fault = {0};
    if (!tsr_emu_shared_unchanged(shared, load->from, load->bytes, &load->moment.clock, load->moment.floor, &fault) ||
        !tsr_emu_shared_read(shared, load->from, load->bytes, &load->sender->clock, &fault))
        fail(load->sender, &fault, load->bytes, 0, load->place);
    if (!load->combine.is_reduction) {
        memmove(to, from, load->bytes);
        tsr_emu_shared_land_async(shared, load->to, load->bytes, load->stamp);
    } else {
        if (!tsr_emu_shared_reduce_async(shared, load->to, load->bytes, &load->moment.clock, &fault))
            fail(load->sender, &fault, load->bytes, 1, load->place);
        tsr_emu_reduce(to, from, load->bytes, load->combine.operation, load->combine.type);
    }
    tsr_emu_drop_moment(cta, &load->moment);
}
