/* Loading the driver, and what is known of a GPU once it is open, with a driver that only pretends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "comma_locale.h"
#include "core/device_code.h"
#include "cuda/impl.h"
#include "fake_cuda.h"

static fake_cuda_access fake;

static int fresh(void **unused)
{
    (void)unused;
    fake.reset();
    return 0;
}

#define assert_error(text) assert_non_null(strstr(tsr_last_error(), text))

static void loads_every_call(void **unused)
{
    tsr_driver driver;
    (void)unused;
    assert_int_equal(tsr_driver_load(&driver), TSR_OK);
    assert_int_equal(driver.version, 13000);
#define PRESENT(member, symbol, parameters) assert_non_null(driver.member);
    TSR_DRIVER_CALLS(PRESENT)
    assert_non_null(driver.func_load);
    assert_int_equal(fake.state->proc_errors, 0);
}

static void driver_without_newer_calls_is_enough(void **unused)
{
    tsr_driver driver;
    (void)unused;
    fake.state->version = 12020;
    assert_int_equal(tsr_driver_load(&driver), TSR_OK);
    assert_null(driver.func_load);
    assert_int_equal(fake.state->proc_errors, 0); /* it is not even asked for */
}

static void old_driver_is_named(void **unused)
{
    tsr_driver driver;
    (void)unused;
    fake.state->version = 11040;
    assert_int_equal(tsr_driver_load(&driver), TSR_NO_DEVICE);
    assert_error("driver 11.4 is older than the 12.0 that Tessera needs");
}

static void missing_call_is_named(void **unused)
{
    tsr_driver driver;
    (void)unused;
    fake.state->missing_call = "cuLaunchKernelEx";
    assert_int_equal(tsr_driver_load(&driver), TSR_NO_DEVICE);
    assert_error("has no cuLaunchKernelEx");
}

static void failing_init_is_explained(void **unused)
{
    tsr_driver driver;
    (void)unused;
    fake.state->fail_call = "cuInit";
    fake.state->fail_result = TSR_CU_NO_DEVICE;
    assert_int_equal(tsr_driver_load(&driver), TSR_NO_DEVICE);
    assert_error("the NVIDIA driver 13.0 finds no GPU");

    fake.state->fail_result = 803;
    assert_int_equal(tsr_driver_load(&driver), TSR_NO_DEVICE);
    assert_error("does not start: cuInit: CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (words of the driver; code 803)");

    fake.state->fail_result = 12345; /* the driver itself does not know it */
    assert_int_equal(tsr_driver_load(&driver), TSR_NO_DEVICE);
    assert_error("code 12345");

    fake.state->fail_call = "cuDriverGetVersion";
    fake.state->fail_result = TSR_CU_STUB_LIBRARY;
    assert_int_equal(tsr_driver_load(&driver), TSR_NO_DEVICE);
    assert_error("stub");
}

static const tsr_backend_options options;

static void properties_of_an_h200(void **unused)
{
    tsr_device device = {0};
    (void)unused;
    assert_int_equal(tsr_cuda_open(0, &options, &device), TSR_OK);
    assert_int_equal(device.kind, TSR_DEVICE_CUDA);
    assert_string_equal(device.id, "cuda:0");
    assert_string_equal(device.name, "NVIDIA H200");
    assert_int_equal(device.cuda.arch, 90);
    assert_int_equal(device.cuda.sm_count, 132);
    assert_int_equal(device.cuda.core_clock_khz, 1980000);
    assert_int_equal(device.cuda.memory_clock_khz, 3201000);
    assert_int_equal(device.cuda.memory_bus_bits, 6144);
    assert_int_equal(device.cuda.l2_bytes, 62914560);
    assert_int_equal(device.cuda.memory_bytes, 140LL << 30);
    assert_int_equal(device.cuda.threads_per_block, 1024);
    assert_int_equal(device.cuda.threads_per_sm, 2048);
    assert_int_equal(device.cuda.blocks_per_sm, 32);
    assert_int_equal(device.cuda.registers_per_sm, 65536);
    assert_int_equal(device.cuda.smem_per_block_bytes, 232448);
    assert_int_equal(device.cuda.smem_per_sm_bytes, 233472);
    assert_int_equal(device.cuda.driver_version, 13000);
    assert_true(device.launch_ns > 0);
    assert_true(device.transfer_bytes_per_s > 0);
    assert_int_equal(fake.state->retained, 1);
    tsr_cuda_close(&device);
    assert_int_equal(fake.state->retained, 0);
    assert_null(device.impl);
    assert_int_equal(fake.state->context_errors, 0);
}

static void assert_near(double value, double expected, double part)
{
    if (!(value >= expected * (1 - part) && value <= expected * (1 + part)))
        fail_msg("%g is not within %g of %g", value, part, expected);
}

/* The data sheets' figures: A100 40 GB 19.5 / 9.7 TFLOP/s, 1555 GB/s; RTX 3090 35.6 TFLOP/s, 936 GB/s; H200 66.9 / 33.5
 * TFLOP/s, 4.8 TB/s (its 4.9 by the clock that the driver gives). */
static void peaks_follow_from_properties(void **unused)
{
    tsr_device a100 = {.cuda = {.arch = 80,
                                .sm_count = 108,
                                .core_clock_khz = 1410000,
                                .memory_clock_khz = 1215000,
                                .memory_bus_bits = 5120}};
    tsr_device rtx3090 = {.cuda = {.arch = 86,
                                   .sm_count = 82,
                                   .core_clock_khz = 1695000,
                                   .memory_clock_khz = 9751000,
                                   .memory_bus_bits = 384}};
    tsr_device h200 = {.cuda = {.arch = 90,
                                .sm_count = 132,
                                .core_clock_khz = 1980000,
                                .memory_clock_khz = 3201000,
                                .memory_bus_bits = 6144}};
    tsr_device unknown = {.cuda = {.arch = 999, .sm_count = 10, .core_clock_khz = 1000000}};
    (void)unused;
    tsr_cuda_set_peaks(&a100, 2);
    assert_near(a100.peak_flops_f32, 19.5e12, 0.002);
    assert_near(a100.peak_flops_f64, 9.7e12, 0.01);
    assert_near(a100.peak_flops_f64_tensor, 19.5e12, 0.002);
    assert_near(a100.peak_flops_tensor16, 312e12, 0.001);
    assert_near(a100.peak_flops_tf32, 156e12, 0.001);
    assert_near(a100.memory_bytes_per_s, 1555e9, 0.001);
    tsr_cuda_set_peaks(&rtx3090, 32);
    assert_near(rtx3090.peak_flops_f32, 35.58e12, 0.001);
    assert_near(rtx3090.peak_flops_f64, 35.58e12 / 64, 0.001); /* the table, where the attribute says otherwise */
    assert_true(rtx3090.peak_flops_f64_tensor == 0);           /* its tensor cores have none of their own */
    assert_near(rtx3090.memory_bytes_per_s, 936.2e9, 0.001);
    tsr_cuda_set_peaks(&h200, 2);
    assert_near(h200.peak_flops_f32, 66.9e12, 0.001);
    assert_near(h200.peak_flops_f64, 33.5e12, 0.002);
    assert_near(h200.peak_flops_f64_tensor, 66.9e12, 0.002);
    /* The data sheet's 989 TFLOP/s are at 1.83 GHz. */
    assert_near(h200.peak_flops_tensor16, 989.4e12 * 1980 / 1830, 0.001);
    assert_near(h200.memory_bytes_per_s, 4.917e12, 0.001);
    tsr_cuda_set_peaks(&unknown, 4);
    assert_near(unknown.peak_flops_f32, 2.56e12, 1e-9);
    assert_near(unknown.peak_flops_f64, 0.64e12, 1e-9);
    assert_true(unknown.peak_flops_f64_tensor == 0);
    assert_true(unknown.peak_flops_tensor16 == 0 && unknown.peak_flops_tf32 == 0);
}

static void link_rates_are_read_strictly(void **unused)
{
    (void)unused;
    assert_near(tsr_pcie_bytes_per_s("32.0 GT/s PCIe\n", "16\n"), 57.6e9, 0.01);
    assert_near(tsr_pcie_bytes_per_s("16.0 GT/s PCIe\n", "4\n"), 7.2e9, 0.01);
    assert_true(tsr_pcie_bytes_per_s("Unknown\n", "16\n") == 0);
    assert_true(tsr_pcie_bytes_per_s("32.0 furlongs\n", "16\n") == 0);
    assert_true(tsr_pcie_bytes_per_s("32.0 GT/s PCIe\n", "0\n") == 0);
    assert_true(tsr_pcie_bytes_per_s("32.0 GT/s PCIe\n", "255\n") == 0);
    assert_true(tsr_pcie_bytes_per_s("", "") == 0);
    if (set_comma_locale()) /* of the program that calls */
        assert_near(tsr_pcie_bytes_per_s("2.5 GT/s PCIe\n", "16\n"), 4.5e9, 0.01);
    setlocale(LC_NUMERIC, "C");
}

static void wrong_ordinals_and_no_gpus(void **unused)
{
    tsr_device device = {0};
    (void)unused;
    assert_int_equal(tsr_cuda_open(3, &options, &device), TSR_NO_DEVICE);
    assert_error("cuda:3: the driver shows 1 GPU");
    assert_int_equal(tsr_cuda_open(-1, &options, &device), TSR_NO_DEVICE);
    fake.state->device_count = 0;
    assert_int_equal(tsr_cuda_open(0, &options, &device), TSR_NO_DEVICE);
    assert_error("cuda:0: the driver shows 0 GPUs");
    assert_null(device.impl);
    assert_int_equal(fake.state->retained, 0);
}

static void failing_open_leaves_nothing(void **unused)
{
    static const char *const calls[] = {"cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetAttribute",
                                        "cuDevicePrimaryCtxRetain"};
    (void)unused;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        tsr_device device = {0};
        fake.reset();
        fake.state->fail_call = calls[i];
        fake.state->fail_result = TSR_CU_OUT_OF_MEMORY;
        assert_int_not_equal(tsr_cuda_open(0, &options, &device), TSR_OK);
        assert_error("CUDA_ERROR_OUT_OF_MEMORY");
        assert_null(device.impl);
        assert_int_equal(fake.state->retained, 0);
    }
}

static void driver_older_than_the_device_code(void **unused)
{
    tsr_device device = {0};
    (void)unused;
    if (tsr_toolkit_version < 13000)
        skip(); /* this build embeds no device code, or code that every accepted driver runs */
    fake.state->version = 12040;
    assert_int_equal(tsr_cuda_open(0, &options, &device), TSR_NO_DEVICE);
    assert_error("driver 12.4 is older than the 13.0 that the embedded device code needs");
}

static int runs(const tsr_config *config, int arch, int driver, int toolkit, const char *expected)
{
    char reason[160] = "";
    const int answer = tsr_cuda_code_runs(config, arch, driver, toolkit, reason, sizeof reason);
    if (strcmp(reason, expected) != 0)
        fail_msg("\"%s\" instead of \"%s\"", reason, expected);
    return answer;
}

static void code_runs_where_it_can(void **unused)
{
    const tsr_config any = {.kind = TSR_CONFIG_CUDA, .min_arch = 80};
    const tsr_config hopper = {.kind = TSR_CONFIG_CUDA, .min_arch = 90, .exact_arch = 1};
    (void)unused;
    assert_true(runs(&any, 90, 13000, 13000, ""));
    assert_true(runs(&any, 80, 13000, 13000, ""));
    assert_true(runs(&any, 89, 13000, 13010, "")); /* machine code: any driver of the major version */
    assert_true(runs(&any, 120, 13010, 13010, ""));
    assert_true(runs(&any, 90, 14000, 13000, ""));
    assert_true(runs(&hopper, 90, 13000, 13000, ""));
    assert_false(runs(&any, 90, 13000, 0, "built without nvcc: no device code"));
    assert_false(runs(&any, 75, 13000, 13000, "needs compute capability 8.0, this GPU has 7.5"));
    assert_false(runs(&hopper, 89, 13000, 13000, "needs compute capability 9.0, this GPU has 8.9"));
    assert_false(runs(&hopper, 100, 13000, 13000, "is for compute capability 9.0 alone, this GPU has 10.0"));
    assert_false(runs(&any, 90, 12040, 13000, "driver 12.4 is older than the 13.0 that the device code needs"));
    assert_false(
        runs(&any, 120, 13000, 13010, "driver 13.0 is older than the 13.1 that PTX for compute capability 12.0 needs"));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(loads_every_call, fresh),
        cmocka_unit_test_setup(driver_without_newer_calls_is_enough, fresh),
        cmocka_unit_test_setup(old_driver_is_named, fresh),
        cmocka_unit_test_setup(missing_call_is_named, fresh),
        cmocka_unit_test_setup(failing_init_is_explained, fresh),
        cmocka_unit_test_setup(properties_of_an_h200, fresh),
        cmocka_unit_test_setup(peaks_follow_from_properties, fresh),
        cmocka_unit_test_setup(link_rates_are_read_strictly, fresh),
        cmocka_unit_test_setup(wrong_ordinals_and_no_gpus, fresh),
        cmocka_unit_test_setup(failing_open_leaves_nothing, fresh),
        cmocka_unit_test_setup(driver_older_than_the_device_code, fresh),
        cmocka_unit_test_setup(code_runs_where_it_can, fresh),
    };
    (void)argc;
    fake_cuda_start(argv, FAKE_CUDA_DIR);
    fake = fake_cuda_find();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
