/* A file that appears whole or not at all: written under no name (or, where the file system cannot do that, under a
 * temporary one in the same directory) and put in place at the end. Until then the old file stays as it was. */
#ifndef CLI_ATOMIC_FILE_H
#define CLI_ATOMIC_FILE_H

#include <sys/types.h>

#include "cli/args.h"

typedef struct cli_atomic_file {
    int fd;       /* for reading and writing; -1 when closed */
    char *target; /* symbolic links resolved */
    char *temp;   /* beside the target; exists while `named` */
    int named;
    int replaces; /* a file stands at the target; the new one gets its mode, owner and group */
    mode_t mode;
    uid_t uid;
    gid_t gid;
} cli_atomic_file;

/* Begins a file that will stand at `path`, or where symbolic links lead from there. A new file has the mode that the
 * umask gives; one that replaces another keeps its mode, owner and group. `named` 1 uses a temporary name even where
 * the file system could do without. 0 and a message without the path: a directory, a device, no permission, a read-only
 * file, one with other hard links, or one whose owner cannot be kept. A signal that ends the process removes the
 * temporary file. */
int cli_atomic_open(const char *path, int named, cli_atomic_file *out, cli_message *error);

/* Makes what was written durable and puts it in place; closes. On failure the old file stays and nothing new does. */
int cli_atomic_commit(cli_atomic_file *file, cli_message *error);

/* Closes without a trace. A closed or zeroed-with-fd--1 file is fine. */
void cli_atomic_abandon(cli_atomic_file *file);

#endif
