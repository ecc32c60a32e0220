/* Which accesses of a thread are which instruction of its warp, from instructions made by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lab/explain/lesson_run.h"

static const char code[8]; /* places in it */

static void see(const tsr_emu_watcher *watcher, void *state, unsigned warp, const void *place, uint32_t lanes)
{
    uint64_t address[32];
    for (unsigned i = 0; i < 32; i++)
        address[i] = 1000 + i;
    const tsr_watch_event event = {
        .kind = TSR_WATCH_SHARED_LOAD, .bytes = 4, .lanes = lanes, .warp = warp, .place = place, .address = address};
    watcher->event(state, &event);
}

static uint32_t turn_of(lesson_lanes *lanes, unsigned thread, const void *place)
{
    uint32_t turn = 99;
    assert_int_equal(lab_lesson_turn(lanes, thread, place, 1000 + thread % 32, &turn), 1);
    return turn;
}

/* Lane 0 does not take part in the first round of a loop, lane 1 not in the second one. */
static void lanes_keep_to_their_round(void **unused)
{
    (void)unused;
    lesson_lanes lanes;
    assert_true(lab_lesson_lanes_make(&lanes, 64));
    const tsr_emu_watcher watcher = lab_lesson_watcher(&lanes);
    void *state = watcher.begin(watcher.user, 0);
    see(&watcher, state, 0, &code[0], 0xfffffffe);
    see(&watcher, state, 0, &code[0], 0xfffffffd);
    see(&watcher, state, 0, &code[1], 0xffffffff);
    see(&watcher, state, 1, &code[0], 0xffffffff); /* another warp begins anew */
    watcher.barrier(state);
    see(&watcher, state, 0, &code[0], 0xffffffff);
    watcher.barrier(state);
    watcher.end(watcher.user, state);
    assert_int_equal(lanes.out_of_memory, 0);
    assert_int_equal(turn_of(&lanes, 0, &code[0]), 1);
    assert_int_equal(turn_of(&lanes, 1, &code[0]), 0);
    assert_int_equal(turn_of(&lanes, 2, &code[0]), 0);
    assert_int_equal(turn_of(&lanes, 2, &code[0]), 1);
    assert_int_equal(turn_of(&lanes, 32, &code[0]), 0);
    for (unsigned lane = 0; lane < 3; lane++)
        assert_int_equal(turn_of(&lanes, lane, &code[1]), 0);
    assert_int_equal(turn_of(&lanes, 0, &code[0]), 0); /* behind the barrier */
    lab_lesson_lanes_free(&lanes);
}

static void what_was_not_seen_has_no_turn(void **unused)
{
    (void)unused;
    lesson_lanes lanes;
    uint32_t turn;
    assert_true(lab_lesson_lanes_make(&lanes, 32));
    const tsr_emu_watcher watcher = lab_lesson_watcher(&lanes);
    void *state = watcher.begin(watcher.user, 0);
    see(&watcher, state, 0, &code[0], 1);
    watcher.end(watcher.user, state);
    assert_int_equal(lab_lesson_turn(&lanes, 0, &code[1], 1000, &turn), 0); /* another place */
    assert_int_equal(lab_lesson_turn(&lanes, 0, &code[0], 1004, &turn), 0); /* another address */
    assert_int_equal(lab_lesson_turn(&lanes, 1, &code[0], 1001, &turn), 0); /* another lane */
    assert_int_equal(turn_of(&lanes, 0, &code[0]), 0);
    assert_int_equal(lab_lesson_turn(&lanes, 0, &code[0], 1000, &turn), 0); /* no more */
    lab_lesson_lanes_free(&lanes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lanes_keep_to_their_round),
        cmocka_unit_test(what_was_not_seen_has_no_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
