/* tsr_quads with AVX512-VNNI: vpdpbusd multiplies four u8 of a lane by four s8 and adds the products to a sum, modulo
 * 2^32. Included once, with what micro_tmpl.h wants of all types. */
#include <string.h>

#include "cpu/isa/avx512_transpose.h"

#define NAME(x) quads_##x
#include "cpu/isa/avx512_int32.h"
#define V_FMA(a, b, c)                         _mm512_dpbusd_epi32(c, a, b)
#define V_ACCUMULATE(s, a, b)                  __asm__("vpdpbusd %2, %1, %0" : "+v"(s) : "v"(a), "v"(b)) /* see isa_avx512.c */
#define V_ACCUMULATE_ONE(s, p, b)              V_ACCUMULATE(s, V_SET1(*(const T *)(p)), b)
#define V_ACCUMULATE_AT(s, p, index, scale, b) V_ACCUMULATE_ONE(s, (p) + (index) * ((scale)[0] - '0'), b)
#include "cpu/isa/micro_tmpl.h"

static inline __mmask64 quads_first(long long n)
{
    return n >= 64 ? ~0ull : n > 0 ? (1ull << n) - 1 : 0;
}

/* 64 bytes, of which n exist, flipped; the others are zeros. */
static inline __m512i quads_bytes(const uint8_t *from, long long n, int flip)
{
    const __mmask64 some = quads_first(n);
    return _mm512_maskz_mov_epi8(some,
                                 _mm512_xor_si512(_mm512_maskz_loadu_epi8(some, from), _mm512_set1_epi8((char)flip)));
}

/* Four steps of up to 16 columns, a lane for each column. */
static inline __m512i quads_zip(const uint8_t *from, int64_t step_bytes, int64_t steps, long long columns, int flip)
{
    __m128i row[4];
#pragma GCC unroll 4
    for (int q = 0; q < 4; q++)
        row[q] = q < steps
                     ? _mm512_castsi512_si128(quads_bytes(from + q * step_bytes, columns < 16 ? columns : 16, flip))
                     : _mm_setzero_si128();
    const __m128i low[2] = {_mm_unpacklo_epi8(row[0], row[1]), _mm_unpacklo_epi8(row[2], row[3])};
    const __m128i high[2] = {_mm_unpackhi_epi8(row[0], row[1]), _mm_unpackhi_epi8(row[2], row[3])};
    __m512i all = _mm512_castsi128_si512(_mm_unpacklo_epi16(low[0], low[1]));
    all = _mm512_inserti32x4(all, _mm_unpackhi_epi16(low[0], low[1]), 1);
    all = _mm512_inserti32x4(all, _mm_unpacklo_epi16(high[0], high[1]), 2);
    return _mm512_inserti32x4(all, _mm_unpackhi_epi16(high[0], high[1]), 3);
}

static void quads_pack_rows(uint8_t *to, int width, long long n, int64_t k, const void *from, int64_t step_bytes,
                            int flip)
{
    const uint8_t *at = from;
    for (int64_t p = 0; p < k; p += 4, at += 4 * step_bytes, to += 4 * width)
        for (int j = 0; j < width; j += LANES)
            _mm512_storeu_si512(to + 4 * j, quads_zip(at + j, step_bytes, k - p, n - j, flip));
}

static void quads_pack_columns(uint8_t *to, int width, long long n, int64_t k, const void *from, int64_t step_bytes,
                               int flip)
{
    for (int j = 0; j < width; j += LANES)
        for (int64_t p = 0; p < k; p += 64) {
            __m512i r[16];
#pragma GCC unroll 16
            for (int i = 0; i < 16; i++)
                r[i] = j + i < n ? quads_bytes((const uint8_t *)from + (j + i) * step_bytes + p, k - p, flip)
                                 : _mm512_setzero_si512();
            tsr_transpose_16(r);
#pragma GCC unroll 16
            for (int q = 0; q < 16; q++)
                if (p + 4 * q < k)
                    _mm512_storeu_si512(to + (p / 4 + q) * 4 * width + 4 * j, r[q]);
        }
}

static void quads_copy_rows(uint8_t *to, int64_t to_row, int64_t rows, int64_t k, const void *from, int64_t step_bytes,
                            int flip)
{
    const uint8_t *at = from;
    for (int64_t i = 0; i < rows; i++, at += step_bytes, to += to_row)
        for (int64_t p = 0; p < k; p += 64)
            _mm512_storeu_si512(to + p, quads_bytes(at + p, k - p, flip));
}

static void quads_add_rows(uint32_t *sums, int64_t rows, int64_t k, const uint8_t *copied, int64_t row_bytes)
{
    const __m512i ones = _mm512_set1_epi8(1);
    for (int64_t i = 0; i < rows; i++, copied += row_bytes) {
        __m512i sum = _mm512_setzero_si512();
        for (int64_t p = 0; p < k; p += 64)
            sum = _mm512_dpbusd_epi32(sum, _mm512_loadu_si512(copied + p), ones);
        sums[i] += (uint32_t)_mm512_reduce_add_epi32(sum);
    }
}

static void quads_add_panel(uint32_t *sums, int n, int width, int64_t k, const uint8_t *panel, int is_signed)
{
    const __m512i ones = _mm512_set1_epi8(1);
    for (int j = 0; j < n; j += LANES) {
        const __mmask16 some = n - j < LANES ? M_FIRST(n - j) : (__mmask16)0xffff;
        __m512i sum = _mm512_maskz_loadu_epi32(some, sums + j);
        for (int64_t p = 0; p < k; p += 4) {
            const __m512i four = _mm512_loadu_si512(panel + p * width + 4 * j);
            sum = is_signed ? _mm512_dpbusd_epi32(sum, ones, four) : _mm512_dpbusd_epi32(sum, four, ones);
        }
        _mm512_mask_storeu_epi32(sums + j, some, sum);
    }
}

static void quads_finish(const tsr_quads_end *e, uint32_t *to, const uint32_t *c, const uint32_t *sums, int64_t n)
{
    const __m512i x = _mm512_set1_epi32((int)e->x), sum_a = _mm512_set1_epi32((int)e->sum_a);
    const __m512i alpha = _mm512_set1_epi32((int)e->alpha), beta = _mm512_set1_epi32((int)e->beta);
    for (int64_t j = 0; j < n; j += LANES) {
        const __mmask16 some = n - j < LANES ? M_FIRST(n - j) : (__mmask16)0xffff;
        __m512i sum = _mm512_maskz_loadu_epi32(some, sums + j);
        if (e->y)
            sum = _mm512_sub_epi32(sum, _mm512_mullo_epi32(sum_a, _mm512_maskz_loadu_epi32(some, e->y + j)));
        if (e->sums_b)
            sum = _mm512_sub_epi32(sum, _mm512_mullo_epi32(x, _mm512_maskz_loadu_epi32(some, e->sums_b + j)));
        if (e->alpha != 1)
            sum = _mm512_mullo_epi32(sum, alpha);
        if (c)
            sum = _mm512_add_epi32(sum, _mm512_mullo_epi32(beta, _mm512_maskz_loadu_epi32(some, c + j)));
        _mm512_mask_storeu_epi32(to + j, some, sum);
    }
}

static const tsr_quads quads_code = {
    .tiles = {.mr = MR, .nr = 2 * LANES, .lanes = LANES, .rows = {MR, MR}, .width = quads_tiles},
    .pack_rows = quads_pack_rows,
    .pack_columns = quads_pack_columns,
    .copy_rows = quads_copy_rows,
    .add_rows = quads_add_rows,
    .add_panel = quads_add_panel,
    .finish = quads_finish,
};

#include "cpu/isa/micro_end.h"
