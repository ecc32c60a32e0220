/* cp.async: copies from global to shared memory that a thread starts and later waits for. Private to src/emu.
 *
 * They land as late as the wait allows: a copy is kept here, and the bytes in shared memory stay as they were, until
 * the wait_group that guarantees it. In between nobody may touch them. */
#ifndef TSR_EMU_COPY_H
#define TSR_EMU_COPY_H

#include "emu/shared.h"

typedef struct emu_copy {
    size_t offset;
    unsigned bytes;
    unsigned group; /* number of commits before it */
    unsigned char data[16];
} emu_copy;

/* A thread's copies that have not landed, oldest first. */
typedef struct emu_copies {
    emu_copy *items;
    unsigned first, count, capacity;
    unsigned committed; /* groups */
} emu_copies;

void tsr_emu_copies_free(emu_copies *copies, const tsr_allocator *allocator);

/* The thread has ended: what is under way can no longer be waited for. */
void tsr_emu_copies_forget(emu_copies *copies, emu_shared *shared);

#endif
