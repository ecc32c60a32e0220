#include <string.h>

#include "api/context.h"
#include "lab/count_cta.h"
#include "lab/count_run.h"

/* Long enough for any kernel's pipeline to fill, and for its loop to be most of it. */
enum { SHORT_K = 256, SHORTEST_K = 32, MOST_ROWS = 512 };

static int64_t at_most(int64_t value, int64_t most)
{
    return value < most ? value : most;
}

/* The instance that the problem gets, and, where its CTAs need each other, so that no few of them can be run, how many
 * they are; else 0. */
static tsr_status look_at(const tsr_gemm_desc *desc, const char **instance, long long *all)
{
    tsr_context *context = NULL;
    tsr_plan *plan = NULL;
    tsr_status status = tsr_context_create("emu", NULL, &context);
    if (status == TSR_OK)
        status = tsr_plan_create(context, desc, &plan);
    if (status == TSR_OK) {
        const tsr_step *step = tsr_plan_main(&plan->planned);
        *instance = step->row->instance;
        *all = tsr_plan_workspace_bytes(plan) > 0 ? step->work.grid.x * step->work.grid.y * step->work.grid.z : 0;
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
}

tsr_status lab_count_quick(const tsr_gemm_desc *desc, const lab_gpu_spec *gpu, lab_counters *out)
{
    const lab_count_options options = {.gpu = gpu, .sample_ctas = 1, .seed = 1, .is_quick = 1};
    tsr_gemm_desc with = lab_aligned_desc(desc);
    lab_counters one, two;
    long long all = 0;
    tsr_status status = look_at(&with, &with.kernel, &all);
    if (status != TSR_OK)
        return status;
    const int64_t k = all ? SHORTEST_K : SHORT_K;
    if (desc->k <= 2 * k)
        return lab_count(desc, &options, out);
    with.a.ld = with.a.ld ? with.a.ld : with.a.trans == TSR_T ? desc->m : desc->k; /* rows as far apart as they were */
    with.b.ld = with.b.ld ? with.b.ld : with.b.trans == TSR_T ? desc->k : desc->n;
    if (all) {
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
    out->ctas = all ? all : out->ctas;
    return TSR_OK;
}
