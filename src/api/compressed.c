/* 2:4 structured sparsity behind the public functions. */
#include "core/sparse24.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/context.h"
#include "api/validate.h"
#include "core/error.h"
#include "core/uncancelled.h"

#define COMPRESSED_ALIGN_BYTES 4096

/* "A breaks the 2:4 pattern: row 3, columns 8 to 11 hold 3 nonzeros", where a row is one of op(A); lines of B are
 * columns of op(B). `span` elements along K are named; `rule` says what they must be. */
static tsr_status broken(const tsr_lines24 *o, char operand, const tsr_group24 *at, int span, const char *subject,
                         const char *what, const char *rule)
{
    const int is_a = operand == 'a';
    const long long last = at->k + span - 1 < o->k ? at->k + span - 1 : o->k - 1;
    char problem[48] = "";
    if (o->matrices > 1)
        snprintf(problem, sizeof problem, " in problem %lld", at->matrix);
    return tsr_fail(TSR_INVALID_ARGUMENT, "%s%s: %s %lld, %s %lld to %lld %s, %s", subject, problem,
                    is_a ? "row" : "column", at->line, is_a ? "columns" : "rows", at->k, last, what, rule);
}

static tsr_status check_pattern(const tsr_lines24 *o, char operand, const void *data)
{
    const int span = tsr_span24(o);
    tsr_group24 first;
    char subject[40], what[32], rule[32];
    if (tsr_keeps24(o, data, &first))
        return TSR_OK;
    snprintf(subject, sizeof subject, "%c breaks the %d:%d pattern", operand - 'a' + 'A', span / 2, span);
    snprintf(what, sizeof what, "hold %d nonzeros", first.count);
    snprintf(rule, sizeof rule, "at most %d may be", span / 2);
    return broken(o, operand, &first, span, subject, what, rule);
}

static tsr_status check_metadata(const tsr_lines24 *o, char operand, const void *metadata)
{
    tsr_group24 first;
    char what[48];
    if (tsr_ascends24(o, metadata, &first))
        return TSR_OK;
    snprintf(what, sizeof what, "have the indices %d and %d", first.count & 3, first.count >> 2);
    return broken(o, operand, &first, 4, operand == 'a' ? "metadata of A" : "metadata of B", what,
                  o->is_1of2 ? "which must be 0 or 1, and 2 or 3 (1:2)" : "which must ascend");
}

static tsr_status check_dtype(const tsr_problem *problem, char operand)
{
    const tsr_dtype dtype = tsr_op_dtype(&problem->op, operand);
    return tsr_has_sparse24(dtype)
               ? TSR_OK
               : tsr_fail(TSR_UNSUPPORTED, "%c.dtype = %s: 2:4 sparsity is for f32, f16, bf16, e4m3, e5m2, s8 and u8",
                          operand - 'a' + 'A', tsr_dtype_name(dtype));
}

static tsr_status check_span(const tsr_lines24 *o, char operand)
{
    return tsr_fits24(o) ? TSR_OK
                         : tsr_fail(TSR_INVALID_ARGUMENT,
                                    "%c spans more than 2^62 bytes with its lines padded to %d and K to %d bytes",
                                    operand - 'a' + 'A', TSR_LINES24, TSR_K24_BYTES);
}

/* The operand of a descriptor as lines along K; all that the functions share of their checks. */
static tsr_status lines_of(const tsr_gemm_desc *desc, char operand, tsr_lines24 *out)
{
    tsr_problem problem;
    tsr_status status = tsr_check_a_or_b(operand);
    if (status == TSR_OK)
        status = tsr_validate_sizes(desc, operand, &problem);
    if (status == TSR_OK)
        status = check_dtype(&problem, operand);
    if (status != TSR_OK)
        return status;
    if (tsr_problem_operand(&problem, operand)->memory != TSR_HOST)
        return tsr_fail(TSR_INVALID_ARGUMENT, "%c.memory = TSR_DEVICE: only an operand in host memory is looked at",
                        operand - 'a' + 'A');
    *out = tsr_lines24_of(&problem, operand);
    return check_span(out, operand);
}

static int has_elements(const tsr_lines24 *o)
{
    return o->matrices > 0 && o->lines > 0 && o->k > 0;
}

static tsr_status check_pointer(const tsr_lines24 *o, const char *name, const void *pointer, size_t align)
{
    if (!pointer && has_elements(o))
        return tsr_fail(TSR_INVALID_ARGUMENT, "%s = NULL: the operand has elements", name);
    if ((uintptr_t)pointer % align)
        return tsr_fail(TSR_INVALID_ARGUMENT, "%s = %p: not aligned to the %zu bytes of an element", name, pointer,
                        align);
    return TSR_OK;
}

static tsr_status check_pointers(const tsr_lines24 *o, const void *data, const void *values, const void *metadata)
{
    const size_t bytes = tsr_dtype_bytes(o->dtype);
    tsr_status status = check_pointer(o, "data", data, bytes);
    if (status == TSR_OK)
        status = check_pointer(o, "values", values, bytes);
    return status == TSR_OK ? check_pointer(o, "metadata", metadata, 1) : status;
}

tsr_status tsr_check24(const tsr_gemm_desc *desc, char operand, const void *data)
{
    tsr_lines24 o;
    tsr_status status = lines_of(desc, operand, &o);
    if (status == TSR_OK)
        status = check_pointer(&o, "data", data, tsr_dtype_bytes(o.dtype));
    return status == TSR_OK ? check_pattern(&o, operand, data) : status;
}

tsr_status tsr_prune24(const tsr_gemm_desc *desc, char operand, void *data, double *lost)
{
    tsr_lines24 o;
    tsr_status status = lines_of(desc, operand, &o);
    if (status == TSR_OK)
        status = check_pointer(&o, "data", data, tsr_dtype_bytes(o.dtype));
    if (status == TSR_OK)
        tsr_drop24(&o, data, lost);
    return status;
}

tsr_status tsr_bytes24(const tsr_gemm_desc *desc, char operand, size_t *values_bytes, size_t *metadata_bytes)
{
    tsr_lines24 o;
    if (!values_bytes || !metadata_bytes)
        return tsr_fail(TSR_INVALID_ARGUMENT, "%s = NULL", values_bytes ? "metadata_bytes" : "values_bytes");
    const tsr_status status = lines_of(desc, operand, &o);
    if (status != TSR_OK)
        return status;
    *values_bytes = (size_t)tsr_values24_bytes(&o);
    *metadata_bytes = (size_t)tsr_metadata24_bytes(&o);
    return TSR_OK;
}

tsr_status tsr_pack24(const tsr_gemm_desc *desc, char operand, const void *data, void *values, void *metadata)
{
    tsr_lines24 o;
    tsr_status status = lines_of(desc, operand, &o);
    if (status == TSR_OK)
        status = check_pointers(&o, data, values, metadata);
    if (status == TSR_OK && has_elements(&o))
        status = check_pattern(&o, operand, data);
    if (status == TSR_OK && has_elements(&o))
        tsr_squeeze24(&o, data, values, metadata);
    return status;
}

tsr_status tsr_unpack24(const tsr_gemm_desc *desc, char operand, const void *values, const void *metadata, void *data)
{
    tsr_lines24 o;
    tsr_status status = lines_of(desc, operand, &o);
    if (status == TSR_OK)
        status = check_pointers(&o, data, values, metadata);
    if (status == TSR_OK && has_elements(&o))
        status = check_metadata(&o, operand, metadata);
    if (status == TSR_OK && has_elements(&o))
        tsr_spread24(&o, values, metadata, data);
    return status;
}

/* ---- prepared operands ---- */

static tsr_status lines_of_plan(const tsr_plan *plan, char operand, tsr_prepared **out, tsr_lines24 *lines)
{
    if (!plan || !out)
        return tsr_fail(TSR_INVALID_ARGUMENT, "%s = NULL", plan ? "out" : "plan");
    const tsr_status status = tsr_check_a_or_b(operand);
    if (status != TSR_OK)
        return status;
    if (!(plan->planned.problem.op.sparse24 & tsr_sparse24_flag(operand)))
        return tsr_fail(TSR_INVALID_ARGUMENT,
                        "operand = '%c': the plan's %c is not compressed; its descriptor lacks TSR_SPARSE24_%c",
                        operand, operand - 'a' + 'A', operand - 'a' + 'A');
    *lines = tsr_lines24_of(&plan->planned.problem, operand);
    return check_span(lines, operand);
}

/* Both parts of a compressed operand in one piece of host memory. */
static tsr_status allocate(const tsr_plan *plan, const tsr_lines24 *o, char operand, void **out)
{
    const size_t bytes = (size_t)(tsr_values24_bytes(o) + tsr_metadata24_bytes(o));
    *out = tsr_alloc(&plan->context->allocator, COMPRESSED_ALIGN_BYTES, bytes ? bytes : 1);
    return *out ? TSR_OK
                : tsr_fail(TSR_OUT_OF_MEMORY, "no memory for %zu bytes of compressed operand %c", bytes, operand);
}

/* Gives the compressed operand to the plan's device, in the form that its kernel reads. */
static tsr_status place_on_device(tsr_plan *plan, const tsr_lines24 *o, const void *values, const void *metadata,
                                  void **out)
{
    tsr_target *const target = plan->planned.target;
    const size_t bytes = (size_t)(tsr_device24_bytes(o) * o->matrices);
    void *const form = tsr_alloc(&plan->context->allocator, COMPRESSED_ALIGN_BYTES, bytes ? bytes : 1);
    void *device = NULL;
    if (!form)
        return tsr_fail(TSR_OUT_OF_MEMORY, "no memory for %zu bytes of a compressed operand", bytes);
    tsr_device24(o, values, metadata, form);
    tsr_status status = target->backend->alloc(&target->device, bytes ? bytes : 1, &device);
    if (status == TSR_OK && bytes)
        status = target->backend->upload(&target->device, device, form, bytes, NULL);
    if (status == TSR_OK)
        status = target->backend->synchronize(&target->device, NULL);
    tsr_free(&plan->context->allocator, form);
    if (status == TSR_OK)
        *out = device;
    else if (device)
        target->backend->free(&target->device, device);
    return status;
}

/* A prepared operand that owns `compressed`, or on a GPU what is made of it; `compressed` is gone either way. */
static tsr_status finish(tsr_plan *plan, char operand, const tsr_lines24 *o, void *compressed, tsr_prepared **out)
{
    const tsr_config *const config = tsr_plan_main(&plan->planned)->config;
    tsr_prepared *const prepared = calloc(1, sizeof *prepared);
    tsr_status status = prepared ? TSR_OK : tsr_fail(TSR_OUT_OF_MEMORY, "no memory for prepared operand %c", operand);
    if (status == TSR_OK && config->kind == TSR_CONFIG_CUDA)
        status = place_on_device(plan, o, compressed, (char *)compressed + tsr_values24_bytes(o), &prepared->on_device);
    if (status != TSR_OK || prepared->on_device)
        tsr_free(&plan->context->allocator, compressed);
    if (status != TSR_OK) {
        free(prepared);
        return status;
    }
    prepared->context = plan->context;
    prepared->target = plan->planned.target;
    prepared->problem = plan->planned.problem;
    prepared->config = config;
    prepared->operand = operand;
    prepared->is_sparse24 = 1;
    if (!prepared->on_device)
        atomic_store(&prepared->packed[0], compressed);
    atomic_fetch_add(&plan->context->references, 1);
    *out = prepared;
    return TSR_OK;
}

/* The operand where the host can read it: itself, or what *copy gets. */
static tsr_status bring(const tsr_plan *plan, char operand, const void *data, void **copy)
{
    tsr_target *const target = plan->planned.target;
    const tsr_problem *const problem = &plan->planned.problem;
    const size_t bytes = (size_t)tsr_operand_bytes(problem, operand);
    if (target->device.kind != TSR_DEVICE_CUDA || tsr_problem_operand(problem, operand)->memory == TSR_HOST || !bytes)
        return TSR_OK;
    *copy = tsr_alloc(&plan->context->allocator, COMPRESSED_ALIGN_BYTES, bytes);
    if (!*copy)
        return tsr_fail(TSR_OUT_OF_MEMORY, "no memory to bring %zu bytes of operand %c", bytes, operand);
    return target->backend->download(&target->device, *copy, data, bytes, NULL);
}

tsr_status tsr_compress24(tsr_plan *plan, char operand, const void *data, tsr_prepared **out)
{
    TSR_UNCANCELLED();
    tsr_lines24 o;
    tsr_status status = lines_of_plan(plan, operand, out, &o);
    if (status != TSR_OK)
        return status;
    void *compressed = NULL, *copy = NULL;
    status = check_pointer(&o, "data", data, tsr_problem_operand(&plan->planned.problem, operand)->align_bytes);
    if (status == TSR_OK && has_elements(&o))
        status = bring(plan, operand, data, &copy);
    if (status == TSR_OK && has_elements(&o))
        status = check_pattern(&o, operand, copy ? copy : data);
    if (status == TSR_OK)
        status = allocate(plan, &o, operand, &compressed);
    if (status == TSR_OK && has_elements(&o))
        tsr_squeeze24(&o, copy ? copy : data, compressed, (char *)compressed + tsr_values24_bytes(&o));
    tsr_free(&plan->context->allocator, copy);
    return status == TSR_OK ? finish(plan, operand, &o, compressed, out) : status;
}

tsr_status tsr_import24(tsr_plan *plan, char operand, const void *values, const void *metadata, tsr_prepared **out)
{
    TSR_UNCANCELLED();
    tsr_lines24 o;
    tsr_status status = lines_of_plan(plan, operand, out, &o);
    if (status != TSR_OK)
        return status;
    void *compressed = NULL;
    status = check_pointers(&o, values, values, metadata);
    if (status == TSR_OK && has_elements(&o))
        status = check_metadata(&o, operand, metadata);
    if (status == TSR_OK)
        status = allocate(plan, &o, operand, &compressed);
    if (status != TSR_OK)
        return status;
    if (has_elements(&o)) {
        memcpy(compressed, values, (size_t)tsr_values24_bytes(&o));
        memcpy((char *)compressed + tsr_values24_bytes(&o), metadata, (size_t)tsr_metadata24_bytes(&o));
    }
    return finish(plan, operand, &o, compressed, out);
}
