/* Which fiber runs next. A thread runs until it waits or ends; then the next ready one goes on, in an order that is
 * shuffled anew at each barrier from the CTA's own seed, so that it depends on nothing but seed and CTA number. */
#include <stdio.h>
#include <string.h>

#include "emu/emulated_machine.h"

_Thread_local emu_thread *tsr_emu_current __attribute__((visibility("hidden")));
atomic_intptr_t tsr_emu_current_at __attribute__((visibility("hidden"))) = EMU_NOT_KNOWN;

__attribute__((noinline, cold)) emu_thread *tsr_emu_ask_loader(void)
{
    return tsr_emu_current;
}

/* A thread that finds it elsewhere than another one did ends that for all: those that go by the distance may go on,
 * since it is right for them. */
void tsr_emu_find_current(void)
{
#if defined(__x86_64__) && defined(__ELF__)
    uintptr_t base;
    __asm__("mov %%fs:0, %0" : "=r"(base));
    const intptr_t own = (intptr_t)((uintptr_t)&tsr_emu_current - base);
    intptr_t known = EMU_NOT_KNOWN;
    if (!atomic_compare_exchange_strong(&tsr_emu_current_at, &known, own) && known != own)
        atomic_store(&tsr_emu_current_at, EMU_ASK_LOADER);
#endif
}

/* xorshift64*: Vigna, "An experimental exploration of Marsaglia's xorshift generators" (2016). */
static uint32_t random_below(uint64_t *state, uint32_t limit)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    const uint32_t high = (uint32_t)((*state * 0x2545F4914F6CDD1Dull) >> 32);
    return (uint32_t)(((uint64_t)high * limit) >> 32);
}

/* splitmix64's finaliser: neighbouring CTAs get unlike seeds, none of them 0. */
static uint64_t seed_of(unsigned long long seed, long long cta)
{
    uint64_t z = seed + 0x9E3779B97F4A7C15ull * ((uint64_t)cta + 1);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    z ^= z >> 31;
    return z ? z : 1;
}

/* All threads may go on, in a new order. */
static void ready_all(emu_cta *cta, unsigned n_threads)
{
    for (unsigned i = 0; i < n_threads; i++)
        cta->ready[i] = (uint16_t)i;
    for (unsigned i = n_threads - 1; i > 0; i--) {
        const uint32_t j = random_below(&cta->random, i + 1);
        const uint16_t other = cta->ready[j];
        cta->ready[j] = cta->ready[i];
        cta->ready[i] = other;
    }
    cta->ready_first = 0;
    cta->ready_count = n_threads;
}

/* The next thread to run, NULL if none is ready. */
static emu_thread *next_ready(emu_cta *cta, unsigned n_threads)
{
    if (cta->ready_count == 0)
        return NULL;
    emu_thread *thread = &cta->threads[cta->ready[cta->ready_first]];
    cta->ready_first = cta->ready_first + 1 == n_threads ? 0 : cta->ready_first + 1;
    cta->ready_count--;
    return thread;
}

/* Stops `self` and runs whoever is next: a ready thread, or the scheduler when there is none. */
static void go_on(emu_thread *self, int ended)
{
    emu_cta *cta = self->cta;
    /* When every ready thread polls in vain, other CTAs must run. */
    const int is_idle = cta->polls > cta->ready_count;
    emu_thread *next = is_idle ? NULL : next_ready(cta, cta->worker->launch->shape.n_threads);
    if (next == self)
        return;
    tsr_emu_current = next;
    if (cta->ready_count > 0) /* stacks are many, and seldom in the first cache: the one after next is asked for */
        tsr_fiber_prefetch(&cta->threads[cta->ready[cta->ready_first]].fiber);
    tsr_fiber_switch(&self->fiber, next ? &next->fiber : &cta->worker->scheduler, ended);
}

void tsr_emu_wait(emu_thread *self)
{
    go_on(self, 0);
}

void tsr_emu_wake(emu_thread *thread)
{
    emu_cta *cta = thread->cta;
    const unsigned n_threads = cta->worker->launch->shape.n_threads;
    const unsigned end = cta->ready_first + cta->ready_count++;
    cta->ready[end < n_threads ? end : end - n_threads] = (uint16_t)thread->id;
    thread->state = EMU_READY;
}

void tsr_emu_barrier(void)
{
    emu_thread *self = tsr_emu_self();
    emu_cta *cta = self->cta;
    const unsigned n_threads = cta->worker->launch->shape.n_threads;
    cta->polls = 0;
    if (cta->trace)
        tsr_emu_trace_meeting(self, TSR_TRACE_BARRIER, __builtin_return_address(0));
    if (cta->listener)
        tsr_emu_tell(self,
                     (tsr_event){.kind = TSR_EVENT_SYNC, .other = self->rank, .place = __builtin_return_address(0)});
    if (cta->worker->launch->shape.cluster > 1) {
        tsr_emu_barrier_in_cluster(self, __builtin_return_address(0));
        return;
    }
    self->state = EMU_AT_BARRIER;
    self->place = __builtin_return_address(0);
    if (++cta->waiting == n_threads) {
        cta->waiting = 0;
        if (cta->watch && !tsr_emu_watch_meet(cta))
            tsr_emu_fail_thread(&(emu_fault){.kind = EMU_NO_MEMORY}, self->place);
        tsr_emu_shared_barrier(&cta->shared);
        tsr_emu_far_barrier(&cta->far, cta->worker->launch->job->allocator);
        for (unsigned i = 0; i < n_threads; i++) {
            cta->threads[i].state = EMU_READY;
            tsr_emu_clock_reset(&cta->shared.time, &cta->threads[i].clock, i);
        }
        ready_all(cta, n_threads);
    }
    go_on(self, 0);
}

_Noreturn void tsr_emu_abandon(emu_thread *thread)
{
    tsr_emu_current = NULL;
    tsr_fiber_switch(&thread->fiber, &thread->cta->worker->scheduler, 1);
    __builtin_unreachable();
}

typedef void copy_kernel(const tsr_copy_args args);
typedef void reduce_kernel(const tsr_reduce_args args);
typedef void microbench_kernel(const tsr_microbench_args args);

/* First and last code of each fiber. */
static void thread_main(void)
{
    static const tsr_tensor_maps no_maps;
    tsr_fiber_entered();
    emu_thread *self = tsr_emu_self();
    const tsr_emu_job *job = self->cta->worker->launch->job;
    if (job->kernel_scaled)
        job->kernel_scaled(*job->args, job->maps ? *job->maps : no_maps, *job->scaling);
    else if (job->kernel_tma)
        job->kernel_tma(*job->args, *job->maps);
    else if (job->copy)
        ((copy_kernel *)(void (*)(void))job->kernel)(*job->copy);
    else if (job->reduce)
        ((reduce_kernel *)(void (*)(void))job->kernel)(*job->reduce);
    else if (job->microbench)
        ((microbench_kernel *)(void (*)(void))job->kernel)(*job->microbench);
    else
        job->kernel(*job->args);
    if (self->hopper)
        tsr_emu_hopper_thread_ends(self);
    self->state = EMU_ENDED;
    tsr_emu_copies_forget(&self->copies, &self->cta->shared);
    self->cta->live--;
    self->cta->polls = 0;
    go_on(self, 1);
    __builtin_unreachable();
}

/* Threads wait for each other and none can go on: says for each place how many are there, and who is the first. */
void tsr_emu_describe_deadlock(const emu_cta *cta, emu_fault *fault)
{
    const unsigned n_threads = cta->worker->launch->shape.n_threads;
    const emu_thread *first_waiting = NULL;
    for (unsigned i = 0; i < n_threads && !first_waiting; i++)
        if (cta->threads[i].state != EMU_ENDED)
            first_waiting = &cta->threads[i];
    char *text = cta->worker->waiting;
    const size_t text_bytes = sizeof cta->worker->waiting;
    text[0] = '\0';
    *fault = (emu_fault){.kind = EMU_DEADLOCK, .cta = cta->number, .waiting = text};
    if (!first_waiting)
        return;
    fault->thread = first_waiting->id;
    fault->place = first_waiting->place;

    static const char *const states[] = {"poll at ", "wait at ", "wait at ", "wait at ", "wait at ", "ended"};
    size_t used = 0;
    for (unsigned i = 0; i < n_threads && used < text_bytes - 1; i++) {
        const emu_thread *thread = &cta->threads[i];
        unsigned alike = 0, is_first = 1;
        for (unsigned j = 0; j < n_threads; j++) {
            const emu_thread *other = &cta->threads[j];
            if (other->state != thread->state || (thread->state != EMU_ENDED && other->place != thread->place))
                continue;
            is_first &= j >= i;
            alike++;
        }
        if (!is_first)
            continue;
        char place[128];
        tsr_emu_place(thread->place, place, sizeof place);
        const int written =
            snprintf(text + used, text_bytes - used, "%s%u %s%s (first: %u, %u)", used ? "; " : "", alike,
                     states[thread->state], thread->state == EMU_ENDED ? "" : place, thread->idx.x, thread->idx.y);
        used += written > 0 ? (size_t)written : 0;
    }
}

void tsr_emu_start_cta(emu_cta *cta, long long number)
{
    const emu_launch *launch = cta->worker->launch;
    const tsr_grid *grid = &launch->job->grid;
    cta->number = number;
    tsr_emu_trace *trace = launch->job->trace;
    cta->trace = trace && trace->cta / launch->shape.cluster == number ? trace : NULL;
    cta->listener = launch->job->listener;
    cta->is_followed = cta->trace != NULL || cta->listener != NULL;
    const long long first = number * launch->shape.cluster;
    cta->idx = (tsr_emu_uint3){(unsigned)(first % grid->x), (unsigned)(first / grid->x % grid->y),
                               (unsigned)(first / grid->x / grid->y)};
    cta->live = launch->shape.n_threads;
    cta->waiting = 0;
    cta->polls = 0;
    tsr_emu_far_forget(&cta->far, launch->job->allocator);
    tsr_emu_reset_named(cta);
    memset(cta->warps, 0, sizeof cta->warps);
    cta->random = seed_of(launch->job->seed, number);
    tsr_emu_shared_begin(&cta->shared);
    if (cta->hopper)
        tsr_emu_hopper_begin(cta);
    for (unsigned i = 0; i < launch->shape.n_threads; i++) {
        emu_thread *thread = &cta->threads[i];
        thread->state = EMU_READY;
        thread->place = NULL;
        thread->polled_word = NULL;
        thread->active_place = NULL;
        tsr_emu_clock_reset(&cta->shared.time, &thread->clock, i);
        tsr_fiber_make(&thread->fiber, cta->stacks + i * EMU_STACK_STRIDE, EMU_STACK_BYTES - EMU_STACK_COLOUR(i),
                       thread_main);
    }
    ready_all(cta, launch->shape.n_threads);
}

void tsr_emu_run_cta(emu_cta *cta)
{
    emu_worker *worker = cta->worker;
    cta->polls = 0;
    emu_thread *first = next_ready(cta, worker->launch->shape.n_threads);
    tsr_emu_current = first;
    tsr_fiber_switch(&worker->scheduler, &first->fiber, 0);
    if (worker->fault.kind == EMU_NO_FAULT && cta->live > 0 && cta->ready_count == 0)
        tsr_emu_describe_deadlock(cta, &worker->fault);
}
