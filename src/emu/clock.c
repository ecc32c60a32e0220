#include "emu/clock.h"

#include <string.h>

enum { CHUNK = 16 }; /* clocks that are joined at once; vectors have a multiple of it */

static size_t vector_bytes(const emu_time *time)
{
    return (time->n_threads + CHUNK - 1) / CHUNK * CHUNK * sizeof(uint32_t);
}

/* A vector of our own with one reference, all zero. */
static emu_seen *seen_make(emu_time *time)
{
    const size_t bytes = vector_bytes(time);
    emu_seen *seen = time->free;
    if (seen) {
        time->free = seen->next;
    } else {
        seen = tsr_alloc(time->allocator, 64, sizeof *seen + bytes);
        if (!seen)
            return NULL;
        seen->earlier = time->all;
        time->all = seen;
    }
    seen->references = 1;
    seen->state = ++time->states;
    seen->added = 0;
    memset(seen->clocks, 0, bytes);
    return seen;
}

void tsr_emu_seen_drop(emu_time *time, emu_seen *seen)
{
    if (!seen || --seen->references > 0)
        return;
    seen->next = time->free;
    time->free = seen;
}

static void forget_joins(emu_time *time)
{
    for (unsigned i = 0; i < EMU_JOINS; i++) {
        tsr_emu_seen_drop(time, time->joins[i].result);
        time->joins[i] = (emu_join){0};
    }
}

void tsr_emu_time_free(emu_time *time)
{
    while (time->all) {
        emu_seen *earlier = time->all->earlier;
        tsr_free(time->allocator, time->all);
        time->all = earlier;
    }
    time->free = NULL;
}

int tsr_emu_time_begin(emu_time *time)
{
    forget_joins(time);
    if (!tsr_emu_time_barrier(time))
        return 0;
    time->first = time->floor;
    return 1;
}

int tsr_emu_time_barrier(emu_time *time)
{
    if (time->latest == EMU_CLOCK_MAX)
        return 0;
    time->floor = ++time->latest;
    return 1;
}

void tsr_emu_clock_reset(emu_time *time, emu_clock *clock, unsigned thread)
{
    clock->stamp = time->floor << EMU_STAMP_SHIFT | thread;
    tsr_emu_seen_drop(time, clock->seen);
    clock->seen = NULL;
}

/* Makes *seen a vector that nobody else refers to. */
static int seen_own(emu_time *time, emu_seen **seen)
{
    if (*seen && (*seen)->references == 1)
        return 1;
    emu_seen *own = seen_make(time);
    if (!own)
        return 0;
    if (*seen)
        memcpy(own->clocks, (*seen)->clocks, vector_bytes(time));
    tsr_emu_seen_drop(time, *seen);
    *seen = own;
    return 1;
}

/* `seen` is our own. */
static void seen_add(emu_time *time, emu_seen *seen, const emu_seen *more)
{
    if (!more || seen->added == more->state)
        return;
    for (unsigned first = 0; first < time->n_threads; first += CHUNK)
        for (unsigned i = first; i < first + CHUNK; i++) {
            const uint32_t mine = seen->clocks[i], other = more->clocks[i];
            seen->clocks[i] = mine < other ? other : mine;
        }
    seen->added = more->state;
    seen->state = ++time->states;
}

int tsr_emu_clock_advance(emu_time *time, emu_clock *clock)
{
    const uint32_t now = clock->stamp >> EMU_STAMP_SHIFT;
    if (now == EMU_CLOCK_MAX)
        return 0;
    clock->stamp += 1u << EMU_STAMP_SHIFT;
    if (time->latest < now + 1)
        time->latest = now + 1;
    return 1;
}

int tsr_emu_clock_release(emu_time *time, emu_clock *clock, emu_seen **board)
{
    const uint32_t now = clock->stamp >> EMU_STAMP_SHIFT;
    if (!seen_own(time, board))
        return 0;
    seen_add(time, *board, clock->seen);
    (*board)->clocks[clock->stamp & EMU_STAMP_THREAD] = now;
    (*board)->state = ++time->states;
    return tsr_emu_clock_advance(time, clock);
}

void tsr_emu_clock_adopt(emu_time *time, emu_clock *clock, emu_seen *board)
{
    board->references++;
    tsr_emu_seen_drop(time, clock->seen);
    clock->seen = board;
}

int tsr_emu_clock_acquire(emu_time *time, emu_clock *clock, emu_seen *board)
{
    if (!board || board == clock->seen)
        return 1;
    if (!clock->seen) {
        tsr_emu_clock_adopt(time, clock, board);
        return 1;
    }
    for (unsigned i = 0; i < EMU_JOINS; i++) {
        const emu_join *join = &time->joins[i];
        if (join->left == clock->seen->state && join->right == board->state) {
            tsr_emu_clock_adopt(time, clock, join->result);
            return 1;
        }
    }
    emu_join *join = &time->joins[time->next_join++ % EMU_JOINS];
    const uint64_t left = clock->seen->state;
    if (!seen_own(time, &clock->seen))
        return 0;
    seen_add(time, clock->seen, board);
    tsr_emu_seen_drop(time, join->result);
    clock->seen->references++;
    *join = (emu_join){left, board->state, clock->seen};
    return 1;
}

int tsr_emu_clock_learn(emu_time *time, emu_clock *clock, emu_stamp stamp, const uint32_t *clocks)
{
    if (!seen_own(time, &clock->seen))
        return 0;
    uint32_t *own = clock->seen->clocks;
    for (unsigned i = 0; clocks && i < time->n_threads; i++)
        if (own[i] < clocks[i])
            own[i] = clocks[i];
    if (own[stamp & EMU_STAMP_THREAD] < stamp >> EMU_STAMP_SHIFT)
        own[stamp & EMU_STAMP_THREAD] = stamp >> EMU_STAMP_SHIFT;
    return 1;
}
