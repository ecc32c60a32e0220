/* Barriers of a CTA: one for all threads, and 15 more by number for groups of warps. */
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

/* bar.sync id, threads: waits until `threads` threads (a multiple of 32, whole warps) came to barrier `id` (1 to 15),
 * by this function or by the next; those who wait see what all of them did before. All must give the same number. */
TSR_DEVICE void tsr_named_barrier(unsigned id, unsigned threads)
{
#if TSR_EMU
    tsr_emu_named_barrier(id, threads, 1);
#else
    asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
#endif
}

/* bar.arrive id, threads: counts as one who came, but goes on without waiting. */
TSR_DEVICE void tsr_named_barrier_arrive(unsigned id, unsigned threads)
{
#if TSR_EMU
    tsr_emu_named_barrier(id, threads, 0);
#else
    asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
#endif
}

#endif
