/* The barrier of all threads of a CTA. Those of some warps are in warpgroup.h. */
#ifndef TSR_PTX_BARRIER_H
#define TSR_PTX_BARRIER_H

#include "ptx/language.h"

/* bar.sync 0: waits until every thread of the CTA is here; shared and global accesses made before it are seen by all
 * of them after it. Every thread must reach the same barrier. */
TSR_DEVICE void tsr_barrier(void)
{
#if TSR_EMU
    tsr_emu_barrier();
#else
    __syncthreads();
#endif
}

#endif
