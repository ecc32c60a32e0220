/* The entries of kernels that read `scaling` (core/scaling.h) beside `args` and `maps`; otherwise as TSR_KERNEL_TMA and
 * TSR_KERNEL_TMA_ANY_CLUSTER. The maps of a config without `tma` (core/config.h) mean nothing. */
#ifndef TSR_PTX_SCALED_H
#define TSR_PTX_SCALED_H

#include "core/scaling.h"
#include "ptx/tma.h"

#if TSR_EMU
#define TSR_KERNEL_SCALED(threads, cluster)                                                                \
    void TSR_KERNEL_NAME(const tsr_gemm_args args, const tsr_tensor_maps maps, const tsr_scaling scaling); \
    void TSR_KERNEL_NAME(const tsr_gemm_args args, const tsr_tensor_maps maps, const tsr_scaling scaling)
#define TSR_KERNEL_SCALED_ANY_CLUSTER(threads, ctas) TSR_KERNEL_SCALED(threads, 1)
#else
#define TSR_KERNEL_SCALED(threads, cluster)                                                                       \
    extern "C" __global__ void __cluster_dims__(cluster, 1, 1) __launch_bounds__(threads, 1)                      \
        TSR_KERNEL_NAME(const __grid_constant__ tsr_gemm_args args, const __grid_constant__ tsr_tensor_maps maps, \
                        const __grid_constant__ tsr_scaling scaling)
#define TSR_KERNEL_SCALED_ANY_CLUSTER(threads, ctas)                                                              \
    extern "C" __global__ void __launch_bounds__(threads, ctas)                                                   \
        TSR_KERNEL_NAME(const __grid_constant__ tsr_gemm_args args, const __grid_constant__ tsr_tensor_maps maps, \
                        const __grid_constant__ tsr_scaling scaling)
#endif

#endif
