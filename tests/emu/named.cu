/* D = 2 A (f32, rows of 32) by three warps: the first fills two buffers in turn, the others take rows from them, each
 * half of a row. Barriers 1 and 2 say that a buffer is full, 3 and 4 that it is free. PLANTED 1: the consumers never
 * say so and the producer does not ask; 2: the consumers do not wait; 3: the producer's barrier counts too many. */
#include "ptx/barrier.h"

#ifndef PLANTED
#define PLANTED 0
#endif

enum { FULL = 1, FREE = 3, ALL = 96 };

TSR_KERNEL(ALL)
{
    const int x = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    float *const shared = (float *)TSR_SHARED;
    for (int row = 0; row < (int)args.m; row++) {
        float *buffer = shared + row % 2 * 32;
        if (warp == 0) {
            if (row >= 2 && PLANTED != 1)
                tsr_named_barrier(FREE + row % 2, ALL);
            buffer[x] = 2 * ((const float *)args.a)[row * args.lda + x]; /* planted */
            tsr_named_barrier_arrive(FULL + row % 2, ALL);
        } else {
            if (PLANTED != 2)
                tsr_named_barrier(FULL + row % 2, PLANTED == 3 && row == 3 ? 64 : ALL); /* planted */
            if (x / 16 == warp - 1)
                ((float *)args.d)[row * args.ldd + x] = buffer[31 - (31 - x)]; /* planted */
            if (row + 2 < args.m && PLANTED != 1)
                tsr_named_barrier_arrive(FREE + row % 2, ALL);
        }
    }
}
