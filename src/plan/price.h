/* What a run by one schedule of a config is expected to take: a pure function of config, problem, device and schedule.
 * price.c has the families with one schedule, price_split.c those of f32 that partition K, price_wgmma.c,
 * price_skinny.c and price_kmajor.c those of Hopper's tensor cores. */
#ifndef TSR_PLAN_PRICE_H
#define TSR_PLAN_PRICE_H

#include "plan/price_hopper.h"
#include "plan/schedules.h"

/* What does not depend on the schedule, found once for all schedules of a config. */
typedef struct tsr_pricing {
    const tsr_config *config;
    const tsr_problem *problem;
    const tsr_device *device;
    union {
        tsr_wgmma wgmma;
        tsr_skinny skinny;
    } of;
} tsr_pricing;

/* `config`, `problem` and `device` must live as long as the pricing is used. */
void tsr_pricing_begin(tsr_pricing *pricing, const tsr_config *config, const tsr_problem *problem,
                       const tsr_device *device);

/* *out gets the price of one legal schedule. Its ns may be INFINITY where the price is found to be above best_ns, that
 * of another schedule; the result is the same whatever was priced before. */
void tsr_price_launch(tsr_pricing *pricing, const tsr_launch_config *launch, double best_ns, tsr_price *out);

/* Adds the time and traffic of the step that pads the operands of `pads` (plan/pad.h) to *cost. */
void tsr_price_pad(const tsr_problem *problem, const tsr_problem *padded, unsigned pads, const tsr_device *device,
                   tsr_price *cost);

#endif
