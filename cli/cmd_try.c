/* tessera try: the exercises of docs/COURSE.md, and whether an answer is right; and a kernel of one's own. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/try_kernel.h"
#include "lab/common/gpus.h"
#include "lab/explain/exercises.h"

typedef struct settings {
    const lab_exercise *exercise;
    int has_answer, show;
    double answer;
    cli_try_settings kernel; /* file: NULL where it is an exercise */
} settings;

static const char *name_at(size_t index, const void *unused)
{
    (void)unused;
    return lab_exercise_at(index)->name;
}

/* A path, or the name of a CUDA or C file: no exercise is called so. */
static int is_file(const char *text)
{
    const char *const dot = strrchr(text, '.');
    return strchr(text, '/') || (dot && (strcmp(dot, ".cu") == 0 || strcmp(dot, ".c") == 0));
}

static int parse_exercise(const cli_option *option, const char *text, void *to, cli_message *error)
{
    (void)option;
    if (is_file(text)) {
        ((settings *)(void *)((char *)to - offsetof(settings, exercise)))->kernel.file = text;
        return 1;
    }
    const lab_exercise *found = lab_exercise_find(text);
    size_t count = 0;
    while (lab_exercise_at(count))
        count++;
    const char *near = found ? NULL : cli_nearest(text, count, name_at, NULL);
    if (!found)
        return cli_reject(error, "needs an exercise of the list that tessera try prints, not '%s'%s%s%s", text,
                          near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    *(const lab_exercise **)to = found;
    return 1;
}

static int parse_answer(const cli_option *option, const char *text, void *to, cli_message *error)
{
    settings *const set = (settings *)(void *)((char *)to - offsetof(settings, answer));
    set->has_answer = cli_parse_number(option, text, to, error);
    return set->has_answer;
}

#define AT(field) .offset = offsetof(settings, field)
/* The file's own line may have all of these but the first three. */
static const cli_option options[] = {
    {.name = "EXERCISE",
     .help = "one of the list that tessera try prints; or FILE.cu, a kernel of your own",
     .parse = parse_exercise,
     .optional = 1,
     .files = "*.cu",
     AT(exercise)},
    {.name = "ANSWER",
     .help = "a number; exit code 0 if it is right",
     .parse = parse_answer,
     .optional = 1,
     AT(answer)},
    {.name = "--show", .help = "the answer, and how it comes about", AT(show)},
    {.name = "--threads",
     .value = "XxY",
     .help = "of a kernel: threads of a block",
     .parse = cli_parse_extents,
     AT(kernel.threads),
     .min = 1,
     .max = 1024},
    {.name = "--tile",
     .value = "MxNxK",
     .help = "rows and columns of C that a block makes, and its step along K; 16 is 16x16x16 (default: one element a "
             "thread)",
     .parse = cli_parse_extents,
     AT(kernel.tile),
     .min = 1,
     .max = 1024},
    {.name = "--shared",
     .value = "BYTES",
     .help = "of shared memory that a block has (default 0)",
     .parse = cli_parse_int,
     AT(kernel.shared),
     .max = 227 << 10},
    {.name = "--define",
     .letter = 'D',
     .value = "NAME=VALUE",
     .help = "a constant for the compiler; as often as is needed",
     .parse = cli_parse_define,
     AT(kernel.defines)},
    {.name = "--dtype",
     .value = "T",
     .help = "of A, B and C: f32, f64, f16 or bf16 (default f32)",
     .parse = cli_parse_dtype,
     AT(kernel.dtype)},
    {.name = "--general",
     .help = "verify all that a product may be: transposes, alpha, beta, leading dimensions, batches, epilogues",
     AT(kernel.general)},
    {.name = "--size",
     .value = "N",
     .help = "count and predict N x N x N (default 256)",
     .parse = cli_parse_int,
     AT(kernel.size),
     .min = 1,
     .max = 1 << 14},
    {.name = "--gpu",
     .value = LAB_GPU_CHOICES,
     .help = "whose time is predicted (default h200)",
     .parse = cli_parse_choice,
     AT(kernel.gpu)},
    {.name = "--page",
     .value = "FILE",
     .help = "write the explanation there, a page to step through",
     .parse = cli_parse_text,
     AT(kernel.page)},
    {.name = "--timeout",
     .value = "S",
     .help = "seconds for the compiler, and again for all the rest (default 60)",
     .parse = cli_parse_int,
     AT(kernel.timeout),
     .min = 1,
     .max = 86400},
    {0}};

static int list(const cli_command *self)
{
    cli_table table;
    const lab_exercise *exercise;
    cli_table_begin(&table, "rll", "lesson", "exercise", "task");
    for (size_t i = 0; (exercise = lab_exercise_at(i)) != NULL; i++)
        cli_table_row(&table, CLI_CELL("%d", exercise->lesson), exercise->name, exercise->task);
    return cli_table_end(&table, stdout, 0) ? CLI_OK : cli_failure(self, "out of memory");
}

static void say_why(const lab_exercise *exercise, const char *word, double answer)
{
    cli_print_wrapped(stdout,
                      cli_text((char[600]){0}, 600, "%s%.6g%s%s: %s.", word, answer, exercise->unit[0] ? " " : "",
                               exercise->unit, exercise->why),
                      0, 2);
}

static int decide(const cli_command *self, const settings *set)
{
    const lab_exercise *exercise = set->exercise;
    double right = 0;
    const tsr_status status = exercise->answer(&right);
    if (status != TSR_OK)
        return cli_failure(self, "%s: %s", exercise->name, tsr_last_error());
    if (set->show) {
        say_why(exercise, "", right);
        return CLI_OK;
    }
    if (lab_exercise_accepts(exercise, right, set->answer)) {
        say_why(exercise, "Right, ", right);
        return CLI_OK;
    }
    cli_print_wrapped(
        stdout, cli_text((char[600]){0}, 600, "Not %.6g. Look at: %s. (--show tells.)", set->answer, exercise->hint), 0,
        2);
    return CLI_FAILED;
}

/* ---- a kernel --------------------------------------------------------------------------------------------------- */

static const char mark[] = "tessera try:";

/* The words behind "tessera try:" in the file, or NULL; *line is where, 0 where the file has none. The caller frees. */
static char *own_line(const char *path, int *line)
{
    enum { SEARCHED = 200 };
    char *text = NULL, *found = NULL;
    size_t bytes = 0;
    FILE *const file = fopen(path, "r");
    *line = 0;
    for (int at = 1; file && !found && at <= SEARCHED && getline(&text, &bytes, file) > 0; at++) {
        const char *const begin = strstr(text, mark);
        if (!begin)
            continue;
        *line = at;
        found = strdup(begin + sizeof mark - 1);
    }
    free(text);
    if (file)
        fclose(file);
    char *const end = found ? strstr(found, "*/") : NULL;
    if (end)
        *end = '\0';
    return found;
}

/* Takes the options of the file's own line, then those of the command line again, which win. `words` stays in use. */
static int read_own_line(const cli_command *self, int argc, char **argv, char *words, int line, settings *set)
{
    enum { WORDS = 64 };
    char *list[WORDS], *rest = NULL;
    int count = 0;
    cli_message error;
    settings own = {.kernel = set->kernel};
    for (char *word = strtok_r(words, " \t\r\n", &rest); word; word = strtok_r(NULL, " \t\r\n", &rest)) {
        if (count == WORDS)
            return cli_usage_error(self, "%s:%d: more than %d words", set->kernel.file, line, WORDS);
        list[count++] = word;
    }
    const cli_try_settings defaults = {.file = set->kernel.file, .timeout = 60, .size = 256, .dtype = TSR_F32};
    own.kernel = defaults;
    const cli_outcome outcome = cli_scan_args(self, count, list, &own, &error);
    if (outcome == CLI_ARGS_BAD)
        return cli_usage_error(self, "%s:%d: %s", set->kernel.file, line, error.text);
    if (outcome == CLI_ARGS_HELP || own.exercise || own.kernel.file != defaults.file || own.show)
        return cli_usage_error(self, "%s:%d: only options of a kernel may stand behind \"%s\"", set->kernel.file, line,
                               mark);
    set->kernel = own.kernel;
    return cli_read_args(self, argc, argv, set);
}

static int try_kernel(const cli_command *self, int argc, char **argv, settings *set)
{
    int line;
    FILE *const file = fopen(set->kernel.file, "r");
    if (!file)
        return cli_failure(self, "cannot open %s: %s", set->kernel.file, strerror(errno));
    fclose(file);
    char *const words = own_line(set->kernel.file, &line);
    int code = words ? read_own_line(self, argc, argv, words, line, set) : CLI_CONTINUE;
    if (code == CLI_CONTINUE)
        code = cli_try_kernel(self, &set->kernel);
    free(words);
    return code;
}

static int run(const cli_command *self, int argc, char **argv)
{
    settings set = {.kernel = {.timeout = 60, .size = 256, .dtype = TSR_F32}};
    const int code = cli_read_args(self, argc, argv, &set);
    if (code != CLI_CONTINUE)
        return code;
    if (set.kernel.file)
        return set.has_answer || set.show ? cli_usage_error(self, "a kernel has neither an answer nor --show")
                                          : try_kernel(self, argc, argv, &set);
    if (!set.exercise)
        return set.show ? cli_usage_error(self, "--show of which exercise?") : list(self);
    if (set.has_answer && set.show)
        return cli_usage_error(self, "an answer, or --show");
    if (set.has_answer || set.show)
        return decide(self, &set);
    cli_print_wrapped(stdout, set.exercise->task, 0, 2);
    printf("Answer: tessera try %s NUMBER\n", set.exercise->name);
    return CLI_OK;
}

const cli_command cli_cmd_try = {
    "try",
    "exercises of the course, and whether an answer or a kernel of one's own is right",
    "[EXERCISE [ANSWER]] [--show] | FILE.cu [options]",
    options,
    "Without arguments it lists the exercises of docs/COURSE.md. Answers are not written down anywhere: most are "
    "counted "
    "in the emulator when they are wanted, the others follow from a GPU's published figures. A kernel is compiled with "
    "gcc for the emulator, verified, counted, its time predicted and its first phase explained, without a GPU; races, "
    "reads out of bounds and deadlocks are told with its lines. A line \"tessera try: OPTIONS\" in a comment of the "
    "file "
    "says its block, tile and shared memory; options of the command line win. Exit code 1: not right.",
    run};
