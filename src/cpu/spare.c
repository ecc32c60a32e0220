#include "cpu/spare.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

enum { LITTLE_BYTES = 4096, SLOTS = 16, ALIGN_BYTES = 64 };

/* Buffers that nobody uses, for the process's whole life. Lock-free: the child of a fork lacks those that its parent's
 * other threads were in, and makes others. */
static _Atomic(void *) spares[SLOTS];

/* Where a thread looks first: it finds the buffer that it left, which is in its processor's cache. Stacks lie apart. */
static unsigned home(void)
{
    const uintptr_t stack = (uintptr_t)__builtin_frame_address(0) >> 16;
    return (unsigned)((stack ^ stack >> 7 ^ stack >> 11) % SLOTS);
}

/* NULL if there is no memory. */
static void *take(unsigned first)
{
    for (unsigned i = 0; i < SLOTS; i++) {
        _Atomic(void *) *const slot = &spares[(first + i) % SLOTS];
        void *const spare = atomic_load_explicit(slot, memory_order_relaxed) ? atomic_exchange(slot, NULL) : NULL;
        if (spare)
            return spare;
    }
    void *spare = NULL;
    return posix_memalign(&spare, ALIGN_BYTES, TSR_SPARE_BYTES) == 0 ? spare : NULL;
}

static void give(unsigned first, void *spare)
{
    for (unsigned i = 0; i < SLOTS; i++) {
        void *none = NULL;
        if (atomic_compare_exchange_strong(&spares[(first + i) % SLOTS], &none, spare))
            return;
    }
    free(spare);
}

static __attribute__((noinline)) void on_little_stack(tsr_spare_use *use, void *job)
{
    _Alignas(ALIGN_BYTES) char spare[LITTLE_BYTES];
    use(job, spare);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wframe-larger-than=" /* the last resort */
static __attribute__((noinline)) void on_stack(tsr_spare_use *use, void *job)
{
    _Alignas(ALIGN_BYTES) char spare[TSR_SPARE_BYTES];
    use(job, spare);
}

#pragma GCC diagnostic pop

void tsr_with_spare(size_t bytes, tsr_spare_use *use, void *job)
{
    if (bytes <= LITTLE_BYTES) {
        on_little_stack(use, job);
        return;
    }
    const unsigned first = home();
    void *const spare = take(first);
    if (!spare) {
        on_stack(use, job);
        return;
    }
    use(job, spare);
    give(first, spare);
}
