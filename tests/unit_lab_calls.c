/* Call logs as `tessera bench --replay` reads them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lab/bench/calls.h"

#define CALL                                                                                                      \
    "tessera-call dgemm_ dtype=f64 layout=nt m=4 n=5 k=6 lda=7 ldb=8 ldc=9 alpha=-0.5 beta=1 batch=1 stride_a=0 " \
    "stride_b=0 stride_c=0 kernel=cpu_tiled_f64 device=cpu limiter=compute expected_ns=10 ns=100 pid=1"

static tsr_status parse(const char *text, lab_calls *out)
{
    return lab_calls_parse("x.log", text, strlen(text), out);
}

static void alike_calls_are_one(void **state)
{
    (void)state;
    static const char text[] = "the program's own words\n" CALL "\n" CALL " later=key\n"
                               "tessera-call sgemm_ info=3 pid=1\n"
                               "tessera-call sgemm_ dtype=f32 layout=nn m=0 n=5 k=6 kernel=nothing-to-do\n"
                               "tessera-call sgemm_ dtype=f32 layout=tn m=1 n=2 k=3 lda=1 ldb=2 ldc=2 alpha=1 beta=0 "
                               "batch=4 stride_a=-3 stride_b=0 stride_c=2 ns=1000\n" CALL;
    lab_calls calls;
    assert_int_equal(parse(text, &calls), TSR_OK);
    assert_int_equal(calls.count, 2);
    assert_int_equal(calls.lines, 6);
    assert_int_equal(calls.others, 2);
    const lab_logged_call *s = &calls.items[0], *d = &calls.items[1]; /* the one that took most time first */
    assert_string_equal(s->name, "sgemm_");
    assert_true(s->dtype == TSR_F32 && s->trans_a == 1 && s->trans_b == 0 && s->batch == 4);
    assert_true(s->stride_a == -3 && s->stride_b == 0 && s->stride_c == 2 && s->total_ns == 1000);
    assert_true(d->dtype == TSR_F64 && d->trans_a == 0 && d->trans_b == 1 && d->count == 3 && d->total_ns == 300);
    assert_true(d->m == 4 && d->n == 5 && d->k == 6 && d->lda == 7 && d->ldb == 8 && d->ldc == 9);
    assert_true(d->alpha == -0.5 && d->beta == 1 && d->batch == 1);
    lab_calls_free(&calls);
}

/* A good line with one word replaced. */
static void expect_broken(const char *word, const char *by)
{
    char text[600] = "first line\n";
    const char *at = strstr(CALL, word);
    lab_calls calls;
    assert_non_null(at);
    snprintf(text + strlen(text), sizeof text - strlen(text), "%.*s%s%s", (int)(at - CALL), CALL, by,
             at + strlen(word));
    assert_int_equal(parse(text, &calls), TSR_INVALID_ARGUMENT);
    if (!strstr(tsr_last_error(), "x.log:2: "))
        fail_msg("%s -> %s: %s", word, by, tsr_last_error());
    assert_null(calls.items);
}

static void broken_lines_are_named(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"m=4", "m=-4"},
        {"m=4", "m="},
        {"m=4", "m=4x"},
        {"m=4 ", ""},
        {"m=4", "m"},
        {"lda=7", "lda=5"},
        {"ldb=8", "ldb=5"},
        {"ldc=9", "ldc=4"},
        {"dtype=f64", "dtype=f16"},
        {"layout=nt", "layout=nx"},
        {"layout=nt", "layout=n"},
        {"alpha=-0.5", "alpha=one"},
        {"ns=100 ", ""},
        {"k=6", "k=99999999999999999999"},
        {"dgemm_ ", ""},
        {"batch=1", "batch=-1"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        expect_broken(pairs[i][0], pairs[i][1]);
}

static void nothing_to_replay(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "\n", "words\n", "tessera-call sgemm_ info=3\n"};
    lab_calls calls;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_int_equal(parse(texts[i], &calls), TSR_INVALID_ARGUMENT);
        assert_non_null(strstr(tsr_last_error(), "holds no product"));
    }
    static const char zero[] = "tessera-call sgemm_\0info=3\n";
    assert_int_equal(lab_calls_parse("x.log", zero, sizeof zero - 1, &calls), TSR_INVALID_ARGUMENT);
    assert_int_equal(lab_calls_read("/nonexistent/file", &calls), TSR_IO_ERROR);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alike_calls_are_one),
        cmocka_unit_test(broken_lines_are_named),
        cmocka_unit_test(nothing_to_replay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
