#include "cli/commands.h"

#include <stddef.h>

const cli_command *const cli_commands[] = {
    &cli_cmd_info,  &cli_cmd_run,     &cli_cmd_route,    &cli_cmd_bench, &cli_cmd_verify, &cli_cmd_explain,
    &cli_cmd_tiles, &cli_cmd_profile, &cli_cmd_roofline, &cli_cmd_try,   &cli_cmd_doctor, &cli_cmd_with,
    NULL,
};
