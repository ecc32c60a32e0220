/* Which rows apply to a problem, and in what order. */
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/tensor_spec.h"
#include "plan/pad.h"
#include "plan/plan.h"
#include "plan/tiles.h"

#define MAX_GRID_X      2147483647LL         /* CUDA's limit of gridDim.x */
#define MOST_COORDINATE (2147483647LL - 512) /* the copy engine's are 32 bits; a tile may begin below and end above */

static int refuse(char *reason, size_t reason_bytes, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* reason_bytes == 0: nobody asks for the reason, which takes longer to print than to find. */
static int refuse(char *reason, size_t reason_bytes, const char *format, ...)
{
    va_list arguments;
    if (reason_bytes == 0)
        return 0;
    va_start(arguments, format);
    vsnprintf(reason, reason_bytes, format, arguments);
    va_end(arguments);
    return 0;
}

static int asked_for(const tsr_row *row, const char *kernel)
{
    return !kernel || strcmp(row->name, kernel) == 0 || strcmp(row->instance, kernel) == 0;
}

static int dtypes_fit(const tsr_row *row, const tsr_problem *p)
{
    return p->a.dtype == row->dtype_ab && p->b.dtype == row->dtype_ab && p->c.dtype == row->dtype_cd &&
           p->d.dtype == row->dtype_cd && p->compute == row->compute;
}

/* A problem on a target, and what all rows ask of these. */
typedef struct question {
    const tsr_problem *problem;
    tsr_problem given; /* as the device sees it */
    tsr_target *target;
    long long alignment[4]; /* of its operands */
    int can_pad;            /* A and B could be copied to aligned rows */
    int is_copied;          /* 1: operands lie on a GPU's host */
} question;

/* Which operands must be copied to aligned rows first goes to *pads. */
static int alignment_fits(const question *q, const tsr_row *row, unsigned *pads, char *reason, size_t reason_bytes)
{
    const tsr_problem *const p = &q->given;
    *pads = 0;
    for (int i = 0; i < 4; i++) {
        const char which = "abcd"[i];
        const long long bytes = tsr_row_align_bytes(row, p, which);
        if (q->alignment[i] >= bytes)
            continue;
        if (which > 'b' || row->kind != TSR_ROW_CUDA || !q->can_pad)
            return refuse(reason, reason_bytes, "%c is not aligned to %lld bytes", which - 'a' + 'A', bytes);
        *pads |= 1u << i;
    }
    return 1;
}

/* Kernels with tensor maps keep coordinates in 32 bits, and a map's strides end below 2^40 bytes. */
static int tensors_fit(const tsr_row *row, const tsr_problem *p, char *reason, size_t reason_bytes)
{
    void *const aligned = (void *)(uintptr_t)4096; /* alignment of pointers was checked before */
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
                                .trans_b = p->b.trans == TSR_T};
    tsr_tensor_spec specs[4];
    if (p->m == 0 || p->n == 0 || p->batch == 0)
        return 1; /* never launched */
    if (p->m > MOST_COORDINATE || p->n > MOST_COORDINATE || p->k > MOST_COORDINATE || p->batch > MOST_COORDINATE)
        return refuse(reason, reason_bytes, "M, N, K and the batch must be below 2^31 - 512");
    tsr_row_tensor_specs(row, &args, p->a.dtype, p->d.dtype, specs);
    for (int i = 0; i < 4; i++) {
        const char *fault = specs[i].base ? tsr_tensor_spec_fault(&specs[i]) : NULL;
        if (fault)
            return refuse(reason, reason_bytes, "%c: %s", "ABCD"[i], fault);
    }
    return 1;
}

static int gpu_fits(const tsr_row *row, const tsr_problem *p, const tsr_cuda_limits *gpu, char *reason,
                    size_t reason_bytes)
{
    if (gpu->arch < row->min_arch)
        return refuse(reason, reason_bytes, "needs compute capability %d.%d; the device has %d.%d", row->min_arch / 10,
                      row->min_arch % 10, gpu->arch / 10, gpu->arch % 10);
    if (row->exact_arch && gpu->arch != row->min_arch)
        return refuse(reason, reason_bytes, "runs on compute capability %d.%d alone; the device has %d.%d",
                      row->min_arch / 10, row->min_arch % 10, gpu->arch / 10, gpu->arch % 10);
    if (row->smem_bytes > gpu->smem_per_block_bytes)
        return refuse(reason, reason_bytes, "needs %d bytes of shared memory a block; the device has %d",
                      row->smem_bytes, gpu->smem_per_block_bytes);
    if (row->threads_x * row->threads_y > gpu->threads_per_block)
        return refuse(reason, reason_bytes, "needs %d threads a block; the device has %d",
                      row->threads_x * row->threads_y, gpu->threads_per_block);
    long long tiles = 0;
    int bm, bn;
    tsr_row_tile(row, p->m, p->n, &bm, &bn);
    if (!tsr_mul_size((p->m + bm - 1) / bm, (p->n + bn - 1) / bn, &tiles) || tiles > MAX_GRID_X)
        return refuse(reason, reason_bytes, "D has more than 2^31 - 1 tiles of %d x %d", bm, bn);
    if ((row->persistent || row->turns) && (!tsr_mul_size(tiles, p->batch, &tiles) || tiles > MAX_GRID_X))
        return refuse(reason, reason_bytes, "D has more than 2^31 - 1 tiles of %d x %d in all", bm, bn);
    return !row->tma || tensors_fit(row, p, reason, reason_bytes);
}

int tsr_untransposed(const tsr_row *row, const tsr_problem *problem, const tsr_device *device, char *reason,
                     size_t reason_bytes)
{
    (void)row, (void)device;
    if (problem->a.trans != TSR_N || problem->b.trans != TSR_N)
        return refuse(reason, reason_bytes, "%c is transposed", problem->a.trans != TSR_N ? 'A' : 'B');
    return 1;
}

/* The checks that rows share, before anything is computed. */
static int may_apply(const question *q, const tsr_row *row, char *reason, size_t reason_bytes)
{
    const tsr_problem *const problem = q->problem;
    const tsr_device *const device = &q->target->device;
    if (!asked_for(row, problem->kernel))
        return refuse(reason, reason_bytes, "not the kernel asked for (%s)", problem->kernel);
    if ((row->kind == TSR_ROW_CPU) != (device->kind == TSR_DEVICE_CPU))
        return row->kind == TSR_ROW_CPU
                   ? refuse(reason, reason_bytes, "runs on the CPU; the context has no CPU device")
                   : refuse(reason, reason_bytes, "runs on GPUs and in the emulator; the context has neither");
    if (!dtypes_fit(row, problem))
        return refuse(reason, reason_bytes, "computes %s x %s -> %s in %s", tsr_dtype_name(row->dtype_ab),
                      tsr_dtype_name(row->dtype_ab), tsr_dtype_name(row->dtype_cd), tsr_compute_name(row->compute));
    if (problem->flags & TSR_BATCH_INVARIANT && row->order == TSR_ORDER_ANY)
        return refuse(reason, reason_bytes, "how it sums along K may depend on M: not batch-invariant");
    if (!q->target->backend->has_code(row, device, reason, reason_bytes))
        return 0;
    if (q->target->gpu_beside)
        for (const char *which = "abd"; *which; which++)
            if (tsr_problem_operand(problem, *which)->memory == TSR_DEVICE)
                return refuse(reason, reason_bytes, "%c lies in GPU memory", *which - 'a' + 'A');
    return 1;
}

/* Adds what a part of the product costs, `count` times. */
static void add_cost(tsr_choice *choice, const tsr_cost *cost, long long count)
{
    choice->cost.ns += (double)count * cost->ns;
    choice->cost.bytes += (double)count * cost->bytes;
}

/* The same for the slice that begins at `at`: the row on aligned operands, and copying those in `pads`. */
static void add_slice(tsr_choice *choice, const tsr_problem *given, long long at, unsigned pads, long long count)
{
    const tsr_device *device = &choice->target->device;
    const tsr_problem slice = tsr_slice_of(given, choice->slices, at);
    const tsr_problem padded = tsr_padded_problem(&slice, choice->pads);
    tsr_cost cost = {0};
    choice->row->cost(choice->row, &padded, device, &cost);
    if (pads)
        tsr_cost_pad(&slice, &padded, pads, device, &cost);
    add_cost(choice, &cost, count);
    if (at == 0)
        choice->cost.limiter = cost.limiter;
}

static void add_slices(tsr_choice *choice, const tsr_problem *given)
{
    const long long extent = choice->slices.of_rows ? given->m : given->n, width = choice->slices.width;
    const long long slices = (extent + width - 1) / width;
    add_slice(choice, given, 0, choice->pads, 1);
    /* The operand that is not cut is copied once. */
    const unsigned again = choice->pads & (choice->slices.of_rows ? TSR_PAD_A : TSR_PAD_B);
    if (slices > 2)
        add_slice(choice, given, width, again, slices - 2);
    if (slices > 1)
        add_slice(choice, given, (slices - 1) * width, again, 1);
}

/* Fills the choice: 1 if the row can run the problem there, with what that costs; otherwise 0 and the reason. */
static int judge_row(const question *q, const tsr_row *row, tsr_choice *choice, char *reason, size_t reason_bytes)
{
    const tsr_device *const device = &q->target->device;
    const size_t limit_bytes = q->problem->workspace_limit_bytes;
    tsr_problem padded;
    tsr_cost cost;
    memset(choice, 0, sizeof *choice);
    choice->row = row;
    choice->target = q->target;
    if (!may_apply(q, row, reason, reason_bytes) || !alignment_fits(q, row, &choice->pads, reason, reason_bytes))
        return 0;
    if (choice->pads)
        padded = tsr_padded_problem(&q->given, choice->pads);
    const tsr_problem *const seen = choice->pads ? &padded : &q->given;
    if (row->kind == TSR_ROW_CUDA && !gpu_fits(row, seen, &device->cuda, reason, reason_bytes))
        return 0;
    if (row->applicable && !row->applicable(row, seen, device, reason, reason_bytes))
        return 0;
    tsr_row_price(row, seen, device, &choice->work, &cost);
    const size_t bytes = tsr_work_workspace(&choice->work, seen, choice->pads).total_bytes;
    if (bytes > limit_bytes) {
        choice->slices = tsr_choose_slices(row, &q->given, choice->pads, device, limit_bytes);
        if (choice->slices.width == 0)
            return refuse(reason, reason_bytes, "needs %zu bytes of workspace%s; the limit is %zu", bytes,
                          choice->pads ? " to align A or B" : "", limit_bytes);
        add_slices(choice, &q->given);
    } else {
        if (choice->pads)
            tsr_cost_pad(&q->given, seen, choice->pads, device, &cost);
        add_cost(choice, &cost, 1);
        choice->cost.limiter = cost.limiter;
    }
    choice->transfer_ns = q->is_copied ? tsr_transfer_ns(q->problem, device, choice->cost.ns) : 0;
    choice->applicable = 1;
    return 1;
}

/* Applicable first, then by time; the table's order decides the rest, which keeps the sort stable. */
static int compare(const void *left, const void *right)
{
    const tsr_choice *a = left, *b = right;
    if (a->applicable != b->applicable)
        return a->applicable ? -1 : 1;
    const double a_ns = a->cost.ns + a->transfer_ns, b_ns = b->cost.ns + b->transfer_ns;
    if (a->applicable && a_ns != b_ns)
        return a_ns < b_ns ? -1 : 1;
    return a->row < b->row ? -1 : a->row > b->row ? 1 : a->target < b->target ? -1 : a->target > b->target;
}

static int can_pad(const tsr_problem *p, const tsr_target *target)
{
    const tsr_row *const pad = tsr_pad_row(tsr_dtype_bytes(p->a.dtype));
    return pad && p->m <= MOST_COORDINATE && p->n <= MOST_COORDINATE && p->k <= MOST_COORDINATE &&
           target->backend->has_code(pad, &target->device, NULL, 0);
}

static question question_of(const tsr_problem *problem, tsr_target *target)
{
    if (target->backend->measure)
        target->backend->measure(&target->device);
    question q = {.problem = problem, .given = tsr_device_problem(problem, &target->device), .target = target};
    q.can_pad = can_pad(problem, target);
    for (int i = 0; i < 4; i++) {
        q.alignment[i] = tsr_operand_alignment(&q.given, "abcd"[i]);
        q.is_copied |= tsr_operand_staged(problem, &target->device, "abcd"[i]);
    }
    return q;
}

/* One for each target; how many there are. */
static size_t questions_of(const tsr_problem *problem, tsr_target *targets, size_t target_count,
                           question questions[TSR_MAX_TARGETS])
{
    const size_t count = target_count < TSR_MAX_TARGETS ? target_count : TSR_MAX_TARGETS;
    for (size_t i = 0; i < count; i++)
        questions[i] = question_of(problem, &targets[i]);
    return count;
}

/* The order of summing that batch-invariant products keep to: it must not depend on M, so it is the best that a problem
 * with one row could have. */
static tsr_order order_for(const tsr_problem *problem, tsr_target *targets, size_t target_count)
{
    tsr_problem one_row = *problem;
    tsr_order best = TSR_ORDER_ANY;
    question questions[TSR_MAX_TARGETS];
    tsr_choice choice;
    one_row.m = 1;
    const size_t asked = questions_of(&one_row, targets, target_count, questions);
    for (size_t i = 0; i < tsr_row_count(); i++) {
        const tsr_row *const row = tsr_row_at(i);
        for (size_t t = 0; t < asked; t++)
            if (row->order > best && dtypes_fit(row, problem) && judge_row(&questions[t], row, &choice, NULL, 0))
                best = row->order;
    }
    return best;
}

static void keep_to(tsr_order order, tsr_choice *choices, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (choices[i].applicable && choices[i].row->order != order)
            choices[i].applicable = refuse(choices[i].reason, sizeof choices[i].reason,
                                           "sums in other steps than the batch-invariant kernels that were preferred");
}

size_t tsr_judge(const tsr_problem *problem, tsr_target *targets, size_t target_count, tsr_choice *out, size_t capacity)
{
    question questions[TSR_MAX_TARGETS];
    const size_t asked = questions_of(problem, targets, target_count, questions);
    size_t count = 0;
    for (size_t i = 0; i < tsr_row_count(); i++) {
        const tsr_row *row = tsr_row_at(i);
        int seen = 0; /* a row whose kind no target has is judged once, for its reason */
        for (size_t t = 0; t < asked; t++) {
            const int fits = (row->kind == TSR_ROW_CPU) == (targets[t].device.kind == TSR_DEVICE_CPU);
            if (!fits && (seen || t + 1 < asked))
                continue;
            seen = 1;
            if (count < capacity)
                judge_row(&questions[t], row, &out[count], out[count].reason, sizeof out[count].reason);
            count++;
        }
    }
    if (problem->flags & TSR_BATCH_INVARIANT)
        keep_to(order_for(problem, targets, target_count), out, count < capacity ? count : capacity);
    qsort(out, count < capacity ? count : capacity, sizeof *out, compare);
    return count;
}

size_t tsr_judge_applicable(const tsr_problem *problem, tsr_target *targets, size_t target_count, tsr_choice *out,
                            size_t capacity)
{
    const int keeps_order = (problem->flags & TSR_BATCH_INVARIANT) != 0;
    const tsr_order order = keeps_order ? order_for(problem, targets, target_count) : TSR_ORDER_ANY;
    question questions[TSR_MAX_TARGETS];
    const size_t asked = questions_of(problem, targets, target_count, questions);
    size_t count = 0;
    for (size_t i = 0; i < tsr_row_count(); i++) {
        const tsr_row *const row = tsr_row_at(i);
        if (!dtypes_fit(row, problem) || (keeps_order && row->order != order))
            continue;
        for (size_t t = 0; t < asked && count < capacity; t++)
            count += (size_t)judge_row(&questions[t], row, &out[count], NULL, 0);
    }
    return count;
}

int tsr_comes_before(const tsr_choice *one, const tsr_choice *other)
{
    return compare(one, other) < 0;
}
