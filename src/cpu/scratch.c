#include "cpu/scratch.h"

#include <stdint.h>

/* A buffer is a page that holds its size, then what the caller sees. */
enum { PAGE_BYTES = 4096 };

static size_t *size_of(void *buffer)
{
    return (size_t *)((char *)buffer - PAGE_BYTES);
}

void tsr_scratch_init(tsr_scratch *scratch, const tsr_allocator *allocator)
{
    scratch->allocator = allocator;
    for (int i = 0; i < TSR_SCRATCH_SLOTS; i++)
        atomic_init(&scratch->slots[i], NULL);
}

static void release(tsr_scratch *scratch, void *buffer)
{
    tsr_free(scratch->allocator, size_of(buffer));
}

void tsr_scratch_destroy(tsr_scratch *scratch)
{
    for (int i = 0; i < TSR_SCRATCH_SLOTS; i++) {
        void *const buffer = atomic_exchange(&scratch->slots[i], NULL);
        if (buffer)
            release(scratch, buffer);
    }
}

void *tsr_scratch_take(tsr_scratch *scratch, size_t bytes)
{
    for (int i = 0; i < TSR_SCRATCH_SLOTS; i++) {
        void *const buffer = atomic_exchange(&scratch->slots[i], NULL);
        if (!buffer)
            continue;
        if (*size_of(buffer) >= bytes)
            return buffer;
        release(scratch, buffer); /* the calls have outgrown it */
    }
    if (bytes > SIZE_MAX - 2 * PAGE_BYTES)
        return NULL;
    char *const all = tsr_alloc(scratch->allocator, PAGE_BYTES, bytes + PAGE_BYTES);
    if (!all)
        return NULL;
    *(size_t *)all = bytes;
    return all + PAGE_BYTES;
}

void tsr_scratch_give(tsr_scratch *scratch, void *buffer)
{
    for (int i = 0; i < TSR_SCRATCH_SLOTS; i++) {
        void *none = NULL;
        if (atomic_compare_exchange_strong(&scratch->slots[i], &none, buffer))
            return;
    }
    release(scratch, buffer);
}
