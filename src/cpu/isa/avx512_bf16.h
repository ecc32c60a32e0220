/* Sixteen bf16 elements to floats and back, for files that are compiled for AVX-512. */
#ifndef TSR_CPU_ISA_AVX512_BF16_H
#define TSR_CPU_ISA_AVX512_BF16_H

#include <immintrin.h>

static inline __m512 tsr_bf16_widen(__m256i bits)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
}

/* To nearest, ties to even, by adding just below half an ulp and the lowest kept bit; a NaN is kept and made quiet. */
static inline __m256i tsr_bf16_narrow(__m512 v)
{
    const __m512i bits = _mm512_castps_si512(v);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const __m512i round = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
    const __mmask16 nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
    const __m512i kept = _mm512_mask_or_epi32(round, nan, bits, _mm512_set1_epi32(0x400000));
    return _mm512_cvtepi32_epi16(_mm512_srli_epi32(kept, 16));
}

#endif
