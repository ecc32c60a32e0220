/* The table of sub-commands: a new one is one file and one row in commands.c. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "cli/args.h"

/* In the order of the help text; ends with NULL. */
extern const cli_command *const cli_commands[];

#endif
