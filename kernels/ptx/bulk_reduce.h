/* Reductions without a tensor map: so many bytes in a row of shared memory are combined with those at the target. The
 * rules are those of ptx/bulk.h; ptx/reduction.h lists the operations and types. PTX ISA, "cp.reduce.async.bulk".
 * sm_90. */
#ifndef TSR_PTX_BULK_REDUCE_H
#define TSR_PTX_BULK_REDUCE_H

#include "ptx/bulk.h"
#include "ptx/reduction.h"

/* cp.reduce.async.bulk, shared to global, in the thread's current bulk group. `reduction` is a constant. The order in
 * which several of them reach an element is not determined: sums of floats differ from run to run, which the kernel
 * contract forbids for D. */
TSR_DEVICE void tsr_bulk_reduce(void *to, unsigned from, unsigned bytes, tsr_reduction reduction)
{
#if TSR_EMU
    tsr_emu_bulk_reduce(to, from, bytes, reduction);
#else
    switch (reduction) {
#define TSR_BULK_REDUCE(name, operation, type, words, in_shared)                                               \
    case TSR_REDUCE_##name:                                                                                    \
        asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group." words " [%0], [%1], %2;" ::"l"(to), \
                     "r"(from), "r"(bytes)                                                                     \
                     : "memory");                                                                              \
        break;
        TSR_REDUCTIONS(TSR_BULK_REDUCE)
#undef TSR_BULK_REDUCE
    default:
        break;
    }
#endif
}

/* cp.reduce.async.bulk, from this CTA's shared memory to that of any CTA of the cluster: `to` and `bar` are addresses
 * in the same CTA, whose barrier the bytes count down at. Like tsr_bulk_send only in launches with clusters. Integers
 * of 32 bits, and additions of 64. */
TSR_DEVICE void tsr_bulk_reduce_send(unsigned to, unsigned from, unsigned bytes, unsigned bar, tsr_reduction reduction)
{
#if TSR_EMU
    tsr_emu_bulk_reduce_send(to, from, bytes, bar, reduction);
#else
    switch (reduction) {
#define TSR_BULK_SEND_0(name, words)
#define TSR_BULK_SEND_1(name, words)                                                                        \
    case TSR_REDUCE_##name:                                                                                 \
        asm volatile("cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes." words \
                     " [%0], [%1], %2, [%3];" ::"r"(to),                                                    \
                     "r"(from), "r"(bytes), "r"(bar)                                                        \
                     : "memory");                                                                           \
        break;
#define TSR_BULK_SEND(name, operation, type, words, in_shared) TSR_BULK_SEND_##in_shared(name, words)
        TSR_REDUCTIONS(TSR_BULK_SEND)
#undef TSR_BULK_SEND
#undef TSR_BULK_SEND_1
#undef TSR_BULK_SEND_0
    default:
        break;
    }
#endif
}

#endif
