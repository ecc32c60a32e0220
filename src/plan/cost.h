/* What the cost models share. */
#ifndef TSR_PLAN_COST_H
#define TSR_PLAN_COST_H

#include "core/row.h"

/* Share of its speed that an SM reaches with so many warps of a register-tiled kernel. */
double tsr_cost_busy_share(double warps);

/* A run whose CTAs are busy for work_ns, unless L2 or memory takes longer. */
void tsr_cost_settle(const tsr_row *row, const tsr_problem *problem, const tsr_device *device, double work_ns,
                     tsr_cost *out);

#endif
