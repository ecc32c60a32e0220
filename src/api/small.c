#include "api/small.h"

#include <math.h>

#include "api/validate.h"
#include "core/check.h"
#include "core/sparse24.h"

enum {
    OPS_OF_A_THREAD = 1 << 20, /* fewer are not shared, in f64 either (src/cpu/small/in_place.h) */
    /* On a machine with a GPU only what the CPU finishes within a few microseconds, where copying to a GPU alone takes
     * longer; anything else is for the cost model to decide. */
    OPS_BESIDE_GPU = 1 << 18
};

void tsr_small_open(tsr_context *context)
{
    tsr_target *const target = &context->targets[0];
    if (context->target_count == 0 || target->device.kind != TSR_DEVICE_CPU)
        return;
    const tsr_config *config;
    for (size_t i = 0; (config = tsr_config_at(i)) != NULL; i++) {
        tsr_small *const small = &context->small[tsr_op_of(&config->op).a];
        if (!config->small || !config->small->of_device(config, &target->device, small))
            continue;
        small->otherwise = tsr_one_line_checked;
        small->most_ops = target->gpu_beside ? OPS_BESIDE_GPU : (double)INFINITY;
    }
}

/* Nothing but operands and factors. One test after that of the size, which says what may be read: what is asked for in
 * no call need not be told apart. */
static inline int is_plain_run(const tsr_run_args *args)
{
    if (args->struct_bytes != TSR_FIRST_ARGS_BYTES &&
        (args->struct_bytes != sizeof *args ||
         ((uintptr_t)args->scale_c | (uintptr_t)args->amax_d | (uintptr_t)args->scale_a_count |
          (uintptr_t)args->scale_b_count | (uintptr_t)args->zero_a | (uintptr_t)args->zero_b) != 0))
        return 0;
    const uintptr_t more = (uintptr_t)args->alpha.device | (uintptr_t)args->beta.device | (uintptr_t)args->prepared_a |
                           (uintptr_t)args->prepared_b | (uintptr_t)args->bias | (uintptr_t)args->scale_a |
                           (uintptr_t)args->scale_b | (uintptr_t)args->scale_d | (uintptr_t)args->metadata_a;
    return more == 0;
}

static int is_plain(const tsr_operand *operand, tsr_dtype dtype)
{
    return operand->dtype == dtype && operand->memory == TSR_HOST &&
           (operand->reserved[0] | operand->reserved[1]) == 0 && operand->batch_stride >= 0;
}

/* At most an element's alignment is promised: what any pointer has. */
static int promises_nothing(const tsr_operand *operand)
{
    const uint32_t align = operand->align_bytes;
    return align <= (operand->dtype == TSR_F64 ? 8u : 4u) && (align & (align - 1)) == 0;
}

/* The short way knows the device's number of threads only. */
static int asks_for_fewer_threads(int threads, const tsr_device *device, int64_t m, int64_t n, int64_t k)
{
    return threads > 0 && threads < device->threads &&
           2.0 * (double)m * (double)n * (double)k >= (double)OPS_OF_A_THREAD;
}

/* The first version's struct or today's, with none of what was added set. */
static int is_plain_desc(const tsr_gemm_desc *desc)
{
    return desc->struct_bytes == sizeof *desc
               ? (desc->broadcast | desc->reserved | (uint32_t)desc->scale_mode_a | (uint32_t)desc->scale_mode_b) == 0
               : desc->struct_bytes == TSR_FIRST_DESC_BYTES;
}

int tsr_desc_small(const tsr_context *context, const tsr_gemm_desc *desc, const tsr_run_args *args)
{
    if (!is_plain_desc(desc) || !is_plain_run(args))
        return 0;
    const tsr_dtype dtype = desc->a.dtype;
    if ((dtype != TSR_F32 && dtype != TSR_F64) || desc->batch_count != 1 || desc->batch_kind != TSR_BATCH_STRIDED ||
        desc->compute != TSR_COMPUTE_DEFAULT || desc->flags || desc->threads < 0 || desc->threads > TSR_MOST_THREADS ||
        desc->kernel || desc->epilogue)
        return 0;
    if (!is_plain(&desc->a, dtype) || !is_plain(&desc->b, dtype) || !is_plain(&desc->c, dtype) ||
        !is_plain(&desc->d, dtype) || (unsigned)desc->a.trans > TSR_T || (unsigned)desc->b.trans > TSR_T ||
        desc->c.trans != TSR_N || desc->d.trans != TSR_N || !promises_nothing(&desc->a) ||
        !promises_nothing(&desc->b) || !promises_nothing(&desc->c) || !promises_nothing(&desc->d))
        return 0;
    if (asks_for_fewer_threads(desc->threads, &context->targets[0].device, desc->m, desc->n, desc->k))
        return 0;
    const int trans_a = desc->a.trans == TSR_T, trans_b = desc->b.trans == TSR_T;
    const int64_t lda = desc->a.ld ? desc->a.ld : trans_a ? desc->m : desc->k;
    const int64_t ldb = desc->b.ld ? desc->b.ld : trans_b ? desc->k : desc->n;
    const tsr_small *const small = &context->small[dtype];
    return small->try_apart &&
           small->try_apart(small, TSR_LAYOUT(trans_a, trans_b), desc->m, desc->n, desc->k, args->a, lda, args->b, ldb,
                            args->beta.value != 0 ? args->c : NULL, desc->c.ld ? desc->c.ld : desc->n, args->d,
                            desc->d.ld ? desc->d.ld : desc->n, args->alpha.value, args->beta.value);
}

/* Leading dimensions for which no span overflows. */
static int is_valid_ld(const tsr_problem *p)
{
    const long long most = TSR_SMALL_EXTENT + (long long)TSR_SMALL_EXTRA_ELEMS;
    return p->a.ld < most && p->b.ld < most && p->c.ld < most && p->d.ld < most;
}

static int has_small_path(const tsr_planned *planned)
{
    const tsr_problem *p = &planned->problem;
    for (const char *which = "abcd"; *which; which++)
        if (tsr_op_dtype(&p->op, *which) != p->op.a || tsr_problem_operand(p, *which)->memory != TSR_HOST)
            return 0;
    return planned->step_count == 1 && !p->op.sparse24 && p->op.epilogue == TSR_EPILOGUE_NONE &&
           planned->steps[0].config->small && p->batch == 1 && planned->target->device.kind == TSR_DEVICE_CPU &&
           tsr_are_small_extents(p->m, p->n, p->k) && is_valid_ld(p) &&
           !asks_for_fewer_threads(p->threads, &planned->target->device, p->m, p->n, p->k);
}

void tsr_small_path_make(tsr_plan *plan)
{
    const tsr_planned *planned = &plan->planned;
    const tsr_problem *p = &planned->problem;
    tsr_small_path *path = &plan->small_path;
    if (!has_small_path(planned))
        return;
    const tsr_step *const step = &planned->steps[0];
    path->small = step->config->small->plan(step->config, &planned->target->device, p, step->algorithms);
    path->c_like_d = p->c.ld == p->d.ld;
    path->a_bytes = tsr_operand_bytes(p, 'a');
    path->b_bytes = tsr_operand_bytes(p, 'b');
    path->c_bytes = tsr_operand_bytes(p, 'c');
    path->d_bytes = tsr_operand_bytes(p, 'd');
    path->a_below = p->a.align_bytes - 1;
    path->b_below = p->b.align_bytes - 1;
    path->c_below = p->c.align_bytes - 1;
    path->d_below = p->d.align_bytes - 1;
}

int tsr_small_path_run(const tsr_plan *plan, const tsr_run_args *args)
{
    const tsr_small_path *path = &plan->small_path;
    if (!is_plain_run(args))
        return 0;
    const void *const a = args->a, *const b = args->b, *const c = args->c;
    void *const d = args->d;
    const uintptr_t crooked = ((uintptr_t)a & path->a_below) | ((uintptr_t)b & path->b_below) |
                              ((uintptr_t)c & path->c_below) | ((uintptr_t)d & path->d_below);
    if (crooked != 0 || !a || !b || !d || args->alpha.value == 0 ||
        !tsr_are_apart(a, path->a_bytes, d, path->d_bytes) || !tsr_are_apart(b, path->b_bytes, d, path->d_bytes))
        return 0;
    if (args->beta.value != 0 && (c != d || !path->c_like_d) &&
        (!c || !tsr_are_apart(c, path->c_bytes, d, path->d_bytes)))
        return 0;
    return path->small->run(path->small, a, b, c, d, args->alpha.value, args->beta.value);
}
