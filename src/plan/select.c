/* The only loops over configs and schedules: which is the fastest, and in what order the others follow. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/applicable.h"
#include "plan/pad.h"
#include "plan/price.h"
#include "plan/reason.h"
#include "plan/tiles.h"

/* The schedule that the problem's kernel name asks for behind an "@": 1, 0 with the reason, or -1 if it asks for none.
 */
static int forced_schedule(const tsr_row *row, const tsr_problem *p, tsr_schedule *out, char *reason,
                           size_t reason_bytes)
{
    const char *const text = p->kernel ? strchr(p->kernel, '@') : NULL;
    return text ? tsr_schedule_parse(row, p, text + 1, out, reason, reason_bytes) : -1;
}

int tsr_select_schedule(const tsr_row *row, const tsr_problem *problem, const tsr_device *device,
                        tsr_launch_config *launch, tsr_cost *cost, char *reason, size_t reason_bytes)
{
    tsr_schedule schedules[TSR_MOST_SCHEDULES];
    tsr_pricing pricing;
    const int forced = forced_schedule(row, problem, schedules, reason, reason_bytes);
    if (forced == 0)
        return 0;
    const int count = forced == 1 ? 1 : tsr_schedule_candidates(row, problem, device, schedules);
    tsr_pricing_begin(&pricing, row, problem, device);
    *launch = tsr_schedule_launch(row, problem, &schedules[0]);
    tsr_price(&pricing, launch, INFINITY, cost);
    for (int i = 1; i < count; i++) {
        const tsr_launch_config l = tsr_schedule_launch(row, problem, &schedules[i]);
        tsr_cost found;
        if (row->family != TSR_FAMILY_STREAM_K && l.workspace_bytes > problem->workspace_limit_bytes)
            continue;
        tsr_price(&pricing, &l, cost->ns, &found);
        if (found.rank_ns < cost->rank_ns) {
            *launch = l;
            *cost = found;
        }
    }
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
    tsr_launch_config launch;
    (void)tsr_select_schedule(choice->row, &padded, device, &launch, &cost, NULL, 0);
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

/* Fills the choice: 1 if the config can run the problem there, with what that costs; otherwise 0 and the reason. */
static int candidate_of(const tsr_viewed_problem *v, const tsr_row *row, tsr_choice *choice, char *reason,
                        size_t reason_bytes)
{
    const tsr_device *const device = &v->target->device;
    const size_t limit_bytes = v->problem->workspace_limit_bytes;
    tsr_problem padded;
    tsr_cost cost;
    memset(choice, 0, sizeof *choice);
    choice->row = row;
    choice->target = v->target;
    if (!tsr_is_applicable(v, row, &choice->pads, reason, reason_bytes))
        return 0;
    if (choice->pads)
        padded = tsr_padded_problem(&v->given, choice->pads);
    const tsr_problem *const seen = choice->pads ? &padded : &v->given;
    if (!tsr_select_schedule(row, seen, device, &choice->launch, &cost, reason, reason_bytes))
        return 0;
    const size_t bytes = tsr_lay_out_workspace(&choice->launch, seen, choice->pads).total_bytes;
    if (bytes > limit_bytes) {
        choice->slices = tsr_choose_slices(row, &v->given, choice->pads, device, limit_bytes);
        if (choice->slices.width == 0)
            return tsr_refuse(reason, reason_bytes, "needs %zu bytes of workspace%s; the limit is %zu", bytes,
                              choice->pads ? " to align A or B" : "", limit_bytes);
        add_slices(choice, &v->given);
    } else {
        if (choice->pads)
            tsr_cost_pad(&v->given, seen, choice->pads, device, &cost);
        add_cost(choice, &cost, 1);
        choice->cost.limiter = cost.limiter;
    }
    choice->transfer_ns = v->is_copied ? tsr_transfer_ns(v->problem, device, choice->cost.ns) : 0;
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
    tsr_choice choice;
    one_row.m = 1;
    const size_t viewed = views_of(&one_row, targets, target_count, views);
    for (size_t i = 0; i < tsr_row_count(); i++) {
        const tsr_row *const row = tsr_row_at(i);
        for (size_t t = 0; t < viewed; t++)
            if (row->order > best && tsr_dtypes_fit(row, problem) && candidate_of(&views[t], row, &choice, NULL, 0))
                best = row->order;
    }
    return best;
}

static void keep_to(tsr_order order, tsr_choice *choices, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (choices[i].applicable && choices[i].row->order != order)
            choices[i].applicable =
                tsr_refuse(choices[i].reason, sizeof choices[i].reason,
                           "sums in other steps than the batch-invariant kernels that were preferred");
}

size_t tsr_select_all(const tsr_problem *problem, tsr_target *targets, size_t target_count, tsr_choice *out,
                      size_t capacity)
{
    tsr_viewed_problem views[TSR_MAX_TARGETS];
    const size_t viewed = views_of(problem, targets, target_count, views);
    size_t count = 0;
    for (size_t i = 0; i < tsr_row_count(); i++) {
        const tsr_row *row = tsr_row_at(i);
        int seen = 0; /* a config whose kind no target has is listed once, for its reason */
        for (size_t t = 0; t < viewed; t++) {
            const int fits = (row->kind == TSR_ROW_CPU) == (targets[t].device.kind == TSR_DEVICE_CPU);
            if (!fits && (seen || t + 1 < viewed))
                continue;
            seen = 1;
            if (count < capacity)
                candidate_of(&views[t], row, &out[count], out[count].reason, sizeof out[count].reason);
            count++;
        }
    }
    if (problem->flags & TSR_BATCH_INVARIANT)
        keep_to(order_for(problem, targets, target_count), out, count < capacity ? count : capacity);
    qsort(out, count < capacity ? count : capacity, sizeof *out, compare);
    return count;
}

size_t tsr_select_applicable(const tsr_problem *problem, tsr_target *targets, size_t target_count, tsr_choice *out,
                             size_t capacity)
{
    const int keeps_order = (problem->flags & TSR_BATCH_INVARIANT) != 0;
    const tsr_order order = keeps_order ? order_for(problem, targets, target_count) : TSR_ORDER_ANY;
    tsr_viewed_problem views[TSR_MAX_TARGETS];
    const size_t viewed = views_of(problem, targets, target_count, views);
    size_t count = 0;
    for (size_t i = 0; i < tsr_row_count(); i++) {
        const tsr_row *const row = tsr_row_at(i);
        if (!tsr_dtypes_fit(row, problem) || (keeps_order && row->order != order))
            continue;
        for (size_t t = 0; t < viewed && count < capacity; t++)
            count += (size_t)candidate_of(&views[t], row, &out[count], NULL, 0);
    }
    return count;
}

int tsr_comes_before(const tsr_choice *one, const tsr_choice *other)
{
    return compare(one, other) < 0;
}
