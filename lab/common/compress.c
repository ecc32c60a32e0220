#include "lab/common/compress.h"

#include <stdlib.h>

#include "core/dtype.h"
#include "core/error.h"
#include "lab/common/random.h"

enum { SEED = 24 };

int64_t lab_operand_count(const tsr_gemm_desc *desc, char which)
{
    const tsr_operand *const operand = which == 'a' ? &desc->a : &desc->b;
    const int64_t rows = which == 'a' ? desc->m : desc->k, columns = which == 'a' ? desc->k : desc->n;
    const int is_transposed = operand->trans == TSR_T;
    const int64_t row = operand->ld > 0 ? operand->ld : is_transposed ? rows : columns;
    const int64_t one = (is_transposed ? columns : rows) * row;
    return desc->batch_count > 1 ? (desc->batch_count - 1) * operand->batch_stride + one : one;
}

/* The descriptor of the operand in host memory. */
static tsr_gemm_desc in_host_memory(const tsr_gemm_desc *desc, char which)
{
    tsr_gemm_desc host = *desc;
    tsr_operand *const operand = which == 'a' ? &host.a : &host.b;
    operand->memory = TSR_HOST;
    operand->align_bytes = 0;
    return host;
}

tsr_status lab_pruned(const tsr_gemm_desc *desc, char which, void **out, size_t *bytes)
{
    const tsr_gemm_desc host = in_host_memory(desc, which);
    const tsr_dtype dtype = which == 'a' ? desc->a.dtype : desc->b.dtype;
    const int64_t count = lab_operand_count(desc, which);
    *bytes = (size_t)count * tsr_dtype_bytes(dtype);
    void *const whole = malloc(*bytes + 1);
    if (whole == NULL)
        return tsr_fail(TSR_OUT_OF_MEMORY, "no memory to prune %c", which - 'a' + 'A');
    lab_fill(LAB_FILL_NORMAL, 0, dtype, whole, count, SEED);
    const tsr_status status = tsr_prune24(&host, which, whole, NULL);
    if (status != TSR_OK)
        free(whole);
    else
        *out = whole;
    return status;
}

static tsr_status compress(tsr_plan *plan, const tsr_gemm_desc *desc, char which, tsr_prepared **out)
{
    const tsr_gemm_desc host = in_host_memory(desc, which);
    size_t values_bytes = 0, metadata_bytes = 0, bytes = 0;
    void *whole = NULL;
    tsr_status status = tsr_bytes24(&host, which, &values_bytes, &metadata_bytes);
    if (status == TSR_OK)
        status = lab_pruned(desc, which, &whole, &bytes);
    if (status != TSR_OK)
        return status;
    char *const compressed = malloc(values_bytes + metadata_bytes + 1);
    if (compressed == NULL)
        status = tsr_fail(TSR_OUT_OF_MEMORY, "no memory to compress %c", which - 'a' + 'A');
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
