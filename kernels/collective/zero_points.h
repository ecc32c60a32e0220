/* Zero points of 8-bit integers, for kernels whose operands lie along K in shared memory, 128 bytes of a row each
 * stage:
 *
 *     sum of (a - za) (b - zb) = sum of a b - za * sum of b - zb * sum of a + K * za * zb        modulo 2^32
 *
 * A warp group adds up the bytes of its 64 rows of A and of the tile's BN columns of B beside the products; which 16 of
 * a row lie where, as the swizzle has it, does not matter to a sum. Beyond K the copy engine has left zeros. */
#ifndef TSR_COLLECTIVE_ZERO_POINTS_H
#define TSR_COLLECTIVE_ZERO_POINTS_H

#include "core/scaling.h"
#include "ptx/barrier.h"
#include "ptx/dot4.h"
#include "ptx/shared_vector.h"

/* The sums lie in shared memory, since no register is free: of 128 halves of rows, then of BN columns. */
enum { ZERO_SUMS_COLUMNS = 128 * 4 };

TSR_DEVICE int zero_sum_of(unsigned at, int chunks, int first, int is_unsigned)
{
    int sum = 0;
    TSR_ROLLED
    for (int i = 0; i < chunks; i++) {
        unsigned four[4];
        tsr_shared_load_u32x4(at + (unsigned)((i + first) % chunks) * 16, four); /* lanes begin in different banks */
        TSR_UNROLL
        for (int k = 0; k < 4; k++)
            sum = is_unsigned ? tsr_sum4_u8(four[k], sum) : tsr_sum4_s8(four[k], sum);
    }
    return sum;
}

/* At the beginning of a tile, by all threads of a warp group, whose barrier is `barrier`; `area`: its room. Each thread
 * keeps sums of its own. */
TSR_DEVICE void zero_sums_begin(unsigned area, unsigned barrier)
{
    const int thread = (int)threadIdx.x % 128;
    tsr_named_barrier(barrier, 128); /* the tile before has left */
    TSR_UNROLL
    for (int i = 0; i < 3; i++)
        if (thread + 128 * i < 128 + BN)
            tsr_shared_store_u32(area + (unsigned)(thread + 128 * i) * 4, 0);
}

/* One stage: 64 rows of A, and the columns of B, at these shared addresses. */
TSR_DEVICE void zero_sums_add(unsigned area, unsigned a, unsigned b, int is_unsigned_a, int is_unsigned_b)
{
    const int thread = (int)threadIdx.x % 128;
    const unsigned own = area + (unsigned)thread * 4;
    tsr_shared_store_u32(own, tsr_shared_load_u32(own) +
                                  (unsigned)zero_sum_of(a + (unsigned)thread * 64, 4, thread / 2, is_unsigned_a));
    TSR_UNROLL
    for (int i = 0; i < 2; i++)
        if (thread + 128 * i < BN) {
            const unsigned to = own + ZERO_SUMS_COLUMNS + 512u * (unsigned)i;
            tsr_shared_store_u32(to,
                                 tsr_shared_load_u32(to) + (unsigned)zero_sum_of(b + (unsigned)(thread + 128 * i) * 128,
                                                                                 8, thread, is_unsigned_b));
        }
}

/* The zero point of row or column `at` of problem z; `first` is the launch's. */
TSR_DEVICE int zero_point(const void *points, int mode, long long batch, long long z, long long first, long long at,
                          long long extent, int is_unsigned)
{
    if (!points || at >= extent)
        return 0;
    const long long index = mode == TSR_SCALING_VECTOR ? z * batch + first + at : 0;
    return is_unsigned ? ((const unsigned char *)points)[index] : ((const signed char *)points)[index];
}

/* Corrects the sums of a tile, by all threads of the warp group. `m` and `n`: its first row, the tile's first column;
 * `steps`: of K, that are in the sums. */
TSR_DEVICE void zero_points_apply(const tsr_gemm_args *args, const tsr_scaling *s, long long z, unsigned steps,
                                  unsigned area, unsigned barrier, long long m, long long n, int is_unsigned_a,
                                  int is_unsigned_b, int count, int *sum)
{
    const int thread = (int)threadIdx.x % 128, lane = thread % 32, row = thread / 32 * 16 + lane / 4;
    tsr_named_barrier(barrier, 128);
    unsigned za[2], of_row[2];
    TSR_UNROLL
    for (int h = 0; h < 2; h++) {
        const unsigned at = area + (unsigned)(row + 8 * h) * 8;
        za[h] = (unsigned)zero_point(s->zero_a, s->mode_a, s->batch_a, z, s->first_m, m + row + 8 * h, args->m,
                                     is_unsigned_a);
        of_row[h] = tsr_shared_load_u32(at) + tsr_shared_load_u32(at + 4);
    }
    TSR_UNROLL
    for (int i = 0; i < count; i += 4)
        TSR_UNROLL
    for (int c = 0; c < 2; c++) {
        const int column = 2 * i + lane % 4 * 2 + c;
        const unsigned of_column = tsr_shared_load_u32(area + ZERO_SUMS_COLUMNS + (unsigned)column * 4);
        const unsigned zb =
            (unsigned)zero_point(s->zero_b, s->mode_b, s->batch_b, z, s->first_n, n + column, args->n, is_unsigned_b);
        TSR_UNROLL
        for (int h = 0; h < 2; h++)
            sum[i + 2 * h + c] =
                (int)((unsigned)sum[i + 2 * h + c] - za[h] * of_column - zb * of_row[h] + steps * za[h] * zb);
    }
    tsr_named_barrier(barrier, 128);
}

#endif
