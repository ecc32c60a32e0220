/* A machine without an NVIDIA driver: libcuda.so.1 is an empty file here, which hides a real one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/backend.h"
#include "fake_cuda.h"

static void no_driver_is_no_device(void **unused)
{
    const tsr_backend_options options = {0};
    tsr_device device = {0};
    (void)unused;
    assert_int_equal(tsr_cuda_backend.open(0, &options, &device), TSR_NO_DEVICE);
    assert_non_null(strstr(tsr_last_error(), "no NVIDIA driver on this machine"));
    assert_non_null(strstr(tsr_last_error(), "libcuda.so.1"));
    assert_null(device.impl);
    tsr_cuda_backend.close(&device); /* of what never opened: nothing */
}

static void context_names_the_driver(void **unused)
{
    tsr_context *context = NULL;
    (void)unused;
    assert_int_equal(tsr_context_create("cuda:0", NULL, &context), TSR_NO_DEVICE);
    assert_null(context);
    assert_non_null(strstr(tsr_last_error(), "no NVIDIA driver"));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_driver_is_no_device),
        cmocka_unit_test(context_names_the_driver),
    };
    (void)argc;
    fake_cuda_start(argv, ABSENT_CUDA_DIR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
