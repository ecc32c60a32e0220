/* Words of global memory through which CTAs talk to each other (gpu scope).
 *
 * A release makes visible what the thread did and saw before it; with a tsr_barrier before it, what all threads of the
 * CTA did. An acquire that reads the released value (or one that follows from it by further additions) sees that; with
 * a tsr_barrier after it, all threads of its CTA do. So the pattern for handing over a buffer is
 *
 *     all write;  tsr_barrier();  thread 0: tsr_store_release(flag, 1)
 *     thread 0: while (tsr_load_acquire(flag) != 1) tsr_pause();  tsr_barrier();  all read
 *
 * Whoever waits relies on the other CTA being resident: the grid must not be larger than the GPU holds at once, or the
 * CTA that is waited for must have the lower number. */
#ifndef TSR_PTX_ATOMIC_H
#define TSR_PTX_ATOMIC_H

#include "ptx/language.h"

/* ld.acquire.gpu.global.u32 */
TSR_DEVICE unsigned tsr_load_acquire(const unsigned *word)
{
#if TSR_EMU
    return tsr_emu_atomic((unsigned *)word, TSR_EMU_LOAD, 0, 0, TSR_EMU_ACQUIRE);
#else
    unsigned value;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
    return value;
#endif
}

/* st.release.gpu.global.u32 */
TSR_DEVICE void tsr_store_release(unsigned *word, unsigned value)
{
#if TSR_EMU
    tsr_emu_atomic(word, TSR_EMU_STORE, value, 0, TSR_EMU_RELEASE);
#else
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
#endif
}

/* red.release.gpu.global.add.u32: adds, without a result. */
TSR_DEVICE void tsr_add_release(unsigned *word, unsigned value)
{
#if TSR_EMU
    tsr_emu_atomic(word, TSR_EMU_ADD, value, 0, TSR_EMU_RELEASE);
#else
    asm volatile("red.release.gpu.global.add.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
#endif
}

/* atom.acq_rel.gpu.global.add.u32: adds; the value before. */
TSR_DEVICE unsigned tsr_add_acquire_release(unsigned *word, unsigned value)
{
#if TSR_EMU
    return tsr_emu_atomic(word, TSR_EMU_ADD, value, 0, TSR_EMU_ACQUIRE | TSR_EMU_RELEASE);
#else
    unsigned old;
    asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], %2;" : "=r"(old) : "l"(word), "r"(value) : "memory");
    return old;
#endif
}

/* atom.relaxed.gpu.global.add.u32: adds; the value before. Orders nothing: for counters that distribute work. */
TSR_DEVICE unsigned tsr_add_relaxed(unsigned *word, unsigned value)
{
#if TSR_EMU
    return tsr_emu_atomic(word, TSR_EMU_ADD, value, 0, 0);
#else
    unsigned old;
    asm volatile("atom.relaxed.gpu.global.add.u32 %0, [%1], %2;" : "=r"(old) : "l"(word), "r"(value) : "memory");
    return old;
#endif
}

/* atom.acq_rel.gpu.global.cas.b32: stores `value` if `expected` was there; the value before. */
TSR_DEVICE unsigned tsr_compare_exchange(unsigned *word, unsigned expected, unsigned value)
{
#if TSR_EMU
    return tsr_emu_atomic(word, TSR_EMU_COMPARE_EXCHANGE, value, expected, TSR_EMU_ACQUIRE | TSR_EMU_RELEASE);
#else
    unsigned old;
    asm volatile("atom.acq_rel.gpu.global.cas.b32 %0, [%1], %2, %3;"
                 : "=r"(old)
                 : "l"(word), "r"(expected), "r"(value)
                 : "memory");
    return old;
#endif
}

/* nanosleep.u32: between two looks at a word. The emulator's loads let others run by themselves. */
TSR_DEVICE void tsr_pause(void)
{
#if !TSR_EMU
    asm volatile("nanosleep.u32 32;");
#endif
}

#endif
