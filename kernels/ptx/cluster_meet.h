/* A cluster's barrier that orders no memory: for CTAs that only need to know that the others have come this far. The
 * barrier of ptx/cluster.h releases what each thread wrote, which on sm_90 is a fence of the whole GPU and waits for
 * every store under way. PTX ISA, "barrier.cluster". sm_90. */
#ifndef TSR_PTX_CLUSTER_MEET_H
#define TSR_PTX_CLUSTER_MEET_H

#include "ptx/cluster.h"

/* barrier.cluster.arrive.relaxed; tsr_cluster_wait follows. The emulator takes it for a release. */
TSR_DEVICE void tsr_cluster_arrive_relaxed(void)
{
#if TSR_EMU
    tsr_emu_cluster_arrive();
#else
    asm volatile("barrier.cluster.arrive.relaxed;" ::: "memory");
#endif
}

#endif
