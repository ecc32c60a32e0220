/* Bulk copies without a tensor map: so many bytes in a row, moved by the copy engine. Addresses and byte counts are
 * multiples of 16. What holds for ptx/tma.h holds here: a load counts its bytes down at an mbarrier, a store reads
 * shared memory until its bulk group is waited for, and ordinary stores before it need a proxy fence. PTX ISA,
 * "cp.async.bulk". sm_90. */
#ifndef TSR_PTX_BULK_H
#define TSR_PTX_BULK_H

#include "ptx/tma.h"

/* cp.async.bulk, global to shared: `bytes` from `from` go to `to` and count down at mbarrier `bar`. */
TSR_DEVICE void tsr_bulk_load(unsigned to, const void *from, unsigned bytes, unsigned bar)
{
#if TSR_EMU
    tsr_emu_bulk_load(to, from, bytes, bar, 0);
#else
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
                 "l"(from), "r"(bytes), "r"(bar)
                 : "memory");
#endif
}

/* The same with .multicast::cluster: each CTA whose bit is set in `mask` gets the bytes at the same place of its shared
 * memory, and they count down at its barrier of the same place. sm_90a. */
TSR_DEVICE void tsr_bulk_load_multicast(unsigned to, const void *from, unsigned bytes, unsigned bar, unsigned mask)
{
#if TSR_EMU
    tsr_emu_bulk_load(to, from, bytes, bar, mask);
#else
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, "
                 "[%3], %4;" ::"r"(to),
                 "l"(from), "r"(bytes), "r"(bar), "h"((unsigned short)mask)
                 : "memory");
#endif
}

/* cp.async.bulk, from this CTA's shared memory to that of any CTA of the cluster: `to` and `bar` are addresses in the
 * same CTA (tsr_cluster_map), whose barrier the bytes count down at. `from` must stay as it is until then. An H200 lets
 * a CTA send to itself if the launch has clusters, and calls it an illegal instruction if it has none. */
TSR_DEVICE void tsr_bulk_send(unsigned to, unsigned from, unsigned bytes, unsigned bar)
{
#if TSR_EMU
    tsr_emu_bulk_send(to, from, bytes, bar);
#else
    asm volatile(
        "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
        "r"(from), "r"(bytes), "r"(bar)
        : "memory");
#endif
}

/* cp.async.bulk, shared to global, in the thread's current bulk group. */
TSR_DEVICE void tsr_bulk_store(void *to, unsigned from, unsigned bytes)
{
#if TSR_EMU
    tsr_emu_bulk_store(to, from, bytes);
#else
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(from), "r"(bytes)
                 : "memory");
#endif
}

/* cp.async.bulk.wait_group: until all but the newest `pending` groups (a literal) are complete: their shared memory has
 * been read, and the thread sees what they wrote. (tsr_tma_wait_read waits for the reading only.) */
#if TSR_EMU
#define tsr_bulk_wait(pending) tsr_emu_tma_wait(pending, 0)
#else
#define tsr_bulk_wait(pending) asm volatile("cp.async.bulk.wait_group %0;" ::"n"(pending) : "memory")
#endif

#endif
