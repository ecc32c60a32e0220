/* Operands by which tensor cores and their twins are compared: random and special values, the same on every machine.
 * For C and CUDA. */
#ifndef TESTS_TWINS_OPERANDS_H
#define TESTS_TWINS_OPERANDS_H

#include <stdint.h>
#include <string.h>

enum { TWIN_SHARED_BYTES = 8192, TWIN_CLUSTER = 2 };
enum { TWIN_CASES = 160, TWIN_M = 64, TWIN_N = 8, TWIN_ROW_WORDS = 8, TWIN_KINDS = 10 };

/* X(name, seed, bits of an element of A and B, exponent bits, fraction bits, accumulators are f16). K is 32 bytes of
 * elements. No exponent bits: integers; those of 32 bits are words for other instructions than products. The lower bits
 * of tf32 are random, too. Where A and B are of two types, both get bits of A's. */
#define TWINS(X)                              \
    X(mma_bf16, 1, 16, 8, 7, 0)               \
    X(mma_f16, 2, 16, 5, 10, 0)               \
    X(mma_tf32, 3, 32, 8, 23, 0)              \
    X(mma_f16_f16, 4, 16, 5, 10, 1)           \
    X(wgmma_bf16, 5, 16, 8, 7, 0)             \
    X(wgmma_f16, 6, 16, 5, 10, 0)             \
    X(wgmma_tf32, 7, 32, 8, 23, 0)            \
    X(wgmma_e4m3, 8, 8, 4, 3, 0)              \
    X(wgmma_e5m2, 9, 8, 5, 2, 0)              \
    X(wgmma_f16_f16, 10, 16, 5, 10, 1)        \
    X(wgmma_e4m3_f16, 11, 8, 4, 3, 1)         \
    X(wgmma_s8, 12, 8, 0, 0, 0)               \
    X(wgmma_u8, 13, 8, 0, 0, 0)               \
    X(wmma_bf16, 14, 16, 8, 7, 0)             \
    X(wmma_f16, 15, 16, 5, 10, 0)             \
    X(wmma_f16_f16, 16, 16, 5, 10, 1)         \
    X(votes, 20, 32, 0, 0, 0)                 \
    X(matches, 21, 32, 0, 0, 0)               \
    X(shuffles, 22, 32, 0, 0, 0)              \
    X(redux_1, 23, 32, 0, 0, 0)               \
    X(redux_2, 24, 32, 0, 0, 0)               \
    X(bulk_reduce, 27, 32, 0, 0, 0)           \
    X(wgmma_e4m3_e5m2, 30, 8, 4, 3, 0)        \
    X(wgmma_e5m2_e4m3, 31, 8, 5, 2, 0)        \
    X(wgmma_e5m2_f16, 32, 8, 5, 2, 1)         \
    X(wgmma_e4m3_e5m2_f16, 33, 8, 4, 3, 1)    \
    X(wgmma_e5m2_e4m3_f16, 34, 8, 5, 2, 1)    \
    X(active, 35, 32, 0, 0, 0)                \
    X(mma_f64_m8n8k4, 36, 32, 0, 0, 0)        \
    X(mma_f64_m16n8k4, 37, 32, 0, 0, 0)       \
    X(mma_f64_m16n8k8, 38, 32, 0, 0, 0)       \
    X(mma_f64_m16n8k16, 39, 32, 0, 0, 0)      \
    X(mma_sparse_bf16, 40, 16, 8, 7, 0)       \
    X(mma_sparse_f16, 41, 16, 5, 10, 0)       \
    X(mma_sparse_s8, 42, 8, 0, 0, 0)          \
    X(wgmma_sparse_bf16, 43, 16, 8, 7, 0)     \
    X(wgmma_sparse_f16, 44, 16, 5, 10, 0)     \
    X(wgmma_sparse_s8, 45, 8, 0, 0, 0)        \
    X(wgmma_sparse_e4m3, 46, 8, 4, 3, 0)      \
    X(wgmma_sparse_e5m2, 47, 8, 5, 2, 0)      \
    X(wgmma_sparse_e4m3_e5m2, 48, 8, 4, 3, 0) \
    X(wgmma_sparse_e5m2_e4m3, 49, 8, 5, 2, 0) \
    X(mma_sparse_u8, 50, 8, 0, 0, 0)          \
    X(mma_sparse_s8_u8, 51, 8, 0, 0, 0)       \
    X(mma_sparse_u8_s8, 52, 8, 0, 0, 0)       \
    X(wgmma_sparse_u8, 53, 8, 0, 0, 0)        \
    X(wgmma_sparse_s8_u8, 54, 8, 0, 0, 0)     \
    X(wgmma_sparse_u8_s8, 55, 8, 0, 0, 0)     \
    X(mma_sparse_tf32, 56, 32, 8, 23, 0)      \
    X(wgmma_sparse_tf32, 57, 32, 8, 23, 0)    \
    X(mma_s8, 58, 8, 0, 0, 0)                 \
    X(mma_u8, 59, 8, 0, 0, 0)                 \
    X(mma_s8_u8, 60, 8, 0, 0, 0)              \
    X(mma_u8_s8, 61, 8, 0, 0, 0)

/* The same, of kernels that run in clusters of TWIN_CLUSTER CTAs, a cluster for each problem. */
#define CLUSTER_TWINS(X)            \
    X(bulk_copies, 25, 32, 0, 0, 0) \
    X(bulk_send, 26, 32, 0, 0, 0)

/* The same, of kernels that take tensor maps. */
#define TMA_TWINS(X)                        \
    X(tma_reduce_integers, 28, 32, 0, 0, 0) \
    X(tma_reduce_floats, 29, 32, 0, 0, 0)

typedef struct twin_format {
    int seed, bits, exponent_bits, fraction_bits, to_f16;
} twin_format;

/* One case, as the kernel takes it: rows of A and B are 32 bytes along K; an accumulator of f16 is a word, too. */
typedef struct twin_case {
    uint32_t a[TWIN_M * TWIN_ROW_WORDS], b[TWIN_N * TWIN_ROW_WORDS], c[TWIN_M * TWIN_N];
} twin_case;

/* The elements of a case, each in a word: rows of K. */
typedef struct twin_elements {
    uint32_t a[TWIN_M * 32], b[TWIN_N * 32], c[TWIN_M * TWIN_N];
} twin_elements;

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

static inline int twin_exponent(uint64_t *state, int bits, int low, int high)
{
    const int most = (1 << bits) - 2, exponent = low + twin_below(state, high - low + 1) + (1 << (bits - 1)) - 1;
    return exponent < 0 ? 0 : exponent > most ? most : exponent;
}

/* A float of random sign and fraction whose exponent lies between two. */
static inline uint32_t twin_float(uint64_t *state, const twin_format *f, int low, int high)
{
    const uint32_t exponent = (uint32_t)twin_exponent(state, f->exponent_bits, low, high);
    const uint32_t fraction = twin_random(state) & ((1u << f->fraction_bits) - 1), sign = twin_random(state) & 1;
    return sign << (f->exponent_bits + f->fraction_bits) | exponent << f->fraction_bits | fraction;
}

static inline uint32_t twin_accumulator(uint64_t *state, const twin_format *f, int low, int high)
{
    const uint32_t exponent = (uint32_t)twin_exponent(state, f->to_f16 ? 5 : 8, low, high);
    const uint32_t sign = twin_random(state) & 1, fraction = twin_random(state);
    return f->to_f16 ? sign << 15 | exponent << 10 | (fraction & 0x3ff)
                     : sign << 31 | exponent << 23 | (fraction & 0x7fffff);
}

/* The exponents of A and B, and of the accumulators: 0 ordinary, 1 wide, 2 cancelling, 3 large accumulators, 4 small
 * ones, 5 with special values, 6 subnormal, 7 overflowing, 8 sparse, 9 with few bits. */
typedef struct twin_range {
    int low, high, c_low, c_high;
} twin_range;

static inline twin_range twin_range_of(const twin_format *f, int kind)
{
    const int most = f->exponent_bits == 8 ? 20 : f->exponent_bits == 5 ? 14 : 7;
    const twin_range ranges[TWIN_KINDS] = {{-2, 2, -2, 4},
                                           {-most / 2, most / 2, -most, most},
                                           {-3, 3, -6, 6},
                                           {-1, 1, 15, 30},
                                           {0, 3, -30, -8},
                                           {-2, 2, -2, 4},
                                           {-9, -3, -30, -5},
                                           {most - 2, most + 1, 20, 40},
                                           {-most / 3, most / 3, -20, 20},
                                           {-most / 2, most / 2, -10, 10}};
    const twin_range large16 = {-1, 1, 5, 14}, overflowing16 = {most - 2, most + 1, 10, 15};
    if (f->to_f16 && (kind == 3 || kind == 7))
        return kind == 3 ? large16 : overflowing16;
    const twin_range subnormal8 = {-70, -60, -140, -115}, subnormal5 = {-18, -10, -40, -15};
    const twin_range overflowing8 = {58, 64, 115, 127};
    if (kind == 6 && f->exponent_bits != 4)
        return f->exponent_bits == 8 ? subnormal8 : subnormal5;
    return kind == 7 && f->exponent_bits == 8 ? overflowing8 : ranges[kind];
}

static inline void twin_make_integers(uint64_t *state, int kind, int k, twin_elements *out)
{
    for (int i = 0; i < TWIN_M * k; i++)
        out->a[i] = twin_random(state) & 255;
    for (int i = 0; i < TWIN_N * k; i++)
        out->b[i] = twin_random(state) & 255;
    for (int i = 0; i < TWIN_M * TWIN_N; i++)
        out->c[i] = kind < 5 ? twin_random(state) : (uint32_t)(twin_below(state, 2000) - 1000);
    for (int i = 0; kind == 9 && i < TWIN_M * k; i++)
        out->a[i] = 128 | (twin_random(state) & 127);
    for (int i = 0; kind == 9 && i < TWIN_M * TWIN_N; i++)
        out->c[i] = 0x7fffffffu - (uint32_t)twin_below(state, 100);
}

/* A word as some type of number, of which neighbours lie close to each other: 0 any, 1 small, 2 the ends of integers, 3
 * f16, 4 bf16, 5 f32, 6 f64 (two words), 7 subnormal f32, 8 subnormal f16, 9 one of two values. */
static inline uint32_t twin_word(uint64_t *state, int kind, int index)
{
    static const uint32_t ends[8] = {0,           1,           0xffffffffu, 0x7fffffffu,
                                     0x80000000u, 0x80000001u, 0x80008000u, 0x7c007c00u};
    const uint32_t any = twin_random(state);
    const twin_format f16 = {0, 16, 5, 10, 0}, bf16 = {0, 16, 8, 7, 0}, f32 = {0, 32, 8, 23, 0};
    switch (kind) {
    case 1:
        return any & 3;
    case 2:
        return ends[any & 7];
    case 3:
        return twin_float(state, &f16, -2, 4) | twin_float(state, &f16, -2, 4) << 16;
    case 4:
        return twin_float(state, &bf16, -2, 4) | twin_float(state, &bf16, -2, 4) << 16;
    case 5:
        return twin_float(state, &f32, -3, 8);
    case 6:
        return index % 2 ? (any & 0x800fffffu) | (uint32_t)(1020 + twin_below(state, 8)) << 20 : any;
    case 7:
        return any & (index % 3 ? 0x807fffffu : 0x81ffffffu);
    case 8:
        return any & 0x87ff83ffu;
    case 9:
        return any & 1 ? 0x40490fdbu : 0xc0000000u;
    default:
        return any;
    }
}

/* A, C: words; B: parts of warps, among them whole warps and single lanes. */
static inline void twin_make_words(uint64_t *state, int number, twin_elements *out)
{
    const int kind = number % TWIN_KINDS;
    for (int i = 0; i < TWIN_M * TWIN_ROW_WORDS; i++)
        out->a[i] = twin_word(state, kind, i);
    for (int i = 0; i < TWIN_N * TWIN_ROW_WORDS; i++)
        out->b[i] = number % 3 == 0 ? 0xffffffffu : number % 3 == 1 ? twin_random(state) : 1u << twin_below(state, 32);
    for (int i = 0; i < TWIN_M * TWIN_N; i++)
        out->c[i] = twin_word(state, kind, i);
    /* Some warps agree. */
    for (int i = 0; i < TWIN_M * TWIN_ROW_WORDS; i++)
        if (number / TWIN_KINDS % 2 && i / 128 % 2)
            out->a[i] = out->a[i / 128 * 128 + i % 2];
}

/* Pairs of products that (nearly) cancel. */
static inline void twin_cancel(uint64_t *state, const twin_format *f, int k, twin_elements *out)
{
    for (int i = 0; i + 1 < k; i += 2) {
        if (twin_below(state, 8) == 0)
            continue;
        for (int m = 0; m < TWIN_M; m++)
            out->a[m * k + i + 1] = out->a[m * k + i] ^ 1u << (f->bits - 1);
        for (int n = 0; n < TWIN_N; n++)
            out->b[n * k + i + 1] = out->b[n * k + i] ^ ((twin_random(state) & 7) == 0 ? 1u : 0u);
    }
}

/* Any bits, infinities, NaNs, zeros. */
static inline void twin_make_special(uint64_t *state, const twin_format *f, int k, twin_elements *out)
{
    const uint32_t all = f->bits == 32 ? 0xffffffffu : (1u << f->bits) - 1, sign = 1u << (f->bits - 1);
    const uint32_t infinity = ((1u << f->exponent_bits) - 1) << f->fraction_bits,
                   fraction = (1u << f->fraction_bits) - 1;
    for (int i = 0; i < TWIN_M * k; i++)
        if (twin_below(state, k * 2) == 0)
            out->a[i] = twin_random(state) & all;
    for (int i = 0; i < TWIN_N * k; i++)
        if (twin_below(state, k * 3) == 0)
            out->b[i] = twin_random(state) & all;
    for (int i = 0; i < TWIN_M * k; i++)
        if (twin_below(state, k * 16) == 0) {
            out->a[i] = infinity | (twin_below(state, 2) ? sign : 0);
            if (twin_below(state, 3) == 0)
                out->a[i] |= twin_random(state) & fraction;
        }
    for (int i = 0; i < TWIN_N * k; i++)
        if (twin_below(state, k * 32) == 0)
            out->b[i] = infinity | (twin_below(state, 2) ? sign : 0);
    for (int i = 0; i < TWIN_N * k; i++)
        if (twin_below(state, k * 8) == 0)
            out->b[i] = 0;
    const uint32_t c_all = f->to_f16 ? 0xffff : 0xffffffff, c_sign = f->to_f16 ? 0x8000 : 0x80000000;
    const uint32_t c_infinity = f->to_f16 ? 0x7c00 : 0x7f800000;
    for (int i = 0; i < TWIN_M * TWIN_N; i++) {
        if (twin_below(state, 20) == 0)
            out->c[i] = twin_random(state) & c_all;
        if (twin_below(state, 60) == 0)
            out->c[i] = c_infinity | (twin_random(state) & c_sign);
        if (twin_below(state, 10) == 0)
            out->c[i] = twin_below(state, 2) ? 0 : c_sign;
    }
}

static inline void twin_make_floats(uint64_t *state, const twin_format *f, int number, int k, twin_elements *out)
{
    const int kind = number % TWIN_KINDS;
    const twin_range range = twin_range_of(f, kind);
    const uint32_t sign = 1u << (f->bits - 1), fraction = (1u << f->fraction_bits) - 1;
    for (int i = 0; i < TWIN_M * k; i++)
        out->a[i] = twin_float(state, f, range.low, range.high);
    for (int i = 0; i < TWIN_N * k; i++)
        out->b[i] = twin_float(state, f, range.low, range.high);
    for (int i = 0; i < TWIN_M * TWIN_N; i++)
        out->c[i] = twin_accumulator(state, f, range.c_low, range.c_high);
    if (kind == 2)
        twin_cancel(state, f, k, out);
    if (kind == 5)
        twin_make_special(state, f, k, out);
    for (int m = 0; kind == 8 && m < TWIN_M; m++) {
        const int kept = twin_below(state, k);
        for (int i = 0; i < k; i++)
            if (i != kept && twin_below(state, 6))
                out->a[m * k + i] = twin_below(state, 2) ? sign : 0;
    }
    for (int i = 0; kind == 9 && i < TWIN_M * k; i++)
        if (twin_below(state, 2))
            out->a[i] &= ~fraction;
    for (int i = 0; kind == 9 && i < TWIN_M * TWIN_N; i++)
        if (twin_below(state, 4) == 0)
            out->c[i] = 0;
    for (int i = 0; kind == 8 && number / TWIN_KINDS % 2 && i < TWIN_M * TWIN_N; i++)
        out->c[i] = 0;
}

/* Little-endian machines only, as GPUs are. */
static inline void twin_make(const twin_format *format, int number, twin_case *out)
{
    twin_elements elements;
    uint64_t state = 1234567ull * (uint64_t)format->seed + 987654321ull * (uint64_t)(number + 1);
    const int bytes = format->bits / 8, k = 32 / bytes;
    for (int i = 0; i < 8; i++)
        twin_random(&state);
    if (format->exponent_bits == 0 && format->bits == 32)
        twin_make_words(&state, number, &elements);
    else if (format->exponent_bits == 0)
        twin_make_integers(&state, number % TWIN_KINDS, k, &elements);
    else
        twin_make_floats(&state, format, number, k, &elements);
    for (int i = 0; i < TWIN_M * k; i++)
        memcpy((unsigned char *)out->a + i * bytes, &elements.a[i], (size_t)bytes);
    for (int i = 0; i < TWIN_N * k; i++)
        memcpy((unsigned char *)out->b + i * bytes, &elements.b[i], (size_t)bytes);
    memcpy(out->c, elements.c, sizeof out->c);
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
