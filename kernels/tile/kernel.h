/* What a first kernel of one's own needs, in one header (docs/COURSE.md, "Write your own kernel"): elements, a
 * multiply-add that is counted, shared memory, the barrier, and the store of a finished sum; in 16 bits WMMA's
 * fragments. `tessera try` compiles it with gcc, nvcc as CUDA. */
#ifndef TSR_TILE_KERNEL_H
#define TSR_TILE_KERNEL_H

#include "ptx/barrier.h"
#if defined ELEM_f16 || defined ELEM_bf16
#include "ptx/wmma.h"
#include "tile/tensor_element.h"
#else
#include "tile/element.h"
#include "tile/output.h"
#endif

#if TSR_EMU && defined(__clang__)
#error "the emulator needs gcc: clang instruments memory accesses in another way"
#endif

#if TSR_EMU
#define __syncthreads() tsr_barrier()
#define fmaf(a, b, c)   tsr_fma_f32(a, b, c)
/* What CUDA has and the C subset has not: gcc says so at the line. */
#define __global__ _Static_assert(0, "a kernel begins with TSR_KERNEL(threads): docs/COURSE.md, Write your own kernel");
#define __shared__ \
    _Static_assert(0, "shared memory is TSR_SHARED, a pointer to be cast: float *As = (float *)TSR_SHARED");
#endif

/* C[row, col] = sum; with alpha, beta and what else the call asks for. Sums of 16-bit types are floats. */
#if defined ELEM_f16 || defined ELEM_bf16
TSR_DEVICE void tsr_store(const tsr_gemm_args *args, long long row, long long col, float sum)
{
    const tensor_out out = tensor_out_open(args, 0);
    tensor_output(&out, row, col, sum); /* which looks whether the element is inside C */
}
#else
TSR_DEVICE void tsr_store(const tsr_gemm_args *args, long long row, long long col, elem sum)
{
    tsr_output(args, 0, row, col, sum);
}
#endif

#endif
