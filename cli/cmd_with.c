/* tessera with: another program with our libraries in front of its cuBLAS and BLAS. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/args.h"
#include "cli/commands.h"
#include "cli/own_library.h"

/* As a shell has them. */
enum { CANNOT_START = 126, NOT_THERE = 127 };

typedef struct settings {
    const char *program;
} settings;

static const cli_option options[] = {{.name = "COMMAND",
                                      .help = "the program to run, found as a shell finds it, with its arguments",
                                      .parse = cli_parse_text,
                                      .offset = offsetof(settings, program)},
                                     {0}};

/* In front of what is preloaded already. */
static int preload(const cli_command *self)
{
    static const char *const names[] = {"libtessera_cublas.so.0", "libtessera_blas.so.0"};
    const char *before = getenv("LD_PRELOAD");
    char path[2][PATH_MAX];
    for (size_t i = 0; i < 2; i++) {
        if (!cli_find_own_library(names[i], path[i]))
            return cli_failure(self, "there is no %s beside this command or in its library folder", names[i]);
        if (!cli_can_preload(path[i]))
            return cli_failure(self, "%s: LD_PRELOAD cannot name a path with a space or a colon", path[i]);
    }
    const size_t bytes = strlen(path[0]) + strlen(path[1]) + (before ? strlen(before) : 0) + 3;
    char *list = malloc(bytes);
    if (!list)
        return cli_failure(self, "no memory");
    snprintf(list, bytes, "%s:%s%s%s", path[0], path[1], before && *before ? ":" : "", before ? before : "");
    const int good = setenv("LD_PRELOAD", list, 1) == 0;
    free(list);
    return good ? CLI_OK : cli_failure(self, "no memory");
}

static int run(const cli_command *self, int argc, char **argv)
{
    const int has_marker = argc > 0 && strcmp(argv[0], "--") == 0;
    settings set = {NULL};
    /* What follows the program's name is the program's. */
    const int code = cli_read_args(self, argc < 1 + has_marker ? argc : 1 + has_marker, argv, &set);
    if (code != CLI_CONTINUE)
        return code;
    const int failed = preload(self);
    if (failed)
        return failed;
    execvp(set.program, argv + has_marker);
    const int error = errno;
    cli_failure(self, "%s: %s", set.program, strerror(error));
    return error == ENOENT ? NOT_THERE : CANNOT_START;
}

const cli_command cli_cmd_with = {"with",
                                  "runs a program with Tessera in front of its cuBLAS and BLAS",
                                  "[--] COMMAND [ARGUMENT...]",
                                  options,
                                  "Preloads libtessera_cublas and libtessera_blas. TESSERA_CUBLAS=auto|off|always says "
                                  "which calls of cuBLAS are answered: those that a table of measurements knows to be "
                                  "faster (auto, the default), none, or all that can be. TESSERA_LOG=calls writes a "
                                  "line for each call. The exit code is the program's; 127 if it is not there, 126 if "
                                  "it cannot be started.",
                                  run};
