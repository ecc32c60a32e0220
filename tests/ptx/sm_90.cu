/* Every function of the headers that need compute capability 9.0; only compiled. */
#include "ptx/bulk_reduce.h"
#include "ptx/mma_f64.h"
#include "ptx/mma_sparse.h"
#include "ptx/prefetch.h"
#include "ptx/tma_reduce.h"

TSR_KERNEL_TMA(32, 1)
{
    const unsigned shared = tsr_shared_address(TSR_SHARED), bar = shared + 1024;
    tsr_bulk_load(shared, args.a, 16, bar);
    tsr_bulk_send(shared, shared + 16, 16, bar);
    tsr_bulk_store(args.d, shared, 16);
#define REDUCE(name, operation, type, words, in_shared)     \
    tsr_bulk_reduce(args.d, shared, 16, TSR_REDUCE_##name); \
    if (in_shared)                                          \
        tsr_bulk_reduce_send(shared, shared + 16, 16, bar, TSR_REDUCE_##name);
    TSR_REDUCTIONS(REDUCE)
#define REDUCE_BOX(operation)                                                  \
    tsr_tma_reduce_1d(&maps.d, shared, 0, TSR_OPERATION_##operation);          \
    tsr_tma_reduce_2d(&maps.d, shared, 0, 0, TSR_OPERATION_##operation);       \
    tsr_tma_reduce_3d(&maps.d, shared, 0, 0, 0, TSR_OPERATION_##operation);    \
    tsr_tma_reduce_4d(&maps.d, shared, 0, 0, 0, 0, TSR_OPERATION_##operation); \
    tsr_tma_reduce_5d(&maps.d, shared, 0, 0, 0, 0, 0, TSR_OPERATION_##operation);
    REDUCE_BOX(ADD)
    REDUCE_BOX(MIN)
    REDUCE_BOX(MAX)
    REDUCE_BOX(INC)
    REDUCE_BOX(DEC)
    REDUCE_BOX(AND)
    REDUCE_BOX(OR)
    REDUCE_BOX(XOR)
    tsr_prefetch_l1(args.a);
    tsr_prefetch_l2(args.a);
    tsr_bulk_prefetch(args.a, 16);
    tsr_tma_prefetch_1d(&maps.a, 0);
    tsr_tma_prefetch_2d(&maps.a, 0, 0);
    tsr_tma_prefetch_3d(&maps.a, 0, 0, 0);
    tsr_tma_prefetch_4d(&maps.a, 0, 0, 0, 0);
    tsr_tma_prefetch_5d(&maps.a, 0, 0, 0, 0, 0);
    float acc[4] = {0, 0, 0, 0};
    const unsigned four[4] = {threadIdx.x, 1, 2, 3};
    tsr_mma_sparse_e4m3(acc, four, four, 0x44444444u);
    ((float *)args.d)[threadIdx.x] = acc[0] + acc[1] + acc[2] + acc[3];
    double sums[4] = {0, 0, 0, 0}, a[8], b[4];
    for (int i = 0; i < 8; i++)
        a[i] = b[i / 2] = threadIdx.x + i;
    tsr_mma_f64_m16n8k4(sums, a, b);
    tsr_mma_f64_m16n8k8(sums, a, b);
    tsr_mma_f64_m16n8k16(sums, a, b);
    ((double *)args.d)[threadIdx.x] = sums[0] + sums[1] + sums[2] + sums[3];
    tsr_tma_commit();
    tsr_bulk_wait(0);
}
