/* mbarriers: 8 bytes of shared memory that count arrivals and bytes still to come. A phase completes when both counts
 * reach zero; the barrier then starts its next phase by itself. Who waits names the parity (0, 1, 0, ...) of the phase
 * whose end it needs, so it must never be two phases behind or ahead. Addresses are 32-bit shared addresses. sm_90. */
#ifndef TSR_PTX_MBARRIER_H
#define TSR_PTX_MBARRIER_H

#include "ptx/language.h"
#if TSR_EMU
#include "ptx/emulator_hopper.h"
#endif

/* mbarrier.init: each phase waits for `count` arrivals. One thread does it, before tsr_mbarrier_fence_init. */
TSR_DEVICE void tsr_mbarrier_init(unsigned bar, unsigned count)
{
#if TSR_EMU
    tsr_emu_mbarrier_init(bar, count);
#else
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(count) : "memory");
#endif
}

/* fence.mbarrier_init: makes initialised barriers known to the copy engine and to the other CTAs of the cluster; a
 * barrier of the CTA or cluster must follow. */
TSR_DEVICE void tsr_mbarrier_fence_init(void)
{
#if TSR_EMU
    tsr_emu_fence_mbarrier_init();
#else
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}

/* mbarrier.arrive.expect_tx: one arrival, and `bytes` more that the copy engine must deliver in this phase. */
TSR_DEVICE void tsr_mbarrier_arrive_expect(unsigned bar, unsigned bytes)
{
#if TSR_EMU
    tsr_emu_mbarrier_arrive_expect(bar, bytes);
#else
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes) : "memory");
#endif
}

/* mbarrier.arrive.relaxed at the same barrier of CTA `rank` of the cluster, which may be the caller's own. It orders
 * nothing that the thread wrote (a release at cluster scope would cost a fence of the whole GPU): it says that
 * asynchronous reads which this thread has waited for are over. */
TSR_DEVICE void tsr_mbarrier_arrive(unsigned bar, unsigned rank)
{
#if TSR_EMU
    tsr_emu_mbarrier_arrive(bar, rank);
#else
    asm volatile("{\n"
                 ".reg .b32 remote;\n"
                 "mapa.shared::cluster.u32 remote, %0, %1;\n"
                 "mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [remote];\n"
                 "}" ::"r"(bar),
                 "r"(rank)
                 : "memory");
#endif
}

/* mbarrier.arrive at a barrier of the caller's CTA. */
TSR_DEVICE void tsr_mbarrier_arrive_here(unsigned bar)
{
#if TSR_EMU
    tsr_emu_mbarrier_arrive(bar, tsr_emu_cluster_rank());
#else
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(bar) : "memory");
#endif
}

/* cp.async.mbarrier.arrive.noinc: one arrival at a barrier of the caller's CTA when all cp.async that the thread
 * started (ptx/async_copy.h) have landed; who waits for the phase then sees what they copied. */
TSR_DEVICE void tsr_mbarrier_arrive_copies(unsigned bar)
{
#if TSR_EMU
    tsr_emu_mbarrier_arrive_copies(bar);
#else
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(bar) : "memory");
#endif
}

/* mbarrier.try_wait.parity, repeated until the phase of this parity has completed; acquires what its arrivals in the
 * CTA released and what the copy engine delivered. The hardware parks the thread for a while at each try. */
TSR_DEVICE void tsr_mbarrier_wait(unsigned bar, unsigned parity)
{
#if TSR_EMU
    tsr_emu_mbarrier_wait(bar, parity);
#else
    unsigned done;
    do {
        asm volatile("{\n"
                     ".reg .pred done;\n"
                     "mbarrier.try_wait.parity.shared::cta.b64 done, [%1], %2;\n"
                     "selp.u32 %0, 1, 0, done;\n"
                     "}"
                     : "=r"(done)
                     : "r"(bar), "r"(parity)
                     : "memory");
    } while (!done);
#endif
}

/* fence.proxy.async: shared memory that this thread wrote by ordinary stores is seen by the copy engine and the tensor
 * cores after the next barrier. */
TSR_DEVICE void tsr_fence_async_shared(void)
{
#if TSR_EMU
    tsr_emu_fence_async_shared();
#else
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

#endif
