/* Accesses whose requests, sectors and wavefronts are worked out by hand in tests/unit_emu_count.c, under every kind of
 * divergence. -DCASE says which. One CTA of 64 threads: two warps. A is one row of 4096 floats, aligned to 256 bytes, D
 * one row of 4096. */
#include "ptx/barrier.h"
#include "ptx/vector.h"
#include "tile/element.h"

TSR_KERNEL(64)
{
    const float *const a = (const float *)args.a;
    float *const shared = (float *)TSR_SHARED;
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    float sum = 0;
    (void)a, (void)shared, (void)warp;
#if CASE == 1 /* every third lane, another third in each iteration: by occurrence, lanes would meet out of step */
    for (int i = 0; i < 10; i++)
        if ((i * 7 + lane) % 3 == 0)
            sum = tsr_fma(a[i * 64 + lane], 2.0f, sum);
#elif CASE == 2 /* as many iterations as the lane's number modulo 4 */
    for (int i = 0; i < lane % 4; i++)
        sum = tsr_fma(a[i * 32 + lane], 2.0f, sum);
    sum = tsr_fma(a[lane], 3.0f, sum); /* together again */
#elif CASE == 3 /* two ways, within one of them two ways again */
    if (lane & 1) {
        if (lane & 2)
            sum = tsr_fma(a[lane * 8], 2.0f, sum);
        else
            sum = tsr_fma(a[1024 + lane * 8], 2.0f, sum);
    }
    sum = tsr_fma(a[2048 + lane], 3.0f, sum);
#elif CASE == 4 /* some threads end early */
    if (warp == 1 && lane >= 16)
        return;
    sum = tsr_fma(a[lane + 32 * warp], 3.0f, sum);
#elif CASE == 5 /* loop with continue and break, nested in another */
    for (int i = 0; i < 4; i++) {
        if (lane % 4 == i)
            continue;
        for (int j = 0;; j++) {
            if (j * 8 > lane)
                break;
            sum = tsr_fma(a[512 * i + 32 * j + lane], 2.0f, sum);
        }
    }
#elif CASE == 6 /* shared memory: bank conflicts with some lanes away; barriers between */
    for (int i = 0; i < 3; i++) {
        if (lane < 24)
            shared[1024 * warp + lane * (1 << i)] = (float)lane;
        tsr_barrier();
        if (lane < 16)
            sum = tsr_fma(shared[1024 * warp + lane * (1 << i)], 2.0f, sum);
        tsr_barrier();
    }
#elif CASE == 7 /* a row of neighbours, one at a time: four loads that the compiler may join */
    shared[threadIdx.x] = 1;
    tsr_barrier();
    for (int i = 0; i < 4; i++)
        sum = tsr_fma(shared[4 * (lane / 4) + i], 2.0f, sum);
#elif CASE == 8 /* stores: scattered ones in some lanes, 16 bytes at a time in the others */
    if (lane % 3 == 0)
        ((float *)args.d)[256 + 1024 * warp + 16 * lane] = 1;
    else
        tsr_store_f32x4((float *)args.d + 2560 + 512 * warp + 4 * lane, (tsr_f32x4){1, 2, 3, 4});
#elif CASE == \
    9 /* a column of shared memory, which the upper half of each warp reads for longer, some lanes not at all */
    for (int i = (int)threadIdx.x; i < 2048; i += 64)
        shared[i] = (float)i;
    tsr_barrier();
    for (int i = 0; i <= lane / 16; i++) {
        if ((lane + i) % 4 == 3)
            continue;
        sum = tsr_fma(shared[lane * 32 + i], 2.0f, sum);
    }
    sum = tsr_fma(shared[lane % 2 ? 33 * lane : 32 * (lane / 8)], 2.0f, sum);
#elif CASE == 10 /* loads of 8 bytes that start inside a sector, in a loop that each lane leaves for its own reason */
    for (int i = 0; i < 6; i++) {
        if ((i * 6 > lane) | ((lane & 1) & (i == 3))) /* one branch */
            break;
        const tsr_f32x2 pair = *(const tsr_f32x2 *)(a + 128 * i + 2 + 2 * lane);
        sum = tsr_fma(tsr_lane(pair, 0), tsr_lane(pair, 1), sum);
    }
#endif
    ((float *)args.d)[threadIdx.x] = sum;
}
