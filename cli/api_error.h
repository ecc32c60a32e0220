/* Messages of the library as the user of a command reads them. */
#ifndef CLI_API_ERROR_H
#define CLI_API_ERROR_H

#include "cli/args.h"

/* Copies a message of the library, in which members of its structs are named, with the command's options in their
 * place: "D.dtype = s8: no result" becomes "--out-dtype s8: no result". Members that none of the command's options
 * stands for stay. */
const char *cli_name_options(const cli_command *command, const char *text, cli_message *out);

/* tsr_last_error() so, */
const char *cli_api_error(const cli_command *command, cli_message *out);
/* and printed as cli_failure does. Returns CLI_FAILED. */
int cli_api_failure(const cli_command *command);

#endif
