/* The table as a hash table: a call costs two looks, for its own shape and for its class. */
#include "cublas/measured.h"

#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 12, GROUPS_MAX = 64, SIEVE_BITS = 1 << 15 };

typedef struct measured_line {
    tsr_measured_key key; /* of a class: sizes are -1 - the exponent */
    int group;            /* -1: an empty slot */
    double low;
} measured_line;

typedef struct measured_group {
    char chip[TSR_MEASURED_CHIP_BYTES];
    int version, lines;
    uint64_t sieve[SIEVE_BITS / 64]; /* of the sizes of its lines */
} measured_group;

struct tsr_measured {
    size_t slots; /* a power of two, at least twice the lines */
    measured_line *lines;
    int group_count;
    measured_group groups[GROUPS_MAX];
};

static const char *const types_names[TSR_TYPES_COUNT] = {
    "bf16",      "f16",      "f32",      "tf32",      "f64",       "bf16-f32",      "f16-f32",
    "bf16+bias", "f16+bias", "f32+bias", "tf32+bias", "e4m3-bf16", "e4m3-bf16-fast"};

const char *tsr_measured_types_name(int types)
{
    return types >= 0 && types < TSR_TYPES_COUNT ? types_names[types] : "?";
}

int tsr_measured_with_bias(int types)
{
    switch (types) {
    case TSR_TYPES_BF16:
        return TSR_TYPES_BF16_BIAS;
    case TSR_TYPES_F16:
        return TSR_TYPES_F16_BIAS;
    case TSR_TYPES_F32:
        return TSR_TYPES_F32_BIAS;
    case TSR_TYPES_TF32:
        return TSR_TYPES_TF32_BIAS;
    default:
        return -1;
    }
}

void tsr_measured_chip(const char *name, char out[TSR_MEASURED_CHIP_BYTES])
{
    static const char maker[] = "NVIDIA ";
    const char *chip = strncmp(name, maker, sizeof maker - 1) == 0 ? name + sizeof maker - 1 : name;
    const size_t length = strnlen(chip, TSR_MEASURED_CHIP_BYTES - 1);
    for (size_t i = 0; i < length; i++)
        out[i] = (char)(chip[i] == ' ' ? '-' : chip[i]);
    out[length] = '\0';
}

int tsr_measured_align(uintptr_t address, int64_t ld, int64_t stride, int64_t batch, size_t element_bytes)
{
    uint64_t bits = (uint64_t)address | (uint64_t)ld * element_bytes | TSR_MEASURED_ALIGN_MAX_BYTES;
    if (batch > 1)
        bits |= (uint64_t)stride * element_bytes;
    return (int)(bits & -bits);
}

/* ---- keys ------------------------------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

static uint64_t hash_sizes(int64_t m, int64_t n, int64_t k)
{
    return mix(mix(mix(1, (uint64_t)m), (uint64_t)n), (uint64_t)k);
}

static uint64_t hash_key(int group, const tsr_measured_key *key)
{
    const uint64_t small = (uint64_t)group << 32 | (uint64_t)key->types << 20 | (uint64_t)key->trans_a << 17 |
                           (uint64_t)key->trans_b << 16 | (uint64_t)key->align_a << 10 | (uint64_t)key->align_b << 5 |
                           (uint64_t)key->align_d;
    return mix(mix(hash_sizes(key->m, key->n, key->k), (uint64_t)key->batch), small);
}

static int is_same(const tsr_measured_key *p, const tsr_measured_key *q)
{
    return p->m == q->m && p->n == q->n && p->k == q->k && p->batch == q->batch && p->types == q->types &&
           p->trans_a == q->trans_a && p->trans_b == q->trans_b && p->align_a == q->align_a &&
           p->align_b == q->align_b && p->align_d == q->align_d;
}

/* A size >= 1 as the class that it lies in. */
static int64_t class_of(int64_t size)
{
    return -1 - (63 - __builtin_clzll((unsigned long long)size));
}

/* ---- reading ---------------------------------------------------------------------------------------------------- */

/* The text of one column, which no NUL ends. */
typedef struct column {
    const char *text;
    size_t bytes;
} column;

static int split(const char *line, size_t bytes, column out[COLUMNS])
{
    int count = 0;
    const char *end = line + bytes;
    while (count < COLUMNS) {
        const char *tab = memchr(line, '\t', (size_t)(end - line));
        out[count++] = (column){line, (size_t)((tab ? tab : end) - line)};
        if (!tab)
            return count == COLUMNS;
        line = tab + 1;
    }
    return 0;
}

static int is_word(column from, const char *word)
{
    return from.bytes == strlen(word) && memcmp(from.text, word, from.bytes) == 0;
}

/* A whole number from `least` on; 0 if it is none. */
static int read_whole(column from, int64_t least, int64_t *out)
{
    int64_t value = 0;
    if (from.bytes == 0 || from.bytes > 18)
        return 0;
    for (size_t i = 0; i < from.bytes; i++) {
        if (from.text[i] < '0' || from.text[i] > '9')
            return 0;
        value = 10 * value + (from.text[i] - '0');
    }
    *out = value;
    return value >= least;
}

/* A positive decimal fraction; strtod would read it by the program's locale. */
static int read_number(column from, double *out)
{
    double value = 0, unit = 1;
    int is_behind_dot = 0;
    for (size_t i = 0; i < from.bytes; i++) {
        const char here = from.text[i];
        if (here == '.' && !is_behind_dot) {
            is_behind_dot = 1;
            continue;
        }
        if (here < '0' || here > '9')
            return 0;
        value = 10 * value + (here - '0');
        unit *= is_behind_dot ? 10 : 1;
    }
    *out = value / unit;
    return value > 0;
}

static int read_version(column from, int *out)
{
    int64_t major, minor;
    const char *dot = memchr(from.text, '.', from.bytes);
    if (!dot || !read_whole((column){from.text, (size_t)(dot - from.text)}, 1, &major) ||
        !read_whole((column){dot + 1, from.bytes - (size_t)(dot - from.text) - 1}, 0, &minor) || minor > 99 ||
        major > 9999)
        return 0;
    *out = (int)(100 * major + minor);
    return 1;
}

static int read_align(column from, tsr_measured_key *key)
{
    int *const to[] = {&key->align_a, &key->align_b, &key->align_d};
    const char *at = from.text, *end = at + from.bytes;
    for (int i = 0; i < 3; i++) {
        int64_t value;
        const char *comma = memchr(at, ',', (size_t)(end - at));
        const char *stop = comma && i < 2 ? comma : end;
        if (!read_whole((column){at, (size_t)(stop - at)}, 1, &value) || value > TSR_MEASURED_ALIGN_MAX_BYTES ||
            (value & (value - 1)) != 0 || (i < 2 && !comma))
            return 0;
        *to[i] = (int)value;
        at = stop + (i < 2);
    }
    return 1;
}

/* Four sizes, all plain or all 2^x. */
static int read_sizes(const column from[4], tsr_measured_key *key)
{
    int64_t *const to[] = {&key->m, &key->n, &key->k, &key->batch};
    const int is_class = from[0].bytes > 2 && memcmp(from[0].text, "2^", 2) == 0;
    for (int i = 0; i < 4; i++) {
        column text = from[i];
        if (is_class && (text.bytes < 3 || memcmp(text.text, "2^", 2) != 0))
            return 0;
        if (is_class)
            text = (column){text.text + 2, text.bytes - 2};
        if (!read_whole(text, !is_class, to[i]) || (is_class && *to[i] > 62))
            return 0;
        if (is_class)
            *to[i] = -1 - *to[i];
    }
    return 1;
}

static int read_types_and_layout(column types, column layout, tsr_measured_key *key)
{
    key->types = 0;
    while (key->types < TSR_TYPES_COUNT && !is_word(types, types_names[key->types]))
        key->types++;
    if (key->types == TSR_TYPES_COUNT || layout.bytes != 2)
        return 0;
    key->trans_a = layout.text[0] == 't';
    key->trans_b = layout.text[1] == 't';
    return (key->trans_a || layout.text[0] == 'n') && (key->trans_b || layout.text[1] == 'n');
}

/* The group of chip and version, made if it is new; -1 if there are too many or the name is too long. */
static int group_of(tsr_measured *table, column chip, int version)
{
    for (int i = 0; i < table->group_count; i++)
        if (table->groups[i].version == version && is_word(chip, table->groups[i].chip))
            return i;
    if (table->group_count == GROUPS_MAX || chip.bytes == 0 || chip.bytes >= TSR_MEASURED_CHIP_BYTES)
        return -1;
    measured_group *group = &table->groups[table->group_count];
    memcpy(group->chip, chip.text, chip.bytes);
    group->version = version;
    return table->group_count++;
}

static measured_line *slot_of(const tsr_measured *table, int group, const tsr_measured_key *key)
{
    size_t at = hash_key(group, key) & (table->slots - 1);
    while (table->lines[at].group >= 0 && !(table->lines[at].group == group && is_same(&table->lines[at].key, key)))
        at = (at + 1) & (table->slots - 1);
    return &table->lines[at];
}

/* One line into the table; the later of two lines with one key counts. 0 if it says nothing. */
static int read_line(tsr_measured *table, const char *line, size_t bytes)
{
    column columns[COLUMNS];
    tsr_measured_key key;
    double ratio, low;
    int version;
    if (!split(line, bytes, columns) || !read_version(columns[1], &version) ||
        !read_types_and_layout(columns[2], columns[3], &key) || !read_align(columns[4], &key) ||
        !read_sizes(columns + 5, &key) || !read_number(columns[9], &ratio) || !read_number(columns[10], &low))
        return 0;
    const int group = group_of(table, columns[0], version);
    if (group < 0)
        return 0;
    measured_line *slot = slot_of(table, group, &key);
    table->groups[group].lines += slot->group < 0;
    *slot = (measured_line){key, group, low};
    const uint64_t bit = hash_sizes(key.m, key.n, key.k) % SIEVE_BITS;
    table->groups[group].sieve[bit / 64] |= (uint64_t)1 << bit % 64;
    return 1;
}

static tsr_measured *make_table(size_t lines)
{
    tsr_measured *table = calloc(1, sizeof *table);
    if (!table)
        return NULL;
    table->slots = 16;
    while (table->slots < 2 * lines)
        table->slots *= 2;
    table->lines = calloc(table->slots, sizeof *table->lines);
    if (!table->lines) {
        free(table);
        return NULL;
    }
    for (size_t i = 0; i < table->slots; i++)
        table->lines[i].group = -1;
    return table;
}

tsr_measured *tsr_measured_read(const char *text, size_t bytes, int *bad_line)
{
    size_t count = 1;
    const char *end = text + bytes;
    for (const char *at = text; at < end; at++)
        count += *at == '\n';
    tsr_measured *table = make_table(count);
    *bad_line = 0;
    for (int number = 1; table && text < end; number++) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        const char *stop = newline ? newline : end;
        if (stop > text && *text != '#' && !read_line(table, text, (size_t)(stop - text)) && *bad_line == 0)
            *bad_line = number;
        text = stop + 1;
    }
    return table;
}

void tsr_measured_free(tsr_measured *table)
{
    if (table)
        free(table->lines);
    free(table);
}

/* ---- looking ---------------------------------------------------------------------------------------------------- */

int tsr_measured_find(const tsr_measured *table, const char *chip, int cublas_version)
{
    for (int i = 0; i < table->group_count; i++)
        if (table->groups[i].version == cublas_version && strcmp(table->groups[i].chip, chip) == 0)
            return i;
    return -1;
}

int tsr_measured_lines(const tsr_measured *table, int group)
{
    return table->groups[group].lines;
}

static int in_sieve(const measured_group *group, int64_t m, int64_t n, int64_t k)
{
    const uint64_t bit = hash_sizes(m, n, k) % SIEVE_BITS;
    return group->sieve[bit / 64] >> bit % 64 & 1;
}

int tsr_measured_may(const tsr_measured *table, int group, int64_t m, int64_t n, int64_t k)
{
    const measured_group *lines = &table->groups[group];
    return in_sieve(lines, m, n, k) || in_sieve(lines, class_of(m), class_of(n), class_of(k));
}

double tsr_measured_enough(const tsr_measured_key *key)
{
    const double begin_us = 4;
    const int types = key->types;
    /* What an H200 reaches, within a factor of two on other GPUs. */
    const double tera = types == TSR_TYPES_F64                                    ? 50
                        : types == TSR_TYPES_F32 || types == TSR_TYPES_F32_BIAS   ? 50
                        : types == TSR_TYPES_TF32 || types == TSR_TYPES_TF32_BIAS ? 350
                        : types >= TSR_TYPES_E4M3_BF16                            ? 1200
                                                                                  : 650;
    const double operations = 2.0 * (double)key->m * (double)key->n * (double)key->k * (double)key->batch;
    const double by_time = 1 + TSR_MEASURED_ENOUGH_US / (begin_us + operations / (tera * 1e6));
    return by_time > TSR_MEASURED_ENOUGH ? by_time : TSR_MEASURED_ENOUGH;
}

tsr_measured_answer tsr_measured_look(const tsr_measured *table, int group, const tsr_measured_key *key)
{
    const measured_line *line = slot_of(table, group, key);
    if (line->group < 0) {
        tsr_measured_key class_key = *key;
        class_key.m = class_of(key->m);
        class_key.n = class_of(key->n);
        class_key.k = class_of(key->k);
        class_key.batch = class_of(key->batch);
        line = slot_of(table, group, &class_key);
    }
    if (line->group < 0)
        return TSR_MEASURED_NO_LINE;
    return line->low >= tsr_measured_enough(key) ? TSR_MEASURED_FASTER : TSR_MEASURED_SLOWER;
}

int tsr_measured_next(const tsr_measured *table, int group, size_t *at, tsr_measured_key *key)
{
    while (*at < table->slots) {
        const measured_line *line = &table->lines[(*at)++];
        if (line->group != group || line->key.m < 1 || line->low < tsr_measured_enough(&line->key))
            continue;
        *key = line->key;
        return 1;
    }
    return 0;
}
