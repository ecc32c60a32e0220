/* Thread-block clusters: CTAs that run at the same time on neighbouring SMs and reach each other's shared memory. sm_90.
 */
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

/* %cluster_nctarank: CTAs of the cluster, 1 where there is none. */
TSR_DEVICE unsigned tsr_cluster_size(void)
{
#if TSR_EMU
    return tsr_emu_cluster_size();
#else
    unsigned size;
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
    return size;
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

/* ld.shared::cluster.v4.f32 at the same shared address of CTA `rank`, a multiple of 16 bytes. That CTA must have
 * written it before a barrier of the cluster, and must not end before the next one. */
TSR_DEVICE void tsr_cluster_load_f32x4(unsigned address, unsigned rank, float value[4])
{
#if TSR_EMU
    tsr_emu_cluster_read(address, rank, 16, value);
#else
    unsigned remote;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(address), "r"(rank));
    asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(value[0]), "=f"(value[1]), "=f"(value[2]), "=f"(value[3])
                 : "r"(remote)
                 : "memory");
#endif
}

#endif
