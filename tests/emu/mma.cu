/* D (16 x 8, f32) = A (16 x 2K) * B (2K x 8) + C by two mma.sync, operands through registers by the documented layout.
 * MMA_bf16 and MMA_f16: K = 16, A through ldmatrix; MMA_tf32: K = 8, A and B are f32. One warp. */
#include "ptx/barrier.h"
#include "ptx/ldmatrix.h"
#include "ptx/mma.h"

TSR_KERNEL(32)
{
    const int lane = (int)threadIdx.x, g = lane / 4, t = lane % 4;
    float acc[4];
    for (int i = 0; i < 4; i++)
        acc[i] = ((const float *)args.c)[(g + i / 2 * 8) * args.ldc + 2 * t + i % 2];
#ifdef MMA_tf32
    const float *a = (const float *)args.a, *b = (const float *)args.b;
    for (int k = 0; k < 16; k += 8) {
        unsigned ra[4], rb[2];
        for (int i = 0; i < 4; i++)
            ra[i] = tsr_bits_of_f32(a[(g + i % 2 * 8) * args.lda + k + t + i / 2 * 4]);
        for (int i = 0; i < 2; i++)
            rb[i] = tsr_narrow_tf32(b[(k + t + i * 4) * args.ldb + g]);
        tsr_mma_tf32(acc, ra, rb);
    }
#else
    const unsigned short *a = (const unsigned short *)args.a, *b = (const unsigned short *)args.b;
    unsigned short *shared = (unsigned short *)TSR_SHARED;
    for (int k = 0; k < 32; k += 16) {
        for (int i = lane; i < 256; i += 32)
            shared[i] = a[i / 16 * args.lda + k + i % 16];
        tsr_barrier();
        unsigned ra[4], rb[2];
        tsr_ldmatrix_x4(ra, shared + lane % 16 * 16 + lane / 16 * 8);
        for (int i = 0; i < 2; i++)
            rb[i] = b[(k + 2 * t + i * 8) * args.ldb + g] | (unsigned)b[(k + 2 * t + 1 + i * 8) * args.ldb + g] << 16;
#ifdef MMA_bf16
        tsr_mma_bf16(acc, ra, rb);
#else
        tsr_mma_f16(acc, ra, rb);
#endif
        tsr_barrier();
    }
#endif
    for (int i = 0; i < 4; i++)
        ((float *)args.d)[(g + i / 2 * 8) * args.ldd + 2 * t + i % 2] = acc[i];
}
