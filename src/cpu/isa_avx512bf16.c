/* AVX512-BF16: products of bf16 elements two steps of K at a time, summed in f32.
 *
 * vdpbf16ps adds the product of the upper halves of a 32-bit lane to the sum, rounds, adds that of the lower halves,
 * rounds again. With the earlier step of K in the upper half that is exactly what two multiply-adds on widened elements
 * give, except that it takes subnormals, operands and sums, for zeros. `least` finds out whether there can be any: if
 * not, the bits are those of the widening path. */
#include "cpu/isa.h"

#include <immintrin.h>

#define FETCH_TO_WRITE(p) __asm__("prefetchw %0" : : "m"(*(p)))
#define MR                12
#define M_FIRST(n)        ((M)((1u << (unsigned)(n)) - 1u))

/* A lane holds two elements of an operand, or a sum. */
#define T                     float
#define NAME(x)               pairs_##x
#define LANES                 16
#define V                     __m512
#define M                     __mmask16
#define V_ZERO()              _mm512_setzero_ps()
#define V_SET1(x)             _mm512_set1_ps(x)
#define V_LOAD(p)             _mm512_loadu_ps(p)
#define V_LOAD_MASK(m, p)     _mm512_maskz_loadu_ps(m, p)
#define V_STORE(p, v)         _mm512_storeu_ps(p, v)
#define V_STORE_MASK(p, m, v) _mm512_mask_storeu_ps(p, m, v)
#define V_STREAM(p, v)        _mm512_stream_ps(p, v)
#define V_ADD(a, b)           _mm512_add_ps(a, b)
#define V_MUL(a, b)           _mm512_mul_ps(a, b)
#define V_MULADD(a, b, c)     _mm512_fmadd_ps(a, b, c)
#define V_FMA(a, b, c)        _mm512_dpbf16_ps(c, (__m512bh)(a), (__m512bh)(b))
#define V_ACCUMULATE(s, a, b) __asm__("vdpbf16ps %2, %1, %0" : "+v"(s) : "v"(a), "v"(b)) /* see isa_avx512.c */
#include "cpu/micro_tmpl.h"

static inline __mmask16 first(long long n)
{
    return n >= 16 ? 0xffff : n > 0 ? (__mmask16)((1u << (unsigned)n) - 1u) : 0;
}

/* Row p of a panel of pairs: element j of rows 2p (upper half) and 2p + 1 (lower half; 0 past the last). */
static void pack_rows(void *to, int width, int n, int64_t k, const void *from, int64_t step_bytes)
{
    uint32_t *out = to;
    for (int64_t p = 0; p < k; p += 2, out += width) {
        const uint16_t *upper = (const uint16_t *)((const char *)from + p * step_bytes);
        const uint16_t *lower = (const uint16_t *)((const char *)from + (p + 1) * step_bytes);
        for (int j = 0; j < width; j += 16) {
            const __mmask16 some = first(n - j);
            const __m512i high = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(some, upper + j));
            const __m512i low =
                p + 1 < k ? _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(some, lower + j)) : _mm512_setzero_si512();
            _mm512_mask_storeu_epi32(out + j, first(width - j), _mm512_or_si512(_mm512_slli_epi32(high, 16), low));
        }
    }
}

/* Four rounds of a 16 x 16 transpose of 32-bit lanes: lanes 1, 2, 4 and 8 apart change places. */
static inline __attribute__((always_inline)) void transpose(__m512i r[16])
{
    __m512i t[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; i += 2) {
        t[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]);
        t[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 16; i += 4) {
        r[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
        r[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
        r[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
        r[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        const __m512i even_top = _mm512_shuffle_i32x4(r[i], r[i + 4], 0x88);
        const __m512i odd_top = _mm512_shuffle_i32x4(r[i], r[i + 4], 0xdd);
        const __m512i even_low = _mm512_shuffle_i32x4(r[i + 8], r[i + 12], 0x88);
        const __m512i odd_low = _mm512_shuffle_i32x4(r[i + 8], r[i + 12], 0xdd);
        t[i] = _mm512_shuffle_i32x4(even_top, even_low, 0x88);
        t[i + 8] = _mm512_shuffle_i32x4(even_top, even_low, 0xdd);
        t[i + 4] = _mm512_shuffle_i32x4(odd_top, odd_low, 0x88);
        t[i + 12] = _mm512_shuffle_i32x4(odd_top, odd_low, 0xdd);
    }
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++)
        r[i] = t[i];
}

/* 32 steps of 16 rows are a square of pairs, halves swapped; `rows` and `steps` of it exist, `columns` are written. */
static inline __attribute__((always_inline)) void pack_square(uint32_t *out, int width, const int columns,
                                                              const int rows, const int steps, const char *in,
                                                              int64_t step_bytes)
{
    const __mmask32 some = steps == 32 ? 0xffffffffu : (1u << (unsigned)steps) - 1u;
    __m512i r[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++) {
        r[i] = _mm512_setzero_si512();
        if (i < rows)
            r[i] = _mm512_rol_epi32(steps == 32 ? _mm512_loadu_si512(in + i * step_bytes)
                                                : _mm512_maskz_loadu_epi16(some, in + i * step_bytes),
                                    16);
    }
    transpose(r);
#pragma GCC unroll 16
    for (int q = 0; q < 16; q++)
        if (2 * q < steps)
            _mm512_mask_storeu_epi32(out + q * width, first(columns), r[q]);
}

static inline __attribute__((always_inline)) void
pack_strip(uint32_t *out, int width, const int columns, const int rows, int64_t k, const char *in, int64_t step_bytes)
{
    int64_t p = 0;
    for (; p + 32 <= k; p += 32, in += 64, out += 16 * width)
        pack_square(out, width, columns, rows, 32, in, step_bytes);
    if (p < k)
        pack_square(out, width, columns, rows, (int)(k - p), in, step_bytes);
}

/* The same from rows along which K runs; whole panels of A and of B have code of their own. */
static void pack_columns(void *to, int width, int n, int64_t k, const void *from, int64_t step_bytes)
{
    for (int j = 0; j < width; j += 16) {
        uint32_t *out = (uint32_t *)to + j;
        const char *in = (const char *)from + j * step_bytes;
        const int columns = width - j, rows = n - j;
        if (rows >= 16)
            pack_strip(out, width, 16, 16, k, in, step_bytes);
        else if (rows == MR && columns == MR)
            pack_strip(out, width, MR, MR, k, in, step_bytes);
        else
            pack_strip(out, width, columns, rows, k, in, step_bytes);
    }
}

/* Magnitudes less 1 as unsigned numbers put zeros above all others. */
static int least(const void *matrix, long long rows, long long columns, long long row_bytes)
{
    const __m512i magnitude = _mm512_set1_epi16(0x7fff), one = _mm512_set1_epi16(1);
    __m512i low = _mm512_set1_epi16(-1);
    for (long long i = 0; i < rows; i++) {
        const uint16_t *row = (const uint16_t *)((const char *)matrix + i * row_bytes);
        long long j = 0;
        for (; j + 32 <= columns; j += 32)
            low =
                _mm512_min_epu16(low, _mm512_sub_epi16(_mm512_and_si512(_mm512_loadu_si512(row + j), magnitude), one));
        if (j < columns) {
            const __mmask32 some = (1u << (unsigned)(columns - j)) - 1u;
            low = _mm512_min_epu16(
                low, _mm512_sub_epi16(_mm512_and_si512(_mm512_maskz_loadu_epi16(some, row + j), magnitude), one));
        }
    }
    _Alignas(64) uint16_t lanes[32];
    _mm512_store_si512(lanes, low);
    uint16_t lowest = 0xffff;
    for (int i = 0; i < 32; i++)
        lowest = lanes[i] < lowest ? lanes[i] : lowest;
    return lowest == 0xffff ? TSR_PAIRS_ALL_ZERO : (lowest + 1) >> 7;
}

const tsr_pairs tsr_pairs_avx512bf16 = {
    .tiles = {.mr = MR, .nr = 32, .lanes = 16, .kc = 256, .rows = {16, 12, 8}, .width = pairs_tiles},
    .pack_rows = pack_rows,
    .pack_columns = pack_columns,
    .least = least,
};
