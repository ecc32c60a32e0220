/* An input of `tessera run`: matrices of a .npy file as they are multiplied, in one type and layout. */
#ifndef CLI_OPERAND_H
#define CLI_OPERAND_H

#include "cli/npy.h"
#include "cli/output.h"

typedef struct cli_operand {
    const char *path; /* NULL: there is no such operand */
    cli_npy file;
    int64_t batch;         /* matrices in the stack; 1 for a matrix */
    int64_t rows, columns; /* of op(X) */
    tsr_dtype dtype;       /* of the data, which follow row-major */
    tsr_trans trans;       /* of the data as they lie */
    int64_t ld, stride;    /* elements from row to row and from matrix to matrix */
    const void *data;
    void *converted; /* from malloc, if the data had to be converted */
} cli_operand;

/* `transpose` 1: the transposes of the file's matrices. An exit code, with the message printed if it is not CLI_OK. */
int cli_operand_open(const cli_command *self, const char *path, int transpose, cli_operand *out);

/* A vector: a matrix of one row. */
int cli_operand_open_vector(const cli_command *self, const char *path, cli_operand *out);

/* Says of which type the elements of a file are that does not say it itself; `option` is the one that says it. */
int cli_operand_name(const cli_command *self, const char *option, tsr_dtype dtype, cli_operand *x);

/* Says on stderr how many elements a conversion will make NaN, infinite, or the end of a range, if any. */
void cli_operand_warn(const cli_command *self, cli_progress *progress, tsr_dtype dtype, const cli_operand *x);

/* Brings the data to `dtype`, and each matrix to C order with `order` 1, where they differ. */
int cli_operand_convert(const cli_command *self, cli_progress *progress, tsr_dtype dtype, int order, cli_operand *x);

/* The first element of matrix i; of the only one where there is but one. */
const void *cli_operand_at(const cli_operand *x, int64_t i);

void cli_operand_close(cli_operand *x); /* a zeroed struct is fine */

#endif
