/* What the lanes of a warp find out about each other: votes, equal values, who is here. `mask` names the lanes that
 * take part, bit i for lane i; each of them must call the same function with the same mask. PTX ISA, "vote.sync",
 * "match.sync", "activemask". sm_70 and later. The ballot is in ptx/warp.h. */
#ifndef TSR_PTX_VOTE_H
#define TSR_PTX_VOTE_H

#include "ptx/warp.h"

#if TSR_EMU
/* Lanes that take part, and those of them whose predicate is not 0. */
typedef struct tsr_emu_poll {
    unsigned is_set, mask, result;
} tsr_emu_poll;

TSR_EMU_TOGETHER const char *tsr_emu_poll_lanes(void *const lanes[32], unsigned mask)
{
    unsigned result = 0;
    for (unsigned i = 0; i < 32; i++)
        if (lanes[i] && ((const tsr_emu_poll *)lanes[i])->is_set)
            result |= 1u << i;
    for (unsigned i = 0; i < 32; i++)
        if (lanes[i]) {
            ((tsr_emu_poll *)lanes[i])->mask = mask;
            ((tsr_emu_poll *)lanes[i])->result = result;
        }
    return 0;
}

TSR_DEVICE tsr_emu_poll tsr_emu_poll_of(unsigned mask, int predicate)
{
    tsr_emu_poll own = {predicate != 0, 0, 0};
    tsr_emu_warp(mask, tsr_emu_poll_lanes, &own);
    return own;
}
#endif

/* vote.sync.all.pred: 1 if the predicate is not 0 in every lane. */
TSR_DEVICE int tsr_vote_all(unsigned mask, int predicate)
{
#if TSR_EMU
    const tsr_emu_poll poll = tsr_emu_poll_of(mask, predicate);
    return poll.result == poll.mask;
#else
    int result;
    asm volatile("{ .reg .pred p, q; setp.ne.s32 p, %1, 0; vote.sync.all.pred q, p, %2; selp.s32 %0, 1, 0, q; }"
                 : "=r"(result)
                 : "r"(predicate), "r"(mask));
    return result;
#endif
}

/* vote.sync.any.pred: 1 if the predicate is not 0 in some lane. */
TSR_DEVICE int tsr_vote_any(unsigned mask, int predicate)
{
#if TSR_EMU
    return tsr_emu_poll_of(mask, predicate).result != 0;
#else
    int result;
    asm volatile("{ .reg .pred p, q; setp.ne.s32 p, %1, 0; vote.sync.any.pred q, p, %2; selp.s32 %0, 1, 0, q; }"
                 : "=r"(result)
                 : "r"(predicate), "r"(mask));
    return result;
#endif
}

/* vote.sync.uni.pred: 1 if the predicate is not 0 in every lane, or 0 in every lane. */
TSR_DEVICE int tsr_vote_uniform(unsigned mask, int predicate)
{
#if TSR_EMU
    const tsr_emu_poll poll = tsr_emu_poll_of(mask, predicate);
    return poll.result == poll.mask || poll.result == 0;
#else
    int result;
    asm volatile("{ .reg .pred p, q; setp.ne.s32 p, %1, 0; vote.sync.uni.pred q, p, %2; selp.s32 %0, 1, 0, q; }"
                 : "=r"(result)
                 : "r"(predicate), "r"(mask));
    return result;
#endif
}

#if TSR_EMU
/* The lanes with the same value. */
typedef struct tsr_emu_match {
    unsigned long long value;
    unsigned mask, result;
} tsr_emu_match;

TSR_EMU_TOGETHER const char *tsr_emu_match_lanes(void *const lanes[32], unsigned mask)
{
    for (unsigned i = 0; i < 32; i++) {
        tsr_emu_match *own = (tsr_emu_match *)lanes[i];
        if (!own)
            continue;
        own->mask = mask;
        for (unsigned j = 0; j < 32; j++)
            if (lanes[j] && ((const tsr_emu_match *)lanes[j])->value == own->value)
                own->result |= 1u << j;
    }
    return 0;
}

TSR_DEVICE tsr_emu_match tsr_emu_match_of(unsigned mask, unsigned long long value)
{
    tsr_emu_match own = {value, 0, 0};
    tsr_emu_warp(mask, tsr_emu_match_lanes, &own);
    return own;
}
#endif

/* match.any.sync.b32: the lanes whose value is equal to this lane's. */
TSR_DEVICE unsigned tsr_match_any(unsigned mask, unsigned value)
{
#if TSR_EMU
    return tsr_emu_match_of(mask, value).result;
#else
    unsigned result;
    asm volatile("match.any.sync.b32 %0, %1, %2;" : "=r"(result) : "r"(value), "r"(mask));
    return result;
#endif
}

/* match.any.sync.b64 */
TSR_DEVICE unsigned tsr_match_any_u64(unsigned mask, unsigned long long value)
{
#if TSR_EMU
    return tsr_emu_match_of(mask, value).result;
#else
    unsigned result;
    asm volatile("match.any.sync.b64 %0, %1, %2;" : "=r"(result) : "l"(value), "r"(mask));
    return result;
#endif
}

/* match.all.sync.b32: the lanes that take part and *all_equal = 1 if all have the same value; else 0 and 0. */
TSR_DEVICE unsigned tsr_match_all(unsigned mask, unsigned value, int *all_equal)
{
#if TSR_EMU
    const tsr_emu_match match = tsr_emu_match_of(mask, value);
    *all_equal = match.result == match.mask;
    return *all_equal ? match.mask : 0;
#else
    unsigned result;
    int is_equal;
    asm volatile("{ .reg .pred p; match.all.sync.b32 %0|p, %2, %3; selp.s32 %1, 1, 0, p; }"
                 : "=r"(result), "=r"(is_equal)
                 : "r"(value), "r"(mask));
    *all_equal = is_equal;
    return result;
#endif
}

/* match.all.sync.b64 */
TSR_DEVICE unsigned tsr_match_all_u64(unsigned mask, unsigned long long value, int *all_equal)
{
#if TSR_EMU
    const tsr_emu_match match = tsr_emu_match_of(mask, value);
    *all_equal = match.result == match.mask;
    return *all_equal ? match.mask : 0;
#else
    unsigned result;
    int is_equal;
    asm volatile("{ .reg .pred p; match.all.sync.b64 %0|p, %2, %3; selp.s32 %1, 1, 0, p; }"
                 : "=r"(result), "=r"(is_equal)
                 : "l"(value), "r"(mask));
    *all_equal = is_equal;
    return result;
#endif
}

/* activemask.b32: the lanes that execute this very instruction together with the caller's. Lanes that took the same way
 * may or may not be among them: hardware promises nothing, and the twin takes whoever happens to be here. */
TSR_DEVICE unsigned tsr_active_mask(void)
{
#if TSR_EMU
    return tsr_emu_active_mask();
#else
    unsigned result;
    asm volatile("activemask.b32 %0;" : "=r"(result));
    return result;
#endif
}

#endif
