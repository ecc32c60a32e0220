/* Products of host matrices on a GPU, tile by tile. */
#ifndef TSR_API_STREAM_H
#define TSR_API_STREAM_H

#include "api/context.h"

/* 1 if this run should go tile by tile: all operands lie on the host, and are large enough to be worth it. */
int tsr_run_wants_tiles(const tsr_plan *plan);

/* Runs the plan's problem with operands of the host: tiles of it, with copies in both directions under way while others
 * are multiplied. Matrices may be larger than the GPU's memory. If it fails and D is C, which is read, C is as before.
 */
tsr_status tsr_run_tiles(tsr_plan *plan, const tsr_plan_inputs *inputs);

#endif
