#include "api/at_once.h"

void tsr_at_once_open(tsr_context *context)
{
    if (context->target_count == 0 || context->targets[0].device.kind != TSR_DEVICE_CPU)
        return;
    context->gpu_beside = context->targets[0].gpu_beside;
    const tsr_row *row;
    for (size_t i = 0; (row = tsr_row_at(i)) != NULL; i++)
        if (row->at_once)
            context->at_once[row->dtype_ab] = row;
}

static int is_plain_run(const tsr_run_args *args)
{
    return args->struct_bytes == sizeof *args && !args->alpha.device && !args->beta.device && !args->prepared_a &&
           !args->prepared_b && !args->bias && !args->scale_a && !args->scale_b && !args->scale_d && !args->metadata_a;
}

static int is_plain(const tsr_operand *operand, tsr_dtype dtype)
{
    return operand->dtype == dtype && operand->memory == TSR_HOST &&
           (operand->reserved[0] | operand->reserved[1]) == 0 && operand->batch_stride >= 0;
}

/* At most an element's alignment is promised: what any pointer has. */
static int promises_nothing(const tsr_operand *operand)
{
    return operand->align_bytes <= (operand->dtype == TSR_F64 ? 8u : 4u);
}

static int keeps_promise(const tsr_operand *operand, const void *data)
{
    return ((uintptr_t)data & (operand->align_bytes - 1)) == 0;
}

/* The short way knows the device's number of threads only. */
static int asks_for_fewer_threads(int threads, const tsr_device *device, int64_t m, int64_t n, int64_t k)
{
    return threads > 0 && threads < device->threads &&
           2.0 * (double)m * (double)n * (double)k >= (double)TSR_OPS_OF_A_THREAD;
}

int tsr_desc_at_once(tsr_context *context, const tsr_gemm_desc *desc, const tsr_run_args *args)
{
    const tsr_dtype dtype = desc->a.dtype;
    if (desc->struct_bytes != sizeof *desc || !is_plain_run(args) || (dtype != TSR_F32 && dtype != TSR_F64) ||
        desc->batch_count != 1 || desc->batch_kind != TSR_BATCH_STRIDED || desc->compute != TSR_COMPUTE_DEFAULT ||
        desc->flags || desc->threads < 0 || desc->kernel || desc->epilogue)
        return 0;
    if (!is_plain(&desc->a, dtype) || !is_plain(&desc->b, dtype) || !is_plain(&desc->c, dtype) ||
        !is_plain(&desc->d, dtype) || (unsigned)desc->a.trans > TSR_T || (unsigned)desc->b.trans > TSR_T ||
        desc->c.trans != TSR_N || desc->d.trans != TSR_N || !promises_nothing(&desc->a) ||
        !promises_nothing(&desc->b) || !promises_nothing(&desc->c) || !promises_nothing(&desc->d))
        return 0;
    if (asks_for_fewer_threads(desc->threads, &context->targets[0].device, desc->m, desc->n, desc->k))
        return 0;
    const int trans_a = desc->a.trans == TSR_T, trans_b = desc->b.trans == TSR_T;
    const tsr_gemm_args g = {
        .a = args->a,
        .b = args->b,
        .c = args->beta.value != 0 ? args->c : NULL,
        .d = args->d,
        .workspace = NULL,
        .m = desc->m,
        .n = desc->n,
        .k = desc->k,
        .lda = desc->a.ld ? desc->a.ld
               : trans_a  ? desc->m
                          : desc->k,
        .ldb = desc->b.ld ? desc->b.ld
               : trans_b  ? desc->k
                          : desc->n,
        .ldc = desc->c.ld ? desc->c.ld : desc->n,
        .ldd = desc->d.ld ? desc->d.ld : desc->n,
        .batch_a = 0,
        .batch_b = 0,
        .batch_c = 0,
        .batch_d = 0,
        .batch = 1,
        .alpha = args->alpha.value,
        .beta = args->beta.value,
        .trans_a = trans_a,
        .trans_b = trans_b,
        .split = 1,
    };
    return tsr_at_once(context, dtype, &g);
}

int tsr_plan_is_at_once(const tsr_planned *planned)
{
    const tsr_problem *p = &planned->problem;
    const tsr_operand *operands[] = {&p->a, &p->b, &p->c, &p->d};
    for (int i = 0; i < 4; i++)
        if (!is_plain(operands[i], p->a.dtype))
            return 0;
    return planned->step_count == 1 && planned->steps[0].row->at_once && p->batch == 1 &&
           planned->target->device.kind == TSR_DEVICE_CPU &&
           !asks_for_fewer_threads(p->threads, &planned->target->device, p->m, p->n, p->k);
}

int tsr_planned_at_once(const tsr_planned *planned, const tsr_run_args *args)
{
    const tsr_problem *p = &planned->problem;
    const tsr_gemm_args g = {
        .a = args->a,
        .b = args->b,
        .c = args->beta.value != 0 ? args->c : NULL,
        .d = args->d,
        .workspace = NULL,
        .m = p->m,
        .n = p->n,
        .k = p->k,
        .lda = p->a.ld,
        .ldb = p->b.ld,
        .ldc = p->c.ld,
        .ldd = p->d.ld,
        .batch_a = 0,
        .batch_b = 0,
        .batch_c = 0,
        .batch_d = 0,
        .batch = 1,
        .alpha = args->alpha.value,
        .beta = args->beta.value,
        .trans_a = p->a.trans == TSR_T,
        .trans_b = p->b.trans == TSR_T,
        .split = 1,
    };
    return is_plain_run(args) && keeps_promise(&p->a, g.a) && keeps_promise(&p->b, g.b) && keeps_promise(&p->c, g.c) &&
           keeps_promise(&p->d, g.d) && tsr_run_at_once(planned->steps[0].row, &planned->target->device, &g);
}
