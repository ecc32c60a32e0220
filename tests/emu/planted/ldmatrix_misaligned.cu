/* D = A; a row goes through ldmatrix, whose lane 0 has the first two halves of row 0; planted: rows 4 bytes off. */
#include "ptx/barrier.h"
#include "ptx/ldmatrix.h"
#include "ptx/warp.h"

TSR_KERNEL(32)
{
    float *const row = (float *)TSR_SHARED;
    const int x = (int)threadIdx.x, n = (int)args.n;
    for (long long i = 0; i < args.m; i++) {
        const float *a = (const float *)args.a + i * args.lda;
        float *d = (float *)args.d + i * args.ldd;
        row[x] = x < n ? a[x] : 0;
        tsr_barrier();
        unsigned pair[1];
        tsr_ldmatrix_x1(pair, row + x % 7 * 4 + PLANTED); /* planted */
        /* Lane l < 4 has element l of the first row, lane 4 + l of the second. */
        if (x < n)
            d[x] = tsr_f32_of_bits(pair[0]);
        tsr_barrier();
    }
}
