/* Host memory: through the context's callbacks where it has them. */
#ifndef TSR_CORE_MEMORY_H
#define TSR_CORE_MEMORY_H

#include <stddef.h>

typedef struct tsr_allocator {
    void *(*alloc)(size_t align, size_t bytes, void *user); /* NULL: the C library's */
    void (*free)(void *pointer, void *user);
    void *user;
} tsr_allocator;

/* `align` is a power of two; NULL when out of memory, or where the callback's memory is not aligned. `allocator` may be
 * NULL for the C library's. */
void *tsr_alloc(const tsr_allocator *allocator, size_t align, size_t bytes);
void tsr_free(const tsr_allocator *allocator, void *pointer);

/* a * b and a + b; return 0 and leave *out alone when the result does not fit. Inputs must not be negative. */
int tsr_mul_size(long long a, long long b, long long *out);
int tsr_add_size(long long a, long long b, long long *out);

#endif
