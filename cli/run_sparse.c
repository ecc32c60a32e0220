#include "cli/run_sparse.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/api_error.h"
#include "cli/output.h"

static char upper(const cli_sparse *sparse)
{
    return (char)(sparse->which - 'a' + 'A');
}

/* The descriptor's own operand may be broadcast to all calls, or be one of a stack. */
static int64_t own_calls(const cli_sparse *sparse, int64_t calls)
{
    return sparse->operand->batch == 1 ? 1 : calls;
}

static int prune(const cli_command *self, cli_sparse *sparse, const tsr_gemm_desc *desc, int64_t calls)
{
    cli_operand *const x = sparse->operand;
    const int64_t rows = x->trans == TSR_T ? x->columns : x->rows, columns = x->trans == TSR_T ? x->rows : x->columns;
    const int64_t count = rows && columns && x->batch ? (x->batch - 1) * x->stride + (rows - 1) * x->ld + columns : 0;
    const size_t bytes = (size_t)count * tsr_dtype_bytes(x->dtype);
    double most = 0;
    cli_message error;
    sparse->pruned = malloc(bytes ? bytes : 1);
    if (!sparse->pruned)
        return cli_failure(self, "no memory for a pruned copy of %s, %zu bytes", x->path, bytes);
    if (bytes)
        memcpy(sparse->pruned, x->data, bytes);
    x->data = sparse->pruned;
    for (int64_t i = 0; i < own_calls(sparse, calls); i++) {
        double lost;
        if (tsr_prune24(desc, sparse->which, (void *)cli_operand_at(x, i), &lost) != TSR_OK)
            return cli_failure(self, "%s: %s", x->path, cli_api_error(self, &error));
        most = lost > most ? lost : most;
    }
    sparse->lost = most;
    return CLI_OK;
}

int cli_sparse_begin(const cli_command *self, cli_sparse *sparse, tsr_gemm_desc *desc, int64_t calls)
{
    cli_message error;
    if (!sparse->which)
        return CLI_OK;
    const cli_operand *const x = sparse->operand;
    sparse->is_1of2 = desc->compute == TSR_COMPUTE_TF32;
    const int code = sparse->prune ? prune(self, sparse, desc, calls) : CLI_OK;
    if (code != CLI_OK)
        return code;
    if (tsr_bytes24(desc, sparse->which, &sparse->values_bytes, &sparse->metadata_bytes) != TSR_OK)
        return cli_failure(self, "%s: %s", x->path, cli_api_error(self, &error));
    sparse->values_bytes *= (size_t)own_calls(sparse, calls);
    sparse->metadata_bytes *= (size_t)own_calls(sparse, calls);
    sparse->dense_bytes = (size_t)(x->batch * x->rows * x->columns) * tsr_dtype_bytes(x->dtype);
    desc->flags |= sparse->which == 'a' ? TSR_SPARSE24_A : TSR_SPARSE24_B;
    return CLI_OK;
}

int cli_sparse_prepare(const cli_command *self, cli_sparse *sparse, tsr_plan *plan, int64_t matrix, tsr_run_args *args)
{
    cli_message error;
    if (!sparse->which)
        return CLI_OK;
    const cli_operand *const x = sparse->operand;
    if (!sparse->prepared || x->batch > 1) {
        tsr_prepared_release(sparse->prepared);
        sparse->prepared = NULL;
        if (tsr_compress24(plan, sparse->which, cli_operand_at(x, matrix), &sparse->prepared) != TSR_OK)
            return cli_failure(self, "%s: %s%s", x->path, cli_api_error(self, &error),
                               sparse->prune     ? ""
                               : sparse->is_1of2 ? "; --prune keeps the larger of each two"
                                                 : "; --prune keeps the two largest of each group");
    }
    *(sparse->which == 'a' ? &args->prepared_a : &args->prepared_b) = sparse->prepared;
    *(sparse->which == 'a' ? &args->a : &args->b) = NULL;
    return CLI_OK;
}

static double percent(size_t part, size_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

void cli_sparse_print(const cli_sparse *sparse, FILE *to)
{
    const size_t bytes = sparse->values_bytes + sparse->metadata_bytes;
    if (!sparse->which)
        return;
    fprintf(to, "%c compressed %s: %zu bytes in place of %zu: values %zu (%.3g%%), metadata %zu (%.3g%%)\n",
            upper(sparse), sparse->is_1of2 ? "1:2" : "2:4", bytes, sparse->dense_bytes, sparse->values_bytes,
            percent(sparse->values_bytes, sparse->dense_bytes), sparse->metadata_bytes,
            percent(sparse->metadata_bytes, sparse->dense_bytes));
    if (sparse->prune)
        fprintf(to, "%c pruned by magnitude: %.3g%% of its norm was lost\n", upper(sparse), 100 * sparse->lost);
}

void cli_sparse_end(cli_sparse *sparse)
{
    tsr_prepared_release(sparse->prepared);
    free(sparse->pruned);
}
