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

#define SLICE_UNIT 256 /* no tile is wider */

tsr_problem tsr_slice_of(const tsr_problem *problem, tsr_slices slices, long long at)
{
    tsr_problem slice = *problem;
    long long *const extent = slices.of_rows ? &slice.m : &slice.n;
    if (slices.width > 0) {
        *extent = *extent - at < slices.width ? *extent - at : slices.width;
        slice.workspace_limit_bytes = 0; /* all of it is for copies: K stays whole */
    }
    return slice;
}

tsr_slices tsr_choose_slices(const tsr_config *config, const tsr_problem *given, unsigned pads,
                             const tsr_device *device, size_t limit_bytes)
{
    const tsr_problem whole = tsr_padded_problem(given, pads);
    /* A schedule that was asked for by name is the whole product's. */
    if (!pads || given->batch != 1 || (given->kernel && strchr(given->kernel, '@')))
        return (tsr_slices){0};
    /* The larger copy is cut: B by columns of D, A by rows. */
    const size_t a_bytes = pads & TSR_PAD_A ? tsr_padded_bytes(&whole, 'a') : 0;
    const size_t b_bytes = pads & TSR_PAD_B ? tsr_padded_bytes(&whole, 'b') : 0;
    tsr_slices slices = {.of_rows = a_bytes > b_bytes};
    const long long extent = slices.of_rows ? given->m : given->n;
    for (long long count = 2; count <= (extent + SLICE_UNIT - 1) / SLICE_UNIT; count++) {
        slices.width = ((extent + count - 1) / count + SLICE_UNIT - 1) / SLICE_UNIT * SLICE_UNIT;
        const tsr_problem slice = tsr_slice_of(given, slices, 0), padded = tsr_padded_problem(&slice, pads);
        tsr_launch_config launch;
        tsr_price cost;
        if (!tsr_select_schedule(config, &padded, device, &launch, &cost, NULL, 0) || launch.workspace_bytes > 0)
            break; /* it would need some beside the copies */
        if (tsr_lay_out_workspace(&launch, &padded, pads).total_bytes <= limit_bytes)
            return slices;
    }
    return (tsr_slices){0};
}
