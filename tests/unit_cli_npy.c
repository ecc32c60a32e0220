/* The .npy reader and writer: good files, every kind of bad one, and paths that cannot be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/npy.h"

typedef struct buffer {
    unsigned char bytes[4096];
    size_t size;
} buffer;

/* A file of this version with this dictionary, `data` bytes of 0, 1, 2, ... after it. */
static buffer make(int major, const char *dictionary, size_t data)
{
    buffer out = {.size = 0};
    size_t length = strlen(dictionary);
    memcpy(out.bytes, "\x93NUMPY", 6);
    out.bytes[6] = (unsigned char)major;
    out.bytes[8] = (unsigned char)(length & 0xff);
    out.bytes[9] = (unsigned char)(length >> 8);
    out.size = major == 1 ? 10 : 12;
    assert_true(out.size + length + data <= sizeof out.bytes);
    memcpy(out.bytes + out.size, dictionary, length);
    out.size += length;
    for (size_t i = 0; i < data; i++)
        out.bytes[out.size++] = (unsigned char)i;
    return out;
}

/* Parsed from a heap copy of exactly its size, so that AddressSanitizer sees any byte read beyond it. */
static int parse(const buffer *file, size_t size, cli_npy_header *header, cli_message *error)
{
    unsigned char *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    memcpy(copy, file->bytes, size);
    error->text[0] = 0;
    int good = cli_npy_parse(copy, size, header, error);
    free(copy);
    assert_int_equal(good, error->text[0] == 0);
    return good;
}

static cli_npy_header good(int major, const char *dictionary, size_t data)
{
    cli_npy_header header;
    cli_message error;
    buffer file = make(major, dictionary, data);
    parse(&file, file.size, &header, &error);
    assert_string_equal(error.text, "");
    assert_int_equal(header.data_bytes, data);
    assert_int_equal(header.data_offset, file.size - data);
    return header;
}

static void bad(const char *dictionary, size_t data, const char *message)
{
    cli_npy_header header;
    cli_message error;
    buffer file = make(1, dictionary, data);
    assert_false(parse(&file, file.size, &header, &error));
    assert_string_equal(error.text, message);
}

static void bad_bytes(const char *bytes, size_t size, const char *message)
{
    cli_npy_header header;
    cli_message error;
    buffer file = {.size = size};
    memcpy(file.bytes, bytes, size);
    assert_false(parse(&file, size, &header, &error));
    assert_string_equal(error.text, message);
}

static void test_good_headers(void **state)
{
    (void)state;
    cli_npy_header header = good(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }   \n", 48);
    assert_int_equal(header.dtype, TSR_F32);
    assert_int_equal(header.fortran, 0);
    assert_int_equal(header.rows, 3);
    assert_int_equal(header.columns, 4);
    header = good(2, "{'shape':(2,5),'descr':\"<f8\",'fortran_order':True}", 80);
    assert_int_equal(header.dtype, TSR_F64);
    assert_int_equal(header.fortran, 1);
    assert_int_equal(header.columns, 5);
    header = good(3, "{'descr': '=f2', 'fortran_order': False, 'shape': (1L, 1L,)}", 2);
    assert_int_equal(header.dtype, TSR_F16);
    header = good(1, "{'descr': 'f4', 'fortran_order': False, 'shape': (0, 7)}", 0);
    assert_int_equal(header.rows, 0);
    header = good(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (7, 0)}", 0);
    assert_int_equal(header.columns, 0);
    assert_true(header.batch == 1 && !header.stacked);
    header = good(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3, 4)}", 96);
    assert_true(header.batch == 2 && header.stacked && header.rows == 3 && header.columns == 4);
    header = good(1, "{'descr': '<f4', 'fortran_order': True, 'shape': (0, 3, 4)}", 0);
    assert_true(header.batch == 0 && header.stacked && header.fortran);
    header = good(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 1000000000000)}", 0);
    assert_true(header.columns == 1000000000000);
}

#define NEEDED                                                                                     \
    "f16, f32, f64, e5m2, s8 or u8 ('<f2', '<f4', '<f8', '<f1', '|i1', '|u1') is needed, or with " \
    "--dtype bf16 or e4m3 ('<V2', '<V1')"

static void test_bytes_and_opaque_elements(void **state)
{
    (void)state;
    static const struct {
        const char *dictionary;
        tsr_dtype dtype;
        int opaque;
        size_t bytes;
    } files[] = {{"{'descr': '|i1', 'fortran_order': False, 'shape': (3, 4)}", TSR_S8, 0, 12},
                 {"{'descr': '|u1', 'fortran_order': False, 'shape': (3, 4)}", TSR_U8, 0, 12},
                 {"{'descr': '<i4', 'fortran_order': False, 'shape': (3, 4)}", TSR_S32, 0, 48},
                 {"{'descr': '<V1', 'fortran_order': False, 'shape': (3, 4)}", TSR_DTYPE_NONE, 1, 12},
                 {"{'descr': '|V1', 'fortran_order': False, 'shape': (3, 4)}", TSR_DTYPE_NONE, 1, 12},
                 {"{'descr': '<f1', 'fortran_order': False, 'shape': (3, 4)}", TSR_E5M2, 0, 12},
                 {"{'descr': '<V2', 'fortran_order': False, 'shape': (3, 4)}", TSR_DTYPE_NONE, 2, 24},
                 {"{'descr': '|V2', 'fortran_order': False, 'shape': (3, 4)}", TSR_DTYPE_NONE, 2, 24}};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        const cli_npy_header header = good(1, files[i].dictionary, files[i].bytes);
        assert_int_equal(header.dtype, files[i].dtype);
        assert_int_equal(header.opaque, files[i].opaque);
        assert_int_equal(cli_npy_element_bytes(&header), files[i].bytes / 12);
    }
}

static void test_bad_dtypes(void **state)
{
    (void)state;
#define WITH(descr) "{'descr': " descr ", 'fortran_order': False, 'shape': (1, 1), }"
    bad(WITH("'>f4'"), 4, "is big-endian ('>f4'); in NumPy a.astype('<f4') is little-endian");
    bad(WITH("'>f8'"), 8, "is big-endian ('>f8'); in NumPy a.astype('<f8') is little-endian");
    bad(WITH("'|O'"), 8, "holds pickled Python objects ('|O'); a matrix of f16, f32, f64, e5m2, s8 or u8 is needed");
    bad(WITH("'O'"), 8, "holds pickled Python objects ('O'); a matrix of f16, f32, f64, e5m2, s8 or u8 is needed");
    bad(WITH("[('a', '<f4'), ('b', '<i4')]"), 8,
        "holds records (a structured dtype); a matrix of f16, f32, f64, e5m2, s8 or u8 is needed");
    bad(WITH("'<i8'"), 8, "holds elements of dtype '<i8'; " NEEDED);
    bad(WITH("'>i4'"), 4, "is big-endian ('>i4'); in NumPy a.astype('<i4') is little-endian");
    bad(WITH("'>V2'"), 2, "is big-endian ('>V2'); in NumPy a.astype('<V2') is little-endian");
    bad(WITH("'|V3'"), 3, "holds elements of dtype '|V3'; " NEEDED);
    bad(WITH("'<c8'"), 8, "holds elements of dtype '<c8'; " NEEDED);
    bad(WITH("'|f4'"), 4, "holds elements of dtype '|f4'; " NEEDED);
    bad(WITH("''"), 4, "holds elements of dtype ''; " NEEDED);
    bad(WITH("'<f16'"), 16, "holds elements of dtype '<f16'; " NEEDED);
    bad(WITH("'\x1b[31m'"), 4, "holds elements of dtype '?[31m'; " NEEDED);
#undef WITH
}

static void test_bad_shapes(void **state)
{
    (void)state;
#define WITH(shape) "{'descr': '<f4', 'fortran_order': False, 'shape': " shape ", }"
    bad(WITH("()"), 4, "has shape (), one scalar; a matrix has 2 dimensions");
    bad(WITH("(5,)"), 20,
        "has shape (5,), 1 dimension; a matrix has 2: in NumPy a.reshape(1, -1) makes it a row, a.reshape(-1, 1) a "
        "column");
    bad(WITH("(2, 3, 4, 1)"), 96, "has shape (2, 3, 4, 1), 4 dimensions; a matrix has 2, a stack of matrices 3");
    bad(WITH("(-1, 4)"), 4, "has a shape with a negative length, -1");
    bad(WITH("(1, -9223372036854775807)"), 4, "has a shape with a negative length, -9223372036854775807");
    bad(WITH("(9223372036854775808, 1)"), 4, "has a shape with a length that overflows 64 bits");
    bad(WITH("(99999999999999999999999999, 1)"), 4, "has a shape with a length that overflows 64 bits");
    bad(WITH("(4294967296, 4294967296)"), 4, "has shape (4294967296, 4294967296), whose bytes overflow 64 bits");
    bad(WITH("(0, 9223372036854775807)"), 0,
        "has shape (0, 9223372036854775807): without the lengths of 0 its bytes overflow 64 bits");
    bad(WITH("(9223372036854775807, 0)"), 0,
        "has shape (9223372036854775807, 0): without the lengths of 0 its bytes overflow 64 bits");
    bad(WITH("(3, 4)"), 47, "is truncated: shape (3, 4) of f32 needs 48 bytes of data, 47 are there");
    bad(WITH("(3, 4)"), 0, "is truncated: shape (3, 4) of f32 needs 48 bytes of data, 0 are there");
    bad(WITH("(3, 4)"), 50, "has 2 bytes after its data: shape (3, 4) of f32 needs 48 bytes, 50 are there");
    bad(WITH("(3)"), 12, "has a malformed .npy header, at \", }\"");
    bad(WITH("(3 4)"), 0, "has a malformed .npy header, at \"4), }\"");
    bad(WITH("(,)"), 0, "has a malformed .npy header, at \",), }\"");
    bad(WITH("[3, 4]"), 0, "has a malformed .npy header, at \"[3, 4], }\"");
    bad(WITH("(3.0, 4)"), 0, "has a malformed .npy header, at \".0, 4), }\"");
    char many[512] = "{'descr': '<f4', 'fortran_order': False, 'shape': (";
    for (int i = 0; i < 65; i++)
        strcat(many, "1,");
    strcat(many, ")}");
    bad(many, 4, "has a shape of more than 64 dimensions");
#undef WITH
}

static void test_bad_dictionaries(void **state)
{
    (void)state;
    bad("", 0, "has a malformed .npy header: it ends too early");
    bad("{", 0, "has a malformed .npy header: it ends too early");
    bad("{}", 0, "has a malformed .npy header: no key 'descr'");
    bad("{'descr': '<f4', 'shape': (1, 1)}", 4, "has a malformed .npy header: no key 'fortran_order'");
    bad("{'descr': '<f4', 'fortran_order': False}", 4, "has a malformed .npy header: no key 'shape'");
    bad("{'descr': '<f4', 'descr': '<f8'}", 4, "has a malformed .npy header: unexpected or repeated key 'descr'");
    bad("{'extra': 1}", 4, "has a malformed .npy header: unexpected or repeated key 'extra'");
    bad("{'fortran_order': 1}", 0, "has a malformed .npy header, at \"1}\"");
    bad("{'descr: '<f4'}", 0, "has a malformed .npy header, at \"<f4'}\"");
    bad("{'descr': '<f4' 'shape': (1, 1)}", 0, "has a malformed .npy header, at \"'shape': (1, 1)}\"");
    bad("{'descr': '<f\\x34'}", 0, "has a malformed .npy header, at \"'<f\\x34'}\"");
    bad("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1)} garbage", 4,
        "has a malformed .npy header, at \"garbage\"");
    bad("garbage", 0, "has a malformed .npy header, at \"garbage\"");
}

static void test_bad_frames(void **state)
{
    (void)state;
    bad_bytes("", 0, "is empty");
    bad_bytes("hello, world", 12, "is not a .npy file: it does not begin with \\x93NUMPY");
    bad_bytes("\x93NUM", 4, "is truncated: 4 bytes, less than a .npy header");
    bad_bytes("\x93NUMPY", 6, "is truncated: 6 bytes, less than a .npy header");
    bad_bytes("\x93NUMPY\1\0\5", 9, "is truncated: 9 bytes, less than a .npy header");
    bad_bytes("\x93NUMPY\2\0\5\0\0", 11, "is truncated: 11 bytes, less than a .npy header");
    bad_bytes("\x93NUMPY\4\0\0\0\0\0", 12, "is of .npy format version 4.0; 1.0, 2.0 and 3.0 are known");
    bad_bytes("\x93NUMPY\1\1\0\0\0\0", 12, "is of .npy format version 1.1; 1.0, 2.0 and 3.0 are known");
    bad_bytes("\x93NUMPY\1\0\377\377{}", 12, "is truncated: its header is 65535 bytes long, 2 are there");
    bad_bytes("\x93NUMPY\2\0\377\377\377\377{}", 14, "is truncated: its header is 4294967295 bytes long, 2 are there");
    bad_bytes("PK\003\004....", 8, "is a zip archive (perhaps .npz); unzip it: each member is a .npy file");
    bad_bytes("\x80\4\x95....", 7, "is a Python pickle, not a .npy file; save the array with numpy.save");
    bad_bytes("\x1f\x8b\x08", 3, "is compressed with gzip; gunzip it first");
}

/* Every prefix of a good file is refused and none makes the reader look beyond it. */
static void test_every_truncation(void **state)
{
    (void)state;
    cli_npy_header header;
    cli_message error;
    buffer file = make(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }      \n", 48);
    for (size_t size = 0; size < file.size; size++)
        assert_false(parse(&file, size, &header, &error));
    assert_true(parse(&file, file.size, &header, &error));
}

/* ---- files
 * ----------------------------------------------------------------------------------------------------------- */

static char folder[] = "/tmp/tessera-unit-npy-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return system("rm -rf \"$PWD\"") == 0 ? 0 : -1;
}

static void test_write_and_read(void **state)
{
    (void)state;
    static const tsr_dtype dtypes[] = {TSR_F16, TSR_F32, TSR_F64};
    static const int64_t shapes[][2] = {{1, 1}, {3, 5}, {0, 4}, {4, 0}, {100, 33}};
    for (size_t t = 0; t < 3; t++) {
        for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
            cli_npy_writer writer;
            cli_message error = {""};
            cli_npy npy;
            size_t bytes = (size_t)(shapes[s][0] * shapes[s][1]) * tsr_dtype_bytes(dtypes[t]);
            const cli_npy_header shape = {
                .dtype = dtypes[t], .batch = 1, .rows = shapes[s][0], .columns = shapes[s][1]};
            assert_true(cli_npy_create("out.npy", &shape, &writer, &error));
            assert_int_equal((uintptr_t)writer.data % 64, 0);
            for (size_t i = 0; i < bytes; i++)
                ((unsigned char *)writer.data)[i] = (unsigned char)(i * 7);
            assert_true(cli_npy_commit(&writer, &error));
            cli_npy_abandon(&writer); /* harmless */
            assert_true(cli_npy_open("out.npy", &npy, &error));
            assert_int_equal(npy.header.dtype, dtypes[t]);
            assert_true(npy.header.rows == shapes[s][0] && npy.header.columns == shapes[s][1]);
            assert_int_equal(npy.header.data_offset % 64, 0);
            for (size_t i = 0; i < bytes; i++)
                assert_int_equal(((const unsigned char *)npy.data)[i], (unsigned char)(i * 7));
            cli_npy_close(&npy);
            cli_npy_close(&npy);
        }
    }
}

/* Data at an odd offset are copied to where elements are aligned. */
static void test_unaligned(void **state)
{
    (void)state;
    cli_npy npy;
    cli_message error = {""};
    buffer file = make(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2)} ", 32);
    while ((file.size - 32) % 2 == 0)
        file = make(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2)}  ", 32);
    FILE *to = fopen("odd.npy", "wb");
    assert_non_null(to);
    assert_int_equal(fwrite(file.bytes, 1, file.size, to), file.size);
    fclose(to);
    assert_true(cli_npy_open("odd.npy", &npy, &error));
    assert_int_equal((uintptr_t)npy.data % 8, 0);
    assert_int_equal(((const unsigned char *)npy.data)[31], 31);
    cli_npy_close(&npy);
}

static void cannot_open(const char *path, const char *message)
{
    cli_npy npy;
    cli_message error = {""};
    assert_false(cli_npy_open(path, &npy, &error));
    assert_string_equal(error.text, message);
}

static void cannot_create(const char *path, int64_t rows, int64_t columns, const char *message)
{
    cli_npy_writer writer;
    cli_message error = {""};
    const cli_npy_header shape = {.dtype = TSR_F32, .batch = 1, .rows = rows, .columns = columns};
    assert_false(cli_npy_create(path, &shape, &writer, &error));
    assert_non_null(strstr(error.text, message));
    cli_npy_abandon(&writer);
}

static void test_paths(void **state)
{
    (void)state;
    cannot_open("none.npy", "cannot be read: No such file or directory");
    cannot_open(".", "cannot be read: it is a directory");
    cannot_open("/dev/null", "is empty");
    cannot_open("/dev/zero", "is not a .npy file: it does not begin with \\x93NUMPY");
    fclose(fopen("zero.npy", "wb"));
    cannot_open("zero.npy", "is empty");
    cannot_create(".", 1, 1, "cannot be written: it is a directory");
    cannot_create("no/such/folder.npy", 1, 1, "cannot be written: No such file or directory");
    cannot_create("big.npy", INT64_MAX, 4,
                  "cannot be written: shape (9223372036854775807, 4) of f32 overflows 64 bits");
    cannot_create("big.npy", (int64_t)1 << 50, 16, "cannot be written: 72057594037928064 bytes: ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_headers),     cmocka_unit_test(test_bytes_and_opaque_elements),
        cmocka_unit_test(test_bad_dtypes),       cmocka_unit_test(test_bad_shapes),
        cmocka_unit_test(test_bad_dictionaries), cmocka_unit_test(test_bad_frames),
        cmocka_unit_test(test_every_truncation), cmocka_unit_test(test_write_and_read),
        cmocka_unit_test(test_unaligned),        cmocka_unit_test(test_paths),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
