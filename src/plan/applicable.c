/* Which configs run a problem, and why the others do not. */
#include "plan/applicable.h"

#include "core/memory.h"
#include "core/reason.h"
#include "core/sparse24.h"
#include "core/tensor_spec.h"
#include "plan/pad.h"
#include "plan/schedules.h"

#define MAX_GRID_X      2147483647LL         /* CUDA's limit of gridDim.x */
#define MOST_SHORT      64                   /* rows or columns of D up to which an optional copy was seen to pay */
#define MOST_COORDINATE (2147483647LL - 512) /* the copy engine's are 32 bits; a tile may begin below and end above */

static int asked_for(const tsr_config *config, const char *kernel)
{
    return !kernel || tsr_config_is_named(config, kernel);
}

/* Which operands must be copied to aligned rows first goes to *pads. */
static int alignment_fits(const tsr_viewed_problem *v, const tsr_config *config, unsigned *pads, char *reason,
                          size_t reason_bytes)
{
    const tsr_problem *const p = &v->given;
    *pads = 0;
    for (int i = 0; i < 4; i++) {
        const char which = "abcd"[i];
        const long long bytes = tsr_config_align_bytes(config, p, which);
        if (v->alignment[i] >= bytes || p->op.sparse24 & tsr_sparse24_flag(which))
            continue;
        if (which > 'b' || config->kind != TSR_CONFIG_CUDA || !v->can_pad)
            return tsr_refuse(reason, reason_bytes, "%c is not aligned to %lld bytes", which - 'a' + 'A', bytes);
        *pads |= 1u << i;
    }
    return 1;
}

static int k_fits(const tsr_config *config, const tsr_problem *p, char *reason, size_t reason_bytes)
{
    if (config->k_multiple > 1 && p->k % config->k_multiple != 0)
        return tsr_refuse(reason, reason_bytes, "K = %lld is no multiple of %d", (long long)p->k, config->k_multiple);
    return 1;
}

/* Kernels with tensor maps keep coordinates in 32 bits, and a map's strides end below 2^40 bytes. */
static int tensors_fit(const tsr_config *config, const tsr_problem *p, char *reason, size_t reason_bytes)
{
    void *const aligned = (void *)(uintptr_t)4096; /* alignment of pointers was checked before */
    tsr_schedule schedule = tsr_config_whole(config, p->m, p->n);
    schedule.swap_ab |= tsr_config_lies_across(config, &p->op, p->a.trans == TSR_T);
    const tsr_gemm_args args = {.a = aligned,
                                .b = aligned,
                                .c = aligned,
                                .d = aligned,
                                .m = p->m,
                                .n = p->n,
                                .k = p->k,
                                .lda = p->a.ld,
                                .ldb = p->b.ld,
                                .ldc = p->c.ld,
                                .ldd = p->d.ld,
                                .batch_a = p->a.batch_stride,
                                .batch_b = p->b.batch_stride,
                                .batch_c = p->c.batch_stride,
                                .batch_d = p->d.batch_stride,
                                .batch = p->batch,
                                .beta = 1,
                                .trans_a = p->a.trans == TSR_T,
                                .trans_b = p->b.trans == TSR_T,
                                .schedule = schedule,
                                .type_a = (int)p->op.a,
                                .type_b = (int)p->op.b,
                                .type_d = (int)p->op.d};
    tsr_tensor_spec specs[4];
    if (p->m == 0 || p->n == 0 || p->batch == 0)
        return 1; /* never launched */
    if (p->m > MOST_COORDINATE || p->n > MOST_COORDINATE || p->k > MOST_COORDINATE || p->batch > MOST_COORDINATE)
        return tsr_refuse(reason, reason_bytes, "M, N, K and the batch must be below 2^31 - 512");
    tsr_config_tensor_specs(config, &args, specs);
    for (int i = 0; i < 4; i++) {
        const char *fault = specs[i].base ? tsr_tensor_spec_fault(&specs[i]) : NULL;
        if (fault)
            return tsr_refuse(reason, reason_bytes, "%c: %s", "ABCD"[i], fault);
    }
    return 1;
}

static int gpu_fits(const tsr_config *config, const tsr_problem *p, const tsr_cuda_limits *gpu, char *reason,
                    size_t reason_bytes)
{
    if (gpu->arch < config->min_arch)
        return tsr_refuse(reason, reason_bytes, "needs compute capability %d.%d; the device has %d.%d",
                          config->min_arch / 10, config->min_arch % 10, gpu->arch / 10, gpu->arch % 10);
    if (config->exact_arch && gpu->arch != config->min_arch)
        return tsr_refuse(reason, reason_bytes, "runs on compute capability %d.%d alone; the device has %d.%d",
                          config->min_arch / 10, config->min_arch % 10, gpu->arch / 10, gpu->arch % 10);
    if (config->smem_bytes > gpu->smem_per_block_bytes)
        return tsr_refuse(reason, reason_bytes, "needs %d bytes of shared memory a block; the device has %d",
                          config->smem_bytes, gpu->smem_per_block_bytes);
    if (config->threads_x * config->threads_y > gpu->threads_per_block)
        return tsr_refuse(reason, reason_bytes, "needs %d threads a block; the device has %d",
                          config->threads_x * config->threads_y, gpu->threads_per_block);
    long long tiles = 0;
    int bm, bn;
    tsr_config_tile(config, p->m, p->n, &bm, &bn);
    if (!tsr_mul_size((p->m + bm - 1) / bm, (p->n + bn - 1) / bn, &tiles) || tiles > MAX_GRID_X)
        return tsr_refuse(reason, reason_bytes, "D has more than 2^31 - 1 tiles of %d x %d", bm, bn);
    if ((config->persistent || config->swaps_ab) && (!tsr_mul_size(tiles, p->batch, &tiles) || tiles > MAX_GRID_X))
        return tsr_refuse(reason, reason_bytes, "D has more than 2^31 - 1 tiles of %d x %d in all", bm, bn);
    if (config->unaligned_a && config->tma && p->a.ld > MOST_COORDINATE / (2 * TSR_TENSOR_LINE_ROWS))
        return tsr_refuse(reason, reason_bytes, "A's leading dimension exceeds %lld",
                          MOST_COORDINATE / (2 * TSR_TENSOR_LINE_ROWS));
    /* Before maps, which such a K may leave without an extent. */
    return k_fits(config, p, reason, reason_bytes) && (!config->tma || tensors_fit(config, p, reason, reason_bytes));
}

static int can_transpose(const tsr_viewed_problem *v)
{
    const tsr_config *const transpose = tsr_transpose_config(v->given.op.a);
    return v->can_pad && transpose && v->target->backend->has_code(transpose, &v->target->device, NULL, 0);
}

/* Operands that the config reads along K alone, and that do not lie so, are to be copied transposed, where that can be:
 * then *pads says so. */
static void transpose_layouts(const tsr_viewed_problem *v, const tsr_config *config, unsigned *pads)
{
    if (!config->copies_transposed || !can_transpose(v))
        return;
    if (config->mn_major_lines) { /* tn: the smaller operand */
        if (v->given.a.trans == TSR_T && v->given.b.trans == TSR_N)
            *pads |= v->given.m <= v->given.n ? TSR_PAD_A | TSR_TRANSPOSE_A : TSR_PAD_B | TSR_TRANSPOSE_B;
        return;
    }
    if (tsr_config_takes_unaligned(config)) { /* the other operand alone */
        if (!config->unaligned_a && v->given.a.trans == TSR_T)
            *pads |= TSR_PAD_A | TSR_TRANSPOSE_A;
        if (!config->unaligned_b && v->given.b.trans == TSR_N)
            *pads |= TSR_PAD_B | TSR_TRANSPOSE_B;
        return;
    }
    if (v->given.a.trans == TSR_T && !(v->given.op.sparse24 & TSR_SPARSE24_A))
        *pads |= TSR_PAD_A | TSR_TRANSPOSE_A;
    if (v->given.b.trans == TSR_N && !(v->given.op.sparse24 & TSR_SPARSE24_B))
        *pads |= TSR_PAD_B | TSR_TRANSPOSE_B;
}

static int layout_fits(tsr_layouts layout, const tsr_matrix *operand, char name, char *reason, size_t reason_bytes)
{
    if (layout == TSR_ONLY_N && operand->trans != TSR_N)
        return tsr_refuse(reason, reason_bytes, "%c is transposed", name);
    if (layout == TSR_ONLY_T && operand->trans != TSR_T)
        return tsr_refuse(reason, reason_bytes, "%c is not transposed", name);
    return 1;
}

/* Kernels that partition K count the tiles of the whole batch in 32 bits. */
static int tiles_are_countable(const tsr_config *config, const tsr_problem *p)
{
    const int partitions = config->family == TSR_FAMILY_STREAM_K || config->family == TSR_FAMILY_CLUSTER_K ||
                           config->family == TSR_FAMILY_THIN || config->family == TSR_FAMILY_MMA_F64;
    return !partitions || tsr_cta_tiles(config, p) <= 0.5 * (double)MAX_GRID_X;
}

int tsr_config_fits(const tsr_config *config, const tsr_problem *p, char *reason, size_t reason_bytes)
{
    if ((!(p->op.sparse24 & TSR_SPARSE24_A) && !layout_fits(config->a_layout, &p->a, 'A', reason, reason_bytes)) ||
        (!(p->op.sparse24 & TSR_SPARSE24_B) && !layout_fits(config->b_layout, &p->b, 'B', reason, reason_bytes)))
        return 0;
    if (config->mn_major_lines && (p->a.trans == TSR_T) != (p->b.trans == TSR_T))
        return p->a.trans == TSR_T ? tsr_refuse(reason, reason_bytes, "neither A nor B lies along K")
                                   : tsr_refuse(reason, reason_bytes, "A and B both lie along K");
    if (!tiles_are_countable(config, p))
        return tsr_refuse(reason, reason_bytes, "D has more than 2^30 tiles of %d x %d in all", config->bm, config->bn);
    return k_fits(config, p, reason, reason_bytes);
}

/* The checks that configs share, before anything is computed. */
static int checks_of_all(const tsr_viewed_problem *v, const tsr_config *config, char *reason, size_t reason_bytes)
{
    const tsr_problem *const problem = v->problem;
    const tsr_device *const device = &v->target->device;
    if (!asked_for(config, problem->kernel))
        return tsr_refuse(reason, reason_bytes, "not the kernel asked for (%s)", problem->kernel);
    if ((config->kind == TSR_CONFIG_CPU) != (device->kind == TSR_DEVICE_CPU))
        return config->kind == TSR_CONFIG_CPU
                   ? tsr_refuse(reason, reason_bytes, "runs on the CPU; the context has no CPU device")
                   : tsr_refuse(reason, reason_bytes, "runs on GPUs and in the emulator; the context has neither");
    if (!tsr_op_accepts(&config->op, &problem->op, reason, reason_bytes))
        return 0;
    if (problem->flags & TSR_BATCH_INVARIANT && config->order == TSR_ORDER_ANY)
        return tsr_refuse(reason, reason_bytes, "how it sums along K may depend on M: not batch-invariant");
    if (tsr_config_is_f64_tensor(config) && !(device->peak_flops_f64_tensor > 0))
        return tsr_refuse(reason, reason_bytes, "f64 needs the tensor cores of compute capability 8.0, 9.0 or 10.0");
    if (!v->target->backend->has_code(config, device, reason, reason_bytes))
        return 0;
    if (v->target->gpu_beside)
        for (const char *which = "abd"; *which; which++)
            if (tsr_problem_operand(problem, *which)->memory == TSR_DEVICE)
                return tsr_refuse(reason, reason_bytes, "%c lies in GPU memory", *which - 'a' + 'A');
    return 1;
}

int tsr_is_applicable(const tsr_viewed_problem *v, const tsr_config *config, unsigned *pads, char *reason,
                      size_t reason_bytes)
{
    tsr_problem padded;
    if (!checks_of_all(v, config, reason, reason_bytes) || !alignment_fits(v, config, pads, reason, reason_bytes))
        return 0;
    transpose_layouts(v, config, pads);
    if (*pads)
        padded = tsr_padded_problem(&v->given, *pads);
    const tsr_problem *const seen = *pads ? &padded : &v->given;
    if (config->kind == TSR_CONFIG_CUDA && !gpu_fits(config, seen, &v->target->device.cuda, reason, reason_bytes))
        return 0;
    return tsr_config_fits(config, seen, reason, reason_bytes);
}

unsigned tsr_optional_copies(const tsr_viewed_problem *v, const tsr_config *config, unsigned pads)
{
    const tsr_problem *const p = &v->given;
    const int is_a = p->m <= p->n;
    const int is_across = is_a ? p->a.trans == TSR_T : p->b.trans == TSR_N;
    if (!config->copies_short || !is_across || (is_a ? p->m : p->n) > MOST_SHORT || !can_transpose(v))
        return 0;
    return (is_a ? TSR_PAD_A | TSR_TRANSPOSE_A : TSR_PAD_B | TSR_TRANSPOSE_B) & ~pads;
}

static int can_pad(const tsr_problem *p, const tsr_target *target)
{
    const tsr_config *const pad = tsr_pad_config(p->op.a);
    return pad && p->m <= MOST_COORDINATE && p->n <= MOST_COORDINATE && p->k <= MOST_COORDINATE &&
           target->backend->has_code(pad, &target->device, NULL, 0);
}

tsr_viewed_problem tsr_view_problem(const tsr_problem *problem, tsr_target *target)
{
    if (target->backend->measure)
        target->backend->measure(&target->device);
    tsr_viewed_problem v = {
        .problem = problem, .given = tsr_device_problem(problem, &target->device), .target = target};
    v.can_pad = can_pad(problem, target);
    for (int i = 0; i < 4; i++) {
        v.alignment[i] = tsr_operand_alignment(&v.given, "abcd"[i]);
        v.is_copied |= tsr_operand_staged(problem, &target->device, "abcd"[i]);
    }
    return v;
}
