/* Thread-block clusters: CTAs that run at the same time on neighbouring SMs and reach each other's shared memory. The
 * cluster's size is a launch constant, TSR_CLUSTER. sm_90. */
#ifndef TSR_PTX_CLUSTER_H
#define TSR_PTX_CLUSTER_H

#include "ptx/language.h"
#if TSR_EMU
#include "ptx/emulator_hopper.h"
#endif

/* The entry of a kernel that runs in clusters of `cluster` CTAs along x, `ctas` of them on an SM; kernels with tensor
 * maps say TSR_KERNEL_TMA. */
#if TSR_EMU
#define TSR_KERNEL_CLUSTER(threads, ctas, cluster) TSR_KERNEL(threads)
#else
#define TSR_KERNEL_CLUSTER(threads, ctas, cluster)                                              \
    extern "C" __global__ void __cluster_dims__(cluster, 1, 1) __launch_bounds__(threads, ctas) \
        TSR_KERNEL_NAME(const __grid_constant__ tsr_gemm_args args)
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

/* %cluster_nctarank: the CTAs of the cluster. */
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

/* ---- distributed shared memory ----
 *
 * Addresses are 32-bit shared addresses that carry a CTA's rank (tsr_cluster_map). Another CTA's memory may be used
 * after all CTAs are known to run, and only as long as they do: a cluster barrier before the first use and one after
 * the last. What one CTA wrote is seen by another after a cluster barrier, or an mbarrier, between them. */

/* mapa.shared::cluster.u32: the place of `address`, a shared address of any CTA, in the CTA of that rank. */
TSR_DEVICE unsigned tsr_cluster_map(unsigned address, unsigned rank)
{
#if TSR_EMU
    return tsr_emu_cluster_map(address, rank);
#else
    unsigned there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
    return there;
#endif
}

/* ld.shared::cluster.f32, .v2.f32 and .v4.f32: `address` is a multiple of 4, 8 or 16 bytes. */
TSR_DEVICE float tsr_cluster_load_f32(unsigned address)
{
    float value;
#if TSR_EMU
    tsr_emu_cluster_load(&value, address, 4);
#else
    asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(value) : "r"(address) : "memory");
#endif
    return value;
}
TSR_DEVICE void tsr_cluster_load_f32x2(unsigned address, float value[2])
{
#if TSR_EMU
    tsr_emu_cluster_load(value, address, 8);
#else
    asm volatile("ld.shared::cluster.v2.f32 {%0, %1}, [%2];"
                 : "=f"(value[0]), "=f"(value[1])
                 : "r"(address)
                 : "memory");
#endif
}
TSR_DEVICE void tsr_cluster_load_f32x4(unsigned address, float value[4])
{
#if TSR_EMU
    tsr_emu_cluster_load(value, address, 16);
#else
    asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(value[0]), "=f"(value[1]), "=f"(value[2]), "=f"(value[3])
                 : "r"(address)
                 : "memory");
#endif
}

/* st.shared::cluster.f32, .v2.f32 and .v4.f32. */
TSR_DEVICE void tsr_cluster_store_f32(unsigned address, float value)
{
#if TSR_EMU
    tsr_emu_cluster_store(address, &value, 4);
#else
    asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(address), "f"(value) : "memory");
#endif
}
TSR_DEVICE void tsr_cluster_store_f32x2(unsigned address, const float value[2])
{
#if TSR_EMU
    tsr_emu_cluster_store(address, value, 8);
#else
    asm volatile("st.shared::cluster.v2.f32 [%0], {%1, %2};" ::"r"(address), "f"(value[0]), "f"(value[1]) : "memory");
#endif
}
TSR_DEVICE void tsr_cluster_store_f32x4(unsigned address, const float value[4])
{
#if TSR_EMU
    tsr_emu_cluster_store(address, value, 16);
#else
    asm volatile("st.shared::cluster.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(address), "f"(value[0]), "f"(value[1]),
                 "f"(value[2]), "f"(value[3])
                 : "memory");
#endif
}

/* ld.shared::cluster.u32 and st.shared::cluster.u32. */
TSR_DEVICE unsigned tsr_cluster_load_u32(unsigned address)
{
    unsigned value;
#if TSR_EMU
    tsr_emu_cluster_load(&value, address, 4);
#else
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(address) : "memory");
#endif
    return value;
}
TSR_DEVICE void tsr_cluster_store_u32(unsigned address, unsigned value)
{
#if TSR_EMU
    tsr_emu_cluster_store(address, &value, 4);
#else
    asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(address), "r"(value) : "memory");
#endif
}

/* atom.relaxed.cluster.shared::cluster.add.u32: adds; the value before. Orders nothing. Any CTA, the own one included.
 */
TSR_DEVICE unsigned tsr_cluster_add_u32(unsigned address, unsigned value)
{
#if TSR_EMU
    return tsr_emu_cluster_add_u32(address, value);
#else
    unsigned old;
    asm volatile("atom.relaxed.cluster.shared::cluster.add.u32 %0, [%1], %2;"
                 : "=r"(old)
                 : "r"(address), "r"(value)
                 : "memory");
    return old;
#endif
}

/* red.relaxed.cluster.shared::cluster.add.f32: adds, in whatever order it comes: sums of more than two differ from run
 * to run, which the kernel contract forbids for D. */
TSR_DEVICE void tsr_cluster_add_f32(unsigned address, float value)
{
#if TSR_EMU
    tsr_emu_cluster_add_f32(address, value);
#else
    asm volatile("red.relaxed.cluster.shared::cluster.add.f32 [%0], %1;" ::"r"(address), "f"(value) : "memory");
#endif
}

#endif
