/* A kernel to start from (docs/COURSE.md, "Write your own kernel"): one thread makes one element of C = A B.
 *
 *     tessera try naive_start.cu
 *
 * What a block is, for the command. Options of the command line win over these.
 * tessera try: --threads 16x16 --tile 16x16 */
#include "tile/kernel.h"

enum { TILE = 16, THREADS = TILE * TILE };

TSR_KERNEL(THREADS)
{
    const float *A = (const float *)args.a,
                *B = (const float *)args.b; /* A is M x K, B is K x N, in rows that are lda and ldb apart */

    /* blockIdx.x counts the tiles of C, row after row. */
    const long long tiles_n = (args.n + TILE - 1) / TILE;
    const long long row = blockIdx.x / tiles_n * TILE + threadIdx.y;
    const long long col = blockIdx.x % tiles_n * TILE + threadIdx.x;
    if (row >= args.m || col >= args.n)
        return; /* the last tiles reach beyond C */

    float sum = 0;
    for (long long k = 0; k < args.k; k++)
        sum = fmaf(A[row * args.lda + k], B[k * args.ldb + col], sum);
    tsr_store(&args, row, col, sum);
}
