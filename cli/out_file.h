/* Where a command writes: the standard output, or a file that appears whole or not at all. */
#ifndef CLI_OUT_FILE_H
#define CLI_OUT_FILE_H

#include <stdio.h>

#include "cli/atomic_file.h"

typedef struct cli_out_file {
    FILE *to;
    const char *path; /* NULL: the standard output */
    cli_atomic_file file;
} cli_out_file;

/* CLI_CONTINUE and out->to, or the exit code, with the message printed. */
int cli_out_open(const cli_command *self, const char *path, cli_out_file *out);

/* Puts the file in place if `code` is CLI_OK, else drops it. Returns `code`, or CLI_FAILED with the message printed. */
int cli_out_close(const cli_command *self, cli_out_file *out, int code);

#endif
