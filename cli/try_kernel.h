/* tessera try FILE.cu: a kernel of one's own. */
#ifndef CLI_TRY_KERNEL_H
#define CLI_TRY_KERNEL_H

#include "cli/args.h"
#include "lab/explain/user_kernel.h"

typedef struct cli_extents {
    int64_t count, of[3]; /* "16x16": 2 numbers */
} cli_extents;
cli_parse cli_parse_extents; /* cli_extents: up to three numbers in [min, max] with an x between */

typedef struct cli_defines {
    size_t count;
    const char *of[LAB_USER_DEFINES];
} cli_defines;
cli_parse cli_parse_define; /* cli_defines: adds one */

typedef struct cli_try_settings {
    const char *file, *page;
    cli_extents threads, tile;
    int64_t shared, timeout, size;
    tsr_dtype dtype;
    int gpu, general;
    cli_defines defines;
} cli_try_settings;

/* Compiles, verifies, counts, predicts and explains; an exit code. */
int cli_try_kernel(const cli_command *self, const cli_try_settings *settings);

#endif
