/* Buffers that a call takes from its device before it writes anything, for calls of several products one after the
 * other: a product that finds no memory would leave D half written. First each kind of product is rehearsed: all
 * algorithms take what they will need, and multiply nothing. Then they take the same again, and it is there. */
#ifndef TSR_CPU_RESERVE_H
#define TSR_CPU_RESERVE_H

#include <pthread.h>

#include "cpu/scratch.h"

typedef struct tsr_reserved {
    void *buffer;
    size_t bytes;
    size_t taken; /* by which take, counted from 1; 0: free */
} tsr_reserved;

typedef struct tsr_reserve {
    tsr_scratch *scratch;
    tsr_reserved *items;
    size_t count, room;
    size_t takes;
    int is_rehearsal; /* buffers that are given back stay taken until the kind of product ends */
    pthread_mutex_t lock;
} tsr_reserve;

/* Begins with a rehearsal. */
void tsr_reserve_begin(tsr_reserve *reserve, tsr_scratch *scratch);
/* The next product is another kind: it may have the buffers of those before, but what the first `takes` took. */
void tsr_reserve_next(tsr_reserve *reserve, size_t takes);
/* The products follow. */
void tsr_reserve_rehearsed(tsr_reserve *reserve);
void tsr_reserve_end(tsr_reserve *reserve);

/* Of `reserve`, or, where that is NULL, of the scratch. NULL: out of memory. */
void *tsr_reserve_take(tsr_reserve *reserve, tsr_scratch *scratch, size_t bytes);
void tsr_reserve_give(tsr_reserve *reserve, tsr_scratch *scratch, void *buffer);

#endif
