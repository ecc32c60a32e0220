/* Atomic operations on words of global memory, and the boards on which releases are published. Private to src/emu. */
#ifndef TSR_EMU_ATOMIC_H
#define TSR_EMU_ATOMIC_H

#include <pthread.h>

#include "emu/far.h"

typedef struct emu_board {
    const unsigned *word;
    emu_far news;
} emu_board;

/* All words of a launch that were released, and the lock under which every atomic operation runs. */
typedef struct emu_atomics {
    pthread_mutex_t lock;
    emu_board *boards;
    unsigned count, capacity;
} emu_atomics;

void tsr_emu_atomics_make(emu_atomics *atomics);
void tsr_emu_atomics_free(emu_atomics *atomics, const tsr_allocator *allocator);

#endif
