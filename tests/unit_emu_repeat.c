/* The checks that gpu_live.c runs a thousand times on a GPU, a few times in the emulator. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "repeat.h"

static void launches_repeat(void **state)
{
    (void)state;
    enum { STREAMS = 2, LAUNCHES = 4 };
    void *const streams[STREAMS] = {NULL, NULL};
    repeat_settings settings = {.streams = streams, .stream_count = STREAMS, .launches = LAUNCHES, .step = 3};
    repeat_result result;
    if (tsr_context_create("emu", NULL, &settings.context) != TSR_OK)
        skip();
    repeat_launches(&settings, &result);
    assert_string_equal(result.failure, "");
    assert_true(result.kernels >= 5);
    assert_true(result.split >= 3);
    tsr_context_destroy(settings.context);
}

static void batches_agree(void **state)
{
    (void)state;
    static const int64_t rows[] = {200, 1, 64, 65};
    tsr_context *context = NULL;
    repeat_result result;
    if (tsr_context_create("emu", NULL, &context) != TSR_OK)
        skip();
    repeat_batches(context, rows, 4, &result);
    assert_string_equal(result.failure, "");
    assert_int_equal(result.kernels, 3);
    tsr_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(launches_repeat), cmocka_unit_test(batches_agree)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
