/* Plain C with vectors of 16 bytes, which every compiler maps to what the processor has: SSE2 on x86-64, NEON on
 * AArch64 (where the multiply-adds fuse), scalar code elsewhere. The tile is 6 x 8 floats or 6 x 4 doubles. */
#include "cpu/isa/isa.h"

#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#define FETCH_TO_WRITE(p) __builtin_prefetch(p, 1)
#define MR                6
#define ZEN4              0

/* Masks are counts of lanes. */
#define M          int
#define M_FIRST(n) (n)

/* ---- floats -------------------------------------------------------------------------------------------------------
 */

typedef float f32_vector __attribute__((vector_size(16)));

#define T                     float
#define NAME(x)               f32_##x
#define RANK_K_UNROLLED       0
#define LANES                 4
#define V                     f32_vector
#define V_ZERO()              ((V){0})
#define V_SET1(x)             f32_set1(x)
#define V_LOAD(p)             f32_load(p)
#define V_LOAD_MASK(m, p)     f32_load_some(p, m)
#define V_STORE(p, v)         f32_store_some(p, LANES, v)
#define V_STORE_MASK(p, m, v) f32_store_some(p, m, v)
#define V_STREAM(p, v)        V_STORE(p, v)
#define V_ADD(a, b)           ((a) + (b))
#define V_RELU(v)             f32_relu(v)
#define V_MUL(a, b)           ((a) * (b))
#define V_FMA(a, b, c)        ((a) * (b) + (c))
#define V_SUM(v)              (((v)[0] + (v)[1]) + ((v)[2] + (v)[3]))

static inline V f32_set1(float x)
{
    return (V){x, x, x, x};
}

static inline V f32_relu(V v)
{
    for (int i = 0; i < LANES; i++)
        v[i] = v[i] < 0 ? 0 : v[i];
    return v;
}

static inline V f32_load(const float *from)
{
    V v;
    memcpy(&v, from, sizeof v);
    return v;
}

static inline V f32_load_some(const float *from, int n)
{
    float all[LANES] = {0};
    for (int i = 0; i < n; i++)
        all[i] = from[i];
    return f32_load(all);
}

static inline void f32_store_some(float *to, int n, V v)
{
    memcpy(to, &v, (size_t)n * sizeof(float));
}

static inline void f32_transpose(V r[LANES])
{
    V t[LANES];
    memcpy(t, r, sizeof t);
    for (int i = 0; i < LANES; i++)
        r[i] = (V){t[0][i], t[1][i], t[2][i], t[3][i]};
}
#define TRANSPOSE(r) f32_transpose(r)
#define UNROLL       2 /* smaller code: nobody takes this where there is better */
#include "cpu/isa/micro_tmpl.h"

#define S                     float
#define SNAME(x)              f32_##x
#define S_LOAD(p)             V_LOAD(p)
#define S_LOAD_MASK(m, p)     V_LOAD_MASK(m, p)
#define S_STORE(p, v)         V_STORE(p, v)
#define S_STORE_MASK(p, m, v) V_STORE_MASK(p, m, v)
#define S_WIDEN(x)            (x)
#include "cpu/isa/store_tmpl.h"

#include "cpu/isa/store_end.h"

static inline V f16_load(const uint16_t *from, int n)
{
    float all[LANES] = {0};
    for (int i = 0; i < n; i++)
        all[i] = tsr_f16_to_f32(from[i]);
    return f32_load(all);
}

static inline void f16_store(uint16_t *to, int n, V v)
{
    for (int i = 0; i < n; i++)
        to[i] = tsr_f32_to_f16(v[i]);
}

#define S                     uint16_t
#define SNAME(x)              f16_##x
#define S_LOAD(p)             f16_load(p, LANES)
#define S_LOAD_MASK(m, p)     f16_load(p, m)
#define S_STORE(p, v)         f16_store(p, LANES, v)
#define S_STORE_MASK(p, m, v) f16_store(p, m, v)
#define S_WIDEN(x)            tsr_f16_to_f32(x)
#include "cpu/isa/store_tmpl.h"

#include "cpu/isa/store_end.h"

static inline V bf16_load(const uint16_t *from, int n)
{
    float all[LANES] = {0};
    for (int i = 0; i < n; i++)
        all[i] = tsr_bf16_to_f32(from[i]);
    return f32_load(all);
}

static inline void bf16_store(uint16_t *to, int n, V v)
{
    for (int i = 0; i < n; i++)
        to[i] = tsr_f32_to_bf16(v[i]);
}

#define S                     uint16_t
#define SNAME(x)              bf16_##x
#define S_LOAD(p)             bf16_load(p, LANES)
#define S_LOAD_MASK(m, p)     bf16_load(p, m)
#define S_STORE(p, v)         bf16_store(p, LANES, v)
#define S_STORE_MASK(p, m, v) bf16_store(p, m, v)
#define S_WIDEN(x)            tsr_bf16_to_f32(x)
#include "cpu/isa/store_tmpl.h"

#include "cpu/isa/store_end.h"

#include "cpu/isa/dots_tmpl.h"
#include "cpu/isa/micro_end.h"

/* ---- doubles ------------------------------------------------------------------------------------------------------
 */

typedef double f64_vector __attribute__((vector_size(16)));

#define M                     int
#define T                     double
#define NAME(x)               f64_##x
#define LANES                 2
#define V                     f64_vector
#define V_ZERO()              ((V){0})
#define V_SET1(x)             f64_set1(x)
#define V_LOAD(p)             f64_load(p)
#define V_LOAD_MASK(m, p)     f64_load_some(p, m)
#define V_STORE(p, v)         f64_store_some(p, LANES, v)
#define V_STORE_MASK(p, m, v) f64_store_some(p, m, v)
#define V_STREAM(p, v)        V_STORE(p, v)
#define V_ADD(a, b)           ((a) + (b))
#define V_RELU(v)             f64_relu(v)
#define V_MUL(a, b)           ((a) * (b))
#define V_FMA(a, b, c)        ((a) * (b) + (c))
#define V_SUM(v)              ((v)[0] + (v)[1])

static inline V f64_set1(double x)
{
    return (V){x, x};
}

static inline V f64_relu(V v)
{
    for (int i = 0; i < LANES; i++)
        v[i] = v[i] < 0 ? 0 : v[i];
    return v;
}

static inline V f64_load(const double *from)
{
    V v;
    memcpy(&v, from, sizeof v);
    return v;
}

static inline V f64_load_some(const double *from, int n)
{
    return (V){n > 0 ? from[0] : 0, n > 1 ? from[1] : 0};
}

static inline void f64_store_some(double *to, int n, V v)
{
    memcpy(to, &v, (size_t)n * sizeof(double));
}

static inline void f64_transpose(V r[LANES])
{
    const V a = r[0], b = r[1];
    r[0] = (V){a[0], b[0]};
    r[1] = (V){a[1], b[1]};
}
#define TRANSPOSE(r) f64_transpose(r)
#define UNROLL       2 /* smaller code: nobody takes this where there is better */
#include "cpu/isa/micro_tmpl.h"

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

typedef int32_t integers_vector __attribute__((vector_size(16)));

#define M                     int
#define T                     int32_t
#define NAME(x)               integers_##x
#define PANELS                1
#define LANES                 4
#define V                     integers_vector
#define V_ZERO()              ((V){0})
#define V_SET1(x)             integers_set1(x)
#define V_LOAD(p)             integers_load(p)
#define V_LOAD_MASK(m, p)     integers_load_some(p, m)
#define V_STORE(p, v)         integers_store_some(p, LANES, v)
#define V_STORE_MASK(p, m, v) integers_store_some(p, m, v)
#define V_STREAM(p, v)        V_STORE(p, v)
#define V_ADD(a, b)           ((V)((unsigned_vector)(a) + (unsigned_vector)(b)))
#define V_MUL(a, b)           ((V)((unsigned_vector)(a) * (unsigned_vector)(b)))
#define V_MULADD(a, b, c)     V_ADD(c, V_MUL(a, b))
#define V_FMA(a, b, c)        V_ADD(c, integers_multiply(a, b))
#define V_SUM(v)              integers_sum(v)

typedef uint32_t unsigned_vector __attribute__((vector_size(16))); /* wraps around */

static inline V integers_set1(int32_t x)
{
    return (V){x, x, x, x};
}

static inline V integers_load(const void *from)
{
    V v;
    memcpy(&v, from, sizeof v);
    return v;
}

static inline V integers_load_some(const int32_t *from, int n)
{
    int32_t all[LANES] = {0};
    for (int i = 0; i < n; i++)
        all[i] = from[i];
    return integers_load(all);
}

static inline void integers_store_some(int32_t *to, int n, V v)
{
    memcpy(to, &v, (size_t)n * sizeof(int32_t));
}

static inline int32_t integers_sum(V v)
{
    const unsigned_vector u = (unsigned_vector)v;
    return (int32_t)(u[0] + u[1] + u[2] + u[3]);
}

/* Products of the two halves of each lane, added. */
static inline V integers_multiply(V a, V b)
{
#if defined(__SSE2__)
    return (V)_mm_madd_epi16((__m128i)a, (__m128i)b);
#else
    const V low = ((V)((unsigned_vector)a << 16) >> 16) * ((V)((unsigned_vector)b << 16) >> 16);
    return low + (a >> 16) * (b >> 16);
#endif
}
#define UNROLL 2
#include "cpu/isa/micro_tmpl.h"

static inline V widen_bytes(const void *even, const void *odd, int step, int is_signed)
{
    const uint8_t *const p = even, *const q = odd;
    int16_t all[2 * LANES];
    for (int i = 0; i < LANES; i++) {
        all[2 * i] = (int16_t)(is_signed ? (int8_t)p[i * step] : p[i * step]);
        all[2 * i + 1] = (int16_t)(is_signed ? (int8_t)q[i * step] : q[i * step]);
    }
    return integers_load(all);
}

static inline void integers_transpose(V r[LANES])
{
    V t[LANES];
    memcpy(t, r, sizeof t);
    for (int i = 0; i < LANES; i++)
        r[i] = (V){t[0][i], t[1][i], t[2][i], t[3][i]};
}

#define W_ALONG(p, s)     widen_bytes(p, (const uint8_t *)(p) + 1, 2, s)
#define W_ACROSS(p, q, s) widen_bytes(p, q, 1, s)
#define W_TRANSPOSE(r)    integers_transpose(r)
#define W_DOT(a, b, c)    V_FMA(a, b, c)
#include "cpu/isa/integers_tmpl.h"

#include "cpu/isa/micro_end.h"

const tsr_isa tsr_isa_plain = {
    .name = "plain",
    .f32 = {.mr = MR, .nr = 8, .lanes = 4, .kc = 256, .rows = {8, 6, 4}, .width = f32_tiles},
    .f64 = {.mr = MR, .nr = 4, .lanes = 2, .kc = 256, .rows = {8, 6, 4}, .width = f64_tiles},
    .store = {[TSR_F32] = TSR_STORE(f32, f32_many_dots, f32_chains, NULL),
              [TSR_F64] = TSR_STORE(f64, f64_many_dots, f64_chains, NULL),
              [TSR_F16] = TSR_STORE(f16, NULL, NULL, NULL),
              [TSR_BF16] = TSR_STORE(bf16, NULL, NULL, NULL)},
    .integers = &integers_code,
};
