/* D[r, lane] = the r-th register that ldmatrix gives (the lower half, then the upper one), as numbers: x1, x2, x4, then
 * the same transposed. A is 32 rows of 8 elements of 16 bits; row i of it is row i % 8 of matrix i / 8. One warp. */
#include "ptx/barrier.h"
#include "ptx/ldmatrix.h"

TSR_DEVICE void put(const tsr_gemm_args *args, int *row, unsigned value)
{
    float *d = (float *)args->d + threadIdx.x;
    d[*row * args->ldd] = (float)(value & 0xffff);
    d[(*row + 1) * args->ldd] = (float)(value >> 16);
    *row += 2;
}

TSR_KERNEL(32)
{
    const int x = (int)threadIdx.x;
    unsigned short *shared = (unsigned short *)TSR_SHARED;
    for (int i = 0; i < 8; i++)
        shared[8 * x + i] = ((const unsigned short *)args.a)[x * args.lda + i];
    tsr_barrier();
    const unsigned short *address = shared + 8 * x;
    unsigned r[4];
    int row = 0;
    tsr_ldmatrix_x1(r, address);
    put(&args, &row, r[0]);
    tsr_ldmatrix_x2(r, address);
    for (int i = 0; i < 2; i++)
        put(&args, &row, r[i]);
    tsr_ldmatrix_x4(r, address);
    for (int i = 0; i < 4; i++)
        put(&args, &row, r[i]);
    tsr_ldmatrix_x1_trans(r, address);
    put(&args, &row, r[0]);
    tsr_ldmatrix_x2_trans(r, address);
    for (int i = 0; i < 2; i++)
        put(&args, &row, r[i]);
    tsr_ldmatrix_x4_trans(r, address);
    for (int i = 0; i < 4; i++)
        put(&args, &row, r[i]);
}
