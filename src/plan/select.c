/* The only loops over configs and schedules: which is the fastest, and in what order the others follow. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/reason.h"
#include "plan/applicable.h"
#include "plan/pad.h"
#include "plan/price.h"
#include "plan/profiles/profiles.h"
#include "plan/tiles.h"

#define SECTOR_BYTES 32 /* of L2 */

/* The schedule that the problem's kernel name asks for behind an "@": 1, 0 with the reason, or -1 if it asks for none.
 */
static int forced_schedule(const tsr_config *config, const tsr_problem *p, tsr_schedule *out, char *reason,
                           size_t reason_bytes)
{
    const char *const text = p->kernel ? strchr(p->kernel, '@') : NULL;
    if (!text)
        return -1;
    if (!tsr_schedule_parse(config, p, text + 1, out, reason, reason_bytes))
        return 0;
    if (p->flags & TSR_BATCH_INVARIANT && (out->split_k > 1 || out->stream_k_units > 0))
        return tsr_refuse(reason, reason_bytes, "TSR_BATCH_INVARIANT: K in parts depends on M");
    return 1;
}

int tsr_select_schedule(const tsr_config *config, const tsr_problem *problem, const tsr_device *device,
                        tsr_launch_config *launch, tsr_price *cost, char *reason, size_t reason_bytes)
{
    tsr_schedule schedules[TSR_MOST_SCHEDULES];
    tsr_pricing pricing;
    const int forced = forced_schedule(config, problem, schedules, reason, reason_bytes);
    if (forced == 0)
        return 0;
    const int count = forced == 1 ? 1 : tsr_schedule_candidates(config, problem, device, schedules);
    tsr_pricing_begin(&pricing, config, problem, device);
    *launch = tsr_schedule_launch(config, problem, &schedules[0]);
    tsr_price_launch(&pricing, launch, INFINITY, cost);
    for (int i = 1; i < count; i++) {
        const tsr_launch_config l = tsr_schedule_launch(config, problem, &schedules[i]);
        tsr_price found;
        if (config->family != TSR_FAMILY_STREAM_K && l.workspace_bytes > problem->workspace_limit_bytes)
            continue;
        tsr_price_launch(&pricing, &l, cost->ns, &found);
        if (found.rank_ns < cost->rank_ns) {
            *launch = l;
            *cost = found;
        }
    }
    return 1;
}

/* Adds what a part of the product costs, `count` times. */
static void add_cost(tsr_plan_candidate *candidate, const tsr_price *cost, long long count)
{
    candidate->cost.ns += (double)count * cost->ns;
    candidate->cost.bytes += (double)count * cost->bytes;
}

/* The same for the slice that begins there: the config on aligned operands, and its copies. */
static void add_slice(tsr_plan_candidate *candidate, const tsr_problem *given, tsr_corner at, long long count)
{
    const tsr_device *device = &candidate->target->device;
    const tsr_problem slice = tsr_slice_of(given, candidate->slices, at);
    const tsr_problem padded = tsr_padded_problem(&slice, candidate->pads);
    const unsigned pads = tsr_slice_copies(candidate->slices, candidate->pads, at);
    tsr_price cost = {0};
    tsr_launch_config launch;
    (void)tsr_select_schedule(candidate->config, &padded, device, &launch, &cost, NULL, 0);
    if (pads)
        tsr_price_pad(&slice, &padded, pads, device, &cost);
    if (at.k > 0) /* what is added to is read */
        cost.ns +=
            (double)tsr_dtype_bytes(given->op.d) * (double)slice.m * (double)slice.n / device->memory_bytes_per_s * 1e9;
    add_cost(candidate, &cost, count);
    if (at.row == 0 && at.column == 0 && at.k == 0)
        candidate->cost.limiter = cost.limiter;
}

/* Slices along M, N or K that cost the same: the first, those between, the last. Returns how many kinds there are. */
static int kinds_of(long long extent, long long width, long long at[3], long long count[3])
{
    const long long step = tsr_slice_step(extent, width), slices = (extent + step - 1) / step;
    int kinds = 0;
    at[kinds] = 0, count[kinds++] = 1;
    if (slices > 2)
        at[kinds] = step, count[kinds++] = slices - 2;
    if (slices > 1)
        at[kinds] = (slices - 1) * step, count[kinds++] = 1;
    return kinds;
}

static void add_slices(tsr_plan_candidate *candidate, const tsr_problem *given)
{
    long long rows[3], columns[3], ks[3], row_count[3], column_count[3], k_count[3];
    const int row_kinds = kinds_of(given->m, candidate->slices.rows, rows, row_count);
    const int column_kinds = kinds_of(given->n, candidate->slices.columns, columns, column_count);
    const int k_kinds = kinds_of(given->k, candidate->slices.depth, ks, k_count);
    for (int i = 0; i < row_kinds; i++)
        for (int j = 0; j < column_kinds; j++)
            for (int l = 0; l < k_kinds; l++)
                add_slice(candidate, given, (tsr_corner){rows[i], columns[j], ks[l]},
                          row_count[i] * column_count[j] * k_count[l]);
}

/* By the slices that cost least; 0 if none fit. */
static int cut_into_slices(tsr_plan_candidate *candidate, const tsr_problem *given, size_t limit_bytes)
{
    tsr_slices options[TSR_SLICE_OPTIONS];
    const int count =
        tsr_slice_options(candidate->config, given, candidate->pads, &candidate->target->device, limit_bytes, options);
    tsr_price least = {.ns = INFINITY};
    tsr_slices best = {0};
    for (int i = 0; i < count; i++) {
        candidate->slices = options[i];
        candidate->cost = (tsr_price){0};
        add_slices(candidate, given);
        if (candidate->cost.ns < least.ns) {
            least = candidate->cost;
            best = options[i];
        }
    }
    candidate->slices = best;
    if (count > 0)
        candidate->cost = least;
    return count > 0;
}

/* The config behind an optional copy, if that fits and costs less than *cost, which it had without. */
static void try_optional_copies(const tsr_viewed_problem *v, tsr_plan_candidate *candidate, tsr_price *cost)
{
    const unsigned pads = candidate->pads | tsr_optional_copies(v, candidate->config, candidate->pads);
    if (pads == candidate->pads)
        return;
    const tsr_problem padded = tsr_copied_problem(&v->given, pads);
    const tsr_device *const device = &v->target->device;
    tsr_launch_config launch;
    tsr_price found;
    if (!tsr_select_schedule(candidate->config, &padded, device, &launch, &found, NULL, 0) ||
        tsr_lay_out_workspace(&launch, &padded, pads).total_bytes > v->problem->workspace_limit_bytes)
        return;
    tsr_price_pad(&v->given, &padded, pads, device, &found);
    const char which = pads & ~candidate->pads & TSR_TRANSPOSE_A ? 'a' : 'b';
    const int at_sectors = tsr_operand_alignment(&v->given, which) % SECTOR_BYTES == 0;
    const tsr_profile *const f = tsr_profile_of(device);
    if (found.ns > (at_sectors || candidate->pads ? f->copy_pays : f->copy_pays_within_sector) * cost->ns)
        return;
    candidate->pads = pads;
    candidate->launch = launch;
    *cost = found;
}

/* Fills the candidate: 1 if the config can run the problem there, with what that costs; otherwise 0 and the reason. */
static int candidate_of(const tsr_viewed_problem *v, const tsr_config *config, tsr_plan_candidate *candidate,
                        char *reason, size_t reason_bytes)
{
    const tsr_device *const device = &v->target->device;
    const size_t limit_bytes = v->problem->workspace_limit_bytes;
    tsr_problem padded;
    tsr_price cost;
    memset(candidate, 0, sizeof *candidate);
    candidate->config = config;
    candidate->target = v->target;
    if (!tsr_is_applicable(v, config, &candidate->pads, reason, reason_bytes))
        return 0;
    if (candidate->pads)
        padded = tsr_copied_problem(&v->given, candidate->pads);
    const tsr_problem *const seen = candidate->pads ? &padded : &v->given;
    if (!tsr_select_schedule(config, seen, device, &candidate->launch, &cost, reason, reason_bytes))
        return 0;
    const size_t bytes = tsr_lay_out_workspace(&candidate->launch, seen, candidate->pads).total_bytes;
    if (bytes > limit_bytes) {
        if (!cut_into_slices(candidate, &v->given, limit_bytes))
            return tsr_refuse(reason, reason_bytes, "needs %zu bytes of workspace%s; the limit is %zu", bytes,
                              candidate->pads ? " to align A or B" : "", limit_bytes);
    } else {
        if (candidate->pads)
            tsr_price_pad(&v->given, seen, candidate->pads, device, &cost);
        try_optional_copies(v, candidate, &cost);
        add_cost(candidate, &cost, 1);
        candidate->cost.limiter = cost.limiter;
    }
    candidate->transfer_ns = v->is_copied ? tsr_transfer_ns(v->problem, device, candidate->cost.ns) : 0;
    candidate->applicable = 1;
    return 1;
}

static int is_last_choice(const tsr_plan_candidate *candidate)
{
    return candidate->config->last_choice_arch &&
           candidate->target->device.cuda.arch == candidate->config->last_choice_arch;
}

/* Applicable first, of these the last choices behind the rest, then by time; the table's order decides the rest, which
 * keeps the sort stable. */
static int compare(const void *left, const void *right)
{
    const tsr_plan_candidate *a = left, *b = right;
    if (a->applicable != b->applicable)
        return a->applicable ? -1 : 1;
    if (a->applicable && is_last_choice(a) != is_last_choice(b))
        return is_last_choice(a) - is_last_choice(b);
    const double a_ns = a->cost.ns + a->transfer_ns, b_ns = b->cost.ns + b->transfer_ns;
    if (a->applicable && a_ns != b_ns)
        return a_ns < b_ns ? -1 : 1;
    return a->config < b->config ? -1 : a->config > b->config ? 1 : a->target < b->target ? -1 : a->target > b->target;
}

/* One for each target; how many there are. */
static size_t views_of(const tsr_problem *problem, tsr_target *targets, size_t target_count,
                       tsr_viewed_problem views[TSR_MAX_TARGETS])
{
    const size_t count = target_count < TSR_MAX_TARGETS ? target_count : TSR_MAX_TARGETS;
    for (size_t i = 0; i < count; i++)
        views[i] = tsr_view_problem(problem, &targets[i]);
    return count;
}

/* The order of summing that batch-invariant products keep to: it must not depend on M, so it is the best that a problem
 * with one row could have. */
static tsr_order order_for(const tsr_problem *problem, tsr_target *targets, size_t target_count)
{
    tsr_problem one_row = *problem;
    tsr_order best = TSR_ORDER_ANY;
    tsr_viewed_problem views[TSR_MAX_TARGETS];
    tsr_plan_candidate candidate;
    one_row.m = 1;
    const size_t viewed = views_of(&one_row, targets, target_count, views);
    for (size_t i = 0; i < tsr_config_count(); i++) {
        const tsr_config *const config = tsr_config_at(i);
        for (size_t t = 0; t < viewed; t++)
            if (config->order > best && tsr_op_accepts(&config->op, &problem->op, NULL, 0) &&
                candidate_of(&views[t], config, &candidate, NULL, 0))
                best = config->order;
    }
    return best;
}

static void keep_to(tsr_order order, tsr_plan_candidate *candidates, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (candidates[i].applicable && candidates[i].config->order != order)
            candidates[i].applicable =
                tsr_refuse(candidates[i].reason, sizeof candidates[i].reason,
                           "sums in other steps than the batch-invariant kernels that were preferred");
}

/* 1 if it is more accurate than what was asked for, which names the faster arithmetic of a GPU. */
static int stands_in(const tsr_plan_candidate *candidate, const tsr_problem *problem)
{
    return candidate->config->kind == TSR_CONFIG_CPU &&
           tsr_op_of(&candidate->config->op).compute != problem->op.compute;
}

static int is_on_gpu(const tsr_plan_candidate *candidate)
{
    return candidate->applicable && candidate->config->kind == TSR_CONFIG_CUDA;
}

/* Where a GPU of the context has the arithmetic that was asked for, the CPU beside it does not stand in. */
static void prefer_gpu(const tsr_problem *problem, tsr_plan_candidate *candidates, size_t count)
{
    int any_on_gpu = 0;
    for (size_t i = 0; i < count; i++)
        any_on_gpu |= is_on_gpu(&candidates[i]);
    for (size_t i = 0; i < count && any_on_gpu; i++)
        if (candidates[i].applicable && stands_in(&candidates[i], problem))
            candidates[i].applicable =
                tsr_refuse(candidates[i].reason, sizeof candidates[i].reason, "does not stand in for a GPU that has %s",
                           tsr_compute_name(problem->op.compute));
}

size_t tsr_select_all(const tsr_problem *problem, tsr_target *targets, size_t target_count, tsr_plan_candidate *out,
                      size_t capacity)
{
    tsr_viewed_problem views[TSR_MAX_TARGETS];
    const size_t viewed = views_of(problem, targets, target_count, views);
    size_t count = 0;
    for (size_t i = 0; i < tsr_config_count(); i++) {
        const tsr_config *config = tsr_config_at(i);
        int seen = 0; /* a config whose kind no target has is listed once, for its reason */
        for (size_t t = 0; t < viewed; t++) {
            const int fits = (config->kind == TSR_CONFIG_CPU) == (targets[t].device.kind == TSR_DEVICE_CPU);
            if (!fits && (seen || t + 1 < viewed))
                continue;
            seen = 1;
            if (count < capacity)
                candidate_of(&views[t], config, &out[count], out[count].reason, sizeof out[count].reason);
            count++;
        }
    }
    if (problem->flags & TSR_BATCH_INVARIANT)
        keep_to(order_for(problem, targets, target_count), out, count < capacity ? count : capacity);
    prefer_gpu(problem, out, count < capacity ? count : capacity);
    qsort(out, count < capacity ? count : capacity, sizeof *out, compare);
    return count;
}

size_t tsr_select_applicable(const tsr_problem *problem, tsr_target *targets, size_t target_count,
                             tsr_plan_candidate *out, size_t capacity)
{
    const int keeps_order = (problem->flags & TSR_BATCH_INVARIANT) != 0;
    const tsr_order order = keeps_order ? order_for(problem, targets, target_count) : TSR_ORDER_ANY;
    tsr_viewed_problem views[TSR_MAX_TARGETS];
    const size_t viewed = views_of(problem, targets, target_count, views);
    size_t count = 0;
    for (size_t i = 0; i < tsr_config_count(); i++) {
        const tsr_config *const config = tsr_config_at(i);
        if (!tsr_op_accepts(&config->op, &problem->op, NULL, 0) || (keeps_order && config->order != order))
            continue;
        for (size_t t = 0; t < viewed && count < capacity; t++)
            count += (size_t)candidate_of(&views[t], config, &out[count], NULL, 0);
    }
    prefer_gpu(problem, out, count);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (out[i].applicable)
            out[kept++] = out[i];
    return kept;
}

int tsr_comes_before(const tsr_plan_candidate *one, const tsr_plan_candidate *other)
{
    return compare(one, other) < 0;
}
