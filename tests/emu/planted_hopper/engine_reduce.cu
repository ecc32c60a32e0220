/* D = A (512 f32) as 0 + A by reductions of the copy engine, of two CTAs a half each. Planted: 1 D was never written, 2
 * the other CTA wrote it and nothing orders the two, 3 an operation that the map's type does not have, 4 shared memory
 * is not fenced for the engine, 5 the box begins before the tensor. */
#include "ptx/barrier.h"
#include "ptx/bulk_reduce.h"
#include "ptx/mbarrier.h"
#include "ptx/tma_reduce.h"

enum { HALF = 256, BYTES = 4 * HALF };

TSR_KERNEL_TMA(128, 1)
{
    const unsigned base = tsr_shared_address(TSR_SHARED);
    const int x = (int)threadIdx.x, half = (int)blockIdx.x;
    const int zeroed = PLANTED == 2 ? 1 - half : half;
    float *const shared = (float *)TSR_SHARED, *const d = (float *)args.d;
    for (int i = x; i < HALF; i += 128) {
        shared[i] = ((const float *)args.a)[half * HALF + i];
        shared[HALF + i] = 0;
    }
    if (PLANTED != 4)
        tsr_fence_async_shared();
    tsr_barrier();
    if (x == 0) {
        if (PLANTED != 1) {
            tsr_bulk_store(d + zeroed * HALF, base + BYTES, BYTES); /* planted 2 4 */
            tsr_tma_commit();
            tsr_bulk_wait(0);
        }
        if (PLANTED == 3)
            tsr_tma_reduce_2d(&maps.d, base, 0, 0, TSR_OPERATION_XOR); /* planted 3 */
        else if (PLANTED == 5)
            tsr_tma_reduce_2d(&maps.d, base, 0, -1, TSR_OPERATION_ADD); /* planted 5 */
        else
            tsr_bulk_reduce(d + half * HALF, base, BYTES, TSR_REDUCE_ADD_F32); /* planted 1 2 */
        tsr_tma_commit();
        tsr_bulk_wait(0);
    }
}
