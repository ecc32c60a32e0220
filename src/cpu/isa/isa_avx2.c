/* AVX2 with FMA and F16C: 16 registers of 8 floats or 4 doubles. 12 accumulators, 2 vectors of B and the broadcast of A
 * fill 15; the tile is 6 x 16 floats or 6 x 8 doubles. */
#include "cpu/isa/isa.h"

#include <immintrin.h>
#include <string.h>

/* The builtin gives prefetchw only under a flag of its own; every processor with AVX2 takes it. */
#define FETCH_TO_WRITE(p) __asm__("prefetchw %0" : : "m"(*(p)))
#define MR                6
#define ZEN4              0

/* Masks are counts of lanes; the vector of ones and zeros is read from where that many ones are left. */
#define M          int
#define M_FIRST(n) (n)
static const int32_t ones_zeros[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};

static inline __m256i first_32(int n)
{
    return _mm256_loadu_si256((const __m256i *)(ones_zeros + 8 - n));
}

static inline __m256i first_64(int n)
{
    return _mm256_loadu_si256((const __m256i *)(ones_zeros + 8 - 2 * n));
}

static inline __m128i load_16_bits(const uint16_t *from, int n)
{
    uint16_t all[8] = {0};
    memcpy(all, from, (size_t)n * 2);
    return _mm_loadu_si128((const __m128i *)all);
}

static inline void store_16_bits(uint16_t *to, int n, __m128i v)
{
    uint16_t all[8];
    _mm_storeu_si128((__m128i *)all, v);
    memcpy(to, all, (size_t)n * 2);
}

/* ---- floats -------------------------------------------------------------------------------------------------------
 */

#define T                     float
#define NAME(x)               f32_##x
#define RANK_K_UNROLLED       4
#define LANES                 8
#define V                     __m256
#define V_ZERO()              _mm256_setzero_ps()
#define V_SET1(x)             _mm256_set1_ps(x)
#define V_LOAD(p)             _mm256_loadu_ps(p)
#define V_LOAD_MASK(m, p)     _mm256_maskload_ps(p, first_32(m))
#define V_STORE(p, v)         _mm256_storeu_ps(p, v)
#define V_STORE_MASK(p, m, v) _mm256_maskstore_ps(p, first_32(m), v)
#define V_STREAM(p, v)        _mm256_stream_ps(p, v)
#define V_ADD(a, b)           _mm256_add_ps(a, b)
#define V_RELU(v)             _mm256_max_ps(_mm256_setzero_ps(), v) /* of NaN, and of zeros, the second */
#define V_MUL(a, b)           _mm256_mul_ps(a, b)
#define V_FMA(a, b, c)        _mm256_fmadd_ps(a, b, c)
#define V_SUM(v)              f32_sum(v)

static inline float f32_sum(__m256 v)
{
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}
#include "cpu/isa/micro_tmpl.h"

static inline __attribute__((always_inline)) void f32_transpose(__m256 r[8])
{
    __m256 t[8];
#pragma GCC unroll 4
    for (int i = 0; i < 8; i += 2) {
        t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
        t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
    }
#pragma GCC unroll 2
    for (int i = 0; i < 8; i += 4) {
        r[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
        r[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xee);
        r[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
        r[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        t[i] = _mm256_permute2f128_ps(r[i], r[i + 4], 0x20);
        t[i + 4] = _mm256_permute2f128_ps(r[i], r[i + 4], 0x31);
    }
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++)
        r[i] = t[i];
}
#define TRANSPOSE(r) f32_transpose(r)

#define S                     float
#define SNAME(x)              f32_##x
#define S_LOAD(p)             V_LOAD(p)
#define S_LOAD_MASK(m, p)     V_LOAD_MASK(m, p)
#define S_STORE(p, v)         V_STORE(p, v)
#define S_STORE_MASK(p, m, v) V_STORE_MASK(p, m, v)
#define S_WIDEN(x)            (x)
#include "cpu/isa/store_tmpl.h"

#include "cpu/isa/store_end.h"

#define S                     uint16_t
#define SNAME(x)              f16_##x
#define S_LOAD(p)             _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(p)))
#define S_LOAD_MASK(m, p)     _mm256_cvtph_ps(load_16_bits(p, m))
#define NARROW(v)             _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)
#define S_STORE(p, v)         _mm_storeu_si128((__m128i *)(p), NARROW(v))
#define S_STORE_MASK(p, m, v) store_16_bits(p, m, NARROW(v))
#define S_WIDEN(x)            tsr_f16_to_f32(x)
#include "cpu/isa/store_tmpl.h"
#undef NARROW
#include "cpu/isa/store_end.h"

static inline __m256 bf16_widen(__m128i bits)
{
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
}

/* To nearest, ties to even, by adding just below half an ulp and the lowest kept bit; a NaN is kept and made quiet. */
static inline __m128i bf16_narrow(__m256 v)
{
    const __m256i bits = _mm256_castps_si256(v);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i round = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
    const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
    const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q));
    const __m256i high = _mm256_srli_epi32(_mm256_blendv_epi8(round, quiet, nan), 16);
    return _mm_packus_epi32(_mm256_castsi256_si128(high), _mm256_extracti128_si256(high, 1));
}

#define S                     uint16_t
#define SNAME(x)              bf16_##x
#define S_LOAD(p)             bf16_widen(_mm_loadu_si128((const __m128i *)(p)))
#define S_LOAD_MASK(m, p)     bf16_widen(load_16_bits(p, m))
#define S_STORE(p, v)         _mm_storeu_si128((__m128i *)(p), bf16_narrow(v))
#define S_STORE_MASK(p, m, v) store_16_bits(p, m, bf16_narrow(v))
#define S_WIDEN(x)            tsr_bf16_to_f32(x)
#include "cpu/isa/store_tmpl.h"

#include "cpu/isa/store_end.h"

#include "cpu/isa/dots_tmpl.h"
#include "cpu/isa/micro_end.h"

/* ---- doubles ------------------------------------------------------------------------------------------------------
 */

#define M                     int
#define T                     double
#define NAME(x)               f64_##x
#define LANES                 4
#define V                     __m256d
#define V_ZERO()              _mm256_setzero_pd()
#define V_SET1(x)             _mm256_set1_pd(x)
#define V_LOAD(p)             _mm256_loadu_pd(p)
#define V_LOAD_MASK(m, p)     _mm256_maskload_pd(p, first_64(m))
#define V_STORE(p, v)         _mm256_storeu_pd(p, v)
#define V_STORE_MASK(p, m, v) _mm256_maskstore_pd(p, first_64(m), v)
#define V_STREAM(p, v)        _mm256_stream_pd(p, v)
#define V_ADD(a, b)           _mm256_add_pd(a, b)
#define V_RELU(v)             _mm256_max_pd(_mm256_setzero_pd(), v)
#define V_MUL(a, b)           _mm256_mul_pd(a, b)
#define V_FMA(a, b, c)        _mm256_fmadd_pd(a, b, c)
#define V_SUM(v)              f64_sum(v)

static inline double f64_sum(__m256d v)
{
    const __m128d s = _mm_add_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd(v, 1));
    return _mm_cvtsd_f64(_mm_add_sd(s, _mm_unpackhi_pd(s, s)));
}
#include "cpu/isa/micro_tmpl.h"

static inline __attribute__((always_inline)) void f64_transpose(__m256d r[4])
{
    const __m256d a = _mm256_unpacklo_pd(r[0], r[1]), b = _mm256_unpackhi_pd(r[0], r[1]);
    const __m256d c = _mm256_unpacklo_pd(r[2], r[3]), d = _mm256_unpackhi_pd(r[2], r[3]);
    r[0] = _mm256_permute2f128_pd(a, c, 0x20);
    r[1] = _mm256_permute2f128_pd(b, d, 0x20);
    r[2] = _mm256_permute2f128_pd(a, c, 0x31);
    r[3] = _mm256_permute2f128_pd(b, d, 0x31);
}
#define TRANSPOSE(r) f64_transpose(r)

#define S                     double
#define SNAME(x)              f64_##x
#define S_LOAD(p)             V_LOAD(p)
#define S_LOAD_MASK(m, p)     V_LOAD_MASK(m, p)
#define S_STORE(p, v)         V_STORE(p, v)
#define S_STORE_MASK(p, m, v) V_STORE_MASK(p, m, v)
#define S_WIDEN(x)            (x)
#include "cpu/isa/store_tmpl.h"

#include "cpu/isa/store_end.h"

#include "cpu/isa/dots_tmpl.h"
#include "cpu/isa/micro_end.h"

/* ---- 8-bit integers, as pairs of 16-bit ones ---------------------------------------------------------------------
 */

#define M                     int
#define T                     int32_t
#define NAME(x)               integers_##x
#define PANELS                1
#define LANES                 8
#define V                     __m256i
#define V_ZERO()              _mm256_setzero_si256()
#define V_SET1(x)             _mm256_set1_epi32(x)
#define V_LOAD(p)             _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define V_LOAD_MASK(m, p)     _mm256_maskload_epi32(p, first_32(m))
#define V_STORE(p, v)         _mm256_storeu_si256((__m256i *)(void *)(p), v)
#define V_STORE_MASK(p, m, v) _mm256_maskstore_epi32(p, first_32(m), v)
#define V_STREAM(p, v)        _mm256_stream_si256((__m256i *)(void *)(p), v)
#define V_ADD(a, b)           _mm256_add_epi32(a, b)
#define V_MUL(a, b)           _mm256_mullo_epi32(a, b)
#define V_MULADD(a, b, c)     _mm256_add_epi32(c, _mm256_mullo_epi32(a, b))
#define V_FMA(a, b, c)        _mm256_add_epi32(c, _mm256_madd_epi16(a, b)) /* a pair's sum is below 2^18 */
#define V_ACCUMULATE(s, a, b) ((s) = V_FMA(a, b, s), integers_keep(&(s)))
#define V_SUM(v)              integers_sum(v)
/* Adds step after step: the compiler would rather add the products of several steps first, and spill them. */
static inline __attribute__((always_inline)) void integers_keep(V *sum)
{
    __asm__("" : "+x"(*sum));
}
#include "cpu/isa/micro_tmpl.h"

static inline int32_t integers_sum(__m256i v)
{
    const __m128i four = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    const __m128i two = _mm_add_epi32(four, _mm_unpackhi_epi64(four, four));
    return _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32(two, 1)));
}

static inline __attribute__((always_inline)) __m256i widen_bytes(__m128i bytes, const int is_signed)
{
    return is_signed ? _mm256_cvtepi8_epi16(bytes) : _mm256_cvtepu8_epi16(bytes);
}

static inline __attribute__((always_inline)) void integers_transpose(__m256i r[8])
{
    __m256 t[8];
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++)
        t[i] = _mm256_castsi256_ps(r[i]);
    f32_transpose(t);
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++)
        r[i] = _mm256_castps_si256(t[i]);
}

#define W_ALONG(p, s) widen_bytes(_mm_loadu_si128((const __m128i *)(p)), s)
#define W_ACROSS(p, q, s) \
    widen_bytes(_mm_unpacklo_epi8(_mm_loadl_epi64((const __m128i *)(p)), _mm_loadl_epi64((const __m128i *)(q))), s)
#define W_TRANSPOSE(r) integers_transpose(r)
#define W_DOT(a, b, c) V_FMA(a, b, c)
#include "cpu/isa/integers_tmpl.h"

#include "cpu/isa/micro_end.h"

const tsr_isa tsr_isa_avx2 = {
    .name = "avx2",
    .f32 = {.mr = MR, .nr = 16, .lanes = 8, .kc = 256, .rows = {8, 6, 4}, .width = f32_tiles},
    .f64 = {.mr = MR, .nr = 8, .lanes = 4, .kc = 256, .rows = {8, 6, 4}, .width = f64_tiles},
    .store = {[TSR_F32] = TSR_STORE(f32, f32_many_dots, f32_chains, NULL),
              [TSR_F64] = TSR_STORE(f64, f64_many_dots, f64_chains, NULL),
              [TSR_F16] = TSR_STORE(f16, NULL, NULL, NULL),
              [TSR_BF16] = TSR_STORE(bf16, NULL, NULL, NULL)},
    .integers = &integers_code,
};
