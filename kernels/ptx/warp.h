/* What the 32 threads of a warp do together: shuffles, votes, synchronisation. `mask` names the lanes that take part,
 * bit i for lane i; each of them must call the same function with the same mask. */
#ifndef TSR_PTX_WARP_H
#define TSR_PTX_WARP_H

#include "ptx/language.h"

#define TSR_ALL_LANES 0xffffffffu

/* %laneid: this thread's place in its warp. */
TSR_DEVICE unsigned tsr_lane_id(void)
{
#if TSR_EMU
    return (threadIdx.x + threadIdx.y * blockDim.x) % 32;
#else
    unsigned lane;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    return lane;
#endif
}

#if TSR_EMU
typedef struct tsr_emu_shuffle {
    unsigned value, source, result;
} tsr_emu_shuffle;

TSR_EMU_TOGETHER const char *tsr_emu_shuffle_lanes(void *const lanes[32], unsigned mask)
{
    for (unsigned i = 0; i < 32; i++) {
        tsr_emu_shuffle *own = (tsr_emu_shuffle *)lanes[i];
        if (!own)
            continue;
        if (!(mask >> own->source & 1))
            return "shfl.sync reads from a lane that takes no part";
        own->result = ((const tsr_emu_shuffle *)lanes[own->source])->value;
    }
    return 0;
}

TSR_DEVICE unsigned tsr_emu_shuffle_from(unsigned mask, unsigned value, unsigned source)
{
    tsr_emu_shuffle own = {value, source, 0};
    tsr_emu_warp(mask, tsr_emu_shuffle_lanes, &own);
    return own.result;
}
#endif

/* shfl.sync.idx.b32: the value of lane `source` modulo 32, which must take part. */
TSR_DEVICE unsigned tsr_shuffle(unsigned mask, unsigned value, unsigned source)
{
#if TSR_EMU
    return tsr_emu_shuffle_from(mask, value, source % 32);
#else
    unsigned result;
    asm volatile("shfl.sync.idx.b32 %0, %1, %2, 31, %3;" : "=r"(result) : "r"(value), "r"(source), "r"(mask));
    return result;
#endif
}

/* The thread's number once more (modulo 32 it is the lane), which the compiler takes for another: no register keeps
 * what only follows from it, an output's addresses say, during what comes before. All lanes of the warp. */
TSR_DEVICE int tsr_again(int thread)
{
    return (int)tsr_shuffle(TSR_ALL_LANES, (unsigned)thread, (unsigned)thread);
}

/* shfl.sync.bfly.b32: the value of the lane whose number differs from ours by the bits of `flip` (below 32). */
TSR_DEVICE unsigned tsr_shuffle_xor(unsigned mask, unsigned value, unsigned flip)
{
#if TSR_EMU
    return tsr_emu_shuffle_from(mask, value, (tsr_lane_id() ^ flip) % 32);
#else
    unsigned result;
    asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 31, %3;" : "=r"(result) : "r"(value), "r"(flip), "r"(mask));
    return result;
#endif
}

/* shfl.sync.down.b32: the value of the lane `delta` above; our own where there is none. */
TSR_DEVICE unsigned tsr_shuffle_down(unsigned mask, unsigned value, unsigned delta)
{
#if TSR_EMU
    const unsigned lane = tsr_lane_id();
    return tsr_emu_shuffle_from(mask, value, lane + delta < 32 ? lane + delta : lane);
#else
    unsigned result;
    asm volatile("shfl.sync.down.b32 %0, %1, %2, 31, %3;" : "=r"(result) : "r"(value), "r"(delta), "r"(mask));
    return result;
#endif
}

/* shfl.sync.up.b32: the value of the lane `delta` below; our own where there is none. */
TSR_DEVICE unsigned tsr_shuffle_up(unsigned mask, unsigned value, unsigned delta)
{
#if TSR_EMU
    const unsigned lane = tsr_lane_id();
    return tsr_emu_shuffle_from(mask, value, lane >= delta ? lane - delta : lane);
#else
    unsigned result;
    asm volatile("shfl.sync.up.b32 %0, %1, %2, 0, %3;" : "=r"(result) : "r"(value), "r"(delta), "r"(mask));
    return result;
#endif
}

#if TSR_EMU
typedef struct tsr_emu_vote {
    unsigned predicate, result;
} tsr_emu_vote;

TSR_EMU_TOGETHER const char *tsr_emu_vote_lanes(void *const lanes[32], unsigned mask)
{
    (void)mask;
    unsigned result = 0;
    for (unsigned i = 0; i < 32; i++)
        if (lanes[i] && ((const tsr_emu_vote *)lanes[i])->predicate)
            result |= 1u << i;
    for (unsigned i = 0; i < 32; i++)
        if (lanes[i])
            ((tsr_emu_vote *)lanes[i])->result = result;
    return 0;
}
#endif

/* vote.sync.ballot.b32: bit i is set where lane i takes part and its predicate is not 0. */
TSR_DEVICE unsigned tsr_ballot(unsigned mask, int predicate)
{
#if TSR_EMU
    tsr_emu_vote own = {predicate != 0, 0};
    tsr_emu_warp(mask, tsr_emu_vote_lanes, &own);
    return own.result;
#else
    unsigned result;
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %1, 0; vote.sync.ballot.b32 %0, p, %2; }"
                 : "=r"(result)
                 : "r"(predicate), "r"(mask));
    return result;
#endif
}

/* bar.warp.sync: waits for the lanes of the mask; they see each other's accesses made before it. */
TSR_DEVICE void tsr_warp_sync(unsigned mask)
{
#if TSR_EMU
    tsr_emu_warp_sync(mask);
#else
    asm volatile("bar.warp.sync %0;" ::"r"(mask) : "memory");
#endif
}

/* The bits of a float, for shuffles, and back. */
TSR_DEVICE unsigned tsr_bits_of_f32(float value)
{
#if TSR_EMU
    union {
        float value;
        unsigned bits;
    } both = {value};
    return both.bits;
#else
    return __float_as_uint(value);
#endif
}
TSR_DEVICE float tsr_f32_of_bits(unsigned bits)
{
#if TSR_EMU
    union {
        unsigned bits;
        float value;
    } both = {bits};
    return both.value;
#else
    return __uint_as_float(bits);
#endif
}

#endif
