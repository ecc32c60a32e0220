#include "cli/commands.h"

#include <stddef.h>

const cli_command *const cli_commands[] = {
    NULL,
};
