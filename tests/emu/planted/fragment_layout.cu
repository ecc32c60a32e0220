/* D = A; planted: fragments of a matrix by rows are multiplied as if it were stored by columns. */
#include "ptx/barrier.h"
#include "ptx/wmma.h"

TSR_KERNEL(32)
{
    unsigned short *const shared = (unsigned short *)TSR_SHARED;
    const int x = (int)threadIdx.x;
    for (int i = x; i < 256; i += 32)
        shared[i] = 0;
    tsr_barrier();
    tsr_wmma_bf16 a, b;
    tsr_wmma_acc acc;
    for (int i = 0; i < 8; i++)
        acc.elements[i] = 1;
    tsr_wmma_load_a_bf16(&a, shared, 16, 0);
    tsr_wmma_load_b_bf16(&b, shared, 16, 0);
    tsr_wmma_multiply_bf16(&acc, &a, &b, 0, PLANTED); /* planted */
    for (long long i = 0; i < args.m && x < args.n; i++)
        ((float *)args.d)[i * args.ldd + x] = ((const float *)args.a)[i * args.lda + x] * acc.elements[x % 8];
}
