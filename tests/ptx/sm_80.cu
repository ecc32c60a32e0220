/* Every function of the headers that need compute capability 8.0; only compiled. */
#include "ptx/mma_f16.h"
#include "ptx/mma_f64.h"
#include "ptx/mma_int8.h"
#include "ptx/redux.h"

TSR_KERNEL(32)
{
    unsigned *const d = (unsigned *)args.d, all = TSR_ALL_LANES, x = threadIdx.x;
    d[0] = tsr_redux_add(all, x) + tsr_redux_min_u32(all, x) + tsr_redux_max_u32(all, x);
    d[1] = (unsigned)(tsr_redux_min_s32(all, (int)x) + tsr_redux_max_s32(all, (int)x));
    d[2] = tsr_redux_and(all, x) + tsr_redux_or(all, x) + tsr_redux_xor(all, x);
    unsigned acc[2] = {x, x}, a[4] = {x, x, x, x}, b[2] = {x, x};
    tsr_mma_f16_f16(acc, a, b);
    d[3] = acc[0] + acc[1];
    double sums[2] = {0, 0};
    tsr_mma_f64_m8n8k4(sums, (double)x, (double)x);
    d[4] = (unsigned)(sums[0] + sums[1]);
    int whole[4] = {0, 0, 0, 0};
    tsr_mma_int8(whole, a, b, 0, 0);
    tsr_mma_int8(whole, a, b, 0, 1);
    tsr_mma_int8(whole, a, b, 1, 0);
    tsr_mma_int8(whole, a, b, 1, 1);
    d[5] = (unsigned)(whole[0] + whole[1] + whole[2] + whole[3]);
}
