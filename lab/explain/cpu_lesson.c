#include "lab/explain/cpu_lesson.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/context.h"
#include "core/error.h"
#include "cpu/choose.h"
#include "cpu/cpu.h"
#include "cpu/job.h"
#include "cpu/widen.h"

/* What the choice says, in words and with the sizes that it looked at. */
static void say_why(const tsr_device *device, const tsr_gemm_args *g, tsr_cpu_choice choice, lab_cpu_lesson *out)
{
    const double a = (double)g->m * (double)g->k * out->elem_bytes, b = (double)g->k * (double)g->n * out->elem_bytes,
                 d = (double)g->m * (double)g->n * out->elem_bytes;
    char *const to = out->why;
    const size_t bytes = sizeof out->why;
    switch (choice.algorithm) {
    case TSR_GEMV:
        snprintf(to, bytes, "one row or column of C, and a matrix of %.0f bytes that lies in the caches",
                 g->m == 1 ? b : a);
        break;
    case TSR_SKINNY:
        snprintf(to, bytes,
                 "C has %s %lld: the large operand is read once, %.0f bytes, and nothing of it is used often enough to "
                 "be packed",
                 g->m <= g->n ? "so few rows," : "so few columns,", (long long)(g->m <= g->n ? g->m : g->n),
                 g->m <= g->n ? b : a);
        break;
    case TSR_ANY_ROWS:
        snprintf(to, bytes, "the order of the sums may not depend on the number of rows, and B lies along K");
        break;
    case TSR_SMALL:
        snprintf(
            to, bytes,
            "A with %.0f bytes, B with %.0f and C with %.0f stay in L2 (%lld bytes) or go by once: tiles read them "
            "where they are, and packing would cost more than it gives",
            a, b, d, (long long)device->l2_bytes);
        break;
    case TSR_RANK_K:
        snprintf(to, bytes, "K = %lld is short and C with %.0f bytes is what moves: it is written along its rows, once",
                 (long long)g->k, d);
        break;
    case TSR_PAIRS:
        snprintf(to, bytes, "bf16, and this processor multiplies pairs of bf16: two steps of K an instruction");
        break;
    case TSR_BLOCKED:
    case TSR_NO_ALGORITHM:
        snprintf(to, bytes,
                 "A with %.0f bytes and B with %.0f are used %lld and %lld times, and too large to be read from L2 "
                 "as they lie: blocks are cut for each level of the memory",
                 a, b, (long long)g->n, (long long)g->m);
        break;
    }
}

static void name(tsr_algorithm algorithm, lab_cpu_lesson *out)
{
    static const char *const names[][2] = {[TSR_NO_ALGORITHM] = {"blocked loops", "src/cpu/blocked/blocked.c"},
                                           [TSR_GEMV] = {"GEMV", "src/cpu/skinny/gemv.c"},
                                           [TSR_ANY_ROWS] = {"any number of rows", "src/cpu/skinny/any_rows.c"},
                                           [TSR_SKINNY] = {"skinny", "src/cpu/skinny/few_rows.c"},
                                           [TSR_SMALL] = {"small", "src/cpu/small/in_place.c"},
                                           [TSR_RANK_K] = {"rank-k update", "src/cpu/blocked/rank_k.c"},
                                           [TSR_PAIRS] = {"pairs", "src/cpu/blocked/pairs.c"},
                                           [TSR_BLOCKED] = {"blocked loops", "src/cpu/blocked/blocked.c"}};
    out->algorithm = names[algorithm][0];
    out->source = names[algorithm][1];
}

static void describe(tsr_context *context, const tsr_gemm_args *args, lab_cpu_lesson *out)
{
    static const char *const packings[] = {"read where it lies", "packed, a panel at a time",
                                           "packed, all panels of a region"};
    tsr_device *device = &context->home->device;
    const tsr_cpu_choice choice = tsr_cpu_algorithm(device, out->computed, args, 0, device->threads);
    const tsr_cpu_call call = {.args = args, .threads = device->threads, .device = device};
    const tsr_job job = tsr_tiled_job(&call, out->computed, choice.shape);
    out->k_parts = choice.k_parts > 1 ? choice.k_parts : 1;
    name(choice.algorithm, out);
    say_why(device, args, choice, out);
    out->isa = job.isa->name;
    out->threads = device->threads;
    out->mr = job.tiles->mr;
    out->nr = job.tiles->nr;
    out->lanes = job.tiles->lanes;
    out->l1_bytes = device->l1_bytes;
    out->l2_bytes = device->l2_bytes;
    out->l3_bytes = device->l3_bytes;
    if (choice.algorithm != TSR_BLOCKED || choice.k_parts)
        return;
    const tsr_block_plan plan = tsr_blocked_plan(&job);
    out->is_blocked = 1;
    out->kc = plan.kc;
    out->mc = plan.mc;
    out->region_m = plan.region_m;
    out->region_n = plan.region_n;
    out->grid_m = plan.grid_m;
    out->grid_n = plan.grid_n;
    out->tasks_at_once = plan.threads;
    out->a_in_place = plan.a_in_place;
    out->b_packing = packings[plan.b];
    out->packed_bytes = plan.packed_bytes;
    out->past_cache = plan.past_cache;
}

/* Of several the first, whose result has the type that nobody need ask for. */
static const tsr_config *config_of(const char *kernel, tsr_dtype dtype)
{
    for (size_t i = 0; i < tsr_config_count(); i++) {
        const tsr_config *const config = tsr_config_at(i);
        if ((strcmp(config->name, kernel) == 0 || strcmp(config->instance, kernel) == 0) &&
            (config->op.a & TSR_TYPE_BIT(dtype)))
            return config;
    }
    return NULL;
}

tsr_status lab_cpu_kernel_check(const char *kernel, tsr_dtype dtype)
{
    return config_of(kernel, dtype)
               ? TSR_OK
               : tsr_fail(TSR_UNSUPPORTED, "%s: does not multiply %s", kernel, tsr_dtype_name(dtype));
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

tsr_status lab_cpu_lesson_make(const char *kernel, tsr_dtype dtype, int64_t m, int64_t n, int64_t k, int trans_a,
                               int trans_b, lab_cpu_lesson *out)
{
    const tsr_config *const config = config_of(kernel, dtype);
    if (!config)
        return lab_cpu_kernel_check(kernel, dtype);
    if (config->run == tsr_cpu_integers)
        return tsr_fail(TSR_UNSUPPORTED, "%s: explained of floats; %s is multiplied as it is, in src/cpu/integers.c",
                        kernel, tsr_dtype_name(dtype));
    const int is_widened = config->run == tsr_cpu_widened;
    *out = (lab_cpu_lesson){
        .kernel = kernel, .dtype = dtype, .m = m, .n = n, .k = k, .trans_a = trans_a, .trans_b = trans_b};
    if (is_widened) {
        out->widened_m = m = least(m, TSR_WIDENED_ROWS);
        out->widened_n = n = least(n, TSR_WIDENED_COLUMNS);
        out->widened_k = k = least(k, TSR_WIDENED_STEPS);
        dtype = TSR_F32;
    }
    out->computed = dtype;
    out->elem_bytes = (int)tsr_dtype_bytes(dtype);
    tsr_context *context;
    const tsr_status status = tsr_context_create("cpu", NULL, &context);
    if (status != TSR_OK)
        return status;
    const tsr_gemm_args args = {.m = m,
                                .n = n,
                                .k = k,
                                .lda = trans_a ? m : k,
                                .ldb = trans_b ? k : n,
                                .ldc = n,
                                .ldd = n,
                                .batch = 1,
                                .alpha = 1,
                                .trans_a = trans_a,
                                .trans_b = trans_b,
                                .type_a = (int)dtype,
                                .type_b = (int)dtype,
                                .type_d = (int)dtype};
    describe(context, &args, out);
    tsr_context_destroy(context);
    return TSR_OK;
}
