/* Element conversions, size arithmetic, messages. */
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/device_code.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/memory.h"

/* Every 8- and 16-bit pattern that is not NaN survives decoding and encoding. */
static void every_narrow_pattern_round_trips(void **state)
{
    (void)state;
    const struct {
        tsr_dtype dtype;
        unsigned patterns;
        unsigned nans;
    } formats[] = {{TSR_F16, 65536, 2 * 1023}, {TSR_BF16, 65536, 2 * 127}, {TSR_E4M3, 256, 2}, {TSR_E5M2, 256, 6}};
    for (size_t f = 0; f < sizeof formats / sizeof formats[0]; f++) {
        unsigned nans = 0;
        for (unsigned bits = 0; bits < formats[f].patterns; bits++) {
            uint16_t in = (uint16_t)bits, out = 0;
            const double value = tsr_load_element(formats[f].dtype, &in, 0);
            tsr_store_element(formats[f].dtype, &out, 0, value);
            if (isnan(value)) {
                nans++;
                assert_true(isnan(tsr_load_element(formats[f].dtype, &out, 0)));
            } else {
                assert_int_equal(in, out);
            }
        }
        assert_int_equal(nans, formats[f].nans);
    }
}

/* Between two neighbours the nearer one is taken, and the even one from the middle. */
static void narrowing_rounds_to_nearest_even(void **state)
{
    (void)state;
    const tsr_dtype dtypes[] = {TSR_F16, TSR_BF16, TSR_E4M3, TSR_E5M2};
    for (size_t f = 0; f < 4; f++) {
        const unsigned count = dtypes[f] == TSR_F16    ? 0x7bff
                               : dtypes[f] == TSR_BF16 ? 0x7f7f
                               : dtypes[f] == TSR_E4M3 ? 0x7e
                                                       : 0x7b;
        for (unsigned bits = 0; bits < count; bits++) {
            uint16_t low = (uint16_t)bits, high = (uint16_t)(bits + 1), got = 0;
            const double a = tsr_load_element(dtypes[f], &low, 0), b = tsr_load_element(dtypes[f], &high, 0);
            const double middle = (a + b) / 2;
            tsr_store_element(dtypes[f], &got, 0, middle);
            assert_int_equal(got, bits & 1 ? high : low);
            tsr_store_element(dtypes[f], &got, 0, nextafter(middle, a));
            assert_int_equal(got, low);
            tsr_store_element(dtypes[f], &got, 0, nextafter(middle, b));
            assert_int_equal(got, high);
        }
    }
}

static void narrowing_overflows_to_infinity(void **state)
{
    (void)state;
    uint16_t bits;
    tsr_store_element(TSR_F16, &bits, 0, 65519.0);
    assert_int_equal(bits, 0x7bff);
    tsr_store_element(TSR_F16, &bits, 0, 65520.0);
    assert_int_equal(bits, 0x7c00);
    tsr_store_element(TSR_F16, &bits, 0, -1e300);
    assert_int_equal(bits, 0xfc00);
    bits = 0;
    tsr_store_element(TSR_E4M3, &bits, 0, 448.0);
    assert_int_equal(bits, 0x7e);
    tsr_store_element(TSR_E4M3, &bits, 0, 1000.0); /* no infinity: NaN */
    assert_int_equal(bits, 0x7f);
}

static void float_conversions_agree_with_the_exact_ones(void **state)
{
    (void)state;
    uint32_t pattern = 12345;
    for (int i = 0; i < 200000; i++) {
        pattern = pattern * 1664525u + 1013904223u;
        float value;
        memcpy(&value, &pattern, sizeof value);
        uint16_t exact;
        tsr_store_element(TSR_F16, &exact, 0, (double)value);
        if (!isnan(value)) {
            assert_int_equal(tsr_f32_to_f16(value), exact);
            tsr_store_element(TSR_BF16, &exact, 0, (double)value);
            assert_int_equal(tsr_f32_to_bf16(value), exact);
        } else {
            assert_true(isnan(tsr_f16_to_f32(tsr_f32_to_f16(value))));
            assert_true(isnan(tsr_bf16_to_f32(tsr_f32_to_bf16(value))));
        }
    }
}

static void integers_saturate(void **state)
{
    (void)state;
    int8_t s8;
    uint8_t u8;
    int32_t s32;
    tsr_store_element(TSR_S8, &s8, 0, 1e9);
    assert_int_equal(s8, 127);
    tsr_store_element(TSR_S8, &s8, 0, -200.0);
    assert_int_equal(s8, -128);
    tsr_store_element(TSR_U8, &u8, 0, -1.0);
    assert_int_equal(u8, 0);
    tsr_store_element(TSR_S32, &s32, 0, 3e9);
    assert_int_equal(s32, INT32_MAX);
    tsr_store_element(TSR_S32, &s32, 0, 2.5);
    assert_int_equal(s32, 2);
}

static void sizes_do_not_overflow(void **state)
{
    (void)state;
    long long out = 7;
    assert_true(tsr_mul_size(1LL << 31, 1LL << 31, &out));
    assert_int_equal(out, 1LL << 62);
    assert_false(tsr_mul_size(1LL << 32, 1LL << 31, &out));
    assert_true(tsr_mul_size(LLONG_MAX, 0, &out));
    assert_int_equal(out, 0);
    assert_false(tsr_add_size(LLONG_MAX, 1, &out));
    assert_true(tsr_add_size(LLONG_MAX - 1, 1, &out));
}

static void messages_may_quote_the_last_message(void **state)
{
    (void)state;
    assert_int_equal(tsr_fail(TSR_IO_ERROR, "first"), TSR_IO_ERROR);
    tsr_fail(TSR_INTERNAL, "second, after %s", tsr_last_error());
    assert_string_equal(tsr_last_error(), "second, after first");
    char expected[40];
    snprintf(expected, sizeof expected, "%d.%d.%d", TSR_VERSION_MAJOR, TSR_VERSION_MINOR, TSR_VERSION_PATCH);
    assert_string_equal(tsr_version(), expected);
    assert_string_equal(tsr_status_text(TSR_OK), "success");
    assert_string_equal(tsr_status_text((tsr_status)99), "unknown status");
}

static void stamps_are_of_machine_code(void **state)
{
    (void)state;
    const tsr_stamp stamps[] = {{"other", "bb", "13.0.88", "H100 2026-01-01", "unknown: other"},
                                {"one", "aa", "13.0.88", "H200 2026-01-02", "unknown: one"},
                                {0}};
    const tsr_device_code passed = {.instance = "one", .hash = "aa"}, changed = {.instance = "one", .hash = "bb"};
    const tsr_device_code fresh = {.instance = "new", .hash = "aa"};
    assert_string_equal(tsr_stamp_text(stamps, &passed, "13.0.88"), "H200 2026-01-02");
    assert_string_equal(tsr_stamp_text(stamps, &passed, "13.1.2"), "H200 2026-01-02"); /* the same machine code */
    assert_string_equal(tsr_stamp_text(stamps, &changed, "13.0.88"), "untested on hardware");
    assert_string_equal(tsr_stamp_text(stamps, &changed, "13.1.2"), "unknown: one");
    assert_string_equal(tsr_stamp_text(stamps, &fresh, "13.1.2"), "untested on hardware");
    assert_string_equal(tsr_stamp_text(stamps, NULL, "13.0.88"), "untested on hardware");
}

/* A set names the first of its rules that an operation breaks, and accepts the one that stands for it. */
static void sets_say_what_they_refuse(void **state)
{
    (void)state;
    const tsr_op_set sets[] = {
        TSR_OPS(TSR_FP8_TYPES, TSR_FLOAT_TYPES, TSR_COMPUTE_F32, TSR_BLOCK_SCALES, TSR_TAKES_WHOLE),
        TSR_OP(TSR_F32, TSR_F32, TSR_COMPUTE_TF32),
        TSR_OPS(TSR_INT8_TYPES, TSR_FLOAT_TYPES, TSR_COMPUTE_S32, TSR_VECTOR_SCALES, TSR_TAKES_SPARSE24),
        {.a = TSR_TYPE_BIT(TSR_F16),
         .b = TSR_TYPE_BIT(TSR_F16),
         .cd = TSR_TYPE_BIT(TSR_F32),
         .computes = TSR_COMPUTE_BIT(TSR_COMPUTE_F32),
         .scales = TSR_ONE_SCALE,
         .epilogues = 1,
         .operands = TSR_TAKES_WHOLE}};
    const struct {
        int set;
        tsr_op op;
        const char *reason;
    } refused[] = {
        {0,
         {.a = TSR_E5M2, .b = TSR_S8, .c = TSR_F32, .d = TSR_F32, .compute = TSR_COMPUTE_F32},
         "computes e4m3 x e4m3 -> bf16 in f32"},
        {0,
         {.a = TSR_E5M2, .b = TSR_E4M3, .c = TSR_F16, .d = TSR_F32, .compute = TSR_COMPUTE_F32},
         "computes e4m3 x e4m3 -> bf16 in f32"},
        {1,
         {.a = TSR_F32, .b = TSR_F32, .c = TSR_F32, .d = TSR_F32, .compute = TSR_COMPUTE_F32},
         "computes f32 x f32 -> f32 in tf32"},
        {0,
         {.a = TSR_E5M2,
          .b = TSR_E4M3,
          .c = TSR_F32,
          .d = TSR_F32,
          .compute = TSR_COMPUTE_F32,
          .sparse24 = TSR_SPARSE24_B},
         "reads whole operands alone; B is compressed 2:4"},
        {2,
         {.a = TSR_U8, .b = TSR_S8, .c = TSR_F32, .d = TSR_F32, .compute = TSR_COMPUTE_S32},
         "multiplies compressed operands alone (TSR_SPARSE24_A, _B)"},
        {2,
         {.a = TSR_U8,
          .b = TSR_S8,
          .c = TSR_F32,
          .d = TSR_F32,
          .compute = TSR_COMPUTE_S32,
          .sparse24 = TSR_SPARSE24_A,
          .scale_b = TSR_SCALE_1X128},
         "takes no scales of blocks"},
        {1,
         {.a = TSR_F32,
          .b = TSR_F32,
          .c = TSR_F32,
          .d = TSR_F32,
          .compute = TSR_COMPUTE_TF32,
          .scale_a = TSR_SCALE_VECTOR},
         "takes no scales of rows, columns or blocks"},
        {3,
         {.a = TSR_F16,
          .b = TSR_F16,
          .c = TSR_F32,
          .d = TSR_F32,
          .compute = TSR_COMPUTE_F32,
          .epilogue = TSR_EPILOGUE_BIAS},
         "takes no form of an epilogue"},
    };
    char reason[120] = "";
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        assert_false(tsr_op_accepts(&sets[refused[i].set], &refused[i].op, reason, sizeof reason));
        assert_string_equal(reason, refused[i].reason);
        assert_false(tsr_op_accepts(&sets[refused[i].set], &refused[i].op, NULL, 0));
    }
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
        const tsr_op own = tsr_op_of(&sets[i]);
        assert_true(tsr_op_accepts(&sets[i], &own, NULL, 0));
    }
    const tsr_op own = tsr_op_of(&sets[0]);
    assert_int_equal(own.a, TSR_E4M3);
    assert_int_equal(own.d, TSR_BF16); /* not f32, the first: what suits 8-bit floats */
    assert_int_equal(tsr_op_of(&sets[2]).d, TSR_F32);
}

/* What the records of elements.def say of each other; a number that is no dtype has no operation. */
static void elements_agree_with_each_other(void **state)
{
    (void)state;
    for (int i = TSR_DTYPE_NONE + 1; i < TSR_DTYPE_COUNT; i++) {
        const tsr_dtype dtype = (tsr_dtype)i;
        const tsr_element *const element = tsr_element_of(dtype);
        assert_int_equal(tsr_dtype_named(element->text), dtype);
        assert_true(element->bytes > 0 && element->is_integer == (element->roundoff == 0));
        assert_int_equal(element->partners != 0, element->results != 0);
        assert_int_equal(element->partners != 0, element->peak != TSR_PEAK_NONE);
        if (!element->partners)
            continue;
        assert_true(element->partners & TSR_TYPE_BIT(dtype) && element->results & TSR_TYPE_BIT(element->result));
        for (int j = TSR_DTYPE_NONE + 1; j < TSR_DTYPE_COUNT; j++)
            if (element->partners & TSR_TYPE_BIT(j)) {
                assert_int_equal(tsr_element_of((tsr_dtype)j)->partners, element->partners);
                assert_int_equal(tsr_element_of((tsr_dtype)j)->results, element->results);
            }
        assert_int_equal(tsr_op_peak(element->compute, dtype, 0), dtype == TSR_F64 ? TSR_PEAK_F64 : TSR_PEAK_F32);
        assert_int_equal(tsr_op_peak(TSR_COMPUTE_TF32, dtype, 1), TSR_PEAK_TF32);
    }
    assert_int_equal(tsr_dtype_named("tf32"), TSR_DTYPE_NONE);
    assert_int_equal(tsr_element_of((tsr_dtype)99)->partners, 0);
    assert_int_equal(tsr_op_peak(TSR_COMPUTE_F32, TSR_S32, 1), TSR_PEAK_NONE);
    assert_string_equal(tsr_dtype_name((tsr_dtype)99), "?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sets_say_what_they_refuse),
        cmocka_unit_test(elements_agree_with_each_other),
        cmocka_unit_test(every_narrow_pattern_round_trips),
        cmocka_unit_test(narrowing_rounds_to_nearest_even),
        cmocka_unit_test(narrowing_overflows_to_infinity),
        cmocka_unit_test(float_conversions_agree_with_the_exact_ones),
        cmocka_unit_test(integers_saturate),
        cmocka_unit_test(sizes_do_not_overflow),
        cmocka_unit_test(messages_may_quote_the_last_message),
        cmocka_unit_test(stamps_are_of_machine_code),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
