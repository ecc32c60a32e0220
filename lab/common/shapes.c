#include "lab/common/shapes.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/memory.h"
#include "lab/common/file.h"
#include "lab/common/random.h"

#define ELEMENT_BYTES_MAX 8

double lab_shape_products(lab_shape shape)
{
    return (double)shape.m * (double)shape.n * (double)shape.k * (double)(shape.batch > 1 ? shape.batch : 1);
}

void lab_shape_text(lab_shape shape, char *out, size_t out_bytes)
{
    char times[24] = "";
    if (shape.batch > 1)
        snprintf(times, sizeof times, " x%" PRId64, shape.batch);
    if (shape.m == shape.n && shape.n == shape.k)
        snprintf(out, out_bytes, "%" PRId64 "%s", shape.m, times);
    else
        snprintf(out, out_bytes, "%" PRId64 "x%" PRId64 "x%" PRId64 "%s", shape.m, shape.n, shape.k, times);
}

/* Elements of a matrix; sizes that overflow are refused by the library, whatever comes out here. */
static int64_t elements(int64_t rows, int64_t columns)
{
    return (int64_t)((uint64_t)rows * (uint64_t)columns);
}

void lab_shape_set_batch(int64_t batch, tsr_gemm_desc *desc)
{
    if (batch <= 1)
        return;
    desc->batch_count = batch;
    desc->a.batch_stride = elements(desc->m, desc->k);
    desc->b.batch_stride = elements(desc->k, desc->n);
    desc->c.batch_stride = desc->d.batch_stride = elements(desc->m, desc->n);
}

void lab_shape_share_unstrided(tsr_gemm_desc *desc)
{
    desc->broadcast = (desc->a.batch_stride == 0 ? TSR_BROADCAST_A : 0) |
                      (desc->b.batch_stride == 0 ? TSR_BROADCAST_B : 0) |
                      (desc->c.batch_stride == 0 ? TSR_BROADCAST_C : 0);
}

/* Where a number is being read: the text from `at` to `end`, and how messages name the place. */
typedef struct text_cursor {
    const char *at, *end;
    char place[320];
} text_cursor;

static int is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static void skip_blanks(text_cursor *cursor)
{
    while (cursor->at < cursor->end && is_blank(*cursor->at))
        cursor->at++;
}

/* What stands at the cursor, printable and short, for messages. */
static const char *word_at(const text_cursor *cursor, char out[24])
{
    size_t length = 0;
    for (const char *c = cursor->at; c < cursor->end && !is_blank(*c) && length < 20; c++)
        out[length++] = *c >= ' ' && *c < 127 ? *c : '?';
    out[length] = '\0';
    return out;
}

static tsr_status read_number(text_cursor *cursor, const char *what, int64_t *out)
{
    char word[24];
    if (cursor->at >= cursor->end)
        return tsr_fail(TSR_INVALID_ARGUMENT, "%s: %s is missing", cursor->place, what);
    if (!is_digit(*cursor->at))
        return tsr_fail(TSR_INVALID_ARGUMENT, "%s: %s = \"%s\": must be a whole number >= 0", cursor->place, what,
                        word_at(cursor, word));
    const char *start = cursor->at;
    int64_t value = 0;
    for (; cursor->at < cursor->end && is_digit(*cursor->at); cursor->at++)
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, *cursor->at - '0', &value)) {
            cursor->at = start;
            return tsr_fail(TSR_INVALID_ARGUMENT, "%s: %s = \"%s\": does not fit 63 bits", cursor->place, what,
                            word_at(cursor, word));
        }
    *out = value;
    return TSR_OK;
}

static int bytes_fit(int64_t rows, int64_t columns, int64_t batch)
{
    long long elements, all, bytes;
    return tsr_mul_size(rows, columns, &elements) && tsr_mul_size(elements, batch, &all) &&
           tsr_mul_size(all, ELEMENT_BYTES_MAX, &bytes);
}

tsr_status lab_shape_check(const char *place, lab_shape shape)
{
    const int64_t batch = shape.batch;
    if (batch < 1)
        return tsr_fail(TSR_INVALID_ARGUMENT, "%s: BATCH = 0: must be at least 1", place);
    if (!bytes_fit(shape.m, shape.k, batch) || !bytes_fit(shape.k, shape.n, batch) ||
        !bytes_fit(shape.m, shape.n, batch))
        return tsr_fail(TSR_INVALID_ARGUMENT, "%s: %lld %lld %lld: the bytes of an operand do not fit 63 bits", place,
                        (long long)shape.m, (long long)shape.n, (long long)shape.k);
    return TSR_OK;
}

static tsr_status add_shape(const char *place, lab_shape shape, lab_shapes *out)
{
    const tsr_status status = lab_shape_check(place, shape);
    if (status != TSR_OK)
        return status;
    if (out->count == LAB_SHAPES_MAX)
        return tsr_fail(TSR_INVALID_ARGUMENT, "%s: more than %d shapes", place, LAB_SHAPES_MAX);
    if ((out->count & (out->count - 1)) == 0) { /* full: capacities are powers of two */
        lab_shape *items = realloc(out->items, (out->count == 0 ? 1 : 2 * out->count) * sizeof *items);
        if (items == NULL)
            return tsr_fail(TSR_OUT_OF_MEMORY, "%s: no memory for the list of shapes", place);
        out->items = items;
    }
    out->items[out->count++] = shape;
    return TSR_OK;
}

/* One line without its newline. */
static tsr_status parse_line(text_cursor *cursor, lab_shapes *out)
{
    static const char *const names[4] = {"M", "N", "K", "BATCH"};
    int64_t sizes[4] = {0, 0, 0, 1};
    const char *comment = memchr(cursor->at, '#', (size_t)(cursor->end - cursor->at));
    if (comment != NULL)
        cursor->end = comment;
    skip_blanks(cursor);
    if (cursor->at == cursor->end)
        return TSR_OK;
    for (int i = 0; i < 3 || (i == 3 && cursor->at < cursor->end); i++) {
        tsr_status status = read_number(cursor, names[i], &sizes[i]);
        if (status != TSR_OK)
            return status;
        const char *after = cursor->at;
        skip_blanks(cursor);
        if (cursor->at < cursor->end && (cursor->at == after || i == 3)) {
            char word[24];
            return tsr_fail(TSR_INVALID_ARGUMENT,
                            "%s: \"%s\" after %s: a line holds whole numbers, M N K or M N K BATCH", cursor->place,
                            word_at(cursor, word), names[i]);
        }
    }
    const lab_shape shape = {sizes[0], sizes[1], sizes[2], sizes[3]};
    return add_shape(cursor->place, shape, out);
}

tsr_status lab_shapes_parse(const char *file_name, const char *text, size_t bytes, lab_shapes *out)
{
    memset(out, 0, sizeof *out);
    if (bytes > LAB_SHAPES_BYTES_MAX)
        return tsr_fail(TSR_INVALID_ARGUMENT, "%s: larger than %d bytes", file_name, LAB_SHAPES_BYTES_MAX);
    const char *end = text + bytes;
    int line = 0;
    while (text < end) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        text_cursor cursor = {.at = text, .end = newline != NULL ? newline : end};
        snprintf(cursor.place, sizeof cursor.place, "%.256s:%d", file_name, ++line);
        tsr_status status = parse_line(&cursor, out);
        if (status != TSR_OK) {
            lab_shapes_free(out);
            return status;
        }
        if (newline == NULL)
            break;
        text = newline + 1;
    }
    if (out->count == 0)
        return tsr_fail(TSR_INVALID_ARGUMENT,
                        "%s: holds no shape; a line is three whole numbers, M N K, or four, M N K BATCH", file_name);
    return TSR_OK;
}

tsr_status lab_shapes_read(const char *path, lab_shapes *out)
{
    char *text;
    size_t bytes;
    memset(out, 0, sizeof *out);
    tsr_status status = lab_file_read(path, LAB_SHAPES_BYTES_MAX, &text, &bytes);
    if (status != TSR_OK)
        return status;
    status = lab_shapes_parse(path, text, bytes, out);
    free(text);
    return status;
}

static tsr_status parse_squares(text_cursor *cursor, lab_shapes *out)
{
    for (;;) {
        int64_t size;
        tsr_status status = read_number(cursor, "size", &size);
        if (status != TSR_OK)
            return status;
        const lab_shape shape = {size, size, size, 1};
        status = add_shape(cursor->place, shape, out);
        if (status != TSR_OK || cursor->at == cursor->end)
            return status;
        if (*cursor->at != ',') {
            char word[24];
            return tsr_fail(TSR_INVALID_ARGUMENT, "%s: \"%s\" after a size: sizes are whole numbers, commas between",
                            cursor->place, word_at(cursor, word));
        }
        cursor->at++;
    }
}

tsr_status lab_shapes_squares(const char *option, const char *list, lab_shapes *out)
{
    memset(out, 0, sizeof *out);
    text_cursor cursor = {.at = list, .end = list + strlen(list)};
    snprintf(cursor.place, sizeof cursor.place, "%.64s", option);
    tsr_status status = parse_squares(&cursor, out);
    if (status != TSR_OK)
        lab_shapes_free(out);
    return status;
}

/* Log-uniform in 1..RANDOM_MAX; a multiple of 8 unless it is left as it fell. */
static int64_t random_size(lab_random *random, int as_it_fell)
{
    enum { RANDOM_LOG2 = 14, UNIT = 8 };
    const int64_t size = (int64_t)floor(exp2(RANDOM_LOG2 * lab_random_unit(random)) + 0.5);
    return as_it_fell ? size : (size + UNIT - 1) / UNIT * UNIT;
}

tsr_status lab_shapes_random(const char *option, int64_t count, uint64_t seed, lab_shapes *out)
{
    lab_random random = lab_random_make(seed, 0);
    memset(out, 0, sizeof *out);
    for (int64_t i = 0; i < count; i++) {
        lab_shape shape = {.batch = 1};
        shape.m = random_size(&random, i % 3 == 2);
        shape.n = random_size(&random, i % 3 == 2);
        shape.k = random_size(&random, i % 3 == 2);
        const tsr_status status = add_shape(option, shape, out);
        if (status != TSR_OK) {
            lab_shapes_free(out);
            return status;
        }
    }
    return TSR_OK;
}

void lab_shapes_free(lab_shapes *shapes)
{
    free(shapes->items);
    memset(shapes, 0, sizeof *shapes);
}
