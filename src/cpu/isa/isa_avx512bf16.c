/* AVX512-BF16: products of bf16 elements two steps of K at a time, summed in f32.
 *
 * vdpbf16ps adds the product of the upper halves of a 32-bit lane to the sum, rounds, adds that of the lower halves,
 * rounds again. Two neighbours in memory have the later one in the upper half, so of each two steps the later comes
 * first. That is exactly what two multiply-adds on widened elements give, except that the instruction takes subnormals,
 * operands and sums, for zeros. Packing and `lowest` find out whether there can be any: if not, the bits are those of
 * widening. */
#include "cpu/isa/avx512_bf16.h"
#include "cpu/isa/avx512_transpose.h"
#include "cpu/isa/isa.h"

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
#define V_STREAM(p, v)        _mm512_stream_ps(p, v)
#define V_STORE_MASK(p, m, v) _mm512_mask_storeu_ps(p, m, v)
#define V_ADD(a, b)           _mm512_add_ps(a, b)
#define V_MUL(a, b)           _mm512_mul_ps(a, b)
#define V_MULADD(a, b, c)     _mm512_fmadd_ps(a, b, c)
#define V_FMA(a, b, c)        _mm512_dpbf16_ps(c, (__m512bh)(a), (__m512bh)(b))
#define V_ACCUMULATE(s, a, b) __asm__("vdpbf16ps %2, %1, %0" : "+v"(s) : "v"(a), "v"(b)) /* see isa_avx512.c */
#define V_ACCUMULATE_ONE(s, p, b) \
    __asm__("vdpbf16ps (%2)%{1to16%}, %1, %0" : "+v"(s) : "v"(b), "r"(p), "m"(*(const T *)(p)))
#define V_ACCUMULATE_AT(s, p, index, scale, b) \
    __asm__("vdpbf16ps (%2,%3," scale ")%{1to16%}, %1, %0" : "+v"(s) : "v"(b), "r"(p), "r"(index), "m"(*(const T *)(p)))
#include "cpu/isa/micro_tmpl.h"

static inline __mmask16 first(long long n)
{
    return n >= 16 ? 0xffff : n > 0 ? (__mmask16)((1u << (unsigned)n) - 1u) : 0;
}

/* Magnitudes less 1 as unsigned numbers put zeros above all others. */
static inline __m512i lower(__m512i low, __m512i elements)
{
    const __m512i magnitude = _mm512_and_si512(elements, _mm512_set1_epi16(0x7fff));
    return _mm512_min_epu16(low, _mm512_sub_epi16(magnitude, _mm512_set1_epi16(1)));
}

static unsigned lowest_of(__m512i low)
{
    const __m256i half = _mm256_min_epu16(_mm512_castsi512_si256(low), _mm512_extracti64x4_epi64(low, 1));
    const __m128i quarter = _mm_min_epu16(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
    return (unsigned)_mm_cvtsi128_si32(_mm_minpos_epu16(quarter)) & 0xffff;
}

static inline __mmask32 first_halves(long long n)
{
    return n >= 32 ? 0xffffffffu : n > 0 ? (1u << (unsigned)n) - 1u : 0;
}

/* Row p of a panel of pairs: element j of rows 2p (lower half) and 2p + 1 (upper half; 0 past the last). */
static inline __attribute__((always_inline)) unsigned pack_rows_of(uint32_t *out, const int width, const int n,
                                                                   int64_t k, const char *from, int64_t step_bytes)
{
    const __m512i left = _mm512_set_epi16(47, 15, 46, 14, 45, 13, 44, 12, 43, 11, 42, 10, 41, 9, 40, 8, 39, 7, 38, 6,
                                          37, 5, 36, 4, 35, 3, 34, 2, 33, 1, 32, 0);
    const __m512i right = _mm512_add_epi16(left, _mm512_set1_epi16(16));
    __m512i low = _mm512_set1_epi16(-1);
    for (int64_t p = 0; p < k; p += 2, from += 2 * step_bytes, out += width) {
        const uint16_t *even = (const uint16_t *)from, *odd = (const uint16_t *)(from + step_bytes);
        for (int j = 0; j < width; j += 32) {
            const __mmask32 some = first_halves(n - j);
            const __m512i e = _mm512_maskz_loadu_epi16(some, even + j);
            const __m512i o = p + 1 < k ? _mm512_maskz_loadu_epi16(some, odd + j) : _mm512_setzero_si512();
            low = lower(lower(low, e), o);
            _mm512_mask_storeu_epi32(out + j, first(width - j), _mm512_permutex2var_epi16(e, left, o));
            if (width - j > 16)
                _mm512_mask_storeu_epi32(out + j + 16, first(width - j - 16), _mm512_permutex2var_epi16(e, right, o));
        }
    }
    return lowest_of(low);
}

/* Whole panels of B have code of their own. */
static unsigned pack_rows(void *to, int width, int n, int64_t k, const void *from, int64_t step_bytes)
{
    return width == 32 && n == 32 ? pack_rows_of(to, 32, 32, k, from, step_bytes)
                                  : pack_rows_of(to, width, n, k, from, step_bytes);
}

/* 32 steps of 16 rows are a square of pairs; `rows` and `steps` of it exist, `columns` are written. */
static inline __attribute__((always_inline)) __m512i pack_square(__m512i low, uint32_t *out, int width,
                                                                 const int columns, const int rows, const int steps,
                                                                 const char *in, int64_t step_bytes)
{
    const __mmask32 some = first_halves(steps);
    __m512i r[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++) {
        r[i] = _mm512_setzero_si512();
        if (i < rows) {
            r[i] = steps == 32 ? _mm512_loadu_si512(in + i * step_bytes)
                               : _mm512_maskz_loadu_epi16(some, in + i * step_bytes);
            low = lower(low, r[i]);
        }
    }
    tsr_transpose_16(r);
#pragma GCC unroll 16
    for (int q = 0; q < 16; q++)
        if (2 * q < steps)
            _mm512_mask_storeu_epi32(out + q * width, first(columns), r[q]);
    return low;
}

static inline __attribute__((always_inline)) __m512i pack_strip(__m512i low, uint32_t *out, int width,
                                                                const int columns, const int rows, int64_t k,
                                                                const char *in, int64_t step_bytes)
{
    int64_t p = 0;
    for (; p + 32 <= k; p += 32, in += 64, out += 16 * width)
        low = pack_square(low, out, width, columns, rows, 32, in, step_bytes);
    return p < k ? pack_square(low, out, width, columns, rows, (int)(k - p), in, step_bytes) : low;
}

/* The same from rows along which K runs; whole panels of A and of B have code of their own. */
static unsigned pack_columns(void *to, int width, int n, int64_t k, const void *from, int64_t step_bytes)
{
    __m512i low = _mm512_set1_epi16(-1);
    for (int j = 0; j < width; j += 16) {
        uint32_t *out = (uint32_t *)to + j;
        const char *in = (const char *)from + j * step_bytes;
        const int columns = width - j, rows = n - j;
        if (rows >= 16)
            low = pack_strip(low, out, width, 16, 16, k, in, step_bytes);
        else if (rows == MR && columns == MR)
            low = pack_strip(low, out, width, MR, MR, k, in, step_bytes);
        else
            low = pack_strip(low, out, width, columns, rows, k, in, step_bytes);
    }
    return lowest_of(low);
}

static unsigned lowest(const void *matrix, long long rows, long long columns, long long row_bytes)
{
    __m512i low = _mm512_set1_epi16(-1), other = low;
    for (long long i = 0; i < rows; i++) {
        const uint16_t *row = (const uint16_t *)((const char *)matrix + i * row_bytes);
        long long j = 0;
        for (; j + 64 <= columns; j += 64) {
            low = lower(low, _mm512_loadu_si512(row + j));
            other = lower(other, _mm512_loadu_si512(row + j + 32));
        }
        for (; j < columns; j += 32)
            low = lower(low, _mm512_maskz_loadu_epi16(first_halves(columns - j), row + j));
    }
    return lowest_of(_mm512_min_epu16(low, other));
}

/* ---- tiles whose results are bf16 --------------------------------------------------------------------------------
 */

static inline __attribute__((always_inline)) void narrow_tile(const tsr_micro *t, const int mr, const int nv,
                                                              const int masked)
{
    const __mmask16 mask = M_FIRST(t->n - (nv - 1) * LANES);
    __m512 acc[16 * TSR_TILE_VECTORS];
    pairs_sums(acc, t, mask, mr, nv, masked, 0, 0);
    const __m512 alpha = _mm512_set1_ps((float)t->alpha), beta = _mm512_set1_ps((float)t->beta);
    const int plain = t->alpha == 1 && t->beta == 0; /* sums are 0, normal or worse: then vcvtneps2bf16 rounds alike */
    const char *c_row = t->c;
    char *d_row = t->d;
#pragma GCC unroll 16
    for (int i = 0; i < mr; i++) {
#pragma GCC unroll 3
        for (int v = 0; v < nv; v++) {
            uint16_t *d = (uint16_t *)d_row + v * LANES;
            const __mmask16 some = masked && v == nv - 1 ? mask : 0xffff;
            __m512 sum = acc[i * nv + v];
            __m256i out;
            if (plain) {
                out = (__m256i)_mm512_cvtneps_pbh(sum);
            } else {
                sum = _mm512_mul_ps(alpha, sum);
                if (t->beta != 0)
                    sum = _mm512_fmadd_ps(
                        beta, tsr_bf16_widen(_mm256_maskz_loadu_epi16(some, (const uint16_t *)c_row + v * LANES)), sum);
                out = tsr_bf16_narrow(sum);
            }
            if (masked && v == nv - 1)
                _mm256_mask_storeu_epi16(d, mask, out);
            else
                _mm256_storeu_si256((__m256i *)d, out);
        }
        c_row += t->c_row_bytes;
        d_row += t->d_row_bytes;
        __asm__("" : "+r"(c_row), "+r"(d_row));
    }
}

#define ONE(mr, nv, masked)                                       \
    static void narrow_##mr##_##nv##_##masked(const tsr_micro *t) \
    {                                                             \
        narrow_tile(t, mr, nv, masked);                           \
    }
#define LIST(mr, nv, m)   narrow_##mr##_##nv##_##m,
#define ROWS_8(F, nv, m)  F(1, nv, m) F(2, nv, m) F(3, nv, m) F(4, nv, m) F(5, nv, m) F(6, nv, m) F(7, nv, m) F(8, nv, m)
#define ROWS_12(F, nv, m) ROWS_8(F, nv, m) F(9, nv, m) F(10, nv, m) F(11, nv, m) F(12, nv, m)
#define ROWS_16(F, nv, m) ROWS_12(F, nv, m) F(13, nv, m) F(14, nv, m) F(15, nv, m) F(16, nv, m)

/* clang-format off */
ROWS_16(ONE, 1, 0) ROWS_16(ONE, 1, 1) ROWS_12(ONE, 2, 0) ROWS_12(ONE, 2, 1) ROWS_8(ONE, 3, 0) ROWS_8(ONE, 3, 1)

static tsr_micro_run *const narrow_tiles[TSR_TILE_VECTORS][2][TSR_TILE_ROWS] = {
    {{ROWS_16(LIST, 1, 0)}, {ROWS_16(LIST, 1, 1)}},
    {{ROWS_12(LIST, 2, 0)}, {ROWS_12(LIST, 2, 1)}},
    {{ROWS_8(LIST, 3, 0)}, {ROWS_8(LIST, 3, 1)}},
};
/* clang-format on */

#define PAIR_TILES(of)                                                                        \
    {                                                                                         \
        .mr = MR, .nr = 32, .lanes = 16, .kc = TSR_PAIRS_KC, .rows = {16, 12, 8}, .width = of \
    }

const tsr_pairs tsr_pairs_avx512bf16 = {
    .tiles = PAIR_TILES(pairs_tiles),
    .narrow = PAIR_TILES(narrow_tiles),
    .pack_rows = pack_rows,
    .pack_columns = pack_columns,
    .lowest = lowest,
};
