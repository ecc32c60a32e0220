/* The microbenchmarks of kernels/microbench in the emulator: what they compute, and that they touch nothing else. Their
 * counts of bytes follow: each thread's sum has every word that it is said to read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/error.h"
#include "microbench.h"

static const tsr_allocator allocator;
static const tsr_backend_options options = {.threads = 2, .allocator = &allocator};
static tsr_device device;

static int open_emu(void **state)
{
    (void)state;
    device.allocator = &allocator;
    return tsr_emu_backend.open(0, &options, &device) != TSR_OK;
}

static int close_emu(void **state)
{
    (void)state;
    tsr_emu_backend.close(&device);
    return 0;
}

static void all_are_right(void **state)
{
    static mb_room room;
    (void)state;
    if (!mb_check(&room, &tsr_emu_backend, &device))
        fail_msg("%s: %s", room.why, tsr_last_error());
}

/* The emulator keeps them to what their arguments say. */
static void bounds_are_kept(void **state)
{
    static _Alignas(256) char from[MB_CHUNK], to[MB_CTAS * MB_THREADS * 4];
    tsr_microbench_args args = {.from = from,
                                .to = to,
                                .from_bytes = sizeof from,
                                .to_bytes = sizeof to,
                                .steps = 2,
                                .chunks = 1,
                                .between_steps = 0};
    const tsr_launch launch = {
        .config = tsr_microbench_config("read_l2"), .microbench = &args, .grid = {MB_CTAS, 1, 1}};
    (void)state;
    assert_int_equal(tsr_emu_backend.launch(&device, &launch), TSR_OK);
    args.from_bytes -= 16;
    assert_int_equal(tsr_emu_backend.launch(&device, &launch), TSR_KERNEL_FAULT);
    assert_non_null(strstr(tsr_last_error(), "microbench_read_l2"));
    assert_non_null(strstr(tsr_last_error(), "out of bounds"));
    args.from_bytes += 16;
    args.to_bytes -= 4;
    assert_int_equal(tsr_emu_backend.launch(&device, &launch), TSR_KERNEL_FAULT);
    args.to_bytes += 4;
    args.chunks = 2;
    args.between_steps = 1;
    assert_int_equal(tsr_emu_backend.launch(&device, &launch), TSR_KERNEL_FAULT);
    assert_null(tsr_microbench_config("nothing"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(all_are_right, open_emu, close_emu),
        cmocka_unit_test_setup_teardown(bounds_are_kept, open_emu, close_emu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
