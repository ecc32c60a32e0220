/* Measuring the levels of a GPU's memory, on a driver that only pretends: each launch takes 1.5 ms there, whatever it
 * does, so rates follow from the steps that were launched. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/device_code.h"
#include "fake_cuda.h"
#include "lab/bench/gpu_levels.h"

static fake_cuda_access cuda;

static int fresh(void **unused)
{
    (void)unused;
    cuda.reset();
    cuda.state->any_function = 1;
    cuda.state->attributes[38] = 6 << 20; /* a small L2: less memory is asked for */
    return 0;
}

/* Nothing is left behind, and every call had the GPU's context. */
static int check_clean(void **unused)
{
    (void)unused;
    return cuda.state->retained != 0 || cuda.state->events != 0 || cuda.state->allocations != 0 ||
           cuda.state->streams != 0 || cuda.state->modules != 0 || cuda.state->context_errors != 0 || cuda.depth() != 0;
}

static void near(double got, double want)
{
    if (!(fabs(got - want) <= 1e-9 * fabs(want)))
        fail_msg("%g, not %g", got, want);
}

static void levels_are_measured(void **unused)
{
    lab_device gpu;
    lab_gpu_levels got;
    (void)unused;
    if (!tsr_toolkit_version)
        skip(); /* no device code to launch */
    assert_int_equal(lab_device_describe("cuda:0", &gpu), TSR_OK);
    if (lab_measure_gpu_levels(&gpu, &got) != TSR_OK)
        fail_msg("%s", tsr_last_error());
    const lab_gpu_level *const l = got.items;
    static const char *const names[] = {"registers", "shared", "L1", "L2", "DRAM"};
    const double sms = 132, launch_s = 1.5e-3, most_steps = 1 << 22;
    for (int i = 0; i < LAB_GPU_LEVELS; i++) {
        assert_string_equal(l[i].name, names[i]);
        assert_true(l[i].latency_ns > 0 && l[i].read_bytes_per_s > 0);
        assert_true(isfinite(l[i].copy_bytes_per_s) == (i == LAB_GPU_DRAM));
    }
    /* 1.5 ms are never enough here, so steps double as often as they may: */
    near(l[LAB_GPU_L1].latency_ns, launch_s * 1e9 / most_steps);
    near(l[LAB_GPU_REGISTERS].latency_ns, launch_s * 1e9 / most_steps / 16);
    near(l[LAB_GPU_L2].read_bytes_per_s, 4 * sms * 16384 * most_steps / launch_s);
    near(l[LAB_GPU_L1].read_bytes_per_s, 4 * sms * 16384 * most_steps / launch_s);
    near(l[LAB_GPU_SHARED].read_bytes_per_s, 4 * sms * 32768 * most_steps / launch_s);
    near(l[LAB_GPU_DRAM].copy_bytes_per_s, 2 * l[LAB_GPU_DRAM].read_bytes_per_s);
    near(got.fma_flops_per_s, 2.0 * 16 * 8 * 4 * sms * 256 * most_steps / launch_s);
    near(l[LAB_GPU_REGISTERS].read_bytes_per_s, 8 * got.fma_flops_per_s);
    /* but of a chase through DRAM, for which 1 ms is: it must not come by a node twice. */
    near(l[LAB_GPU_DRAM].latency_ns, launch_s * 1e9 / 64);

    assert_int_equal(l[LAB_GPU_SHARED].bytes, 32 << 10);
    assert_int_equal(l[LAB_GPU_L1].bytes, 32 << 10);
    assert_int_equal(l[LAB_GPU_L2].bytes, 2 << 20);
    assert_int_equal(l[LAB_GPU_L2].latency_bytes, 2 << 20);
    assert_int_equal(l[LAB_GPU_DRAM].bytes, 128 << 20);
    assert_int_equal(l[LAB_GPU_DRAM].latency_bytes, 64 << 20);
    near(got.peak_flops_per_s, gpu.peak_flops_f32);
    near(l[LAB_GPU_REGISTERS].peak_bytes_per_s, 8 * gpu.peak_flops_f32);
    near(l[LAB_GPU_SHARED].peak_bytes_per_s, 128 * sms * 1.98e9);
    near(l[LAB_GPU_DRAM].peak_bytes_per_s, gpu.memory_bytes_per_s);
    assert_true(isnan(l[LAB_GPU_L2].peak_bytes_per_s));

    /* The last launch: the rate of FMAs, four CTAs on each SM. */
    assert_int_equal(cuda.state->launch.grid[0], 4 * 132);
    assert_int_equal(cuda.state->launch.block[0], 256);
    assert_int_equal(cuda.state->launch.microbench.to_bytes, 4 * 132 * 256 * 4);
}

/* The first of the buffers shrinks while the memory is short; at twice the L2 it gives up. */
static void memory_may_be_short(void **unused)
{
    lab_device gpu;
    lab_gpu_levels got;
    (void)unused;
    if (!tsr_toolkit_version)
        skip();
    assert_int_equal(lab_device_describe("cuda:0", &gpu), TSR_OK);
    cuda.state->fail_call = "cuMemAlloc";
    cuda.state->fail_result = TSR_CU_OUT_OF_MEMORY;
    assert_int_equal(lab_measure_gpu_levels(&gpu, &got), TSR_OUT_OF_MEMORY);
    assert_non_null(strstr(tsr_last_error(), "no room for 16777216 bytes"));
}

static void failures_are_passed_on(void **unused)
{
    static const char *const calls[] = {"cuLaunchKernelEx", "cuEventElapsedTime", "cuMemcpyHtoDAsync"};
    (void)unused;
    if (!tsr_toolkit_version)
        skip();
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        for (int from = 0; from < 3; from++) {
            lab_device gpu;
            lab_gpu_levels got;
            fresh(NULL);
            assert_int_equal(lab_device_describe("cuda:0", &gpu), TSR_OK);
            cuda.state->fail_call = calls[i];
            cuda.state->fail_result = TSR_CU_NO_BINARY_FOR_GPU;
            cuda.state->fail_from = from;
            assert_int_equal(lab_measure_gpu_levels(&gpu, &got), TSR_DRIVER_ERROR);
            assert_non_null(strstr(tsr_last_error(), calls[i]));
            assert_false(check_clean(NULL));
        }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fresh, check_clean)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {TEST(levels_are_measured), TEST(memory_may_be_short),
                                       TEST(failures_are_passed_on)};
    (void)argc;
    fake_cuda_start(argv, FAKE_CUDA_DIR);
    cuda = fake_cuda_find();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
