/* The C subset in which kernels are written, so that one source compiles three ways:
 *   - nvcc and NVRTC, as CUDA C++, with nothing but their built-ins (no system headers);
 *   - gcc, as C, for the emulator (TSR_EMU is 1);
 *   - cc -E, which hashes what the device compiler sees.
 * A kernel file says TSR_KERNEL(threads) { ... } once and reads `args`, threadIdx, blockIdx, blockDim and gridDim as in
 * CUDA. No templates, classes, references, lambdas, static shared arrays or local arrays with run-time indices. */
#ifndef TSR_PTX_LANGUAGE_H
#define TSR_PTX_LANGUAGE_H

#include "core/gemm_args.h"
#include "core/tensor_map.h"

#ifndef TSR_EMU
#define TSR_EMU 0
#endif

#if TSR_EMU
#include "ptx/emulator.h"

/* The one entry of a file; its name comes from the build. `threads` is the CTA's size. */
#define TSR_KERNEL(threads)                         \
    void TSR_KERNEL_NAME(const tsr_gemm_args args); \
    void TSR_KERNEL_NAME(const tsr_gemm_args args)

/* The entry of a kernel that uses the copy engine and runs in clusters of `cluster` CTAs along x, one CTA on an SM: it
 * also reads `maps`. */
#define TSR_KERNEL_TMA(threads, cluster)                                        \
    void TSR_KERNEL_NAME(const tsr_gemm_args args, const tsr_tensor_maps maps); \
    void TSR_KERNEL_NAME(const tsr_gemm_args args, const tsr_tensor_maps maps)

/* Functions that kernels call: always inlined, so that no rung pays for being readable. */
#define TSR_DEVICE static inline __attribute__((always_inline))

#define threadIdx tsr_emu_thread_idx()
#define blockIdx  tsr_emu_block_idx()
#define blockDim  tsr_emu_block_dim()
#define gridDim   tsr_emu_grid_dim()

/* The CTA's shared memory: `smem_bytes` of the row, aligned to 1024 bytes. */
#define TSR_SHARED tsr_emu_shared_base()

/* Asks for complete unrolling of the next loop; the emulator keeps the loop. */
#define TSR_UNROLL

#else

#define TSR_KERNEL(threads) \
    extern "C" __global__ void __launch_bounds__(threads) TSR_KERNEL_NAME(const __grid_constant__ tsr_gemm_args args)
#define TSR_KERNEL_TMA(threads, cluster)                                                     \
    extern "C" __global__ void __cluster_dims__(cluster, 1, 1) __launch_bounds__(threads, 1) \
        TSR_KERNEL_NAME(const __grid_constant__ tsr_gemm_args args, const __grid_constant__ tsr_tensor_maps maps)
#define TSR_DEVICE static __device__ __forceinline__

extern __shared__ __align__(1024) unsigned char tsr_shared_arena[];
#define TSR_SHARED tsr_shared_arena

#define TSR_UNROLL _Pragma("unroll")

#endif

/* The address of shared memory as instructions take it: 32 bits. In a cluster the upper bits carry the CTA's rank. */
TSR_DEVICE unsigned tsr_shared_address(const void *pointer)
{
#if TSR_EMU
    return tsr_emu_shared_address(pointer);
#else
    return (unsigned)__cvta_generic_to_shared(pointer);
#endif
}

#endif
