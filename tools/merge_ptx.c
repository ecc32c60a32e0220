/* merge_ptx OUT IN...: one PTX module with the kernels of several, in the order that they are named in, for ptxas to
 * make one cubin of. The modules must have the same header (version, target, size of addresses). A declaration of
 * something that lies elsewhere, as the array of shared memory whose size a launch gives, is kept once. Any other name
 * that two modules have is an error: their kernels would share what each has for itself.
 *
 * A module is its header's directives, a line each, and then statements: declarations, which end with ";", and
 * functions, which end with "}".
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A declaration or a function: its text without what stands around it, and the name that it gives. */
typedef struct statement {
    const char *text, *name;
    size_t bytes, name_bytes;
    int is_extern;
} statement;

static statement seen[1 << 12];
static size_t n_seen;

static void fail(const char *path, const char *why, const char *what, size_t bytes)
{
    fprintf(stderr, "merge_ptx: %s: %s%s%.*s\n", path, why, bytes ? ": " : "", (int)bytes, what);
    exit(1);
}

static char *read_all(const char *path)
{
    FILE *const file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0)
        fail(path, "cannot be read", "", 0);
    const long bytes = ftell(file);
    char *const text = bytes > 0 ? malloc((size_t)bytes + 1) : NULL;
    rewind(file);
    if (!text || fread(text, 1, (size_t)bytes, file) != (size_t)bytes)
        fail(path, "cannot be read", "", 0);
    fclose(file);
    text[bytes] = '\0';
    return text;
}

/* Behind a comment or a string that begins at `at`; `at` itself if none does. */
static const char *behind_comment(const char *path, const char *at)
{
    const char *end = at;
    if (at[0] == '/' && at[1] == '/')
        return at + strcspn(at, "\n");
    if (at[0] == '/' && at[1] == '*') {
        end = strstr(at + 2, "*/");
        if (!end)
            fail(path, "a comment has no end", "", 0);
        return end + 2;
    }
    if (at[0] == '"') {
        end = strchr(at + 1, '"');
        if (!end)
            fail(path, "a string has no end", "", 0);
        return end + 1;
    }
    return at;
}

static const char *skip_space(const char *path, const char *at)
{
    for (;;) {
        const char *const next = *at == '/' ? behind_comment(path, at) : at;
        if (next == at && !isspace((unsigned char)*at))
            return at;
        at = next == at ? at + 1 : next;
    }
}

/* A variable with initial values has braces and ends with ";" all the same. */
static const char *statement_end(const char *path, const char *from)
{
    int depth = 0, has_values = 0;
    for (const char *at = from; *at;) {
        const char *const next = behind_comment(path, at);
        if (next != at) {
            at = next;
            continue;
        }
        has_values |= *at == '=' && depth == 0;
        depth += (*at == '{') - (*at == '}');
        if (depth == 0 && (*at == ';' || (*at == '}' && !has_values)))
            return at + 1;
        at++;
    }
    fail(path, "a statement has no end", from, strcspn(from, "\n"));
    return from;
}

static int is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '%';
}

/* The first word behind directives (".visible .entry", ".align 128"), their numbers and a function's results. */
static void find_name(const char *path, statement *s)
{
    const char *at = s->text, *const end = s->text + s->bytes;
    while (at < end) {
        if (*at == '.' || isdigit((unsigned char)*at)) {
            while (at < end && (is_word(*at) || *at == '.'))
                at++;
        } else if (*at == '(') {
            at += strcspn(at, ")");
        } else if (is_word(*at)) {
            s->name = at;
            while (at < end && is_word(*at))
                at++;
            s->name_bytes = (size_t)(at - s->name);
            return;
        } else {
            at++;
        }
    }
    fail(path, "a statement has no name", s->text, s->bytes);
}

static int same(const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
    return a_bytes == b_bytes && memcmp(a, b, a_bytes) == 0;
}

/* 1 if the statement is to be written; 0 if a module before has the same declaration. */
static int add(const char *path, const statement *s)
{
    for (size_t i = 0; i < n_seen; i++) {
        if (!same(seen[i].name, seen[i].name_bytes, s->name, s->name_bytes))
            continue;
        if (seen[i].is_extern && s->is_extern && same(seen[i].text, seen[i].bytes, s->text, s->bytes))
            return 0;
        fail(path, "a module before it has this name too", s->name, s->name_bytes);
    }
    if (n_seen == sizeof seen / sizeof seen[0])
        fail(path, "too many statements", "", 0);
    seen[n_seen++] = *s;
    return 1;
}

/* The directives of the header, without comments, up to the first statement. */
static const char *read_header(const char *path, const char *at, char *header, size_t header_bytes)
{
    static const char *const directives[] = {".version", ".target", ".address_size"};
    size_t used = 0;
    for (size_t i = 0; i < sizeof directives / sizeof directives[0]; i++) {
        at = skip_space(path, at);
        const size_t bytes = strcspn(at, "\n");
        if (strncmp(at, directives[i], strlen(directives[i])) != 0 || used + bytes + 2 > header_bytes)
            fail(path, "has no header of a PTX module", "", 0);
        memcpy(header + used, at, bytes);
        used += bytes;
        header[used++] = '\n';
        at += bytes;
    }
    header[used] = '\0';
    return at;
}

int main(int argc, char **argv)
{
    char first[512];
    if (argc < 3) {
        fprintf(stderr, "merge_ptx OUT IN...\n");
        return 2;
    }
    FILE *const out = fopen(argv[1], "w");
    if (!out)
        fail(argv[1], "cannot be written", "", 0);
    for (int i = 2; i < argc; i++) {
        const char *const path = argv[i];
        char header[sizeof first];
        const char *at = read_header(path, read_all(path), header, sizeof header);
        if (i == 2) {
            strcpy(first, header);
            fputs(header, out);
        } else if (strcmp(first, header) != 0) {
            fail(path, "has another header than the first module", header, strlen(header) - 1);
        }
        for (at = skip_space(path, at); *at; at = skip_space(path, at)) {
            const char *const end = statement_end(path, at);
            statement s = {.text = at, .bytes = (size_t)(end - at), .is_extern = strncmp(at, ".extern", 7) == 0};
            find_name(path, &s);
            if (add(path, &s))
                fprintf(out, "%.*s\n", (int)s.bytes, s.text);
            at = end;
        }
    }
    if (fclose(out) != 0)
        fail(argv[1], "cannot be written", "", 0);
    return 0;
}
