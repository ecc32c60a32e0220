/* What nvcc made of the memory accesses of one kernel: reads the machine code for 9.0 out of a fat binary of the
 * build, which holds a group of kernels, and prints a line of perf/machine_code.tsv; with --banks, what the register
 * file lets its main loop do. tools/machine-code runs it for all kernels.
 *
 * NVIDIA documents neither the container nor the encoding. Both were read off: the container from fat binaries, whose
 * parts announce their size and are ELF files behind `zstd`; the encoding from the disassembly of 19 kernels beside
 * their bytes. An instruction has 16 bytes; bits 0 to 11 say what it is, bits 73 to 75 how wide an access is. A
 * multiply-add has its three sources in bits 24, 32 and 64 and the following seven, and in bits 122 to 124 which of
 * them the reuse cache keeps; a branch has its distance past the next instruction, in units of four bytes, in bits 16
 * to 23 and 34 to 81. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ELF = 2, SM_90 = 90, INSTRUCTION = 16 };

/* Bits 0 to 11 of a multiply-add of three registers, and of a branch; the register that reads as 0. */
enum { FFMA = 0x223, BRANCH = 0x947, ZERO_REGISTER = 255 };

typedef struct bytes {
    unsigned char *at;
    size_t count;
} bytes;

static void fail(const char *path, const char *why)
{
    fprintf(stderr, "machine_code: %s: %s\n", path, why);
    exit(1);
}

static uint64_t number(const unsigned char *at, int count)
{
    uint64_t value = 0;
    for (int i = count - 1; i >= 0; i--)
        value = value << 8 | at[i];
    return value;
}

static bytes read_all(FILE *file)
{
    bytes all = {NULL, 0};
    size_t got;
    do {
        all.at = realloc(all.at, all.count + (1 << 16));
        if (!all.at)
            exit(1);
        got = fread(all.at + all.count, 1, 1 << 16, file);
        all.count += got;
    } while (got > 0);
    return all;
}

/* The part is written to a temporary file, for zstd to read. */
static bytes expand(const char *path, const unsigned char *from, size_t count)
{
    char name[] = "/tmp/machine_code_XXXXXX", command[128];
    const int descriptor = mkstemp(name);
    FILE *file = descriptor >= 0 ? fdopen(descriptor, "w") : NULL;
    if (!file || fwrite(from, 1, count, file) != count || fclose(file) != 0)
        fail(path, "cannot write a temporary file");
    snprintf(command, sizeof command, "zstd -qdc %s", name);
    FILE *pipe = popen(command, "r");
    if (!pipe)
        fail(path, "cannot run zstd");
    const bytes all = read_all(pipe);
    if (pclose(pipe) != 0)
        fail(path, "zstd failed");
    remove(name);
    return all;
}

/* The ELF file for 9.0 in a fat binary. */
static bytes find_elf(const char *path, bytes fat)
{
    static const unsigned char zstd[] = {0x28, 0xb5, 0x2f, 0xfd}, elf[] = {0x7f, 'E', 'L', 'F'};
    size_t at = 16;
    while (at + 64 <= fat.count) {
        const unsigned char *part = fat.at + at;
        const size_t head = number(part + 4, 4), size = number(part + 8, 8);
        if (head < 32 || size > fat.count - at - head)
            break;
        if (number(part, 2) == ELF && number(part + 28, 4) == SM_90) {
            const size_t packed = number(part + 16, 4);
            if (memcmp(part + head, zstd, sizeof zstd) == 0 && packed <= size)
                return expand(path, part + head, packed);
            if (memcmp(part + head, elf, sizeof elf) == 0)
                return (bytes){fat.at + at + head, size};
            fail(path, "the machine code is compressed in a way that is not known here");
        }
        at += head + size;
    }
    fail(path, "no machine code for 9.0");
    return fat;
}

/* The section ".text.INSTANCE". */
static bytes find_text(const char *path, bytes elf, const char *instance)
{
    if (elf.count < 64)
        fail(path, "no ELF file");
    const size_t table = number(elf.at + 0x28, 8), sections = number(elf.at + 0x3c, 2),
                 names = number(elf.at + 0x3e, 2);
    if (table + 64 * sections > elf.count || names >= sections)
        fail(path, "no sections");
    const size_t name_table = number(elf.at + table + 64 * names + 0x18, 8);
    for (size_t i = 0; i < sections; i++) {
        const unsigned char *section = elf.at + table + 64 * i;
        const size_t name = name_table + number(section, 4), from = number(section + 0x18, 8),
                     size = number(section + 0x20, 8);
        if (name + 7 + strlen(instance) <= elf.count && memcmp(elf.at + name, ".text.", 6) == 0 &&
            strcmp((const char *)elf.at + name + 6, instance) == 0 && from + size <= elf.count)
            return (bytes){elf.at + from, size};
    }
    fail(path, "no code");
    return elf;
}

typedef enum access { LOAD, STORE, SHARED_LOAD, SHARED_STORE, COPY, ACCESSES } access;

static int access_of(unsigned code)
{
    switch (code) {
    case 0x981:
        return LOAD;
    case 0x986:
        return STORE;
    case 0x984:
        return SHARED_LOAD;
    case 0x988:
    case 0x388:
        return SHARED_STORE;
    case 0xfae:
        return COPY;
    default:
        return ACCESSES;
    }
}

/* 0: up to 4 bytes, 1: 8 bytes, 2: 16 bytes. */
static int width_of(const unsigned char *instruction)
{
    const unsigned code = instruction[9] >> 1 & 7;
    return code <= 4 ? 0 : code == 5 ? 1 : 2;
}

/* Loads whose values go on to shared memory: how often, in the order of the code, loads are followed by shared stores
 * before anything is stored to global memory or a barrier comes, and how many shared stores follow so. A thread waits
 * once for each such group. */
typedef struct groups {
    int count, stores;
    enum { NOTHING, LOADED, STORED } state;
} groups;

static void follow(groups *g, unsigned code, int kind)
{
    const unsigned barrier = 0xb1d;
    if (kind == LOAD) {
        g->state = LOADED;
    } else if (kind == SHARED_STORE && g->state != NOTHING) {
        g->count += g->state == LOADED;
        g->stores++;
        g->state = STORED;
    } else if (kind == STORE || code == barrier) {
        g->state = NOTHING;
    }
}

/* A multiply-add reads three registers. The model: of the two banks, even and odd registers, each gives one operand a
 * cycle, and what the instruction before kept of the same place costs nothing; any other instruction takes one cycle.
 */
typedef struct bank_model {
    int instructions, multiply_adds, cycles;
} bank_model;

static bank_model model_banks(bytes code)
{
    bank_model model = {0, 0, 0};
    int kept[3] = {-1, -1, -1};
    for (size_t at = 0; at + INSTRUCTION <= code.count; at += INSTRUCTION) {
        const unsigned char *const instruction = code.at + at;
        const int is_multiply_add = (number(instruction, 2) & 0xfff) == FFMA;
        const int source[3] = {instruction[3], instruction[4], instruction[8]};
        int asked[2] = {0, 0};
        for (int i = 0; i < 3; i++) {
            asked[source[i] % 2] += is_multiply_add && source[i] != ZERO_REGISTER && kept[i] != source[i];
            kept[i] = is_multiply_add && instruction[15] >> (2 + i) & 1 ? source[i] : -1;
        }
        const int busier = asked[0] > asked[1] ? asked[0] : asked[1];
        model.instructions++;
        model.multiply_adds += is_multiply_add;
        model.cycles += busier > 1 ? busier : 1;
    }
    return model;
}

/* Where a branch goes to, as a distance from its own first byte. */
static int64_t branch_distance(const unsigned char *instruction)
{
    const uint64_t high = number(instruction + 4, 6) >> 2 | (number(instruction + 10, 1) & 3) << 46;
    return (int64_t)((high << 8 | instruction[2]) << 8) / 256 * 4 + INSTRUCTION;
}

/* The main loop of a kernel that multiplies by multiply-adds: the loop of 16 of them or more in which they have the
 * largest share, if that is half of the instructions. */
static bytes find_loop(bytes text)
{
    bytes best = {text.at, 0};
    double most = 0.5;
    for (size_t at = 0; at + INSTRUCTION <= text.count; at += INSTRUCTION) {
        if ((number(text.at + at, 2) & 0xfff) != BRANCH)
            continue;
        const int64_t distance = branch_distance(text.at + at);
        if (distance >= 0 || (int64_t)at + distance < 0)
            continue;
        const bytes loop = {text.at + at + distance, (size_t)-distance + INSTRUCTION};
        const bank_model model = model_banks(loop);
        const double share = (double)model.multiply_adds / model.instructions;
        if (model.multiply_adds >= 16 && share >= most) {
            most = share;
            best = loop;
        }
    }
    return best;
}

static void print_banks(const char *instance, bytes text)
{
    const bytes loop = find_loop(text);
    const bank_model model = model_banks(loop);
    if (loop.count > 0)
        printf("%s\t%zu\t%d\t%d\t%d\t%.3f\n", instance, loop.count, model.instructions, model.multiply_adds,
               model.cycles, (double)model.multiply_adds / model.cycles);
}

static void print_accesses(const char *instance, const char *hash, int registers, bytes text)
{
    int count[ACCESSES][3] = {{0}};
    groups waits = {0, 0, NOTHING};
    for (size_t at = 0; at + INSTRUCTION <= text.count; at += INSTRUCTION) {
        const unsigned code = (unsigned)number(text.at + at, 2) & 0xfff;
        const int kind = access_of(code);
        follow(&waits, code, kind);
        if (kind == ACCESSES ||
            (number(text.at + at, 2) & 0xf000) == 0xf000) /* "never": nvcc puts them before copies */
            continue;
        count[kind][width_of(text.at + at)]++;
    }
    printf("%s\t%s\t%d\t%zu", instance, hash, registers, text.count);
    for (int kind = 0; kind < ACCESSES; kind++)
        printf("\t%d\t%d\t%d", count[kind][0], count[kind][1], count[kind][2]);
    printf("\t%d\t%d\n", waits.count, waits.stores);
}

/* Finds the line of an instance in its group's report (cmake/CompileGroup.cmake). */
static int read_report(const char *path, const char *instance, char hash[32], int *registers)
{
    char line[512], name[256];
    FILE *const report = fopen(path, "r");
    int found = 0;
    while (report && !found && fgets(line, sizeof line, report))
        found = sscanf(line, "#define TSR_CODE_%255s \"%31[0-9a-f]\", %d", name, hash, registers) == 3 &&
                strcmp(name, instance) == 0;
    if (report)
        fclose(report);
    return found;
}

int main(int argc, char **argv)
{
    const int banks = argc == 5 && strcmp(argv[1], "--banks") == 0;
    if (argc != 4 && !banks) {
        fprintf(stderr, "machine_code [--banks] INSTANCE FATBIN REPORT\n");
        return 2;
    }
    argv += banks;
    FILE *file = fopen(argv[2], "rb");
    char hash[32];
    int registers;
    if (!file || !read_report(argv[3], argv[1], hash, &registers))
        fail(argv[2], "cannot be read, or its report");
    const bytes text = find_text(argv[2], find_elf(argv[2], read_all(file)), argv[1]);
    if (banks)
        print_banks(argv[1], text);
    else
        print_accesses(argv[1], hash, registers, text);
    return 0;
}
