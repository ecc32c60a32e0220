/* Cases that force schedules: not what the model would choose, but one of each kind, so that none is left untried. */
#include <stdio.h>
#include <string.h>

#include "lab/verify/cases.h"
#include "lab/verify/pairwise.h"
#include "plan/schedules.h"

enum { F_SCHEDULE, F_SCALARS, F_LAYOUT, F_BATCH, F_PAD, F_FILL, F_C_MODE, F_EPILOGUE, FACTORS };

static const double scalars[][2] = {{0.0, 0.0}, {1.0, 0.0}, {0.0, 0.5}, {0.5, -1.0}, {-1.0, 1.0}};

#define COUNT(array) (int)(sizeof(array) / sizeof(array)[0])

/* Sizes of which D has a whole tile and the edge of another along both sides, and K so many steps and a tail. */
typedef struct extents {
    int64_t m, n, k;
} extents;

static int at_least_one(int count)
{
    return count > 0 ? count : 1;
}

static extents extents_of(const tsr_config *config, int steps)
{
    const int64_t rest = config->k_multiple > 1 ? config->k_multiple : 5;
    int bm, bn;
    tsr_config_tile(config, 1, 2, &bm, &bn);
    extents e = {.m = (int64_t)bm * at_least_one(config->swaps_ab ? 1 : config->cluster_m) + 3,
                 .n = (int64_t)bn * at_least_one(config->cluster_n) + 5,
                 .k = steps * (int64_t)config->bk + rest};
    if (config->mn_major_lines) /* whichever way tiles lie, there are as many */
        e.m = e.n = e.m > e.n ? e.m : e.n;
    return e;
}

static tsr_problem problem_of(const tsr_config *config, const extents *e)
{
    tsr_problem p = {.m = e->m, .n = e->n, .k = e->k, .batch = 1, .workspace_limit_bytes = TSR_WORKSPACE_LIMIT_BYTES};
    p.op = tsr_op_of(&config->op);
    return p;
}

static lab_case case_of(const unsigned char *levels, const extents *e, const char *schedule, uint64_t seed)
{
    static const lab_c_mode modes[] = {LAB_C_APART, LAB_C_IN_PLACE, LAB_C_OTHER_LD};
    lab_case c;
    memset(&c, 0, sizeof c);
    c.m = e->m;
    c.n = e->n;
    c.k = e->k;
    c.batch_mode = levels[F_BATCH] ? LAB_BATCH_GAPS : LAB_BATCH_ONE;
    c.batch = levels[F_BATCH] ? 3 : 1;
    c.alpha = scalars[levels[F_SCALARS]][0];
    c.beta = scalars[levels[F_SCALARS]][1];
    c.trans_a = levels[F_LAYOUT] & 1;
    c.trans_b = levels[F_LAYOUT] >> 1;
    for (int i = 0; i < 4; i++)
        c.pad[i] = levels[F_PAD] ? 11 : 0;
    c.fill = levels[F_FILL] ? LAB_FILL_INTEGERS : LAB_FILL_NORMAL;
    c.c_mode = modes[levels[F_C_MODE]];
    c.epilogue = levels[F_EPILOGUE];
    c.twice = levels[F_FILL];
    c.seed = seed;
    snprintf(c.schedule, sizeof c.schedule, "%s", schedule);
    return c;
}

static int takes_layout(const tsr_config *config, int layout)
{
    const int trans_a = layout & 1, trans_b = layout >> 1;
    if (config->mn_major_lines && !trans_a && trans_b)
        return 0;
    return !(config->a_layout == TSR_ONLY_N && trans_a) && !(config->a_layout == TSR_ONLY_T && !trans_a) &&
           !(config->b_layout == TSR_ONLY_N && trans_b) && !(config->b_layout == TSR_ONLY_T && !trans_b);
}

typedef char schedule_text[TSR_SCHEDULE_TEXT_BYTES];

static tsr_status add(const tsr_config *config, const unsigned char *levels, const extents *e,
                      const schedule_text *texts, uint64_t seed, lab_case_list *out)
{
    const lab_case c = case_of(levels, e, texts[levels[F_SCHEDULE]], seed);
    return takes_layout(config, levels[F_LAYOUT]) ? lab_cases_add(out, &c) : TSR_OK;
}

/* Every schedule with every layout and all factors; what is left alternates. */
static tsr_status add_all(const tsr_config *config, const extents *e, const schedule_text *texts, int count,
                          uint64_t seed, lab_case_list *out)
{
    tsr_status status = TSR_OK;
    for (int i = 0; i < count * COUNT(scalars) * 4 && status == TSR_OK; i++) {
        const int schedule = i / (4 * COUNT(scalars)), turn = i + schedule;
        const unsigned char levels[FACTORS] = {[F_SCHEDULE] = (unsigned char)schedule,
                                               [F_SCALARS] = (unsigned char)(i / 4 % COUNT(scalars)),
                                               [F_LAYOUT] = (unsigned char)(i % 4),
                                               [F_BATCH] = turn % 3 == 1,
                                               [F_PAD] = turn / 2 % 2 != 0,
                                               [F_FILL] = turn / 3 % 2 != 0,
                                               [F_C_MODE] = (unsigned char)(turn / 5 % 3),
                                               [F_EPILOGUE] = (unsigned char)(turn / 2 % TSR_EPILOGUE_COUNT)};
        status = add(config, levels, e, texts, seed, out);
    }
    return status;
}

static tsr_status add_cover(const tsr_config *config, const extents *e, const schedule_text *texts, int count,
                            uint64_t seed, lab_case_list *out)
{
    const int levels[FACTORS] = {count, COUNT(scalars), 4, 2, 2, 2, 3, TSR_EPILOGUE_COUNT};
    lab_cover cover;
    tsr_status status = lab_pairwise(levels, FACTORS, seed, &cover);
    if (status != TSR_OK)
        return status;
    for (size_t r = 0; r < cover.count && status == TSR_OK; r++)
        status = add(config, cover.rows[r], e, texts, seed, out);
    lab_cover_free(&cover);
    return status;
}

/* K = 0, where K whole is the only partition that is legal, in each orientation: with C and without it. */
static tsr_status add_without_k(const tsr_config *config, uint64_t seed, lab_case_list *out)
{
    enum { ONE_AND_ZERO = 1, HALF_AND_MINUS_ONE = 3 };
    extents e = extents_of(config, 0);
    e.k = 0;
    const tsr_problem problem = problem_of(config, &e);
    tsr_schedule schedules[TSR_MOST_SCHEDULES];
    tsr_status status = TSR_OK;
    const int count = tsr_schedule_kinds(config, &problem, schedules);
    unsigned char levels[FACTORS] = {0};
    while (!takes_layout(config, levels[F_LAYOUT]))
        levels[F_LAYOUT]++;
    for (int i = 0; i < 2 * count && status == TSR_OK; i++) {
        schedule_text text;
        const int reads_c = i % 2;
        tsr_schedule_text(config, &problem, &schedules[i / 2], text);
        levels[F_SCALARS] = reads_c ? HALF_AND_MINUS_ONE : ONE_AND_ZERO;
        levels[F_BATCH] = levels[F_PAD] = (unsigned char)reads_c;
        status = add(config, levels, &e, (const schedule_text *)&text, seed, out);
    }
    return status;
}

int lab_has_schedules(const lab_kernel *kernel)
{
    return kernel->config != NULL && tsr_config_partitions_k(kernel->config);
}

tsr_status lab_cases_add_schedules(const lab_kernel *kernel, int full, uint64_t seed, lab_case_list *out)
{
    enum { FEW_STEPS = 8, MANY_STEPS = 40 };
    const tsr_config *const config = kernel->config;
    tsr_status status = TSR_OK;
    if (!lab_has_schedules(kernel))
        return TSR_OK;
    for (int deep = 0; deep <= full && status == TSR_OK; deep++) {
        const extents e = extents_of(config, deep ? MANY_STEPS : FEW_STEPS);
        const tsr_problem problem = problem_of(config, &e);
        tsr_schedule schedules[TSR_MOST_SCHEDULES];
        schedule_text texts[TSR_MOST_SCHEDULES];
        const int count = tsr_schedule_kinds(config, &problem, schedules);
        for (int i = 0; i < count; i++)
            tsr_schedule_text(config, &problem, &schedules[i], texts[i]);
        status = (full ? add_all : add_cover)(config, &e, texts, count, seed, out);
    }
    return status == TSR_OK ? add_without_k(config, seed, out) : status;
}
