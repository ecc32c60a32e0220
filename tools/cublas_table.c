/* cublas_table [options]: measures cuBLAS and Tessera beside each other on a GPU and writes the table that
 * libtessera_cublas goes by. tools/measure-cublas-table builds and starts it; docs/CUBLAS.md has the whole story.
 *
 *     --out FILE       the table; lines that it has already stay, and are not measured again unless --again is given
 *     --log FILE       measures the shapes of a call log (TESSERA_LOG=calls) instead of the list that is built in
 *     --seconds S      begins no line after S seconds (default 300)
 *     --rounds R       rounds of a shape (default 15)
 *     --device N       which GPU (default 0)
 *     --shard I/N      each N-th line from the I-th on, so that N GPUs share the work, each with its own --out
 *     --library FILE   libtessera_cublas (default: beside this program)
 *     --again          measures lines anew that the table has
 *     --list           prints which lines would be measured, for a chip "CHIP"; needs no GPU */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cublas_table.h"
#include "lab/common/timer.h"

#define CLEAR_GAIN 1.15
enum { KEY_BYTES = 256, DEFAULT_SECONDS = 300, DEFAULT_ROUNDS = 15, SAVE_SECONDS = 20, QUICK_ROUNDS = 7 };

typedef struct settings {
    const char *out, *log, *library;
    double seconds;
    int rounds, device, shard, shards, is_again, is_list;
} settings;

/* ---- the file ---------------------------------------------------------------------------------------------------- */

/* The table as text lines without their newlines. */
typedef struct table_file {
    size_t count, room;
    char **lines;
} table_file;

static void die(const char *what, const char *why)
{
    fprintf(stderr, "cublas_table: %s: %s\n", what, why);
    exit(1);
}

static void add_line(table_file *file, const char *text)
{
    if (file->count == file->room) {
        file->room = file->room ? 2 * file->room : 1024;
        file->lines = realloc(file->lines, file->room * sizeof *file->lines);
    }
    char *copy = strdup(text);
    if (!file->lines || !copy)
        die("table", "no memory");
    file->lines[file->count++] = copy;
}

static table_file read_table(const char *path)
{
    table_file file = {0, 0, NULL};
    char *line = NULL;
    size_t room = 0;
    FILE *from = fopen(path, "r");
    if (!from && errno != ENOENT)
        die(path, strerror(errno));
    while (from && getline(&line, &room, from) > 0) {
        line[strcspn(line, "\n")] = '\0';
        add_line(&file, line);
    }
    free(line);
    if (from)
        fclose(from);
    return file;
}

/* The number of the line with that key, -1 if there is none. */
static long find_line(const table_file *file, const char *key)
{
    const size_t bytes = strlen(key);
    for (size_t i = 0; i < file->count; i++)
        if (strncmp(file->lines[i], key, bytes) == 0 && file->lines[i][bytes] == '\t')
            return (long)i;
    return -1;
}

/* Whole or not at all. */
static void write_table(const table_file *file, const char *path)
{
    char draft[PATH_MAX];
    snprintf(draft, sizeof draft, "%s.new", path);
    FILE *to = fopen(draft, "w");
    int good = to != NULL;
    for (size_t i = 0; i < file->count && good; i++)
        good = fprintf(to, "%s\n", file->lines[i]) > 0;
    if (to && fclose(to) != 0)
        good = 0;
    if (!good || rename(draft, path) != 0)
        die(path, strerror(errno));
}

/* ---- measuring --------------------------------------------------------------------------------------------------- */

static const char *words_of(table_outcome outcome)
{
    switch (outcome) {
    case TABLE_NOT_OURS:
        return "Tessera does not answer it";
    case TABLE_WRONG:
        return "WRONG RESULTS";
    case TABLE_TOO_LARGE:
        return "too large for this GPU";
    default:
        return "failed";
    }
}

/* The lowest of the samples' ratios. A sample that is clearly slower decides the line at once. */
static table_outcome measure(table_session *session, const table_line *line, int rounds, lab_interval *worst)
{
    table_outcome outcome = TABLE_FAILED;
    for (int i = 0; i < line->sample_count; i++) {
        lab_interval ratio;
        outcome = table_time(session, &line->samples[i], rounds > QUICK_ROUNDS ? QUICK_ROUNDS : rounds, &ratio);
        /* More rounds only where they may change the answer. */
        if (outcome == TABLE_MEASURED && ratio.mid > 1 && ratio.lo < CLEAR_GAIN && rounds > QUICK_ROUNDS)
            outcome = table_time(session, &line->samples[i], rounds, &ratio);
        if (outcome != TABLE_MEASURED)
            return outcome;
        if (i == 0 || ratio.lo < worst->lo)
            *worst = ratio;
        if (worst->mid < 1)
            break;
    }
    return outcome;
}

static void keep(table_file *file, const char *key, lab_interval ratio)
{
    char text[KEY_BYTES + 64], date[16];
    const time_t now = time(NULL);
    struct tm today;
    const long before = find_line(file, key);
    gmtime_r(&now, &today);
    strftime(date, sizeof date, "%Y-%m-%d", &today);
    snprintf(text, sizeof text, "%s\t%.3f\t%.3f\t%s", key, ratio.mid, ratio.lo, date);
    if (before < 0 || !file->lines) {
        add_line(file, text);
        return;
    }
    free(file->lines[before]);
    if (!(file->lines[before] = strdup(text)))
        die("table", "no memory");
}

static void measure_all(const settings *set, const table_lines *lines, table_session *session, table_file *file)
{
    const double start = lab_now_ns();
    double saved = start;
    size_t measured = 0, faster = 0, others = 0, at = 0;
    for (; at < lines->count && lab_now_ns() - start < 1e9 * set->seconds; at++) {
        if ((long)(at % (size_t)set->shards) != set->shard - 1)
            continue;
        char key[KEY_BYTES];
        lab_interval ratio = {0, 0, 0};
        table_line_key(&lines->lines[at], table_chip(session), table_version(session), key);
        if (!set->is_again && find_line(file, key) >= 0)
            continue;
        const table_outcome outcome = measure(session, &lines->lines[at], set->rounds, &ratio);
        if (outcome == TABLE_MEASURED) {
            keep(file, key, ratio);
            measured++;
            faster += ratio.lo >= TSR_MEASURED_ENOUGH;
            printf("%s\t%.3f\t%.3f\n", key, ratio.mid, ratio.lo);
        } else {
            others++;
            printf("%s\t%s\n", key, words_of(outcome));
        }
        fflush(stdout);
        if (lab_now_ns() - saved > 1e9 * SAVE_SECONDS) {
            write_table(file, set->out);
            saved = lab_now_ns();
        }
    }
    write_table(file, set->out);
    printf("# %zu of %zu lines looked at, %zu measured, %zu of them faster by %.0f%% or more, %zu not measured\n", at,
           lines->count, measured, faster, 100 * (TSR_MEASURED_ENOUGH - 1), others);
}

/* ---- the program ------------------------------------------------------------------------------------------------- */

static void read_arguments(int argc, char **argv, settings *set)
{
    static const struct option options[] = {
        {"out", required_argument, NULL, 'o'},     {"log", required_argument, NULL, 'l'},
        {"seconds", required_argument, NULL, 's'}, {"rounds", required_argument, NULL, 'r'},
        {"device", required_argument, NULL, 'd'},  {"shard", required_argument, NULL, 'i'},
        {"library", required_argument, NULL, 'L'}, {"again", no_argument, NULL, 'a'},
        {"list", no_argument, NULL, 'p'},          {NULL, 0, NULL, 0}};
    char rest;
    for (int letter; (letter = getopt_long(argc, argv, "", options, NULL)) != -1;)
        switch (letter) {
        case 'o':
            set->out = optarg;
            break;
        case 'l':
            set->log = optarg;
            break;
        case 's':
            set->seconds = atof(optarg);
            break;
        case 'r':
            set->rounds = atoi(optarg);
            break;
        case 'd':
            set->device = atoi(optarg);
            break;
        case 'i':
            if (sscanf(optarg, "%d/%d%c", &set->shard, &set->shards, &rest) != 2)
                set->shard = 0;
            break;
        case 'L':
            set->library = optarg;
            break;
        case 'a':
            set->is_again = 1;
            break;
        case 'p':
            set->is_list = 1;
            break;
        default:
            exit(2);
        }
    if (optind < argc || set->seconds <= 0 || set->rounds < 5 || set->device < 0 || set->shard < 1 ||
        set->shard > set->shards || (!set->out && !set->is_list)) {
        fprintf(stderr, "usage: cublas_table --out FILE [--log FILE] [--seconds S] [--rounds R] [--device N] "
                        "[--shard I/N] [--library FILE] [--again] [--list]; S > 0, R >= 5, 1 <= I <= N\n");
        exit(2);
    }
}

static const char *library_beside(char path[PATH_MAX])
{
    const ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 32);
    path[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(path, '/');
    strcpy(slash ? slash + 1 : path, "libtessera_cublas.so.0");
    return path;
}

static void print_list(const table_lines *lines)
{
    for (size_t i = 0; i < lines->count; i++) {
        char key[KEY_BYTES];
        table_line_key(&lines->lines[i], "CHIP", "0.0", key);
        printf("%s", key);
        for (int s = 0; s < lines->lines[i].sample_count && lines->lines[i].is_class; s++)
            printf("%s%lldx%lldx%lld", s ? " " : "\t", (long long)lines->lines[i].samples[s].m,
                   (long long)lines->lines[i].samples[s].n, (long long)lines->lines[i].samples[s].k);
        putchar('\n');
    }
}

int main(int argc, char **argv)
{
    settings set = {.seconds = DEFAULT_SECONDS, .rounds = DEFAULT_ROUNDS, .shard = 1, .shards = 1};
    char error[512] = "no memory", beside[PATH_MAX];
    table_lines lines;
    read_arguments(argc, argv, &set);
    if (set.log ? !table_lines_of_log(set.log, &lines, error) : !table_default_lines(&lines))
        die("shapes", error);
    if (set.is_list) {
        print_list(&lines);
        table_lines_free(&lines);
        return 0;
    }
    table_file file = read_table(set.out);
    table_session *session = table_open(set.device, set.library ? set.library : library_beside(beside), error);
    if (!session)
        die("cannot begin", error);
    printf("# %s, cuBLAS %s; sending an empty call on costs %.0f ns\n", table_chip(session), table_version(session),
           table_forwarding_ns(session));
    measure_all(&set, &lines, session, &file);
    table_close(session);
    table_lines_free(&lines);
    for (size_t i = 0; i < file.count; i++)
        free(file.lines[i]);
    free(file.lines);
    return 0;
}
