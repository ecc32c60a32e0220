/* The header of a .npy file: "\x93NUMPY", version, length, and a Python dictionary literal such as
 *     {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
 * Nothing here trusts a byte of it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/npy.h"

enum { MAGIC_BYTES = 6, DIMENSIONS_MAX = 64 };

typedef struct reader {
    const char *at, *end;
} reader;

typedef struct dictionary {
    char descr[32];
    int has_descr, structured;
    int has_order, fortran;
    int has_shape, dimensions;
    int64_t shape[DIMENSIONS_MAX];
    char shape_text[100];
} dictionary;

static int malformed(const reader *in, cli_message *error)
{
    char near[24];
    size_t count = 0;
    for (const char *at = in->at; at < in->end && count + 1 < sizeof near; at++)
        near[count++] = *at >= 0x20 && *at < 0x7f ? *at : '?';
    near[count] = 0;
    if (!count)
        return cli_reject(error, "has a malformed .npy header: it ends too early");
    return cli_reject(error, "has a malformed .npy header, at \"%s\"", near);
}

static void skip_blanks(reader *in)
{
    while (in->at < in->end && strchr(" \t\r\n", *in->at) && *in->at)
        in->at++;
}

/* 1 and past it if the next character is `c`. */
static int take(reader *in, char c)
{
    skip_blanks(in);
    if (in->at >= in->end || *in->at != c)
        return 0;
    in->at++;
    return 1;
}

static int take_word(reader *in, const char *word)
{
    size_t length = strlen(word);
    skip_blanks(in);
    if ((size_t)(in->end - in->at) < length || memcmp(in->at, word, length) != 0)
        return 0;
    in->at += length;
    return 1;
}

/* A quoted string without escapes; cut to what `out` holds. */
static int take_string(reader *in, char *out, size_t bytes)
{
    skip_blanks(in);
    if (in->at >= in->end || (*in->at != '\'' && *in->at != '"'))
        return 0;
    char quote = *in->at;
    const char *begin = in->at + 1, *close = memchr(begin, quote, (size_t)(in->end - begin));
    if (!close || memchr(begin, '\\', (size_t)(close - begin)))
        return 0;
    snprintf(out, bytes, "%.*s", (int)(close - begin < (long)bytes ? close - begin : (long)bytes), begin);
    for (char *at = out; *at; at++)
        if (*at < 0x20 || *at >= 0x7f)
            *at = '?';
    in->at = close + 1;
    return 1;
}

/* One length of the shape; Python 2 wrote 3L. */
static int take_length(reader *in, int64_t *out, cli_message *error)
{
    int negative = take(in, '-');
    int64_t value = 0;
    const char *begin = in->at;
    for (; in->at < in->end && *in->at >= '0' && *in->at <= '9'; in->at++)
        if (__builtin_mul_overflow(value, (int64_t)10, &value) ||
            __builtin_add_overflow(value, (int64_t)(*in->at - '0'), &value))
            return cli_reject(error, "has a shape with a length that overflows 64 bits");
    if (in->at == begin)
        return malformed(in, error);
    if (negative)
        return cli_reject(error, "has a shape with a negative length, -%" PRId64, value);
    take(in, 'L');
    *out = value;
    return 1;
}

static int take_shape(reader *in, dictionary *out, cli_message *error)
{
    if (!take(in, '('))
        return malformed(in, error);
    size_t used = 0;
    out->dimensions = 0;
    int comma = 1;
    while (!take(in, ')')) {
        if (!comma)
            return malformed(in, error);
        if (out->dimensions == DIMENSIONS_MAX)
            return cli_reject(error, "has a shape of more than %d dimensions", DIMENSIONS_MAX);
        if (!take_length(in, &out->shape[out->dimensions], error))
            return 0;
        if (used < sizeof out->shape_text)
            used += (size_t)snprintf(out->shape_text + used, sizeof out->shape_text - used, "%s%" PRId64,
                                     out->dimensions ? ", " : "", out->shape[out->dimensions]);
        out->dimensions++;
        comma = take(in, ',');
    }
    /* (3) is a number to Python, not a shape. */
    if (out->dimensions == 1 && !comma)
        return malformed(in, error);
    out->has_shape = 1;
    return 1;
}

static int take_value(reader *in, const char *key, dictionary *out, cli_message *error)
{
    if (strcmp(key, "descr") == 0 && !out->has_descr) {
        out->has_descr = 1;
        if (take(in, '[') || take(in, '(')) {
            out->structured = 1; /* no need to read on: it is refused */
            return 1;
        }
        return take_string(in, out->descr, sizeof out->descr) || malformed(in, error);
    }
    if (strcmp(key, "fortran_order") == 0 && !out->has_order) {
        out->has_order = 1;
        out->fortran = take_word(in, "True");
        return out->fortran || take_word(in, "False") || malformed(in, error);
    }
    if (strcmp(key, "shape") == 0 && !out->has_shape)
        return take_shape(in, out, error);
    return cli_reject(error, "has a malformed .npy header: unexpected or repeated key '%s'", key);
}

static int take_dictionary(reader *in, dictionary *out, cli_message *error)
{
    char key[24];
    if (!take(in, '{'))
        return malformed(in, error);
    int comma = 1;
    while (!take(in, '}')) {
        if (!comma || !take_string(in, key, sizeof key) || !take(in, ':'))
            return malformed(in, error);
        if (!take_value(in, key, out, error))
            return 0;
        if (out->structured)
            return 1;
        comma = take(in, ',');
    }
    skip_blanks(in);
    if (in->at != in->end)
        return malformed(in, error);
    if (!out->has_descr || !out->has_order || !out->has_shape)
        return cli_reject(error, "has a malformed .npy header: no key '%s'",
                          !out->has_descr   ? "descr"
                          : !out->has_order ? "fortran_order"
                                            : "shape");
    return 1;
}

/* ---- what the dictionary says
 * ------------------------------------------------------------------------------------------ */

#define NEEDED "a matrix of f16, f32, f64, e5m2, s8 or u8 is needed"

size_t cli_npy_element_bytes(const cli_npy_header *header)
{
    return header->opaque ? (size_t)header->opaque : tsr_dtype_bytes(header->dtype);
}

/* ml_dtypes (0.6.0) saves e5m2, and nothing else, as '<f1'; bf16 as '<V2'; e4m3 as '<V1', as its other types of 8 bits
 * and less: these do not say what they are. NumPy itself writes bytes without a type as '|V1'. */
static int check_dtype(const dictionary *dict, cli_npy_header *out, cli_message *error)
{
    static const struct {
        const char *descr;
        tsr_dtype dtype;
        int opaque, is_byte;
    } known[] = {{"f2", TSR_F16, 0, 0},  {"f4", TSR_F32, 0, 0},        {"f8", TSR_F64, 0, 0},
                 {"i4", TSR_S32, 0, 0},  {"i1", TSR_S8, 0, 1},         {"u1", TSR_U8, 0, 1},
                 {"f1", TSR_E5M2, 0, 1}, {"V1", TSR_DTYPE_NONE, 1, 1}, {"V2", TSR_DTYPE_NONE, 2, 1}};
    if (dict->structured)
        return cli_reject(error, "holds records (a structured dtype); " NEEDED);
    const char *descr = dict->descr, *type = descr + (descr[0] && strchr("<>=|", descr[0]) ? 1 : 0);
    if (type[0] == 'O')
        return cli_reject(error, "holds pickled Python objects ('%s'); " NEEDED, descr);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(type, known[i].descr) != 0)
            continue;
        if (descr[0] == '>' && (!known[i].is_byte || known[i].opaque > 1))
            return cli_reject(error, "is big-endian ('%s'); in NumPy a.astype('<%s') is little-endian", descr, type);
        if (descr[0] == '|' && !known[i].is_byte)
            break;
        out->dtype = known[i].dtype;
        out->opaque = known[i].opaque;
        out->never_e5m2 = strcmp(descr, "<V1") == 0;
        return 1;
    }
    return cli_reject(error,
                      "holds elements of dtype '%s'; f16, f32, f64, e5m2, s8 or u8 ('<f2', '<f4', '<f8', '<f1', "
                      "'|i1', '|u1') is needed, or with --dtype bf16 or e4m3 ('<V2', '<V1')",
                      descr);
}

static int check_vector(const dictionary *dict, cli_message *error)
{
    return dict->dimensions == 1
               ? 1
               : cli_reject(error, "has shape (%s), %d dimensions; a vector has 1: in NumPy a.ravel() makes it one",
                            dict->shape_text, dict->dimensions);
}

static int check_shape(const dictionary *dict, cli_message *error)
{
    if (dict->dimensions == 2 || dict->dimensions == 3)
        return 1;
    if (dict->dimensions == 0)
        return cli_reject(error, "has shape (), one scalar; a matrix has 2 dimensions");
    if (dict->dimensions == 1)
        return cli_reject(error,
                          "has shape (%s,), 1 dimension; a matrix has 2: in NumPy a.reshape(1, -1) makes it a row, "
                          "a.reshape(-1, 1) a column",
                          dict->shape_text);
    return cli_reject(error, "has shape (%s), %d dimensions; a matrix has 2, a stack of matrices 3", dict->shape_text,
                      dict->dimensions);
}

/* How many bytes the shape takes. An empty one may name any other length, so zeros count as ones when it is checked. */
static int take_size(const dictionary *dict, cli_npy_header *out, cli_message *error)
{
    const int64_t *const last = dict->shape + dict->dimensions - 1;
    int64_t most = (int64_t)cli_npy_element_bytes(out), all = most;
    out->stacked = dict->dimensions == 3;
    out->batch = out->stacked ? dict->shape[0] : 1;
    out->vector = dict->dimensions == 1;
    out->rows = out->vector ? 1 : last[-1];
    out->columns = last[0];
    out->fortran = dict->fortran && !out->vector;
    int has_zero = 0;
    for (int i = 0; i < dict->dimensions; i++)
        has_zero |= dict->shape[i] == 0;
    for (int i = 0; i < dict->dimensions; i++) {
        if (__builtin_mul_overflow(most, dict->shape[i] ? dict->shape[i] : 1, &most))
            return has_zero ? cli_reject(error, "has shape (%s): without the lengths of 0 its bytes overflow 64 bits",
                                         dict->shape_text)
                            : cli_reject(error, "has shape (%s), whose bytes overflow 64 bits", dict->shape_text);
        all *= dict->shape[i];
    }
    out->data_bytes = (size_t)all;
    return 1;
}

int cli_npy_check_data(const cli_npy_header *header, size_t there, cli_message *error)
{
    char shape[80];
    if (there == header->data_bytes)
        return 1;
    const int used = header->stacked ? snprintf(shape, sizeof shape, "%" PRId64 ", ", header->batch) : 0;
    if (header->vector)
        snprintf(shape, sizeof shape, "%" PRId64 ",", header->columns);
    else
        snprintf(shape + used, sizeof shape - (size_t)used, "%" PRId64 ", %" PRId64, header->rows, header->columns);
    const char *dtype = header->opaque ? "opaque elements" : tsr_dtype_name(header->dtype);
    if (there < header->data_bytes)
        return cli_reject(error, "is truncated: shape (%s) of %s needs %zu bytes of data, %zu are there", shape, dtype,
                          header->data_bytes, there);
    return cli_reject(error, "has %zu bytes after its data: shape (%s) of %s needs %zu bytes, %zu are there",
                      there - header->data_bytes, shape, dtype, header->data_bytes, there);
}

/* ---- the frame
 * ---------------------------------------------------------------------------------------------------------- */

static int reject_magic(const unsigned char *bytes, size_t size, cli_message *error)
{
    if (size == 0)
        return cli_reject(error, "is empty");
    if (size >= 4 && memcmp(bytes, "PK\003\004", 4) == 0)
        return cli_reject(error, "is a zip archive (perhaps .npz); unzip it: each member is a .npy file");
    if (size >= 2 && bytes[0] == 0x80 && bytes[1] >= 2 && bytes[1] <= 5)
        return cli_reject(error, "is a Python pickle, not a .npy file; save the array with numpy.save");
    if (size >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b)
        return cli_reject(error, "is compressed with gzip; gunzip it first");
    if (size < MAGIC_BYTES && memcmp(bytes, "\x93NUMPY", size) == 0)
        return cli_reject(error, "is truncated: %zu bytes, less than a .npy header", size);
    return cli_reject(error, "is not a .npy file: it does not begin with \\x93NUMPY");
}

static int find_header(const unsigned char *bytes, size_t size, reader *out, cli_message *error)
{
    if (size < MAGIC_BYTES || memcmp(bytes, "\x93NUMPY", MAGIC_BYTES) != 0)
        return reject_magic(bytes, size, error);
    if (size < MAGIC_BYTES + 2)
        return cli_reject(error, "is truncated: %zu bytes, less than a .npy header", size);
    unsigned major = bytes[6], minor = bytes[7];
    if (major < 1 || major > 3 || minor != 0)
        return cli_reject(error, "is of .npy format version %u.%u; 1.0, 2.0 and 3.0 are known", major, minor);
    size_t begin = major == 1 ? 10 : 12;
    if (size < begin)
        return cli_reject(error, "is truncated: %zu bytes, less than a .npy header", size);
    size_t length = (size_t)bytes[8] | (size_t)bytes[9] << 8;
    if (major > 1)
        length |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
    if (length > size - begin)
        return cli_reject(error, "is truncated: its header is %zu bytes long, %zu are there", length, size - begin);
    out->at = (const char *)bytes + begin;
    out->end = out->at + length;
    return 1;
}

size_t cli_npy_header_bytes(const void *frame, size_t size)
{
    const unsigned char *bytes = frame;
    if (size < CLI_NPY_FRAME_BYTES || memcmp(bytes, "\x93NUMPY", MAGIC_BYTES) != 0)
        return size;
    const size_t length = (size_t)bytes[8] | (size_t)bytes[9] << 8;
    return bytes[6] == 1 ? 10 + length : 12 + (length | (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24);
}

int cli_npy_parse_header(const void *bytes, size_t size, int vector, cli_npy_header *out, cli_message *error)
{
    reader in = {NULL, NULL};
    dictionary dict = {.shape_text = ""};
    memset(out, 0, sizeof *out);
    if (!find_header(bytes, size, &in, error))
        return 0;
    out->data_offset = (size_t)(in.end - (const char *)bytes);
    return take_dictionary(&in, &dict, error) && check_dtype(&dict, out, error) &&
           (vector ? check_vector(&dict, error) : check_shape(&dict, error)) && take_size(&dict, out, error);
}

int cli_npy_parse(const void *bytes, size_t size, cli_npy_header *out, cli_message *error)
{
    return cli_npy_parse_header(bytes, size, 0, out, error) && cli_npy_check_data(out, size - out->data_offset, error);
}
