/* One box of A (f32), of RANK dimensions, goes to shared memory, from there as it lies to the workspace, and by the
 * copy engine to the same place of D, but not before its first element; REDUCE: and is added there once more.
 * Coordinates: batch_a, batch_b, batch_c, batch_d, ldc; ldb is the box's bytes. */
#include "ptx/barrier.h"
#include "ptx/bulk.h"
#include "ptx/mbarrier.h"
#include "ptx/prefetch.h"
#include "ptx/tma_ranks.h"
#include "ptx/tma_reduce.h"

enum { BAR_AT = 16384 };

TSR_DEVICE int not_before(int at)
{
    return at < 0 ? 0 : at;
}

TSR_KERNEL_TMA(32, 1)
{
    const unsigned shared = tsr_shared_address(TSR_SHARED), bytes = (unsigned)args.ldb, bar = shared + BAR_AT;
    int x = (int)args.batch_a, y = (int)args.batch_b, z = (int)args.batch_c, w = (int)args.batch_d, v = (int)args.ldc;
    (void)y, (void)z, (void)w, (void)v;
    if (threadIdx.x == 0) {
        tsr_mbarrier_init(bar, 1);
        tsr_mbarrier_fence_init();
        tsr_mbarrier_arrive_expect(bar, bytes);
#if RANK == 1
        tsr_tma_load_1d(shared, &maps.a, bar, x);
#elif RANK == 2
        tsr_tma_load_2d(shared, &maps.a, bar, x, y);
#elif RANK == 3
        tsr_tma_load(shared, &maps.a, bar, x, y, z);
#elif RANK == 4
        tsr_tma_load_4d(shared, &maps.a, bar, x, y, z, w);
#else
        tsr_tma_load_multicast_5d(shared, &maps.a, bar, x, y, z, w, v, 1);
#endif
    }
    tsr_barrier();
    tsr_mbarrier_wait(bar, 0);
    for (unsigned i = threadIdx.x; i < bytes / 4; i += 32)
        ((float *)args.workspace)[i] = ((const float *)TSR_SHARED)[i];
    x = not_before(x), y = not_before(y), z = not_before(z), w = not_before(w), v = not_before(v);
    if (threadIdx.x == 0) {
#if RANK == 1
        tsr_tma_store_1d(&maps.d, shared, x);
#elif RANK == 2
        tsr_tma_store_2d(&maps.d, shared, x, y);
#elif RANK == 3
        tsr_tma_store(&maps.d, shared, x, y, z);
#elif RANK == 4
        tsr_tma_store_4d(&maps.d, shared, x, y, z, w);
#else
        tsr_tma_store_5d(&maps.d, shared, x, y, z, w, v);
#endif
        tsr_tma_commit();
#if REDUCE
        tsr_bulk_wait(0);
#if RANK == 1
        tsr_tma_prefetch_1d(&maps.a, x);
        tsr_tma_reduce_1d(&maps.d, shared, x, TSR_OPERATION_ADD);
#elif RANK == 2
        tsr_tma_prefetch_2d(&maps.a, x, y);
        tsr_tma_reduce_2d(&maps.d, shared, x, y, TSR_OPERATION_ADD);
#elif RANK == 3
        tsr_tma_prefetch_3d(&maps.a, x, y, z);
        tsr_tma_reduce_3d(&maps.d, shared, x, y, z, TSR_OPERATION_ADD);
#elif RANK == 4
        tsr_tma_prefetch_4d(&maps.a, x, y, z, w);
        tsr_tma_reduce_4d(&maps.d, shared, x, y, z, w, TSR_OPERATION_ADD);
#else
        tsr_tma_prefetch_5d(&maps.a, x, y, z, w, v);
        tsr_tma_reduce_5d(&maps.d, shared, x, y, z, w, v, TSR_OPERATION_ADD);
#endif
        tsr_tma_commit();
#endif
        tsr_tma_wait_read(0);
    }
}
