/* Host operands on a GPU: each is copied to a tight device buffer, the plan runs on those, and D comes back. Only the
 * elements of the matrices are copied, never the padding between rows, so the caller's padding keeps its bytes. */
#include <string.h>

#include "api/context.h"
#include "core/error.h"

typedef struct staged {
    void *device; /* NULL: not staged */
    void *packed; /* tight host copy, if the caller's rows are padded */
    long long bytes;
} staged;

static int is_tight(const tsr_matrix *host, const tsr_matrix *device, long long batch)
{
    return host->ld == device->ld && (batch <= 1 || host->batch_stride == device->batch_stride);
}

/* Copies rows between the caller's layout and the tight one. */
static void copy_rows(const tsr_plan *plan, char which, char *caller, char *tight, int to_caller)
{
    const tsr_problem *p = &plan->planned.problem;
    const tsr_matrix *from = tsr_problem_operand(p, which);
    const tsr_matrix *to = tsr_problem_operand(&plan->planned.device_problem, which);
    const long long element = tsr_problem_element(p, which);
    long long rows, columns;
    tsr_stored_shape(p, which, &rows, &columns);
    const long long batches = from->batch_stride ? p->batch : 1;
    for (long long z = 0; z < batches; z++)
        for (long long r = 0; r < rows; r++) {
            char *outside = caller + (z * from->batch_stride + r * from->ld) * element;
            char *inside = tight + (z * to->batch_stride + r * to->ld) * element;
            memcpy(to_caller ? outside : inside, to_caller ? inside : outside, (size_t)(columns * element));
        }
}

/* cp.async copies chunks of 16 bytes, in part where an operand ends inside one. memcheck counts all 16. */
enum { CHUNK_BYTES = 16 };

/* Room for an operand on the device, up to whole chunks, with zeros behind it if it will be read. */
static tsr_status allocate_chunks(tsr_target *target, int read, void *stream, staged *out)
{
    static const char zeros[CHUNK_BYTES];
    const long long whole = (out->bytes + CHUNK_BYTES - 1) / CHUNK_BYTES * CHUNK_BYTES;
    const tsr_status status = target->backend->alloc(&target->device, (size_t)whole, &out->device);
    if (status != TSR_OK || !read || whole == out->bytes)
        return status;
    return target->backend->upload(&target->device, (char *)out->device + whole - CHUNK_BYTES, zeros, CHUNK_BYTES,
                                   stream);
}

/* Allocates the device buffer and, if `read`, fills it from `caller`. `keep`: what comes back must not go straight to
 * the caller, whose memory holds what a second try would need. */
static tsr_status stage(tsr_plan *plan, char which, const void *caller, int read, int keep, void *stream, staged *out)
{
    tsr_target *target = plan->planned.target;
    const tsr_allocator *allocator = &plan->context->allocator;
    const tsr_problem *p = &plan->planned.problem;
    const tsr_matrix *device_operand = tsr_problem_operand(&plan->planned.device_problem, which);
    out->bytes = tsr_operand_bytes(&plan->planned.device_problem, which);
    const tsr_status status = allocate_chunks(target, read, stream, out);
    if (status != TSR_OK)
        return status;
    if (keep || !is_tight(tsr_problem_operand(p, which), device_operand, p->batch)) {
        out->packed = tsr_alloc(allocator, 64, (size_t)out->bytes);
        if (!out->packed)
            return tsr_fail(TSR_OUT_OF_MEMORY, "no memory to stage %lld bytes of operand %c", out->bytes, which);
    }
    if (!read)
        return TSR_OK;
    if (out->packed)
        copy_rows(plan, which, (char *)caller, out->packed, 0);
    return target->backend->upload(&target->device, out->device, out->packed ? out->packed : caller, (size_t)out->bytes,
                                   stream);
}

static tsr_status fetch(tsr_plan *plan, char *caller, const staged *d, void *stream)
{
    tsr_target *target = plan->planned.target;
    const tsr_status status =
        target->backend->download(&target->device, d->packed ? d->packed : caller, d->device, (size_t)d->bytes, stream);
    if (status == TSR_OK && d->packed)
        copy_rows(plan, 'd', caller, d->packed, 1);
    return status;
}

/* What goes where an operand goes: the bias and scales, to the device; the greatest magnitude, back from there. */
enum { BIAS, SCALES_A, SCALES_B, SCALE_C, SCALE_D, ZEROS_A, ZEROS_B, AMAX, SIDES };

typedef struct side {
    const void *caller; /* NULL: there is none */
    void *device;       /* NULL: it is not staged */
    size_t bytes;
    char operand;
} side;

static void list_sides(const tsr_problem *p, const tsr_plan_inputs *inputs, side out[SIDES])
{
    const tsr_scaling *const s = &inputs->scaling;
    out[BIAS] = (side){inputs->bias, NULL, (size_t)tsr_bias_bytes(p), 'd'};
    out[SCALES_A] = (side){s->a, NULL, (size_t)tsr_scale_count(p, 'a') * sizeof(float), 'a'};
    out[SCALES_B] = (side){s->b, NULL, (size_t)tsr_scale_count(p, 'b') * sizeof(float), 'b'};
    out[SCALE_C] = (side){s->c, NULL, sizeof(float), 'c'};
    out[SCALE_D] = (side){s->d, NULL, sizeof(float), 'd'};
    out[ZEROS_A] = (side){s->zero_a, NULL, (size_t)tsr_scale_count(p, 'a'), 'a'};
    out[ZEROS_B] = (side){s->zero_b, NULL, (size_t)tsr_scale_count(p, 'b'), 'b'};
    out[AMAX] = (side){s->amax, NULL, sizeof(float), 'd'};
}

static tsr_status stage_sides(const tsr_plan *plan, void *stream, side sides[SIDES])
{
    tsr_target *target = plan->planned.target;
    tsr_status status = TSR_OK;
    for (int i = 0; i < SIDES && status == TSR_OK; i++) {
        side *const s = &sides[i];
        if (!s->caller || !tsr_operand_staged(&plan->planned.problem, &target->device, s->operand))
            continue;
        status = target->backend->alloc(&target->device, s->bytes, &s->device);
        if (status == TSR_OK && i != AMAX)
            status = target->backend->upload(&target->device, s->device, s->caller, s->bytes, stream);
    }
    return status;
}

/* Where the kernels find it. */
static const void *seen_side(const side *s)
{
    return s->device ? s->device : s->caller;
}

static tsr_status run_staged(tsr_plan *plan, const tsr_plan_inputs *inputs)
{
    const tsr_problem *p = &plan->planned.problem;
    tsr_target *target = plan->planned.target;
    const int product = inputs->alpha != 0 && p->k > 0;
    const void *caller[4] = {inputs->a, inputs->b, inputs->c, inputs->d};
    const int needed[4] = {product && !inputs->packed_a, product && !inputs->packed_b, inputs->beta != 0, 1};
    const void *seen[4] = {inputs->a, inputs->b, inputs->c, inputs->d};
    staged copies[4] = {{0}};
    side sides[SIDES];
    tsr_status status = TSR_OK;
    list_sides(p, inputs, sides);
    for (int i = 0; i < 4 && status == TSR_OK; i++) {
        if (!needed[i] || !tsr_operand_staged(p, &target->device, "abcd"[i]))
            continue;
        status = stage(plan, "abcd"[i], caller[i], i < 3, i == 3 && inputs->beta != 0, inputs->stream, &copies[i]);
        seen[i] = copies[i].device;
    }
    if (status == TSR_OK)
        status = stage_sides(plan, inputs->stream, sides);
    if (status == TSR_OK) {
        tsr_plan_inputs device_inputs = *inputs;
        device_inputs.bias = seen_side(&sides[BIAS]);
        device_inputs.scaling.a = seen_side(&sides[SCALES_A]);
        device_inputs.scaling.b = seen_side(&sides[SCALES_B]);
        device_inputs.scaling.c = seen_side(&sides[SCALE_C]);
        device_inputs.scaling.d = seen_side(&sides[SCALE_D]);
        device_inputs.scaling.zero_a = seen_side(&sides[ZEROS_A]);
        device_inputs.scaling.zero_b = seen_side(&sides[ZEROS_B]);
        device_inputs.scaling.amax = sides[AMAX].device ? sides[AMAX].device : inputs->scaling.amax;
        device_inputs.a = seen[0];
        device_inputs.b = seen[1];
        device_inputs.c = seen[2];
        device_inputs.d = (void *)seen[3];
        status = tsr_plan_execute(&plan->planned, &device_inputs);
    }
    float amax = 0;
    if (status == TSR_OK && sides[AMAX].device)
        status = target->backend->download(&target->device, &amax, sides[AMAX].device, sizeof amax, inputs->stream);
    /* D comes last: what fails behind it would be computed again, from a C that may be D. */
    if (status == TSR_OK && copies[3].device)
        status = fetch(plan, inputs->d, &copies[3], inputs->stream);
    else if (status == TSR_OK)
        status = target->backend->synchronize(&target->device, inputs->stream);
    if (status == TSR_OK && sides[AMAX].device)
        memcpy(inputs->scaling.amax, &amax, sizeof amax);
    for (int i = 0; i < SIDES; i++)
        if (sides[i].device)
            target->backend->free(&target->device, sides[i].device);
    for (int i = 0; i < 4; i++) {
        if (copies[i].device)
            target->backend->free(&target->device, copies[i].device);
        tsr_free(&plan->context->allocator, copies[i].packed);
    }
    return status;
}

tsr_status tsr_run_inputs(tsr_plan *plan, const tsr_plan_inputs *inputs)
{
    for (const char *which = "abcd"; *which; which++)
        if (tsr_operand_staged(&plan->planned.problem, &plan->planned.target->device, *which))
            return run_staged(plan, inputs);
    return tsr_plan_execute(&plan->planned, inputs);
}

tsr_status tsr_zero_counters(tsr_target *target, void *buffer, size_t buffer_bytes, void *stream)
{
    static char zeros[TSR_WORKSPACE_COUNTER_BYTES]; /* not const: they would have room in the library's file */
    const size_t bytes = buffer_bytes < sizeof zeros ? buffer_bytes : sizeof zeros;
    return bytes ? target->backend->upload(&target->device, buffer, zeros, bytes, stream) : TSR_OK;
}

tsr_status tsr_run_with_workspace(tsr_plan *plan, const tsr_plan_inputs *inputs)
{
    tsr_target *target = plan->planned.target;
    const size_t bytes = plan->planned.workspace_bytes;
    tsr_plan_inputs own = *inputs;
    tsr_status status = target->backend->alloc(&target->device, bytes, &own.workspace);
    if (status != TSR_OK)
        return status;
    status = tsr_zero_counters(target, own.workspace, bytes, inputs->stream);
    if (status == TSR_OK)
        status = tsr_run_inputs(plan, &own);
    /* Where D came to the host the stream has been waited for, and nothing may fail any more. */
    if (status == TSR_OK && !tsr_operand_staged(&plan->planned.problem, &target->device, 'd'))
        status = target->backend->synchronize(&target->device, inputs->stream);
    target->backend->free(&target->device, own.workspace);
    return status;
}

tsr_status tsr_prepare_on_device(tsr_plan *plan, char which, const void *data, size_t bytes, void **out)
{
    tsr_target *target = plan->planned.target;
    const int is_staged = tsr_operand_staged(&plan->planned.problem, &target->device, which);
    staged copy = {0};
    void *prepared = NULL;
    tsr_status status = target->backend->alloc(&target->device, bytes, &prepared);
    const int is_empty = tsr_operand_bytes(&plan->planned.problem, which) == 0; /* a batch of none has no data */
    if (status == TSR_OK && is_staged && !is_empty)
        status = stage(plan, which, data, 1, 0, NULL, &copy);
    if (status == TSR_OK && !is_empty)
        status = tsr_plan_prepare(&plan->planned, which, is_staged ? copy.device : data, prepared, NULL);
    if (status == TSR_OK)
        status = target->backend->synchronize(&target->device, NULL);
    if (copy.device)
        target->backend->free(&target->device, copy.device);
    tsr_free(&plan->context->allocator, copy.packed);
    if (status == TSR_OK)
        *out = prepared;
    else if (prepared)
        target->backend->free(&target->device, prepared);
    return status;
}
