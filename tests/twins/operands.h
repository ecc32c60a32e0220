/* Operands by which tensor cores and their twins are compared: random and special values, the same on every machine.
 * For C and CUDA. */
#ifndef TESTS_TWINS_OPERANDS_H
#define TESTS_TWINS_OPERANDS_H

#include <stdint.h>
#include <string.h>

enum { TWIN_CASES = 160, TWIN_M = 64, TWIN_N = 8, TWIN_ROW_BYTES = 32, TWIN_MOST_K = 32 };

/* One instruction. */
typedef struct twin {
    const char *name;
    int k, bits; /* of an element of A and B */
    int exponent_bits, fraction_bits;
    int is_integer;
} twin;

/* X(name, number, k, bits, exponent bits, fraction bits, integer): the number is part of the seed. */
#define TWINS(X)                      \
    X(mma_bf16, 0, 16, 16, 8, 7, 0)   \
    X(mma_f16, 1, 16, 16, 5, 10, 0)   \
    X(mma_tf32, 2, 8, 32, 8, 23, 0)   \
    X(wgmma_bf16, 4, 16, 16, 8, 7, 0) \
    X(wgmma_f16, 5, 16, 16, 5, 10, 0) \
    X(wgmma_tf32, 6, 8, 32, 8, 23, 0) \
    X(wgmma_e4m3, 7, 32, 8, 4, 3, 0)  \
    X(wgmma_e5m2, 8, 32, 8, 5, 2, 0)  \
    X(wgmma_s8, 11, 32, 8, 0, 0, 1)   \
    X(wgmma_u8, 12, 32, 8, 0, 0, 1)

typedef struct twin_case {
    uint32_t a[TWIN_M * TWIN_MOST_K], b[TWIN_N * TWIN_MOST_K], c[TWIN_M * TWIN_N]; /* bits; K is contiguous */
} twin_case;

/* Knuth's multiplier for 64-bit linear congruences. */
static inline uint32_t twin_random(uint64_t *state)
{
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(*state >> 32);
}

static inline int twin_below(uint64_t *state, int limit)
{
    return (int)(((uint64_t)twin_random(state) * (uint32_t)limit) >> 32);
}

/* A float of random sign and fraction, its exponent between two. */
static inline uint32_t twin_float(uint64_t *state, int exponent_bits, int fraction_bits, int low, int high)
{
    const int most = (1 << exponent_bits) - 2;
    int exponent = low + twin_below(state, high - low + 1) + (1 << (exponent_bits - 1)) - 1;
    exponent = exponent < 0 ? 0 : exponent > most ? most : exponent;
    if (fraction_bits == 23 && exponent_bits == 0)
        return 0;
    const uint32_t fraction = twin_random(state) & ((1u << fraction_bits) - 1), sign = twin_random(state) & 1;
    return sign << (exponent_bits + fraction_bits) | (uint32_t)exponent << fraction_bits | fraction;
}

/* Of an accumulator: here the sign is drawn first. */
static inline uint32_t twin_accumulator(uint64_t *state, int low, int high)
{
    int exponent = low + twin_below(state, high - low + 1) + 127;
    exponent = exponent < 0 ? 0 : exponent > 254 ? 254 : exponent;
    const uint32_t sign = twin_random(state) & 1;
    return sign << 31 | (uint32_t)exponent << 23 | (twin_random(state) & 0x7fffff);
}

#endif
