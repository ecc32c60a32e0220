/* Between ordinary accesses of global memory and those of the copy engine. PTX ISA, "fence.proxy". sm_90. */
#ifndef TSR_PTX_PROXY_H
#define TSR_PTX_PROXY_H

#include "ptx/language.h"
#if TSR_EMU
#include "ptx/emulator_hopper.h"
#endif

/* fence.proxy.async: what this thread wrote by ordinary stores (or saw, by an acquire) comes before what the copy engine
 * reads for those who learn of it hereafter. */
TSR_DEVICE void tsr_fence_async(void)
{
#if TSR_EMU
    tsr_emu_fence_async_shared();
#else
    asm volatile("fence.proxy.async;" ::: "memory");
#endif
}

#endif
