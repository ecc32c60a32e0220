/* libFuzzer: the arguments of every sub-command. The first byte chooses the command, the rest are its arguments, one a
 * line. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/args.h"
#include "cli/commands.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ARGS_MAX = 64, SETTINGS_BYTES = 1 << 18 };

static void require(int condition)
{
    if (!condition)
        abort();
}

/* What was read lies where the table says that it may. */
static void check_settings(const cli_command *command, const char *settings)
{
    for (const cli_option *option = command->options; option->name; option++) {
        int64_t value;
        require(option->offset < SETTINGS_BYTES / 2);
        if (option->parse != cli_parse_int)
            continue;
        memcpy(&value, settings + option->offset, sizeof value);
        require(value == 0 || (value >= option->min && value <= option->max));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *argv[ARGS_MAX];
    int argc = 0;
    size_t commands = 0;
    while (cli_commands[commands])
        commands++;
    if (size == 0)
        return 0;
    const cli_command *command = cli_commands[data[0] % commands];
    char *text = malloc(size), *settings = calloc(1, SETTINGS_BYTES);
    require(text && settings);
    memcpy(text, data + 1, size - 1);
    text[size - 1] = 0;
    for (char *at = text; at && argc < ARGS_MAX;) {
        argv[argc++] = at;
        at = strchr(at, '\n');
        if (at)
            *at++ = 0;
    }
    cli_message error;
    memset(&error, 0, sizeof error);
    switch (cli_scan_args(command, argc, argv, settings, &error)) {
    case CLI_ARGS_BAD:
        require(memchr(error.text, 0, sizeof error.text) != NULL && error.text[0] != 0);
        break;
    case CLI_ARGS_GOOD:
        check_settings(command, settings);
        break;
    case CLI_ARGS_HELP:
        break;
    }
    free(text);
    free(settings);
    return 0;
}
