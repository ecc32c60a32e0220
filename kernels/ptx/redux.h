/* One value made of all lanes' by one instruction. `mask` names the lanes that take part; each of them must call the
 * same function with the same mask, and each gets the result. PTX ISA, "redux.sync". sm_80 and later. */
#ifndef TSR_PTX_REDUX_H
#define TSR_PTX_REDUX_H

#include "ptx/warp.h"

#if TSR_EMU
typedef enum tsr_emu_redux_kind {
    TSR_EMU_REDUX_ADD,
    TSR_EMU_REDUX_MIN_U32,
    TSR_EMU_REDUX_MAX_U32,
    TSR_EMU_REDUX_MIN_S32,
    TSR_EMU_REDUX_MAX_S32,
    TSR_EMU_REDUX_AND,
    TSR_EMU_REDUX_OR,
    TSR_EMU_REDUX_XOR
} tsr_emu_redux_kind;

typedef struct tsr_emu_redux {
    tsr_emu_redux_kind kind;
    unsigned value, result;
} tsr_emu_redux;

TSR_EMU_TOGETHER unsigned tsr_emu_redux_two(tsr_emu_redux_kind kind, unsigned a, unsigned b)
{
    const unsigned sign = 0x80000000u; /* signed numbers are ordered as unsigned ones are without it */
    switch (kind) {
    case TSR_EMU_REDUX_ADD:
        return a + b;
    case TSR_EMU_REDUX_MIN_U32:
        return a < b ? a : b;
    case TSR_EMU_REDUX_MAX_U32:
        return a > b ? a : b;
    case TSR_EMU_REDUX_MIN_S32:
        return (a ^ sign) < (b ^ sign) ? a : b;
    case TSR_EMU_REDUX_MAX_S32:
        return (a ^ sign) > (b ^ sign) ? a : b;
    case TSR_EMU_REDUX_AND:
        return a & b;
    case TSR_EMU_REDUX_OR:
        return a | b;
    case TSR_EMU_REDUX_XOR:
        return a ^ b;
    }
    return 0;
}

TSR_EMU_TOGETHER const char *tsr_emu_redux_lanes(void *const lanes[32], unsigned mask)
{
    const tsr_emu_redux *first = 0;
    unsigned result = 0;
    (void)mask;
    for (unsigned i = 0; i < 32; i++) {
        const tsr_emu_redux *own = (const tsr_emu_redux *)lanes[i];
        if (!own)
            continue;
        if (first && own->kind != first->kind)
            return "redux.sync: lanes came with different operations";
        result = first ? tsr_emu_redux_two(own->kind, result, own->value) : own->value;
        first = own;
    }
    for (unsigned i = 0; i < 32; i++)
        if (lanes[i])
            ((tsr_emu_redux *)lanes[i])->result = result;
    return 0;
}

TSR_DEVICE unsigned tsr_emu_redux_of(tsr_emu_redux_kind kind, unsigned mask, unsigned value)
{
    tsr_emu_redux own = {kind, value, 0};
    tsr_emu_warp(mask, tsr_emu_redux_lanes, &own);
    return own.result;
}
#endif

/* redux.sync.add.u32: the sum modulo 2^32; of signed values, too. */
TSR_DEVICE unsigned tsr_redux_add(unsigned mask, unsigned value)
{
#if TSR_EMU
    return tsr_emu_redux_of(TSR_EMU_REDUX_ADD, mask, value);
#else
    unsigned result;
    asm volatile("redux.sync.add.u32 %0, %1, %2;" : "=r"(result) : "r"(value), "r"(mask));
    return result;
#endif
}

/* redux.sync.min.u32 */
TSR_DEVICE unsigned tsr_redux_min_u32(unsigned mask, unsigned value)
{
#if TSR_EMU
    return tsr_emu_redux_of(TSR_EMU_REDUX_MIN_U32, mask, value);
#else
    unsigned result;
    asm volatile("redux.sync.min.u32 %0, %1, %2;" : "=r"(result) : "r"(value), "r"(mask));
    return result;
#endif
}

/* redux.sync.max.u32 */
TSR_DEVICE unsigned tsr_redux_max_u32(unsigned mask, unsigned value)
{
#if TSR_EMU
    return tsr_emu_redux_of(TSR_EMU_REDUX_MAX_U32, mask, value);
#else
    unsigned result;
    asm volatile("redux.sync.max.u32 %0, %1, %2;" : "=r"(result) : "r"(value), "r"(mask));
    return result;
#endif
}

/* redux.sync.min.s32 */
TSR_DEVICE int tsr_redux_min_s32(unsigned mask, int value)
{
#if TSR_EMU
    return (int)tsr_emu_redux_of(TSR_EMU_REDUX_MIN_S32, mask, (unsigned)value);
#else
    int result;
    asm volatile("redux.sync.min.s32 %0, %1, %2;" : "=r"(result) : "r"(value), "r"(mask));
    return result;
#endif
}

/* redux.sync.max.s32 */
TSR_DEVICE int tsr_redux_max_s32(unsigned mask, int value)
{
#if TSR_EMU
    return (int)tsr_emu_redux_of(TSR_EMU_REDUX_MAX_S32, mask, (unsigned)value);
#else
    int result;
    asm volatile("redux.sync.max.s32 %0, %1, %2;" : "=r"(result) : "r"(value), "r"(mask));
    return result;
#endif
}

/* redux.sync.and.b32 */
TSR_DEVICE unsigned tsr_redux_and(unsigned mask, unsigned value)
{
#if TSR_EMU
    return tsr_emu_redux_of(TSR_EMU_REDUX_AND, mask, value);
#else
    unsigned result;
    asm volatile("redux.sync.and.b32 %0, %1, %2;" : "=r"(result) : "r"(value), "r"(mask));
    return result;
#endif
}

/* redux.sync.or.b32 */
TSR_DEVICE unsigned tsr_redux_or(unsigned mask, unsigned value)
{
#if TSR_EMU
    return tsr_emu_redux_of(TSR_EMU_REDUX_OR, mask, value);
#else
    unsigned result;
    asm volatile("redux.sync.or.b32 %0, %1, %2;" : "=r"(result) : "r"(value), "r"(mask));
    return result;
#endif
}

/* redux.sync.xor.b32 */
TSR_DEVICE unsigned tsr_redux_xor(unsigned mask, unsigned value)
{
#if TSR_EMU
    return tsr_emu_redux_of(TSR_EMU_REDUX_XOR, mask, value);
#else
    unsigned result;
    asm volatile("redux.sync.xor.b32 %0, %1, %2;" : "=r"(result) : "r"(value), "r"(mask));
    return result;
#endif
}

#endif
