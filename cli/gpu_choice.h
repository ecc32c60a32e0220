/* The option --device of commands that reckon with a GPU which need not be there. */
#ifndef CLI_GPU_CHOICE_H
#define CLI_GPU_CHOICE_H

#include "cli/args.h"
#include "lab/common/gpus.h"

cli_parse cli_parse_gpu; /* const char *: this, or a GPU that is known by name; points into argv */

#define CLI_GPU_CHOICES "this|" LAB_GPU_CHOICES

/* Fills `here` and returns the GPU asked for. NULL (not asked): this machine's, or an H200 where there is none. NULL
 * with the message printed if there is no such. */
const lab_gpu_spec *cli_gpu_choose(const cli_command *self, const char *asked, lab_gpu_here *here);

#endif
