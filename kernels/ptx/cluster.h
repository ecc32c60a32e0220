/* Thread-block clusters: CTAs that run at the same time on neighbouring SMs and reach each other's shared memory. The
 * cluster's size is a launch constant, TSR_CLUSTER. sm_90. */
#ifndef TSR_PTX_CLUSTER_H
#define TSR_PTX_CLUSTER_H

#include "ptx/language.h"
#if TSR_EMU
#include "ptx/emulator_hopper.h"
#endif

/* %cluster_ctarank: this CTA's place in its cluster, 0 to size - 1. */
TSR_DEVICE unsigned tsr_cluster_rank(void)
{
#if TSR_EMU
    return tsr_emu_cluster_rank();
#else
    unsigned rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
#endif
}

/* barrier.cluster.arrive.release: this thread has arrived; its writes so far will be seen after the others' wait. */
TSR_DEVICE void tsr_cluster_arrive(void)
{
#if TSR_EMU
    tsr_emu_cluster_arrive();
#else
    asm volatile("barrier.cluster.arrive.release;" ::: "memory");
#endif
}

/* barrier.cluster.wait.acquire: until all threads of the cluster that still run have arrived. */
TSR_DEVICE void tsr_cluster_wait(void)
{
#if TSR_EMU
    tsr_emu_cluster_wait();
#else
    asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
#endif
}

#endif
