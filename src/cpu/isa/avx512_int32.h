/* Vectors of 32-bit integers, as micro_tmpl.h wants them, for tiles of packed panels. Included once for each set of
 * tiles, beside NAME(x) and V_FMA; micro_end.h ends them. */
#define T                     int32_t
#define PANELS                1
#define LANES                 16
#define V                     __m512i
#define M                     __mmask16
#define V_ZERO()              _mm512_setzero_si512()
#define V_SET1(x)             _mm512_set1_epi32(x)
#define V_LOAD(p)             _mm512_loadu_si512(p)
#define V_LOAD_MASK(m, p)     _mm512_maskz_loadu_epi32(m, p)
#define V_STORE(p, v)         _mm512_storeu_si512(p, v)
#define V_STORE_MASK(p, m, v) _mm512_mask_storeu_epi32(p, m, v)
#define V_STREAM(p, v)        _mm512_stream_si512((__m512i *)(void *)(p), v)
#define V_ADD(a, b)           _mm512_add_epi32(a, b)
#define V_MUL(a, b)           _mm512_mullo_epi32(a, b)
#define V_MULADD(a, b, c)     _mm512_add_epi32(c, _mm512_mullo_epi32(a, b))
