/* types_tables [--update] FILE: compares the tables of FILE (docs/TYPES.md), between the marks <!-- types_tables NAME
 * --> and <!-- end -->, with what the table of configs says: which kernels multiply which types and layouts, with which
 * scales, on which devices. What differs is printed, and the exit code is 1; --update writes it instead. Each config is
 * asked about one product of each kind, as a plan asks (plan/applicable.c), and taken to have code. Needs no GPU. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/validate.h"
#include "core/backend.h"
#include "core/dtype.h"
#include "lab/common/gpus.h"
#include "lab/common/paper.h"
#include "plan/applicable.h"
#include "plan/pad.h"
#include "plan/plan.h"

enum { SIZE = 1024, TEXT_BYTES = 1 << 16, KERNELS_MAX = 64, PRODUCTS_MAX = 256, LAYOUTS = 4 };

/* Ends the program. */
#define die(...) (fprintf(stderr, "types_tables: " __VA_ARGS__), fputc('\n', stderr), exit(2))

/* ---- text ---- */

typedef struct text {
    char at[TEXT_BYTES];
    size_t length;
} text;

static void add(text *to, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(text *to, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    const int length = vsnprintf(to->at + to->length, sizeof to->at - to->length, format, list);
    va_end(list);
    if (length < 0 || (size_t)length >= sizeof to->at - to->length)
        die("a table is longer than %zu bytes", sizeof to->at);
    to->length += (size_t)length;
}

/* One more of a list. */
static void add_item(text *to, const char *format, const char *item)
{
    add(to, "%s", to->length > 0 ? ", " : "");
    add(to, format, item);
}

static text *new_text(void)
{
    text *const out = calloc(1, sizeof *out);
    if (!out)
        die("no memory");
    return out;
}

/* ---- devices ---- */

static int has_code(const tsr_config *config, const tsr_device *device, char *reason, size_t reason_bytes)
{
    (void)config, (void)device, (void)reason, (void)reason_bytes;
    return 1;
}

static const tsr_backend backend = {.has_code = has_code};

enum { HOPPER, AMPERE, CPU, DEVICES };
static const char *const device_names[DEVICES] = {"Hopper", "Ampere", "CPU"};

static tsr_target target_of(int device)
{
    tsr_target target = {.backend = &backend, .device = {.kind = TSR_DEVICE_CPU, .id = "cpu"}};
    if (device != CPU)
        target.device = lab_device_on_paper(lab_gpu_spec_find(device == HOPPER ? "h200" : "a100"));
    return target;
}

/* ---- what a kernel does with a product ---- */

/* Types and arithmetic, and which operand is compressed: TSR_SPARSE24_A or _B, 0: neither. */
typedef struct product {
    tsr_dtype a, b, d;
    tsr_compute compute;
    unsigned sparse24;
} product;

/* Layouts nn, nt, tn, tt. */
static int trans_of(int layout, char which)
{
    return which == 'a' ? layout >> 1 : layout & 1;
}

/* `gap`: elements between rows. */
static tsr_gemm_desc describe(const product *p, int layout, int gap, int on_cpu)
{
    tsr_gemm_desc desc = tsr_gemm_desc_make(p->a, SIZE, SIZE, SIZE);
    tsr_operand *const operands[] = {&desc.a, &desc.b, &desc.c, &desc.d};
    desc.b.dtype = p->b;
    desc.c.dtype = desc.d.dtype = p->d;
    desc.compute = p->compute;
    desc.flags = p->sparse24;
    desc.a.trans = trans_of(layout, 'a') ? TSR_T : TSR_N;
    desc.b.trans = trans_of(layout, 'b') ? TSR_T : TSR_N;
    for (int i = 0; i < 4; i++) {
        operands[i]->memory = on_cpu ? TSR_HOST : TSR_DEVICE;
        operands[i]->ld = SIZE + gap;
        operands[i]->align_bytes = gap ? (unsigned)tsr_dtype_bytes(operands[i]->dtype) : 256;
    }
    return desc;
}

enum { NOT_APPLICABLE = -1 };

/* Which operands are copied for the kernel, TSR_PAD_A and so on: by the config that has the fewest copied. */
static int copies_of(const char *kernel, int device, const tsr_gemm_desc *desc)
{
    tsr_target target = target_of(device);
    tsr_problem problem;
    int best = NOT_APPLICABLE;
    if (tsr_validate_desc(desc, &problem) != TSR_OK)
        return best;
    const tsr_viewed_problem view = tsr_view_problem(&problem, &target);
    for (size_t i = 0; i < tsr_config_count(); i++) {
        const tsr_config *const config = tsr_config_at(i);
        char reason[120];
        unsigned pads = 0;
        if (strcmp(config->name, kernel) == 0 && tsr_is_applicable(&view, config, &pads, reason, sizeof reason) &&
            (best == NOT_APPLICABLE || __builtin_popcount(pads) < __builtin_popcount((unsigned)best)))
            best = (int)pads;
    }
    return best;
}

typedef struct way {
    int copies[LAYOUTS];
    int unaligned;   /* the copies where no row begins at a multiple of anything, in the layout with the fewest */
    unsigned scales; /* of the words below */
} way;

/* Modes of A and of B, as `tessera bench --scales` names them. */
static const struct {
    const char *word;
    tsr_scale_mode a, b;
} scalings[] = {{"tensor", TSR_SCALE_TENSOR, TSR_SCALE_TENSOR},
                {"vector", TSR_SCALE_VECTOR, TSR_SCALE_VECTOR},
                {"1x128", TSR_SCALE_1X128, TSR_SCALE_1X128},
                {"1x128:128x128", TSR_SCALE_1X128, TSR_SCALE_128X128}};
enum { SCALINGS = sizeof scalings / sizeof scalings[0] };

/* 0 if the kernel takes the product in no layout. */
static int find_way(const char *kernel, int device, const product *p, way *out)
{
    const int has_scales = tsr_element_of(p->a)->scales != TSR_ONE_SCALE && !tsr_dtype_is_integer(p->d);
    int applies = 0;
    out->unaligned = NOT_APPLICABLE;
    out->scales = 0;
    for (int layout = 0; layout < LAYOUTS; layout++) {
        const tsr_gemm_desc aligned = describe(p, layout, 0, device == CPU),
                            unaligned = describe(p, layout, 1, device == CPU);
        out->copies[layout] = copies_of(kernel, device, &aligned);
        applies |= out->copies[layout] != NOT_APPLICABLE;
        const int copies = copies_of(kernel, device, &unaligned);
        if (copies != NOT_APPLICABLE &&
            (out->unaligned == NOT_APPLICABLE ||
             __builtin_popcount((unsigned)copies) < __builtin_popcount((unsigned)out->unaligned)))
            out->unaligned = copies;
        for (int s = 0; s < SCALINGS && has_scales; s++) {
            tsr_gemm_desc scaled = aligned;
            scaled.scale_mode_a = scalings[s].a;
            scaled.scale_mode_b = scalings[s].b;
            if (copies_of(kernel, device, &scaled) != NOT_APPLICABLE)
                out->scales |= 1u << s;
        }
    }
    return applies;
}

static void add_copies(text *to, int copies, const char *none)
{
    const int a = copies & TSR_PAD_A, b = copies & TSR_PAD_B;
    if (copies == NOT_APPLICABLE)
        add(to, "no");
    else if (!copies)
        add(to, "%s", none);
    else
        add(to, "copies %s", a && b ? "A, B" : a ? "A" : "B");
}

static void add_scales(text *to, unsigned scales)
{
    const size_t before = to->length;
    if (scales == (1u << SCALINGS) - 1)
        add(to, "all");
    for (int s = 0; s < SCALINGS && scales != (1u << SCALINGS) - 1; s++)
        if (scales >> s & 1)
            add(to, "%s%s", to->length > before ? ", " : "", scalings[s].word);
    if (to->length == before)
        add(to, "none");
}

/* Without gaps between the rows of the table: cells behind the kernels. Where an operand is compressed, the other one
 * lies either way, and the compressed one is read in a form of its own. */
static void add_way(text *to, const way *w, unsigned sparse24)
{
    static const int plain[] = {0, 1, 2, 3}, other_of_a[] = {1, 0}, other_of_b[] = {0, 2};
    const int *const layouts = !sparse24 ? plain : sparse24 == TSR_SPARSE24_A ? other_of_a : other_of_b;
    for (int i = 0; i < (sparse24 ? 2 : LAYOUTS); i++) {
        const int copies = w->copies[layouts[i]];
        if (sparse24 && copies > 0)
            add(to, " | copies it");
        else
            add(to, " | "), add_copies(to, copies, "direct");
    }
    if (!sparse24)
        add(to, " | "), add_copies(to, w->unaligned, "direct");
    add(to, " | "), add_scales(to, w->scales);
    add(to, " |");
}

/* ---- the rows of one product ---- */

typedef struct known {
    const char *kernel;
    unsigned devices; /* that have this way of it */
    text cells;
} known;

/* The rows without their types: "Hopper, Ampere | `mma` | direct | ...". The same product on another kernel or device
 * may have the same cells: then they share a row. */
static void rows_of(const product *p, text *out)
{
    static known ways[KERNELS_MAX * DEVICES];
    size_t count = 0;
    unsigned served = 0;
    for (size_t i = 0; i < tsr_config_count(); i++) {
        const char *const kernel = tsr_config_at(i)->name;
        int is_first = 1;
        for (size_t j = 0; j < i; j++)
            is_first &= strcmp(tsr_config_at(j)->name, kernel) != 0;
        const size_t begin = count;
        for (int device = 0; device < DEVICES && is_first; device++) {
            way w;
            text *const cells = new_text();
            if (find_way(kernel, device, p, &w)) {
                add_way(cells, &w, p->sparse24);
                size_t at = begin;
                while (at < count && strcmp(ways[at].cells.at, cells->at) != 0)
                    at++;
                if (at == KERNELS_MAX * DEVICES)
                    die("more than %d ways", KERNELS_MAX * DEVICES);
                if (at == count)
                    ways[count++] = (known){.kernel = kernel, .cells = *cells};
                ways[at].devices |= 1u << device;
                served |= 1u << device;
            }
            free(cells);
        }
    }
    const int columns = (p->sparse24 ? 2 : LAYOUTS + 1) + 1;
    for (unsigned devices = 1; devices < 1u << DEVICES; devices++)
        for (size_t i = 0; i < count; i++) {
            int is_first = ways[i].devices == devices;
            for (size_t j = 0; j < i; j++)
                is_first &= ways[j].devices != devices || strcmp(ways[j].cells.at, ways[i].cells.at) != 0;
            if (!is_first)
                continue;
            text *const names = new_text(), *const kernels = new_text();
            for (int device = 0; device < DEVICES; device++)
                if (devices >> device & 1)
                    add_item(names, "%s", device_names[device]);
            for (size_t j = i; j < count; j++)
                if (ways[j].devices == devices && strcmp(ways[j].cells.at, ways[i].cells.at) == 0)
                    add_item(kernels, "`%s`", ways[j].kernel);
            add(out, "%s | %s%s\n", names->at, kernels->at, ways[i].cells.at);
            free(names);
            free(kernels);
        }
    text *const others = new_text();
    for (int device = 0; device < DEVICES; device++)
        if (!(served >> device & 1))
            add_item(others, "%s", device_names[device]);
    if (others->length > 0) {
        add(out, "%s | none", others->at);
        for (int i = 0; i < columns; i++)
            add(out, " | -");
        add(out, " |\n");
    }
    free(others);
}

/* ---- products whose rows are alike ---- */

typedef struct entry {
    product p;
    text *rows;
    text *pairs, *results; /* of this and those that are alike */
    unsigned pair_bits[TSR_DTYPE_COUNT];
    int is_merged; /* into one before */
} entry;

static int has_16_bits(tsr_dtype dtype)
{
    return dtype == TSR_F16 || dtype == TSR_BF16;
}

/* 1 if the result has 16 bits and is of another type than the operands, which have 16 bits, too. */
static int is_other_of_16(const product *p)
{
    return has_16_bits(p->a) && has_16_bits(p->d) && p->d != p->a;
}

static const char *result_name(const product *p)
{
    return is_other_of_16(p)                   ? "the other of 16 bits"
           : has_16_bits(p->a) && p->d == p->a ? "the same"
                                               : tsr_dtype_name(p->d);
}

static int is_product(const product *p)
{
    const tsr_gemm_desc desc = describe(p, 0, 0, 1);
    tsr_problem unused;
    return tsr_validate_desc(&desc, &unused) == TSR_OK;
}

/* All of one operand's being compressed; in the order of tsr_dtype, the default arithmetic first. */
static size_t all_products(unsigned sparse24, entry *out)
{
    static const tsr_compute computes[] = {TSR_COMPUTE_DEFAULT, TSR_COMPUTE_TF32, TSR_COMPUTE_FAST};
    size_t count = 0;
    for (int a = TSR_DTYPE_NONE + 1; a < TSR_DTYPE_COUNT; a++)
        for (size_t c = 0; c < sizeof computes / sizeof computes[0]; c++)
            for (int b = TSR_DTYPE_NONE + 1; b < TSR_DTYPE_COUNT; b++)
                for (int d = TSR_DTYPE_NONE + 1; d < TSR_DTYPE_COUNT; d++) {
                    const product p = {(tsr_dtype)a, (tsr_dtype)b, (tsr_dtype)d, computes[c], sparse24};
                    if (!is_product(&p))
                        continue;
                    if (count == PRODUCTS_MAX)
                        die("more than %d products", PRODUCTS_MAX);
                    out[count] = (entry){.p = p, .rows = new_text(), .pairs = new_text(), .results = new_text()};
                    rows_of(&p, out[count++].rows);
                }
    return count;
}

/* Results of one pair of types that have the same rows; "the other of 16 bits" is last, so that f16 and bf16 name
 * theirs in one order. */
static void merge_results(entry *entries, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        entry *const one = &entries[i];
        for (size_t j = i; j < count + count && !one->is_merged; j++) {
            entry *const other = &entries[j % count];
            if (j % count < i || other->is_merged || is_other_of_16(&other->p) != (j >= count) ||
                other->p.a != one->p.a || other->p.b != one->p.b || other->p.compute != one->p.compute ||
                strcmp(other->rows->at, one->rows->at) != 0)
                continue;
            add_item(one->results, "%s", result_name(&other->p));
            other->is_merged = j % count > i;
        }
    }
}

/* Pairs of types that have the same rows for the same results. */
static void merge_pairs(entry *entries, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        entry *const one = &entries[i];
        for (size_t j = i; j < count && !one->is_merged; j++) {
            entry *const other = &entries[j];
            if (other->is_merged || other->p.compute != one->p.compute ||
                strcmp(other->results->at, one->results->at) != 0 || strcmp(other->rows->at, one->rows->at) != 0)
                continue;
            one->pair_bits[other->p.a] |= 1u << other->p.b;
            other->is_merged = j > i;
        }
    }
}

/* "e4m3, e5m2, mixed", or each pair: "s8 x u8". */
static void name_pairs(entry *e)
{
    unsigned types = 0;
    int pairs = 0, count;
    for (int a = 0; a < TSR_DTYPE_COUNT; a++) {
        types |= e->pair_bits[a] | (e->pair_bits[a] ? 1u << a : 0);
        pairs += __builtin_popcount(e->pair_bits[a]);
    }
    count = __builtin_popcount(types);
    for (int a = 0; a < TSR_DTYPE_COUNT; a++)
        for (int b = 0; b < TSR_DTYPE_COUNT; b++) {
            if (!(e->pair_bits[a] >> b & 1) || (pairs == count * count && a != b))
                continue;
            add_item(e->pairs, "%s", tsr_dtype_name((tsr_dtype)a));
            if (a != b)
                add(e->pairs, " x %s", tsr_dtype_name((tsr_dtype)b));
        }
    if (count > 1 && pairs == count * count)
        add_item(e->pairs, "%s", "mixed");
}

static void add_rows(text *to, const entry *e)
{
    const tsr_compute compute = e->p.compute == TSR_COMPUTE_DEFAULT ? tsr_dtype_compute(e->p.a) : e->p.compute;
    for (const char *row = e->rows->at; *row; row = strchr(row, '\n') + 1) {
        const int is_first = row == e->rows->at;
        add(to, "| %s | %s | %s | %.*s\n", is_first ? e->pairs->at : "", is_first ? tsr_compute_name(compute) : "",
            is_first ? e->results->at : "", (int)strcspn(row, "\n"), row);
    }
}

static void make_table(unsigned sparse24, text *to)
{
    static entry entries[PRODUCTS_MAX];
    const size_t count = all_products(sparse24, entries);
    merge_results(entries, count);
    merge_pairs(entries, count);
    for (size_t i = 0; i < count; i++) {
        if (!entries[i].is_merged) {
            name_pairs(&entries[i]);
            add_rows(to, &entries[i]);
        }
        free(entries[i].rows);
        free(entries[i].pairs);
        free(entries[i].results);
    }
}

static void whole_table(text *to)
{
    add(to, "\n| A, B | in | C, D | on | kernels | nn | nt | tn | tt | rows begin anywhere | scales |\n"
            "|---|---|---|---|---|---|---|---|---|---|---|\n");
    make_table(0, to);
    add(to, "\n");
}

/* One table for both operands where they have the same rows. */
static void sparse_table(text *to)
{
    text *const of_a = new_text(), *const of_b = new_text();
    make_table(TSR_SPARSE24_A, of_a);
    make_table(TSR_SPARSE24_B, of_b);
    static const char head[] = "| A, B | in | C, D | on | kernels | the other operand along K | across | scales |\n"
                               "|---|---|---|---|---|---|---|---|\n";
    if (strcmp(of_a->at, of_b->at) == 0)
        add(to, "\nA or B compressed:\n\n%s%s\n", head, of_a->at);
    else
        add(to, "\nA compressed:\n\n%s%s\nB compressed:\n\n%s%s\n", head, of_a->at, head, of_b->at);
    free(of_a);
    free(of_b);
}

/* ---- the file ---- */

static char *read_file(const char *path)
{
    FILE *const in = fopen(path, "rb");
    char *const out = malloc(TEXT_BYTES * 4);
    if (!in || !out)
        die("%s: cannot be read", path);
    const size_t bytes = fread(out, 1, TEXT_BYTES * 4 - 1, in);
    fclose(in);
    out[bytes] = '\0';
    return out;
}

static void write_file(const char *path, const char *content)
{
    FILE *const to = fopen(path, "wb");
    if (!to || fputs(content, to) < 0 || fclose(to) != 0)
        die("%s: cannot be written", path);
}

/* Prints the lines of `from` that `other` lacks. */
static int say_lines(const char *sign, const char *from, size_t bytes, const char *other, size_t other_bytes)
{
    int said = 0;
    for (const char *line = from; line < from + bytes;) {
        const size_t length = strcspn(line, "\n") + 1;
        int found = 0;
        for (const char *at = other; at < other + other_bytes && !found; at += strcspn(at, "\n") + 1)
            found = strncmp(at, line, length) == 0;
        if (!found)
            printf("%s %.*s", sign, (int)length, line);
        said += !found;
        line += length;
    }
    return said;
}

/* What stands between the marks in *content is to be `wanted`: 1 if it is. Otherwise it is told, and put there. */
static int put(const char *name, const char *wanted, char **content)
{
    char mark[64];
    snprintf(mark, sizeof mark, "<!-- types_tables %s -->\n", name);
    char *const begin = strstr(*content, mark);
    char *const from = begin ? begin + strlen(mark) : NULL, *const end = from ? strstr(from, "<!-- end -->") : NULL;
    if (!end)
        die("no lines between %.*s and <!-- end -->", (int)strlen(mark) - 1, mark);
    const size_t before = (size_t)(from - *content), bytes = (size_t)(end - from), wanted_bytes = strlen(wanted);
    if (bytes == wanted_bytes && memcmp(from, wanted, bytes) == 0)
        return 1;
    if (!(say_lines("-", from, bytes, wanted, wanted_bytes) + say_lines("+", wanted, wanted_bytes, from, bytes)))
        printf("%s: lines in another order\n", name);
    char *const out = malloc(before + wanted_bytes + strlen(end) + 1);
    if (!out)
        die("no memory");
    memcpy(out, *content, before);
    memcpy(out + before, wanted, wanted_bytes);
    memcpy(out + before + wanted_bytes, end, strlen(end) + 1);
    free(*content);
    *content = out;
    return 0;
}

int main(int argc, char **argv)
{
    const int updates = argc == 3 && strcmp(argv[1], "--update") == 0;
    if (argc != 2 + updates || argv[1 + updates][0] == '-') {
        fprintf(stderr, "usage: types_tables [--update] docs/TYPES.md\n");
        return 2;
    }
    const char *const path = argv[1 + updates];
    text *const whole = new_text(), *const sparse = new_text();
    char *content = read_file(path);
    whole_table(whole);
    sparse_table(sparse);
    int same = put("whole", whole->at, &content);
    same &= put("sparse24", sparse->at, &content);
    if (updates && !same)
        write_file(path, content);
    else if (!same)
        printf("%s: the tables are not those of the configs; types_tables --update writes them\n", path);
    free(content);
    free(whole);
    free(sparse);
    return same || updates ? 0 : 1;
}
