/* Tables, units, JSON lines: what commands print. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/output.h"

/* Opens a stream into `text`; `printed` closes it and compares. */
static char *text;
static size_t text_bytes;

static FILE *stream(void)
{
    FILE *file = open_memstream(&text, &text_bytes);
    assert_non_null(file);
    return file;
}

static void printed(FILE *file, const char *expected)
{
    fclose(file);
    assert_string_equal(text, expected);
    free(text);
}

static void test_units(void **state)
{
    (void)state;
    char out[32];
    assert_string_equal(cli_time_text(out, 0), "0.000 ns");
    assert_string_equal(cli_time_text(out, 0.5), "0.500 ns");
    assert_string_equal(cli_time_text(out, 1), "1.00 ns");
    assert_string_equal(cli_time_text(out, 9.996), "10.0 ns");
    assert_string_equal(cli_time_text(out, 999.4), "999 ns");
    assert_string_equal(cli_time_text(out, 999.6), "1.00 us");
    assert_string_equal(cli_time_text(out, 12345), "12.3 us");
    assert_string_equal(cli_time_text(out, 123.4e6), "123 ms");
    assert_string_equal(cli_time_text(out, 4.5678e9), "4.57 s");
    assert_string_equal(cli_time_text(out, 1.5e13), "15000 s");
    assert_string_equal(cli_bytes_text(out, 0), "0 B");
    assert_string_equal(cli_bytes_text(out, 1023), "1023 B");
    assert_string_equal(cli_bytes_text(out, 1024), "1 KiB");
    assert_string_equal(cli_bytes_text(out, 49152), "48 KiB");
    assert_string_equal(cli_bytes_text(out, 1536), "1.50 KiB");
    assert_string_equal(cli_bytes_text(out, 141.0 * (1 << 30)), "141 GiB");
    assert_string_equal(cli_rate_text(out, 0, "FLOP/s"), "0.000 FLOP/s");
    assert_string_equal(cli_rate_text(out, 61.2e12, "FLOP/s"), "61.2 TFLOP/s");
    assert_string_equal(cli_rate_text(out, 4.8e12, "B/s"), "4.80 TB/s");
    assert_string_equal(cli_rate_text(out, 999.6e9, "FLOP/s"), "1.00 TFLOP/s");
    assert_string_equal(cli_rate_text(out, (double)INFINITY, "B/s"), "-");
    assert_string_equal(cli_rate_text(out, (double)NAN, "FLOP/s"), "-");
    assert_string_equal(cli_short_rate(out, (double)NAN), "-");
}

static void test_table(void **state)
{
    (void)state;
    cli_table table;
    FILE *file = stream();
    cli_table_begin(&table, "lrl", "name", "time", "remark");
    cli_table_row(&table, "a", "12.3", "");
    cli_table_row(&table, "longer", "1", "yes");
    assert_true(cli_table_end(&table, file, 2));
    printed(file, "  name    time  remark\n"
                  "  a       12.3\n"
                  "  longer     1  yes\n");

    file = stream();
    cli_table_begin(&table, "lr", "name", "time");
    assert_true(cli_table_end(&table, file, 0)); /* nothing below the head */
    printed(file, "");
}

static void test_wide_table(void **state)
{
    (void)state;
    cli_table table;
    FILE *file = stream();
    cli_table_begin(&table, "ll", "kernel", "reason");
    cli_table_row(&table, "tiled",
                  "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
                  "seventeen");
    assert_true(cli_table_end(&table, file, 0));
    printed(file, "kernel  reason\n"
                  "tiled   one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen\n"
                  "        sixteen seventeen\n");
}

/* Two wide columns: both wrap, by words, and no line is wider than the terminal. */
static void test_two_wide_columns(void **state)
{
    (void)state;
    cli_table table;
    setenv("COLUMNS", "60", 1);
    FILE *file = stream();
    cli_table_begin(&table, "lll", "thread", "loads", "adds");
    cli_table_row(&table, "(0,0)", "one two three four five six seven eight nine ten eleven", "1 + 1");
    cli_table_row(&table, "(1,0)", "one", "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi");
    assert_true(cli_table_end(&table, file, 2));
    printed(file, "  thread  loads                     adds\n"
                  "  (0,0)   one two three four five   1 + 1\n"
                  "          six seven eight nine ten\n"
                  "          eleven\n"
                  "  (1,0)   one                       alpha beta gamma delta\n"
                  "                                    epsilon zeta eta theta\n"
                  "                                    iota kappa lambda mu nu\n"
                  "                                    xi\n");
    unsetenv("COLUMNS");
}

/* Columns that cannot be wrapped and do not fit: the name of each row is above it; but not where nobody said how wide
 * the output may be, since scripts read rows as lines. */
static void test_stacked_table(void **state)
{
    (void)state;
    cli_table table;
    for (int narrow = 0; narrow < 2; narrow++) {
        if (narrow)
            setenv("COLUMNS", "60", 1);
        else
            unsetenv("COLUMNS");
        FILE *file = stream();
        cli_table_begin(&table, "lrr", "kernel", "loaded", "bound");
        cli_table_row(&table, "wgmma_bf16_bf16_p128x128_s6_c21_and_some_more_letters_of_a_name", "85.3",
                      "1.07_P_and_something_that_is_long_too");
        cli_table_row(&table, "naive", "", "");
        assert_true(cli_table_end(&table, file, 2));
        if (narrow)
            printed(file, "  kernel\n"
                          "    loaded                                  bound\n"
                          "  wgmma_bf16_bf16_p128x128_s6_c21_and_some_more_letters_of_a_name\n"
                          "      85.3  1.07_P_and_something_that_is_long_too\n"
                          "  naive\n");
        else
            printed(file, "  kernel                                                           loaded"
                          "                                  bound\n"
                          "  wgmma_bf16_bf16_p128x128_s6_c21_and_some_more_letters_of_a_name    85.3"
                          "  1.07_P_and_something_that_is_long_too\n"
                          "  naive\n");
    }
    unsetenv("COLUMNS");
}

static void test_columns_of_the_terminal(void **state)
{
    (void)state;
    unsetenv("COLUMNS");
    assert_int_equal(cli_columns(), CLI_COLUMNS); /* the tests' output is no terminal */
    setenv("COLUMNS", "80", 1);
    assert_int_equal(cli_columns(), 80);
    setenv("COLUMNS", "9", 1); /* nothing fits there */
    assert_int_equal(cli_columns(), CLI_COLUMNS_MIN);
    setenv("COLUMNS", "wide", 1);
    assert_int_equal(cli_columns(), CLI_COLUMNS);
    setenv("COLUMNS", "120", 1);
    FILE *file = stream();
    cli_print_wrapped(file,
                      "aaaa bbbb cccc dddd eeee ffff gggg hhhh iiii jjjj kkkk llll mmmm nnnn oooo pppp qqqq rrrr "
                      "ssss tttt uuuu vvvv wwww xxxx yyyy",
                      0, 2);
    printed(file, "aaaa bbbb cccc dddd eeee ffff gggg hhhh iiii jjjj kkkk llll mmmm nnnn oooo pppp qqqq rrrr "
                  "ssss tttt uuuu vvvv wwww xxxx\n  yyyy\n");
    unsetenv("COLUMNS");
}

static void test_wrapping(void **state)
{
    (void)state;
    char word[130];
    memset(word, 'x', sizeof word - 1);
    word[sizeof word - 1] = 0;
    FILE *file = stream();
    cli_print_wrapped(file, "a\nb", 0, 2);
    cli_print_wrapped(file, word, 0, 2); /* does not fit anywhere */
    cli_print_wrapped(file, "", 0, 2);
    char expected[200];
    snprintf(expected, sizeof expected, "a\n  b\n%s\n\n", word);
    printed(file, expected);
}

static void test_json(void **state)
{
    (void)state;
    FILE *file = stream();
    cli_json json = cli_json_begin(file);
    cli_json_text(&json, "text", "quote \" slash \\ line \n bell \a");
    cli_json_text(&json, "none", NULL);
    cli_json_int(&json, "low", INT64_MIN);
    cli_json_number(&json, "third", 1.0 / 3.0);
    cli_json_number(&json, "one", 1);
    cli_json_number(&json, "nan", (double)NAN);
    cli_json_number(&json, "inf", (double)-INFINITY);
    cli_json_bool(&json, "yes", 5);
    cli_json_null(&json, "null");
    cli_json_end(&json);
    printed(file, "{\"text\": \"quote \\\" slash \\\\ line \\u000a bell \\u0007\", \"none\": null, "
                  "\"low\": -9223372036854775808, \"third\": 0.3333333333333333, \"one\": 1, \"nan\": null, "
                  "\"inf\": null, \"yes\": true, \"null\": null}\n");
    file = stream();
    json = cli_json_begin(file);
    cli_json_end(&json);
    printed(file, "{}\n");
}

/* Without a terminal there is no progress, and all calls take that. */
static void test_no_progress(void **state)
{
    (void)state;
    assert_non_null(freopen("/dev/null", "w", stderr));
    cli_progress *progress = cli_progress_begin();
    assert_null(progress);
    cli_progress_say(progress, "%d", 1);
    cli_progress_clear(progress);
    cli_progress_end(progress);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_units),         cmocka_unit_test(test_table),
        cmocka_unit_test(test_wide_table),    cmocka_unit_test(test_two_wide_columns),
        cmocka_unit_test(test_stacked_table), cmocka_unit_test(test_columns_of_the_terminal),
        cmocka_unit_test(test_wrapping),      cmocka_unit_test(test_json),
        cmocka_unit_test(test_no_progress),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
