/* A place in a ring of stages of shared memory, and the phase of the mbarriers there. */
#ifndef TSR_COLLECTIVE_RING_H
#define TSR_COLLECTIVE_RING_H

#include "ptx/language.h"

typedef struct ring {
    unsigned stage, parity;
} ring;

TSR_DEVICE void ring_advance(ring *at, unsigned stages)
{
    at->stage++;
    if (at->stage == stages) {
        at->stage = 0;
        at->parity ^= 1;
    }
}

#endif
