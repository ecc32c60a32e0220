/* What a product computes, apart from its sizes and how its operands lie: a problem asks for one such operation, a
 * config accepts a set of them, and prices, the checker and the emulator read the problem's. */
#ifndef TSR_CORE_OP_H
#define TSR_CORE_OP_H

#include <stddef.h>

#include "core/epilogue.h"
#include "tessera.h"

/* The flags of compressed operands. */
#define TSR_SPARSE24 (TSR_SPARSE24_A | TSR_SPARSE24_B)

typedef struct tsr_op {
    tsr_dtype a, b, c, d;
    tsr_compute compute; /* never DEFAULT */
    tsr_scale_mode scale_a, scale_b;
    tsr_epilogue epilogue;
    unsigned sparse24; /* TSR_SPARSE24_A or _B: that operand is compressed; 0: none is */
} tsr_op;

/* 1 if kernels compute D^T whatever the schedule says: of their instructions' operands the compressed one is A. */
static inline int tsr_op_swaps_ab(const tsr_op *op)
{
    return (op->sparse24 & TSR_SPARSE24_B) != 0;
}

/* Sets are bits. */
#define TSR_TYPE_BIT(dtype)      (1u << (int)(dtype))
#define TSR_COMPUTE_BIT(compute) (1u << (int)(compute))
#define TSR_SCALE_BIT(mode)      (1u << (int)(mode))

#define TSR_FLOAT_TYPES (TSR_TYPE_BIT(TSR_F32) | TSR_TYPE_BIT(TSR_F16) | TSR_TYPE_BIT(TSR_BF16))
#define TSR_FP8_TYPES   (TSR_TYPE_BIT(TSR_E4M3) | TSR_TYPE_BIT(TSR_E5M2))
#define TSR_INT8_TYPES  (TSR_TYPE_BIT(TSR_S8) | TSR_TYPE_BIT(TSR_U8))

/* Scales: one an operand; also one a row or column; also one a block. */
#define TSR_ONE_SCALE     TSR_SCALE_BIT(TSR_SCALE_TENSOR)
#define TSR_VECTOR_SCALES (TSR_ONE_SCALE | TSR_SCALE_BIT(TSR_SCALE_VECTOR))
#define TSR_BLOCK_SCALES  (TSR_VECTOR_SCALES | TSR_SCALE_BIT(TSR_SCALE_1X128) | TSR_SCALE_BIT(TSR_SCALE_128X128))

#define TSR_ALL_EPILOGUES ((1u << TSR_EPILOGUE_COUNT) - 1)

/* Whether operands are compressed 2:4. */
enum { TSR_TAKES_WHOLE = 1, TSR_TAKES_SPARSE24 = 2 };

typedef struct tsr_op_set {
    unsigned a, b, cd; /* TSR_TYPE_BIT of each type of A, of B, and of C and D, which have one type */
    /* TSR_COMPUTE_BIT: the lowest is its arithmetic; it serves who asks for one of the others, too. */
    unsigned computes;
    unsigned scales;    /* TSR_SCALE_BIT of each mode of A or B */
    unsigned epilogues; /* bits of tsr_epilogue */
    unsigned operands;  /* TSR_TAKES_ */
} tsr_op_set;

/* A set of types of A and of B, and of C and D; the same of one arithmetic; the least of these. */
#define TSR_OPS_IN(AB_TYPES, CD_TYPES, COMPUTES, SCALES, OPERANDS)                                      \
    {                                                                                                   \
        .a = (AB_TYPES), .b = (AB_TYPES), .cd = (CD_TYPES), .scales = (SCALES), .computes = (COMPUTES), \
        .epilogues = TSR_ALL_EPILOGUES, .operands = (OPERANDS)                                          \
    }
#define TSR_OPS(AB_TYPES, CD_TYPES, COMPUTE, SCALES, OPERANDS) \
    TSR_OPS_IN(AB_TYPES, CD_TYPES, TSR_COMPUTE_BIT(COMPUTE), SCALES, OPERANDS)
#define TSR_OP(AB, CD, COMPUTE) TSR_OPS(TSR_TYPE_BIT(AB), TSR_TYPE_BIT(CD), COMPUTE, TSR_ONE_SCALE, TSR_TAKES_WHOLE)
/* f32 without tensor cores, which also serves who allows tf32: of few rows or columns it is the faster one. */
#define TSR_OP_F32                                           \
    TSR_OPS_IN(TSR_TYPE_BIT(TSR_F32), TSR_TYPE_BIT(TSR_F32), \
               TSR_COMPUTE_BIT(TSR_COMPUTE_F32) | TSR_COMPUTE_BIT(TSR_COMPUTE_TF32), TSR_ONE_SCALE, TSR_TAKES_WHOLE)

/* 1 if the operation is in the set; otherwise 0 and the reason (core/reason.h). */
int tsr_op_accepts(const tsr_op_set *set, const tsr_op *op, char *reason, size_t reason_bytes);

/* The operation of the set that stands for it where one must be named: its first types, D's the one that suits A's
 * (tsr_dtype_result) if it can be, one scale, no form. */
tsr_op tsr_op_of(const tsr_op_set *set);

/* The type of operand "abcd". */
tsr_dtype tsr_op_dtype(const tsr_op *op, char which);

/* Which rate of a device limits what is computed. */
typedef enum tsr_peak {
    TSR_PEAK_NONE, /* no operand of products */
    TSR_PEAK_F64,
    TSR_PEAK_F32,
    TSR_PEAK_TF32, /* from here on of tensor cores */
    TSR_PEAK_TENSOR16,
    TSR_PEAK_TENSOR8 /* twice TENSOR16 */
} tsr_peak;

/* On GPUs: the type's, or that of tf32. CPUs compute all but f64 in f32. */
tsr_peak tsr_op_peak(tsr_compute compute, tsr_dtype a, int is_gpu);

#endif
