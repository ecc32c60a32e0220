/* The kernel that each of 2,000 problems gets on an H200, an H100 and an A100, how it is scheduled and at what price: a
 * change of structure changes none of tests/golden/choices.txt; a change of the cost model shows what it changes. Needs
 * no GPU and no device code: each config is taken to have code. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/validate.h"
#include "core/backend.h"
#include "golden.h"
#include "lab/common/gpus.h"
#include "lab/common/paper.h"
#include "plan/plan.h"

#define ABOUT                                                                                                          \
    "# Written by golden_choices --update: which kernel each problem gets on a GPU, how it is scheduled, its price.\n" \
    "# GPU, layout, dtypes of A and B, of C and D, compute, M N K xBATCH, ld: padding of A B C D in elements,\n"       \
    "# stride of A, alignment in bytes, workspace limit, the kernel asked for, flag : config, padded operands,\n"      \
    "# slices (width and whether of rows; rows x columns; k), schedule, grid, cluster, whether a split-K reduce "      \
    "follows, bytes of "                                                                                               \
    "workspace, ns\n"

enum { DRAWN = 1640, KEY_BYTES = 256, ANSWER_BYTES = 192 };

/* ---- GPUs ---- */

static int has_code(const tsr_config *config, const tsr_device *device, char *reason, size_t reason_bytes)
{
    (void)config, (void)device, (void)reason, (void)reason_bytes;
    return 1;
}

static tsr_status load(tsr_device *device, const tsr_config *config, const tsr_loaded **out)
{
    (void)device, (void)config;
    *out = NULL;
    return TSR_OK;
}

static const tsr_backend backend = {.has_code = has_code, .load = load};

static const char *const gpus[] = {"h200", "h100", "a100"};

/* ---- problems ---- */

typedef struct types {
    tsr_dtype ab, cd;
    tsr_compute compute;
    const char *kernels[16]; /* that may be asked for by name */
    tsr_dtype b;             /* B's where it is not A's; 0: as A */
    tsr_scale_mode scale_a, scale_b;
    unsigned sparse; /* TSR_SPARSE24_A or _B */
} types;

#define F32_KERNELS                                                                                              \
    {                                                                                                            \
        "naive", "uncoalesced", "tiled", "regtile1d", "regtile2d", "padded", "swizzled", "vectorized",           \
            "double-buffered", "warptile", "warp-specialized", "stream-k", "cluster-k", "thin", "tiled_f32_t32", \
            "warptile_f32_64x64_a1"                                                                              \
    }
#define TENSOR_KERNELS                                             \
    {                                                              \
        "wmma", "mma", "mma-tma", "wgmma", "wgmma_skinny", "wgmma" \
    }

static const types all_types[] = {
    {.ab = TSR_F32, .cd = TSR_F32, .compute = TSR_COMPUTE_F32, .kernels = F32_KERNELS},
    {.ab = TSR_BF16, .cd = TSR_BF16, .compute = TSR_COMPUTE_F32, .kernels = TENSOR_KERNELS},
    {.ab = TSR_F16, .cd = TSR_F16, .compute = TSR_COMPUTE_F32, .kernels = TENSOR_KERNELS},
    {.ab = TSR_BF16, .cd = TSR_F32, .compute = TSR_COMPUTE_F32, .kernels = TENSOR_KERNELS},
    {.ab = TSR_F16, .cd = TSR_F32, .compute = TSR_COMPUTE_F32, .kernels = TENSOR_KERNELS},
    {.ab = TSR_F32, .cd = TSR_F32, .compute = TSR_COMPUTE_TF32, .kernels = {"mma"}},
    {.ab = TSR_F64, .cd = TSR_F64, .compute = TSR_COMPUTE_F64, .kernels = {"naive", "uncoalesced", "tiled", "mma-f64"}},
};

enum { TYPES = sizeof all_types / sizeof all_types[0] };

/* Of the problems behind those that are drawn. */
static const types integer_types[] = {
    {.ab = TSR_S8, .cd = TSR_S32, .compute = TSR_COMPUTE_S32, .kernels = {NULL}},
    {.ab = TSR_S8, .cd = TSR_BF16, .compute = TSR_COMPUTE_S32, .kernels = {NULL}},
};

/* Of those behind them: every other type, scale mode and compressed operand that a GPU takes. */
static const types other_types[] = {
    {.ab = TSR_E4M3, .cd = TSR_BF16, .compute = TSR_COMPUTE_F32},
    {.ab = TSR_E4M3, .cd = TSR_BF16, .compute = TSR_COMPUTE_FAST},
    {.ab = TSR_E5M2, .b = TSR_E4M3, .cd = TSR_E4M3, .compute = TSR_COMPUTE_F32},
    {.ab = TSR_E4M3,
     .cd = TSR_F32,
     .compute = TSR_COMPUTE_F32,
     .scale_a = TSR_SCALE_VECTOR,
     .scale_b = TSR_SCALE_VECTOR},
    {.ab = TSR_E4M3,
     .cd = TSR_BF16,
     .compute = TSR_COMPUTE_F32,
     .scale_a = TSR_SCALE_1X128,
     .scale_b = TSR_SCALE_128X128},
    {.ab = TSR_E4M3,
     .cd = TSR_BF16,
     .compute = TSR_COMPUTE_F32,
     .scale_a = TSR_SCALE_1X128,
     .scale_b = TSR_SCALE_1X128},
    {.ab = TSR_U8, .b = TSR_S8, .cd = TSR_F32, .compute = TSR_COMPUTE_S32},
    {.ab = TSR_BF16, .cd = TSR_E4M3, .compute = TSR_COMPUTE_F32},
    {.ab = TSR_F16, .cd = TSR_BF16, .compute = TSR_COMPUTE_F32},
    {.ab = TSR_BF16, .cd = TSR_BF16, .compute = TSR_COMPUTE_F32, .sparse = TSR_SPARSE24_A},
    {.ab = TSR_F16, .cd = TSR_F32, .compute = TSR_COMPUTE_F32, .sparse = TSR_SPARSE24_B},
    {.ab = TSR_E4M3, .cd = TSR_BF16, .compute = TSR_COMPUTE_FAST, .sparse = TSR_SPARSE24_A},
    {.ab = TSR_S8, .cd = TSR_S32, .compute = TSR_COMPUTE_S32, .sparse = TSR_SPARSE24_A},
    {.ab = TSR_F32, .cd = TSR_F32, .compute = TSR_COMPUTE_TF32, .sparse = TSR_SPARSE24_B},
};

typedef struct problem {
    const char *gpu;
    const types *types;
    int trans_a, trans_b;
    long long m, n, k, batch;
    int pads[4];      /* elements between the rows of A, B, C and D */
    int shares_a;     /* one A for the whole batch */
    unsigned align;   /* bytes */
    size_t workspace; /* limit in bytes */
    const char *kernel;
    int batch_invariant;
} problem;

static tsr_gemm_desc describe(const problem *p)
{
    tsr_gemm_desc desc = tsr_gemm_desc_make(p->types->ab, p->m, p->n, p->k);
    tsr_operand *const operands[] = {&desc.a, &desc.b, &desc.c, &desc.d};
    desc.a.trans = p->trans_a ? TSR_T : TSR_N;
    desc.b.trans = p->trans_b ? TSR_T : TSR_N;
    if (p->types->b)
        desc.b.dtype = p->types->b;
    desc.c.dtype = desc.d.dtype = p->types->cd;
    desc.scale_mode_a = p->types->scale_a;
    desc.scale_mode_b = p->types->scale_b;
    for (int i = 0; i < 4; i++) {
        const long long rows = i == 0 ? (p->trans_a ? p->k : p->m) : i == 1 ? (p->trans_b ? p->n : p->k) : p->m;
        const long long columns = i == 0 ? (p->trans_a ? p->m : p->k) : i == 1 ? (p->trans_b ? p->k : p->n) : p->n;
        operands[i]->memory = TSR_DEVICE;
        operands[i]->align_bytes = p->align;
        operands[i]->ld = columns + p->pads[i];
        operands[i]->batch_stride = p->batch == 1 || (i == 0 && p->shares_a) ? 0 : rows * operands[i]->ld;
    }
    desc.compute = p->types->compute;
    desc.batch_count = p->batch;
    desc.workspace_limit_bytes = p->workspace;
    desc.flags = (p->batch_invariant ? TSR_BATCH_INVARIANT : 0) | p->types->sparse;
    desc.kernel = p->kernel;
    desc.broadcast = p->shares_a ? TSR_BROADCAST_A : 0;
    return desc;
}

static void key_of(const problem *p, char *key)
{
    static const char *const modes[] = {"tensor", "vector", "1x128", "128x128"};
    const types *const t = p->types;
    snprintf(key, KEY_BYTES, "%s %c%c %s %s %s %lldx%lldx%lld x%lld ld %d %d %d %d %s align %u ws %zu %s%s", p->gpu,
             p->trans_a ? 't' : 'n', p->trans_b ? 't' : 'n', tsr_dtype_name(p->types->ab), tsr_dtype_name(p->types->cd),
             tsr_compute_name(p->types->compute), p->m, p->n, p->k, p->batch, p->pads[0], p->pads[1], p->pads[2],
             p->pads[3], p->shares_a ? "shared" : "own", p->align, p->workspace, p->kernel ? p->kernel : "any",
             p->batch_invariant ? " invariant" : "");
    const size_t used = strlen(key);
    snprintf(key + used, KEY_BYTES - used, "%s%s%s%s%s%s%s", t->b ? " b " : "", t->b ? tsr_dtype_name(t->b) : "",
             t->scale_a ? " scales " : "", t->scale_a ? modes[t->scale_a] : "", t->scale_a ? " " : "",
             t->scale_a ? modes[t->scale_b] : "",
             !t->sparse                   ? ""
             : t->sparse & TSR_SPARSE24_A ? " sparse a"
                                          : " sparse b");
}

/* ---- answers ---- */

static void die(const char *key, const char *why)
{
    fprintf(stderr, "golden_choices: %s: %s (%s)\n", key, why, tsr_last_error());
    exit(2);
}

/* The first in the order of preference; NULL if none applies. */
static const tsr_plan_candidate *best_of(const tsr_plan_candidate *candidates, size_t count)
{
    const tsr_plan_candidate *best = count > 0 ? candidates : NULL;
    for (size_t i = 1; i < count; i++)
        if (tsr_comes_before(&candidates[i], best))
            best = &candidates[i];
    return best;
}

static double price_of(const tsr_plan_candidate *candidate)
{
    return candidate->cost.ns + candidate->transfer_ns;
}

/* As it is launched; of slices the first. */
static tsr_grid grid_of(const tsr_planned *plan, const tsr_step *step)
{
    const tsr_problem slice = tsr_slice_of(&plan->padded_problem, plan->slices, (tsr_corner){0, 0, 0});
    const tsr_gemm_args args = {.m = slice.m, .n = slice.n, .k = slice.k, .batch = slice.batch};
    return step->launch.grid.x > 0 ? step->launch.grid
                                   : tsr_config_grid(step->config, &args, plan->target->device.cuda.sm_count);
}

static void answer_of(const tsr_planned *plan, char *answer)
{
    const tsr_step *const step = tsr_plan_main(plan);
    const tsr_launch_config *const launch = &step->launch;
    const tsr_grid grid = grid_of(plan, step);
    const tsr_problem slice = tsr_slice_of(&plan->padded_problem, plan->slices, (tsr_corner){0, 0, 0});
    char schedule[TSR_SCHEDULE_TEXT_BYTES];
    tsr_schedule_text(step->config, &slice, &launch->schedule, schedule);
    char slices[48];
    if (plan->slices.depth > 0)
        snprintf(slices, sizeof slices, "k %lld", plan->slices.depth);
    else if (plan->slices.rows > 0 && plan->slices.columns > 0)
        snprintf(slices, sizeof slices, "%lldx%lld", plan->slices.rows, plan->slices.columns);
    else
        snprintf(slices, sizeof slices, "%lld %d", plan->slices.rows + plan->slices.columns, plan->slices.rows > 0);
    snprintf(answer, ANSWER_BYTES, "%s pads %u slices %s %s grid %lldx%lldx%lld cluster %d reduce %d ws %zu",
             step->config->instance, plan->pads, slices, schedule, grid.x, grid.y, grid.z,
             launch->cluster > 0 ? launch->cluster : tsr_config_cluster(step->config), launch->reduces,
             plan->workspace_bytes);
}

static void state(golden *file, const problem *p)
{
    char key[KEY_BYTES], answer[ANSWER_BYTES];
    const tsr_gemm_desc desc = describe(p);
    tsr_target target = {.backend = &backend, .device = lab_device_on_paper(lab_gpu_spec_find(p->gpu))};
    tsr_problem valid;
    tsr_planned plan;
    key_of(p, key);
    if (tsr_validate_desc(&desc, &valid) != TSR_OK)
        die(key, "not a problem");
    const size_t room = tsr_config_count() * TSR_MAX_TARGETS;
    tsr_plan_candidate *const candidates = calloc(room, sizeof *candidates);
    if (!candidates)
        die(key, "no memory");
    const tsr_plan_candidate *const best =
        best_of(candidates, tsr_select_applicable(&valid, &target, 1, candidates, room));
    const tsr_status status = tsr_plan_build(&valid, &target, 1, &plan);
    if (status != (best ? TSR_OK : TSR_UNSUPPORTED))
        die(key, "plans and prices disagree on whether there is a kernel");
    if (best && tsr_plan_main(&plan)->config != best->config)
        die(key, "the plan has another kernel than the one of the lowest price");
    if (best)
        answer_of(&plan, answer);
    golden_case(file, key, best ? answer : "none", best ? price_of(best) : -1);
    free(candidates);
}

/* ---- which problems ---- */

typedef struct size_of_problem {
    long long m, n, k, batch;
} size_of_problem;

/* Squares, layers of language models, one row, one column, long sums, few steps, odd sizes, batches. */
static const size_of_problem usual[] = {
    {256, 256, 256, 1},    {1024, 1024, 1024, 1}, {4096, 4096, 4096, 1}, {16384, 16384, 16384, 1}, {1, 4096, 4096, 1},
    {16, 14336, 4096, 1},  {64, 5120, 5120, 1},   {4096, 1, 4096, 1},    {128, 128, 16384, 1},     {2048, 2048, 16, 1},
    {1000, 1000, 1000, 1}, {4097, 4095, 4099, 1}, {8192, 50257, 768, 1}, {64, 64, 64, 1024},       {128, 512, 64, 48},
    {2560, 2560, 2560, 1}, {0, 128, 128, 1},
};

/* How operands lie, and what there is of memory for copies. */
typedef struct place {
    unsigned align;
    int pad; /* of A and B */
    size_t workspace;
} place;

/* The usual sizes on each GPU in each of these, layouts by turns. */
static void state_sizes(golden *file, const types *of, size_t count, const place *places, size_t place_count)
{
    int turn = 0;
    for (size_t g = 0; g < sizeof gpus / sizeof gpus[0]; g++)
        for (size_t t = 0; t < count; t++)
            for (size_t w = 0; w < place_count; w++)
                for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++, turn++) {
                    const problem p = {.gpu = gpus[g],
                                       .types = &of[t],
                                       .trans_a = turn >> 1 & 1,
                                       .trans_b = turn & 1,
                                       .m = usual[i].m,
                                       .n = usual[i].n,
                                       .k = usual[i].k,
                                       .batch = usual[i].batch,
                                       .pads = {places[w].pad, places[w].pad, 0, 0},
                                       .align = places[w].align,
                                       .workspace = places[w].workspace};
                    state(file, &p);
                }
}

static long long most(long long a, long long b)
{
    return a > b ? a : b;
}

/* 1 to `limit`, each power of two as likely as any other; of three numbers two are multiples of `unit`. */
static long long draw_extent(uint64_t *seed, int bits, long long unit)
{
    const long long extent = 1 + golden_draw(seed, 2u << golden_draw(seed, (uint32_t)bits));
    return golden_draw(seed, 3) ? (extent + unit - 1) / unit * unit : extent;
}

typedef enum form { ANY_FORM, SQUARE, FEW_ROWS, FEW_COLUMNS, LONG_SUM, FEW_STEPS, BATCH, FORMS } form;

static void draw_sizes(uint64_t *seed, problem *p)
{
    enum { MOST_BITS = 14, FEW_BITS = 6, SIDE_BITS = 9, BATCH_BITS = 8 };
    static const long long units[] = {8, 8, 16, 64, 128};
    const form f = (form)golden_draw(seed, FORMS);
    const long long unit = units[golden_draw(seed, 5)];
    p->batch = 1;
    p->m = draw_extent(seed,
                       f == FEW_ROWS   ? FEW_BITS
                       : f >= LONG_SUM ? SIDE_BITS + (f == FEW_STEPS) * 4
                                       : MOST_BITS,
                       unit);
    p->n = draw_extent(seed,
                       f == FEW_COLUMNS ? FEW_BITS
                       : f >= LONG_SUM  ? SIDE_BITS + (f == FEW_STEPS) * 4
                                        : MOST_BITS,
                       unit);
    p->k = draw_extent(seed, f == FEW_STEPS ? FEW_BITS : f == BATCH ? SIDE_BITS : MOST_BITS, unit);
    if (f == SQUARE)
        p->n = p->k = p->m;
    if (f == LONG_SUM)
        p->k = most(p->k, 2048 + golden_draw(seed, 14336));
    if (f == BATCH)
        p->batch = 2 + golden_draw(seed, 2u << golden_draw(seed, BATCH_BITS));
    if (f == FEW_ROWS && golden_draw(seed, 4) == 0)
        p->m = 1;
    if (f == FEW_COLUMNS && golden_draw(seed, 4) == 0)
        p->n = 1;
}

static void draw_pads(uint64_t *seed, problem *p)
{
    for (int i = 0; i < 4; i++) {
        const uint32_t kind = golden_draw(seed, 8);
        p->pads[i] = kind == 0 ? (int)golden_draw(seed, 50) : kind == 1 ? 8 * (int)golden_draw(seed, 40) : 0;
    }
}

static problem draw_problem(uint64_t *seed)
{
    static const unsigned alignments[] = {256, 256, 256, 256, 16, 16, 8, 0};
    static const size_t limits[] = {
        TSR_WORKSPACE_LIMIT_BYTES, TSR_WORKSPACE_LIMIT_BYTES, TSR_WORKSPACE_LIMIT_BYTES, 0, 1 << 20, 16 << 20,
        (size_t)256 << 20,         TSR_WORKSPACE_LIMIT_BYTES};
    static const uint32_t type_of[] = {0, 0, 0, 1, 1, 1, 2, 3, 4, 5, 6, 1};
    static const int gpu_of[] = {0, 0, 1, 2};
    problem p = {.gpu = gpus[gpu_of[golden_draw(seed, 4)]], .types = &all_types[type_of[golden_draw(seed, 12)]]};
    p.trans_a = golden_draw(seed, 2) == 1;
    p.trans_b = golden_draw(seed, 2) == 1;
    draw_sizes(seed, &p);
    if (golden_draw(seed, 3) == 0)
        draw_pads(seed, &p);
    p.shares_a = p.batch > 1 && golden_draw(seed, 5) == 0;
    p.align = alignments[golden_draw(seed, 8)];
    p.workspace = limits[golden_draw(seed, 8)];
    p.batch_invariant = golden_draw(seed, 8) == 0;
    if (golden_draw(seed, 4) == 0) {
        int kernels = 0;
        while (kernels < 16 && p.types->kernels[kernels])
            kernels++;
        p.kernel = p.types->kernels[golden_draw(seed, (uint32_t)kernels)];
    }
    return p;
}

/* The seed is one for which no problem is drawn twice. */
int main(int argc, char **argv)
{
    /* Aligned rows, rows that begin anywhere, and no memory for copies. */
    static const place places[] = {{256, 0, TSR_WORKSPACE_LIMIT_BYTES}, {1, 3, TSR_WORKSPACE_LIMIT_BYTES}, {1, 3, 0}};
    golden *const file = golden_open("choices", ABOUT, argc, argv);
    uint64_t seed = 5;
    state_sizes(file, all_types, TYPES, places, 1);
    for (int i = 0; i < DRAWN; i++) {
        const problem p = draw_problem(&seed);
        state(file, &p);
    }
    state_sizes(file, integer_types, sizeof integer_types / sizeof integer_types[0], places,
                sizeof places / sizeof places[0]);
    state_sizes(file, other_types, sizeof other_types / sizeof other_types[0], places, 1);
    return golden_close(file);
}
