/* Which texts are near-copies of which? The question as one matrix product, around the command `tessera`:
 *
 *   licences matrix A.npy NAMES FILE...     one row for each distinct text, one column for each word
 *   tessera run A.npy A.npy --transb -o S.npy
 *   licences pairs S.npy NAMES              ranks the pairs by their similarity S[i][j]
 *
 * A row holds the weights (1 + ln tf) * ln(N / df) of its words, scaled to length 1 (Salton and Buckley,
 * "Term-weighting approaches in automatic text retrieval", 1988), so that A * A^T is the cosine of each two texts. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORD_MAX = 32, NAME_MAX_BYTES = 128, TEXT_MAX_BYTES = 1 << 20, COLUMNS_MAX = 16384, RANKS = 10 };

typedef struct word {
    char text[WORD_MAX];
    uint32_t documents; /* that it occurs in */
    uint32_t column;    /* of the matrix; UINT32_MAX: left out */
} word;

typedef struct occurrence {
    uint32_t word, count;
} occurrence;

typedef struct document {
    char name[NAME_MAX_BYTES];
    uint64_t hash;
    size_t copies; /* further files with the same text */
    occurrence *words;
    size_t word_count;
} document;

typedef struct corpus {
    word *words;
    uint32_t *slots; /* open addressing: word index + 1, 0 is free */
    size_t word_count, slot_count;
    document *documents;
    size_t document_count;
} corpus;

static void die(const char *what, const char *name)
{
    fprintf(stderr, "licences: %s %s%s%s\n", what, name, errno ? ": " : "", errno ? strerror(errno) : "");
    exit(1);
}

static void *grow(void *old, size_t count, size_t bytes)
{
    void *p = realloc(old, count * bytes);
    if (!p)
        die("out of memory for", "the texts");
    return p;
}

static uint64_t hash_bytes(const char *p, size_t bytes) /* FNV-1a */
{
    uint64_t h = 0xcbf29ce484222325U;
    for (size_t i = 0; i < bytes; i++)
        h = (h ^ (unsigned char)p[i]) * 0x100000001b3U;
    return h;
}

/* ---- words ----------------------------------------------------------------------------------------------------- */

/* Makes room for twice the words; half the slots stay free. */
static void rehash(corpus *c)
{
    c->slot_count = c->slot_count ? 2 * c->slot_count : 1 << 14;
    size_t words_max = c->slot_count / 2;
    c->words = grow(c->words, words_max, sizeof *c->words);
    memset(c->words + c->word_count, 0, (words_max - c->word_count) * sizeof *c->words);
    free(c->slots);
    c->slots = calloc(c->slot_count, sizeof *c->slots);
    if (!c->slots)
        die("out of memory for", "the words");
    for (size_t i = 0; i < c->word_count; i++) {
        size_t at = hash_bytes(c->words[i].text, strlen(c->words[i].text)) & (c->slot_count - 1);
        while (c->slots[at])
            at = (at + 1) & (c->slot_count - 1);
        c->slots[at] = (uint32_t)i + 1;
    }
}

static uint32_t find_word(corpus *c, const char *text, size_t length)
{
    if (2 * c->word_count >= c->slot_count)
        rehash(c);
    size_t at = hash_bytes(text, length) & (c->slot_count - 1);
    for (; c->slots[at]; at = (at + 1) & (c->slot_count - 1)) {
        const word *w = &c->words[c->slots[at] - 1];
        if (strlen(w->text) == length && memcmp(w->text, text, length) == 0)
            return c->slots[at] - 1;
    }
    memcpy(c->words[c->word_count].text, text, length);
    c->slots[at] = (uint32_t)++c->word_count;
    return (uint32_t)c->word_count - 1;
}

static int by_word(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Counts the words of a text: runs of letters, lower case, of 2 to WORD_MAX - 1 letters. */
static void count_words(corpus *c, document *d, char *text, size_t bytes)
{
    uint32_t *found = grow(NULL, bytes / 2 + 1, sizeof *found);
    size_t count = 0;
    for (size_t i = 0; i < bytes;) {
        size_t start = i;
        for (; i < bytes && isalpha((unsigned char)text[i]); i++)
            text[i] = (char)tolower((unsigned char)text[i]);
        if (i - start >= 2 && i - start < WORD_MAX)
            found[count++] = find_word(c, text + start, i - start);
        i += i == start;
    }
    qsort(found, count, sizeof *found, by_word);
    d->words = calloc(count + 1, sizeof *d->words);
    if (!d->words)
        die("out of memory for", d->name);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || found[i] != found[i - 1]) {
            d->words[d->word_count++] = (occurrence){found[i], 0};
            c->words[found[i]].documents++;
        }
        d->words[d->word_count - 1].count++;
    }
    free(found);
}

/* ---- documents --------------------------------------------------------------------------------------------------- */

/* ".../GPL-3" is the licence GPL-3; ".../bash/copyright" is what the package bash says of its own. */
static void name_document(char *out, const char *path)
{
    const char *end = path + strlen(path);
    const char *suffix = "/copyright";
    size_t suffix_bytes = strlen(suffix);
    int package = (size_t)(end - path) > suffix_bytes && strcmp(end - suffix_bytes, suffix) == 0;
    if (package)
        end -= suffix_bytes;
    const char *start = end;
    while (start > path && start[-1] != '/')
        start--;
    snprintf(out, NAME_MAX_BYTES, "%s%.*s", package ? "package " : "licence ", (int)(end - start), start);
}

static void add_document(corpus *c, const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        die("cannot read", path);
    char *text = grow(NULL, TEXT_MAX_BYTES, 1);
    size_t bytes = fread(text, 1, TEXT_MAX_BYTES, file);
    if (ferror(file))
        die("cannot read", path);
    fclose(file);

    uint64_t hash = hash_bytes(text, bytes);
    size_t same = 0;
    while (same < c->document_count && c->documents[same].hash != hash)
        same++;
    if (same < c->document_count) {
        c->documents[same].copies++;
    } else {
        c->documents = grow(c->documents, c->document_count + 1, sizeof *c->documents);
        document *d = &c->documents[c->document_count++];
        memset(d, 0, sizeof *d);
        d->hash = hash;
        name_document(d->name, path);
        count_words(c, d, text, bytes);
    }
    free(text);
}

/* ---- the matrix -------------------------------------------------------------------------------------------------- */

static int by_documents(const void *a, const void *b) /* most widely used first, then by the alphabet */
{
    const word *x = a, *y = b;
    if (x->documents != y->documents)
        return x->documents < y->documents ? 1 : -1;
    return strcmp(x->text, y->text);
}

/* Columns are the words of at least two texts: the others cannot make two texts alike, only longer. */
static size_t choose_columns(corpus *c)
{
    word *order = grow(NULL, c->word_count + 1, sizeof *order);
    memcpy(order, c->words, c->word_count * sizeof *order);
    qsort(order, c->word_count, sizeof *order, by_documents);
    size_t columns = 0;
    for (size_t i = 0; i < c->word_count; i++) {
        int keep = order[i].documents >= 2 && columns < COLUMNS_MAX;
        c->words[find_word(c, order[i].text, strlen(order[i].text))].column = keep ? (uint32_t)columns++ : UINT32_MAX;
    }
    free(order);
    return columns;
}

static void fill_row(const corpus *c, const document *d, float *row)
{
    double squares = 0;
    for (size_t i = 0; i < d->word_count; i++) {
        const word *w = &c->words[d->words[i].word];
        if (w->column == UINT32_MAX)
            continue;
        double weight = (1 + log(d->words[i].count)) * log((double)c->document_count / w->documents);
        row[w->column] = (float)weight;
        squares += weight * weight;
    }
    for (size_t i = 0; squares > 0 && i < d->word_count; i++) {
        uint32_t column = c->words[d->words[i].word].column;
        if (column != UINT32_MAX)
            row[column] = (float)(row[column] / sqrt(squares));
    }
}

/* NumPy's format 1.0: magic, version, length of the header, the header padded to a multiple of 64 bytes. */
static void write_header(FILE *out, size_t rows, size_t columns)
{
    char header[129];
    int length =
        snprintf(header, sizeof header, "%c%s%c%c%c%c{'descr': '<f4', 'fortran_order': False, 'shape': (%zu, %zu), }",
                 0x93, "NUMPY", 1, 0, 118, 0, rows, columns);
    memset(header + length, ' ', sizeof header - 2 - (size_t)length);
    header[127] = '\n';
    fwrite(header, 1, 128, out);
}

static void write_matrix(const corpus *c, size_t columns, const char *matrix_path, const char *names_path)
{
    FILE *matrix = fopen(matrix_path, "wb");
    if (!matrix)
        die("cannot write", matrix_path);
    FILE *names = fopen(names_path, "w");
    if (!names)
        die("cannot write", names_path);
    float *row = grow(NULL, columns + 1, sizeof *row);
    write_header(matrix, c->document_count, columns);
    for (size_t i = 0; i < c->document_count; i++) {
        const document *d = &c->documents[i];
        memset(row, 0, columns * sizeof *row);
        fill_row(c, d, row);
        fwrite(row, sizeof *row, columns, matrix);
        fprintf(names, "%s", d->name);
        if (d->copies)
            fprintf(names, " (+%zu the same)", d->copies);
        fprintf(names, "\n");
    }
    free(row);
    if (ferror(matrix) || fclose(matrix))
        die("cannot write", matrix_path);
    if (ferror(names) || fclose(names))
        die("cannot write", names_path);
}

static int make_matrix(int count, char **paths, const char *matrix_path, const char *names_path)
{
    corpus c = {0};
    rehash(&c);
    for (int i = 0; i < count; i++)
        add_document(&c, paths[i]);
    size_t columns = choose_columns(&c);
    write_matrix(&c, columns, matrix_path, names_path);
    printf("%d files, %zu distinct texts, %zu words in two texts or more: a matrix of %zu x %zu\n", count,
           c.document_count, columns, c.document_count, columns);
    for (size_t i = 0; i < c.document_count; i++)
        free(c.documents[i].words);
    free(c.documents);
    free(c.words);
    free(c.slots);
    return 0;
}

/* ---- the ranking ------------------------------------------------------------------------------------------------- */

typedef struct pair {
    uint32_t i, j;
    float similarity;
} pair;

static float *read_square(const char *path, size_t rows)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        die("cannot read", path);
    unsigned char start[10] = {0};
    char header[1024] = {0};
    errno = 0;
    size_t header_bytes = fread(start, 1, 10, file) == 10 ? (size_t)(start[8] | start[9] << 8) : 0;
    if (memcmp(start, "\x93NUMPY\1", 7) != 0 || header_bytes >= sizeof header ||
        fread(header, 1, header_bytes, file) != header_bytes)
        die("no NumPy file of version 1.0:", path);
    char shape[64];
    snprintf(shape, sizeof shape, "(%zu, %zu)", rows, rows);
    if (!strstr(header, "'<f4'") || !strstr(header, "False") || !strstr(header, shape))
        die("not one f32 row and column for each name:", path);
    float *s = grow(NULL, rows * rows + 1, sizeof *s);
    if (fread(s, sizeof *s, rows * rows, file) != rows * rows)
        die("too short:", path);
    fclose(file);
    return s;
}

static char (*read_names(const char *path, size_t *count))[NAME_MAX_BYTES]
{
    FILE *file = fopen(path, "r");
    if (!file)
        die("cannot read", path);
    char(*names)[NAME_MAX_BYTES] = NULL;
    char line[2 * NAME_MAX_BYTES];
    for (*count = 0; fgets(line, sizeof line, file); ++*count) {
        names = grow(names, *count + 1, sizeof *names);
        snprintf(names[*count], NAME_MAX_BYTES, "%.*s", (int)strcspn(line, "\n"), line);
    }
    fclose(file);
    if (*count == 0)
        die("no names in", path);
    return names;
}

static int by_similarity(const void *a, const void *b)
{
    const pair *x = a, *y = b;
    if (x->similarity != y->similarity)
        return x->similarity < y->similarity ? 1 : -1;
    return x->i != y->i ? (x->i > y->i) - (x->i < y->i) : (x->j > y->j) - (x->j < y->j);
}

static void print_ranking(const char *title, const pair *pairs, size_t count, char (*names)[NAME_MAX_BYTES],
                          int packages)
{
    printf("\n%s\n", title);
    int printed = 0;
    for (size_t i = 0; i < count && printed < RANKS; i++) {
        const char *a = names[pairs[i].i], *b = names[pairs[i].j];
        if ((*a == 'p') + (*b == 'p') != packages)
            continue;
        printf("  %.3f  %-34s %s\n", (double)pairs[i].similarity, strchr(a, ' ') + 1, strchr(b, ' ') + 1);
        printed++;
    }
    if (printed == 0)
        printf("  none\n");
}

static int rank_pairs(const char *matrix_path, const char *names_path)
{
    size_t rows = 0;
    char(*names)[NAME_MAX_BYTES] = read_names(names_path, &rows);
    float *s = read_square(matrix_path, rows);
    pair *pairs = grow(NULL, rows * rows / 2 + 1, sizeof *pairs);
    size_t count = 0;
    for (uint32_t i = 0; i < rows; i++) {
        /* Rows have length 1, or 0 for a text without words, so the diagonal proves the product. */
        double self = s[i * rows + i];
        if (!(fabs(self - 1) < 1e-4 || self == 0))
            die("not a similarity matrix, the diagonal differs from 1:", matrix_path);
        for (uint32_t j = i + 1; j < rows; j++)
            pairs[count++] = (pair){i, j, s[i * rows + j]};
    }
    qsort(pairs, count, sizeof *pairs, by_similarity);
    printf("similarity (1: the same words in the same proportions)\n");
    print_ranking("Licences that are near-copies of each other", pairs, count, names, 0);
    print_ranking("Packages whose terms are nearest to a licence", pairs, count, names, 1);
    print_ranking("Packages with nearly the same terms", pairs, count, names, 2);
    free(pairs);
    free(s);
    free(names);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc >= 5 && strcmp(argv[1], "matrix") == 0)
        return make_matrix(argc - 4, argv + 4, argv[2], argv[3]);
    if (argc == 4 && strcmp(argv[1], "pairs") == 0)
        return rank_pairs(argv[2], argv[3]);
    fprintf(stderr, "usage: licences matrix A.npy NAMES FILE...\n       licences pairs S.npy NAMES\n");
    return 2;
}
