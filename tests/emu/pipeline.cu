/* A whole small GEMM of the kind that the next rungs are, so that the instructions are seen to work together: D (f32) =
 * A * B in bf16, cp.async in three stages, ldmatrix, mma. 64 x 64 tiles, K in steps of 32; four warps, each a quarter
 * of the tile. Leading dimensions and addresses are multiples of 16 bytes; M, N, K are any. */
#include "ptx/async_copy.h"
#include "ptx/barrier.h"
#include "ptx/ldmatrix.h"
#include "ptx/mma.h"

enum { BM = 64, BN = 64, BK = 32, STAGES = 3, THREADS = 128, LDA = BK + 8, LDB = BN + 8 };

typedef struct stage {
    unsigned short a[BM][LDA], b[BK][LDB];
} stage;

TSR_DEVICE unsigned bytes_left(long long row, long long rows, long long column, long long columns)
{
    const long long left = row < rows ? (columns - column) * 2 : 0;
    return left < 0 ? 0 : left > 16 ? 16 : (unsigned)left;
}

/* Starts the copies of K-step k0; a thread moves two pieces of 8 elements of each operand. */
TSR_DEVICE void start(const tsr_gemm_args *args, stage *to, long long row0, long long col0, long long k0)
{
    const unsigned short *a = (const unsigned short *)args->a, *b = (const unsigned short *)args->b;
    for (int i = (int)threadIdx.x; i < BM * BK / 8; i += THREADS) {
        const int r = i / (BK / 8), c = i % (BK / 8) * 8;
        tsr_copy_async_16(&to->a[r][c], a + (row0 + r) * args->lda + k0 + c,
                          bytes_left(row0 + r, args->m, k0 + c, args->k));
    }
    for (int i = (int)threadIdx.x; i < BK * BN / 8; i += THREADS) {
        const int r = i / (BN / 8), c = i % (BN / 8) * 8;
        tsr_copy_async_16(&to->b[r][c], b + (k0 + r) * args->ldb + col0 + c,
                          bytes_left(k0 + r, args->k, col0 + c, args->n));
    }
}

/* One K-step of a warp: its 32 x 32 quarter as 2 x 4 products of 16 x 8. */
TSR_DEVICE void multiply(float acc[2][4][4], const stage *from, int wm, int wn, int lane)
{
    for (int k = 0; k < BK; k += 16) {
        unsigned a[2][4], b[2][4];
        TSR_UNROLL
        for (int i = 0; i < 2; i++) {
            tsr_ldmatrix_x4(a[i], &from->a[wm + 16 * i + lane % 16][k + lane / 16 * 8]);
            tsr_ldmatrix_x4_trans(b[i], &from->b[k + lane % 16][wn + 16 * i + lane / 16 * 8]);
        }
        TSR_UNROLL
        for (int i = 0; i < 2; i++) {
            TSR_UNROLL
            for (int j = 0; j < 4; j++)
                tsr_mma_bf16(acc[i][j], a[i], &b[j / 2][j % 2 * 2]);
        }
    }
}

TSR_KERNEL(THREADS)
{
    stage *stages = (stage *)TSR_SHARED;
    const long long tiles_n = (args.n + BN - 1) / BN;
    const long long row0 = blockIdx.x / tiles_n * BM, col0 = blockIdx.x % tiles_n * BN;
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    const int wm = warp / 2 * 32, wn = warp % 2 * 32;
    float acc[2][4][4] = {{{0}}};

    for (int i = 0; i < STAGES - 1; i++) {
        if (i * BK < args.k)
            start(&args, &stages[i], row0, col0, i * BK);
        tsr_copy_commit();
    }
    int now = 0;
    for (long long k0 = 0; k0 < args.k; k0 += BK) {
        tsr_copy_wait(STAGES - 2);
        tsr_barrier(); /* the stage has landed, and the one before it is free */
        const long long next = k0 + (STAGES - 1) * BK;
        if (next < args.k)
            start(&args, &stages[(now + STAGES - 1) % STAGES], row0, col0, next);
        tsr_copy_commit();
        multiply(acc, &stages[now], wm, wn, lane);
        now = (now + 1) % STAGES;
    }
    TSR_UNROLL
    for (int i = 0; i < 2; i++) {
        TSR_UNROLL
        for (int j = 0; j < 4; j++) {
            TSR_UNROLL
            for (int e = 0; e < 4; e++) {
                const long long row = row0 + wm + 16 * i + lane / 4 + e / 2 * 8;
                const long long col = col0 + wn + 8 * j + lane % 4 * 2 + e % 2;
                if (row < args.m && col < args.n)
                    ((float *)args.d)[row * args.ldd + col] = acc[i][j][e];
            }
        }
    }
}
