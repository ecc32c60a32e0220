/* Divisions by numbers that are known when a kernel starts. */
#ifndef TSR_COLLECTIVE_QUOTIENT_H
#define TSR_COLLECTIVE_QUOTIENT_H

#include "ptx/bits.h"

/* a / b. Dividing takes a hundred clocks, and a kernel of two microseconds begins with several, one after the other;
 * powers of two, most often 1, are shifts. */
TSR_DEVICE unsigned tile_quotient(unsigned a, unsigned b)
{
    return (b & (b - 1)) == 0 ? a >> tsr_highest_bit(b) : a / b;
}

#endif
