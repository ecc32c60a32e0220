/* Shape lists: what is read, and the exact message for what is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <unistd.h>

#include "lab/common/file.h"
#include "lab/common/shapes.h"

/* Parses a copy without a final zero byte, so that the sanitizer sees each read past the end. */
static tsr_status parse(const char *text, lab_shapes *out)
{
    const size_t bytes = strlen(text);
    char *copy = malloc(bytes + 1);
    assert_non_null(copy);
    char *exact = realloc(memcpy(copy, text, bytes), bytes > 0 ? bytes : 1);
    const tsr_status status = lab_shapes_parse("f.txt", exact, bytes, out);
    free(exact);
    return status;
}

static void good_files(void **state)
{
    (void)state;
    lab_shapes s;
    assert_int_equal(parse("# sizes\n\n1 2 3\n  4\t5  6 12 \r\n7 8 9# end\n#\n0 0 0", &s), TSR_OK);
    assert_int_equal(s.count, 4);
    const lab_shape want[] = {{1, 2, 3, 1}, {4, 5, 6, 12}, {7, 8, 9, 1}, {0, 0, 0, 1}};
    assert_memory_equal(s.items, want, sizeof want);
    lab_shapes_free(&s);
    assert_int_equal(s.count, 0);
    assert_int_equal(parse("9223372036854775807 0 0", &s), TSR_OK);
    assert_int_equal(s.items[0].m, INT64_MAX);
    lab_shapes_free(&s);
}

static void batches(void **state)
{
    (void)state;
    char text[32];
    lab_shape_text((lab_shape){64, 64, 64, 8}, text, sizeof text);
    assert_string_equal(text, "64 x8");
    lab_shape_text((lab_shape){1, 2, 3, 1}, text, sizeof text);
    assert_string_equal(text, "1x2x3");
    assert_true(lab_shape_products((lab_shape){2, 3, 5, 7}) == 210);
    assert_true(lab_shape_products((lab_shape){2, 3, 5, 0}) == 30);
    tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F32, 2, 3, 5);
    lab_shape_set_batch(1, &desc);
    assert_int_equal(desc.batch_count, 1);
    assert_int_equal(desc.a.batch_stride, 0);
    lab_shape_set_batch(7, &desc);
    assert_int_equal(desc.batch_count, 7);
    assert_int_equal(desc.a.batch_stride, 10);
    assert_int_equal(desc.b.batch_stride, 15);
    assert_int_equal(desc.c.batch_stride, 6);
    assert_int_equal(desc.d.batch_stride, 6);
}

static void bad_files(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "f.txt: holds no shape; a line is three whole numbers, M N K, or four, M N K BATCH"},
        {"# nothing\n\n", "f.txt: holds no shape; a line is three whole numbers, M N K, or four, M N K BATCH"},
        {"1 2 3\n\n4 5\n", "f.txt:3: K is missing"},
        {"1\n", "f.txt:1: N is missing"},
        {"1 2 # 3\n", "f.txt:1: K is missing"},
        {"1 2 -3\n", "f.txt:1: K = \"-3\": must be a whole number >= 0"},
        {"1 two 3\n", "f.txt:1: N = \"two\": must be a whole number >= 0"},
        {"1 2 3 4 5\n", "f.txt:1: \"5\" after BATCH: a line holds whole numbers, M N K or M N K BATCH"},
        {"1 2 3 0\n", "f.txt:1: BATCH = 0: must be at least 1"},
        {"1 2 3 x\n", "f.txt:1: BATCH = \"x\": must be a whole number >= 0"},
        {"65536 65536 1 4294967296\n", "f.txt:1: 65536 65536 1: the bytes of an operand do not fit 63 bits"},
        {"1 2 3,\n", "f.txt:1: \",\" after K: a line holds whole numbers, M N K or M N K BATCH"},
        {"1 2.5 3\n", "f.txt:1: \".5\" after N: a line holds whole numbers, M N K or M N K BATCH"},
        {"1x2x3\n", "f.txt:1: \"x2x3\" after M: a line holds whole numbers, M N K or M N K BATCH"},
        {"1 2 9223372036854775808\n", "f.txt:1: K = \"9223372036854775808\": does not fit 63 bits"},
        {"1 2 99999999999999999999999\n", "f.txt:1: K = \"99999999999999999999\": does not fit 63 bits"},
        {"4294967296 4294967296 1\n", "f.txt:1: 4294967296 4294967296 1: the bytes of an operand do not fit 63 bits"},
        {"1 4294967296 4294967296\n", "f.txt:1: 1 4294967296 4294967296: the bytes of an operand do not fit 63 bits"},
        {"\x01\x02\xff 1 1\n", "f.txt:1: M = \"???\": must be a whole number >= 0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        lab_shapes s;
        assert_int_equal(parse(cases[i].text, &s), TSR_INVALID_ARGUMENT);
        assert_string_equal(tsr_last_error(), cases[i].message);
        assert_null(s.items);
        assert_int_equal(s.count, 0);
    }
}

static void zero_bytes(void **state)
{
    (void)state;
    lab_shapes s;
    assert_int_equal(lab_shapes_parse("f", "1 2\0003", 6, &s), TSR_INVALID_ARGUMENT);
    assert_int_equal(lab_shapes_parse("f", NULL, 0, &s), TSR_INVALID_ARGUMENT);
}

static void bounds(void **state)
{
    (void)state;
    char *text = malloc((size_t)(LAB_SHAPES_MAX + 1) * 6 + 1);
    assert_non_null(text);
    for (int i = 0; i <= LAB_SHAPES_MAX; i++)
        memcpy(text + i * 6, "1 2 3\n", 7);
    lab_shapes s;
    assert_int_equal(lab_shapes_parse("f", text, (size_t)LAB_SHAPES_MAX * 6, &s), TSR_OK);
    assert_int_equal(s.count, LAB_SHAPES_MAX);
    lab_shapes_free(&s);
    assert_int_equal(lab_shapes_parse("f", text, (size_t)(LAB_SHAPES_MAX + 1) * 6, &s), TSR_INVALID_ARGUMENT);
    assert_string_equal(tsr_last_error(), "f:4097: more than 4096 shapes");
    assert_int_equal(lab_shapes_parse("f", text, LAB_SHAPES_BYTES_MAX + 1, &s), TSR_INVALID_ARGUMENT);
    free(text);
}

static void squares(void **state)
{
    (void)state;
    lab_shapes s;
    assert_int_equal(lab_shapes_squares("--sizes", "32,256,0", &s), TSR_OK);
    assert_int_equal(s.count, 3);
    assert_true(s.items[1].m == 256 && s.items[1].n == 256 && s.items[1].k == 256 && s.items[2].k == 0);
    lab_shapes_free(&s);
    static const char *const bad[] = {
        "", ",", "32,", "32,,64", "32;64", "a", "-1", "32 ", "9223372036854775808", "4294967296"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(lab_shapes_squares("--sizes", bad[i], &s), TSR_INVALID_ARGUMENT);
        assert_memory_equal(tsr_last_error(), "--sizes: ", 9);
        assert_null(s.items);
    }
}

static void files(void **state)
{
    (void)state;
    lab_shapes s;
    assert_int_equal(lab_shapes_read("/nonexistent/shapes", &s), TSR_IO_ERROR);
    assert_string_equal(tsr_last_error(), "/nonexistent/shapes: No such file or directory");
    assert_int_equal(lab_shapes_read("/", &s), TSR_IO_ERROR);
    assert_string_equal(tsr_last_error(), "/: Is a directory");

    char path[] = "/tmp/shapes_XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "3 4 5", 5), 5);
    close(fd);
    assert_int_equal(lab_shapes_read(path, &s), TSR_OK);
    assert_int_equal(s.items[0].n, 4);
    lab_shapes_free(&s);
    char *text;
    size_t bytes;
    assert_int_equal(lab_file_read(path, 5, &text, &bytes), TSR_OK);
    assert_true(bytes == 5 && strcmp(text, "3 4 5") == 0);
    free(text);
    assert_int_equal(lab_file_read(path, 4, &text, &bytes), TSR_IO_ERROR);
    unlink(path);
}

/* Log-uniform: every power of two gets its share; two of three in multiples of 8; the seed decides. */
static void random_shapes(void **state)
{
    (void)state;
    enum { COUNT = 3000, BUCKETS = 14 };
    lab_shapes s, again, other;
    int in_bucket[BUCKETS + 1] = {0}, differ = 0;
    assert_int_equal(lab_shapes_random("--random", COUNT, 1, &s), TSR_OK);
    assert_int_equal(lab_shapes_random("--random", COUNT, 1, &again), TSR_OK);
    assert_int_equal(lab_shapes_random("--random", COUNT, 2, &other), TSR_OK);
    assert_int_equal(s.count, COUNT);
    assert_memory_equal(s.items, again.items, COUNT * sizeof *s.items);
    for (int i = 0; i < COUNT; i++) {
        const int64_t sizes[3] = {s.items[i].m, s.items[i].n, s.items[i].k};
        for (int j = 0; j < 3; j++) {
            assert_in_range(sizes[j], 1, 16384);
            assert_true(i % 3 == 2 || sizes[j] % 8 == 0);
        }
        in_bucket[63 - __builtin_clzll((unsigned long long)sizes[0])]++;
        differ += memcmp(&s.items[i], &other.items[i], sizeof *s.items) != 0;
    }
    for (int b = 6; b < BUCKETS; b++) /* small sizes grow when they are rounded up */
        assert_in_range(in_bucket[b], COUNT / BUCKETS * 7 / 10, COUNT / BUCKETS * 13 / 10);
    assert_true(differ > COUNT * 9 / 10);
    lab_shapes_free(&s);
    lab_shapes_free(&again);
    lab_shapes_free(&other);
    assert_int_equal(lab_shapes_random("--random", LAB_SHAPES_MAX + 1, 1, &s), TSR_INVALID_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_files), cmocka_unit_test(batches),       cmocka_unit_test(bad_files),
        cmocka_unit_test(zero_bytes), cmocka_unit_test(bounds),        cmocka_unit_test(squares),
        cmocka_unit_test(files),      cmocka_unit_test(random_shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
