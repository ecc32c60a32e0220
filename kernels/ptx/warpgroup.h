/* Warps and warp groups (4 consecutive warps) in their roles: uniform values, election, registers. */
#ifndef TSR_PTX_WARPGROUP_H
#define TSR_PTX_WARPGROUP_H

#include "ptx/warp.h"
#if TSR_EMU
#include "ptx/emulator_hopper.h"
#endif

/* shfl.sync.idx from lane 0: the same value, but the compiler learns that the whole warp shares it and keeps what
 * follows from it in uniform registers. */
TSR_DEVICE int tsr_warp_uniform(int value)
{
#if TSR_EMU
    return (int)tsr_shuffle(TSR_ALL_LANES, (unsigned)value, 0);
#else
    return __shfl_sync(0xffffffffu, value, 0);
#endif
}

#if TSR_EMU
TSR_EMU_TOGETHER const char *tsr_emu_converge_lanes(void *const lanes[32], unsigned mask)
{
    (void)lanes;
    return mask == 0xffffffffu ? 0 : "elect.sync needs all 32 lanes";
}
/* The lanes wait for each other, and see nothing by it. */
TSR_DEVICE void tsr_warp_converge(void)
{
    tsr_emu_warp(TSR_ALL_LANES, tsr_emu_converge_lanes, 0);
}
#endif

/* elect.sync: 1 in one lane of the warp, 0 in the others. All lanes must be here. */
TSR_DEVICE int tsr_elect(void)
{
#if TSR_EMU
    tsr_warp_converge();
    return tsr_lane_id() == tsr_emu_elected_lane();
#else
    unsigned elected;
    asm volatile("{\n.reg .pred p;\nelect.sync _|p, 0xffffffff;\nselp.u32 %0, 1, 0, p;\n}" : "=r"(elected));
    return (int)elected;
#endif
}

/* setmaxnreg: the warp group gives up registers, or waits until it gets more. `count` is a literal, a multiple of 8
 * from 24 to 256. sm_90a; the kernel needs a bound on its registers at launch. */
#if TSR_EMU
#define tsr_registers_lower(count) tsr_emu_set_registers(count, 0)
#define tsr_registers_raise(count) tsr_emu_set_registers(count, 1)
#else
#define tsr_registers_lower(count) asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(count))
#define tsr_registers_raise(count) asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(count))
#endif

#endif
