/* The model held to what tutorials measured on an A40, as far as lab/predict/calibration.c says that it can be: no
 * further, and not much less far. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lab/predict/calibration.h"
#include "sanitized.h"

static double over_published(const lab_published *p, lab_eight *eight)
{
    const lab_gpu_spec *gpu = lab_gpu_spec_find(p->gpu);
    tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F32, p->size, p->size, p->size);
    const lab_count_options options = {.gpu = gpu, .sample_ctas = 16};
    lab_counters counters;
    lab_prediction prediction;
    desc.kernel = p->instance;
    const tsr_status status = lab_count(&desc, &options, &counters);
    if (status == TSR_UNSUPPORTED)
        skip();
    assert_int_equal(status, TSR_OK);
    lab_predict(&counters, &desc, gpu, &prediction);
    *eight = prediction.eight;
    const double n = (double)p->size;
    return prediction.ns / (2 * n * n * n / p->gflops);
}

static void times_are_as_far_off_as_is_said(void **unused)
{
    (void)unused;
    if (IS_SANITIZED)
        skip(); /* the next test predicts one of them */
    double least = INFINITY, most = 0;
    size_t count = 0;
    for (const lab_published *p; (p = lab_published_at(count)) != NULL; count++) {
        lab_eight eight;
        const double ratio = over_published(p, &eight);
        print_message("%s %d: predicted / published %.2f\n", p->instance, (int)p->size, ratio);
        least = fmin(least, ratio);
        most = fmax(most, ratio);
    }
    assert_int_equal(count, 8);
    assert_true(strstr(lab_calibration_of(lab_gpu_spec_find("a40"))->text, "0.3 to 2.0 times as long") != NULL);
    assert_true(least >= 0.3 && least < 0.4);
    assert_true(most <= 2.0 && most > 1.8);
}

/* tiled is limited by how many lanes of loads an SM starts, 16 in a clock on a GA102; the model takes its warps to wait
 * for each other at barriers for longer than they do. */
static void tiled_keeps_l1_as_busy_as_measured(void **unused)
{
    (void)unused;
    const lab_published *p = lab_published_find("a40", "tiled_f32_t16", 2048, 2048, 2048);
    lab_eight eight;
    assert_non_null(p);
    over_published(p, &eight);
    assert_true(fabs(eight.l1 - p->eight.l1) < 10);
    assert_true(fabs(eight.sm - p->eight.sm) < 10);
    assert_true(fabs(eight.memory - p->eight.memory) < 10);
    assert_null(lab_published_find("h200", "tiled_f32_t16", 2048, 2048, 2048));
    assert_null(lab_published_find("a40", "tiled_f32_t16", 2048, 2048, 2047));
}

/* Its own, or what is said of any. */
static void every_gpu_has_a_sentence(void **unused)
{
    (void)unused;
    static const char *const own[] = {"h200", "h100", "a100", "a40", "rtx3090"};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        assert_string_equal(lab_calibration_of(lab_gpu_spec_find(own[i]))->gpu, own[i]);
    for (size_t i = 0; lab_gpu_spec_at(i); i++)
        assert_true(strlen(lab_calibration_of(lab_gpu_spec_at(i))->text) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_as_far_off_as_is_said),
        cmocka_unit_test(tiled_keeps_l1_as_busy_as_measured),
        cmocka_unit_test(every_gpu_has_a_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
