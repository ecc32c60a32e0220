/* D = A, four elements at a time where they lie on a multiple of 16 bytes; planted: also where they do not. */
#include "ptx/vector.h"
#include "tile/element.h"

TSR_KERNEL(32)
{
    const long long row = threadIdx.x;
    const elem *a = (const elem *)args.a + row * args.lda;
    elem *d = (elem *)args.d + row * args.ldd;
    if (row >= args.m)
        return;
    long long col = 0;
#if PLANTED
    const int vectors = 1;
#else
    const int vectors = (unsigned long long)a % 16 == 0;
#endif
    for (; vectors && col + 4 <= args.n; col += 4) {
        const tsr_f32x4 value = tsr_load_f32x4(a + col); /* planted */
        for (int i = 0; i < 4; i++)
            d[col + i] = tsr_lane(value, i);
    }
    for (; col < args.n; col++)
        d[col] = a[col];
}
