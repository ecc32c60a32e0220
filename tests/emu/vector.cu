/* D = A (f32, N = 64 columns a row) through 16-byte loads and stores of global and shared memory, in reverse by eight
 * elements; the second half of a row in pairs of doubles. 16 threads for each row. */
#include "ptx/barrier.h"
#include "ptx/vector.h"

TSR_KERNEL(256)
{
    const int row = (int)threadIdx.y, part = (int)threadIdx.x;
    const float *a = (const float *)args.a + row * args.lda + 4 * part;
    float *d = (float *)args.d + row * args.ldd + 4 * part;
    float *shared = (float *)TSR_SHARED + row * 64;
    if (part < 8) {
        tsr_f32x4 value = tsr_load_f32x4(a);
        for (int i = 0; i < 4; i++)
            tsr_lane(value, i) += 1;
        tsr_store_f32x4(shared + 4 * part, value);
    } else if (part % 2) {
        tsr_store_f64x2((double *)(shared + 4 * part), tsr_load_f64x2((const double *)a));
    } else {
        tsr_store_u32x4((unsigned *)(shared + 4 * part), tsr_load_u32x4((const unsigned *)a));
    }
    tsr_barrier();
    tsr_store_f32x4(d, tsr_load_f32x4(shared + 4 * (15 - part)));
}
