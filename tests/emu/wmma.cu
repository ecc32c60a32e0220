/* D (16 x 16, f32) = 3 * op(A) * op(B), A and B 16 x 16 of 16 bits (ELEM_bf16 or ELEM_f16), stored by columns where
 * trans_a and trans_b say so. One warp. */
#include "ptx/barrier.h"
#include "tile/wmma_fragment.h"

enum { STRIDE = 24 };

TSR_KERNEL(32)
{
    unsigned short *as = (unsigned short *)TSR_SHARED, *bs = as + 16 * STRIDE;
    float *ds = (float *)(bs + 16 * STRIDE);
    for (int i = (int)threadIdx.x; i < 256; i += 32) {
        as[i / 16 * STRIDE + i % 16] = ((const unsigned short *)args.a)[i / 16 * args.lda + i % 16];
        bs[i / 16 * STRIDE + i % 16] = ((const unsigned short *)args.b)[i / 16 * args.ldb + i % 16];
    }
    tsr_barrier();
    fragment a, b;
    tsr_wmma_acc acc;
    for (int i = 0; i < 8; i++)
        acc.elements[i] = 0;
    if (args.trans_a)
        load_a(&a, as, STRIDE, 1);
    else
        load_a(&a, as, STRIDE, 0);
    if (args.trans_b)
        load_b(&b, bs, STRIDE, 1);
    else
        load_b(&b, bs, STRIDE, 0);
    if (args.trans_a && args.trans_b)
        multiply(&acc, &a, &b, 1, 1);
    else if (args.trans_a)
        multiply(&acc, &a, &b, 1, 0);
    else if (args.trans_b)
        multiply(&acc, &a, &b, 0, 1);
    else
        multiply(&acc, &a, &b, 0, 0);
    for (int i = 0; i < 8; i++)
        acc.elements[i] *= 3;
    tsr_wmma_store_shared(ds, &acc, 20);
    tsr_barrier();
    for (int i = (int)threadIdx.x; i < 256; i += 32)
        ((float *)args.d)[i / 16 * args.ldd + i % 16] = ds[i / 16 * 20 + i % 16];
}
