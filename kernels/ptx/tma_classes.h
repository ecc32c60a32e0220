/* Kernels that load operands by classes of rows (core/class_maps.h): each class has a tensor map of its own, and boxes
 * may begin at any element. sm_90. */
#ifndef TSR_PTX_TMA_CLASSES_H
#define TSR_PTX_TMA_CLASSES_H

#include "core/class_maps.h"
#include "ptx/tma.h"

/* The entry of such a kernel, in clusters of `cluster` CTAs along x, one CTA on an SM: it reads `maps` beside `args`.
 */
#if TSR_EMU
#define TSR_KERNEL_CLASSES(threads, cluster)                                   \
    void TSR_KERNEL_NAME(const tsr_gemm_args args, const tsr_class_maps maps); \
    void TSR_KERNEL_NAME(const tsr_gemm_args args, const tsr_class_maps maps)
#else
#define TSR_KERNEL_CLASSES(threads, cluster)                                                 \
    extern "C" __global__ void __cluster_dims__(cluster, 1, 1) __launch_bounds__(threads, 1) \
        TSR_KERNEL_NAME(const __grid_constant__ tsr_gemm_args args, const __grid_constant__ tsr_class_maps maps)
#endif

#endif
