#include "emu/reduce.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "core/dtype.h"

typedef struct entry {
    tsr_reduction_operation operation;
    emu_number type;
    int in_shared;
} entry;

static const entry entries[] = {
#define ENTRY(name, operation, type, words, in_shared) {TSR_OPERATION_##operation, EMU_NUMBER_##type, in_shared},
    TSR_REDUCTIONS(ENTRY)
#undef ENTRY
};

size_t tsr_emu_number_bytes(emu_number type)
{
    static const unsigned char bytes[] = {4, 4, 8, 8, 2, 2, 4, 8};
    return bytes[type];
}

int tsr_emu_find_reduction(int reduction, tsr_reduction_operation *operation, emu_number *type, int *in_shared)
{
    if (reduction < 0 || reduction >= TSR_REDUCTION_COUNT)
        return 0;
    *operation = entries[reduction].operation;
    *type = entries[reduction].type;
    *in_shared = entries[reduction].in_shared;
    return 1;
}

int tsr_emu_may_reduce(tsr_reduction_operation operation, emu_number type)
{
    /* Bits have no sign. */
    const int is_bitwise = operation >= TSR_OPERATION_AND;
    if (is_bitwise && (type == EMU_NUMBER_S32 || type == EMU_NUMBER_S64))
        type = type == EMU_NUMBER_S32 ? EMU_NUMBER_U32 : EMU_NUMBER_U64;
    for (int i = 0; i < TSR_REDUCTION_COUNT; i++)
        if (entries[i].operation == operation && entries[i].type == type)
            return 1;
    return 0;
}

/* Integers of 32 and 64 bits alike, in the lower bits; `sign` is the type's highest bit where it has a sign: without it
 * signed numbers are ordered as unsigned ones are. */
static uint64_t combine_integers(uint64_t to, uint64_t from, tsr_reduction_operation operation, uint64_t sign)
{
    switch (operation) {
    case TSR_OPERATION_ADD:
        return to + from;
    case TSR_OPERATION_MIN:
        return (to ^ sign) < (from ^ sign) ? to : from;
    case TSR_OPERATION_MAX:
        return (to ^ sign) > (from ^ sign) ? to : from;
    case TSR_OPERATION_INC:
        return to >= from ? 0 : to + 1;
    case TSR_OPERATION_DEC:
        return to == 0 || to > from ? from : to - 1;
    case TSR_OPERATION_AND:
        return to & from;
    case TSR_OPERATION_OR:
        return to | from;
    case TSR_OPERATION_XOR:
        return to ^ from;
    }
    return 0;
}

/* -0 is below +0, and a NaN gives way to a number. */
static float smaller(float a, float b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) ? b : a;
    return a < b || (a == b && signbit(a)) ? a : b;
}

static float combine_floats(float to, float from, tsr_reduction_operation operation)
{
    if (operation == TSR_OPERATION_ADD)
        return to + from;
    return operation == TSR_OPERATION_MIN ? smaller(to, from) : -smaller(-to, -from);
}

static float add_f32(float to, float from)
{
    const float sum = to + from;
    const uint32_t canonical_nan = 0x7fffffff;
    float nan;
    memcpy(&nan, &canonical_nan, sizeof nan);
    return isnan(sum) ? nan : sum;
}

/* A float has more than twice the bits of f16 and bf16, so a sum that is rounded to it first is rounded as if once
 * (Figueroa, "When is double rounding innocuous?", 1995). */
static uint16_t combine_halves(uint16_t to, uint16_t from, tsr_reduction_operation operation, emu_number type)
{
    const uint16_t canonical_nan = 0x7fff;
    const int is_f16 = type == EMU_NUMBER_F16;
    const float a = is_f16 ? tsr_f16_to_f32(to) : tsr_bf16_to_f32(to);
    const float b = is_f16 ? tsr_f16_to_f32(from) : tsr_bf16_to_f32(from);
    const float result = combine_floats(a, b, operation);
    if (isnan(result))
        return canonical_nan;
    return is_f16 ? tsr_f32_to_f16(result) : tsr_f32_to_bf16(result);
}

static void reduce_one(unsigned char *to, const unsigned char *from, tsr_reduction_operation operation, emu_number type)
{
    uint64_t a = 0, b = 0;
    float x, y;
    double u, v;
    switch (type) {
    case EMU_NUMBER_U32:
    case EMU_NUMBER_S32:
    case EMU_NUMBER_U64:
    case EMU_NUMBER_S64: {
        const size_t bytes = tsr_emu_number_bytes(type);
        const int is_signed = type == EMU_NUMBER_S32 || type == EMU_NUMBER_S64;
        memcpy(&a, to, bytes);
        memcpy(&b, from, bytes);
        a = combine_integers(a, b, operation, is_signed ? 1ull << (8 * bytes - 1) : 0);
        memcpy(to, &a, bytes);
        return;
    }
    case EMU_NUMBER_F16:
    case EMU_NUMBER_BF16: {
        uint16_t halves[2];
        memcpy(&halves[0], to, 2);
        memcpy(&halves[1], from, 2);
        halves[0] = combine_halves(halves[0], halves[1], operation, type);
        memcpy(to, &halves[0], 2);
        return;
    }
    case EMU_NUMBER_F32:
        memcpy(&x, to, 4);
        memcpy(&y, from, 4);
        x = add_f32(x, y);
        memcpy(to, &x, 4);
        return;
    case EMU_NUMBER_F64:
        memcpy(&u, to, 8);
        memcpy(&v, from, 8);
        u += v;
        memcpy(to, &u, 8);
        return;
    }
}

void tsr_emu_reduce(void *to, const void *from, size_t bytes, tsr_reduction_operation operation, emu_number type)
{
    for (size_t i = 0; i < bytes; i += tsr_emu_number_bytes(type))
        reduce_one((unsigned char *)to + i, (const unsigned char *)from + i, operation, type);
}
