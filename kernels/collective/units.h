/* Stream-K over CTAs that are not persistent: the steps along K of the first tiles, tile after tile, are cut into
 * `units` equal parts, one for each of the first CTAs; each further CTA has a whole tile ("stream-K": Osama, Merrill,
 * Cecka, Garland and Owens, PPoPP 2023). */
#ifndef TSR_COLLECTIVE_UNITS_H
#define TSR_COLLECTIVE_UNITS_H

#include "ptx/atomic.h"
#include "ptx/barrier.h"

/* How the steps of the stream-K tiles lie on the units: unit u makes steps u * all / units to (u + 1) * all / units. */
TSR_DEVICE unsigned unit_begin(unsigned unit, unsigned all, unsigned units)
{
    return (unsigned)((unsigned long long)unit * all / units);
}

/* The unit that makes this step. */
TSR_DEVICE unsigned unit_of(unsigned step, unsigned all, unsigned units)
{
    return (unsigned)((((unsigned long long)step + 1) * units - 1) / all);
}

/* All threads: 1 in the CTA that is the last of `count` to come here. What the others wrote before it can be read then,
 * and the counter is 0 again. */
TSR_DEVICE int unit_is_last(unsigned *counter, unsigned count, unsigned *word, int thread)
{
    tsr_barrier();
    if (thread == 0) {
        *word = tsr_add_acquire_release(counter, 1);
        if (*word == count - 1)
            tsr_store_release(counter, 0);
    }
    tsr_barrier();
    return *word == count - 1;
}

#endif
