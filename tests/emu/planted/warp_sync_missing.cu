/* D = A, neighbours of a warp exchange elements through shared memory; planted: as if a warp ran in lockstep. */
#include "ptx/barrier.h"
#include "ptx/warp.h"

TSR_KERNEL(32)
{
    float *const row = (float *)TSR_SHARED;
    const int x = (int)threadIdx.x, n = (int)args.n;
    for (long long i = 0; i < args.m; i++) {
        const float *a = (const float *)args.a + i * args.lda;
        float *d = (float *)args.d + i * args.ldd;
        row[x] = x < n ? a[x] : 0; /* planted */
#if !PLANTED
        tsr_warp_sync(TSR_ALL_LANES);
#endif
        const float next = row[(x + 1) % 32]; /* planted */
        const float own = tsr_f32_of_bits(tsr_shuffle(TSR_ALL_LANES, tsr_bits_of_f32(next), (unsigned)x + 31));
        tsr_warp_sync(TSR_ALL_LANES);
        if (x < n)
            d[x] = own;
    }
}
