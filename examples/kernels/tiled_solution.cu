/* One way to make naive_start.cu faster: tiles of A and B in shared memory, K in phases (docs/COURSE.md, lesson 3).
 *
 *     tessera try tiled_solution.cu
 *
 * tessera try: --threads 16x16 --tile 16 --shared 2048 */
#include "tile/kernel.h"

enum { TILE = 16, THREADS = TILE * TILE };

TSR_KERNEL(THREADS)
{
    float(*const As)[TILE] = (float(*)[TILE])TSR_SHARED; /* 2 x 16 x 16 x 4 bytes are 2048 */
    float(*const Bs)[TILE] = As + TILE;
    const float *A = (const float *)args.a, *B = (const float *)args.b;
    const long long tiles_n = (args.n + TILE - 1) / TILE;
    const int x = (int)threadIdx.x, y = (int)threadIdx.y;
    const long long row = blockIdx.x / tiles_n * TILE + y;
    const long long col = blockIdx.x % tiles_n * TILE + x;

    float sum = 0;
    for (long long k0 = 0; k0 < args.k; k0 += TILE) {
        /* Each thread brings one element of each tile; what lies outside is 0, which changes no sum. */
        As[y][x] = row < args.m && k0 + x < args.k ? A[row * args.lda + k0 + x] : 0;
        Bs[y][x] = k0 + y < args.k && col < args.n ? B[(k0 + y) * args.ldb + col] : 0;
        __syncthreads(); /* the tiles are there */
        for (int k = 0; k < TILE; k++)
            sum = fmaf(As[y][k], Bs[k][x], sum);
        __syncthreads(); /* nobody needs them any more */
    }
    if (row < args.m && col < args.n)
        tsr_store(&args, row, col, sum);
}
