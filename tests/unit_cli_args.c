/* The argument parser: every kind of value, every message, help that fits the terminal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/api_error.h"
#include "cli/args.h"
#include "cli/commands.h"

typedef struct settings {
    const char *in, *out, *kernel, *device;
    int64_t size, rounds, seed;
    double alpha;
    int quick, format;
    unsigned vs;
    tsr_dtype dtype;
    cli_layout layout;
    cli_int_list sizes;
    cli_dtype_list dtypes;
    cli_layout_list layouts;
    cli_name_list kernels;
} settings;

#define AT(field) .offset = offsetof(settings, field)
static const cli_option options[] = {
    {.name = "IN", .help = "input", .parse = cli_parse_text, AT(in)},
    {.name = "SIZE", .help = "size", .parse = cli_parse_int, AT(size), .min = 0, .max = INT64_MAX},
    {.name = "--output",
     .letter = 'o',
     .required = 1,
     .once = 1,
     .value = "FILE",
     .help = "out",
     .parse = cli_parse_text,
     AT(out)},
    {.name = "--rounds", .value = "R", .help = "rounds", .parse = cli_parse_int, AT(rounds), .min = 1, .max = 100000},
    {.name = "--seed", .value = "S", .help = "seed", .parse = cli_parse_int, AT(seed), .min = INT64_MIN, .max = 5},
    {.name = "--alpha", .value = "X", .help = "factor", .parse = cli_parse_number, AT(alpha)},
    {.name = "--quick", .letter = 'q', .help = "a flag", AT(quick)},
    {.name = "--format", .value = "table|json|csv", .help = "form", .parse = cli_parse_choice, AT(format)},
    {.name = "--vs", .value = "cublas|openblas|blis", .help = "peers", .parse = cli_parse_choices, AT(vs)},
    {.name = "--dtype", .value = "T", .help = "dtype", .parse = cli_parse_dtype, AT(dtype)},
    {.name = "--layout", .value = "L", .help = "layout", .parse = cli_parse_layout, AT(layout)},
    {.name = "--sizes", .value = "N,...", .help = "sizes", .parse = cli_parse_ints, AT(sizes), .min = 1, .max = 4096},
    {.name = "--dtypes", .value = "T,...", .help = "dtypes", .parse = cli_parse_dtypes, AT(dtypes)},
    {.name = "--layouts", .value = "L,...", .help = "layouts", .parse = cli_parse_layouts, AT(layouts)},
    {.name = "--kernel", .value = "NAME", .help = "kernel", .parse = cli_parse_kernel, AT(kernel)},
    {.name = "--device", .value = "D", .help = "device", .parse = cli_parse_device, AT(device)},
    {.name = "--scale-b", .value = "FILE", .help = "scales", .parse = cli_parse_text, AT(in)},
    {.name = "--scales", .value = "none|tensor", .help = "scales", .parse = cli_parse_choice, AT(format)},
    {.name = "--kernels", .value = "NAME[,NAME]|all|auto", .help = "kernels", .parse = cli_parse_kernels, AT(kernels)},
    {.name = "--kernel-or-all", .value = "NAME|all", .help = "kernel", .parse = cli_parse_kernels_or_all, AT(kernel)},
    {0}};
static const cli_command command = {"test", "a test", "IN SIZE -o FILE [options]", options, NULL, NULL};

enum { ARGS_MAX = 12 };

/* Scans "in 5 -o out" followed by the blank-separated words of `text`. */
static cli_outcome scan(const char *text, settings *set, cli_message *error)
{
    static char buffer[8192]; /* the settings point into it */
    char *argv[ARGS_MAX + 4] = {"in", "5", "-o", "out"};
    const int has_output = strncmp(text, "-o", 2) == 0 || strncmp(text, "-qo", 3) == 0 || strstr(text, "--output");
    int argc = has_output ? 2 : 4;
    snprintf(buffer, sizeof buffer, "%s", text);
    for (char *word = strtok(buffer, " "); word && argc < ARGS_MAX + 4; word = strtok(NULL, " "))
        argv[argc++] = word;
    memset(set, 0, sizeof *set);
    error->text[0] = 0;
    return cli_scan_args(&command, argc, argv, set, error);
}

static settings good(const char *text)
{
    settings set;
    cli_message error;
    cli_outcome outcome = scan(text, &set, &error);
    assert_string_equal(error.text, "");
    assert_int_equal(outcome, CLI_ARGS_GOOD);
    return set;
}

static void bad(const char *text, const char *message)
{
    settings set;
    cli_message error;
    assert_int_equal(scan(text, &set, &error), CLI_ARGS_BAD);
    assert_string_equal(error.text, message);
}

/* Only these arguments, without the usual ones before. */
static void bad_alone(int argc, char **argv, const char *message)
{
    settings set = {0};
    cli_message error;
    assert_int_equal(cli_scan_args(&command, argc, argv, &set, &error), CLI_ARGS_BAD);
    assert_string_equal(error.text, message);
}

static void test_values(void **state)
{
    (void)state;
    settings set = good("--rounds 7 --alpha=-1.5e3 --quick --format csv --dtype f16 --layout tn");
    assert_string_equal(set.in, "in");
    assert_string_equal(set.out, "out");
    assert_int_equal(set.size, 5);
    assert_int_equal(set.rounds, 7);
    assert_true(set.alpha == -1500);
    assert_int_equal(set.quick, 1);
    assert_int_equal(set.format, 2);
    assert_int_equal(set.dtype, TSR_F16);
    assert_int_equal(set.layout.a, TSR_T);
    assert_int_equal(set.layout.b, TSR_N);
    assert_int_equal(good("--rounds=100000").rounds, 100000);
    assert_int_equal(good("--rounds 1 --rounds 2").rounds, 2); /* the last one counts */
    assert_true(good("--alpha -1").alpha == -1);
    assert_true(good("--alpha -.5").alpha == -0.5);
    assert_true(good("--alpha 0x1p-3").alpha == 0.125);
    assert_int_equal(good("--seed -9223372036854775808").seed == INT64_MIN, 1);
    assert_int_equal(good("-q").quick, 1);
    assert_string_equal(good("-oother").out, "other");
    assert_string_equal(good("-qo other").out, "other");
    assert_string_equal(good("-qoother -q").out, "other");
    assert_int_equal(good("-qo other").quick, 1);
    assert_string_equal(good("--output=a=b").out, "a=b");
    assert_string_equal(good("-o -").out, "-");
}

static void test_lists(void **state)
{
    (void)state;
    settings set = good("--sizes 32,256,4096 --dtypes f32,f64 --layouts nn,tt --vs blis,cublas");
    assert_int_equal(set.sizes.count, 3);
    assert_int_equal(set.sizes.values[2], 4096);
    assert_int_equal(set.dtypes.count, 2);
    assert_int_equal(set.dtypes.values[1], TSR_F64);
    assert_int_equal(set.layouts.count, 2);
    assert_int_equal(set.layouts.values[1].b, TSR_T);
    assert_int_equal(set.vs, 1u << 0 | 1u << 2);
    bad("--sizes 1,,2", "--sizes needs a list without empty items, such as a,b");
    bad("--sizes 1,", "--sizes needs a list without empty items, such as a,b");
    bad("--sizes=", "--sizes needs a list without empty items, such as a,b");
    bad("--sizes 1,x", "--sizes needs a whole number from 1 to 4096, not 'x'");
    bad("--vs blis,mkl", "--vs needs one of cublas, openblas, blis, not 'mkl'");
    bad("--layouts nn,nx", "--layouts needs one of nn, nt, tn, tt (A, B transposed or not), not 'nx'");

    char many[CLI_LIST_MAX * 2 + 16] = "--sizes ";
    for (int i = 0; i < CLI_LIST_MAX; i++)
        strcat(many, i ? ",1" : "1");
    assert_int_equal(good(many).sizes.count, CLI_LIST_MAX);
    strcat(many, ",1");
    bad(many, "--sizes takes at most 512 values");
    char item[CLI_NAME_MAX + 16];
    snprintf(item, sizeof item, "--sizes 1,%0*d", CLI_NAME_MAX, 1);
    bad(item, "--sizes has an item of more than 127 characters: '00000000000000000000...'");
}

static void test_bad_numbers(void **state)
{
    (void)state;
    static const char *const not_rounds[] = {"x",   "0",    "100001", "1.5", "+1",
                                             "1e3", "0x10", "-1",     "7a",  "99999999999999999999"};
    for (size_t i = 0; i < sizeof not_rounds / sizeof not_rounds[0]; i++) {
        char text[80], message[120];
        snprintf(text, sizeof text, "--rounds=%s", not_rounds[i]);
        snprintf(message, sizeof message, "--rounds needs a whole number from 1 to 100000, not '%s'", not_rounds[i]);
        bad(text, message);
    }
    bad("--rounds=", "--rounds needs a whole number from 1 to 100000, not ''");
    bad("--alpha nan", "--alpha needs a finite number, not 'nan'");
    bad("--alpha 1e999", "--alpha needs a finite number, not '1e999'");
    bad("--alpha 1,5", "--alpha needs a finite number, not '1,5'");
    bad("--alpha=", "--alpha needs a finite number, not ''");
    bad_alone(2, (char *[]){"in", "-3"}, "SIZE needs a whole number of at least 0, not '-3'");
    bad_alone(3, (char *[]){"--seed", " 1", "in"},
              "--seed needs a whole number from -9223372036854775808 to 5, not ' 1'");
}

static void test_names(void **state)
{
    (void)state;
    assert_string_equal(good("--kernel cpu-sequential").kernel, "cpu-sequential");
    assert_string_equal(good("--kernel tiled_f32_t16").kernel, "tiled_f32_t16");
    assert_string_equal(good("--kernel-or-all all").kernel, "all");
    settings set = good("--kernels naive,tiled");
    assert_int_equal(set.kernels.count, 2);
    assert_string_equal(set.kernels.values[1], "tiled");
    assert_string_equal(good("--kernels auto").kernels.values[0], "auto");
    static const char *const devices[] = {"auto", "cpu", "emu", "cuda:0", "cuda:123"};
    static const char *const no_devices[] = {"gpu", "", "cuda", "cuda:", "cuda:x", "cuda:-1", "cuda:1234", "CPU"};
    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
        char text[40];
        snprintf(text, sizeof text, "--device=%s", devices[i]);
        assert_string_equal(good(text).device, devices[i]);
    }
    for (size_t i = 0; i < sizeof no_devices / sizeof no_devices[0]; i++) {
        char text[40], message[120];
        snprintf(text, sizeof text, "--device=%s", no_devices[i]);
        snprintf(message, sizeof message, "--device needs one of auto, cpu, emu, cuda:N, not '%s'", no_devices[i]);
        bad(text, message);
    }
    bad("--kernel tild", "--kernel needs the name of a kernel, not 'tild'; did you mean tiled?");
    bad("--kernel zzzzzz", "--kernel needs the name of a kernel, not 'zzzzzz'; tessera info --kernels lists them");
    bad("--kernel all", "--kernel needs the name of a kernel, not 'all'; tessera info --kernels lists them");
    bad("--kernel-or-all niave", "--kernel-or-all needs the name of a kernel or all, not 'niave'; did you mean naive?");
    bad("--kernels naive,all",
        "--kernels needs the name of a kernel, all or auto, not 'all'; tessera info --kernels lists them");
    bad("--dtype f31", "--dtype needs one of f64, f32, f16, bf16, e4m3, e5m2, s8, u8, s32, not 'f31'");
    bad("--dtype none", "--dtype needs one of f64, f32, f16, bf16, e4m3, e5m2, s8, u8, s32, not 'none'");
    bad("--format tabl", "--format needs one of table, json, csv, not 'tabl'");
    bad("--format=", "--format needs one of table, json, csv, not ''");
    bad("--format table|json", "--format needs one of table, json, csv, not 'table|json'");
    bad("--layout n", "--layout needs one of nn, nt, tn, tt (A, B transposed or not), not 'n'");
}

static void test_shape_of_line(void **state)
{
    (void)state;
    bad("--rouns 5", "unknown option --rouns; did you mean --rounds?");
    bad("--zebra", "unknown option --zebra");
    bad("--hepl", "unknown option --hepl; did you mean --help?");
    bad("-x", "unknown option -x");
    bad("--rounds", "--rounds needs a value: --rounds R");
    bad("--rounds --quick", "--rounds needs a value: --rounds R");
    bad("-o", "-o needs a value: -o FILE");
    bad("--output=", "--output needs a value (FILE), not ''");
    bad("--quick=1", "--quick takes no value");
    bad("-qx", "unknown option -x");
    bad("-q=1", "-q takes no value");
    bad("--output a -o b", "-o is given twice");
    bad("more", "unexpected argument 'more': usage is tessera test IN SIZE -o FILE [options]");
    bad("-- --quick", "unexpected argument '--quick': usage is tessera test IN SIZE -o FILE [options]");
    bad_alone(0, NULL, "IN is missing: usage is tessera test IN SIZE -o FILE [options]");
    bad_alone(1, (char *[]){"in"}, "SIZE is missing: usage is tessera test IN SIZE -o FILE [options]");
    bad_alone(2, (char *[]){"in", "5"}, "-o is missing: usage is tessera test IN SIZE -o FILE [options]");
    bad_alone(1, (char *[]){""}, "IN needs a value (IN), not ''");

    settings set = {0};
    cli_message error;
    char *dashed[] = {"-oout", "--", "-in", "5"};
    assert_int_equal(cli_scan_args(&command, 4, dashed, &set, &error), CLI_ARGS_GOOD);
    assert_string_equal(set.in, "-in");
    char *help[] = {"in", "--help", "--nonsense"};
    assert_int_equal(cli_scan_args(&command, 3, help, &set, &error), CLI_ARGS_HELP);
    help[1] = "-h";
    assert_int_equal(cli_scan_args(&command, 3, help, &set, &error), CLI_ARGS_HELP);
}

/* What a call prints on one of the standard streams. */
static char *captured(int fd, int (*call)(void *user), void *user, int *result)
{
    static char text[16384];
    FILE *file = tmpfile();
    assert_non_null(file);
    fflush(NULL);
    int kept = dup(fd);
    dup2(fileno(file), fd);
    *result = call(user);
    fflush(NULL);
    dup2(kept, fd);
    close(kept);
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    return text;
}

static int call_help(void *user)
{
    settings set;
    char *argv[] = {"--help"};
    return cli_read_args(user, 1, argv, &set);
}

static int call_usage_error(void *user)
{
    return cli_usage_error(&command, "bad %s", (const char *)user);
}

static int call_failure(void *user)
{
    return cli_failure(NULL, "%s", (const char *)user);
}

static void test_printing(void **state)
{
    (void)state;
    int code;
    assert_string_equal(captured(2, call_usage_error, "a\033[1m\nb", &code), "tessera test: bad a?[1m?b\n");
    assert_int_equal(code, CLI_USAGE);
    assert_string_equal(captured(2, call_failure, "x", &code), "tessera: x\n");
    assert_int_equal(code, CLI_FAILED);
}

static void check_help(const cli_command *of)
{
    int code;
    char *text = captured(1, call_help, (void *)(uintptr_t)of, &code);
    assert_int_equal(code, CLI_OK);
    for (const cli_option *option = of->options; option->name; option++)
        assert_non_null(strstr(text, option->name));
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
        size_t length = strcspn(line, "\n");
        assert_true(length <= 100);
        assert_true(length == 0 || line[length - 1] != ' ');
    }
}

static void test_help(void **state)
{
    (void)state;
    check_help(&command);
    int code;
    assert_non_null(strstr(captured(1, call_help, (void *)(uintptr_t)&command, &code), "kernels: cpu-sequential"));
    for (size_t i = 0; cli_commands[i]; i++)
        check_help(cli_commands[i]);
}

/* Members of the library's structs that an option of the command stands for are called by it. */
static void test_names_options(void **state)
{
    (void)state;
    static const struct {
        const char *text, *wanted;
    } rows[] = {
        {"A.dtype = s32: operands may not be s32", "--dtype s32: operands may not be s32"},
        {"epilogue: not for s32; B.dtype = f32", "epilogue: not for s32; --dtype f32"}, /* no --epilogue here */
        {"alpha = 0.5: must be whole", "--alpha 0.5: must be whole"},
        {"alpha must be whole", "alpha must be whole"},
        {"kernel = \"x\": no such kernel", "--kernel \"x\": no such kernel"},
        {"kernel \"x\" does not run f32", "--kernel \"x\" does not run f32"},
        {"no kernel \"x\"", "no kernel \"x\""},
        {"kernel x has no prepared form", "kernel x has no prepared form"},
        {"device emu: no times", "--device emu: no times"},
        {"this device: none", "this device: none"},
        {"D.dtype = s8: no result", "D.dtype = s8: no result"},                          /* no --out-dtype here */
        {"scale_mode_a: must be TSR_SCALE_TENSOR", "--scales: must be --scales tensor"}, /* no --scale-a here */
        {"scale_b = nan: must be a number", "--scale-b = nan: must be a number"}, /* a file's, not the option's */
        {"scale_b[2] = nan: must be a number", "--scale-b[2] = nan: must be a number"},
        {"scale_mode_b: more than compute = fast", "--scale-b: more than compute = fast"},
        {"dA.dtype A.dtypes B.dtype", "dA.dtype A.dtypes --dtype"},
        {"", ""},
    };
    char long_text[2 * sizeof(cli_message)];
    cli_message out;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_string_equal(cli_name_options(&command, rows[i].text, &out), rows[i].wanted);
    memset(long_text, 'x', sizeof long_text); /* cut off, also within an option's name */
    long_text[sizeof long_text - 1] = '\0';
    for (size_t at = sizeof out.text - 12; at < sizeof out.text; at++) {
        char text[sizeof long_text];
        memcpy(text, long_text, sizeof text);
        memcpy(text + at, " A.dtype = x", strlen(" A.dtype = x"));
        assert_int_equal(strlen(cli_name_options(&command, text, &out)), sizeof out.text - 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_options), cmocka_unit_test(test_values), cmocka_unit_test(test_lists),
        cmocka_unit_test(test_bad_numbers),   cmocka_unit_test(test_names),  cmocka_unit_test(test_shape_of_line),
        cmocka_unit_test(test_printing),      cmocka_unit_test(test_help),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
