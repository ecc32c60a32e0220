/* Who has seen what: vector clocks for the threads of one CTA. Private to src/emu.
 *
 * Each thread has a clock. An access is stamped with the thread and its clock. Another thread has *seen* it if
 *   - a barrier of the whole CTA came in between: the stamp's clock is below the floor, which that barrier raised; or
 *   - a finer synchronisation led from one to the other: the thread's vector of seen clocks says so.
 * Two accesses, neither of which was seen by the other's thread, at least one a write, are a race. (The idea is that of
 * FastTrack: Flanagan and Freund, PLDI 2009.) Most kernels only use the first kind and never make a vector. */
#ifndef TSR_EMU_CLOCK_H
#define TSR_EMU_CLOCK_H

#include <stdint.h>

#include "core/memory.h"

/* clock << 14 | kind << 12 | thread. The kind is the shadow's own business and 0 here. */
typedef uint32_t emu_stamp;

#define EMU_STAMP_SHIFT  14
#define EMU_STAMP_THREAD 4095u
#define EMU_CLOCK_MAX    ((1u << (32 - EMU_STAMP_SHIFT)) - 2) /* the highest value is no clock */

/* For each thread, the highest clock whose accesses are seen. Shared by all that learned the same. */
typedef struct emu_seen {
    unsigned references;
    uint64_t state;           /* a number for its contents: equal numbers, equal contents */
    uint64_t added;           /* state of the vector that was added last */
    struct emu_seen *next;    /* in the list of free ones */
    struct emu_seen *earlier; /* in the list of all */
    uint32_t clocks[];
} emu_seen;

/* A thread's time and knowledge. */
typedef struct emu_clock {
    emu_stamp stamp; /* of its next access */
    emu_seen *seen;  /* NULL: nothing but what lies below the floor */
} emu_clock;

/* What came of joining two vectors, for the next thread that asks the same: whole CTAs do. */
typedef struct emu_join {
    uint64_t left, right; /* states; 0: empty */
    emu_seen *result;
} emu_join;

enum { EMU_JOINS = 4 };

/* Time in one CTA. */
typedef struct emu_time {
    unsigned n_threads;
    uint32_t first;  /* clock at which the CTA started: stamps below are of earlier CTAs */
    uint32_t floor;  /* all below it is seen by everybody */
    uint32_t latest; /* highest clock of any thread */
    uint64_t states; /* given out so far */
    emu_join joins[EMU_JOINS];
    unsigned next_join;
    emu_seen *free;
    emu_seen *all; /* a fault leaves references behind in the frames of the threads that it ends */
    const tsr_allocator *allocator;
} emu_time;

void tsr_emu_time_free(emu_time *time);

/* A new CTA: 0 if the clocks are used up, and every stamp must be forgotten before another try. */
int tsr_emu_time_begin(emu_time *time);

/* All threads met: raises the floor. The caller then resets each thread's clock. 0 as above. */
int tsr_emu_time_barrier(emu_time *time);

/* The thread starts at the floor and knows nothing above it. */
void tsr_emu_clock_reset(emu_time *time, emu_clock *clock, unsigned thread);

/* The thread's later accesses are told from its earlier ones. 0 when out of clocks. */
int tsr_emu_clock_advance(emu_time *time, emu_clock *clock);

/* Publishes what the thread has done and seen so far into *board (a vector, NULL at first), and advances its clock.
 * 0 when out of memory or out of clocks. */
int tsr_emu_clock_release(emu_time *time, emu_clock *clock, emu_seen **board);

/* The thread learns what is on the board. 0 when out of memory. */
int tsr_emu_clock_acquire(emu_time *time, emu_clock *clock, emu_seen *board);

/* The thread learns of another's accesses up to `stamp`, and of those that `clocks` tells of (NULL: none). 0 when out
 * of memory. */
int tsr_emu_clock_learn(emu_time *time, emu_clock *clock, emu_stamp stamp, const uint32_t *clocks);

/* Acquires a board that already holds all that the thread has seen: shares it, cannot fail. */
void tsr_emu_clock_adopt(emu_time *time, emu_clock *clock, emu_seen *board);

/* Forgets a reference to a vector; NULL is fine. */
void tsr_emu_seen_drop(emu_time *time, emu_seen *seen);

/* 1 if the access with that stamp was made or seen by the thread. */
static inline int tsr_emu_clock_has_seen(const emu_time *time, const emu_clock *clock, emu_stamp stamp)
{
    const uint32_t when = stamp >> EMU_STAMP_SHIFT, who = stamp & EMU_STAMP_THREAD;
    return when < time->floor || who == (clock->stamp & EMU_STAMP_THREAD) ||
           (clock->seen && clock->seen->clocks[who] >= when);
}

#endif
