/* The reductions that the copy engine does: target = target OP source, element by element, each element atomically.
 * PTX ISA, "cp.reduce.async.bulk" and its table of operations and types.
 *
 *   add   integers wrap; floats round to nearest even and keep subnormals (an H200 does, of f32 too, where
 *         red.global.add.f32 would flush them)
 *   min, max   of two floats of which one is NaN, the other; -0 is below +0
 *   inc   target >= source ? 0 : target + 1
 *   dec   target == 0 or target > source ? source : target - 1
 *   and, or, xor   of bits */
#ifndef TSR_PTX_REDUCTION_H
#define TSR_PTX_REDUCTION_H

/* X(name, operation, type, the words of the instruction, may be done in shared memory) */
#define TSR_REDUCTIONS(X)                       \
    X(ADD_U32, ADD, U32, "add.u32", 1)          \
    X(ADD_S32, ADD, S32, "add.s32", 1)          \
    X(ADD_U64, ADD, U64, "add.u64", 1)          \
    X(ADD_F16, ADD, F16, "add.noftz.f16", 0)    \
    X(ADD_BF16, ADD, BF16, "add.noftz.bf16", 0) \
    X(ADD_F32, ADD, F32, "add.f32", 0)          \
    X(ADD_F64, ADD, F64, "add.f64", 0)          \
    X(MIN_U32, MIN, U32, "min.u32", 1)          \
    X(MIN_S32, MIN, S32, "min.s32", 1)          \
    X(MIN_U64, MIN, U64, "min.u64", 0)          \
    X(MIN_S64, MIN, S64, "min.s64", 0)          \
    X(MIN_F16, MIN, F16, "min.f16", 0)          \
    X(MIN_BF16, MIN, BF16, "min.bf16", 0)       \
    X(MAX_U32, MAX, U32, "max.u32", 1)          \
    X(MAX_S32, MAX, S32, "max.s32", 1)          \
    X(MAX_U64, MAX, U64, "max.u64", 0)          \
    X(MAX_S64, MAX, S64, "max.s64", 0)          \
    X(MAX_F16, MAX, F16, "max.f16", 0)          \
    X(MAX_BF16, MAX, BF16, "max.bf16", 0)       \
    X(INC_U32, INC, U32, "inc.u32", 1)          \
    X(DEC_U32, DEC, U32, "dec.u32", 1)          \
    X(AND_B32, AND, U32, "and.b32", 1)          \
    X(OR_B32, OR, U32, "or.b32", 1)             \
    X(XOR_B32, XOR, U32, "xor.b32", 1)          \
    X(AND_B64, AND, U64, "and.b64", 0)          \
    X(OR_B64, OR, U64, "or.b64", 0)             \
    X(XOR_B64, XOR, U64, "xor.b64", 0)

typedef enum tsr_reduction {
#define TSR_REDUCTION_NAME(name, operation, type, words, in_shared) TSR_REDUCE_##name,
    TSR_REDUCTIONS(TSR_REDUCTION_NAME)
#undef TSR_REDUCTION_NAME
        TSR_REDUCTION_COUNT
} tsr_reduction;

/* The operations by themselves, where a tensor map says the type. */
typedef enum tsr_reduction_operation {
    TSR_OPERATION_ADD,
    TSR_OPERATION_MIN,
    TSR_OPERATION_MAX,
    TSR_OPERATION_INC,
    TSR_OPERATION_DEC,
    TSR_OPERATION_AND,
    TSR_OPERATION_OR,
    TSR_OPERATION_XOR
} tsr_reduction_operation;

#endif
