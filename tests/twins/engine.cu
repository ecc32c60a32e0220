/* The copy engine without and with tensor maps: D (512 words) from A and C (512 words each), by the instructions that
 * TWIN_NAME names. Reductions combine C with A; which one is a matter of the problem's number. Where one CTA sends to
 * another, a problem is a cluster of two: the first has A, the second C, which it changes and writes to D. */
#include "ptx/barrier.h"
#include "ptx/bulk_reduce.h"
#include "ptx/cluster.h"
#include "ptx/mbarrier.h"
#include "ptx/prefetch.h"
#include "ptx/tma_reduce.h"

enum { BYTES = 64 * 8 * 4, FIRST = 0, SECOND = BYTES, BAR = 2 * BYTES };

/* The reduction of this number, or one that may be done in shared memory. */
TSR_DEVICE tsr_reduction reduction_in_shared(int number)
{
    int result = TSR_REDUCE_XOR_B32;
#define TAKE(name, operation, type, words, in_shared)  \
    if (in_shared && number == (int)TSR_REDUCE_##name) \
        result = number;
    TSR_REDUCTIONS(TAKE)
#undef TAKE
    return (tsr_reduction)result;
}

#if defined(TWIN_tma_reduce_integers) || defined(TWIN_tma_reduce_floats)
/* maps: D as u32 and s32, or as f16, bf16, f32 and f64; boxes of a whole problem. */
TSR_KERNEL_TMA(128, 1)
#elif defined(TWIN_bulk_copies) || defined(TWIN_bulk_send)
TSR_KERNEL_CLUSTER(128, 1, 2)
#else
TSR_KERNEL(128)
#endif
{
    const int z = (int)blockIdx.z, thread = (int)threadIdx.x;
    const unsigned *const a = (const unsigned *)args.a + z * args.batch_a;
    const unsigned *const c = (const unsigned *)args.c + z * args.batch_c;
    unsigned *const d = (unsigned *)args.d + z * args.batch_d;
    unsigned *const shared = (unsigned *)TSR_SHARED;
    const unsigned base = tsr_shared_address(TSR_SHARED), bar = base + BAR;
    if (thread == 0) {
        tsr_mbarrier_init(bar, 1);
        tsr_mbarrier_fence_init();
    }
    for (int i = thread; i < BYTES / 4; i += 128) {
        shared[FIRST / 4 + i] = a[i];
        shared[SECOND / 4 + i] = c[i];
    }
    tsr_fence_async_shared();
    tsr_barrier();
#if defined(TWIN_bulk_copies) || defined(TWIN_bulk_send)
    const unsigned there = tsr_cluster_map(base + SECOND, 1), bar_there = tsr_cluster_map(bar, 1);
    tsr_cluster_arrive();
    tsr_cluster_wait();
#if defined(TWIN_bulk_copies)
    if (tsr_cluster_rank() == 0 && thread == 0) {
        /* A comes once more. */
        tsr_bulk_prefetch(a, BYTES);
        tsr_mbarrier_arrive_expect(bar, BYTES);
        tsr_bulk_load(base + FIRST, a, BYTES, bar);
        tsr_mbarrier_wait(bar, 0);
        tsr_bulk_send(there, base + FIRST + 16, BYTES / 2, bar_there);
    } else if (thread == 0) {
        tsr_mbarrier_arrive_expect(bar, BYTES / 2);
        tsr_mbarrier_wait(bar, 0);
        tsr_bulk_store(d, base + SECOND, BYTES);
        tsr_tma_commit();
        tsr_bulk_wait(0);
    }
#else
    if (tsr_cluster_rank() == 0) {
        if (thread == 0)
            tsr_bulk_reduce_send(there, base + FIRST, BYTES, bar_there, reduction_in_shared(z % TSR_REDUCTION_COUNT));
    } else {
        if (thread == 0)
            tsr_mbarrier_arrive_expect(bar, BYTES);
        tsr_mbarrier_wait(bar, 0);
        for (int i = thread; i < BYTES / 4; i += 128)
            d[i] = shared[SECOND / 4 + i];
    }
#endif
    /* What was sent has been read. */
    tsr_cluster_arrive();
    tsr_cluster_wait();
#else
    if (thread == 0) {
        tsr_bulk_store(d, base + SECOND, BYTES);
        tsr_tma_commit();
        tsr_bulk_wait(0);
#if defined(TWIN_tma_reduce_integers)
        const int rows_down = z % 5 < 3 ? 2 : 0; /* so that some boxes stick out */
        if (z % 2)                               /* s32: no inc, no dec */
            tsr_tma_reduce_3d(&maps.b, base + FIRST, 0, rows_down, z,
                              (tsr_reduction_operation)(z / 2 % 6 < 3 ? z / 2 % 6 : z / 2 % 6 + 2));
        else
            tsr_tma_reduce_3d(&maps.a, base + FIRST, 0, rows_down, z, (tsr_reduction_operation)(z / 2 % 8));
#elif defined(TWIN_tma_reduce_floats)
        const int rows_down = z % 5 < 3 ? 2 : 0, operation = z / 4 % 3;
        if (z % 4 == 0)
            tsr_tma_reduce_3d(&maps.a, base + FIRST, 0, rows_down, z, (tsr_reduction_operation)operation);
        else if (z % 4 == 1)
            tsr_tma_reduce_3d(&maps.b, base + FIRST, 0, rows_down, z, (tsr_reduction_operation)operation);
        else if (z % 4 == 2)
            tsr_tma_reduce_3d(&maps.c, base + FIRST, 0, rows_down, z, TSR_OPERATION_ADD);
        else
            tsr_tma_reduce_3d(&maps.d, base + FIRST, 0, rows_down, z, TSR_OPERATION_ADD);
#else
        tsr_bulk_reduce(d, base + FIRST, BYTES, (tsr_reduction)(z % TSR_REDUCTION_COUNT));
#endif
        tsr_tma_commit();
        tsr_bulk_wait(0);
    }
#endif
}
