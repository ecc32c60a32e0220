/* Products of 8-bit integers with AVX-512 (integers_tmpl.h), as pairs of 16-bit ones; for the files that are compiled
 * with it. The includer defines INTEGERS_FMA(a, b, c), which adds the products of a lane's pairs to c, and what
 * micro_tmpl.h wants of all types. */
#include "cpu/isa/avx512_transpose.h"

#define NAME(x) integers_##x
#include "cpu/isa/avx512_int32.h"
#define V_FMA(a, b, c)        INTEGERS_FMA(a, b, c)
#define V_ACCUMULATE(s, a, b) ((s) = V_FMA(a, b, s), integers_keep(&(s)))
#define V_SUM(v)              _mm512_reduce_add_epi32(v)

/* Adds step after step: the compiler would rather add the products of several steps first, and spill them. */
static inline __attribute__((always_inline)) void integers_keep(V *sum)
{
    __asm__("" : "+v"(*sum));
}
#include "cpu/isa/micro_tmpl.h"

static inline __attribute__((always_inline)) __m512i widen_bytes(__m256i bytes, const int is_signed)
{
    return is_signed ? _mm512_cvtepi8_epi16(bytes) : _mm512_cvtepu8_epi16(bytes);
}

/* Bytes of two steps of K, one of each after the other. */
static inline __attribute__((always_inline)) __m256i zip_bytes(__m128i even, __m128i odd)
{
    return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_unpacklo_epi8(even, odd)), _mm_unpackhi_epi8(even, odd),
                                   1);
}

#define W_ALONG(p, s) widen_bytes(_mm256_loadu_si256((const __m256i *)(p)), s)
#define W_ACROSS(p, q, s) \
    widen_bytes(zip_bytes(_mm_loadu_si128((const __m128i *)(p)), _mm_loadu_si128((const __m128i *)(q))), s)
#define W_TRANSPOSE(r) tsr_transpose_16(r)
#define W_DOT(a, b, c) V_FMA(a, b, c)
#include "cpu/isa/integers_tmpl.h"

#include "cpu/isa/micro_end.h"
#undef INTEGERS_FMA
