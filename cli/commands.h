/* The table of sub-commands: a new one is one file, its name here and one row in commands.c. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "cli/args.h"

extern const cli_command cli_cmd_bench, cli_cmd_doctor, cli_cmd_explain, cli_cmd_info, cli_cmd_profile,
    cli_cmd_roofline, cli_cmd_route, cli_cmd_run, cli_cmd_tiles, cli_cmd_try, cli_cmd_verify, cli_cmd_with;

/* The machine as `tessera info` shows it: CPU, GPUs, libraries. */
void cli_print_machine(void);

/* In the order of the help text; ends with NULL. */
extern const cli_command *const cli_commands[];

#endif
