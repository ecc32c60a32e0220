/* Scales, zero points and the range of D, shared by host and device code: beside tsr_gemm_args for the kernels that
 * know of them, so that the arguments of the others stay as they are. Includes no system header. */
#ifndef TSR_CORE_SCALING_H
#define TSR_CORE_SCALING_H

/* Steps of K that a block's scale is for, and its rows or columns in TSR_SCALING_128X128. */
#define TSR_SCALE_BLOCK 128

/* As tsr_scale_mode (tessera.h) has them. */
enum { TSR_SCALING_TENSOR, TSR_SCALING_VECTOR, TSR_SCALING_1X128, TSR_SCALING_128X128 };

/* A scale of the whole operand is in tsr_gemm_args; here a and b are NULL then. */
typedef struct tsr_scaling {
    const float *a, *b; /* scales of rows, columns or blocks; NULL: none */
    const float *c, *d; /* a factor of C, and one of D before it is rounded; NULL: 1 */
    float *amax;        /* gets the greatest magnitude of D before scale_d; 0 when the kernel starts; NULL */
    const void *zero_a,
        *zero_b; /* of A's and B's types; one, or one a row or column with TSR_SCALING_VECTOR; NULL: 0 */
    long long stride_a, stride_b; /* floats from 128 steps of K, or 128 rows or columns, to the next */
    long long batch_a, batch_b;   /* scales and zero points from problem to problem */
    long long first_m, first_n;   /* row and column of the whole problem that are this launch's first */
    int mode_a, mode_b;
    int type_bias; /* of the bias; that of D, but for D of 8 bits */
    int overflows; /* 1: D of 8 bits becomes NaN or infinite beyond its range; 0: the largest finite number */
    int is_used; /* 0: a tile's end has no scales: none of rows, columns, C or D, no amax, and D has more than 8 bits */
} tsr_scaling;

/* Where the scale of row or column `outer` of a problem lies, for step k = 128 * block. */
#if defined(__CUDACC__)
static __device__ __forceinline__
#else
static inline
#endif
    long long
    tsr_scale_index(int mode, long long stride, long long outer, long long block)
{
    if (mode == TSR_SCALING_1X128)
        return block * stride + outer;
    if (mode == TSR_SCALING_128X128)
        return outer / TSR_SCALE_BLOCK * stride + block;
    return mode == TSR_SCALING_VECTOR ? outer : 0;
}

#endif
