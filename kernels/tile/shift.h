/* 16 bytes that begin anywhere between two neighbouring chunks of 16. */
#ifndef TSR_TILE_SHIFT_H
#define TSR_TILE_SHIFT_H

#include "ptx/funnel.h"
#include "ptx/vector.h"

/* From byte `skew` of `first` on, 0 to 15; the rest comes from `next`. */
TSR_DEVICE tsr_u32x4 tile_shift(const unsigned first[4], const unsigned next[4], unsigned skew)
{
    unsigned word[8];
    TSR_UNROLL
    for (int w = 0; w < 4; w++) {
        word[w] = first[w];
        word[4 + w] = next[w];
    }
    if (skew & 8)
        TSR_UNROLL
    for (int w = 0; w < 6; w++)
        word[w] = word[w + 2];
    if (skew & 4)
        TSR_UNROLL
    for (int w = 0; w < 5; w++)
        word[w] = word[w + 1];
    tsr_u32x4 out = {0, 0, 0, 0};
    TSR_UNROLL
    for (int w = 0; w < 4; w++)
        tsr_lane(out, w) = tsr_funnel_right(word[w], word[w + 1], 8 * (skew % 4));
    return out;
}

#endif
