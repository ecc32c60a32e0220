#include "emu/atomic.h"

#include <string.h>

#include "emu/emulated_machine.h"

void tsr_emu_atomics_make(emu_atomics *atomics)
{
    *atomics = (emu_atomics){0};
    pthread_mutex_init(&atomics->lock, NULL);
}

void tsr_emu_atomics_free(emu_atomics *atomics, const tsr_allocator *allocator)
{
    for (unsigned i = 0; i < atomics->count; i++)
        tsr_emu_far_free(&atomics->boards[i].news, allocator);
    tsr_free(allocator, atomics->boards);
    pthread_mutex_destroy(&atomics->lock);
}

/* The word's board; with `make`, made if there is none. Kernels use a few words, so a search will do. */
static emu_far *find_board(emu_atomics *atomics, const unsigned *word, int make, const tsr_allocator *allocator)
{
    for (unsigned i = 0; i < atomics->count; i++)
        if (atomics->boards[i].word == word)
            return &atomics->boards[i].news;
    if (!make)
        return NULL;
    if (atomics->count == atomics->capacity) {
        const unsigned capacity = atomics->capacity ? 2 * atomics->capacity : 64;
        emu_board *boards = tsr_alloc(allocator, 64, capacity * sizeof *boards);
        if (!boards)
            return NULL;
        if (atomics->count)
            memcpy(boards, atomics->boards, atomics->count * sizeof *boards);
        tsr_free(allocator, atomics->boards);
        atomics->boards = boards;
        atomics->capacity = capacity;
    }
    emu_board *board = &atomics->boards[atomics->count++];
    *board = (emu_board){.word = word};
    return &board->news;
}

static unsigned apply(unsigned *word, tsr_emu_atomic_operation operation, unsigned operand, unsigned expected)
{
    const unsigned old = __atomic_load_n(word, __ATOMIC_RELAXED);
    unsigned next = operand;
    switch (operation) {
    case TSR_EMU_LOAD:
        return old;
    case TSR_EMU_STORE:
    case TSR_EMU_EXCHANGE:
        break;
    case TSR_EMU_ADD:
        next = old + operand;
        break;
    case TSR_EMU_COMPARE_EXCHANGE:
        next = old == expected ? operand : old;
        break;
    }
    __atomic_store_n(word, next, __ATOMIC_RELAXED);
    return old;
}

/* Whoever polls lets others run first, else the value could never change. */
static void poll_pause(emu_thread *self, const void *place)
{
    self->place = place;
    self->cta->polls++;
    tsr_emu_wake(self);
    tsr_emu_wait(self);
}

/* The same value at the same place as before is no progress; anything else is. */
static void note_poll(emu_thread *self, const unsigned *word, unsigned value)
{
    if (self->polled_word == word && self->polled_value == value)
        return;
    self->polled_word = word;
    self->polled_value = value;
    tsr_emu_progress(self->cta);
}

unsigned tsr_emu_atomic(unsigned *word, tsr_emu_atomic_operation operation, unsigned operand, unsigned expected,
                        unsigned order)
{
    const void *place = __builtin_return_address(0);
    emu_thread *self = tsr_emu_self();
    emu_cta *cta = self->cta;
    emu_launch *launch = cta->worker->launch;
    const tsr_allocator *allocator = launch->job->allocator;
    emu_fault fault = {.kind = EMU_MISALIGNED};
    const emu_agent agent = {cta->number, &self->clock, &cta->shared.time, &cta->far};
    if (operation == TSR_EMU_LOAD)
        poll_pause(self, place);
    if ((uintptr_t)word % sizeof *word != 0 || !tsr_emu_global_atomic(&cta->worker->global, word, &launch->claims,
                                                                      &agent, operation != TSR_EMU_LOAD, &fault)) {
        if (fault.kind == EMU_MISALIGNED)
            tsr_emu_global_name(&cta->worker->global, word, &fault);
        fault.address = word;
        fault.size = sizeof *word;
        fault.is_write = operation != TSR_EMU_LOAD;
        tsr_emu_fail_thread(&fault, place);
    }

    tsr_emu_watch_put(self, TSR_WATCH_GLOBAL_ATOMIC, sizeof *word, (uintptr_t)word, place);
    pthread_mutex_lock(&launch->atomics.lock);
    int enough = 1;
    emu_far *board = find_board(&launch->atomics, word, order & TSR_EMU_RELEASE, allocator);
    if (board && (order & TSR_EMU_ACQUIRE))
        enough = tsr_emu_far_acquire(&cta->far, board, cta->number, &cta->shared.time, &self->clock);
    if (enough && (order & TSR_EMU_RELEASE))
        enough = board && tsr_emu_far_release(board, &cta->far, cta->number, &cta->shared.time, &self->clock);
    /* Unseen where what it releases could not be recorded: another thread would take that for a race. */
    const unsigned old = apply(word, enough ? operation : TSR_EMU_LOAD, operand, expected);
    pthread_mutex_unlock(&launch->atomics.lock);
    if (cta->listener)
        tsr_emu_tell(self, (tsr_event){.kind = TSR_EVENT_ATOMIC,
                                       .other = self->rank,
                                       .at = (uintptr_t)word,
                                       .number = old,
                                       .bytes = operation == TSR_EMU_ADD ? operand : 0,
                                       .place = place});

    if (!enough) {
        fault.kind = EMU_NO_MEMORY;
        tsr_emu_fail_thread(&fault, place);
    }
    if (operation == TSR_EMU_LOAD)
        note_poll(self, word, old);
    else
        tsr_emu_progress(cta);
    return old;
}
