/* Scales of A and B for `tessera run`, from files. */
#ifndef CLI_RUN_SCALES_H
#define CLI_RUN_SCALES_H

#include "cli/operand.h"
#include "lab/common/product_types.h"

typedef struct cli_run_scales {
    const char *path_a, *path_b; /* NULL: none */
    int named;                   /* lab_scales_given: which elements share a scale; 0: the counts say it */
    cli_operand a, b;
} cli_run_scales;

/* An exit code, with the message printed if it is not CLI_OK. */
int cli_scales_open(const cli_command *self, cli_run_scales *scales);

/* CLI_USAGE where products of these types take no such scales. */
int cli_scales_check(const cli_command *self, const cli_run_scales *scales, const lab_types *types);

/* Sets the descriptor's modes; its sizes and types are there. */
int cli_scales_put(const cli_command *self, const cli_run_scales *scales, int is_stack, tsr_gemm_desc *desc);

void cli_scales_pass(const cli_run_scales *scales, tsr_run_args *args);

void cli_scales_close(cli_run_scales *scales); /* a zeroed struct is fine */

#endif
