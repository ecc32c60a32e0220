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

/* Past `count` stages that another warp group takes. */
TSR_DEVICE void ring_skip(ring *at, int count, unsigned stages)
{
    const unsigned stage = at->stage + (unsigned)count;
    at->stage = stage % stages;
    at->parity ^= stage / stages & 1;
}

#endif
