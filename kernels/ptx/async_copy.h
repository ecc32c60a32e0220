/* cp.async (sm_80 and later): copies from global to shared memory without registers, while the thread goes on.
 *
 * A thread starts copies, closes them into groups with commit, and waits until all but the latest groups have landed.
 * Only the thread itself then sees what it copied; for other threads a barrier must follow the wait. Until then the
 * target must be neither read nor written by anybody. */
#ifndef TSR_PTX_ASYNC_COPY_H
#define TSR_PTX_ASYNC_COPY_H

#include "ptx/language.h"

/* cp.async.ca.shared.global 4: copies from_bytes (0 to 4) bytes and fills the rest of 4 with 0; from_bytes = 0 reads
 * nothing. Source and target are multiples of 4 bytes. Cached in L1. */
TSR_DEVICE void tsr_copy_async_4(void *to_shared, const void *from_global, unsigned from_bytes)
{
#if TSR_EMU
    tsr_emu_copy_start(to_shared, from_global, 4, from_bytes);
#else
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(tsr_shared_address(to_shared)), "l"(from_global),
                 "r"(from_bytes)
                 : "memory");
#endif
}

/* cp.async.ca.shared.global 8: the same for 8 bytes. */
TSR_DEVICE void tsr_copy_async_8(void *to_shared, const void *from_global, unsigned from_bytes)
{
#if TSR_EMU
    tsr_emu_copy_start(to_shared, from_global, 8, from_bytes);
#else
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(tsr_shared_address(to_shared)), "l"(from_global),
                 "r"(from_bytes)
                 : "memory");
#endif
}

/* cp.async.cg.shared.global 16: the same for 16 bytes, past L1. */
TSR_DEVICE void tsr_copy_async_16(void *to_shared, const void *from_global, unsigned from_bytes)
{
#if TSR_EMU
    tsr_emu_copy_start(to_shared, from_global, 16, from_bytes);
#else
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(tsr_shared_address(to_shared)), "l"(from_global),
                 "r"(from_bytes)
                 : "memory");
#endif
}

/* cp.async.commit_group: the copies started since the last commit are a group, which may be empty. */
TSR_DEVICE void tsr_copy_commit(void)
{
#if TSR_EMU
    tsr_emu_copy_commit();
#else
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/* cp.async.wait_group N: all groups of this thread but the latest N have landed. N is a constant. */
#if TSR_EMU
#define tsr_copy_wait(pending_groups) tsr_emu_copy_wait(pending_groups)
#else
#define tsr_copy_wait(pending_groups) asm volatile("cp.async.wait_group %0;" ::"n"(pending_groups) : "memory")
#endif

#endif
