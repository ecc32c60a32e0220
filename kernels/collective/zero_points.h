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

/* An operand's zero points, as zero_point takes them, of a problem with `extent` rows or columns. */
typedef struct zero_side {
    const void *points;
    int mode, is_unsigned;
    long long batch, first, extent;
} zero_side;

TSR_DEVICE zero_side zero_side_of_a(const tsr_gemm_args *args, const tsr_scaling *s, int is_unsigned)
{
    const zero_side a = {s->zero_a, s->mode_a, is_unsigned, s->batch_a, s->first_m, args->m};
    return a;
}

TSR_DEVICE zero_side zero_side_of_b(const tsr_gemm_args *args, const tsr_scaling *s, int is_unsigned)
{
    const zero_side b = {s->zero_b, s->mode_b, is_unsigned, s->batch_b, s->first_n, args->n};
    return b;
}

TSR_DEVICE unsigned zero_side_point(const zero_side *side, long long z, long long at)
{
    return (unsigned)zero_point(side->points, side->mode, side->batch, z, side->first, at, side->extent,
                                side->is_unsigned);
}

/* Corrects the sums of a tile, by all threads of the warp group. `rows`, `columns`: of the accumulators, whose first
 * ones are number `row_at` and `column_at` of the problem; `steps`: of K, that are in the sums. */
TSR_DEVICE void zero_points_correct(const zero_side *rows, const zero_side *columns, long long z, unsigned steps,
                                    unsigned area, unsigned barrier, long long row_at, long long column_at, int count,
                                    int *sum)
{
    const int thread = (int)threadIdx.x % 128, lane = thread % 32, row = thread / 32 * 16 + lane / 4;
    tsr_named_barrier(barrier, 128);
    unsigned of_point[2], of_row[2];
    TSR_UNROLL
    for (int h = 0; h < 2; h++) {
        const unsigned at = area + (unsigned)(row + 8 * h) * 8;
        of_point[h] = zero_side_point(rows, z, row_at + row + 8 * h);
        of_row[h] = tsr_shared_load_u32(at) + tsr_shared_load_u32(at + 4);
    }
    TSR_UNROLL
    for (int i = 0; i < count; i += 4)
        TSR_UNROLL
    for (int c = 0; c < 2; c++) {
        const int column = 2 * i + lane % 4 * 2 + c;
        const unsigned of_column = tsr_shared_load_u32(area + ZERO_SUMS_COLUMNS + (unsigned)column * 4);
        const unsigned point = zero_side_point(columns, z, column_at + column);
        TSR_UNROLL
        for (int h = 0; h < 2; h++)
            sum[i + 2 * h + c] = (int)((unsigned)sum[i + 2 * h + c] - of_point[h] * of_column - point * of_row[h] +
                                       steps * of_point[h] * point);
    }
    tsr_named_barrier(barrier, 128);
}

/* The same where A has the rows. `m` and `n`: its first row, the tile's first column. */
TSR_DEVICE void zero_points_apply(const tsr_gemm_args *args, const tsr_scaling *s, long long z, unsigned steps,
                                  unsigned area, unsigned barrier, long long m, long long n, int is_unsigned_a,
                                  int is_unsigned_b, int count, int *sum)
{
    const zero_side rows = zero_side_of_a(args, s, is_unsigned_a), columns = zero_side_of_b(args, s, is_unsigned_b);
    zero_points_correct(&rows, &columns, z, steps, area, barrier, m, n, count, sum);
}

#endif
