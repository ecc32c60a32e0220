/* NEON (Advanced SIMD of AArch64): 32 registers of 4 floats or 2 doubles. 24 accumulators, 2 vectors of B and the
 * broadcast of A leave 5 over; the tile is 12 x 8 floats or 12 x 4 doubles. */
#include "cpu/isa/isa.h"

#include <arm_neon.h>
#include <string.h>

#define FETCH_TO_WRITE(p) __builtin_prefetch(p, 1)
#define MR                12
#define ZEN4              0

/* Masks are counts of lanes. */
#define M          int
#define M_FIRST(n) (n)

/* ---- floats -------------------------------------------------------------------------------------------------------
 */

#define T                     float
#define NAME(x)               f32_##x
#define RANK_K_UNROLLED       4
#define LANES                 4
#define V                     float32x4_t
#define V_ZERO()              vdupq_n_f32(0)
#define V_SET1(x)             vdupq_n_f32(x)
#define V_LOAD(p)             vld1q_f32(p)
#define V_LOAD_MASK(m, p)     f32_load_some(p, m)
#define V_STORE(p, v)         vst1q_f32(p, v)
#define V_STORE_MASK(p, m, v) f32_store_some(p, m, v)
#define V_STREAM(p, v)        V_STORE(p, v)
#define V_ADD(a, b)           vaddq_f32(a, b)
#define V_RELU(v)             vbslq_f32(vcltzq_f32(v), vdupq_n_f32(0), v)
#define V_MUL(a, b)           vmulq_f32(a, b)
#define V_FMA(a, b, c)        vfmaq_f32(c, a, b)
#define V_SUM(v)              vaddvq_f32(v)

static inline float32x4_t f32_load_some(const float *from, int n)
{
    float all[LANES] = {0};
    for (int i = 0; i < n; i++)
        all[i] = from[i];
    return vld1q_f32(all);
}

static inline void f32_store_some(float *to, int n, float32x4_t v)
{
    float all[LANES];
    vst1q_f32(all, v);
    for (int i = 0; i < n; i++)
        to[i] = all[i];
}

static inline void f32_transpose(float32x4_t r[LANES])
{
    const float32x4x2_t top = vtrnq_f32(r[0], r[1]), low = vtrnq_f32(r[2], r[3]);
    r[0] = vcombine_f32(vget_low_f32(top.val[0]), vget_low_f32(low.val[0]));
    r[1] = vcombine_f32(vget_low_f32(top.val[1]), vget_low_f32(low.val[1]));
    r[2] = vcombine_f32(vget_high_f32(top.val[0]), vget_high_f32(low.val[0]));
    r[3] = vcombine_f32(vget_high_f32(top.val[1]), vget_high_f32(low.val[1]));
}
#define TRANSPOSE(r) f32_transpose(r)
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

static inline uint16x4_t load_16_bits(const uint16_t *from, int n)
{
    uint16_t all[LANES] = {0};
    for (int i = 0; i < n; i++)
        all[i] = from[i];
    return vld1_u16(all);
}

static inline void store_16_bits(uint16_t *to, int n, uint16x4_t v)
{
    uint16_t all[LANES];
    vst1_u16(all, v);
    for (int i = 0; i < n; i++)
        to[i] = all[i];
}

static inline float32x4_t f16_widen(uint16x4_t bits)
{
    return vcvt_f32_f16(vreinterpret_f16_u16(bits));
}

static inline uint16x4_t f16_narrow(float32x4_t v)
{
    return vreinterpret_u16_f16(vcvt_f16_f32(v));
}

#define S                     uint16_t
#define SNAME(x)              f16_##x
#define S_LOAD(p)             f16_widen(vld1_u16(p))
#define S_LOAD_MASK(m, p)     f16_widen(load_16_bits(p, m))
#define S_STORE(p, v)         vst1_u16(p, f16_narrow(v))
#define S_STORE_MASK(p, m, v) store_16_bits(p, m, f16_narrow(v))
#define S_WIDEN(x)            tsr_f16_to_f32(x)
#include "cpu/isa/store_tmpl.h"

#include "cpu/isa/store_end.h"

static inline float32x4_t bf16_widen(uint16x4_t bits)
{
    return vreinterpretq_f32_u32(vshll_n_u16(bits, 16));
}

/* To nearest, ties to even, by adding just below half an ulp and the lowest kept bit; a NaN is kept and made quiet. */
static inline uint16x4_t bf16_narrow(float32x4_t v)
{
    const uint32x4_t bits = vreinterpretq_u32_f32(v);
    const uint32x4_t odd = vandq_u32(vshrq_n_u32(bits, 16), vdupq_n_u32(1));
    const uint32x4_t round = vaddq_u32(bits, vaddq_u32(odd, vdupq_n_u32(0x7fff)));
    const uint32x4_t quiet = vorrq_u32(bits, vdupq_n_u32(0x400000));
    return vshrn_n_u32(vbslq_u32(vceqq_f32(v, v), round, quiet), 16);
}

#define S                     uint16_t
#define SNAME(x)              bf16_##x
#define S_LOAD(p)             bf16_widen(vld1_u16(p))
#define S_LOAD_MASK(m, p)     bf16_widen(load_16_bits(p, m))
#define S_STORE(p, v)         vst1_u16(p, bf16_narrow(v))
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
#define LANES                 2
#define V                     float64x2_t
#define V_ZERO()              vdupq_n_f64(0)
#define V_SET1(x)             vdupq_n_f64(x)
#define V_LOAD(p)             vld1q_f64(p)
#define V_LOAD_MASK(m, p)     f64_load_some(p, m)
#define V_STORE(p, v)         vst1q_f64(p, v)
#define V_STORE_MASK(p, m, v) f64_store_some(p, m, v)
#define V_STREAM(p, v)        V_STORE(p, v)
#define V_ADD(a, b)           vaddq_f64(a, b)
#define V_RELU(v)             vbslq_f64(vcltzq_f64(v), vdupq_n_f64(0), v)
#define V_MUL(a, b)           vmulq_f64(a, b)
#define V_FMA(a, b, c)        vfmaq_f64(c, a, b)
#define V_SUM(v)              vaddvq_f64(v)

static inline float64x2_t f64_load_some(const double *from, int n)
{
    const double all[LANES] = {n > 0 ? from[0] : 0, n > 1 ? from[1] : 0};
    return vld1q_f64(all);
}

static inline void f64_store_some(double *to, int n, float64x2_t v)
{
    if (n > 0)
        vst1q_lane_f64(to, v, 0);
    if (n > 1)
        vst1q_lane_f64(to + 1, v, 1);
}

static inline void f64_transpose(float64x2_t r[LANES])
{
    const float64x2_t a = r[0], b = r[1];
    r[0] = vtrn1q_f64(a, b);
    r[1] = vtrn2q_f64(a, b);
}
#define TRANSPOSE(r) f64_transpose(r)
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

/* Half a vector of B has the even steps of LANES columns, the other half the odd ones: then a multiply-add with one
 * lane of A takes four columns, as one in f32 does. */
#define M                     int
#define T                     int32_t
#define NAME(x)               integers_##x
#define PANELS                1
#define LANES                 4
#define V                     int32x4_t
#define V_ZERO()              vdupq_n_s32(0)
#define V_SET1(x)             vdupq_n_s32(x)
#define V_LOAD(p)             vld1q_s32(p)
#define V_LOAD_MASK(m, p)     integers_load_some(p, m)
#define V_STORE(p, v)         vst1q_s32(p, v)
#define V_STORE_MASK(p, m, v) integers_store_some(p, m, v)
#define V_STREAM(p, v)        V_STORE(p, v)
#define V_ADD(a, b)           vaddq_s32(a, b)
#define V_MUL(a, b)           vmulq_s32(a, b)
#define V_MULADD(a, b, c)     vmlaq_s32(c, a, b)
#define V_FMA(a, b, c)        integers_fma(a, b, c)
#define V_ACCUMULATE(s, a, b) ((s) = V_FMA(a, b, s), integers_keep(&(s)))
#define V_SUM(v)              vaddvq_s32(v)

static inline int32x4_t integers_load_some(const int32_t *from, int n)
{
    int32_t all[LANES] = {0};
    for (int i = 0; i < n; i++)
        all[i] = from[i];
    return vld1q_s32(all);
}

static inline void integers_store_some(int32_t *to, int n, int32x4_t v)
{
    int32_t all[LANES];
    vst1q_s32(all, v);
    for (int i = 0; i < n; i++)
        to[i] = all[i];
}

static inline int32x4_t integers_fma(int32x4_t a, int32x4_t b, int32x4_t c)
{
    const int16x8_t pair = vreinterpretq_s16_s32(a), columns = vreinterpretq_s16_s32(b);
    const int32x4_t even = vmlal_laneq_s16(c, vget_low_s16(columns), pair, 0);
    return vmlal_high_laneq_s16(even, columns, pair, 1);
}
/* Adds step after step: the compiler would rather add the products of several steps first, and spill them. */
static inline __attribute__((always_inline)) void integers_keep(V *sum)
{
    __asm__("" : "+w"(*sum));
}
#include "cpu/isa/micro_tmpl.h"

static inline int32x4_t widen_bytes(uint8x8_t bytes, const int is_signed)
{
    return is_signed ? vreinterpretq_s32_s16(vmovl_s8(vreinterpret_s8_u8(bytes)))
                     : vreinterpretq_s32_u16(vmovl_u8(bytes));
}

static inline uint8x8_t join_bytes(const void *even, const void *odd)
{
    uint8_t all[2 * LANES];
    memcpy(all, even, LANES);
    memcpy(all + LANES, odd, LANES);
    return vld1_u8(all);
}

static inline uint8x8_t zip_bytes(const void *even, const void *odd)
{
    const uint8x8_t both = join_bytes(even, odd);
    return vzip1_u8(both, vext_u8(both, both, LANES));
}

static inline int32x4_t integers_dot(int32x4_t a, int32x4_t b, int32x4_t c)
{
    const int16x8_t x = vreinterpretq_s16_s32(a), y = vreinterpretq_s16_s32(b);
    return vmlal_high_s16(vmlal_s16(c, vget_low_s16(x), vget_low_s16(y)), x, y);
}

static inline void integers_transpose(int32x4_t r[LANES])
{
    float32x4_t t[LANES];
    for (int i = 0; i < LANES; i++)
        t[i] = vreinterpretq_f32_s32(r[i]);
    f32_transpose(t);
    for (int i = 0; i < LANES; i++) {
        const int16x8_t pairs = vreinterpretq_s16_f32(t[i]);
        r[i] = vreinterpretq_s32_s16(vuzp1q_s16(pairs, vextq_s16(pairs, pairs, 1)));
    }
}

#define W_ALONG(p, s)     widen_bytes(vld1_u8((const uint8_t *)(p)), s)
#define W_ACROSS(p, q, s) widen_bytes(join_bytes(p, q), s)
#define W_PAIRS(p, q, s)  widen_bytes(zip_bytes(p, q), s)
#define W_TRANSPOSE(r)    integers_transpose(r)
#define W_DOT(a, b, c)    integers_dot(a, b, c)
#include "cpu/isa/integers_tmpl.h"

#include "cpu/isa/micro_end.h"

const tsr_isa tsr_isa_neon = {
    .name = "neon",
    .f32 = {.mr = MR, .nr = 8, .lanes = 4, .kc = 256, .rows = {16, 12, 8}, .width = f32_tiles},
    .f64 = {.mr = MR, .nr = 4, .lanes = 2, .kc = 256, .rows = {16, 12, 8}, .width = f64_tiles},
    .store = {[TSR_F32] = TSR_STORE(f32, f32_many_dots, f32_chains, NULL),
              [TSR_F64] = TSR_STORE(f64, f64_many_dots, f64_chains, NULL),
              [TSR_F16] = TSR_STORE(f16, NULL, NULL, NULL),
              [TSR_BF16] = TSR_STORE(bf16, NULL, NULL, NULL)},
    .integers = &integers_code,
};
