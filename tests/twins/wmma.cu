/* One product by WMMA for each problem of the batch, as in product.cu: each warp multiplies 16 rows. The 8 columns of B
 * stand twice in the 16 of a fragment; the second time is not looked at. */
#include "ptx/barrier.h"
#include "ptx/wmma_f16.h"

#if defined(TWIN_wmma_bf16)
typedef tsr_wmma_bf16 fragment;
#define load_a tsr_wmma_load_a_bf16
#define load_b tsr_wmma_load_b_bf16
#else
typedef tsr_wmma_f16 fragment;
#define load_a tsr_wmma_load_a_f16
#define load_b tsr_wmma_load_b_f16
#endif

enum { STRIDE = 16, SUM_STRIDE = 16 };

TSR_KERNEL(128)
{
    const int thread = (int)threadIdx.x, warp = thread / 32, z = (int)blockIdx.z;
    const unsigned short *const a = (const unsigned short *)((const unsigned *)args.a + z * args.batch_a);
    const unsigned short *const b = (const unsigned short *)((const unsigned *)args.b + z * args.batch_b);
    unsigned short *const as = (unsigned short *)TSR_SHARED, *const bs = as + 64 * STRIDE;
    for (int i = thread; i < 64 * 16; i += 128)
        as[i] = a[i];
    for (int i = thread; i < 16 * 16; i += 128)
        bs[i] = b[i % (8 * 16)]; /* columns of B one after another */
    const unsigned *const c = (const unsigned *)args.c + z * args.batch_c;
    unsigned *const d = (unsigned *)args.d + z * args.batch_d;
#if defined(TWIN_wmma_f16_f16)
    unsigned short *const sums = bs + 16 * STRIDE;
    for (int i = thread; i < 64 * 16; i += 128)
        sums[i] = (unsigned short)c[i / 16 * 8 + i % 8];
#else
    unsigned *const sums = (unsigned *)(bs + 16 * STRIDE);
    for (int i = thread; i < 64 * 16; i += 128)
        sums[i] = c[i / 16 * 8 + i % 8];
#endif
    tsr_barrier();
    fragment left, right;
    load_a(&left, as + warp * 16 * STRIDE, STRIDE, 0);
    load_b(&right, bs, STRIDE, 1);
#if defined(TWIN_wmma_f16_f16)
    tsr_wmma_f16_acc acc;
    tsr_wmma_load_acc_f16(&acc, sums + warp * 16 * SUM_STRIDE, SUM_STRIDE);
    tsr_wmma_multiply_f16_f16(&acc, &left, &right, 0, 1);
    tsr_wmma_store_shared_f16(sums + warp * 16 * SUM_STRIDE, &acc, SUM_STRIDE);
#else
    tsr_wmma_acc acc;
    tsr_wmma_load_acc(&acc, (const float *)sums + warp * 16 * SUM_STRIDE, SUM_STRIDE);
#if defined(TWIN_wmma_bf16)
    tsr_wmma_multiply_bf16(&acc, &left, &right, 0, 1);
#else
    tsr_wmma_multiply_f16(&acc, &left, &right, 0, 1);
#endif
    tsr_wmma_store_shared((float *)sums + warp * 16 * SUM_STRIDE, &acc, SUM_STRIDE);
#endif
    tsr_barrier();
    for (int i = thread; i < 64 * 8; i += 128)
        d[i] = sums[i / 8 * SUM_STRIDE + i % 8];
}
