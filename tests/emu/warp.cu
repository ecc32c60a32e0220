/* Row r of D is what the r-th warp function makes of the lanes' values A[0, x] (f32); 64 threads, two warps. */
#include "ptx/barrier.h"
#include "ptx/warp.h"

TSR_KERNEL(64)
{
    const int x = (int)threadIdx.x;
    const unsigned lane = tsr_lane_id(), own = tsr_bits_of_f32(((const float *)args.a)[x]);
    float *d = (float *)args.d + x, *shared = (float *)TSR_SHARED;
    const long long ldd = args.ldd;

    d[0 * ldd] = (float)lane;
    d[1 * ldd] = tsr_f32_of_bits(tsr_shuffle(TSR_ALL_LANES, own, 7 * lane + 3));
    d[2 * ldd] = tsr_f32_of_bits(tsr_shuffle_xor(TSR_ALL_LANES, own, 21));
    d[3 * ldd] = tsr_f32_of_bits(tsr_shuffle_down(TSR_ALL_LANES, own, 5));
    d[4 * ldd] = tsr_f32_of_bits(tsr_shuffle_up(TSR_ALL_LANES, own, 6));
    d[5 * ldd] = (float)(tsr_ballot(TSR_ALL_LANES, x % 3 == 0) % 65536);

    /* Odd and even lanes by themselves. */
    const unsigned half = lane % 2 ? 0xaaaaaaaau : 0x55555555u;
    d[6 * ldd] = tsr_f32_of_bits(tsr_shuffle_xor(half, own, 2));
    d[7 * ldd] = lane < 16 ? (float)(tsr_ballot(0xffffu, lane < 4) % 65536) : 0;

    /* A sum over the warp, and neighbours through shared memory with no more than a warp's barrier. */
    float sum = tsr_f32_of_bits(own);
    for (unsigned flip = 16; flip > 0; flip /= 2)
        sum += tsr_f32_of_bits(tsr_shuffle_xor(TSR_ALL_LANES, tsr_bits_of_f32(sum), flip));
    d[8 * ldd] = sum;
    for (int round = 0; round < 3; round++) {
        shared[x] = sum + (float)(x + round);
        tsr_warp_sync(TSR_ALL_LANES);
        d[(9 + round) * ldd] = shared[x ^ 1];
        tsr_warp_sync(TSR_ALL_LANES);
    }
    tsr_barrier();
    d[12 * ldd] = shared[63 - x];
}
