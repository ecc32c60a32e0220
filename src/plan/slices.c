/* Where things lie in a workspace, and products whose padded copies do not fit there whole. */
#include <string.h>

#include "plan/pad.h"
#include "plan/plan.h"

#define COPY_ALIGN_BYTES 256 /* of each copy in the workspace */

tsr_workspace tsr_lay_out_workspace(const tsr_launch_config *launch, const tsr_problem *padded, unsigned pads)
{
    tsr_workspace workspace = {.main_bytes = launch->workspace_bytes};
    /* Counters come first even if only another plan that shares the workspace needs them. */
    size_t at = workspace.main_bytes;
    if (pads && at < TSR_WORKSPACE_COUNTER_BYTES)
        at = TSR_WORKSPACE_COUNTER_BYTES;
    at = (at + COPY_ALIGN_BYTES - 1) / COPY_ALIGN_BYTES * COPY_ALIGN_BYTES;
    for (int i = 0; i < 2; i++)
        if (pads >> i & 1) {
            workspace.copy_at[i] = at;
            at += tsr_padded_bytes(padded, "ab"[i]);
        }
    workspace.total_bytes = pads ? at : workspace.main_bytes;
    return workspace;
}

tsr_problem tsr_copied_problem(const tsr_problem *given, unsigned pads)
{
    tsr_problem padded = tsr_padded_problem(given, pads);
    const size_t limit_bytes = padded.workspace_limit_bytes;
    size_t bytes = 0;
    for (int i = 0; i < 2; i++)
        if (pads >> i & 1)
            bytes += tsr_padded_bytes(&padded, "ab"[i]);
    padded.workspace_limit_bytes =
        limit_bytes > bytes ? (limit_bytes - bytes) / COPY_ALIGN_BYTES * COPY_ALIGN_BYTES : 0;
    return padded;
}

#define SLICE_UNIT 256 /* no tile is wider */
#define QUAD_BYTES 16

enum { TILE_OPTIONS = 3, DEPTH_OPTIONS = TSR_SLICE_OPTIONS - TILE_OPTIONS };

static long long cut(long long extent, long long width, long long at)
{
    return width > 0 && extent - at > width ? width : extent - at;
}

tsr_problem tsr_slice_of(const tsr_problem *problem, tsr_slices slices, tsr_corner at)
{
    tsr_problem slice = *problem;
    if (tsr_is_sliced(slices)) {
        slice.m = cut(problem->m, slices.rows, at.row);
        slice.n = cut(problem->n, slices.columns, at.column);
        slice.k = cut(problem->k, slices.depth, at.k);
        slice.workspace_limit_bytes = 0; /* all of it is for copies: no schedule partitions K */
        if (at.k < tsr_last_slice(problem->k, slices.depth))
            slice.op.epilogue = TSR_EPILOGUE_NONE;
    }
    return slice;
}

unsigned tsr_slice_copies(tsr_slices slices, unsigned pads, tsr_corner at)
{
    const unsigned of_a = at.column == 0 ? tsr_copy_bits(pads, 'a') : 0;
    const unsigned of_b = at.row == 0 || slices.columns > 0 ? tsr_copy_bits(pads, 'b') : 0;
    return of_a | of_b;
}

/* `extent` in so many parts, whole units wide. */
static long long width_of(long long extent, long long count)
{
    return ((extent + count - 1) / count + SLICE_UNIT - 1) / SLICE_UNIT * SLICE_UNIT;
}

/* 1 if the copies of the slice at that corner fit and its kernel needs nothing beside them; -1 if it does, however
 * small the slice is. */
static int corner_fits(const tsr_config *config, const tsr_problem *given, unsigned pads, const tsr_device *device,
                       size_t limit_bytes, tsr_slices slices, tsr_corner at)
{
    const tsr_problem slice = tsr_slice_of(given, slices, at), padded = tsr_padded_problem(&slice, pads);
    tsr_launch_config launch;
    tsr_price cost;
    if (!tsr_select_schedule(config, &padded, device, &launch, &cost, NULL, 0) || launch.workspace_bytes > 0)
        return -1;
    return tsr_lay_out_workspace(&launch, &padded, pads).total_bytes <= limit_bytes;
}

/* The same of all kinds of slices: the last ones may be narrower, and then run by another schedule. */
static int slice_fits(const tsr_config *config, const tsr_problem *given, unsigned pads, const tsr_device *device,
                      size_t limit_bytes, tsr_slices slices)
{
    const tsr_corner last = {tsr_last_slice(given->m, slices.rows), tsr_last_slice(given->n, slices.columns),
                             tsr_last_slice(given->k, slices.depth)};
    int fits = 1;
    for (int kind = 0; kind < 8 && fits > 0; kind++) {
        const tsr_corner at = {kind & 1 ? last.row : 0, kind & 2 ? last.column : 0, kind & 4 ? last.k : 0};
        if ((kind & 1 && last.row == 0) || (kind & 2 && last.column == 0) || (kind & 4 && last.k == 0))
            continue;
        fits = corner_fits(config, given, pads, device, limit_bytes, slices, at);
    }
    return fits;
}

/* The fewest parts of `extent` that fit, from 2 on: more parts are narrower, so that all beyond fit, too. 0: none do.
 * `slices` has the other extents; `cut` is its member that is looked for. */
static long long fewest_parts(const tsr_config *config, const tsr_problem *given, unsigned pads,
                              const tsr_device *device, size_t limit_bytes, tsr_slices *slices, long long *cut,
                              long long extent)
{
    long long low = 2, high = (extent + SLICE_UNIT - 1) / SLICE_UNIT;
    if (high < low)
        return 0;
    *cut = width_of(extent, high);
    if (slice_fits(config, given, pads, device, limit_bytes, *slices) <= 0)
        return 0;
    while (low < high) {
        const long long middle = low + (high - low) / 2;
        *cut = width_of(extent, middle);
        if (slice_fits(config, given, pads, device, limit_bytes, *slices) > 0)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* The larger copy is cut: B by columns of D, A by rows. Into as few strips as fit, and a few more: how well the tiles
 * of a strip fill the SMs decides. How many options. */
static int find_strips(const tsr_config *config, const tsr_problem *given, unsigned pads, const tsr_device *device,
                       size_t limit_bytes, size_t a_bytes, size_t b_bytes, tsr_slices out[TSR_SLICE_OPTIONS])
{
    const int of_rows = a_bytes > b_bytes;
    const long long extent = of_rows ? given->m : given->n;
    long long last_width = 0;
    int found = 0;
    tsr_slices tried = {0};
    const long long fewest =
        fewest_parts(config, given, pads, device, limit_bytes, &tried, of_rows ? &tried.rows : &tried.columns, extent);
    for (long long count = fewest; count > 0 && count <= (extent + SLICE_UNIT - 1) / SLICE_UNIT && found < TILE_OPTIONS;
         count++) {
        const long long width = width_of(extent, count);
        if (width == last_width)
            continue;
        last_width = width;
        out[found] = of_rows ? (tsr_slices){.rows = width} : (tsr_slices){.columns = width};
        const int fits = slice_fits(config, given, pads, device, limit_bytes, out[found]);
        if (fits < 0)
            break;
        found += fits;
    }
    return found;
}

/* Both are cut, A to as many bytes as are left of limit_bytes / 4, 2 and 3/4, B to the rest. */
static int find_tiles(const tsr_config *config, const tsr_problem *given, unsigned pads, const tsr_device *device,
                      size_t limit_bytes, size_t a_bytes, tsr_slices out[TSR_SLICE_OPTIONS])
{
    int found = 0;
    for (int quarters = 1; quarters <= TILE_OPTIONS; quarters++) {
        const size_t for_a = limit_bytes / 4 * (size_t)quarters;
        const long long rows = width_of(given->m, 1 + (long long)(a_bytes / (for_a + 1)));
        tsr_slices slices = {.rows = rows};
        const long long count =
            fewest_parts(config, given, pads, device, limit_bytes, &slices, &slices.columns, given->n);
        if (count > 0)
            out[found++] = (tsr_slices){.rows = rows, .columns = width_of(given->n, count)};
    }
    return found;
}

/* 1 if a run can leave in D what the first parts of K sum to, in as many bits as sums have, and add to it; and if that
 * is quick: by kernels that read C's neighbours by one load, and of rows that let them. */
static int may_cut_k(const tsr_config *config, const tsr_problem *p)
{
    const tsr_op *const op = &p->op;
    if (!config->copies_transposed || !tsr_operand_is_aligned(p, 'd', QUAD_BYTES))
        return 0;
    const int is_plain = (TSR_TYPE_BIT(op->a) & TSR_FLOAT_TYPES) && !op->sparse24;
    return op->c == TSR_F32 && op->d == TSR_F32 && is_plain && !(p->flags & TSR_BATCH_INVARIANT);
}

/* Both are cut along K, into as few parts as fit, and a few more. */
static int find_depths(const tsr_config *config, const tsr_problem *given, unsigned pads, const tsr_device *device,
                       size_t limit_bytes, tsr_slices *out)
{
    long long last_depth = 0;
    int found = 0;
    if (!may_cut_k(config, given))
        return 0;
    tsr_slices tried = {0};
    const long long fewest = fewest_parts(config, given, pads, device, limit_bytes, &tried, &tried.depth, given->k);
    for (long long count = fewest;
         count > 0 && count <= (given->k + SLICE_UNIT - 1) / SLICE_UNIT && found < DEPTH_OPTIONS; count++) {
        const tsr_slices slices = {.depth = width_of(given->k, count)};
        if (slices.depth == last_depth)
            continue;
        last_depth = slices.depth;
        const int fits = slice_fits(config, given, pads, device, limit_bytes, slices);
        if (fits < 0)
            break;
        if (fits)
            out[found++] = slices;
    }
    return found;
}

int tsr_slice_options(const tsr_config *config, const tsr_problem *given, unsigned pads, const tsr_device *device,
                      size_t limit_bytes, tsr_slices out[TSR_SLICE_OPTIONS])
{
    const tsr_problem whole = tsr_padded_problem(given, pads);
    /* A schedule that was asked for by name is the whole product's. */
    if (!pads || given->batch != 1 || (given->kernel && strchr(given->kernel, '@')))
        return 0;
    const size_t a_bytes = pads & TSR_PAD_A ? tsr_padded_bytes(&whole, 'a') : 0;
    const size_t b_bytes = pads & TSR_PAD_B ? tsr_padded_bytes(&whole, 'b') : 0;
    const int strips = find_strips(config, given, pads, device, limit_bytes, a_bytes, b_bytes, out);
    const int found = strips > 0           ? strips
                      : a_bytes && b_bytes ? find_tiles(config, given, pads, device, limit_bytes, a_bytes, out)
                                           : 0;
    return found + find_depths(config, given, pads, device, limit_bytes, out + found);
}
