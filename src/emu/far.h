/* What a CTA knows of other CTAs. Private to src/emu.
 *
 * Release and acquire operations on words of global memory order accesses of different CTAs. A release puts on the
 * word's *board*: all accesses of the releasing CTA before its last barrier, all of the releasing thread, all that it
 * has seen of other threads of its CTA or cluster, and all that it has itself learned from others. An acquire of that
 * word learns what the board says; other threads of the acquiring CTA know it once a barrier orders them behind the
 * acquiring thread. Each thing learned therefore carries the stamp of the acquire, an event of the learner's own time.
 */
#ifndef TSR_EMU_FAR_H
#define TSR_EMU_FAR_H

#include <stdatomic.h>

#include "emu/clock.h"

/* What a releasing thread had seen of the threads beside it: for each, the highest clock. Shared by all that know. */
typedef struct emu_known {
    atomic_uint references;
    unsigned n_threads;
    uint32_t clocks[];
} emu_known;

typedef struct emu_news {
    long long cta;      /* of which something is known */
    emu_stamp floor;    /* its accesses with a lower stamp are */
    emu_stamp releaser; /* so are those of this stamp's thread, up to this stamp */
    emu_known *known;   /* and what that thread had seen; NULL: nothing above the floor */
    emu_stamp acquired; /* when this CTA learned it; unused on a board */
} emu_news;

typedef struct emu_far {
    emu_news *items;
    unsigned count, capacity;
} emu_far;

void tsr_emu_far_free(emu_far *far, const tsr_allocator *allocator);
/* Nothing is known any more. */
void tsr_emu_far_forget(emu_far *far, const tsr_allocator *allocator);

/* Adds to the board what a thread of `cta` has done and learned; advances its clock. 0 when out of memory. */
int tsr_emu_far_release(emu_far *board, const emu_far *own, long long cta, emu_time *time, emu_clock *clock);

/* The thread learns what is on the board. 0 when out of memory. */
int tsr_emu_far_acquire(emu_far *own, const emu_far *board, long long cta, emu_time *time, emu_clock *clock);

/* 1 if the thread knows the access with that stamp of another CTA. */
int tsr_emu_far_has_seen(const emu_far *own, const emu_time *time, const emu_clock *clock, long long cta,
                         emu_stamp stamp);

/* All threads met: what one knows, all know, so that older news of a CTA can go. */
void tsr_emu_far_barrier(emu_far *own, const tsr_allocator *allocator);

#endif
