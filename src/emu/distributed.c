/* Shared memory of other CTAs of the cluster: loads, stores and atomic operations at addresses that carry a rank. */
#include <string.h>

#include "emu/emulated_machine.h"

void tsr_emu_reach(emu_thread *self, unsigned rank, const void *place)
{
    const emu_launch *launch = self->cta->worker->launch;
    const emu_cta_hopper *hopper = self->cta->hopper;
    if (rank >= launch->shape.cluster)
        tsr_emu_break("the cluster has no CTA of this rank", place);
    if (rank == self->rank)
        return;
    if (hopper->cluster.phase == 0)
        tsr_emu_break("another CTA's shared memory is used before the cluster has met: it may not run yet", place);
    if (hopper->ended[rank] == launch->shape.cta_threads)
        tsr_emu_break("the shared memory of a CTA that has ended is used", place);
    self->hopper->reached[rank] = (emu_reach){self->clock.stamp >> EMU_STAMP_SHIFT, place};
}

unsigned tsr_emu_cluster_size(void)
{
    return tsr_emu_self()->cta->worker->launch->shape.cluster;
}

unsigned tsr_emu_cluster_map(unsigned address, unsigned rank)
{
    const emu_thread *self = tsr_emu_self();
    if (rank >= self->cta->worker->launch->shape.cluster)
        tsr_emu_break("the cluster has no CTA of this rank", __builtin_return_address(0));
    return rank << EMU_RANK_SHIFT | (address & EMU_OFFSET_MASK);
}

typedef int recorder(emu_shared *shared, size_t offset, size_t size, const emu_clock *clock, emu_fault *fault);

/* The bytes at a shared address of any CTA of the cluster, once the access is found good. */
static unsigned char *reach_bytes(unsigned address, unsigned bytes, int is_write, recorder *record, const void *place)
{
    emu_thread *self = tsr_emu_hopper_self(place);
    emu_cta *cta = self->cta;
    const unsigned rank = address >> EMU_RANK_SHIFT;
    const size_t inside = address & EMU_OFFSET_MASK;
    emu_fault fault = {.kind = EMU_MISALIGNED, .memory = EMU_SHARED, .size = bytes, .is_write = is_write};
    tsr_emu_reach(self, rank, place);
    fault.offset = inside;
    if (inside % bytes != 0)
        tsr_emu_fail_thread(&fault, place);
    if (inside >= cta->window_bytes || cta->window_bytes - inside < bytes) {
        fault.kind = EMU_OUTSIDE;
        fault.past_bytes = (long long)inside;
        tsr_emu_fail_thread(&fault, place);
    }
    if (cta->listener)
        tsr_emu_tell(self, (tsr_event){.kind = TSR_EVENT_REMOTE,
                                       .other = (long long)rank,
                                       .at = inside,
                                       .number = (unsigned)is_write,
                                       .bytes = bytes,
                                       .place = place});
    const size_t offset = rank * cta->worker->launch->shape.window_stride + inside;
    if (!record(&cta->shared, offset, bytes, &self->clock, &fault)) {
        fault.size = bytes;
        fault.is_write = is_write;
        tsr_emu_fail_thread(&fault, place);
    }
    return cta->shared.bytes + offset;
}

void tsr_emu_cluster_load(void *to, unsigned address, unsigned bytes)
{
    memcpy(to, reach_bytes(address, bytes, 0, tsr_emu_shared_read, __builtin_return_address(0)), bytes);
}

void tsr_emu_cluster_store(unsigned address, const void *from, unsigned bytes)
{
    memcpy(reach_bytes(address, bytes, 1, tsr_emu_shared_write, __builtin_return_address(0)), from, bytes);
}

unsigned tsr_emu_cluster_add_u32(unsigned address, unsigned value)
{
    unsigned char *bytes = reach_bytes(address, 4, 1, tsr_emu_shared_atomic, __builtin_return_address(0));
    unsigned old;
    memcpy(&old, bytes, sizeof old);
    value += old;
    memcpy(bytes, &value, sizeof value);
    return old;
}

void tsr_emu_cluster_add_f32(unsigned address, float value)
{
    unsigned char *bytes = reach_bytes(address, 4, 1, tsr_emu_shared_atomic, __builtin_return_address(0));
    float old;
    memcpy(&old, bytes, sizeof old);
    value += old;
    memcpy(bytes, &value, sizeof value);
}

/* ---- grids that overlap ---- */

void tsr_emu_grid_wait(void)
{
    emu_thread *self = tsr_emu_hopper_self(__builtin_return_address(0));
    emu_cta_hopper *hopper = self->cta->hopper;
    self->hopper->has_grid_waited = 1;
    if (hopper->grid_waited)
        return;
    hopper->grid_waited = 1;
    hopper->grid_stamp = self->clock.stamp;
    if (!tsr_emu_clock_advance(&self->cta->shared.time, &self->clock))
        tsr_emu_misuse("the emulator ran out of clocks");
}

int tsr_emu_knows_grid_wait(const emu_thread *self)
{
    const emu_cta_hopper *hopper = self->cta->hopper;
    return self->hopper->has_grid_waited ||
           (hopper->grid_waited && tsr_emu_clock_has_seen(&self->cta->shared.time, &self->clock, hopper->grid_stamp));
}
