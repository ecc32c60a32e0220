/* Loads of two or four words, which the caller makes values of later: converting each would wait for it. */
#ifndef TSR_PTX_WORDS_H
#define TSR_PTX_WORDS_H

#include "ptx/vector.h"

/* Four words by ld.v4.u32, or two if not `four`, at a multiple of as many bytes. */
TSR_DEVICE void tsr_load_words(int four, const unsigned char *address, unsigned word[4])
{
    const unsigned *const from = (const unsigned *)(const void *)address;
    if (four) {
        const tsr_u32x4 value = tsr_load_u32x4(from);
        TSR_UNROLL
        for (int i = 0; i < 4; i++)
            word[i] = tsr_lane(value, i);
    } else {
        tsr_load_u32x2(from, &word[0], &word[1]);
    }
}

#endif
