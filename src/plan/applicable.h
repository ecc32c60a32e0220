/* Which configs run a problem, and why the others do not. */
#ifndef TSR_PLAN_APPLICABLE_H
#define TSR_PLAN_APPLICABLE_H

#include "plan/plan.h"

/* A problem as a target sees it, and what all configs ask of it: found once for all of them. */
typedef struct tsr_viewed_problem {
    const tsr_problem *problem;
    tsr_problem given; /* as the device sees it */
    tsr_target *target;
    long long alignment[4]; /* of its operands */
    int can_pad;            /* A and B could be copied to aligned rows */
    int is_copied;          /* 1: operands lie on a GPU's host */
} tsr_viewed_problem;

tsr_viewed_problem tsr_view_problem(const tsr_problem *problem, tsr_target *target);

/* 1 if the config can run the problem there, if need be after the operands of *pads were copied to aligned rows;
 * otherwise 0 and the reason. Workspace and schedules are looked at later. */
int tsr_is_applicable(const tsr_viewed_problem *view, const tsr_config *config, unsigned *pads, char *reason,
                      size_t reason_bytes);

/* Copies that the config can do without, and that may pay: the operand of D's shorter side transposed, where it is
 * short and does not lie along K. In the bits of plan/pad.h, without those of `pads`; 0: none. */
unsigned tsr_optional_copies(const tsr_viewed_problem *view, const tsr_config *config, unsigned pads);

/* 1 if the config's own rules (layouts, multiples of K, countable tiles) allow the problem, as its kernel will see it.
 */
int tsr_config_fits(const tsr_config *config, const tsr_problem *problem, char *reason, size_t reason_bytes);

#endif
