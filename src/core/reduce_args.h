/* The argument of kernels/prep/reduce.cu: D of the sums of all parts of K, which a launch of `wgmma_skinny` left in the
 * workspace. Shared by host and device code, so it includes no system header.
 *
 * Members lie where tsr_gemm_args has those of the same kind (src/core/prep_args.c asserts it): machine code reads
 * arguments at fixed offsets, and that of this kernel is older than this struct. Nobody reads the reserved ones. */
#ifndef TSR_CORE_REDUCE_ARGS_H
#define TSR_CORE_REDUCE_ARGS_H

#include "core/schedule.h"

typedef struct tsr_reduce_args {
    const void *reserved_operands[2];
    const void *c;
    void *d;
    void *workspace; /* counters, and then the sums */
    long long m, n, k;
    long long tile_rows, tile_columns; /* of the product's tiles, along D's longer and shorter side */
    long long ldc, ldd;
    long long tiles_along; /* the product's tiles along the longer side; some may lie wholly beyond D */
    long long ways;        /* warps that share the parts of a block of 16 x 8: 1, 2, 4 or 8 */
    long long batch_c, batch_d, batch;
    double alpha, beta;
    int reserved_flags[2];
    tsr_schedule schedule; /* the product's: split_k and swap_ab are read */
    int reserved_types[3];
    const void *reserved_scales[2];
    const void *bias;
    int epilogue; /* tsr_epilogue */
} tsr_reduce_args;

#endif
