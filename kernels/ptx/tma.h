/* The tensor memory accelerator: one thread asks for a box of a matrix, hardware moves it between global and shared
 * memory. Outside the matrix a load delivers zeros and a store writes nothing. The box, the matrix and the swizzle of
 * its shared-memory image are those of the tensor map (core/tensor_map.h); coordinates count elements: x along the
 * contiguous dimension, y along the strided one, z along the batch. sm_90. */
#ifndef TSR_PTX_TMA_H
#define TSR_PTX_TMA_H

#include "core/tensor_map.h"
#include "ptx/language.h"
#if TSR_EMU
#include "ptx/emulator_hopper.h"
#endif

/* The entry of a kernel whose clusters are chosen at launch, so small that `ctas` CTAs fit on an SM. */
#if TSR_EMU
#define TSR_KERNEL_TMA_ANY_CLUSTER(threads, ctas) TSR_KERNEL_TMA(threads, 1)
#else
#define TSR_KERNEL_TMA_ANY_CLUSTER(threads, ctas)               \
    extern "C" __global__ void __launch_bounds__(threads, ctas) \
        TSR_KERNEL_NAME(const __grid_constant__ tsr_gemm_args args, const __grid_constant__ tsr_tensor_maps maps)
#endif

/* The entry of a kernel that uses the copy engine and runs in clusters of `cluster` CTAs along x, one CTA on an SM: it
 * reads `maps` beside `args`. */
#if TSR_EMU
#define TSR_KERNEL_TMA(threads, cluster)                                        \
    void TSR_KERNEL_NAME(const tsr_gemm_args args, const tsr_tensor_maps maps); \
    void TSR_KERNEL_NAME(const tsr_gemm_args args, const tsr_tensor_maps maps)
#else
#define TSR_KERNEL_TMA(threads, cluster)                                                     \
    extern "C" __global__ void __cluster_dims__(cluster, 1, 1) __launch_bounds__(threads, 1) \
        TSR_KERNEL_NAME(const __grid_constant__ tsr_gemm_args args, const __grid_constant__ tsr_tensor_maps maps)
#endif

/* prefetch.tensormap: fetches the map itself, so that the first load need not wait for it. */
TSR_DEVICE void tsr_tma_prefetch_map(const tsr_tensor_map *map)
{
#if TSR_EMU
    tsr_emu_tma_prefetch_map(map);
#else
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
#endif
}

/* cp.async.bulk.tensor.3d, global to shared: the box at (x, y, z) goes to `to`; its bytes count down at mbarrier `bar`.
 */
TSR_DEVICE void tsr_tma_load(unsigned to, const tsr_tensor_map *map, unsigned bar, int x, int y, int z)
{
#if TSR_EMU
    tsr_emu_tma_load(to, map, bar, 3, x, y, z, 0, 0, 0);
#else
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], "
                 "[%1, {%3, %4, %5}], [%2];" ::"r"(to),
                 "l"(map), "r"(bar), "r"(x), "r"(y), "r"(z)
                 : "memory");
#endif
}

/* The same with .multicast::cluster: each CTA whose bit is set in `mask` gets the box at the same place of its shared
 * memory, and the bytes count down at its barrier of the same place. */
TSR_DEVICE void tsr_tma_load_multicast(unsigned to, const tsr_tensor_map *map, unsigned bar, int x, int y, int z,
                                       unsigned mask)
{
#if TSR_EMU
    tsr_emu_tma_load(to, map, bar, 3, x, y, z, 0, 0, mask);
#else
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster "
                 "[%0], [%1, {%3, %4, %5}], [%2], %6;" ::"r"(to),
                 "l"(map), "r"(bar), "r"(x), "r"(y), "r"(z), "h"((unsigned short)mask)
                 : "memory");
#endif
}

/* cp.async.bulk.tensor.3d, shared to global, in the thread's bulk group. An H200 takes no negative coordinate here. */
TSR_DEVICE void tsr_tma_store(const tsr_tensor_map *map, unsigned from, int x, int y, int z)
{
#if TSR_EMU
    tsr_emu_tma_store(map, from, 3, x, y, z, 0, 0);
#else
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(map),
                 "r"(from), "r"(x), "r"(y), "r"(z)
                 : "memory");
#endif
}

/* cp.async.bulk.commit_group: closes the group of the thread's stores so far. */
TSR_DEVICE void tsr_tma_commit(void)
{
#if TSR_EMU
    tsr_emu_tma_commit();
#else
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
#endif
}

/* cp.async.bulk.wait_group.read: until all but the newest `pending` groups (a literal) have read their shared memory,
 * which may then be overwritten. */
#if TSR_EMU
#define tsr_tma_wait_read(pending) tsr_emu_tma_wait(pending, 1)
#else
#define tsr_tma_wait_read(pending) asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(pending) : "memory")
#endif

#endif
