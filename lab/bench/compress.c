#include "lab/bench/compress.h"

#include <stdlib.h>

#include "core/dtype.h"
#include "core/error.h"
#include "lab/common/random.h"

enum { SEED = 24 };

/* Elements of A, all problems: 0 in a descriptor stands for rows without gaps. */
static int64_t count_of(const tsr_gemm_desc *desc)
{
    const int is_transposed = desc->a.trans == TSR_T;
    const int64_t rows = is_transposed ? desc->k : desc->m, columns = is_transposed ? desc->m : desc->k;
    const int64_t one = rows * (desc->a.ld > 0 ? desc->a.ld : columns);
    return desc->batch_count > 1 ? (desc->batch_count - 1) * desc->a.batch_stride + one : one;
}

tsr_status lab_bench_compress(tsr_plan *plan, const tsr_gemm_desc *desc, tsr_prepared **out)
{
    tsr_gemm_desc host = *desc;
    size_t values_bytes = 0, metadata_bytes = 0;
    host.a.memory = TSR_HOST;
    host.a.align_bytes = 0;
    tsr_status status = tsr_bytes24(&host, 'a', &values_bytes, &metadata_bytes);
    if (status != TSR_OK)
        return status;
    const int64_t count = count_of(desc);
    char *const whole = malloc((size_t)count * tsr_dtype_bytes(desc->a.dtype) + 1), *const compressed =
                                                                                        malloc(values_bytes +
                                                                                               metadata_bytes + 1);
    if (whole == NULL || compressed == NULL)
        status = tsr_fail(TSR_OUT_OF_MEMORY, "no memory to compress A");
    if (status == TSR_OK) {
        lab_fill(LAB_FILL_NORMAL, 0, desc->a.dtype, whole, count, SEED);
        status = tsr_prune24(&host, 'a', whole, NULL);
    }
    if (status == TSR_OK)
        status = tsr_pack24(&host, 'a', whole, compressed, compressed + values_bytes);
    if (status == TSR_OK)
        status = tsr_import24(plan, 'a', compressed, compressed + values_bytes, out);
    free(whole);
    free(compressed);
    return status;
}
