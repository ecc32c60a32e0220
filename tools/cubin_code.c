/* cubin_code CUBIN KERNEL: prints what decides how one kernel's machine code in a cubin (an ELF file by ptxas) behaves,
 * and nothing that only names it. The build hashes this text; hardware stamps hold the hash. A renamed kernel, a moved
 * helper or another checkout gives the same text as long as ptxas makes the same instructions, and so do other kernels
 * in the same cubin: what is theirs is left out. (Only the alignment of a kernel's shared memory is the largest that
 * any kernel of the cubin asks for; kernels of one source ask for the same.)
 *
 * One line for each section that is loaded onto the GPU (instructions, constants, initial values, shared memory's
 * size), each relocation of those, and each attribute of a function (registers, barriers) but for parameters. Symbols
 * appear as the kind of their section and their offset in it. The lines are sorted, since ptxas orders sections by
 * name.
 *
 * NVIDIA does not document the attributes. Their layout and the few that hold a symbol's index were read off cubins of
 * nvcc 13.0: an attribute is a byte of format, a byte of kind and two bytes of value, or of the length of what follows.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SECTION_BYTES = 64, SYMBOL_BYTES = 24, NOBITS = 8, RELA = 4, REL = 9, LOADED = 2 };

/* An attribute with its value elsewhere, and the kinds that are left out: version of the toolkit; a list of symbols;
 * and the parameters' bank, offsets and sizes. Instructions say which of a kernel's parameters they read, so one more
 * behind those changes nothing. */
enum { SIZED = 4, TOOLKIT = 0x37, PARAMETER_BANK = 0x0a, EXTERNALS = 0x0f, PARAMETER = 0x17, PARAMETER_BYTES = 0x19 };

typedef struct section {
    const char *name;
    uint64_t type, flags, from, bytes, link, info, align, entry_bytes;
} section;

typedef struct cubin {
    const char *path, *kernel;
    const unsigned char *at;
    size_t bytes, n_sections;
} cubin;

static char *lines[1 << 16];
static size_t n_lines;

static void fail(const char *path, const char *why)
{
    fprintf(stderr, "cubin_code: %s: %s\n", path, why);
    exit(1);
}

static uint64_t number(const unsigned char *at, int count)
{
    uint64_t value = 0;
    for (int i = count - 1; i >= 0; i--)
        value = value << 8 | at[i];
    return value;
}

/* What fprintf appends to *text becomes one line when it is closed. */
typedef struct line {
    FILE *stream;
    char *text;
    size_t bytes;
} line;

static void begin(line *l)
{
    *l = (line){0};
    l->stream = open_memstream(&l->text, &l->bytes);
    if (!l->stream)
        exit(1);
}

static void end(const cubin *c, line *l)
{
    if (fclose(l->stream) != 0 || n_lines == sizeof lines / sizeof lines[0])
        fail(c->path, "too much to print");
    lines[n_lines++] = l->text;
}

static void print_bytes(FILE *out, const unsigned char *at, size_t count)
{
    for (size_t i = 0; i < count; i++)
        fprintf(out, "%02x", at[i]);
}

static section section_at(const cubin *c, size_t index)
{
    const size_t table = number(c->at + 0x28, 8), names = number(c->at + 0x3e, 2);
    if (index >= c->n_sections)
        fail(c->path, "a section is missing");
    const unsigned char *const head = c->at + table + SECTION_BYTES * index;
    const size_t name = number(c->at + table + SECTION_BYTES * names + 0x18, 8) + number(head, 4);
    const section s = {(const char *)c->at + name, number(head + 4, 4),    number(head + 8, 8),
                       number(head + 0x18, 8),     number(head + 0x20, 8), number(head + 0x28, 4),
                       number(head + 0x2c, 4),     number(head + 0x30, 8), number(head + 0x38, 8)};
    if (name >= c->bytes || !memchr(s.name, 0, c->bytes - name))
        fail(c->path, "a section's name is outside of the file");
    if (s.type != NOBITS && (s.from > c->bytes || s.bytes > c->bytes - s.from))
        fail(c->path, "a section ends behind the file");
    return s;
}

/* Sections of one kernel are called KIND.KERNEL, where the kind is ".text", or two words as ".nv.constant0" is. */
static int kind_length(const char *name)
{
    const int words = strncmp(name, ".nv.", 4) == 0 ? 2 : 1;
    const char *at = name;
    for (int i = 0; i < words; i++)
        at += 1 + strcspn(at + 1, ".");
    return (int)(at - name);
}

/* 1 for ".text.KERNEL" and the like of a kernel of this cubin that is not the one asked for. Sections that are no
 * kernel's belong to all. */
static int is_anothers(const cubin *c, const section *s)
{
    const char *const owner = s->name + kind_length(s->name);
    if (*owner != '.' || strcmp(owner + 1, c->kernel) == 0)
        return 0;
    for (size_t i = 1; i < c->n_sections; i++) {
        const section other = section_at(c, i);
        if (strncmp(other.name, ".text.", 6) == 0 && strcmp(other.name + 5, owner) == 0)
            return 1;
    }
    return 0;
}

static void add_section(const cubin *c, const section *s)
{
    line l;
    begin(&l);
    fprintf(l.stream, "section %.*s type %x flags %x align %u bytes %zu registers %u ", kind_length(s->name), s->name,
            (unsigned)s->type, (unsigned)s->flags, (unsigned)s->align, (size_t)s->bytes,
            (unsigned)(s->info >> 24)); /* of older toolkits; later ones have an attribute for that */
    if (s->type != NOBITS)
        print_bytes(l.stream, c->at + s->from, s->bytes);
    end(c, &l);
}

/* The kind of the symbol's section, and the symbol's offset and size in it. */
static void print_symbol(const cubin *c, FILE *out, const section *table, size_t index)
{
    if (index >= table->bytes / SYMBOL_BYTES)
        fail(c->path, "a symbol is missing");
    const unsigned char *const symbol = c->at + table->from + SYMBOL_BYTES * index;
    const size_t home = number(symbol + 6, 2);
    if (home == 0 || home >= c->n_sections) { /* from elsewhere: all that there is of it is its name */
        const section names = section_at(c, table->link);
        const size_t name = number(symbol, 4);
        if (name >= names.bytes || !memchr(c->at + names.from + name, 0, names.bytes - name))
            fail(c->path, "a symbol's name is outside of the file");
        fprintf(out, "%s", (const char *)c->at + names.from + name);
        return;
    }
    const section s = section_at(c, home);
    fprintf(out, "%.*s+%zu(%zu)", kind_length(s.name), s.name, (size_t)number(symbol + 8, 8),
            (size_t)number(symbol + 16, 8));
}

static void add_relocations(const cubin *c, const section *s)
{
    const section target = section_at(c, s->info), symbols = section_at(c, s->link);
    if (!(target.flags & LOADED) || is_anothers(c, &target))
        return;
    const size_t step = s->type == RELA ? 24 : 16;
    for (size_t at = 0; at + step <= s->bytes; at += step) {
        const unsigned char *const entry = c->at + s->from + at;
        line l;
        begin(&l);
        fprintf(l.stream, "relocation %.*s+%zu type %u ", kind_length(target.name), target.name,
                (size_t)number(entry, 8), (unsigned)number(entry + 8, 4));
        print_symbol(c, l.stream, &symbols, number(entry + 12, 4));
        if (s->type == RELA)
            fprintf(l.stream, " plus %lld", (long long)number(entry + 16, 8));
        end(c, &l);
    }
}

static int symbol_is_anothers(const cubin *c, const section *of, size_t index)
{
    const section table = section_at(c, of->link);
    if (index >= table.bytes / SYMBOL_BYTES)
        fail(c->path, "an attribute's symbol is missing");
    const size_t home = number(c->at + table.from + SYMBOL_BYTES * index + 6, 2);
    if (home == 0 || home >= c->n_sections)
        return 0;
    const section s = section_at(c, home);
    return is_anothers(c, &s);
}

/* ".nv.info" holds attributes of all functions, each of which begins with a symbol's index; ".nv.info.KERNEL" those of
 * one. */
static void add_attributes(const cubin *c, const section *s)
{
    const int of_all = strcmp(s->name, ".nv.info") == 0;
    for (size_t at = 0; at + 4 <= s->bytes;) {
        const unsigned char *const head = c->at + s->from + at;
        const unsigned format = head[0], kind = head[1];
        const size_t value = number(head + 2, 2), more = format == SIZED ? value : 0;
        if (more > s->bytes - at - 4)
            fail(c->path, "an attribute ends behind its section");
        at += 4 + more;
        if (kind == TOOLKIT || kind == EXTERNALS || kind == PARAMETER_BANK || kind == PARAMETER ||
            kind == PARAMETER_BYTES)
            continue;
        const size_t skip = of_all && more >= 4 ? 4 : 0;
        if (skip && symbol_is_anothers(c, s, number(head + 4, 4)))
            continue;
        line l;
        begin(&l);
        fprintf(l.stream, "attribute %02x ", kind);
        if (format == SIZED)
            print_bytes(l.stream, head + 4 + skip, more - skip);
        else
            fprintf(l.stream, "%zx", value);
        end(c, &l);
    }
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void read_all(cubin *c)
{
    FILE *const file = fopen(c->path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0)
        fail(c->path, "cannot be read");
    const long bytes = ftell(file);
    unsigned char *const at = bytes >= SECTION_BYTES ? malloc((size_t)bytes) : NULL;
    rewind(file);
    if (!at || fread(at, 1, (size_t)bytes, file) != (size_t)bytes || memcmp(at, "\177ELF\2", 5) != 0)
        fail(c->path, "is no ELF file of 64 bits");
    fclose(file);
    c->at = at;
    c->bytes = (size_t)bytes;
    c->n_sections = number(at + 0x3c, 2);
    const size_t table = number(at + 0x28, 8);
    if (table > c->bytes || SECTION_BYTES * c->n_sections > c->bytes - table || number(at + 0x3e, 2) >= c->n_sections)
        fail(c->path, "has no sections");
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "cubin_code CUBIN KERNEL\n");
        return 2;
    }
    cubin c = {.path = argv[1], .kernel = argv[2]};
    int has_code = 0;
    read_all(&c);
    for (size_t i = 1; i < c.n_sections; i++) {
        const section s = section_at(&c, i);
        const int is_code = strncmp(s.name, ".text.", 6) == 0;
        has_code |= is_code && strcmp(s.name + 6, c.kernel) == 0 && s.bytes > 0;
        if (strcmp(s.name, ".nv.info") == 0)
            add_attributes(&c, &s);
        else if (is_anothers(&c, &s))
            continue;
        else if (strncmp(s.name, ".nv.info", 8) == 0)
            add_attributes(&c, &s);
        else if (s.type == RELA || s.type == REL)
            add_relocations(&c, &s);
        else if ((s.flags & LOADED) && strncmp(s.name, ".nv.constant0", 13) != 0) /* which a launch fills */
            add_section(&c, &s);
    }
    if (!has_code)
        fail(c.path, "holds no code of this kernel");
    qsort(lines, n_lines, sizeof lines[0], compare);
    for (size_t i = 0; i < n_lines; i++)
        puts(lines[i]);
    return 0;
}
