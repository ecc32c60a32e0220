#include "cli/args.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- messages -----------------------------------------------------------------------------------------------------
 */

void cli_set_message(cli_message *error, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(error->text, sizeof error->text, format, list);
    va_end(list);
}

/* File names and arguments go to a terminal: a control character in one must not. */
static void print_message(const cli_command *command, const char *format, va_list list)
{
    char text[4096];
    vsnprintf(text, sizeof text, format, list);
    for (char *at = text; *at; at++)
        if ((unsigned char)*at < 0x20 || *at == 0x7f)
            *at = '?';
    fflush(stdout);
    fprintf(stderr, "tessera%s%s: %s\n", command ? " " : "", command ? command->name : "", text);
}

int cli_usage_error(const cli_command *command, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    print_message(command, format, list);
    va_end(list);
    return CLI_USAGE;
}

int cli_failure(const cli_command *command, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    print_message(command, format, list);
    va_end(list);
    return CLI_FAILED;
}

/* ---- did you mean ---------------------------------------------------------------------------------------------------
 */

enum { NEAR_MAX = 40 };

/* Edits (insert, delete, replace, swap of neighbours) that turn one text into the other. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t rows = strlen(a), columns = strlen(b);
    size_t d[3][NEAR_MAX + 1]; /* row i of the table is d[i % 3] */
    if (rows > NEAR_MAX || columns > NEAR_MAX)
        return NEAR_MAX;
    for (size_t j = 0; j <= columns; j++)
        d[0][j] = j;
    for (size_t i = 1; i <= rows; i++) {
        size_t *now = d[i % 3], *above = d[(i + 2) % 3], *two_above = d[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= columns; j++) {
            size_t best = above[j - 1] + (a[i - 1] != b[j - 1]);
            best = above[j] + 1 < best ? above[j] + 1 : best;
            best = now[j - 1] + 1 < best ? now[j - 1] + 1 : best;
            int swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped && two_above[j - 2] + 1 < best)
                best = two_above[j - 2] + 1;
            now[j] = best;
        }
    }
    return d[rows % 3][columns];
}

const char *cli_nearest(const char *text, size_t count, const char *(*name)(size_t index, const void *user),
                        const void *user)
{
    const char *nearest = NULL;
    size_t length = strlen(text), limit = 1 + length / 4, best = limit + 1;
    for (size_t i = 0; i < count; i++) {
        const char *candidate = name(i, user);
        int begins = length >= 3 && strncmp(candidate, text, length) == 0;
        size_t distance = begins ? 1 : edit_distance(text, candidate);
        if (distance < best && distance < length) {
            best = distance;
            nearest = candidate;
        }
    }
    return nearest;
}

/* ---- scanning -------------------------------------------------------------------------------------------------------
 */

static int is_positional(const cli_option *option)
{
    return option->name[0] != '-';
}

static size_t option_count(const cli_command *command)
{
    size_t count = 0;
    while (command->options[count].name)
        count++;
    return count;
}

static const char *long_name(size_t index, const void *user)
{
    const cli_command *command = user;
    return index < option_count(command) ? command->options[index].name : "--help";
}

/* The option named by the `length` characters of `text`, "--name" or "-x". */
static const cli_option *find_option(const cli_command *command, const char *text, size_t length)
{
    for (const cli_option *option = command->options; option->name; option++) {
        if (is_positional(option))
            continue;
        if (strlen(option->name) == length && strncmp(option->name, text, length) == 0)
            return option;
        if (length == 2 && option->letter && text[1] == option->letter)
            return option;
    }
    return NULL;
}

static const cli_option *positional(const cli_command *command, size_t index)
{
    for (const cli_option *option = command->options; option->name; option++)
        if (is_positional(option) && index-- == 0)
            return option;
    return NULL;
}

static cli_outcome store(const cli_option *option, const char *shown, const char *text, void *settings,
                         cli_message *error)
{
    cli_message wrong;
    if (option->parse(option, text, (char *)settings + option->offset, &wrong))
        return CLI_ARGS_GOOD;
    cli_set_message(error, "%s %s", shown, wrong.text);
    return CLI_ARGS_BAD;
}

/* One option at argv[*at]; moves *at to the last argument it used. */
static cli_outcome scan_option(const cli_command *command, int argc, char *const *argv, int *at, void *settings,
                               cli_message *error)
{
    const char *text = argv[*at], *value = NULL;
    size_t length = strlen(text);
    if (text[1] == '-') {
        const char *equals = strchr(text, '=');
        if (equals) {
            length = (size_t)(equals - text);
            value = equals + 1;
        }
    } else if (length > 2) {
        value = text + 2;
        length = 2;
    }
    char shown[CLI_NAME_MAX];
    snprintf(shown, sizeof shown, "%.*s", (int)(length < sizeof shown ? length : sizeof shown - 1), text);
    if (!value && (strcmp(shown, "--help") == 0 || strcmp(shown, "-h") == 0))
        return CLI_ARGS_HELP;

    const cli_option *option = find_option(command, text, length);
    if (!option) {
        const char *nearest = cli_nearest(shown, option_count(command) + 1, long_name, command);
        if (nearest && nearest[0] == '-')
            cli_set_message(error, "unknown option %s; did you mean %s?", shown, nearest);
        else
            cli_set_message(error, "unknown option %s", shown);
        return CLI_ARGS_BAD;
    }
    if (!option->value) {
        if (value) {
            cli_set_message(error, "%s takes no value", shown);
            return CLI_ARGS_BAD;
        }
        *(int *)((char *)settings + option->offset) = 1;
        return CLI_ARGS_GOOD;
    }
    if (!value) {
        if (*at + 1 >= argc || strncmp(argv[*at + 1], "--", 2) == 0) {
            cli_set_message(error, "%s needs a value: %s %s", shown, shown, option->value);
            return CLI_ARGS_BAD;
        }
        value = argv[++*at];
    }
    return store(option, shown, value, settings, error);
}

static cli_outcome scan_positional(const cli_command *command, size_t index, const char *text, void *settings,
                                   cli_message *error)
{
    const cli_option *option = positional(command, index);
    if (option)
        return store(option, option->name, text, settings, error);
    cli_set_message(error, "unexpected argument '%s': usage is tessera %s %s", text, command->name, command->usage);
    return CLI_ARGS_BAD;
}

/* "-" and "-5" are values, not options. */
static int looks_like_option(const char *text)
{
    return text[0] == '-' && text[1] && !isdigit((unsigned char)text[1]) && text[1] != '.';
}

static int is_given(const cli_command *command, int argc, char *const *argv, const cli_option *option)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (!looks_like_option(argv[i]))
            continue;
        size_t length = argv[i][1] == '-' ? strcspn(argv[i], "=") : 2;
        if (find_option(command, argv[i], length) == option)
            return 1;
    }
    return 0;
}

cli_outcome cli_scan_args(const cli_command *command, int argc, char *const *argv, void *settings, cli_message *error)
{
    size_t positionals = 0;
    int only_positionals = 0;
    for (int i = 0; i < argc; i++) {
        cli_outcome outcome;
        if (!only_positionals && strcmp(argv[i], "--") == 0) {
            only_positionals = 1;
            continue;
        }
        if (!only_positionals && looks_like_option(argv[i]))
            outcome = scan_option(command, argc, argv, &i, settings, error);
        else
            outcome = scan_positional(command, positionals++, argv[i], settings, error);
        if (outcome != CLI_ARGS_GOOD)
            return outcome;
    }
    const cli_option *missing = positional(command, positionals);
    if (missing && missing->optional)
        missing = NULL;
    for (const cli_option *option = command->options; option->name && !missing; option++)
        if (option->required && !is_given(command, argc, argv, option))
            missing = option;
    if (!missing)
        return CLI_ARGS_GOOD;
    if (missing->letter)
        cli_set_message(error, "-%c is missing: usage is tessera %s %s", missing->letter, command->name,
                        command->usage);
    else
        cli_set_message(error, "%s is missing: usage is tessera %s %s", missing->name, command->name, command->usage);
    return CLI_ARGS_BAD;
}

int cli_read_args(const cli_command *command, int argc, char **argv, void *settings)
{
    cli_message error = {""};
    switch (cli_scan_args(command, argc, argv, settings, &error)) {
    case CLI_ARGS_GOOD:
        return CLI_CONTINUE;
    case CLI_ARGS_HELP:
        cli_print_help(command);
        return CLI_OK;
    case CLI_ARGS_BAD:
        break;
    }
    return cli_usage_error(command, "%s", error.text);
}
