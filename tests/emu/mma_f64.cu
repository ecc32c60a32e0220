/* D (16 x 8) = A (16 x 16) * B (16 x 8) + C in f64 by mma.sync of 8 rows (MMA_M = 8), or of 16 rows and MMA_K along K,
 * operands through registers by the documented layout. One warp. */
#include "ptx/mma_f64.h"

TSR_KERNEL(32)
{
    const int lane = (int)threadIdx.x, g = lane / 4, t = lane % 4;
    const double *const a = (const double *)args.a, *const b = (const double *)args.b;
    double acc[4];
    for (int i = 0; i < 4; i++)
        acc[i] = ((const double *)args.c)[(g + i / 2 * 8) * args.ldc + 2 * t + i % 2];
    for (int k = 0; k < 16; k += MMA_K) {
        double ra[MMA_K / 2], rb[MMA_K / 4];
        for (int i = 0; i < MMA_K / 2; i++)
            ra[i] = a[(g + i % 2 * 8) * args.lda + k + t + i / 2 * 4];
        for (int i = 0; i < MMA_K / 4; i++)
            rb[i] = b[(k + t + i * 4) * args.ldb + g];
#if MMA_M == 8
        tsr_mma_f64_m8n8k4(&acc[0], ra[0], rb[0]);
        tsr_mma_f64_m8n8k4(&acc[2], ra[1], rb[0]);
#elif MMA_K == 4
        tsr_mma_f64_m16n8k4(acc, ra, rb);
#elif MMA_K == 8
        tsr_mma_f64_m16n8k8(acc, ra, rb);
#else
        tsr_mma_f64_m16n8k16(acc, ra, rb);
#endif
    }
    for (int i = 0; i < 4; i++)
        ((double *)args.d)[(g + i / 2 * 8) * args.ldd + 2 * t + i % 2] = acc[i];
}
