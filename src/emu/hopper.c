/* Clusters, register counts: what waits and who wakes it. */
#include "emu/hopper.h"

#include <string.h>

#include "emu/emulated_machine.h"

int tsr_emu_hopper_make(emu_cta *cta)
{
    const tsr_allocator *allocator = cta->shape.allocator;
    const unsigned cta_groups = (cta->shape.cta_threads + EMU_GROUP_THREADS - 1) / EMU_GROUP_THREADS;
    const unsigned n_groups = cta_groups * (cta->shape.n_threads / cta->shape.cta_threads);
    emu_cta_hopper *hopper = tsr_alloc(allocator, 64, sizeof *hopper);
    if (!hopper)
        return 0;
    *hopper = (emu_cta_hopper){.n_groups = n_groups, .cta_groups = cta_groups};
    cta->hopper = hopper;
    hopper->groups = tsr_alloc(allocator, 64, n_groups * sizeof *hopper->groups);
    for (unsigned i = 0; hopper->groups && i < n_groups; i++)
        hopper->groups[i] = (emu_group){0};
    hopper->fences = tsr_alloc(allocator, 64, cta->shape.n_threads * sizeof *hopper->fences);
    hopper->threads = tsr_alloc(allocator, 64, cta->shape.n_threads * sizeof *hopper->threads);
    if (!hopper->groups || !hopper->fences || !hopper->threads)
        return 0;
    for (unsigned i = 0; i < cta->shape.n_threads; i++) {
        emu_thread_hopper *thread = &hopper->threads[i];
        thread->n_products = thread->n_stores = 0;
        cta->threads[i].hopper = thread;
    }
    return 1;
}

static unsigned group_in_cta(const emu_thread *thread)
{
    return (thread->id - thread->rank * thread->cta->shape.cta_threads) / EMU_GROUP_THREADS;
}

emu_group *tsr_emu_group_of(const emu_thread *thread)
{
    emu_cta_hopper *hopper = thread->cta->hopper;
    return &hopper->groups[thread->rank * hopper->cta_groups + group_in_cta(thread)];
}

emu_thread *tsr_emu_group_threads(const emu_thread *thread)
{
    const unsigned first = thread->rank * thread->cta->shape.cta_threads;
    return &thread->cta->threads[first + group_in_cta(thread) * EMU_GROUP_THREADS];
}

static void drop_meeting(emu_time *time, emu_meeting *meeting)
{
    tsr_emu_seen_drop(time, meeting->board);
    tsr_emu_seen_drop(time, meeting->done);
    *meeting = (emu_meeting){0};
}

/* Forgets what the slot's last CTA left, finished or not. */
static void clear(emu_cta *cta)
{
    emu_cta_hopper *hopper = cta->hopper;
    emu_time *time = &cta->shared.time;
    for (unsigned i = 0; i < hopper->n_mbarriers; i++) {
        emu_mbarrier *bar = &hopper->mbarriers[i];
        tsr_emu_seen_drop(time, bar->board);
        tsr_emu_seen_drop(time, bar->done);
        while (bar->loads) {
            emu_load *next = bar->loads->next;
            tsr_emu_seen_drop(time, bar->loads->seen);
            tsr_emu_drop_moment(cta, &bar->loads->moment);
            bar->loads->next = hopper->free_loads;
            hopper->free_loads = bar->loads;
            bar->loads = next;
        }
    }
    hopper->n_mbarriers = 0;
    drop_meeting(time, &hopper->cluster);
    for (unsigned i = 0; i < EMU_CLUSTER_CTAS; i++) {
        tsr_emu_seen_drop(time, hopper->ends[i]);
        hopper->ends[i] = NULL;
        hopper->ended[i] = 0;
    }
    for (unsigned i = 0; hopper->threads && i < cta->shape.n_threads; i++) {
        emu_thread_hopper *thread = &hopper->threads[i];
        for (unsigned j = 0; j < thread->n_products; j++)
            tsr_emu_seen_drop(time, thread->products[j].seen);
        thread->n_products = 0;
        tsr_emu_stores_forget(&cta->threads[i]);
    }
}

void tsr_emu_hopper_free(emu_cta *cta)
{
    const tsr_allocator *allocator = cta->shape.allocator;
    emu_cta_hopper *hopper = cta->hopper;
    if (!hopper)
        return;
    if (hopper->groups && hopper->fences && hopper->threads)
        clear(cta);
    while (hopper->free_loads) {
        emu_load *next = hopper->free_loads->next;
        tsr_free(allocator, hopper->free_loads);
        hopper->free_loads = next;
    }
    for (unsigned i = 0; hopper->groups && i < hopper->n_groups; i++)
        tsr_free(allocator, hopper->groups[i].work);
    tsr_free(allocator, hopper->groups);
    tsr_free(allocator, hopper->fences);
    tsr_free(allocator, hopper->threads);
    tsr_free(allocator, hopper);
    cta->hopper = NULL;
}

void tsr_emu_hopper_begin(emu_cta *cta)
{
    const emu_launch *launch = cta->worker->launch;
    emu_cta_hopper *hopper = cta->hopper;
    clear(cta);
    hopper->grid_waited = 0;
    for (unsigned i = 0; i < hopper->n_groups; i++) {
        emu_group *group = &hopper->groups[i];
        *group = (emu_group){.work = group->work};
    }
    for (unsigned i = 0; i < launch->shape.n_threads; i++) {
        emu_thread_hopper *thread = &hopper->threads[i];
        hopper->fences[i].count = 0;
        memset(thread->reached, 0, sizeof thread->reached);
        thread->has_grid_waited = 0;
        thread->has_arrived = thread->is_wgmma_fenced = 0;
        thread->products_committed = thread->stores_committed = 0;
        thread->n_registers = 0;
        for (unsigned j = 0; j < EMU_ACCUMULATORS; j++)
            thread->accumulators[j].registers = NULL;
    }
}

emu_thread *tsr_emu_hopper_self(const void *place)
{
    emu_thread *self = tsr_emu_self();
    if (!self->hopper)
        tsr_emu_break("an instruction of compute capability 9.0 in a kernel for older GPUs", place);
    return self;
}

void tsr_emu_break(const char *rule, const void *place)
{
    emu_fault fault = {.kind = EMU_MISUSE, .rule = rule};
    tsr_emu_fail_thread(&fault, place);
}

void tsr_emu_no_memory(void)
{
    emu_fault fault = {.kind = EMU_NO_MEMORY};
    tsr_emu_fail_thread(&fault, __builtin_return_address(0));
}

void tsr_emu_wait_in(emu_thread *self, emu_thread **list, const void *place)
{
    self->state = EMU_ELSEWHERE;
    self->place = place;
    self->next_waiting = *list;
    *list = self;
    tsr_emu_wait(self);
}

void tsr_emu_wake_all(emu_thread **list)
{
    emu_thread *thread = *list;
    *list = NULL;
    while (thread) {
        emu_thread *next = thread->next_waiting;
        tsr_emu_wake(thread);
        thread = next;
    }
}

size_t tsr_emu_place_in_slot(const emu_thread *self, unsigned address, size_t bytes, const void *place)
{
    const size_t offset = address & EMU_OFFSET_MASK;
    if (address >> EMU_RANK_SHIFT != self->rank)
        tsr_emu_break("a shared address of another CTA where one of the caller's own is needed", place);
    if (offset > self->cta->window_bytes || self->cta->window_bytes - offset < bytes)
        tsr_emu_break("an asynchronous instruction reaches beyond the CTA's shared memory", place);
    return self->window + offset;
}

emu_moment tsr_emu_moment(emu_thread *self)
{
    const emu_moment now = {self->clock, self->cta->shared.time.floor};
    if (now.clock.seen)
        now.clock.seen->references++;
    if (!tsr_emu_clock_advance(&self->cta->shared.time, &self->clock))
        tsr_emu_misuse("the emulator ran out of clocks");
    return now;
}

void tsr_emu_drop_moment(emu_cta *cta, emu_moment *moment)
{
    tsr_emu_seen_drop(&cta->shared.time, moment->clock.seen);
    moment->clock.seen = NULL;
}

void tsr_emu_release(emu_thread *self, emu_seen **board)
{
    if (!tsr_emu_clock_release(&self->cta->shared.time, &self->clock, board))
        tsr_emu_no_memory();
}

void tsr_emu_acquire(emu_thread *self, emu_seen *board)
{
    if (!tsr_emu_clock_acquire(&self->cta->shared.time, &self->clock, board))
        tsr_emu_no_memory();
}

/* ---- the cluster ---- */

unsigned tsr_emu_cluster_rank(void)
{
    return tsr_emu_self()->rank;
}

/* All threads that have not ended arrived: a new phase. */
static void complete_cluster(emu_cta *cta)
{
    emu_meeting *meeting = &cta->hopper->cluster;
    if (meeting->arrived == 0 || meeting->arrived < cta->live)
        return;
    tsr_emu_seen_drop(&cta->shared.time, meeting->done);
    meeting->done = meeting->board;
    meeting->board = NULL;
    meeting->arrived = 0;
    meeting->phase++;
    tsr_emu_wake_all(&meeting->waiting);
}

void tsr_emu_cluster_arrive(void)
{
    emu_thread *self = tsr_emu_hopper_self(__builtin_return_address(0));
    emu_meeting *meeting = &self->cta->hopper->cluster;
    if (self->hopper->has_arrived)
        tsr_emu_break("a thread arrives twice at the cluster's barrier and does not wait in between",
                      __builtin_return_address(0));
    if (self->cta->listener)
        tsr_emu_tell(self, (tsr_event){.kind = TSR_EVENT_CLUSTER,
                                       .other = self->rank,
                                       .number = meeting->phase,
                                       .place = __builtin_return_address(0)});
    self->hopper->has_arrived = 1;
    self->hopper->arrived_phase = meeting->phase;
    tsr_emu_release(self, &meeting->board);
    self->cta->polls = 0;
    meeting->arrived++;
    complete_cluster(self->cta);
}

void tsr_emu_cluster_wait(void)
{
    const void *place = __builtin_return_address(0);
    emu_thread *self = tsr_emu_hopper_self(place);
    emu_meeting *meeting = &self->cta->hopper->cluster;
    if (!self->hopper->has_arrived)
        tsr_emu_break("a thread waits at the cluster's barrier where it did not arrive", place);
    while (meeting->phase == self->hopper->arrived_phase)
        tsr_emu_wait_in(self, &meeting->waiting, place);
    self->hopper->has_arrived = 0;
    tsr_emu_acquire(self, meeting->done);
    if (self->cta->listener)
        tsr_emu_tell(self, (tsr_event){.kind = TSR_EVENT_CLUSTER_PASS,
                                       .other = self->rank,
                                       .number = self->hopper->arrived_phase,
                                       .place = place});
}

/* The last thread of CTA `rank` ends. Its shared memory may go now: whoever reached into it must have told, and what
 * was sent to it must have come. */
static void end_window(emu_thread *last, unsigned rank)
{
    const emu_launch *launch = last->cta->worker->launch;
    emu_cta_hopper *hopper = last->cta->hopper;
    for (unsigned i = 0; i < hopper->n_mbarriers; i++)
        for (const emu_load *load = hopper->mbarriers[i].loads; load; load = load->next) {
            if (hopper->mbarriers[i].offset - last->window < last->cta->window_bytes)
                tsr_emu_break("a CTA ends before the bulk copies to its shared memory have come", load->place);
            if (load->sender && load->sender->rank == rank)
                tsr_emu_break("a CTA ends before bulk copies have read its shared memory", load->place);
        }
    for (unsigned i = 0; i < launch->shape.n_threads; i++) {
        const emu_reach *reach = &last->cta->threads[i].hopper->reached[rank];
        if (reach->clock && hopper->ends[rank]->clocks[i] < reach->clock)
            tsr_emu_break("this CTA may end while another one still reaches into its shared memory", reach->place);
    }
}

void tsr_emu_hopper_thread_ends(emu_thread *thread)
{
    emu_cta_hopper *hopper = thread->cta->hopper;
    const emu_launch *launch = thread->cta->worker->launch;
    tsr_emu_stores_end(thread);
    tsr_emu_products_end(thread);
    if (thread->hopper->has_arrived)
        tsr_emu_break("a thread ends between its arrival and its wait at the cluster's barrier",
                      __builtin_return_address(0));
    if (launch->shape.cluster > 1)
        tsr_emu_release(thread, &hopper->ends[thread->rank]);
    if (++hopper->ended[thread->rank] == launch->shape.cta_threads)
        end_window(thread, thread->rank);
    thread->cta->live--; /* as it will be */
    complete_cluster(thread->cta);
    thread->cta->live++;
}

/* ---- warps and warp groups ---- */

unsigned tsr_emu_elected_lane(void)
{
    const emu_thread *self = tsr_emu_self();
    const unsigned long long seed = self->cta->worker->launch->job->seed;
    /* Any will do, but the same each time. */
    const unsigned long long mixed =
        (seed + 1) * 0x9E3779B97F4A7C15ull ^ (unsigned long long)self->id / 32 * 0xBF58476Dull;
    return (unsigned)(mixed >> 27) % 32;
}

/* What setmaxnreg last gave to a thread of the group; 0: it has what it was launched with. */
static int registers_of(const emu_group *group)
{
    return group->n_registers ? group->registers[(group->n_registers - 1) % EMU_MAXNREG_SETS] : 0;
}

void tsr_emu_set_registers(int count, int raise)
{
    enum { SM_REGISTERS = 65536, UNIT = 8 };
    const void *place = __builtin_return_address(0);
    emu_thread *self = tsr_emu_hopper_self(place);
    emu_cta_hopper *hopper = self->cta->hopper;
    emu_group *group = tsr_emu_group_of(self);
    if (self->cta->listener)
        tsr_emu_tell(
            self,
            (tsr_event){.kind = TSR_EVENT_REGISTERS, .other = self->rank, .number = (unsigned)count, .place = place});
    if (count < 24 || count > 256 || count % 8)
        tsr_emu_break("setmaxnreg takes a multiple of 8 from 24 to 256", place);
    const unsigned number = self->hopper->n_registers++;
    if (number < group->n_registers) { /* another thread of the group has been here */
        if (group->registers[number % EMU_MAXNREG_SETS] != count)
            tsr_emu_break("threads of a warp group set different numbers of registers", place);
        return;
    }
    const int before = registers_of(group);
    if (before && (raise ? count < before : count > before))
        tsr_emu_break(raise ? "setmaxnreg.inc to fewer registers than the warp group has"
                            : "setmaxnreg.dec to more registers than the warp group has",
                      place);
    group->registers[group->n_registers++ % EMU_MAXNREG_SETS] = count;
    /* A group that wants more waits for ever unless the others leave it enough of what the CTA was launched with. */
    const int threads = (int)self->cta->worker->launch->shape.cta_threads,
              launched = SM_REGISTERS / threads / UNIT * UNIT * threads;
    int wanted = 0;
    for (unsigned i = 0; i < hopper->cta_groups; i++) {
        const int registers = registers_of(&hopper->groups[self->rank * hopper->cta_groups + i]);
        if (registers == 0)
            return;
        wanted += registers * EMU_GROUP_THREADS;
    }
    if (wanted > launched)
        tsr_emu_break("the warp groups of a CTA ask for more registers than it is launched with", place);
}
