#include "lab/common/compress.h"

#include <stdlib.h>

#include "core/dtype.h"
#include "core/error.h"
#include "lab/common/random.h"

enum { SEED = 24 };

/* Elements of the operand, all problems: 0 in a descriptor stands for rows without gaps. */
static int64_t count_of(const tsr_gemm_desc *desc, char which)
{
    const tsr_operand *const operand = which == 'a' ? &desc->a : &desc->b;
    const int64_t rows = which == 'a' ? desc->m : desc->k, columns = which == 'a' ? desc->k : desc->n;
    const int is_transposed = operand->trans == TSR_T;
    const int64_t row = operand->ld > 0 ? operand->ld : is_transposed ? rows : columns;
    const int64_t one = (is_transposed ? columns : rows) * row;
    return desc->batch_count > 1 ? (desc->batch_count - 1) * operand->batch_stride + one : one;
}

static tsr_status compress(tsr_plan *plan, const tsr_gemm_desc *desc, char which, tsr_prepared **out)
{
    tsr_gemm_desc host = *desc;
    tsr_operand *const operand = which == 'a' ? &host.a : &host.b;
    size_t values_bytes = 0, metadata_bytes = 0;
    operand->memory = TSR_HOST;
    operand->align_bytes = 0;
    tsr_status status = tsr_bytes24(&host, which, &values_bytes, &metadata_bytes);
    if (status != TSR_OK)
        return status;
    const int64_t count = count_of(desc, which);
    char *const whole = malloc((size_t)count * tsr_dtype_bytes(operand->dtype) + 1), *const compressed =
                                                                                         malloc(values_bytes +
                                                                                                metadata_bytes + 1);
    if (whole == NULL || compressed == NULL)
        status = tsr_fail(TSR_OUT_OF_MEMORY, "no memory to compress %c", which - 'a' + 'A');
    if (status == TSR_OK) {
        lab_fill(LAB_FILL_NORMAL, 0, operand->dtype, whole, count, SEED);
        status = tsr_prune24(&host, which, whole, NULL);
    }
    if (status == TSR_OK)
        status = tsr_pack24(&host, which, whole, compressed, compressed + values_bytes);
    if (status == TSR_OK)
        status = tsr_import24(plan, which, compressed, compressed + values_bytes, out);
    free(whole);
    free(compressed);
    return status;
}

tsr_status lab_compress(tsr_plan *plan, const tsr_gemm_desc *desc, tsr_run_args *args, tsr_prepared **out)
{
    const char which = desc->flags & TSR_SPARSE24_B ? 'b' : 'a';
    *out = NULL;
    if (!(desc->flags & (TSR_SPARSE24_A | TSR_SPARSE24_B)))
        return TSR_OK;
    const tsr_status status = compress(plan, desc, which, out);
    *(which == 'a' ? &args->prepared_a : &args->prepared_b) = *out;
    *(which == 'a' ? &args->a : &args->b) = NULL;
    return status;
}
