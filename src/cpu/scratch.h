/* Packing buffers that calls borrow from their device, so that a call does not ask the system for fresh pages.
 * Lock-free: safe in the child of a fork. */
#ifndef TSR_CPU_SCRATCH_H
#define TSR_CPU_SCRATCH_H

#include <stdatomic.h>
#include <stddef.h>

#include "core/memory.h"

enum { TSR_SCRATCH_SLOTS = 32 };

typedef struct tsr_scratch {
    const tsr_allocator *allocator;
    _Atomic(void *) slots[TSR_SCRATCH_SLOTS];
} tsr_scratch;

void tsr_scratch_init(tsr_scratch *scratch, const tsr_allocator *allocator);
void tsr_scratch_destroy(tsr_scratch *scratch);
/* At least `bytes`, page-aligned; NULL when out of memory. */
void *tsr_scratch_take(tsr_scratch *scratch, size_t bytes);
void tsr_scratch_give(tsr_scratch *scratch, void *buffer);

#endif
