/* Results in 8-bit floats and scales of rows, columns and blocks, through the public header alone: on "cpu" and, where
 * this build has its kernels, in the emulator. Scales are powers of two and elements small whole numbers wherever a
 * result is compared to the bit. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/dtype.h"
#include "tessera.h"

typedef struct contexts {
    tsr_context *all[2];
    int count;
} contexts;

static int open_all(void **state)
{
    static contexts c;
    if (tsr_context_create("cpu", NULL, &c.all[c.count]) == TSR_OK)
        c.count++;
    if (tsr_context_create("emu", NULL, &c.all[c.count]) == TSR_OK)
        c.count++;
    *state = &c;
    return c.count > 0 ? 0 : -1;
}

static int close_all(void **state)
{
    contexts *c = *state;
    while (c->count > 0)
        tsr_context_destroy(c->all[--c->count]);
    return 0;
}

/* ---- rounding ---- */

/* The formats by their definition (OCP 8-bit floating point, 2023, table 1), apart from core/dtype.c. */
static double value_of(tsr_dtype dtype, int code)
{
    const int fraction_bits = dtype == TSR_E4M3 ? 3 : 2, bias = dtype == TSR_E4M3 ? 7 : 15;
    const int rest = code & 0x7f, exponent = rest >> fraction_bits, fraction = rest % (1 << fraction_bits);
    const double magnitude = exponent == 0 ? ldexp(fraction, 1 - bias - fraction_bits)
                                           : ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
    return code & 0x80 ? -magnitude : magnitude;
}

/* The nearest code, by comparing distances; of two, the even one. `special`: among these is the first number that the
 * type has not, and what is rounded to it is infinite or NaN; otherwise numbers end at the largest one. */
static int nearest_code(tsr_dtype dtype, double value, int special)
{
    const int last = dtype == TSR_E4M3 ? 0x7e : 0x7b, sign = signbit(value) ? 0x80 : 0;
    if (isnan(value))
        return 0x7f;
    if (!special && fabs(value) >= value_of(dtype, last))
        return sign | last;
    static double numbers[2][128];
    double *const of = numbers[dtype == TSR_E5M2];
    for (int code = 127; code >= 0 && of[1] == 0; code--)
        of[code] = value_of(dtype, code);
    int best = 0;
    for (int code = 1; code <= last + special; code++) { /* last + 1 stands for what is beyond */
        const double old = fabs(fabs(value) - of[best]), now = fabs(fabs(value) - of[code]);
        if (now > old)
            break; /* and further away from there on */
        if (now < old || code % 2 == 0)
            best = code;
    }
    if (fabs(value) >= value_of(dtype, last + 1))
        best = last + 1;
    return best <= last ? sign | best : dtype == TSR_E4M3 ? 0x7f : sign | 0x7c;
}

static int same_code(tsr_dtype dtype, int got, int want)
{
    const int infinity = dtype == TSR_E4M3 ? 0x7e : 0x7c; /* codes above are NaN */
    return got == want || ((got & 0x7f) > infinity && (want & 0x7f) > infinity);
}

static float float_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Each code, the middle between each two, and the floats next to these; and floats of all sizes. */
static void host_rounding(void **state)
{
    (void)state;
    for (int t = 0; t < 2; t++) {
        const tsr_dtype dtype = t ? TSR_E5M2 : TSR_E4M3;
        uint8_t got;
        for (int i = 0; i < 256; i++) {
            if ((i & 0x7f) >= (t ? 0x7c : 0x7f))
                continue;
            const float value = (float)value_of(dtype, i);
            const float middle = (float)((value_of(dtype, i) + value_of(dtype, i + 1)) / 2);
            const float tried[] = {value,  nextafterf(value, 0),          nextafterf(value, INFINITY),
                                   middle, nextafterf(middle, -INFINITY), nextafterf(middle, INFINITY)};
            assert_true(tsr_load_element(dtype, &(uint8_t){(uint8_t)i}, 0) == (double)value);
            for (int k = 0; k < 6; k++) {
                tsr_store_saturated(dtype, &got, 0, (double)tried[k]);
                assert_int_equal(got, nearest_code(dtype, (double)tried[k], 0));
                tsr_store_element(dtype, &got, 0, (double)tried[k]);
                assert_true(same_code(dtype, got, nearest_code(dtype, (double)tried[k], 1)));
            }
        }
        for (uint64_t bits = 0; bits < (uint64_t)1 << 32; bits += 65521) {
            const double value = (double)float_of_bits((uint32_t)bits);
            tsr_store_saturated(dtype, &got, 0, value);
            assert_true(same_code(dtype, got, nearest_code(dtype, value, 0)));
            tsr_store_element(dtype, &got, 0, value);
            assert_true(same_code(dtype, got, nearest_code(dtype, value, 1)));
        }
    }
}

/* Every bf16 as a bias, times scale_d, is every upper half of a float, and with a scale other than 1 more than that. */
static void every_bf16_is_rounded(void **state)
{
    enum { N = 65536, K = 16 };
    static const float scales[] = {1.0f, 1.00390625f, 0.37f};
    static uint8_t a[K], b[N * K], d[N];
    static uint16_t bias[N];
    const contexts *c = *state;
    for (int i = 0; i < N; i++)
        bias[i] = (uint16_t)i;
    for (int i = 0; i < c->count * 2 * 2 * 3; i++) {
        if (i >= 12 && i % 3 != 1)
            continue; /* the emulator takes its time */
        const float scale = scales[i % 3];
        const tsr_dtype dtype = i / 3 % 2 ? TSR_E5M2 : TSR_E4M3;
        const int special = i / 6 % 2;
        tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_E4M3, 1, N, K);
        desc.b.trans = TSR_T;
        desc.c.dtype = desc.d.dtype = dtype;
        desc.epilogue = "acc + bias[n]";
        desc.flags = special ? TSR_OVERFLOW_SPECIAL : 0;
        tsr_run_args args = tsr_run_args_make(a, b, d);
        args.bias = bias;
        args.scale_d = &scale;
        args.alpha.value = 0;
        if (tsr_gemm(c->all[i / 12], &desc, &args) != TSR_OK)
            fail_msg("%s", tsr_last_error());
        for (int j = 0; j < N; j++) {
            const float scaled = (0.0f + tsr_bf16_to_f32(bias[j])) * scale;
            const int want = nearest_code(dtype, (double)scaled, special);
            if (!same_code(dtype, d[j], want))
                fail_msg("%s, %s: %a became %02x, not %02x", tsr_dtype_name(dtype), special ? "special" : "saturated",
                         (double)scaled, d[j], (unsigned)want);
        }
    }
}

/* ---- the greatest magnitude ---- */

static void greatest_magnitude(void **state)
{
    enum { M = 70, N = 65, K = 20 };
    static uint8_t a[M * K], b[K * N], d[M * N];
    const contexts *c = *state;
    const float scale_d = 0.25f;
    for (int x = 0; x < c->count; x++) {
        for (int i = 0; i < M * K; i++)
            tsr_store_element(TSR_E4M3, a, i, i % 3 - 1);
        for (int i = 0; i < K * N; i++)
            tsr_store_element(TSR_E5M2, b, i, i % 5 - 2);
        tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_E4M3, M, N, K);
        desc.b.dtype = TSR_E5M2;
        float amax = -1;
        double want = 0;
        for (int i = 0; i < M; i++)
            for (int j = 0; j < N; j++) {
                double sum = 0;
                for (int k = 0; k < K; k++)
                    sum += tsr_load_element(TSR_E4M3, a, i * K + k) * tsr_load_element(TSR_E5M2, b, k * N + j);
                want = fmax(want, fabs(400 * sum));
            }
        tsr_run_args args = tsr_run_args_make(a, b, d);
        args.alpha.value = 400; /* beyond what e4m3 holds: the magnitude is what there was before */
        args.scale_d = &scale_d;
        args.amax_d = &amax;
        assert_int_equal(tsr_gemm(c->all[x], &desc, &args), TSR_OK);
        assert_true((double)amax == want && want > 448);

        a[(M - 1) * K] = 0x7f; /* NaN */
        assert_int_equal(tsr_gemm(c->all[x], &desc, &args), TSR_OK);
        assert_true(isnan(amax));
        args.alpha.value = 0; /* reads no A */
        assert_int_equal(tsr_gemm(c->all[x], &desc, &args), TSR_OK);
        assert_true(amax == 0);
        desc.m = 0;
        amax = 3;
        assert_int_equal(tsr_gemm(c->all[x], &desc, &args), TSR_OK);
        assert_true(amax == 0);
    }
}

/* C of 8 bits has a scale, too. */
static void c_has_a_scale(void **state)
{
    enum { M = 5, N = 7, K = 3 };
    const contexts *c = *state;
    const float scale_c = 8, scale_d = 0.5f;
    for (int x = 0; x < c->count; x++) {
        uint8_t a[M * K], b[N * K], addend[M * N], d[M * N];
        memset(a, 0x38, sizeof a); /* 1 */
        memset(b, 0x38, sizeof b);
        for (int i = 0; i < M * N; i++)
            tsr_store_element(TSR_E5M2, addend, i, i % 4);
        tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_E4M3, M, N, K);
        desc.b.trans = TSR_T;
        desc.c.dtype = desc.d.dtype = TSR_E5M2;
        tsr_run_args args = tsr_run_args_make(a, b, d);
        args.c = addend;
        args.beta.value = 0.5;
        args.scale_c = &scale_c;
        args.scale_d = &scale_d;
        assert_int_equal(tsr_gemm(c->all[x], &desc, &args), TSR_OK);
        for (int i = 0; i < M * N; i++) {
            uint8_t want;
            tsr_store_element(TSR_E5M2, &want, 0, 0.5 * (3 + 0.5 * 8 * (i % 4)));
            assert_int_equal(d[i], want);
        }
    }
}

/* 16-bit operands give results in 8 bits, too. */
static void narrow_results_of_16_bits(void **state)
{
    const contexts *c = *state;
    const tsr_dtype types[] = {TSR_F16, TSR_BF16};
    for (int i = 0; i < c->count * 2; i++) {
        const int t = i % 2;
        uint16_t a[4], b[4];
        uint8_t d[4];
        const float scale_d = 2;
        float amax;
        for (int j = 0; j < 4; j++) {
            tsr_store_element(types[t], a, j, j);
            tsr_store_element(types[t], b, j, 1);
        }
        tsr_gemm_desc desc = tsr_gemm_desc_make(types[t], 2, 2, 2);
        desc.c.dtype = desc.d.dtype = TSR_E4M3;
        tsr_run_args args = tsr_run_args_make(a, b, d);
        args.scale_d = &scale_d;
        args.amax_d = &amax;
        assert_int_equal(tsr_gemm(c->all[i / 2], &desc, &args), TSR_OK);
        assert_true(tsr_load_element(TSR_E4M3, d, 0) == 2 && tsr_load_element(TSR_E4M3, d, 3) == 10 && amax == 5);
    }
}

/* ---- scales of rows, columns and blocks ---- */

enum { MOST_OUTER = 300, MOST_K = 300, MOST_SCALES = 2 * 3 * MOST_OUTER };

typedef struct scaled {
    int m, n, k, batch, shares_b;
    tsr_dtype ab, d;
    tsr_scale_mode mode[2];
    tsr_trans trans[2];
    size_t workspace_bytes; /* limit; 0: none given */
} scaled;

static uint8_t a_data[2 * MOST_OUTER * MOST_K], b_data[2 * MOST_OUTER * MOST_K];
static float scale_data[2][MOST_SCALES];
static _Alignas(8) unsigned char d_data[2 * MOST_OUTER * MOST_OUTER * 4];

/* Where the header says that a scale lies, in its own words. */
static int scale_at(tsr_scale_mode mode, int outer, int k, int outers, int steps)
{
    const int blocks = (steps + 127) / 128, row = (blocks + 3) / 4 * 4;
    switch (mode) {
    case TSR_SCALE_VECTOR:
        return outer;
    case TSR_SCALE_1X128:
        return k / 128 * outers + outer;
    case TSR_SCALE_128X128:
        return outer / 128 * row + k / 128;
    default:
        return 0;
    }
}

static int scales_of_one(tsr_scale_mode mode, int outers, int steps)
{
    const int blocks = (steps + 127) / 128;
    return mode == TSR_SCALE_TENSOR   ? 1
           : mode == TSR_SCALE_VECTOR ? outers
           : mode == TSR_SCALE_1X128  ? blocks * outers
                                      : (outers + 127) / 128 * ((blocks + 3) / 4 * 4);
}

static void fill_scaled(const scaled *p)
{
    for (int i = 0; i < p->batch * p->m * p->k; i++)
        tsr_store_element(p->ab, a_data, i, (i * 7 + 1) % 3 - 1);
    for (int i = 0; i < p->batch * p->n * p->k; i++)
        tsr_store_element(p->ab, b_data, i, (i * 5 + 2) % 3 - 1);
    for (int w = 0; w < 2; w++)
        for (int i = 0; i < MOST_SCALES; i++)
            scale_data[w][i] = ldexpf(1.0f, (i * 5 + w) % 4 - 2);
    /* Of each row of 128 x 128 blocks the last numbers are read by nobody. */
    for (int w = 0; w < 2; w++)
        if (p->mode[w] == TSR_SCALE_128X128)
            for (int i = 0; i < MOST_SCALES; i++)
                if (i % (((p->k + 127) / 128 + 3) / 4 * 4) >= (p->k + 127) / 128)
                    scale_data[w][i] = NAN;
}

static double expected(const scaled *p, int z, int i, int j)
{
    const int zb = p->shares_b ? 0 : z;
    const float *const sa = scale_data[0] + (p->mode[0] ? z * scales_of_one(p->mode[0], p->m, p->k) : 0);
    const float *const sb = scale_data[1] + (p->mode[1] ? zb * scales_of_one(p->mode[1], p->n, p->k) : 0);
    double sum = 0;
    for (int k = 0; k < p->k; k++)
        sum +=
            tsr_load_element(p->ab, a_data, z * p->m * p->k + (p->trans[0] == TSR_T ? k * p->m + i : i * p->k + k)) *
            (double)sa[scale_at(p->mode[0], i, k, p->m, p->k)] *
            tsr_load_element(p->ab, b_data, zb * p->n * p->k + (p->trans[1] == TSR_T ? j * p->k + k : k * p->n + j)) *
            (double)sb[scale_at(p->mode[1], j, k, p->n, p->k)];
    return sum;
}

static tsr_gemm_desc scaled_desc(const scaled *p)
{
    tsr_gemm_desc desc = tsr_gemm_desc_make(p->ab, p->m, p->n, p->k);
    desc.c.dtype = desc.d.dtype = p->d;
    desc.a.trans = p->trans[0];
    desc.b.trans = p->trans[1];
    desc.batch_count = p->batch;
    desc.a.batch_stride = (int64_t)p->m * p->k;
    desc.b.batch_stride = p->shares_b ? 0 : (int64_t)p->n * p->k;
    desc.broadcast = p->shares_b ? TSR_BROADCAST_B : 0;
    desc.c.batch_stride = desc.d.batch_stride = (int64_t)p->m * p->n;
    desc.scale_mode_a = p->mode[0];
    desc.scale_mode_b = p->mode[1];
    if (p->workspace_bytes)
        desc.workspace_limit_bytes = p->workspace_bytes;
    return desc;
}

static void check_scaled(tsr_context *context, const scaled *p)
{
    const tsr_gemm_desc desc = scaled_desc(p);
    tsr_run_args args = tsr_run_args_make(a_data, b_data, d_data);
    fill_scaled(p);
    memset(d_data, 0xff, sizeof d_data);
    args.scale_a = scale_data[0];
    args.scale_b = scale_data[1];
    args.scale_a_count = scales_of_one(p->mode[0], p->m, p->k) * (p->mode[0] ? p->batch : 1);
    args.scale_b_count = scales_of_one(p->mode[1], p->n, p->k) * (p->mode[1] && !p->shares_b ? p->batch : 1);
    if (tsr_gemm(context, &desc, &args) != TSR_OK)
        fail_msg("%s", tsr_last_error());
    for (int z = 0; z < p->batch; z++)
        for (int i = 0; i < p->m; i++)
            for (int j = 0; j < p->n; j++) {
                const int at = (z * p->m + i) * p->n + j;
                uint64_t rounded = 0;
                tsr_store_saturated(p->d, &rounded, 0, expected(p, z, i, j));
                const double want = tsr_load_element(p->d, &rounded, 0), got = tsr_load_element(p->d, d_data, at);
                if (want != got)
                    fail_msg("%s, modes %d and %d, %d x %d x %d: D[%d,%d] of problem %d: %g, expected %g",
                             tsr_dtype_name(p->ab), (int)p->mode[0], (int)p->mode[1], p->m, p->n, p->k, i, j, z, got,
                             want);
            }
}

/* Every pair of modes, with a K that ends within a block, or is shorter than one, in turns of layouts and results. */
static void every_pair_of_modes(void **state)
{
    static const tsr_dtype results[] = {TSR_F32, TSR_BF16, TSR_F16, TSR_E4M3, TSR_E5M2};
    static const int depths[] = {300, 129, 17};
    const contexts *c = *state;
    for (int x = 0; x < c->count; x++)
        for (int i = 0; i < TSR_SCALE_MODE_COUNT * TSR_SCALE_MODE_COUNT * 3; i++) {
            const scaled p = {.m = i % 3 == 1 ? 3 : 70,
                              .n = i % 3 == 2 ? 7 : 136,
                              .k = depths[i / 16],
                              .batch = 1,
                              .ab = i % 2 ? TSR_E4M3 : TSR_E5M2,
                              .d = results[i % 5],
                              .mode = {(tsr_scale_mode)(i % 4), (tsr_scale_mode)(i / 4 % 4)},
                              .trans = {i % 7 == 0 ? TSR_T : TSR_N, i % 3 == 0 ? TSR_N : TSR_T}};
            check_scaled(c->all[x], &p);
        }
}

static void integers_have_rows_and_columns(void **state)
{
    static const tsr_dtype results[] = {TSR_F32, TSR_BF16, TSR_F16};
    const contexts *c = *state;
    for (int x = 0; x < c->count; x++)
        for (int i = 0; i < 12; i++) {
            const scaled p = {.m = 70,
                              .n = 33,
                              .k = 150,
                              .batch = 1,
                              .ab = TSR_S8,
                              .d = results[i / 4],
                              .mode = {(tsr_scale_mode)(i % 2), (tsr_scale_mode)(i / 2 % 2)},
                              .trans = {TSR_N, TSR_T}};
            check_scaled(c->all[x], &p);
        }
}

static void batches_have_scales_of_their_own(void **state)
{
    const contexts *c = *state;
    for (int x = 0; x < c->count; x++)
        for (int i = 0; i < 8; i++) {
            const scaled p = {.m = 40,
                              .n = 70,
                              .k = 144,
                              .batch = 2,
                              .shares_b = i >= 4,
                              .ab = TSR_E4M3,
                              .d = TSR_F32,
                              .mode = {(tsr_scale_mode)(i % 4), (tsr_scale_mode)((i + 1) % 4)},
                              .trans = {TSR_N, TSR_T}};
            check_scaled(c->all[x], &p);
        }
}

/* Operands that do not lie along K are copied, in slices of rows or columns where the workspace is small: 256 of them
 * and the rest. */
static void slices_find_their_scales(void **state)
{
    const contexts *c = *state;
    for (int x = 0; x < c->count; x++)
        for (int i = 0; i < 6; i++) {
            const scaled p = {.m = i % 2 ? 300 : 40,
                              .n = i % 2 ? 40 : 300,
                              .k = 256,
                              .batch = 1,
                              .ab = TSR_E4M3,
                              .d = TSR_F32,
                              .mode = {i / 2 == 0   ? TSR_SCALE_128X128
                                       : i / 2 == 1 ? TSR_SCALE_1X128
                                                    : TSR_SCALE_VECTOR,
                                       i / 2 == 0   ? TSR_SCALE_128X128
                                       : i / 2 == 1 ? TSR_SCALE_1X128
                                                    : TSR_SCALE_VECTOR},
                              .trans = {i % 2 ? TSR_T : TSR_N, i % 2 ? TSR_T : TSR_N},
                              .workspace_bytes = 150000};
            check_scaled(c->all[x], &p);
        }
}

/* ---- zero points ---- */

/* s8 and u8, one zero point or one for each row and column, to s32 (which wraps), and to f32 with scales and a bias. */
static void zero_points_are_subtracted(void **state)
{
    enum { M = 70, N = 33, K = 200 };
    static uint8_t a[M * K], b[N * K], zero_a[M], zero_b[N];
    static float scale_a[M], scale_b[N], bias[N], d[M * N];
    static int32_t whole[M * N];
    const contexts *c = *state;
    for (int i = 0; i < M * K; i++)
        a[i] = (uint8_t)(i * 37 + i / 7);
    for (int i = 0; i < N * K; i++)
        b[i] = (uint8_t)(i * 91 + i / 5);
    for (int i = 0; i < M; i++)
        zero_a[i] = (uint8_t)(i * 29 + 3), scale_a[i] = ldexpf(1, i % 3 - 1);
    for (int i = 0; i < N; i++)
        zero_b[i] = (uint8_t)(i * 53 + 200), scale_b[i] = ldexpf(1, i % 4 - 2), bias[i] = (float)(i - 9);
    for (int i = 0; i < c->count * 32; i++) {
        const tsr_dtype type_a = i & 1 ? TSR_U8 : TSR_S8, type_b = i & 2 ? TSR_U8 : TSR_S8;
        const int has_a = !(i & 16) || (i & 4), has_b = !(i & 16) || (i & 8);
        const int vector_a = i >> 2 & 1, vector_b = i >> 3 & 1;
        tsr_gemm_desc desc = tsr_gemm_desc_make(type_a, M, N, K);
        desc.b.dtype = type_b;
        desc.b.trans = TSR_T;
        desc.scale_mode_a = vector_a ? TSR_SCALE_VECTOR : TSR_SCALE_TENSOR;
        desc.scale_mode_b = vector_b ? TSR_SCALE_VECTOR : TSR_SCALE_TENSOR;
        desc.c.dtype = desc.d.dtype = TSR_S32;
        tsr_run_args args = tsr_run_args_make(a, b, whole);
        args.alpha.value = 3;
        args.zero_a = has_a ? zero_a : NULL;
        args.zero_b = has_b ? zero_b : NULL;
        if (tsr_gemm(c->all[i / 32], &desc, &args) != TSR_OK)
            fail_msg("%s", tsr_last_error());
        desc.c.dtype = desc.d.dtype = TSR_F32;
        desc.epilogue = "acc + bias[n]";
        args.d = d;
        args.c = d;
        args.scale_a = scale_a;
        args.scale_b = scale_b;
        args.bias = bias;
        if (tsr_gemm(c->all[i / 32], &desc, &args) != TSR_OK)
            fail_msg("%s", tsr_last_error());
        for (int row = 0; row < M; row++)
            for (int column = 0; column < N; column++) {
                const int ra = vector_a ? row : 0, cb = vector_b ? column : 0;
                const double za = has_a ? tsr_load_element(type_a, zero_a, ra) : 0;
                const double zb = has_b ? tsr_load_element(type_b, zero_b, cb) : 0;
                double sum = 0;
                for (int k = 0; k < K; k++)
                    sum += (tsr_load_element(type_a, a, row * K + k) - za) *
                           (tsr_load_element(type_b, b, column * K + k) - zb);
                assert_int_equal(whole[row * N + column], (int32_t)(3 * sum));
                const float want = 3 * scale_a[ra] * scale_b[cb] * (float)sum + bias[column];
                assert_true(d[row * N + column] == want);
            }
    }
}

/* ---- wrong calls ---- */

static void expect(tsr_context *context, const tsr_gemm_desc *desc, const tsr_run_args *args, tsr_status status,
                   const char *words)
{
    assert_int_equal(tsr_gemm(context, desc, args), status);
    if (status != TSR_OK && !strstr(tsr_last_error(), words))
        fail_msg("\"%s\" does not say \"%s\"", tsr_last_error(), words);
}

static void wrong_calls_are_named(void **state)
{
    const contexts *c = *state;
    tsr_context *const context = c->all[0];
    static float floats[64];
    for (int i = 0; i < 64; i++)
        floats[i] = 1;
    tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_E4M3, 2, 3, 130);
    desc.b.trans = TSR_T;
    desc.c.dtype = desc.d.dtype = TSR_E4M3;
    tsr_run_args args = tsr_run_args_make(a_data, b_data, d_data);
    memset(a_data, 0, sizeof a_data);
    memset(b_data, 0, sizeof b_data);

    desc.scale_mode_a = (tsr_scale_mode)7;
    expect(context, &desc, &args, TSR_INVALID_ARGUMENT, "scale_mode_a = 7: not a mode of scales");
    desc.scale_mode_a = TSR_SCALE_1X128;
    desc.compute = TSR_COMPUTE_FAST;
    expect(context, &desc, &args, TSR_UNSUPPORTED,
           "scale_mode_a: scales of blocks multiply sums that compute = fast leaves whole");
    desc.compute = TSR_COMPUTE_DEFAULT;
    args.scale_a = floats;
    args.scale_a_count = 2;
    expect(context, &desc, &args, TSR_INVALID_ARGUMENT, "scale_a_count = 2: must be 4, as scale_mode_a says");
    args.scale_a_count = 4;
    expect(context, &desc, &args, TSR_OK, "");
    args.scale_b_count = 1;
    expect(context, &desc, &args, TSR_INVALID_ARGUMENT, "scale_b_count = 1: must be 0 where scale_b is NULL");
    args.scale_b_count = 0;
    args.scale_d = (const char *)floats + 2;
    expect(context, &desc, &args, TSR_INVALID_ARGUMENT, "not aligned to the 4 bytes of a float");
    args.scale_d = NULL;
    args.amax_d = d_data + 4;
    expect(context, &desc, &args, TSR_INVALID_ARGUMENT, "amax_d: overlaps D");
    args.amax_d = floats + 3;
    expect(context, &desc, &args, TSR_INVALID_ARGUMENT, "amax_d: overlaps scale_a");
    args.scale_d = args.amax_d = floats + 4;
    expect(context, &desc, &args, TSR_INVALID_ARGUMENT, "amax_d: overlaps scale_d");
    args.scale_d = args.amax_d = NULL;

    args.zero_b = floats;
    expect(context, &desc, &args, TSR_UNSUPPORTED, "zero_b: only s8 and u8 have zero points, not e4m3");
    args.zero_b = NULL;

    floats[3] = NAN;
    expect(context, &desc, &args, TSR_INVALID_ARGUMENT, "scale_a[3] = nan: must be a number");
    floats[3] = 1;
    const float nan = NAN;
    args.scale_d = &nan;
    expect(context, &desc, &args, TSR_INVALID_ARGUMENT, "scale_d = nan: must be a number");
    args.scale_d = NULL;
    args.scale_c = &nan; /* of a C that nobody reads */
    expect(context, &desc, &args, TSR_OK, "");
    args.beta.value = 1;
    args.c = args.d;
    expect(context, &desc, &args, TSR_INVALID_ARGUMENT, "scale_c = nan: must be a number");
    args.beta.value = 0;
    args.scale_c = NULL;

    desc.c.dtype = desc.d.dtype = TSR_BF16;
    args.scale_d = floats;
    expect(context, &desc, &args, TSR_UNSUPPORTED, "scale_d: only of e4m3 and e5m2, not of a D of bf16");
    args.scale_d = NULL;
    args.amax_d = floats;
    expect(context, &desc, &args, TSR_UNSUPPORTED, "amax_d: only of e4m3 and e5m2, not of a D of bf16");
    args.amax_d = NULL;

    desc.a.dtype = desc.b.dtype = TSR_S8;
    desc.scale_mode_b = TSR_SCALE_128X128;
    desc.scale_mode_a = TSR_SCALE_TENSOR;
    args.scale_a = NULL;
    args.scale_a_count = 0;
    expect(context, &desc, &args, TSR_UNSUPPORTED, "scale_mode_b: scales of blocks are for e4m3 and e5m2, not s8");
    desc.a.dtype = desc.b.dtype = TSR_BF16;
    desc.scale_mode_b = TSR_SCALE_VECTOR;
    expect(context, &desc, &args, TSR_UNSUPPORTED, "scale_mode_b: only operands of 8 bits have scales, not bf16");
}

/* In memory that the library does not look into, a NaN makes NaN of what it has a part in. */
static void device_scales_may_be_nan(void **state)
{
    const contexts *c = *state;
    for (int x = 0; x < c->count; x++) {
        tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_E4M3, 3, 4, 16);
        desc.b.trans = TSR_T;
        desc.c.dtype = desc.d.dtype = TSR_F32;
        desc.a.memory = desc.b.memory = desc.c.memory = desc.d.memory = TSR_DEVICE;
        desc.a.align_bytes = desc.b.align_bytes = 16;
        desc.scale_mode_a = TSR_SCALE_VECTOR;
        void *device[4];
        const float scales[3] = {1, NAN, 2};
        float d[12];
        for (int i = 0; i < 4; i++)
            assert_int_equal(tsr_device_alloc(c->all[x], 256, &device[i]), TSR_OK);
        uint8_t ones[64];
        memset(ones, 0x38, sizeof ones);
        assert_int_equal(tsr_upload(c->all[x], device[0], ones, 48), TSR_OK);
        assert_int_equal(tsr_upload(c->all[x], device[1], ones, 64), TSR_OK);
        assert_int_equal(tsr_upload(c->all[x], device[2], scales, sizeof scales), TSR_OK);
        tsr_run_args args = tsr_run_args_make(device[0], device[1], device[3]);
        args.scale_a = device[2];
        if (tsr_gemm(c->all[x], &desc, &args) != TSR_OK)
            fail_msg("%s", tsr_last_error());
        assert_int_equal(tsr_download(c->all[x], d, device[3], sizeof d), TSR_OK);
        for (int i = 0; i < 12; i++)
            assert_true(i / 4 == 1 ? isnan(d[i]) : d[i] == (i / 4 ? 32.0f : 16.0f));
        for (int i = 0; i < 4; i++)
            assert_int_equal(tsr_device_free(c->all[x], device[i]), TSR_OK);
    }
}

/* One plan, run again and again while scales in device memory change: each run has those that are there when it runs.
 */
static void runs_see_scales_as_they_are(void **state)
{
    enum { M = 70, N = 72, K = 144, BYTES = M * N * 2, MOST = N };
    static uint8_t a[M * K], b[N * K];
    static uint16_t d[M * N];
    const contexts *c = *state;
    memset(a, 0x38, sizeof a); /* 1 in e4m3 */
    memset(b, 0x38, sizeof b);
    for (int x = 0; x < c->count; x++)
        for (int vector = 0; vector < 2; vector++) {
            static const size_t bytes[5] = {sizeof a, sizeof b, BYTES, MOST * sizeof(float), MOST * sizeof(float)};
            void *device[5];
            tsr_plan *plan;
            tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_E4M3, M, N, K);
            desc.b.trans = TSR_T;
            desc.c.dtype = desc.d.dtype = TSR_BF16;
            desc.a.memory = desc.b.memory = desc.c.memory = desc.d.memory = TSR_DEVICE;
            desc.a.align_bytes = desc.b.align_bytes = desc.d.align_bytes = 16;
            desc.scale_mode_a = desc.scale_mode_b = vector ? TSR_SCALE_VECTOR : TSR_SCALE_TENSOR;
            for (int i = 0; i < 5; i++)
                assert_int_equal(tsr_device_alloc(c->all[x], bytes[i], &device[i]), TSR_OK);
            assert_int_equal(tsr_upload(c->all[x], device[0], a, sizeof a), TSR_OK);
            assert_int_equal(tsr_upload(c->all[x], device[1], b, sizeof b), TSR_OK);
            assert_int_equal(tsr_plan_create(c->all[x], &desc, &plan), TSR_OK);
            tsr_run_args args = tsr_run_args_make(device[0], device[1], device[2]);
            args.scale_a = device[3];
            args.scale_b = device[4];
            for (int run = 0; run < 3; run++) {
                float scales[2][MOST];
                for (int i = 0; i < 2 * MOST; i++)
                    scales[i / MOST][i % MOST] = ldexpf(1, (vector ? i % MOST % 3 : 0) + run * (i / MOST + 1));
                for (int i = 0; i < 2; i++)
                    assert_int_equal(tsr_upload(c->all[x], device[3 + i], scales[i], sizeof scales[i]), TSR_OK);
                if (tsr_plan_run(plan, &args) != TSR_OK)
                    fail_msg("%s", tsr_last_error());
                assert_int_equal(tsr_download(c->all[x], d, device[2], M * N * sizeof d[0]), TSR_OK);
                for (int i = 0; i < M * N; i++) {
                    const float sum = K * scales[0][vector ? i / N : 0] * scales[1][vector ? i % N : 0];
                    assert_true(tsr_load_element(TSR_BF16, d, i) == (double)sum);
                }
            }
            tsr_plan_release(plan);
            for (int i = 0; i < 5; i++)
                assert_int_equal(tsr_device_free(c->all[x], device[i]), TSR_OK);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(host_rounding),
                                       cmocka_unit_test(every_bf16_is_rounded),
                                       cmocka_unit_test(greatest_magnitude),
                                       cmocka_unit_test(c_has_a_scale),
                                       cmocka_unit_test(narrow_results_of_16_bits),
                                       cmocka_unit_test(every_pair_of_modes),
                                       cmocka_unit_test(integers_have_rows_and_columns),
                                       cmocka_unit_test(batches_have_scales_of_their_own),
                                       cmocka_unit_test(slices_find_their_scales),
                                       cmocka_unit_test(zero_points_are_subtracted),
                                       cmocka_unit_test(wrong_calls_are_named),
                                       cmocka_unit_test(device_scales_may_be_nan),
                                       cmocka_unit_test(runs_see_scales_as_they_are)};
    return cmocka_run_group_tests(tests, open_all, close_all);
}
