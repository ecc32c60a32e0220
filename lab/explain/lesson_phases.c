/* The phases of a lesson: what is brought, then multiplied, between barriers. */
#include <stdlib.h>

#include "core/error.h"
#include "lab/explain/lesson_run.h"

/* What happens between two barriers. */
typedef struct stage {
    int has_steps, brings, multiplies;
    int number, phase;
} stage;

static void note_stages(const lab_lesson *l, stage *stages)
{
    for (size_t i = 0; i < l->step_count; i++) {
        stage *s = &stages[l->steps[i].stage];
        const lab_step_kind kind = l->steps[i].kind;
        s->has_steps = 1;
        s->brings |= kind == LAB_STEP_LOAD || kind == LAB_STEP_COPY || kind == LAB_STEP_FILL;
        s->multiplies |= kind == LAB_STEP_WARP;
    }
    for (size_t i = 0; i < l->product_count; i++)
        stages[l->products[i].stage].has_steps = stages[l->products[i].stage].multiplies = 1;
}

/* Stages get consecutive numbers, those in which nothing happens none; a phase begins where something is brought after
 * something was multiplied. */
static void number_stages(lab_lesson *l, stage *stages, int count)
{
    int multiplied = 0;
    l->stages = l->phases = 0;
    for (int i = 0; i < count; i++) {
        if (!stages[i].has_steps)
            continue;
        if (l->phases == 0 || (stages[i].brings && multiplied)) {
            l->phases++;
            multiplied = 0;
        }
        multiplied |= stages[i].multiplies;
        stages[i].number = l->stages++;
        stages[i].phase = l->phases - 1;
    }
}

tsr_status lab_lesson_find_phases(lab_lesson *l)
{
    int count = 1;
    for (size_t i = 0; i < l->step_count; i++)
        count = l->steps[i].stage >= count ? l->steps[i].stage + 1 : count;
    for (size_t i = 0; i < l->product_count; i++)
        count = l->products[i].stage >= count ? l->products[i].stage + 1 : count;
    stage *stages = calloc((size_t)count, sizeof *stages);
    if (!stages)
        return tsr_fail(TSR_OUT_OF_MEMORY, "no memory for the lesson");
    note_stages(l, stages);
    number_stages(l, stages, count);
    for (size_t i = 0; i < l->step_count; i++) {
        const stage *s = &stages[l->steps[i].stage];
        l->steps[i].phase = s->phase;
        l->steps[i].stage = s->number;
    }
    for (size_t i = 0; i < l->product_count; i++) {
        const stage *s = &stages[l->products[i].stage];
        l->products[i].phase = s->phase;
        l->products[i].stage = s->number;
    }
    free(stages);
    return TSR_OK;
}
