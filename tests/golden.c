#include "golden.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE_BYTES = 512, PATH_BYTES = 1024, SHOWN = 20 };

typedef struct line {
    char *key, *answer; /* one allocation */
    int seen;
} line;

struct golden {
    char path[PATH_BYTES];
    const char *name, *about;
    line *lines; /* of the file */
    size_t count, room, next;
    FILE *out; /* of an update, else NULL */
    char out_path[PATH_BYTES];
    long long cases, different, kept;
};

/* Ends the program. */
#define die(...) (fprintf(stderr, __VA_ARGS__), fputc('\n', stderr), exit(2))

static void add_line(golden *file, const char *text)
{
    static const char between[] = " : ";
    char *const copy = strdup(text);
    char *const at = copy ? strstr(copy, between) : NULL;
    if (!at)
        die("%s: a line without \"%s\": %s", file->path, between, text);
    *at = '\0';
    if (file->count == file->room) {
        file->room = 2 * file->room + 64;
        file->lines = realloc(file->lines, file->room * sizeof *file->lines);
        if (!file->lines)
            die("no memory for %zu lines", file->room);
    }
    file->lines[file->count++] = (line){.key = copy, .answer = at + sizeof between - 1};
}

static void read_lines(golden *file)
{
    char text[LINE_BYTES];
    FILE *const in = fopen(file->path, "r");
    if (!in) {
        if (!file->out)
            die("%s: cannot be read; --update writes it", file->path);
        return;
    }
    while (fgets(text, sizeof text, in)) {
        text[strcspn(text, "\n")] = '\0';
        if (text[0] != '#' && text[0] != '\0')
            add_line(file, text);
    }
    fclose(in);
}

static void begin_update(golden *file)
{
    if (snprintf(file->out_path, sizeof file->out_path, "%s.new", file->path) >= (int)sizeof file->out_path)
        die("%s: the path is too long", file->path);
    file->out = fopen(file->out_path, "w");
    if (!file->out)
        die("%s: cannot be written", file->out_path);
    fprintf(file->out, "%s", file->about);
}

golden *golden_open(const char *name, const char *about, int argc, char **argv)
{
    golden *const file = calloc(1, sizeof *file);
    int update = 0;
    if (!file)
        die("no memory for a golden file");
    file->name = name;
    file->about = about;
    snprintf(file->path, sizeof file->path, "%s/%s.txt", GOLDEN_FOLDER, name);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--update") == 0)
            update = 1;
        else if (strcmp(argv[i], "--file") == 0 && i + 1 < argc)
            snprintf(file->path, sizeof file->path, "%s", argv[++i]);
        else
            die("%s: %s: the options are --update and --file PATH", argv[0], argv[i]);
    }
    if (update)
        begin_update(file);
    read_lines(file);
    return file;
}

/* The file's line with that key, mostly the one after the last. */
static line *find(golden *file, const char *key)
{
    for (size_t i = 0; i < file->count; i++) {
        const size_t at = (file->next + i) % file->count;
        if (strcmp(file->lines[at].key, key) == 0) {
            file->next = at + 1;
            return &file->lines[at];
        }
    }
    return NULL;
}

static void say_different(golden *file, const char *key, const char *was, const char *is)
{
    if (file->different++ < SHOWN)
        printf("%s\n  was: %s\n  is:  %s\n", key, was, is);
    else if (file->different == SHOWN + 1)
        printf("...\n");
}

/* The last number of `text`, which must be the price; the rest must be `answer`. */
static int is_priced_same(const char *text, const char *answer, double price)
{
    const double tolerance = 1e-5;
    const size_t length = strlen(answer);
    char *end;
    if (strncmp(text, answer, length) != 0 || text[length] != ' ')
        return 0;
    const double was = strtod(text + length, &end);
    return *end == '\0' && end > text + length && fabs(was - price) <= tolerance * fabs(price);
}

void golden_case(golden *file, const char *key, const char *answer, double price)
{
    char text[LINE_BYTES];
    line *const known = find(file, key);
    const int is_priced = price >= 0;
    const int length =
        is_priced ? snprintf(text, sizeof text, "%s %.6g", answer, price) : snprintf(text, sizeof text, "%s", answer);
    if (length < 0 || (size_t)length + strlen(key) + sizeof " : \n" > sizeof text)
        die("%s: the line of %s is longer than %d bytes", file->path, key, LINE_BYTES);
    file->cases++;
    if (file->out) {
        fprintf(file->out, "%s : %s\n", key, text);
    } else if (!known) {
        say_different(file, key, "(no such line)", text);
    } else if (known->seen) {
        say_different(file, key, "(stated before)", text);
    } else if (is_priced ? !is_priced_same(known->answer, answer, price) : strcmp(known->answer, text) != 0) {
        say_different(file, key, known->answer, text);
    }
    if (known)
        known->seen = 1;
}

int golden_wants(golden *file, const char *prefix)
{
    if (file->out)
        return 1;
    for (size_t i = 0; i < file->count; i++)
        if (strncmp(file->lines[i].key, prefix, strlen(prefix)) == 0)
            return 1;
    printf("%s: not compared: %s: this machine could run it, but the file has no line of it; --update adds them\n",
           file->name, prefix);
    return 0;
}

void golden_not_run(golden *file, const char *prefix, const char *why)
{
    long long kept = 0;
    for (size_t i = 0; i < file->count; i++)
        if (strncmp(file->lines[i].key, prefix, strlen(prefix)) == 0) {
            file->lines[i].seen = 1;
            kept++;
            if (file->out)
                fprintf(file->out, "%s : %s\n", file->lines[i].key, file->lines[i].answer);
        }
    printf("%s: not run: %s(%lld lines): %s\n", file->name, prefix, kept, why);
    file->kept += kept;
}

static void end_update(golden *file)
{
    if (ferror(file->out) | fclose(file->out))
        die("%s: cannot be written", file->out_path);
    if (rename(file->out_path, file->path) != 0)
        die("%s: cannot be put in the place of %s", file->out_path, file->path);
    printf("%s: %lld cases written, %lld lines kept\n", file->name, file->cases, file->kept);
}

int golden_close(golden *file)
{
    if (file->out) {
        end_update(file);
    } else {
        for (size_t i = 0; i < file->count; i++)
            if (!file->lines[i].seen)
                say_different(file, file->lines[i].key, file->lines[i].answer, "(no such case)");
        printf("%s: %lld cases compared, %lld different, %lld lines not run\n", file->name, file->cases,
               file->different, file->kept);
    }
    const int code = file->different > 0 ? 1 : 0;
    for (size_t i = 0; i < file->count; i++)
        free(file->lines[i].key);
    free(file->lines);
    free(file);
    return code;
}

/* A 64-bit linear congruence; its upper half is mixed. */
uint32_t golden_draw(uint64_t *state, uint32_t below)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    uint32_t x = (uint32_t)(*state >> 32);
    x ^= x >> 15;
    x *= 0x2c1b3c6du;
    x ^= x >> 12;
    return (uint32_t)((uint64_t)x * below >> 32);
}
