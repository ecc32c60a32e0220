/* AVX-512 (F, DQ, BW, VL): 32 registers of 16 floats or 8 doubles. 24 accumulators, 2 vectors of B and the broadcast of
 * A leave 5 over; the tile is 12 x 32 floats or 12 x 16 doubles. */
#include "cpu/isa/avx512_bf16.h"
#include "cpu/isa/avx512_steps.h"
#include "cpu/isa/isa.h"

#include <immintrin.h>
#include <string.h>

/* The builtin gives prefetchw only under a flag of its own; every processor with AVX2 takes it. */
#define FETCH_TO_WRITE(p) __asm__("prefetchw %0" : : "m"(*(p)))
#define MR                12
#define LAST_BY_ROWS      2 /* steps; with 8 vectors of sums or more */
#define LEAST_BY_ROWS     8
#define ZEN4              1 /* code for it as well (tsr_isa_zen4) */
/* Multiply-adds of the tiles name their instruction: the builtin leaves the compiler free to put the new sum in another
 * register, and with 27 of 32 in use it then spills some. */
#define M_FIRST(n) ((M)((1u << (unsigned)(n)) - 1u))

/* The sum of the lanes, of one vector and of four, in the same order: halves, quarters, then lanes 0 + 2 and 1 + 3. */
static inline __attribute__((always_inline)) __m128 fold_ps(__m512 v)
{
    const __m256 half =
        _mm256_add_ps(_mm512_castps512_ps256(v), _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(v), 1)));
    return _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
}

static inline __attribute__((always_inline)) float sum_ps(__m512 v)
{
    const __m128 a = fold_ps(v), b = _mm_add_ps(a, _mm_movehl_ps(a, a));
    return _mm_cvtss_f32(_mm_add_ss(b, _mm_movehdup_ps(b)));
}

static inline __attribute__((always_inline)) void sum_4_ps(float *to, const __m512 v[4])
{
    const __m128 a = fold_ps(v[0]), b = fold_ps(v[1]), c = fold_ps(v[2]), d = fold_ps(v[3]);
    const __m128 ab = _mm_add_ps(_mm_unpacklo_ps(a, b), _mm_unpackhi_ps(a, b));
    const __m128 cd = _mm_add_ps(_mm_unpacklo_ps(c, d), _mm_unpackhi_ps(c, d));
    _mm_storeu_ps(to, _mm_add_ps(_mm_movelh_ps(ab, cd), _mm_movehl_ps(cd, ab)));
}

/* The same of sixteen: each step adds what lies half as far apart and leaves half as many vectors. Sum i is taken from
 * where the steps leave it at lane i. */
static inline __attribute__((always_inline)) __m512 sum_lanes_ps(const __m512 from[16])
{
    static const unsigned char place[16] = {0, 2, 1, 3, 8, 10, 9, 11, 4, 6, 5, 7, 12, 14, 13, 15};
    __m512 v[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++)
        v[place[i]] = from[i];
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++)
        v[i] = _mm512_add_ps(_mm512_shuffle_f32x4(v[i], v[i + 8], 0x44), _mm512_shuffle_f32x4(v[i], v[i + 8], 0xee));
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++)
        v[i] = _mm512_add_ps(_mm512_shuffle_f32x4(v[i], v[i + 4], 0x88), _mm512_shuffle_f32x4(v[i], v[i + 4], 0xdd));
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++)
        v[i] = _mm512_add_ps(_mm512_shuffle_ps(v[i], v[i + 2], 0x44), _mm512_shuffle_ps(v[i], v[i + 2], 0xee));
    return _mm512_add_ps(_mm512_shuffle_ps(v[0], v[1], 0x88), _mm512_shuffle_ps(v[0], v[1], 0xdd));
}

/* Elements that lie `step` bytes apart, from p on; only those that `some` names are read. */
static inline __attribute__((always_inline)) __m512 gather_ps(__mmask16 some, const void *p, int step)
{
    const __m512i each = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    return _mm512_mask_i32gather_ps(_mm512_setzero_ps(), some, _mm512_mullo_epi32(each, _mm512_set1_epi32(step)), p, 1);
}

static inline __attribute__((always_inline)) __m512d gather_pd(__mmask8 some, const void *p, int step)
{
    const __m256i each = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm512_mask_i32gather_pd(_mm512_setzero_pd(), some, _mm256_mullo_epi32(each, _mm256_set1_epi32(step)), p, 1);
}

/* Of elements that lie in four vectors the p-th and each k-th after it, k at most 4. */
static inline __attribute__((always_inline)) __m512 pick_ps(const __m512 v[4], int k, int p)
{
    const __m512i each = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i at = _mm512_add_epi32(_mm512_mullo_epi32(each, _mm512_set1_epi32(k)), _mm512_set1_epi32(p));
    const __m512 first = _mm512_permutex2var_ps(v[0], at, v[1]);
    if (k <= 2)
        return first;
    return _mm512_mask_mov_ps(first, _mm512_cmpge_epi32_mask(at, _mm512_set1_epi32(32)),
                              _mm512_permutex2var_ps(v[2], at, v[3]));
}

static inline __attribute__((always_inline)) __m512d pick_pd(const __m512d v[4], int k, int p)
{
    const __m512i each = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
    const __m512i at = _mm512_add_epi64(_mm512_mullo_epi64(each, _mm512_set1_epi64(k)), _mm512_set1_epi64(p));
    const __m512d first = _mm512_permutex2var_pd(v[0], at, v[1]);
    if (k <= 2)
        return first;
    return _mm512_mask_mov_pd(first, _mm512_cmpge_epi64_mask(at, _mm512_set1_epi64(16)),
                              _mm512_permutex2var_pd(v[2], at, v[3]));
}

static inline __attribute__((always_inline)) __m128d fold_pd(__m512d v)
{
    const __m256d half = _mm256_add_pd(_mm512_castpd512_pd256(v), _mm512_extractf64x4_pd(v, 1));
    return _mm_add_pd(_mm256_castpd256_pd128(half), _mm256_extractf128_pd(half, 1));
}

static inline __attribute__((always_inline)) double sum_pd(__m512d v)
{
    const __m128d a = fold_pd(v);
    return _mm_cvtsd_f64(_mm_add_sd(a, _mm_unpackhi_pd(a, a)));
}

static inline __attribute__((always_inline)) void sum_4_pd(double *to, const __m512d v[4])
{
    const __m128d a = fold_pd(v[0]), b = fold_pd(v[1]), c = fold_pd(v[2]), d = fold_pd(v[3]);
    _mm_storeu_pd(to, _mm_add_pd(_mm_unpacklo_pd(a, b), _mm_unpackhi_pd(a, b)));
    _mm_storeu_pd(to + 2, _mm_add_pd(_mm_unpacklo_pd(c, d), _mm_unpackhi_pd(c, d)));
}

static inline __attribute__((always_inline)) __m512d sum_lanes_pd(const __m512d from[8])
{
    static const unsigned char place[8] = {0, 1, 4, 5, 2, 3, 6, 7};
    __m512d v[8];
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++)
        v[place[i]] = from[i];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++)
        v[i] = _mm512_add_pd(_mm512_shuffle_f64x2(v[i], v[i + 4], 0x44), _mm512_shuffle_f64x2(v[i], v[i + 4], 0xee));
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++)
        v[i] = _mm512_add_pd(_mm512_shuffle_f64x2(v[i], v[i + 2], 0x88), _mm512_shuffle_f64x2(v[i], v[i + 2], 0xdd));
    return _mm512_add_pd(_mm512_unpacklo_pd(v[0], v[1]), _mm512_unpackhi_pd(v[0], v[1]));
}

/* ---- floats -------------------------------------------------------------------------------------------------------
 */

#define T                     float
#define NAME(x)               f32_##x
#define RANK_K_UNROLLED       8
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
#define V_RELU(v)             _mm512_max_ps(_mm512_setzero_ps(), v) /* of NaN, and of zeros, the second */
#define V_MUL(a, b)           _mm512_mul_ps(a, b)
#define V_FMA(a, b, c)        _mm512_fmadd_ps(a, b, c)
#define V_KEEP(v)             __asm__("" : "+v"(v))
#define V_ACCUMULATE(s, a, b) __asm__("vfmadd231ps %2, %1, %0" : "+v"(s) : "v"(a), "v"(b))
#define V_ACCUMULATE_ONE(s, p, b) \
    __asm__("vfmadd231ps (%2)%{1to16%}, %1, %0" : "+v"(s) : "v"(b), "r"(p), "m"(*(const T *)(p)))
#define V_ACCUMULATE_AT(s, p, index, scale, b)               \
    __asm__("vfmadd231ps (%2,%3," scale ")%{1to16%}, %1, %0" \
            : "+v"(s)                                        \
            : "v"(b), "r"(p), "r"(index), "m"(*(const T *)(p)))
#define V_SUM(v)             sum_ps(v)
#define V_SUM_4(to, v)       sum_4_ps(to, v)
#define V_SUM_LANES(v)       sum_lanes_ps(v)
#define V_GATHER(m, p, step) gather_ps(m, p, step)
#define V_PICK(v, k, p)      pick_ps(v, k, p)
#define V_FOUR(v, i)                              \
    ((i) == 0   ? _mm512_extractf32x4_ps(v[0], 0) \
     : (i) == 1 ? _mm512_extractf32x4_ps(v[0], 1) \
     : (i) == 2 ? _mm512_extractf32x4_ps(v[0], 2) \
                : _mm512_extractf32x4_ps(v[0], 3))
#define V_STORE_4(to, v, i) _mm_storeu_ps((float *)(void *)(to), V_FOUR(v, i))
#include "cpu/isa/micro_tmpl.h"

/* Rows of a square of 4 x 4 elements in each 128-bit lane change places with its columns. */
static inline __attribute__((always_inline)) void f32_turn_lanes(__m512 r[4])
{
    const __m512d a = _mm512_castps_pd(_mm512_unpacklo_ps(r[0], r[1]));
    const __m512d b = _mm512_castps_pd(_mm512_unpacklo_ps(r[2], r[3]));
    const __m512d c = _mm512_castps_pd(_mm512_unpackhi_ps(r[0], r[1]));
    const __m512d d = _mm512_castps_pd(_mm512_unpackhi_ps(r[2], r[3]));
    r[0] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, b));
    r[1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, b));
    r[2] = _mm512_castpd_ps(_mm512_unpacklo_pd(c, d));
    r[3] = _mm512_castpd_ps(_mm512_unpackhi_pd(c, d));
}

static inline __attribute__((always_inline)) void f32_turn(__m512 r[8])
{
    f32_turn_lanes(r);
    f32_turn_lanes(r + 4);
}

/* Lane 4 * l + q of all eight vectors is now 128-bit lane l of vectors q and 4 + q. */
static inline __attribute__((always_inline)) void f32_transposed(__m256 out[8], const __m512 r[8], int part)
{
    const __m512i low = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
    const __m512i high = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
#pragma GCC unroll 4
    for (int q = 0; q < 4; q++) {
        const __m512d both =
            _mm512_permutex2var_pd(_mm512_castps_pd(r[q]), part ? high : low, _mm512_castps_pd(r[4 + q]));
        out[q] = _mm512_castps512_ps256(_mm512_castpd_ps(both));
        out[4 + q] = _mm256_castpd_ps(_mm512_extractf64x4_pd(both, 1));
    }
}

static inline __attribute__((always_inline)) __m512i f32_places(const int o, const int c)
{
    const int p = 16 * o;
    return _mm512_setr_epi32(p / c, (p + 1) / c, (p + 2) / c, (p + 3) / c, (p + 4) / c, (p + 5) / c, (p + 6) / c,
                             (p + 7) / c, (p + 8) / c, (p + 9) / c, (p + 10) / c, (p + 11) / c, (p + 12) / c,
                             (p + 13) / c, (p + 14) / c, (p + 15) / c);
}

#define H                           __m256
#define H_SET1(x)                   _mm256_set1_ps(x)
#define H_LOAD_MASK(m, p)           _mm256_maskz_loadu_ps((__mmask8)(m), p)
#define H_STORE(p, v)               _mm256_storeu_ps(p, v)
#define H_STORE_MASK(p, m, v)       _mm256_mask_storeu_ps(p, (__mmask8)(m), v)
#define H_FMA(a, b, c)              _mm256_fmadd_ps(a, b, c)
#define TURN(r)                     f32_turn(r)
#define TRANSPOSED(out, r, part)    f32_transposed(out, r, part)
#define PLACES                      __m512i
#define PLACES_OF(o, c)             f32_places(o, c)
#define V_PERMUTE(p, v)             _mm512_permutexvar_ps(p, v)
#define V_PERMUTE_INTO(to, m, p, v) _mm512_mask_permutexvar_ps(to, m, p, v)
#include "cpu/isa/transposed_tmpl.h"

/* One of four: instructions take their constants as such only, not from a loop that is unrolled. */
#define N_CHOOSE(s, a, b, c, d) ((s) == 0 ? (a) : (s) == 1 ? (b) : (s) == 2 ? (c) : (d))
#define NARROW_ROWS             4
#define N_ROW(v, r, p)          ((v) = _mm512_mask_broadcast_f32x4(v, (__mmask16)(15 << 4 * (r)), _mm_loadu_ps(p)))
#define N_ONE(v, r, p)          ((v) = _mm512_mask_broadcastss_ps(v, (__mmask16)(1 << 4 * (r)), _mm_load_ss(p)))
#define N_SPLAT(v, s)                                                                            \
    N_CHOOSE(s, _mm512_permute_ps(v, 0), _mm512_permute_ps(v, 0x55), _mm512_permute_ps(v, 0xaa), \
             _mm512_permute_ps(v, 0xff))
#define N_REPEAT(p)           _mm512_broadcast_f32x4(_mm_load_ps(p))
#define Q                     __m128
#define Q_SET1(x)             _mm_set1_ps(x)
#define Q_LOAD(p)             _mm_loadu_ps(p)
#define Q_LOAD_MASK(m, p)     _mm_maskz_loadu_ps((__mmask8)(m), p)
#define Q_STORE(p, v)         _mm_storeu_ps(p, v)
#define Q_STORE_MASK(p, m, v) _mm_mask_storeu_ps(p, (__mmask8)(m), v)
#define N_PART(v, r)                                                                                      \
    N_CHOOSE(r, _mm512_extractf32x4_ps(v, 0), _mm512_extractf32x4_ps(v, 1), _mm512_extractf32x4_ps(v, 2), \
             _mm512_extractf32x4_ps(v, 3))
#define Q_FMA(a, b, c) _mm_fmadd_ps(a, b, c)
#include "cpu/isa/narrow_tmpl.h"

/* Two rounds inside the 128-bit lanes, two that move whole lanes. */
static inline __attribute__((always_inline)) void f32_transpose(__m512 r[16])
{
    __m512 t[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; i += 2) {
        t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
        t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 16; i += 4) {
        const __m512d a = _mm512_castps_pd(t[i]), b = _mm512_castps_pd(t[i + 2]);
        const __m512d c = _mm512_castps_pd(t[i + 1]), d = _mm512_castps_pd(t[i + 3]);
        r[i] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, b));
        r[i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, b));
        r[i + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(c, d));
        r[i + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(c, d));
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        const __m512 even_top = _mm512_shuffle_f32x4(r[i], r[i + 4], 0x88);
        const __m512 odd_top = _mm512_shuffle_f32x4(r[i], r[i + 4], 0xdd);
        const __m512 even_low = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0x88);
        const __m512 odd_low = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0xdd);
        t[i] = _mm512_shuffle_f32x4(even_top, even_low, 0x88);
        t[i + 8] = _mm512_shuffle_f32x4(even_top, even_low, 0xdd);
        t[i + 4] = _mm512_shuffle_f32x4(odd_top, odd_low, 0x88);
        t[i + 12] = _mm512_shuffle_f32x4(odd_top, odd_low, 0xdd);
    }
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++)
        r[i] = t[i];
}
#define TRANSPOSE(r) f32_transpose(r)

#define S                     float
#define SNAME(x)              f32_##x
#define S_LOAD(p)             _mm512_loadu_ps(p)
#define S_LOAD_MASK(m, p)     _mm512_maskz_loadu_ps(m, p)
#define S_STORE(p, v)         _mm512_storeu_ps(p, v)
#define S_STORE_MASK(p, m, v) _mm512_mask_storeu_ps(p, m, v)
#define S_WIDEN(x)            (x)
#include "cpu/isa/store_tmpl.h"

#include "cpu/isa/store_end.h"

#define S                     uint16_t
#define SNAME(x)              f16_##x
#define S_LOAD(p)             _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(p)))
#define S_LOAD_MASK(m, p)     _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(m, p))
#define NARROW(v)             _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)
#define S_STORE(p, v)         _mm256_storeu_si256((__m256i *)(p), NARROW(v))
#define S_STORE_MASK(p, m, v) _mm256_mask_storeu_epi16(p, m, NARROW(v))
#define S_WIDEN(x)            tsr_f16_to_f32(x)
#include "cpu/isa/store_tmpl.h"
#undef NARROW
#include "cpu/isa/store_end.h"

#define S                     uint16_t
#define SNAME(x)              bf16_##x
#define S_LOAD(p)             tsr_bf16_widen(_mm256_loadu_si256((const __m256i *)(p)))
#define S_LOAD_MASK(m, p)     tsr_bf16_widen(_mm256_maskz_loadu_epi16(m, p))
#define S_STORE(p, v)         _mm256_storeu_si256((__m256i *)(p), tsr_bf16_narrow(v))
#define S_STORE_MASK(p, m, v) _mm256_mask_storeu_epi16(p, m, tsr_bf16_narrow(v))
#define S_WIDEN(x)            tsr_bf16_to_f32(x)
#include "cpu/isa/store_tmpl.h"

#include "cpu/isa/store_end.h"

#include "cpu/isa/dots_tmpl.h"
#include "cpu/isa/micro_end.h"

/* ---- doubles ------------------------------------------------------------------------------------------------------
 */

#define T                     double
#define NAME(x)               f64_##x
#define LANES                 8
#define V                     __m512d
#define M                     __mmask8
#define V_ZERO()              _mm512_setzero_pd()
#define V_SET1(x)             _mm512_set1_pd(x)
#define V_LOAD(p)             _mm512_loadu_pd(p)
#define V_LOAD_MASK(m, p)     _mm512_maskz_loadu_pd(m, p)
#define V_STORE(p, v)         _mm512_storeu_pd(p, v)
#define V_STORE_MASK(p, m, v) _mm512_mask_storeu_pd(p, m, v)
#define V_STREAM(p, v)        _mm512_stream_pd(p, v)
#define V_ADD(a, b)           _mm512_add_pd(a, b)
#define V_RELU(v)             _mm512_max_pd(_mm512_setzero_pd(), v)
#define V_MUL(a, b)           _mm512_mul_pd(a, b)
#define V_FMA(a, b, c)        _mm512_fmadd_pd(a, b, c)
#define V_KEEP(v)             __asm__("" : "+v"(v))
#define V_ACCUMULATE(s, a, b) __asm__("vfmadd231pd %2, %1, %0" : "+v"(s) : "v"(a), "v"(b))
#define V_ACCUMULATE_ONE(s, p, b) \
    __asm__("vfmadd231pd (%2)%{1to8%}, %1, %0" : "+v"(s) : "v"(b), "r"(p), "m"(*(const T *)(p)))
#define V_ACCUMULATE_AT(s, p, index, scale, b)              \
    __asm__("vfmadd231pd (%2,%3," scale ")%{1to8%}, %1, %0" \
            : "+v"(s)                                       \
            : "v"(b), "r"(p), "r"(index), "m"(*(const T *)(p)))
#define V_SUM(v)             sum_pd(v)
#define V_SUM_4(to, v)       sum_4_pd(to, v)
#define V_SUM_LANES(v)       sum_lanes_pd(v)
#define V_GATHER(m, p, step) gather_pd(m, p, step)
#define V_PICK(v, k, p)      pick_pd(v, k, p)
#define V_FOUR(v, i)         ((i) % 2 == 0 ? _mm512_extractf64x4_pd(v[(i) / 2], 0) : _mm512_extractf64x4_pd(v[(i) / 2], 1))
#define V_STORE_4(to, v, i)  _mm256_storeu_pd((double *)(void *)(to), V_FOUR(v, i))
#include "cpu/isa/micro_tmpl.h"

static inline __attribute__((always_inline)) void f64_transpose(__m512d r[8])
{
    __m512d t[8];
#pragma GCC unroll 8
    for (int i = 0; i < 8; i += 2) {
        t[i] = _mm512_unpacklo_pd(r[i], r[i + 1]);
        t[i + 1] = _mm512_unpackhi_pd(r[i], r[i + 1]);
    }
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++) {
        const __m512d even_top = _mm512_shuffle_f64x2(t[i], t[i + 2], 0x88);
        const __m512d odd_top = _mm512_shuffle_f64x2(t[i], t[i + 2], 0xdd);
        const __m512d even_low = _mm512_shuffle_f64x2(t[i + 4], t[i + 6], 0x88);
        const __m512d odd_low = _mm512_shuffle_f64x2(t[i + 4], t[i + 6], 0xdd);
        r[i] = _mm512_shuffle_f64x2(even_top, even_low, 0x88);
        r[i + 4] = _mm512_shuffle_f64x2(even_top, even_low, 0xdd);
        r[i + 2] = _mm512_shuffle_f64x2(odd_top, odd_low, 0x88);
        r[i + 6] = _mm512_shuffle_f64x2(odd_top, odd_low, 0xdd);
    }
}

static inline __attribute__((always_inline)) __m512i f64_places(const int o, const int c)
{
    const int p = 8 * o;
    return _mm512_setr_epi64(p / c, (p + 1) / c, (p + 2) / c, (p + 3) / c, (p + 4) / c, (p + 5) / c, (p + 6) / c,
                             (p + 7) / c);
}

#define H                           __m512d
#define H_SET1(x)                   _mm512_set1_pd(x)
#define H_LOAD_MASK(m, p)           _mm512_maskz_loadu_pd(m, p)
#define H_STORE(p, v)               _mm512_storeu_pd(p, v)
#define H_STORE_MASK(p, m, v)       _mm512_mask_storeu_pd(p, m, v)
#define H_FMA(a, b, c)              _mm512_fmadd_pd(a, b, c)
#define TURN(r)                     f64_transpose(r)
#define TRANSPOSED(out, r, part)    memcpy(out, r, sizeof(out))
#define PLACES                      __m512i
#define PLACES_OF(o, c)             f64_places(o, c)
#define V_PERMUTE(p, v)             _mm512_permutexvar_pd(p, v)
#define V_PERMUTE_INTO(to, m, p, v) _mm512_mask_permutexvar_pd(to, m, p, v)
#include "cpu/isa/transposed_tmpl.h"

#define NARROW_ROWS    2
#define N_ROW(v, r, p) ((v) = _mm512_mask_broadcast_f64x4(v, (__mmask8)(15 << 4 * (r)), _mm256_loadu_pd(p)))
#define N_ONE(v, r, p) ((v) = _mm512_mask_broadcastsd_pd(v, (__mmask8)(1 << 4 * (r)), _mm_load_sd(p)))
#define N_SPLAT(v, s)                                                                               \
    N_CHOOSE(s, _mm512_permutex_pd(v, 0), _mm512_permutex_pd(v, 0x55), _mm512_permutex_pd(v, 0xaa), \
             _mm512_permutex_pd(v, 0xff))
#define N_REPEAT(p)           _mm512_broadcast_f64x4(_mm256_load_pd(p))
#define Q                     __m256d
#define Q_SET1(x)             _mm256_set1_pd(x)
#define Q_LOAD(p)             _mm256_loadu_pd(p)
#define Q_LOAD_MASK(m, p)     _mm256_maskz_loadu_pd((__mmask8)(m), p)
#define Q_STORE(p, v)         _mm256_storeu_pd(p, v)
#define Q_STORE_MASK(p, m, v) _mm256_mask_storeu_pd(p, (__mmask8)(m), v)
#define N_PART(v, r)          ((r) == 0 ? _mm512_extractf64x4_pd(v, 0) : _mm512_extractf64x4_pd(v, 1))
#define Q_FMA(a, b, c)        _mm256_fmadd_pd(a, b, c)
#include "cpu/isa/narrow_tmpl.h"

#define TRANSPOSE(r) f64_transpose(r)

#define S                     double
#define SNAME(x)              f64_##x
#define S_LOAD(p)             _mm512_loadu_pd(p)
#define S_LOAD_MASK(m, p)     _mm512_maskz_loadu_pd(m, p)
#define S_STORE(p, v)         _mm512_storeu_pd(p, v)
#define S_STORE_MASK(p, m, v) _mm512_mask_storeu_pd(p, m, v)
#define S_WIDEN(x)            (x)
#include "cpu/isa/store_tmpl.h"

#include "cpu/isa/store_end.h"

#include "cpu/isa/dots_tmpl.h"
#include "cpu/isa/micro_end.h"

#define INTEGERS_FMA(a, b, c) _mm512_add_epi32(c, _mm512_madd_epi16(a, b)) /* a pair's sum is below 2^18 */
#include "cpu/isa/avx512_integers.h"

/* ---- half as many, for a Zen 4, which takes vectors of 64 bytes in two halves ------------------------------------
 */

#define T                     float
#define NAME(x)               f32_half_##x
#define HALF                  1
#define UNROLL                2
#define LANES                 8
#define V                     __m256
#define M                     __mmask8
#define V_ZERO()              _mm256_setzero_ps()
#define V_SET1(x)             _mm256_set1_ps(x)
#define V_LOAD(p)             _mm256_loadu_ps(p)
#define V_LOAD_MASK(m, p)     _mm256_maskz_loadu_ps(m, p)
#define V_STORE(p, v)         _mm256_storeu_ps(p, v)
#define V_STORE_MASK(p, m, v) _mm256_mask_storeu_ps(p, m, v)
#define V_STREAM(p, v)        _mm256_stream_ps(p, v)
#define V_ADD(a, b)           _mm256_add_ps(a, b)
#define V_MUL(a, b)           _mm256_mul_ps(a, b)
#define V_FMA(a, b, c)        _mm256_fmadd_ps(a, b, c)
#define V_KEEP(v)             __asm__("" : "+v"(v))
#define V_ACCUMULATE(s, a, b) __asm__("vfmadd231ps %2, %1, %0" : "+v"(s) : "v"(a), "v"(b))
#define V_ACCUMULATE_ONE(s, p, b) \
    __asm__("vfmadd231ps (%2)%{1to8%}, %1, %0" : "+v"(s) : "v"(b), "r"(p), "m"(*(const T *)(p)))
#define V_ACCUMULATE_AT(s, p, index, scale, b)              \
    __asm__("vfmadd231ps (%2,%3," scale ")%{1to8%}, %1, %0" \
            : "+v"(s)                                       \
            : "v"(b), "r"(p), "r"(index), "m"(*(const T *)(p)))
#include "cpu/isa/micro_tmpl.h"

#include "cpu/isa/micro_end.h"

#define T                     double
#define NAME(x)               f64_half_##x
#define HALF                  1
#define UNROLL                2
#define LANES                 4
#define V                     __m256d
#define M                     __mmask8
#define V_ZERO()              _mm256_setzero_pd()
#define V_SET1(x)             _mm256_set1_pd(x)
#define V_LOAD(p)             _mm256_loadu_pd(p)
#define V_LOAD_MASK(m, p)     _mm256_maskz_loadu_pd(m, p)
#define V_STORE(p, v)         _mm256_storeu_pd(p, v)
#define V_STORE_MASK(p, m, v) _mm256_mask_storeu_pd(p, m, v)
#define V_STREAM(p, v)        _mm256_stream_pd(p, v)
#define V_ADD(a, b)           _mm256_add_pd(a, b)
#define V_MUL(a, b)           _mm256_mul_pd(a, b)
#define V_FMA(a, b, c)        _mm256_fmadd_pd(a, b, c)
#define V_KEEP(v)             __asm__("" : "+v"(v))
#define V_ACCUMULATE(s, a, b) __asm__("vfmadd231pd %2, %1, %0" : "+v"(s) : "v"(a), "v"(b))
#define V_ACCUMULATE_ONE(s, p, b) \
    __asm__("vfmadd231pd (%2)%{1to4%}, %1, %0" : "+v"(s) : "v"(b), "r"(p), "m"(*(const T *)(p)))
#define V_ACCUMULATE_AT(s, p, index, scale, b)              \
    __asm__("vfmadd231pd (%2,%3," scale ")%{1to4%}, %1, %0" \
            : "+v"(s)                                       \
            : "v"(b), "r"(p), "r"(index), "m"(*(const T *)(p)))
#include "cpu/isa/micro_tmpl.h"

#include "cpu/isa/micro_end.h"

#define TILES(type, columns, half_tiles)                                                                          \
    {                                                                                                             \
        .mr = MR, .nr = 2 * (columns), .lanes = (columns), .kc = 256, .rows = {16, 12, 8}, .width = type##_tiles, \
        .half = (half_tiles), .transposed = &type##_transposed_set, .narrow = type##_narrow                       \
    }
#define STORES(dots)                                                                                            \
    {                                                                                                           \
        [TSR_F32] = TSR_STORE(f32, f32_##dots, f32_chains, NULL),                                               \
        [TSR_F64] = TSR_STORE(f64, f64_##dots, f64_chains, NULL), [TSR_F16] = TSR_STORE(f16, NULL, NULL, NULL), \
        [TSR_BF16] = TSR_STORE(bf16, NULL, NULL, tsr_bf16_steps)                                                \
    }

const tsr_isa tsr_isa_avx512 = {.name = "avx512",
                                .f32 = TILES(f32, 16, NULL),
                                .f64 = TILES(f64, 8, NULL),
                                .store = STORES(many_dots),
                                .pairs = &tsr_pairs_avx512bf16,
                                .integers = &integers_code,
                                .vnni = &tsr_integers_avx512vnni};
const tsr_isa tsr_isa_zen4 = {.name = "avx512-zen4",
                              .zen4 = 1,
                              .f32 = TILES(f32, 16, f32_half_tiles),
                              .f64 = TILES(f64, 8, f64_half_tiles),
                              .store = STORES(many_dots_zen4),
                              .pairs = &tsr_pairs_avx512bf16,
                              .integers = &integers_code,
                              .vnni = &tsr_integers_avx512vnni};
