/* The C subset in which kernels are written, so that one source compiles three ways:
 *   - nvcc and NVRTC, as CUDA C++, with nothing but their built-ins (no system headers);
 *   - gcc, as C, for the emulator (TSR_EMU is 1);
 *   - cc -E, which hashes what the device compiler sees.
 * A kernel file says TSR_KERNEL(threads) { ... } once and reads `args`, threadIdx, blockIdx, blockDim and gridDim as in
 * CUDA. No templates, classes, references, lambdas, static shared arrays or local arrays with run-time indices. */
#ifndef TSR_PTX_LANGUAGE_H
#define TSR_PTX_LANGUAGE_H

#include "core/gemm_args.h"

#ifndef TSR_EMU
#define TSR_EMU 0
#endif

/* Of the CTA's shared memory; a kernel may define another one first. The emulator always gives 1024. */
#ifndef TSR_SHARED_ALIGN
#define TSR_SHARED_ALIGN 128
#endif

/* The type of `args`; kernels that make no product define another one first (kernels/prep/, kernels/microbench/). */
#ifndef TSR_ARGS
#define TSR_ARGS tsr_gemm_args
#endif

#if TSR_EMU
#include "ptx/emulator.h"

/* The one entry of a file; its name comes from the build. `threads` is the CTA's size. With _CTAS, the compiler keeps
 * the registers so few that `ctas` of them fit on an SM. */
#define TSR_KERNEL(threads)                    \
    void TSR_KERNEL_NAME(const TSR_ARGS args); \
    void TSR_KERNEL_NAME(const TSR_ARGS args)
#define TSR_KERNEL_CTAS(threads, ctas) TSR_KERNEL(threads)

/* Functions that kernels call: always inlined, so that no rung pays for being readable. */
#define TSR_DEVICE static inline __attribute__((always_inline))

#define threadIdx tsr_emu_thread_idx()
#define blockIdx  tsr_emu_block_idx()
#define blockDim  tsr_emu_block_dim()
#define gridDim   tsr_emu_grid_dim()

/* The CTA's shared memory: `smem_bytes` of the row, aligned to TSR_SHARED_ALIGN bytes. */
#define TSR_SHARED tsr_emu_shared_base()

/* Asks for complete unrolling of the next loop, for `count` copies of its body, or for none; the emulator keeps the
 * loop. */
#define TSR_UNROLL
#define TSR_UNROLL_BY(count)
#define TSR_ROLLED

#else

#define TSR_KERNEL(threads) \
    extern "C" __global__ void __launch_bounds__(threads) TSR_KERNEL_NAME(const __grid_constant__ TSR_ARGS args)
#define TSR_KERNEL_CTAS(threads, ctas) \
    extern "C" __global__ void __launch_bounds__(threads, ctas) TSR_KERNEL_NAME(const __grid_constant__ TSR_ARGS args)
#define TSR_DEVICE static __device__ __forceinline__

/* clang-format off */
extern __shared__ __align__(TSR_SHARED_ALIGN) unsigned char tsr_shared_arena[];
/* clang-format on */
#define TSR_SHARED tsr_shared_arena

#define TSR_UNROLL           _Pragma("unroll")
#define TSR_PRAGMA(text)     _Pragma(#text)
#define TSR_UNROLL_BY(count) TSR_PRAGMA(unroll(count))
#define TSR_ROLLED           _Pragma("unroll 1")

#endif

/* A condition that seldom holds: what it guards is laid apart from the code that always runs. */
#define TSR_UNLIKELY(condition) __builtin_expect((condition) != 0, 0)

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
