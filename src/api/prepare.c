/* Prepared operands: packed, padded or split once for many runs. */
#include <stdlib.h>

#include "api/context.h"
#include "api/validate.h"
#include "core/error.h"
#include "core/sparse24.h"
#include "core/uncancelled.h"
#include "plan/pad.h"

#define PACK_ALIGN_BYTES 4096

/* Memory for the form that the plan's CPU config reads, and in it the operand. */
static tsr_status pack(const tsr_plan *plan, char which, const void *data, void **out)
{
    const tsr_config *config = tsr_plan_main(&plan->planned)->config;
    const size_t bytes = config->pack_bytes(config, &plan->planned.problem, which);
    void *packed = tsr_alloc(&plan->context->allocator, PACK_ALIGN_BYTES, bytes);
    if (!packed)
        return tsr_fail(TSR_OUT_OF_MEMORY, "no memory for %zu bytes of prepared operand %c", bytes, which);
    const tsr_status status = config->pack(config, &plan->planned.problem, which, data, packed);
    if (status == TSR_OK)
        *out = packed;
    else
        tsr_free(&plan->context->allocator, packed);
    return status;
}

static tsr_status check_operand_data(const tsr_problem *problem, char operand, const void *data)
{
    const long long align = tsr_problem_operand(problem, operand)->align_bytes;
    if (!data && tsr_operand_bytes(problem, operand) > 0)
        return tsr_fail(TSR_INVALID_ARGUMENT, "data = NULL: operand %c has %lld bytes", operand,
                        tsr_operand_bytes(problem, operand));
    if ((uintptr_t)data % (uintptr_t)align)
        return tsr_fail(TSR_INVALID_ARGUMENT, "data = %p: not aligned to the %lld bytes that the descriptor guarantees",
                        data, align);
    return TSR_OK;
}

static tsr_status fill(tsr_prepared *prepared, tsr_plan *plan, size_t device_bytes, const void *data)
{
    void *packed = NULL;
    if (device_bytes)
        return tsr_prepare_on_device(plan, prepared->operand, data, device_bytes, &prepared->on_device);
    const tsr_status status = pack(plan, prepared->operand, data, &packed);
    if (status == TSR_OK)
        atomic_store(&prepared->packed[prepared->config->packed_form(prepared->config, &prepared->problem)], packed);
    return status;
}

tsr_status tsr_prepare(tsr_plan *plan, char operand, const void *data, tsr_prepared **out)
{
    TSR_UNCANCELLED();
    if (!plan || !out)
        return tsr_fail(TSR_INVALID_ARGUMENT, "%s = NULL", plan ? "out" : "plan");
    tsr_status status = tsr_check_a_or_b(operand);
    if (status != TSR_OK)
        return status;
    const tsr_problem *problem = &plan->planned.problem;
    const tsr_config *config = tsr_plan_main(&plan->planned)->config;
    const size_t device_bytes = tsr_plan_prepared_bytes(&plan->planned, operand);
    if (problem->op.sparse24 & tsr_sparse24_flag(operand))
        return tsr_fail(TSR_INVALID_ARGUMENT,
                        "operand = '%c': the plan's is compressed (TSR_SPARSE24_%c); tsr_compress24 prepares it",
                        operand, operand - 'a' + 'A');
    if (device_bytes == 0 && !config->pack_bytes)
        return tsr_fail(TSR_UNSUPPORTED, "kernel %s has no prepared form of operand %c%s", config->instance, operand,
                        config->kind == TSR_CONFIG_CUDA ? ": it reads it where it lies" : "");
    status = check_operand_data(problem, operand, data);
    if (status != TSR_OK)
        return status;
    tsr_prepared *prepared = calloc(1, sizeof *prepared);
    if (!prepared)
        return tsr_fail(TSR_OUT_OF_MEMORY, "no memory for prepared operand %c", operand);
    prepared->context = plan->context;
    prepared->target = plan->planned.target;
    prepared->problem = *problem;
    prepared->config = config;
    prepared->operand = operand;
    prepared->copy_trans = tsr_problem_operand(&plan->planned.padded_problem, operand)->trans;
    status = fill(prepared, plan, device_bytes, data);
    if (status != TSR_OK) {
        free(prepared);
        return status;
    }
    atomic_fetch_add(&plan->context->references, 1);
    *out = prepared;
    return TSR_OK;
}

void tsr_prepared_release(tsr_prepared *prepared)
{
    TSR_UNCANCELLED();
    if (!prepared)
        return;
    if (prepared->on_device)
        prepared->target->backend->free(&prepared->target->device, prepared->on_device);
    for (int i = 0; i < TSR_PACKED_FORMS; i++)
        tsr_free(&prepared->context->allocator, atomic_load(&prepared->packed[i]));
    tsr_context_destroy(prepared->context); /* gives back its reference */
    free(prepared);
}

/* Matrices of the batch: one if the problems share it. */
static long long matrices(const tsr_problem *problem, char which)
{
    return tsr_problem_operand(problem, which)->batch_stride == 0 && problem->batch > 1 ? 1 : problem->batch;
}

unsigned tsr_prepared_bits(const tsr_prepared *prepared, const tsr_plan *plan)
{
    if (!prepared || !prepared->on_device || prepared->is_sparse24 ||
        prepared->copy_trans == tsr_problem_operand(&plan->planned.device_problem, prepared->operand)->trans)
        return 0;
    return prepared->operand == 'a' ? TSR_TRANSPOSE_A : TSR_TRANSPOSE_B;
}

/* 1 if the kernel reads that operand along K or across it, as its arguments say. */
static int reads_both_ways(const tsr_config *config, char which)
{
    return (which == 'a' ? config->a_layout : config->b_layout) == TSR_ANY_LAYOUT && !config->mn_major_lines;
}

tsr_status tsr_prepared_check(const tsr_prepared *prepared, const tsr_plan *plan, char which)
{
    const tsr_problem *was = &prepared->problem, *is = &plan->planned.problem;
    const tsr_matrix *old = tsr_problem_operand(was, which), *new = tsr_problem_operand(is, which);
    const tsr_dtype old_type = tsr_op_dtype(&was->op, which), new_type = tsr_op_dtype(&is->op, which);
    const tsr_config *config = tsr_plan_main(&plan->planned)->config;
    long long rows, columns, new_rows, new_columns;
    if (prepared->operand != which)
        return tsr_fail(TSR_INVALID_ARGUMENT, "prepared_%c: was prepared as operand %c", which, prepared->operand);
    if (prepared->is_sparse24 != ((is->op.sparse24 & tsr_sparse24_flag(which)) != 0))
        return tsr_fail(TSR_INVALID_ARGUMENT, "prepared_%c: %s TSR_SPARSE24_%c", which,
                        prepared->is_sparse24 ? "is compressed 2:4; the plan's descriptor lacks"
                                              : "is not compressed 2:4; the plan's descriptor has",
                        which - 'a' + 'A');
    if (prepared->context != plan->context || prepared->target != plan->planned.target)
        return tsr_fail(TSR_INVALID_ARGUMENT, "prepared_%c: was prepared on %s%s, the plan runs on %s", which,
                        prepared->target->device.id, prepared->context != plan->context ? " of another context" : "",
                        plan->planned.target->device.id);
    if (old_type != new_type || old->trans != new->trans)
        return tsr_fail(TSR_INVALID_ARGUMENT, "prepared_%c: is %s%s, the plan's is %s%s", which,
                        tsr_dtype_name(old_type), old->trans == TSR_T ? " transposed" : "", tsr_dtype_name(new_type),
                        new->trans == TSR_T ? " transposed" : "");
    tsr_stored_shape(was, which, &rows, &columns);
    tsr_stored_shape(is, which, &new_rows, &new_columns);
    if (rows != new_rows || columns != new_columns || matrices(was, which) != matrices(is, which))
        return tsr_fail(TSR_INVALID_ARGUMENT,
                        "prepared_%c: is %lld of %lld x %lld as stored, the plan's is %lld of %lld x %lld", which,
                        matrices(was, which), rows, columns, matrices(is, which), new_rows, new_columns);
    if (prepared->is_sparse24)
        return TSR_OK;
    if (!prepared->on_device && !config->pack_bytes)
        return tsr_fail(TSR_UNSUPPORTED, "prepared_%c: kernel %s has no prepared form of it", which, config->instance);
    const tsr_trans read_trans = tsr_problem_operand(&plan->planned.padded_problem, which)->trans;
    if (prepared->on_device && prepared->copy_trans != read_trans && !reads_both_ways(config, which))
        return tsr_fail(TSR_UNSUPPORTED, "prepared_%c: was prepared %s, kernel %s reads it %s", which,
                        prepared->copy_trans != new->trans ? "transposed" : "as it lies", config->instance,
                        read_trans != new->trans ? "transposed" : "as it lies");
    return TSR_OK;
}

tsr_status tsr_prepared_form(tsr_prepared *prepared, const tsr_plan *plan, const void **out)
{
    const tsr_problem *problem = &plan->planned.problem;
    const tsr_config *config = tsr_plan_main(&plan->planned)->config;
    const char which = prepared->operand;
    *out = prepared->on_device;
    if (prepared->on_device)
        return TSR_OK;
    if (prepared->is_sparse24) {
        *out = atomic_load(&prepared->packed[0]);
        return TSR_OK;
    }
    const int form = config->packed_form(config, problem);
    *out = atomic_load(&prepared->packed[form]);
    if (*out)
        return TSR_OK;
    const size_t bytes = config->pack_bytes(config, problem, which);
    void *made = tsr_alloc(&prepared->context->allocator, PACK_ALIGN_BYTES, bytes), *first = NULL;
    if (!made)
        return tsr_fail(TSR_OUT_OF_MEMORY, "no memory for %zu bytes of prepared operand %c", bytes, which);
    const int old = prepared->config->packed_form(prepared->config, &prepared->problem);
    config->repack(config, &prepared->problem, problem, which, atomic_load(&prepared->packed[old]), made);
    if (atomic_compare_exchange_strong(&prepared->packed[form], &first, made))
        first = made;
    else
        tsr_free(&prepared->context->allocator, made); /* another thread was first */
    *out = first;
    return TSR_OK;
}
