/* The one place that decides how cpu-tiled multiplies. Calls ask once, plans once for all their runs; whoever runs the
 * answer asks nothing else. Sums depend on the answer through its shape alone (shape.h). */
#ifndef TSR_CPU_CHOOSE_H
#define TSR_CPU_CHOOSE_H

#include "cpu/skinny/shape.h"
#include "cpu/small/in_place.h"

typedef enum tsr_algorithm {
    TSR_NO_ALGORITHM, /* not asked yet */
    TSR_GEMV,         /* one row or column, a matrix that lies in the caches: skinny/gemv.c */
    TSR_ANY_ROWS,     /* any number of rows with the sums of few: skinny/any_rows.c */
    TSR_SKINNY,       /* few rows or columns: the large operand is read once: skinny/few_rows.c */
    TSR_SMALL,        /* register tiles straight on operands that lie in the caches: small/in_place.c */
    TSR_RANK_K,       /* a rank-k update: few steps of K, D along its rows: blocked/rank_k.c */
    TSR_PAIRS,        /* bf16 two steps of K at a time: blocked/pairs.c */
    TSR_BLOCKED       /* blocks for each level of the memory: blocked/blocked.c */
} tsr_algorithm;

typedef struct tsr_cpu_choice {
    tsr_algorithm algorithm;
    tsr_shape shape;
    int k_parts; /* the algorithm sums each of so many parts of K apart (split_k.h); 0 or 1: all of K */
} tsr_cpu_choice;

/* The algorithm that gives a shape's sums, in so many parts of K, for every size: of parts of a problem, and where an
 * operand is prepared. */
static inline tsr_cpu_choice tsr_choice_of_shape(tsr_shape shape, int k_parts)
{
    const tsr_algorithm algorithm = shape == TSR_SHAPE_TILES      ? TSR_BLOCKED
                                    : shape == TSR_SHAPE_ANY_ROWS ? TSR_ANY_ROWS
                                                                  : TSR_SKINNY;
    return (tsr_cpu_choice){algorithm, shape, k_parts};
}

/* 1 if the answer is TSR_SMALL or, for one row, tiles with the bits of TSR_GEMV, whatever else: small products should
 * not wait for more. M, K above 0, N above 1, one problem of f32 or f64. */
static inline int tsr_is_surely_small(long long m, long long n, long long k, int trans_a, int trans_b)
{
    return tsr_is_short(m, n, k, trans_a, trans_b) && m <= TSR_SURE_ROWS && n <= TSR_SURE_COLUMNS;
}

/* What an answer must heed beside the problem. */
enum {
    TSR_HAS_PREPARED = 1,  /* A or B is in its prepared form */
    TSR_SUMS_IGNORE_M = 2, /* the order of the sums must not depend on M (TSR_BATCH_INVARIANT), */
    TSR_SUMS_OF_TILES = 4  /* and be that of tiles, but for one column */
};

/* For a problem of cpu-tiled; pointers and factors are not looked at, but for beta, which is 0 or not, and the
 * epilogue. `threads` may help. M, N, K or the batch may be 0: any answer then. */
tsr_cpu_choice tsr_cpu_algorithm(const tsr_device *device, tsr_dtype dtype, const tsr_gemm_args *args,
                                 unsigned conditions, int threads);

/* Arguments of a problem without pointers; alpha 1, beta 0. */
tsr_gemm_args tsr_args_of(const tsr_problem *problem);

/* As one number above 0, for those outside of src/cpu who keep it, and back. */
static inline int tsr_choice_number(tsr_cpu_choice choice)
{
    return choice.k_parts << 6 | (int)choice.algorithm << 2 | (int)choice.shape;
}

static inline tsr_cpu_choice tsr_choice_of(int number)
{
    return (tsr_cpu_choice){(tsr_algorithm)(number >> 2 & 15), (tsr_shape)(number & 3), number >> 6};
}

#endif
