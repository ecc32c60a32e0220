/* One way to bring tiled_solution.cu to tensor cores (docs/COURSE.md, lesson 9): a warp makes 16 x 16 of C by WMMA
 * fragments, A and B in bf16 and sums in f32. Right, and slow: one warp a block, no element used by two warps.
 *
 *     tessera try wmma_solution.cu --dtype bf16
 *
 * tessera try: --threads 32 --tile 16 --shared 2048 */
#include "tile/kernel.h"

enum { TILE = 16, THREADS = 32 };

TSR_KERNEL(THREADS)
{
    unsigned short *const As = (unsigned short *)TSR_SHARED, *const Bs = As + TILE * TILE; /* 512 bytes each */
    float *const sums = (float *)(TSR_SHARED + 1024);                                      /* 1024 bytes */
    const unsigned short *A = (const unsigned short *)args.a, *B = (const unsigned short *)args.b;
    const long long tiles_n = (args.n + TILE - 1) / TILE;
    const long long row0 = blockIdx.x / tiles_n * TILE, col0 = blockIdx.x % tiles_n * TILE;
    const int lane = (int)threadIdx.x;

    tsr_wmma_acc acc;
    for (int i = 0; i < 8; i++)
        acc.elements[i] = 0; /* this lane's eighth of C's fragment: which elements, nobody says */
    for (long long k0 = 0; k0 < args.k; k0 += TILE) {
        for (int i = lane; i < TILE * TILE; i += THREADS) { /* 32 lanes bring 256 elements of each */
            const int y = i / TILE, x = i % TILE;
            As[i] = row0 + y < args.m && k0 + x < args.k ? A[(row0 + y) * args.lda + k0 + x] : 0;
            Bs[i] = k0 + y < args.k && col0 + x < args.n ? B[(k0 + y) * args.ldb + col0 + x] : 0;
        }
        __syncthreads(); /* the tiles are there */
        tsr_wmma_bf16 a, b;
        tsr_wmma_load_a_bf16(&a, As, TILE, 0); /* 0: stored by rows */
        tsr_wmma_load_b_bf16(&b, Bs, TILE, 0);
        tsr_wmma_multiply_bf16(&acc, &a, &b, 0, 0);
        __syncthreads(); /* nobody needs them any more */
    }
    tsr_wmma_store_shared(sums, &acc, TILE); /* now rows and columns are known */
    __syncthreads();
    for (int i = lane; i < TILE * TILE; i += THREADS)
        if (row0 + i / TILE < args.m && col0 + i % TILE < args.n)
            tsr_store(&args, row0 + i / TILE, col0 + i % TILE, sums[i]);
}
