#include <string.h>

#include "api/context.h"
#include "lab/predict/count_cta.h"
#include "lab/predict/count_kinds.h"
#include "lab/predict/count_run.h"

/* Long enough for any kernel's pipeline to fill, and for its loop to be most of it. */
enum { SHORT_K = 256, SHORTEST_K = 32, MOST_ROWS = 512 };

static int64_t at_most(int64_t value, int64_t most)
{
    return value < most ? value : most;
}

/* How the problem is run. */
typedef struct outlook {
    const tsr_config *config;
    long long all; /* where CTAs need each other, so that no few of them can be run: how many they are; else 0 */
    double prepared_bytes;
    int64_t lda, ldb; /* as the product sees them, after steps that pad rows */
} outlook;

static tsr_status look_at(const tsr_gemm_desc *desc, outlook *out)
{
    tsr_context *context = NULL;
    tsr_plan *plan = NULL;
    tsr_status status = tsr_context_create("emu", NULL, &context);
    if (status == TSR_OK)
        status = tsr_plan_create(context, desc, &plan);
    if (status == TSR_OK) {
        const tsr_step *step = tsr_plan_main(&plan->planned);
        *out = (outlook){.config = step->config,
                         .prepared_bytes = lab_prepared_bytes(&plan->planned),
                         .lda = plan->planned.padded_problem.a.ld,
                         .ldb = plan->planned.padded_problem.b.ld};
        if (tsr_plan_workspace_bytes(plan) > 0)
            out->all = step->launch.grid.x * step->launch.grid.y * step->launch.grid.z;
    }
    tsr_plan_release(plan);
    tsr_context_destroy(context);
    return status;
}

/* x a + y b; what is no count is as in a. */
static void combine(const lab_counters *a, double x, const lab_counters *b, double y, lab_counters *out)
{
    *out = (lab_counters){.ctas = a->ctas,
                          .counted_ctas = a->counted_ctas,
                          .sample_error = a->sample_error,
                          .threads = a->threads,
                          .shared_bytes = a->shared_bytes,
                          .registers = a->registers,
                          .flops = x * a->flops + y * b->flops,
                          .l1_hit_rate = a->l1_hit_rate,
                          .l1_load_miss_rate = a->l1_load_miss_rate,
                          .split_store_sectors = x * a->split_store_sectors + y * b->split_store_sectors,
                          .has_machine_code = a->has_machine_code};
    memcpy(out->instance, a->instance, sizeof out->instance);
    lab_counters_add(out, a, x);
    lab_counters_add(out, b, y);
    out->most_cut_copies = x * a->most_cut_copies + y * b->most_cut_copies;
    out->most_store_branches = x * a->most_store_branches + y * b->most_store_branches;
}

/* The same problem with a short K, rows as far apart as they were. */
static tsr_gemm_desc shortened(const tsr_gemm_desc *desc)
{
    tsr_gemm_desc with = lab_aligned_desc(desc);
    with.a.ld = with.a.ld ? with.a.ld : with.a.trans == TSR_T ? desc->m : desc->k;
    with.b.ld = with.b.ld ? with.b.ld : with.b.trans == TSR_T ? desc->k : desc->n;
    return with;
}

/* Does the kernel do the problem without sharing tiles out as well? Then CTAs do not need each other, and what few of
 * them do stands for all; what parts of tiles cost to join is left out. */
static int has_plan_without_workspace(const tsr_gemm_desc *desc, outlook *look)
{
    tsr_gemm_desc alone = *desc;
    outlook other;
    alone.workspace_limit_bytes = 0;
    if (look_at(&alone, &other) != TSR_OK || other.all || other.config != look->config)
        return 0;
    *look = other;
    return 1;
}

tsr_status lab_count_quick(const tsr_gemm_desc *desc, const lab_gpu_spec *gpu, lab_counters *out)
{
    const lab_count_options options = {.gpu = gpu, .sample_ctas = 1, .seed = 1, .is_quick = 1};
    tsr_gemm_desc with = lab_aligned_desc(desc);
    lab_counters one, two;
    outlook look;
    tsr_status status = look_at(&with, &look);
    if (status != TSR_OK)
        return status;
    with.kernel = look.config->instance;
    if (look.all && has_plan_without_workspace(&with, &look))
        with.workspace_limit_bytes = 0;
    const int64_t k = look.all ? SHORTEST_K : SHORT_K;
    if (desc->k <= 2 * k)
        return lab_count(desc, &options, out);
    with = shortened(&with);
    if (look.all) {
        with.m = at_most(desc->m, MOST_ROWS);
        with.n = at_most(desc->n, MOST_ROWS);
    }
    with.k = k;
    status = lab_count(&with, &options, &one);
    with.k = 2 * k;
    if (status == TSR_OK)
        status = lab_count(&with, &options, &two);
    if (status != TSR_OK)
        return status;
    /* On the line through both. */
    const double along = (double)(desc->k - k) / (double)k;
    const double larger = (double)desc->m / (double)with.m * ((double)desc->n / (double)with.n);
    combine(&two, larger * along, &one, larger * (1 - along), out);
    out->ctas = look.all ? look.all : out->ctas;
    out->prepared_bytes = look.prepared_bytes;
    return TSR_OK;
}

tsr_status lab_count_line(const tsr_gemm_desc *desc, const lab_count_options *options, lab_counters *out)
{
    enum { STEP = 64 }; /* of K: a multiple of what any kernel's loop takes */
    lab_counters one, two;
    lab_cta_kinds kinds;
    outlook look;
    lab_count_options quick = *options;
    tsr_gemm_desc with = shortened(desc), small;
    const int64_t k = STEP + desc->k % STEP;
    tsr_status status = look_at(&with, &look);
    if (status != TSR_OK)
        return status;
    with.kernel = look.config->instance;
    with.a.ld = look.lda; /* the copies' where rows are padded first: those steps are not counted */
    with.b.ld = look.ldb;
    with.a.align_bytes = with.b.align_bytes = 0;
    if (look.all || !lab_cta_kinds_of(look.config, &with, &small, &kinds))
        return lab_count(desc, options, out);
    quick.is_quick = 1;
    quick.sample_ctas = 0;
    small.k = desc->k <= k + STEP ? desc->k : k;
    status = lab_count_kinds(&small, &quick, &kinds, &one);
    if (status != TSR_OK)
        return status;
    *out = one;
    if (small.k < desc->k) {
        small.k = k + STEP;
        status = lab_count_kinds(&small, &quick, &kinds, &two);
        if (status != TSR_OK)
            return status;
        const double along = (double)(desc->k - k) / STEP;
        combine(&two, along, &one, 1 - along, out);
    }
    out->prepared_bytes = look.prepared_bytes;
    return options->is_quick ? TSR_OK : lab_count_caches(&with, options, out);
}
