#include "cli/args.h"

#include <assert.h>
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

void cli_warning(const cli_command *command, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    print_message(command, format, list);
    va_end(list);
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

/* One reading of a command line. */
typedef struct scan {
    const cli_command *command;
    int argc, at; /* the argument being read; an option moves it to the last one that it used */
    char *const *argv;
    void *settings;
    cli_message *error;
    uint64_t given; /* options that came, by their place in the table */
} scan;

enum { OPTIONS_MAX = 64 };

static cli_outcome unknown_option(const scan *s, const char *shown)
{
    const char *nearest = cli_nearest(shown, option_count(s->command) + 1, long_name, s->command);
    if (nearest && nearest[0] == '-')
        cli_set_message(s->error, "unknown option %s; did you mean %s?", shown, nearest);
    else
        cli_set_message(s->error, "unknown option %s", shown);
    return CLI_ARGS_BAD;
}

/* The option spelled `shown`; `value` is what came with it in the same argument, or NULL. A flag may be repeated; a
 * value may not, because the first one would be lost without a word. */
static cli_outcome take_option(scan *s, const cli_option *option, const char *shown, const char *value)
{
    const uint64_t bit = (uint64_t)1 << (option - s->command->options);
    if (!option->value) {
        s->given |= bit;
        *(int *)((char *)s->settings + option->offset) = 1;
        return CLI_ARGS_GOOD;
    }
    if (option->once && (s->given & bit)) {
        cli_set_message(s->error, "%s is given twice", shown);
        return CLI_ARGS_BAD;
    }
    s->given |= bit;
    if (!value) {
        if (s->at + 1 >= s->argc || strncmp(s->argv[s->at + 1], "--", 2) == 0) {
            cli_set_message(s->error, "%s needs a value: %s %s", shown, shown, option->value);
            return CLI_ARGS_BAD;
        }
        value = s->argv[++s->at];
    }
    return store(option, shown, value, s->settings, s->error);
}

/* "--name", "--name=value" or "--name value". */
static cli_outcome scan_long(scan *s)
{
    const char *text = s->argv[s->at], *equals = strchr(text, '=');
    const size_t length = equals ? (size_t)(equals - text) : strlen(text);
    char shown[CLI_NAME_MAX];
    snprintf(shown, sizeof shown, "%.*s", (int)(length < sizeof shown ? length : sizeof shown - 1), text);
    if (!equals && strcmp(shown, "--help") == 0)
        return CLI_ARGS_HELP;
    const cli_option *option = find_option(s->command, text, length);
    if (!option)
        return unknown_option(s, shown);
    if (equals && !option->value) {
        cli_set_message(s->error, "%s takes no value", shown);
        return CLI_ARGS_BAD;
    }
    return take_option(s, option, shown, equals ? equals + 1 : NULL);
}

/* "-q", "-o FILE", "-oFILE", and flags in one with what follows: "-qo FILE". */
static cli_outcome scan_letters(scan *s)
{
    for (const char *at = s->argv[s->at] + 1; *at; at++) {
        const char shown[] = {'-', *at, '\0'};
        if (*at == 'h')
            return CLI_ARGS_HELP;
        const cli_option *option = find_option(s->command, shown, 2);
        if (!option)
            return unknown_option(s, shown);
        if (!option->value && at[1] == '=') {
            cli_set_message(s->error, "%s takes no value", shown);
            return CLI_ARGS_BAD;
        }
        const cli_outcome outcome = take_option(s, option, shown, option->value && at[1] ? at + 1 : NULL);
        if (outcome != CLI_ARGS_GOOD || option->value)
            return outcome;
    }
    return CLI_ARGS_GOOD;
}

static cli_outcome scan_positional(const scan *s, size_t index)
{
    const char *text = s->argv[s->at];
    const cli_option *option = positional(s->command, index);
    if (option)
        return store(option, option->name, text, s->settings, s->error);
    cli_set_message(s->error, "unexpected argument '%s': usage is tessera %s %s", text, s->command->name,
                    s->command->usage);
    return CLI_ARGS_BAD;
}

/* "-" and "-5" are values, not options. */
static int looks_like_option(const char *text)
{
    return text[0] == '-' && text[1] && !isdigit((unsigned char)text[1]) && text[1] != '.';
}

/* What has to be there is, after so many positional arguments. */
static cli_outcome check_missing(const scan *s, size_t positionals)
{
    const cli_option *options = s->command->options, *missing = positional(s->command, positionals);
    if (missing && missing->optional)
        missing = NULL;
    for (size_t i = 0; options[i].name && !missing; i++)
        if (options[i].required && !(s->given >> i & 1))
            missing = &options[i];
    if (!missing)
        return CLI_ARGS_GOOD;
    const char letter[] = {'-', missing->letter, '\0'};
    cli_set_message(s->error, "%s is missing: usage is tessera %s %s", missing->letter ? letter : missing->name,
                    s->command->name, s->command->usage);
    return CLI_ARGS_BAD;
}

cli_outcome cli_scan_args(const cli_command *command, int argc, char *const *argv, void *settings, cli_message *error)
{
    scan s = {.command = command, .argc = argc, .argv = argv, .settings = settings, .error = error};
    size_t positionals = 0;
    int only_positionals = 0;
    assert(option_count(command) <= OPTIONS_MAX);
    for (; s.at < argc; s.at++) {
        const char *text = argv[s.at];
        cli_outcome outcome;
        if (!only_positionals && strcmp(text, "--") == 0) {
            only_positionals = 1;
            continue;
        }
        if (!only_positionals && looks_like_option(text))
            outcome = text[1] == '-' ? scan_long(&s) : scan_letters(&s);
        else
            outcome = scan_positional(&s, positionals++);
        if (outcome != CLI_ARGS_GOOD)
            return outcome;
    }
    return check_missing(&s, positionals);
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
