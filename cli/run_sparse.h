/* `tessera run --sparse a|b`: an operand that keeps the 2:4 pattern is multiplied compressed. */
#ifndef CLI_RUN_SPARSE_H
#define CLI_RUN_SPARSE_H

#include "cli/operand.h"

typedef struct cli_sparse {
    char which;  /* 'a' or 'b'; 0: no operand is compressed */
    int prune;   /* the operand is pruned first */
    int is_1of2; /* f32 in tf32: the pattern is 1:2 */
    cli_operand *operand;
    void *pruned; /* from malloc, where it was */
    double lost;  /* of the norm, by pruning */
    size_t dense_bytes, values_bytes, metadata_bytes;
    tsr_prepared *prepared; /* of the matrix, or the whole stack, at work */
} cli_sparse;

/* Prunes if asked for, counts bytes, and sets the descriptor's flag. `desc` describes one call, of `calls` in all. */
int cli_sparse_begin(const cli_command *self, cli_sparse *sparse, tsr_gemm_desc *desc, int64_t calls);

/* Gives the call that begins at matrix `matrix` its compressed operand in place of the whole one. */
int cli_sparse_prepare(const cli_command *self, cli_sparse *sparse, tsr_plan *plan, int64_t matrix, tsr_run_args *args);

/* "A compressed 2:4: 576 of 1024 bytes, ...", or 1:2 */
void cli_sparse_print(const cli_sparse *sparse, FILE *to);

void cli_sparse_end(cli_sparse *sparse);

#endif
