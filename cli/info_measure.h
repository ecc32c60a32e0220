/* `tessera info --measure`. */
#ifndef CLI_INFO_MEASURE_H
#define CLI_INFO_MEASURE_H

#include "cli/args.h"

/* Measures each level of the memory of this machine's CPU and GPUs, and prints tables or JSON lines. Exit code. */
int cli_measure_memory(const cli_command *self, int is_json);

#endif
