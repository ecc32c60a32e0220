/* Reports: JSON that reads back, escapes, CSV quoting, aligned tables, and messages for broken JSON lines. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lab/bench/report.h"

static lab_record sample(void)
{
    lab_record r = lab_record_make();
    strcpy(r.kernel, "tiled_f32_t16");
    strcpy(r.device, "NVIDIA \"H200\"");
    strcpy(r.dtype, "f32");
    strcpy(r.layout, "nn");
    r.m = 1024;
    r.n = 512;
    r.k = 9007199254740991;
    r.time_us = 1.0 / 3.0;
    r.time_us_min = 0.25;
    r.spread = 0.0123;
    r.gflops = 1967.5;
    r.rounds = 30;
    r.commit[0] = '\0';
    strcpy(r.date, "2026-11-21");
    return r;
}

/* What `write` prints. */
static char *printed(void (*write)(FILE *file, const void *what), const void *what)
{
    char *text = NULL;
    size_t bytes;
    FILE *file = open_memstream(&text, &bytes);
    assert_non_null(file);
    write(file, what);
    fclose(file);
    return text;
}

static void write_string(FILE *file, const void *what)
{
    lab_json_string(file, what);
}

static void write_number(FILE *file, const void *what)
{
    lab_json_number(file, *(const double *)what);
}

static void write_record(FILE *file, const void *what)
{
    lab_record_write_json(file, what);
}

static void json_strings(void **state)
{
    (void)state;
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"", "\"\""},
        {"plain", "\"plain\""},
        {"a\"b\\c/d", "\"a\\\"b\\\\c/d\""},
        {"tab\tnl\n\x01\x7f", "\"tab\\u0009nl\\u000a\\u0001\\u007f\""},
        {"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\""},
        {"\xff", "\"\xef\xbf\xbd\""},
        {"\xc3", "\"\xef\xbf\xbd\""},
        {"\xc0\xaf", "\"\xef\xbf\xbd\xef\xbf\xbd\""},
        {"\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *text = printed(write_string, cases[i].text);
        assert_string_equal(text, cases[i].want);
        free(text);
    }
}

static void json_numbers(void **state)
{
    (void)state;
    static const double values[] = {
        0.0, 1.0, -1.5, 0.1, 1.0 / 3.0, 1e300, 5e-324, 123456789.123, 0x1.fffffffffffffp+1023};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        char *text = printed(write_number, &values[i]);
        assert_true(strtod(text, NULL) == values[i]);
        free(text);
    }
    const double tenth = 0.1, nan = NAN, infinity = INFINITY;
    char *text = printed(write_number, &tenth);
    assert_string_equal(text, "0.1");
    free(text);
    text = printed(write_number, &nan);
    assert_string_equal(text, "null");
    free(text);
    text = printed(write_number, &infinity);
    assert_string_equal(text, "null");
    free(text);
}

static void json_line(void **state)
{
    (void)state;
    const lab_record r = sample();
    char *text = printed(write_record, &r);
    assert_string_equal(
        text, "{\"kernel\": \"tiled_f32_t16\", \"device\": \"NVIDIA \\\"H200\\\"\", \"dtype\": \"f32\", "
              "\"layout\": \"nn\", \"m\": 1024, \"n\": 512, \"k\": 9007199254740991, \"batch\": 1, \"time_us\": "
              "0.3333333333333333, \"time_us_min\": 0.25, \"spread\": 0.0123, \"gflops\": 1967.5, \"gbps\": "
              "null, \"peak_pct\": null, \"peer\": null, \"peer_time_us\": null, \"peer_best_time_us\": "
              "null, \"ratio\": null, \"ratio_lo\": null, \"ratio_hi\": null, \"ratio_best\": null, "
              "\"clock_mhz\": null, \"power_w\": null, \"commit\": null, \"date\": \"2026-11-21\", \"speedup\": null, "
              "\"speedup_scaled\": 0, \"scales\": null, \"out_dtype\": null, \"rounds\": 30}\n");
    lab_records back;
    assert_int_equal(lab_records_parse("x", text, strlen(text), &back), TSR_OK);
    assert_int_equal(back.count, 1);
    char *again = printed(write_record, &back.items[0]);
    assert_string_equal(again, text);
    free(again);
    free(text);
    lab_records_free(&back);
}

#define NEEDED "\"kernel\":\"a\",\"dtype\":\"f32\",\"layout\":\"nn\",\"m\":1,\"n\":2,\"k\":3,\"time_us\":4"

static void json_read(void **state)
{
    (void)state;
    lab_records r;
    const char *text =
        "\n  \r\n{" NEEDED ",\"new\":{\"x\":[1,true,\"}\",{}],\"y\":null},\"commit\":\"\\u00e9\\n\\\"\"}\n"
        "\t{ \"peer\" : null , " NEEDED " }";
    assert_int_equal(lab_records_parse("x", text, strlen(text), &r), TSR_OK);
    assert_int_equal(r.count, 2);
    assert_string_equal(r.items[0].commit, "\xc3\xa9\n\"");
    assert_true(r.items[1].k == 3 && r.items[1].time_us == 4 && isnan(r.items[1].ratio));
    lab_records_free(&r);
    assert_int_equal(lab_records_parse("x", NULL, 0, &r), TSR_OK);
    assert_int_equal(r.count, 0);
}

static void json_broken(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"x", "o:1: column 1: '{' is missing"},
        {"\n{}", "o:2: column 3: \"kernel\" is missing"},
        {"{", "o:1: column 2: '\"' is missing"},
        {"{\"kernel\":5}", "o:1: column 11: \"kernel\" must be a string"},
        {"{\"m\":1.5}", "o:1: column 6: \"m\" must be a whole number"},
        {"{\"m\":-1}", "o:1: column 6: \"m\" must be a whole number"},
        {"{\"m\":null}", "o:1: column 6: \"m\" must be a whole number"},
        {"{\"m\":\"1\"}", "o:1: column 6: a number is missing"},
        {"{\"time_us\":1e999}", "o:1: column 12: \"1e999\" is not a number"},
        {"{\"time_us\":nan}", "o:1: column 12: a number is missing"},
        {"{\"time_us\":1-2}", "o:1: column 12: \"1-2\" is not a number"},
        {"{\"kernel\":\"a", "o:1: column 13: '\"' is missing"},
        {"{\"kernel\":\"\\x\"}", "o:1: column 13: not an escape sequence"},
        {"{\"kernel\":\"\\u12g4\"}", "o:1: column 13: \\u needs four hexadecimal digits"},
        {"{\"kernel\":\"\\u12", "o:1: column 13: not an escape sequence"},
        {"{" NEEDED "} {}", "o:1: column 74: a line holds one object and nothing else"},
        {"{" NEEDED ",}", "o:1: column 73: '\"' is missing"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        lab_records r;
        const size_t bytes = strlen(cases[i].text);
        char *exact = malloc(bytes); /* no zero byte at the end */
        assert_non_null(exact);
        memcpy(exact, cases[i].text, bytes);
        assert_int_equal(lab_records_parse("o", exact, bytes, &r), TSR_INVALID_ARGUMENT);
        assert_string_equal(tsr_last_error(), cases[i].message);
        assert_null(r.items);
        free(exact);
    }
    char deep[200];
    memset(deep, '[', sizeof deep);
    memcpy(deep, "{\"z\":", 5);
    lab_records r;
    assert_int_equal(lab_records_parse("o", deep, sizeof deep, &r), TSR_INVALID_ARGUMENT);
    assert_non_null(strstr(tsr_last_error(), "nested too deeply"));
}

static char *report_text(lab_format format, int with_peer)
{
    char *text = NULL;
    size_t bytes;
    FILE *file = open_memstream(&text, &bytes);
    assert_non_null(file);
    lab_report report = lab_report_begin(format, file, 20, with_peer);
    lab_record r = sample();
    lab_report_add(&report, &r);
    r.time_us = 1234567.0;
    r.speedup = 12.34;
    r.speedup_scaled = 1;
    r.ratio = 1.5;
    r.ratio_lo = 1.4;
    r.ratio_hi = 1.6;
    r.m = r.n = r.k = 64;
    strcpy(r.note, "1 round, \"slow\"");
    lab_report_add(&report, &r);
    lab_report_note(&report, "a remark");
    fclose(file);
    return text;
}

static void tables(void **state)
{
    (void)state;
    char *text = report_text(LAB_TABLE, 0);
    assert_string_equal(
        text,
        "kernel                type       M x N x K       time     +-   GFLOP/s    GB/s  % peak   vs seq.\n"
        "tiled_f32_t16         f32 nn   1024x512x9007199254740991  0.3333 us   1.2%      1968       -       -         "
        "-\n"
        "tiled_f32_t16         f32 nn            64    1.235 s   1.2%      1968       -       -    ~12.3x  (1 round, "
        "\"slow\")\n"
        "a remark\n");
    free(text);
    text = report_text(LAB_TABLE, 1);
    assert_non_null(strstr(text, "1.500 [1.400, 1.600]"));
    free(text);
}

/* In a narrow terminal rows go on in lines below, the same for all rows. */
static void narrow_tables(void **state)
{
    (void)state;
    char *text = NULL;
    size_t bytes;
    FILE *file = open_memstream(&text, &bytes);
    lab_report report = lab_report_begin(LAB_TABLE, file, 20, 1);
    report.columns = 80;
    lab_record r = sample();
    r.m = r.n = r.k = 64;
    lab_report_add(&report, &r);
    fclose(file);
    size_t lines = 0, widest = 0;
    for (const char *at = text; *at; lines++) {
        const size_t length = strcspn(at, "\n");
        widest = length > widest ? length : widest;
        at += length + (at[length] == '\n');
    }
    assert_int_equal(lines, 6); /* name, ours, the peer's; of the head and of a row */
    assert_in_range(widest, 60, 80);
    assert_non_null(strstr(text, "\ntiled_f32_t16"));
    free(text);
}

static void markdown(void **state)
{
    (void)state;
    char *text = report_text(LAB_MD, 0);
    assert_string_equal(text,
                        "| kernel | type | M x N x K | time | +- | GFLOP/s | GB/s | % peak | vs seq. |\n"
                        "|---|---|---:|---:|---:|---:|---:|---:|---:|\n"
                        "| tiled_f32_t16 | f32 nn | 1024x512x9007199254740991 | 0.3333 us | 1.2% | 1968 | - | - | - |\n"
                        "| tiled_f32_t16 | f32 nn | 64 | 1.235 s | 1.2% | 1968 | - | - | ~12.3x | 1 round, \"slow\"\n"
                        "\na remark\n");
    free(text);
}

static void csv(void **state)
{
    (void)state;
    char *text = report_text(LAB_CSV, 1);
    assert_string_equal(
        text,
        "kernel,device,dtype,layout,m,n,k,batch,time_us,time_us_min,spread,gflops,gbps,peak_pct,peer,peer_time_us,peer_"
        "best_"
        "time_us,ratio,ratio_lo,ratio_hi,ratio_best,clock_mhz,power_w,commit,date,speedup,speedup_scaled,scales,out_"
        "dtype,rounds,note\n"
        "tiled_f32_t16,\"NVIDIA \"\"H200\"\"\",f32,nn,1024,512,9007199254740991,1,0.3333333333333333,0.25,0.0123,"
        "1967.5,,,,,,,,,,,,,2026-11-21,,0,,,30,\n"
        "tiled_f32_t16,\"NVIDIA \"\"H200\"\"\",f32,nn,64,64,64,1,1234567,0.25,0.0123,1967.5,,,,,,1.5,1.4,1.6,,,,,2026-"
        "11-21,12.34,1,,,30,\"1 round, \"\"slow\"\"\"\n");
    free(text);
}

static void formats(void **state)
{
    (void)state;
    char *text = report_text(LAB_JSON, 1);
    lab_records r;
    assert_int_equal(lab_records_parse("x", text, strlen(text), &r), TSR_OK);
    assert_int_equal(r.count, 2);
    lab_records_free(&r);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_strings),  cmocka_unit_test(json_numbers), cmocka_unit_test(json_line),
        cmocka_unit_test(json_read),     cmocka_unit_test(json_broken),  cmocka_unit_test(tables),
        cmocka_unit_test(narrow_tables), cmocka_unit_test(markdown),     cmocka_unit_test(csv),
        cmocka_unit_test(formats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
