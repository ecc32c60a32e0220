/* Shuffles within parts of a warp, which say whether the lane that they read from was inside. `segments` is the
 * instruction's operand c: which bits of a lane's number name its part (bits 8 to 12), and the last lane that may be
 * read, relative to the part (bits 0 to 4). PTX ISA, "shfl.sync". sm_70 and later; ptx/warp.h has those of the whole
 * warp.
 *
 * A lane that would read from outside its part, or beyond the last lane, gets its own value and *is_inside = 0. */
#ifndef TSR_PTX_SHUFFLE_H
#define TSR_PTX_SHUFFLE_H

#include "ptx/warp.h"

/* `segments` for parts of `width` lanes (1, 2, 4, 8, 16 or 32): of tsr_shuffle_up_in, and of the others. */
#define TSR_SEGMENTS_UP(width) ((32u - (width)) << 8)
#define TSR_SEGMENTS(width)    (TSR_SEGMENTS_UP(width) | 31u)

/* shfl.sync.idx.b32: the value of lane `source` of the own part. */
TSR_DEVICE unsigned tsr_shuffle_in(unsigned mask, unsigned value, unsigned source, unsigned segments, int *is_inside)
{
#if TSR_EMU
    const unsigned lane = tsr_lane_id(), part = segments >> 8 & 31;
    const unsigned last = (lane & part) | (segments & 31 & ~part), from = (lane & part) | (source & 31 & ~part);
    *is_inside = from <= last;
    return tsr_emu_shuffle_from(mask, value, *is_inside ? from : lane);
#else
    unsigned result;
    int inside;
    asm volatile("{ .reg .pred p; shfl.sync.idx.b32 %0|p, %2, %3, %4, %5; selp.s32 %1, 1, 0, p; }"
                 : "=r"(result), "=r"(inside)
                 : "r"(value), "r"(source), "r"(segments), "r"(mask));
    *is_inside = inside;
    return result;
#endif
}

/* shfl.sync.up.b32: the value of the lane `delta` below. */
TSR_DEVICE unsigned tsr_shuffle_up_in(unsigned mask, unsigned value, unsigned delta, unsigned segments, int *is_inside)
{
#if TSR_EMU
    const unsigned lane = tsr_lane_id(), part = segments >> 8 & 31;
    const int first = (int)((lane & part) | (segments & 31 & ~part)), from = (int)lane - (int)(delta & 31);
    *is_inside = from >= first;
    return tsr_emu_shuffle_from(mask, value, *is_inside ? (unsigned)from : lane);
#else
    unsigned result;
    int inside;
    asm volatile("{ .reg .pred p; shfl.sync.up.b32 %0|p, %2, %3, %4, %5; selp.s32 %1, 1, 0, p; }"
                 : "=r"(result), "=r"(inside)
                 : "r"(value), "r"(delta), "r"(segments), "r"(mask));
    *is_inside = inside;
    return result;
#endif
}

/* shfl.sync.down.b32: the value of the lane `delta` above. */
TSR_DEVICE unsigned tsr_shuffle_down_in(unsigned mask, unsigned value, unsigned delta, unsigned segments,
                                        int *is_inside)
{
#if TSR_EMU
    const unsigned lane = tsr_lane_id(), part = segments >> 8 & 31;
    const unsigned last = (lane & part) | (segments & 31 & ~part), from = lane + (delta & 31);
    *is_inside = from <= last;
    return tsr_emu_shuffle_from(mask, value, *is_inside ? from : lane);
#else
    unsigned result;
    int inside;
    asm volatile("{ .reg .pred p; shfl.sync.down.b32 %0|p, %2, %3, %4, %5; selp.s32 %1, 1, 0, p; }"
                 : "=r"(result), "=r"(inside)
                 : "r"(value), "r"(delta), "r"(segments), "r"(mask));
    *is_inside = inside;
    return result;
#endif
}

/* shfl.sync.bfly.b32: the value of the lane whose number differs by the bits of `flip`; lower parts may be read. */
TSR_DEVICE unsigned tsr_shuffle_xor_in(unsigned mask, unsigned value, unsigned flip, unsigned segments, int *is_inside)
{
#if TSR_EMU
    const unsigned lane = tsr_lane_id(), part = segments >> 8 & 31;
    const unsigned last = (lane & part) | (segments & 31 & ~part), from = lane ^ (flip & 31);
    *is_inside = from <= last;
    return tsr_emu_shuffle_from(mask, value, *is_inside ? from : lane);
#else
    unsigned result;
    int inside;
    asm volatile("{ .reg .pred p; shfl.sync.bfly.b32 %0|p, %2, %3, %4, %5; selp.s32 %1, 1, 0, p; }"
                 : "=r"(result), "=r"(inside)
                 : "r"(value), "r"(flip), "r"(segments), "r"(mask));
    *is_inside = inside;
    return result;
#endif
}

#endif
