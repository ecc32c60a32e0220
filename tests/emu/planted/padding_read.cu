/* D = A with rows taken four elements at a time; planted: the tail of a row is read with the rest
 * (volatile, or the compiler would drop the reads that nobody needs). */
#include "tile/element.h"

TSR_KERNEL(32)
{
    const long long row = threadIdx.x;
    const elem *a = (const elem *)args.a + row * args.lda;
    elem *d = (elem *)args.d + row * args.ldd;
    if (row >= args.m)
        return;
    for (long long col = 0; col < args.n; col += 4)
        for (int i = 0; i < 4; i++) {
#if PLANTED
            const elem value = *(const volatile elem *)&a[col + i]; /* planted */
            if (col + i < args.n)
                d[col + i] = value;
#else
            if (col + i < args.n)
                d[col + i] = a[col + i];
#endif
        }
}
