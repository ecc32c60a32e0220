/* D = A through the lane above and back; planted: the lane that is read left the mask. */
#include "ptx/warp.h"

TSR_KERNEL(32)
{
    const unsigned x = threadIdx.x, n = (unsigned)args.n, mask = (1u << n) - 1;
    if (x >= n)
        return;
    for (long long i = 0; i < args.m; i++) {
        const unsigned own = tsr_bits_of_f32(((const float *)args.a)[i * args.lda + x]);
        const unsigned above = PLANTED ? (x + 1) % 32 : (x + 1) % n;
        const unsigned other = tsr_shuffle(mask, own, above); /* planted */
        const unsigned back = tsr_shuffle(mask, other, (x + n - 1) % n);
        ((float *)args.d)[i * args.ldd + x] = tsr_f32_of_bits(back);
    }
}
