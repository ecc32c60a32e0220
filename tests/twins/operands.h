/* Operands by which tensor cores and their twins are compared: random and special values, the same on every machine.
 * For C and CUDA. */
#ifndef TESTS_TWINS_OPERANDS_H
#define TESTS_TWINS_OPERANDS_H

#include <stdint.h>
#include <string.h>

enum { TWIN_CASES = 120, TWIN_M = 64, TWIN_N = 8, TWIN_ROW_WORDS = 8, TWIN_KINDS = 12 };

/* X(name, bits of an element of A and B, exponent bits, fraction bits). K is 32 bytes of elements. No exponent bits: an
 * integer; the lower bits of tf32 are random, too. */
#define TWINS(X)                \
    X(mma_bf16, 16, 8, 7)       \
    X(mma_f16, 16, 5, 10)       \
    X(mma_tf32, 32, 8, 23)      \
    X(wgmma_bf16, 16, 8, 7)     \
    X(wgmma_f16, 16, 5, 10)     \
    X(wgmma_tf32, 32, 8, 23)    \
    X(wgmma_e4m3, 8, 4, 3)      \
    X(wgmma_e5m2, 8, 5, 2)      \
    X(wgmma_s8, 8, 0, 0)        \
    X(wgmma_u8, 8, 0, 0)        \
    X(register_bf16, 16, 8, 7)  \
    X(register_tf32, 32, 8, 23) \
    X(register_e4m3, 8, 4, 3)   \
    X(register_s8, 8, 0, 0)

typedef struct twin_format {
    int bits, exponent_bits, fraction_bits;
} twin_format;

/* One case, as the kernel takes it: rows of A and B are 32 bytes along K. */
typedef struct twin_case {
    uint32_t a[TWIN_M * TWIN_ROW_WORDS], b[TWIN_N * TWIN_ROW_WORDS], c[TWIN_M * TWIN_N];
} twin_case;

/* A linear congruence with Knuth's multiplier. */
static inline uint32_t twin_random(uint64_t *state)
{
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(*state >> 32);
}

static inline int twin_below(uint64_t *state, int limit)
{
    return (int)(((uint64_t)twin_random(state) * (uint32_t)limit) >> 32);
}

/* A float of random sign and fraction whose exponent lies between two. */
static inline uint32_t twin_float(uint64_t *state, const twin_format *f, int low, int high)
{
    const int most = (1 << f->exponent_bits) - 2;
    int exponent = low + twin_below(state, high - low + 1) + (1 << (f->exponent_bits - 1)) - 1;
    exponent = exponent < 0 ? 0 : exponent > most ? most : exponent;
    const uint32_t fraction = twin_random(state) & ((1u << f->fraction_bits) - 1), sign = twin_random(state) & 1;
    return sign << (f->exponent_bits + f->fraction_bits) | (uint32_t)exponent << f->fraction_bits | fraction;
}

/* What the exponents of a case range over; how many in 64 elements are zero, infinite or NaN. */
typedef struct twin_kind {
    int low, high, c_low, c_high; /* for 8 exponent bits; others get as much as they have */
    int zeros, infinities, nans;
    int cancels; /* element k + 1 of a row of A is minus element k */
} twin_kind;

static inline uint32_t twin_element(uint64_t *state, const twin_format *f, const twin_kind *kind)
{
    const uint32_t sign = (uint32_t)twin_below(state, 2) << (f->bits - 1);
    const uint32_t infinity = ((1u << f->exponent_bits) - 1) << f->fraction_bits;
    const int dice = twin_below(state, 64 * 16);
    if (f->exponent_bits == 0)
        return twin_random(state) & 255;
    if (dice < 16 * kind->zeros)
        return sign;
    if (dice >= 64 * 16 - kind->infinities)
        return sign | infinity | (f->exponent_bits == 4 ? 7u : 0u);
    if (dice >= 64 * 16 - kind->infinities - kind->nans)
        return sign | infinity | (1u << f->fraction_bits) - 1;
    return twin_float(state, f, kind->low, kind->high);
}

static inline void twin_make(const twin_format *format, int number, twin_case *out)
{
    /* Ordinary; wide; wide with zeros; cancelling; a large accumulator; a small one; specials; subnormal; overflowing;
     * sparse; zeros beside tiny; few bits. */
    static const twin_kind kinds8[TWIN_KINDS] = {
        {-2, 2, -2, 4, 0, 0, 0, 0},    {-12, 12, -24, 24, 0, 0, 0, 0},     {-20, 20, -40, 40, 16, 0, 0, 0},
        {-3, 3, -6, 6, 4, 0, 0, 1},    {-1, 1, 15, 30, 0, 0, 0, 0},        {0, 3, -30, -8, 0, 0, 0, 0},
        {-2, 2, -2, 4, 4, 3, 2, 0},    {-70, -60, -140, -115, 2, 0, 0, 0}, {58, 64, 115, 127, 0, 0, 0, 0},
        {-7, 7, -20, 20, 56, 0, 0, 0}, {-60, 30, -126, -60, 32, 0, 0, 0},  {-10, 10, -10, 10, 30, 0, 0, 1}};
    static const twin_kind kinds5[TWIN_KINDS] = {
        {-2, 2, -2, 4, 0, 0, 0, 0},    {-7, 7, -14, 14, 0, 0, 0, 0},     {-13, 13, -26, 26, 16, 0, 0, 0},
        {-3, 3, -6, 6, 4, 0, 0, 1},    {-1, 1, 15, 30, 0, 0, 0, 0},      {0, 3, -30, -8, 0, 0, 0, 0},
        {-2, 2, -2, 4, 4, 3, 2, 0},    {-18, -10, -40, -15, 2, 0, 0, 0}, {12, 15, 20, 40, 0, 0, 0, 0},
        {-4, 4, -20, 20, 56, 0, 0, 0}, {-13, 13, -32, -20, 32, 0, 0, 0}, {-7, 7, -10, 10, 30, 0, 0, 1}};
    const twin_kind *kind = (format->exponent_bits == 8 ? kinds8 : kinds5) + number % TWIN_KINDS;
    const twin_format accumulator = {32, 8, 23};
    uint64_t state = 1234567ull * (uint64_t)(number + 1) + (uint64_t)(format->bits * 64 + format->exponent_bits);
    unsigned char *const a = (unsigned char *)out->a, *const b = (unsigned char *)out->b;
    const int bytes = format->bits / 8;
    uint32_t last = 0;
    for (int i = 0; i < TWIN_M * 32 / bytes; i++) {
        uint32_t value = twin_element(&state, format, kind);
        if (kind->cancels && i % 2 && format->exponent_bits)
            value = last ^ 1u << (format->bits - 1);
        memcpy(a + i * bytes, &value, (size_t)bytes); /* little-endian machines, as GPUs are */
        last = value;
    }
    for (int i = 0; i < TWIN_N * 32 / bytes; i++) {
        uint32_t value = twin_element(&state, format, kind);
        if (kind->cancels && i % 2 && twin_below(&state, 4))
            value = last;
        memcpy(b + i * bytes, &value, (size_t)bytes);
        last = value;
    }
    twin_kind of_c = *kind;
    of_c.low = kind->c_low;
    of_c.high = kind->c_high;
    for (int i = 0; i < TWIN_M * TWIN_N; i++)
        out->c[i] = format->exponent_bits == 0 ? twin_random(&state) : twin_element(&state, &accumulator, &of_c);
}

/* FNV-1a over the results, NaNs and all. */
static inline uint64_t twin_hash(const uint32_t *words, int count)
{
    uint64_t hash = 14695981039346656037ull;
    for (int i = 0; i < count; i++)
        hash = (hash ^ words[i]) * 1099511628211ull;
    return hash;
}

#endif
