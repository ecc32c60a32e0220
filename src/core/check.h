/* What operands must satisfy, each rule once. src/api/validate.c says which one is broken; the small path of the CPU
 * only needs to know that none is (tsr_are_operands_valid). */
#ifndef TSR_CORE_CHECK_H
#define TSR_CORE_CHECK_H

#include <stdint.h>

/* Leading dimension: at least the elements of a row as stored. */
static inline int tsr_is_row_length(long long ld, long long columns)
{
    return ld >= columns;
}

/* align_bytes: a power of two. Addresses that are or-ed together are tested at once. */
static inline int tsr_is_aligned(uintptr_t addresses, long long align_bytes)
{
    return (addresses & ((uintptr_t)align_bytes - 1)) == 0;
}

/* Bytes from the first to the last element of a matrix that has some. Who calls made sure that it fits. */
static inline long long tsr_span_bytes(long long rows, long long columns, long long ld, long long element_bytes)
{
    return ((rows - 1) * ld + columns) * element_bytes;
}

/* 1 if two spans share no byte. */
static inline int tsr_are_apart(const void *p, long long p_bytes, const void *q, long long q_bytes)
{
    const uintptr_t a = (uintptr_t)p, b = (uintptr_t)q;
    return b - a >= (uintptr_t)p_bytes && a - b >= (uintptr_t)q_bytes;
}

/* D may share memory with C only as C itself, row by row in the same place. */
static inline int tsr_is_in_place(const void *c, long long ldc, const void *d, long long ldd)
{
    return c == d && ldc == ldd;
}

enum {
    TSR_SMALL_EXTENT = 4096,         /* M, N and K of what the small path takes, */
    TSR_SMALL_EXTRA_ELEMS = 1 << 30, /* and elements of a row beyond its length: no span overflows */
};

/* Nothing of a call is valid yet: the difference of any two numbers, large if it is negative. */
static inline unsigned long long tsr_difference(long long a, long long b)
{
    return (unsigned long long)a - (unsigned long long)b;
}

/* 1 if M, N and K are 1 to TSR_SMALL_EXTENT. */
static inline int tsr_are_small_extents(long long m, long long n, long long k)
{
    return (tsr_difference(m, 1) | tsr_difference(n, 1) | tsr_difference(k, 1)) < TSR_SMALL_EXTENT;
}

/* 1 if every rule above holds for a product with small extents, alpha not 0, and no row is too long for the small path;
 * pointers are to host memory. */
static inline __attribute__((always_inline)) int
tsr_are_operands_valid(long long element_bytes, int trans_a, int trans_b, long long m, long long n, long long k,
                       const void *a, long long lda, const void *b, long long ldb, double beta, const void *c,
                       long long ldc, const void *d, long long ldd)
{
    const long long a_rows = trans_a ? k : m, a_columns = trans_a ? m : k;
    const long long b_rows = trans_b ? n : k, b_columns = trans_b ? k : n;
    const unsigned long long extra = tsr_difference(lda, a_columns) | tsr_difference(ldb, b_columns) |
                                     tsr_difference(ldc, n) | tsr_difference(ldd, n); /* tsr_is_row_length, of all */
    const uintptr_t addresses = (uintptr_t)a | (uintptr_t)b | (uintptr_t)c | (uintptr_t)d;
    if (extra >= TSR_SMALL_EXTRA_ELEMS || !tsr_is_aligned(addresses, element_bytes) || !a || !b || !d)
        return 0;
    const long long d_bytes = tsr_span_bytes(m, n, ldd, element_bytes);
    if (beta != 0 && !tsr_is_in_place(c, ldc, d, ldd) &&
        (!c || !tsr_are_apart(c, tsr_span_bytes(m, n, ldc, element_bytes), d, d_bytes)))
        return 0;
    return tsr_are_apart(a, tsr_span_bytes(a_rows, a_columns, lda, element_bytes), d, d_bytes) &&
           tsr_are_apart(b, tsr_span_bytes(b_rows, b_columns, ldb, element_bytes), d, d_bytes);
}

#endif
