#include "lab/bench/calls.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "lab/common/file.h"

#define FILE_BYTES_MAX ((size_t)1 << 30)
#define LINE_BYTES_MAX 1024
static const char prefix[] = "tessera-call ";

typedef struct field {
    const char *key;
    size_t offset; /* of an int64_t or a double */
    int is_number;
    int64_t least; /* of whole ones */
} field;

#define WHOLE(key, member, least)                        \
    {                                                    \
        key, offsetof(lab_logged_call, member), 0, least \
    }
#define NUMBER(key, member)                          \
    {                                                \
        key, offsetof(lab_logged_call, member), 1, 0 \
    }
static const field fields[] = {
    WHOLE("m", m, 0),
    WHOLE("n", n, 0),
    WHOLE("k", k, 0),
    WHOLE("lda", lda, 1),
    WHOLE("ldb", ldb, 1),
    WHOLE("ldc", ldc, 1),
    WHOLE("batch", batch, 0),
    WHOLE("stride_a", stride_a, INT64_MIN),
    WHOLE("stride_b", stride_b, INT64_MIN),
    WHOLE("stride_c", stride_c, INT64_MIN),
    NUMBER("alpha", alpha),
    NUMBER("beta", beta),
    NUMBER("ns", total_ns),
};
enum { FIELD_COUNT = sizeof fields / sizeof fields[0], DTYPE_SEEN = 1 << FIELD_COUNT, LAYOUT_SEEN = 2 << FIELD_COUNT };

static int read_whole(const char *text, int64_t least, int64_t *out)
{
    char *end;
    errno = 0;
    const long long value = strtoll(text, &end, 10);
    *out = value;
    return end != text && *end == '\0' && errno == 0 && value >= least;
}

static int read_number(const char *text, double *out)
{
    char *end;
    *out = strtod(text, &end);
    return end != text && *end == '\0';
}

static int read_layout(const char *text, lab_logged_call *call)
{
    if (strlen(text) != 2 || strspn(text, "nt") != 2)
        return 0;
    call->trans_a = text[0] == 't';
    call->trans_b = text[1] == 't';
    return 1;
}

static int read_dtype(const char *text, lab_logged_call *call)
{
    call->dtype = strcmp(text, "f32") == 0 ? TSR_F32 : strcmp(text, "f64") == 0 ? TSR_F64 : TSR_DTYPE_NONE;
    return call->dtype != TSR_DTYPE_NONE;
}

/* One "key=value"; its bit, 0 for a key that is of no use here, -1 if the value is wrong. */
static int read_pair(const char *key, const char *value, lab_logged_call *call)
{
    if (strcmp(key, "dtype") == 0)
        return read_dtype(value, call) ? DTYPE_SEEN : -1;
    if (strcmp(key, "layout") == 0)
        return read_layout(value, call) ? LAYOUT_SEEN : -1;
    for (int i = 0; i < FIELD_COUNT; i++)
        if (strcmp(key, fields[i].key) == 0) {
            void *to = (char *)call + fields[i].offset;
            return (fields[i].is_number ? read_number(value, to) : read_whole(value, fields[i].least, to)) ? 1 << i
                                                                                                           : -1;
        }
    return 0;
}

/* 1: a product; 0: a call that computed nothing; -1: broken. Cuts `line` into words. */
static int read_line(char *line, lab_logged_call *call)
{
    int seen = 0;
    char *rest = NULL;
    memset(call, 0, sizeof *call);
    const char *name = strtok_r(line + sizeof prefix - 1, " ", &rest);
    if (name == NULL || strlen(name) >= sizeof call->name)
        return -1;
    memcpy(call->name, name, strlen(name) + 1);
    for (char *word = strtok_r(NULL, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
        char *value = strchr(word, '=');
        if (value == NULL)
            return -1;
        *value++ = '\0';
        if (strcmp(word, "info") == 0 || (strcmp(word, "kernel") == 0 && strcmp(value, "nothing-to-do") == 0))
            return 0;
        const int bit = read_pair(word, value, call);
        if (bit < 0)
            return -1;
        seen |= bit;
    }
    call->count = 1;
    const int64_t row_a = call->trans_a ? call->m : call->k, row_b = call->trans_b ? call->k : call->n;
    return seen == (LAYOUT_SEEN << 1) - 1 && call->lda >= row_a && call->ldb >= row_b && call->ldc >= call->n ? 1 : -1;
}

/* NaN is alike too. */
static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* By everything that makes calls alike. */
static int compare_calls(const void *left, const void *right)
{
    const lab_logged_call *a = left, *b = right;
    const int64_t a_keys[] = {a->dtype, a->trans_a, a->trans_b, a->m,        a->n,        a->k,       a->lda,
                              a->ldb,   a->ldc,     a->batch,   a->stride_a, a->stride_b, a->stride_c};
    const int64_t b_keys[] = {b->dtype, b->trans_a, b->trans_b, b->m,        b->n,        b->k,       b->lda,
                              b->ldb,   b->ldc,     b->batch,   b->stride_a, b->stride_b, b->stride_c};
    for (size_t i = 0; i < sizeof a_keys / sizeof a_keys[0]; i++)
        if (a_keys[i] != b_keys[i])
            return a_keys[i] < b_keys[i] ? -1 : 1;
    const uint64_t a_bits[2] = {bits_of(a->alpha), bits_of(a->beta)}, b_bits[2] = {bits_of(b->alpha), bits_of(b->beta)};
    for (int i = 0; i < 2; i++)
        if (a_bits[i] != b_bits[i])
            return a_bits[i] < b_bits[i] ? -1 : 1;
    return 0;
}

static int compare_times(const void *left, const void *right)
{
    const lab_logged_call *a = left, *b = right;
    return a->total_ns > b->total_ns ? -1 : a->total_ns < b->total_ns;
}

static void merge_alike(lab_calls *calls)
{
    size_t kept = 0;
    qsort(calls->items, calls->count, sizeof *calls->items, compare_calls);
    for (size_t i = 1; i < calls->count; i++) {
        lab_logged_call *last = &calls->items[kept], *next = &calls->items[i];
        if (compare_calls(last, next) == 0) {
            last->count += next->count;
            last->total_ns += next->total_ns;
        } else {
            calls->items[++kept] = *next;
        }
    }
    calls->count = calls->count > 0 ? kept + 1 : 0;
    qsort(calls->items, calls->count, sizeof *calls->items, compare_times);
}

static tsr_status add_call(lab_calls *calls, size_t *room, const lab_logged_call *call)
{
    if (calls->count == *room) {
        const size_t more = *room > 0 ? 2 * *room : 64;
        lab_logged_call *items = realloc(calls->items, more * sizeof *items);
        if (items == NULL)
            return tsr_fail(TSR_OUT_OF_MEMORY, "no memory for %zu logged calls", more);
        calls->items = items;
        *room = more;
    }
    calls->items[calls->count++] = *call;
    return TSR_OK;
}

static tsr_status parse_line(const char *place, const char *at, size_t length, lab_calls *calls, size_t *room)
{
    char line[LINE_BYTES_MAX];
    lab_logged_call call;
    if (length < sizeof prefix - 1 || memcmp(at, prefix, sizeof prefix - 1) != 0)
        return TSR_OK;
    if (length >= sizeof line || memchr(at, '\0', length) != NULL)
        return tsr_fail(TSR_INVALID_ARGUMENT, "%s: no line of a call log", place);
    memcpy(line, at, length);
    line[length] = '\0';
    const int kind = read_line(line, &call);
    if (kind < 0)
        return tsr_fail(TSR_INVALID_ARGUMENT, "%s: a call's line is broken or incomplete", place);
    calls->lines++;
    calls->others += kind == 0;
    return kind == 0 ? TSR_OK : add_call(calls, room, &call);
}

tsr_status lab_calls_parse(const char *file_name, const char *text, size_t bytes, lab_calls *out)
{
    const char *end = text + bytes;
    size_t room = 0;
    long line = 0;
    tsr_status status = TSR_OK;
    memset(out, 0, sizeof *out);
    while (text < end && status == TSR_OK) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        char place[300];
        snprintf(place, sizeof place, "%.256s:%ld", file_name, ++line);
        status = parse_line(place, text, (size_t)((newline != NULL ? newline : end) - text), out, &room);
        text = newline != NULL ? newline + 1 : end;
    }
    if (status == TSR_OK && out->count == 0)
        status = tsr_fail(TSR_INVALID_ARGUMENT,
                          "%s: holds no product; TESSERA_LOG=calls writes lines that begin with %s", file_name, prefix);
    if (status != TSR_OK)
        lab_calls_free(out);
    else
        merge_alike(out);
    return status;
}

tsr_status lab_calls_read(const char *path, lab_calls *out)
{
    char *text;
    size_t bytes;
    memset(out, 0, sizeof *out);
    tsr_status status = lab_file_read(path, FILE_BYTES_MAX, &text, &bytes);
    if (status != TSR_OK)
        return status;
    status = lab_calls_parse(path, text, bytes, out);
    free(text);
    return status;
}

void lab_calls_free(lab_calls *calls)
{
    free(calls->items);
    memset(calls, 0, sizeof *calls);
}
