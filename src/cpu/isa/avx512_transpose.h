/* Squares of 32-bit lanes; for the files that are compiled with AVX-512. */
#ifndef TSR_CPU_ISA_AVX512_TRANSPOSE_H
#define TSR_CPU_ISA_AVX512_TRANSPOSE_H

#include <immintrin.h>

/* Squares of 4 x 4 lanes, one in each quarter of four vectors. */
static inline __attribute__((always_inline)) void tsr_transpose_quarters(__m512i r[4])
{
    const __m512i a = _mm512_unpacklo_epi32(r[0], r[1]), b = _mm512_unpackhi_epi32(r[0], r[1]);
    const __m512i c = _mm512_unpacklo_epi32(r[2], r[3]), d = _mm512_unpackhi_epi32(r[2], r[3]);
    r[0] = _mm512_unpacklo_epi64(a, c);
    r[1] = _mm512_unpackhi_epi64(a, c);
    r[2] = _mm512_unpacklo_epi64(b, d);
    r[3] = _mm512_unpackhi_epi64(b, d);
}

/* Four rounds of a 16 x 16 transpose of 32-bit lanes: lanes 1, 2, 4 and 8 apart change places. */
static inline __attribute__((always_inline)) void tsr_transpose_16(__m512i r[16])
{
    __m512i t[16];
#pragma GCC unroll 4
    for (int i = 0; i < 16; i += 4)
        tsr_transpose_quarters(r + i);
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

#endif
