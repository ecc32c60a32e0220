/* The command with a library that is wrong in one element: linked with --wrap, so that what every run writes passes
 * through here, and the sign of D(0, 0) is turned on the way. For cli_wrong.sh. */
#include <stddef.h>

#include "tessera.h"

tsr_status __real_tsr_plan_run(tsr_plan *plan, const tsr_run_args *args);
tsr_status __wrap_tsr_plan_run(tsr_plan *plan, const tsr_run_args *args);
tsr_status __real_tsr_gemm(tsr_context *context, const tsr_gemm_desc *desc, const tsr_run_args *args);
tsr_status __wrap_tsr_gemm(tsr_context *context, const tsr_gemm_desc *desc, const tsr_run_args *args);

static void turn_sign(const tsr_run_args *args, size_t element_bytes)
{
    if (args->d)
        ((unsigned char *)args->d)[element_bytes - 1] ^= 0x80;
}

/* The test's matrices are f32. */
tsr_status __wrap_tsr_plan_run(tsr_plan *plan, const tsr_run_args *args)
{
    const tsr_status status = __real_tsr_plan_run(plan, args);
    turn_sign(args, sizeof(float));
    return status;
}

tsr_status __wrap_tsr_gemm(tsr_context *context, const tsr_gemm_desc *desc, const tsr_run_args *args)
{
    const tsr_status status = __real_tsr_gemm(context, desc, args);
    if (status == TSR_OK && desc->m > 0 && desc->n > 0 && desc->batch_count > 0)
        turn_sign(args, tsr_dtype_bytes(desc->d.dtype));
    return status;
}
