#include "core/memory.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>

void *tsr_alloc(const tsr_allocator *allocator, size_t align, size_t bytes)
{
    if (align < sizeof(void *))
        align = sizeof(void *);
    if (bytes == 0)
        bytes = 1;
    if (bytes > PTRDIFF_MAX) /* a size that did not fit 64 bits, say */
        return NULL;
    void *pointer = NULL;
    if (allocator && allocator->alloc) {
        pointer = allocator->alloc(align, bytes, allocator->user);
        if (((uintptr_t)pointer & (align - 1)) == 0)
            return pointer;
        allocator->free(pointer, allocator->user); /* it does not keep its promise: of no use */
        return NULL;
    }
    return posix_memalign(&pointer, align, bytes) == 0 ? pointer : NULL;
}

void tsr_free(const tsr_allocator *allocator, void *pointer)
{
    if (!pointer)
        return;
    if (allocator && allocator->alloc)
        allocator->free(pointer, allocator->user);
    else
        free(pointer);
}

int tsr_mul_size(long long a, long long b, long long *out)
{
    if (b != 0 && a > LLONG_MAX / b)
        return 0;
    *out = a * b;
    return 1;
}

int tsr_add_size(long long a, long long b, long long *out)
{
    if (a > LLONG_MAX - b)
        return 0;
    *out = a + b;
    return 1;
}
