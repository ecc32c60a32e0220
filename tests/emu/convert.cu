/* Row 0 of D: every 16-bit pattern x as f16, widened; row 1: as bf16. Rows 2 and 3: A[0, x] (f32) narrowed to f16 and
 * to bf16, the bits as numbers; row 4: to tf32, as a float. N is 65536; 1024 threads. */
#include "ptx/convert.h"
#include "ptx/mma.h"

TSR_KERNEL(1024)
{
    float *d = (float *)args.d;
    for (long long x = threadIdx.x; x < args.n; x += 1024) {
        const float value = ((const float *)args.a)[x];
        d[x] = tsr_widen_f16((unsigned short)x);
        d[args.ldd + x] = tsr_widen_bf16((unsigned short)x);
        d[2 * args.ldd + x] = (float)tsr_narrow_f16(value);
        d[3 * args.ldd + x] = (float)tsr_narrow_bf16(value);
        d[4 * args.ldd + x] = tsr_f32_of_bits(tsr_narrow_tf32(value));
    }
}
