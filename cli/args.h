/* Command-line arguments from tables. A sub-command is one cli_command; its options and positional arguments are rows
 * of one table that say where in the command's settings struct a value goes. Parsing, error messages and --help all
 * come from that table:
 *
 *     typedef struct settings { int64_t rounds; int quick; const char *out; } settings;
 *     static const cli_option options[] = {
 *         {.name = "--rounds", .value = "R", .help = "rounds of measurement", .parse = cli_parse_int,
 *          .offset = offsetof(settings, rounds), .min = 1, .max = 100000},
 *         {.name = "--quick", .help = "fewer cases", .offset = offsetof(settings, quick)},
 *         {0}};
 *     static int run(const cli_command *self, int argc, char **argv)
 *     {
 *         settings set = {.rounds = 30};
 *         int code = cli_read_args(self, argc, argv, &set);
 *         if (code != CLI_CONTINUE)
 *             return code;
 *         ...
 *     }
 *     const cli_command cli_cmd_bench = {"bench", "measures kernels", "[options]", options, NULL, run};
 *
 * A new command needs one such file and one row in main.c. */
#ifndef CLI_ARGS_H
#define CLI_ARGS_H

#include <stddef.h>
#include <stdint.h>

#include "tessera.h"

/* Exit codes of every command. CLI_CONTINUE is not one: it says that the arguments are good. */
enum { CLI_CONTINUE = -1, CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2 };

enum { CLI_LIST_MAX = 512, CLI_NAME_MAX = 128 };

typedef struct cli_message {
    char text[512];
} cli_message;

typedef struct cli_option cli_option;

/* Reads `text` into *to. On failure returns 0 and writes what is wrong so that it reads on from the option's name:
 * "needs a whole number from 1 to 9, not 'x'". */
typedef int cli_parse(const cli_option *option, const char *text, void *to, cli_message *error);

struct cli_option {
    const char *name;  /* "--rounds", or, for a positional argument, as help shows it: "M" */
    char letter;       /* 'o' for -o; 0: none */
    int required;      /* an option that must be there; positional arguments must, but for those that are optional */
    int once;          /* an option that may not come twice, as an output; of others the last one counts */
    int optional;      /* a positional argument that may be left out, with those after it */
    const char *value; /* the value's name in help, for choices all of them: "table|json"; NULL: a flag */
    const char *help;
    cli_parse *parse;  /* NULL for a flag: an int that becomes 1 */
    size_t offset;     /* of the destination in the settings */
    int64_t min, max;  /* range of whole numbers */
    const char *files; /* of a parser that takes words and files: a pattern of the files, "*.cu", for completions */
};

typedef struct cli_command cli_command;
struct cli_command {
    const char *name;
    const char *summary;                                        /* one line for the list of commands */
    const char *usage;                                          /* what follows "tessera NAME " in the usage line */
    const cli_option *options;                                  /* ends with a row without name */
    const char *notes;                                          /* printed below the options; may be NULL */
    int (*run)(const cli_command *self, int argc, char **argv); /* arguments after the command's name; an exit code */
};

/* ---- destinations and the parsers that fill them ---------------------------------------------------------------- */

typedef struct cli_layout {
    tsr_trans a, b;
} cli_layout;
typedef struct cli_int_list {
    size_t count;
    int64_t values[CLI_LIST_MAX];
} cli_int_list;
typedef struct cli_name_list {
    size_t count;
    char values[CLI_LIST_MAX][CLI_NAME_MAX];
} cli_name_list;
typedef struct cli_dtype_list {
    size_t count;
    tsr_dtype values[CLI_LIST_MAX];
} cli_dtype_list;
typedef struct cli_layout_list {
    size_t count;
    cli_layout values[CLI_LIST_MAX];
} cli_layout_list;

cli_parse cli_parse_text;    /* const char *, not empty; points into argv */
cli_parse cli_parse_int;     /* int64_t in [min, max] */
cli_parse cli_parse_number;  /* double, finite */
cli_parse cli_parse_choice;  /* int: index of the text among the choices in `value` */
cli_parse cli_parse_choices; /* unsigned: comma list of choices as bits, 1u << index */
cli_parse cli_parse_dtype;   /* tsr_dtype, by tsr_dtype_name */
cli_parse cli_parse_compute; /* tsr_compute: default, or one that must be asked for */
cli_parse cli_parse_layout;  /* cli_layout: nn, nt, tn, tt */
cli_parse cli_parse_device;  /* const char *: auto, cpu, emu, cuda:N; points into argv */
/* The device where --device was not given (*device is NULL): $TESSERA_DEVICE, as the library's default context reads
 * it, else "auto". CLI_CONTINUE, or CLI_USAGE with the message printed. */
int cli_default_device(const cli_command *command, const char **device);
cli_parse cli_parse_kernel; /* const char *: name or instance of a kernel, with a schedule behind an @ or without;
                             * points into argv */
/* Comma lists, at least one value and at most CLI_LIST_MAX; an empty item is an error. */
cli_parse cli_parse_ints;             /* cli_int_list, each in [min, max] */
cli_parse cli_parse_dtypes;           /* cli_dtype_list */
cli_parse cli_parse_layouts;          /* cli_layout_list */
cli_parse cli_parse_kernels;          /* cli_name_list: kernels' names or instances; or "all" or "auto" alone */
cli_parse cli_parse_kernel_schedules; /* the same, each with a schedule behind an @ or without, and "auto" */
cli_parse cli_parse_kernels_or_all;   /* const char *, points into argv: the same as text, but no "auto" */

/* ---- reading ------------------------------------------------------------------------------------------------------
 */

typedef enum cli_outcome { CLI_ARGS_GOOD, CLI_ARGS_HELP, CLI_ARGS_BAD } cli_outcome;

/* Fills `settings` from the arguments that follow the command's name; prints nothing. CLI_ARGS_BAD: `error` has the
 * message without its "tessera NAME: ". "--" ends the options; "-5" and "-" count as positional; "-qo FILE" is
 * "-q -o FILE"; of an option given twice the last one counts, unless it is marked `once`. */
cli_outcome cli_scan_args(const cli_command *command, int argc, char *const *argv, void *settings, cli_message *error);

/* The same for a command's run function: prints help or the error. Returns CLI_CONTINUE, or the exit code to leave
 * with. */
int cli_read_args(const cli_command *command, int argc, char **argv, void *settings);

/* Prints "tessera NAME: message" to stderr, with control characters shown as '?'; `command` may be NULL for
 * "tessera: ". Returns CLI_USAGE and CLI_FAILED respectively. */
int cli_usage_error(const cli_command *command, const char *format, ...) __attribute__((format(printf, 2, 3)));
int cli_failure(const cli_command *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints the same of work that goes on. */
void cli_warning(const cli_command *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Help of one command on stdout, at most 100 columns wide. */
void cli_print_help(const cli_command *command);

/* Writes the message and is 0, for parsers: `return cli_reject(error, "needs ...")`. A macro, so that compilers and
 * checkers see the 0. */
#define cli_reject(...) (cli_set_message(__VA_ARGS__), 0)
void cli_set_message(cli_message *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The nearest of `count` names if it is near enough to be meant, else NULL. `name(index, user)` gives the names. */
const char *cli_nearest(const char *text, size_t count, const char *(*name)(size_t index, const void *user),
                        const void *user);

/* The i-th distinct kernel name (0, 1, ...), in the table's order; NULL past the last. */
const char *cli_kernel_name(size_t index);

#endif
