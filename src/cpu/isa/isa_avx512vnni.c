/* AVX512-VNNI: vpdpwssd adds the products of a lane's two pairs of 16-bit numbers to a sum, modulo 2^32: the
 * multiply-add of isa_avx512.c's products of 8-bit integers in one instruction, and so the same bits. Blocks take
 * vpdpbusd, four bytes a lane. */
#include "cpu/isa/isa.h"

#include <immintrin.h>
#include <string.h>

#define FETCH_TO_WRITE(p)     __asm__("prefetchw %0" : : "m"(*(p)))
#define MR                    12
#define M_FIRST(n)            ((M)((1u << (unsigned)(n)) - 1u))
#define INTEGERS_FMA(a, b, c) _mm512_dpwssd_epi32(c, a, b)
#define INTEGERS_CODE         tsr_integers_avx512vnni
#include "cpu/isa/avx512_quads.h"
#define INTEGERS_QUADS &quads_code
#include "cpu/isa/avx512_integers.h"
